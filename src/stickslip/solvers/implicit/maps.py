"""The functions of implicit complementarity, [todorov2010] sec. II and III-B, III-D: f(x), edges, Jacobian, tangents.

Legend: x hybrid variables, f impulses, v = f + x velocities (eq. 14), b least normal velocities, all (m,) and scaled to
one unit; r = D ((A - I) f - x + v0) the residual (eq. 15); M = D (A - I); J = dr/dx = M df/dx - D; p = M^T r, s = D r,
so that a direction d of one block changes |r|^2 / 2 at the rate p . (df/dx d) - s . d.

One contact has the rows x = (x1, x2, x3) and three regions: *break* (x1 > b), *stick* (x2, x3 inside the cone of radius
mu (b - x1)) and *slip*. Its edges are the plane x1 = b and the cone; both meet at the apex. A limit is a row with the
plane alone, a bounded row has the planes x = b + bound and x = b - bound, a bilateral row has no edge. Differs from the
paper: the tangent along a generator of the cone is (x1 - b, x2, x3), where eq. 29 has a factor mu on x1 - b that leaves
the cone unless mu = 1; columns have length 1.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.contact.laws import BOUNDED, CONTACT, LIMIT, project_cone, project_row
from stickslip.jit import inner_kernel, kernel

FREE, PLANE, CONE, APEX = range(4)
"""Active edges: FREE blocks move in all directions, the others within the edge."""
BREAK, STICK, SLIP = range(3)
"""Regions of a contact."""
OPENINGS = (0.25, 1.0, 4.0)
"""Slopes beyond that of the cone, over 1 + mu, at which directions of slip out of the apex are looked at."""


class Blocks(NamedTuple):
    """What f(x) depends on: n blocks over m rows."""

    row_start: Ints
    """(n + 1,)"""
    law: Ints
    """(n,) as in contact/laws.py."""
    friction: Array
    """(n,) mu."""
    b: Array
    """(m,) least velocity of normal and limit rows, given velocity of bilateral ones; zero in tangential rows."""
    bound: Array
    """(m,) largest impulse of bounded rows, zero in all others."""


@kernel
def impulses(blocks, x, f_out):
    """f(x), eq. 10, 12 and 13, of each row of x (k, m)."""
    for k in range(x.shape[0]):
        for c in range(blocks.law.shape[0]):
            i = blocks.row_start[c]
            if blocks.law[c] == CONTACT:
                fn = max(0.0, blocks.b[i] - x[k, i])
                reach = blocks.friction[c] * fn
                length = sqrt(x[k, i + 1] * x[k, i + 1] + x[k, i + 2] * x[k, i + 2])
                s = 1.0 if length <= reach else reach / length
                if length == 0.0:
                    s = 0.0
                f_out[k, i], f_out[k, i + 1], f_out[k, i + 2] = fn, -s * x[k, i + 1], -s * x[k, i + 2]
            else:
                for j in range(i, blocks.row_start[c + 1]):
                    f_out[k, j] = project_row(blocks.law[c], blocks.b[j] - x[k, j], blocks.bound[j])


@inner_kernel
def region(x1, x2, x3, b, mu):
    """Region of a contact at x."""
    if x1 > b:
        return BREAK
    return STICK if sqrt(x2 * x2 + x3 * x3) < mu * (b - x1) else SLIP


@inner_kernel
def contact_jacobian(where, x1, x2, x3, b, mu, t2, t3, F_out):
    """df/dx (3, 3) of a region; (t2, t3) is the unit direction of slip, ``x`` gives the normal impulse and length."""
    stick = -1.0 if where == STICK else 0.0
    for i in range(3):
        for j in range(3):
            F_out[i, j] = stick if i == j else 0.0
    if where == SLIP:
        length = sqrt(x2 * x2 + x3 * x3)
        s = -mu * max(0.0, b - x1) / length if length > 0.0 else 0.0
        F_out[0, 0] = -1.0
        F_out[1, 0], F_out[2, 0] = mu * t2, mu * t3
        F_out[1, 1], F_out[1, 2] = s * (1.0 - t2 * t2), -s * t2 * t3
        F_out[2, 1], F_out[2, 2] = -s * t2 * t3, s * (1.0 - t3 * t3)


@inner_kernel
def _rate(F, p, s, i, d1, d2, d3):
    """p . (F d) - s . d for a contact whose first row is i: the rate at which |r|^2 / 2 changes along d."""
    e1 = F[0, 0] * d1 + F[0, 1] * d2 + F[0, 2] * d3
    e2 = F[1, 0] * d1 + F[1, 1] * d2 + F[1, 2] * d3
    e3 = F[2, 0] * d1 + F[2, 1] * d2 + F[2, 2] * d3
    return p[i] * e1 + p[i + 1] * e2 + p[i + 2] * e3 - s[i] * d1 - s[i + 1] * d2 - s[i + 2] * d3


@inner_kernel
def _choose(first, second, F1, F2, F_out):
    """Eq. 25-26: the side of steeper descent, or where there is none the mixture that stays on the edge; if active."""
    active = first >= 0.0 and second >= 0.0
    share = 0.0 if second < first else 1.0
    if active:
        share = second / (first + second) if first + second > 0.0 else 0.5
    for i in range(3):
        for j in range(3):
            F_out[i, j] = share * F1[i, j] + (1.0 - share) * F2[i, j]
    return active


@inner_kernel
def _choose_plane(p, s, i, mu, t2, t3, F1, F2, F_out):
    """Eq. 25-26 on the plane, between break and slip along (t2, t3); if active. F1, F2 (3, 3) are work."""
    contact_jacobian(BREAK, 0.0, t2, t3, 0.0, mu, t2, t3, F1)
    contact_jacobian(SLIP, 0.0, t2, t3, 0.0, mu, t2, t3, F2)
    first, second = _rate(F1, p, s, i, 1.0, 0.0, 0.0), -_rate(F2, p, s, i, 1.0, 0.0, 0.0)
    return _choose(first, second, F1, F2, F_out)


@inner_kernel
def _leave_apex(p, s, i, mu, ray_out, F_out):
    """Unit direction d out of the apex along which |r|^2 / 2 falls most steeply, or zero; df/dx = f(d) d^T along it.

    f is positively homogeneous about the apex: the rate along d is p . f(d) - s . d.
    """
    # break: f(d) = 0
    d1, d2, d3 = max(0.0, s[i]), s[i + 1], s[i + 2]
    f1, f2, f3 = 0.0, 0.0, 0.0
    best = sqrt(d1 * d1 + d2 * d2 + d3 * d3)
    # stick: f(d) = -d
    c1, c2, c3 = project_cone(-p[i] - s[i], p[i + 1] + s[i + 1], p[i + 2] + s[i + 2], mu)
    steep = sqrt(c1 * c1 + c2 * c2 + c3 * c3)
    if steep > best:
        best, d1, d2, d3, f1, f2, f3 = steep, -c1, c2, c3, c1, -c2, -c3
    # slip: d = (-1, slope t), f(d) = (1, -mu t)
    for opening in OPENINGS:
        slope = mu + opening * (1.0 + mu)
        c2, c3 = mu * p[i + 1] + slope * s[i + 1], mu * p[i + 2] + slope * s[i + 2]
        along = sqrt(c2 * c2 + c3 * c3)
        steep = (along - p[i] - s[i]) / sqrt(1.0 + slope * slope)
        if along > 0.0 and steep > best:
            t2, t3 = c2 / along, c3 / along
            best, d1, d2, d3, f1, f2, f3 = steep, -1.0, slope * t2, slope * t3, 1.0, -mu * t2, -mu * t3
    square = d1 * d1 + d2 * d2 + d3 * d3
    w = 1.0 / sqrt(square) if square > 0.0 else 0.0
    ray_out[i], ray_out[i + 1], ray_out[i + 2] = w * d1, w * d2, w * d3
    for a, f in enumerate((f1, f2, f3)):
        F_out[a, 0], F_out[a, 1], F_out[a, 2] = w * w * f * d1, w * w * f * d2, w * w * f * d3


@inner_kernel
def row_slope(law, above, bound):
    """df/dx of a row of another law than CONTACT, inside a region; ``above`` is x - b."""
    if law == LIMIT:
        return -1.0 if above < 0.0 else 0.0
    if law == BOUNDED:
        return -1.0 if abs(above) < bound else 0.0
    return -1.0


@inner_kernel
def _row_edge(law, above, bound, p, s, near):
    """Active edge of a row of another law than CONTACT, and df/dx as chosen by eq. 25-26; ``above`` is x - b."""
    upper = (law == LIMIT or (law == BOUNDED and bound > near)) and abs(above - bound) <= near
    lower = law == BOUNDED and bound > near and abs(above + bound) <= near
    if not upper and not lower:
        return FREE, row_slope(law, above, bound)
    # rates of |r|^2 / 2 towards the side without and with a derivative of f
    first, second = (-s, p + s) if upper else (s, -p - s)
    if first >= 0.0 and second >= 0.0:
        return PLANE, (-first / (first + second) if first + second > 0.0 else -0.5)
    return FREE, (0.0 if first < second else -1.0)


@kernel
def choose_edges(blocks, x, p, s, near, edge_out, ray_out, F_out):
    """Active edges (m,), at the first row of a contact and at each row of a limit, and df/dx as chosen by eq. 25-26.

    F_out (m, 3): rows of the 3 x 3 blocks of contacts; other rows have their derivative in column 0. ray_out (m,):
    directions of contacts that leave the apex. What is closer to an edge than ``near`` is on it.
    """
    F1, F2 = np.zeros((3, 3)), np.zeros((3, 3))
    for c in range(blocks.law.shape[0]):
        i, end = blocks.row_start[c], blocks.row_start[c + 1]
        if blocks.law[c] != CONTACT:
            for j in range(i, end):
                above, bound = x[j] - blocks.b[j], blocks.bound[j]
                edge_out[j], F_out[j, 0] = _row_edge(blocks.law[c], above, bound, p[j], s[j], near)
            continue
        mu, b = blocks.friction[c], blocks.b[i]
        x1, x2, x3 = x[i], x[i + 1], x[i + 2]
        length = sqrt(x2 * x2 + x3 * x3)
        t2, t3 = (x2 / length, x3 / length) if length > 0.0 else (0.0, 0.0)
        F = F_out[i : i + 3]
        edge_out[i], edge_out[i + 1], edge_out[i + 2] = FREE, FREE, FREE
        if abs(x1 - b) <= near and (mu == 0.0 or length > near):
            if _choose_plane(p, s, i, mu, t2, t3, F1, F2, F):
                edge_out[i] = PLANE
        elif abs(x1 - b) <= near:
            _leave_apex(p, s, i, mu, ray_out, F)
            edge_out[i] = APEX
        elif mu > 0.0 and abs(length - mu * (b - x1)) <= near:
            contact_jacobian(SLIP, x1, x2, x3, b, mu, t2, t3, F1)
            contact_jacobian(STICK, x1, x2, x3, b, mu, t2, t3, F2)
            w = 1.0 / sqrt(1.0 + mu * mu)
            d1, d2, d3 = mu * w, t2 * w, t3 * w
            if _choose(_rate(F1, p, s, i, d1, d2, d3), -_rate(F2, p, s, i, d1, d2, d3), F1, F2, F):
                edge_out[i] = CONE
        else:
            contact_jacobian(region(x1, x2, x3, b, mu), x1, x2, x3, b, mu, t2, t3, F)


@kernel
def tangents(blocks, x, edge, ray, printed, row_out, B_out):
    """Columns of B, eq. 29: first row (k,) and entries (k, 3) of each; returns their number k <= m.

    ``printed``: with the factor mu of the paper, of which the top of this file says more. A contact at the apex has the
    one direction in which it may leave, or none.
    """
    k = 0
    for c in range(blocks.law.shape[0]):
        i, end = blocks.row_start[c], blocks.row_start[c + 1]
        code = edge[i]
        if blocks.law[c] != CONTACT or code in (FREE, PLANE):
            for j in range(i, end):
                if edge[j] == FREE:
                    row_out[k] = i if blocks.law[c] == CONTACT else j
                    B_out[k, 0], B_out[k, 1], B_out[k, 2] = 0.0, 0.0, 0.0
                    B_out[k, j - row_out[k]] = 1.0
                    k += 1
        elif code == CONE:
            n, y, z = x[i] - blocks.b[i], x[i + 1], x[i + 2]
            if printed:
                n *= blocks.friction[c]
            across = sqrt(y * y + z * z)
            along = sqrt(n * n + across * across)
            row_out[k], row_out[k + 1] = i, i
            B_out[k, 0], B_out[k, 1], B_out[k, 2] = n / along, y / along, z / along
            B_out[k + 1, 0], B_out[k + 1, 1], B_out[k + 1, 2] = 0.0, -z / across, y / across
            k += 2
        elif ray[i] != 0.0 or ray[i + 1] != 0.0 or ray[i + 2] != 0.0:
            row_out[k] = i
            B_out[k, 0], B_out[k, 1], B_out[k, 2] = ray[i], ray[i + 1], ray[i + 2]
            k += 1
    return k


@kernel
def reduced_jacobian(M_t, D, F, row, B, height, J_out):
    """(J B)^T (k, m) from M^T (m, m), D, df/dx and the columns of B; ``height`` (m,): 3 in rows of contacts, else 1."""
    size = M_t.shape[0]
    for k in range(row.shape[0]):
        i = row[k]
        out = J_out[k]
        if height[i] == 3:
            d1, d2, d3 = B[k, 0], B[k, 1], B[k, 2]
            e1 = F[i, 0] * d1 + F[i, 1] * d2 + F[i, 2] * d3
            e2 = F[i + 1, 0] * d1 + F[i + 1, 1] * d2 + F[i + 1, 2] * d3
            e3 = F[i + 2, 0] * d1 + F[i + 2, 1] * d2 + F[i + 2, 2] * d3
            m1, m2, m3 = M_t[i], M_t[i + 1], M_t[i + 2]
            for j in range(size):
                out[j] = e1 * m1[j] + e2 * m2[j] + e3 * m3[j]
            for a in range(3):
                out[i + a] -= D[i + a] * B[k, a]
        else:
            e1, m1 = F[i, 0] * B[k, 0], M_t[i]
            for j in range(size):
                out[j] = e1 * m1[j]
            out[i] -= D[i] * B[k, 0]


@kernel
def move(blocks, x, edge, row, B, step, height, x_out):
    """x_out = x + B step, with the contacts on active cones projected back onto them (sec. III-D)."""
    for i in range(x.shape[0]):
        x_out[i] = x[i]
    for k in range(step.shape[0]):
        i = row[k]
        for a in range(height[i]):
            x_out[i + a] += B[k, a] * step[k]
    for c in range(blocks.law.shape[0]):
        i = blocks.row_start[c]
        if blocks.law[c] == CONTACT and edge[i] == CONE:
            project_on_cone(blocks.b[i], blocks.friction[c], i, x_out)


@inner_kernel
def project_on_cone(b, mu, i, x_out):
    """Closest point on the surface of the cone |(x2, x3)| = mu (b - x1), in place; beyond its polar cone the apex.

    The Lagrange conditions give a quadratic; its root on the nappe b - x1 >= 0 is n = (b - x1 + mu |xt|) / (1 + mu^2).
    """
    y, z = x_out[i + 1], x_out[i + 2]
    length = sqrt(y * y + z * z)
    n = (b - x_out[i] + mu * length) / (1.0 + mu * mu)
    if n <= 0.0 or length == 0.0:
        x_out[i], x_out[i + 1], x_out[i + 2] = b, 0.0, 0.0
        return
    scale = mu * n / length
    x_out[i], x_out[i + 1], x_out[i + 2] = b - n, scale * y, scale * z


@kernel
def scaled_dense(W, unit, A_out):
    """A_out = diag(unit) W diag(unit) (m, m) of block rows W; A_out is zero before."""
    for c in range(W.row_start.shape[0] - 1):
        for e in range(W.entry_start[c], W.entry_start[c + 1]):
            j0 = W.column_start[W.entry_column[e]]
            j1 = W.column_start[W.entry_column[e] + 1]
            at = W.data_start[e]
            for i in range(W.row_start[c], W.row_start[c + 1]):
                for j in range(j0, j1):
                    A_out[i, j] = unit[i] * W.data[at] * unit[j]
                    at += 1


@kernel
def sweep(blocks, A_t, sweeps, f_out, u_out):
    """Gauss-Seidel sweeps on A f + v0 = v, in place: per block x = rho v - f with the other impulses held, f = f(x).

    u_out (m,) is A f + v0 before and after. f(x) is the law for any unit of velocity: rho = 1 / |A_cc|, the largest
    column sum, makes each block contract.
    """
    size = f_out.shape[0]
    for _ in range(sweeps):
        for c in range(blocks.law.shape[0]):
            i, end = blocks.row_start[c], blocks.row_start[c + 1]
            if blocks.law[c] == CONTACT:
                norm = 0.0
                for k in range(i, end):
                    norm = max(norm, abs(A_t[k, i]) + abs(A_t[k, i + 1]) + abs(A_t[k, i + 2]))
                if norm == 0.0:
                    continue
                rho = 1.0 / norm
                fn = max(0.0, f_out[i] - rho * (u_out[i] - blocks.b[i]))
                y, z = f_out[i + 1] - rho * u_out[i + 1], f_out[i + 2] - rho * u_out[i + 2]
                length, reach = sqrt(y * y + z * z), blocks.friction[c] * fn
                s = 1.0 if length <= reach else reach / length
                d1, d2, d3 = fn - f_out[i], s * y - f_out[i + 1], s * z - f_out[i + 2]
                m1, m2, m3 = A_t[i], A_t[i + 1], A_t[i + 2]
                for j in range(size):
                    u_out[j] += m1[j] * d1 + m2[j] * d2 + m3[j] * d3
                f_out[i], f_out[i + 1], f_out[i + 2] = fn, s * y, s * z
            else:
                for k in range(i, end):
                    line = A_t[k]
                    if not line[k] > 0.0:
                        continue
                    new = f_out[k] - (u_out[k] - blocks.b[k]) / line[k]
                    new = project_row(blocks.law[c], new, blocks.bound[k])
                    d1 = new - f_out[k]
                    for j in range(size):
                        u_out[j] += line[j] * d1
                    f_out[k] = new
