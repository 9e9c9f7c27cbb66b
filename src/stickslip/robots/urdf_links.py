"""Links of URDF: inertia, collision shapes and visuals, each in the frame of its link."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import cos, sin

import numpy as np

from stickslip.arrays import Array
from stickslip.errors import InputError, MissingDependencyError, StickslipError
from stickslip.geometry.rotation import matrix
from stickslip.geometry.shapes import Box, Capsule, Cylinder, Placed, Shape, Sphere
from stickslip.names import shown
from stickslip.robots.import_notes import ImportNotes
from stickslip.robots.link_meshes import Colour, LinkMeshes
from stickslip.robots.mesh_paths import MeshPaths
from stickslip.robots.plain_surfaces import plain_surface
from stickslip.robots.records import LinkShape, Quaternion, Vector, Visual
from stickslip.robots.xml_file import Element, attribute, fail, number, numbers

GREY: Colour = (0.7, 0.7, 0.7, 1.0)
PLAIN = ("box", "sphere", "cylinder", "capsule", "drake:capsule")


@dataclass(eq=False)
class LinkParts:
    """What one <link> says, before it is part of a tree."""

    element: Element
    mass: float = 0.0
    centre: Vector = (0.0, 0.0, 0.0)
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))
    shapes: list[LinkShape] = field(default_factory=list)
    visuals: list[Visual] = field(default_factory=list)


@dataclass
class LinkReader:
    """What reading links needs: the file, its materials, meshes, and where to say what is wrong."""

    file: str
    notes: ImportNotes
    paths: MeshPaths
    meshes: LinkMeshes
    materials: dict[str, Colour] = field(default_factory=dict)


def pose(file: str, element: Element) -> tuple[Vector, Quaternion]:
    """Position [m] and rotation of the <origin> of an element: roll, pitch and yaw about fixed axes."""
    origin = element.first("origin")
    if origin is None:
        return (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
    x, y, z = numbers(file, origin, "xyz", 3, (0.0, 0.0, 0.0))
    if "quat_xyzw" in origin.attributes:
        qx, qy, qz, qw = numbers(file, origin, "quat_xyzw", 4)
        length = float(np.linalg.norm([qw, qx, qy, qz]))
        if length < 1e-9:
            fail(file, origin, "quat_xyzw is zero; it must be a rotation")
        return (x, y, z), (qw / length, qx / length, qy / length, qz / length)
    roll, pitch, yaw = numbers(file, origin, "rpy", 3, (0.0, 0.0, 0.0))
    cr, sr, cp, sp, cy, sy = (f(0.5 * a) for a in (roll, pitch, yaw) for f in (cos, sin))
    return (x, y, z), (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )


def read_link(reader: LinkReader, link: Element) -> LinkParts:
    """The parts of a <link>; shapes have the colour of the first visual."""
    file = reader.file
    parts = LinkParts(link)
    inertials = link.all("inertial")
    if len(inertials) > 1:
        fail(file, inertials[1], "the link has a second <inertial>; one says all")
    if inertials:
        parts.mass, parts.centre, parts.inertia = _read_inertial(file, inertials[0])
    for visual in link.all("visual"):
        parts.visuals += _read_visual(reader, visual)
    colour = parts.visuals[0].colour[:3] if parts.visuals else None
    friction = _contact_friction(reader, link)
    for collision in link.all("collision"):
        parts.shapes += _read_collision(reader, collision, colour, friction)
    return parts


def set_friction(parts: LinkParts, friction: float) -> None:
    """Give all shapes of a link a coefficient of friction."""
    parts.shapes = [replace(shape, friction=friction) for shape in parts.shapes]


def _read_inertial(file: str, inertial: Element) -> tuple[float, Vector, Array]:
    """Mass, centre of mass, and inertia about it turned into the frame of the link."""
    centre, rotation = pose(file, inertial)
    mass_element, inertia_element = inertial.first("mass"), inertial.first("inertia")
    if mass_element is None:
        fail(file, inertial, "<mass value=...> is missing; an <inertial> needs it")
    mass = number(file, mass_element, "value")
    if inertia_element is None:
        if mass != 0.0:
            fail(file, inertial, "<inertia ixx=... /> is missing; an <inertial> needs it")
        return mass, centre, np.zeros((3, 3))
    xx, yy, zz = (number(file, inertia_element, name) for name in ("ixx", "iyy", "izz"))
    xy, xz, yz = (number(file, inertia_element, name, 0.0) for name in ("ixy", "ixz", "iyz"))
    turn = matrix(rotation)
    return mass, centre, turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T


def _contact_friction(reader: LinkReader, link: Element) -> float | None:
    """Friction of Bullet's <contact> element."""
    contact = link.first("contact")
    lateral = None if contact is None else contact.first("lateral_friction")
    if lateral is None:
        return None
    value = number(reader.file, lateral, "value")
    if value < 0.0:
        fail(reader.file, lateral, f"the coefficient of friction is {value:g}; it must be zero or positive")
    return value


def _geometry(reader: LinkReader, owner: Element) -> Element:
    """The one shape of the <geometry> of a visual or collision element."""
    geometry = owner.first("geometry")
    if geometry is None or not geometry.children:
        fail(reader.file, owner, "it has no <geometry> with a box, sphere, cylinder, capsule or mesh in it")
    if len(geometry.children) > 1:
        fail(reader.file, geometry, "it has several shapes; give each a <collision> or <visual> of its own")
    return geometry.children[0]


