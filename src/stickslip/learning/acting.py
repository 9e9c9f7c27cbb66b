"""Actions of a task as controls of actuators, delayed where worlds have a latency."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.errors import InputError
from stickslip.learning.task import Moment, Task
from stickslip.names import shown
from stickslip.scene.robots import Robot
from stickslip.worlds.certificates import WorldCertificates
from stickslip.worlds.worlds import Worlds


class Actions:
    """Applies actions (N, k) in -1 to 1, each for some steps of the simulation."""

    def __init__(self, task: Task, worlds: Worlds, substeps: int, latency: float) -> None:
        """``latency`` [s]: the longest."""
        self.task, self.worlds, self.substeps = task, worlds, substeps
        self.controlled = worlds.controls.controlled
        if task.act is None:
            if len(self.controlled) != 1:
                raise InputError(
                    f"task {task.name!r}: its scene has {len(self.controlled)} robots with actuators; give act"
                )
            middle, half = ranges(worlds.robots[self.controlled[0]])
            self.middle, self.half = middle, half
            self.count = len(middle)
        elif task.actions is None:
            raise InputError(f"task {task.name!r}: it has act, but not how many actions there are; give actions")
        else:
            self.count = task.actions
        self.kept = math.ceil(latency / (task.dt * substeps) - 1e-9)
        """Controls before the present ones that may still hold."""
        self.past: list[dict[str, Array]] = []

    def controls(self, moment: Moment, actions: Array) -> Mapping[str, Array]:
        """Controls (N, nu) of actuators by robot."""
        if self.task.act is None:
            return {self.controlled[0]: self.middle + self.half * actions}
        found = self.task.act(moment, actions)
        return self.worlds.controls.given(f"task {self.task.name!r}", found, ())

    def forget(self, chosen: LongInts) -> None:
        """What was done before in some worlds no longer holds: the controls of the start do."""
        for each in self.past:
            for name, numbers in each.items():
                numbers[chosen] = self.worlds.controls.start.actuators[name][:, 0]

    def apply(self, moment: Moment, actions: Array, latency: Array) -> WorldCertificates:
        """Take the steps; certificates (R, N) of all of them."""
        now, steps, n = dict(self.controls(moment, actions)), self.substeps, len(self.worlds)
        if self.kept:
            now = {name: np.array(numbers) for name, numbers in now.items()}
            start = self.worlds.controls.start.actuators
            while len(self.past) < self.kept:
                self.past.append({name: np.tile(start[name][:, 0], (n, 1)) for name in now})
            late = np.rint(latency / self.task.dt).astype(np.int64)
            ago = np.ceil((late - np.arange(steps)[:, None]) / steps).clip(0, self.kept).astype(np.int64)
            rows = np.arange(n)
            given = {name: np.stack([now[name], *(p[name] for p in self.past)])[ago, rows] for name in now}
            self.past = [now, *self.past][: self.kept]
        else:
            given = {name: np.broadcast_to(each, (steps, *each.shape)) for name, each in now.items()}
        return self.worlds.run(given, steps, 1, 1, 0)[0].certificate


def ranges(robot: Robot) -> tuple[Array, Array]:
    """Middles and half widths (nu,) of what the actuators of a robot take."""
    low, high = [], []
    for each in robot.record.actuators:
        span = each.control_range
        if span is None or not np.isfinite(span).all():
            raise InputError(
                f"robot {robot.name!r}: actuator {each.name!r} has the control range {shown(span)}; actions need a "
                "finite one, or give act"
            )
        low.append(span[0])
        high.append(span[1])
    return 0.5 * (np.array(low) + np.array(high)), 0.5 * (np.array(high) - np.array(low))
