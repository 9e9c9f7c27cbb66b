"""How the built-in humanoid gets up from lying: key postures that its drives follow, found by a search.

From its front it draws its knees up under its body with its hands on the ground, comes to squat on its feet and rises;
from its back it rolls over first. Numbers are those that ``examples/humanoid_gets_up.py --search`` prints: random
search over postures in many worlds at once, each judged by how high and how well above its feet the robot ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array

BOTH_SIDES = ("abdomen_y", "hip_x", "hip_z", "hip_y", "knee", "ankle_y", "shoulder1", "shoulder2", "elbow")
"""What a posture that is the same on both sides tells, [deg] of the right side; other joints are at zero."""
LEAST = np.array([-75.0, -25.0, -60.0, -110.0, -160.0, -50.0, -85.0, -85.0, -90.0])
MOST = np.array([30.0, 5.0, 35.0, 20.0, 2.0, 50.0, 60.0, 60.0, 50.0])
"""[deg] ranges of these joints."""
CROUCH = np.array([-35.0, 0.0, 0.0, -77.67, -115.0, -45.0, 0.0, 0.0, 0.0])
LIES = {
    "prone": (0.16, 90.0, (0.0, 0.0, 0.0, 0.0, 0.0, 40.0, -65.0, -80.0, -50.0)),
    "supine": (0.15, -90.0, (0.0, 0.0, 0.0, 0.0, 0.0, 20.0, 0.0, 0.0, 0.0)),
}
"""Height [m] and pitch [deg] of the torso of a robot that lies, and its posture."""
RESTS, EACH, TOLD = 0.4, 0.24, 0.02
"""[s] before the first posture, from each to the next, and after which drives are told anew where to be."""
ROLL, LIES_STILL, SQUATS = 0.4, 0.8, 0.96
"""[s] of each posture while it rolls over, after that, and squatting."""
LEG, ARM = ("hip_x", "hip_z", "hip_y", "knee", "ankle_y", "ankle_x"), ("shoulder1", "shoulder2", "elbow")
JOINTS = (
    "abdomen_z", "abdomen_y", "abdomen_x",
    *(f"{side}_{joint}" for limb in (LEG, ARM) for side in ("right", "left") for joint in limb),
)  # fmt: skip
ROLLS: tuple[tuple[float, ...], ...] = (
    (45, 20, -35, -1, 25, -79, -44, -40, 1, 2, -9, -20, -97, 18, 19, 38, 19, -87, -18, -27, 25),
    (-1, 30, 23, 5, -1, -39, 1, -18, -23, -10, 11, -3, -58, -1, -2, 20, 44, -85, -1, -5, -38),
    (-40, -8, -26, -23, -17, 18, -14, 8, 3, -1, 29, -19, -30, 50, -2, -19, 10, 48, 36, -9, 41),
)  # fmt: skip
"""[deg] of JOINTS: from its back onto its front."""
GETS_UP: tuple[tuple[float, ...], ...] = (
    (-57, -17, 1, -94, -116, 31, -24, -45, 50),
    (-44, 2, -38, -76, -118, -10, -12, -34, 31),
    (-27, -15, -58, -94, 2, -43, -47, -40, 19),
    (30, -18, -46, -102, -13, -37, -85, 40, -90),
    (28, -14, -16, -3, -47, 42, 19, -64, -66),
)
"""[deg] of BOTH_SIDES: from its front to a squat."""


def both_sides(names: Sequence[str], postures: ArrayLike) -> Array:
    """(..., n) [rad] targets of joints of these names in postures (..., 9) [deg]."""
    given = np.asarray(postures, dtype=np.float64)
    found = np.zeros((*given.shape[:-1], len(names)))
    for k, name in enumerate(names):
        joint = name.removeprefix("right_").removeprefix("left_")
        if joint in BOTH_SIDES:
            sign = -1.0 if name.startswith("left_shoulder") else 1.0
            found[..., k] = sign * np.radians(given[..., BOTH_SIDES.index(joint)])
    return found


def lying(how: str, names: Sequence[str]) -> Array:
    """(7 + n,) coordinates of a robot that lies."""
    height, pitch, posture = LIES[how]
    half = 0.5 * math.radians(pitch)
    return np.array([0.0, 0.0, height, math.cos(half), 0.0, math.sin(half), 0.0, *both_sides(names, posture)])


class Course:
    """Where drives lead a robot from lying until it squats."""

    def __init__(self, start: str, names: Sequence[str]) -> None:
        """start: "prone", "supine", or "crouch", where there is nothing to do; names: of the drives."""
        self.times, self.postures = [0.0], [np.zeros(len(names))]
        if start in LIES:
            self.postures = [both_sides(names, LIES[start][2])]
            self._then(RESTS, self.postures[0])
        if start == "supine":
            for posture in ROLLS:
                self._then(ROLL, np.radians([dict(zip(JOINTS, posture, strict=True))[name] for name in names]))
            front = both_sides(names, LIES["prone"][2])
            self._then(ROLL, front)
            self._then(LIES_STILL, front)
        if start in LIES:
            for row in GETS_UP:
                self._then(EACH, both_sides(names, row))
            self._then(EACH, both_sides(names, CROUCH))
            self._then(SQUATS, both_sides(names, CROUCH))

    @property
    def ends(self) -> float:
        """[s] when the robot squats."""
        return self.times[-1]

    def at(self, time: float) -> Array:
        """(n,) [rad] targets at a time, evenly between postures, which drives are told every TOLD."""
        told = TOLD * math.ceil(time / TOLD - 1e-6)
        k = min(max(int(np.searchsorted(self.times, told)), 1), len(self.times) - 1)
        share = min(max((told - self.times[k - 1]) / (self.times[k] - self.times[k - 1]), 0.0), 1.0)
        return np.asarray(self.postures[k - 1] + share * (self.postures[k] - self.postures[k - 1]))

    def _then(self, seconds: float, posture: Array) -> None:
        self.times.append(self.times[-1] + seconds)
        self.postures.append(posture)
