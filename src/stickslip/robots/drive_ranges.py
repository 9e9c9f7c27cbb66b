"""Controls that drives of robots take, from one end to the other, as their records say."""

from __future__ import annotations

from math import inf, isfinite, pi
from typing import NamedTuple

from stickslip.robots.records import Actuator, RobotRecord, TreeJoint

TURN, SLIDE = pi, 0.5
"""[rad, m] to both sides of zero where nothing limits a drive."""
PUSH = 100.0
"""[N or N m] the same for forces."""


class DriveRange(NamedTuple):
    """Controls from the lowest to the highest."""

    low: float
    high: float
    unit: str
    """Empty where it is a number of the file's own."""


def drive_range(record: RobotRecord, actuator: Actuator) -> DriveRange:
    """Range of an actuator: what its file allows, limits of its joint, or a usual one."""
    joints = {joint.name: joint for link in record.links for joint in link.joints}
    low, high, unit = _natural_range(actuator, [(joints[name], factor) for name, factor in actuator.terms])
    if actuator.control_range is not None and all(map(isfinite, actuator.control_range)):
        low, high = actuator.control_range
    return DriveRange(low, high if high > low else low + 1.0, unit)


def pushes(actuator: Actuator) -> bool:
    """Whether its control is a force along its length, and not where or how fast that shall be."""
    return actuator.kind in ("motor", "general") and actuator.bias[1] == 0.0 and actuator.gain != 0.0


def _natural_range(actuator: Actuator, terms: list[tuple[TreeJoint, float]]) -> DriveRange:
    slides = bool(terms) and terms[0][0].kind == "prismatic"
    if actuator.kind == "position":
        ends = [sorted(factor * x for x in _limits(joint)) for joint, factor in terms]
        low, high = (float(sum(end[side] for end in ends)) for side in (0, 1))
        return DriveRange(low, high, "m" if slides else "rad")
    if actuator.kind == "velocity":
        fastest = sum(abs(factor) * min(joint.speed, 2.0 * (SLIDE if slides else TURN)) for joint, factor in terms)
        return DriveRange(-fastest, fastest, "m/s" if slides else "rad/s")
    if actuator.kind == "motor":
        strong = min((joint.effort for joint, _ in terms), default=inf)
        low, high = actuator.force_range or (-strong, strong)
        gain = abs(actuator.gain) or 1.0
        low, high = (side / gain if isfinite(side) else usual for side, usual in ((low, -PUSH), (high, PUSH)))
        return DriveRange(low, high, "N" if slides else "N m")
    if pushes(actuator) and actuator.bias[0] != 0.0:  # beside a force that it has by itself
        most = 2.0 * abs(actuator.bias[0] / actuator.gain)
        return DriveRange(-most, most, ("N" if slides else "N m") if actuator.gain == 1.0 else "")
    return DriveRange(-1.0, 1.0, "")


def _limits(joint: TreeJoint) -> tuple[float, float]:
    usual = SLIDE if joint.kind == "prismatic" else TURN
    low, high = joint.limits or (-usual, usual)
    return (low if isfinite(low) else -usual), (high if isfinite(high) else usual)
