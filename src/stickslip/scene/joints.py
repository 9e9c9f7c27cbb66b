"""Joints of a scene: functions on its records, in which every ``Scene.add_*`` of a joint ends.

Points and axes are in world coordinates at time zero. A positive coordinate moves or turns b relative to a along or
about the axis, and is zero at time zero; the coordinate of distances, ropes and springs is the distance itself.
"""

from __future__ import annotations

from typing import NamedTuple, TypedDict, cast

import numpy as np
from numpy.typing import ArrayLike

from stickslip import checks
from stickslip.arrays import Array
from stickslip.checks import positive, vector
from stickslip.errors import InputError
from stickslip.geometry import rotation
from stickslip.keywords import KeywordError, known_names
from stickslip.names import shown
from stickslip.scene.body import FIRST_FRAME, Body
from stickslip.scene.joint import (
    WORLD,
    Drive,
    Joint,
    JointDescription,
    JointKind,
    Range,
    checked_drive,
    checked_limits,
    checked_stiffness,
    checked_strength,
    joint_frame,
)
from stickslip.scene.records import SceneRecords

__all__ = ["Drive", "Joint", "JointDescription"]


class BreakOptions(TypedDict, total=False):
    """Options of every joint; see :class:`JointOptions`."""

    break_force: float | None
    break_torque: float | None
    collide: bool
    name: str | None


class JointOptions(BreakOptions, total=False):
    """Options of every joint but springs, whose stiffness is no option.

    stiffness [N/m] (None: rigid) and damping [N s/m] of the locked translations, break_force [N] and break_torque [N m]
    at which the joint is lost (None or inf: never), collide (False: the two bodies pass through each other until the
    joint breaks), name.
    """

    stiffness: float | None
    damping: float


class JointForm(NamedTuple):
    """What joints of one kind have and others have not."""

    point_b: ArrayLike | None = None
    """(3,) [m] the second point of a distance, rope or spring."""
    axes: tuple[ArrayLike | None, ...] = ()
    length: float | None = None
    """[m] of a distance or spring; None: as at time zero."""
    limits: tuple[Range | None, ...] = ()
    """Per coordinate [m or rad]."""
    drives: tuple[Drive | None, ...] = ()
    """Per coordinate."""
    bending: tuple[float | None, float] = (None, 0.0)
    """Stiffness [N m/rad] (None: rigid) and damping [N m s/rad] of the locked rotations."""
    called: str | None = None
    """The kind in the user's words, where they differ."""


PLAIN = JointForm()


def add_joint(
    records: SceneRecords,
    kind: JointKind,
    a: Body | None,
    b: Body | None,
    point: ArrayLike | None,
    options: JointOptions,
    form: JointForm = PLAIN,
) -> Joint:
    """Check and add a joint of two bodies, None for the world.

    Where ``point`` is None it is the centre of mass of b, or of a where b is not dynamic.
    """
    called = form.called or kind
    where, label = _label(records, called, options)
    if label in records.joint_names:
        raise InputError(f"{where} exists already; choose another name")
    for option in options:
        if option not in JointOptions.__optional_keys__:
            known = known_names(option, sorted(JointOptions.__optional_keys__))
            raise KeywordError(f"{where}: a {called} joint has no option {option!r}; {known}")
    i, j = two_bodies(records, where, a, b)
    first = default_point(records, i, j) if point is None else vector(where, "point", point)
    second = first if form.point_b is None else vector(where, "point_b", form.point_b)
    apart = float(np.linalg.norm(second - first))
    if apart < 1e-9 and kind in ("distance", "spring"):
        raise InputError(
            f"{where}: both points are {first}, so it has no direction; give two points that are apart, "
            "or use add_ball with a stiffness"
        )
    start = apart if kind == "rope" else 0.0
    stiffness, damping = checked_stiffness(
        where, "stiffness", options.get("stiffness"), "damping", options.get("damping", 0.0)
    )
    bending_stiffness, bending_damping = checked_stiffness(
        where, "bending_stiffness", form.bending[0], "bending_damping", form.bending[1]
    )
    collide = checks.boolean(where, "collide", options.get("collide", False))
    description = JointDescription(
        name=label,
        kind=kind,
        a=i,
        b=j,
        point_a=first,
        point_b=second,
        frame=joint_frame(where, form.axes),
        length=apart if form.length is None else positive(where, "length", form.length),
        limits=tuple(checked_limits(where, given, start) for given in form.limits),
        drives=tuple(checked_drive(where, given) for given in form.drives),
        stiffness=stiffness,
        damping=damping,
        bending_stiffness=bending_stiffness,
        bending_damping=bending_damping,
        break_force=checked_strength(where, "break_force", options.get("break_force")),
        break_torque=checked_strength(where, "break_torque", options.get("break_torque")),
        collide=collide,
    )
    return record_joint(records, description)


