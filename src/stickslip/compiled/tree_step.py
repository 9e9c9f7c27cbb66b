"""A step of rigid bodies and robots as one compiled function: the stages of step.py, one after the other.

As rigid_step.py, by the kernels that the Python driver calls, with unknowns of any width: rows of links are as wide as
the joints of their tree. Robots with loops, whose rows are linearised again where a step leads, are not taken.
"""

from __future__ import annotations

from typing import NamedTuple

from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.bodies.rigid.arrays import RigidTables, bodies_in
from stickslip.bodies.rigid.momentum import MOMENTUM_ROOM, free_motion
from stickslip.bodies.tree.arrays import (
    CONTROL,
    CONTROL_END,
    FRAME,
    FRAME_END,
    LINKS,
    LINKS_END,
    Q_END,
    SQUARE,
    SQUARE_END,
    TWIST,
    TWIST_END,
    V_END,
    WORK,
    WORK_END,
    Q,
    RobotTables,
    V,
    robot_in,
    scratch_in,
)
from stickslip.bodies.tree.free_motion import begin_step
from stickslip.certify.measurements import TURN
from stickslip.certify.status import MOST_TURN, push_turns
from stickslip.collision.arrays import Flat, gap_in, three_in
from stickslip.collision.matching import _match, _remember
from stickslip.collision.reach import Approach
from stickslip.compiled.contacts import find_contacts
from stickslip.compiled.crossing import crossing_room, goes_through
from stickslip.compiled.deep_trees import late_frames, late_momentum
from stickslip.compiled.rigid_step import (
    CONTACTS,
    COORDINATES,
    FREE_SPEED,
    NOT_FINITE,
    RESIDUAL,
    RESTLESS,
    TOO_FAR,
    UNSOLVED,
    unpacked,
)
from stickslip.compiled.settling import frame_velocities_at, settle
from stickslip.compiled.too_far import may_go_too_far
from stickslip.compiled.tree_certificate import OF_ROBOT, TREE_NUMBERS, measure_trees, tree_measuring_room
from stickslip.compiled.tree_ends import advance_robots, all_finite, gather, recall_rows, tree_rounding
from stickslip.compiled.tree_rows import add_coordinates, joined_in, joined_room, map_contacts, rows_of
from stickslip.compiled.tree_solving import solve_rows, tree_solving_room
from stickslip.constraints.contact.rows import fill_rows, row_room, rows_in
from stickslip.constraints.coordinates import APART
from stickslip.contact.block_laws import Laws
from stickslip.contact.measures import measure_blocks
from stickslip.geometry.rigid_motion import advance_all, move
from stickslip.jit import bare_kernel, plain_kernel, view_at
from stickslip.linalg.block_rows import _Arrays, add_product
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.islands import fill_islands, island_room, islands_in
from stickslip.tolerances import SPEED_NOISE

(
    RIGID, ROWS, ENTRIES, WIDTH, DATA, TWISTS, HELD, SCRATCH, TREE_INTS,
) = range(9)  # fmt: skip
"""Numbers of a model with robots: rigid bodies; rows over coordinates, their entries and their data; the widest column
block; numbers of S of all frames; whether rows say where robots are; scratch of all robots."""


OPEN = -14
"""What a step returns, beside the codes of rigid_step, that leaves a coupling open."""


class TreeStepTables(NamedTuple):
    """What a step reads of its model."""

    rigid: RigidTables
    robots: RobotTables
    numbers: LongInts
    """(TREE_INTS,)"""
    columns: Ints
    """(columns + 1,) starts of the unknowns of column blocks."""
    widths: Ints
    squares: Ints
    """(columns + 1,) starts of the blocks of A."""
    frame_columns: Ints
    moving: Ints
    frame_block: Ints
    twist_start: Ints
    """These as in Model."""
    ignored: LongInts
    everybody: Bools
    thickness: Array
    """(ns,) [m] of shapes."""
    pairs: LongInts
    """Kernels of the narrow phase (pairs.pair_table)."""


class TreeGiven(NamedTuple):
    """What acts on a model."""

    body: Array
    """(nb, 6) on rigid bodies."""
    force: Array
    """(nv,) along unknowns; those of rigid bodies are not read."""
    link: Array
    """(nl, 6) on links of all robots."""
    control: Array
    """(nu, 2) of all robots."""


