"""Velocities at the end of a step of the midpoint rule with robots, along rigid joints and couplings.

What constraints/system.StepSystem._settled does: rows that hold are those of rigid joints at the end of the step, and
couplings there; velocities change by the least kinetic energy (constraints/tangent.py).
"""

from __future__ import annotations

import numpy as np

from stickslip.bodies.rigid.momentum import _mass_blocks
from stickslip.bodies.tree.arrays import (
    FRAME,
    FRAME_END,
    Q_END,
    SQUARE,
    SQUARE_END,
    V_END,
    WORK,
    WORK_END,
    Q,
    V,
    robot_in,
    scratch_in,
)
from stickslip.bodies.tree.coordinate_tables import COUPLING
from stickslip.bodies.tree.kinematics import place_links
from stickslip.bodies.tree.momentum import compose_mass, factorise, fill_matrix, invert_factors, weigh_links
from stickslip.bodies.tree.points import link_velocities
from stickslip.constraints.settling import STILL
from stickslip.constraints.tangent import make_tangent
from stickslip.jit import allocating_kernel, bare_kernel, inner_kernel, view_at
from stickslip.linalg.block_rows import _Arrays, add_product
from stickslip.linalg.dense_blocks import DenseBlocks


@allocating_kernel
def settle(robots, bodies, squares, J, joints, active, state, h, scratch):
    """Velocities v (nv,) of a step of h made tangent, in place; whether they were found.

    J: rows over unknowns linearised where the step leads; joints: how many blocks there are before theirs and how many
    they have, data and velocities of their rows at the end of the step, zero where they are not rigid. active: rows
    over coordinates, which follow, and how many each robot has. state: q (nq,) at the end, v.
    """
    (before, own, joint_data, joint_speed), (of_row, of_robot), (q, v) = joints, active, state
    last, all_six = J.row_start.shape[0] - 1, True
    for b in range(J.column_start.shape[0] - 1):
        all_six = all_six and J.column_start[b + 1] - J.column_start[b] == 6
    kept = np.zeros(last, np.bool_)
    kept[before : before + own] = True
    block, first, some = before + own, 0, own > 0
    for r in range(robots.robots.shape[0]):
        what, coupled = robot_in(robots, r).rows.what, False
        for k in range(of_robot[r]):
            coupled = coupled or what[of_row[first + k]] == COUPLING
        for k in range(of_robot[r]):
            kept[block + k] = coupled
        block, first, some = block + of_robot[r], first + of_robot[r], some or coupled
    if not some:
        return True
    if all_six:  # whose products are other kernels
        return False
    rows = _kept_rows(robots, J, kept, (before, own, joint_data), active)
    speed, most = np.zeros(rows.row_start[rows.row_start.shape[0] - 1]), 0.0
    add_product(rows, v, speed)
    for k in range(joint_speed.shape[0]):
        speed[k] = joint_speed[k]
    for k in range(speed.shape[0]):
        if not abs(speed[k]) < np.inf:
            return False
        most = max(most, abs(speed[k]))
    if most * h <= STILL:
        return True
    data, inverse = np.zeros(squares[squares.shape[0] - 1]), np.zeros(squares[squares.shape[0] - 1])
    masses_at(robots, bodies, q, scratch, data, inverse)
    return make_tangent(rows, DenseBlocks(J.column_start, squares, data, inverse), speed, v)


