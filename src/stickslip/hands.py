"""Hands of robots, found in their records: frames that can be led, and fingers that open and close.

Nothing in a robot's file says what a hand is. Here fingers are short branches without branches of their own, two of
which or more hang on one link, the palm; a frame is at the tool of a palm, at the end of an arm without fingers, and,
where nothing moves the palm, at the tips of fingers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.tree.compiling import joint_places
from stickslip.bodies.tree.kind import TreeBodies
from stickslip.geometry import rotation as rotations
from stickslip.robots.drive_ranges import drive_range, pushes
from stickslip.robots.records import Actuator, JointEquality, RobotRecord, Site

LONGEST_FINGER = 0.25
"""[m] from the first joint of a branch to the furthest origin or centre of mass of its links, for it to be a finger."""
ARM_JOINTS = 3
"""Driven joints of a branch from which on its end is a frame."""
POSE_JOINTS = 6
"""Driven joints from which on a frame can be turned, too."""
JAW_JOINTS = 2
"""Most joints of fingers that close like jaws; fingers with more bend."""
BENT = 0.75
"""Share of the range of a joint at which a finger that bends is closed."""
ONE_SIDED = 0.5
"""A joint bends a finger if its range to one side of zero is at most this share of that to the other."""
FINGER_WORDS = ("finger", "thumb", "hand", "grip", "jaw", "knuckle")
"""In names of a robot that floats, or of its links and joints, where it is a hand and does not walk."""
TOOL_WORDS = ("tool", "tcp", "pinch", "grasp", "grip", "eef", "ee_", "end_effector")
END_WORDS = (*TOOL_WORDS, "attachment", "flange", "tip", "hand", "foot", "wrist")
"""In names of sites that are where a hand or an arm works, the best first."""
SINGLE = ("revolute", "prismatic")


class HandFrame(NamedTuple):
    """A frame of a robot that can be led along."""

    name: str
    link: str
    position: Array
    """(3,) [m] in the frame of the link."""
    rotation: Array
    """(w, x, y, z) in the frame of the link."""
    joints: tuple[str, ...]
    """That move it."""
    turns: bool
    """Whether they suffice for any rotation; else its position alone is led."""
    gripper: str
    """That it carries, or of which it is a finger; empty where there is none."""


class Grip(NamedTuple):
    """An actuator of a gripper."""

    actuator: str
    open: float
    """Control with which it is open,"""
    closed: float
    """and closed."""


class Gripper(NamedTuple):
    """Fingers of a palm."""

    name: str
    """Of the palm's link."""
    grips: tuple[Grip, ...]
    joints: tuple[str, ...]
    """Of its fingers."""


class Hands(NamedTuple):
    """What somebody can lead and close."""

    frames: tuple[HandFrame, ...]
    grippers: tuple[Gripper, ...]


class _Palm(NamedTuple):
    link: int
    fingers: tuple[tuple[int, ...], ...]
    """Links of each finger, from the palm on."""


def hands_of(trees: TreeBodies) -> Hands:
    """Frames and grippers of a robot, in the order of its links."""
    record = trees.record
    below = _children(record)
    palms = _palms(trees, below)
    fingers = {k for palm in palms for finger in palm.fingers for k in finger}
    frames, grippers = list[HandFrame](), list[Gripper]()
    for palm in palms:
        gripper = _gripper(trees, palm)
        if gripper is not None:
            grippers.append(gripper)
        name = "" if gripper is None else gripper.name
        if _driven_above(record, palm.link):
            frames.append(_tool(trees, palm, name))
        else:
            tips = [finger[-1] for finger in palm.fingers if len(_driven_above(record, finger[-1])) >= ARM_JOINTS]
            frames += [_end(record, tip, name) for tip in tips]
    for end in (k for k, own in enumerate(below) if not own and k not in fingers):
        root = _carrier(record, end)
        if not any(_leads_to(record, root, palm.link) for palm in palms) and _own_joints(record, below, root):
            frames.append(_end(record, root, ""))
    return Hands(_apart(frames), tuple(grippers))


# ---- the tree --------------------------------------------------------------------------------------------------


def _children(record: RobotRecord) -> list[list[int]]:
    """Links that move against each link, or against one that is fixed to it; empty for those that are fixed."""
    found: list[list[int]] = [[] for _ in record.links]
    for k, each in enumerate(record.links):
        if each.joints and each.parent >= 0:
            found[_carrier(record, each.parent)].append(k)
    return found


def _carrier(record: RobotRecord, k: int) -> int:
    """The link with joints, or the root, that a link is fixed to."""
    while not record.links[k].joints and record.links[k].parent >= 0:
        k = record.links[k].parent
    return k


