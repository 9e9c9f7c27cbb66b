"""Semi-smooth Newton steps on Alart and Curnier's function [alart1991], with a proximal term.

Legend: z = lam - rho u with rho_c = scale / weight_c, e = z_t / |z_t|, P = I - e e^T, F the function to be made zero.

    open   (z_n <= 0)             F = lam
    stick  (|z_t| <= mu z_n)      F = rho u
    slip                          F_n = rho u_n,   F_t = lam_t - mu z_n e

Other rows are open where z leaves what their law allows, with F = lam - P(z), and else F = rho u, u with compliance.

A step solves (F_lam + F_u (W + eps)) d = -F with eps = proximal weight, a multiple of the identity at each contact, and
W_ii in the place of the weight for other rows: one Newton step for the proximal point of lam. Where W is singular (more
contacts than bodies can tell apart) the term makes the matrix regular without moving the root, because the pull is
towards lam itself. Open contacts leave the system, so its size is that of the closed ones; it is as sparse as W and
goes to SuperLU, or to LAPACK where it is small.

Where the bodies have less than half as many unknown velocities as there are rows, impulses are eliminated instead: with
C = F_lam + F_u eps and K = C^-1 F_u, block diagonal both, d = -C^-1 F - K J dv and (A + J^T K J) dv = -J^T C^-1 F.
"""

from __future__ import annotations

from functools import cached_property
from math import sqrt

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.contact.laws import BOUNDED, CONTACT, LIMIT, project_row
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel
from stickslip.linalg import block_rows
from stickslip.linalg.factorisation import sparse_factors
from stickslip.solvers.cones import row_mobility
from stickslip.solvers.nsgs import diagonal_blocks
from stickslip.solvers.velocity_matrix import can_factorise, factorise

DENSE_ROWS = 90
"""Closed rows up to which a dense factorisation is the faster one."""

LEAST_OVER_VELOCITIES = 1e-8
"""Least eps / weight where impulses are eliminated: its inverse is a stiffness, and stiffer ones drown the masses."""
PIVOTING = 1e-3
"""A pivot stays on the diagonal where it is at least this share of its column (linalg/factorisation.py)."""


class NewtonSteps:
    """Newton steps for one problem. Call under one_blas_thread()."""

    def __init__(self, problem: ContactProblem) -> None:
        self.problem = problem
        rows = problem.row_count
        # derivatives of F by the three lam and the three u of a contact; only the first column for other laws
        self.by_lam, self.by_u = np.zeros((rows, 3)), np.zeros((rows, 3))
        self.F, self.place = np.zeros(rows), np.zeros(rows, dtype=np.int32)
        self.mobility = row_mobility(problem)
        self.over_velocities = 2 * problem.J.column_count < rows and can_factorise(problem)

    def step(self, lam: Array, u: Array, proximal: Array, scale: float) -> Array | None:
        """lam + d from impulses lam and velocities u = W lam + q (m,); None where the matrix is singular.

        ``proximal`` (n,) is eps / weight of each block. With u = W lam + q + eps (lam - centre) it is a step towards
        the proximal point of the centre.
        """
        p = self.problem
        closed = _linearise(
            p.J.row_start, p.laws, self.mobility, scale, lam, u, self.F, self.by_lam, self.by_u, self.place
        )
        if self.over_velocities:
            d = self._over_velocities(np.maximum(proximal, LEAST_OVER_VELOCITIES))
        else:
            d = self._over_impulses(closed, proximal)
        return lam + d if d is not None and np.isfinite(d).all() else None

    def _over_impulses(self, closed: int, proximal: Array) -> Array | None:
        """d (m,) from the system over the closed rows."""
        p, W = self.problem, self.problem.delassus
        d = np.where(self.place < 0, -self.F, 0.0)
        if closed == 0:
            return d
        caused = block_rows.apply(W, d)
        start = np.zeros(closed + 1, dtype=np.int32)
        _count(W, self.place, start)
        column, data = np.empty(start[-1], dtype=np.int32), np.empty(start[-1])
        rhs = np.empty(closed)
        rows = self.F, self.by_lam, self.by_u, self.place
        _assemble(W, self.diagonal_block, p.laws, self.mobility, proximal, rows, caused, start, column, data, rhs)
        found = _solve(start, column, data, rhs)
        if found is None:
            return None
        d[self.place >= 0] = found
        return d

    def _over_velocities(self, proximal: Array) -> Array | None:
        """d (m,) from the system over the velocities."""
        p = self.problem
        acting, f = np.zeros_like(p.J.data), np.empty(p.row_count)
        K = np.zeros((p.row_count, 3))
        rows = self.F, self.by_lam, self.by_u, self.place
        if not _eliminate(p.J, p.laws, self.mobility, proximal, *rows, K, f, acting):
            return None
        solve = factorise(p, acting, np.ones(p.row_count))
        if solve is None:
            return None
        moved = block_rows.apply(p.J, solve(-block_rows.apply_transpose(p.J, f)))
        d = np.empty(p.row_count)
        _back(p.J.row_start, p.laws, self.place, K, f, moved, d)
        return d

    @cached_property
    def diagonal_block(self) -> Ints:
        """Number of the diagonal entry of each block of W."""
        return diagonal_blocks(self.problem)


