"""Rollouts: whole sequences of controls over many worlds, and what came of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip import checks
from stickslip.arrays import Array, Bools
from stickslip.errors import InputError
from stickslip.model.layout import BODY, Layout
from stickslip.names import shown
from stickslip.scene.body import Body
from stickslip.scene.robots import Robot
from stickslip.worlds.certificates import WorldCertificates, joined
from stickslip.worlds.records import Recorded
from stickslip.worlds.sensors import READERS
from stickslip.worlds.states import WorldStates
from stickslip.worlds.worlds import Worlds


@dataclass(frozen=True, eq=False)
class Rollout:
    """What N worlds did at T recorded times."""

    layout: Layout
    time: Array
    """(T, N) [s]"""
    q: Array
    """(T, N, nq) coordinates, as in State."""
    v: Array
    """(T, N, nv)"""
    certificate: WorldCertificates
    """Of the last step before each recorded time; its arrays are (T, N)."""
    diverged: Bools
    """(T, N) worlds that stay where they are."""
    sensors: Mapping[str, Array]
    """By name: (T, N, k), of those that were asked for."""
    checkpoints: Mapping[int, WorldStates]
    """By the number of controls that were applied before: states from which worlds go on bit for bit."""

    def joint_positions(self, robot: Robot) -> Array:
        """(T, N, nq) of a robot."""
        return self.q[:, :, self.layout.q_slice[robot.name]].copy()

    def joint_velocities(self, robot: Robot) -> Array:
        """(T, N, nv) of a robot."""
        return self.v[:, :, self.layout.v_slice[robot.name]].copy()

    def centre(self, body: Body) -> Array:
        """(T, N, 3) [m] centre of mass of a body that is no link of a robot."""
        poses = self.q[:, :, self.layout.q_slice[BODY]]
        if 7 * body.index >= poses.shape[2]:
            raise InputError(f"rollout: {body.name!r} is a link; joint_positions gives where its robot is")
        return poses[:, :, 7 * body.index : 7 * body.index + 3].copy()

    def __repr__(self) -> str:
        times, count = self.time.shape
        return f"Rollout({times} times, {count} worlds, {int(self.diverged[-1].sum()) if times else 0} diverged)"


def rollout(
    worlds: Worlds,
    controls: ArrayLike | Mapping[Any, ArrayLike] | None = None,
    every: int = 1,
    *,
    steps: int | None = None,
    substeps: int = 1,
    sensors: Sequence[tuple[Robot, str]] = (),
    checkpoints: Collection[int] = (),
) -> Rollout:
    """Apply a sequence of controls to all worlds, from where they are, and record what they do.

    controls: of actuators, (T, N, nu) or (T, nu) for the only robot, or a mapping of robots to such; each holds for
    ``substeps`` steps. None: those that are set hold for ``steps`` times as many. every: records after every so many
    controls. sensors: robots and names of their sensors. checkpoints: after how many controls states are kept.
    """
    if not isinstance(worlds, Worlds):
        raise InputError(f"rollout: worlds is {shown(worlds)}; stickslip.Worlds are needed")
    period = checks.whole("rollout", "every", every, 1)
    taken = checks.whole("rollout", "substeps", substeps, 1)
    count, given = _sequence(worlds, controls, steps)
    kept = {checks.whole("rollout", "checkpoint", each, 0, count) for each in checkpoints}
    states = {0: worlds.get_state()} if 0 in kept else {}
    if count < period:
        raise InputError(
            f"rollout: every is {period}, but there are {count} controls: nothing would be recorded; it must be at "
            f"most {count}"
        )
    at_once = any(worlds.sensor_kind(robot, name) not in READERS for robot, name in sensors)
    ends = sorted({*kept, count} - {0})
    if at_once:  # what these read is gone after the next step
        ends = sorted({*ends, *range(period, count + 1, period)})
    parts, read, begin = list[Recorded](), dict[str, list[Array]](), 0
    for end in ends:
        part = {name: numbers[begin:end] for name, numbers in given.items()}
        parts += worlds.run(part, end - begin, taken, period, begin)
        if end in kept:
            states[end] = worlds.get_state()
        if end % period == 0 and at_once:
            for robot, name in sensors:
                read.setdefault(name, []).append(worlds.sensor(robot, name))
        begin = end
    time, q, v, diverged = (np.concatenate([getattr(part, name) for part in parts]) for name in Recorded._fields[:4])
    found = {name: np.stack(each) for name, each in read.items()}
    if not at_once:
        found = {name: worlds.sensor_of_records(robot, name, q, v, time) for robot, name in sensors}
    certificate = joined([part.certificate for part in parts])
    return Rollout(worlds.model.layout, time, q, v, certificate, diverged, found, states)


def _sequence(worlds: Worlds, controls: Any, steps: int | None) -> tuple[int, dict[str, Array]]:
    """How many controls there are, and by robot (T, N, nu)."""
    if controls is None:
        if steps is None:
            raise InputError("rollout: neither controls nor steps are given; give one of them")
        return checks.whole("rollout", "steps", steps, 1), {}
    if steps is not None:
        raise InputError("rollout: controls and steps are given; give one of them")
    arrays = list(controls.values()) if isinstance(controls, Mapping) else [controls]
    if not arrays:
        raise InputError("rollout: controls are an empty mapping; give controls of at least one robot")
    try:
        count = len(arrays[0])
    except TypeError:
        raise InputError(f"rollout: controls are {shown(controls)}; an array (T, N, nu) is needed") from None
    if not count:
        raise InputError("rollout: controls are empty; at least one is needed")
    return count, worlds.controls.given("rollout", controls, (count,))
