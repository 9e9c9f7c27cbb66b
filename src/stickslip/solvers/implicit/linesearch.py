"""Edge-aware line search of implicit complementarity, [todorov2010] sec. III-C.

A leg of the dogleg is cut where a contact crosses its plane or its cone (eq. 27), and every piece is searched with
cubics. Edges themselves are among the points tried. All points of a leg are evaluated at once, as columns of one
matrix product. Differs from the paper: a contact on an active cone goes along the cone (x1 and the angle change in
proportion), where a chord would leave it; sec. V proposes such paths.
"""

from __future__ import annotations

from math import atan2, cos, pi, sin, sqrt

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.contact.laws import BOUNDED, CONTACT, LIMIT
from stickslip.jit import inner_kernel, kernel
from stickslip.solvers.implicit.maps import BREAK, CONE, SLIP, STICK, Blocks, impulses, region, row_slope

CUBICS = 2
"""Cubics fitted in a piece that may hold the best point."""
ENDS = 1e-10
"""Crossings closer than this to the ends of a leg are its ends."""

Vector = Array


class Best:
    """The best point found so far: its value |r|^2 / 2, where it is, and whether it lies on an edge."""

    def __init__(self, value: float) -> None:
        self.value = value
        self.x: Vector | None = None
        self.on_edge = False

    def improve(self, value: float, x: Vector, on_edge: bool) -> None:
        """Take the point x (m,) if it is better."""
        if value < self.value:
            self.value, self.x, self.on_edge = value, x.copy(), bool(on_edge)


def search_leg(
    blocks: Blocks, M_t: Vector, D: Vector, v0: Vector, start: Vector, end: Vector, edge: Ints, best: Best
) -> None:
    """Search the leg from ``start`` to ``end`` (m,), edges active at its start, and improve ``best``."""
    rows = len(start)
    # a contact crosses three times at most, a limit once, a bounded row twice
    alpha, crossing = np.empty(2 * rows), np.empty(2 * rows, np.int32)
    count = find_crossings(blocks, start, end, edge, alpha, crossing)
    order = np.argsort(alpha[:count], kind="stable")
    at = np.concatenate([[0.0], alpha[:count][order], [1.0]])
    crossed = np.concatenate([[-1], crossing[:count][order], [-1]]).astype(np.int32)

    def values(places: Vector, on: Ints) -> tuple[Vector, Vector, Vector]:
        """Points of the leg (k, m), their residuals (k, m) and |r|^2 / 2 (k,)."""
        x, f = np.empty((len(places), rows)), np.empty((len(places), rows))
        sample(blocks, start, end, edge, places, on, x)
        impulses(blocks, x, f)
        r = f @ M_t - D * (x - v0)
        return x, r, 0.5 * np.einsum("km,km->k", r, r)

    def slopes(places: Vector, inside: Vector, r: Vector) -> Vector:
        """d/d alpha of |r|^2 / 2 (k,), in the regions of the points ``inside`` (k,)."""
        x_rate, f_rate = np.empty_like(r), np.empty_like(r)
        differentiate(blocks, start, end, edge, inside, places, x_rate, f_rate)
        return np.einsum("km,km->k", r, f_rate @ M_t - D * x_rate)

    # the points between the pieces, and on each piece the slopes at both its ends as seen from inside
    x, r, value = values(at, crossed)
    k = int(np.argmin(value[1:])) + 1
    best.improve(float(value[k]), x[k], crossed[k] >= 0)
    middle = 0.5 * (at[:-1] + at[1:])
    low = np.stack([at[:-1], value[:-1], slopes(at[:-1], middle, r[:-1])], axis=1)
    high = np.stack([at[1:], value[1:], slopes(at[1:], middle, r[1:])], axis=1)
    kept = np.flatnonzero(at[1:] - at[:-1] > ENDS)
    for _ in range(CUBICS):
        low, high, middle = low[kept], high[kept], middle[kept]
        t, expected = np.empty(len(low)), np.empty(len(low))
        cubic_minima(low, high, t, expected)
        kept = np.flatnonzero(expected < best.value)
        if len(kept) == 0:
            return
        low, high, middle, t = low[kept], high[kept], middle[kept], t[kept]
        x, r, value = values(t, np.full(len(t), -1, np.int32))
        k = int(np.argmin(value))
        best.improve(float(value[k]), x[k], False)
        new = np.stack([t, value, slopes(t, middle, r)], axis=1)
        falling = (new[:, 2] < 0.0)[:, None]
        low, high, kept = np.where(falling, new, low), np.where(falling, high, new), np.arange(len(t))


