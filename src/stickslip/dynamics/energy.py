"""Kinetic and potential energy of the bodies; what soft bodies store and lose."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.dynamics import cavities
from stickslip.dynamics.element_assembly import assemble, strain_energies
from stickslip.dynamics.soft_bodies import SoftMotion
from stickslip.jit import kernel
from stickslip.linalg.vec3 import dot, load_matrix, mat_t_vec, mat_vec, quat_matrix
from stickslip.model import Model
from stickslip.soft_tables import SoftTables
from stickslip.state import State


def energies(model: Model, q: NDArray[np.float64], v: NDArray[np.float64]) -> tuple[float, float]:
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


def soft_energies(soft: SoftTables, gravity: NDArray[np.float64], motion: SoftMotion, before: State, after: State) -> SoftEnergies:
    """Energies of the soft bodies of a step; forces act over the way of the step."""
    h = motion.step
    mass = soft.mass[:, None]
    way = after.node_position - before.node_position
    mean = way / h
    still = np.zeros(len(soft.elements.volume))
    elastic = tuple(
        float(strain_energies(soft.elements, each.node_position, before.node_position, still).sum())
        for each in (before, after)
    )
    free = np.zeros(soft.node_count, dtype=bool)
    free[soft.free] = True
    kinetic = tuple(0.5 * float(np.sum((mass * each.node_velocity**2)[free])) for each in (before, after))
    potential = tuple(-float(np.sum((mass * each.node_position)[free] @ gravity)) for each in (before, after))
    # forces of elements and dampers, as the step has them
    x = motion.theta * after.node_position + (1.0 - motion.theta) * before.node_position
    v = motion.theta * after.node_velocity + (1.0 - motion.theta) * motion.v
    no_matrix = np.zeros((len(soft.pattern.indices), 3, 3))
    zero = np.zeros(len(still))
    all_forces, plain, stretched = (np.zeros_like(x) for _ in range(3))
    assemble(soft.elements, x, before.node_position, v, motion.pressure, zero, False, all_forces, no_matrix)
    assemble(soft.elements, x, before.node_position, np.zeros_like(v), motion.pressure, zero, False, plain, no_matrix)
    assemble(soft.elements, x, before.node_position, np.zeros_like(v), still, zero, False, stretched, no_matrix)
    filling = np.zeros_like(x)
    cavities.add_forces(soft, x, motion.time, filling)
    damping = -float(np.sum((all_forces - plain) * way)) + h * float(np.sum(soft.alpha[:, None] * mass * v * mean))
    work = float(np.sum((before.node_force + filling + plain - stretched) * way))
    if not free.all():
        # held nodes: what it takes to move them against their elements
        work -= float(np.sum((all_forces * way)[~free]))
    return SoftEnergies(kinetic, potential, elastic, work, damping)


@kernel
def _energies(dynamic, mass, inertia, gravity, q, v):
    """Sum of m v^2 / 2 + w . I w / 2, and of -m g . x."""
    kinetic = 0.0
    potential = 0.0
    for b in range(dynamic.shape[0]):
        i = dynamic[b]
        m = mass[i]
        kinetic += 0.5 * m * (v[i, 0] * v[i, 0] + v[i, 1] * v[i, 1] + v[i, 2] * v[i, 2])
        R = quat_matrix((q[i, 3], q[i, 4], q[i, 5], q[i, 6]))
        omega = mat_t_vec(R, (v[i, 3], v[i, 4], v[i, 5]))
        kinetic += 0.5 * dot(omega, mat_vec(load_matrix(inertia, i), omega))
        potential -= m * (gravity[0] * q[i, 0] + gravity[1] * q[i, 1] + gravity[2] * q[i, 2])
    return kinetic, potential
