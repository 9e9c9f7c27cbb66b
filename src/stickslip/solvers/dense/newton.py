"""A Newton step on the natural map of one island.

Legend: as in island.py; z = lam - r w what a projection takes, p what it gives, d lam the step.

Which impulses are open, hold, slide or are at their bound follows from z, as in every semismooth Newton method
[alart1991]. Rows that hold ask for w = 0; those that are open or at a bound have a known impulse; friction that slides
follows the boundary of its set, lam_f = P(z_f) with the derivative of the projection, so that directions of sliding are
found, too:

    d p = H dz - H g (g . H dz - n dn) / (g . H g),     g_i = p_i / mu_i^2,  H = (I + t diag(1 / mu_i^2))^-1

for the ellipsoid sum (p_i / mu_i)^2 = n^2 with z - p = t diag(1 / mu_i^2) p; a disc is the special case of equal mu.

Where nothing slides the matrix is that part of W, and symmetric (symmetric.py).

Closed rows are often redundant. A small multiple of diag W on the rows that hold makes the matrix regular, and holds
what the rows do not determine where it was; repeated with the same factors the step takes its effect out.
"""

from __future__ import annotations

from stickslip.contact.laws import (
    BOUNDED,
    BOX_SET,
    CONTACT,
    LIMIT,
    project_friction,
    project_row,
    project_scaled,
)
from stickslip.jit import inner_kernel
from stickslip.solvers.dense.island import WITHIN

PROXIMAL = 1e-9
"""Multiple of diag W: small against the eigenvalues of W that matter, large against rounding."""


@inner_kernel
def step_rows(island, lam, w, symmetric, M_out, rhs_out, active_out, dlam_out):
    """Rows of the linear system for the step, M (a, a) d lam = rhs over the ``active`` rows; returns their number, and
    whether only the upper half of M is written: W is ``symmetric``, and nothing slides.

    dlam_out (m,) has the steps of rows whose impulse is known, and zeros; rhs_out (m,) is measured with these taken.
    """
    laws, W, m = island.laws, island.W, lam.shape[0]
    for k in range(m):
        active_out[k], dlam_out[k] = 0, 0.0
    count = 0
    for c in range(laws.law.shape[0]):
        i, dim = island.start[c], island.start[c + 1] - island.start[c]
        if laws.law[c] != CONTACT:
            for k in range(i, i + dim):
                z = lam[k] - w[k] / W[k, k] if W[k, k] > 0.0 else lam[k]
                known = (laws.law[c] == LIMIT and z <= 0.0) or (laws.law[c] == BOUNDED and abs(z) >= laws.bound[k])
                if known or not W[k, k] > 0.0:
                    dlam_out[k] = project_row(laws.law[c], z, laws.bound[k]) - lam[k]
                else:
                    active_out[k] = 1
        elif not W[i, i] > 0.0 or lam[i] - w[i] / W[i, i] <= 0.0:
            for k in range(i, i + dim):
                dlam_out[k] = -lam[k]
        else:
            rows = dim if dim < 4 or laws.friction[c, 2] > 0.0 else 3
            for k in range(i, i + rows):
                active_out[k] = 1
            if rows < dim:
                dlam_out[i + 3] = -lam[i + 3]
    for k in range(m):
        if active_out[k]:
            active_out[count] = k  # places below k are read no more
            count += 1
    half, at = symmetric, 0
    for c in range(laws.law.shape[0]):
        if not half:
            break
        first, end = at, island.start[c + 1]
        while at < count and active_out[at] < end:
            at += 1
        if laws.law[c] == CONTACT and at > first:
            half = _projected(island, c, island.start[c], at - first - 1, lam, w)[0]
    for a in range(count):
        k = active_out[a]
        rhs_out[a] = -w[k]
        row, out = W[k], M_out[a]
        if count == m:
            for b in range(a if half else 0, count):
                out[b] = row[b]
        else:
            for b in range(a if half else 0, count):
                out[b] = row[active_out[b]]
        out[a] += PROXIMAL * row[k]
    for k in range(m):
        if dlam_out[k] != 0.0:
            for a in range(count):
                rhs_out[a] -= W[active_out[a], k] * dlam_out[k]
    if half:
        return count, True
    at = 0
    for c in range(laws.law.shape[0]):
        i, end = island.start[c], island.start[c + 1]
        first = at
        while at < count and active_out[at] < end:
            at += 1
        if laws.law[c] == CONTACT and at > first:
            _slide(island, c, i, first, at, count, lam, w, M_out, rhs_out)
    return count, False


