"""How the compiled driver solves steps with robots: dense Newton steps on each island, as ``auto`` and ``dense`` do."""

from __future__ import annotations

from stickslip.compiled.solving import DENSE, ITERATIONS, METHOD, NEWTON, NOBODY
from stickslip.contact.residual import _natural_map
from stickslip.contact.scale import _island_sizes
from stickslip.jit import inner_kernel, plain_kernel
from stickslip.law_codes import CONTACT
from stickslip.linalg.block_rows import _apply_transpose, _Arrays, add_product
from stickslip.linalg.dense_blocks import BODY, _block_product, _response, rigid_product
from stickslip.solvers.auto import FEW_COLUMNS, MOST_FULL_ROWS
from stickslip.solvers.dense.dense import Found, dense_room, solve_each
from stickslip.tolerances import SPEED_NOISE

UNSOLVED = float("inf")


@plain_kernel
def tree_solving_room(blocks, rows, height, data):
    """Integers and reals of room for so many blocks and rows, of which a block has ``height`` at most."""
    ints, reals = dense_room(blocks, min(rows, MOST_FULL_ROWS), height, False)
    return ints + 2 * blocks, reals + 5 * blocks + data


@inner_kernel
def block_product(A, data, x, y_out):
    """linalg/dense_blocks.product."""
    count = A.start.shape[0] - 1
    for k in range(y_out.shape[0]):
        y_out[k] = 0.0
    if x.shape[0] == BODY * count and data.shape[0] == BODY * BODY * count:
        rigid_product(data.reshape((count, 6, 6)), x.reshape((count, 6)), y_out.reshape((count, 6)))
    else:
        _block_product(A.start, A.data_start, data, x, y_out)


@inner_kernel
def island_goals(J, laws, measured, v_free, speed, rounding, islands, tolerance, room, goal_out):
    """Natural map [m/s] up to which each island is solved: ContactProblem.island_speed times the tolerance.

    rounding (columns,) or, where nothing says where bodies are, (0,); room (2 ni,).
    """
    count = islands.start.shape[0] - 1
    alone = islands.column_order.shape[0] < J.column_start.shape[0] - 1
    if count > 1 or alone:
        moved, joined = room[:count], room[count : 2 * count]
        _island_sizes(J.row_start, islands.order, islands.start, measured, goal_out)
        _island_sizes(J.column_start, islands.column_order, islands.column_start, v_free, moved)
        for i in range(count):
            joined[i] = 0.0
            for k in range(islands.start[i], islands.start[i + 1]):
                if laws.law[islands.order[k]] != CONTACT:
                    joined[i] = 1.0
            if joined[i] > 0.0:
                goal_out[i] = max(goal_out[i], SPEED_NOISE * moved[i])
                if rounding.shape[0] > 0:
                    most = 0.0
                    for k in range(islands.column_start[i], islands.column_start[i + 1]):
                        most = max(most, rounding[islands.column_order[k]])
                    goal_out[i] = max(goal_out[i], most)
    else:
        goal_out[0] = speed
    for i in range(count):
        goal_out[i] = tolerance * (goal_out[i] if goal_out[i] > 0.0 else 1.0)


@inner_kernel
def solve_rows(J, A, laws, equations, scale, islands, kind, effort, rooms, found):
    """Impulses lam, velocities v and u = J v + bias, into the arrays of ``found``; returns the scaled residual.

    That is infinite where not all islands are solved. equations: bias, q, v_free, weight, torsion lengths, impulses to
    start from; scale: measured velocity (m,), free speed, rounding; kind: whether there are impulses to start from.
    found: lam, v, u, room (nv,), and counts.
    """
    bias, q, v_free, weight, radius, warm = equations
    measured, speed, rounding = scale
    (ints, reals), (lam, v, u, push, counts) = rooms, found
    counts[ITERATIONS], counts[METHOD], counts[NEWTON] = 0, NOBODY, 0
    n, count = laws.law.shape[0], islands.start.shape[0] - 1
    for k in range(v.shape[0]):
        v[k] = v_free[k]
    if n == 0:
        return 0.0
    columns, rows = 0, 0
    for i in range(count):
        columns = max(columns, islands.column_start[i + 1] - islands.column_start[i])
        rows = max(rows, islands.row_start[i + 1] - islands.row_start[i])
    most = effort.most_full if columns <= FEW_COLUMNS else effort.most_rows
    if rows > most or effort.budget <= 0:
        return UNSOLVED
    goal, begin, value = reals[:count], reals[count : 2 * count], reals[2 * count : 3 * count]
    island_goals(
        J, laws, measured, v_free, speed, rounding, islands, effort.limits.tolerance, reals[3 * count : 5 * count], goal
    )
    reals = reals[5 * count :]
    response, reals = reals[: J.data.shape[0]], reals[J.data.shape[0] :]
    made, newton, ints = ints[:count], ints[count : 2 * count], ints[2 * count :]
    _response(J, A.data_start, A.inverse, response)
    for i in range(count):
        begin[i], value[i], made[i], newton[i] = UNSOLVED, UNSOLVED, 0, 0
    for k in range(lam.shape[0]):
        lam[k] = 0.0
    R = _Arrays(J.row_start, J.entry_start, J.entry_column, J.data_start, response, J.column_start)
    solve_each(
        J, R, False, laws, (weight, radius), q, (warm, kind), islands, goal, (effort.budget, most), ints, reals,
        Found(lam, begin, value, made, newton),
    )  # fmt: skip
    for i in range(count):
        counts[ITERATIONS] = max(counts[ITERATIONS], made[i])
        counts[NEWTON] += newton[i]
        if not value[i] <= goal[i]:
            return UNSOLVED
    counts[METHOD] = DENSE
    push[:] = 0.0
    _apply_transpose(J, lam, push)
    block_product(A, A.inverse, push, v)
    for k in range(v.shape[0]):
        v[k] = v_free[k] + v[k]
    u[:] = 0.0
    add_product(J, v, u)
    for k in range(u.shape[0]):
        u[k] = u[k] + bias[k]
    velocity = _natural_map(J.row_start, laws, lam, u, weight, radius, 1.0)
    return velocity / speed if speed > 0.0 else velocity
