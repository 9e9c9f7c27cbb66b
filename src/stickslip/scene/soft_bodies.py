"""Soft bodies of a scene, and what holds, drives and fills them: functions on the records of the scene.

Nodes and elements are numbered as in the mesh of their body.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stickslip import checks
from stickslip.arrays import Array, Ints
from stickslip.checks import finite, positive, unit_quaternion, vector
from stickslip.errors import InputError
from stickslip.geometry import rotation as turns
from stickslip.geometry.tet_mesh import TetMesh
from stickslip.geometry.triangle_mesh import mass_of
from stickslip.names import shown
from stickslip.scene.body import Body, Start, handle_fits
from stickslip.scene.materials import Surface, body_material
from stickslip.scene.records import SceneRecords
from stickslip.scene.soft_body import (
    Activation,
    Cavity,
    Constant,
    Course,
    Elastic,
    HeldNodes,
    NodeMotion,
    SoftBody,
    SoftDescription,
    Welded,
)


def add_soft(
    records: SceneRecords,
    mesh: TetMesh,
    elastic: Elastic | Sequence[Elastic],
    start: Start,
    surface: Surface,
    *,
    name: str | None = None,
    region: ArrayLike | None = None,
    self_contact: bool = False,
    plane_strain: bool = False,
    colour: tuple[float, float, float] | None = None,
) -> SoftBody:
    """Add a soft body; :meth:`Scene.add_soft` says what the arguments mean. ``start``: its pose and velocities."""
    checks.instance("soft body", "mesh", mesh, TetMesh, "a stickslip.TetMesh is needed")
    label = ("" if name is None else checks.name("soft body", name)) or f"soft-{len(records.soft_bodies)}"
    where = f"soft body {label!r}"
    records.refuse_taken(where, label)
    several = elastic if isinstance(elastic, list | tuple) else (elastic,)
    materials = tuple(cast("Sequence[Elastic]", several))
    if not materials or not all(isinstance(each, Elastic) for each in materials):
        raise InputError(
            f"{where}: elastic is {shown(elastic)}; give what stickslip.elastic returned, or several of it"
        )
    regions = _regions(where, region, len(mesh.tets), len(materials))
    painted = checks.colour(where, colour)
    centre = vector(where, "position", start.position)
    turn = turns.matrix(unit_quaternion(where, start.rotation))
    nodes = centre + mesh.nodes @ turn.T
    spin = vector(where, "angular_velocity", start.angular_velocity)
    moving = vector(where, "velocity", start.velocity) + np.cross(spin, nodes - centre)
    self_contact = checks.boolean(where, "self_contact", self_contact)
    plane_strain = checks.boolean(where, "plane_strain", plane_strain)
    normal = _plane_normal(where, turn, moving) if plane_strain else None
    number = body_material(records.materials, label, surface)  # last of the checks: it adds to the scene
    still = np.zeros_like(nodes)
    described = SoftDescription(
        label, mesh, nodes, moving, still, materials, regions, number, self_contact, painted, normal
    )
    records.soft_bodies.append(described)
    return SoftBody(len(records.soft_bodies) - 1, label)


def soft_named(records: SceneRecords, name: str) -> SoftBody:
    """Handle of a soft body by name."""
    for index, body in enumerate(records.soft_bodies):
        if isinstance(name, str) and body.name == name:
            return SoftBody(index, name)
    raise InputError(f"soft body {shown(name)} is unknown; the scene has {len(records.soft_bodies)} soft bodies")


def hold_nodes(
    records: SceneRecords, body: SoftBody, nodes: ArrayLike, motion: NodeMotion | None, centre: ArrayLike
) -> None:
    """Fix nodes in space, or move them: ``motion`` gives displacement (3,) [m] and rotation about ``centre``.

    At the end of the first step nodes are where the motion has them by then, however far that is.
    """
    described = described_soft(records, body)
    chosen = _loose_nodes(body, described, nodes)
    if motion is not None:
        checks.function(f"soft body {body.name!r}", "motion", motion)
    described.held.append(HeldNodes(chosen, motion, vector(f"soft body {body.name!r}", "centre", centre)))


def weld_nodes(records: SceneRecords, body: SoftBody, nodes: ArrayLike, to: Body, collide: bool) -> None:
    """Weld nodes to a rigid body where they are at time zero; the two collide only if ``collide`` is True."""
    described = described_soft(records, body)
    chosen = _loose_nodes(body, described, nodes)
    where = f"soft body {body.name!r}"
    held = records.number_of(where, "the rigid body", to)
    collide = checks.boolean(where, "collide", collide)
    described.welded.append(Welded(chosen, held))
    if not collide:
        records.ignored.add((-1 - body.index, to.index))


def push_nodes(records: SceneRecords, body: SoftBody, nodes: ArrayLike, force: ArrayLike) -> None:
    """Apply a constant force (3,) [N] to every given node, or (k, 3) to each its own; adds to earlier ones."""
    described = described_soft(records, body)
    where = f"soft body {body.name!r}"
    chosen = checks.indices(where, "nodes", nodes, len(described.start))
    described.force[chosen] += checks.for_each(where, "force", force, len(chosen))


def activate(records: SceneRecords, body: SoftBody, elements: ArrayLike, stress: float | Course) -> None:
    """Add an internal volumetric stress [Pa] to elements, constant or a function of time; positive ones swell."""
    described = described_soft(records, body)
    where = f"soft body {body.name!r}"
    chosen = checks.indices(where, "elements", elements, len(described.mesh.tets))
    described.activations.append(Activation(chosen, _course(where, "stress", stress)))


def add_cavity(
    records: SceneRecords,
    body: SoftBody,
    triangles: ArrayLike,
    pressure: float | Course | None,
    volume: float | Course | None,
    bulk: float,
) -> None:
    """Fill a closed surface with a pressure or a volume; :meth:`Scene.add_cavity` says how."""
    described = described_soft(records, body)
    where = f"soft body {body.name!r}, cavity"
    if described.normal is not None:
        raise InputError(f"{where}: the body is in plane strain, in which a cavity has no ends; fill bodies in 3D")
    faces = checks.whole_array(where, "triangles", triangles, (None, 3), len(described.start))
    if not len(faces):
        raise InputError(f"{where}: triangles have shape {faces.shape}; at least four are needed")
    _refuse_open(where, faces)
    inside = mass_of(described.start, faces)[0]
    if not inside > 0.0:
        raise InputError(
            f"{where}: its triangles enclose {inside:.6g} m^3; they must be turned around, so that normals point "
            "out of the cavity"
        )
    if volume is not None and not callable(volume):
        positive(where, "volume", volume)
    if (pressure is None) == (volume is None):
        raise InputError(f"{where}: give either pressure or volume")
    described.cavities.append(
        Cavity(
            faces,
            None if pressure is None else _course(where, "pressure", pressure),
            None if volume is None else _course(where, "volume", volume),
            positive(where, "bulk", bulk),
        )
    )


def described_soft(records: SceneRecords, body: SoftBody) -> SoftDescription:
    """What was said of a soft body of this scene."""
    if not isinstance(body, SoftBody):
        raise InputError(f"{shown(body)} is no soft body; give what add_soft returned")
    if not handle_fits(body, [known.name for known in records.soft_bodies]):
        count = len(records.soft_bodies)
        raise InputError(f"soft body {shown(body.name)} is not of this scene; it has {count} soft bodies")
    return records.soft_bodies[body.index]


def _regions(where: str, region: ArrayLike | None, elements: int, materials: int) -> Ints:
    """Number of the material of each element."""
    if region is None:
        if materials > 1:
            raise InputError(f"{where}: {materials} materials are given; region must say which one each element has")
        return np.zeros(elements, dtype=np.int32)
    return checks.whole_array(where, "region", region, (elements,), materials)


def _plane_normal(where: str, turn: Array, velocity: Array) -> Array:
    """Where the z axis of a mesh points, freed of rounding; nodes that move along it raise an InputError."""
    normal = np.where(np.abs(turn[:, 2]) < 1e-12, 0.0, turn[:, 2])
    normal /= np.linalg.norm(normal)
    out = float(np.abs(velocity @ normal).max(initial=0.0))
    if out > 1e-9 * max(1e-300, float(np.abs(velocity).max(initial=0.0))):
        raise InputError(f"{where}: nodes move with {out:.6g} m/s out of the plane of its strain; none may")
    return normal


def _loose_nodes(body: SoftBody, described: SoftDescription, nodes: ArrayLike) -> Ints:
    """Indices of nodes, or an InputError where one of them is held or welded already."""
    chosen = checks.indices(f"soft body {body.name!r}", "nodes", nodes, len(described.start))
    for taken in [each.nodes for each in described.held] + [each.nodes for each in described.welded]:
        both = np.intersect1d(chosen, taken)
        if len(both):
            raise InputError(f"soft body {body.name!r}: nodes {both[:10].tolist()} are held or welded already")
    return chosen


def _refuse_open(where: str, faces: NDArray[np.generic]) -> None:
    """Raise an InputError unless every edge has two triangles that go along it in opposite directions."""
    directed = faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    forward = {tuple(edge) for edge in directed.tolist()}
    backward = {(b, a) for a, b in forward}
    if len(forward) < len(directed) or forward != backward:
        edge = next(iter(sorted(forward ^ backward)), tuple(directed[0].tolist()))
        raise InputError(f"{where}: triangles are not closed at the edge of nodes {edge}; a closed surface is needed")


def _course(where: str, what: str, given: float | Course) -> Course:
    """A function of time from a number or a function."""
    if callable(given):
        return given
    return Constant(finite(where, what, given))
