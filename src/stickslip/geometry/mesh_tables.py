"""Triangle meshes as flat tables for kernels, built once per distinct mesh and process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Ints, LongInts
from stickslip.geometry.mesh_distance import fill_grid, vertex_normals
from stickslip.geometry.mesh_tree import Tree, build_tree
from stickslip.geometry.triangle_mesh import TriangleMesh

FLAT = 1e-9
"""Faces whose normals differ by less are one plane."""
CONVEX = 1e-4
"""Smallest sine by which an edge must stick out to take part in contacts of edges."""
GRID_NODES = 32_000
"""About how many nodes the grid of a mesh has; one of few triangles gets fewer."""
GRID_NODES_PER_TRIANGLE = 80
GRID_MARGIN = 1.0
"""Cells that the grid extends beyond the mesh."""


class MeshTables(NamedTuple):
    """All distinct meshes of a model; every index is into the whole arrays, items of a mesh are neighbours.

    nm meshes, nv vertices, nt triangles, ne edges that stick out, nn nodes of trees. Few arrays, because each one costs
    compile time in each function that takes them. Columns have their names in geometry/mesh_distance.py.
    """

    starts: LongInts
    """(nm + 1, 7) first vertex, triangle, edge, node of the trees over triangles, vertices and edges, grid node"""
    frames: Array
    """(nm, 14) box: lower and upper corner [m]; its diagonal [m]; grid: first node (3), cell [m], nodes per axis (3)"""
    vertices: Array
    """(nv, 6) position [m] and angle-weighted pseudonormal, in the order of the tree over them"""
    around: Ints
    """(nv,) one of the triangles around each vertex"""
    triangles: Ints
    """(nt, 7) vertices; triangles beyond the edges from corner k to k + 1; bit k: the surface is flat at edge k,
    bit 3 + k: at corner k; in the order of the tree over them"""
    normals: Array
    """(nt, 3) outward unit normals"""
    edges: Ints
    """(ne, 4) tail, head, triangle on the left, triangle on the right, in the order of the tree over them"""
    bounds: Array
    """(nn, 6) lower and upper corner of a node of a tree [m]"""
    links: Ints
    """(nn, 3) node after this subtree; first item; number of items, 0 at inner nodes"""
    grid: NDArray[np.float32]
    """signed distance at the nodes of the grids [m]"""


EMPTY = MeshTables(
    np.zeros((1, 7), np.int64), np.zeros((0, 14)), np.zeros((0, 6)), np.zeros(0, np.int32), np.zeros((0, 7), np.int32),
    np.zeros((0, 3)), np.zeros((0, 4), np.int32), np.zeros((0, 6)), np.zeros((0, 3), np.int32), np.zeros(0, np.float32),
)  # fmt: skip
_BUILT: dict[tuple[str, bytes], MeshTables] = {}


def mesh_tables(meshes: Sequence[tuple[TriangleMesh, Array]]) -> MeshTables:
    """Tables of several meshes, each with the point (3,) [m] that becomes the origin of its frame."""
    parts = [_single(mesh, origin) for mesh, origin in meshes]
    if not parts:
        return EMPTY
    shifted = []
    vertex, triangle, edge, node = 0, 0, 0, 0
    start = np.zeros(7, np.int64)
    for part in parts:
        items = np.repeat([triangle, vertex, edge], np.diff(np.append(part.starts[0, 3:6], part.starts[1, 3])))
        shifted.append(
            MeshTables(
                (part.starts[:1] + start),
                part.frames,
                part.vertices,
                part.around + np.int32(triangle),
                part.triangles + np.array([vertex] * 3 + [triangle] * 3 + [0], np.int32),
                part.normals,
                part.edges + np.array([vertex] * 2 + [triangle] * 2, np.int32),
                part.bounds,
                (part.links + np.stack([np.full(len(items), node), items, 0 * items], axis=1)).astype(np.int32),
                part.grid,
            )
        )
        vertex, triangle, edge = vertex + len(part.vertices), triangle + len(part.triangles), edge + len(part.edges)
        node += len(part.bounds)
        start = np.array([vertex, triangle, edge, node, node, node, start[6] + len(part.grid)], np.int64)
    joined = (np.concatenate(column) for column in zip(*shifted, strict=True))
    starts = np.concatenate([next(joined), start[None, :]])
    return MeshTables(starts, *(np.ascontiguousarray(column) for column in joined))


def _single(mesh: TriangleMesh, origin: Array) -> MeshTables:
    """Tables of one mesh, from the cache where it was met before."""
    key = mesh.digest, origin.tobytes()
    if key not in _BUILT:
        _BUILT[key] = _build(mesh, origin)
    return _BUILT[key]


def _build(mesh: TriangleMesh, origin: Array) -> MeshTables:
    """Everything that is derived from a mesh."""
    points = mesh.vertices - origin
    over_vertices = build_tree(points, points)
    number = np.empty(len(points), np.int32)
    number[over_vertices.order] = np.arange(len(points), dtype=np.int32)
    vertices = np.ascontiguousarray(points[over_vertices.order])

    corner = points[mesh.triangles]
    over_triangles = build_tree(corner.min(axis=1), corner.max(axis=1))
    place = np.empty(len(corner), np.int32)
    place[over_triangles.order] = np.arange(len(corner), dtype=np.int32)
    triangles = np.ascontiguousarray(number[mesh.triangles[over_triangles.order]])
    neighbours = np.ascontiguousarray(place[mesh.neighbours[over_triangles.order]])

    corner = vertices[triangles]
    normals = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    around = np.zeros(len(vertices), np.int32)
    around[triangles[::-1]] = np.arange(len(triangles), dtype=np.int32)[::-1, None]  # the last written is the first
    by_vertex = np.zeros_like(vertices)
    vertex_normals(vertices, triangles, normals, by_vertex)
    edges, over_edges = _edges(vertices, triangles, neighbours, normals)

    trees = (over_triangles, over_vertices, over_edges)
    nodes = np.cumsum([0, *(len(tree.bounds) for tree in trees)])
    links = [tree.links + np.array([start, 0, 0], np.int32) for tree, start in zip(trees, nodes[:3], strict=True)]
    lower, upper = vertices.min(axis=0), vertices.max(axis=0)
    shape, first = _grid_layout(lower, upper, len(triangles))
    count = int(shape.prod())
    bits = _flat_bits(triangles, neighbours, normals, len(vertices))
    tables = MeshTables(
        np.array(
            [[0, 0, 0, *nodes[:3], 0], [len(vertices), len(triangles), len(edges), *([nodes[3]] * 3), count]], np.int64
        ),
        np.concatenate([lower, upper, [np.linalg.norm(upper - lower)], first, shape])[None, :],
        np.concatenate([vertices, by_vertex], axis=1),
        around,
        np.concatenate([triangles, neighbours, bits[:, None]], axis=1),
        normals,
        edges,
        np.concatenate([tree.bounds for tree in trees]),
        np.concatenate(links).astype(np.int32),
        np.empty(count, np.float32),
    )
    fill_grid(tables, 0, tables.grid)
    return tables


def _flat_bits(triangles: Ints, neighbours: Ints, normals: Array, count: int) -> Ints:
    """Bit k where the surface is flat at edge k of a triangle, bit 3 + k where it is flat at its corner k."""
    same = np.abs(normals[:, None, :] - normals[neighbours]).max(axis=2) < FLAT
    bent = np.zeros(count, bool)
    for k in range(3):
        bent[triangles[~same[:, k]][:, [k, (k + 1) % 3]]] = True
    bits = np.concatenate([same, ~bent[triangles]], axis=1)
    return (bits @ (1 << np.arange(6))).astype(np.int32)


def _edges(
    vertices: Array,
    triangles: Ints,
    neighbours: Ints,
    normals: Array,
) -> tuple[Ints, Tree]:
    """Edges that stick out, and the tree over them."""
    left, k = np.nonzero(neighbours > np.arange(len(triangles))[:, None])
    tail, head, right = triangles[left, k], triangles[left, (k + 1) % 3], neighbours[left, k]
    along = vertices[head] - vertices[tail]
    along /= np.linalg.norm(along, axis=1)[:, None]
    convex = np.einsum("ij,ij->i", normals[left], np.cross(along, normals[right])) < -CONVEX
    edges = np.stack([tail, head, left, right], axis=1)[convex].astype(np.int32)
    ends = vertices[edges[:, :2]]
    tree = build_tree(ends.min(axis=1), ends.max(axis=1))
    return np.ascontiguousarray(edges[tree.order]), tree


def _grid_layout(lower: Array, upper: Array, triangles: int) -> tuple[LongInts, Array]:
    """Nodes along each axis (3,), and the first node and the width of a cell (4,)."""
    extent = upper - lower
    nodes = min(GRID_NODES, 1000 + GRID_NODES_PER_TRIANGLE * triangles)
    # cubes of about the wanted number; a flat mesh gets at least a hundredth of its longest side
    cell = max(float(np.prod(np.maximum(extent, 0.02 * extent.max())) / nodes) ** (1.0 / 3.0), 0.01 * extent.max())
    shape = np.ceil(extent / cell + 2.0 * GRID_MARGIN).astype(np.int64) + 1
    first = lower - 0.5 * ((shape - 1) * cell - extent)
    return shape, np.append(first, cell)
