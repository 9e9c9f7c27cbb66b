"""PROX Gauss-Seidel, [erleben2017] Alg. 2, with the local r-factor strategy.

Legend: lam impulses, u = J v + bias constraint velocities, r factors (R), nu their reduction, W = J A^-1 J^T.
The velocity v = v_free + A^-1 J^T lam is kept beside lam, so a sweep needs no Delassus matrix (eq. 25-26).

Differs from the paper:
- The factors of the friction rows of a contact, torsion included, are equal, 1 / max(W_tt): with unequal ones
  the projection would not pick the direction of maximum dissipation.
- Divergence (eq. 27) is judged by |W_cc-scaled change of lam|, a velocity, so that heavy and light contacts
  count alike, and factors grow back (by 1/nu, never above their start) after ten sweeps in a row without it.
- Only a change ``growth`` times the last one counts as divergence; the paper's rule (1) shrinks factors without
  need, since the change of a converging Gauss-Seidel iteration is not monotone.
- Between sweeps the equations of the contacts held closed are solved directly (solvers/subspace.py), kept only
  where the residual falls. ``subspace=0`` gives the plain method.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from stickslip.contact.laws import CONTACT, DISC, LIMIT, project_disc, project_friction
from stickslip.contact.problem import ContactProblem
from stickslip.contact.residual import residual, scaled_residual
from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.linalg import block_rows
from stickslip.linalg.inertia import BlockDiagonal
from stickslip.solvers.protocol import Law, Relinearise, Solution, Status
from stickslip.solvers.subspace import subspace_step

STALL_SWEEPS = 500
"""Sweeps without a tenth of progress after which more of them are no use."""

WANDERED = 10.0
"""Ratio of residuals above which an iterate is given up for an earlier one. Not 1: sweeps that were cut off have
brought impulses to where they belong before the residual shows it, and piles sink where that work is thrown away."""


@dataclass(frozen=True)
class ProxGaussSeidel:
    """PROX Gauss-Seidel, Erleben (2017) Alg. 2; the options' defaults are meant for stepping."""

    name: ClassVar[str] = "prox-gs"
    law: ClassVar[Law] = "exact"

    tolerance: float = 1e-8
    """Residual at which to stop."""
    max_iterations: int = 2000
    """Sweeps at most."""
    criterion: Literal["scaled", "siconos"] = "scaled"
    """Which residual of contact/residual.py the tolerance is for."""
    nu: float = 0.9
    """Factor by which r shrinks on divergence."""
    growth: float = 10.0
    """A sweep that changes lam more than this times the last one counts as divergence; 1 in the paper."""
    subspace: int = 5
    """Subspace steps in a row at most, after every ``patience`` sweeps; 0 for the plain method of the paper."""
    patience: int = 20
    """Sweeps before a subspace step; doubled whenever the step did not help."""
    subspace_limit: int = 1500
    """Unknown velocities above which no subspace step is tried: its factorisation would cost more than sweeps."""
    record_every: int = 0
    """Compute and keep the residual every so many sweeps; 0: only when it may have converged."""

    def __post_init__(self) -> None:
        for name, least in (
            ("max_iterations", 1),
            ("subspace", 0),
            ("patience", 1),
            ("subspace_limit", 0),
            ("record_every", 0),
        ):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise InputError(f"solver prox-gs: {name} is {value!r}; it must be a whole number, at least {least}")
        for name, low, high in (("tolerance", 0.0, np.inf), ("nu", 0.0, 1.0), ("growth", 0.999, np.inf)):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not low < value < high:
                raise InputError(f"solver prox-gs: {name} is {value!r}; it must be above {low:g} and below {high:g}")
        if self.criterion not in ("scaled", "siconos"):
            raise InputError(f"solver prox-gs: criterion is {self.criterion!r}; it must be 'scaled' or 'siconos'")

    def solve(
        self,
        problem: ContactProblem,
        warm: NDArray[np.float64] | None = None,
        relinearise: Relinearise | None = None,
    ) -> Solution:
        """Solve for the impulses, starting from ``warm`` (m,) or zero."""
        started = time.perf_counter()
        lam, v, best = self._start(problem, warm)
        if problem.block_count == 0:
            return Solution(v, lam, "converged", 0, np.zeros((0, 2)))
        r = np.empty(problem.row_count)
        _local_factors(problem.J.row_start, problem.laws, problem.diagonal, r)
        iterate = _iterate_contacts if _isotropic_rigid(problem) else _iterate_blocks
        small = self.subspace > 0 and len(v) <= self.subspace_limit
        prepared = time.perf_counter()

        history: list[tuple[int, float]] = []
        iterations, patience, target = 0, self.patience, self.tolerance * (problem.free_speed or 1.0)
        best_lam, best_v = lam.copy(), v.copy()
        mark, mark_at = best, 0  # the last residual that was a tenth of progress
        status: Status = "max-iterations"
        progress = np.array([np.inf, 1.0, 0.0])  # see _judge
        work = np.empty_like(lam), np.empty_like(v)
        while True:
            budget = min(self.record_every or patience, self.max_iterations - iterations)
            iterations += iterate(
                problem.J, problem.response, problem.bias, problem.laws, problem.weight, r,
                self.nu, self.growth, budget, target, lam, v, progress, *work,
            )  # fmt: skip
            v = problem.velocity(lam)  # afresh, so that rounding of the updates does not pile up
            u = problem.constraint_velocity(v)
            value = self._residual(problem, lam, u)
            if value > self.tolerance and small and np.isfinite(value):
                lam, v, value, better = self._improve(problem, r, lam, v, u, value)
                progress[0] = np.inf
                patience = self.patience if better else 2 * patience
            history.append((iterations, value))
            if value < 0.9 * mark:
                mark, mark_at = value, iterations
            if value < best:
                best, best_lam, best_v = value, lam.copy(), v.copy()
            if not np.isfinite(value):
                status = "diverged"
            elif value <= self.tolerance:
                status = "converged"
            elif iterations - mark_at >= STALL_SWEEPS:
                status = "stalled"
            if status != "max-iterations" or iterations >= self.max_iterations:
                break
            # a sweep's change may underestimate the residual: ask for less of it
            target = min(0.5 * target, 0.5 * target * self.tolerance / value)
        ended = time.perf_counter()
        timings = {"prepare": prepared - started, "iterate": ended - prepared}
        if not value <= WANDERED * best:
            lam, v = best_lam, best_v
        return Solution(v, lam, status, iterations, np.array(history), timings)

    def _start(
        self, problem: ContactProblem, warm: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Impulses to start from, their velocities and residual: ``warm``, or zero where that fits much better."""
        lam, v = np.zeros(problem.row_count), problem.v_free.copy()
        value = self._residual(problem, lam, problem.free_constraint_velocity)
        if warm is not None and np.isfinite(warm).all():
            v_warm = problem.velocity(warm)
            value_warm = self._residual(problem, warm, problem.constraint_velocity(v_warm))
            if value_warm <= WANDERED * value:
                return np.array(warm, dtype=np.float64), v_warm, value_warm
        return lam, v, value

    def _improve(
        self,
        problem: ContactProblem,
        r: NDArray[np.float64],
        lam: NDArray[np.float64],
        v: NDArray[np.float64],
        u: NDArray[np.float64],
        value: float,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float, bool]:
        """Subspace steps while each lowers the residual; impulses, velocities, residual, and whether any did."""
        start = value
        for _ in range(self.subspace):
            before = value
            for guess in subspace_step(problem, r, lam, u):
                v_guess = problem.velocity(guess)
                u_guess = problem.constraint_velocity(v_guess)
                found = self._residual(problem, guess, u_guess)
                if found < value:
                    lam, v, u, value = guess, v_guess, u_guess, found
                    break
            if value <= self.tolerance or not value < before:
                break
        return lam, v, value, value < start

    def _residual(self, problem: ContactProblem, lam: NDArray[np.float64], u: NDArray[np.float64]) -> float:
        """The residual that the tolerance is for."""
        return scaled_residual(problem, lam, u) if self.criterion == "scaled" else residual(problem, lam, u).siconos


def _isotropic_rigid(problem: ContactProblem) -> bool:
    """Whether every block is an isotropic three-row contact between bodies of six unknowns."""
    laws = problem.laws
    return bool(
        isinstance(problem.A, BlockDiagonal)
        and block_rows.rigid_contacts(problem.J) is not None
        and (laws.law == CONTACT).all()
        and (laws.friction_set == DISC).all()
    )


@kernel
def _local_factors(row_start, laws, diagonal, r_out):
    """r = 1 / W_ii, eq. (39); equal over the friction rows of a contact; compliance adds to W_ii."""
    for c in range(row_start.shape[0] - 1):
        first, last = row_start[c], row_start[c + 1]
        if laws.law[c] == CONTACT:
            r_out[first] = 1.0 / diagonal[first]
            largest = 0.0
            for i in range(first + 1, last):
                # the torsional row is in other units, but its set couples it to the others
                largest = max(largest, diagonal[i])
            for i in range(first + 1, last):
                r_out[i] = 1.0 / largest
        else:
            for i in range(first, last):
                r_out[i] = 1.0 / (diagonal[i] + laws.compliance[i])


@kernel
def _sweep_contacts(J, entries, answers, bias, laws, weight, r, factor, lam, v):
    """Alg. 2 lines 4-10 for isotropic contacts between rigid bodies, in place; |weight change of lam|.

    entries and answers (ne, 3, 6): J and J A^-1; bias, r, lam (n, 3); v (nb, 6).
    """
    change = 0.0
    for c in range(bias.shape[0]):
        u0, u1, u2 = bias[c, 0], bias[c, 1], bias[c, 2]
        first, last = J.entry_start[c], J.entry_start[c + 1]
        for e in range(first, last):
            d, x = entries[e], v[J.entry_column[e]]
            x0, x1, x2, x3, x4, x5 = x[0], x[1], x[2], x[3], x[4], x[5]
            u0 += d[0, 0] * x0 + d[0, 1] * x1 + d[0, 2] * x2 + d[0, 3] * x3 + d[0, 4] * x4 + d[0, 5] * x5
            u1 += d[1, 0] * x0 + d[1, 1] * x1 + d[1, 2] * x2 + d[1, 3] * x3 + d[1, 4] * x4 + d[1, 5] * x5
            u2 += d[2, 0] * x0 + d[2, 1] * x1 + d[2, 2] * x2 + d[2, 3] * x3 + d[2, 4] * x4 + d[2, 5] * x5
        old0, old1, old2 = lam[c, 0], lam[c, 1], lam[c, 2]
        new0 = max(0.0, old0 - factor * r[c, 0] * u0)  # line 7
        rt = factor * r[c, 1]
        new1, new2 = project_disc(old1 - rt * u1, old2 - rt * u2, laws.friction[c, 0] * new0)  # line 8
        d0, d1, d2 = new0 - old0, new1 - old1, new2 - old2
        if d0 == 0.0 and d1 == 0.0 and d2 == 0.0:
            continue
        lam[c, 0], lam[c, 1], lam[c, 2] = new0, new1, new2
        change += weight[c] ** 2 * (d0 * d0 + d1 * d1 + d2 * d2)
        for e in range(first, last):  # line 9
            b, x = answers[e], v[J.entry_column[e]]
            for k in range(6):
                x[k] += b[0, k] * d0 + b[1, k] * d1 + b[2, k] * d2
    return sqrt(change)


@kernel
def _sweep_blocks(J, response, bias, laws, weight, r, factor, lam, v):
    """Alg. 2 lines 4-10 for blocks of every law, in place; |weight change of lam|."""
    change = 0.0
    for c in range(J.row_start.shape[0] - 1):
        i = J.row_start[c]
        dim = J.row_start[c + 1] - i
        u = (0.0, 0.0, 0.0, 0.0)
        law = laws.law[c]
        if law == CONTACT:
            u0, u1, u2, u3 = bias[i], bias[i + 1], bias[i + 2], bias[i + 3] if dim > 3 else 0.0
            for e in range(J.entry_start[c], J.entry_start[c + 1]):
                x = J.column_start[J.entry_column[e]]
                width = J.column_start[J.entry_column[e] + 1] - x
                at = J.data_start[e]
                for j in range(width):
                    s = v[x + j]
                    u0 += J.data[at + j] * s
                    u1 += J.data[at + width + j] * s
                    u2 += J.data[at + 2 * width + j] * s
                    if dim > 3:
                        u3 += J.data[at + 3 * width + j] * s
            u = (u0, u1, u2, u3)
            d3 = 0.0
            new0 = max(0.0, lam[i] - factor * r[i] * u[0])
            rt = factor * r[i + 1]
            z3 = lam[i + 3] - rt * u[3] if dim > 3 else 0.0
            new1, new2, new3 = project_friction(
                laws.friction_set[c], lam[i + 1] - rt * u[1], lam[i + 2] - rt * u[2], z3, new0,
                laws.friction[c, 0], laws.friction[c, 1], laws.friction[c, 2],
            )  # fmt: skip
            d0, d1, d2 = new0 - lam[i], new1 - lam[i + 1], new2 - lam[i + 2]
            lam[i], lam[i + 1], lam[i + 2] = new0, new1, new2
            change += weight[c] ** 2 * (d0 * d0 + d1 * d1 + d2 * d2)
            _respond(response, c, 0, d0, v)
            _respond(response, c, 1, d1, v)
            _respond(response, c, 2, d2, v)
            if dim > 3:
                d3 = new3 - lam[i + 3]
                lam[i + 3] = new3
                _respond(response, c, 3, d3, v)
        else:
            # rows one after another: each is a scalar problem
            for k in range(dim):
                s = bias[i + k] + laws.compliance[i + k] * lam[i + k]
                for e in range(J.entry_start[c], J.entry_start[c + 1]):
                    x = J.column_start[J.entry_column[e]]
                    width = J.column_start[J.entry_column[e] + 1] - x
                    at = J.data_start[e] + k * width
                    for j in range(width):
                        s += J.data[at + j] * v[x + j]
                new0 = lam[i + k] - factor * r[i + k] * s
                if law == LIMIT:
                    new0 = max(0.0, new0)
                d0 = new0 - lam[i + k]
                lam[i + k] = new0
                change += weight[c] ** 2 * d0 * d0
                _respond(response, c, k, d0, v)
    return sqrt(change)


@kernel
def _respond(response, c, k, step, v):
    """v += response of row k of block c to an impulse, eq. (26), in place."""
    if step == 0.0:
        return
    for e in range(response.entry_start[c], response.entry_start[c + 1]):
        x = response.column_start[response.entry_column[e]]
        width = response.column_start[response.entry_column[e] + 1] - x
        at = response.data_start[e] + k * width
        for j in range(width):
            v[x + j] += response.data[at + j] * step


@kernel
def _iterate_contacts(J, response, bias, laws, weight, r, nu, growth, budget, target, lam, v, progress, start, start_v):
    """Sweeps over isotropic contacts between rigid bodies; see _judge. Returns the number of sweeps."""
    entries, answers = J.data.reshape(-1, 3, 6), response.data.reshape(-1, 3, 6)
    bias3, r3, lam3, v6 = bias.reshape(-1, 3), r.reshape(-1, 3), lam.reshape(-1, 3), v.reshape(-1, 6)
    for sweep in range(budget):
        _copy(lam, start)
        _copy(v, start_v)
        change = _sweep_contacts(J, entries, answers, bias3, laws, weight, r3, progress[1], lam3, v6)
        if _judge(change, nu, growth, target, lam, v, progress, start, start_v):
            return sweep + 1
    return budget


@kernel
def _iterate_blocks(J, response, bias, laws, weight, r, nu, growth, budget, target, lam, v, progress, start, start_v):
    """Sweeps over blocks of every law; see _judge. Returns the number of sweeps."""
    for sweep in range(budget):
        _copy(lam, start)
        _copy(v, start_v)
        change = _sweep_blocks(J, response, bias, laws, weight, r, progress[1], lam, v)
        if _judge(change, nu, growth, target, lam, v, progress, start, start_v):
            return sweep + 1
    return budget


@kernel
def _copy(x, y_out):
    """y_out = x; a loop, because slices would compile the text of the error that they might raise."""
    for i in range(x.shape[0]):
        y_out[i] = x[i]


@kernel
def _judge(change, nu, growth, target, lam, v, progress, start, start_v):
    """Alg. 2 lines 11-15: roll back and shrink r on divergence, else accept; True where the change is below target.

    progress, in place: last accepted change [m/s], factor on r, good sweeps in a row.
    """
    if change > growth * progress[0]:
        _copy(start, lam)
        _copy(start_v, v)
        progress[1] *= nu
        progress[2] = 0.0
        return False
    progress[0] = change
    progress[2] += 1.0
    if progress[2] >= 10.0 and progress[1] < 1.0:
        progress[1] = min(1.0, progress[1] / nu)
        progress[2] = 0.0
    return change <= target
