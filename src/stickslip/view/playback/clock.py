"""Which recorded frame is due: a clock that plays, stands still, jumps and loops."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from stickslip.arrays import Array

SPEEDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds of the recording that pass in one second."""


class PlaybackClock:
    """Plays times (n,) [s], rising, in real time or at another speed; safe to use from several threads."""

    def __init__(self, times: Array, now: Callable[[], float] = time.perf_counter) -> None:
        self._times, self._now = times, now
        self._lock = threading.RLock()
        self._position = float(times[0])
        self._started: float | None = None
        self._speed = 1.0
        self.loop = False
        """Whether the first frame follows the last one."""

    @property
    def playing(self) -> bool:
        """Whether time passes; it no longer does after the last frame."""
        with self._lock:
            self._advance()
            return self._started is not None

    @property
    def speed(self) -> float:
        """Seconds of the recording per second."""
        return self._speed

    @speed.setter
    def speed(self, value: float) -> None:
        with self._lock:
            self._advance()
            self._speed = value

    @property
    def frame(self) -> int:
        """The last frame that is due."""
        with self._lock:
            self._advance()
            found = int(np.searchsorted(self._times, self._position + 1e-9, side="right")) - 1
            return max(0, found)

    def play(self) -> None:
        """Go on; from the start if it is at the end."""
        with self._lock:
            if self._position >= self._times[-1]:
                self._position = float(self._times[0])
            self._started = self._now()

    def pause(self) -> None:
        """Stand still."""
        with self._lock:
            self._advance()
            self._started = None

    def toggle(self) -> None:
        """Play or pause."""
        with self._lock:
            if self.playing:
                self.pause()
            else:
                self.play()

    def seek(self, frame: int) -> None:
        """Jump to a frame; one outside becomes the first or the last."""
        with self._lock:
            self._position = float(self._times[min(max(frame, 0), len(self._times) - 1)])
            if self._started is not None:
                self._started = self._now()

    def step(self, frames: int) -> None:
        """Stand still some frames further; negative: back."""
        with self._lock:
            self.pause()
            self.seek(self.frame + frames)

    def faster(self, steps: int) -> None:
        """The next of SPEEDS; negative: slower."""
        at = int(np.abs(np.log(np.array(SPEEDS) / self._speed)).argmin())
        self.speed = SPEEDS[min(max(at + steps, 0), len(SPEEDS) - 1)]

    def _advance(self) -> None:
        """Let the time pass that has passed."""
        if self._started is None:
            return
        now = self._now()
        self._position += self._speed * (now - self._started)
        self._started = now
        first, last = float(self._times[0]), float(self._times[-1])
        if self._position < last:
            return
        if self.loop and last > first:
            # the last frame is seen for as long as the others
            length = (last - first) * len(self._times) / (len(self._times) - 1)
            self._position = first + (self._position - first) % length
        else:
            self._position, self._started = last, None
