"""Closed triangle surfaces whose nodes move: what never changes of them, and where they are in a step.

Surfaces of soft bodies, and with continuous detection those of rigid polyhedra after them, are numbered through alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, Ints
from stickslip.collision.reach import APPROACH_SAFETY
from stickslip.collision.surfaces.tree import Forest, build_forest, overlapping_bodies, overlapping_pairs, refit
from stickslip.geometry.tet_mesh import edges_of
from stickslip.jit import inner_kernel, kernel
from stickslip.linalg.vec3 import axpy, cross, dot, load3, norm, normalize, store3, sub

DEPTH = 0.5
"""Share of the mean size of a body's triangles: how deep behind them a node is looked for."""
EDGE_DEPTH = 0.25
"""Share of the length of an edge: how deep crossing edges are looked for."""
SHARP, BENT = 0.1, 0.03
"""Sines of the angle by which a surface is bent outwards at an edge. Edges cross where one is sharp and the other is
bent; at flatter ones nodes and faces do."""


class MovingSurfaces(NamedTuple):
    """Surfaces of nb bodies with nn nodes, nf triangles and ne edges."""

    triangles: Ints
    """(nf, 3) counter-clockwise from outside"""
    triangle_body: Ints
    beyond: Ints
    """(nf, 3) the node opposite to the edge from corner k to k + 1, in the triangle on its other side"""
    edges: Ints
    """(ne, 4) both ends, and the nodes opposite to the edge in the triangles on its two sides"""
    edge_triangles: Ints
    """(ne, 2)"""
    node_body: Ints
    """(nn,)"""
    around_start: Ints
    """(nn + 1,) first neighbour of each node in ``around``"""
    around: Ints
    """nodes at the other end of the edges of each node"""
    size: Array
    """(nf,) [m] root of twice the area at rest, the length of a typical edge"""
    depth: Array
    """(nf,) [m] how deep behind each a node is looked for, the same for all of a body: then whatever is nearer to the
    node is seen as well, and tells whether the node is outside"""
    length: Array
    """(ne,) [m] at rest"""
    rest: Placement
    """Where all is at rest."""
    points: Forest
    faces: Forest
    lines: Forest
    sharp: Forest
    """Trees over surface nodes, triangles, edges, and edges again for those that are sharp"""


class Placement(NamedTuple):
    """Where the nodes of surfaces are, and their outward normals."""

    x: Array
    """(nn, 3) [m]"""
    normal: Array
    """(nf, 3) unit, of triangles"""
    node_normal: Array
    """(nn, 3) unit, of nodes, weighted by the angles of the triangles; zero inside"""


class Boxes(NamedTuple):
    """Boxes (nb, 6) [m] of each body in a step: of its nodes, triangles, bent and sharp edges, with their motion."""

    points: Array
    faces: Array
    lines: Array
    sharp: Array


