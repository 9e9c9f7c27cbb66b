"""What a certificate measures of a step of rigid bodies in contact, in one kernel over flat arrays.

Other steps are measured by the same kernels, one after the other (certify/certificate.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.protocol import IslandBooks
from stickslip.bodies.rigid.arrays import FULL, bodies_in
from stickslip.bodies.rigid.energy import book_bodies
from stickslip.bodies.rigid.kind import RigidMotion
from stickslip.certify.energy_ledger import StepEnergy, add_rows, balanced, energy_made
from stickslip.certify.status import push_turns
from stickslip.constraints.system import StepSystem
from stickslip.contact.islands import label
from stickslip.contact.laws import contact_errors
from stickslip.contact.momentum_error import BODY_ROOM, worst_of_bodies
from stickslip.contact.problem import ContactProblem
from stickslip.contact.residual import extremes, worst_island
from stickslip.jit import large_kernel, plain_kernel, view_at
from stickslip.model.state import State
from stickslip.solvers.protocol import Solution
from stickslip.tolerances import POSITION_ROUNDING

NUMBERS, TURN = 20, 18
"""Numbers that ``measure_step`` writes, before the powers of the user's forces; which of them is the largest turn."""


class Measurements(NamedTuple):
    """What a certificate needs; units as in Certificate, but impulses [N s] for forces."""

    deepest: float
    """[m] overlap"""
    violation: float
    """[m/s] of a forbidden approach"""
    cone: float
    """[N s] outside of the friction cone"""
    angle: float
    """[rad] of friction to the direction of most dissipation"""
    feeding: float
    """[J] that friction gives"""
    gliding: float
    """[m/s] opening of a contact that pushes"""
    linear: float
    """[N s] error of momentum"""
    angular: float
    """[N m s]"""
    share: float
    """Error of momentum over the impulses on a body."""
    worst: float
    """Residual of the worst island."""
    turn: float
    """[rad] largest turn of a touching body, axes of round ones not looked at; infinite: not measured"""
    energy: StepEnergy


def measured_rigid(
    system: StepSystem,
    problem: ContactProblem,
    solution: Solution,
    after: State,
    velocities: tuple[Array, Array],
    still: float,
) -> Measurements:
    """Measurements of rigid bodies in rigid contact; velocities (m,) of rows at the end of the step and before it.

    still [m/s]: slip below it has no direction.
    """
    J, momentum, motion, options = problem.J, problem.momentum, system.motions.motions[0], system.options
    assert isinstance(motion, RigidMotion)
    columns, blocks, lam = len(J.column_start) - 1, problem.block_count, solution.lam
    int_count, real_count, out_count = measuring_room(blocks, columns, len(after.body_pose))
    ints, reals, found = np.empty(int_count, np.int32), np.empty(real_count), np.empty(out_count)
    measure_step(
        J, problem.laws, (lam, solution.v, *velocities, problem.bias, problem.prescribed, system.gap),
        (problem.weight, problem.law_weight, problem.torsion_length, problem.measured_velocity),
        (problem.masses.dense, momentum.A.dense.data, momentum.at, problem.momentum_size), problem.islands,
        motion.tables,
        (motion.before, motion.v, after.body_pose, after.body_velocity, system.control.body_force),
        (options.dt, options.horizon, still, problem.free_speed, J.contact_height), ints, reals, found,
    )  # fmt: skip
    return measurements_in(found, options.dt)


def measurements_in(found: Array, h: float) -> Measurements:
    """What ``measure_step`` wrote of a step of h [s]."""
    (
        violation, cone, angle, feeding, friction, normal, gliding, deepest, linear, angular, share, worst, kinetic_0,
        potential_0, kinetic, potential, carried, made, turn, _,
    ) = found[:NUMBERS].tolist()  # fmt: skip
    work = h * float(found[NUMBERS:].sum()) + (0.0 - carried) + 0.0
    ledger = balanced((kinetic_0, kinetic), (potential_0, potential), (0.0, 0.0), work, friction, normal, 0.0, 0.0)
    return Measurements(
        deepest, violation, cone, angle, feeding, gliding, linear, angular, share, worst, turn, StepEnergy(ledger, made)
    )


