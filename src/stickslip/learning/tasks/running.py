"""What tasks of robots that run have in common: speed forwards, effort, starts with noise."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.learning.task import Moment, Task


def forwards(task: Task, moment: Moment, column: int = 0) -> Array:
    """(N,) [m/s] mean speed along x since the last call or reset."""
    x = moment.worlds.joint_positions(moment.robot)[:, column]
    speed = (x - moment.memory["x"]) / (task.dt * task.substeps)
    moment.memory["x"] = x
    return np.asarray(speed)


def effort(moment: Moment) -> Array:
    """(N,) sum of the squares of actions."""
    return np.asarray((moment.action**2).sum(axis=1))


def start_near(moment: Moment, worlds: LongInts, noise: float, speed_noise: float, floating: bool) -> None:
    """Posture of the scene and rest, with uniform noise in all joints; a floating base keeps its pose."""
    q = moment.worlds.joint_positions(moment.robot)[worlds]
    v = moment.worlds.joint_velocities(moment.robot)[worlds]
    first = 7 if floating else 0
    q[:, first:] += moment.draw(worlds, q.shape[1] - first, -noise, noise)
    moment.worlds.set_joint_positions(moment.robot, q, worlds)
    moment.worlds.set_joint_velocities(
        moment.robot, v + moment.draw(worlds, v.shape[1], -speed_noise, speed_noise), worlds
    )
    if "x" not in moment.memory:
        moment.memory["x"] = np.zeros(len(moment.worlds))
    moment.memory["x"][worlds] = q[:, 0]


def planar(moment: Moment) -> Array:
    """(N, 2 n - 1) observation of a robot in the plane: all coordinates but x [m, rad], velocities up to 10."""
    worlds, robot = moment.worlds, moment.robot
    q, v = worlds.joint_positions(robot), worlds.joint_velocities(robot)
    return np.concatenate([q[:, 1:], np.clip(v, -10.0, 10.0)], axis=1)
