"""Alternating directions (ADMM) on the Delassus operator, [carpentier2024].

Legend: G = W + R the Delassus matrix with compliance, g free velocities, f impulses, y their copy in the cones, z the
multiplier of f = y (the constraint velocity, opened by De Saxce's correction s), rho penalty, eta proximal term,
K the friction cones.

    f <- argmin  1/2 f^T G f + (g + s)^T f - z^T f + rho/2 |f - y|^2 + eta/2 |f - f_old|^2     one linear system
    y <- P_K(f - z / rho)                                                                      contact by contact
    z <- z - rho (f - y)

s = mu |z_t| n is taken from the last z in every iteration, so that a fixed point obeys the exact law. rho starts at
sqrt(m L) (L / m)^p, with L the largest eigenvalue of G by power iteration and m = eta the least one that G + eta may
have, and is multiplied or divided by (L / m)^0.05 where one of the residuals |f - y| and |rho dy + eta df| exceeds
the other tenfold.

After the projection z = rho (y - t) with t = f - z / rho the point projected: t alone is the state of the iteration.

Friction with two coefficients and torsion make elliptic cones, and s is |diag(a) z_t| n with their semi-axes a. Spins
are measured at the radius at which they move a contact as easily as the tangents do, and cones projected on as they
are: scaled to circular ones, a spin with small friction hardly counts, and sticks only after thousands of iterations.

Differs from the paper: contacts are scaled by the square root of their weight, which keeps cones and makes iterations
the same in any units; f is over-relaxed (``relaxation``); t is extrapolated by Anderson's method, taken back where the
step of the iteration then is not the smallest (``memory`` 0: never); rho changes at growing intervals, since each
change costs a factorisation and the memory, and the first rho of a step is the last one of the step before
(contact/habits.py); equality rows have no copy, since nothing is projected there.

With ``splitting="nodes"`` it is the contact constraint splitting of [daviet2020] instead, over velocities (ccs.py).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import ClassVar, Literal, get_args

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.habits import Habit
from stickslip.contact.laws import BILATERAL, CONTACT, ELASTIC, project_row
from stickslip.contact.problem import ContactProblem
from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.linalg.threads import one_blas_thread
from stickslip.linalg.vectors import length
from stickslip.solvers.anderson import Anderson
from stickslip.solvers.budget import Clock
from stickslip.solvers.ccs import NodeSplitting, solve_by_nodes
from stickslip.solvers.cones import project_cones, project_contact, row_compliance, row_scale, scaled_cones
from stickslip.solvers.iterative import ConvergenceMonitor, Iterative
from stickslip.solvers.protocol import Relinearise, Solution, Takes
from stickslip.solvers.shifted_delassus import ShiftedDelassus

Splitting = Literal["impulses", "nodes"]
DISCS, CONES = ("disc",), ("disc", "ellipse", "ellipsoid")
"""Friction sets of either splitting: those that make cones with the normal impulse, for which there is a correction."""
RATIO = 10.0
"""Ratio of primal and dual residual at which rho changes, as in the paper."""
POWER_STEP = 0.05
"""Change of the exponent p with rho, as in the paper."""
POWER_ITERATIONS = 10
CHECK_EVERY = 10
"""Iterations between computations of the residual and looks at rho."""
INTERVAL_GROWTH = 1.5
"""How much longer each rho lives than the one before."""
EXTRAPOLATE_EVERY = 2
"""Iterations from one extrapolation to the next; plain ones between them keep contacts in their cones' right parts."""
REST, NOISE = 10, 1e-12
"""A step that is not the smallest since the memory began takes an extrapolation back, and plain iterations follow;
unless it is as small a share of the iterate as NOISE, which rounding makes."""
STALL_ITERATIONS = 1500
"""Iterations without a tenth of progress after which more of them are no use."""


