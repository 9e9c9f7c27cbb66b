"""Tetrahedral meshes: nodes and elements, checked; their surface, their pieces, and how to place and join them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array, Ints
from stickslip.checks import (
    array,
    choice,
    finite,
    function,
    instance,
    positive,
    sequence,
    text,
    unit_quaternion,
    vector,
)
from stickslip.errors import InputError
from stickslip.geometry.rotation import matrix
from stickslip.geometry.tet_checks import (
    Faces,
    check_elements,
    check_faces,
    check_joins,
    matched_faces,
    mesh_arrays,
    pair_keys,
    pieces,
)
from stickslip.geometry.tet_quality import MeshQuality, mesh_quality
from stickslip.names import visible

ON_PLANE = 1e-6
"""Nodes this close to a plane, relative to the size of the mesh, are on it."""


@dataclass(frozen=True, eq=False)
class TetMesh:
    """nodes (n, 3) [m] and elements tets (k, 4) of positive volume, joined by faces; checked where it is made.

    Corners 1, 2, 3 of an element are counter-clockwise seen from outside, across from corner 0, as in VTK and Gmsh:
    (x1 - x0) . (x2 - x0) x (x3 - x0) > 0. Several pieces are allowed, but not parts that hang on others by a node or
    an edge alone.
    """

    nodes: Array
    tets: Ints
    where: str = field(default="tetrahedral mesh", repr=False)
    """What messages call it."""
    piece: Ints = field(init=False, repr=False)
    """(k,) connected piece of each element, numbered in the order of their first elements."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "where", visible(text("tetrahedral mesh", "where", self.where)))
        nodes, tets = mesh_arrays(self.nodes, self.tets, self.where)
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "tets", tets)
        check_elements(nodes, tets, self.volumes, self.where)
        check_faces(self._faces, nodes, tets, self.where)
        joined = pieces(tets, self._faces, len(nodes), by="faces")
        if joined.max() > 0:
            check_joins(joined, pieces(tets, self._faces, len(nodes), by="nodes"), self.where)
        object.__setattr__(self, "piece", joined)
        self.__dict__["surface"] = self.surface
        del self.__dict__["_faces"]  # 100 bytes an element, not needed again

    @cached_property
    def volumes(self) -> Array:
        """(k,) [m^3]"""
        return volumes_of(self.nodes, self.tets)

    @property
    def volume(self) -> float:
        """[m^3] of the whole mesh."""
        return float(self.volumes.sum())

    @cached_property
    def surface(self) -> Ints:
        """(m, 3) triangles of the surface, counter-clockwise from outside, in the order of their elements."""
        faces = self._faces
        return np.ascontiguousarray(faces.corners[np.sort(faces.order[faces.start[faces.sharing == 1]])])

    @cached_property
    def surface_nodes(self) -> Ints:
        """(s,) nodes of the surface, ascending."""
        return np.unique(self.surface).astype(np.int32)

    @cached_property
    def edges(self) -> Ints:
        """(ne, 2) edges of the elements, lower node first, in ascending order."""
        ends = np.sort(self.tets, axis=1)
        low, high = ends[:, [0, 0, 0, 1, 1, 2]].ravel(), ends[:, [1, 2, 3, 2, 3, 3]].ravel()
        key = np.unique(pair_keys(low, high, len(self.nodes)))
        return np.stack(np.divmod(key, len(self.nodes)), axis=1).astype(np.int32)

    @property
    def piece_count(self) -> int:
        """Number of connected pieces."""
        return int(self.piece.max()) + 1

    @property
    def size(self) -> float:
        """[m] diagonal of the bounding box."""
        return float(np.linalg.norm(np.ptp(self.nodes, axis=0)))

    @cached_property
    def _faces(self) -> Faces:
        return matched_faces(self.tets, len(self.nodes))

    def quality(self) -> MeshQuality:
        """Shape of the elements: mean ratio, angles, volumes and edges, worst elements; print it for a table."""
        return mesh_quality(self.nodes, self.tets, self.volumes, self.edges, self.surface, self.piece_count)

    def nodes_where(self, inside: Callable[[Array], ArrayLike]) -> Ints:
        """Nodes (s,) for which ``inside``, called once with all positions (n, 3) [m], says true in its answer (n,)."""
        given = function(self.where, "inside", inside, "a function of positions (n, 3)")(self.nodes)
        try:
            chosen = np.asarray(given)
        except Exception:  # what a user's function gave can be anything
            chosen = np.empty(0, dtype=object)
        if chosen.shape != (len(self.nodes),) or chosen.dtype != np.bool_:
            raise InputError(
                f"{self.where}: nodes_where's function gave {chosen.dtype} of shape {chosen.shape}; it takes positions "
                f"(n, 3) and must give ({len(self.nodes)},) truth values, as in lambda x: x[:, 2] < 0.1"
            )
        return np.flatnonzero(chosen).astype(np.int32)

    def nodes_on_plane(self, axis: Literal["x", "y", "z"], value: float, tolerance: float | None = None) -> Ints:
        """Nodes (s,) whose coordinate along ``axis`` is ``value`` [m] within ``tolerance`` [m] (1e-6 of the size)."""
        choice(self.where, "nodes_on_plane's axis", axis, ("x", "y", "z"))
        reach = ON_PLANE * self.size if tolerance is None else positive(self.where, "tolerance", tolerance)
        distance = np.abs(self.nodes[:, "xyz".index(axis)] - finite(self.where, "value", value))
        return np.flatnonzero(distance <= reach).astype(np.int32)

    def transformed(
        self, position: ArrayLike = (0, 0, 0), rotation: ArrayLike = (1, 0, 0, 0), scale: float | ArrayLike = 1.0
    ) -> TetMesh:
        """The mesh scaled (one positive factor or three along x, y, z), then turned by (w, x, y, z), then moved [m]."""
        factors = np.broadcast_to(array(self.where, "scale", scale, (), (3,)), 3)
        for axis, factor in zip("xyz", factors.tolist(), strict=True):
            positive(self.where, f"scale.{axis}", factor)
        turn = matrix(unit_quaternion(self.where, rotation))
        moved = (self.nodes * factors) @ turn.T + vector(self.where, "position", position)
        return TetMesh(moved, self.tets, self.where)


