"""Joints of URDF: axes, limits, friction, mimicry, and the actuators that transmissions make of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from math import pi

import numpy as np

from stickslip.geometry.rotation import between, matrix
from stickslip.names import shown
from stickslip.robots.import_notes import ImportNotes
from stickslip.robots.records import Actuator, ActuatorKind, JointEquality, Quaternion, TreeJoint, Vector
from stickslip.robots.urdf_links import pose
from stickslip.robots.xml_file import Element, attribute, fail, number, numbers

TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "screw", "ball", "universal")
"""The last three are Drake's (drake:joint)."""
WITH_AXIS = ("revolute", "continuous", "prismatic", "planar", "screw")
INTERFACES: dict[str, ActuatorKind] = {"effort": "motor", "position": "position", "velocity": "velocity"}
"""Words in the names of hardware interfaces, and what they mean."""


@dataclass(frozen=True, eq=False)
class JointParts:
    """What one <joint> says, before it is part of a tree."""

    element: Element
    name: str
    type: str
    parent: str
    child: str
    position: Vector
    """[m] of the child's frame in the parent's, ..."""
    rotation: Quaternion
    joints: tuple[TreeJoint, ...]


def known(file: str, element: Element, what: str, name: str, names: dict[str, object] | set[str]) -> None:
    """Raise where a name is none of those known; the message has the closest ones."""
    if name in names:
        return
    close = get_close_matches(name, list(names), 3)
    known = f"; there are {', '.join(shown(item) for item in sorted(names)[:8])}" if names else ""
    hint = f"; did you mean {' or '.join(shown(item) for item in close)}?" if close else known
    fail(file, element, f"there is no {what} {shown(name)}{hint}")


def read_joint(file: str, element: Element, links: set[str], notes: ImportNotes, repair: bool) -> JointParts:
    """The parts of a <joint> between links that exist; with ``repair`` one without axis gets that of x."""
    name = attribute(file, element, "name")
    kind = attribute(file, element, "type")
    if kind not in TYPES:
        fail(file, element, f"type is {shown(kind)}; it must be one of {', '.join(TYPES)}")
    ends = []
    for tag in ("parent", "child"):
        found = element.all(tag)
        if len(found) != 1:
            fail(file, element, f"it has {len(found)} <{tag} link=...> elements; it must have one")
        ends.append(attribute(file, found[0], "link"))
        known(file, found[0], "link", ends[-1], links)
    if ends[0] == ends[1]:
        fail(file, element, f"parent and child are both {shown(ends[0])}; a joint is between two links")
    joints = _tree_joints(file, element, name, kind, notes, repair)
    return JointParts(element, name, kind, ends[0], ends[1], *pose(file, element), joints)


def _axis(file: str, element: Element, notes: ImportNotes, repair: bool) -> Vector:
    axis = element.first("axis")
    if axis is None:
        if not repair:
            fail(file, element, "<axis xyz=...> is missing; write it, or give repair=True, which takes 1 0 0")
        notes.repaired.append(f"{element.words()}: without <axis>, which is x now, 1 0 0")
        return 1.0, 0.0, 0.0
    given = np.array(numbers(file, axis, "xyz", 3, (1.0, 0.0, 0.0)))
    length = float(np.linalg.norm(given))
    if length < 1e-9:
        fail(file, axis, f"the axis of joint {shown(element.attributes.get('name'))} is zero; a direction is needed")
    if abs(length - 1.0) > 1e-6:
        notes.note(axis, f"the axis has length {length:.6g} and is made a unit vector", "axis length")
    x, y, z = (given / length).tolist()
    return x, y, z


