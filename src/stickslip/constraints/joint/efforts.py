"""Efforts: generalised forces along the free coordinates of joints, as forces and torques on their bodies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stickslip.bodies.registry import frame_poses, frame_velocities
from stickslip.constraints.joint.rows import measure_all
from stickslip.geometry.rotation import matrix
from stickslip.jit import allocating_kernel
from stickslip.model.control import Control
from stickslip.model.model import Model
from stickslip.model.state import State


def with_efforts(model: Model, state: State, control: Control) -> Control:
    """The control with the efforts of joints that are not broken added to the forces on bodies.

    An effort f along coordinate c acts as J^T f, with J the gradient of c at the start of the step: world forces that
    stay as they are during it.
    """
    rigid = model.rigid_count
    force = np.zeros((model.body_count, 6))
    force[:rigid] = control.body_force
    pose, velocity = frame_poses(model, state), frame_velocities(model, state)
    _add_efforts(model.joints, pose, velocity, state.joint_angle, state.joint_broken, control.effort, force)
    links, first = dict(control.frame_forces), rigid
    for kind in model.others:
        own = force[first : first + kind.frame_count]
        if own.any():
            # forces on links act at their centres of mass, those of joints about the origins of their frames
            poses = pose[first : first + kind.frame_count]
            for row, (at, frame) in zip(own, zip(poses, kind.frames, strict=True), strict=True):
                row[3:] -= np.cross(matrix(at[3:]) @ np.array(frame.centre), row[:3])
            links[kind.name] = own + links.get(kind.name, 0.0)
        first += kind.frame_count
    return replace(control.with_parts(body_force=force[:rigid]), frame_forces=links)


@allocating_kernel
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
