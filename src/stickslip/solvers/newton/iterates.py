"""The iterates of one non-smooth Newton solve: where they are, how far each step goes, how much contacts yield."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.laws import BILATERAL, CONTACT, ELASTIC
from stickslip.contact.problem import ContactProblem
from stickslip.solvers.iterative import MOST_WORSENING
from stickslip.solvers.newton.geometric_stiffness import stiffened
from stickslip.solvers.newton.line_search import step_length
from stickslip.solvers.newton.linear_step import LinearSteps
from stickslip.solvers.newton.options import NewtonOptions
from stickslip.solvers.newton.single_precision import rounded, step_in_singles, terms_in_singles
from stickslip.solvers.newton.terms import terms_at
from stickslip.solvers.protocol import Relinearise, Solution, Status
from stickslip.solvers.verdict import nonlinear_residual

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


class Iterates:
    """Where the iteration is: impulses, velocities, and the problem linearised there."""

    def __init__(
        self,
        options: NewtonOptions,
        problem: ContactProblem,
        warm: Array | None,
        relinearise: Relinearise | None,
    ) -> None:
        self.options, self.relinearise = options, relinearise
        self.lam, self.v, _ = options.start(problem, warm if options.start_from == "warm" else None)
        if options.start_from == "zero":
            self.v = np.zeros_like(self.v)
        self.linear_steps = LinearSteps(options, problem)
        self.singles = options.precision == 32 and problem.A.is_dense
        held = np.isin(problem.laws.law, (BILATERAL, ELASTIC))
        self.damping = 1.0 if held.all() else options.damping
        height = np.diff(problem.J.row_start)
        self.elastic = self.linear_steps.elastic
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
        self._move(*self._stored(self.lam, self.v))

    def _stored(self, lam: Array, v: Array) -> tuple[Array, Array]:
        """Impulses and velocities as the numbers in use can hold them."""
        return (rounded(lam), rounded(v)) if self.singles else (lam, v)

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
        self.looked = len(self.steps) % self.options.look_every == 0
        if self.looked:
            self.look()

    def look(self) -> None:
        """Take the residual of the iterate."""
        lam, v = self.lam, self.v
        self.looked = True
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
        terms = (terms_in_singles if self.singles else terms_at)(options, problem, self.lam, self.v)
        # elastic rows have their own compliance: with more of it they would only creep to where they belong
        C = terms.C + (self.regularised * options.regularisation + self.touching * self._shift()) * terms.weight
        if self.singles:
            step = step_in_singles(options, problem, self.H, terms, C, self.lam, self.v)
        else:
            step = self.linear_steps.step(problem, self.H, terms, C, self.lam, self.v)
        dlam, dv, linear = step.dlam, step.dv, step.linear
        self.linear_seconds += step.seconds
        self.linear_iterations += linear.iterations
        t = 1.0 if self.whole else self.damping
        if options.line_search:
            t = step_length(options, problem, self.relinearise, (self.lam, self.v), (dlam, dv))
        normal, friction, joint = terms.largest
        self.steps.append(
            (float(np.abs(dlam).max(initial=0.0)), float(np.abs(dv).max(initial=0.0)), problem.step * normal, friction,
             problem.step * joint, float(linear.residuals[0]), float(linear.residuals[-1]), float(linear.iterations))
        )  # fmt: skip
        before = self.value
        self._move(*self._stored(self.lam + t * dlam, self.v + t * dv))
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