def _tree_joints(
    file: str, element: Element, name: str, kind: str, notes: ImportNotes, repair: bool
) -> tuple[TreeJoint, ...]:
    axis = _axis(file, element, notes, repair) if kind in WITH_AXIS else (0.0, 0.0, 1.0)
    damping, friction = _dynamics(file, element)
    limits, effort, speed = _limit(file, element, kind, notes)
    plain = partial(TreeJoint, damping=damping, friction=friction, effort=effort, speed=speed)
    if kind in ("revolute", "continuous"):
        return (plain(name, "revolute", axis, limits=limits),)
    if kind == "prismatic":
        return (plain(name, "prismatic", axis, limits=limits),)
    if kind == "screw":
        thread = element.first("drake:screw_thread_pitch") or element.first("screw_thread_pitch")
        if thread is None:
            fail(file, element, "<drake:screw_thread_pitch value=...> [m a turn] is missing; a screw needs it")
        pitch = number(file, thread, "value") / (2.0 * pi)
        return (plain(name, "screw", axis, pitch=pitch, limits=limits),)
    if kind == "ball":
        return (plain(name, "ball"),)
    if kind == "floating":
        return (TreeJoint(name, "free", damping=damping),)
    if kind == "universal":
        return tuple(
            plain(f"{name}_{letter}", "revolute", axis)
            for letter, axis in (("x", (1.0, 0.0, 0.0)), ("y", (0.0, 1.0, 0.0)))
        )
    if kind == "planar":
        u, v, _ = matrix(between((0.0, 0.0, 1.0), axis)).T.tolist()
        along = [plain(f"{name}_{letter}", "prismatic", (w[0], w[1], w[2])) for letter, w in (("x", u), ("y", v))]
        return *along, plain(f"{name}_rotation", "revolute", axis)
    return ()


def _dynamics(file: str, element: Element) -> tuple[float, float]:
    """Damping and dry friction."""
    dynamics = element.first("dynamics")
    if dynamics is None:
        return 0.0, 0.0
    damping, friction = (number(file, dynamics, name, 0.0) for name in ("damping", "friction"))
    for what, value in (("damping", damping), ("friction", friction)):
        if value < 0.0:
            fail(file, dynamics, f"{what} is {value:g}; it must be zero or positive")
    return damping, friction


def _limit(
    file: str, element: Element, kind: str, notes: ImportNotes
) -> tuple[tuple[float, float] | None, float, float]:
    """Range, largest effort and speed; infinite where the file gives none, or zero, which most mean so."""
    limit = element.first("limit")
    ranged = kind in ("revolute", "prismatic")
    if limit is None:
        if ranged:
            notes.warn(element, "<limit> is missing, which URDF demands; the joint has no limits", "limit missing")
        return None, np.inf, np.inf
    effort, speed = (number(file, limit, name, 0.0) for name in ("effort", "velocity"))
    for what, value in (("effort", effort), ("velocity", speed)):
        if value < 0.0:
            fail(file, limit, f"{what} is {value:g}; it must be zero or positive")
    if "effort" in limit.attributes and effort == 0.0 and kind != "fixed":
        notes.note(limit, "effort is 0, taken as: no limit is known", "effort 0")
    given = [name for name in ("lower", "upper") if name in limit.attributes]
    limits = None
    if ranged or (kind == "screw" and given):
        lower, upper = (number(file, limit, name, 0.0) for name in ("lower", "upper"))
        if lower > upper:
            fail(file, limit, f"lower is {lower:g} and upper {upper:g}; the limits are in the wrong order")
        if not given:
            notes.warn(limit, "neither lower nor upper is given; the joint has no limits", "limit empty")
        else:
            limits = lower, upper
            if lower == upper:
                notes.note(limit, f"lower and upper are both {lower:g}: the joint is held there", "limits equal")
    elif given and kind not in ("continuous", "fixed"):
        notes.warn(limit, f"limits of a {kind} joint are not held", f"limits {kind}")
    return limits, effort or np.inf, speed or np.inf


def read_mimics(file: str, joints: dict[str, JointParts], notes: ImportNotes) -> tuple[JointEquality, ...]:
    """One coupling for each mimic joint, whatever the order of the file; mimics of mimics are chains of them."""
    couplings, leaders = [], {}
    for joint in joints.values():
        mimic = joint.element.first("mimic")
        if mimic is None:
            continue
        leader = attribute(file, mimic, "joint")
        known(file, mimic, "joint", leader, dict(joints))
        factor, offset = number(file, mimic, "multiplier", 1.0), number(file, mimic, "offset", 0.0)
        if not joint.joints:
            notes.warn(mimic, f"joint {shown(joint.name)} is fixed and mimics nothing", "mimic fixed")
            continue
        for one in (joint, joints[leader]):
            if len(one.joints) > 1 or (one.joints and one.joints[0].kind in ("ball", "free")):
                fail(file, mimic, f"joint {shown(one.name)} is {one.type} and has no single coordinate to couple")
        leaders[joint.name] = leader
        x = ((leader, 1.0),) if joints[leader].joints else ()  # a fixed joint stays at zero
        couplings.append(JointEquality(f"{joint.name}_mimic", ((joint.name, 1.0),), x, (offset, factor, 0.0, 0.0, 0.0)))
    for start, first in leaders.items():
        seen, name = {start}, first
        while name in leaders:
            if name in seen:
                mimic = joints[start].element.first("mimic") or joints[start].element
                fail(file, mimic, f"joint {shown(start)} mimics itself, through {shown(first)}")
            seen.add(name)
            name = leaders[name]
        if name == start:
            fail(file, joints[start].element, f"joint {shown(start)} mimics itself")
    return tuple(couplings)


