"""What a certificate measures of a step of rigid bodies with joints, in one kernel: certify/certificate.py in order."""

from __future__ import annotations

from math import sqrt

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.protocol import IslandBooks
from stickslip.bodies.rigid.energy import book_bodies
from stickslip.certify.energy_ledger import StepEnergy, add_rows, balanced, energy_made
from stickslip.certify.measurements import Measurements
from stickslip.certify.status import push_turns
from stickslip.constraints.joint.sums import step_energies
from stickslip.contact.islands import label
from stickslip.contact.laws import contact_errors
from stickslip.contact.momentum_error import BODY_ROOM, worst_of_bodies
from stickslip.contact.residual import extremes, worst_island
from stickslip.jit import inner_kernel
from stickslip.tolerances import POSITION_ROUNDING

JOINT_NUMBERS = 26
"""Numbers that ``measure_joined`` writes, before the powers of the user's forces; the first are those of
measurements.measure_step."""
JOINT_ERROR = 25
"""Which of them is the largest distance by which joints are apart [m]."""


def joined_measurements_in(found: Array, h: float) -> Measurements:
    """What ``measure_joined`` wrote of a step of h [s]."""
    (
        violation, cone, angle, feeding, friction, normal, gliding, deepest, linear, angular, share, worst, kinetic_0,
        potential_0, kinetic, potential, carried, made, turn, elastic_0, elastic, damping, given, lost, _, _,
    ) = found[:JOINT_NUMBERS].tolist()  # fmt: skip
    work = h * float(found[JOINT_NUMBERS:].sum()) + (given - carried) + 0.0
    ledger = balanced(
        (kinetic_0, kinetic), (potential_0, potential), (elastic_0, elastic), work, friction, normal, damping, lost
    )
    return Measurements(
        deepest, violation, cone, angle, feeding, gliding, linear, angular, share, worst, turn, StepEnergy(ledger, made)
    )


@inner_kernel
def measure_joined(J, laws, pushes, measures, momentum, islands, bodies, ends, numbers, joints, out):
    """All numbers of a certificate, and powers [W] of the user's forces (nd, 6).

    pushes: lam, v, u, u before the step, bias, prescribed, gaps. measures: weights of blocks, torsion lengths, rows of
    the free velocity as they count. momentum: A, v_free. bodies: parts of RigidTables. ends: poses before, velocities
    before with prescribed ones, both after, forces (nb, 6). numbers: step and horizon [s], ``still``, the free speed
    [m/s], height of J as contacts. joints: tables, poses and velocities of the states before and after, broken ones,
    impulses (k,), column block of each, and room (nj,) for by how much each is apart [m].
    """
    lam, v, u, u_before, bias, prescribed, gap = pushes
    weight, torsion_length, velocity = measures
    A, at = momentum
    q_0, v_0, q, v_1, force = ends
    h, horizon, still, speed, height = numbers
    tables, broken, impulse, of_joint, apart = joints
    n, columns, nb = J.row_start.shape[0] - 1, J.column_start.shape[0] - 1, q.shape[0]
    ints = np.empty(3 * columns + n, np.int32)
    group, free, column = ints[:columns], ints[columns : 2 * columns], ints[2 * columns : 3 * columns]
    block = ints[3 * columns :]
    most_islands, nv = n + columns + 1, v.shape[0]
    reals = np.empty(n + 7 * nb + (BODY_ROOM + 1) * nv + 11 * most_islands)
    work, turn, reals = reals[:n], reals[n : n + nb], reals[n + nb :]
    mean, inner, reals = reals[: 6 * nb].reshape((nb, 6)), reals[6 * nb : 6 * nb + nv], reals[6 * nb + nv :]
    room, reals = reals[: BODY_ROOM * nv], reals[BODY_ROOM * nv :]

    work[:] = 0.0
    violation, cone, angle, feeding, friction, normal, gliding = contact_errors(
        J.row_start, laws, lam, u, u_before, bias, prescribed, weight, still, work
    )
    for b in range(columns):
        group[b] = b
    count = label(islands, group, free, block, column)
    inner[:] = 0.0
    linear, angular, share = worst_of_bodies(J, A, A.data, height, lam, v, at, inner, room)
    shared, reals = reals[: 3 * count].reshape((3, count)), reals[3 * count :]
    deepest, farthest = extremes(gap, q, None)
    worst = worst_island(
        J, laws, lam, u, (weight, torsion_length, velocity), (block, column, shared), at, speed,
        POSITION_ROUNDING * farthest / horizon,
    )  # fmt: skip
    turn[:] = 0.0
    most = push_turns(J, laws.law, lam, bodies.dynamic, bodies.lever, v_1, h, turn)

    # energy, of all and of each island
    two, reals = reals[: 2 * count + 2].reshape((2, count + 1)), reals[2 * count + 2 :]
    three, sums = (
        reals[: 3 * count + 3].reshape((3, count + 1)),
        reals[3 * count + 3 : 6 * count + 6].reshape((3, count + 1)),
    )
    three[:] = 0.0
    books = IslandBooks(column, three[0], three[1], three[2])
    for i in range(nb):
        for k in range(6):
            mean[i, k] = 0.5 * (v_0[i, k] + v_1[i, k])
    powers = out[JOINT_NUMBERS : JOINT_NUMBERS + 6 * columns].reshape((columns, 6))
    kinetic_0, potential_0, kinetic, potential = book_bodies(
        bodies.dynamic, (bodies.mass, bodies.inertia, bodies.gravity), (q_0, v_0), (q, v_1), force, mean, h, books,
        powers,
    )  # fmt: skip
    carried = add_rows(block, J.row_start, work, lam, prescribed, two, three[0], three[1], three[2])
    nj = of_joint.shape[0]
    by_joint = np.zeros((6, nj))
    apart[:] = 0.0
    elastic_0, elastic, damping, given, lost = step_energies(
        tables, q_0, q, broken, broken, impulse, mean, h, by_joint, apart
    )
    sums[:] = 0.0
    error = 0.0
    for m in range(nj):
        apart[m] = sqrt(apart[m])
        error = max(error, apart[m])
        if of_joint[m] >= 0:
            to = column[of_joint[m]]
            sums[0, to] += by_joint[0, m] + abs(by_joint[3, m]) + by_joint[5, m]
            sums[1, to] += by_joint[1, m] - by_joint[0, m]
            sums[2, to] += by_joint[3, m] - by_joint[2, m] - by_joint[4, m]
    for to in range(count + 1):
        three[0, to] += sums[0, to]
        three[1, to] += sums[1, to]
        three[2, to] += sums[2, to]
    made = energy_made(three[0], three[1], three[2])
    found = (
        violation, cone, angle, feeding, friction, normal, gliding, deepest, linear, angular, share, worst, kinetic_0,
        potential_0, kinetic, potential, carried, made, most, elastic_0, elastic, damping, given, lost, farthest, error,
    )  # fmt: skip
    for k in range(JOINT_NUMBERS):
        out[k] = found[k]
