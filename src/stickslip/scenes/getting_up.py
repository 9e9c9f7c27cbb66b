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