def _above(record: RobotRecord, k: int) -> list[int]:
    """Links from the root to k."""
    found = list[int]()
    while k >= 0:
        found.insert(0, k)
        k = record.links[k].parent
    return found


def _leads_to(record: RobotRecord, upper: int, lower: int) -> bool:
    return upper in _above(record, lower)


def _driven_above(record: RobotRecord, k: int) -> tuple[str, ...]:
    """Joints with a position drive from the root to link k."""
    driven = {name for each in record.actuators if each.kind == "position" for name, _ in each.terms}
    joints = [joint for link in _above(record, k) for joint in record.links[link].joints]
    return tuple(joint.name for joint in joints if joint.kind in SINGLE and joint.name in driven)


def _own_joints(record: RobotRecord, below: Sequence[Sequence[int]], end: int) -> bool:
    """Whether enough driven joints are between an end and the last branching above it."""
    own = set(_driven_above(record, end))
    branching = [k for k in _above(record, end)[:-1] if len(below[k]) > 1]
    if branching:
        own -= set(_driven_above(record, branching[-1]))
    return len(own) >= ARM_JOINTS


def _palms(trees: TreeBodies, below: Sequence[Sequence[int]]) -> list[_Palm]:
    record, work = trees.record, trees.placed(trees.q_start)
    found = []
    for k, own in enumerate(below):
        fingers = [finger for root in own if (finger := _finger(record, below, work.pose, root))]
        floats = any(joint.kind == "free" for upper in _above(record, k) for joint in record.links[upper].joints)
        if len(fingers) > 1 and not (floats and not _named_like_fingers(record, fingers)):
            parents = {record.links[finger[0]].parent for finger in fingers}
            found.append(_Palm(parents.pop() if len(parents) == 1 else k, tuple(fingers)))
    return found


def _named_like_fingers(record: RobotRecord, fingers: Sequence[Sequence[int]]) -> bool:
    """Whether names say that they are fingers: what floats may have short legs."""
    links = [record.links[k] for finger in fingers for k in finger]
    names = [record.name, *(each.name for each in links), *(joint.name for each in links for joint in each.joints)]
    return any(word in name.lower() for name in names for word in FINGER_WORDS)


def _finger(record: RobotRecord, below: Sequence[Sequence[int]], pose: Array, root: int) -> tuple[int, ...]:
    """Links that move, of a branch that is a finger, from its root on; none where it is something else."""
    chain = [root]
    while below[chain[-1]]:
        if len(below[chain[-1]]) > 1:
            return ()
        chain.append(below[chain[-1]][0])
    joints = [joint for k in chain for joint in record.links[k].joints]
    if any(joint.kind not in SINGLE or joint.limits is None for joint in joints):
        return ()
    points = [pose[k, :3] for k in chain] + [_middle(record, pose, k) for k in chain]
    far = max(float(np.linalg.norm(x - pose[root, :3])) for x in points)
    return tuple(chain) if far <= LONGEST_FINGER else ()


def _middle(record: RobotRecord, pose: Array, k: int) -> Array:
    """(3,) [m] centre of mass of a link."""
    return np.asarray(pose[k, :3] + rotations.matrix(pose[k, 3:]) @ np.array(record.links[k].centre))


# ---- frames ----------------------------------------------------------------------------------------------------


def _tool(trees: TreeBodies, palm: _Palm, gripper: str) -> HandFrame:
    """Between the fingers: at the site of a tool, or in the middle of the last links of fingers."""
    record = trees.record
    site = _site(record, _carrier(record, palm.link), TOOL_WORDS)
    if site is not None:
        return _at_site(record, site, gripper)
    pose = trees.placed(trees.q_start).pose
    middle = np.mean([_middle(record, pose, finger[-1]) for finger in palm.fingers], axis=0)
    local = rotations.matrix(pose[palm.link, 3:]).T @ (middle - pose[palm.link, :3])
    return _frame(record, record.links[palm.link].name, palm.link, local, np.array([1.0, 0.0, 0.0, 0.0]), gripper)


def _end(record: RobotRecord, k: int, gripper: str) -> HandFrame:
    """The end of an arm, a leg or a finger: at a site, or the frame of its last link."""
    site = _site(record, k, END_WORDS)
    if site is not None:
        return _at_site(record, site, gripper)
    return _frame(record, record.links[k].name, k, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]), gripper)


def _site(record: RobotRecord, carrier: int, words: Sequence[str]) -> Site | None:
    """The site with the best name on a link or what is fixed to it."""
    numbers = {each.name: k for k, each in enumerate(record.links)}
    near = [
        each for each in record.sites if each.link is not None and _carrier(record, numbers[each.link]) == carrier
    ]  # fmt: skip
    ranked = [(rank, each) for each in near for rank, word in enumerate(words) if word in each.name.lower()]
    return min(ranked, key=lambda pair: pair[0])[1] if ranked else None