@kernel
def cubic_minima(low, high, t_out, expected_out):
    """Minimum of the cubic with the values and slopes (k, 3: place, value, slope) at both ends of each piece.

    Where it has none inside, ``expected_out`` is infinite.
    """
    for k in range(low.shape[0]):
        t_out[k], expected_out[k] = low[k, 0], np.inf
        h = high[k, 0] - low[k, 0]
        d0, d1 = low[k, 2], high[k, 2]
        c = d0 + d1 - 3.0 * (high[k, 1] - low[k, 1]) / h
        square = c * c - d0 * d1
        if not square >= 0.0:
            continue
        root = sqrt(square)
        below = d1 - d0 + 2.0 * root
        if below == 0.0:
            continue
        u = 1.0 - (d1 + root - c) / below
        if not 1e-9 < u < 1.0 - 1e-9:
            continue
        t_out[k] = low[k, 0] + u * h
        v = 1.0 - u
        expected_out[k] = (
            v * v * (1.0 + 2.0 * u) * low[k, 1] + u * u * (1.0 + 2.0 * v) * high[k, 1]
            + u * v * h * (v * d0 - u * d1)
        )  # fmt: skip


@kernel
def find_crossings(blocks, start, end, edge, alpha_out, row_out):
    """Where the segment crosses edges, 0 < alpha < 1, and the row of the plane or, plus 2 m, the contact of the cone.

    The lower plane of a bounded row has its number plus m.
    """
    count, rows = 0, start.shape[0]
    for c in range(blocks.law.shape[0]):
        i = blocks.row_start[c]
        law = blocks.law[c]
        if law in (LIMIT, BOUNDED):
            for j in range(i, blocks.row_start[c + 1]):
                n0, n1, bound = start[j] - blocks.b[j], end[j] - blocks.b[j], blocks.bound[j]
                count = _cross_plane(n0 - bound, n1 - bound, j, count, alpha_out, row_out)
                if law == BOUNDED:
                    count = _cross_plane(n0 + bound, n1 + bound, rows + j, count, alpha_out, row_out)
        if law != CONTACT or edge[i] == CONE:
            continue
        mu, n0, n1 = blocks.friction[c], start[i] - blocks.b[i], end[i] - blocks.b[i]
        count = _cross_plane(n0, n1, i, count, alpha_out, row_out)
        if mu == 0.0 or (n0 >= 0.0 and n1 >= 0.0):
            continue
        y, z = start[i + 1], start[i + 2]
        dn, dy, dz = n1 - n0, end[i + 1] - y, end[i + 2] - z
        # eq. 27 along the segment: A alpha^2 + 2 B alpha + C = 0
        A = mu * mu * dn * dn - dy * dy - dz * dz
        B = mu * mu * n0 * dn - y * dy - z * dz
        C = mu * mu * n0 * n0 - y * y - z * z
        square = B * B - A * C
        if square < 0.0:
            continue
        w = -B - sqrt(square) if B > 0.0 else -B + sqrt(square)
        first = w / A if A != 0.0 else -1.0
        second = C / w if w != 0.0 else -1.0
        for root in (first, second):
            if ENDS < root < 1.0 - ENDS and n0 + root * dn < 0.0:
                alpha_out[count], row_out[count] = root, 2 * rows + c
                count += 1
    return count


@inner_kernel
def _cross_plane(n0, n1, row, count, alpha_out, row_out):
    """Add the crossing of a plane."""
    if (n0 < 0.0) != (n1 < 0.0):
        root = n0 / (n0 - n1)
        if ENDS < root < 1.0 - ENDS:
            alpha_out[count], row_out[count] = root, row
            return count + 1
    return count


@inner_kernel
def _on_cone(b, mu, start, end, i, alpha):
    """Point between two points of a cone and its derivative; x1 and the angle are linear in alpha."""
    n0, n1 = b - start[i], b - end[i]
    n, dn = n0 + alpha * (n1 - n0), n1 - n0
    first = atan2(start[i + 2], start[i + 1])
    turn = atan2(end[i + 2], end[i + 1]) - first if n1 > 0.0 else 0.0
    if turn > pi:
        turn -= 2.0 * pi
    elif turn < -pi:
        turn += 2.0 * pi
    angle = first + alpha * turn
    y, z = cos(angle), sin(angle)
    point = b - n, mu * n * y, mu * n * z
    rate = -dn, mu * (dn * y - n * turn * z), mu * (dn * z + n * turn * y)
    return point, rate


