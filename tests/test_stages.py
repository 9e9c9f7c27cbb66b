"""Stages of a rigid step are kernels over flat arrays: one compiled function calls them in a row and finds its bits."""

from __future__ import annotations

import numpy as np

from stickslip import Scene, Simulation, Stepping
from stickslip.bodies.rigid.arrays import rigid_tables
from stickslip.bodies.rigid.momentum import MOMENTUM_ROOM, free_motion
from stickslip.certify.certificate import SLIP_FRACTION
from stickslip.certify.measurements import NUMBERS, measure_step, measuring_room
from stickslip.collision.arrays import gap_in, three_in
from stickslip.collision.contacts import collect
from stickslip.collision.pair_search import near_pairs_of_few
from stickslip.collision.reach import APPROACH_SAFETY, Approach
from stickslip.collision.rigid.half_space import box_half_space
from stickslip.collision.rigid_space import RigidSpace
from stickslip.constraints.contact.rows import FULL, fill_rows, gap_numbers, row_room, rows_in
from stickslip.contact.block_laws import Laws
from stickslip.contact.measures import measure_bodies
from stickslip.geometry.rigid_motion import move
from stickslip.jit import numba
from stickslip.linalg.block_rows import _Arrays
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.islands import fill_islands, island_room, islands_in

CAPACITY = 16
"""Contacts that the buffers have room for; fewer are found."""


@numba.njit(error_model="numpy")
def rigid_stages(flat, ignored, approach, tables, columns, q, v, force, lam, numbers, options, ints, reals, longs, out):
    """Poses, pairs, contact points, momentum, rows, the end of the step for impulses lam, numbers of the certificate.

    Buffers come from who calls; nothing is allocated between them. Returns contacts and entries.
    """
    h, still, height, who, reach = options
    dynamic = tables.ints[1 : 1 + tables.ints[0]]
    block = tables.ints[1 + tables.ints[0] :]
    nd, nb = dynamic.shape[0], q.shape[0]
    _, kept, _ = near_pairs_of_few(flat, q, ignored, who, True, approach, True, reach)
    n = box_half_space(flat, (), 0, kept, 0)
    index, ints = ints[: 4 * n].reshape((4, n)), ints[4 * n :]
    surfaces, reals = reals[: 17 * n], reals[17 * n :]
    collect(flat, kept, q, longs[:n], index, surfaces)

    momentum, reals = reals[: MOMENTUM_ROOM * nd], reals[MOMENTUM_ROOM * nd :]
    free_motion(tables.ints, tables.reals, q, v, force, h, momentum)
    A = DenseBlocks(columns, 6 * columns, momentum[: 36 * nd], momentum[36 * nd : 72 * nd])
    v_free = momentum[72 * nd :]

    entries = fill_rows(index, surfaces, q, v, block, dynamic, height, numbers, ints, reals)
    rows = rows_in(ints, reals, n, height, nd)
    m = height * n
    used, size = row_room(n, height, nd)
    carried, bias = reals[12 * m : 13 * m], reals[14 * m : 15 * m]
    before, data = reals[15 * m : 16 * m], reals[: 6 * height * entries]
    ints, reals = ints[used:], reals[size:]
    J = _Arrays(rows.row_start, rows.entry_start, rows.column[:entries], rows.data_start[: entries + 1], data, columns)
    laws = Laws(rows.law, rows.friction_set, three_in(surfaces, n)[3], rows.compliance, rows.bound)
    count, touched = fill_islands(J.row_start, J.entry_start, J.entry_column, nd, ints)
    islands, ints = islands_in(ints, n, count, touched), ints[island_room(n, nd) :]

    free, counted, diagonal, reals = reals[:m], reals[m : 2 * m], reals[2 * m : 3 * m], reals[3 * m :]
    weight, length, reals = reals[:n], reals[n : 2 * n], reals[2 * n :]
    free[:] = 0.0
    diagonal[:] = 0.0
    speed, _, _, _ = measure_bodies(J, A, v_free, bias, laws, False, True, free, counted, diagonal, weight, length)

    own, inner, reals = reals[: 6 * nd], reals[6 * nd : 12 * nd], reals[12 * nd :]
    u, reals = reals[:m], reals[m:]
    inner[:] = 0.0
    for k in range(6 * nd):
        own[k] = lam[1, k]
    for k in range(m):
        u[k] = lam[2, k]
    end, reals = reals[: 13 * nb], reals[13 * nb :]
    move(block, q, v, own, h, end)
    q_end, v_end = end[: 7 * nb].reshape((nb, 7)), end[7 * nb :].reshape((nb, 6))
    found = measure_step(
        J,
        laws,
        (lam[0, :m], own, u, before, bias, carried, gap_in(surfaces, n)),
        (weight, weight, length, counted),
        (A, A.data, v_free, inner),
        islands,
        tables,
        (q, v, q_end, v_end, force),
        (h, h, still * max(speed, 1e-12), speed, height),
        ints,
        reals,
        out[13 * nb :],
    )
    for k in range(13 * nb):
        out[k] = end[k]
    return n, entries, found