@dataclass(frozen=True)
class ADMM(Iterative):
    """ADMM with adaptive penalty and proximal term, Carpentier, Le Lidec and Montaut (2024)."""

    name: ClassVar[str] = "admm"
    criteria: ClassVar[tuple[str, ...]] = ("scaled", "siconos", "velocity")

    max_iterations: int = 5000
    criterion: str = "scaled"
    """"scaled" or "siconos": the residual of contact/residual.py that the tolerance is for. "velocity", where nodes are
    split: the change of velocities in an iteration, and the difference of both copies, in m/s."""
    splitting: Splitting = "impulses"
    """Of what there are two copies: "impulses", or the velocities of "nodes" ([daviet2020])."""
    penalty: float = 0.1
    """Where nodes are split: rho over what a contact weighs with the diagonal of A alone."""
    proximal: float = 1e-6
    """eta, relative to the mean of diag W."""
    power: float = 0.2
    """p of the first rho."""
    relaxation: float = 1.6
    """Weight of the new f against the last y, above 0 and below 2; 1 is the paper's method."""
    memory: int = 10
    """Changes that Anderson's extrapolation remembers; 0: the paper's method."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_range("proximal", 0.0, 1.0)
        self._check_range("power", -1.0, 1.0)
        self._check_range("relaxation", 0.0, 2.0)
        self._check_whole("memory", 0)
        self._check_range("penalty", 0.0, np.inf)
        self._check_choice("splitting", get_args(Splitting))
        if self.splitting != "nodes" and self.criterion == "velocity":
            raise InputError("solver admm: criterion 'velocity' needs splitting 'nodes', where there are velocities")

    @cached_property
    def takes(self) -> Takes:
        """See protocol.Takes."""
        return Takes(
            criterion=self.criterion,
            friction_sets=DISCS if self.splitting == "nodes" else CONES,
            unknowns="velocities" if self.splitting == "nodes" else "impulses",
            linearise="once" if self.criterion == "velocity" else "until-converged",  # as in [lee2023]
            factors="own" if self.splitting == "nodes" else "prepared",
            compliance=self.splitting == "nodes",
        )

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Solve for the impulses, starting from ``warm`` (m,) or zero."""
        if self.splitting == "nodes":
            with one_blas_thread():
                split = NodeSplitting(self.penalty, self.relaxation, self.memory)
                return solve_by_nodes(self, split, problem, warm)
        return self._by_impulses(problem, warm)

    def _by_impulses(self, problem: ContactProblem, warm: Array | None) -> Solution:
        clock = Clock(self.max_seconds)
        lam, v, value = self.start(problem, warm)
        if problem.block_count == 0 or value <= self.tolerance:
            return Solution(v, lam, "converged", 0, np.zeros((0, 2)))
        with one_blas_thread():
            return self._iterate(problem, lam, v, value, clock)

    def _iterate(self, problem: ContactProblem, lam: Array, v: Array, best: float, clock: Clock) -> Solution:
        laws, row_start, eta = problem.laws, problem.J.row_start, self.proximal
        S = row_scale(problem)
        cones = scaled_cones(problem, S)
        R = S * S * row_compliance(problem)
        g = S * problem.free_constraint_velocity
        projected = np.repeat((laws.law != BILATERAL) & (laws.law != ELASTIC), np.diff(row_start))
        L = largest_eigenvalue(problem, S) + float(R.max())
        condition = max(L / eta, 1.0)
        known = 0.0 if problem.habits is None else problem.habits.recall().penalty
        rho = known if eta <= known <= L else max(sqrt(eta * L) * condition**self.power, eta)
        matrix = ShiftedDelassus(problem, S)
        solve = matrix.factorised(R + eta + np.where(projected, rho, 0.0))
        # where impulses are at hand their velocities are the multiplier; without them zero is the better guess
        f = lam / S
        t = f.copy()
        if lam.any():
            u = S * problem.constraint_velocity(v) + R * f
            _open(cones, u)
            t -= np.where(projected, u / rho, 0.0)
        y, step, right = f.copy(), np.empty_like(f), np.empty_like(f)
        anderson = Anderson(len(t), self.memory)
        counts = {"factorisations": 1, "extrapolations": 0, "taken_back": 0}
        penalties = [rho]
        prepared = time.perf_counter()

        watch = ConvergenceMonitor(self, problem, lam, best, STALL_ITERATIONS, clock)
        interval, change_at = float(CHECK_EVERY), CHECK_EVERY
        smallest, plain, iterations = np.inf, 0, 0
        while watch.goes_on(iterations):
            iterations += 1
            f_last, y_last = f, y.copy()
            _right_side(cones, g, t, f_last, rho, eta, y, right)
            f = solve(right)
            size, primal, dual = _step(projected, t, f, f_last, y, y_last, rho, eta, self.relaxation, step)
            if size > max(smallest, NOISE * float(length(t))) and counts["extrapolations"] and plain == 0:
                t, f, smallest, plain = anderson.t + anderson.g, f_last, np.inf, REST
                anderson.forget()
                counts["taken_back"] += 1
            else:
                smallest = min(smallest, size)
                if plain > 0:
                    plain -= 1
                    anderson.forget()
                anderson.record(t, step)
                if self.memory and anderson.seen > 1 and iterations % EXTRAPOLATE_EVERY == 0:
                    t = anderson.extrapolated()
                    counts["extrapolations"] += 1
                else:
                    t = t + step
            if iterations % CHECK_EVERY and not watch.ends(iterations):
                continue

            watch.look(S * np.where(projected, y, f), iterations)
            if iterations >= change_at and not 1.0 <= RATIO * primal / max(dual, 1e-300) <= RATIO * RATIO:
                wanted = rho * condition ** (POWER_STEP if primal > dual else -POWER_STEP)
                project_cones(cones, t, y)
                t = y - (y - t) * (rho / wanted)  # y and z stay
                rho = wanted
                penalties.append(rho)
                solve = matrix.factorised(R + eta + np.where(projected, rho, 0.0))
                anderson.forget()
                counts["factorisations"] += 1
                interval *= INTERVAL_GROWTH
                smallest, change_at = np.inf, iterations + int(interval)
        lam = watch.best_lam
        if problem.habits is not None and watch.status == "converged":
            problem.habits.note(Habit(self.name, rho))
        timings = {"prepare": prepared - clock.started, "iterate": time.perf_counter() - prepared}
        return Solution(
            problem.velocity(lam), lam, watch.status, iterations, np.array(watch.history), timings,
            counts["taken_back"], counts=counts, details={"penalty": np.array(penalties)},
        )  # fmt: skip


