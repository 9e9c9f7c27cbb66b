"""Joints of a scene: Scene inherits its ``add_*`` methods of joints from here.

Points and axes are in world coordinates at time zero. A positive coordinate moves or turns b relative to a along or
about the axis, and is zero at time zero; the coordinate of distances, ropes and springs is the distance itself.
"""

from __future__ import annotations

from typing import TypedDict, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from stickslip import checks
from stickslip.body_description import Body, BodyDescription
from stickslip.checks import positive, vector
from stickslip.errors import InputError
from stickslip.joint_description import (
    Drive,
    Joint,
    JointDescription,
    JointKind,
    Range,
    checked_drive,
    checked_limits,
    checked_stiffness,
    checked_strength,
    default_point,
    joint_frame,
    two_bodies,
)
from stickslip.names import shown

__all__ = ["Drive", "Joint", "JointDescription", "JointMethods"]


class BreakOptions(TypedDict, total=False):
    """Options of every joint; see :class:`JointMethods`."""

    break_force: float | None
    break_torque: float | None
    collide: bool
    name: str | None


class JointOptions(BreakOptions, total=False):
    """Options of every joint but springs; see :class:`JointMethods`."""

    stiffness: float | None
    damping: float


class JointMethods:
    """The joints of a scene: ``add_*`` methods, of which each takes two bodies, or a body and None for the world.

    Options of all: stiffness [N/m] (None: rigid) and damping [N s/m] of the locked translations, break_force [N] and
    break_torque [N m] at which the joint is lost (None or inf: never), collide (False: the two bodies pass through each
    other until the joint breaks), name. Where ``point`` is not given it is the centre of mass of b, or of a where b is
    not dynamic.
    """

    bodies: list[BodyDescription]
    joints: list[JointDescription]
    joint_names: dict[str, int]

    def add_fixed(
        self,
        a: Body | None,
        b: Body | None,
        point: ArrayLike | None = None,
        *,
        bending_stiffness: float | None = None,
        bending_damping: float = 0.0,
        **options: Unpack[JointOptions],
    ) -> Joint:
        """Weld b to a at ``point``; bending_stiffness [N m/rad] lets it bend, damped by bending_damping [N m s/rad]."""
        return self._add("fixed", a, b, point, options, bending=(bending_stiffness, bending_damping))

    def add_ball(
        self,
        a: Body | None,
        b: Body | None,
        point: ArrayLike | None = None,
        *,
        bending_stiffness: float | None = None,
        bending_damping: float = 0.0,
        **options: Unpack[JointOptions],
    ) -> Joint:
        """Hold b to a at ``point``; bending_stiffness [N m/rad], bending_damping [N m s/rad] resist any turning."""
        drag = checks.not_negative(self._label("ball", options)[0], "bending_damping", bending_damping)
        if bending_stiffness is None and drag == 0.0:
            return self._add("ball", a, b, point, options)
        # a ball joint that resists bending has the rows of a weld that may bend
        bending = 0.0 if bending_stiffness is None else bending_stiffness, drag
        return self._add("fixed", a, b, point, options, bending=bending, called="ball")

    def add_revolute(
        self,
        a: Body | None,
        b: Body | None,
        point: ArrayLike | None = None,
        axis: ArrayLike | None = None,
        *,
        limits: Range | None = None,
        drive: Drive | None = None,
        **options: Unpack[JointOptions],
    ) -> Joint:
        """Let b turn about ``axis`` through ``point``: a hinge. Coordinate: angle [rad], any number of turns."""
        return self._add("revolute", a, b, point, options, axes=(axis,), limits=(limits,), drives=(drive,))

    def add_prismatic(
        self,
        a: Body | None,
        b: Body | None,
        axis: ArrayLike,
        point: ArrayLike | None = None,
        *,
        limits: Range | None = None,
        drive: Drive | None = None,
        **options: Unpack[JointOptions],
    ) -> Joint:
        """Let b slide along ``axis`` without turning. Coordinate: slide [m]."""
        return self._add("prismatic", a, b, point, options, axes=(axis,), limits=(limits,), drives=(drive,))

    def add_cylindrical(
        self,
        a: Body | None,
        b: Body | None,
        point: ArrayLike | None = None,
        axis: ArrayLike | None = None,
        *,
        limits: Range | None = None,
        drive: Drive | None = None,
        turn_limits: Range | None = None,
        turn_drive: Drive | None = None,
        **options: Unpack[JointOptions],
    ) -> Joint:
        """Let b slide along and turn about ``axis`` through ``point``. Coordinates: slide [m], angle [rad]."""
        limited, driven = (limits, turn_limits), (drive, turn_drive)
        return self._add("cylindrical", a, b, point, options, axes=(axis,), limits=limited, drives=driven)

    def add_universal(
        self,
        a: Body | None,
        b: Body | None,
        point: ArrayLike | None = None,
        axis_a: ArrayLike | None = None,
        axis_b: ArrayLike | None = None,
        *,
        limits: Range | None = None,
        drive: Drive | None = None,
        other_limits: Range | None = None,
        other_drive: Drive | None = None,
        **options: Unpack[JointOptions],
    ) -> Joint:
        """Cardan joint: a cross turns about ``axis_a`` of a, and b about ``axis_b`` of the cross, perpendicular to it.

        Coordinates: the two angles [rad].
        """
        limited, driven = (limits, other_limits), (drive, other_drive)
        return self._add("universal", a, b, point, options, axes=(axis_a, axis_b), limits=limited, drives=driven)

    def add_distance(
        self,
        a: Body | None,
        b: Body | None,
        point_a: ArrayLike,
        point_b: ArrayLike,
        *,
        length: float | None = None,
        limits: Range | None = None,
        **options: Unpack[JointOptions],
    ) -> Joint:
        """Keep two points ``length`` [m] (default: as at time zero) apart: a rod; or within ``limits`` [m]: a rope.

        Coordinate: distance [m]. The stiffness of a rope acts at its limits.
        """
        if limits is None:
            return self._add("distance", a, b, point_a, options, point_b=point_b, length=length)
        if length is not None:
            raise InputError(f"{self._label('rope', options)[0]}: both length and limits are given; give one of them")
        return self._add("rope", a, b, point_a, options, point_b=point_b, limits=(limits,))

    def add_spring(
        self,
        a: Body | None,
        b: Body | None,
        point_a: ArrayLike,
        point_b: ArrayLike,
        stiffness: float,
        damping: float = 0.0,
        *,
        length: float | None = None,
        **options: Unpack[BreakOptions],
    ) -> Joint:
        """Pull two points to ``length`` [m] (default: as at time zero) with stiffness [N/m] and damping [N s/m]."""
        if stiffness is None:
            raise InputError(
                f"{self._label('spring', options)[0]}: stiffness is None; a number is needed (a rod: add_distance)"
            )
        pulled = JointOptions(stiffness=stiffness, damping=damping)
        pulled.update(cast("JointOptions", options))
        return self._add("spring", a, b, point_a, pulled, point_b=point_b, length=length)

    def joint(self, name: str) -> Joint:
        """Handle of a joint by name."""
        if isinstance(name, str) and name in self.joint_names:
            return Joint(self.joint_names[name], name)
        raise InputError(f"joint {shown(name)} is unknown; the scene has {len(self.joints)} joints")

    def _add(
        self,
        kind: JointKind,
        a: Body | None,
        b: Body | None,
        point: ArrayLike | None,
        options: JointOptions,
        *,
        point_b: ArrayLike | None = None,
        axes: tuple[ArrayLike | None, ...] = (),
        length: float | None = None,
        limits: tuple[Range | None, ...] = (),
        drives: tuple[Drive | None, ...] = (),
        bending: tuple[float | None, float] = (None, 0.0),
        called: str | None = None,
    ) -> Joint:
        """Check and add a joint; every ``add_*`` method ends here. ``called``: its kind in the user's words."""
        where, label = self._label(called or kind, options)
        if label in self.joint_names:
            raise InputError(f"{where} exists already; choose another name")
        for option in options:
            if option not in JointOptions.__optional_keys__:
                raise InputError(f"{where}: a {called or kind} joint has no option {option!r}")
        i, j = two_bodies(self.bodies, where, a, b)
        first = default_point(self.bodies, i, j) if point is None else vector(where, "point", point)
        second = first if point_b is None else vector(where, "point_b", point_b)
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
            where, "bending_stiffness", bending[0], "bending_damping", bending[1]
        )
        collide = checks.boolean(where, "collide", options.get("collide", False))
        description = JointDescription(
            name=label,
            kind=kind,
            a=i,
            b=j,
            point_a=first,
            point_b=second,
            frame=joint_frame(where, axes),
            length=apart if length is None else positive(where, "length", length),
            limits=tuple(checked_limits(where, given, start) for given in limits),
            drives=tuple(checked_drive(where, given) for given in drives),
            stiffness=stiffness,
            damping=damping,
            bending_stiffness=bending_stiffness,
            bending_damping=bending_damping,
            break_force=checked_strength(where, "break_force", options.get("break_force")),
            break_torque=checked_strength(where, "break_torque", options.get("break_torque")),
            collide=collide,
        )
        self.joints.append(description)
        self.joint_names[label] = len(self.joints) - 1
        return Joint(self.joint_names[label], label)

    def _label(self, kind: str, options: BreakOptions) -> tuple[str, str]:
        """What errors call a new joint, and its name."""
        name = options.get("name")
        given = "" if name is None else checks.name(f"{kind} joint", name)
        label = given or f"{kind}-{len(self.joints)}"
        return f"joint {label!r}", label
