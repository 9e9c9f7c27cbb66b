"""Elastic rods of a scene: Scene inherits ``add_rod`` from here.

A rod is a chain of rigid links, six unknowns each, with elastic sections where they meet ([lee2023] sec. V).
"""

from __future__ import annotations

from math import inf, pi
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from stickslip import checks
from stickslip.arrays import Array
from stickslip.body_description import Body, BodyDescription, BodyOptions, body_index
from stickslip.checks import not_negative, positive
from stickslip.errors import InputError
from stickslip.geometry.rotation import between, multiply
from stickslip.joint_description import WORLD, Joint, JointDescription
from stickslip.materials import Friction
from stickslip.names import LONGEST_NAME, shown
from stickslip.rod_description import (
    Rest,
    Rod,
    Section,
    bend_between,
    checked_points,
    rest_curvature,
    round_section,
    segment_mass,
    transported_frames,
)

__all__ = ["Rod", "RodMethods"]

APART = pi
"""Links whose ends are closer along the rod than this many radii do not collide: a rod of this length that is bent as
far as it can be, to a circle of its own radius, just touches itself."""


class RodMethods:
    """The rods of a scene."""

    bodies: list[BodyDescription]
    names: dict[str, int]
    ignored: set[tuple[int, int]]
    joints: list[JointDescription]
    joint_names: dict[str, int]
    rods: list[Rod]

    if TYPE_CHECKING:

        def add_capsule(
            self,
            radius: float,
            length: float,
            position: ArrayLike = (0, 0, 0),
            rotation: ArrayLike = (1, 0, 0, 0),
            **options: Unpack[BodyOptions],
        ) -> Body:
            """See Scene."""
            ...

    def add_rod(
        self,
        points: ArrayLike,
        radius: float,
        *,
        young: float,
        poisson: float = 0.49,
        density: float = 1000.0,
        damping: float = 0.0,
        rest: Rest | ArrayLike = "straight",
        closed: bool = False,
        fixed_start: bool | Body = False,
        fixed_end: bool | Body = False,
        name: str | None = None,
        material: str | None = None,
        friction: Friction | None = None,
        restitution: float | None = None,
        velocity: ArrayLike = (0, 0, 0),
        colour: tuple[float, float, float] | None = None,
    ) -> Rod:
        """Add an elastic rod of round section through ``points`` (n, 3) [m]: it stretches, shears, bends and twists.

        Between any two points is a link; radius [m], young [Pa], density [kg/m^3]; damping [s]: of strains, as a share
        of the stiffness (Rayleigh's beta). rest: the shape without forces, "straight", "as given", or curvature about
        the local x and y axes and twist, (3,) or (sections, 3) [1/m]. At rest links have the lengths given.
        closed: the end is joined to the start. fixed_start, fixed_end: the end is clamped to the world (True) or a
        body; other holds are made with joints on ``rod.links``. Surface options are those of add_body; links that are
        far enough apart along the rod collide.
        """
        given = "" if name is None else checks.name("rod", name, LONGEST_NAME - 30)  # links and sections add to it
        label = given or f"rod-{len(self.rods)}"
        where = f"rod {label!r}"
        if any(known.name == label for known in self.rods) or any(
            known.startswith(f"{label}/") for known in self.names
        ):
            raise InputError(f"{where} exists already; choose another name")
        closed = checks.boolean(where, "closed", closed)
        section = round_section(where, radius, young, poisson)
        beta = not_negative(where, "damping", damping)
        rho = positive(where, "density", density)
        ends = checked_points(where, points, closed)
        clamps = [_clamp(self.bodies, where, given, closed) for given in (fixed_start, fixed_end)]
        along = np.diff(ends, axis=0)
        length = np.linalg.norm(along, axis=1)
        frames = transported_frames(along / length[:, None])
        plan = _Plan(ends, length, frames, closed)
        curvature = rest_curvature(where, rest, plan.bend, plan.section_length)
        surface = {
            "material": material, "friction": friction, "restitution": restitution, "velocity": velocity,
            "colour": colour,
        }  # fmt: skip
        options: dict[str, Any] = {key: value for key, value in surface.items() if value is not None}
        links = []
        for k, turn in enumerate(frames):
            mass, inertia = segment_mass(rho, float(radius), float(length[k]))
            middle = 0.5 * (ends[k] + ends[k + 1])
            links.append(
                self.add_capsule(
                    float(radius), float(length[k]), middle, turn, name=f"{label}/{k}", mass=mass, inertia=inertia,
                    **options,
                )
            )  # fmt: skip
        index = [link.index for link in links]
        sections = [
            self._add_section(
                f"{label}/section-{s}", index[s], index[(s + 1) % len(index)], ends[s + 1], frames[s], plan.frame_b[s],
                section, float(plan.section_length[s]), curvature[s], beta,
            )
            for s in range(len(plan.section_length))
        ]  # fmt: skip
        section_length = plan.section_length.tolist()
        for clamp, at, k, which in zip(clamps, (ends[0], ends[-1]), (0, -1), ("start", "end"), strict=True):
            if clamp is None:
                continue
            # from the clamp to the middle of the first link
            half, turn = 0.5 * float(length[k]), frames[k]
            pair = (clamp, index[k]) if k == 0 else (index[k], clamp)
            bend = curvature[k] if len(curvature) and not isinstance(rest, str) else np.zeros(3)
            sections.append(self._add_section(f"{label}/{which}", *pair, at, turn, turn, section, half, bend, beta))
            section_length.append(half)
        self._part_links(index, length, float(radius), closed)
        rod = Rod(label, tuple(links), tuple(sections), float(radius), length, np.array(section_length), closed)
        self.rods.append(rod)
        return rod

    def rod(self, name: str) -> Rod:
        """Handle of a rod by name."""
        for rod in self.rods:
            if isinstance(name, str) and rod.name == name:
                return rod
        raise InputError(f"rod {shown(name)} is unknown; the scene has {len(self.rods)} rods")

    def _add_section(
        self,
        label: str,
        a: int,
        b: int,
        point: Array,
        frame_a: Array,
        frame_b: Array,
        section: Section,
        length: float,
        curvature: Array,
        damping: float,
    ) -> Joint:
        """Join two bodies by the springs of a ``length`` [m] of a rod."""
        self.joints.append(
            JointDescription(
                name=label, kind="rod", a=a, b=b, point_a=point, point_b=point, frame=frame_a, length=0.0,
                limits=(), drives=(), stiffness=inf, damping=0.0, bending_stiffness=inf, bending_damping=0.0,
                break_force=inf, break_torque=inf, collide=False, frame_b=frame_b,
                springs=section.springs(length, curvature, damping),
            )
        )  # fmt: skip
        self.joint_names[label] = len(self.joints) - 1
        return Joint(self.joint_names[label], label)

    def _part_links(self, index: list[int], length: Array, radius: float, closed: bool) -> None:
        """Let links that are near each other along the rod pass through each other."""
        count = len(index)
        for i in range(count):
            between_them, k = 0.0, i + 1
            while between_them < APART * radius and k < i + count:
                if k >= count and not closed:
                    break
                self.ignored.add((min(index[i], index[k % count]), max(index[i], index[k % count])))
                between_them += float(length[k % count])
                k += 1


class _Plan:
    """Sections between the links of a rod: their lengths, frames of the second link, and bends at time zero."""

    def __init__(self, ends: Array, length: Array, frames: Array, closed: bool) -> None:
        following = np.roll(length, -1) if closed else length[1:]
        self.section_length = 0.5 * (length[: len(following)] + following)
        self.frame_b = frames[1:]
        if closed:
            # carried once around, frames come back turned about the rod: that is no twist of it
            way = ends[-1] - ends[-2], ends[1] - ends[0]
            self.frame_b = np.concatenate([frames[1:], [multiply(between(*way), frames[-1])]])
        pairs = zip(frames[: len(self.frame_b)], self.frame_b, strict=True)
        self.bend = np.array([bend_between(a, b) for a, b in pairs]).reshape(-1, 3)


def _clamp(bodies: list[BodyDescription], where: str, given: bool | Body, closed: bool) -> int | None:
    """Body index that holds an end of a rod, WORLD, or None where the end is free."""
    if given is False:
        return None
    if closed:
        raise InputError(f"{where}: it is closed, so it has no ends that could be fixed; leave them out")
    if given is True:
        return WORLD
    names = [known.name for known in bodies]
    return body_index(where, "the body that holds an end", given, names, ", or True for the world")
