"""Contacts of the soft surfaces of a model with each other and themselves, and impacts of these and rigid ones."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.collision.contacts import Contacts, SideNodes, with_surfaces
from stickslip.collision.surfaces.feature_pairs import FeaturePairs
from stickslip.collision.surfaces.impacts import edges_hitting_edges, nodes_hitting_faces
from stickslip.collision.surfaces.keys import (
    CORNER_HITS,
    EDGE_HITS,
    FEATURE_SHIFT,
    KIND_SHIFT,
    NODE_FACE,
    NODE_HITS,
    SOFT_EDGES,
    contact_keys,
)
from stickslip.collision.surfaces.moving_surfaces import (
    MovingSurfaces,
    Placement,
    fit_boxes,
    moving_surfaces,
    near_items,
    placed,
)
from stickslip.collision.surfaces.rigid_surfaces import RigidSurfaces, rigid_surfaces, world_vertices
from stickslip.collision.surfaces.soft_surfaces import SAME_NORMAL, crossing_edges, nodes_on_faces
from stickslip.geometry.rigid_motion import advance
from stickslip.model.model import Model
from stickslip.workspace import Workspace


class Wanted:
    """Which soft surfaces may touch, and the ignored pairs that it was made for."""

    def __init__(self) -> None:
        """Not known yet."""
        self.ignored: LongInts | None = None
        self.pairs: Bools = np.zeros((0, 0), bool)


def surface_contacts(
    model: Model, q: Array, x: Array, motion: Array, margin: float, ignored: LongInts, workspace: Workspace,
    vertices: bool = False,
) -> list[Contacts]:  # fmt: skip
    """Contacts of soft surfaces at x (nn, 3) [m] that move by ``motion`` (nn, 3) [m]; see find_soft_contacts."""
    soft = model.soft
    surfaces = workspace.slot((MovingSurfaces, model), lambda: _soft_surfaces(model))
    wanted = workspace.slot((Wanted, model), Wanted)
    if wanted.ignored is None or not np.array_equal(wanted.ignored, ignored):
        bodies = model.body_count + np.arange(soft.count)
        wanted.ignored, wanted.pairs = ignored, _may_touch(model, bodies, ignored)
    at, motion, nodes, edges = _near(surfaces, x, motion, margin, wanted.pairs)
    on_faces = _soft_sides(model, q, NODE_FACE, nodes_on_faces(surfaces, at, motion, margin, nodes), x)
    if vertices:
        return [on_faces]
    return [on_faces, _soft_sides(model, q, SOFT_EDGES, crossing_edges(surfaces, at, motion, margin, edges), x)]


def _soft_surfaces(model: Model) -> MovingSurfaces:
    """Surfaces of all soft bodies."""
    soft = model.soft
    return moving_surfaces(
        soft.surface.triangles, soft.surface.triangle_body, soft.node_body, soft.count, soft.x_start
    )  # fmt: skip


def _all_surfaces(model: Model) -> tuple[MovingSurfaces, RigidSurfaces]:
    """Surfaces of all soft bodies, and after them those of rigid polyhedra."""
    soft, rigid, nodes = model.soft, rigid_surfaces(model), len(model.soft.node_body)
    return (
        moving_surfaces(
            np.concatenate([soft.surface.triangles, rigid.triangles + np.int32(nodes)]),
            np.concatenate([soft.surface.triangle_body, rigid.triangle_owner + np.int32(soft.count)]),
            np.concatenate([soft.node_body, rigid.vertex_owner + np.int32(soft.count)]),
            soft.count + len(rigid.shape),
            np.concatenate([soft.x_start, world_vertices(model, rigid, model.q_start)]),
        ),
        rigid,
    )


def surface_impacts(
    model: Model,
    q: Array,
    x: Array,
    v: Array,
    node_velocity: Array,
    h: float,
    margin: float,
    ignored: LongInts,
    known: Contacts,
    workspace: Workspace,
) -> list[Contacts]:
    """Impacts within h [s] of soft surfaces with each other, themselves and rigid polyhedra; see find_soft_contacts.

    Those with a rigid shape that ``known`` contacts of the start hold back as well are left out.
    """
    soft, nodes = model.soft, len(x)
    if not soft.count:
        return []
    surfaces, rigid = workspace.slot((RigidSurfaces, model), lambda: _all_surfaces(model))
    start, end = world_vertices(model, rigid, q), world_vertices(model, rigid, advance(q, v, h))
    x_all, motion = np.concatenate([x, start]), np.concatenate([h * node_velocity, end - start])
    bodies = np.concatenate([model.body_count + np.arange(soft.count), model.shape_body[rigid.shape]])
    wanted = _may_touch(model, bodies, ignored)
    at, motion, points, lines = _near(surfaces, x_all, motion, margin, wanted)
    found = []
    for pairs, kind, soft_first, rigid_first in (
        (nodes_hitting_faces(surfaces, at, motion, points), NODE_FACE, CORNER_HITS, NODE_HITS),
        (edges_hitting_edges(surfaces, at, motion, lines), SOFT_EDGES, EDGE_HITS, EDGE_HITS),
    ):
        a_rigid, b_rigid = pairs.ids[:, 2] >= nodes, pairs.ids[:, 5] >= nodes
        found.append(_soft_sides(model, q, kind, _rows(pairs, ~a_rigid & ~b_rigid), x))
        for hit, which in ((soft_first, b_rigid), (rigid_first, a_rigid)):
            sides = _rigid_sides(model, q, surfaces, rigid, hit, _rows(pairs, which), x_all)
            found.append(sides.take(np.flatnonzero(~_held_back(sides, known))))
    return found


def _near(
    surfaces: MovingSurfaces,
    x: Array,
    motion: Array,
    margin: float,
    wanted: Bools,
) -> tuple[Placement, Array, Ints, Ints]:
    """Where surfaces are, how they move as seen from their mean motion, and the pairs of items that come near."""
    motion = motion - motion.mean(axis=0)
    at = placed(surfaces.triangles, x)
    boxes = fit_boxes(surfaces, at, motion, margin)
    points, lines = near_items(surfaces, boxes, wanted)
    return at, motion, points, lines


def _may_touch(model: Model, bodies: LongInts, ignored: LongInts) -> Bools:
    """Which surfaces (k, k) may touch; ``bodies`` (k,) whose they are, soft ones first and after the rigid numbers."""
    soft = len(bodies) > np.arange(len(bodies))
    soft[model.soft.count :] = False
    lower, upper = np.minimum(bodies[:, None], bodies), np.maximum(bodies[:, None], bodies)
    wanted = ~np.isin((lower << 32) + upper, ignored) & (soft[:, None] | soft)
    np.fill_diagonal(wanted, np.concatenate([model.soft.self_contact, np.zeros(len(bodies) - model.soft.count, bool)]))
    return wanted


def _rows(pairs: FeaturePairs, which: Bools) -> FeaturePairs:
    return FeaturePairs(pairs.ids[which], pairs.values[which])


def _blend(array: Array, nodes: Ints, weight: Array) -> Array:
    """Rows (k, 3) of an (n, 3) array at nodes (k, 3), weighted; weights of nodes that are -1 are zero."""
    return np.einsum("ck,ckj->cj", weight, array[nodes])


def _soft_sides(model: Model, q: Array, kind: int, pairs: FeaturePairs, x: Array) -> Contacts:
    """Contacts of soft features, of those pairs that have a free node and are not welded to one body together."""
    soft = model.soft
    if len(soft.free) < soft.node_count or len(soft.weld_node):
        pairs = _rows(pairs, _can_move(model, pairs))
    ids, values = pairs
    a, b = soft.node_body[ids[:, 2]], soft.node_body[ids[:, 5]]
    on_a, on_b = _blend(x, ids[:, 2:5], values[:, :3]), _blend(x, ids[:, 5:8], values[:, 3:6])
    none = np.full(len(ids), -1, np.int32)
    return with_surfaces(
        model,
        q,
        contact_keys(kind, ids[:, 0], ids[:, 1]),
        (none, none),
        (a + np.int32(model.body_count), b + np.int32(model.body_count)),
        0.5 * (on_a + on_b),
        np.ascontiguousarray(values[:, 6:9]),
        values[:, 9],
        SideNodes(ids[:, 2:5], ids[:, 5:8], values[:, :3], values[:, 3:6]),
    )


def _can_move(model: Model, pairs: FeaturePairs) -> Bools:
    """Which pairs (k,) have a free node and are not welded to one body together."""
    soft, nodes, taken = model.soft, pairs.ids[:, 2:8], pairs.values[:, :6] > 0.0
    weld = np.full(soft.node_count, -1, np.int32)
    weld[soft.weld_node] = soft.weld_body
    free = ((soft.block[nodes] >= 0) & taken).any(axis=1)
    lowest = np.where(taken, weld[nodes], model.body_count).min(axis=1)
    highest = np.where(taken, weld[nodes], -1).max(axis=1)
    return np.asarray(free & ((lowest < 0) | (lowest != highest)))


def _rigid_sides(
    model: Model,
    q: Array,
    surfaces: MovingSurfaces,
    rigid: RigidSurfaces,
    kind: int,
    pairs: FeaturePairs,
    x: Array,
) -> Contacts:
    """Contacts of a rigid and a soft feature, the rigid one made a; not those of nodes that are welded to its body."""
    soft = model.soft
    ids, values = pairs.ids.copy(), pairs.values.copy()
    if len(ids) and ids[0, 5] >= soft.node_count:  # the rigid side is b
        ids = ids[:, [1, 0, 5, 6, 7, 2, 3, 4]]
        values = values[:, [3, 4, 5, 0, 1, 2, 6, 7, 8, 9]]
        values[:, 6:9] *= -1.0
    owner = surfaces.node_body[ids[:, 2]] - soft.count
    shape = rigid.shape[owner]
    body = model.shape_body[shape]
    first = {NODE_HITS: len(soft.surface.triangles), CORNER_HITS: soft.node_count, EDGE_HITS: len(soft.surface.edges)}
    weld = np.full(soft.node_count, -1, np.int32)
    weld[soft.weld_node] = soft.weld_body
    taken = values[:, 3:6] > 0.0
    nodes = ids[:, 5:8]
    welded = ((weld[nodes] == body[:, None]) & taken).any(axis=1)
    still = (model.block[body] < 0) & ~((soft.block[nodes] >= 0) & taken).any(axis=1)
    soft_body = soft.node_body[ids[:, 5]]
    none = np.full((len(ids), 3), -1, np.int32)
    sides = with_surfaces(
        model,
        q,
        contact_keys(kind, ids[:, 0] - np.int32(first[kind]), ids[:, 1]),
        (shape, none[:, 0].copy()),
        (body, soft_body + np.int32(model.body_count)),
        0.5 * (_blend(x, ids[:, 2:5], values[:, :3]) + _blend(x, nodes, values[:, 3:6])),
        np.ascontiguousarray(values[:, 6:9]),
        values[:, 9],
        SideNodes(none, nodes, np.zeros((len(ids), 3)), values[:, 3:6]),
    )
    return sides.take(np.flatnonzero(~welded & ~still))


def _held_back(sides: Contacts, known: Contacts) -> Bools:
    """Which impacts with rigid bodies have a known contact of the same feature and body with about the same normal."""
    feature = (1 << FEATURE_SHIFT) - 1
    held = np.zeros(len(sides.key), bool)
    if not len(known.key) or not len(held):
        return held
    kind = (sides.key >> KIND_SHIFT) - NODE_HITS
    names = np.stack([kind, sides.body_a, sides.key & feature], axis=1)
    others = np.stack([known.key >> KIND_SHIFT, known.body_a, known.key & feature], axis=1)
    number = np.unique(np.concatenate([names, others]), axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(number[len(names) :], kind="stable")
    place = number[len(names) :][order]
    low, high = np.searchsorted(place, number[: len(names)]), np.searchsorted(place, number[: len(names)], "right")
    for c in np.flatnonzero(high > low):
        held[c] = (known.normal[order[low[c] : high[c]]] @ sides.normal[c]).max() > SAME_NORMAL
    return held
