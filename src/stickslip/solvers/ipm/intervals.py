"""Rows of an interior point that are no contacts: impulses between two ends, either of which may be infinite.

Legend: x impulses, w velocities, C compliance, low <= x <= high; a, b >= 0 what pushes from either end, tau the target.

    w + C x = a - b,     a (x - low) = tau,     b (high - x) = tau

Limits have low = 0, drives and dry friction two finite ends, joints none: all get a small
compliance, which is a proximal term since w + C x is brought to a - b without it.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, LongInts

PROXIMAL = 1e-7
"""Added compliance, in units of the rows' mobility."""


class Intervals:
    """The rows ``rows`` (k,) of a problem."""

    def __init__(self, rows: LongInts, low: Array, high: Array, compliance: Array, size_of_start: float) -> None:
        self.rows, self.low, self.high, self.C = rows, low, high, compliance
        self.below, self.above = np.isfinite(low), np.isfinite(high)
        self.count = int(self.below.sum() + self.above.sum())
        both = self.below & self.above
        half = np.where(both, 0.5 * (np.where(both, high, 0.0) - np.where(both, low, 0.0)), size_of_start)
        self.fixed = both & (half <= 0.0)
        """No impulse is allowed: the row is left out."""
        self.x = np.where(self.below, np.where(self.below, low, 0.0) + half, 0.0)
        push = size_of_start * np.minimum(1.0, size_of_start / np.maximum(half, 1e-300))  # ends may be far away
        self.a, self.b = np.where(self.below, push, 0.0), np.where(self.above, push, 0.0)
        self.dx, self.da, self.db = np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows))

    def _ends(self, x: Array) -> tuple[Array, Array]:
        """Distances from both ends, 1 where there is none."""
        return np.where(self.below, x - self.low, 1.0), np.where(self.above, self.high - x, 1.0)

    def complementarity(self, share: float = 0.0) -> float:
        """Sum of a (x - low) and b (high - x) after so much of the step."""
        low, high = self._ends(self.x + share * self.dx)
        both = np.where(self.fixed, 0.0, (self.a + share * self.da) * low + (self.b + share * self.db) * high)
        return float(both.sum())

    def measure(self, w: Array, gap: float) -> float:
        """Take velocities w (m,); returns how far they are from what pushes, as a sum of products with impulses."""
        self.p = w[self.rows] + self.C * self.x - self.a + self.b
        return float(np.abs(self.p * self.x).sum())

    def linearise(self, G_out: Array) -> None:
        """Write G into the first column of (m, 4)."""
        self.low_end, self.high_end = self._ends(self.x)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = self.C + PROXIMAL + self.a / self.low_end + self.b / self.high_end
            self.G = np.where(self.fixed, 0.0, 1.0 / np.maximum(slope, 1e-300))
        G_out[self.rows, 0] = self.G

    def right_side(self, tau: float, corrected: bool, h_out: Array) -> None:
        """Write h into (m,): for the affine step (tau 0), or ``corrected`` by products of the last one."""
        low = tau - self.da * self.dx if corrected else np.zeros(len(self.rows))
        high = tau + self.db * self.dx if corrected else np.zeros(len(self.rows))
        with np.errstate(divide="ignore", invalid="ignore"):
            self.to_a = np.where(self.below & ~self.fixed, low / self.low_end - self.a, 0.0)
            self.to_b = np.where(self.above & ~self.fixed, high / self.high_end - self.b, 0.0)
        self.h = self.G * (self.to_a - self.to_b - self.p)
        h_out[self.rows] = self.h

    def respond(self, dw: Array) -> None:
        """Find the step from that of velocities (m,)."""
        self.dx = self.h - self.G * dw[self.rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            self.da = np.where(self.fixed, 0.0, self.to_a - self.a * self.dx / self.low_end)
            self.db = np.where(self.fixed, 0.0, self.to_b + self.b * self.dx / self.high_end)

    def longest(self) -> float:
        """The largest share of the step that stays inside."""
        longest = np.inf
        pairs = (self.low_end, self.dx), (self.a, self.da), (self.high_end, -self.dx), (self.b, self.db)
        for (value, change), has in zip(pairs, (self.below, self.below, self.above, self.above), strict=True):
            falls = has & ~self.fixed & (change < 0.0)
            if falls.any():
                longest = min(longest, float((-value[falls] / change[falls]).min()))
        return longest

    def move(self, share: float) -> None:
        """Take so much of the step."""
        self.x = self.x + share * self.dx
        self.a, self.b = self.a + share * self.da, self.b + share * self.db

    def write(self, x_out: Array) -> None:
        """Write x into (m,)."""
        x_out[self.rows] = self.x