def _plain_shape(file: str, element: Element) -> Box | Sphere | Cylinder | Capsule:
    try:
        if element.tag == "box":
            x, y, z = numbers(file, element, "size", 3)
            return Box((x, y, z))
        if element.tag == "sphere":
            return Sphere(number(file, element, "radius"))
        kind = Cylinder if element.tag == "cylinder" else Capsule
        return kind(number(file, element, "radius"), number(file, element, "length"))
    except InputError as error:
        fail(file, element, str(error))


def _mesh_scale(reader: LinkReader, mesh: Element) -> tuple[float, ...]:
    words = mesh.attributes.get("scale", "1 1 1").split()
    count = 1 if len(words) == 1 else 3  # one number for all three is not URDF, but is found in files
    scale = numbers(reader.file, mesh, "scale", count, (1.0, 1.0, 1.0))
    if len(scale) == 1:
        scale *= 3
    if 0.0 in scale:
        fail(reader.file, mesh, f"scale is {shown(mesh.attributes['scale'])}; no factor may be zero")
    return scale


def _read_collision(
    reader: LinkReader, collision: Element, colour: tuple[float, ...] | None, friction: float | None
) -> list[LinkShape]:
    file = reader.file
    position, rotation = pose(file, collision)
    geometry = _geometry(reader, collision)
    if geometry.tag in PLAIN:
        shapes: list[Shape] = [_plain_shape(file, geometry)]
    elif geometry.tag == "mesh":
        try:
            path = reader.paths.find(attribute(file, geometry, "filename"))
            shapes, lack = reader.meshes.shapes(path, _mesh_scale(reader, geometry))
        except MissingDependencyError:
            raise
        except (ValueError, StickslipError) as error:
            fail(file, geometry, str(error))
        if lack:
            reader.notes.warn(geometry, f"the mesh {path.name} is not exact: {lack}", f"not exact {path}")
    else:
        fail(file, geometry, f"<{geometry.tag}> is no shape that is known; box, sphere, cylinder, capsule and mesh are")
    rgb = None if colour is None else (colour[0], colour[1], colour[2])
    return [
        LinkShape(
            Placed(shape, np.array(position), np.array(rotation)), friction, colour=rgb,
            name=collision.attributes.get("name", ""),
        )
        for shape in shapes
    ]  # fmt: skip


def _read_visual(reader: LinkReader, visual: Element) -> list[Visual]:
    """Surfaces to look at; a mesh that cannot be read is a warning, since nothing touches it."""
    file = reader.file
    position, rotation = pose(file, visual)
    turn, offset = matrix(rotation), np.array(position)
    geometry = _geometry(reader, visual)
    colour = _colour(reader, visual)
    if geometry.tag in PLAIN:
        vertices, triangles = plain_surface(_plain_shape(file, geometry))
        return [Visual(vertices @ turn.T + offset, triangles, colour or GREY)]
    if geometry.tag != "mesh":
        reader.notes.warn(geometry, f"<{geometry.tag}> cannot be shown", f"visual {geometry.tag}")
        return []
    scale = _mesh_scale(reader, geometry)
    try:
        path = reader.paths.find(attribute(file, geometry, "filename"))
    except ValueError as error:
        fail(file, geometry, str(error))
    try:
        surfaces = reader.meshes.surfaces(path, scale)
    except MissingDependencyError as error:
        reader.notes.warn(geometry, f"the visual mesh is not shown: {error}", f"visual meshes {path.suffix.lower()}")
        return []
    except StickslipError as error:
        reader.notes.warn(geometry, f"the visual mesh is not shown: {error}")
        return []
    plain = not position_or_turn(position, rotation)
    return [
        Visual(s.vertices if plain else s.vertices @ turn.T + offset, s.triangles, colour or s.colour or GREY)
        for s in surfaces
    ]


def position_or_turn(position: Vector, rotation: Quaternion) -> bool:
    """Whether a pose moves anything."""
    return any(position) or any(rotation[1:])


def read_material(reader: LinkReader, material: Element) -> Colour | None:
    """Colour of a <material>, kept by its name; None where it has none of its own."""
    color, texture = material.first("color"), material.first("texture")
    if texture is not None:
        reader.notes.warn(texture, "textures are not shown; the colour is", "texture")
    if color is None:
        return None
    rgba = numbers(reader.file, color, "rgba", 4)
    red, green, blue, opacity = (min(max(value, 0.0), 1.0) for value in rgba)
    if (red, green, blue, opacity) != rgba:
        reader.notes.warn(color, f"rgba is {rgba}; numbers are cut to 0 to 1", "rgba")
    colour = red, green, blue, opacity
    name = material.attributes.get("name", "")
    if name:
        reader.materials.setdefault(name, colour)
    return colour


def _colour(reader: LinkReader, visual: Element) -> Colour | None:
    material = visual.first("material")
    if material is None:
        return None
    colour = read_material(reader, material)
    name = material.attributes.get("name", "")
    if colour is None and name:
        colour = reader.materials.get(name)
        if colour is None and material.first("texture") is None:
            reader.notes.warn(material, "no material of that name has a colour", f"material {name}")
    return colour
