"""The soft bodies of a scene as flat arrays that kernels read: nodes, elements, surfaces, what holds them.

Nodes of all soft bodies are numbered through; so are elements, triangles and edges. Unknown velocities are those of
free nodes, three each, after those of the rigid bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, Ints
from stickslip.geometry.element_chunks import element_chunks
from stickslip.geometry.rotation import matrix
from stickslip.geometry.tet_mesh import edges_of
from stickslip.linalg.block_matrix import BlockPattern, block_pattern, places_of
from stickslip.linalg.block_rows import summed
from stickslip.linalg.soft_blocks import SoftPart, part_of
from stickslip.scene.soft_body import LAGGED, LINEAR, Activation, Cavity, HeldNodes, SoftDescription

CHUNK = 64
"""Elements of a chunk: enough that threads seldom meet, few enough that small meshes have several."""


INCOMPRESSIBLE = 100.0
"""Ratio of bulk and shear modulus above which a material counts as nearly incompressible; rubber has a thousand."""


class ElementTables(NamedTuple):
    """nt linear tetrahedra."""

    nodes: Ints
    """(nt, 4)"""
    gradient: Array
    """(nt, 3, 3) [1/m] Dm^-1: row k is the gradient of the shape function of node k + 1 at rest; F = Ds Dm^-1."""
    volume: Array
    """(nt,) [m^3] at rest."""
    model: Ints
    """(nt,) code of the elastic model (scene/soft_body.py)."""
    parameter: Array
    """(nt, 5) [Pa] mu, lam, c1, c2, bulk."""
    beta: Array
    """(nt,) [s] damping by stiffness."""
    normal: Array
    """(nt, 3) third column of F in plane strain, where gradients have none; zero in three dimensions."""
    place: Ints
    """(nt, 16) where the block of nodes (i, j) is in the matrix of free nodes, at 4 i + j; -1 where one is held."""
    chunk_start: Ints
    """Elements chunk_start[c]:chunk_start[c+1] are one chunk, assembled by one thread in their order."""
    colour_start: Ints
    """Chunks colour_start[k]:colour_start[k+1] share no nodes with each other: they may run at the same time."""


class SurfaceTables(NamedTuple):
    """Surfaces of all soft bodies, seen from outside."""

    nodes: Ints
    """(k,) nodes that are on a surface, rising."""
    triangles: Ints
    """(nf, 3) counter-clockwise from outside."""
    triangle_body: Ints
    """(nf,) soft body of each."""
    edges: Ints
    """(ne, 2) each once, lower node first."""
    edge_body: Ints
    edge_triangles: Ints
    """(ne, 2) the triangles on both sides."""


@dataclass(frozen=True, eq=False)
class SoftTables:
    """ns soft bodies, nn nodes, nt elements, nf free nodes."""

    names: tuple[str, ...]
    node_start: Ints
    """(ns + 1,)"""
    element_body: Ints
    """(nt,) soft body of each element; elements are stored in the order of assembly."""
    element_number: Ints
    """(nt,) number of each element in the mesh of its body."""
    node_body: Ints
    """(nn,) soft body of each node."""
    x_start: Array
    """(nn, 3) [m]"""
    v_start: Array
    """(nn, 3) [m/s]"""
    force_start: Array
    """(nn, 3) [N]"""
    mass: Array
    """(nn,) [kg] lumped."""
    alpha: Array
    """(nn,) [1/s] damping by mass."""
    free: Ints
    """(nf,) node of each block of unknowns."""
    block: Ints
    """(nn,) position of each node in ``free``, or -1."""
    elements: ElementTables
    pattern: BlockPattern
    """Blocks of the matrix over free nodes."""
    surface: SurfaceTables
    material: Ints
    """(ns,) surface material of each body."""
    self_contact: Bools
    """(ns,)"""
    weld_node: Ints
    """(nw,) nodes that are welded to a rigid body."""
    weld_body: Ints
    """(nw,) the rigid body."""
    weld_point: Array
    """(nw, 3) [m] where, from its centre of mass and in its frame."""
    held: tuple[HeldNodes, ...]
    """With nodes numbered through."""
    activations: tuple[Activation, ...]
    """With elements as they are stored here."""
    cavities: tuple[Cavity, ...]
    """With nodes numbered through."""
    colours: Array
    """(ns, 3) for pictures; negative where the user chose none."""

    @property
    def count(self) -> int:
        """Number of soft bodies."""
        return len(self.names)

    @property
    def node_count(self) -> int:
        """Number of nodes, held ones included."""
        return len(self.mass)

    @cached_property
    def edge_length(self) -> float:
        """Mean length [m] of the edges of all surfaces at the start."""
        way = np.diff(self.x_start[self.surface.edges], axis=1)[:, 0]
        return float(np.linalg.norm(way, axis=1).mean()) if len(way) else 0.0

    @cached_property
    def node_normal(self) -> Array:
        """(nn, 3) of the plane that a node of a body in plane strain does not leave; zero of other nodes."""
        normal = np.zeros((self.node_count, 3))
        normal[self.elements.nodes] = self.elements.normal[:, None]
        return normal

    @cached_property
    def plane_nodes(self) -> NDArray[np.intp]:
        """(k,) nodes of bodies in plane strain."""
        return np.flatnonzero(self.node_normal.any(axis=1))

    @cached_property
    def nearly_incompressible(self) -> bool:
        """Whether a nonlinear element resists changes of volume more than INCOMPRESSIBLE times as much as shear."""
        mu, lam, c1, c2, bulk = self.elements.parameter[self.elements.model > LAGGED].T
        return bool((np.maximum(lam, bulk) > INCOMPRESSIBLE * np.maximum(mu, 2.0 * (c1 + c2))).any())

    @cached_property
    def linear(self) -> bool:
        """Whether the forces of all elements are linear in the velocities of a step, and all else is, too."""
        codes = self.elements.model
        return bool(((codes == LINEAR) | (codes == LAGGED)).all()) and not self.cavities


def soft_tables(bodies: Sequence[SoftDescription], q_start: Array) -> SoftTables:
    """Tables of the soft bodies of a scene, whose rigid bodies start at q_start (nb, 7)."""
    node_start = summed(np.array([len(body.start) for body in bodies], dtype=np.int64))
    number = _joined([np.arange(len(body.mesh.tets)) for body in bodies]).astype(np.int32)
    owner = np.repeat(np.arange(len(bodies), dtype=np.int32), [len(body.mesh.tets) for body in bodies])
    nodes = _stacked([node_start[i] + body.mesh.tets for i, body in enumerate(bodies)], (0, 4), np.int32)
    order, chunk_start, colour_start = element_chunks(nodes, CHUNK)
    stored = np.empty(len(order), dtype=np.int32)
    stored[order] = np.arange(len(order), dtype=np.int32)
    first_element = summed(np.array([len(body.mesh.tets) for body in bodies], dtype=np.int64))

    count = int(node_start[-1])
    held = tuple(replace(each, nodes=each.nodes + node_start[i]) for i, body in enumerate(bodies) for each in body.held)
    block = np.zeros(count, dtype=np.int32)
    for each in held:
        block[each.nodes] = -1
    free = np.flatnonzero(block == 0).astype(np.int32)
    block[free] = np.arange(len(free), dtype=np.int32)

    rest = _stacked([body.mesh.nodes for body in bodies], (0, 3))
    gradient, volume = _shape_gradients(rest[nodes])
    planes = [np.zeros(3) if body.normal is None else body.normal for body in bodies]
    normal = np.array(planes).reshape(-1, 3)[owner]
    gradient[normal.any(axis=1), :, 2] = 0.0
    density = _joined([_by_region(body, "density") for body in bodies])
    alpha = _joined([_by_region(body, "alpha") for body in bodies])
    share = np.repeat(0.25 * density * volume, 4)
    mass = np.bincount(nodes.ravel(), share, minlength=count).astype(np.float64)
    damping = np.bincount(nodes.ravel(), np.repeat(alpha, 4) * share, minlength=count)
    pattern = block_pattern(block[nodes], len(free))
    elements = ElementTables(
        nodes=np.ascontiguousarray(nodes[order]),
        gradient=np.ascontiguousarray(gradient[order]),
        volume=volume[order],
        model=_joined([_by_region(body, "code") for body in bodies])[order].astype(np.int32),
        parameter=_stacked([_by_region(body, "parameters") for body in bodies], (0, 5))[order],
        beta=_joined([_by_region(body, "beta") for body in bodies])[order],
        normal=np.ascontiguousarray(normal[order]),
        place=places_of(pattern, block[nodes[order]]),
        chunk_start=chunk_start,
        colour_start=colour_start,
    )
    x_start = _stacked([body.start for body in bodies], (0, 3))
    welds = [(node_start[i] + each.nodes, each.body) for i, body in enumerate(bodies) for each in body.welded]
    weld_node = _joined([each for each, _ in welds]).astype(np.int32)
    weld_body = np.repeat([rigid for _, rigid in welds], [len(each) for each, _ in welds]).astype(np.int32)
    return SoftTables(
        names=tuple(body.name for body in bodies),
        node_start=node_start,
        element_body=owner[order],
        element_number=number[order],
        node_body=np.repeat(np.arange(len(bodies), dtype=np.int32), np.diff(node_start)),
        x_start=x_start,
        v_start=_stacked([body.velocity for body in bodies], (0, 3)),
        force_start=_stacked([body.force for body in bodies], (0, 3)),
        mass=mass,
        alpha=np.divide(damping, mass, out=np.zeros(count), where=mass > 0.0),
        free=free,
        block=block,
        elements=elements,
        pattern=pattern,
        surface=_surface(bodies, node_start),
        material=np.array([body.material for body in bodies], dtype=np.int32),
        self_contact=np.array([body.self_contact for body in bodies], dtype=np.bool_),
        weld_node=weld_node,
        weld_body=weld_body,
        weld_point=_in_frames(q_start, weld_body, x_start[weld_node]),
        held=held,
        activations=tuple(
            Activation(stored[first_element[i] + each.elements], each.stress)
            for i, body in enumerate(bodies)
            for each in body.activations
        ),
        cavities=tuple(
            replace(each, triangles=each.triangles + node_start[i])
            for i, body in enumerate(bodies)
            for each in body.cavities
        ),
        colours=np.array([body.colour or (-1.0, -1.0, -1.0) for body in bodies]).reshape(-1, 3),
    )


def soft_parts(soft: SoftTables) -> tuple[SoftPart, ...]:
    """Where the matrix of each soft body is, with its order of elimination; bodies without free nodes have none."""
    pattern = soft.pattern
    parts = []
    for s in range(soft.count):
        own = soft.block[soft.node_start[s] : soft.node_start[s + 1]]
        free = own[own >= 0]
        if not len(free):
            continue
        parts.append(part_of(pattern, int(free.min()), int(free.max()) + 1))
    return tuple(parts)


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Arrays one after the other, or an empty one."""
    return np.concatenate(parts) if parts else np.zeros(0)