@inner_kernel
def _projected(island, c, i, rows, lam, w):
    """Whether friction of a contact holds; its impulses, what its projection takes and gives, coefficients, n and r.

    rows: of friction. Torsion is a force at a radius: an impulse, a velocity and a coefficient like the others.
    """
    W, laws, radius = island.W, island.laws, island.radius[c]
    n = max(lam[i], lam[i] - w[i] / W[i, i])
    r = 1.0 / max(W[i + 1, i + 1], W[i + 2, i + 2])
    x0, x1, x2 = lam[i + 1], lam[i + 2], lam[i + 3] / radius if rows > 2 else 0.0
    z0, z1, z2 = x0 - r * w[i + 1], x1 - r * w[i + 2], x2 - r * radius * w[i + 3] if rows > 2 else 0.0
    mu0, mu1, mu2 = laws.friction[c, 0], laws.friction[c, 1], laws.friction[c, 2] / radius if rows > 2 else 0.0
    p0, p1, p2 = project_friction(laws.friction_set[c], z0, z1, z2, n, mu0, mu1, mu2)
    holds = abs(p0 - z0) + abs(p1 - z1) + abs(p2 - z2) <= WITHIN * (abs(z0) + abs(z1) + abs(z2))
    return holds, (x0, x1, x2), (z0, z1, z2), (p0, p1, p2), (mu0, mu1, mu2), n, r


@inner_kernel
def _slide(island, c, i, first, last, count, lam, w, M, rhs):
    """Write the friction rows of a contact that slides, ``first`` to ``last`` of the system, over those that hold it.

    Row j of friction, times the weight of the contact, which makes it a velocity:
    d lam_j - dP_j/dz . (d lam - r W d lam) - dP_j/dn d lam_n = p_j - lam_j; W d lam is what the held rows have.
    """
    laws, rows = island.laws, last - first - 1
    radius, weight = island.radius[c], island.weight[c]
    holds, (x0, x1, x2), (z0, z1, z2), (p0, p1, p2), (mu0, mu1, mu2), n, r = _projected(island, c, i, rows, lam, w)
    if holds:
        return
    box = laws.friction_set[c] == BOX_SET
    g0, h0 = _boundary(z0, p0, mu0, box)
    g1, h1 = _boundary(z1, p1, mu1, box)
    g2, h2 = _boundary(z2, p2, mu2, box)
    if box:
        s = (h0, 0.0, 0.0, 0.0, h1, 0.0, 0.0, 0.0, h2)
        e0, e1, e2 = g0, g1, g2
    else:
        size = g0 * h0 * g0 + g1 * h1 * g1 + g2 * h2 * g2
        k = 1.0 / size if size > 0.0 else 0.0
        a0, a1, a2 = h0 * g0, h1 * g1, h2 * g2
        s = (
            h0 - k * a0 * a0, -k * a0 * a1, -k * a0 * a2,
            -k * a1 * a0, h1 - k * a1 * a1, -k * a1 * a2,
            -k * a2 * a0, -k * a2 * a1, h2 - k * a2 * a2,
        )  # fmt: skip
        e0, e1, e2 = k * a0 * n, k * a1 * n, k * a2 * n
    # what rows with known impulses add to W d lam, and the part of the normal that z has beyond lam
    m0, m1 = -rhs[first + 1] - w[i + 1], -rhs[first + 2] - w[i + 2]
    m2 = radius * (-rhs[first + 3] - w[i + 3]) if rows > 2 else 0.0
    more = lam[i] - n
    t0 = p0 - x0 + e0 * more - r * (s[0] * m0 + s[1] * m1 + s[2] * m2)
    t1 = p1 - x1 + e1 * more - r * (s[3] * m0 + s[4] * m1 + s[5] * m2)
    t2 = p2 - x2 + e2 * more - r * (s[6] * m0 + s[7] * m1 + s[8] * m2)
    rhs[first + 1], rhs[first + 2] = weight * t0, weight * t1
    if rows > 2:
        rhs[first + 3] = weight * t2
    for b in range(count):
        m0, m1, m2 = M[first + 1, b], M[first + 2, b], radius * M[first + 3, b] if rows > 2 else 0.0
        M[first + 1, b] = weight * r * (s[0] * m0 + s[1] * m1 + s[2] * m2)
        M[first + 2, b] = weight * r * (s[3] * m0 + s[4] * m1 + s[5] * m2)
        if rows > 2:
            M[first + 3, b] = weight * r * (s[6] * m0 + s[7] * m1 + s[8] * m2)
    M[first + 1, first] -= weight * e0
    M[first + 2, first] -= weight * e1
    M[first + 1, first + 1] += weight * (1.0 - s[0])
    M[first + 1, first + 2] -= weight * s[1]
    M[first + 2, first + 1] -= weight * s[3]
    M[first + 2, first + 2] += weight * (1.0 - s[4])
    if rows > 2:
        M[first + 3, first] -= weight * e2
        M[first + 1, first + 3] -= weight * s[2] / radius
        M[first + 2, first + 3] -= weight * s[5] / radius
        M[first + 3, first + 1] -= weight * s[6]
        M[first + 3, first + 2] -= weight * s[7]
        M[first + 3, first + 3] += weight * (1.0 - s[8]) / radius


