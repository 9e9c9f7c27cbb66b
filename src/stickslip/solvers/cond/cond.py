"""COND: velocity fixed-point iteration over nodal contacts, [lee2023] Algorithms 1 to 3.

Legend: v velocities with those of virtual nodes (nodes.py), A v = b + J_c^T lam, W step sizes (steps.py),
Gamma_c = J_c W J_c^T surrogate Delassus operator, eta_c = J_c v*, theta = |v^(l+1) - v^l|, nu and rho of Chebyshev.

    v*      <- v^l - W (A v^l - b)                       surrogate dynamics                        (20)
    lam     <- Project(-(Gamma_c)^-1 (eta_c + phi_c))    each contact for itself, Gamma_c diagonal (23), Algorithm 2
    v**     <- v* + W J_c^T lam                                                                    (24)
    v^(l+1) <- nu (u (v** - v^l) + v^l - v^(l-1)) + v^(l-1)                                        (38), Algorithm 3

Every iterate obeys the contact law exactly with its impulses; what is left of the error is momentum, and falls with the
iterations. An iteration reads A once (iterations.py), and A is not factorised. The operator
*strict* has the exact law for its fixed point, *proximal* the convex one, whose solution is unique (Prop. 4 and 5).
With Omega_c added to Gamma_c the law is that of sec. III-E, where velocities alone tell the impulses
(``impulses_from_velocities``).

Differs from the paper: virtual nodes carry, beside the force k_v (y - J_v v), the impulse they had in the last step and
after every ``REFRESH`` iterations the one they have found (multipliers), so that the law is exact for any k_v; rows of
joints, which are stiff potentials in the paper, do so too. W is diagonal where contacts act; elsewhere it has small
factors of rigid bodies with their joints and of groups of nodes (coarse.py), of rods (chain.py), and levels of groups
in large bodies (levels.py). Barzilai-Borwein step
sizes scale the W of the Frobenius norm and not the identity, which would add metres to radians. Where iterations are
lost, W is halved.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from stickslip import jit
from stickslip.arrays import Array
from stickslip.contact.laws import CONTACT, Law
from stickslip.contact.problem import ContactProblem
from stickslip.contact.residual import scaled_residual
from stickslip.errors import DivergenceError, InputError
from stickslip.jit import kernel
from stickslip.linalg import block_rows
from stickslip.linalg.vectors import length
from stickslip.solvers.budget import Clock, in_chunks
from stickslip.solvers.cond.chain import STIFF, chain, is_chain, no_chain, probed
from stickslip.solvers.cond.coarse import coarse_space, no_coarse
from stickslip.solvers.cond.given import given_problem_over_nodes
from stickslip.solvers.cond.interval import eigenvalue_interval
from stickslip.solvers.cond.iterations import LOST, RUNNING, SETTLED, How, Iterate, iterate, one_contact
from stickslip.solvers.cond.levels import coarse_levels, free_nodes, no_levels
from stickslip.solvers.cond.mixing import no_past
from stickslip.solvers.cond.nodes import Nodal, nodalised, virtual_velocities
from stickslip.solvers.cond.start import first_velocities
from stickslip.solvers.cond.steps import RowSums, Steps, frobenius_steps, row_sums
from stickslip.solvers.iterative import Iterative
from stickslip.solvers.protocol import Relinearise, Solution, Status, Takes
from stickslip.solvers.verdict import nonlinear_residual
from stickslip.tolerances import SPEED_NOISE, STILL_SPEED
from stickslip.workspace import Workspace

OPERATORS: dict[str, Law] = {"strict": "exact", "proximal": "convex"}
RULES = {"frobenius": 0, "bb1": 1, "bb2": 2, "bb": 3}
REFRESH, SOON, LATER = 10, 5, 100
"""Iterations after which multipliers follow the impulses; sooner where rigid bodies are solved for together, and there
less often after every hundred."""
FIRST_CHECK, CHECK = 5, 30
"""Iterations before the first look at the residual, and between looks at most: the next is where a step has become as
small as the residual asks for."""
SHORTER = 0.7
"""Share of the last step that is always asked for."""
PERIOD = 50
"""Iterations after which Chebyshev's acceleration takes over from Anderson's, or the other way round: each gets over
contacts that go round between sticking and slipping where the other does not (ball-grip: 700 iterations for 70)."""
NO_PAST = no_past(0, 0)
ACCELERATIONS = ("anderson", "chebyshev", "none")
INTERVALS = ("estimated", "lanczos")
LANCZOS = 10
"""Steps of Lanczos' method that an interval is taken from."""
BEYOND = 1.05
"""How far beyond the largest of its Ritz values the interval ends."""
STALL = 1000
"""Iterations without a tenth of progress after which no more are made."""
MOST_ROLLBACKS = 4
NET_SHARE = 1e-3
"""How that share counts beside the residual of laws and momentum."""
ROOM = 1000
"""Iterations in one call at most, for whose steps there is room."""
MOST_FACTORS = 20_000_000
"""Numbers in factors of A up to which steps without contact are solved by them."""
THREADED = 3000
"""Block rows of soft bodies from which products go over threads: below, waking them costs what they save."""