def _at_site(record: RobotRecord, site: Site, gripper: str) -> HandFrame:
    k = next(k for k, each in enumerate(record.links) if each.name == site.link)
    return _frame(record, site.name, k, np.array(site.position), np.array(site.rotation), gripper)


def _frame(record: RobotRecord, name: str, k: int, position: Array, rotation: Array, gripper: str) -> HandFrame:
    joints = _driven_above(record, k)
    return HandFrame(name, record.links[k].name, position, rotation, joints, len(joints) >= POSE_JOINTS, gripper)


def _apart(frames: Sequence[HandFrame]) -> tuple[HandFrame, ...]:
    """Frames without the joints that another one needs, too: a waist, which moves both arms."""
    found = []
    for frame in frames:
        shared = {name for other in frames if other is not frame for name in other.joints}
        own = tuple(name for name in frame.joints if name not in shared)
        if own:
            found.append(frame._replace(joints=own, turns=len(own) >= POSE_JOINTS))
    return tuple(found)


# ---- grippers --------------------------------------------------------------------------------------------------


def _gripper(trees: TreeBodies, palm: _Palm) -> Gripper | None:
    record = trees.record
    joints = tuple(joint.name for finger in palm.fingers for k in finger for joint in record.links[k].joints)
    own = [each for each in record.actuators if each.terms and all(name in joints for name, _ in each.terms)]
    if not own:
        return None
    bends = max(sum(len(record.links[k].joints) for k in finger) for finger in palm.fingers) > JAW_JOINTS
    grips = tuple(_bending(trees, each) if bends else _jaw(trees, palm, each) for each in own)
    return Gripper(record.links[palm.link].name, grips, joints)


def _bending(trees: TreeBodies, actuator: Actuator) -> Grip:
    """Open as at the start, or as in a posture of the file of that name; closed likewise, or where joints bend."""
    record = trees.record
    number = record.actuators.index(actuator)
    named = {
        what: float(each.control[number])
        for what, word in (("open", "open"), ("closed", "clos"))
        for each in record.keyframes
        if word in each.name.lower() and len(each.control) == len(record.actuators)
    }
    reach = drive_range(record, actuator)
    open_ = named.get("open", float(np.clip(trees.control_start[number, 0], reach.low, reach.high)))
    closed = open_
    if abs(reach.low) <= ONE_SIDED * abs(reach.high):
        closed = max(open_, reach.low + BENT * (reach.high - reach.low))
    elif abs(reach.high) <= ONE_SIDED * abs(reach.low):
        closed = min(open_, reach.high - BENT * (reach.high - reach.low))
    return Grip(actuator.name, open_, named.get("closed", closed))


def _jaw(trees: TreeBodies, palm: _Palm, actuator: Actuator) -> Grip:
    """Open at the end of its range at which the fingers are further apart."""
    opens = _opening(trees, palm, actuator) * (-1.0 if actuator.gain < 0.0 else 1.0) > 0.0
    low, high, _ = drive_range(trees.record, actuator)
    if pushes(actuator):
        own = actuator.bias[0]
        most = abs(own) or min(abs(low), abs(high)) * abs(actuator.gain)
        low, high = sorted(((-most - own) / actuator.gain, (most - own) / actuator.gain))
    return Grip(actuator.name, high, low) if opens else Grip(actuator.name, low, high)


def _opening(trees: TreeBodies, palm: _Palm, actuator: Actuator) -> float:
    """By how much the last links of fingers go apart from one end of the range of an actuator's joints to the other."""
    record, places = trees.record, joint_places(trees.record.links)
    moved = {name: float(np.sign(factor)) for name, factor in actuator.terms}
    links = [each for each in record.couplings if isinstance(each, JointEquality) and len(each.x) == len(each.y) == 1]
    for _ in links:  # joints that are coupled go along
        for each in links:
            (y, a), (x, b) = each.y[0], each.x[0]
            slope = each.polynomial[1] * b / a
            if x in moved and y not in moved:
                moved[y] = slope * moved[x]
            elif y in moved and x not in moved and slope != 0.0:
                moved[x] = moved[y] / slope
    apart = []
    for end in (0, 1):
        q = trees.q_start.reshape(-1).copy()
        for name, rate in moved.items():
            limits = places[name].joint.limits
            if limits is not None:
                q[places[name].q] = limits[end if rate > 0.0 else 1 - end]
        pose = trees.placed(q).pose
        tips = np.array([_middle(record, pose, finger[-1]) for finger in palm.fingers])
        apart.append(float(np.linalg.norm(tips[:, None] - tips[None], axis=2).sum()))
    return apart[1] - apart[0]
