"""URDF as people have it, read into plain records.

The reader is our own, over the parser in xml_file.py. Those that exist were tried (November 2026): yourdfpy 0.0.60 and
urchin 0.0.30 keep no line numbers, need lxml and trimesh (urchin also networkx and a renderer), and leave out elements
that they do not know without a word; yourdfpy loads a file whose meshes it does not find without them and without an
error; urdf_parser_py names unknown elements, without lines, and had its last release in 2021. A format of twenty
elements is less work to read than to read around a reader.

What URDF leaves open is decided so:

- the root link is fixed to the world, unless the file has a floating joint above it or ``fixed_base`` is False;
- a planar joint is two prismatic joints, in the plane, and a revolute one: ``NAME_x``, ``NAME_y``, ``NAME_rotation``;
- links that are fixed to each other count as one for collisions: they, and neighbours across a joint, pass through;
- without transmissions every joint that mimics no other has a position actuator of its name.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from stickslip.errors import FileError
from stickslip.geometry.rotation import matrix, multiply
from stickslip.names import LONGEST_NAME, hidden_characters, shown
from stickslip.reading import regular_file
from stickslip.robots.import_notes import ImportNotes
from stickslip.robots.link_meshes import LinkMeshes
from stickslip.robots.mesh_paths import mesh_paths
from stickslip.robots.records import ImportReport, Quaternion, RobotRecord, TreeJoint, TreeLink, Vector
from stickslip.robots.urdf_joints import (
    JointParts,
    default_actuators,
    made_fixed,
    read_joint,
    read_mimics,
    read_transmissions,
)
from stickslip.robots.urdf_links import LinkParts, LinkReader, read_link, read_material, set_friction
from stickslip.robots.urdf_masses import check_masses, clusters
from stickslip.robots.urdf_words import gazebo_friction, look_for_unknown
from stickslip.robots.xacro_file import parse_xacro
from stickslip.robots.xml_file import Element, attribute, fail, parse_file

NEEDED = "the path of a URDF file"
MOST_LINKS = 20_000
"""Links of a file."""
MOST_EXCLUDED = 1_000_000
"""Pairs of links that pass through each other."""


def read_urdf(
    path: str | os.PathLike[str],
    *,
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    exact_meshes: bool = False,
    convex_pieces: bool = False,
    allow_outside: bool = False,
    repair: bool = False,
    fixed_base: bool | None = None,
) -> RobotRecord:
    """The robot of a URDF file, or of one with macros (``.xacro``).

    ``package_dirs`` are folders with packages for ``package://``. Collision meshes become convex hulls;
    ``exact_meshes`` takes closed ones as they are, ``convex_pieces`` splits them by CoACD. ``allow_outside`` lets
    names of meshes leave the folder of the file or package. ``repair`` makes impossible masses and inertias physical.
    ``fixed_base``: True fixes the root link to the world, False gives it a free joint ``ROOT_free``; None fixes it,
    unless the file has a floating joint there. Whatever is wrong raises a FileError with file, line and element.
    """
    given = regular_file(path, "robot file", NEEDED)
    root = parse_xacro(given) if given.suffix.lower() == ".xacro" else parse_file(given, "robot file", NEEDED)
    file = str(given)
    if root.tag != "robot":
        raise FileError(f"{file}, line {root.line}: the root element is <{shown(root.tag)[1:-1]}>; <robot> is needed")
    notes = ImportNotes()
    search = mesh_paths(given, package_dirs, allow_outside)
    reader = LinkReader(file, notes, search, LinkMeshes(exact_meshes, convex_pieces))
    look_for_unknown(root, notes)
    elements = _named(file, [*root.all("link")], "link")
    joints = _read_joints(file, root, set(elements), notes, repair)
    base = _root(file, root, elements, joints)
    for material in root.all("material"):
        read_material(reader, material)
    for visual_material in (m for link in elements.values() for v in link.all("visual") for m in v.all("material")):
        read_material(reader, visual_material)  # a material may be used before the link that gives its colour
    parts = {name: read_link(reader, element) for name, element in elements.items()}
    for name, friction in gazebo_friction(file, root, notes).items():
        if name in parts:
            set_friction(parts[name], friction)

    joints, links = _tree(file, base, fixed_base, joints, elements, notes)
    in_order = [parts[link.name] for link in links]
    check_masses(file, links, in_order, repair, notes)
    links = [_filled(link, part) for link, part in zip(links, in_order)]
    mimics = read_mimics(file, joints, notes)
    transmissions = root.all("transmission")
    actuators = read_transmissions(file, transmissions, joints, notes) if transmissions else default_actuators(joints)
    report = ImportReport(file, "urdf", paths=search.tried)
    notes.write(report)
    return RobotRecord(
        root.attributes.get("name") or Path(file).stem,
        tuple(links),
        mimics,
        actuators=actuators,
        excluded=_excluded(links, report),
        report=report,
    )


def _named(file: str, elements: list[Element], what: str) -> dict[str, Element]:
    """Elements by their names, which differ."""
    found: dict[str, Element] = {}
    for element in elements:
        name = attribute(file, element, "name")
        if len(name) > LONGEST_NAME or hidden_characters(name):
            fail(file, element, f"a name must have at most {LONGEST_NAME} characters, and no control characters")
        if name in found:
            fail(
                file, element, f"there is a {what} {shown(name)} in line {found[name].line} already; names must differ"
            )
        found[name] = element
    return found


def _read_joints(file: str, root: Element, links: set[str], notes: ImportNotes, repair: bool) -> dict[str, JointParts]:
    """All joints in the order of the file; each link has one above it at most."""
    elements = [child for child in root.children if child.tag in ("joint", "drake:joint")]
    joints: dict[str, JointParts] = {}
    above: dict[str, JointParts] = {}
    for element in _named(file, elements, "joint").values():
        parts = read_joint(file, element, links, notes, repair)
        if parts.child in above:
            other = above[parts.child].name
            fail(
                file,
                element,
                f"link {shown(parts.child)} is the child of joint {shown(other)}, too; one parent is right",
            )
        above[parts.child] = joints[parts.name] = parts
    return joints


def _root(file: str, root: Element, links: dict[str, Element], joints: dict[str, JointParts]) -> str:
    """The one link that no joint has as a child; all others are below it."""
    if not links:
        raise FileError(f"{file}, line {root.line}: the robot has no links; at least one is needed")
    if len(links) > MOST_LINKS:
        raise FileError(f"{file}: the robot has {len(links)} links; {MOST_LINKS} at most are read")
    children = {parts.child for parts in joints.values()}
    roots = [name for name in links if name not in children]
    if len(roots) > 1:
        listed = ", ".join(shown(name) for name in roots[:5])
        fail(file, links[roots[1]], f"the links {listed} hang on no other; one root is right: connect them by joints")
    reached = set(roots)
    below: dict[str, list[str]] = {}
    for parts in joints.values():
        below.setdefault(parts.parent, []).append(parts.child)
    waiting = list(roots)
    while waiting:
        for child in below.get(waiting.pop(), ()):
            reached.add(child)
            waiting.append(child)
    lost = next((parts for parts in joints.values() if parts.child not in reached), None)
    if lost is not None:
        fail(
            file,
            lost.element,
            f"link {shown(lost.child)} is in a cycle of links; every link hangs on the root in the end",
        )
    return roots[0]


def _tree(
    file: str,
    base: str,
    fixed_base: bool | None,
    joints: dict[str, JointParts],
    elements: dict[str, Element],
    notes: ImportNotes,
) -> tuple[dict[str, JointParts], list[TreeLink]]:
    """Joints as they are used, and links without masses, depth first, joints in the order of the file.

    What a floating joint carries is a tree of its own; it must hang on what is fixed to the world.
    """
    floating = [parts for parts in joints.values() if parts.type == "floating"]
    if fixed_base is True:
        for parts in floating:
            notes.note(parts.element, "the floating joint is fixed, as asked for", "floating fixed")
            joints = {**joints, parts.name: made_fixed(parts)}
    if fixed_base is False and any(parts.parent == base for parts in floating):
        fixed_base = None  # the file's own joint does it
    free = (TreeJoint(_fresh(f"{base}_free", joints), "free"),) if fixed_base is False else ()
    below: dict[str, list[JointParts]] = {}
    for parts in joints.values():
        below.setdefault(parts.parent, []).append(parts)
    links: list[TreeLink] = []
    nothing = np.zeros((3, 3))
    roots: list[tuple[str, tuple[TreeJoint, ...], Vector, Quaternion]] = [
        (base, free, (0.0,) * 3, (1.0, 0.0, 0.0, 0.0))
    ]
    while roots:
        name, own, position, rotation = roots.pop(0)
        # link, its joints, number of its parent, its pose in it; pose in the world while nothing moves it
        stack = [(name, own, -1, position, rotation, None if own else (position, rotation))]
        while stack:
            name, own, parent, position, rotation, world = stack.pop()
            number = len(links)
            links.append(TreeLink(name, parent, own, 0.0, nothing, (0.0, 0.0, 0.0), position, rotation))
            for parts in reversed(below.get(name, [])):
                pose = None if world is None else _composed(world, (parts.position, parts.rotation))
                if parts.type == "floating":
                    if pose is None:
                        reason = f"it floats on link {shown(name)}, which moves; what floats hangs on what is fixed"
                        fail(file, parts.element, reason)
                    roots.append((parts.child, parts.joints, *pose))
                    continue
                inner = None if parts.joints else pose
                stack.append((parts.child, parts.joints, number, parts.position, parts.rotation, inner))
    coordinates = [joint.name for link in links for joint in link.joints]
    if len(set(coordinates)) < len(coordinates):
        double = next(name for k, name in enumerate(coordinates) if name in coordinates[:k])
        raise FileError(f"{file}: two joints have a coordinate {shown(double)}; rename one of them")
    return joints, links


def _fresh(name: str, taken: dict[str, JointParts]) -> str:
    while name in taken:
        name += "_"
    return name


def _composed(a: tuple[Vector, Quaternion], b: tuple[Vector, Quaternion]) -> tuple[Vector, Quaternion]:
    x, y, z = (np.array(a[0]) + matrix(a[1]) @ np.array(b[0])).tolist()
    w, i, j, k = multiply(a[1], b[1]).tolist()
    return (x, y, z), (w, i, j, k)


def _filled(link: TreeLink, part: LinkParts) -> TreeLink:
    return replace(
        link, mass=part.mass, inertia=part.inertia, centre=part.centre, shapes=tuple(part.shapes),
        visuals=tuple(part.visuals),
    )  # fmt: skip


def _excluded(links: list[TreeLink], report: ImportReport) -> frozenset[tuple[str, str]]:
    """Pairs of links that are fixed to each other, or across one joint: a file has no filters, and these overlap."""
    first = clusters(links)
    members: dict[int, list[int]] = {}
    for number, cluster in enumerate(first):
        if links[number].shapes:
            members.setdefault(cluster, []).append(number)
    pairs: set[tuple[str, str]] = set()
    for cluster, own in members.items():
        parent = links[cluster].parent if cluster >= 0 else -1
        above = members.get(first[parent], []) if cluster >= 0 and parent >= 0 else []
        if len(pairs) + len(own) * (len(own) + len(above)) > MOST_EXCLUDED:
            report.warnings.append(f"more than {MOST_EXCLUDED} pairs of links are close; the rest of them touch")
            break
        pairs |= {(links[i].name, links[j].name) for k, i in enumerate(own) for j in own[k + 1 :]}
        pairs |= {(links[i].name, links[j].name) for i in above for j in own}
    direct = {(links[link.parent].name, link.name) for link in links if link.parent >= 0}
    pairs -= direct
    if pairs:
        report.notes.append(
            f"{len(pairs)} pairs of links pass through each other beside parents and children: links that are fixed to "
            "each other count as one"
        )
    return frozenset(pairs)
