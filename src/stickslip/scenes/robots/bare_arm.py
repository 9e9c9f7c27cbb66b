"""The arm of a robot without what its flange carries: seven hinges in a row, to which a scene mounts a tool."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stickslip.errors import InputError
from stickslip.names import shown
from stickslip.robots.mounting import COORDINATES
from stickslip.robots.records import Connect, Coupling, Distance, JointEquality, RobotRecord, Site, Weld

HINGES = 7
FLANGE = "flange"
"""Site on which tools are mounted."""
SEATS = (FLANGE, "attachment_site")
"""Names of sites that files give it."""


def bare_arm(record: RobotRecord) -> RobotRecord:
    """The first seven hinges of a robot, which must be in a row, with the site ``flange`` on the last link.

    What hangs on that link is left out, with its joints, drives and couplings: a hand is mounted anew by who needs one.
    The flange is where that hand was, or a site of the record says so, or the frame of the last link.
    """
    last = _last_link(record)
    kept = set(range(last + 1))
    gone = [k for k in range(last + 1, len(record.links)) if record.links[k].parent == last]
    if any(each.parent >= 0 for each in record.links[last + 1 + _below(record, last) :]):
        raise InputError(f"robot {shown(record.name)} branches before its last hinge; give an arm")
    names = {record.links[k].name for k in kept}
    joints = {joint.name for k in kept for joint in record.links[k].joints}
    q = np.asarray(_home(record))
    own = sum(COORDINATES.get(joint.kind, 1) for k in kept for joint in record.links[k].joints)
    return replace(
        record,
        links=record.links[: last + 1],
        couplings=tuple(each for each in record.couplings if _within(each, names, joints)),
        tendons=tuple(each for each in record.tendons if {name for name, _ in each.terms} <= joints),
        actuators=tuple(each for each in record.actuators if {name for name, _ in each.terms} <= joints),
        sensors=tuple(each for each in record.sensors if each.of in names | joints),
        sites=(_flange(record, last, gone),),
        keyframes=(),
        excluded=frozenset(pair for pair in record.excluded if set(pair) <= names),
        start=q[:own],
    )


def _last_link(record: RobotRecord) -> int:
    """Number of the link that the seventh hinge moves."""
    hinges = 0
    for k, each in enumerate(record.links):
        if any(joint.kind != "revolute" for joint in each.joints) or each.parent != k - 1:
            break
        hinges += len(each.joints)
        if hinges == HINGES:
            return k
    raise InputError(
        f"robot {shown(record.name)} has {hinges} hinges in a row from its base; an arm of {HINGES} is needed, such as "
        "panda"
    )


def _below(record: RobotRecord, last: int) -> int:
    """How many links hang on a link, which follow it."""
    below = {last}
    for k in range(last + 1, len(record.links)):
        if record.links[k].parent in below:
            below.add(k)
    return len(below) - 1


def _flange(record: RobotRecord, last: int, hung: list[int]) -> Site:
    """Where a tool goes."""
    link = record.links[last].name
    if hung:
        hand = record.links[hung[0]]
        return Site(FLANGE, link, hand.position, hand.rotation)
    for each in record.sites:
        if each.name in SEATS and each.link == link:
            return replace(each, name=FLANGE)
    return Site(FLANGE, link)


def _home(record: RobotRecord) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Coordinates of a posture to begin at: that of a keyframe ``home``, or the start."""
    for each in record.keyframes:
        if each.name == "home":
            return np.asarray(each.q, dtype=np.float64)
    if record.start is not None:
        return np.asarray(record.start, dtype=np.float64)
    return np.zeros(sum(COORDINATES.get(joint.kind, 1) for each in record.links for joint in each.joints))


def _within(each: Coupling, links: set[str], joints: set[str]) -> bool:
    """Whether all that a coupling binds is kept."""
    match each:
        case JointEquality():
            return {name for name, _ in (*each.y, *each.x)} <= joints
        case Connect() | Weld() | Distance():
            return {each.a, each.b} - {None} <= links
