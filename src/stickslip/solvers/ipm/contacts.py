"""Contacts of an interior point: pairs (x, z) inside second-order cones, De Saxce's correction differentiated.

Legend: x impulses and w velocities in coordinates in which cones are x_0 >= |x_t|; z = w + g(w) e, the velocity that
De Saxce's change of variable opens, g(w) = sqrt(|w_t|^2 + eps^2), d = dg/dw_t; W, s as in lorentz.py; tau the target.

    W^-1 dx + W dz = -s + s \\ (tau e - correction),     dz = (1 + e d^T) dw - p,     p = z - w - g(w) e

so that dx = h - G dw with G = W W (1 + e d^T), which is not symmetric. eps is the share ``smoothing`` of what
the slip of a sticking contact is on the central path, tau / x_0, and vanishes with it.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Bools, LongInts
from stickslip.solvers.ipm.lorentz import Scaling, longest_step, product, quotient, scaling, size, times


class Contacts:
    """The contacts of a problem; rows (k,) of the problem stand at ``place`` of arrays (n, 4)."""

    def __init__(
        self, rows: LongInts, place: tuple[LongInts, LongInts], count: int, start: float, smoothing: float
    ) -> None:
        self.rows, self.place, self.count, self.smoothing = rows, place, count, smoothing
        self.x, self.z = np.zeros((count, 4)), np.zeros((count, 4))
        self.x[:, 0] = self.z[:, 0] = start
        self.dx, self.dz = np.zeros((count, 4)), np.zeros((count, 4))
        self.p = self.d = self.x
        self.scaled: Scaling

    def gathered(self, values: Array) -> Array:
        """(n, 4) of values (m,) of rows."""
        found = np.zeros((self.count, 4))
        found[self.place] = values[self.rows]
        return found

    def complementarity(self, share: float = 0.0) -> float:
        """Sum of x . z after so much of the step."""
        return float(((self.x + share * self.dx) * (self.z + share * self.dz)).sum())

    def measure(self, w: Array, gap: float) -> float:
        """Take velocities w (m,); returns how far z is from w + g(w) e, as a sum of products with impulses."""
        own = self.gathered(w)
        slip = np.sqrt((own[:, 1:] ** 2).sum(axis=1) + (self.smoothing * gap / self.x[:, 0]) ** 2)
        self.p = self.z - own
        self.p[:, 0] -= slip
        self.d = own[:, 1:] / np.maximum(slip, 1e-300)[:, None]
        return float((np.sqrt((self.p**2).sum(axis=1)) * self.x[:, 0]).sum())

    def linearise(self, G_out: Array) -> None:
        """Write G into (m, 4), in as many columns as a contact has rows."""
        self.scaled = scaling(self.x, self.z)
        G = self.scaled.square.copy()
        G[:, :, 1:] += self.scaled.square[:, :, :1] * self.d[:, None, :]
        self.G = G
        G_out[self.rows] = G[self.place]

    def right_side(self, tau: float, corrected: bool, h_out: Array) -> None:
        """Write h into (m,): for the affine step (tau 0), or ``corrected`` by products of the last one."""
        found, s = self.scaled, self.scaled.s
        wanted = -s
        if corrected:
            target = -product(times(found.inverse, self.dx), times(found.W, self.dz))
            target[:, 0] += tau
            wanted = wanted + quotient(s, target)
        self.h = times(found.W, wanted) + times(found.square, self.p)
        h_out[self.rows] = self.h[self.place]

    def respond(self, dw: Array) -> None:
        """Find the step from that of velocities (m,)."""
        own = self.gathered(dw)
        self.dx = self.h - times(self.G, own)
        self.dz = own - self.p
        self.dz[:, 0] += (self.d * own[:, 1:]).sum(axis=1)

    def longest(self) -> float:
        """The largest share of the step that stays inside."""
        return min(longest_step(self.x, self.dx), longest_step(self.z, self.dz))

    def move(self, share: float) -> None:
        """Take so much of the step."""
        self.x = self.x + share * self.dx
        self.z = self.z + share * self.dz

    def write(self, x_out: Array) -> None:
        """Write x into (m,)."""
        x_out[self.rows] = self.x[self.place]

    def inside(self) -> Bools:
        """(n,) whether rounding has left both inside."""
        return (self.x[:, 0] > size(self.x)) & (self.z[:, 0] > size(self.z))
