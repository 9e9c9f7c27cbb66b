"""One Newton step in 32-bit numbers, as [macklin2019] has it throughout (sec. 10.5).

The functions are those of appendix A as they are printed (eq. 104 but for its misprint), where 64-bit ones (ncp.py) are
written so that nothing cancels: what 32 bit do to C + r lam - sqrt(C^2 + r^2 lam^2) is the point. Rows, masses, errors,
the linear solver and the iterates are rounded to 32 bit; positions and gaps at an iterate are computed in 64 bit and
rounded, where the paper has them in 32 bit as well. Matrices are compressed rows, multiplied one after the other, and
all islands share the steps of a Krylov method, as in the paper (sec. 10 and 11).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array
from stickslip.contact.laws import CONTACT
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel
from stickslip.linalg import block_rows
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.linear_solution import LinearSolution
from stickslip.linalg.relaxation import jacobi_steps
from stickslip.linalg.schur_system import schur_system
from stickslip.linalg.sparse_blocks import to_sparse
from stickslip.solvers.newton.linear_step import Step
from stickslip.solvers.newton.ncp import FISCHER_BURMEISTER, LEAST_SHARE, NCP_FUNCTIONS
from stickslip.solvers.newton.options import NewtonOptions
from stickslip.solvers.newton.rows import LARGE, row_terms
from stickslip.solvers.newton.terms import Terms

Singles = NDArray[np.float32]
ONE, ZERO = np.float32(1.0), np.float32(0.0)


def single(x: Array) -> Singles:
    """x in 32 bit; what is too large becomes infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(x, dtype=np.float32)


def rounded(x: Array) -> Array:
    """x as 64-bit numbers that 32 bit can hold."""
    return single(x).astype(np.float64)


def terms_in_singles(options: NewtonOptions, problem: ContactProblem, lam: Array, v: Array) -> Terms:
    """C, h and the errors of all rows at impulses lam and velocities v, which 32 bit can hold."""
    J, laws = to_sparse(problem.J).astype(np.float32), problem.laws
    u = J @ single(v) + single(problem.bias)
    diagonal = rounded(problem.diagonal)
    C, h, known, error = (np.empty(problem.row_count) for _ in range(4))
    r_normal, r_friction = options.scales(problem.step)
    function = NCP_FUNCTIONS[options.function]
    largest = row_terms(
        problem.J.row_start, laws, lam, u.astype(np.float64), diagonal, function, r_normal, r_friction,
        options.friction_share, C, h, known, error,
    )  # fmt: skip
    contacts = np.flatnonzero(laws.law == CONTACT)
    terms = tuple(map(single, (C, h, known, error)))
    if len(contacts):
        with np.errstate(all="ignore"):
            worst = _contact_terms(
                problem, contacts, single(lam), u, single(diagonal), function, (r_normal, r_friction),
                np.float32(options.friction_share), terms,
            )  # fmt: skip
        largest = (*worst, largest[2])
    C, h, known, error = (each.astype(np.float64) for each in terms)
    return Terms(C, h, known, error, largest, diagonal, problem.J, None, None)