@inner_kernel
def _kept_rows(robots, J, kept, joints, active):
    """The blocks of J that take part, with rows that do not hold set to zero."""
    before, own, joint_data = joints
    of_row, of_robot = active
    n, m, ne, size = 0, 0, 0, 0
    for c in range(kept.shape[0]):
        if kept[c]:
            n, m = n + 1, m + J.row_start[c + 1] - J.row_start[c]
            ne += J.entry_start[c + 1] - J.entry_start[c]
            size += J.data_start[J.entry_start[c + 1]] - J.data_start[J.entry_start[c]]
    row_start, entry_start = np.zeros(n + 1, np.int32), np.zeros(n + 1, np.int32)
    column, data_start, data = np.empty(ne, np.int32), np.zeros(ne + 1, np.int32), np.zeros(size)
    holds = np.zeros(kept.shape[0], np.bool_)
    block, first = before + own, 0
    for r in range(robots.robots.shape[0]):
        what = robot_in(robots, r).rows.what
        for k in range(of_robot[r]):
            holds[block + k] = what[of_row[first + k]] == COUPLING
        block, first = block + of_robot[r], first + of_robot[r]
    b, e = 0, 0
    for c in range(kept.shape[0]):
        if not kept[c]:
            continue
        for k in range(J.entry_start[c], J.entry_start[c + 1]):
            column[e] = J.entry_column[k]
            for x in range(J.data_start[k + 1] - J.data_start[k]):
                if c < before + own:
                    data[data_start[e] + x] = joint_data[data_start[e] + x]
                elif holds[c]:
                    data[data_start[e] + x] = J.data[J.data_start[k] + x]
            data_start[e + 1] = data_start[e] + J.data_start[k + 1] - J.data_start[k]
            e += 1
        row_start[b + 1], entry_start[b + 1] = row_start[b] + J.row_start[c + 1] - J.row_start[c], e
        b += 1
    return _Arrays(row_start, entry_start, column, data_start, data, J.column_start)


@inner_kernel
def masses_at(robots, bodies, q, scratch, data_out, inverse_out):
    """Blocks of masses at q (nq,), as Motions.masses; the arrays come in as zero."""
    nd, nr = bodies.dynamic.shape[0], bodies.block.shape[0] - robots.robots[robots.robots.shape[0] - 1, FRAME_END]
    poses = view_at(q, 0, (nr, 7))
    _mass_blocks(
        bodies.dynamic, bodies.mass, bodies.inertia, poses, view_at(data_out, 0, (nd, 6, 6)),
        view_at(inverse_out, 0, (nd, 6, 6)),
    )  # fmt: skip
    for r in range(robots.robots.shape[0]):
        its, robot = robots.robots[r], robot_in(robots, r)
        works, _, _ = scratch_in(robot.tree, its[Q_END] - its[Q], scratch[its[WORK] : its[WORK_END]])
        work, square = works[1], slice(its[SQUARE], its[SQUARE_END])
        place_links(robot.tree, q[its[Q] : its[Q_END]], work)
        weigh_links(robot.tree, work)
        compose_mass(robot.tree, work)
        factorise(robot.tree, work.mass, work.factor)
        fill_matrix(robot.tree, work.mass, data_out[square])
        invert_factors(robot.tree, work.factor, inverse_out[square])


@bare_kernel
def frame_velocities_at(robots, which, v, scratch, velocity_out):
    """Velocities (nb, 6) of the frames of robots with unknown velocities v (nv,): where their links are in ``which`` of
    the works, 0 before the step, 1 after it."""
    rigid = velocity_out.shape[0] - robots.robots[robots.robots.shape[0] - 1, FRAME_END]
    for r in range(robots.robots.shape[0]):
        its, robot = robots.robots[r], robot_in(robots, r)
        works, _, _ = scratch_in(robot.tree, its[Q_END] - its[Q], scratch[its[WORK] : its[WORK_END]])
        frames = slice(rigid + its[FRAME], rigid + its[FRAME_END])
        link_velocities(robot.tree, robot.frame_link, works[which], v[its[V] : its[V_END]], velocity_out[frames])


@bare_kernel
def frame_poses_before(robots, scratch, pose_out):
    """Poses (nb, 7) of the frames of robots before the step."""
    rigid = pose_out.shape[0] - robots.robots[robots.robots.shape[0] - 1, FRAME_END]
    for r in range(robots.robots.shape[0]):
        its, robot = robots.robots[r], robot_in(robots, r)
        works, _, _ = scratch_in(robot.tree, its[Q_END] - its[Q], scratch[its[WORK] : its[WORK_END]])
        for f in range(robot.frame_link.shape[0]):
            for k in range(7):
                pose_out[rigid + its[FRAME] + f, k] = works[0].pose[robot.frame_link[f], k]
