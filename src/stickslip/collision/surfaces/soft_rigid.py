"""Where the surfaces of soft bodies come near rigid shapes: nodes, and what lies between nodes.

Nodes are compared with shapes by signed distance. Between the nodes of a triangle or an edge a corner or an edge of a
shape, or a small round one, can come nearer than the nodes tell; there are candidates of triangles and edges too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, Ints
from stickslip.collision.arrays import PlacedShapes
from stickslip.collision.pair_search import place_and_bound
from stickslip.collision.rigid_space import rigid_space
from stickslip.collision.surfaces.edge_cores import THICK, corners_on_edges, edges_on_edges, tubes_on_edges
from stickslip.collision.surfaces.face_cores import Corners, corners_on_faces, surface_frames, ways_out
from stickslip.collision.surfaces.point_shapes import Reaches, nodes_near_shapes, pair_limits, signed_distances
from stickslip.collision.surfaces.rigid_features import rigid_features
from stickslip.collision.surfaces.rigid_items import Items, corner_items, edge_items
from stickslip.collision.surfaces.tree import Forest, build_forest, overlapping_pairs, refit
from stickslip.geometry.shapes import CAPSULE, CYLINDER, HALF_SPACE, SPHERE
from stickslip.model.model import Model
from stickslip.workspace import Workspace

NODE_SHAPE, CORE_FACE, CORE_EDGE = range(3)
"""Kinds of candidates."""
SAG = np.full(7, 0.01)
"""A place between nodes counts where it is nearer than its nodes tell by more than this share of its triangle or edge,
by type of shape; a round one touches at many places."""
SAG[[SPHERE, CAPSULE, CYLINDER]] = 0.03


class SoftRigid(NamedTuple):
    """k places where a soft surface is within reach of a rigid shape, sorted by kind, shape, feature, soft feature."""

    kind: Ints
    """(k,) 0: node and shape, 1: corner or round core of a shape and soft face, 2: edge or round core and soft edge"""
    shape: Ints
    """(k,)"""
    feature: Ints
    """(k,) number of the corner or edge within the shape (collision/surfaces/rigid_features.py), 0 for nodes"""
    soft_feature: Ints
    """(k,) node, triangle or edge"""
    node: Ints
    """(k, 3) nodes of the soft feature, -1 beyond"""
    weight: Array
    """(k, 3) barycentric, zero beyond"""
    point: Array
    """(k, 3) [m] midway between the surfaces"""
    normal: Array
    """(k, 3) unit, from the rigid shape to the soft body"""
    gap: Array
    """(k,) [m] negative for overlap"""

    def take(self, which: Bools) -> SoftRigid:
        """Some of them."""
        return SoftRigid._make(column[which] for column in self)


class Trees(NamedTuple):
    """Trees over the triangles and the edges of soft surfaces, refitted in each step."""

    faces: Forest
    lines: Forest
    edges: Ints
    """(ne, 4) edges with their triangles"""


class _Instant(NamedTuple):
    """Where everything is, and how far it looks."""

    model: Model
    placed: PlacedShapes
    """Shapes with the reach of their bodies."""
    x: Array
    reaches: Reaches
    outward: Array
    """(nn, 3) unit normals of surface nodes"""

    def limits(self, shape: Ints, nodes: Ints) -> Array:
        """Gap (k,) [m] up to which shapes (k,) and hulls of nodes (k, m) matter; -inf where they may not touch."""
        limit = np.empty(len(shape))
        pair_limits(shape, nodes, self.reaches, limit)
        return limit

    def distances(self, shape: Ints, node: Ints, limit: Array) -> tuple[Array, Array]:
        """Signed distances (k,) [m] of nodes (k,) to shapes (k,), and the directions (k, 3); infinite beyond limits."""
        surface = self.x[node], self.outward[node]
        return signed_distances(self.model, self.placed.position, self.placed.rotation, *surface, shape, limit)


def soft_rigid_candidates(
    model: Model,
    q: Array,
    x: Array,
    node_reach: Array,
    body_reach: Array,
    workspace: Workspace | None = None,
) -> SoftRigid:
    """Places of soft surfaces at x (nn, 3) [m] whose gap to a shape of a body at q (nb, 7) is at most both reaches [m].

    node_reach (nn,) and body_reach (nb,); of a triangle or an edge, that of its furthest-reaching node counts.
    """
    memory = Workspace() if workspace is None else workspace
    space = rigid_space(model, memory)
    place_and_bound(space.shapes, q, body_reach, space.placed)
    return candidates_near(model, space.placed, x, node_reach, body_reach, memory)


def candidates_near(
    model: Model,
    placed: PlacedShapes,
    x: Array,
    node_reach: Array,
    body_reach: Array,
    workspace: Workspace,
    vertices: bool = False,
) -> SoftRigid:
    """soft_rigid_candidates of shapes that are placed, with the reach of their bodies around their bounds.

    ``vertices``: of what lies between nodes only corners on faces none of whose nodes is near the shape.
    """
    soft = model.soft
    weld = np.full(len(x), -1, np.int32)
    weld[soft.weld_node] = soft.weld_body
    outward = np.zeros_like(x)
    reaches = Reaches(model.shape_body, model.body_dynamic, body_reach, weld, soft.block, node_reach)
    now = _Instant(model, placed, x, reaches, outward)
    pairs = _near_pairs(now)
    nodes = _nodes_on_shapes(now, pairs)
    # above a plane no place is lower than the nodes around it
    bounded = pairs[model.shape_type[pairs[:, 0]] != HALF_SPACE]
    places = _between_nodes(now, bounded, workspace, vertices) if len(bounded) else []
    if vertices:
        places = [each.take(_apart_from_nodes(each, nodes, len(x))) for each in places]
    if not places:
        return _joined([nodes])
    between = _joined(places)
    found = _joined([nodes, between.take(_nearer_than_nodes(now, between))])
    kept = np.empty(len(found.gap), np.bool_)
    ways_out(found.shape, soft.node_body[found.node[:, 0]], found.kind, found.point, found.normal, found.gap, kept)
    return found.take(kept)


def _among(now: _Instant, pairs: Ints) -> Bools:
    """Which soft bodies (nb,) are in pairs (np, 2) of a shape and a soft body."""
    wanted = np.zeros(len(now.model.soft.names), np.bool_)
    wanted[pairs[:, 1]] = True
    return wanted


def _near_pairs(now: _Instant) -> Ints:
    """Pairs (np, 2) of a shape and a soft body whose bounds meet and that may touch, sorted."""
    model, soft = now.model, now.model.soft
    if not len(soft.names):
        return np.zeros((0, 2), np.int32)
    first, around = soft.node_start[:-1], now.reaches.node[:, None]
    low = np.minimum.reduceat(now.x - around, first)
    high = np.maximum.reduceat(now.x + around, first)
    lower, upper = now.placed.lower[:, None], now.placed.upper[:, None]
    shape, body = np.nonzero(np.all((lower <= high) & (low <= upper), axis=2))
    keys = (model.shape_body[shape].astype(np.int64) << 32) + len(model.body_names) + body
    kept = ~np.isin(keys, model.ignored)
    return np.stack([shape[kept], body[kept]], axis=1).astype(np.int32)


def _nodes_on_shapes(now: _Instant, pairs: Ints) -> SoftRigid:
    """Nodes within reach of shapes; writes the normals of nodes that others need, too."""
    wanted = _among(now, pairs)
    shape, node, limit, gap, normal = nodes_near_shapes(
        now.model, now.placed, pairs, now.x, wanted, now.reaches, now.outward
    )
    near = np.flatnonzero(gap <= limit)
    weight = np.zeros((len(near), 3))
    weight[:, 0] = 1.0
    values = np.concatenate([weight, normal[near], gap[near, None]], axis=1)
    return _candidates(
        now, NODE_SHAPE, shape[near], np.zeros(len(near), np.int32), node[near], node[near, None], values
    )


def _between_nodes(now: _Instant, pairs: Ints, workspace: Workspace, vertices: bool) -> list[SoftRigid]:
    """Corners, edges and round cores within reach of triangles and edges, for pairs (np, 2) of shape and soft body."""
    model, x, surface = now.model, now.x, now.model.soft.surface
    triangles = surface.triangles
    faces, lines, edges = workspace.slot((Trees, model), lambda: _trees(model))
    frame, still = np.empty((len(triangles), 4)), np.zeros_like(x)
    around_faces, around_edges = np.empty(len(triangles)), np.empty(len(edges))
    wanted = _among(now, pairs)
    own = np.flatnonzero(wanted).astype(np.int32)
    bodies_of = triangles, surface.triangle_body, edges, surface.edge_body, wanted
    surface_frames(x, now.reaches.node, *bodies_of, frame, around_faces, around_edges)
    refit(faces, x, still, around_faces, own)
    refit(lines, x, still, around_edges, own)

    features, placed = rigid_features(model, workspace), now.placed
    near, local = np.unique(pairs[:, 0], return_inverse=True)
    bodies = np.stack([local, pairs[:, 1]], axis=1).astype(np.int32)
    where = near.astype(np.intp), placed.position, placed.rotation, placed.reach
    corners, sides = corner_items(features, *where), edge_items(features, *where)
    # the axis of a cylinder looks after its rims
    rims = model.shape_type[corners.item[:, 0]] == CYLINDER
    ends = corners.take(~rims) if rims.any() else corners
    thick = features.edge[sides.item[:, 1], THICK] > 0.0
    sharp, tubes = (sides.take(~thick), sides.take(thick)) if thick.any() else (sides, sides.take(thick))

    cones = Corners(placed.rotation, features.corner, features.cone_start, features.cone)
    poses = placed.position, placed.rotation, features.edge
    # corners are numbered after the edges, where those are numbered together; a tube has two numbers
    after = 1 + np.diff(features.edge_start)[features.of_shape]

    on_faces = corners.point, cones, x, triangles, surface.triangle_body, frame
    ends_on_edges = ends.point, cones, x, edges, triangles
    sides_on_edges = *poses, x, edges, triangles
    first = _search(now, CORE_FACE, corners, faces, bodies, corners_on_faces, on_faces)
    if vertices:
        return [] if first is None else [first]
    found = (
        first,
        _search(now, CORE_EDGE, ends, lines, bodies, corners_on_edges, ends_on_edges, after=after),
        _search(now, CORE_EDGE, sharp, lines, bodies, edges_on_edges, (*sides_on_edges, frame)),
        _search(now, CORE_EDGE, tubes, lines, bodies, tubes_on_edges, sides_on_edges, copies=2),
    )
    return [group for group in found if group is not None]


def _apart_from_nodes(places: SoftRigid, nodes: SoftRigid, count: int) -> Bools:
    """Which places (k,) have none of their nodes in contact with their shape; ``count``: number of all nodes."""
    known = np.unique(nodes.shape.astype(np.int64) * count + nodes.node[:, 0])
    own = places.shape.astype(np.int64)[:, None] * count + places.node
    return np.asarray(~(np.isin(own, known) & (places.node >= 0)).any(axis=1))


def _search(
    now: _Instant,
    kind: int,
    items: Items,
    soft: Forest,
    bodies: Ints,
    touch: Callable[..., None],
    arguments: tuple[Any, ...],
    copies: int = 1,
    after: Ints | None = None,
) -> SoftRigid | None:
    """Candidates of corners or edges with the triangles or edges of a forest; None where no boxes meet.

    touch: called with pairs (k, 2) of an item and a soft one, the gaps (k,) up to which they matter, the items (n, 2),
    the arguments, and room for whether they touch (copies k,) and weights, normal, gap (copies k, 7). after (ns,):
    added to the numbers of the items.
    """
    if not len(items.item):
        return None
    pairs = overlapping_pairs(items.forest(int(bodies[:, 0].max()) + 1), soft, bodies)
    if not len(pairs):
        return None
    shape, nodes = items.item[pairs[:, 0], 0], soft.items[pairs[:, 1]]
    valid, values = np.zeros(copies * len(pairs), np.bool_), np.zeros((copies * len(pairs), 7))
    touch(pairs, now.limits(shape, nodes), items.item, *arguments, valid, values)
    row = np.flatnonzero(valid)
    pair = row // copies
    feature = (copies * items.number[pairs[pair, 0]] + row % copies).astype(np.int32)
    if after is not None:
        feature += after[shape[pair]]
    return _candidates(now, kind, shape[pair], feature, pairs[pair, 1], nodes[pair], values[row])


def _candidates(
    now: _Instant,
    kind: int,
    shape: Ints,
    feature: Ints,
    soft_feature: Ints,
    nodes: Ints,
    values: Array,
) -> SoftRigid:
    """Candidates of one kind: nodes (k, m) of the soft features; weights, normal, gap in values (k, 7)."""
    count, used = nodes.shape
    node = np.full((count, 3), -1, np.int32)
    node[:, :used] = nodes
    weight, normal, gap = values[:, :3], values[:, 3:6], values[:, 6]
    on_soft = np.einsum("km,kmj->kj", weight[:, :used], now.x[nodes])
    point = on_soft - 0.5 * gap[:, None] * normal
    return SoftRigid(np.full(count, kind, np.int32), shape, feature, soft_feature, node, weight, point, normal, gap)


def _nearer_than_nodes(now: _Instant, found: SoftRigid) -> Bools:
    """Which candidates are nearer to their shape than the distances of their nodes tell, or have no node in reach.

    The distance to a convex shape is convex: between nodes it is at most what they tell, and for a flat face just that.
    """
    used = found.node >= 0
    x = now.x[found.node]
    sides = np.linalg.norm(x - x[:, [1, 2, 0]], axis=2) * (used & used[:, [1, 2, 0]])
    size = sides.max(axis=1)
    shape, node = np.repeat(found.shape, 3)[used.ravel()], found.node[used]
    told, outside = np.zeros(used.shape), np.ones(used.shape, np.bool_)
    told[used], _ = now.distances(shape, node, np.full(len(shape), np.inf))
    outside[used] = told[used] > now.limits(shape, node[:, None])
    # a node that the shape cannot push tells nothing
    told = np.where(np.isinf(told), size[:, None], told)
    sag = SAG[now.model.shape_type[found.shape]] * size
    return ((found.weight * told).sum(axis=1) - found.gap > sag) | outside.all(axis=1)


def _joined(groups: list[SoftRigid]) -> SoftRigid:
    """All candidates of several groups, sorted."""
    columns = [np.concatenate(column) for column in zip(*groups, strict=True)]
    kind, shape, feature, soft_feature = columns[:4]
    order = np.lexsort((soft_feature, feature, shape, kind))
    return SoftRigid._make(np.ascontiguousarray(column[order]) for column in columns)


def _trees(model: Model) -> Trees:
    """Trees over the soft surfaces of a model."""
    soft, surface = model.soft, model.soft.surface
    faces = build_forest(surface.triangles, surface.triangle_body, soft.count, soft.x_start)
    lines = build_forest(surface.edges, surface.edge_body, soft.count, soft.x_start)
    return Trees(faces, lines, np.concatenate([surface.edges, surface.edge_triangles], axis=1))