def largest_eigenvalue(problem: ContactProblem, S: Array) -> float:
    """L of S W S by power iteration; an estimate from below, of which rho needs the order only."""
    x = np.random.default_rng(0).normal(size=problem.row_count)
    L = 0.0
    for _ in range(POWER_ITERATIONS):
        x = S * problem.A.delassus_product(problem.J, S * x)
        L = float(length(x))
        if not 0.0 < L < np.inf:
            return 1.0
        x /= L
    return L


@kernel
def _open(cones, u):
    """u_n += |diag(axes) u_t| of contacts, in place: De Saxce's correction."""
    for c in range(cones.law.shape[0]):
        i = cones.row_start[c]
        if cones.law[c] == CONTACT:
            total = 0.0
            for k in range(i + 1, cones.row_start[c + 1]):
                total += (cones.axes[c, k - i - 1] * u[k]) ** 2
            u[i] += sqrt(total)


@kernel
def _right_side(cones, g, t, f, rho, eta, y_out, right_out):
    """y = P_K(t), z = rho (y - t), and the right-hand side -(g + s) + z + rho y + eta f of the system for f."""
    for c in range(cones.law.shape[0]):
        i, end, law = cones.row_start[c], cones.row_start[c + 1], cones.law[c]
        if law in (BILATERAL, ELASTIC):
            for k in range(i, end):
                y_out[k] = t[k]
                right_out[k] = -g[k] + eta * t[k]
            continue
        if law == CONTACT:
            project_contact(cones.axes, t, y_out, c, i, end)
        else:
            for k in range(i, end):
                y_out[k] = project_row(law, t[k], cones.bound[k])
        for k in range(i, end):
            right_out[k] = -g[k] + rho * (2.0 * y_out[k] - t[k]) + eta * f[k]
        if law == CONTACT:
            total = 0.0
            for k in range(i + 1, end):
                total += (cones.axes[c, k - i - 1] * rho * (y_out[k] - t[k])) ** 2
            right_out[i] -= sqrt(total)


@kernel
def _step(projected, t, f, f_last, y, y_last, rho, eta, relaxation, step_out):
    """What the iteration adds to t; returns its norm and the largest primal and dual residual."""
    total, primal, dual = 0.0, 0.0, 0.0
    for i in range(t.shape[0]):
        if projected[i]:
            step_out[i] = relaxation * (f[i] - y[i])
            primal = max(primal, abs(f[i] - y[i]))
            dual = max(dual, abs(rho * (y[i] - y_last[i]) + eta * (f[i] - f_last[i])))
        else:
            step_out[i] = f[i] - t[i]
        total += step_out[i] * step_out[i]
    return sqrt(total), primal, dual