class TreeMemory(NamedTuple):
    """Impulses of the step before."""

    key: LongInts
    impulse: Array
    """(k, 4)"""
    number: LongInts
    """Rows over coordinates, as in Memory, ..."""
    row_impulse: Array
    """... and (r, 4) their impulses."""


class TreeRooms(NamedTuple):
    """Room for c contacts."""

    flat: Flat
    key: LongInts
    """(3 c,) those of the contacts of the step come first."""
    impulse: Array
    """(4 c,)"""
    number: LongInts
    """(rows,) rows over coordinates of the step, ..."""
    row_impulse: Array
    """... and their impulses (rows,)."""
    ints: Ints
    longs: LongInts
    reals: Array
    bools: Bools


@plain_kernel
def tree_room(contacts, height, numbers, columns, coordinates, bodies, robots):
    """Integers, long integers, reals and booleans of room for a step with so many contacts.

    columns: starts of the unknowns; coordinates: nq; bodies: frames included.
    """
    rows, entries, width, moving = numbers[ROWS], numbers[ENTRIES], numbers[WIDTH], bodies
    n, m, ncol = contacts + rows, height * contacts + rows, columns.shape[0] - 1
    nv, size = columns[ncol], 2 * height * contacts * width + numbers[DATA]
    row_ints, row_reals = row_room(contacts, height, moving)
    join_ints, join_reals = joined_room(contacts, height, rows, entries, width, numbers[DATA])
    solve_ints, solve_reals = tree_solving_room(n, m, max(height, 1), size)
    measure_ints, measure_reals = tree_measuring_room(n, ncol, nv, bodies, rows)
    ints = 12 * contacts + row_ints + join_ints + island_room(n, ncol) + rows + 2 * entries + 2
    reals = (
        coordinates
        + 42 * bodies
        + 2 * numbers[TWISTS]
        + 51 * contacts
        + crossing_room(bodies)
        + 7 * bodies
        + MOMENTUM_ROOM * bodies
        + 2 * ncol * width * width
    )
    reals += row_reals + join_reals + 8 * m + 2 * n + 6 * nv + ncol + 3 * rows + numbers[SCRATCH]
    longs = 2 * contacts + 2 * rows + robots
    return ints + max(solve_ints, measure_ints), longs, reals + max(solve_reals, measure_reals), rows


