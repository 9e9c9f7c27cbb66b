"""Impulses as functions of velocities: the regularised laws of the convex method, all of them gradients.

With y = -R^-1 u, an impulse is the point of its set closest to y in the norm of R (diagonal, positive):

    gamma = P(y),     l(u) = 1/2 gamma^T R gamma,     dl/du = -gamma,     G = d2l/du2 = dP/dy R^-1

Contacts ([castro2022]), R = (R_n, R_t, R_t), mu^ = mu R_t / R_n, mu~^2 = mu mu^:

    stiction     |y_t| <= mu y_n                  gamma = y
    sliding      -mu^ |y_t| < y_n < |y_t| / mu    gamma_n = (y_n + mu^ |y_t|) / (1 + mu~^2),  gamma_t = mu gamma_n t
    open         else                             gamma = 0

Other rows: gamma = y, bounded from one side (limits) or from both (drives).
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from stickslip.arrays import Array, Ints
from stickslip.contact.laws import BOUNDED, CONTACT, LIMIT, project_row
from stickslip.jit import inner_kernel, kernel

LONGEST = 1.5
"""Newton steps are made longer by this factor at most."""
ON_CONE = 1e-6
"""Impulses of a warm start that are this close to the cone, relative, slide."""
MOST_TRIES = 60
"""Evaluations of a line search; bisection alone arrives at rounding with fewer."""


class SapLaws(NamedTuple):
    """The laws of n blocks of m rows, regularised by R."""

    row_start: Ints
    """(n + 1,)"""
    law: Ints
    """(n,) as in contact/laws.py."""
    mu: Array
    """(n,) friction coefficients."""
    bound: Array
    """(m,) [N s] of bounded rows."""
    R: Array
    """(m,) [1/kg] regularisation; the two tangents of a contact have the same."""


@inner_kernel
def _contact(un, ux, uy, mu, Rn, Rt):
    """Impulse of a contact, and what its derivative needs: |y_t|, and 0, 1, 2 for open, sliding, stiction."""
    yn, yx, yy = -un / Rn, -ux / Rt, -uy / Rt
    yr = sqrt(yx * yx + yy * yy)
    hat = mu * Rt / Rn
    if yn <= -hat * yr:
        return 0.0, 0.0, 0.0, yr, 0
    if mu > 0.0 and yr <= mu * yn:
        return yn, yx, yy, yr, 2
    gn = (yn + hat * yr) / (1.0 + mu * hat)
    if yr <= 0.0:
        return gn, 0.0, 0.0, yr, 1
    s = mu * gn / yr
    return gn, s * yx, s * yy, yr, 1


@inner_kernel
def _contact_curvature(gn, gx, gy, yr, state, mu, Rn, Rt):
    """G of a contact: nn, nx, ny, xx, xy, yy."""
    if state == 0:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if state == 2:
        return 1.0 / Rn, 0.0, 0.0, 1.0 / Rt, 0.0, 1.0 / Rt
    hat = mu * Rt / Rn
    soft = 1.0 / (1.0 + mu * hat)
    if mu <= 0.0 or yr <= 0.0 or gn <= 0.0:
        return soft / Rn, 0.0, 0.0, 0.0, 0.0, 0.0
    tx, ty = gx / (mu * gn), gy / (mu * gn)
    cross = mu * soft / Rn
    along, across = mu * hat * soft / Rt, mu * gn / (yr * Rt)
    xx = along * tx * tx + across * (1.0 - tx * tx)
    yy = along * ty * ty + across * (1.0 - ty * ty)
    return soft / Rn, cross * tx, cross * ty, xx, (along - across) * tx * ty, yy


@kernel
def impulses(laws, u, gamma_out):
    """gamma(u) of all blocks; returns the sum of l(u)."""
    total = 0.0
    for c in range(laws.law.shape[0]):
        i = laws.row_start[c]
        if laws.law[c] == CONTACT:
            found = _contact(u[i], u[i + 1], u[i + 2], laws.mu[c], laws.R[i], laws.R[i + 1])
            gamma_out[i], gamma_out[i + 1], gamma_out[i + 2] = found[0], found[1], found[2]
            total += 0.5 * (laws.R[i] * found[0] ** 2 + laws.R[i + 1] * (found[1] ** 2 + found[2] ** 2))
        else:
            for k in range(i, laws.row_start[c + 1]):
                gamma_out[k] = project_row(laws.law[c], -u[k] / laws.R[k], laws.bound[k])
                # inside R/2 gamma^2; beyond a bound l goes on in a straight line
                total += -gamma_out[k] * u[k] - 0.5 * laws.R[k] * gamma_out[k] ** 2
    return total


@kernel
def curvatures(laws, u, G_out):
    """G (m, 3): of a contact its symmetric matrix row by row, of another row its number in the first column."""
    for c in range(laws.law.shape[0]):
        i = laws.row_start[c]
        if laws.law[c] == CONTACT:
            mu, Rn, Rt = laws.mu[c], laws.R[i], laws.R[i + 1]
            gn, gx, gy, yr, state = _contact(u[i], u[i + 1], u[i + 2], mu, Rn, Rt)
            _store_curvature(_contact_curvature(gn, gx, gy, yr, state, mu, Rn, Rt), i, G_out)
        else:
            for k in range(i, laws.row_start[c + 1]):
                G_out[k, 0] = _row_curvature(laws.law[c], -u[k] / laws.R[k], laws.bound[k], laws.R[k])


@inner_kernel
def _store_curvature(curvature, i, G_out):
    """Rows i to i + 2 of G."""
    nn, nx, ny, xx, xy, yy = curvature
    G_out[i, 0], G_out[i, 1], G_out[i, 2] = nn, nx, ny
    G_out[i + 1, 0], G_out[i + 1, 1], G_out[i + 1, 2] = nx, xx, xy
    G_out[i + 2, 0], G_out[i + 2, 1], G_out[i + 2, 2] = ny, xy, yy


@inner_kernel
def _row_curvature(law, y, bound, R):
    """1/R where the impulse follows y = -u / R, zero where it is at a bound."""
    if (law == LIMIT and y <= 0.0) or (law == BOUNDED and abs(y) >= bound):
        return 0.0
    return 1.0 / R


@kernel
def held_curvatures(laws, gamma, u, G_out, left_out):
    """G where impulses gamma say who sticks, and what is left of the law there: gamma + u / R of rows that follow.

    Contacts whose impulse is on the cone slide as fast as u says, and have nothing left.
    """
    for c in range(laws.law.shape[0]):
        i = laws.row_start[c]
        if laws.law[c] == CONTACT:
            mu, Rn, Rt = laws.mu[c], laws.R[i], laws.R[i + 1]
            gn, gx, gy = gamma[i], gamma[i + 1], gamma[i + 2]
            gr, state = sqrt(gx * gx + gy * gy), 0
            if gn > 0.0:
                state = 2 if gr < (1.0 - ON_CONE) * mu * gn else 1
            if state == 1 and gr > 0.0:  # on the cone, whatever was given
                gx, gy = mu * gn * gx / gr, mu * gn * gy / gr
            yr = max(sqrt(u[i + 1] * u[i + 1] + u[i + 2] * u[i + 2]) / Rt, mu * gn)
            _store_curvature(_contact_curvature(gn, gx, gy, yr, state, mu, Rn, Rt), i, G_out)
            for k in range(i, i + 3):
                left_out[k] = gamma[k] + u[k] / laws.R[k] if state == 2 else 0.0
        else:
            for k in range(i, laws.row_start[c + 1]):
                G_out[k, 0] = _row_curvature(laws.law[c], gamma[k], laws.bound[k], laws.R[k])
                left_out[k] = gamma[k] + u[k] / laws.R[k] if G_out[k, 0] > 0.0 else 0.0


@kernel
def times(laws, G, x, y_out):
    """y = G x, with G as of :func:`curvatures`."""
    for c in range(laws.law.shape[0]):
        i = laws.row_start[c]
        if laws.law[c] == CONTACT:
            for k in range(i, i + 3):
                y_out[k] = G[k, 0] * x[i] + G[k, 1] * x[i + 1] + G[k, 2] * x[i + 2]
        else:
            for k in range(i, laws.row_start[c + 1]):
                y_out[k] = G[k, 0] * x[k]


@inner_kernel
def _slope(laws, blocks, u, du, t):
    """First and second derivative of the sum of l(u + t du) over some blocks, by t."""
    slope, curvature = 0.0, 0.0
    for b in range(blocks.shape[0]):
        c = blocks[b]
        i = laws.row_start[c]
        if laws.law[c] == CONTACT:
            mu, Rn, Rt = laws.mu[c], laws.R[i], laws.R[i + 1]
            dn, dx, dy = du[i], du[i + 1], du[i + 2]
            gn, gx, gy, yr, state = _contact(u[i] + t * dn, u[i + 1] + t * dx, u[i + 2] + t * dy, mu, Rn, Rt)
            slope -= gn * dn + gx * dx + gy * dy
            nn, nx, ny, xx, xy, yy = _contact_curvature(gn, gx, gy, yr, state, mu, Rn, Rt)
            curvature += nn * dn * dn + xx * dx * dx + yy * dy * dy + 2.0 * (nx * dn * dx + ny * dn * dy + xy * dx * dy)
        else:
            for k in range(i, laws.row_start[c + 1]):
                y = -(u[k] + t * du[k]) / laws.R[k]
                slope -= project_row(laws.law[c], y, laws.bound[k]) * du[k]
                curvature += _row_curvature(laws.law[c], y, laws.bound[k], laws.R[k]) * du[k] * du[k]
    return slope, curvature


@kernel
def line_search(laws, block_start, blocks, u, du, linear, square, tolerance, t_out):
    """Exact line search of every island: t with l'(t) = 0, where the momentum part of l' is linear + t square.

    Newton's method, kept inside a bracket; t_out is zero where the direction is none.
    """
    for island in range(block_start.shape[0] - 1):
        own = blocks[block_start[island] : block_start[island + 1]]
        a, b = linear[island], square[island]
        slope = _slope(laws, own, u, du, 0.0)[0] + a
        if not slope < 0.0:
            t_out[island] = 0.0
            continue
        enough = tolerance * abs(slope)
        low, high, t = 0.0, LONGEST, 1.0
        first, second = _slope(laws, own, u, du, t)
        first, second = first + a + t * b, second + b
        if first < -enough:
            far = _slope(laws, own, u, du, LONGEST)[0] + a + LONGEST * b
            if far <= 0.0:
                t_out[island] = LONGEST
                continue
        for _ in range(MOST_TRIES):
            if abs(first) <= enough:
                break
            if first < 0.0:
                low = t
            else:
                high = t
            step = t - first / second if second > 0.0 else low
            t = step if low < step < high else 0.5 * (low + high)
            first, second = _slope(laws, own, u, du, t)
            first, second = first + a + t * b, second + b
        t_out[island] = t