def _contact_terms(
    problem: ContactProblem,
    contacts: NDArray[np.intp],
    lam: Singles,
    u: Singles,
    diagonal: Singles,
    function: int,
    fixed: tuple[float, float],
    share: np.float32,
    out: tuple[Singles, ...],
) -> tuple[float, float]:
    """C, h, known and error of contacts, eq. (93)-(105); the largest errors of normals and of friction."""
    C_out, h_out, known_out, error_out = out
    large, laws, start = np.float32(LARGE), problem.laws, problem.J.row_start
    i = start[contacts]
    gap = u[i] + single(laws.compliance[i]) * lam[i]
    r = np.full(len(i), fixed[0], dtype=np.float32) if fixed[0] > 0.0 else diagonal[i]
    phi, dgap, dlam = _normal(function, gap, r, lam[i])
    off = ~(dlam < large * diagonal[i] * dgap)
    C = np.where(off, large * diagonal[i], single(laws.compliance[i]) + dlam / np.where(off, ONE, dgap))
    C_out[i], error_out[i] = C, np.abs(phi)
    h_out[i] = np.where(off, ZERO, phi / np.where(off, ONE, dgap))
    known_out[i] = np.where(off, -phi / np.where(off, dlam, ONE), ZERO)
    rubbing = 0.0
    for height in np.unique(np.diff(start)[contacts]).tolist():
        chosen = contacts[np.diff(start)[contacts] == height]
        mu = single(laws.friction[chosen][:, : height - 1])
        pushes = (lam[start[chosen]] > 0.0) & (mu > 0.0).all(axis=1)
        k = start[chosen][pushes][:, None] + np.arange(1, height)
        mu, limit = mu[pushes], lam[start[chosen]][pushes]
        if not k.size:
            continue
        slip, size = _norm(mu * u[k]), _norm(lam[k] / mu)
        r = mu * mu * (np.float32(fixed[1]) if fixed[1] > 0.0 else diagonal[k])
        W = _friction(function, slip, limit, size, share * r.min(axis=1))
        C = np.minimum(W[:, None] / (mu * mu), large * diagonal[k])
        h = u[k] + C * lam[k]
        error = np.abs(h)
        off = large * diagonal[k] <= C
        C_out[k], error_out[k] = C, error
        h_out[k], known_out[k] = np.where(off, ZERO, h), np.where(off, -h / C, ZERO)
        rubbing = max(rubbing, float(error.max()))
    return float(np.abs(phi).max()), rubbing


def _normal(function: int, C: Singles, r: Singles, lam: Singles) -> tuple[Singles, Singles, Singles]:
    """phi, d phi / d C and d phi / d lam, eq. (93)-(98) as they are printed."""
    b = r * lam
    if function == FISCHER_BURMEISTER:
        root = np.sqrt(C * C + b * b)
        somewhere = root > 0.0
        safe = np.where(somewhere, root, ONE)
        return (
            C + b - root,
            np.where(somewhere, ONE - C / safe, ZERO),
            np.where(somewhere, ONE - b / safe, ONE) * r,
        )
    on = b >= C
    return np.where(on, C, b), on.astype(np.float32), np.where(on, ZERO, r)


def _friction(function: int, slip: Singles, limit: Singles, size: Singles, r: Singles) -> Singles:
    """W, eq. (103)-(105), with the speed in the place of its square in eq. (104)."""
    g = r * (limit - size)
    if function == FISCHER_BURMEISTER:
        root = np.sqrt(slip * slip + g * g)
        force = (slip + r * limit - root) / r
        least = np.float32(LEAST_SHARE) * limit
        return np.where(slip + np.abs(g) > 0.0, (root - g) / np.maximum(force, least), ZERO)
    return single(np.maximum(slip - g, ZERO) / limit)


def _norm(x: Singles) -> Singles:
    """Lengths of rows."""
    found: Singles = np.sqrt((x * x).sum(axis=1, dtype=np.float32))
    return found


# ---- the linear system -----------------------------------------------------------------------------------------


def step_in_singles(
    options: NewtonOptions, problem: ContactProblem, H: Inertia, terms: Terms, C: Array, lam: Array, v: Array
) -> Step:
    """One Newton step, eq. (59)-(60)."""
    rows = block_rows.without(problem.J, terms.weight * LARGE <= C)
    clock = time.perf_counter()
    J, every = (to_sparse(each).astype(np.float32) for each in (rows, problem.J))
    A, inverse = problem.momentum.A.dense.matrix().astype(np.float32), H.dense.inverse_matrix().astype(np.float32)
    with np.errstate(all="ignore"):
        missing = problem.momentum.missing
        g = A @ (single(v) - single(problem.momentum.at)) - every.T @ (single(lam) + single(terms.known))
        g = g if missing is None else g - single(missing)
        b = J @ (inverse @ g) - single(terms.h)
        b = b if np.isfinite(b).all() else np.zeros_like(b)
        system = _System(J, inverse, single(C), single(terms.weight))
        if options.linear == "jacobi":
            exact = schur_system(rows, H, C)
            system.steps[exact.row] = single(jacobi_steps(exact))
        x, norms = SOLVERS[options.linear](system, b, options.linear_iterations, options.linear_tolerance)
        dv = inverse @ (J.T @ x - g)
    norm = np.array(norms, dtype=np.float64)
    linear = LinearSolution(x.astype(np.float64), norm, len(norms) - 1, norm)
    dlam = (x + single(terms.known)).astype(np.float64)
    return Step(dlam, dv.astype(np.float64), linear, time.perf_counter() - clock)


