"""The Fetch robot in scenes: ours or one from a file, its arm led along poses, its gripper opened and closed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PchipInterpolator

from stickslip.arrays import Array
from stickslip.errors import InputError
from stickslip.geometry import rotation as rotations
from stickslip.reading_robots import robots_of
from stickslip.robots.records import JointEquality, RobotRecord, TreeLink
from stickslip.scene.scene import Body, Scene
from stickslip.scenes.courses import smooth_step
from stickslip.scenes.robots.fetch import GRASP, HOME, JOINTS
from stickslip.scenes.robots.named import robot_of
from stickslip.scenes.robots.parts import drive, gripper_drive, start_of
from stickslip.simulation import Simulation

ARM = tuple(row[0] for row in JOINTS if not row[0].startswith("head"))
"""Joints that lead the gripper, the lift of the torso first."""
STIFFNESS = {row[0]: row[-2:] for row in JOINTS}
RAISED = {**HOME, "torso_lift": 0.3, "shoulder_pan": -0.35}
"""[rad] and [m]: gripper downwards, before the robot to its right, above a table."""
GRIPPER = "gripper"
"""The drive of both fingers."""
KNOT = 0.03
"""[s] between the times for which the posture of the arm is computed."""
REACHED = 1e-3
"""[m] and [rad] within which the hand must arrive at a waypoint."""


class Parts(NamedTuple):
    """What the links and joints of a Fetch robot are called in its record."""

    joints: dict[str, str]
    """Ours, and those of the record."""
    hand: str
    fingers: tuple[str, str]


def parts_of(where: str, record: RobotRecord) -> Parts:
    """Names of the arm, the hand and the fingers, ours or those of the manufacturer's file."""
    joints = {joint.name: each for each in record.links for joint in each.joints}
    links = [each.name for each in record.links]
    found = {}
    for name in (*ARM, "head_pan", "head_tilt"):
        match = next((each for each in (name, f"{name}_joint") if each in joints), None)
        if match is None:
            raise InputError(f"{where}: robot {record.name!r} has no joint {name!r} or '{name}_joint'; give a Fetch")
        found[name] = match
    fingers = []
    for side in ("right", "left"):
        name = f"{side}_finger"
        match = next((each for each in (name, f"{side[0]}_gripper_finger_joint") if each in joints), None)
        if match is None:
            raise InputError(f"{where}: robot {record.name!r} has no joint {name!r}; give a Fetch")
        found[name] = match
        fingers.append(joints[match].name)
    hand = next((each for each in ("gripper", "gripper_link") if each in links), None)
    if hand is None:
        raise InputError(f"{where}: robot {record.name!r} has no link 'gripper' or 'gripper_link'; give a Fetch")
    return Parts(found, hand, (fingers[0], fingers[1]))


def fetch_robot(where: str, name: str, friction: float) -> RobotRecord:
    """Our robot, or that of a file with our drives and posture; friction: Coulomb coefficient of its fingers."""
    record = robot_of(where, name)
    parts = parts_of(where, record)
    moving = {*parts.joints.values()}
    links = tuple(_fitted(each, moving, friction if each.name in parts.fingers else None) for each in record.links)
    start = start_of(links, {theirs: RAISED.get(own, 0.0) for own, theirs in parts.joints.items()})
    if any(each.name == GRIPPER for each in record.actuators):
        return replace(record, links=links, start=start)
    joints = {joint.name: joint for each in links for joint in each.joints}
    right, left = parts.joints["right_finger"], parts.joints["left_finger"]
    ours = [drive(joints[theirs], *STIFFNESS[own]) for own, theirs in parts.joints.items() if own in STIFFNESS]
    return replace(
        record,
        links=links,
        actuators=(*ours, gripper_drive(GRIPPER, joints[right], GRASP)),
        couplings=(JointEquality("fingers", ((left, 1.0),), ((right, 1.0),)),),
        keyframes=(),
        start=start,
    )


def with_hand_at(where: str, record: RobotRecord, position: ArrayLike, rotation: Array, finger: float) -> RobotRecord:
    """The robot in a posture in which its gripper is at a pose, each finger ``finger`` [m] from the middle."""
    parts = parts_of(where, record)
    alone = Scene()
    robot = alone.add_tree(replace(record, couplings=()))
    sim = Simulation(alone, dt=0.01)
    # so closely that pads lie flat on what they hold: a step that grips is solved in a few iterations then
    posture = sim.inverse_kinematics(robot, parts.hand, position, rotation, tolerance=1e-10)
    for side in ("right", "left"):
        posture[robot.joint_names.index(parts.joints[f"{side}_finger"])] = finger
    return replace(record, start=posture)


def _fitted(link: TreeLink, moving: set[str], friction: float | None) -> TreeLink:
    """A link with joints of these names alone, wheels stand still, and shapes of a friction, where one is given."""
    shapes = link.shapes if friction is None else tuple(replace(each, friction=friction) for each in link.shapes)
    return replace(link, joints=tuple(each for each in link.joints if each.name in moving), shapes=shapes)


