"""The first sweeps of PROX Gauss-Seidel over contacts between rigid bodies, island by island, in one compiled call.

In most steps of most scenes impulses of the last step are nearly right, and a few sweeps are all that it takes. This is
the first round of ``prox-gs`` (prox_gs.py) for each island apart: the same start, sweeps, criterion and bits as if the
island were the whole problem. What a heavy or restless neighbour island needs, others do not see. Islands that are not
solved by it are left to whoever called, from the start.

Legend: as in prox_gs.py; q = J v_free + bias.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, Ints
from stickslip.contact.laws import CONTACT, DISC
from stickslip.contact.problem import ContactProblem
from stickslip.contact.residual import contact_square
from stickslip.jit import kernel
from stickslip.linalg.islands import Islands
from stickslip.linalg.vectors import length
from stickslip.solvers.iterative import MOST_WORSENING
from stickslip.solvers.prox import FACTOR, ROLL_BACK, ROLLBACKS, STOP, Prox, judge
from stickslip.solvers.prox_sweeps import sweep_discs, sweep_torsion

MOST_CONTACTS = 400
"""Contacts of an island up to which it is tried: on larger ones sweeps that do not suffice would cost too much."""


class FirstSweeps(NamedTuple):
    """Impulses and velocities after the sweeps; those of islands that are not solved are of no use."""

    lam: Array
    """(m,)"""
    v: Array
    """(nv,)"""
    u: Array
    """(m,) constraint velocities J v + bias."""
    start: Array
    """(ni,) residual at the start of each island."""
    value: Array
    """(ni,) residual at its end; infinite where it was not tried."""
    sweeps: Ints
    """(ni,) sweeps made."""
    speed: Array
    """(ni,) [m/s] by which residuals are divided."""
    cold: Bools
    """(ni,) islands that started from zero."""
    progress: Array
    """(ni, 5) books of the iterations (prox.py), with which sweeps can go on."""
    solved: Bools
    """(ni,) islands whose residual is within the tolerance."""

    def residual(self, problem: ContactProblem, value: Array) -> float:
        """The residual of all islands together, of those (ni,) of each."""
        if len(value) == 1:
            return float(value[0])
        velocity, free = float(length(value * self.speed)), problem.free_speed
        return velocity / free if free > 0.0 else velocity

    @property
    def rollbacks(self) -> int:
        """Iterations taken back."""
        return int(self.progress[:, ROLLBACKS].sum())

    def of_part(self, island: int, rows: NDArray[np.intp], unknowns: NDArray[np.intp]) -> FirstSweeps | None:
        """The same of one island alone, as a problem with these rows and unknowns; None where it was not tried."""
        one = slice(island, island + 1)
        if not self.sweeps[island]:
            return None
        return FirstSweeps(
            self.lam[rows], self.v[unknowns], self.u[rows], self.start[one], self.value[one], self.sweeps[one],
            self.speed[one], self.cold[one], self.progress[one], self.solved[one],
        )  # fmt: skip


def first_sweeps(
    options: Prox, problem: ContactProblem, islands: Islands, warm: Array | None, patience: int
) -> FirstSweeps | None:
    """Up to ``patience`` sweeps over each island; None where blocks are not all contacts between rigid bodies.

    Contacts have three rows and discs for friction sets, or four of which the last is a spin.
    """
    J, laws = problem.J, problem.laws
    height = int(_contact_height(J.row_start, J.column_start, J.data, laws.law, laws.friction_set))
    if not height or options.factors != "local" or options.plain or problem.scale.speed is not None:
        return None
    A = problem.A
    inverses = A.rigid_inverses()
    if inverses is None:
        return None
    count = islands.island_count
    if int(np.diff(islands.start).min()) > MOST_CONTACTS:
        return None
    q = problem.free_constraint_velocity
    lam, v, u = np.zeros(len(q)), problem.v_free + 0.0, q.copy()
    start, value, speed, sweeps = np.empty(count), np.empty(count), np.empty(count), np.zeros(count, dtype=np.int32)
    cold, progress = np.ones(count, dtype=np.bool_), np.empty((count, 5))
    _solve_islands(
        J, J.data.reshape(-1, height, 6), A.dense.inverse.reshape(-1, 6, 6), inverses, problem.bias, laws,
        problem.diagonal, problem.weight, problem.torsion_length, q, problem.v_free,
        lam if warm is None else warm, warm is not None, islands.start, islands.order, islands.column_start,
        islands.column_order, options.rule, options.relaxation, options.tolerance, patience, MOST_CONTACTS,
        lam, v, u, start, value, speed, sweeps, cold, progress,
    )  # fmt: skip
    return FirstSweeps(lam, v, u, start, value, sweeps, speed, cold, progress, value <= options.tolerance)


@kernel
def _contact_height(row_start, column_start, data, law, friction_set):
    """Rows of every block, 3 or 4, where all are contacts between rigid bodies as sweeps take them, else 0."""
    blocks = row_start.shape[0] - 1
    height = row_start[1] - row_start[0] if blocks > 0 else 0
    if height != 3 and height != 4:
        return 0
    for b in range(column_start.shape[0] - 1):
        if column_start[b + 1] - column_start[b] != 6:
            return 0
    for c in range(blocks):
        if law[c] != CONTACT or row_start[c + 1] - row_start[c] != height:
            return 0
        if height == 3 and friction_set[c] != DISC:
            return 0
    if height == 4:
        for e in range(data.shape[0] // 24):
            for j in range(3):
                if data[24 * e + 18 + j] != 0.0:  # no pure spin
                    return 0
    return height


class _Row(NamedTuple):
    """R as the sweeps of prox_sweeps.py read it."""

    row: Array
    friction: Array
    length: Array


@kernel
def _solve_islands(
    J, entries, inverse, inverses, bias, laws, diagonal, weight, radius, q, v_free, warm, has_warm,
    block_start, block_order, body_start, body_order, rule, relaxation, tolerance, patience, most,
    lam, v, u, start_out, value_out, speed_out, sweeps_out, cold_out, progress_out,
):  # fmt: skip
    """Each island apart; lam, v and u come in as zero, v_free and q."""
    height = entries.shape[1]
    n = bias.shape[0] // height
    bias2, lam2, u2, v2 = bias.reshape(n, height), lam.reshape(n, height), u.reshape(n, height), v.reshape(-1, 6)
    free2, warm2 = v_free.reshape(-1, 6), warm.reshape(n, height)
    factors = _Row(np.empty(bias.shape[0]), np.zeros((n, 3, 3)), radius)
    impulse, lam0, v0 = np.zeros_like(v2), np.empty_like(lam2), np.empty_like(v2)
    for island in range(block_start.shape[0] - 1):
        blocks = block_order[block_start[island] : block_start[island + 1]]
        bodies = body_order[body_start[island] : body_start[island + 1]]
        progress = progress_out[island]
        progress[0], progress[1], progress[2], progress[3], progress[4] = np.inf, 1.0, 0.0, 0.0, 0.0
        value_out[island] = np.inf
        start_out[island] = np.inf
        speed_out[island] = 0.0
        if blocks.shape[0] > most:
            continue
        speed = _speed(blocks, height, q, laws, radius)
        speed_out[island] = speed if speed > 0.0 else 1.0
        cold = _residual(blocks, J.row_start, laws, lam, u, weight, radius)
        cold = cold / speed if speed > 0.0 else cold
        begin = cold
        if has_warm:
            for k in range(blocks.shape[0]):
                for i in range(height):
                    lam2[blocks[k], i] = warm2[blocks[k], i]
            _advance(blocks, bodies, J, entries, inverse, bias2, free2, lam2, impulse, v2, u2)
            begin = _residual(blocks, J.row_start, laws, lam, u, weight, radius)
            begin = begin / speed if speed > 0.0 else begin
            cold_out[island] = not begin <= MOST_WORSENING * cold
            if cold_out[island]:
                begin = cold
                for k in range(blocks.shape[0]):
                    for i in range(height):
                        lam2[blocks[k], i] = 0.0
                for k in range(bodies.shape[0]):
                    for j in range(6):
                        v2[bodies[k], j] = free2[bodies[k], j]
        start_out[island] = begin
        _island_factors(blocks, height, diagonal, radius, relaxation, factors)
        target = tolerance * (speed if speed > 0.0 else 1.0)
        made = patience
        for sweep in range(patience):
            for k in range(blocks.shape[0]):
                for i in range(height):
                    lam0[blocks[k], i] = lam2[blocks[k], i]
            for k in range(bodies.shape[0]):
                for j in range(6):
                    v0[bodies[k], j] = v2[bodies[k], j]
            total, largest = 0.0, 0.0
            for k in range(blocks.shape[0]):
                c = blocks[k]
                if height == 3:
                    more, most_of = sweep_discs(
                        c, c + 1, J, entries, inverses, bias2, laws, weight, factors, progress[FACTOR], lam2, v2
                    )
                else:
                    more, most_of = sweep_torsion(
                        c, c + 1, J, entries, inverses, bias2, laws, weight, factors, progress[FACTOR], lam2, v2
                    )
                total += more
                largest = max(largest, most_of)
            verdict = judge(sqrt(total), largest, rule, target, progress)
            if verdict == ROLL_BACK:
                for k in range(blocks.shape[0]):
                    for i in range(height):
                        lam2[blocks[k], i] = lam0[blocks[k], i]
                for k in range(bodies.shape[0]):
                    for j in range(6):
                        v2[bodies[k], j] = v0[bodies[k], j]
            if verdict == STOP:
                made = sweep + 1
                break
        sweeps_out[island] = made
        # afresh, so that rounding of the updates does not pile up
        _advance(blocks, bodies, J, entries, inverse, bias2, free2, lam2, impulse, v2, u2)
        value = _residual(blocks, J.row_start, laws, lam, u, weight, radius)
        value_out[island] = value / speed if speed > 0.0 else value


@kernel
def _speed(blocks, height, q, laws, radius):
    """|q| of an island, which scales its residual; see ContactProblem.free_speed."""
    total = 0.0
    for k in range(blocks.shape[0]):
        c = blocks[k]
        i = height * c
        total += q[i] * q[i]
        total += q[i + 1] * q[i + 1]
        total += q[i + 2] * q[i + 2]
        if height == 4:
            spin = q[i + 3] * (radius[c] if laws.friction[c, 2] > 0.0 else 0.0)
            total += spin * spin
    return sqrt(total)


@kernel
def _residual(blocks, row_start, laws, lam, u, weight, radius):
    """Norm of the natural map of the exact law over the blocks of an island [m/s]."""
    total = 0.0
    for k in range(blocks.shape[0]):
        total += contact_square(row_start, laws, lam, u, weight, radius, 1.0, blocks[k])
    return sqrt(total)


@kernel
def _island_factors(blocks, height, diagonal, radius, relaxation, factors):
    """Local r-factors (prox_factors.py) of the blocks of an island, in place."""
    for k in range(blocks.shape[0]):
        c = blocks[k]
        first = height * c
        for i in range(first, first + height):
            factors.row[i] = relaxation / diagonal[i] if diagonal[i] > 0.0 else 0.0
        factors.row[first + 1] = factors.row[first + 2] = min(factors.row[first + 1], factors.row[first + 2])
        if height == 4:
            factors.row[first + 3] = radius[c] ** 2 * factors.row[first + 2]
        for i in range(height - 1):
            factors.friction[c, i, i] = factors.row[first + 1 + i]


@kernel
def _advance(blocks, bodies, J, entries, inverse, bias, v_free, lam, impulse, v_out, u_out):
    """v = v_free + A^-1 J^T lam of the bodies of an island, and u = J v + bias of its blocks."""
    height = entries.shape[1]
    for k in range(bodies.shape[0]):
        for j in range(6):
            impulse[bodies[k], j] = 0.0
    for k in range(blocks.shape[0]):
        c = blocks[k]
        x, y, z, t = lam[c, 0], lam[c, 1], lam[c, 2], lam[c, 3] if height > 3 else 0.0
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            d, f = entries[e], impulse[J.entry_column[e]]
            for j in range(6):
                f[j] += d[0, j] * x + d[1, j] * y + d[2, j] * z
            if height > 3:
                for j in range(6):
                    f[j] += d[3, j] * t
    for k in range(bodies.shape[0]):
        b = bodies[k]
        m, f = inverse[b], impulse[b]
        for i in range(6):
            v_out[b, i] = v_free[b, i] + (
                m[i, 0] * f[0] + m[i, 1] * f[1] + m[i, 2] * f[2] + m[i, 3] * f[3] + m[i, 4] * f[4] + m[i, 5] * f[5]
            )
    for k in range(blocks.shape[0]):
        c = blocks[k]
        for i in range(height):
            u_out[c, i] = 0.0
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            d, x = entries[e], v_out[J.entry_column[e]]
            for i in range(height):
                u_out[c, i] += (
                    d[i, 0] * x[0] + d[i, 1] * x[1] + d[i, 2] * x[2] + d[i, 3] * x[3] + d[i, 4] * x[4] + d[i, 5] * x[5]
                )
        for i in range(height):
            u_out[c, i] += bias[c, i]
