"""How the compiled driver solves: as ``auto`` begins, sweeps over all islands, then dense Newton steps on those left.

The numbers are those of solvers/auto.py, solvers/prox/first_sweeps.py and solvers/dense/, whose kernels these are.
"""

from __future__ import annotations

from typing import NamedTuple

from stickslip.contact.residual import _natural_map
from stickslip.contact.scale import _island_sizes
from stickslip.jit import inner_kernel, plain_kernel, view_at
from stickslip.linalg.block_rows import _Arrays, act_contacts, apply_contacts
from stickslip.linalg.dense_blocks import _response_contacts, rigid_product
from stickslip.linalg.vectors import length
from stickslip.solvers.auto import FEW_COLUMNS, MOST_FULL_ROWS
from stickslip.solvers.dense.dense import Found, dense_room, solve_each
from stickslip.solvers.prox.first_sweeps import FirstSweeps, _Equations, _Limits, _solve_islands, sweeping_room
from stickslip.solvers.prox.scheme import Rule

NOBODY, SWEEPS, DENSE = range(3)
"""Who solved a step: nobody had to, sweeps, Newton steps."""
ITERATIONS, METHOD, NEWTON = 1, 2, 3
"""Where ``counts`` of a step has what is known of that."""


class Effort(NamedTuple):
    """What the solver may do."""

    rule: Rule
    limits: _Limits
    sweeps: bool
    """Whether sweeps over all islands come first."""
    budget: int
    """Of sweeps and Newton steps on dense islands; 0: none."""
    most_rows: int
    """Of an island that is solved as a dense one."""
    most_full: int
    """The same where few bodies make it full anyway."""


@plain_kernel
def solving_room(contacts, height, columns):
    """Integers, reals and booleans of room for so many contacts of ``height`` rows and so many bodies."""
    m = height * contacts
    ints, reals = dense_room(contacts, min(m, MOST_FULL_ROWS), height, False)
    newton = reals + 12 * m + 6 * columns + 6 * contacts
    return ints + 2 * contacts, 9 * contacts + max(newton, sweeping_room(contacts, height, columns)), 2 * contacts


@inner_kernel
def solve_contacts(J, A, laws, equations, counted, speed, islands, kind, effort, rooms, found):
    """Impulses lam, velocities v and u = J v + bias, into the arrays of ``found``; returns the scaled residual.

    That is infinite where neither way solves all islands. equations: as in first_sweeps._Equations; kind: whether there
    are impulses to start from, and the rows of a contact.
    """
    _, v, _, counts = found
    n = laws.law.shape[0]
    counts[ITERATIONS], counts[METHOD], counts[NEWTON] = 0, NOBODY, 0
    for k in range(v.shape[0]):
        v[k] = equations[2][k]
    if n == 0:
        return 0.0
    residual, solved = float("inf"), rooms[2][islands.start.shape[0] - 1 :]
    for i in range(islands.start.shape[0] - 1):
        solved[i] = False
    if effort.sweeps:
        residual = _by_sweeps(J, A, laws, equations, speed, islands, kind, effort, rooms, found)
    if not residual <= effort.limits.tolerance and effort.budget > 0:
        residual = _by_newton(J, A, laws, equations, counted, speed, islands, kind, effort, rooms, found)
    return residual


@inner_kernel
def _by_sweeps(J, A, laws, equations, speed, islands, kind, effort, rooms, found):
    """The first sweeps of prox-gs over each island."""
    (ints, reals, bools), (lam, v, u, counts), count = rooms, found, islands.start.shape[0] - 1
    begin, value, own_speed = reals[:count], reals[count : 2 * count], reals[2 * count : 3 * count]
    progress = view_at(reals, 3 * count, (count, 5))
    cold, solved, swept = bools[:count], bools[count : 2 * count], ints[:count]
    for i in range(count):
        cold[i], solved[i], swept[i] = True, False, 0
    for k in range(lam.shape[0]):
        lam[k], u[k] = 0.0, equations[1][k]
    first = FirstSweeps(lam, v, u, begin, value, swept, own_speed, cold, progress, solved)
    bias, q, v_free, diagonal, weight, radius, warm = equations
    own = _Equations(bias, q, v_free, diagonal, weight, radius, warm)
    if not _solve_islands(
        J, A, laws, own, kind[0], islands, kind[1], effort.rule, effort.limits, first, reals[8 * count :]
    ):
        return float("inf")
    most = 0
    for i in range(count):
        most = max(most, swept[i])
        if not solved[i]:
            return float("inf")
    counts[ITERATIONS], counts[METHOD] = most, SWEEPS
    if count == 1:
        return value[0]
    for i in range(count):
        value[i] *= own_speed[i]
    velocity = length(value)
    return velocity / speed if speed > 0.0 else velocity


