"""One Newton step, [macklin2019] eq. (59)-(60): by the system of rows, over velocities, or where W alone is given."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from stickslip.arrays import Array, Bools
from stickslip.contact.laws import CONTACT, ELASTIC
from stickslip.contact.problem import ContactProblem
from stickslip.linalg import block_rows
from stickslip.linalg.factorisation import shifted_factors
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.islands import Islands, find_islands
from stickslip.linalg.linear_solution import LinearSolution
from stickslip.linalg.linear_solvers import LINEAR_SOLVERS
from stickslip.linalg.preconditioned import PRECONDITIONED
from stickslip.linalg.preconditioners import PRECONDITIONERS, Parts
from stickslip.linalg.schur_system import SchurSystem, schur_system
from stickslip.linalg.threads import one_blas_thread
from stickslip.linalg.vectors import length
from stickslip.solvers.newton.options import NewtonOptions
from stickslip.solvers.newton.over_velocities import step_over_velocities
from stickslip.solvers.newton.rows import LARGE
from stickslip.solvers.newton.terms import Terms

LEAST = 1e-300
"""In the place of a shift of zero in rows that are all zero."""


@dataclass(frozen=True)
class Step:
    """What a linear solve gives."""

    dlam: Array
    dv: Array
    linear: LinearSolution
    seconds: float
    """[s] of the linear solver."""


class LinearSteps:
    """Solves the linear systems of one Newton solve; what all of them share is found once."""

    def __init__(self, options: NewtonOptions, problem: ContactProblem) -> None:
        self.options = options
        laws = problem.laws.law
        self.elastic: Bools = np.repeat(laws == ELASTIC, np.diff(problem.J.row_start))
        self.parts = Parts((laws != CONTACT) & (laws != ELASTIC), laws == ELASTIC)
        self.solver = LINEAR_SOLVERS.get(options.linear)
        self.preconditioner = "jacobi"
        if options.linear in PRECONDITIONED:
            self.preconditioner = options.preconditioner
            if self.preconditioner == "auto":
                self.preconditioner = self.parts.natural
        self._islands: Islands | None = None

    def step(self, problem: ContactProblem, H: Inertia, terms: Terms, C: Array, lam: Array, v: Array) -> Step:
        """From impulses lam and velocities v; C (m,): compliance of the rows with their shifts."""
        if H.is_given:
            return self._given(problem, terms, C)
        if self.solver is None or not H.is_dense:
            return self._over_velocities(problem, H, terms, C, lam, v)
        return self._over_rows(problem, H, terms, C, lam, v)

    def _over_rows(self, problem: ContactProblem, H: Inertia, terms: Terms, C: Array, lam: Array, v: Array) -> Step:
        """By eq. (59)."""
        # rows whose step is known leave the system; their impulses act on the others through momentum
        J = block_rows.without(terms.J, problem.diagonal * LARGE <= C)
        g = problem.momentum.gain(v) - block_rows.apply_transpose(problem.J, lam)
        g -= block_rows.apply_transpose(terms.J, terms.known)
        clock = time.perf_counter()
        if self._islands is None:
            self._islands = find_islands(J)
        system = schur_system(J, H, C, self._islands)
        b = block_rows.apply(J, H.solve(g)) - terms.h
        if not np.isfinite(b).all():  # overflow: no step, so that the solve ends with its best iterate
            b = np.zeros_like(b)
        linear = self._solved(system, b, problem)
        dv = H.solve(block_rows.apply_transpose(J, linear.x) - g)
        seconds = time.perf_counter() - clock
        return Step(terms.turned_back(problem, linear.x + terms.known), dv, linear, seconds)

    def _solved(self, system: SchurSystem, b: Array, problem: ContactProblem) -> LinearSolution:
        """S x = b, roughly."""
        most, tolerance = self.options.linear_iterations, self.options.linear_tolerance
        assert self.solver is not None
        if self.preconditioner == "jacobi":
            return self.solver(system, b, None, most, tolerance)
        M = PRECONDITIONERS[self.preconditioner](system, self.parts, problem.workspace)
        return PRECONDITIONED[self.options.linear](system, b, M, None, most, tolerance)

    def _over_velocities(
        self, problem: ContactProblem, H: Inertia, terms: Terms, C: Array, lam: Array, v: Array
    ) -> Step:
        """With the impulses of rows eliminated, whatever linear solver was asked for."""
        clock = time.perf_counter()
        g = problem.momentum.gain(v) - block_rows.apply_transpose(problem.J, lam)
        g -= block_rows.apply_transpose(terms.J, terms.known)
        rest = np.where(problem.diagonal * LARGE > C, C, np.inf)
        found, dv = step_over_velocities(problem, H, terms.J, terms.acting, rest, g, terms.h, self.elastic)
        dlam = terms.turned_back(problem, found + terms.known)
        norms = np.array([float(length(g)), 0.0])
        return Step(dlam, dv, LinearSolution(dlam, norms, 1, norms), time.perf_counter() - clock)

    def _given(self, problem: ContactProblem, terms: Terms, C: Array) -> Step:
        """Where only W = A^-1 is given: it is factorised, whatever linear solver was asked for."""
        from scipy.sparse import csr_array, diags_array

        W = problem.A.given
        assert W is not None
        clock = time.perf_counter()
        kept = diags_array((problem.diagonal * LARGE > C).astype(np.float64))
        b = kept @ (-terms.h - W.solve(terms.known))
        with one_blas_thread():
            x = kept @ shifted_factors(csr_array(kept @ W.matrix() @ kept), np.maximum(C, LEAST), symmetric=False)(b)
        seconds = time.perf_counter() - clock
        dlam = x + terms.known
        norms = np.array([float(length(b)), 0.0])
        return Step(dlam, W.solve(dlam), LinearSolution(x, norms, 1, norms), seconds)