def merged(meshes: Sequence[TetMesh], where: str = "tetrahedral mesh") -> TetMesh:
    """One mesh of several, each a piece of its own: nodes and elements follow each other, nothing is glued."""
    meshes = sequence(where, "meshes", meshes, "a list of TetMesh is needed")
    if len(meshes) == 0:
        raise InputError(f"{where}: no meshes to merge; at least one is needed")
    for mesh in meshes:
        instance(where, "a mesh", mesh, TetMesh, "a stickslip.TetMesh is needed")
    first = np.cumsum([0, *(len(mesh.nodes) for mesh in meshes)])
    tets = np.concatenate([mesh.tets + start for mesh, start in zip(meshes, first[:-1], strict=True)])
    return TetMesh(np.concatenate([mesh.nodes for mesh in meshes]), tets, where)


def without_unused(nodes: ArrayLike, tets: ArrayLike) -> tuple[Array, Ints]:
    """Nodes (n, 3) and elements (k, 4) without the nodes that no element uses, the others numbered anew in order."""
    points, corners = mesh_arrays(nodes, tets, "without_unused")
    used, number = np.unique(corners, return_inverse=True)
    return points[used], np.ascontiguousarray(number.reshape(corners.shape), dtype=np.int32)


def volumes_of(nodes: Array, tets: Ints) -> Array:
    """Volumes (k,) [m^3] of elements (k, 4), negative where they are inverted."""
    origin = nodes[tets[:, 0]]
    a, b, c = (nodes[tets[:, k]] - origin for k in (1, 2, 3))
    return np.einsum("ki,ki->k", a, np.cross(b, c)) / 6.0


def edges_of(triangles: Ints) -> tuple[Ints, Ints]:
    """Edges (ne, 2) of a closed surface (m, 3), lower node first, and the triangles (ne, 2) on their two sides.

    -1 stands for no triangle, at the rim of an open surface; of three or more triangles the first two are given.
    """
    if len(triangles) == 0:
        return np.empty((0, 2), dtype=np.int32), np.empty((0, 2), dtype=np.int32)
    pairs = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    key = pair_keys(pairs[:, 0], pairs[:, 1], int(triangles.max()) + 1)
    order = np.argsort(key, kind="stable")
    owner = (order // 3).astype(np.int32)
    ordered = key[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    count = np.diff(np.append(first, len(order)))
    sides = np.full((len(first), 2), -1, dtype=np.int32)
    sides[:, 0] = owner[first]
    sides[count > 1, 1] = owner[first[count > 1] + 1]
    return pairs[order[first]].astype(np.int32), sides
