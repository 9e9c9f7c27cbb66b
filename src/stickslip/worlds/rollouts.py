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
from stickslip.model.layout import Layout
from stickslip.names import shown
from stickslip.scene.robots import Robot
from stickslip.worlds.certificates import WorldCertificates, stacked
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
    n, records = len(worlds), count // period
    layout = worlds.model.layout
    time, q, v = np.empty((records, n)), np.empty((records, n, layout.q_count)), np.empty((records, n, layout.v_count))
    diverged = np.zeros((records, n), dtype=np.bool_)
    read: dict[str, list[Array]] = {name: [] for _, name in sensors}
    certificates = list[WorldCertificates]()
    for t in range(count):
        if given:
            worlds.controls.set_actuators({name: numbers[t] for name, numbers in given.items()})
        worlds.advance(taken)
        if (t + 1) % period == 0:
            row = (t + 1) // period - 1
            time[row], q[row], v[row], diverged[row] = (
                worlds.time,
                worlds.coordinates,
                worlds.velocities,
                worlds.diverged,
            )
            certificates.append(worlds.certificate)
            for robot, name in sensors:
                read[name].append(worlds.sensor(robot, name))
        if t + 1 in kept:
            states[t + 1] = worlds.get_state()
    if not records:
        raise InputError(
            f"rollout: {count} controls, recorded every {period}, give no record; every must be at most {count}"
        )
    return Rollout(
        layout,
        time,
        q,
        v,
        stacked(certificates),
        diverged,
        {name: np.stack(each) for name, each in read.items()},
        states,
    )


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