def moving_surfaces(
    triangles: Ints,
    triangle_body: Ints,
    node_body: Ints,
    bodies: int,
    x_rest: Array,
) -> MovingSurfaces:
    """Tables of closed surfaces (nf, 3) of several bodies; x_rest (nn, 3) [m] are the nodes in their rest shape."""
    ends, sides = edges_of(triangles)
    sides = np.where(sides < 0, sides[:, :1], sides)
    opposite = [triangles[sides[:, k]].sum(axis=1) - ends.sum(axis=1) for k in range(2)]
    edges = np.ascontiguousarray(np.column_stack([ends, *opposite]), dtype=np.int32)

    # the edge of each side of each triangle: edges are sorted by their ends
    beyond = np.empty((len(triangles), 3), np.int32)
    key = ends[:, 0].astype(np.int64) * len(x_rest) + ends[:, 1]
    for k in range(3):
        pair = np.sort(triangles[:, [k, (k + 1) % 3]], axis=1).astype(np.int64)
        e = np.searchsorted(key, pair[:, 0] * len(x_rest) + pair[:, 1])
        beyond[:, k] = np.where(edges[e, 2] == triangles[:, (k + 2) % 3], edges[e, 3], edges[e, 2])

    both = np.concatenate([ends, ends[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    around_start = np.searchsorted(both[:, 0], np.arange(len(node_body) + 1)).astype(np.int32)
    nodes = np.unique(triangles).astype(np.int32)
    corner3 = x_rest[triangles]
    area2 = np.linalg.norm(np.cross(corner3[:, 1] - corner3[:, 0], corner3[:, 2] - corner3[:, 0]), axis=1)
    size = np.sqrt(area2)
    lines = build_forest(ends, triangle_body[sides[:, 0]], bodies, x_rest)
    count = np.bincount(triangle_body, minlength=bodies)
    mean = np.bincount(triangle_body, size, minlength=bodies) / np.maximum(count, 1)
    return MovingSurfaces(
        triangles=np.ascontiguousarray(triangles, dtype=np.int32),
        triangle_body=triangle_body.astype(np.int32),
        beyond=beyond,
        edges=edges,
        edge_triangles=np.ascontiguousarray(sides, dtype=np.int32),
        node_body=node_body.astype(np.int32),
        around_start=around_start,
        around=np.ascontiguousarray(both[:, 1], dtype=np.int32),
        size=size,
        depth=DEPTH * mean[triangle_body],
        length=np.linalg.norm(x_rest[ends[:, 0]] - x_rest[ends[:, 1]], axis=1),
        rest=placed(triangles, x_rest),
        points=build_forest(nodes[:, None], node_body[nodes], bodies, x_rest),
        faces=build_forest(triangles, triangle_body, bodies, x_rest),
        lines=lines,
        sharp=lines._replace(bounds=lines.bounds.copy(), boxes=lines.boxes.copy()),
    )


def placed(triangles: Ints, x: Array) -> Placement:
    """Surfaces with their nodes at x (nn, 3) [m], and the normals there."""
    normal, node_normal = np.empty((len(triangles), 3)), np.zeros_like(x)
    _normals(x, triangles, normal, node_normal)
    return Placement(x, normal, node_normal)


def fit_boxes(surfaces: MovingSurfaces, at: Placement, motion: Array, margin: float) -> Boxes:
    """Refit all trees to surfaces that may move by ``motion`` (nn, 3) [m] and a little further; ``margin`` [m].

    Edges that cannot cross others get empty boxes: the trees find nothing for them.
    """
    swept = APPROACH_SAFETY * motion
    sine = np.empty(len(surfaces.edges))
    _edge_sines(surfaces.edges, surfaces.edge_triangles, at.x, at.normal, sine)
    reach = 0.5 * margin + EDGE_DEPTH * surfaces.length
    return Boxes(
        refit(surfaces.points, at.x, swept, np.zeros(len(surfaces.points.items))),
        refit(surfaces.faces, at.x, swept, margin + surfaces.depth),
        refit(surfaces.lines, at.x, swept, np.where(sine > BENT, reach, -np.inf)),
        refit(surfaces.sharp, at.x, swept, np.where(sine > SHARP, reach, -np.inf)),
    )


def near_items(surfaces: MovingSurfaces, boxes: Boxes, wanted: Bools) -> tuple[Ints, Ints]:
    """Pairs (k, 2) of items, of nodes and faces and of edges, that come near, of bodies that are wanted (nb, nb)."""
    nodes = overlapping_pairs(surfaces.points, surfaces.faces, body_pairs(boxes.points, boxes.faces, wanted))
    edges = overlapping_pairs(surfaces.sharp, surfaces.lines, body_pairs(boxes.sharp, boxes.lines, wanted))
    # two sharp edges find each other twice
    sharp = np.isfinite(surfaces.sharp.boxes[:, 0])
    return nodes, edges[(edges[:, 0] < edges[:, 1]) | ~sharp[edges[:, 1]]]


def body_pairs(first: Array, second: Array, wanted: Bools) -> Ints:
    """Pairs (k, 2) of bodies whose boxes (nb, 6) overlap, of those that are wanted (nb, nb)."""
    pairs = np.argwhere(overlapping_bodies(first, second) & wanted)
    return np.ascontiguousarray(pairs, dtype=np.int32)


@kernel
def _edge_sines(edges, edge_triangles, x, normal, sine_out):
    """Sine of the angle by which the surface is bent at each edge, positive outwards."""
    for e in range(edges.shape[0]):
        way = into_face(edges, x, e, 1)
        sine_out[e] = -dot(load3(normal, edge_triangles[e, 0]), way) / max(norm(way), 1e-300)


@inner_kernel
def into_face(edges, x, e, side):
    """The vector across edge e into the triangle on one side, as long as the triangle is high."""
    here = load3(x, edges[e, 0])
    line = sub(load3(x, edges[e, 1]), here)
    way = sub(load3(x, edges[e, 2 + side]), here)
    return axpy(-dot(way, line) / dot(line, line), line, way)


@kernel
def _normals(x, triangles, normal_out, node_normal_out):
    """Normals of triangles, and their mean at nodes, weighted by angles ([baerentzen2005])."""
    for t in range(triangles.shape[0]):
        a, b, c = load3(x, triangles[t, 0]), load3(x, triangles[t, 1]), load3(x, triangles[t, 2])
        n = normalize(cross(sub(b, a), sub(c, a)))
        store3(normal_out, t, n)
        for k in range(3):
            i = triangles[t, k]
            here = load3(x, i)
            e = sub(load3(x, triangles[t, (k + 1) % 3]), here)
            f = sub(load3(x, triangles[t, (k + 2) % 3]), here)
            angle = np.arctan2(norm(cross(e, f)), dot(e, f))
            for j in range(3):
                node_normal_out[i, j] += angle * n[j]
    for i in range(x.shape[0]):
        n = load3(node_normal_out, i)
        length = norm(n)
        if length > 0.0:
            store3(node_normal_out, i, (n[0] / length, n[1] / length, n[2] / length))