@bare_kernel
def step_trees(tables, start, given, memory, options, rooms, counts, out, told):
    """One step; returns the number of contacts, or a code: which room is too small (contacts.py), or why not.

    start: q (nq,) and v (nv,) of the state, velocities (nb, 6) of rigid bodies that hold in the step; bodies (k,) that
    follow a motion, and poses (k, 7) to which that leads. options: ``packed``. out (nq + nv,): the state at the end;
    told: numbers of the certificate, own numbers; if it is empty they are not measured. Keys and impulses of contacts
    and rows begin those of the rooms.
    """
    (q_0, v_0, v_rigid, led, led_to), (flat, key, impulse, _, _, ints, longs, reals, bools) = start, rooms
    opts, robots, count = unpacked(options), tables.robots, tables.numbers
    h, height, effort = opts.h, opts.height, opts.effort
    horizon, at_end = h - opts.contacts_at, not opts.contacts_at > 0.0
    bodies, columns = bodies_in(tables.rigid.ints, tables.rigid.reals), tables.columns
    nr, nd, nf = count[RIGID], bodies.dynamic.shape[0], tables.frame_block.shape[0]
    nb, ncol = nr + nf, columns.shape[0] - 1
    nv, squares = columns[ncol], tables.squares[ncol]
    if not opts.carried:
        for i in range(nr):
            if bodies.block[i] < 0:
                for k in range(6):
                    if v_rigid[i, k] != 0.0:
                        return RESTLESS
    q_rigid = view_at(q_0, 0, (nr, 7))
    v_state = view_at(v_0, 0, (nr, 6))
    before, reals = reals[:nv], reals[nv:]
    gather(bodies.dynamic, v_rigid, v_0[6 * nr :], before)

    # bodies and robots without constraints
    pose, velocity, reals = view_at(reals, 0, (nb, 7)), view_at(reals, 7 * nb, (nb, 6)), reals[13 * nb :]
    twists, reals = reals[: count[TWISTS]], reals[count[TWISTS] :]
    momentum, reals = reals[: MOMENTUM_ROOM * nd], reals[MOMENTUM_ROOM * nd :]
    data, inverse, v_free = reals[:squares], reals[squares : 2 * squares], reals[2 * squares : 2 * squares + nv]
    reals = reals[2 * squares + nv :]
    scratch, reals = reals[: count[SCRATCH]], reals[count[SCRATCH] :]
    for i in range(nr):
        for k in range(7):
            pose[i, k] = q_rigid[i, k]
        for k in range(6):
            velocity[i, k] = v_rigid[i, k]
    if not at_end:
        advance_all(q_rigid, v_rigid, opts.contacts_at, pose[:nr])
    free_motion(tables.rigid.ints, tables.rigid.reals, pose[:nr], v_rigid, given.body, h, momentum)
    for k in range(36 * nd):
        data[k], inverse[k] = momentum[k], momentum[36 * nd + k]
    for k in range(6 * nd):
        v_free[k] = momentum[72 * nd + k]
    found, reals = reals[: q_0.shape[0]], reals[q_0.shape[0] :]
    for r in range(robots.robots.shape[0]):
        own, robot = robots.robots[r], robot_in(robots, r)
        works, room, _ = scratch_in(robot.tree, own[Q_END] - own[Q], scratch[own[WORK] : own[WORK_END]])
        frames, at = slice(nr + own[FRAME], nr + own[FRAME_END]), slice(own[V], own[V_END])
        acting = (
            given.force[at], given.link[own[LINKS] : own[LINKS_END]], given.control[own[CONTROL] : own[CONTROL_END]]
        )  # fmt: skip
        square = slice(own[SQUARE], own[SQUARE_END])
        good = begin_step(
            robot.tree, robot.drives, robot.frame_link, (q_0[own[Q] : own[Q_END]], before[at]), acting,
            (h, at_end, opts.contacts_at / h, 1.0), works, room, False,
            (found[own[Q] : own[Q_END]], pose[frames], velocity[frames], twists[own[TWIST] : own[TWIST_END]]),
            (v_free[at], data[square], inverse[square]),
        )  # fmt: skip
        if not good:
            return NOT_FINITE
    A = DenseBlocks(columns, tables.squares, data, inverse)

    # contacts that can close within the step
    c = key.shape[0] // 3
    reach, gained, reals = reals[:nb], reals[nb : 2 * nb], reals[2 * nb :]
    gained[:] = 0.0
    index, ints = ints[: 12 * c], ints[12 * c :]
    surfaces, reals = reals[: 51 * c], reals[51 * c :]
    approach = Approach(velocity, velocity, gained, opts.far, opts.margin, False)
    n, seen = find_contacts(
        tables.pairs, flat, pose, tables.ignored, tables.everybody, approach, reach, key, index, surfaces
    )
    if n < 0:
        return n
    search_rooms, first = (key, index, surfaces), 0 if n == seen else c
    all_seen = view_at(index, 4 * first, (4, seen)), surfaces[17 * first : 17 * first + 17 * seen]
    index, surfaces = view_at(index, 0, (4, n)), surfaces[: 17 * n]
    three, gap = three_in(surfaces, n), gap_in(surfaces, n)

    # J, bias, laws
    m = height * n
    used, size = row_room(n, height, tables.moving.shape[0])
    entries = fill_rows(index, surfaces, pose, velocity, bodies.block, tables.moving, height, opts.gaps, ints, reals)
    own_rows = rows_in(ints, reals, n, height, tables.moving.shape[0])
    carried, bias, begin = reals[12 * m : 13 * m], reals[14 * m : 15 * m], reals[15 * m : 16 * m]
    over_twists = _Arrays(
        own_rows.row_start, own_rows.entry_start, own_rows.column[:entries], own_rows.data_start[: entries + 1],
        reals[: 6 * height * entries], tables.frame_columns,
    )  # fmt: skip
    contact_laws = Laws(own_rows.law, own_rows.friction_set, three[3], own_rows.compliance, own_rows.bound)
    ints, reals = ints[used:], reals[size:]
    sizes = n, height, count[ROWS], count[ENTRIES], count[WIDTH], count[DATA]
    join_ints, join_reals = joined_room(n, height, count[ROWS], count[ENTRIES], count[WIDTH], count[DATA])
    joined = joined_in(ints, reals, longs[2 * c :], sizes)
    ints, reals = ints[join_ints:], reals[join_reals:]
    if n > 0 and at_end:
        late_frames(robots, before, scratch, nr, (found, pose, velocity, twists))
    over = nd, tables.frame_block, tables.twist_start, twists, columns
    entries = map_contacts(over_twists, contact_laws, (bias, carried), over, longs[: 2 * c], reals, joined)
    held = n
    n_all, entries = add_coordinates(
        robots, tables.widths, (found, before, v_free), given.control, (h, horizon, opts.gaps.slop), n, entries, joined,
        ints, reals, bools,
    )  # fmt: skip
    ints, reals = ints[count[ROWS] + 2 * count[ENTRIES] + 2 :], reals[3 * count[ROWS] :]
    if n_all > 0 and not late_momentum(robots, (q_0, before), h, at_end, scratch, (v_free, data, inverse)):
        return NOT_FINITE
    J = rows_of(joined, n_all, entries, columns)
    m_all = m + n_all - held
    laws = Laws(
        joined.law[:n_all], joined.friction_set[:n_all], joined.friction[:n_all], joined.compliance[:m_all],
        joined.bound[:m_all],
    )  # fmt: skip
    bias, carried = joined.bias[:m_all], joined.prescribed[:m_all]

    # what residuals are measured by
    islands_found, touched = fill_islands(J.row_start, J.entry_start, J.entry_column, ncol, ints)
    islands, ints = islands_in(ints, n_all, islands_found, touched), ints[island_room(n_all, ncol) :]
    free, counted, diagonal, reals = (
        reals[:m_all],
        reals[m_all : 2 * m_all],
        reals[2 * m_all : 3 * m_all],
        reals[3 * m_all :],
    )
    weight, length, rounding, reals = (
        reals[:n_all],
        reals[n_all : 2 * n_all],
        reals[2 * n_all : 2 * n_all + ncol],
        reals[2 * n_all + ncol :],
    )
    free[:] = 0.0
    diagonal[:] = 0.0
    speed, moved, other, _ = measure_blocks(J, A, v_free, bias, laws, False, free, counted, diagonal, weight, length)
    speed = max(speed, 0.0)
    rounding = rounding[: ncol if count[HELD] else 0]
    if count[HELD]:
        least = tree_rounding(bodies.dynamic, pose, nr, tables.frame_block, horizon, rounding)
        if other:
            speed = max(speed, least, SPEED_NOISE * moved)
    elif other:
        speed = max(speed, 0.0, SPEED_NOISE * moved)

    # impulses, from those of the last step
    warm, lam, u, u_before = (
        reals[:m_all],
        reals[m_all : 2 * m_all],
        reals[2 * m_all : 3 * m_all],
        reals[3 * m_all : 4 * m_all],
    )
    reals = reals[4 * m_all :]
    own_v, push, tangential, reals = reals[:nv], reals[nv : 2 * nv], reals[2 * nv : 3 * nv], reals[3 * nv :]
    warm[:] = 0.0
    if opts.warm:
        _match(key[:n], three[1], three[2], memory.key, memory.impulse, view_at(warm, 0, (n, height)))
        recall_rows(memory.number, memory.row_impulse, joined.number[: n_all - n], warm[m:])
    if n_all > n:
        u_before[:] = 0.0
        add_product(J, before, u_before)
        for k in range(m_all):
            u_before[k] = u_before[k] + bias[k]
    else:
        for k in range(m_all):
            u_before[k] = begin[k]
    residual = solve_rows(
        J, A, laws, (bias, free, v_free, weight, length, warm), (counted, speed, rounding), islands, opts.warm, effort,
        (ints, reals), (lam, own_v, u, push, counts),
    )  # fmt: skip
    if not residual <= effort.limits.tolerance:
        return UNSOLVED

    # where they lead
    nq = q_0.shape[0]
    q_out, v_out = out[:nq], out[nq:]
    q_end, v_end = view_at(q_out, 0, (nr, 7)), view_at(v_out, 0, (nr, 6))
    move(bodies.block, pose[:nr], v_rigid, own_v, horizon, reals)
    for i in range(nr):
        for k in range(7):
            q_end[i, k] = reals[7 * i + k]
        for k in range(6):
            v_end[i, k], velocity[i, k] = reals[7 * nr + 6 * i + k], v_state[i, k]
    for k in range(led.shape[0]):
        for x in range(7):
            q_end[led[k], x] = led_to[k, x]
    for k in range(nv - 6 * nd):
        v_out[6 * nr + k] = own_v[6 * nd + k]
    velocity_end = view_at(reals, 0, (nb, 6))
    for i in range(nr):
        for k in range(6):
            velocity_end[i, k] = v_end[i, k]
    # frames have moved on from where they were before the step where contacts are found later
    pose_end = view_at(reals, 6 * nb, (nb, 7))
    for i in range(nr):
        for k in range(7):
            pose_end[i, k] = q_end[i, k]
    apart = advance_robots(
        robots, found, (own_v, before), horizon, scratch, q_out, (pose_end, velocity_end), velocity, not at_end
    )
    settled = own_v
    if count[HELD] and not at_end:
        settled = tangential[:nv]
        for k in range(nv):
            settled[k] = own_v[k]
        at_rows = n, 0, tangential[:0], tangential[:0]
        if not settle(
            robots, bodies, tables.squares, J, at_rows, (joined.active, joined.of_robot), (q_out, settled), h, scratch
        ):  # fmt: skip
            return UNSOLVED
        for b in range(nd):
            for k in range(6):
                v_end[bodies.dynamic[b], k] = velocity_end[bodies.dynamic[b], k] = settled[6 * b + k]
        for k in range(nv - 6 * nd):
            v_out[6 * nr + k] = settled[6 * nd + k]
        frame_velocities_at(robots, 1, settled, scratch, velocity_end)
    if not all_finite(out):
        return NOT_FINITE
    ahead = at_end and opts.far > 0.0
    if may_go_too_far(
        flat, bodies.lever, tables.thickness, opts.thinnest, (velocity, velocity_end), h, all_seen[0], ahead, reach,
        reals[13 * nb :],
    ):  # fmt: skip
        if not ahead or goes_through(
            tables.pairs, flat, (pose, pose_end), reach, tables.thickness, tables.ignored, opts.margin, all_seen,
            search_rooms, reals[13 * nb :],
        ):  # fmt: skip
            return TOO_FAR
    if apart > APART:
        return OPEN
    kept = view_at(impulse, 0, (n, 4))
    kept[:] = 0.0
    _remember(three[1], three[2], view_at(lam, 0, (n, height)), kept)
    for k in range(n_all - n):
        rooms.number[k], rooms.row_impulse[k] = joined.number[k], lam[m + k]

    counts[CONTACTS], counts[COORDINATES] = n, n_all - n
    if told.shape[0] == 0:
        turned = reals[:nb]
        turned[:] = 0.0
        return (
            n if push_turns(J, laws.law, lam, bodies.dynamic, bodies.lever, v_end, h, turned) <= MOST_TURN else TOO_FAR
        )

    # how wrong it is
    active = joined.active, joined.of_robot
    measure_trees(
        J, laws, (lam, own_v, u, u_before, bias, carried, gap), (weight, length, counted), (A, v_free), islands, bodies,
        (q_rigid, v_rigid, q_end, v_end, given.body), (h, horizon, opts.still * max(speed, 1e-12), speed),
        (robots, (q_0, before, q_out, settled), (given.force, given.link, given.control), active, scratch),
        None, (ints, reals), told,
    )  # fmt: skip
    if told[TURN] > MOST_TURN:
        return TOO_FAR
    told_of = TREE_NUMBERS + OF_ROBOT * robots.robots.shape[0] + 6 * nd
    told[told_of + RESIDUAL], told[told_of + FREE_SPEED] = residual, speed
    return n