@dataclass(frozen=True, eq=False)
class Waypoint:
    """Where the gripper is to be at a time [s]: position (3,) [m] and rotation of its frame, whose x axis is along the
    fingers and whose y axis is along their motion."""

    time: float
    position: Sequence[float]
    rotation: Array
    finger: float
    """[m] that each finger is to be from the middle by then; evenly between waypoints."""


class FetchArm:
    """The robot of a scene, which follows waypoints with its gripper."""

    def __init__(self, sim: Simulation, where: str) -> None:
        robots = robots_of(sim.model)
        self.robot = next(each for each in robots.values() if len(each.record.links) > 1)
        self.parts = parts_of(where, self.robot.record)
        names = sim.model.body_names
        full = [f"{self.robot.name}/{finger}" for finger in self.parts.fingers]
        self.fingers = [Body(names.index(name), name) for name in full]
        fingers = {self.parts.joints[f"{side}_finger"] for side in ("right", "left")}
        self.finger_coordinates = [k for k, name in enumerate(self.robot.joint_names) if name in fingers]
        self._weighed = np.array([name not in fingers for name in self.robot.joint_names])
        self._joints = [self.parts.joints[name] for name in ARM]
        self._course: PchipInterpolator | None = None
        self._waypoints: Sequence[Waypoint] = ()

    def hand_pose(self, sim: Simulation) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation (w, x, y, z) of the gripper."""
        return sim.link_pose(self.robot, self.parts.hand)

    def plan(self, sim: Simulation, waypoints: Sequence[Waypoint]) -> None:
        """Find the postures of a course from where the arm is to all waypoints, within speeds and ranges of joints."""
        follower = sim.pose_follower(self.robot, self.parts.hand, joints=self._joints)
        of_arm = [self.robot.joint_names.index(name) for name in self._joints]
        times, angles = [0.0], [follower.q[of_arm]]
        (start, turn), since = self.hand_pose(sim), 0.0
        for each in waypoints:
            there = np.asarray(each.position, dtype=np.float64)
            moves = bool(np.abs(there - start).max() > 1e-9) or bool(np.abs(each.rotation - turn).max() > 1e-9)
            count = max(2, round((each.time - since) / KNOT)) if moves else 1
            for k in range(1, count + 1):
                if moves:  # in a pause the arm is still
                    share = smooth_step(k / count)
                    pose = start + share * (there - start), between(turn, each.rotation, share)
                    follower.follow(*pose, (each.time - since) / count)
                times.append(since + (each.time - since) * k / count)
                angles.append(follower.q[of_arm])
            away, askew = follower.error(there, each.rotation)
            if away > REACHED or askew > REACHED:
                raise InputError(
                    f"robot {self.robot.name!r}: at {each.time} s its hand is {1e3 * away:.2g} mm and {askew:.2g} rad "
                    f"from the waypoint {there.tolist()}; give it more time, or a place within reach"
                )
            start, turn, since = there, each.rotation, each.time
        self._course, self._waypoints = PchipInterpolator(times, np.array(angles)), waypoints
        self._end = times[-1]

    def lead(self, sim: Simulation) -> None:
        """Tell the drives where to be at the end of the coming step, and hold the weight of the robot."""
        assert self._course is not None
        time, dt = sim.state.time + sim.stepping.dt, sim.stepping.dt
        angles, before = self._course(min(time, self._end)), self._course(min(time - dt, self._end))
        position = dict(zip(self._joints, angles.tolist(), strict=True))
        velocity = dict(zip(self._joints, ((angles - before) / dt).tolist(), strict=True))
        # as controllers of robots do: what drives add to the weight of the arm is little
        weight = np.where(self._weighed, sim.gravity_forces(self.robot), 0.0)
        grip = float(np.interp(time, *np.array([(each.time, each.finger) for each in self._waypoints]).T))
        sim.set_control(self.robot, position=position, velocity=velocity, effort=weight, actuators={GRIPPER: grip})

    def grip_force(self, sim: Simulation) -> float:
        """[N] normal force of a finger, the mean of both."""
        across = rotations.matrix(self.hand_pose(sim)[1])[:, 1]
        return float(np.mean([abs(across @ sim.contacts(finger).total_force) for finger in self.fingers]))


def between(a: Array, b: Array, share: float) -> Array:
    """The rotation (w, x, y, z) that lies ``share`` on the shortest turn from a to b."""
    turn = rotations.rotation_vector(rotations.multiply(b, rotations.conjugate(a)))
    angle = float(np.linalg.norm(turn))
    if angle < 1e-12:
        return np.asarray(b)
    return np.asarray(rotations.multiply(rotations.about_axis(turn / angle, share * angle), a))
