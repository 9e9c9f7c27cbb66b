"""The first sweeps of PROX Gauss-Seidel over contacts between rigid bodies, island by island, in one compiled call.

In most steps of most scenes impulses of the last step are nearly right, and a few sweeps are all that it takes. This is
the first round of ``prox-gs`` (gauss_seidel.py) for each island apart: the same start, sweeps, criterion and bits as if
the island were the whole problem. What a heavy or restless neighbour island needs, others do not see. Islands that are
not solved by it are left to whoever called, from the start.

Legend: as in gauss_seidel.py; q = J v_free + bias.
"""

from __future__ import annotations

import time
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, Ints
from stickslip.contact.laws import CONTACT, DISC, contact_square
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel, plain_kernel, view_at
from stickslip.linalg.dense_blocks import compact_inverses
from stickslip.linalg.islands import Islands
from stickslip.linalg.vectors import length
from stickslip.solvers.iterative import MOST_WORSENING
from stickslip.solvers.protocol import Solution
from stickslip.solvers.prox.scheme import FACTOR, GO_ON, ROLL_BACK, ROLLBACKS, STOP, Prox, judge
from stickslip.solvers.prox.sweeps import sweep_discs, sweep_torsion

MOST_CONTACTS = 4999
"""Contacts of an island up to which it is tried: larger ones are swept in slabs (slabs.py), on several threads."""
NEARLY = 10.0
"""Times the tolerance: an island whose sweeps ended above it, and not further above, gets the rest of its sweeps. A
sweep's change underestimates the residual of warm starts, and a factorisation would cost more."""


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
    """(ni, 5) books of the iterations (scheme.py), with which sweeps can go on."""
    solved: Bools
    """(ni,) islands whose residual is within the tolerance."""

    @property
    def all_solved(self) -> bool:
        """Whether every island is."""
        return bool(self.solved[0]) if len(self.solved) == 1 else bool(self.solved.all())

    def solution(self, problem: ContactProblem, method: str = "", started: float | None = None) -> Solution:
        """The solution of a problem whose islands are all solved.

        method, started [s]: name and begin of the work, for solvers that choose between several.
        """
        value = self._residual(problem, self.value)
        if len(self.value) == 1:
            made, rollbacks = int(self.sweeps[0]), int(self.progress[0, ROLLBACKS])
        else:
            made, rollbacks = int(self.sweeps.max()), int(self.progress[:, ROLLBACKS].sum())
        history = [[float(made), value]]
        timings = {}
        if started is not None:
            history.insert(0, [0.0, self._residual(problem, self.start)])
            timings[method] = time.perf_counter() - started
        return Solution(
            self.v, self.lam, "converged", made, np.array(history), timings, rollbacks, method,
            u=self.u, residual=value, exact_residual=value,
        )  # fmt: skip

    def _residual(self, problem: ContactProblem, value: Array) -> float:
        """The residual of all islands together, of those (ni,) of each."""
        if len(value) == 1:
            return float(value[0])
        velocity, free = float(length(value * self.speed)), problem.free_speed
        return velocity / free if free > 0.0 else velocity

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
    J, A = problem.J, problem.A
    height = J.contact_height if A.is_dense and problem.scale.speed is None else 0
    if not height or options.factors != "local" or options.plain:
        return None
    q, v_free = problem.free_constraint_velocity, problem.v_free
    count, lam = len(islands.start) - 1, np.zeros(len(q))
    found = FirstSweeps(
        lam, v_free + 0.0, q.copy(), np.empty(count), np.empty(count), np.zeros(count, dtype=np.int32),
        np.empty(count), np.ones(count, dtype=np.bool_), np.empty((count, 5)), np.zeros(count, dtype=np.bool_),
    )  # fmt: skip
    equations = _Equations(
        problem.bias, q, v_free, problem.diagonal, problem.weight, problem.torsion_length, lam if warm is None else warm
    )
    limits = _Limits(options.relaxation, options.tolerance, patience, MOST_CONTACTS)
    room = np.empty(sweeping_room(len(problem.laws.law), height, len(v_free) // 6))
    tried = _solve_islands(
        J, A.dense, problem.laws, equations, warm is not None, islands, height, options.rule, limits, found, room
    )
    return found if tried else None


class _Equations(NamedTuple):
    """Of the problem, beside J, A and its laws."""

    bias: Array
    q: Array
    v_free: Array
    diagonal: Array
    weight: Array
    radius: Array
    """(n,) ContactProblem.torsion_length"""
    warm: Array


class _Limits(NamedTuple):
    """Options of the sweeps."""

    relaxation: float
    tolerance: float
    patience: int
    contacts: int
    """Of an island that is tried, at most."""


@kernel
def _swept(J, inverse, laws, islands, height, limits, inverses_out):
    """Whether all blocks are contacts between rigid bodies as sweeps take them, and an island is small enough."""
    smallest = J.row_start.shape[0]
    for i in range(islands.start.shape[0] - 1):
        smallest = min(smallest, islands.start[i + 1] - islands.start[i])
    if smallest > limits.contacts:
        return False
    for c in range(laws.law.shape[0]):
        if laws.law[c] != CONTACT or (height == 3 and laws.friction_set[c] != DISC):
            return False
    if height == 4:
        for e in range(J.data.shape[0] // 24):
            for j in range(3):
                if J.data[24 * e + 18 + j] != 0.0:  # no pure spin
                    return False
    return compact_inverses(inverse, inverses_out)


class _Row(NamedTuple):
    """R as the sweeps of sweeps.py read it."""

    row: Array
    friction: Array
    length: Array


@plain_kernel
def sweeping_room(blocks, height, bodies):
    """Reals of room for ``_solve_islands``."""
    return (2 * height + 9) * blocks + 19 * bodies


@kernel
def _solve_islands(J, masses, laws, equations, has_warm, islands, height, rule, limits, found, room):
    """Each island apart; lam, v and u of ``found`` come in as zero, v_free and q. False where nothing was tried."""
    nd = masses.inverse.shape[0] // 36
    inverse = view_at(masses.inverse, 0, (nd, 6, 6))
    inverses, room = view_at(room, 0, (nd, 7)), room[7 * nd :]
    if not _swept(J, inverse, laws, islands, height, limits, inverses):
        return False
    lam, v, u, bias, weight, radius = found.lam, found.v, found.u, equations.bias, equations.weight, equations.radius
    n = laws.law.shape[0]
    entries = view_at(J.data, 0, (J.data.shape[0] // (6 * height), height, 6))
    bias2, lam2, u2 = view_at(bias, 0, (n, height)), view_at(lam, 0, (n, height)), view_at(u, 0, (n, height))
    v2, free2 = view_at(v, 0, (nd, 6)), view_at(equations.v_free, 0, (nd, 6))
    warm2 = view_at(equations.warm, 0, (n, height))
    m, nv = height * n, 6 * nd
    factors = _Row(room[:m], view_at(room, m, (n, 3, 3)), radius)
    factors.friction[:] = 0.0
    room = room[m + 9 * n :]
    lam0, impulse = view_at(room, 0, (n, height)), view_at(room, m, (nd, 6))
    impulse[:] = 0.0
    v0 = view_at(room, m + nv, (nd, 6))
    for island in range(islands.start.shape[0] - 1):
        blocks = islands.order[islands.start[island] : islands.start[island + 1]]
        bodies = islands.column_order[islands.column_start[island] : islands.column_start[island + 1]]
        progress = found.progress[island]
        progress[0], progress[1], progress[2], progress[3], progress[4] = np.inf, 1.0, 0.0, 0.0, 0.0
        found.value[island] = np.inf
        found.start[island] = np.inf
        found.speed[island] = 0.0
        if blocks.shape[0] > limits.contacts:
            continue
        speed = _speed(blocks, height, equations.q, laws, radius)
        found.speed[island] = speed if speed > 0.0 else 1.0
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
            found.cold[island] = not begin <= MOST_WORSENING * cold
            if found.cold[island]:
                begin = cold
                for k in range(blocks.shape[0]):
                    for i in range(height):
                        lam2[blocks[k], i] = 0.0
                for k in range(bodies.shape[0]):
                    for j in range(6):
                        v2[bodies[k], j] = free2[bodies[k], j]
        found.start[island] = begin
        _island_factors(blocks, height, equations.diagonal, radius, limits.relaxation, factors)
        target = limits.tolerance * (speed if speed > 0.0 else 1.0)
        made = 0
        while True:
            verdict = GO_ON
            while made < limits.patience and verdict != STOP:
                verdict = _sweep_island(
                    blocks, bodies, J, entries, inverses, bias2, laws, weight, factors, (rule, target, progress),
                    (lam2, v2), (lam0, v0),
                )  # fmt: skip
                made += 1
            # afresh, so that rounding of the updates does not pile up
            _advance(blocks, bodies, J, entries, inverse, bias2, free2, lam2, impulse, v2, u2)
            value = _residual(blocks, J.row_start, laws, lam, u, weight, radius)
            value = value / speed if speed > 0.0 else value
            if made >= limits.patience or not limits.tolerance < value <= NEARLY * limits.tolerance:
                break
            target = min(0.5 * target, 0.5 * target * limits.tolerance / value)
        found.sweeps[island], found.value[island] = made, value
        found.solved[island] = value <= limits.tolerance
    return True


@kernel
def _sweep_island(blocks, bodies, J, entries, inverses, bias, laws, weight, factors, judging, at, before):
    """One sweep over an island, rolled back on divergence; returns its verdict (scheme.judge).

    judging: rule, target and progress; at: impulses (n, height) and velocities (nb, 6), changed; before: room for them.
    """
    (rule, target, progress), (lam, v), (lam0, v0) = judging, at, before
    height = entries.shape[1]
    for k in range(blocks.shape[0]):
        for i in range(height):
            lam0[blocks[k], i] = lam[blocks[k], i]
    for k in range(bodies.shape[0]):
        for j in range(6):
            v0[bodies[k], j] = v[bodies[k], j]
    total, largest = 0.0, 0.0
    for k in range(blocks.shape[0]):
        c = blocks[k]
        if height == 3:
            more, most_of = sweep_discs(
                c, c + 1, J, entries, inverses, bias, laws, weight, factors, progress[FACTOR], lam, v
            )
        else:
            more, most_of = sweep_torsion(
                c, c + 1, J, entries, inverses, bias, laws, weight, factors, progress[FACTOR], lam, v
            )
        total += more
        largest = max(largest, most_of)
    verdict = judge(sqrt(total), largest, rule, target, progress)
    if verdict == ROLL_BACK:
        for k in range(blocks.shape[0]):
            for i in range(height):
                lam[blocks[k], i] = lam0[blocks[k], i]
        for k in range(bodies.shape[0]):
            for j in range(6):
                v[bodies[k], j] = v0[bodies[k], j]
    return verdict


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
    """Local r-factors (factors.py) of the blocks of an island, in place."""
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
