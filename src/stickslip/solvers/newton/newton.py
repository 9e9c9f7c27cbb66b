"""Non-smooth Newton, [macklin2019]: contacts, friction and joints are one system of equations for Newton's method.

Legend, in velocities and impulses (the paper has forces: its lam is our lam / h, its C_n our h u_n): v velocities, lam
impulses, J constraint rows, A mass matrix, u = J v + bias constraint velocities, which are exact at the iterate where
the problem was linearised, H = A - K mass with geometric stiffness, E compliance.

    g = A (v - v_free) - J^T lam                                   momentum                          eq. (57)
    h_b = u + E lam                                                joints                            eq. (58)
    h_n = phi(u_n, r lam_n),  h_f = u_f + W lam_f                  contacts                          eq. (93)-(105)
    [J H^-1 J^T + C] dlam = J H^-1 g - h                           compliance form                   eq. (59)
    dv = H^-1 (J^T dlam - g),   lam += t dlam,   v += t dv                                           eq. (60)-(62)

The rows of normals are divided by d phi / d u, which keeps the matrix symmetric: C_n = (d phi / d lam) / (d phi / d u).
W is held fixed in each step, so sliding converges linearly. Friction sets other than the disc are scaled to balls:
with f_k = lam_k / mu_k and s_k = mu_k u_k the conditions are those of a disc with mu = 1.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.laws import BILATERAL, CONTACT, ELASTIC
from stickslip.contact.problem import ContactProblem
from stickslip.errors import InputError
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.factorisation import shifted_factors
from stickslip.linalg.islands import Islands, find_islands
from stickslip.linalg.linear_solution import LinearSolution
from stickslip.linalg.linear_solvers import LINEAR_SOLVERS
from stickslip.linalg.schur_system import schur_system
from stickslip.linalg.threads import one_blas_thread
from stickslip.linalg.vectors import length
from stickslip.solvers.budget import Clock
from stickslip.solvers.iterative import MOST_WORSENING, Iterative
from stickslip.solvers.newton.alart_curnier import semismooth_rows, turn_back
from stickslip.solvers.newton.geometric_stiffness import stiffened
from stickslip.solvers.newton.ncp import NCP_FUNCTIONS
from stickslip.solvers.newton.over_velocities import step_over_velocities
from stickslip.solvers.newton.rows import LARGE, row_terms
from stickslip.solvers.protocol import ElementRows, Relinearise, Solution, Status, Takes
from stickslip.solvers.verdict import nonlinear_residual

SCALINGS = ("effective-mass", "timestep", "identity")
ELEMENT_STIFFNESS: dict[str, ElementRows] = {"differences": "bare", "column-sums": "column-sums", "matrix": "matrix"}
"""Where the stiffness comes from that rows of elements lack, and what is in A for it."""
FELL, ROSE = 0.5, 1.2
"""Ratios of residuals of two iterations: below the first the next Newton step is a whole one and the proximal shift
falls, above the second it rises."""
IDLE, SHORTER = 50, 0.67
"""Iterations without progress after which damped steps become shorter, and by which factor: whole cycles of slips and
sticks are left so."""
STEADY = 4
"""Iterations after each other in which the residual falls, so that the shift is larger than it need be."""
FIRST_DOUBT, LEAST_DOUBT, LESS_DOUBT, MORE_DOUBT = 1e-3, 1e-9, 0.3, 10.0
"""The share of the proximal shift that is taken: at first, at least, and by which factors it changes."""
HALVINGS = 10
"""Step lengths that a line search tries."""
LEAST = 1e-300
"""In the place of a shift of zero in rows that are all zero."""


@dataclass(frozen=True)
class NonsmoothNewton(Iterative):
    """Non-smooth Newton on complementarity functions, contacts and joints at once (macklin2019)."""

    name: ClassVar[str] = "newton"

    max_iterations: int = 200
    """Newton iterations at most."""
    function: str = "fischer-burmeister"
    """NCP function: "fischer-burmeister" or "minimum-map" (sec. 4)."""
    scaling: str = "effective-mass"
    """Complementarity preconditioner r (sec. 7): "effective-mass" (eq. 66), "timestep" (h^2) or "identity" (1)."""
    friction_share: float = 0.1
    """Share of r that friction rows take by the fixed point; 1 is the paper's. W of a sliding contact is stable only
    for r below about twice its response with all other rows held, which is often far below the diagonal: of the
    problems of beam-insertion 15 of 15 are solved with 0.1 and 7 with 1, of those in files 32 and 28 of 37."""
    linear: str = "auto"
    """Linear solver: "velocities" eliminates all rows and factorises what is left, over velocities, as sparse as the
    bodies' contacts; "direct" factorises the system of rows; "pcr", "pcg", "jacobi" and "gauss-seidel" iterate on it,
    "pcr" in the paper. "auto" is "velocities". W alone is always factorised."""
    linear_iterations: int = 50
    """Iterations of the linear solver at most, in each Newton iteration."""
    linear_tolerance: float = 1e-4
    """Relative residual at which the linear solver stops; 0 always takes all iterations."""
    damping: float = 0.75
    """Share t of each Newton step that is taken (sec. 8.1); joints alone are smooth, and take whole steps."""
    start_from: str = "warm"
    """"warm": impulses of the last step; "zero": no impulses and no velocity (eq. 67-68)."""
    regularisation: float = 1e-6
    """Shift of the matrix (sec. 8.4), as a share of the diagonal of J H^-1 J^T. Where joints are redundant it keeps
    their inner stresses small: with a hundredth of it they grow from step to step, and momentum no longer converges."""
    proximal: float = 2.0
    """More of that shift for contacts, whose impulses are often redundant, while the residual is large: this times the
    residual, and times a share that rises where the residual rises and falls with it. With the fixed point of friction
    there is none, as in the paper."""
    whole_steps: bool = True
    """Take whole Newton steps while the residual falls by half or more; damped ones after others, and, as in the paper,
    always with the fixed point of friction."""
    friction: str = "auto"
    """"fixed-point": eq. (35), W held fixed in each step, so that sliding converges linearly; "alart-curnier": the
    semismooth derivative of the projection onto the friction cone (alart_curnier.py), for the linear solver
    "velocities". "auto" is the latter where that is the linear solver, else the former."""
    line_search: bool = False
    """Halve steps until the error falls (sec. 8.1); stalls often where there is friction, as the paper says."""
    geometric_stiffness: bool = True
    """Take the turning of forces into H (sec. 8.3): that of joints as they say, that of particles by differences."""
    element_stiffness: str = "auto"
    """What the rows of elements lack, how they turn and shear, in H: "matrix", the stiffness of the elements as a
    sparse matrix, over whose velocities each system is solved directly; "column-sums", a diagonal that bounds it;
    "differences", a diagonal by differences of J between iterates, as the paper has it. "auto" is "matrix" where
    ``linear`` is "auto" or "velocities", and "column-sums" with other linear solvers."""
    patience: int = 60
    """Iterations without a residual a tenth lower after which it gives up."""
    device: str = ""
    """Device of Warp (extra gpu) that iterates: "cuda", "cuda:1" for graphics cards, or "cpu"; "" is the kernels of
    this process. On a device the forms are the paper's (on_device.py): "pcr", and friction by its fixed point."""
    precision: int = 64
    """Bits of the numbers that a device computes with, 64 or 32; residuals are measured in 64."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choice("function", tuple(NCP_FUNCTIONS))
        self._check_choice("scaling", SCALINGS)
        self._check_choice("linear", ("auto", "velocities", *LINEAR_SOLVERS))
        self._check_choice("friction", ("auto", "fixed-point", "alart-curnier"))
        if self.friction == "alart-curnier" and self.linear not in ("auto", "velocities"):
            raise InputError(
                f"solver newton: friction is 'alart-curnier', linear {self.linear!r}; the matrix is then unsymmetric, "
                "which only 'velocities' takes"
            )
        self._check_choice("start_from", ("warm", "zero"))
        self._check_choice("element_stiffness", ("auto", *ELEMENT_STIFFNESS))
        self._check_whole("linear_iterations", 1)
        self._check_whole("patience", 1)
        self._check_range("friction_share", 0.0, 10.0)
        self._check_range("damping", 0.0, 1.0 + 1e-12)
        self._check_range("proximal", -1e-300, 1e6)
        for name in ("linear_tolerance", "regularisation"):
            self._check_range(name, -1e-300, 1.0)
        for name in ("line_search", "geometric_stiffness", "whole_steps"):
            self._check_flag(name)
        self._check_device()

    def _check_device(self) -> None:
        if self.precision not in (64, 32):
            raise InputError(f"solver newton: precision is {self.precision!r}; it must be 64 or 32")
        if not self.device:
            if self.precision != 64:
                raise InputError("solver newton: precision is 32; without a device it must be 64")
            return
        lacking = {"linear": ("auto", "pcr"), "friction": ("auto", "fixed-point"), "line_search": (False,)}
        for name, known in lacking.items():
            if getattr(self, name) not in known:
                raise InputError(
                    f"solver newton: {name} is {getattr(self, name)!r}; on a device it must be "
                    f"{' or '.join(repr(word) for word in known)}"
                )

    @cached_property
    def takes(self) -> Takes:
        """See protocol.Takes."""
        return Takes(
            linearise="until-converged" if self.device else "inside",
            criterion=self.criterion, friction_sets=("disc", "ellipse", "ellipsoid"),
            islands="together", element_rows=self._element_rows, compliance=True,
        )  # fmt: skip

    @property
    def _element_rows(self) -> ElementRows:
        if self.element_stiffness != "auto":
            return ELEMENT_STIFFNESS[self.element_stiffness]
        return "matrix" if self.linear in ("auto", "velocities") else "column-sums"

    @property
    def semismooth(self) -> bool:
        """Whether friction has its semismooth derivative."""
        return self.friction != "fixed-point" and self.linear in ("auto", "velocities")

    def scales(self, h: float) -> tuple[float, float]:
        """r of normal and friction rows (sec. 7) at a step h [s], or zero where each row has its own (eq. 66)."""
        return {"effective-mass": (0.0, 0.0), "timestep": (1.0, 1.0), "identity": (1.0 / h**2, 1.0 / h)}[self.scaling]

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Solve for impulses and velocities; with ``relinearise`` constraints hold at the end of the step."""
        if self.device:
            from stickslip.solvers.newton.on_device import solve_on_device

            return solve_on_device(self, problem, warm)
        clock = Clock(self.max_seconds)
        found = self._solve(problem, warm, relinearise, clock, self.max_iterations)
        most = self.max_iterations - found.iterations
        if found.converged or warm is None or not warm.any() or self.start_from == "zero" or not most or clock.is_up:
            return found
        # impulses of the last step may have led astray: once more without them, with what is left of the budget
        again = self._solve(problem, None, relinearise, clock, most)
        better = again if again.history[:, 1].min() < found.history[:, 1].min() else found
        return replace(better, iterations=found.iterations + again.iterations)

    def _solve(
        self,
        problem: ContactProblem,
        warm: Array | None,
        relinearise: Relinearise | None,
        clock: Clock,
        most: int,
    ) -> Solution:
        """One solve of at most so many iterations, from ``warm`` (m,) or zero."""
        started = time.perf_counter()
        search = _Iterates(self, problem, warm, relinearise)
        status: Status = "max-iterations"
        for iteration in range(most + 1):
            # even impulses that are good enough get one iteration: small errors would pile up from step to step
            if (iteration > 0 or problem.row_count == 0) and search.value <= self.tolerance:
                status = "converged"
                break
            if not np.isfinite(search.value):
                status = "diverged"
                break
            if search.idle >= self.patience:
                status = "stalled"
                break
            if iteration < most:
                if clock.is_up:
                    status = "max-seconds"
                    break
                search.advance()
        total = time.perf_counter() - started
        timings = {"linear": search.linear_seconds, "assemble": total - search.linear_seconds}
        return search.solution(status, iteration, timings)


