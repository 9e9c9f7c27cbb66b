"""Masses and inertias of a tree of links: what stops a simulation is an error, what is odd a warning."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.geometry.rotation import matrix
from stickslip.names import shown
from stickslip.robots.import_notes import ImportNotes
from stickslip.robots.link_inertia import (
    SMALL_MASS,
    composite,
    has_negative,
    is_definite,
    keeps_triangle,
    moments_text,
    physical,
)
from stickslip.robots.records import TreeLink
from stickslip.robots.urdf_links import LinkParts
from stickslip.robots.xml_file import Element, fail

Body = tuple[float, Array, Array]
"""Mass [kg], centre of mass (3,) [m] and inertia (3, 3) about it [kg m^2]."""


def clusters(links: list[TreeLink]) -> list[int]:
    """For every link the first link of those that it is fixed to; -1 where that is the world."""
    first: list[int] = []
    for number, link in enumerate(links):
        if link.joints:
            first.append(number)
        else:
            first.append(first[link.parent] if link.parent >= 0 else -1)
    return first


def check_masses(file: str, links: list[TreeLink], parts: list[LinkParts], repair: bool, notes: ImportNotes) -> None:
    """Check all links and, with ``repair``, change ``parts`` so that they are physical.

    Links that nothing moves need no mass. A link that moves may be a point or
    without mass where it carries others: the joint then moves what they have, at the zero posture.
    """
    first = clusters(links)
    for link, part, cluster in zip(links, parts, first):
        _check_link(file, link.name, part, cluster >= 0, repair, notes)
    below = [part.mass for part in parts]
    for number in reversed(range(len(links))):
        if links[number].parent >= 0:
            below[links[number].parent] += below[number]
    for number, link in enumerate(links):
        if link.joints and below[number] <= 0.0:
            _lacks_mass(file, link.name, parts[number], repair, notes)
    bodies = [_body(part) for part in parts]  # of what is at each link and below it, in its frame
    for number in reversed(range(len(links))):
        link = links[number]
        if link.joints:
            _check_moving(file, number, first, links, parts, bodies, repair, notes)
        if link.parent >= 0:
            turn = matrix(link.rotation)
            mass, centre, inertia = bodies[number]
            moved = mass, np.array(link.position) + turn @ centre, turn @ inertia @ turn.T
            bodies[link.parent] = _together(bodies[link.parent], moved)


def _inertial(part: LinkParts) -> Element:
    return part.element.first("inertial") or part.element


def _check_link(file: str, name: str, part: LinkParts, moves: bool, repair: bool, notes: ImportNotes) -> None:
    where = _inertial(part)
    if part.mass < 0.0:
        text = f"the mass of link {shown(name)} is {part.mass:g} kg; it must be positive"
        if repair:
            notes.repaired.append(f"{where.words()}: mass of link {shown(name)}: {part.mass:g} kg -> {-part.mass:g} kg")
            part.mass = -part.mass
        elif moves:
            fail(file, where, f"{text}; repair=True takes its size")
        else:
            notes.warn(where, f"{text}; nothing moves the link, it is taken as 0")
            part.mass = 0.0
    if not part.inertia.any():
        return
    wrong = ""
    if has_negative(part.mass, part.inertia):
        wrong = "a negative one; all must be positive"
    elif not keeps_triangle(part.mass, part.inertia):
        wrong = "one larger than the sum of the others, which no body has"
    if not wrong:
        return
    better = physical(part.mass, part.inertia)
    text = (
        f"the inertia of link {shown(name)} has principal moments {moments_text(part.inertia)}, {wrong}; "
        f"{moments_text(better)} would be physical"
    )
    if repair:
        notes.repaired.append(f"{where.words()}: inertia of link {shown(name)}, principal moments "
                              f"{moments_text(part.inertia)} -> {moments_text(better)}")  # fmt: skip
        part.inertia = better
    elif has_negative(part.mass, part.inertia) and moves:
        fail(file, where, f"{text}; repair=True makes it so")
    else:
        notes.warn(where, f"{text}; it is kept, repair=True changes it")


def _lacks_mass(file: str, name: str, part: LinkParts, repair: bool, notes: ImportNotes) -> None:
    """A joint moves nothing that has mass."""
    where = _inertial(part)
    if not repair:
        fail(
            file, where, f"link {shown(name)} moves, and neither it nor what hangs on it has mass; give it an "
            f"<inertial> with a positive mass, or repair=True, which gives it {SMALL_MASS:g} kg",
        )  # fmt: skip
    part.mass = SMALL_MASS
    if not part.inertia.any():
        part.inertia = physical(SMALL_MASS, np.zeros((3, 3)))
    notes.repaired.append(f"{where.words()}: mass of link {shown(name)}: 0 kg -> {SMALL_MASS:g} kg")


def _body(part: LinkParts) -> Body:
    return part.mass, np.array(part.centre), part.inertia


def _together(a: Body, b: Body) -> Body:
    return composite((a[0], b[0]), (a[1], b[1]), (a[2], b[2]))


def _check_moving(
    file: str, number: int, first: list[int], links: list[TreeLink], parts: list[LinkParts], bodies: list[Body],
    repair: bool, notes: ImportNotes,
) -> None:  # fmt: skip
    """What a joint carries, as one body, must have an inertia about every axis: a point or a thin rod has not."""
    mass, _, inertia = bodies[number]
    if mass <= 0.0 or is_definite(mass, inertia):
        return
    members = [k for k, cluster in enumerate(first) if cluster == number]
    heaviest = max(members, key=lambda k: parts[k].mass)
    part, name = parts[heaviest], links[heaviest].name
    better = physical(part.mass or SMALL_MASS, part.inertia)
    where, given, needed = _inertial(part), moments_text(part.inertia), moments_text(better)
    if not repair:
        reason = f"the inertia of link {shown(name)} has principal moments {given}; all must be positive, such as"
        fail(file, where, f"{reason} {needed}; repair=True makes it so")
    notes.repaired.append(f"{where.words()}: inertia of link {shown(name)}, principal moments {given} -> {needed}")
    part.inertia = better
    bodies[number] = _together(bodies[number], (0.0, np.zeros(3), better))