@dataclass(frozen=True)
class Cond(Iterative):
    """Velocity fixed-point iteration with nodal contacts, Lee, Lee and Lee (2023)."""

    name: ClassVar[str] = "cond"
    criteria: ClassVar[tuple[str, ...]] = ("scaled", "step")

    tolerance: float = 1e-6
    """Of the residual of laws and of momentum; with the criterion "step" theta_th [m/s]."""
    max_iterations: int = 3000
    operator: str = "strict"
    """"strict": the exact law; "proximal": the convex one (eq. 26)."""
    step_size: str = "frobenius"
    """"frobenius", or Barzilai-Borwein's: "bb1", "bb2", or both in turn, "bb"."""
    reuse: int = 1
    """Steps for which the sums over A that W is made of are used. Above 1 they are remembered in the problem's
    workspace: the one memory on which results depend, up to the tolerance."""
    acceleration: str = "anderson"
    """"anderson": the last ``window`` iterations are combined (mixing.py), in turns with Chebyshev's; "chebyshev": the
    paper's, eq. (38); "none"."""
    window: int = 8
    """Iterations that Anderson's acceleration combines."""
    interval: str = "estimated"
    """Of Chebyshev's acceleration: "estimated", the paper's rho of every iteration (39); "lanczos": from a few steps of
    Lanczos' method when it begins (interval.py), to which W is scaled as well."""
    delay: int = 5
    """l_s: iterations before Chebyshev's acceleration begins."""
    relaxation: float = 1.0
    """u: share of each step of the plain iteration that is taken."""
    levels: bool = True
    """Whether what no contact acts on takes steps together: rigid bodies with their joints, rods, groups of nodes.
    Without, W is the diagonal matrix of the paper."""
    gain: float | None = None
    """k_v [N s/m] of virtual nodes; None: from the mobility of what meets (nodes.py)."""
    multipliers: bool = True
    """Whether virtual nodes and joints carry impulses; without, they are as soft as their gains (the paper's)."""
    net: float = 0.01
    """Share of the impulses on a soft body as a whole that may be missing where, with the criterion "step", a step is
    small enough; iterations go on to smaller ones otherwise. 1: the rule of the paper, which does not ask."""
    direct: bool = True
    """Whether a step that no row takes part in is solved by factors of A, as in the authors' release."""
    regularisation: float = 0.0
    """Omega_c [1/kg] of all contacts: 0, or the invertible model of sec. III-E."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choice("operator", tuple(OPERATORS))
        self._check_choice("step_size", tuple(RULES))
        self._check_whole("reuse", 1)
        self._check_whole("delay", 1)
        self._check_range("relaxation", 0.0, np.nextafter(1.0, 2.0))
        self._check_choice("acceleration", ACCELERATIONS)
        self._check_choice("interval", INTERVALS)
        self._check_whole("window", 1)
        for name in ("levels", "multipliers", "direct"):
            self._check_flag(name)
        if self.gain is not None:
            self._check_range("gain", 0.0, np.inf)
        self._check_range("regularisation", -1e-300, np.inf)
        self._check_range("net", 0.0, np.nextafter(1.0, 2.0))

    @cached_property
    def takes(self) -> Takes:
        """See protocol.Takes."""
        return Takes(
            law=OPERATORS[self.operator],
            criterion=self.criterion,
            unknowns="velocities",
            linearise="once" if self.criterion == "step" else "until-converged",  # as in the paper
            factors="none",
            friction_sets=("disc", "ellipse", "box") if self.operator == "strict" else ("disc",),  # nodes do not spin
            compliance=True,
        )

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Solve one problem from the velocities before the step; ``warm`` (m,) is what virtual nodes carry."""
        clock = Clock(self.max_seconds)
        if warm is not None:
            warm = self._fitting(problem, warm)
        if problem.A.is_given:
            try:
                nodal, v = given_problem_over_nodes(problem)
            except DivergenceError:  # W is not that of bodies: its symmetric part is indefinite
                return Solution(problem.v_free.copy(), np.zeros(problem.row_count), "stalled", 0, np.zeros((0, 2)))
        else:
            nodal, v = problem, first_velocities(problem, warm)
        if self.direct and nodal is problem and not problem.row_count and _factors_fit(problem):
            return Solution(problem.v_free.copy(), np.zeros(0), "converged", 1, np.array([[1.0, 0.0]]))
        sparse = nodal.A.nodes
        chained = self.has_levels and nodal is problem and sparse.places is None and is_chain(sparse.pattern)
        N = nodalised(nodal, self.gain, self.has_levels, chained)
        W = frobenius_steps(N, self._row_sums(N, problem.workspace))
        if chained:
            if self.gain is None:
                N.gain[:] = STIFF * probed(N)
            W.virtual[:] = 1.0 / N.gain
            W.contact[:] = W.gamma[:] = W.virtual[N.tied]
        run = _Run(self, problem, N, W, v, warm, clock, chained)
        prepared = time.perf_counter()
        run.go()
        timings = {"prepare": prepared - clock.started, "iterate": time.perf_counter() - prepared}
        count = run.count
        history = np.column_stack([np.arange(1, count + 1), run.at.steps[:count]])
        return Solution(
            run.v, run.lam, run.status, count, history, timings, rollbacks=run.rollbacks,
            counts={"virtual nodes": N.virtual, "real nodes": len(N.node)},
        )  # fmt: skip

    @property
    def has_levels(self) -> bool:
        """Whether W is more than a diagonal; with Barzilai-Borwein's step sizes it is not."""
        return self.levels and self.step_size == "frobenius"

    def _fitting(self, problem: ContactProblem, warm: Array) -> Array | None:
        """Impulses to begin with (m,): ``warm``, or None where they are no numbers, or lead far away from any solution.

        Within a step, whose velocities are known, those before it were good, and nothing is solved to ask.
        """
        if not np.isfinite(warm).all():
            return None
        if problem.v_before is not None or problem.momentum.missing is not None:
            return warm
        with np.errstate(over="ignore", invalid="ignore"):  # whatever was given
            lam, _, _ = self.start(problem, warm)
        return lam if lam.any() else None

    def residual(self, problem: ContactProblem, lam: Array, u: Array) -> float:
        """Natural map of the operator's law, with Omega_c as compliance of contacts, at lam and u (m,)."""
        if self.regularisation:
            contact = np.repeat(problem.laws.law == CONTACT, np.diff(problem.J.row_start))
            u = u + np.where(contact, self.regularisation * lam, 0.0)
        return scaled_residual(problem, lam, u, self.law)

    def impulses_from_velocities(self, problem: ContactProblem, v: Array) -> Array:
        """Impulses (m,) of contacts that the velocities v (nv,) tell, lam = SOL(J v, Omega) (eq. 37); others zero."""
        if not self.regularisation > 0.0:
            raise InputError(
                f"solver cond: regularisation is {self.regularisation}; impulses follow from velocities where it is "
                "above 0"
            )
        lam = np.zeros(problem.row_count)
        u = problem.constraint_velocity(v)
        _invert(problem.J.row_start, problem.laws, u, self.regularisation, self.operator == "strict", lam)
        return lam

    def _row_sums(self, N: Nodal, workspace: Workspace) -> RowSums:
        """Sums over the rows of A, made anew after ``reuse`` problems of one pattern."""
        if self.reuse == 1:
            return row_sums(N)
        known: dict[str, Any] = workspace.slot("row sums of A", dict)
        if known.get("pattern") is not N.pattern.indices or known["age"] >= self.reuse:
            known.update(pattern=N.pattern.indices, age=0, sums=row_sums(N))
        known["age"] += 1
        sums: RowSums = known["sums"]
        return sums