def _solve(start: Ints, column: Ints, data: Array, rhs: Array) -> Array | None:
    """Solve the system whose matrix is given by rows; None where it is singular."""
    size = len(rhs)
    if size <= DENSE_ROWS:
        from scipy.linalg.lapack import dgesv

        dense = np.zeros((size, size))
        _scatter(start, column, data, dense)
        _, _, x, failed = dgesv(dense.T, rhs, overwrite_a=True)  # the order of memory that LAPACK wants
        return None if failed else x
    from scipy.sparse import csc_array

    transposed = csc_array((data, column, start), shape=(size, size))
    transposed.has_canonical_format = True
    factors = sparse_factors(transposed, PIVOTING)
    return None if factors is None else factors.solve(rhs, trans="T")


@kernel
def _linearise(row_start, laws, mobility, scale, lam, u, F_out, by_lam_out, by_u_out, place_out):
    """F and its derivatives; place_out: number of each closed row, -1 for open ones. Returns how many are closed."""
    closed = 0
    for c in range(row_start.shape[0] - 1):
        i = row_start[c]
        if laws.law[c] != CONTACT:
            for k in range(i, row_start[c + 1]):
                rho = scale / mobility[k] if mobility[k] > 0.0 else 0.0
                gap = u[k] + laws.compliance[k] * lam[k]
                z = lam[k] - rho * gap
                limited = laws.law[c] == LIMIT and z <= 0.0
                if limited or (laws.law[c] == BOUNDED and abs(z) >= laws.bound[k]) or rho == 0.0:
                    kept = project_row(laws.law[c], z, laws.bound[k]) if rho > 0.0 else 0.0
                    F_out[k], place_out[k] = lam[k] - kept, -1
                else:
                    F_out[k], by_u_out[k, 0], place_out[k] = rho * gap, rho, closed
                    closed += 1
            continue
        rho = scale / mobility[i] if mobility[i] > 0.0 else 0.0
        mu = laws.friction[c, 0]
        zn, zx, zy = lam[i] - rho * u[i], lam[i + 1] - rho * u[i + 1], lam[i + 2] - rho * u[i + 2]
        if zn <= 0.0 or rho == 0.0:
            for k in range(i, i + 3):
                F_out[k], place_out[k] = lam[k], -1
            continue
        for k in range(i, i + 3):
            place_out[k] = closed
            closed += 1
            for j in range(3):
                by_lam_out[k, j], by_u_out[k, j] = 0.0, 0.0
            by_u_out[k, k - i] = rho
            F_out[k] = rho * u[k]
        t = sqrt(zx * zx + zy * zy)
        if t <= mu * zn and mu > 0.0:
            continue  # sticks
        f, ex, ey = 0.0, 0.0, 0.0
        if t > 0.0:
            f, ex, ey = mu * zn / t, zx / t, zy / t
        F_out[i + 1], F_out[i + 2] = lam[i + 1] - mu * zn * ex, lam[i + 2] - mu * zn * ey
        pxx, pxy, pyy = f * ey * ey, -f * ex * ey, f * ex * ex  # f P
        by_lam_out[i + 1, 0], by_lam_out[i + 1, 1], by_lam_out[i + 1, 2] = -mu * ex, 1.0 - pxx, -pxy
        by_lam_out[i + 2, 0], by_lam_out[i + 2, 1], by_lam_out[i + 2, 2] = -mu * ey, -pxy, 1.0 - pyy
        by_u_out[i + 1, 0], by_u_out[i + 1, 1], by_u_out[i + 1, 2] = rho * mu * ex, rho * pxx, rho * pxy
        by_u_out[i + 2, 0], by_u_out[i + 2, 1], by_u_out[i + 2, 2] = rho * mu * ey, rho * pxy, rho * pyy
    return closed


@kernel
def _count(W, place, start_out):
    """Where each closed row of the system starts."""
    for c in range(W.row_start.shape[0] - 1):
        width = 0
        for e in range(W.entry_start[c], W.entry_start[c + 1]):
            d = W.entry_column[e]
            for k in range(W.row_start[d], W.row_start[d + 1]):
                if place[k] >= 0:
                    width += 1
        for k in range(W.row_start[c], W.row_start[c + 1]):
            if place[k] >= 0:
                start_out[place[k] + 1] = width
    for i in range(start_out.shape[0] - 1):
        start_out[i + 1] += start_out[i]


