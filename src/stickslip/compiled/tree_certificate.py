"""What a certificate measures of a step with robots, in one kernel: what certify/certificate.py does for any kinds.

The order of all sums is that of certify/energy_ledger.py and contact/momentum_error.py, whose kernels these are.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.protocol import IslandBooks
from stickslip.bodies.rigid.energy import book_bodies
from stickslip.bodies.tree.arrays import (
    BLOCK,
    CONTROL,
    CONTROL_END,
    LINKS,
    LINKS_END,
    Q_END,
    V_END,
    WORK,
    WORK_END,
    Q,
    V,
    robot_in,
    scratch_in,
)
from stickslip.bodies.tree.energy import book_trees
from stickslip.certify.energy_ledger import StepEnergy, add_rows, balanced, energy_made
from stickslip.certify.measurements import Measurements
from stickslip.certify.status import push_turns
from stickslip.compiled.tree_solving import block_product
from stickslip.constraints.coordinates import row_work
from stickslip.constraints.joint.sums import step_energies
from stickslip.contact.islands import label
from stickslip.contact.laws import contact_errors
from stickslip.contact.momentum_error import _add_sizes, _worst
from stickslip.contact.residual import extremes, worst_island
from stickslip.jit import inner_kernel, large_kernel, plain_kernel, view_at
from stickslip.linalg.block_rows import _apply_transpose
from stickslip.tolerances import POSITION_ROUNDING

TREE_NUMBERS, OF_ROBOT = 23, 4
"""Numbers that ``measure_trees`` writes before those of each robot, and how many these are: work of its forces, elastic
energy before and after, damping [J]. Powers of forces on rigid bodies follow."""


def tree_measurements_in(found: Array, h: float, robots: int, lost: float = 0.0) -> Measurements:
    """What ``measure_trees`` wrote of a step of h [s]; lost [J]: by breaking."""
    (
        violation, cone, angle, feeding, friction, normal, gliding, deepest, linear, angular, share, worst, kinetic_0,
        potential_0, kinetic, potential, carried, made, turn, elastic_0, elastic, damping, given,
    ) = found[:TREE_NUMBERS].tolist()  # fmt: skip
    own = TREE_NUMBERS + OF_ROBOT * robots
    work = h * float(found[own:].sum()) + (given - carried)
    for each in found[TREE_NUMBERS:own].reshape(robots, OF_ROBOT).tolist():
        work, elastic_0, elastic, damping = work + each[0], elastic_0 + each[1], elastic + each[2], damping + each[3]
    ledger = balanced(
        (kinetic_0, kinetic), (potential_0, potential), (elastic_0, elastic), work, friction, normal, damping, lost
    )
    return Measurements(
        deepest, violation, cone, angle, feeding, gliding, linear, angular, share, worst, turn, StepEnergy(ledger, made)
    )


@plain_kernel
def tree_measuring_room(blocks, columns, unknowns, bodies, rows):
    """Integers and reals of room of ``measure_trees``; rows: those over coordinates."""
    islands = blocks + columns + 1
    ints = 3 * columns + blocks
    return ints, 6 * unknowns + 6 * columns + blocks + 12 * islands + 7 * bodies + 4 * rows


@inner_kernel
def judged_as_one(J, islands, free, group_out):
    """contact/islands.judged_together: column blocks of three, as particles have, go by their islands."""
    columns = group_out.shape[0]
    for b in range(columns):
        group_out[b] = b
    for i in range(islands.start.shape[0] - 1):
        first = columns
        for k in range(islands.column_start[i], islands.column_start[i + 1]):
            b = islands.column_order[k]
            if J.column_start[b + 1] - J.column_start[b] == 3:
                first = min(first, b)
        for k in range(islands.column_start[i], islands.column_start[i + 1]):
            b = islands.column_order[k]
            if J.column_start[b + 1] - J.column_start[b] == 3:
                group_out[b] = first


@large_kernel
def measure_trees(J, laws, pushes, measures, momentum, islands, bodies, ends, numbers, robots, joints, rooms, out):
    """All numbers of a certificate, the work of each robot's forces [J], and powers [W] on rigid bodies (nd, 6).

    pushes: lam, v, u, u before the step, bias, prescribed, gaps. measures: weights of blocks, torsion lengths, rows of
    the free velocity as they count. momentum: A, v_free. bodies: parts of RigidTables. ends: q and v before and after,
    of rigid bodies (nb, 7) and (nb, 6) with prescribed velocities, forces on them (nb, 6). numbers: step and horizon
    [s], ``still``, the free speed [m/s]. robots: tables; q and unknown v before and after; forces (nv,), forces on
    links (nl, 6) and controls (nu, 2); active rows over coordinates, and how many each robot has; scratch. joints:
    None, or as of ``_joints_work``. rooms: integers and reals.
    """
    lam, v, u, u_before, bias, prescribed, gap = pushes
    weight, torsion_length, velocity = measures
    A, at = momentum
    q_0, v_0, q, v_1, force = ends
    h, horizon, still, speed = numbers
    tables, states, given, active, scratch = robots
    ints, reals = rooms
    n, columns, nb = J.row_start.shape[0] - 1, J.column_start.shape[0] - 1, q.shape[0]
    group, free, column = ints[:columns], ints[columns : 2 * columns], ints[2 * columns : 3 * columns]
    block = ints[3 * columns : 3 * columns + n]
    work, reals = reals[:n], reals[n:]
    mean, turn, reals = view_at(reals, 0, (nb, 6)), reals[6 * nb : 7 * nb], reals[7 * nb :]

    work[:] = 0.0
    violation, cone, angle, feeding, friction, normal, gliding = contact_errors(
        J.row_start, laws, lam, u, u_before, bias, prescribed, weight, still, work
    )
    judged_as_one(J, islands, free, group)
    count = label(islands, group, free, block, column)
    linear, angular, share = _momentum_error(J, A, lam, v, at, group, reals)
    shared = view_at(reals, 0, (3, count))
    deepest, farthest = extremes(gap, q, None)
    worst = worst_island(
        J, laws, lam, u, (weight, torsion_length, velocity), (block, column, shared), at, speed,
        POSITION_ROUNDING * farthest / horizon,
    )  # fmt: skip
    turn[:] = 0.0
    most = push_turns(J, laws.law, lam, bodies.dynamic, bodies.lever, v_1, h, turn)

    # energy, of all and of each island
    two, reals = view_at(reals, 0, (2, count + 1)), reals[2 * count + 2 :]
    three, reals = view_at(reals, 0, (3, count + 1)), reals[3 * count + 3 :]
    three[:] = 0.0
    books = IslandBooks(column, three[0], three[1], three[2])
    for i in range(nb):
        for k in range(6):
            mean[i, k] = 0.5 * (v_0[i, k] + v_1[i, k])
    nr, nd = tables.robots.shape[0], bodies.dynamic.shape[0]
    last = TREE_NUMBERS + OF_ROBOT * nr
    powers = view_at(out, last, (nd, 6))
    total = book_bodies(
        bodies.dynamic, (bodies.mass, bodies.inertia, bodies.gravity), (q_0, v_0), (q, v_1), force, mean, h, books,
        powers,
    )  # fmt: skip
    kinetic_0, potential_0, kinetic, potential = total
    for r in range(nr):
        own, robot = tables.robots[r], robot_in(tables, r)
        q_own, v_own = slice(own[Q], own[Q_END]), slice(own[V], own[V_END])
        works, _, room = scratch_in(robot.tree, own[Q_END] - own[Q], scratch[own[WORK] : own[WORK_END]])
        found = book_trees(
            robot.tree, robot.drives, (states[0][q_own], states[1][v_own], states[2][q_own], states[3][v_own]),
            (given[0][v_own], given[1][own[LINKS] : own[LINKS_END]], given[2][own[CONTROL] : own[CONTROL_END]]), h,
            works, True, room, own[BLOCK], books,
        )  # fmt: skip
        kinetic_0, kinetic = kinetic_0 + found[0], kinetic + found[1]
        potential_0, potential = potential_0 + found[2], potential + found[3]
        told = TREE_NUMBERS + OF_ROBOT * r
        out[told], out[told + 1], out[told + 2], out[told + 3] = found[6], found[4], found[5], found[7]
    carried = add_rows(block, J.row_start, work, lam, prescribed, two, three[0], three[1], three[2])
    held = (0.0, 0.0, 0.0, 0.0)
    if joints is not None:
        held = _joints_work(joints, mean, h, books)
    elastic_0, elastic, damping, gave = _rows_work(J, lam, tables, states, active, held, books, reals)
    made = energy_made(three[0], three[1], three[2])
    found_all = (
        violation, cone, angle, feeding, friction, normal, gliding, deepest, linear, angular, share, worst, kinetic_0,
        potential_0, kinetic, potential, carried, made, most, elastic_0, elastic, damping, gave,
    )  # fmt: skip
    for k in range(TREE_NUMBERS):
        out[k] = found_all[k]


@inner_kernel
def _momentum_error(J, A, lam, v, at, group, reals):
    """contact/momentum_error.momentum_error of blocks of any size."""
    nv, columns = v.shape[0], group.shape[0]
    impulse, gained, held = reals[:nv], reals[nv : 2 * nv], reals[2 * nv : 3 * nv]
    pushes, change, inner = reals[3 * nv : 4 * nv], reals[4 * nv : 5 * nv], reals[5 * nv : 6 * nv]
    for k in range(nv):
        impulse[k], pushes[k], change[k], inner[k] = 0.0, 0.0, v[k] - at[k], 0.0
    _apply_transpose(J, lam, impulse)
    _add_sizes(J, lam, pushes)
    block_product(A, A.data, change, gained)
    block_product(A, A.data, v, held)
    groups = 0
    for b in range(columns):
        groups = max(groups, group[b] + 1)
    sums = view_at(reals, 6 * nv, (groups, 6))
    return _worst(J.column_start, group, A, (gained, impulse, held, pushes, inner), sums)


@inner_kernel
def _joints_work(joints, mean, h, books):
    """Book joints by island; returns their elastic energies, damping, and what drives gave [J].

    joints: tables, poses (nb, 7) and velocities (nb, 6) of all frames before and after, broken ones, impulses (k,),
    column block of each, and two arrays that are written: by how much each is apart (nj,) [m], and what breaking lost
    with the largest of these (2,). mean (nr, 6): velocities of rigid bodies over which forces act.
    """
    tables, (q_0, v_0, q, v), broken, impulse, of_joint, apart, told = joints
    nb, nr, nj, islands = q.shape[0], mean.shape[0], of_joint.shape[0], books.known.shape[0]
    between, by_joint, sums = np.empty((nb, 6)), np.zeros((6, nj)), np.zeros((3, islands))
    for i in range(nb):
        for k in range(6):
            between[i, k] = mean[i, k] if i < nr else 0.5 * (v_0[i, k] + v[i, k])
    apart[:] = 0.0
    elastic_0, elastic, damping, gave, lost = step_energies(
        tables, q_0, q, broken, broken, impulse, between, h, by_joint, apart
    )
    told[0], told[1] = lost, 0.0
    for m in range(nj):
        apart[m] = sqrt(apart[m])
        told[1] = max(told[1], apart[m])
        if of_joint[m] >= 0:
            to = books.column[of_joint[m]]
            sums[0, to] += by_joint[0, m] + abs(by_joint[3, m]) + by_joint[5, m]
            sums[1, to] += by_joint[1, m] - by_joint[0, m]
            sums[2, to] += by_joint[3, m] - by_joint[2, m] - by_joint[4, m]
    for to in range(islands):
        books.known[to] += sums[0, to]
        books.change[to] += sums[1, to]
        books.given[to] += sums[2, to]
    return elastic_0, elastic, damping, gave


@inner_kernel
def _rows_work(J, lam, tables, states, active, held, books, reals):
    """Book the rows over coordinates by island; returns their elastic energies, damping, and what drives gave [J], with
    those of joints, ``held``."""
    numbers, count = active
    total = 0
    for r in range(count.shape[0]):
        total += count[r]
    block, first = J.row_start.shape[0] - 1 - total, 0
    elastic_0, elastic, damping, gave = held
    islands = books.known.shape[0]
    for r in range(count.shape[0]):
        own, rows, k = tables.robots[r], robot_in(tables, r).rows, count[r]
        q_own, v_own = slice(own[Q], own[Q_END]), slice(own[V], own[V_END])
        entries, sums = view_at(reals, 0, (4, k)), view_at(reals, 4 * k, (3, islands))
        entries[:] = 0.0
        sums[:] = 0.0
        row = J.row_start[block]
        found = row_work(
            rows, numbers[first : first + k],
            (states[0][q_own], states[2][q_own], states[1][v_own], states[3][v_own]), lam[row : row + k], entries,
        )  # fmt: skip
        elastic_0, elastic = elastic_0 + found[0], elastic + found[1]
        damping, gave = damping + found[2], gave + found[3]
        for i in range(k):
            to = books.column[J.entry_column[J.entry_start[block + i]]]
            sums[0, to] += entries[0, i] + abs(entries[3, i])
            sums[1, to] += entries[1, i] - entries[0, i]
            sums[2, to] += entries[3, i] - entries[2, i]
        if k > 0:
            for to in range(islands):
                books.known[to] += sums[0, to]
                books.change[to] += sums[1, to]
                books.given[to] += sums[2, to]
        block, first = block + k, first + k
    return elastic_0, elastic, damping, gave