@inner_kernel
def _boundary(z, p, mu, box):
    """g and H of one component; of a box, dP/dn and dP/dz."""
    if box:
        return ((mu if z > 0.0 else -mu) if p != z else 0.0), (0.0 if p != z else 1.0)
    if mu == 0.0 or (p == 0.0 and z != 0.0):
        return 0.0, 0.0
    return p / (mu * mu), (p / z if z != 0.0 else 0.0)


@inner_kernel
def factorise(M, count, order_out):
    """L U of M (count, count) with rows exchanged, in place; False where a pivot vanishes."""
    for k in range(count):
        best, at = abs(M[k, k]), k
        for i in range(k + 1, count):
            if abs(M[i, k]) > best:
                best, at = abs(M[i, k]), i
        order_out[k] = at
        if not best > 0.0:
            return False
        if at != k:
            for j in range(count):
                M[k, j], M[at, j] = M[at, j], M[k, j]
        inverse = 1.0 / M[k, k]
        for i in range(k + 1, count):
            factor = M[i, k] * inverse
            if factor != 0.0:
                for j in range(k + 1, count):
                    M[i, j] -= factor * M[k, j]
            M[i, k] = factor
    return True


@inner_kernel
def substitute(M, count, order, x):
    """x = M^-1 x for the factors of ``factorise``, in place."""
    for k in range(count):
        at = order[k]
        if at != k:
            x[k], x[at] = x[at], x[k]
    for i in range(count):
        for j in range(i):
            x[i] -= M[i, j] * x[j]
    for i in range(count - 1, -1, -1):
        for j in range(i + 1, count):
            x[i] -= M[i, j] * x[j]
        x[i] /= M[i, i]


@inner_kernel
def feasible(island, lam):
    """Impulses that no law forbids, nearest to lam, in place."""
    laws = island.laws
    for c in range(laws.law.shape[0]):
        i, dim = island.start[c], island.start[c + 1] - island.start[c]
        if laws.law[c] != CONTACT:
            for k in range(i, i + dim):
                lam[k] = project_row(laws.law[c], lam[k], laws.bound[k])
            continue
        lam[i] = max(lam[i], 0.0)
        z = lam[i + 3] if dim > 3 else 0.0
        lam[i + 1], lam[i + 2], z = project_scaled(
            laws.friction_set[c], lam[i + 1], lam[i + 2], z, island.radius[c], lam[i],
            laws.friction[c, 0], laws.friction[c, 1], laws.friction[c, 2],
        )  # fmt: skip
        if dim > 3:
            lam[i + 3] = z
