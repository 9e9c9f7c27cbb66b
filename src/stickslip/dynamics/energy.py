"""Kinetic and potential energy of the bodies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stickslip.jit import kernel
from stickslip.linalg.vec3 import dot, load_matrix, mat_t_vec, mat_vec, quat_matrix
from stickslip.model import Model


def energies(model: Model, q: NDArray[np.float64], v: NDArray[np.float64]) -> tuple[float, float]:
    """Kinetic and potential energy [J] of the dynamic bodies; potential zero at the origin."""
    kinetic, potential = _energies(model.dynamic, model.mass, model.inertia, model.gravity, q, v)
    return float(kinetic), float(potential)


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
