"""What tasks of arms have in common: targets of drives that actions move, and where a tool is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.learning.task import Moment
from stickslip.scene.robots import Robot
from stickslip.worlds.sensors import matrices


def moved_targets(moment: Moment, actions: Array, step: float, robot: Robot, drives: Sequence[int]) -> Array:
    """Controls (N, nu) of a robot whose ``drives`` actions (N, k) move by up to ``step`` [rad or m], within ranges."""
    target = moment.memory["controls"]
    ranges = np.array([robot.record.actuators[d].control_range for d in drives])
    target[:, drives] = np.clip(target[:, drives] + step * actions, ranges[:, 0], ranges[:, 1])
    return target.copy()


def start_targets(moment: Moment, worlds: LongInts, robot: Robot) -> None:
    """Drives hold what the scene's start says."""
    start = moment.worlds.controls.start.actuators[robot.name][:, 0]
    if "controls" not in moment.memory:
        moment.memory["controls"] = np.tile(start, (len(moment.worlds), 1))
    moment.memory["controls"][worlds] = start


def tool(moment: Moment, robot: Robot, site: str) -> tuple[Array, Array]:
    """Positions (N, 3) [m] of a site, and rotation matrices (N, 3, 3) of its link."""
    own = next(each for each in robot.record.sites if each.name == site)
    assert own.link is not None
    at, turn = moment.worlds.link_pose(robot, own.link)
    R = matrices(turn)
    return at + np.einsum("nij,j->ni", R, np.array(own.position)), R


def keep(moment: Moment, name: str, worlds: LongInts, rows: Array) -> None:
    """Remember rows (n, k) of some worlds."""
    if name not in moment.memory:
        moment.memory[name] = np.zeros((len(moment.worlds), rows.shape[1]))
    moment.memory[name][worlds] = rows


def distance(a: Array, b: Array) -> Array:
    """(N,) between points (N, k)."""
    return np.asarray(np.linalg.norm(a - b, axis=1))
