"""A robot of a file in the place of one that is built by code, under the names of that one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from stickslip.errors import InputError
from stickslip.names import shown
from stickslip.robots.reading import read_robot
from stickslip.robots.records import JointEquality, RobotRecord, TreeJoint, TreeLink
from stickslip.scenes.robots.parts import near

TOLERANCE = 0.02
"""Largest difference [rad, m, or of a unit vector] between joints that are taken for the same."""


def given_robot(scene: str, built: RobotRecord, file: str, friction: float, apart: int) -> RobotRecord:
    """The robot built by code where ``file`` is its name; else that of a file, which must have the same joints.

    Links, masses, shapes and ranges are the file's; drives, their largest forces, rotors, couplings, the posture at
    the start and the friction [Coulomb coefficient] of links are the scene's, and names are those of the built one.
    Pairs of links that are at most ``apart`` links from each other pass through each other.
    """
    if file == built.name:
        return built
    if not Path(file).exists():
        raise InputError(f"{scene}: robot is {shown(file)}; give a file of this robot, or {built.name}")
    record = read_robot(file)
    ours = {joint.name: k for k, each in enumerate(built.links) for joint in each.joints}
    theirs = {joint.name: k for k, each in enumerate(record.links) for joint in each.joints}
    where = f"{scene}: robot {shown(file)}"
    if len(ours) != len(theirs):
        raise InputError(f"{where} has {len(theirs)} joints; those of {built.name} are {len(ours)}")
    names = dict(zip(theirs, ours, strict=True))
    link_of: dict[int, int] = {}
    for (theirs_name, k), (ours_name, b) in zip(theirs.items(), ours.items(), strict=True):
        a, other = record.links[k].joints[0], built.links[b].joints[0]
        if a.kind != other.kind or len(record.links[k].joints) > 1:
            raise InputError(f"{where}: joint {theirs_name!r} is {a.kind}; {ours_name} of {built.name} is {other.kind}")
        link_of[k] = b
    # links without joints that others hang on: the palm, the gripper
    for k, b in list(link_of.items()):
        while k >= 0 and b >= 0:
            link_of[k] = b
            k, b = record.links[k].parent, built.links[b].parent
    links = [
        _as_built(each, built.links[link_of[k]] if k in link_of else None, friction)
        for k, each in enumerate(record.links)
    ]
    if 0 in link_of:  # files lay their robots in different ways
        base = built.links[link_of[0]]
        links[0] = replace(links[0], position=base.position, rotation=base.rotation)
    renamed = {each.name: own.name for each, own in zip(record.links, links, strict=True)}
    _require_unique(where, links)
    excluded = frozenset((renamed[a], renamed[b]) for a, b in record.excluded)
    couplings = tuple(each for each in built.couplings if isinstance(each, JointEquality))
    _require_reach(where, links, names, np.asarray(built.start))
    return RobotRecord(
        built.name, tuple(links), couplings, actuators=built.actuators, keyframes=built.keyframes,
        excluded=excluded | near(links, apart), start=built.start, surroundings=record.surroundings,
        surrounding_visuals=record.surrounding_visuals, report=record.report,
    )  # fmt: skip


def _as_built(link: TreeLink, own: TreeLink | None, friction: float) -> TreeLink:
    """A link of a file under the name of the built one, its joint with that one's names, rotor and damping."""
    shapes = tuple(replace(shape, friction=friction) for shape in link.shapes)
    if own is None:
        return replace(link, shapes=shapes)
    joints = tuple(_joint(joint, other) for joint, other in zip(link.joints, own.joints, strict=False))
    return replace(link, name=own.name, joints=joints, shapes=shapes)


def _joint(joint: TreeJoint, own: TreeJoint) -> TreeJoint:
    return replace(joint, name=own.name, effort=own.effort, armature=own.armature, damping=own.damping)


def _require_unique(where: str, links: list[TreeLink]) -> None:
    names = [link.name for link in links]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise InputError(f"{where}: two links would be named {double!r}; its links hang on each other in another way")


def _require_reach(where: str, links: list[TreeLink], names: dict[str, str], start: np.ndarray) -> None:
    """Raise an InputError where a joint cannot be where the scene begins."""
    joints = [joint for link in links for joint in link.joints]
    for (theirs, ours), joint, q in zip(names.items(), joints, start.tolist(), strict=True):
        if joint.limits is not None and not joint.limits[0] - TOLERANCE <= q <= joint.limits[1] + TOLERANCE:
            raise InputError(
                f"{where}: joint {theirs!r} has the range {joint.limits}, but {ours} begins at {q:.4g}; "
                "is it another robot?"
            )
