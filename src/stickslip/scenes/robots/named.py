"""A robot by its name, or from a file: what scenes take as ``robot``."""

from __future__ import annotations

from pathlib import Path

from stickslip.errors import InputError
from stickslip.names import shown
from stickslip.robots.reading import read_robot
from stickslip.robots.records import RobotRecord
from stickslip.scenes.robots.registry import ROBOTS


def robot_of(scene: str, name: str) -> RobotRecord:
    """The robot built in of that name, or that of a file."""
    if name in ROBOTS:
        return ROBOTS[name].build()
    if not Path(name).exists():
        raise InputError(f"{scene}: robot is {shown(name)}; give a file or one of {', '.join(ROBOTS)}")
    return read_robot(name)
