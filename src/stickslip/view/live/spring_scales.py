"""How stiff and how strong springs of the mouse are."""

from __future__ import annotations

from math import pi

FREQUENCY = 2.0 * pi * 3.0
"""[rad/s] least one of what hangs on the spring."""
STABLE = 0.5
"""Largest angle [rad] by which the spring may turn its point's phase in a step: its force is explicit."""
WEIGHTS = 20.0
"""Pull of a long spring, in weights of what hangs on it."""
WEIGHT = 9.81
"""[m/s^2] that weights are counted with, in scenes without gravity, too."""