@plain_kernel
def measuring_room(blocks, columns, bodies):
    """Integers and reals of room, and numbers, of ``measure_step``; columns: bodies that are dynamic."""
    islands = blocks + columns + 1
    return 3 * columns + blocks, 6 * BODY_ROOM * columns + blocks + 8 * islands + 7 * bodies, NUMBERS + 6 * columns


@large_kernel
def measure_step(J, laws, pushes, measures, momentum, islands, tables, ends, numbers, ints, reals, out):
    """All numbers of a certificate of rigid bodies in contact, and the powers [W] of the user's forces (nd, 6).

    pushes: lam, v, u, u before the step, bias, prescribed, gaps. measures: weights of blocks, those of laws, torsion
    lengths, rows of the free velocity as they count. momentum: blocks of masses, data of A, v_free, momentum_size.
    tables: RigidTables. ends: poses and velocities before and after, forces (nb, 6). numbers: step and horizon [s],
    ``still``, the free speed [m/s], the height of blocks. ints, reals: room. Returns NUMBERS, or FULL where there is
    too little.
    """
    lam, v, u, u_before, bias, prescribed, gap = pushes
    weight, law_weight, torsion_length, velocity = measures
    masses, stiff, at, inner = momentum
    q_0, v_0, q, v_1, force = ends
    h, ahead, still, speed, height = numbers
    bodies = bodies_in(tables[0], tables[1])
    n, columns, nb = J.row_start.shape[0] - 1, J.column_start.shape[0] - 1, q.shape[0]
    int_count, real_count, out_count = measuring_room(n, columns, nb)
    if ints.shape[0] < int_count or reals.shape[0] < real_count or out.shape[0] < out_count:
        return FULL
    group, free, column = ints[:columns], ints[columns : 2 * columns], ints[2 * columns : 3 * columns]
    block = ints[3 * columns : 3 * columns + n]
    room, reals = reals[: 6 * BODY_ROOM * columns], reals[6 * BODY_ROOM * columns :]
    work, reals = reals[:n], reals[n:]
    mean, reals = view_at(reals, 0, (nb, 6)), reals[6 * nb :]
    turn, reals = reals[:nb], reals[nb:]

    work[:] = 0.0
    violation, cone, angle, feeding, friction, normal, gliding = contact_errors(
        J.row_start, laws, lam, u, u_before, bias, prescribed, weight, still, work
    )
    for b in range(columns):
        group[b] = b
    count = label(islands, group, free, block, column)
    linear, angular, share = worst_of_bodies(J, masses, stiff, height, lam, v, at, inner, room)
    shared, reals = view_at(reals, 0, (3, count)), reals[3 * count :]
    deepest, farthest = extremes(gap, q, None)
    worst = worst_island(
        J, laws, lam, u, (law_weight, torsion_length, velocity), (block, column, shared), at, speed,
        POSITION_ROUNDING * farthest / ahead,
    )  # fmt: skip
    turn[:] = 0.0
    most = push_turns(J, laws.law, lam, bodies.dynamic, bodies.lever, v_1, h, turn)
    two, reals = view_at(reals, 0, (2, count + 1)), reals[2 * count + 2 :]
    three = view_at(reals, 0, (3, count + 1))
    three[:] = 0.0
    books = IslandBooks(column, three[0], three[1], three[2])
    for i in range(nb):
        for k in range(6):
            mean[i, k] = 0.5 * (v_0[i, k] + v_1[i, k])
    powers = view_at(out, NUMBERS, (columns, 6))
    solid = bodies.mass, bodies.inertia, bodies.gravity
    kinetic_0, potential_0, kinetic, potential = book_bodies(
        bodies.dynamic, solid, (q_0, v_0), (q, v_1), force, mean, h, books, powers
    )
    carried = add_rows(block, J.row_start, work, lam, prescribed, two, three[0], three[1], three[2])
    made = energy_made(three[0], three[1], three[2])
    found = (
        violation, cone, angle, feeding, friction, normal, gliding, deepest, linear, angular, share, worst, kinetic_0,
        potential_0, kinetic, potential, carried, made, most, farthest,
    )  # fmt: skip
    for k in range(NUMBERS):
        out[k] = found[k]
    return NUMBERS
