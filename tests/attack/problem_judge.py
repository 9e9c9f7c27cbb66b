"""How far impulses are from the laws, in long double and from the definitions: nothing of the package is used.

    v = v_free + A^-1 J^T lam,      u = J v + bias (+ compliance lam on the rows that have it),      s = w lam

with w the mean of diag W over the first three rows of a block (of a contact with its compliance, a third of it more). F
is, of a block,

    disc        s - P_K(s - u - mu |u_t| n)     exact;      s - P_K(s - u)     convex;     K = {|x_t| <= mu x_n}
    other sets  (s_n - max(0, s_n - u_n),  s_f - P_{s_n F}(s_f - u_f)),   torsion measured at sqrt(mean W_tt / W_zz)
    bilateral, elastic    u;      limit    s - max(0, s - u);      bounded    s - clip(s - u, -w bound, w bound)

and the residual |F| / |q|, q = J v_free + bias; of ``siconos``, w = 1 and |F| / max(|q|, |lam|, |u|).

Beside it a bound of what rounding makes of it. A sum of n products in double precision is wrong by at most
n eps (sum of magnitudes), and F is Lipschitz in u and s with constants that follow from the projections. A solver can
see its residual no better than that: within it, nobody can blame it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from raw_arrays import BOUNDED, BOX, CONTACT, DISC, LIMIT, RawProblem

from stickslip.arrays import Array, Bools

Long = NDArray[np.longdouble]
EPS = np.finfo(np.float64).eps
NOISE = 1e-6
"""Share of the free velocities that q counts at least where there are joints."""
NEAR_RIGID, FRICTION_SHARE, HOLDING = 0.03, 1e-3, 1e-8
"""Of the regularised law of ``sap``: beta, sigma, and what rows of joints have at least."""
FACETS = 8
"""Sides of the pyramids of ``lcp``."""


class Found(NamedTuple):
    """A residual and how much of it may be rounding."""

    residual: float
    rounding: float
    undivided: float = np.inf
    """|F| where |q| itself is rounding: whoever finds it zero has nothing to divide by, and says this."""


class Judge:
    """One problem in long double, with all that its residuals need."""

    def __init__(self, raw: RawProblem) -> None:
        self.raw = raw
        self.J = raw.J.astype(np.longdouble)
        self.row = raw.row_start
        self.height = np.diff(self.row)
        self.bias = raw.joined("bias").astype(np.longdouble)
        self.compliance = raw.joined("compliance").astype(np.longdouble)
        self.bound = raw.joined("bound").astype(np.longdouble)
        self.law = np.array([b.law for b in raw.blocks], dtype=int)
        self.of_row = np.repeat(self.law, self.height)
        self.set = np.array([b.friction_set for b in raw.blocks], dtype=int)
        self.mu = np.array([b.friction for b in raw.blocks], dtype=np.longdouble).reshape(-1, 3)
        given = raw.inverse is not None
        self.inverse = raw.inverse.astype(np.longdouble) if given else inverse_of(raw.matrix.astype(np.longdouble))
        v_free = raw.v_free.astype(np.longdouble)
        self.v_free = v_free if raw.missing is None else v_free + self.inverse @ raw.missing.astype(np.longdouble)
        response = self.J @ self.inverse
        diagonal, q, v = np.einsum("ij,ij->i", response, self.J), self.J @ self.v_free + self.bias, self.v_free
        if raw.missing is not None:  # nobody solves with A to know what errors are measured by: its blocks do
            rough, v = inverse_of(self._own_blocks(raw.matrix)), v_free
            diagonal = np.einsum("ij,jk,ik->i", self.J, rough, self.J)
            q = self.J @ (v_free + rough @ raw.missing) + self.bias
        self._measures(diagonal, q, v)
        # what products are made of, for bounds of their rounding
        JJ, AA = np.abs(self.J), np.abs(self.inverse)
        self.condition = AA if given else AA @ np.abs(raw.matrix) @ AA
        terms = int((self.J != 0).sum(axis=1).max(initial=0) + (self.J != 0).sum(axis=0).max(initial=0))
        self.terms = terms + int((self.inverse != 0).sum(axis=1).max(initial=0)) * (1 if given else 3) + 8
        free = np.abs(self.v_free)
        if raw.missing is not None:
            free = free + self.condition @ np.abs(raw.missing)
        self.free_size = JJ @ free + np.abs(self.bias)

    def _own_blocks(self, A: Array) -> Long:
        out, start = np.zeros(A.shape, dtype=np.longdouble), self.raw.column_start
        for a, b in zip(start[:-1], start[1:], strict=True):
            out[a:b, a:b] = A[a:b, a:b]
        return out

    def _measures(self, diagonal: Long, q: Long, v: Long) -> None:
        """Weights of blocks, lengths of torsion, and |q|."""
        n = len(self.law)
        self.diagonal, self.weight = diagonal, np.zeros(n, dtype=np.longdouble)
        self.length = np.ones(n, dtype=np.longdouble)
        counted = q.copy()
        counted[self.of_row == LIMIT] = np.minimum(counted[self.of_row == LIMIT], 0.0)
        for c in range(n):
            i, k = self.row[c], self.height[c]
            self.weight[c] = diagonal[i : i + min(k, 3)].mean()
            if self.law[c] == CONTACT and k > 3:
                if diagonal[i + 3] > 0.0:
                    self.length[c] = np.sqrt(diagonal[i + 1 : i + 3].mean() / diagonal[i + 3])
                counted[i + 3] *= self.length[c] if self.mu[c, 2] > 0.0 else 0.0
        self.size = np.sqrt((counted**2).sum())
        if (self.law != CONTACT).any():
            self.size = max(self.size, NOISE * np.sqrt((v**2).sum()))
        normal = self.row[:-1]
        self.spring = np.where(self.law == CONTACT, self.compliance[normal] if n else 0.0, 0.0)
        self.law_weight = self.weight + self.spring / 3.0
        mobility = np.where(self.of_row == CONTACT, np.repeat(self.weight, self.height), diagonal)
        moves = mobility > 0.0
        self.mobility = np.where(moves, mobility, mobility[moves].mean() if moves.any() else 1.0)

    def velocity(self, lam: Array) -> Long:
        """v (nv,) that the impulses lead to."""
        return self.v_free + self.inverse @ (self.J.T @ lam.astype(np.longdouble))

    def added(self, law: str) -> Long:
        """(m,) compliance of all rows in a law; ``sap`` regularises, the others have what is given."""
        if law != "sap":
            return self.compliance
        contact = self.of_row == CONTACT
        share = np.where(contact, NEAR_RIGID**2 / (4.0 * np.pi**2), HOLDING)
        R = np.maximum(share * self.mobility, self.compliance)
        tangent = contact.copy()
        tangent[self.row[:-1][self.law == CONTACT]] = False
        return np.where(tangent, FRICTION_SHARE * self.mobility, R)

    def judge(self, lam: Array, law: str = "exact", siconos: bool = False, v: Array | None = None) -> Found:
        """The residual of impulses lam (m,) in a law: exact, convex, sap, box or pyramid.

        At the velocities that they lead to, or at v (nv,) where given.
        """
        x = lam.astype(np.longdouble)
        C = self.added(law)
        u = self.J @ (self.velocity(lam) if v is None else v.astype(np.longdouble)) + self.bias + C * x
        caused = self.condition @ (np.abs(self.J).T @ np.abs(x))
        error = self.terms * EPS * (self.free_size + np.abs(self.J) @ caused + 2.0 * C * np.abs(x))
        if v is not None:
            error = self.terms * EPS * (np.abs(self.J) @ np.abs(v) + np.abs(self.bias) + C * np.abs(x))
        weight = np.ones(len(self.law), dtype=np.longdouble) if siconos else self.law_weight
        total = doubt = np.longdouble(0.0)
        for c in range(len(self.law)):
            here = slice(self.row[c], self.row[c + 1])
            F, steep = self._block(c, weight[c], x[here], u[here], law)
            total += (F**2).sum()
            s = np.abs(weight[c] * x[here])
            own = error[here] + self.terms * EPS * (s + np.abs(u[here]))
            doubt += (steep * own.sum()) ** 2
        F, doubt = np.sqrt(total), np.sqrt(doubt)
        size, size_doubt = self.size, self.terms * EPS * np.sqrt((self.free_size**2).sum())
        if siconos:
            size = max(size, np.sqrt((x**2).sum()), np.sqrt((u**2).sum()))
            size_doubt += np.sqrt((error**2).sum())
        undivided = float(max(F - doubt, 0.0)) if size <= max(size_doubt, EPS if siconos else 0.0) else np.inf
        if size == 0.0:
            return Found(float(F), float(doubt), undivided)
        return Found(float(F / size), float((doubt + min(F / size, 1.0) * size_doubt) / size), undivided)

    def _block(self, c: int, w: np.longdouble, lam: Long, u: Long, law: str) -> tuple[Long, float]:
        """F of a block at s = w lam and u, and how much it can change by when s and u do."""
        s, mu, kind = w * lam, self.mu[c], self.law[c]
        if kind != CONTACT:
            if kind == LIMIT:
                return s - np.maximum(s - u, 0.0), 2.0
            if kind == BOUNDED:
                bound = w * self.bound[self.row[c] : self.row[c + 1]]
                return s - np.clip(s - u, -bound, bound), 2.0
            return u, 1.0
        if law == "pyramid":
            p = polygon(s[1:3] - u[1:3], mu[0] * max(s[0], 0.0))
            return np.concatenate([[min(s[0], u[0])], s[1:3] - p]), 2.0 + float(mu[0])
        if self.set[c] == DISC and law != "box":
            opening = 0.0 if law in ("convex", "sap") else mu[0] * np.hypot(u[1], u[2])
            z = s[:3] - u[:3]
            z[0] -= opening
            F = s.copy()  # a row of torsion that the set knows nothing of has no impulse
            F[3:] /= self.length[c]
            F[:3] -= cone(z, mu[0])
            return F, 2.0 + 2.0 * float(mu[0])
        scale = np.ones(len(s), dtype=np.longdouble)
        axes = mu * max(s[0], 0.0)
        if len(s) > 3:
            scale[3] = 1.0 / self.length[c]
            axes[2] /= self.length[c]
        s, u = s * scale, u / scale
        z = np.zeros(3, dtype=np.longdouble)
        z[: len(s) - 1] = (s - u)[1:]
        if self.set[c] == BOX or law == "box":
            p = np.clip(z, -axes, axes)
        else:
            p = ellipsoid(z, axes)
        F = s - np.concatenate([[max(s[0] - u[0], 0.0)], p[: len(s) - 1]])
        return F, (2.0 + float(mu.max())) * float(max(1.0, self.length[c], 1.0 / self.length[c]))

    def momentum(self, lam: Array, v: Array) -> Found:
        """Largest share of the impulses on a body that its momentum has not met; soft bodies count as a whole, and so
        do particles, column blocks of three unknowns, that rows join.

        Linear and angular parts apart, angular ones at the radius of gyration, sqrt(trace of inertia / trace of mass):

            max(|e|, |e'| / r) / (|A (v - v_free)| + ||J|^T |lam|| + NOISE |A v|),     e = A (v - v_free) - J^T lam
        """
        raw = self.raw
        assert raw.matrix is not None
        A, x = raw.matrix.astype(np.longdouble), v.astype(np.longdouble)
        gained = A @ (x - raw.v_free) - (0.0 if raw.missing is None else raw.missing)
        pushes = np.abs(self.J).T @ np.abs(lam)
        error = gained - self.J.T @ lam.astype(np.longdouble)
        doubt = self.terms * EPS * (np.abs(A) @ (np.abs(x) + np.abs(raw.v_free)) + pushes)
        worst = Found(0.0, 0.0)
        for here, rigid in self._bodies():
            weight, angular = np.ones(len(here), dtype=np.longdouble), np.zeros(len(here), dtype=bool)
            if rigid:
                angular[3:] = True
                own = np.diagonal(A)[here]
                weight[3:] = np.sqrt(own[:3].sum() / own[3:].sum())

            def norm(part: Long, chosen: Bools | None = None) -> np.longdouble:
                scaled = weight * part[here]  # noqa: B023  (called in this round)
                return np.sqrt(((scaled if chosen is None else scaled[chosen]) ** 2).sum())

            size = norm(gained) + norm(pushes) + NOISE * norm(A @ x)
            if size > 0.0:
                found = Found(float(max(norm(error, ~angular), norm(error, angular)) / size), float(norm(doubt) / size))
                worst = max(worst, found, key=lambda f: f.residual - f.rounding)
        return worst

    def _bodies(self) -> list[tuple[NDArray[np.int_], bool]]:
        """Unknowns of each body, and whether it is a rigid one with spins.

        Nodes of a soft body, and particles that rows join, are one.
        """
        raw, start = self.raw, self.raw.column_start
        group = np.arange(len(raw.width))
        for first, last in zip(raw.bodies[:-1], raw.bodies[1:], strict=True):
            group[raw.rigid + first : raw.rigid + last] = raw.rigid + first
        if raw.kind == "bodies":
            island = group.copy()
            for _ in raw.blocks:  # as often as a chain of all blocks needs
                for block in raw.blocks:
                    touched = list(block.columns)
                    island[touched] = island[touched].min(initial=len(island))
            group = np.where(np.array(raw.width) == 3, len(group) + island, group)
        out = []
        for name in np.unique(group):
            columns = np.flatnonzero(group == name)
            unknowns = np.concatenate([np.arange(start[b], start[b + 1]) for b in columns])
            out.append((unknowns, raw.width[columns[0]] == 6))
        return out


def inverse_of(A: Long) -> Long:
    """A^-1 of a positive definite matrix, by elimination in long double after scaling its diagonal to one."""
    n = len(A)
    root = np.sqrt(np.diagonal(A))
    work = np.hstack([A / root[:, None] / root, np.eye(n, dtype=np.longdouble)])
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(work[k:, k])))
        work[[k, pivot]] = work[[pivot, k]]
        work[k] /= work[k, k]
        others = np.arange(n) != k
        work[others] -= np.outer(work[others, k], work[k])
    return work[:, n:] / root[:, None] / root


def cone(z: Long, mu: np.longdouble) -> Long:
    """Closest point to z (3,) with |(z_1, z_2)| <= mu z_0."""
    slip = np.hypot(z[1], z[2])
    if z[0] >= 0.0 and slip <= mu * z[0]:
        return z
    if mu * slip <= -z[0]:
        return np.zeros_like(z)
    n = (z[0] + mu * slip) / (1.0 + mu * mu)
    return np.array([n, mu * n * z[1] / slip, mu * n * z[2] / slip])


def ellipsoid(z: Long, axes: Long) -> Long:
    """Closest point to z (3,) with sum (x_i / axes_i)^2 <= 1, by bisection; zero axes allow nothing."""
    p, some = np.zeros_like(z), axes > 0.0
    a, y = axes[some], z[some]
    if not some.any():
        return p
    scale = a.max()
    a, y = a / scale, y / scale
    if ((y / a) ** 2).sum() <= 1.0:
        p[some] = y
    else:
        low, high = np.longdouble(0.0), np.sqrt((y**2).sum())
        for _ in range(300):
            t = 0.5 * (low + high)
            if t in (low, high):
                break
            if ((a * y / (a * a + t)) ** 2).sum() > 1.0:
                low = t
            else:
                high = t
        p[some] = a * a / (a * a + high) * y
    return p * scale


def polygon(z: Long, radius: np.longdouble) -> Long:
    """Closest point to z (2,) in the regular polygon of FACETS sides with a vertex at (radius, 0)."""
    angle = 2.0 * np.pi * np.arange(FACETS + 1) / FACETS
    corner = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.longdouble)
    side = np.diff(corner, axis=0)
    from_corner = z - corner[:-1]
    if (side[:, 0] * from_corner[:, 1] - side[:, 1] * from_corner[:, 0] >= 0.0).all() and radius > 0.0:
        return z
    square = (side**2).sum(axis=1)
    t = np.clip((from_corner * side).sum(axis=1) / np.where(square > 0.0, square, 1.0), 0.0, 1.0)
    near = corner[:-1] + t[:, None] * side
    return near[np.argmin(((near - z) ** 2).sum(axis=1))]
