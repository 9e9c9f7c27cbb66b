"""Observers that watch a run and say at its end what the scene is about; most live beside their scene."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from stickslip.simulation import Simulation, StepResult

Values = dict[str, float | bool]


class Metrics(Protocol):
    """Sees every step of a run; a value that the run was too short for is NaN.

    It may also drive the scene, by what it sets of `Simulation.control` when it is made and when it observes. That is
    the scene's script, which in the viewer a person can take over from (script_switch.py).
    """

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of one step."""
        ...

    def values(self) -> Values:
        """What was measured, by name."""
        ...


MetricsFactory = Callable[[Simulation, Mapping[str, Any]], Metrics]
"""Makes the observer of a run from the simulation at time zero and the scene's parameters."""

DRIFT_START = 1.0
"""[s] time to settle before drift is measured."""


def after(result: StepResult, dt: float, start: float) -> bool:
    """Whether a step ended at or after ``start`` [s], half a step early to be safe from rounding."""
    return result.state.time > start - 0.5 * dt


class Standing:
    """Whether a structure stands, and how far its bodies drift.

    ``stands``: no dynamic body is further than ``tolerance`` [m] from where it started, at the end of the run.
    ``max_drift_mm``: the largest displacement of any body's centre from its place at one second, over all later steps.
    """

    def __init__(self, sim: Simulation, tolerance: float) -> None:
        self.bodies = sim.model.dynamic
        self.start = sim.state.body_pose[self.bodies, :3].copy()
        self.end = self.start
        self.settled = np.full_like(self.start, np.nan)
        self.tolerance = tolerance
        self.drift = np.nan

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of the positions."""
        self.end = result.state.body_pose[self.bodies, :3]
        if after(result, sim.stepping.dt, DRIFT_START):
            if np.isnan(self.drift):
                self.settled, self.drift = self.end, 0.0
            self.drift = max(self.drift, _furthest(self.end, self.settled))

    def values(self) -> Values:
        """``stands`` and ``max_drift_mm``."""
        return {"stands": _furthest(self.end, self.start) < self.tolerance, "max_drift_mm": 1e3 * self.drift}


def _furthest(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    """Largest distance [m] between rows of a and b, both (n, 3)."""
    return float(np.linalg.norm(a - b, axis=1).max())
