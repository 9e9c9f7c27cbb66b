"""Kinetic and potential energy of rigid bodies."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.protocol import IslandBooks, KindEnergy
from stickslip.jit import bare_kernel, kernel
from stickslip.linalg.vec3 import dot, load_matrix, mat_t_vec, mat_vec, quat_matrix
from stickslip.model.model import Model


def energies(model: Model, q: Array, v: Array) -> tuple[float, float]:
    """Kinetic and potential energy [J] of the dynamic bodies; potential zero at the origin."""
    kinetic, potential = _energies(model.dynamic, model.mass, model.inertia, model.gravity, q, v)
    return float(kinetic), float(potential)


def step_energies(
    model: Model, start: tuple[Array, Array], end: tuple[Array, Array], force: Array, mean: Array, h: float,
    books: IslandBooks,
) -> KindEnergy:  # fmt: skip
    """Energies between poses and velocities at the start and at the end of a step of h [s], booked by island.

    The user's ``force`` (nb, 6) acts over the mean velocities (nb, 6).
    """
    pushed = np.empty((len(model.dynamic), 6))
    kinetic_0, potential_0, kinetic, potential = book_bodies(
        model.dynamic, (model.mass, model.inertia, model.gravity), start, end, force, mean, h, books, pushed
    )
    return KindEnergy((kinetic_0, kinetic), (potential_0, potential), (0.0, 0.0), h * float(pushed.sum()), 0.0)


@bare_kernel
def book_bodies(dynamic, masses, start, end, force, mean, h, books, pushed_out):
    """Book the bodies by island, in place; pushed_out (nd, 6): powers of the user's forces.

    Returns kinetic and potential energy before, and after.
    """
    mass, inertia, gravity = masses
    q_0, v_0 = start
    q, v = end
    kinetic_0, potential_0, kinetic, potential = 0.0, 0.0, 0.0, 0.0
    for b in range(dynamic.shape[0]):
        i, to = dynamic[b], books.column[b]
        moving_0, turning_0, height_0 = body_energy(i, mass, inertia, gravity, q_0, v_0)
        moving, turning, height = body_energy(i, mass, inertia, gravity, q, v)
        kinetic_0, kinetic = kinetic_0 + moving_0 + turning_0, kinetic + moving + turning
        potential_0, potential = potential_0 - height_0, potential - height
        power = 0.0
        for k in range(6):
            pushed_out[b, k] = force[i, k] * mean[i, k]
            power += pushed_out[b, k]
        risen, work = height_0 - height, h * power
        books.change[to] += (moving + turning) - (moving_0 + turning_0) + risen
        books.given[to] += work
        books.known[to] += (moving_0 + turning_0) + abs(risen) + abs(work)
    return kinetic_0, potential_0, kinetic, potential


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


@bare_kernel
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
