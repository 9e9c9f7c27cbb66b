"""Where shapes are in the world."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.jit import kernel
from stickslip.linalg.vec3 import add, load3, mat_vec, quat_matrix, quat_multiply
from stickslip.model import Model


def shape_poses(model: Model, q: Array) -> tuple[Array, Array]:
    """World position (ns, 3) and rotation matrix (ns, 3, 3) of every shape at configuration q (nb, 7)."""
    count = len(model.shape_body)
    position, rotation = np.empty((count, 3)), np.empty((count, 3, 3))
    place_shapes(model.shape_body, model.shape_position, model.shape_rotation, q, position, rotation)
    return position, rotation


@kernel
def place_shapes(shape_body, shape_position, shape_rotation, q, position_out, rotation_out):
    """Pose of each shape: body pose times the shape's pose in the body."""
    for s in range(shape_body.shape[0]):
        i = shape_body[s]
        body = (q[i, 3], q[i, 4], q[i, 5], q[i, 6])
        x = add(load3(q, i), mat_vec(quat_matrix(body), load3(shape_position, s)))
        own = (shape_rotation[s, 0], shape_rotation[s, 1], shape_rotation[s, 2], shape_rotation[s, 3])
        R = quat_matrix(quat_multiply(body, own))
        for k in range(3):
            position_out[s, k] = x[k]
            for j in range(3):
                rotation_out[s, k, j] = R[3 * k + j]
