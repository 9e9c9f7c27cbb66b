"""Joint positions with which a link of a robot follows a pose that moves, step by step."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from stickslip import checks
from stickslip.arrays import Array
from stickslip.bodies.tree.compiling import joint_places
from stickslip.bodies.tree.differential_kinematics import Bounds, followed, pose_error
from stickslip.errors import InputError
from stickslip.geometry import rotation as rotations
from stickslip.keywords import unknown
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.reading_robots import joint_positions, link_number, trees_of
from stickslip.scene.robots import Robot

IDENTITY = (1.0, 0.0, 0.0, 0.0)
SPEED, ANGULAR_SPEED = 1.0, 3.0
"""[m/s] and [rad/s] of the frame at most, where nobody says otherwise: with those that a pose far away would need, the
posture would tremble about the one that is nearest to it."""
KEEPS = 0.5
"""[1/s] at which joints go back to their first posture, as far as the pose leaves a choice."""


class PoseFollower:
    """Follows a pose with a link or site of a robot, by differential inverse kinematics.

    It keeps a posture of its own, ``q`` (nq,), which is what drives should aim at: loads that push the robot aside do
    not change it. ``follow`` takes that posture one step further, within the ranges and speeds of joints::

        follower = sim.pose_follower(robot, "hand")
        position, velocity = follower.follow((0.5, 0.0, 0.3), (0, 1, 0, 0), sim.stepping.dt)
        sim.set_control(robot, position=position, velocity=velocity)
    """

    def __init__(
        self, model: Model, state: State, robot: Robot, on: str, *, point: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike = IDENTITY, joints: Iterable[str] | None = None, speed: float = SPEED,
        angular_speed: float = ANGULAR_SPEED,
    ) -> None:  # fmt: skip
        """``on``: a link, or a site of one; the frame that follows is at ``point`` [m] and ``rotation`` in its frame.

        joints: those that move; by default all between it and the root of the robot that have a position drive. speed
        [m/s] and angular_speed [rad/s]: of the frame, at most.
        """
        where = f"robot {robot.name!r}, pose follower"
        self.robot, self._trees = robot, trees_of(model, robot)
        at, turn = checks.vector(where, "point", point), checks.unit_quaternion(where, rotation)
        site = next((each for each in robot.record.sites if each.name == on and each.link is not None), None)
        if site is not None and site.link is not None:
            on = site.link
            at = np.asarray(site.position) + rotations.matrix(site.rotation) @ at
            turn = rotations.multiply(site.rotation, turn)
        self._link, self._local = link_number(robot, on), (at, turn)
        for what, value in (("speed", speed), ("angular_speed", angular_speed)):
            if value != inf:
                checks.positive(where, what, value)
        self._most = float(speed), float(angular_speed)
        self.joints = self._chosen(where, on, joints)
        """Names of the joints that move."""
        places = joint_places(robot.record.links)
        chosen = [places[name] for name in self.joints]
        limits = [each.joint.limits or (-inf, inf) for each in chosen]
        self._bounds = Bounds(
            np.array([each.v for each in chosen]), np.array([each.q for each in chosen]),
            np.array([low for low, _ in limits]), np.array([high for _, high in limits]),
            # some files say 0 where no speed is known
            np.array([each.joint.speed if each.joint.speed > 0.0 else inf for each in chosen]),
        )  # fmt: skip
        self.restart(joint_positions(model, state, robot))

    def restart(self, q: ArrayLike) -> None:
        """Begin again at a posture q (nq,), which is also what it prefers where a pose leaves a choice."""
        self.q = checks.array(f"robot {self.robot.name!r}, pose follower", "q", q, self._trees.q_start.shape).copy()
        """(nq,) posture that drives should aim at."""
        self._posture = self.q[self._bounds.coordinates]

    def follow(
        self, position: ArrayLike, rotation: ArrayLike | None, dt: float
    ) -> tuple[dict[str, float], dict[str, float]]:  # fmt: skip
        """Positions and velocities by joint for the end of the coming step of ``dt`` [s].

        position (3,) [m], rotation (w, x, y, z) or None for any: the pose at the end of the step, world frame.
        """
        goal, h = self._goal(position, rotation), checks.positive(f"robot {self.robot.name!r}", "dt", dt)
        b = self._bounds
        rates = followed(
            self._trees, self.q, self._link, self._local, goal, b, self._most, self._posture, KEEPS, h
        )  # fmt: skip
        self.q = self.q.copy()
        self.q[b.coordinates] = np.clip(self.q[b.coordinates] + h * rates, b.lower, b.upper)
        return (
            dict(zip(self.joints, self.q[b.coordinates].tolist(), strict=True)),
            dict(zip(self.joints, rates.tolist(), strict=True)),
        )

    def error(self, position: ArrayLike, rotation: ArrayLike | None = None) -> tuple[float, float]:
        """How far the frame in its posture is from a pose [m], [rad]."""
        missing, _ = pose_error(self._trees, self.q, self._link, self._local, self._goal(position, rotation))
        return float(np.linalg.norm(missing[:3])), float(np.linalg.norm(missing[3:]))

    def _goal(self, position: ArrayLike, rotation: ArrayLike | None) -> tuple[Array, Array | None]:
        where = f"robot {self.robot.name!r}, pose follower"
        turn = None if rotation is None else checks.unit_quaternion(where, rotation)
        return checks.vector(where, "position", position), turn

    def _chosen(self, where: str, link: str, joints: Iterable[str] | None) -> tuple[str, ...]:
        """Names of the joints that move, from the root on."""
        record = self.robot.record
        links = record.links
        above, k = list[int](), link_number(self.robot, link)
        while k >= 0:
            above.insert(0, k)
            k = links[k].parent
        single = [each for k in above for each in links[k].joints if each.kind in ("revolute", "prismatic")]
        names = [each.name for each in single]
        if joints is None:
            driven = {name for each in record.actuators if each.kind == "position" for name, _ in each.terms}
            chosen = [name for name in names if name in driven]
        else:
            chosen = list(joints)
            for name in chosen:
                if name not in names:
                    raise unknown(f"{where}: joint", name, names)
        if not chosen:
            raise InputError(f"{where}: no joint above {link!r} has a position drive; say which joints move")
        return tuple(chosen)