@kernel
def sample(blocks, start, end, edge, at, crossed, x_out):
    """Points (k, m) of the leg at the places ``at`` (k,); the row or contact that crosses there is put on its edge."""
    rows = start.shape[0]
    for k in range(at.shape[0]):
        alpha = at[k]
        for i in range(rows):
            x_out[k, i] = (1.0 - alpha) * start[i] + alpha * end[i]
            if start[i] == end[i]:
                x_out[k, i] = start[i]
        for c in range(blocks.law.shape[0]):
            i = blocks.row_start[c]
            if blocks.law[c] == CONTACT and edge[i] == CONE and 0.0 < alpha < 1.0:
                point, _ = _on_cone(blocks.b[i], blocks.friction[c], start, end, i, alpha)
                x_out[k, i], x_out[k, i + 1], x_out[k, i + 2] = point
        if crossed[k] >= 2 * rows:
            c = crossed[k] - 2 * rows
            i = blocks.row_start[c]
            y, z = x_out[k, i + 1], x_out[k, i + 2]
            length = sqrt(y * y + z * z)
            if length > 0.0:
                scale = blocks.friction[c] * (blocks.b[i] - x_out[k, i]) / length
                x_out[k, i + 1], x_out[k, i + 2] = scale * y, scale * z
        elif crossed[k] >= rows:
            x_out[k, crossed[k] - rows] = blocks.b[crossed[k] - rows] - blocks.bound[crossed[k] - rows]
        elif crossed[k] >= 0:
            x_out[k, crossed[k]] = blocks.b[crossed[k]] + blocks.bound[crossed[k]]


@kernel
def differentiate(blocks, start, end, edge, middle, at, x_rate_out, f_rate_out):
    """dx/d alpha and df/d alpha (k, m) at the places ``at``, in the regions that the places ``middle`` lie in."""
    rows = start.shape[0]
    for k in range(at.shape[0]):
        alpha, mid = at[k], middle[k]
        for i in range(rows):
            x_rate_out[k, i] = end[i] - start[i]
        for c in range(blocks.law.shape[0]):
            i = blocks.row_start[c]
            if blocks.law[c] != CONTACT:
                for j in range(i, blocks.row_start[c + 1]):
                    above = start[j] + mid * (end[j] - start[j]) - blocks.b[j]
                    f_rate_out[k, j] = row_slope(blocks.law[c], above, blocks.bound[j]) * x_rate_out[k, j]
                continue
            b, mu = blocks.b[i], blocks.friction[c]
            d1, d2, d3 = x_rate_out[k, i], x_rate_out[k, i + 1], x_rate_out[k, i + 2]
            if edge[i] == CONE:
                _, rate = _on_cone(b, mu, start, end, i, alpha)
                x_rate_out[k, i], x_rate_out[k, i + 1], x_rate_out[k, i + 2] = rate
                f_rate_out[k, i], f_rate_out[k, i + 1], f_rate_out[k, i + 2] = -rate[0], -rate[1], -rate[2]
                continue
            where = region(start[i] + mid * d1, start[i + 1] + mid * d2, start[i + 2] + mid * d3, b, mu)
            if d1 == 0.0 and start[i] == b:
                where = BREAK  # within the plane there is no impulse
            f_rate_out[k, i], f_rate_out[k, i + 1], f_rate_out[k, i + 2] = 0.0, 0.0, 0.0
            if where == STICK:
                f_rate_out[k, i], f_rate_out[k, i + 1], f_rate_out[k, i + 2] = -d1, -d2, -d3
            elif where == SLIP:
                x2, x3 = start[i + 1] + alpha * d2, start[i + 2] + alpha * d3
                length = sqrt(x2 * x2 + x3 * x3)
                f_rate_out[k, i] = -d1
                if length > 0.0:
                    t2, t3 = x2 / length, x3 / length
                    s = mu * (b - start[i] - alpha * d1) / length
                    along = t2 * d2 + t3 * d3
                    f_rate_out[k, i + 1] = mu * t2 * d1 - s * (d2 - along * t2)
                    f_rate_out[k, i + 2] = mu * t3 * d1 - s * (d3 - along * t3)