@inner_kernel
def _by_newton(J, A, laws, equations, counted, speed, islands, kind, effort, rooms, found):
    """Sweeps and Newton steps on the dense W of each island that first sweeps left, where those are small enough.

    The others keep their impulses in lam, and the number of their sweeps.
    """
    (ints, reals, bools), (lam, v, u, counts), count = rooms, found, islands.start.shape[0] - 1
    solved = bools[count : 2 * count]
    bias, q, v_free, _, weight, radius, warm = equations
    height, columns, blocks, rows = kind[1], 0, 0, 0
    for i in range(count):
        if solved[i]:
            continue
        columns = max(columns, islands.column_start[i + 1] - islands.column_start[i])
        blocks = max(blocks, islands.start[i + 1] - islands.start[i])
        rows = max(rows, islands.row_start[i + 1] - islands.row_start[i])
    most = effort.most_full if columns <= FEW_COLUMNS else effort.most_rows
    if rows > most:
        return float("inf")
    begin, value, goal, reals = (
        reals[:count],
        reals[count : 2 * count],
        reals[2 * count : 3 * count],
        reals[3 * count :],
    )
    made, newton, ints = ints[:count], ints[count : 2 * count], ints[2 * count :]
    response, reals = reals[: J.data.shape[0]], reals[J.data.shape[0] :]
    inverse, entries = A.inverse.reshape((-1, 6, 6)), J.data.reshape((-1, height, 6))
    _response_contacts(J.entry_column, entries, inverse, response.reshape((-1, height, 6)))
    _goals(J, A, counted, speed, islands, effort.limits.tolerance, goal)
    for i in range(count):
        newton[i] = 0
        if solved[i]:
            goal[i] = -1.0
        else:
            begin[i], value[i], made[i] = float("inf"), float("inf"), 0
    R = _Arrays(J.row_start, J.entry_start, J.entry_column, J.data_start, response, J.column_start)
    solve_each(
        J, R, False, laws, (weight, radius), q, (warm, kind[0]), islands, goal, (effort.budget, most), ints, reals,
        Found(lam, begin, value, made, newton),
    )  # fmt: skip
    for i in range(count):
        counts[ITERATIONS] = max(counts[ITERATIONS], made[i])
        counts[NEWTON] += newton[i]
        if not (solved[i] or value[i] <= goal[i]):
            return float("inf")
    counts[METHOD] = DENSE
    # v = v_free + A^-1 J^T lam, u = J v + bias
    n, push = laws.law.shape[0], reals[: v.shape[0]]
    push[:] = 0.0
    act_contacts(J.entry_start, J.entry_column, entries, lam.reshape((n, height)), push.reshape((-1, 6)))
    rigid_product(inverse, push.reshape((-1, 6)), v.reshape((-1, 6)))
    for k in range(v.shape[0]):
        v[k] = v_free[k] + v[k]
    u[:] = 0.0
    apply_contacts(J.entry_start, J.entry_column, entries, v.reshape((-1, 6)), u.reshape((n, height)))
    for k in range(u.shape[0]):
        u[k] = u[k] + bias[k]
    velocity = _natural_map(J.row_start, laws, lam, u, weight, radius, 1.0)
    return velocity / speed if speed > 0.0 else velocity


@inner_kernel
def _goals(J, A, counted, speed, islands, tolerance, goal_out):
    """Natural map [m/s] up to which each island is solved: ContactProblem.island_speed times the tolerance."""
    count = islands.start.shape[0] - 1
    alone = islands.column_order.shape[0] < J.column_start.shape[0] - 1
    if count > 1 or alone:
        _island_sizes(J.row_start, islands.order, islands.start, counted, goal_out)
    else:
        goal_out[0] = speed
    for i in range(count):
        goal_out[i] = tolerance * (goal_out[i] if goal_out[i] > 0.0 else 1.0)