@kernel
def _assemble(W, diagonal_block, laws, mobility, proximal, rows, caused, start, column_out, data_out, rhs_out):
    """Rows of F_lam + F_u (W + eps) over the closed rows, and -F less what the steps of open rows cause.

    rows: F, its derivatives, and the place of each row among the closed ones.
    """
    F, by_lam, by_u, place = rows
    for c in range(W.row_start.shape[0] - 1):
        i, end = W.row_start[c], W.row_start[c + 1]
        contact = laws.law[c] == CONTACT
        own = diagonal_block[c]
        for k in range(i, end):
            if place[k] < 0:
                continue
            eps = proximal[c] * mobility[k]
            first, terms = (i, 3) if contact else (k, 1)  # rows of u that this row of F depends on
            to = start[place[k]]
            total = -F[k]
            for j in range(terms):
                total -= by_u[k, j] * caused[first + j]
            rhs_out[place[k]] = total
            for e in range(W.entry_start[c], W.entry_start[c + 1]):
                d = W.entry_column[e]
                x = W.row_start[d]
                width = W.row_start[d + 1] - x
                for y in range(width):
                    if place[x + y] < 0:
                        continue
                    value = 0.0
                    for j in range(terms):
                        value += by_u[k, j] * W.data[W.data_start[e] + (first - i + j) * width + y]
                    if e == own:
                        if contact:
                            value += by_lam[k, y] + by_u[k, y] * eps
                        elif x + y == k:
                            value += by_u[k, 0] * (eps + laws.compliance[k])
                    column_out[to] = place[x + y]
                    data_out[to] = value
                    to += 1


@kernel
def _scatter(start, column, data, dense_out):
    """The transpose of the matrix given by rows, as a dense one."""
    for i in range(start.shape[0] - 1):
        for k in range(start[i], start[i + 1]):
            dense_out[column[k], i] = data[k]


@kernel
def _eliminate(J, laws, mobility, proximal, F, by_lam, by_u, place, K_out, f_out, acting_out):
    """K = C^-1 F_u and f = C^-1 F of every block, and the data of K^T J; False where a block C is singular."""
    for c in range(J.row_start.shape[0] - 1):
        i, end = J.row_start[c], J.row_start[c + 1]
        contact = laws.law[c] == CONTACT
        for k in range(i, end):
            f_out[k] = F[k]
            if not contact and place[k] >= 0:
                soft = proximal[c] * mobility[k] + laws.compliance[k]
                if soft <= 0.0:
                    return False
                K_out[k, 0], f_out[k] = 1.0 / soft, F[k] / (by_u[k, 0] * soft)
        eps = proximal[c] * mobility[i]
        if contact and place[i] >= 0 and not _invert_contact(i, eps, F, by_lam, by_u, K_out, f_out):
            return False
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            width = J.column_start[J.entry_column[e] + 1] - J.column_start[J.entry_column[e]]
            at = J.data_start[e]
            for k in range(i, end):
                if place[k] < 0:
                    continue
                to = at + (k - i) * width
                for j in range(width):
                    if contact:
                        total = 0.0
                        for x in range(3):
                            total += K_out[i + x, k - i] * J.data[at + x * width + j]
                        acting_out[to + j] = total
                    else:
                        acting_out[to + j] = K_out[k, 0] * J.data[to + j]
    return True


@kernel
def _invert_contact(i, eps, F, by_lam, by_u, K_out, f_out):
    """K and f of the contact whose rows start at i: the first row of F_lam is zero, which leaves two by two."""
    c0 = by_u[i, 0] * eps
    axx, axy = by_lam[i + 1, 1] + by_u[i + 1, 1] * eps, by_lam[i + 1, 2] + by_u[i + 1, 2] * eps
    ayx, ayy = by_lam[i + 2, 1] + by_u[i + 2, 1] * eps, by_lam[i + 2, 2] + by_u[i + 2, 2] * eps
    bx, by = by_lam[i + 1, 0] + by_u[i + 1, 0] * eps, by_lam[i + 2, 0] + by_u[i + 2, 0] * eps
    determinant = axx * ayy - axy * ayx
    if c0 == 0.0 or determinant == 0.0:
        return False
    for j in range(4):
        n = (by_u[i, j] if j < 3 else F[i]) / c0
        x = (by_u[i + 1, j] if j < 3 else F[i + 1]) - bx * n
        y = (by_u[i + 2, j] if j < 3 else F[i + 2]) - by * n
        x, y = (ayy * x - axy * y) / determinant, (axx * y - ayx * x) / determinant
        if j < 3:
            K_out[i, j], K_out[i + 1, j], K_out[i + 2, j] = n, x, y
        else:
            f_out[i], f_out[i + 1], f_out[i + 2] = n, x, y
    return True


@kernel
def _back(row_start, laws, place, K, f, moved, d_out):
    """d = -f - K J dv."""
    for c in range(row_start.shape[0] - 1):
        i = row_start[c]
        for k in range(i, row_start[c + 1]):
            d_out[k] = -f[k]
            if place[k] < 0:
                continue
            if laws.law[c] == CONTACT:
                d_out[k] -= K[k, 0] * moved[i] + K[k, 1] * moved[i + 1] + K[k, 2] * moved[i + 2]
            else:
                d_out[k] -= K[k, 0] * moved[k]