def two_bodies(records: SceneRecords, where: str, a: Body | None, b: Body | None) -> tuple[int, int]:
    """Indices of the bodies of a joint, WORLD for None; at least one must be able to move."""
    found = []
    for side, body in (("a", a), ("b", b)):
        found.append(
            WORLD if body is None else records.number_of(where, f"body {side}", body, ", or None for the world")
        )
    if found[0] == found[1]:
        what = "the world" if a is None else f"body {a.name!r}"
        raise InputError(f"{where}: a and b are both {what}; two different bodies are needed")
    if not any(records.is_free(index) for index in found):
        both = " and ".join("the world" if i == WORLD else records.described(i) for i in found)
        raise InputError(f"{where}: it joins {both}; at least one body must be dynamic")
    return found[0], found[1]


def default_point(records: SceneRecords, a: int, b: int) -> Array:
    """Centre of mass (3,) [m] of b, or of a where b does not move freely."""
    chosen = b if records.is_free(b) else a
    if chosen >= FIRST_FRAME:
        return records.frames[chosen - FIRST_FRAME].centre.copy()
    body = records.bodies[chosen]
    return body.position + rotation.matrix(body.rotation) @ body.mass_properties.centre


def record_joint(records: SceneRecords, description: JointDescription) -> Joint:
    """Add a joint whose description is checked already."""
    records.joints.append(description)
    records.joint_names[description.name] = len(records.joints) - 1
    return Joint(records.joint_names[description.name], description.name)


def add_ball(
    records: SceneRecords,
    a: Body | None,
    b: Body | None,
    point: ArrayLike | None,
    bending: tuple[float | None, float],
    options: JointOptions,
) -> Joint:
    """Hold b to a at ``point``; bending: stiffness [N m/rad] and damping [N m s/rad] that resist any turning."""
    drag = checks.not_negative(_label(records, "ball", options)[0], "bending_damping", bending[1])
    if bending[0] is None and drag == 0.0:
        return add_joint(records, "ball", a, b, point, options)
    # a ball joint that resists bending has the rows of a weld that may bend
    resisting = 0.0 if bending[0] is None else bending[0], drag
    return add_joint(records, "fixed", a, b, point, options, JointForm(bending=resisting, called="ball"))


def add_distance(
    records: SceneRecords,
    a: Body | None,
    b: Body | None,
    points: tuple[ArrayLike, ArrayLike],
    length: float | None,
    limits: Range | None,
    options: JointOptions,
) -> Joint:
    """Keep two points ``length`` [m] apart, a rod, or within ``limits`` [m], a rope."""
    if limits is None:
        return add_joint(records, "distance", a, b, points[0], options, JointForm(point_b=points[1], length=length))
    if length is not None:
        where = _label(records, "rope", options)[0]
        raise InputError(f"{where}: both length and limits are given; give one of them")
    return add_joint(records, "rope", a, b, points[0], options, JointForm(point_b=points[1], limits=(limits,)))


def add_spring(
    records: SceneRecords,
    a: Body | None,
    b: Body | None,
    points: tuple[ArrayLike, ArrayLike],
    spring: tuple[float, float],
    length: float | None,
    options: BreakOptions,
) -> Joint:
    """Pull two points to ``length`` [m]; spring: stiffness [N/m] and damping [N s/m]."""
    stiffness, damping = spring
    if stiffness is None:
        where = _label(records, "spring", options)[0]
        raise InputError(f"{where}: stiffness is None; a number is needed (a rod: add_distance)")
    pulled = JointOptions(stiffness=stiffness, damping=damping)
    pulled.update(cast("JointOptions", options))
    return add_joint(records, "spring", a, b, points[0], pulled, JointForm(point_b=points[1], length=length))


def joint_named(records: SceneRecords, name: str) -> Joint:
    """Handle of a joint by name."""
    if isinstance(name, str) and name in records.joint_names:
        return Joint(records.joint_names[name], name)
    raise InputError(f"joint {shown(name)} is unknown; the scene has {len(records.joints)} joints")


def _label(records: SceneRecords, kind: str, options: BreakOptions) -> tuple[str, str]:
    """What errors call a new joint, and its name."""
    name = options.get("name")
    given = "" if name is None else checks.name(f"{kind} joint", name)
    label = given or f"{kind}-{len(records.joints)}"
    return f"joint {label!r}", label
