"""Kinetic and potential energy of the bodies; what soft bodies store and lose."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from stickslip.arrays import Array
from stickslip.dynamics import cavities
from stickslip.dynamics.element_assembly import assemble
from stickslip.dynamics.element_energies import damping_work, strain_energies
from stickslip.dynamics.soft_bodies import SoftMotion, element_rotations
from stickslip.jit import kernel
from stickslip.linalg.vec3 import dot, load_matrix, mat_t_vec, mat_vec, quat_matrix
from stickslip.model import Model
from stickslip.soft_tables import SoftTables
from stickslip.state import State


def energies(model: Model, q: Array, v: Array) -> tuple[float, float]:
    """Kinetic and potential energy [J] of the dynamic bodies; potential zero at the origin."""
    kinetic, potential = _energies(model.dynamic, model.mass, model.inertia, model.gravity, q, v)
    return float(kinetic), float(potential)


class SoftEnergies(NamedTuple):
    """Energies of soft bodies over a step [J]."""

    kinetic: tuple[float, float]
    """Before and after."""
    potential: tuple[float, float]
    elastic: tuple[float, float]
    work: float
    """Of the user's forces, of pressures and of held nodes."""
    damping: float
    """Lost to Rayleigh damping."""


def soft_energies(soft: SoftTables, gravity: Array, motion: SoftMotion, before: State, after: State) -> SoftEnergies:
    """Energies of the soft bodies of a step; forces act over the displacements of the step."""
    free = soft.free
    way = after.node_position - before.node_position

    def of_state(state: State) -> tuple[float, float, float]:
        kinetic, potential = _node_energies(free, soft.mass, gravity, state.node_position, state.node_velocity)
        return float(kinetic), float(potential), _stored(soft, state.node_position)

    x = motion.theta * after.node_position + (1.0 - motion.theta) * before.node_position
    v = motion.theta * after.node_velocity + (1.0 - motion.theta) * motion.v

    def forces(velocity: Array, pressure: Array) -> Array:
        force, no_matrix = np.zeros_like(x), np.zeros((len(soft.pattern.indices), 3, 3))
        no_factor = np.zeros_like(pressure)
        assemble(
            soft.elements, x, motion.turned, velocity, pressure, no_factor, False, force, no_matrix,
            element_rotations(soft, motion.turned),
        )  # fmt: skip
        return force

    # as the step had them; what is not there is not computed, since a certificate must stay cheap
    still, pressure = np.zeros_like(v), motion.pressure
    damped, active, held = bool(soft.elements.beta.any()), bool(pressure.any()), len(free) < soft.node_count
    simple = soft.linear  # the work of dampers then needs no forces
    plain = forces(still, pressure) if active or (damped and not simple) or (held and not damped) else still
    all_forces = forces(v, pressure) if damped and (held or not simple) else plain
    filling = np.zeros_like(x)
    cavities.add_forces(soft, x, motion.force_time, filling)
    damping = 0.0
    if damped:
        damping = (
            damping_work(soft.elements, element_rotations(soft, motion.turned), v, way)
            if simple
            else float(np.vdot(plain - all_forces, way))
        )
    if soft.alpha.any():
        damping += float(np.vdot((soft.alpha * soft.mass)[:, None] * v, way))
    work = float(np.vdot(before.node_force + filling, way))
    if active:
        work += float(np.sum((plain - forces(still, np.zeros_like(pressure))) * way))
    if held:  # what it takes to move held nodes against their elements
        away = np.ones(soft.node_count, dtype=bool)
        away[free] = False
        work -= float(np.sum((all_forces * way)[away]))
    first, last = of_state(before), of_state(after)
    return SoftEnergies((first[0], last[0]), (first[1], last[1]), (first[2], last[2]), work, damping)


_latest: WeakKeyDictionary[SoftTables, tuple[Array, float]] = WeakKeyDictionary()
"""Positions and stored energy at the end of the last step, at which the next one begins."""


def _stored(soft: SoftTables, x: Array) -> float:
    """Elastic energy [J] with nodes at x (nn, 3).

    With the rotations at x: what lagged elements gain or lose by theirs is of the numerics.
    """
    known = _latest.get(soft)
    if known is None or not np.array_equal(known[0], x):
        inactive, turn = np.zeros(len(soft.elements.volume)), element_rotations(soft, x)
        known = x.copy(), float(strain_energies(soft.elements, x, x, inactive, turn).sum())
        _latest[soft] = known
    return known[1]


@kernel
def _node_energies(free, mass, gravity, x, v):
    """Kinetic and potential energy of the free nodes."""
    kinetic = 0.0
    potential = 0.0
    for b in range(free.shape[0]):
        i = free[b]
        kinetic += 0.5 * mass[i] * (v[i, 0] * v[i, 0] + v[i, 1] * v[i, 1] + v[i, 2] * v[i, 2])
        potential -= mass[i] * (gravity[0] * x[i, 0] + gravity[1] * x[i, 1] + gravity[2] * x[i, 2])
    return kinetic, potential


@kernel
def _energies(dynamic, mass, inertia, gravity, q, v):
    """Sum of m v^2 / 2 + w . I w / 2, and of -m g . x."""
    kinetic = 0.0
    potential = 0.0
    for b in range(dynamic.shape[0]):
        moving, turning, height = body_energy(dynamic[b], mass, inertia, gravity, q, v)
        kinetic += moving
        kinetic += turning
        potential -= height
    return kinetic, potential


@kernel
def body_energy(i, mass, inertia, gravity, q, v):
    """m v^2 / 2, w . I w / 2 and m g . x [J] of body i."""
    m = mass[i]
    R = quat_matrix((q[i, 3], q[i, 4], q[i, 5], q[i, 6]))
    omega = mat_t_vec(R, (v[i, 3], v[i, 4], v[i, 5]))
    return (
        0.5 * m * (v[i, 0] * v[i, 0] + v[i, 1] * v[i, 1] + v[i, 2] * v[i, 2]),
        0.5 * dot(omega, mat_vec(load_matrix(inertia, i), omega)),
        m * (gravity[0] * q[i, 0] + gravity[1] * q[i, 1] + gravity[2] * q[i, 2]),
    )
