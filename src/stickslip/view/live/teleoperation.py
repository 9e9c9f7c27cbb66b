"""A robot that a person drives: hands that follow targets, grippers that open and close, weight that drives carry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stickslip import checks
from stickslip.arrays import Array
from stickslip.bodies.tree.compiling import joint_places
from stickslip.errors import InputError
from stickslip.geometry import rotation as rotations
from stickslip.hands import Gripper, HandFrame, Hands, hands_of
from stickslip.keywords import unknown
from stickslip.pose_follower import PoseFollower
from stickslip.reading_robots import trees_of
from stickslip.scene.robots import Robot
from stickslip.simulation import Simulation

SPEED, ANGULAR_SPEED = 0.5, 2.0
"""[m/s] and [rad/s] at which a hand follows at most."""
SMOOTHING = 0.06
"""[s] time constant of the two filters through which a target goes, the first of limited speed: a hand starts and
stops gently."""
GRIP_TIME = 0.6
"""[s] from open to closed."""
NEAR, NEARLY = 1e-3, np.radians(0.5)
"""[m] and [rad] within which a hand is where it shall be."""
SLOW, SLOWLY, AT_REST = 1e-3, 0.02, 0.2
"""[m/s] and [rad/s] of approach below which, for this long [s], a hand is no longer on its way."""
AT_LIMIT = 1e-6
"""[rad or m]"""


class HandState(NamedTuple):
    """A hand at a moment; nothing in it changes."""

    name: str
    position: Array
    """(3,) [m] where it is,"""
    rotation: Array
    """(w, x, y, z) and how it is turned."""
    target: tuple[Array, Array] | None
    """Where it shall be, the same; None: nobody leads it."""
    distance: float
    """[m] from its target; NaN where there is none."""
    angle: float
    """[rad] the same; NaN also where its rotation is not led."""
    words: str
    """What keeps it from its target; empty where there is none."""


@dataclass(eq=False)
class _Led:
    """A frame that a person leads."""

    frame: HandFrame
    follower: PoseFollower
    target: tuple[Array, Array]
    stages: tuple[tuple[Array, Array], tuple[Array, Array]]
    """The target behind the first filter and behind both."""
    missing: tuple[float, float]
    """[m], [rad] from the target to where drives aim,"""
    slow: float = 0.0
    """[s] and for how long that has hardly changed."""


@dataclass(eq=False)
class _Moving:
    """A gripper on its way."""

    share: float
    goal: float


@dataclass(eq=False)
class Teleoperation:
    """What a person tells a robot; ``tell`` gives it on to the drives before each step."""

    robot: Robot
    found: Hands
    """What can be led and closed."""
    _led: dict[str, _Led] = field(default_factory=dict)
    _moving: dict[str, _Moving] = field(default_factory=dict)
    _shares: dict[str, float] = field(default_factory=dict)
    _carried: set[str] = field(default_factory=set)
    """Joints whose weight is carried beside their drives."""

    def __post_init__(self) -> None:
        self.frames = {each.name: each for each in self.found.frames}
        self.grippers = {each.name: each for each in self.found.grippers}

    def stop(self) -> None:
        """Forget all that was told."""
        self._led.clear()
        self._moving.clear()
        self._shares.clear()
        self._carried.clear()

    def begin(self, sim: Simulation) -> None:
        """Take over from a script: drives hold where they are, and weight that was carried stays carried."""
        if self.robot.name not in sim.control.actuators:
            return
        force = sim.control.part_force(self.robot.name).reshape(-1)
        places = joint_places(self.robot.record.links)
        self._carried |= {
            name for name, place in places.items() if place.velocities == 1 and force[place.v] != 0.0
        }  # fmt: skip
        self._stand(sim)

    def aim(self, sim: Simulation, name: str, position: ArrayLike, rotation: ArrayLike | None = None) -> None:
        """Lead a frame to a pose [m], (w, x, y, z) of the world; None: as it is turned now."""
        frame = self._frame(name)
        where = f"robot {self.robot.name!r}, target of {name!r}"
        at = checks.vector(where, "position", position)
        led = self._led.get(name)
        if rotation is None:
            turn = led.target[1] if led is not None else frame_pose(sim, self.robot, frame)[1]
        else:
            turn = checks.unit_quaternion(where, rotation)
        if led is None:
            pose = frame_pose(sim, self.robot, frame)
            follower = sim.pose_follower(
                self.robot, frame.link, point=frame.position, rotation=frame.rotation, joints=frame.joints,
                speed=2.0 * SPEED, angular_speed=2.0 * ANGULAR_SPEED,
            )  # fmt: skip
            led = self._led[name] = _Led(frame, follower, pose, (pose, pose), (0.0, 0.0))
            self._carried |= set(frame.joints)
            for other in [other for other in self._moving if set(self.grippers[other].joints) & set(frame.joints)]:
                del self._moving[other]
        led.target, led.slow = (at, np.asarray(turn)), 0.0
        led.missing = _missing(led)

    def let_go(self, name: str) -> None:
        """Lead a frame no longer; its drives hold it."""
        self._frame(name)
        self._led.pop(name, None)

    def grip(self, sim: Simulation, name: str, share: float) -> None:
        """Close a gripper to a share, from 0 (open) to 1 (closed)."""
        if name not in self.grippers:
            raise unknown(f"robot {self.robot.name!r}: gripper", name, list(self.grippers))
        goal = checks.fraction(f"robot {self.robot.name!r}, gripper {name!r}", "share", share)
        self._release(set(self.grippers[name].joints))
        self._moving[name] = _Moving(self.share(sim, name), goal)

    def slid(self, actuator: str) -> None:
        """A drive was told something of its own: what leads its joints ends."""
        joints = {name for each in self.robot.record.actuators if each.name == actuator for name, _ in each.terms}
        self._release(joints)
        for name in [name for name in self._moving if joints & set(self.grippers[name].joints)]:
            del self._moving[name]

    def share(self, sim: Simulation, name: str) -> float:
        """How far a gripper is told to be closed, from 0 to 1."""
        if name in self._moving:
            return self._moving[name].share
        told = sim.control.actuators[self.robot.name][:, 0]
        names, shares, weights = self.robot.actuator_names, [], []
        for each in self.grippers[name].grips:
            way = each.closed - each.open
            if way != 0.0:
                shares.append(float(np.clip((told[names.index(each.actuator)] - each.open) / way, 0.0, 1.0)))
                weights.append(abs(way))
        return float(np.average(shares, weights=weights)) if shares else 0.0

    def goal(self, sim: Simulation, name: str) -> float:
        """How far a gripper shall be closed."""
        return self._moving[name].goal if name in self._moving else self.share(sim, name)

    def tell(self, sim: Simulation) -> None:
        """Set the control for the coming step."""
        dt = sim.stepping.dt
        for led in self._led.values():
            self._lead(sim, led, dt)
        for name, moving in list(self._moving.items()):
            change = dt / GRIP_TIME
            moving.share += float(np.clip(moving.goal - moving.share, -change, change))
            self._close(sim, self.grippers[name], moving.share)
            if moving.share == moving.goal:
                del self._moving[name]
        if self._carried:
            self._carry(sim)

    def hands(self, sim: Simulation) -> tuple[HandState, ...]:
        """All frames as they are now."""
        return tuple(self._state(sim, frame) for frame in self.frames.values())

    # ---- inside ----------------------------------------------------------------------------------------------

    def _frame(self, name: str) -> HandFrame:
        if name not in self.frames:
            if not self.frames:
                raise InputError(f"robot {self.robot.name!r}: nothing can be led, no arm has position drives")
            raise unknown(f"robot {self.robot.name!r}: frame", name, list(self.frames))
        return self.frames[name]

    def _release(self, joints: set[str]) -> None:
        for name in [name for name in self._led if joints & set(self.frames[name].joints)]:
            del self._led[name]

    def _stand(self, sim: Simulation) -> None:
        """Drives aim at no velocity any more."""
        given = sim.control.actuators[self.robot.name]
        speeds = {
            each.terms[0][0]: 0.0
            for each, row in zip(self.robot.record.actuators, given, strict=True)
            if each.kind == "position" and row[1] != 0.0
        }
        if speeds:
            sim.set_control(self.robot, velocity=speeds)

    def _lead(self, sim: Simulation, led: _Led, dt: float) -> None:
        share = 1.0 - np.exp(-dt / SMOOTHING)
        first, second = led.stages
        far, turned = float(np.linalg.norm(led.target[0] - first[0])), angle_between(led.target[1], first[1])
        shares = min(share, dt * SPEED / max(far, 1e-12)), min(share, dt * ANGULAR_SPEED / max(turned, 1e-12))
        first = between(first, led.target, *shares)
        ahead = between(second, first, share, share)
        led.stages = first, ahead
        position, velocity = led.follower.follow(ahead[0], ahead[1] if led.frame.turns else None, dt)
        before, led.missing = led.missing, _missing(led)
        nearer = [(a - b) / dt for a, b in zip(before, led.missing, strict=True)]
        led.slow = 0.0 if nearer[0] > SLOW or nearer[1] > SLOWLY else led.slow + dt
        sim.set_control(self.robot, position=position, velocity=velocity)

    def _close(self, sim: Simulation, gripper: Gripper, share: float) -> None:
        told = {each.actuator: each.open + share * (each.closed - each.open) for each in gripper.grips}
        sim.set_control(self.robot, actuators=told)

    def _carry(self, sim: Simulation) -> None:
        """Efforts that hold the weight of joints, as far as they are strong enough."""
        weight = sim.gravity_forces(self.robot)
        force = sim.control.part_force(self.robot.name).reshape(-1).copy()
        places = joint_places(self.robot.record.links)
        for name in self._carried:
            place = places[name]
            force[place.v] = float(np.clip(weight[place.v], -place.joint.effort, place.joint.effort))
        sim.set_control(self.robot, effort=force)

    def _state(self, sim: Simulation, frame: HandFrame) -> HandState:
        position, rotation = frame_pose(sim, self.robot, frame)
        led = self._led.get(frame.name)
        if led is None:
            return HandState(frame.name, position, rotation, None, np.nan, np.nan, "")
        distance = float(np.linalg.norm(led.target[0] - position))
        angle = angle_between(led.target[1], rotation) if frame.turns else np.nan
        return HandState(frame.name, position, rotation, led.target, distance, angle, self._words(led, distance, angle))

    def _words(self, led: _Led, distance: float, angle: float) -> str:
        follower, (missing, turned) = led.follower, led.missing
        if distance <= NEAR and not angle > NEARLY:
            return "there"
        if led.slow < AT_REST:
            return "on its way"
        if missing > NEAR or turned > NEARLY:
            places = joint_places(self.robot.record.links)
            ended = [
                name
                for name in follower.joints
                if (limits := places[name].joint.limits) is not None
                and min(abs(follower.q[places[name].q] - end) for end in limits) < AT_LIMIT
            ]
            far = f"{1e3 * missing:.0f} mm" if missing > NEAR else f"{np.degrees(turned):.1f}\N{DEGREE SIGN}"
            why = f"at their limits: {', '.join(ended)}" if ended else "stretched out, or turned as far as it goes"
            return f"out of reach by {far}; {why}"
        return "held back: something is in its way, or its drives are too weak"


def _missing(led: _Led) -> tuple[float, float]:
    return led.follower.error(led.target[0], led.target[1] if led.frame.turns else None)


def teleoperation(sim: Simulation, robot: Robot) -> Teleoperation:
    """What leads and closes the hands of a robot."""
    return Teleoperation(robot, hands_of(trees_of(sim.model, robot)))


def frame_pose(sim: Simulation, robot: Robot, frame: HandFrame) -> tuple[Array, Array]:
    """Position (3,) [m] and rotation (w, x, y, z) of a frame in the world."""
    position, rotation = sim.link_pose(robot, frame.link)
    return position + rotations.matrix(rotation) @ frame.position, rotations.multiply(rotation, frame.rotation)


def angle_between(a: Array, b: Array) -> float:
    """[rad] of the rotation from one rotation to another."""
    return float(np.linalg.norm(rotations.rotation_vector(rotations.multiply(a, rotations.conjugate(b)))))


def between(a: tuple[Array, Array], b: tuple[Array, Array], moved: float, turned: float) -> tuple[Array, Array]:
    """The pose at shares from 0 to 1 of the displacement and of the rotation from one pose to another."""
    turn = rotations.rotation_vector(rotations.multiply(b[1], rotations.conjugate(a[1])))
    angle = float(np.linalg.norm(turn))
    rotation = a[1] if angle == 0.0 else rotations.multiply(rotations.about_axis(turn / angle, turned * angle), a[1])
    return a[0] + moved * (b[0] - a[0]), rotation / np.linalg.norm(rotation)
