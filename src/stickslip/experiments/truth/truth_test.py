"""What a truth test is: a scene, the number to measure on its run, the truth and the bar."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stickslip.experiments.truth.mechanisms import RobotScene
from stickslip.experiments.truth.scenes import SceneData


@dataclass(frozen=True)
class Measurement:
    """The measured number in the test's unit, whether it is within the bar, and one line on what else was seen."""

    value: float
    ok: bool
    note: str = ""


@dataclass(frozen=True)
class TruthTest:
    """One test: `truth` and `bar` (largest accepted deviation from it) are in `unit`."""

    name: str
    family: str
    scene: SceneData | RobotScene
    unit: str
    truth: float
    bar: float
    measure: Callable[[Any], Measurement]
    """Of a Trajectory, or of the RobotRun of a RobotScene."""