def _stacked(parts: Sequence[NDArray[np.generic]], empty: tuple[int, int], kind: type = np.float64) -> NDArray[Any]:
    """Arrays one below the other, or an empty one."""
    return np.concatenate(parts).astype(kind) if parts else np.zeros(empty, dtype=kind)


def _by_region(body: SoftDescription, name: str) -> Array:
    """A property of the material of each element."""
    return np.array([getattr(material, name) for material in body.elastic])[body.region]


def _shape_gradients(corners: Array) -> tuple[Array, Array]:
    """Dm^-1 (nt, 3, 3) and volumes (nt,) of elements with corners (nt, 4, 3)."""
    Dm = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)
    return np.asarray(np.linalg.inv(Dm), np.float64), np.asarray(np.linalg.det(Dm) / 6.0, np.float64)


def _surface(bodies: Sequence[SoftDescription], node_start: Ints) -> SurfaceTables:
    """Surfaces of all bodies."""
    triangles = _stacked([node_start[i] + body.mesh.surface for i, body in enumerate(bodies)], (0, 3), np.int32)
    owner = np.repeat(np.arange(len(bodies), dtype=np.int32), [len(body.mesh.surface) for body in bodies])
    edges, sides = edges_of(triangles)
    edges = edges.reshape(-1, 2)
    nodes = np.unique(triangles).astype(np.int32)
    return SurfaceTables(nodes, triangles, owner, edges, owner[sides[:, 0]], sides)


def _in_frames(q: Array, body: Ints, x: Array) -> Array:
    """Points x (k, 3) of the world from the centres and in the frames of the bodies (k,) at q (nb, 7)."""
    turns = np.array([matrix(q[i, 3:]) for i in body]).reshape(-1, 3, 3)
    return np.einsum("kji,kj->ki", turns, x - q[body, :3])