class _Terms(NamedTuple):
    """The rows at an iterate; see rows.py."""

    C: Array
    h: Array
    known: Array
    error: Array
    largest: tuple[float, float, float]
    """Largest error of normals, friction and joints [m/s]."""
    weight: Array
    """(m,) diagonal of J H^-1 J^T, about, in the coordinates of J."""
    J: BlockRows
    """Rows; friction rows of sliding contacts may be turned (alart_curnier.py)."""
    acting: Array | None
    """Data of the rows that impulses act along; None: J."""
    e: Array | None
    """(n, 3) unit vectors of sliding contacts whose rows are turned."""


class _Iterates:
    """Where the iteration is: impulses, velocities, and the problem linearised there."""

    def __init__(
        self,
        options: NonsmoothNewton,
        problem: ContactProblem,
        warm: Array | None,
        relinearise: Relinearise | None,
    ) -> None:
        self.options, self.relinearise = options, relinearise
        self.lam, self.v, _ = options.start(problem, warm if options.start_from == "warm" else None)
        if options.start_from == "zero":
            self.v = np.zeros_like(self.v)
        self.islands: Islands = find_islands(problem.J)
        self.function = NCP_FUNCTIONS[options.function]
        held = np.isin(problem.laws.law, (BILATERAL, ELASTIC))
        self.damping = 1.0 if held.all() else options.damping
        self.linear = LINEAR_SOLVERS.get(options.linear)
        height = np.diff(problem.J.row_start)
        self.elastic = np.repeat(problem.laws.law == ELASTIC, height)
        self.regularised = np.where(self.elastic, 0.0, 1.0)
        self.touching = np.repeat(problem.laws.law == CONTACT, height).astype(np.float64)
        self.doubt, self.falls = FIRST_DOUBT, 0
        self.problem = problem
        self.H = problem.A
        self.contacts_only = bool((problem.laws.law == CONTACT).all())
        self.steps: list[tuple[float, ...]] = []
        self.history: list[tuple[int, float]] = []
        self.linear_seconds = 0.0
        self.linear_iterations = 0
        self.adapts = options.whole_steps and options.semismooth
        self.proximal = options.proximal if options.semismooth else 0.0
        self.whole = self.adapts
        self.best = self.mark = np.inf
        self.idle = 0
        self.best_at = self.lam, self.v
        self._move(self.lam, self.v)

    def _move(self, lam: Array, v: Array) -> None:
        """Go to impulses lam (m,) and velocities v (nv,)."""
        last = self.problem
        if self.relinearise is not None:
            self.problem = self.relinearise(v, lam if self.options.geometric_stiffness else None)
            self.H = self.problem.A
            bare = self.options.takes.element_rows == "bare" or not self.elastic.any()
            if self.options.geometric_stiffness and bare and self.H.is_dense:
                self.H = self.H.with_dense(stiffened(self.H.dense, last.J, self.problem.J, lam, v - self.v))
        self.lam, self.v = lam, v
        if self.relinearise is None:
            self.v_of_lam = self.problem.velocity(lam)
            self.value = self.options.residual(self.problem, lam, self.problem.constraint_velocity(self.v_of_lam))
        else:
            self.value = nonlinear_residual(self.options, self.problem, lam, v)
        self.history.append((len(self.steps), self.value))
        self.idle += 1
        if self.value < 0.9 * self.mark:
            self.mark, self.idle = self.value, 0
        if self.value < self.best:
            self.best, self.best_at = self.value, (lam, v if self.relinearise is not None else self.v_of_lam)

    def advance(self) -> None:
        """One Newton iteration."""
        options, problem = self.options, self.problem
        terms = self._terms(problem, self.lam, self.v)
        # elastic rows have their own compliance: with more of it they would only creep to where they belong
        C = terms.C + (self.regularised * options.regularisation + self.touching * self._shift()) * terms.weight
        if self.H.is_given:
            dlam, dv, linear = self._given_step(problem, C, terms.h, terms.known)
        elif self.linear is None or not self.H.is_dense:
            dlam, dv, linear = self._step_over_velocities(problem, terms, C)
        else:
            dlam, dv, linear = self._step(problem, C, terms.h, terms.known)
        self.linear_iterations += linear.iterations
        t = self._step_length(dlam, dv) if options.line_search else 1.0 if self.whole else self.damping
        normal, friction, joint = terms.largest
        self.steps.append(
            (float(np.abs(dlam).max(initial=0.0)), float(np.abs(dv).max(initial=0.0)), problem.step * normal, friction,
             problem.step * joint, float(linear.residuals[0]), float(linear.residuals[-1]), float(linear.iterations))
        )  # fmt: skip
        before = self.value
        self._move(self.lam + t * dlam, self.v + t * dv)
        self.whole = self.adapts and self.value < FELL * before
        if self.damping < 1.0 and self.adapts and self.idle and self.idle % IDLE == 0:  # joints alone are smooth
            self.damping *= SHORTER
        ratio = self.value / before if before > 0.0 else 0.0
        self.falls = self.falls + 1 if ratio < 1.0 else 0
        if ratio < FELL or self.falls >= STEADY:
            self.falls = 0
            self.doubt = max(LEAST_DOUBT, LESS_DOUBT * self.doubt)
        elif ratio > ROSE:
            self.doubt = min(1.0, MORE_DOUBT * self.doubt)

    def _shift(self) -> float:
        """Proximal shift of contact rows as a share of their diagonal."""
        return self.proximal * min(self.value, 1.0) * self.doubt

    def _step(
        self,
        problem: ContactProblem,
        C: Array,
        h: Array,
        known: Array,
    ) -> tuple[Array, Array, LinearSolution]:
        """dlam (m,) and dv (nv,) of eq. (59)-(60), and what the linear solver did."""
        options = self.options
        # rows whose step is known leave the system; their impulses act on the others through momentum
        J = block_rows.without(problem.J, problem.diagonal * LARGE <= C)
        g = problem.momentum.gain(self.v) - block_rows.apply_transpose(problem.J, self.lam + known)
        assert self.linear is not None
        clock = time.perf_counter()
        system = schur_system(J, self.H, C, self.islands)
        b = block_rows.apply(J, self.H.solve(g)) - h
        if not np.isfinite(b).all():  # overflow: no step, so that the solve ends with its best iterate
            b = np.zeros_like(b)
        linear = self.linear(system, b, None, options.linear_iterations, options.linear_tolerance)
        self.linear_seconds += time.perf_counter() - clock
        return linear.x + known, self.H.solve(block_rows.apply_transpose(J, linear.x) - g), linear

    def _step_over_velocities(
        self, problem: ContactProblem, terms: _Terms, C: Array
    ) -> tuple[Array, Array, LinearSolution]:
        """The same with the impulses of rows eliminated, whatever linear solver was asked for."""
        clock = time.perf_counter()
        g = problem.momentum.gain(self.v) - block_rows.apply_transpose(problem.J, self.lam)
        g -= block_rows.apply_transpose(terms.J, terms.known)
        rest = np.where(problem.diagonal * LARGE > C, C, np.inf)
        found, dv = step_over_velocities(problem, self.H, terms.J, terms.acting, rest, g, terms.h, self.elastic)
        found += terms.known
        dlam = found
        if terms.e is not None:
            dlam = np.empty_like(found)
            turn_back(problem.J, problem.laws, terms.e, found, dlam)
        self.linear_seconds += time.perf_counter() - clock
        norms = np.array([float(length(g)), 0.0])
        return dlam, dv, LinearSolution(dlam, norms, 1, norms)

    def _given_step(
        self,
        problem: ContactProblem,
        C: Array,
        h: Array,
        known: Array,
    ) -> tuple[Array, Array, LinearSolution]:
        """The same where only W = A^-1 is given: it is factorised, whatever linear solver was asked for."""
        from scipy.sparse import csr_array, diags_array

        W = problem.A.given
        assert W is not None
        clock = time.perf_counter()
        kept = diags_array((problem.diagonal * LARGE > C).astype(np.float64))
        b = kept @ (-h - W.solve(known))
        with one_blas_thread():
            x = kept @ shifted_factors(csr_array(kept @ W.matrix() @ kept), np.maximum(C, LEAST), symmetric=False)(b)
        self.linear_seconds += time.perf_counter() - clock
        dlam = x + known
        norms = np.array([float(length(b)), 0.0])
        return dlam, W.solve(dlam), LinearSolution(x, norms, 1, norms)

    def _terms(self, problem: ContactProblem, lam: Array, v: Array) -> _Terms:
        """C, h and the errors of all rows at impulses lam and velocities v."""
        terms = np.empty((5, problem.row_count))
        terms[4] = problem.diagonal
        C, h, known, error, weight = terms
        u = problem.constraint_velocity(v)
        r_normal, r_friction = self.options.scales(problem.step)
        largest = row_terms(
            problem.J.row_start, problem.laws, lam, u, problem.diagonal, self.function, r_normal, r_friction,
            self.options.friction_share, C, h, known, error,
        )  # fmt: skip
        if not self.options.semismooth or problem.A.is_given:
            return _Terms(C, h, known, error, largest, weight, problem.J, None, None)
        e = np.zeros((problem.block_count, 3))
        data, acting = problem.J.data.copy(), problem.J.data.copy()
        rubbing = semismooth_rows(problem.J, problem.laws, lam, u, problem.diagonal, terms, data, acting, e)
        largest = largest[0], rubbing, largest[2]
        return _Terms(C, h, known, error, largest, weight, problem.J._replace(data=data), acting, e)

    def _step_length(self, dlam: Array, dv: Array) -> float:
        """The longest t = 1, 1/2, ... that lowers the error; the one that raises it least where none does."""
        now, t = self._merit(self.problem, self.lam, self.v), 1.0
        tried = []
        for _ in range(HALVINGS):
            v = self.v + t * dv
            there = self.problem if self.relinearise is None else self.relinearise(v)
            merit = self._merit(there, self.lam + t * dlam, v)
            if merit < now:
                return t
            tried.append((merit, -t))
            t *= 0.5
        return -min(tried)[1]

    def _merit(self, problem: ContactProblem, lam: Array, v: Array) -> float:
        """Norm of the errors of constraints and momentum, both as velocities [m/s], by masses alone: the same norm at
        all iterates, whatever the turning of forces adds to A there."""
        error = self._terms(problem, lam, v).error
        if problem.A.is_given:
            missing = v - problem.velocity(lam)
        else:
            lost = problem.momentum.gain(v) - block_rows.apply_transpose(problem.J, lam)
            missing = problem.masses.solve(lost)
        return sqrt(float(length(error)) ** 2 + float(length(missing)) ** 2)

    def solution(self, status: Status, iterations: int, timings: dict[str, float]) -> Solution:
        """The last iterate, or the best one where the last is much worse."""
        lam, v = self.lam, self.v if self.relinearise is not None else self.v_of_lam
        if not self.value <= MOST_WORSENING * self.best:
            lam, v = self.best_at
        problem = self.problem
        if self.relinearise is not None and not (v is self.v and self.contacts_only):
            problem = self.relinearise(v)  # with the masses alone
        names = (
            "step_impulse", "step_velocity", "normal_error", "friction_error", "joint_error",
            "linear_start", "linear_residual", "linear_iterations",
        )  # fmt: skip
        table = np.array(self.steps).reshape(-1, len(names))
        return Solution(
            v,
            lam,
            status,
            iterations,
            np.array(self.history),
            timings,
            counts={"linear_iterations": self.linear_iterations},
            details={name: table[:, k] for k, name in enumerate(names)},
            problem=problem,
        )
