"""Where a step with robots begins and where it leads: unknowns gathered, impulses recalled, coordinates advanced."""

from __future__ import annotations

from stickslip.bodies.tree.advance import advance_tree
from stickslip.bodies.tree.arrays import FRAME, FRAME_END, Q_END, V_END, WORK, WORK_END, Q, V, robot_in, scratch_in
from stickslip.bodies.tree.kinematics import place_links
from stickslip.bodies.tree.points import link_velocities
from stickslip.constraints.coordinates import largest_coupling_error
from stickslip.jit import inner_kernel
from stickslip.tolerances import POSITION_ROUNDING


@inner_kernel
def gather(dynamic, v, of_robots, out):
    """Unknown velocities (nv,): those of dynamic bodies, then those of robots."""
    for b in range(dynamic.shape[0]):
        for k in range(6):
            out[6 * b + k] = v[dynamic[b], k]
    for k in range(of_robots.shape[0]):
        out[6 * dynamic.shape[0] + k] = of_robots[k]


@inner_kernel
def all_finite(x):
    """Whether all numbers are."""
    for k in range(x.shape[0]):  # noqa: SIM110  (kernels have no generators)
        if not abs(x[k]) < float("inf"):
            return False
    return True


@inner_kernel
def tree_rounding(dynamic, pose, rigid, frame_block, horizon, out):
    """Scale.rounding (columns,), by the farthest of the frames that a column block moves; returns the largest."""
    for b in range(out.shape[0]):
        out[b] = 0.0
    for b in range(dynamic.shape[0]):
        for k in range(3):
            out[b] = max(out[b], abs(pose[dynamic[b], k]))
    for f in range(frame_block.shape[0]):
        for k in range(3):
            out[frame_block[f]] = max(out[frame_block[f]], abs(pose[rigid + f, k]))
    most = 0.0
    for b in range(out.shape[0]):
        out[b] = POSITION_ROUNDING * out[b] / horizon
        most = max(most, out[b])
    return most


@inner_kernel
def recall_rows(known, impulse, number, lam_out):
    """Impulses of the last step for rows over coordinates; both lists of numbers are sorted."""
    at = 0
    for k in range(number.shape[0]):
        while at < known.shape[0] and known[at] < number[k]:
            at += 1
        if at < known.shape[0] and known[at] == number[k]:
            lam_out[k] = impulse[at, 0]


@inner_kernel
def advance_robots(robots, found, velocities, horizon, scratch, q_out, ends_out, start_out, moved):
    """Coordinates at the end of the step, links there in the second of the works, poses (nb, 7) and velocities (nb, 6)
    of frames.

    velocities: unknown ones, and those before the step, whose frames are written if they have ``moved``. Returns by how
    much couplings are open at most.
    """
    pose_out, end_out = ends_out
    rigid, apart = end_out.shape[0] - robots.robots[robots.robots.shape[0] - 1, FRAME_END], 0.0
    for r in range(robots.robots.shape[0]):
        own, robot = robots.robots[r], robot_in(robots, r)
        works, _, _ = scratch_in(robot.tree, own[Q_END] - own[Q], scratch[own[WORK] : own[WORK_END]])
        q, v, frames = (
            slice(own[Q], own[Q_END]),
            slice(own[V], own[V_END]),
            slice(rigid + own[FRAME], rigid + own[FRAME_END]),
        )
        advance_tree(robot.tree, found[q], velocities[0][v], horizon, q_out[q])
        place_links(robot.tree, q_out[q], works[1])
        link_velocities(robot.tree, robot.frame_link, works[1], velocities[0][v], end_out[frames])
        for f in range(robot.frame_link.shape[0]):
            for k in range(7):
                pose_out[frames.start + f, k] = works[1].pose[robot.frame_link[f], k]
        if moved:
            link_velocities(robot.tree, robot.frame_link, works[0], velocities[1][v], start_out[frames])
        apart = max(apart, largest_coupling_error(robot.rows, q_out[q]))
    return apart
