"""Implicit complementarity, [todorov2010]: contact laws as functions of unconstrained variables, solved by Newton.

Legend: A inverse inertia (W), f impulses, v velocities, x hybrid variables with f(x), v(x) = f(x) + x (eq. 10-14),
r(x) residual (eq. 15), J its Jacobian, B tangents of active edges, lambda the Levenberg-Marquardt parameter, x_N and
x_C the Newton and the Cauchy point (eq. 28). The functions are in solvers/implicit/maps.py, the line search in
solvers/implicit/linesearch.py.

Units: x is an impulse in some regions and a velocity in others, so the method as printed depends on units. Here
impulses are measured in 1 / sqrt(w) and velocities in sqrt(w), with w = diag W, of both tangents of a contact its mean
times sqrt(1 + mu^2) (``rescale="axes"``): both are square roots of energies, mu becomes mu sqrt(w_t / w_n), and
iterations are the same in any units. One w per block ("block") ends in local minima twice as often.

Local minima: |r| has them, and one step in ten of the balls in a cube (Table 1) ends in one or creeps towards one.
There |r| rises in every direction; it is enough to look at each contact alone, since to first order |r|^2 changes by a
sum over contacts. Section V proposes two ways on. Weights D, random or from row sums (``rescale="rows"``),
move few of the minima away. To start again from a different point (``restarts``) leaves nearly all.
Not in the paper: ``recoveries`` are Gauss-Seidel sweeps, after a local minimum and after a step that leaves more than
the share ``slow`` of |r|^2, and the search starts again from where they end. One counts as an iteration; the first
costs about as much or less, the k-th k times that. ``correct`` takes a second step with the matrix of an accepted
Newton point. ``recoveries=0, correct=False``: the paper's method with restarts, with ``restarts=0`` that of Table 1.

Dense: for up to some hundred contacts, where it needs few iterations of cubic cost; one is one factorisation of H.
Differs from the paper besides: eq. 29 (maps.py; ``letter`` has it as printed, and no end of slow searches) and paths on
cones (linesearch.py).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.contact.laws import BOUNDED, CONTACT
from stickslip.contact.problem import ContactProblem
from stickslip.errors import InputError
from stickslip.linalg.threads import one_blas_thread
from stickslip.linalg.vectors import length
from stickslip.solvers.budget import Clock, in_chunks
from stickslip.solvers.implicit import maps
from stickslip.solvers.implicit.linesearch import Best, search_leg
from stickslip.solvers.iterative import Iterative
from stickslip.solvers.protocol import Relinearise, Solution, Status, Takes

Vector = Array

SUFFICIENT = 0.5
"""Share of the predicted improvement at which the Newton point is accepted (sec. III-A)."""
LAMBDA_LEAST, LAMBDA_MOST, LAMBDA_START = 1e-13, 1e3, 1e-10
"""Range of the Levenberg-Marquardt parameter, and its value at first unless ``damping`` says another."""
LAMBDA_DOWN, LAMBDA_UP = 0.1, 4.0
"""Its factors after a Newton point was accepted, and after one was not."""
NEAR = 1e-13
"""Distance over |v0| at which a contact is on an edge; the line search puts it there exactly."""
RANK = 1e-11
"""Singular values below this share of the largest are zero for the pseudo-inverse."""
SWEEPS, SWEEPS_LEAST, SWEEPS_MOST = 2, 100, 300
"""Sweeps of the first recovery: so many times the number of rows, within bounds; about the work of a Newton point. The
k-th recovery has k times as many."""
PATIENCE, HOPELESS = 4, 15
"""Steps that together do not halve |r|^2, after which the search starts again, or ends where it may not."""
SHAKE = 0.5
"""Random part of the point of a restart, over the rest of it."""
STEEPEST = 3.0
"""Friction coefficients count as no larger than this in the units of tangents."""
COUNTED = (
    "newton_points", "corrected_points", "searched_points", "edge_points", "newton_leg_points", "restarts",
    "recoveries", "sweeps", "computed",
)  # fmt: skip
"""Accepted Newton points and those of them that were corrected; points accepted from the line search, those of them on
an edge and those in the segment x_C : x_N; restarts; recoveries and their sweeps; iterations, those of all islands
where there are several."""


class Equation(NamedTuple):
    """r(x) = D ((A - I) f(x) - x + v0), in scaled units."""

    blocks: maps.Blocks
    A_t: Vector
    """A^T (m, m)."""
    v0: Vector
    """(m,) velocities without impulses."""
    D: Vector
    """(m,) weights of the residual."""
    M_t: Vector
    """(D (A - I))^T (m, m), C-contiguous."""
    impulse_unit: Vector
    """(m,) [N s] lam = impulse_unit f."""
    velocity_unit: Vector
    """(m,) [m/s] u = velocity_unit v."""
    height: Ints
    """(m,) rows of the block of each row where it is a contact, else 1."""

    def evaluate(self, x: Vector) -> tuple[Vector, Vector]:
        """f(x) and r(x)."""
        f = np.empty((1, len(x)))
        maps.impulses(self.blocks, x[None], f)
        return f[0], f[0] @ self.M_t - self.D * (x - self.v0)


@dataclass(frozen=True)
class ImplicitComplementarity(Iterative):
    """Todorov's non-smooth Gauss-Newton method (2010), for small problems: it works on the dense W."""

    name: ClassVar[str] = "implicit"

    max_iterations: int = 200
    """Newton points and line searches at most, recoveries included."""
    rescale: str = "axes"
    """Units of x: those of the problem ("none"), by mean diag W_cc ("block"), by normal and tangent ("axes"), and
    with D by row sums ("rows")."""
    restarts: int = 20
    """Restarts from a different point at most, after local minima that no recovery is left for (sec. V)."""
    correct: bool = True
    """Correct accepted Newton points by a second step with the same factor of H; the paper does not."""
    recoveries: int = 20
    """Recoveries from local minima and slow progress at most, by Gauss-Seidel sweeps; the paper has none."""
    slow: float = 0.1
    """Ratio of |r|^2 after and before a step above which progress is slow; 1: recover from local minima only."""
    letter: bool = False
    """As printed where we differ: eq. 29 with its factor mu, and slow searches go on to the last iteration. With
    ``rescale="none"`` also the units of x are those of the problem."""
    damping: float = LAMBDA_START
    """The Levenberg-Marquardt parameter lambda at first, which the paper does not give; J is of order one."""
    bias_in_b: bool = False
    """Write the bias of normal rows as b of eq. 11 (v >= b = -bias), not as part of v0; the iterates are the same."""
    size_limit: int = 3000
    """Rows above which a problem is refused."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choice("rescale", ("none", "block", "axes", "rows"))
        for name, least in (("restarts", 0), ("recoveries", 0), ("size_limit", 1)):
            self._check_whole(name, least)
        self._check_range("slow", 0.0, np.nextafter(1.0, 2.0))
        self._check_range("damping", 0.0, LAMBDA_MOST)
        for name in ("correct", "letter", "bias_in_b"):
            self._check_flag(name)

    @cached_property
    def takes(self) -> Takes:
        """See protocol.Takes."""
        return Takes(criterion=self.criterion)

    def run(self, problem: ContactProblem, warm: Vector | None, relinearise: Relinearise | None) -> Solution:
        """Solve for the impulses, from ``warm`` (m,) or from contacts that all stick (sec. III-F)."""
        if problem.row_count > self.size_limit:
            raise InputError(
                f"solver {self.name}: the problem has {problem.row_count} rows; it takes {self.size_limit} at most, "
                "since it works on a dense matrix (option size_limit). auto solves larger ones"
            )
        if problem.block_count == 0:
            counts = dict.fromkeys(COUNTED, 0)
            return Solution(problem.v_free.copy(), np.zeros(0), "converged", 0, np.zeros((0, 2)), counts=counts)
        clock = Clock(self.max_seconds)
        with one_blas_thread():
            return _Run(self, problem, clock).solve(warm)


class _Run:
    """One solution in progress."""

    def __init__(self, options: ImplicitComplementarity, problem: ContactProblem, clock: Clock) -> None:
        self.options, self.problem, self.clock = options, problem, clock
        self.equation = equation(problem, options.rescale, options.bias_in_b)
        rows = problem.row_count
        self.near = NEAR * max(float(length(self.equation.v0)), 1e-300)
        self.counts = dict.fromkeys(COUNTED, 0)
        self.history: list[tuple[int, float]] = []
        self.iterations = 0
        self.lam, self.best = np.zeros(rows), np.inf
        # work of an iteration
        self.edge, self.ray, self.F = np.zeros(rows, np.int32), np.zeros(rows), np.zeros((rows, 3))
        self.row, self.B, self.J = np.zeros(rows, np.int32), np.zeros((rows, 3)), np.zeros((rows, rows))

    def solve(self, warm: Vector | None) -> Solution:
        """Minimise, and recover from local minima."""
        x = self.initial(warm)
        prepared = time.perf_counter()
        with np.errstate(over="ignore", invalid="ignore"):
            status = self.minimise(x)
            while status == "stalled" and self.counts["recoveries"] < self.options.recoveries:
                status = self.spent or self.minimise(self.recover())
            while status == "stalled" and self.counts["restarts"] < self.options.restarts:
                status = self.minimise(self.restart())
        timings = {"prepare": prepared - self.clock.started, "iterate": time.perf_counter() - prepared}
        self.counts["computed"] = self.iterations
        history = np.array(self.history).reshape(-1, 2)
        v = self.problem.velocity(self.lam)
        return Solution(v, self.lam, status, self.iterations, history, timings, counts=self.counts)

    @property
    def spent(self) -> Status | None:
        """How the solve ends where its budget is used up."""
        if self.iterations >= self.options.max_iterations:
            return "max-iterations"
        return "max-seconds" if self.clock.is_up else None

    def initial(self, warm: Vector | None) -> Vector:
        """x = v - f of the warm impulses, or of contacts that stick: f = A^+ (v - v0), v = b (sec. III-F)."""
        e = self.equation
        if warm is not None:
            lam, _, _ = self.options.start(self.problem, warm)
            if lam.any():
                f = lam / e.impulse_unit
                return f @ e.A_t + e.v0 - f
        return e.blocks.b - pseudo_solve(e.A_t.T, e.blocks.b - e.v0)

    def recover(self) -> Vector:
        """Where to start again: the point to which Gauss-Seidel sweeps lead from the best impulses.

        Each third time from none, since sweeps may lead back.
        """
        e = self.equation
        self.counts["recoveries"] += 1
        sweeps = min(max(SWEEPS_LEAST, SWEEPS * len(e.v0)), SWEEPS_MOST) * self.counts["recoveries"]
        self.iterations += 1
        f = self.lam / e.impulse_unit if self.counts["recoveries"] % 3 else np.zeros(len(e.v0))
        u = f @ e.A_t + e.v0

        def run(some: int) -> tuple[int, bool]:
            maps.sweep(e.blocks, e.A_t, some, f, u)
            return some, False

        self.counts["sweeps"] += in_chunks(run, sweeps, self.clock)
        return u - f

    def restart(self) -> Vector:
        """A different point to start from (sec. V): that of the best impulses and their velocities, shaken."""
        e = self.equation
        self.counts["restarts"] += 1
        f = self.lam / e.impulse_unit
        x = f @ e.A_t + e.v0 - f
        shake = np.random.default_rng(self.counts["restarts"]).normal(size=len(x))
        return x + SHAKE * float(length(x)) / np.sqrt(len(x)) * shake

    def minimise(self, x: Vector) -> Status:
        """The algorithm of sec. III-E; "stalled" is a local minimum, or slow progress."""
        e, damping = self.equation, self.options.damping
        f, r = e.evaluate(x)
        losses = [0.5 * float(r @ r)]
        while True:
            if self.succeeded(f):
                return "converged"
            if (spent := self.spent) is not None:
                return spent
            loss = losses[-1]
            if not np.isfinite(loss) or self.is_slow(losses):
                return "stalled"
            self.iterations += 1
            # active edges, and J restricted to their tangents B
            maps.choose_edges(e.blocks, x, e.M_t @ r, e.D * r, self.near, self.edge, self.ray, self.F)
            k = maps.tangents(e.blocks, x, self.edge, self.ray, self.options.letter, self.row, self.B)
            row, B, J = self.row[:k], self.B[:k], self.J[:k]
            maps.reduced_jacobian(e.M_t, e.D, self.F, row, B, e.height, J)
            g = J @ r
            # x_N, projected on active cones
            step, predicted, factor = newton_step(J, g, damping)
            x_N = np.empty_like(x)
            maps.move(e.blocks, x, self.edge, row, B, step, e.height, x_N)
            f_N, r_N = e.evaluate(x_N)
            gained = loss - 0.5 * float(r_N @ r_N)
            if gained >= SUFFICIENT * predicted and gained > 0.0:
                x, f, r = x_N, f_N, r_N
                if self.options.correct and k > 0:
                    x, f, r = self.corrected(x, f, r, J, factor, row, B)
                losses.append(0.5 * float(r @ r))
                damping = max(LAMBDA_LEAST, LAMBDA_DOWN * damping)
                self.counts["newton_points"] += 1
                continue
            damping = min(LAMBDA_MOST, LAMBDA_UP * damping)
            # x_C, projected on active cones; then the dogleg x : x_C : x_N
            square, across = float(g @ g), g @ J
            x_C = np.empty_like(x)
            step = g * (-square / max(float(across @ across) + damping * square, 1e-300))
            maps.move(e.blocks, x, self.edge, row, B, step, e.height, x_C)
            best = Best(loss)
            search_leg(e.blocks, e.M_t, e.D, e.v0, x, x_C, self.edge, best)
            before = best.value
            if np.isfinite(gained):
                search_leg(e.blocks, e.M_t, e.D, e.v0, x_C, x_N, self.edge, best)
            if best.x is None:
                return "stalled"
            x = best.x
            f, r = e.evaluate(x)
            losses.append(0.5 * float(r @ r))
            self.counts["searched_points"] += 1
            self.counts["edge_points"] += best.on_edge
            self.counts["newton_leg_points"] += best.value < before

    def corrected(
        self, x: Vector, f: Vector, r: Vector, J: Vector, factor: Vector, row: Ints, B: Vector
    ) -> tuple[Vector, Vector, Vector]:
        """The Newton point x, or the one to which the model it came from leads from there if |r| is less; with f, r."""
        e = self.equation
        x_2 = np.empty_like(x)
        maps.move(e.blocks, x, self.edge, row, B, factored_step(factor, J @ r), e.height, x_2)
        f_2, r_2 = e.evaluate(x_2)
        if not float(r_2 @ r_2) < float(r @ r):
            return x, f, r
        self.counts["corrected_points"] += 1
        return x_2, f_2, r_2

    def is_slow(self, losses: list[float]) -> bool:
        """Whether to give up the search that made these values of |r|^2 / 2, one a step."""
        if self.counts["recoveries"] < self.options.recoveries:
            return len(losses) > 1 and losses[-1] > self.options.slow * losses[-2]
        if self.options.letter and self.counts["restarts"] >= self.options.restarts:
            return False
        patience = PATIENCE if self.counts["restarts"] < self.options.restarts else HOPELESS
        return len(losses) > patience and losses[-1] > 0.5 * losses[-1 - patience]

    def succeeded(self, f: Vector) -> bool:
        """Whether the impulses f solve the problem to the tolerance; keeps the best."""
        problem = self.problem
        lam = self.equation.impulse_unit * f
        value = self.options.residual(problem, lam, problem.constraint_velocity(problem.velocity(lam)))
        self.history.append((self.iterations, value))
        if value < self.best:
            self.best, self.lam = value, lam
        return value <= self.options.tolerance


def equation(problem: ContactProblem, rescale: str = "axes", bias_in_b: bool = False) -> Equation:
    """The equation r(x) = 0 of a problem, in the units that ``rescale`` asks for."""
    laws, row_start, rows = problem.laws, problem.J.row_start, problem.row_count
    heights = np.diff(row_start)
    of_contact = np.repeat(laws.law == CONTACT, heights)
    normal = row_start[:-1][laws.law == CONTACT]
    compliance = np.where(of_contact, 0.0, laws.compliance)
    weight = np.ones(rows)
    if rescale != "none":
        weight = np.repeat(problem.weight, heights)
        if rescale != "block":
            weight = problem.diagonal + compliance
            stretch = np.hypot(1.0, np.minimum(laws.friction[laws.law == CONTACT, 0], STEEPEST))
            weight[normal + 1] = weight[normal + 2] = 0.5 * stretch * (weight[normal + 1] + weight[normal + 2])
        # what nothing moves has no weight; any unit does for it
        weight = np.where(weight > 0.0, weight, float(weight.max()) if (weight > 0.0).any() else 1.0)
    velocity_unit = np.sqrt(weight)
    impulse_unit = 1.0 / velocity_unit
    mu = laws.friction[:, 0].copy()
    mu[laws.law == CONTACT] *= velocity_unit[normal + 1] / velocity_unit[normal]
    A = np.zeros((rows, rows))
    maps.scaled_dense(problem.delassus, impulse_unit, A)
    A.reshape(-1)[:: rows + 1] += compliance * impulse_unit**2
    b, v0 = np.zeros(rows), problem.free_constraint_velocity
    if bias_in_b:
        b = -problem.bias
        b[normal + 1] = b[normal + 2] = 0.0
        v0 = v0 + b
    D = np.ones(rows)
    if rescale == "rows":
        sums = np.abs(A).sum(axis=1)
        D = 1.0 / np.where(sums > 0.0, sums, 1.0)
    A_t = np.ascontiguousarray(A.T)
    M_t = A_t * D
    M_t.reshape(-1)[:: rows + 1] -= D
    bound = np.where(np.repeat(laws.law == BOUNDED, heights), laws.bound / impulse_unit, 0.0)
    blocks = maps.Blocks(row_start, laws.law, mu, b / velocity_unit, bound)
    height = np.where(of_contact, 3, 1).astype(np.int32)
    return Equation(blocks, A_t, v0 / velocity_unit, D, M_t, impulse_unit, velocity_unit, height)


def pseudo_solve(A: Vector, y: Vector) -> Vector:
    """A^+ y: the shortest of the least-squares solutions, by a complete orthogonal factorisation."""
    from scipy.linalg.lapack import dgelsy, dgelsy_lwork

    size = len(y)
    work, _ = dgelsy_lwork(size, size, 1, RANK)
    _, x, _, _, info = dgelsy(A, y, np.zeros((size, 1), np.int32), RANK, int(work))
    x = np.ascontiguousarray(x).reshape(-1)
    return x if info == 0 and np.isfinite(x).all() else np.zeros(size)


def newton_step(J: Vector, g: Vector, damping: float) -> tuple[Vector, float, Vector]:
    """Step -H^-1 g to the minimum of the local model (eq. 23) in the tangent space, the improvement it predicts, and H.

    J is (J B)^T (k, m), g = B^T J^T r (k,); more damping is taken where rounding leaves H indefinite. H comes factored.
    """
    from scipy.linalg.blas import dsyrk
    from scipy.linalg.lapack import dpotrf

    k = len(J)
    if k == 0:
        return np.zeros(0), 0.0, np.zeros((0, 0))
    H = dsyrk(1.0, J.T, trans=1, lower=1)
    diagonal = H.T.reshape(-1)[:: k + 1]
    diagonal += damping
    while True:
        factor, info = dpotrf(H, lower=1, clean=0)
        if info == 0:
            break
        more = max(10.0 * damping, 1e-14 * float(diagonal.max()), 1e-300)
        if not more < 1e100:
            return np.zeros(k), np.inf, H
        diagonal += more - damping
        damping = more
    step = factored_step(factor, g)
    return step, -0.5 * float(g @ step), factor


def factored_step(factor: Vector, g: Vector) -> Vector:
    """-H^-1 g (k,) from the lower Cholesky factor of H (k, k)."""
    from scipy.linalg.lapack import dpotrs

    step: Vector = dpotrs(factor, -g, lower=1)[0]
    return step
