"""Joints under position-based dynamics: one Gauss-Seidel pass over their blocks at the current positions.

A row with value c and stiffness k pushes with the force -k c+ of the end of a substep of s [s]. With the push
p = s^2 force and c+ = c + K p, K = J M^-1 J^T ([macklin2016]):

    (K + C) p = -c,     C = 1 / (s^2 k),

C = 0 of rigid rows. Differs from the paper: the rows of a joint are solved together, by a matrix of at most 6 x 6,
which converges faster than one row at a time; and dampers d, also those of drives, which aim at a speed w, are a pass
of their own over velocities, (K + 1 / (s d)) p = w - J v (see xpbd/rods.py for why). Sections of rods are
there, too, but for those at links of trees.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, Ints
from stickslip.constraints.joint.rows import measure_all
from stickslip.jit import kernel
from stickslip.law_codes import BOUNDED, LIMIT
from stickslip.linalg.small_solve import solve_small
from stickslip.linalg.vec3 import mat_vec
from stickslip.model.joint_tables import JointTables
from stickslip.scene.joint import JOINT_KINDS
from stickslip.xpbd.bodies import load_mobility, push_body
from stickslip.xpbd.rods import at_links
from stickslip.xpbd.trees import CANCELLED, answer_of_link, answer_to, hit_link, tree_of


class JointRoom(NamedTuple):
    """What a block needs while it is solved."""

    value: Array
    """(6,)"""
    J: Array
    """(6, 2, 6)"""
    response: Array
    """(6, 2, 6) M^-1 J^T"""
    K: Array
    """(36,)"""
    p: Array
    """(6,)"""


def other_blocks(tables: JointTables, broken: Bools, link: Ints) -> Ints:
    """Blocks of all joints that hold and are no sections of rods between bodies; broken (nj,), link (nb,)."""
    owner = tables.block_joint
    other = ((tables.kind[owner] != JOINT_KINDS.index("rod")) | at_links(tables, link)[owner]) & ~broken[owner]
    return np.flatnonzero(other).astype(np.int32)


def joint_room() -> JointRoom:
    """Room for a block of six rows."""
    return JointRoom(np.zeros(6), np.zeros((6, 2, 6)), np.zeros((6, 2, 6)), np.zeros(36), np.zeros(6))


@kernel
def push_joints(bodies, tables, blocks, coordinate, angle, target, passed, s, room, pushed, impulse_out):
    """One pass over ``blocks``; impulses [N s] are added to ``impulse_out`` (k,).

    coordinate (k,) of rows, zero where they have none; angle (nj, 2) is from ``passed`` [s] ago; target (nj, 2, 2);
    pushed (k,) [N s] gets the impulses of this pass.
    """
    for block in blocks:
        m = tables.block_joint[block]
        first, end = tables.block_start[block], tables.block_start[block + 1]
        rows = end - first
        measure_all(
            tables, tables.row_joint[first:end], tables.row_measure[first:end], coordinate[first:end], bodies.q,
            bodies.v, angle, passed, room.value, room.J,
        )  # fmt: skip
        _respond(bodies, tables, m, first, rows, room)
        for k in range(rows):
            r = first + k
            offset = tables.row_offset[r]
            if tables.row_driven[r]:
                offset = target[m, tables.row_coordinate[r], 0]
            room.p[k] = -tables.row_sign[r] * (room.value[k] - offset)
            stiffness = tables.row_stiffness[r]
            if stiffness == 0.0:
                room.K[k * rows + k], room.p[k] = 0.0, 0.0  # a damper alone
            elif not np.isinf(stiffness):
                room.K[k * rows + k] += 1.0 / (s * s * stiffness)
        law = tables.block_law[block]
        if law in (LIMIT, BOUNDED):
            # one row at a time: at most one limit of two is reached
            for k in range(rows):
                pivot = room.K[k * rows + k]
                p = room.p[k] / pivot if pivot > 0.0 else 0.0
                most = s * s * tables.row_bound[first + k]
                room.p[k] = max(p, 0.0) if law == LIMIT else min(max(p, -most), most)
        else:
            solve_small(rows, room.K, room.p)
        _push(bodies, tables, m, rows, room)
        for k in range(rows):
            pushed[first + k] = room.p[k] / s
            impulse_out[first + k] += pushed[first + k]


@kernel
def damp_joints(bodies, tables, blocks, coordinate, angle, target, passed, s, room, pushed, impulse_out):
    """One pass of all dampers over velocities, row by row; the rest as for :func:`push_joints`."""
    v = bodies.v
    for block in blocks:
        m = tables.block_joint[block]
        first, end = tables.block_start[block], tables.block_start[block + 1]
        rows, law = end - first, tables.block_law[block]
        damped = False
        for r in range(first, end):
            damped = damped or (tables.row_damping[r] > 0.0 and not np.isinf(tables.row_stiffness[r]))
        if not damped:
            continue
        measure_all(
            tables, tables.row_joint[first:end], tables.row_measure[first:end], coordinate[first:end], bodies.q, v,
            angle, passed, room.value, room.J,
        )  # fmt: skip
        _respond(bodies, tables, m, first, rows, room)
        for k in range(rows):
            r = first + k
            d = tables.row_damping[r]
            if d == 0.0 or np.isinf(tables.row_stiffness[r]) or (law == LIMIT and pushed[r] == 0.0):
                continue
            right = target[m, tables.row_coordinate[r], 1] if tables.row_driven[r] else 0.0
            for side in range(2):
                i = tables.body_a[m] if side == 0 else tables.body_b[m]
                if i >= 0:
                    for t in range(6):
                        right -= room.J[k, side, t] * v[i, t]
            p = right / (room.K[k * rows + k] + 1.0 / (s * d))
            if law == LIMIT:
                p = max(p, -pushed[r])
            elif law == BOUNDED:
                most = s * tables.row_bound[r]
                p = min(max(p, -most - pushed[r]), most - pushed[r])
            impulse_out[r] += p
            for side in range(2):
                i = tables.body_a[m] if side == 0 else tables.body_b[m]
                if i >= 0 and bodies.trees.link[i] >= 0:
                    J = room.J[k, side]
                    hit_link(bodies, i, (p * J[0], p * J[1], p * J[2]), (p * J[3], p * J[4], p * J[5]))
                elif i >= 0 and bodies.mass[i] > 0.0:
                    for t in range(6):
                        v[i, t] += p * room.response[k, side, t]


@kernel
def _respond(bodies, tables, m, first, rows, room):
    """K = J M^-1 J^T and M^-1 J^T of a block, into ``room``; J gets the signs of the rows."""
    a, b = tables.body_a[m], tables.body_b[m]
    J, response = room.J, room.response
    for k in range(rows):
        sign = tables.row_sign[first + k]
        if sign != 1.0:
            for t in range(6):
                J[k, 0, t] *= sign
                J[k, 1, t] *= sign
    for side in range(2):
        i = a if side == 0 else b
        tree = tree_of(bodies, i)
        if tree >= 0:
            if tree != tree_of(bodies, b if side == 0 else a):
                _answers_of_tree(bodies, (i, -1) if side == 0 else (-1, i), rows, room)
            elif side == 0:
                _answers_of_tree(bodies, (a, b), rows, room)
            continue
        if i < 0 or bodies.mass[i] == 0.0:
            for k in range(rows):
                for t in range(6):
                    response[k, side, t] = 0.0
            continue
        mass, mobility = bodies.mass[i], load_mobility(bodies, i)
        for k in range(rows):
            turn = mat_vec(mobility, (J[k, side, 3], J[k, side, 4], J[k, side, 5]))
            for t in range(3):
                response[k, side, t] = J[k, side, t] / mass
                response[k, side, 3 + t] = turn[t]
    for k in range(rows):
        for j in range(k + 1):
            total = 0.0
            for t in range(6):
                total += J[k, 0, t] * response[j, 0, t] + J[k, 1, t] * response[j, 1, t]
            room.K[k * rows + j] = total
            room.K[j * rows + k] = total


@kernel
def _answers_of_tree(bodies, sides, rows, room):
    """M^-1 J^T of the sides of a block that are links of one tree: what pushes one of them moves the other, too.

    Rows along which the tree cannot part the two, such as those across a planar loop, become zero: what is left of them
    is rounding.
    """
    J, response = room.J, room.response
    for k in range(rows):
        for side in range(2):
            if sides[side] >= 0:
                for c in range(6):
                    response[k, side, c] = 0.0
        largest = 0.0
        for side in range(2):
            if sides[side] < 0:
                continue
            own = J[k, side]
            _, _ = answer_to(bodies, sides[side], (own[0], own[1], own[2]), (own[3], own[4], own[5]))
            for to in range(2):
                if sides[to] >= 0:
                    way, turn = answer_of_link(bodies, sides[to])
                    for c in range(3):
                        response[k, to, c] += way[c]
                        response[k, to, 3 + c] += turn[c]
                    if to == side:
                        for c in range(3):
                            largest += own[c] * way[c] + own[3 + c] * turn[c]
        total = 0.0
        for side in range(2):
            if sides[side] >= 0:
                for c in range(6):
                    total += J[k, side, c] * response[k, side, c]
        if total <= CANCELLED * largest and sides[0] >= 0 and sides[1] >= 0:
            for side in range(2):
                for c in range(6):
                    J[k, side, c] = 0.0
                    response[k, side, c] = 0.0


@kernel
def _push(bodies, tables, m, rows, room):
    """Push both bodies of a joint by the block's p."""
    for side in range(2):
        i = tables.body_a[m] if side == 0 else tables.body_b[m]
        if i < 0 or (bodies.mass[i] == 0.0 and bodies.trees.link[i] < 0):
            continue
        x, y, z, a, b, c = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(rows):
            p = room.p[k]
            x += p * room.J[k, side, 0]
            y += p * room.J[k, side, 1]
            z += p * room.J[k, side, 2]
            a += p * room.J[k, side, 3]
            b += p * room.J[k, side, 4]
            c += p * room.J[k, side, 5]
        push_body(bodies, i, (x, y, z), (a, b, c))
