"""SAP: the semi-analytic primal method for convex contact, [castro2022], as [han2023] uses it for soft bodies.

Legend: v velocities of the participating unknowns (contact/participating.py), v* without constraints, A^ their matrix,
w = v - v*, u = J w + q constraint velocities, R regularisation, gamma impulses, l_A + l_R the function, H its Hessian.

    minimise  1/2 w^T A^ w + l_R(J w + q)        ([han2023] eq. 17, regularised; [castro2022])

l_R has the derivative -gamma(u), where gamma is known in closed form (laws.py), so the only unknowns are
velocities and nothing is constrained. The function is strictly convex, and Newton's method with an exact line search
arrives at its minimum from anywhere:

    H dw = J^T gamma - A^ w,      H = A^ + J^T G J,      w <- w + t dw

Regularisation, with w_c = mean(diag W_cc) of a contact: R_t = sigma w_c, R_n = max(beta^2 / (4 pi^2) w_c, 1 / (h k (h +
tau))), the second where the contact has a stiffness k and a dissipation time tau. Without it is near-rigid: as stiff
as a step can resolve ([castro2022]). Rows of joints, welds and drives have their compliance for R, and at least
a share of their mobility that is small, since it only has to choose between forces where joints are redundant: nothing
of them is on or off, so stiff rows cost no iterations.

A step ends when momentum is met: |D (A^ w - J^T gamma)| <= tolerance max(|D A^ v|, |D J^T gamma|), D = diag(A^)^-1/2,
in every island ([castro2022]), and the natural map of the regularised law, by which a judge measures the
impulses alone, is within the tolerance too.

Differs from the paper: islands have line searches of their own; impulses of the last step give the velocities to start
from, and who sticks there, where Castro et al. take the velocities of the last step. Problems given by W alone become
J = I, A = (W + R/2)^-1 and R/2 in the place of R, which is the same: u + R gamma = (W + R/2) gamma + q + R/2 gamma.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from math import pi
from typing import ClassVar

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.laws import CONTACT
from stickslip.contact.participating import Participating, given_participating
from stickslip.contact.problem import ContactProblem
from stickslip.contact.residual import residual, scaled_residual
from stickslip.errors import DivergenceError
from stickslip.jit import kernel
from stickslip.linalg import block_rows
from stickslip.linalg.block_cholesky import Factor, solve
from stickslip.linalg.vectors import inner
from stickslip.solvers.budget import Clock
from stickslip.solvers.cones import positive_mobility, project_cones, scaled_cones
from stickslip.solvers.iterative import Iterative
from stickslip.solvers.protocol import Relinearise, Solution, Status, Takes
from stickslip.solvers.sap.hessian import Structure, base_of, factorised, structure_of
from stickslip.solvers.sap.laws import SapLaws, curvatures, held_curvatures, impulses, line_search, times
from stickslip.tolerances import CONE_EXCESS, CONVEX_COMPLIANCE
from stickslip.workspace import Workspace

SEARCH = 1e-8
"""Slope at which a line search ends, over the first one."""
TIGHTER = 0.01
"""Share of the tolerance for momentum where the natural map is not within it yet."""
POLISHES = 3
"""Corrections of impulses at most, where velocities are right and the last digits of impulses are not."""
IDLE = 3
"""Iterations that lower neither the function nor the error, below which rounding dominates."""
LEAST = 1e-14
"""Share of the function by which an iteration should lower it."""
NEAR = 0.01
"""Error of momentum at which a warm start is taken without a look at what a cold one would be."""
FAR = 0.6
"""Error of momentum at which impulses of a warm start know better than its velocities who sticks."""
FLOOR = 1e-9
"""Momentum of an island counts at least as this share of that of all."""


@dataclass(frozen=True)
class Sap(Iterative):
    """Newton's method with exact line search on the regularised convex problem, Castro, Permenter and Han (2022)."""

    name: ClassVar[str] = "sap"

    tolerance: float = 1e-6
    max_iterations: int = 200
    near_rigid: float = 0.03
    """beta: contacts without a stiffness have the period of oscillation beta h; 1 in the papers."""
    friction_share: float = 1e-3
    """sigma: regularisation of friction over the mobility of the contact, which lets contacts at rest creep."""

    def __post_init__(self) -> None:
        super().__post_init__()
        # below, impulses are rounding errors of velocities
        self._check_range("near_rigid", 1e-6, 10.0)
        self._check_range("friction_share", 1e-13, 1.0)

    @cached_property
    def takes(self) -> Takes:
        """See protocol.Takes."""
        return Takes(law="convex", criterion=self.criterion, unknowns="velocities", compliance=True)

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Solve the regularised convex problem, from velocities that ``warm`` (m,) leads to, or without impulses."""
        clock = Clock(self.max_seconds)
        if problem.block_count == 0:
            return Solution(problem.v_free.copy(), np.zeros(0), "converged", 0, np.zeros((0, 2)))
        R = self.regularisation(problem)
        W = problem.A.given
        if W is not None:
            try:
                part, R_own = given_participating(problem.J, W, 0.5 * R), 0.5 * R
            except DivergenceError:  # W is not that of bodies: its symmetric part is indefinite, and nothing convex
                return Solution(problem.v_free.copy(), np.zeros(problem.row_count), "stalled", 0, np.zeros((0, 2)))
        else:
            part, R_own = problem.participating, R
        laws = problem.laws
        own = SapLaws(problem.J.row_start, laws.law, np.ascontiguousarray(laws.friction[:, 0]), laws.bound, R_own)
        search = _Search(part, own, problem.free_constraint_velocity, part.taken(problem.v_free), problem.workspace)
        prepared = time.perf_counter()

        def judged(gamma: Array, u: Array) -> float:
            """The natural map of impulses that lead to u (m,), as a judge sees it."""
            return self._map(
                problem, gamma, u if R_own is R else problem.constraint_velocity(problem.velocity(gamma)), R
            )

        if warm is not None:
            warm = _allowed(problem, warm)
        status: Status = "max-iterations"
        tolerance, polished = self.tolerance, 0
        lam, w, least = search.gamma, search.w, np.inf
        if search.start(warm) and warm is not None and judged(warm, search.u) <= tolerance:
            lam, w, status = warm, search.w, "converged"  # impulses of the last step do as they are
        while status != "converged":
            last = search.iterations == self.max_iterations or clock.is_up
            if search.error <= tolerance or search.idle >= IDLE or last:
                there, u = search.led_to()
                value = judged(search.gamma, u)
                if value < least:
                    lam, w, least = search.gamma, there, value
                if value <= self.tolerance:
                    status = "converged"
                elif polished < POLISHES and search.factor is not None and not clock.is_up:
                    polished += 1
                    search.polish(u, polished > 1)
                elif last:
                    status = "max-iterations" if search.iterations == self.max_iterations else "max-seconds"
                    break
                elif search.idle >= IDLE or tolerance < TIGHTER * self.tolerance:
                    status = "stalled"
                    break
                else:
                    tolerance, polished = TIGHTER * tolerance, 0
            else:
                search.step()
        if status != "converged" and judged(np.zeros_like(lam), search.q) < least:
            lam, w = np.zeros_like(lam), np.zeros(part.size)  # a search that led astray is worse than none
        v = problem.velocity(lam) if W is not None else part.extended(problem.v_free, w)
        timings = {"prepare": prepared - clock.started, "iterate": time.perf_counter() - prepared}
        return Solution(
            v, lam.copy(), status, search.iterations, np.array(search.history).reshape(-1, 2), timings,
            counts={"islands": search.structure.island_count, "participating": part.size},
        )  # fmt: skip

    def residual(self, problem: ContactProblem, lam: Array, u: Array) -> float:
        """Natural map of the convex law with the regularisation as compliance, at lam and u (m,)."""
        return self._map(problem, lam, u, self.regularisation(problem))

    def _map(self, problem: ContactProblem, lam: Array, u: Array, R: Array) -> float:
        # the law's own compliance is in R, and the map adds it again
        inner = u + (R - problem.laws.compliance) * lam
        if self.criterion == "siconos":
            return residual(problem, lam, inner, self.law).siconos
        return scaled_residual(problem, lam, inner, self.law)

    def regularisation(self, problem: ContactProblem) -> Array:
        """R (m,) [1/kg], [castro2022]."""
        height = np.diff(problem.J.row_start)
        contact = problem.laws.law == CONTACT
        of_contact, mobility = np.repeat(contact, height), positive_mobility(problem)
        share = np.where(of_contact, self.near_rigid**2 / (4.0 * pi**2), CONVEX_COMPLIANCE)
        R = np.maximum(share * mobility, problem.laws.compliance)
        tangent = of_contact.copy()
        tangent[problem.J.row_start[:-1][contact]] = False
        return np.where(tangent, self.friction_share * mobility, R)


def _allowed(problem: ContactProblem, lam: Array) -> Array:
    """The impulses closest to lam (m,) that friction and bounds allow: contacts of the last step may have changed."""
    allowed = np.empty(len(lam))
    given = np.asarray(lam, np.float64)
    project_cones(scaled_cones(problem, np.ones(len(lam))), given, allowed)
    # what rounding put outside is left as it is: impulses that solve the problem go on solving it
    outside = np.abs(allowed - given).max(initial=0.0) > CONE_EXCESS * np.abs(given).max(initial=0.0)
    return allowed if outside else given


def _times(laws: SapLaws, G: Array, x: Array) -> Array:
    """G x (m,)."""
    y = np.empty(len(x))
    times(laws, G, x, y)
    return y


class _Search:
    """One minimisation: the current w with all that belongs to it."""

    def __init__(self, part: Participating, laws: SapLaws, q: Array, v_free: Array, workspace: Workspace) -> None:
        """Participating unknowns, laws, q (m,) constraint velocities without impulses, v* (3 p,)."""
        self.part, self.laws, self.q = part, laws, q
        self.structure: Structure = structure_of(part, workspace)
        self.workspace = workspace
        self.D = 1.0 / np.sqrt(_diagonal_of(part.A))
        self.A_v_free = part.A.apply(v_free)
        self.base: Array | None = None
        self.factor: Factor | None = None
        self.iterations, self.idle, self.least = 0, 0, np.inf
        self.history: list[tuple[int, float]] = []
        self.warm: Array | None = None
        self.gamma, self.w = np.zeros(len(q)), np.zeros(part.size)

    def start(self, warm: Array | None) -> bool:
        """Begin where the impulses ``warm`` (m,) lead, or at v* where that is nearer to the minimum.

        Whether it is the first.
        """
        if warm is not None and np.isfinite(warm).all() and warm.any():
            with np.errstate(over="ignore", invalid="ignore"):  # whatever was given
                self._arrive(self.part.A.solve(block_rows.apply_transpose(self.part.J, warm)))
            if self.error < NEAR:
                return True
            cost, w = self.cost, self.w
            self._arrive(np.zeros(self.part.size))
            if not cost < self.cost:
                return False
            self._arrive(w)
            self.warm = warm if self.error > FAR else None
            return True
        self._arrive(np.zeros(self.part.size))
        return False

    def step(self) -> None:
        """One Newton step."""
        part, structure = self.part, self.structure
        if self.warm is not None:
            self._resume(self.warm)
            return
        factor = self._factorise(self.u)
        if factor is None:
            return
        dw = solve(factor, -self.gradient)
        A_dw, du = part.A.apply(dw), block_rows.apply(part.J, dw)
        count = structure.island_count
        linear, square, t = np.zeros(count), np.zeros(count), np.zeros(count)
        _island_products(structure.island, dw, self.A_w, A_dw, linear, square)
        line_search(self.laws, structure.block_start, structure.blocks, self.u, du, linear, square, SEARCH, t)
        step = np.repeat(t[structure.island], 3)
        cost = self.cost
        self.least = min(self.least, self.error)
        self.iterations += 1
        self._arrive(self.w + step * dw)
        self.idle = 0 if cost - self.cost > LEAST * abs(cost) or self.error < 0.9 * self.least else self.idle + 1
        self.history.append((self.iterations, self.error))

    def _resume(self, warm: Array) -> None:
        """The Newton step from a warm start: impulses ``warm`` (m,) say who sticks, not the velocities they lead to.

        Where impulses changed a little, these velocities are off by more than R gamma, and contacts seem open that are
        not. A w = J^T gamma holds here, so H dw = -J^T F with F = gamma - gamma(u) of the law that goes on as it was.
        """
        self.warm, left = None, np.zeros(len(self.q))
        factor = self._factorise(self.u, warm, left)
        if factor is None:
            self.idle = 0  # whatever was given
            return
        w, cost = self.w, self.cost
        self.iterations += 1
        self._arrive(w + solve(factor, -block_rows.apply_transpose(self.part.J, left)))
        if not self.cost <= cost:
            self._arrive(w)
        self.history.append((self.iterations, self.error))

    def led_to(self) -> tuple[Array, Array]:
        """w (3 p,) and u (m,) that the impulses lead to, momentum being met: A^ w = J^T gamma."""
        w = self.part.A.solve(block_rows.apply_transpose(self.part.J, self.gamma))
        return w, block_rows.apply(self.part.J, w) + self.q

    def polish(self, u: Array, again: bool) -> None:
        """A Newton step for the impulses, to which u (m,) belongs: rows whose R is small get back their last digits.

        Their impulse is -u / R, in which the rounding of u is large. F = gamma - gamma(u) is what is left to do, and
        d + G W d = -F, by H dw = -J^T F, d = -F - G J dw. At first the law is linearised at the velocities of the
        search, with the factors of its last step, since rounding of u says nothing of who sticks; ``again``: at u.
        """
        law = np.empty(len(u))
        impulses(self.laws, u if again else self.u, law)
        left = self.gamma - law
        if not again:
            left += _times(self.laws, self.G, u - self.u)
        factor = self._factorise(u) if again else self.factor
        if factor is None:
            return
        dw = solve(factor, -block_rows.apply_transpose(self.part.J, left))
        self.gamma = self.gamma - left - _times(self.laws, self.G, block_rows.apply(self.part.J, dw))

    def _factorise(
        self,
        u: Array,
        warm: Array | None = None,
        left_out: Array | None = None,
    ) -> Factor | None:
        """Factors of H with G at u (m,), or where impulses ``warm`` (m,) put it.

        None where rounding leaves H indefinite, which is the end of the search.
        """
        if self.base is None:
            self.base = base_of(self.structure, self.part)
            self.G = np.zeros((len(self.q), 3))
        if warm is None:
            curvatures(self.laws, u, self.G)
        else:
            held_curvatures(self.laws, warm, u, self.G, left_out)
        self.factor = factorised(self.structure, self.part, self.base, self.laws, self.G, self.factor, self.workspace)
        if not self.factor.positive:
            self.factor, self.idle = None, IDLE
        return self.factor

    def _arrive(self, w: Array) -> None:
        """Impulses, gradient and error at w (3 p,)."""
        part = self.part
        self.w, self.A_w = w, part.A.apply(w)
        self.u = block_rows.apply(part.J, w) + self.q
        self.gamma = np.empty(len(self.q))
        self.cost = float(impulses(self.laws, self.u, self.gamma)) + 0.5 * float(inner(w, self.A_w))
        impulse = block_rows.apply_transpose(part.J, self.gamma)
        self.gradient = self.A_w - impulse
        self.error = float(
            _relative_error(
                self.structure.island, self.structure.island_count, self.D, self.gradient,
                self.A_w + self.A_v_free, impulse, FLOOR,
            )
        )  # fmt: skip


@kernel
def _diagonal_of(A):
    """diag A of a block diagonal matrix."""
    diagonal = np.empty(A.start[-1])
    for k in range(A.start.shape[0] - 1):
        size = A.start[k + 1] - A.start[k]
        for i in range(size):
            diagonal[A.start[k] + i] = A.data[A.data_start[k] + (size + 1) * i]
    return diagonal


@kernel
def _relative_error(island, count, D, gradient, momentum, impulse, floor):
    """The largest of |D gradient| / max(|D momentum|, |D impulse|) over islands."""
    sums = np.zeros((count, 3))
    for i in range(gradient.shape[0]):
        k = island[i // 3]
        sums[k, 0] += (D[i] * gradient[i]) ** 2
        sums[k, 1] += (D[i] * momentum[i]) ** 2
        sums[k, 2] += (D[i] * impulse[i]) ** 2
    largest = 0.0
    for k in range(count):
        largest = max(largest, sums[k, 1], sums[k, 2])
    worst = 0.0
    for k in range(count):
        size = max(sums[k, 1], sums[k, 2], floor * floor * largest)
        if not size <= 0.0:
            error = np.sqrt(sums[k, 0] / size)
            worst = max(worst, error if error == error else np.inf)
    return worst


@kernel
def _island_products(island, dw, A_w, A_dw, linear_out, square_out):
    """dw . A w and dw . A dw of every island."""
    for i in range(dw.shape[0]):
        linear_out[island[i // 3]] += dw[i] * A_w[i]
        square_out[island[i // 3]] += dw[i] * A_dw[i]
