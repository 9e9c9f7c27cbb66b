"""Elastic rods of a scene: functions on its records.

A rod is a chain of rigid links, six unknowns each, with elastic sections where they meet ([lee2023] sec. V).
"""

from __future__ import annotations

from math import inf, pi
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stickslip import checks
from stickslip.arrays import Array
from stickslip.checks import not_negative, positive
from stickslip.errors import InputError
from stickslip.geometry.rotation import between, multiply
from stickslip.geometry.shapes import Capsule, placed
from stickslip.names import LONGEST_NAME, shown
from stickslip.scene.bodies import GivenMass, add_body
from stickslip.scene.body import Body, Start
from stickslip.scene.joint import WORLD, Joint, JointDescription
from stickslip.scene.joints import record_joint
from stickslip.scene.materials import Surface
from stickslip.scene.records import SceneRecords
from stickslip.scene.rod import (
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

__all__ = ["Rod", "RodMaterial"]

APART = pi
"""Links whose ends are closer along the rod than this many radii do not collide: a rod of this length that is bent as
far as it can be, to a circle of its own radius, just touches itself."""


class RodMaterial(NamedTuple):
    """What a rod is made of."""

    young: float
    """[Pa]"""
    poisson: float = 0.49
    density: float = 1000.0
    """[kg/m^3]"""
    damping: float = 0.0
    """[s] of strains, as a share of the stiffness."""


def add_rod(
    records: SceneRecords,
    points: ArrayLike,
    radius: float,
    made_of: RodMaterial,
    surface: Surface,
    *,
    rest: Rest | ArrayLike = "straight",
    closed: bool = False,
    ends_fixed: tuple[bool | Body, bool | Body] = (False, False),
    name: str | None = None,
    velocity: ArrayLike = (0, 0, 0),
    colour: tuple[float, float, float] | None = None,
) -> Rod:
    """Add an elastic rod of round section; :meth:`Scene.add_rod` says what the arguments mean."""
    given = "" if name is None else checks.name("rod", name, LONGEST_NAME - 30)  # links and sections add to it
    label = given or f"rod-{len(records.rods)}"
    where = f"rod {label!r}"
    if any(known.name == label for known in records.rods) or any(
        known.startswith(f"{label}/") for known in records.names
    ):
        raise InputError(f"{where} exists already; choose another name")
    closed = checks.boolean(where, "closed", closed)
    section = round_section(where, radius, made_of.young, made_of.poisson)
    beta = not_negative(where, "damping", made_of.damping)
    rho = positive(where, "density", made_of.density)
    ends = checked_points(where, points, closed)
    clamps = [_clamp(records, where, given, closed) for given in ends_fixed]
    along = np.diff(ends, axis=0)
    length = np.linalg.norm(along, axis=1)
    frames = transported_frames(along / length[:, None])
    plan = _Plan(ends, length, frames, closed)
    curvature = rest_curvature(where, rest, plan.bend, plan.section_length)
    links = []
    for k, turn in enumerate(frames):
        mass, inertia = segment_mass(rho, float(radius), float(length[k]))
        links.append(
            add_body(
                records,
                [placed(Capsule(float(radius), float(length[k])))],
                Start(0.5 * (ends[k] + ends[k + 1]), turn, (0, 0, 0) if velocity is None else velocity),
                GivenMass(mass=mass, inertia=inertia),
                surface,
                name=f"{label}/{k}",
                colour=colour,
            )
        )
    index = [link.index for link in links]
    sections = [
        _add_section(
            records, f"{label}/section-{s}", index[s], index[(s + 1) % len(index)], ends[s + 1], frames[s],
            plan.frame_b[s], section, float(plan.section_length[s]), curvature[s], beta,
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
        sections.append(_add_section(records, f"{label}/{which}", *pair, at, turn, turn, section, half, bend, beta))
        section_length.append(half)
    _part_links(records, index, length, float(radius), closed)
    rod = Rod(label, tuple(links), tuple(sections), float(radius), length, np.array(section_length), closed)
    records.rods.append(rod)
    return rod


def rod_named(records: SceneRecords, name: str) -> Rod:
    """Handle of a rod by name."""
    for rod in records.rods:
        if isinstance(name, str) and rod.name == name:
            return rod
    raise InputError(f"rod {shown(name)} is unknown; the scene has {len(records.rods)} rods")


def _add_section(
    records: SceneRecords,
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
    return record_joint(
        records,
        JointDescription(
            name=label, kind="rod", a=a, b=b, point_a=point, point_b=point, frame=frame_a, length=0.0,
            limits=(), drives=(), stiffness=inf, damping=0.0, bending_stiffness=inf, bending_damping=0.0,
            break_force=inf, break_torque=inf, collide=False, frame_b=frame_b,
            springs=section.springs(length, curvature, damping),
        ),
    )  # fmt: skip


def _part_links(records: SceneRecords, index: list[int], length: Array, radius: float, closed: bool) -> None:
    """Let links that are near each other along the rod pass through each other."""
    count = len(index)
    for i in range(count):
        between_them, k = 0.0, i + 1
        while between_them < APART * radius and k < i + count:
            if k >= count and not closed:
                break
            records.ignored.add((min(index[i], index[k % count]), max(index[i], index[k % count])))
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


def _clamp(records: SceneRecords, where: str, given: bool | Body, closed: bool) -> int | None:
    """Body index that holds an end of a rod, WORLD, or None where the end is free."""
    if given is False:
        return None
    if closed:
        raise InputError(f"{where}: it is closed, so it has no ends that could be fixed; leave them out")
    if given is True:
        return WORLD
    return records.number_of(where, "the body that holds an end", given, ", or True for the world")
