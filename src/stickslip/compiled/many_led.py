"""Bodies of prescribed motion in many worlds: where motions lead, sampled before the call, as a step takes them.

Motions are functions of time that Python calls. Worlds that are at the same time, as most are, share what was found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints, LongInts
from stickslip.geometry.rotation import conjugate, multiply, rotation_vector
from stickslip.jit import inner_kernel
from stickslip.model.model import Model, motion_pose


class Led(NamedTuple):
    """Samples for the steps that worlds are to take, one after the other."""

    bodies: Ints
    """(k,) that follow a motion."""
    still: Ints
    """(s,) static bodies, where there are bodies of prescribed motion: their velocity is not looked at."""
    first: LongInts
    """(N,) sample of the next step of each world."""
    pose: Array
    """(S, k, 7) at the end of a step."""
    velocity: Array
    """(S, k, 6) mean over it."""


class Motions:
    """Samples of the motions of a model for steps of h [s]."""

    def __init__(self, model: Model, h: float) -> None:
        self.model, self.h = model, h
        self.bodies: Ints = np.array(sorted(model.motions), dtype=np.int32)
        carried = len(model.dynamic) + len(model.static) < model.rigid_count
        self.still: Ints = model.static.astype(np.int32) if carried else np.zeros(0, np.int32)
        self.known: dict[float, Array] = {}
        """Poses (k, 7) by time, of the steps that are being taken."""
        self.none = Led(
            self.bodies, self.still, np.zeros(0, np.int64), np.zeros((1, len(self.bodies), 7)),
            np.zeros((1, len(self.bodies), 6)),
        )  # fmt: skip

    def at(self, time: float) -> Array:
        """(k, 7) poses to which motions lead at a time."""
        if time not in self.known:
            model, bodies = self.model, self.bodies.tolist()
            self.known[time] = np.array([motion_pose(model.body_names[i], model.motions[i], time) for i in bodies])
        return self.known[time]

    def sampled(self, q: Array, time: Array, left: LongInts) -> Led:
        """For worlds at q (N, nq) or (N, nb, 7) and times (N,), of which so many steps (N,) are left."""
        if not len(self.bodies):
            return self.none._replace(first=np.zeros(len(left), np.int64))
        first, poses, velocities, rows = np.zeros(len(left), np.int64), list[Array](), list[Array](), 0
        longest = dict[tuple[float, bytes], int]()
        where = q.reshape(len(left), -1)[:, : 7 * self.model.rigid_count].reshape(len(left), -1, 7)
        starts = [(float(time[k]), where[k, self.bodies].tobytes()) if left[k] else None for k in range(len(left))]
        for start, steps in zip(starts, left.tolist(), strict=True):
            if start is not None:
                longest[start] = max(longest.get(start, 0), steps)
        begun = dict[tuple[float, bytes], int]()
        for (now, own), steps in longest.items():
            begun[now, own] = rows
            rows += steps
            before, at = np.frombuffer(own).reshape(-1, 7), now
            for _ in range(steps):
                at += self.h  # as a state does, one step after the other
                after = self.at(at)
                poses.append(after)
                velocities.append(self._between(before, after))
                before = after
        for k, start in enumerate(starts):
            if start is not None:
                first[k] = begun[start]
        if not rows:
            return self.none._replace(first=first)
        return Led(self.bodies, self.still, first, np.stack(poses), np.stack(velocities))

    def _between(self, before: Array, after: Array) -> Array:
        """(k, 6) mean velocities, as bodies/rigid/advance.prescribed_velocities."""
        found = np.empty((len(before), 6))
        for i in range(len(before)):
            found[i, :3] = (after[i, :3] - before[i, :3]) / self.h
            found[i, 3:] = rotation_vector(multiply(after[i, 3:], conjugate(before[i, 3:]))) / self.h
        return found


@inner_kernel
def put_led(led, sample, v, out):
    """Velocities (nb, 6) that hold in a step: those of a state, with prescribed ones; prescribed_velocities."""
    for i in range(v.shape[0]):
        for k in range(6):
            out[i, k] = v[i, k]
    for s in range(led.still.shape[0]):
        for k in range(6):
            out[led.still[s], k] = 0.0
    for s in range(led.bodies.shape[0]):
        for k in range(6):
            out[led.bodies[s], k] = led.velocity[sample, s, k]