def test_one_compiled_function_calls_all_stages_and_finds_the_bits_of_a_step() -> None:
    scene = Scene()
    scene.add_half_space()
    scene.add_box(
        (0.2, 0.3, 0.1), (0, 0, 0.049), mass=1.5, velocity=(0.8, -0.3, -0.2), angular_velocity=(0.1, 0.2, 0.7)
    )
    sim = Simulation(scene, stepping=Stepping(dt=0.004))
    for _ in range(3):
        state, model = sim.state, sim.model
        q, v = state.body_pose, state.body_velocity
        result = sim.step()
        solution, options, space = result.solution, sim.stepping, RigidSpace(model)
        n, nb, nd, height = len(result.contacts), len(q), len(model.dynamic), model.contact_rows
        m = height * n
        given = np.zeros((3, height * CAPACITY))
        given[0, :m], given[1, : 6 * nd], given[2, :m] = solution.lam, solution.v, solution.u
        margin = options.margin_under(model.gravity_norm)
        approach = Approach(v, v, np.zeros(nb), APPROACH_SAFETY * options.dt, margin)
        out = np.full(13 * nb + measuring_room(CAPACITY, nd, nb)[2], np.nan)
        ints, reals = np.full(500, -7, np.int32), np.full(5000, np.nan)
        found = rigid_stages(
            space.flat, model.ignored_at_start, approach, rigid_tables(model), model.columns, q, v,
            sim.control.body_force, given, gap_numbers(options),
            (options.dt, SLIP_FRACTION, height, model.everybody, np.empty(nb)), ints, reals,
            np.empty(CAPACITY, np.int64), out,
        )  # fmt: skip
        assert found == (n, len(result.problem.J.entry_column), NUMBERS)
        assert n >= 2
        np.testing.assert_array_equal(out[: 7 * nb], sim.state.q)
        np.testing.assert_array_equal(out[7 * nb : 13 * nb], sim.state.v)
        numbers, told, h = out[13 * nb :], result.certificate, options.dt
        assert numbers[0] == told.velocity_violation
        assert numbers[1] / h == told.cone_violation
        assert numbers[2] == told.direction_error
        assert numbers[3] / h == told.wrong_dissipation
        assert options.horizon * numbers[6] == told.gliding_gap
        assert numbers[7] == told.penetration
        assert tuple(numbers[8:12]) == (
            told.momentum_error, told.angular_momentum_error, told.momentum_relative, told.worst_residual
        )  # fmt: skip
        assert (-numbers[4], -numbers[5]) == (told.energy.friction, told.energy.impact)
        assert (numbers[14], numbers[15]) == (told.energy.kinetic, told.energy.potential)
        assert numbers[18] == told.turn


def test_stages_without_room_say_so() -> None:
    scene = Scene()
    scene.add_half_space()
    scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.1), mass=1.0)
    sim = Simulation(scene, dt=0.005)
    contacts, model, state = sim.step().contacts, sim.model, sim.state
    q, v, tables = state.body_pose, state.body_velocity, rigid_tables(model)
    int_count, real_count = row_room(len(contacts), 3, 1)
    numbers = gap_numbers(sim.stepping)
    for less in ((1, 0), (0, 1)):
        ints, reals = np.empty(int_count - less[0], np.int32), np.empty(real_count - less[1])
        assert fill_rows(*contacts.flat, q, v, model.block, model.moving, 3, numbers, ints, reals) == FULL
    assert free_motion(*tables, q, v, np.zeros((2, 6)), 0.005, np.empty(MOMENTUM_ROOM - 1)) == FULL
    J = sim.last.problem.J  # type: ignore[union-attr]
    table = np.empty(island_room(J.block_count, 1) - 1, np.int32)
    assert fill_islands(J.row_start, J.entry_start, J.entry_column, 1, table) == (-1, -1)