def default_actuators(joints: dict[str, JointParts]) -> tuple[Actuator, ...]:
    """A "position" actuator for every coordinate that mimics no other, of its name; the scene finds the gains."""
    found = []
    for parts in joints.values():
        if parts.element.first("mimic") is None:
            found += [
                _actuator(joint.name, "position", joint) for joint in parts.joints if joint.kind not in ("free", "ball")
            ]
    return tuple(found)


def _actuator(name: str, kind: ActuatorKind, joint: TreeJoint) -> Actuator:
    force = (-joint.effort, joint.effort) if np.isfinite(joint.effort) else None
    gain = 1.0 if kind == "motor" else 0.0
    control = joint.limits if kind == "position" else None
    return Actuator(name, kind, ((joint.name, 1.0),), gain, control_range=control, force_range=force)


def read_transmissions(
    file: str, elements: list[Element], joints: dict[str, JointParts], notes: ImportNotes
) -> tuple[Actuator, ...]:
    """Actuators of <transmission> elements, named like their <actuator>.

    The hardware interface says what is commanded: effort, position or velocity of the joint. Commands of controllers
    are those of the joint, beyond the gears: so mechanicalReduction is a note, and effort limits are the joint's.
    """
    found: list[Actuator] = []
    driven: set[str] = set()
    for element in elements:
        ends = element.all("joint")
        names = [attribute(file, end, "name") for end in ends]
        missing = [name for name in names if name not in joints]
        if missing:
            notes.warn(element, f"there is no joint {shown(missing[0])}; the transmission drives nothing")
            continue
        actuators = element.all("actuator")
        if len(names) != 1 or len(actuators) != 1:
            notes.warn(element, f"a transmission of {len(actuators)} actuators to {len(names)} joints is not known; "
                                "they move freely", "transmission")  # fmt: skip
            continue
        parts, motor = joints[names[0]], actuators[0]
        if len(parts.joints) != 1 or parts.joints[0].kind in ("ball", "free"):
            notes.warn(element, f"joint {shown(parts.name)} is {parts.type}; nothing drives it", "transmission joint")
            continue
        if parts.name in driven:
            notes.warn(element, f"joint {shown(parts.name)} has a transmission already; this one is left out")
            continue
        words = [i.text.strip() for end in (*ends, motor) for i in end.all("hardwareInterface")]
        kinds = [kind for text in words for word, kind in INTERFACES.items() if word in text.lower()]
        reduction = motor.first("mechanicalReduction") or element.first("mechanicalReduction")
        if reduction is not None and reduction.text.strip() not in ("1", "1.0", ""):
            notes.note(reduction, f"a reduction of {shown(reduction.text.strip())}: commands are those of the joint, "
                                  "beyond the gears", "reduction")  # fmt: skip
        name = motor.attributes.get("name") or parts.name
        if name in {actuator.name for actuator in found}:
            if parts.name in {actuator.name for actuator in found}:
                fail(file, motor, f"there are two actuators {shown(name)}; names must differ")
            notes.warn(
                motor, f"one motor for several joints is not known; joint {shown(parts.name)} has one of its own"
            )
            name = parts.name
        driven.add(parts.name)
        found.append(_actuator(name, kinds[0] if kinds else "motor", parts.joints[0]))
    idle = [p for p in joints.values() if p.joints and p.name not in driven and p.element.first("mimic") is None]
    if idle:
        listed = ", ".join(shown(parts.name) for parts in idle[:8]) + (", ..." if len(idle) > 8 else "")
        notes.note(idle[0].element, f"{len(idle)} joints have no transmission; nothing drives {listed}", "idle")
    return tuple(found)


def made_fixed(parts: JointParts) -> JointParts:
    """The joint without its motion."""
    return replace(parts, type="fixed", joints=())
