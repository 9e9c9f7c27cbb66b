"""What a compiled step makes of deep trees when there are rows, and leaves out when there are none: S and A."""

from __future__ import annotations

from stickslip.bodies.tree.arrays import (
    FRAME,
    FRAME_END,
    Q_END,
    SQUARE,
    SQUARE_END,
    TWIST,
    TWIST_END,
    V_END,
    WORK,
    WORK_END,
    Q,
    V,
    robot_in,
    scratch_in,
)
from stickslip.bodies.tree.articulated import is_deep
from stickslip.bodies.tree.free_motion import complete_frames, complete_momentum
from stickslip.jit import inner_kernel


@inner_kernel
def late_frames(robots, v, scratch, rigid, frames_out):
    """S of the frames of deep trees, which ``begin_step`` has left out; there are contacts."""
    found, pose, velocity, twists = frames_out
    for r in range(robots.robots.shape[0]):
        own, robot = robots.robots[r], robot_in(robots, r)
        if is_deep(robot.tree):
            works, _, _ = scratch_in(robot.tree, own[Q_END] - own[Q], scratch[own[WORK] : own[WORK_END]])
            frames = slice(rigid + own[FRAME], rigid + own[FRAME_END])
            complete_frames(
                robot.tree, robot.frame_link, v[own[V] : own[V_END]], works,
                (found[own[Q] : own[Q_END]], pose[frames], velocity[frames], twists[own[TWIST] : own[TWIST_END]]),
            )  # fmt: skip


@inner_kernel
def late_momentum(robots, state, h, at_end, scratch, out):
    """A and A^-1 of deep trees, which ``begin_step`` has left out; there are rows. Returns whether A is sound."""
    (q, v), (v_free, data, inverse) = state, out
    good = True
    for r in range(robots.robots.shape[0]):
        own, robot = robots.robots[r], robot_in(robots, r)
        if at_end and is_deep(robot.tree):
            works, room, _ = scratch_in(robot.tree, own[Q_END] - own[Q], scratch[own[WORK] : own[WORK_END]])
            at, square = slice(own[V], own[V_END]), slice(own[SQUARE], own[SQUARE_END])
            sound = complete_momentum(
                robot.tree, (q[own[Q] : own[Q_END]], v[at]), (h, True, 0.0, 1.0), works, room,
                (v_free[at], data[square], inverse[square]),
            )  # fmt: skip
            good = good and sound
    return good
