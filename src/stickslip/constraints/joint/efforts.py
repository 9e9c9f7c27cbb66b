"""Efforts: generalised forces along the free coordinates of joints, as forces and torques on their bodies."""

from __future__ import annotations

import numpy as np

from stickslip.constraints.joint.rows import measure_all
from stickslip.jit import kernel
from stickslip.model.control import Control
from stickslip.model.model import Model
from stickslip.model.state import State


def with_efforts(model: Model, state: State, control: Control) -> Control:
    """The control with the efforts of joints that are not broken added to the forces on bodies.

    An effort f along coordinate c acts as J^T f, with J the gradient of c at the start of the step: world forces that
    stay as they are during it.
    """
    force = control.body_force.copy()
    _add_efforts(
        model.joints, state.body_pose, state.body_velocity, state.joint_angle, state.joint_broken, control.effort, force
    )
    return control.with_parts(body_force=force)


@kernel
def _add_efforts(tables, q, v, angle, broken, effort, force_out):
    """Add J^T effort of every coordinate to the forces (nb, 6) of its two bodies."""
    count = effort.shape[0]
    joint, coordinate = np.empty(2 * count, np.int32), np.empty(2 * count, np.int32)
    for k in range(2 * count):
        joint[k], coordinate[k] = k // 2, k % 2
    measure = tables.coordinate.reshape((2 * count, 3))
    value, J = np.zeros(2 * count), np.zeros((2 * count, 2, 6))
    measure_all(tables, joint, measure, coordinate, q, v, angle, 0.0, value, J)
    for k in range(2 * count):
        m, f = joint[k], effort[joint[k], coordinate[k]]
        if f == 0.0 or broken[m]:
            continue
        for side in range(2):
            i = tables.body_a[m] if side == 0 else tables.body_b[m]
            if i >= 0:
                for t in range(6):
                    force_out[i, t] += f * J[k, side, t]