class _Run:
    """One solve: iterates, and what was the best of them."""

    def __init__(
        self, solver: Cond, problem: ContactProblem, N: Nodal, W: Steps, v: Array,
        warm: Array | None, clock: Clock, chained: bool,
    ) -> None:  # fmt: skip
        """Begin at velocities v (nv,), with the impulses ``warm`` (m,) carried."""
        self.solver, self.problem, self.N, self.clock = solver, problem, N, clock
        self.C, self.L = no_coarse(N), no_levels(N)
        self.R = chain(N) if chained else no_chain()
        if solver.has_levels:
            self.C = coarse_space(N, free_nodes(N), problem.A.nodes.places, problem.workspace)
        if solver.has_levels and not chained:
            self.L = coarse_levels(N, problem.workspace, self.C.group_count)
        self.part = 1.0
        self.W = W._replace(soft=np.where(np.repeat(self.L.free, 3), self.L.share, 1.0) * W.soft)
        self.given = problem.A.is_given
        x = np.concatenate([v, virtual_velocities(N, v)])
        carried = np.zeros(problem.row_count) if warm is None or not solver.multipliers else warm.copy()
        steps = np.zeros(min(solver.max_iterations, ROOM))
        self.at = Iterate(x, x.copy(), x.copy(), np.zeros_like(x), np.zeros_like(carried), carried, steps, x.copy())
        self.first = x.copy(), carried.copy()
        self.past = no_past(len(x), solver.window if solver.acceleration == "anderson" else 0)
        self.wanted = solver.acceleration == "chebyshev" and solver.interval == "lanczos"
        """Whether an interval is still to be found."""
        self.scale, self.rate = 1.0, 0.0
        self.progress = np.array([1.0, 0.0, 0.0, np.inf])
        self.count, self.rollbacks = 0, 0
        self.status: Status = "max-iterations"
        self.v, self.lam = problem.v_free if self.given else v, np.zeros_like(carried)

    def go(self) -> None:
        """Iterate until the solver's criterion is met, or it will not be."""
        solver, by_step = self.solver, self.solver.criterion == "step"
        best, mark, marked_at, threshold = np.inf, np.inf, 0, solver.tolerance if by_step else 0.0
        while self.count < solver.max_iterations:
            if self.clock.is_up:
                self.status = "max-seconds"
                break
            left = solver.max_iterations - self.count
            some = ROOM if by_step else CHECK if self.count else FIRST_CHECK
            if self.solver.acceleration == "anderson":
                some = min(some, PERIOD - self.count % PERIOD)
            if self.wanted and self.count:
                self._find_interval()
            elif self.wanted:
                some = solver.delay
            ended = self._iterate(min(some, left), threshold)
            if ended == LOST:
                if self.rollbacks == MOST_ROLLBACKS:
                    self.status = "diverged"
                    break
                self._roll_back()
                continue
            v, lam = self._found()
            if by_step:
                self.v, self.lam = v.copy(), lam.copy()
                if ended != SETTLED:
                    continue
                # a small step says little of what all nodes of a stiff body have in common
                met = self._lost_by_bodies(v, lam) <= solver.net
                if met or threshold <= STILL_SPEED:
                    self.status = "converged" if met else "stalled"
                    break
                threshold *= 0.1
                continue
            value = self._residual(v, lam)
            if value < best:
                best, self.v, self.lam = value, v.copy(), lam.copy()
            if value <= solver.tolerance:
                self.status = "converged"
                break
            threshold = min(solver.tolerance / value, SHORTER) * float(self.at.steps[self.count - 1])
            if value < 0.9 * mark:
                mark, marked_at = value, self.count
            elif self.count - marked_at >= STALL:
                self.status = "stalled"
                break

    def _iterate(self, count: int, tolerance: float) -> int:
        """Some iterations, until a step is within the tolerance; how they ended."""
        solver, N = self.solver, self.N
        refresh, later = (SOON, LATER) if len(self.C.rigid) or len(self.R.work) else (REFRESH, solver.max_iterations)
        if not (solver.multipliers and (N.virtual or len(N.row))):
            refresh = 0
        if len(self.at.steps) < self.count + count:
            more = np.zeros(max(count, len(self.at.steps)))
            self.at = self.at._replace(steps=np.concatenate([self.at.steps, more]))
        mixes = self.solver.acceleration == "anderson" and self.count // PERIOD % 2 == 0
        if self.count and self.count % PERIOD == 0:
            self._forget()
        threads = jit.thread_count() > 1 and N.pattern.size >= THREADED  # asked first: it starts the threads that a
        # kernel from the cache takes for started
        ended = RUNNING
        how = How(
            RULES[solver.step_size], solver.operator == "strict", solver.regularisation,
            solver.acceleration != "none", solver.delay, solver.relaxation, self.rate, refresh, later, threads,
            self.scale * self.part,
        )  # fmt: skip

        def run(some: int) -> tuple[int, bool]:
            nonlocal ended
            W, L, C, R, P = self.W, self.L, self.C, self.R, self.past if mixes else NO_PAST
            made, ended = iterate(N, W, L, C, R, P, self.at, self.progress, self.count, some, tolerance, how)
            self.count += int(made)
            return int(made), ended != RUNNING

        in_chunks(run, count, self.clock)
        return int(ended)

    def _find_interval(self) -> None:
        """The interval of eigenvalues of W A that the error has, contacts held as they are now."""
        self.wanted = False
        where = self.N, self.W, self.L, self.C, self.R
        low, high = eigenvalue_interval(*where, LANCZOS, self.at.gradient, self.at.lam)
        if 0.0 < low < high:
            high *= BEYOND
            self.scale, self.rate = 2.0 / (low + high), (high - low) / (high + low)

    def _roll_back(self) -> None:
        """Begin again with half of the steps."""
        self.rollbacks += 1
        self.part *= 0.5
        x, carried = self.first
        for each in (self.at.x, self.at.before, self.at.found):
            each[:] = x
        self.at.carried[:] = carried
        self._forget()

    def _forget(self) -> None:
        """What acceleration goes by."""
        self.progress[:] = 1.0, 0.0, 0.0, np.inf
        self.past.known[:], self.past.least[:] = 0, np.inf

    def _found(self) -> tuple[Array, Array]:
        """Velocities (nv,) and impulses (m,) of the last surrogate problem; where W is given, what the impulses do."""
        lam = self.at.lam
        return (self.problem.velocity(lam) if self.given else self.at.found[: self.N.unknowns]), lam

    def _residual(self, v: Array, lam: Array) -> float:
        """Of laws and momentum, of nodes and of bodies as a whole.

        Where A^-1 is known, also of laws at the velocities that the impulses alone lead to: a small error of momentum
        is a large one of velocity where bodies are light, and others judge by the impulses.
        """
        problem, solver = self.problem, self.solver
        if self.given:
            return solver.residual(problem, lam, problem.constraint_velocity(v))
        value = max(nonlinear_residual(solver, problem, lam, v), NET_SHARE * self._lost_by_bodies(v, lam))
        if problem.A.is_dense and value <= solver.tolerance:
            value = max(value, solver.residual(problem, lam, problem.constraint_velocity(problem.velocity(lam))))
        return value

    def _lost_by_bodies(self, v: Array, lam: Array) -> float:
        """Largest share of the impulses on a soft body as a whole that its momentum has not met.

        Forces within the body cancel in it: however stiff it is, this sees whether it falls and slides.
        """
        soft, worst = self.problem.A.soft_unknowns(), 0.0
        if not soft:
            return worst
        gained, pushed = self.problem.momentum.gain(v), block_rows.apply_transpose(self.problem.J, lam)
        for own in soft:
            g, p = (each[own].reshape(-1, 3).sum(axis=0) for each in (gained, pushed))
            size = float(length(g) + length(p)) + SPEED_NOISE * float(length(self.N.b[own]))
            worst = max(worst, float(length(g - p)) / size if size > 0.0 else 0.0)
        return worst


def _factors_fit(problem: ContactProblem) -> bool:
    """Whether the factors of A are of a size that a step may ask for."""
    plans = [part.plan for part in problem.A.nodes.parts]
    return sum(int(getattr(plan, "value_count", 0)) for plan in plans) <= MOST_FACTORS


@kernel
def _invert(row_start, laws, u, regularisation, strict, lam_out):
    """Impulses of contacts at velocities u: Algorithm 2 with Omega_c in the place of Gamma_c."""
    for c in range(row_start.shape[0] - 1):
        i = row_start[c]
        if laws.law[c] != CONTACT:
            continue
        one_contact(laws, c, i, u[i], u[i + 1], u[i + 2], regularisation, strict, lam_out)
