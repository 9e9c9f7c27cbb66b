"""Between which eigenvalues of W A an iteration runs, from a few steps of Lanczos' method.

The steps are those of conjugate gradients preconditioned by W ([saad2003] sec. 6.7): alpha and beta of k of them make a
tridiagonal matrix whose eigenvalues lie within those of W A, outer ones first. Contacts hold still what closes and
sticks: W is a multiple of I at the nodes of a contact, so P W P with the projection P along its rows is symmetric, and
P W P A has the eigenvalues of the iteration as long as no contact changes.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.jit import kernel
from stickslip.solvers.cond.chain import Chain
from stickslip.solvers.cond.coarse import Coarse
from stickslip.solvers.cond.iterations import Iterate, gradient, surrogate
from stickslip.solvers.cond.levels import Levels
from stickslip.solvers.cond.nodes import Nodal
from stickslip.solvers.cond.steps import Steps

STICKS = 1.0 - 1e-9
"""Share of its bound up to which friction sticks."""


def eigenvalue_interval(
    N: Nodal, W: Steps, L: Levels, C: Coarse, R: Chain, count: int, start: Array | None = None, lam: Array | None = None
) -> tuple[float, float]:
    """Smallest and largest Ritz value of W A after ``count`` steps; (0, 0) where nothing is left to move.

    start (nv + 3 virtual,): impulses to begin from, else fixed random ones; with lam (m,) contacts hold as they push.
    """
    size = N.unknowns + 3 * N.virtual
    r = np.random.default_rng(0).standard_normal(size) if start is None else np.array(start, dtype=np.float64)
    rows = int(N.J.row_start[-1])
    impulses = np.zeros(rows) if lam is None else lam
    x, before, found, missing = (np.zeros(size) for _ in range(4))
    at = Iterate(x, before, found, missing, np.zeros(rows), np.zeros(rows), np.zeros(1), np.zeros(0))
    alpha, beta = np.zeros(count), np.zeros(count)
    made = int(_lanczos(N, W, L, C, R, at, impulses, lam is not None, r, alpha, beta))
    if made == 0:
        return 0.0, 0.0
    alpha, beta = alpha[:made], beta[:made]
    diagonal = 1.0 / alpha
    diagonal[1:] += beta[:-1] / alpha[:-1]
    beside = np.sqrt(beta[:-1]) / alpha[:-1]
    values = np.linalg.eigvalsh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
    return float(values[0]), float(values[-1])


@kernel
def _hold(N, W, lam, x):
    """x <- P x: nothing along the rows of contacts that push, normal ones alone where they slip."""
    J, nv = N.J, N.b.shape[0]
    u = np.zeros(3)
    for k in range(N.contact.shape[0]):
        c, p = N.contact[k], N.tied[k]
        row = J.row_start[c]
        if not lam[row] > 0.0:
            continue
        bound = STICKS * min(N.laws.friction[c, 0], N.laws.friction[c, 1]) * lam[row]
        rows = 3 if lam[row + 1] ** 2 + lam[row + 2] ** 2 <= bound * bound else 1
        for i in range(rows):
            u[i] = x[nv + 3 * p + i] if p >= 0 else 0.0
            for t in range(N.node_start[k], N.node_start[k + 1]):
                e = J.data_start[N.node[t]] + 3 * i
                first = J.column_start[J.entry_column[N.node[t]]]
                u[i] += J.data[e] * x[first] + J.data[e + 1] * x[first + 1] + J.data[e + 2] * x[first + 2]
            u[i] *= W.contact[k] / W.gamma[k]
        for i in range(rows):
            if p >= 0:
                x[nv + 3 * p + i] -= u[i]
            for t in range(N.node_start[k], N.node_start[k + 1]):
                e = J.data_start[N.node[t]] + 3 * i
                first = J.column_start[J.entry_column[N.node[t]]]
                for j in range(3):
                    x[first + j] -= J.data[e + j] * u[i]


@kernel
def _lanczos(N, W, L, C, R, at, lam, held, r, alpha_out, beta_out):
    """alpha and beta of conjugate gradients from the residual r, which is written; returns how many steps it took."""
    size, count = r.shape[0], alpha_out.shape[0]
    gradient(N, at, False)  # what there is without velocities
    first = at.gradient.copy()
    p, old, first_square = np.zeros(size), 0.0, 0.0
    for k in range(count):
        at.gradient[:] = r
        at.x[:] = 0.0
        surrogate(N, W, L, C, R, 1.0, at)  # found = -W r
        z = -at.found
        if held:
            _hold(N, W, lam, z)
        square = 0.0
        for i in range(size):
            square += r[i] * z[i]
        if k == 0:
            first_square = square
        if not square > 1e-24 * first_square:
            return k
        if k > 0:
            beta_out[k - 1] = square / old
        for i in range(size):
            p[i] = z[i] + (square / old * p[i] if k > 0 else 0.0)
        at.x[:] = p
        gradient(N, at, False)
        bent = 0.0
        for i in range(size):
            at.gradient[i] -= first[i]
            bent += p[i] * at.gradient[i]
        if not bent > 0.0:
            return k
        alpha_out[k] = square / bent
        for i in range(size):
            r[i] -= alpha_out[k] * at.gradient[i]
        old = square
    return count
