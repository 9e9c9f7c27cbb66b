"""Contacts of rigid bodies at one configuration: near pairs of shapes, their contact points, the surfaces there.

Each stage is a kernel over the tables of the model and the rooms of a RigidSpace; here they are called, and rooms grow.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.collision.arrays import KINDS, MOTION, Flat, flat_of
from stickslip.collision.broad_phase import swept_pairs
from stickslip.collision.contacts import Contacts, joined, rigid_contacts
from stickslip.collision.narrow_phase import PAIR_KERNELS
from stickslip.collision.pair_search import group_pairs, near_pairs_of_few, place_and_bound
from stickslip.collision.reach import FEW as FEW_BODIES
from stickslip.collision.reach import Approach, common_velocity, speeds
from stickslip.collision.rigid.manifold import FULL
from stickslip.collision.rigid_space import RigidSpace, rigid_space, sweep_room
from stickslip.geometry.hull import HullTables
from stickslip.geometry.mesh_tables import EMPTY, MeshTables
from stickslip.geometry.shapes import MESH
from stickslip.model.model import Model
from stickslip.workspace import Workspace

FEW = 96
"""Shapes up to which all pairs are compared: 4,560 comparisons take as long as the layout of the columns."""
MOST_POINTS = max(most for _, most in PAIR_KERNELS.values())
CHUNK = 4096
"""Pairs with meshes that are looked at together: most have no contact, and none of those keeps its room."""


class NearPairs(NamedTuple):
    """np pairs of shapes with type[a] <= type[b], those of one kind together."""

    position: Array
    """(ns, 3) [m] of all shapes."""
    rotation: Array
    """(ns, 3, 3)"""
    reach: Array
    """(ns,) [m]"""
    pairs: Ints
    """(np, 2) shapes; those of a kind are sorted."""
    limits: Array
    """(np,) [m] gap up to which each pair can matter."""
    rank: LongInts
    """(np,) place of each among all, sorted by their shapes."""
    groups: list[list[int]]
    """Per kind that occurs, in order: its code, its first pair and the one after its last."""


class RawContacts(NamedTuple):
    """Contact points of one instant, sorted by ``key``; n points."""

    shape_a: Ints
    """(n) first shape"""
    shape_b: Ints
    """(n) second shape"""
    point: Array
    """(n, 3) world position midway between the surfaces [m]"""
    normal: Array
    """(n, 3) unit vector from a to b"""
    gap: Array
    """(n) signed distance along the normal, negative for overlap [m]"""
    key: LongInts
    """(n) shape_a * 2**40 + shape_b * 2**16 + feature: the same contact has the same key from step to step"""


def find_contacts(
    model: Model,
    q: Array,
    reach: Array,
    known: Contacts | None = None,
    changed: Bools | None = None,
    approach: Approach | None = None,
    ignored: LongInts | None = None,
    workspace: Workspace | None = None,
) -> Contacts:
    """All contact points at q whose gap is at most the sum of the two bodies' reach (nb,) [m].

    Where contacts at the same q are ``known``, only pairs with a body whose reach has ``changed`` (nb,) are searched.
    ``approach`` may say that two bodies need look less far for each other than their reaches add up to; then pairs
    that are further apart than that, as balls, are left out, and meshes look no further. ``ignored``: what
    Model.ignored_pairs returns; where it is not given, no joint is broken.
    """
    keys = model.ignored_at_start if ignored is None else ignored
    return contacts_in(rigid_space(model, workspace), model, q, reach, known, changed, approach, keys)


def contacts_in(
    space: RigidSpace,
    model: Model,
    q: Array,
    reach: Array,
    known: Contacts | None,
    changed: Bools | None,
    approach: Approach | None,
    ignored: LongInts,
    ahead: bool = False,
) -> Contacts:
    """find_contacts with the rooms of a space; with ``ahead`` the approach says how far bodies look, written to reach.

    That is half of its margin and what they move by in its time, as seen from the velocity that most have; space.speed
    keeps the speeds.
    """
    again = changed if known is not None else None
    kept, kinds = _search(model, space, q, reach, ignored, again, approach, ahead)
    row, needed = 0, 0
    for code, first, last in space.groups[:kinds].tolist():
        kernel_of_kind, most = PAIR_KERNELS[divmod(code, 8)]
        meshes, share = (model.meshes, CHUNK) if code % 8 == MESH else ((), last - first)
        for begin in range(first, last, share):
            if row != FULL:
                end = min(begin + share, last)
                needed = row + most * (end - begin)
                row = kernel_of_kind(space.flat, meshes, begin, end, row)
    if row == FULL:
        space.grow(model, space.capacity[0], max(2 * space.capacity[1], needed), space.capacity[2])
        return contacts_in(space, model, q, reach, known, changed, approach, ignored, ahead)
    found = rigid_contacts(space.flat, kept, row, q)
    if known is None or again is None:
        return found
    left = known.take(np.flatnonzero(~(again[known.body_a] | again[known.body_b])))
    both = joined([left, found])
    return both.take(np.argsort(both.key, kind="stable"))


def near_pairs(
    model: Model,
    q: Array,
    reach: Array,
    ignored: LongInts,
    changed: Bools | None,
    approach: Approach | None,
    workspace: Workspace | None = None,
) -> NearPairs:
    """Pairs of shapes of bodies at q (nb, 7) whose bounds, inflated by the bodies' reach (nb,) [m], meet.

    Only those with a body that has ``changed`` (nb,), not those whose keys are ``ignored``, and where an ``approach``
    is given not those that are further apart, as balls, than they can come together.
    """
    space = rigid_space(model, workspace)
    kept, kinds = _search(model, space, q, reach, ignored, changed, approach)
    placed, room = space.placed, space.pairs
    where = placed.position.copy(), placed.rotation.copy(), placed.reach.copy()
    near = room.pairs[:kept].copy(), room.limits[:kept].copy(), room.rank[:kept].copy()
    return NearPairs(*where, *near, room.groups[:kinds].tolist())


def _search(
    model: Model,
    space: RigidSpace,
    q: Array,
    reach: Array,
    ignored: LongInts,
    changed: Bools | None,
    approach: Approach | None,
    ahead: bool = False,
) -> tuple[int, int]:
    """near_pairs, left in the rooms of a space; how many there are, and of how many kinds."""
    limited = approach is not None
    bound = Approach(model.v_start, model.v_start, model.radius, 0.0, 0.0) if approach is None else approach
    who = model.everybody if changed is None else changed
    few = len(model.bounded_shapes) <= FEW
    if ahead and not (few and len(model.dynamic) <= FEW_BODIES):
        space.speed[:] = speeds(model, bound.v, common_velocity(model, bound.v))
        reach[:] = bound.far * (space.speed + bound.gained) + 0.5 * bound.margin
        ahead = False
    while few:
        found, kept, kinds = near_pairs_of_few(space.flat, q, ignored, who, limited, bound, ahead, reach)
        if found <= space.capacity[0]:
            return kept, kinds
        space.grow(model, max(2 * space.capacity[0], found), *space.capacity[1:])
    if space.sweep is None:
        space.sweep = sweep_room(len(model.shape_type))
    while True:
        shapes, placed = space.shapes, space.placed
        place_and_bound(shapes, q, reach, placed)
        found = swept_pairs(shapes, placed, ignored, space.sweep, space.pairs.key)
        if found <= space.capacity[0]:
            break
        space.grow(model, max(2 * space.capacity[0], found), *space.capacity[1:])
    kept, kinds = group_pairs(shapes, placed, q, model.lever, who, limited, bound, found, space.pairs)
    return kept, kinds


def collide(
    pairs: Ints,
    shape_type: Ints,
    position: Array,
    rotation: Array,
    size: Array,
    hull_of: Ints,
    hulls: HullTables,
    reach: Array,
    mesh_of: Ints | None = None,
    meshes: MeshTables | None = None,
    limits: Array | None = None,
) -> RawContacts:
    """Contact points of pairs (np, 2) with type[a] <= type[b], without bodies or materials; arrays as in PlacedShapes.

    ``limits`` (np) [m]: gap up to which a pair with a mesh is looked at, where that is less than the sum of both
    reaches.
    """
    limits = reach[pairs].sum(axis=1) if limits is None else np.minimum(limits, reach[pairs].sum(axis=1))
    order = np.argsort((pairs[:, 0].astype(np.int64) << 32) | pairs[:, 1], kind="stable")
    pairs, limits = pairs[order], limits[order]
    kind = 8 * shape_type[pairs[:, 0]] + shape_type[pairs[:, 1]]
    rank = np.argsort(kind, kind="stable")
    codes, first = np.unique(kind[rank], return_index=True)
    groups = np.stack([codes, first, np.append(first[1:], len(pairs))], axis=1).tolist()
    shapes = shape_type, position, rotation, size, hull_of, hulls, reach
    flat = flat_of_pairs(pairs[rank], limits[rank], rank, shapes, mesh_of)
    row = 0
    for code, begin, end in groups:
        tables = (meshes or EMPTY) if code % 8 == MESH else ()
        row = PAIR_KERNELS[divmod(code, 8)][0](flat, tables, begin, end, row)
    found = rigid_contacts(flat, len(pairs), row, np.zeros((1, 7)))
    return RawContacts(found.shape_a, found.shape_b, found.point, found.normal, found.gap, found.key)


def flat_of_pairs(
    pairs: Ints, limits: Array, rank: LongInts, shapes: tuple[Any, ...], mesh_of: Ints | None = None
) -> Flat:
    """What kernels of the narrow phase take, for pairs (np, 2) that are grouped by kind, with their limits and ranks.

    shapes: types, positions, rotations, sizes, hull_of, hulls and reaches, as in PlacedShapes.
    """
    shape_type, position, rotation, size, hull_of, hulls, reach = shapes
    count, points, none = len(shape_type), MOST_POINTS * len(pairs), np.zeros(0)
    return flat_of(
        [
            none, none, size, none, none, none, none, hulls.vertices, hulls.face_plane, position, rotation, reach, none,
            none, none, none, none, none, none, limits, none, 3 * points, 3 * points, points, none, 3, 2, 2, 3,
            MOTION * len(pairs),
        ],
        [
            shape_type, count, hull_of, hull_of if mesh_of is None else mesh_of, none, hulls.vertex_start,
            hulls.face_start, hulls.loop_start, hulls.loop, hulls.edge_start, hulls.edges, pairs, len(pairs),
            points, count, none, 1,
        ],
        [none, none, none, rank, len(pairs), len(pairs), 3 * KINDS, KINDS + 1],
        [none, none, none],
    )  # fmt: skip