class _System:
    """S = J H^-1 J^T + C of 32-bit numbers."""

    def __init__(self, J: Any, inverse: Any, C: Singles, weight: Singles) -> None:
        self.J, self.Jt, self.inverse, self.C = J, J.T.tocsr(), inverse, C
        diagonal = np.asarray(J.multiply((inverse @ self.Jt).T.tocsr()).sum(axis=1), dtype=np.float32).ravel() + C
        self.diagonal = diagonal
        self.jacobi = np.divide(ONE, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0.0)
        self.steps = self.jacobi.copy()

    def apply(self, x: Singles) -> Singles:
        """S x."""
        found: Singles = self.J @ (self.inverse @ (self.Jt @ x)) + self.C * x
        return found


def _dot(a: Singles, b: Singles) -> np.float32:
    return np.float32((a * b).sum(dtype=np.float32))


def _length(r: Singles) -> float:
    return float(np.sqrt(_dot(r, r)))


def _pcr(system: _System, b: Singles, iterations: int, tolerance: float) -> tuple[Singles, list[float]]:
    """Conjugate residuals, [saad2003] Alg. 6.20 with z = D^-1 r."""
    x, r, p, Sp = np.zeros_like(b), b.copy(), np.zeros_like(b), np.zeros_like(b)
    norms, before = [_length(r)], np.float32(np.inf)
    for _ in range(iterations):
        if norms[-1] <= tolerance * norms[0]:
            break
        z = system.jacobi * r
        Sz = system.apply(z)
        energy = _dot(z, Sz)
        if not energy > 0.0:
            break
        beta = energy / before
        p, Sp = z + beta * p, Sz + beta * Sp
        size = _dot(Sp, system.jacobi * Sp)
        if not 0.0 < size < np.inf:
            break
        alpha = energy / size
        x, r, before = x + alpha * p, r - alpha * Sp, energy
        norms.append(_length(r))
    return x, norms


def _pcg(system: _System, b: Singles, iterations: int, tolerance: float) -> tuple[Singles, list[float]]:
    """Conjugate gradients, [saad2003] Alg. 9.1."""
    x, r, p = np.zeros_like(b), b.copy(), np.zeros_like(b)
    norms, before = [_length(r)], np.float32(np.inf)
    for _ in range(iterations):
        if norms[-1] <= tolerance * norms[0]:
            break
        z = system.jacobi * r
        weighted = _dot(r, z)
        p = z + (weighted / before) * p
        Sp = system.apply(p)
        energy = _dot(p, Sp)
        if not 0.0 < energy < np.inf:
            break
        alpha = weighted / energy
        x, r, before = x + alpha * p, r - alpha * Sp, weighted
        norms.append(_length(r))
    return x, norms


def _jacobi(system: _System, b: Singles, iterations: int, tolerance: float) -> tuple[Singles, list[float]]:
    """Jacobi with the bounded steps of linalg/relaxation.py."""
    x, r = np.zeros_like(b), b.copy()
    norms = [_length(r)]
    for _ in range(iterations):
        if norms[-1] <= tolerance * norms[0]:
            break
        x = x + system.steps * r
        r = b - system.apply(x)
        norms.append(_length(r))
    return x, norms


def _gauss_seidel(system: _System, b: Singles, iterations: int, tolerance: float) -> tuple[Singles, list[float]]:
    """Gauss-Seidel by rows."""
    S = (system.J @ (system.inverse @ system.Jt)).tocsr()
    x, norms = np.zeros_like(b), [_length(b)]
    for _ in range(iterations):
        if norms[-1] <= tolerance * norms[0]:
            break
        _sweep(S.indptr, S.indices, S.data, system.C, system.jacobi, b, x)
        norms.append(_length(b - system.apply(x)))
    return x, norms


@kernel
def _sweep(indptr, indices, data, C, inverse, b, x):
    """One sweep in place."""
    for i in range(b.shape[0]):
        total = b[i] - C[i] * x[i]
        for k in range(indptr[i], indptr[i + 1]):
            total -= data[k] * x[indices[k]]
        x[i] += inverse[i] * total


SOLVERS = {"pcr": _pcr, "pcg": _pcg, "jacobi": _jacobi, "gauss-seidel": _gauss_seidel}
"""Linear solvers in 32 bit."""
