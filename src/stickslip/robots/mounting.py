"""Two robots joined into one tree: a hand, a gripper or any tool on a link of an arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from stickslip import checks
from stickslip.arrays import Array
from stickslip.errors import InputError
from stickslip.geometry import rotation as rotations
from stickslip.names import shown
from stickslip.robots.records import (
    Actuator,
    Coupling,
    FixedTendon,
    JointEquality,
    Keyframe,
    RobotRecord,
    Site,
    TreeLink,
)

COORDINATES, VELOCITIES = {"free": 7, "ball": 4}, {"free": 6, "ball": 3}
"""Numbers of q and of v that a joint has; others have one of each."""


def mounted(
    arm: RobotRecord, tool: RobotRecord, on: str, *, position: ArrayLike = (0.0, 0.0, 0.0),
    rotation: ArrayLike = (1.0, 0.0, 0.0, 0.0), prefix: str = "", name: str | None = None,
) -> RobotRecord:  # fmt: skip
    """The arm with the tool's world fixed to its link or site ``on``, at a pose there.

    A tool that floats loses its free joint. Names that both have are an InputError: ``prefix`` stands before all names
    of the tool then. Postures of the arm, with the tool as it starts, are kept.
    """
    where = f"mounting {shown(tool.name)} on {shown(arm.name)}"
    number, at, turn = _seat(where, arm, on)
    p, r = checks.vector(where, "position", position), checks.unit_quaternion(where, rotation)
    at, turn = at + rotations.matrix(turn) @ p, rotations.multiply(turn, r)
    tool = _renamed(_fixed(where, tool), prefix)
    clash = sorted(_names(arm) & _names(tool))
    if clash:
        raise InputError(f"{where}: both have {', '.join(map(repr, clash[:5]))}; give a prefix for those of the tool")
    link = arm.links[number]
    end = next((k for k in range(number + 1, len(arm.links)) if arm.links[k].parent < 0), len(arm.links))
    more, root = len(tool.links), arm.links[number].name

    def seated(each: TreeLink) -> TreeLink:
        if each.parent >= 0:
            return replace(each, parent=each.parent + end)
        own_at = at + rotations.matrix(turn) @ np.asarray(each.position)
        own_turn = rotations.multiply(turn, np.asarray(each.rotation))
        return replace(each, parent=number, position=_three(own_at), rotation=_four(own_turn))

    after = [
        replace(each, parent=each.parent + more) if each.parent >= end else each for each in arm.links[end:]
    ]  # fmt: skip
    links = (*arm.links[:end], *(seated(each) for each in tool.links), *after)
    split_q, split_v = _width(arm.links[:end], COORDINATES), _width(arm.links[:end], VELOCITIES)
    q_tool = _start(tool)

    def with_tool(q: Array) -> Array:
        return np.concatenate([q[:split_q], q_tool, q[split_q:]])

    held = _held(tool, q_tool)
    keyframes = tuple(
        Keyframe(
            each.name, with_tool(each.q), np.insert(each.v, split_v, np.zeros(_width(tool.links, VELOCITIES))),
            np.concatenate([each.control, held]),
        )
        for each in arm.keyframes
    )  # fmt: skip
    fixed = {each.name for each in tool.links if each.parent < 0 and not each.joints}
    return replace(
        arm,
        name=name or f"{arm.name}-{tool.name}",
        links=links,
        couplings=arm.couplings + tool.couplings,
        tendons=arm.tendons + tool.tendons,
        actuators=arm.actuators + tool.actuators,
        sensors=arm.sensors + tool.sensors,
        sites=arm.sites + tuple(_site(each, root, at, turn) for each in tool.sites),
        keyframes=keyframes,
        # what the seat may overlap, the part that is screwed onto it may, too
        excluded=arm.excluded | tool.excluded | _beside(arm, link.name, fixed),
        start=with_tool(_start(arm)),
    )


def _seat(where: str, arm: RobotRecord, on: str) -> tuple[int, Array, Array]:
    """Number of the link that carries the tool, and the pose of the seat in its frame."""
    names = [each.name for each in arm.links]
    site = next((each for each in arm.sites if each.name == on), None)
    if site is not None and site.link is not None:
        return names.index(site.link), np.array(site.position), np.array(site.rotation)
    if on not in names:
        known = ", ".join(map(repr, [*names, *(each.name for each in arm.sites)][-8:]))
        raise InputError(f"{where}: {shown(arm.name)} has no link or site {shown(on)}; it has {known}")
    return names.index(on), np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])


def _fixed(where: str, tool: RobotRecord) -> RobotRecord:
    """The tool without its free joints; what is tied to the world cannot be mounted."""
    bound = [each.name for each in tool.couplings if not isinstance(each, JointEquality) and each.b is None]
    if bound or tool.surroundings:
        what = f"coupling {bound[0]!r}" if bound else "shapes of its surroundings"
        raise InputError(f"{where}: {what} of the tool belong to the world; only what hangs on the arm can be mounted")
    free = [any(joint.kind == "free" for joint in each.joints) for each in tool.links]
    if not any(free):
        return tool
    kept, at, q = list[Array](), 0, _start(tool)
    for each, floats in zip(tool.links, free, strict=True):
        width = _width([each], COORDINATES)
        kept.append(q[at : at + (0 if floats else width)])
        at += width
    links = tuple(replace(each, joints=()) if floats else each for each, floats in zip(tool.links, free))
    return replace(tool, links=links, start=np.concatenate(kept), keyframes=())


def _renamed(tool: RobotRecord, prefix: str) -> RobotRecord:
    """The tool with a prefix before all names."""
    if not prefix:
        return tool

    def terms(given: Sequence[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
        return tuple((prefix + joint, factor) for joint, factor in given)

    def coupling(each: Coupling) -> Coupling:
        if isinstance(each, JointEquality):
            return replace(each, name=prefix + each.name, y=terms(each.y), x=terms(each.x))
        return replace(each, name=prefix + each.name, a=prefix + each.a, b=None if each.b is None else prefix + each.b)

    def link(each: TreeLink) -> TreeLink:
        joints = tuple(replace(joint, name=prefix + joint.name) for joint in each.joints)
        return replace(each, name=prefix + each.name, joints=joints)

    def driven(each: Actuator) -> Actuator:
        return replace(each, name=prefix + each.name, terms=terms(each.terms))

    def tendon(each: FixedTendon) -> FixedTendon:
        return replace(each, name=prefix + each.name, terms=terms(each.terms))

    return replace(
        tool,
        links=tuple(map(link, tool.links)),
        couplings=tuple(map(coupling, tool.couplings)),
        tendons=tuple(map(tendon, tool.tendons)),
        actuators=tuple(map(driven, tool.actuators)),
        sensors=tuple(
            replace(each, name=prefix + each.name, of=prefix + each.of if each.of else each.of)
            for each in tool.sensors
        ),
        sites=tuple(
            replace(each, name=prefix + each.name, link=None if each.link is None else prefix + each.link)
            for each in tool.sites
        ),
        excluded=frozenset((prefix + a, prefix + b) for a, b in tool.excluded),
    )  # fmt: skip


def _names(record: RobotRecord) -> set[str]:
    """Names of links, joints, actuators, sites, tendons, couplings and sensors."""
    named = (record.links, record.actuators, record.sites, record.tendons, record.couplings, record.sensors)
    own = {each.name for group in named for each in group}
    return own | {joint.name for each in record.links for joint in each.joints}


def _site(each: Site, root: str, at: Array, turn: Array) -> Site:
    """A site of the tool; what was fixed to its world is fixed to the seat."""
    if each.link is not None:
        return each
    own_at = at + rotations.matrix(turn) @ np.asarray(each.position)
    return replace(each, link=root, position=_three(own_at), rotation=_four(rotations.multiply(turn, each.rotation)))


def _beside(arm: RobotRecord, seat: str, fixed: set[str]) -> frozenset[tuple[str, str]]:
    """Pairs of the tool's fixed links with those that the seat passes through: its parent, and what is excluded."""
    number = next(k for k, each in enumerate(arm.links) if each.name == seat)
    others = {a if b == seat else b for a, b in arm.excluded if seat in (a, b)}
    if arm.links[number].parent >= 0:
        others.add(arm.links[arm.links[number].parent].name)
    return frozenset((other, own) for other in others for own in fixed)


