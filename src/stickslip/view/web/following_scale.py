"""A scale for numbers that come frame by frame, such as forces: what its longest arrow or last colour stands for."""

from __future__ import annotations

from math import inf

SMALL = 0.25
"""Share of a scale below which numbers are hard to see on it."""
CALM = 30
"""Frames in a row with small numbers after which a scale shrinks: after an impact, what is at rest is seen again."""


class FollowingScale:
    """Grows at once with numbers that do not fit, and shrinks when they have been small for CALM frames in a row."""

    def __init__(self) -> None:
        self._least, self._most = 0.0, inf
        self.restart()

    def limit(self, least: float, most: float = inf) -> None:
        """Keep the scale between two values; from now on it is the first."""
        self._least, self._most = least, most
        self.restart()

    def restart(self) -> None:
        """Forget all numbers."""
        self.value, self._calm, self._recent = self._least, 0, 0.0

    def follow(self, largest: float) -> None:
        """Take note of a frame whose largest number is this one; zero says nothing."""
        if largest >= SMALL * self.value:
            self.value = min(max(self.value, largest), self._most)
            self._calm, self._recent = 0, 0.0
        elif largest > 0.0:
            self._calm, self._recent = self._calm + 1, max(self._recent, largest)
            if self._calm >= CALM:
                self.value = max(self._recent, self._least)
                self._calm, self._recent = 0, 0.0
