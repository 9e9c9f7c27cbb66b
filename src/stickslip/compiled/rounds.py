"""Rounds of repeated linearisation of one island, as solvers/methods.py makes them, in compiled code.

Each round solves the problem linearised where the one before led, with forces that turn, and is judged where it leads.
Islands of joints alone are solved by the Newton steps of solvers/joint_newton.py, others by solvers/dense/. What these
do not solve, and rounds that no longer gain, are left to the Python driver.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.compiled.joint_rows import held_at, turned_about
from stickslip.contact.block_laws import Laws
from stickslip.contact.measures import measure_bodies
from stickslip.contact.momentum_error import BODY_ROOM, worst_of_bodies
from stickslip.contact.residual import _natural_map
from stickslip.jit import bare_kernel, inner_kernel
from stickslip.law_codes import BILATERAL, CONTACT, ELASTIC
from stickslip.linalg.block_rows import (
    _Arrays,
    _contact_height,
    act_bodies,
    act_contacts,
    apply_bodies,
    apply_contacts,
)
from stickslip.linalg.dense_blocks import DenseBlocks, _response, _response_contacts, rigid_product
from stickslip.linalg.islands import Islands
from stickslip.linalg.mixed_cholesky import FEW, make_plan
from stickslip.solvers.auto import FEW_COLUMNS
from stickslip.solvers.dense.dense import Found, dense_room, solve_each
from stickslip.solvers.joint_newton import MOST_STEPS, newton_steps
from stickslip.solvers.methods import FINER, MOST_IDLE, MOST_ROUNDS
from stickslip.tolerances import POSITION_ROUNDING, SPEED_NOISE

UNSOLVED = -1
"""What ``rounds`` returns where the Python driver must go on."""


class RoundEffort(NamedTuple):
    """What the solver may do in the rounds of a step."""

    tolerance: float
    joints_alone: bool
    """Whether islands of joints alone are solved as such ("auto"); else as dense ones."""
    budget: int
    """Of sweeps and Newton steps on dense islands in a round."""
    most_rows: int
    most_full: int
    """As in solving.Effort."""
    most_iterations: int
    """In all rounds."""


class Part(NamedTuple):
    """An island of a problem, or all of it where that is one."""

    whole: bool
    columns: Ints
    """Column blocks of it, rising."""
    rows: Ints
    """Its rows in the whole."""
    entries: Ints
    """Numbers of its entries in the whole."""
    J: _Arrays
    """Its own rows; the data of the whole where it is that."""
    laws: Laws
    bias: Array
    data: Array
    inverse: Array
    free: Array
    stiff: Array
    stiff_inverse: Array
    stiff_free: Array
    squares: Ints
    joints_alone: bool
    even: bool
    """Whether all blocks hold both ways, without bounds: their residual is that of u + compliance lam."""


class Measure(NamedTuple):
    """What residuals of a part are measured by."""

    q: Array
    counted: Array
    diagonal: Array
    weight: Array
    length: Array


@inner_kernel
def whole_part(lin, squares):
    """All of a problem as its only part."""
    none = np.empty(0, np.int32)
    alone, even = _kinds(lin.laws.law)
    return Part(
        True, none, none, none, lin.J, lin.laws, lin.bias, lin.data, lin.inverse, lin.free, lin.stiff,
        lin.stiff_inverse, lin.stiff_free, squares, alone, even,
    )  # fmt: skip


@bare_kernel
def _kinds(law):
    """Whether no block is a contact, and whether all hold both ways."""
    alone, even = True, True
    for c in range(law.shape[0]):
        alone = alone and law[c] != CONTACT
        even = even and (law[c] == BILATERAL or law[c] == ELASTIC)
    return alone, even


@inner_kernel
def island_part(lin, squares, blocks, columns):
    """Some blocks of a problem, over the column blocks that they touch, both rising."""
    J, n, nd = lin.J, blocks.shape[0], columns.shape[0]
    m, ne, size = 0, 0, 0
    for b in range(n):
        c = blocks[b]
        m += J.row_start[c + 1] - J.row_start[c]
        ne += J.entry_start[c + 1] - J.entry_start[c]
        size += J.data_start[J.entry_start[c + 1]] - J.data_start[J.entry_start[c]]
    place = np.full(J.column_start.shape[0], -1, np.int32)
    for b in range(nd):
        place[columns[b]] = b
    rows, entries = np.empty(m, np.int32), np.empty(ne, np.int32)
    row_start, entry_start = np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
    column, data_start, column_start = np.empty(ne, np.int32), np.empty(ne + 1, np.int32), np.empty(nd + 1, np.int32)
    law, friction_set, friction = np.empty(n, np.int32), np.empty(n, np.int32), np.empty((n, 3))
    for b in range(nd + 1):
        column_start[b] = 6 * b
    r, e, at = 0, 0, 0
    row_start[0], entry_start[0], data_start[0] = 0, 0, 0
    for b in range(n):
        c = blocks[b]
        law[b], friction_set[b] = lin.laws.law[c], lin.laws.friction_set[c]
        for x in range(3):
            friction[b, x] = lin.laws.friction[c, x]
        for k in range(J.row_start[c], J.row_start[c + 1]):
            rows[r] = k
            r += 1
        for k in range(J.entry_start[c], J.entry_start[c + 1]):
            entries[e], column[e] = k, place[J.entry_column[k]]
            at += J.data_start[k + 1] - J.data_start[k]
            e += 1
            data_start[e] = at
        row_start[b + 1], entry_start[b + 1] = r, e
    reals = np.empty(size + 3 * m + 156 * nd)
    alone, even = _kinds(law)
    data, bias, reals = reals[:size], reals[size : size + m], reals[size + m :]
    compliance, bound, reals = reals[:m], reals[m : 2 * m], reals[2 * m :]
    return Part(
        False, columns, rows, entries, _Arrays(row_start, entry_start, column, data_start, data, column_start),
        Laws(law, friction_set, friction, compliance, bound), bias, reals[: 36 * nd], reals[36 * nd : 72 * nd],
        reals[72 * nd : 78 * nd], reals[78 * nd : 114 * nd], reals[114 * nd : 150 * nd], reals[150 * nd : 156 * nd],
        squares[: nd + 1], alone, even,
    )  # fmt: skip


@bare_kernel
def take_rows(part, lin):
    """Rows and A of a part as the whole is linearised now."""
    if part.whole:
        return
    for e in range(part.entries.shape[0]):
        at = lin.J.data_start[part.entries[e]]
        for k in range(part.J.data_start[e + 1] - part.J.data_start[e]):
            part.J.data[part.J.data_start[e] + k] = lin.J.data[at + k]
    for r in range(part.rows.shape[0]):
        k = part.rows[r]
        part.bias[r] = lin.bias[k]
        part.laws.compliance[r], part.laws.bound[r] = lin.laws.compliance[k], lin.laws.bound[k]
    _take_blocks(part, lin.data, lin.inverse, lin.free, part.data, part.inverse, part.free)


@bare_kernel
def take_stiff(part, lin):
    """A with the turning of forces."""
    if not part.whole:
        _take_blocks(
            part, lin.stiff, lin.stiff_inverse, lin.stiff_free, part.stiff, part.stiff_inverse, part.stiff_free
        )


@bare_kernel
def _take_blocks(part, data, inverse, free, data_out, inverse_out, free_out):
    """Blocks of the columns of a part."""
    for b in range(part.columns.shape[0]):
        of = part.columns[b]
        for x in range(36):
            data_out[36 * b + x], inverse_out[36 * b + x] = data[36 * of + x], inverse[36 * of + x]
        for x in range(6):
            free_out[6 * b + x] = free[6 * of + x]


@inner_kernel
def measure_room(n, m):
    """A Measure for n blocks of m rows."""
    reals = np.zeros(3 * m + 2 * n)
    return Measure(
        reals[:m], reals[m : 2 * m], reals[2 * m : 3 * m], reals[3 * m : 3 * m + n], reals[3 * m + n :]
    )  # fmt: skip


@bare_kernel
def measured(J, A, free, bias, laws, even, rounding, known, measure):
    """Fill a Measure; returns ContactProblem.free_speed. known: the diagonal, which nobody reads, stays as it is."""
    measure.q[:] = 0.0
    if not known:
        measure.diagonal[:] = 0.0
    size, moved, joined, _ = measure_bodies(
        J, A, free, bias, laws, known, even, measure.q, measure.counted, measure.diagonal, measure.weight,
        measure.length,
    )  # fmt: skip
    return max(size, rounding, SPEED_NOISE * moved) if joined else max(size, 0.0)


@bare_kernel
def rounding_of(part, dynamic, pose, horizon):
    """The largest of Scale.rounding in a part; pose (nb, 7)."""
    most = 0.0
    count = dynamic.shape[0] if part.whole else part.columns.shape[0]
    for b in range(count):
        i = dynamic[b if part.whole else part.columns[b]]
        far = 0.0
        for k in range(3):
            far = max(far, abs(pose[i, k]))
        most = max(most, POSITION_ROUNDING * far / horizon)
    return most


@bare_kernel
def row_velocities(J, height, v, bias, u_out):
    """u = J v + bias, as ContactProblem.constraint_velocity; height: of J as contacts, or 0."""
    u_out[:] = 0.0
    if height > 0:
        apply_contacts(
            J.entry_start, J.entry_column, J.data.reshape((-1, height, 6)), v.reshape((-1, 6)),
            u_out.reshape((-1, height)),
        )  # fmt: skip
    else:
        apply_bodies(J, J.data.reshape((-1, 6)), v.reshape((-1, 6)), u_out)
    for k in range(u_out.shape[0]):
        u_out[k] = u_out[k] + bias[k]


@bare_kernel
def body_velocities(J, height, A, free, lam, push, v_out):
    """v = v_free + A^-1 J^T lam, as ContactProblem.velocity; push (nv,) is scratch."""
    push[:] = 0.0
    if height > 0:
        act_contacts(
            J.entry_start, J.entry_column, J.data.reshape((-1, height, 6)), lam.reshape((-1, height)),
            push.reshape((-1, 6)),
        )  # fmt: skip
    else:
        act_bodies(J, J.data.reshape((-1, 6)), lam, push.reshape((-1, 6)))
    rigid_product(A.inverse.reshape((-1, 6, 6)), push.reshape((-1, 6)), v_out.reshape((-1, 6)))
    for k in range(v_out.shape[0]):
        v_out[k] = free[k] + v_out[k]


@bare_kernel
def _scaled(velocity, speed):
    """A natural map [m/s] as a residual."""
    return velocity / speed if speed > 0.0 else velocity


@inner_kernel
def _solve(part, plan, height, A, free, measure, speed, tolerance, effort, used, has_warm, found):
    """Impulses and velocities of a part linearised as it is; returns iterations, or UNSOLVED.

    used: iterations so far; found: lam, which is where to start from, v, u and push.
    """
    J, laws, (lam, v, u, push) = part.J, part.laws, found
    unit = speed if speed > 0.0 else 1.0
    if not has_warm:
        lam[:] = 0.0
    if part.joints_alone and effort.joints_alone:
        steps, _, size = newton_steps(
            J, plan, A, measure.q, laws, measure.diagonal, measure.weight, tolerance * unit,
            min(effort.most_iterations - used, MOST_STEPS), lam, u,
        )  # fmt: skip
        if not size / unit <= tolerance:
            return UNSOLVED
        body_velocities(J, height, A, free, lam, push, v)
        return steps
    n, m, columns = laws.law.shape[0], lam.shape[0], J.column_start.shape[0] - 1
    most = effort.most_full if columns <= FEW_COLUMNS else effort.most_rows
    budget = min(effort.budget, effort.most_iterations - used)
    if m > most or budget <= 0:
        return UNSOLVED
    largest = 1
    for c in range(n):
        largest = max(largest, J.row_start[c + 1] - J.row_start[c])
    int_count, real_count = dense_room(n, m, largest, False)
    ints, reals = np.empty(int_count + n + 7, np.int32), np.empty(real_count + J.data.shape[0] + 4 + 2 * m)
    order, start, ints = ints[:n], ints[n : n + 2], ints[n + 2 :]
    for c in range(n):
        order[c] = c
    start[0], start[1] = 0, n
    islands = Islands(start, order, start, order, start)  # of which only the blocks are looked at
    goal, begin, value, reals = reals[:1], reals[1:2], reals[2:3], reals[3:]
    made, newton, ints = ints[:1], ints[1:2], ints[2:]
    warm, got, reals = reals[:m], reals[m : 2 * m], reals[2 * m :]
    response, reals = reals[: J.data.shape[0]], reals[J.data.shape[0] :]
    if height > 0:
        shape = J.data.reshape((-1, height, 6))
        _response_contacts(J.entry_column, shape, A.inverse.reshape((-1, 6, 6)), response.reshape((-1, height, 6)))
    else:
        _response(J, A.data_start, A.inverse, response)
    goal[0] = tolerance * unit
    begin[0], value[0], made[0], newton[0] = np.inf, np.inf, 0, 0
    for k in range(m):
        warm[k], got[k] = lam[k], 0.0
    R = _Arrays(J.row_start, J.entry_start, J.entry_column, J.data_start, response, J.column_start)
    solve_each(
        J, R, False, laws, (measure.weight, measure.length), measure.q, (warm, has_warm), islands, goal,
        (budget, most), ints, reals, Found(got, begin, value, made, newton),
    )  # fmt: skip
    if not value[0] <= goal[0]:
        return UNSOLVED
    lam[:] = got
    body_velocities(J, height, A, free, lam, push, v)
    row_velocities(J, height, v, part.bias, u)
    if not _scaled(_natural_map(J.row_start, laws, lam, u, measure.weight, measure.length, 1.0), speed) <= tolerance:
        return UNSOLVED
    return made[0]


@inner_kernel
def rounds(part, plan, bodies, tables, held, begin, step, effort, lin, whole, measure, found):
    """Impulses and velocities of a part that hold where they lead; returns iterations, or UNSOLVED.

    plan: of the factorisation, read where a part is joints alone. step: h, horizon, whether there are impulses to start
    from, and whether forces turn by sums of columns. whole: velocities (nv,) and impulses (m,) of all, those of the
    part come in as what to start from and get what was found, and u (m,), where it is put; measure, found (2,):
    measures of the part where that led, its residual and its free speed, written.
    """
    h, horizon, has_warm, summed = step
    v_all, lam_all, u_all = whole
    nb = begin.q.shape[0]
    J, laws = part.J, part.laws
    m, nv = part.bias.shape[0], J.column_start[J.column_start.shape[0] - 1]
    height = _contact_height(J.row_start, J.column_start)
    even, tolerance = height > 0, effort.tolerance
    reals = np.empty(2 * m + 3 * nv + BODY_ROOM * nv)
    lam, u, reals = reals[:m], reals[m : 2 * m], reals[2 * m :]
    v, push, inner, room = reals[:nv], reals[nv : 2 * nv], reals[2 * nv : 3 * nv], reals[3 * nv :]
    inner[:] = 0.0
    pose = lin.place[: 7 * nb].reshape((nb, 7))
    start, columns = part.squares, J.column_start
    A = DenseBlocks(columns, start, part.data, part.inverse)
    H = DenseBlocks(columns, start, part.stiff, part.stiff_inverse)
    if plan.order.shape[0] > FEW:  # whose order is found otherwise
        return UNSOLVED

    # where the velocities before the step lead
    held_at(bodies, tables, held, begin, v_all, h, horizon, lin)
    take_rows(part, lin)
    _take_vector(part, lam_all, lam)
    for k in range(m):
        if not abs(lam[k]) < np.inf:
            return UNSOLVED
    rounding = rounding_of(part, bodies.dynamic, pose, horizon)
    speed = measured(J, A, part.free, part.bias, laws, even, rounding, part.even and has_warm, measure)
    if has_warm:
        if not turned_about(bodies, tables, held, begin, v_all, lam_all, h, summed, lin):
            return UNSOLVED
        take_stiff(part, lin)
        measured(J, H, part.stiff_free, part.bias, laws, even, 0.0, False, measure)
        made = _solve(
            part, plan, height, H, part.stiff_free, measure, speed, tolerance, effort, 0, True, (lam, v, u, push)
        )
    else:
        made = _solve(part, plan, height, A, part.free, measure, speed, tolerance, effort, 0, False, (lam, v, u, push))
    if made < 0:
        return UNSOLVED
    iterations, best, idle = made, np.inf, 0
    for _ in range(MOST_ROUNDS):
        # the same impulses and velocities, judged where they lead
        _put_vector(part, 6, v, v_all)
        _put_rows(part, lam, lam_all)
        held_at(bodies, tables, held, begin, v_all, h, horizon, lin)
        take_rows(part, lin)
        rounding = rounding_of(part, bodies.dynamic, pose, horizon)
        speed = measured(J, A, part.free, part.bias, laws, even, rounding, part.even, measure)
        row_velocities(J, height, v, part.bias, u)
        own = _scaled(_natural_map(J.row_start, laws, lam, u, measure.weight, measure.length, 1.0), speed)
        found[0], found[1] = own, speed
        if own <= tolerance:
            _, _, lost = worst_of_bodies(J, A, part.data, height, lam, v, part.free, inner, room)
            if lost <= tolerance:
                _put_rows(part, u, u_all)
                return iterations
        if not turned_about(bodies, tables, held, begin, v_all, lam_all, h, summed, lin):
            return UNSOLVED
        take_stiff(part, lin)
        measured(J, H, part.stiff_free, part.bias, laws, even, 0.0, False, measure)
        _, _, lost = worst_of_bodies(J, A, part.stiff, height, lam, v, part.stiff_free, inner, room)
        own = _scaled(_natural_map(J.row_start, laws, lam, u, measure.weight, measure.length, 1.0), speed)
        value = max(own, lost)
        if value <= tolerance:  # measured as it is without the turning of forces
            measured(J, A, part.free, part.bias, laws, even, rounding, part.even, measure)
            _put_rows(part, u, u_all)
            return iterations
        idle = 0 if value < best else idle + 1
        best = min(best, value)
        if idle == MOST_IDLE or not value < np.inf or iterations >= effort.most_iterations:
            return UNSOLVED
        finer = FINER * tolerance if idle > 0 else tolerance
        made = _solve(
            part, plan, height, H, part.stiff_free, measure, speed, finer, effort, iterations, True, (lam, v, u, push)
        )
        if made < 0:
            return UNSOLVED
        iterations += made
    return UNSOLVED


@inner_kernel
def plan_of(J, needed):
    """The plan of a factorisation of W, of no rows where it is not needed."""
    n = J.row_start.shape[0] - 1 if needed else 0
    last = J.entry_start[n]
    some = _Arrays(
        J.row_start[: n + 1], J.entry_start[: n + 1], J.entry_column[:last], J.data_start[: last + 1],
        J.data[: J.data_start[last]], J.column_start,
    )  # fmt: skip
    return make_plan(some, np.empty(0, np.int32))


@bare_kernel
def _take_vector(part, of_all, out):
    """Rows of a part."""
    for r in range(out.shape[0]):
        out[r] = of_all[r if part.whole else part.rows[r]]


@bare_kernel
def _put_rows(part, x, all_out):
    """Rows of a part among those of all."""
    for r in range(x.shape[0]):
        all_out[r if part.whole else part.rows[r]] = x[r]


@bare_kernel
def _put_vector(part, width, x, all_out):
    """Unknowns of a part among those of all."""
    for b in range(x.shape[0] // width):
        of = b if part.whole else part.columns[b]
        for k in range(width):
            all_out[width * of + k] = x[width * b + k]