def _width(links: Sequence[TreeLink], of_kind: dict[str, int]) -> int:
    return sum(of_kind.get(joint.kind, 1) for each in links for joint in each.joints)


def _start(record: RobotRecord) -> Array:
    """Coordinates at time zero."""
    if record.start is not None:
        return np.array(record.start, dtype=np.float64)
    q: list[float] = []
    for each in record.links:
        for joint in each.joints:
            own = {"free": [*each.position, *each.rotation], "ball": [1.0, 0.0, 0.0, 0.0]}
            q += own.get(joint.kind, [0.0])
    return np.array(q, dtype=np.float64)


def _held(tool: RobotRecord, q: Array) -> Array:
    """Controls with which position drives hold the posture q; zero for others."""
    at: dict[str, float] = {}
    k = 0
    for each in tool.links:
        for joint in each.joints:
            width = COORDINATES.get(joint.kind, 1)
            if width == 1:
                at[joint.name] = float(q[k])
            k += width
    return np.array(
        [
            sum(factor * at.get(joint, 0.0) for joint, factor in each.terms) if each.kind == "position" else 0.0
            for each in tool.actuators
        ]
    )


def _three(x: Array) -> tuple[float, float, float]:
    a, b, c = x.tolist()
    return a, b, c


def _four(x: Array) -> tuple[float, float, float, float]:
    a, b, c, d = x.tolist()
    return a, b, c, d
