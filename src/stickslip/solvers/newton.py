"""Non-smooth Newton, [macklin2019]: contacts, friction and joints as one system of equations, solved by Newton's method.

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
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from stickslip.contact.laws import BOUNDED, BOX_SET, CONTACT, LIMIT
from stickslip.contact.problem import ContactProblem
from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.linalg import block_rows, inertia
from stickslip.linalg.inertia import BlockDiagonal
from stickslip.linalg.islands import Islands, find_islands
from stickslip.linalg.linear_solvers import LINEAR_SOLVERS
from stickslip.linalg.schur_system import schur_system
from stickslip.solvers.geometric_stiffness import stiffened
from stickslip.solvers.iterative import WANDERED, Iterative
from stickslip.solvers.ncp import NCP_FUNCTIONS, friction_compliance, normal_terms
from stickslip.solvers.protocol import Relinearise, Solution, Status

SCALINGS = ("effective-mass", "timestep", "identity")
LARGE = 1e8
"""Compliance, over the diagonal of J A^-1 J^T, of rows that are switched off: their impulse goes to its target."""
HALVINGS = 10
"""Step lengths that a line search tries."""


@dataclass(frozen=True)
class NonsmoothNewton(Iterative):
    """Options of [macklin2019]; the defaults are the paper's, but for warm starts."""

    name: ClassVar[str] = "newton"
    nonlinear: ClassVar[bool] = True
    all_friction_sets: ClassVar[bool] = True

    max_iterations: int = 100
    """Newton iterations at most."""
    function: str = "fischer-burmeister"
    """NCP function: "fischer-burmeister" or "minimum-map" (sec. 4)."""
    scaling: str = "effective-mass"
    """Complementarity preconditioner r (sec. 7): "effective-mass" (eq. 66), "timestep" (h^2) or "identity" (1)."""
    linear: str = "pcr"
    """Linear solver: "pcr", "pcg", "jacobi", "gauss-seidel" or "direct"."""
    linear_iterations: int = 50
    """Iterations of the linear solver at most, in each Newton iteration."""
    linear_tolerance: float = 1e-4
    """Relative residual at which the linear solver stops; 0 always takes all iterations."""
    damping: float = 0.75
    """Share t of each Newton step that is taken (sec. 8.1)."""
    start_from: str = "warm"
    """"warm": impulses of the last step; "zero": no impulses and no velocity (eq. 67-68)."""
    regularisation: float = 1e-6
    """Shift of the matrix (sec. 8.4), as a share of the diagonal of J H^-1 J^T."""
    line_search: bool = False
    """Halve steps until the error falls (sec. 8.1); stalls often where there is friction, as the paper says."""
    geometric_stiffness: bool = True
    """Approximate K for particles (sec. 8.3)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choice("function", tuple(NCP_FUNCTIONS))
        self._check_choice("scaling", SCALINGS)
        self._check_choice("linear", tuple(LINEAR_SOLVERS))
        self._check_choice("start_from", ("warm", "zero"))
        self._check_whole("linear_iterations", 1)
        self._check_range("damping", 0.0, 1.0 + 1e-12)
        for name in ("linear_tolerance", "regularisation"):
            self._check_range(name, -1e-300, 1.0)

    def solve(
        self,
        problem: ContactProblem,
        warm: NDArray[np.float64] | None = None,
        relinearise: Relinearise | None = None,
    ) -> Solution:
        """Solve for impulses and velocities; with ``relinearise`` constraints hold at the end of the step."""
        started = time.perf_counter()
        _require_known(problem)
        search = _Iterates(self, problem, warm, relinearise)
        status: Status = "max-iterations"
        for iteration in range(self.max_iterations + 1):
            # even impulses that are good enough get one iteration: small errors would pile up from step to step
            if (iteration > 0 or problem.row_count == 0) and search.solved():
                status = "converged"
                break
            if not np.isfinite(search.value):
                status = "diverged"
                break
            if iteration < self.max_iterations:
                search.advance()
        total = time.perf_counter() - started
        timings = {"linear": search.linear_seconds, "assemble": total - search.linear_seconds}
        return search.solution(status, iteration, timings)


class _Iterates:
    """Where the iteration is: impulses, velocities, and the problem linearised there."""

    def __init__(
        self,
        options: NonsmoothNewton,
        problem: ContactProblem,
        warm: NDArray[np.float64] | None,
        relinearise: Relinearise | None,
    ) -> None:
        self.options, self.relinearise = options, relinearise
        self.lam, self.v, _ = options.start(problem, warm if options.start_from == "warm" else None)
        if options.start_from == "zero":
            self.v = np.zeros_like(self.v)
        self.islands: Islands = find_islands(problem.J)
        self.function = NCP_FUNCTIONS[options.function]
        self.problem = problem
        self.H: BlockDiagonal = _blocks(problem)
        self.steps: list[tuple[float, ...]] = []
        self.history: list[tuple[int, float]] = []
        self.linear_seconds = 0.0
        self.linear_iterations = 0
        self.best = np.inf
        self._move(self.lam, self.v)

    def _move(self, lam: NDArray[np.float64], v: NDArray[np.float64]) -> None:
        """Go to impulses lam (m,) and velocities v (nv,)."""
        last = self.problem
        if self.relinearise is not None:
            self.problem = self.relinearise(v)
            if self.options.geometric_stiffness:
                self.H = stiffened(_blocks(self.problem), last.J, self.problem.J, lam, v - self.v)
        self.lam, self.v = lam, v
        self.v_of_lam = self.problem.velocity(lam)
        self.value = self._residual(self.problem, self.v_of_lam)
        self.history.append((len(self.steps), self.value))
        if self.value < self.best:
            self.best, self.best_at = self.value, (self.problem, lam, self.v_of_lam)

    def _residual(self, problem: ContactProblem, v: NDArray[np.float64]) -> float:
        return self.options.residual(problem, self.lam, problem.constraint_velocity(v))

    def solved(self) -> bool:
        """Whether the impulses, and the velocities that they cause, solve the problem, linearised at those."""
        if not self.value <= self.options.tolerance:
            return False
        if self.relinearise is None:
            return True
        self._move(self.lam, self.v_of_lam)
        return self.value <= self.options.tolerance

    def advance(self) -> None:
        """One Newton iteration."""
        options, problem = self.options, self.problem
        errors, C, h = self._errors(problem, self.lam, self.v)
        g = inertia.apply(problem.A, self.v - problem.v_free) - block_rows.apply_transpose(problem.J, self.lam)
        clock = time.perf_counter()
        system = schur_system(problem.J, self.H, C + options.regularisation * problem.diagonal, self.islands)
        b = block_rows.apply(problem.J, inertia.solve(self.H, g)) - h
        linear = LINEAR_SOLVERS[options.linear](system, b, None, options.linear_iterations, options.linear_tolerance)
        self.linear_seconds += time.perf_counter() - clock
        self.linear_iterations += linear.iterations
        dlam = linear.x
        dv = inertia.solve(self.H, block_rows.apply_transpose(problem.J, dlam) - g)
        t = self._step_length(dlam, dv) if options.line_search else options.damping
        normal, friction, joint = errors
        self.steps.append(
            (float(np.abs(dlam).max(initial=0.0)), float(np.abs(dv).max(initial=0.0)), problem.step * normal, friction,
             problem.step * joint, float(linear.residuals[0]), float(linear.residuals[-1]), float(linear.iterations))
        )  # fmt: skip
        self._move(self.lam + t * dlam, self.v + t * dv)

    def _errors(
        self, problem: ContactProblem, lam: NDArray[np.float64], v: NDArray[np.float64]
    ) -> tuple[tuple[float, float, float], NDArray[np.float64], NDArray[np.float64]]:
        """Largest errors of normals, friction and joints [m/s], diagonal of C (m,) and the errors h (m,)."""
        u = problem.constraint_velocity(v)
        C, h = np.empty(problem.row_count), np.empty(problem.row_count)
        r_normal, r_friction = self._scales(problem)
        errors = _row_terms(
            problem.J.row_start, problem.laws, lam, u, problem.diagonal, self.function, r_normal, r_friction, C, h
        )  # fmt: skip
        return errors, C, h

    def _scales(self, problem: ContactProblem) -> tuple[float, float]:
        """r of normal and friction rows (sec. 7), or zero where each row has its own (eq. 66)."""
        h = problem.step
        return {"effective-mass": (0.0, 0.0), "timestep": (1.0, 1.0), "identity": (1.0 / h**2, 1.0 / h)}[
            self.options.scaling
        ]

    def _step_length(self, dlam: NDArray[np.float64], dv: NDArray[np.float64]) -> float:
        """The longest t = 1, 1/2, ... that lowers the error, or the shortest one tried."""
        now, t = self._merit(self.problem, self.lam, self.v), 1.0
        for _ in range(HALVINGS):
            v = self.v + t * dv
            there = self.problem if self.relinearise is None else self.relinearise(v)
            if self._merit(there, self.lam + t * dlam, v) < now:
                break
            t *= 0.5
        return t

    def _merit(self, problem: ContactProblem, lam: NDArray[np.float64], v: NDArray[np.float64]) -> float:
        """Norm of the errors of constraints and momentum, both as velocities [m/s]."""
        _, _, h = self._errors(problem, lam, v)
        return sqrt(float(h @ h) + float(np.sum((v - problem.velocity(lam)) ** 2)))

    def solution(self, status: Status, iterations: int, timings: dict[str, float]) -> Solution:
        """The last iterate, or the best one where the last has wandered off."""
        problem, lam, v = self.problem, self.lam, self.v_of_lam
        if not self.value <= WANDERED * self.best:
            problem, lam, v = self.best_at
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


def _blocks(problem: ContactProblem) -> BlockDiagonal:
    assert isinstance(problem.A, BlockDiagonal)
    return problem.A


def _require_known(problem: ContactProblem) -> None:
    """Raise an InputError where the problem has no masses or boxes for friction sets."""
    if not isinstance(problem.A, BlockDiagonal):
        raise InputError(
            "solver newton: the problem is given by W and q; it needs masses and constraint rows (A, J). "
            "auto, proximal-point and nsgs solve problems given by W"
        )
    boxes = (problem.laws.law == CONTACT) & (problem.laws.friction_set == BOX_SET)
    if boxes.any():
        raise InputError(
            f"solver newton: contact {int(np.argmax(boxes))} has the friction set 'box'; pgs takes it, newton takes "
            "discs, ellipses and ellipsoids"
        )


@kernel
def _row_terms(row_start, laws, lam, u, diagonal, function, r_normal, r_friction, C_out, h_out):
    """C and h of every row, eq. (58) and appendix A; the largest error of normals, friction and other rows."""
    worst_normal, worst_friction, worst_joint = 0.0, 0.0, 0.0
    for c in range(row_start.shape[0] - 1):
        i, end = row_start[c], row_start[c + 1]
        law = laws.law[c]
        if law == CONTACT:
            r = r_normal if r_normal > 0.0 else diagonal[i]
            phi, du, dlam = normal_terms(function, u[i], r, lam[i])
            du = max(du, dlam / (LARGE * max(diagonal[i], r)))
            C_out[i] = dlam / du
            h_out[i] = phi / du
            worst_normal = max(worst_normal, abs(phi))
            # in the coordinates in which the friction set is a ball of radius lam_n
            slip, size, scale, count = 0.0, 0.0, 0.0, 0
            for k in range(i + 1, end):
                mu = laws.friction[c, k - i - 1]
                if mu > 0.0:
                    slip += (mu * u[k]) ** 2
                    size += (lam[k] / mu) ** 2
                    scale += mu * mu * (r_friction if r_friction > 0.0 else diagonal[k])
                    count += 1
            W = -1.0
            if lam[i] > 0.0 and count > 0:
                W = friction_compliance(function, sqrt(slip), lam[i], sqrt(size), 1.0, scale / count)
            for k in range(i + 1, end):
                mu = laws.friction[c, k - i - 1]
                most = LARGE * diagonal[k]
                if W >= 0.0 and mu > 0.0:
                    C_out[k] = min(W / (mu * mu), most)
                    h_out[k] = u[k] + C_out[k] * lam[k]
                    worst_friction = max(worst_friction, abs(h_out[k]))
                else:  # eq. (106): no normal impulse, or no friction in this direction
                    C_out[k] = most
                    h_out[k] = most * lam[k]
        else:
            for k in range(i, end):
                gap = u[k] + laws.compliance[k] * lam[k]
                C_out[k] = laws.compliance[k]
                h_out[k] = gap
                error = abs(gap)
                if law == LIMIT:
                    r = r_normal if r_normal > 0.0 else diagonal[k]
                    phi, du, dlam = normal_terms(function, gap, r, lam[k])
                    du = max(du, dlam / (LARGE * max(diagonal[k], r)))
                    C_out[k] += dlam / du
                    h_out[k] = phi / du
                    error = abs(phi)
                elif law == BOUNDED:
                    pull = lam[k] - gap / (diagonal[k] + laws.compliance[k])
                    target = min(max(pull, -laws.bound[k]), laws.bound[k])
                    if target != pull:  # at its bound: the impulse is known
                        C_out[k] = LARGE * diagonal[k]
                        h_out[k] = C_out[k] * (lam[k] - target)
                        error = abs(lam[k] - target) * diagonal[k]
                worst_joint = max(worst_joint, error)
    return worst_normal, worst_friction, worst_joint
