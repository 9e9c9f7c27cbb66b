"""Contact points of candidate pairs: one kernel per pair of shape types, one table of kernels.

Every kernel has the signature

    kernel(pairs, position, rotation, size, hull_of, hulls, reach,
           point_out, normal_out, gap_out, feature_out, count_out)

with pairs (np, 2) of shape indices, type[a] <= type[b]; the shapes' world poses position (ns, 3), rotation (ns, 3, 3),
their size (ns, 3) and hull_of (ns), hulls; reach (ns): a point is reported where its gap is at most the sum of both.
It writes the first count_out[i] of the K places of pair i: point_out (np, K, 3) midway between the surfaces,
normal_out (np, K, 3) unit from a to b, gap_out (np, K), feature_out (np, K) an id below 65536, unique in its pair,
that stays with the same corner, edge or face from step to step. Kernels of pairs with a mesh take mesh_of (ns) and
meshes in the places of hull_of and hulls; boxes and hulls have a mesh of their own for them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Ints, LongInts
from stickslip.collision.box_box import box_box
from stickslip.collision.convex import convex_kernel
from stickslip.collision.half_space import (
    box_half_space,
    capsule_half_space,
    cylinder_half_space,
    hull_half_space,
    sphere_half_space,
)
from stickslip.collision.mesh_manifold import MOST
from stickslip.collision.mesh_mesh import half_space_mesh, mesh_mesh
from stickslip.collision.mesh_round import round_mesh
from stickslip.collision.primitives import (
    capsule_box,
    capsule_capsule,
    sphere_box,
    sphere_capsule,
    sphere_cylinder,
    sphere_sphere,
)
from stickslip.geometry.hull import HullTables
from stickslip.geometry.mesh_tables import MeshTables
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HALF_SPACE, HULL, MESH, SPHERE
from stickslip.jit import kernel

PAIR_KERNELS: dict[tuple[int, int], tuple[Callable[..., None], int]] = {
    (SPHERE, SPHERE): (sphere_sphere, 1),
    (SPHERE, CAPSULE): (sphere_capsule, 1),
    (SPHERE, BOX): (sphere_box, 1),
    (SPHERE, CYLINDER): (sphere_cylinder, 1),
    (SPHERE, HULL): (convex_kernel(SPHERE, HULL), 8),
    (SPHERE, HALF_SPACE): (sphere_half_space, 1),
    (CAPSULE, CAPSULE): (capsule_capsule, 3),
    (CAPSULE, BOX): (capsule_box, 3),
    (CAPSULE, CYLINDER): (convex_kernel(CAPSULE, CYLINDER), 8),
    (CAPSULE, HULL): (convex_kernel(CAPSULE, HULL), 8),
    (CAPSULE, HALF_SPACE): (capsule_half_space, 2),
    (BOX, BOX): (box_box, 9),
    (BOX, CYLINDER): (convex_kernel(BOX, CYLINDER), 8),
    (BOX, HULL): (convex_kernel(BOX, HULL), 8),
    (BOX, HALF_SPACE): (box_half_space, 8),
    (CYLINDER, CYLINDER): (convex_kernel(CYLINDER, CYLINDER), 8),
    (CYLINDER, HULL): (convex_kernel(CYLINDER, HULL), 8),
    (CYLINDER, HALF_SPACE): (cylinder_half_space, 6),
    (HULL, HULL): (convex_kernel(HULL, HULL), 8),
    (HULL, HALF_SPACE): (hull_half_space, 16),
    (SPHERE, MESH): (partial(round_mesh, SPHERE), MOST),
    (CAPSULE, MESH): (partial(round_mesh, CAPSULE), MOST),
    (BOX, MESH): (mesh_mesh, MOST),
    (CYLINDER, MESH): (partial(round_mesh, CYLINDER), MOST),
    (HULL, MESH): (mesh_mesh, MOST),
    (HALF_SPACE, MESH): (half_space_mesh, MOST),
    (MESH, MESH): (mesh_mesh, MOST),
}
"""Kernel and K, the most points of a pair, per pair of types; a kernel compiles when its first pair occurs."""
CHUNK = 4096
"""Pairs with meshes that are looked at together: most have no contact, and none of those keeps its room."""


GroupContacts = tuple[NDArray[Any] | None, int, NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]
"""Of pairs of one kind: which of them (None: all), the first one, and their points, normals, gaps and features."""


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
    """Contact points of pairs (np, 2) with type[a] <= type[b]; arrays as in the signature of the kernels.

    Pairs that come sorted, as from the broad phase, are not sorted again, and neither are their contacts. ``limits``
    (np) [m]: gap up to which a pair with a mesh is looked at, where that is less than the sum of both reaches.
    """
    order = (pairs[:, 0].astype(np.int64) << 32) | pairs[:, 1]
    limits = reach[pairs].sum(axis=1) if limits is None else np.minimum(limits, reach[pairs].sum(axis=1))
    if np.any(order[1:] < order[:-1]):
        sorting = np.argsort(order, kind="stable")
        pairs, limits = pairs[sorting], limits[sorting]
    kind = 8 * shape_type[pairs[:, 0]] + shape_type[pairs[:, 1]]
    rank = np.argsort(kind, kind="stable")
    codes, first = np.unique(kind[rank], return_index=True)
    groups = np.stack([codes, first, np.append(first[1:], len(pairs))], axis=1).tolist()
    shapes = position, rotation, size, hull_of, hulls, reach
    return collide_groups(pairs[rank], limits[rank], rank, groups, *shapes, mesh_of, meshes)


def collide_groups(
    pairs: Ints,
    limits: Array,
    rank: LongInts,
    groups: list[list[int]],
    position: Array,
    rotation: Array,
    size: Array,
    hull_of: Ints,
    hulls: HullTables,
    reach: Array,
    mesh_of: Ints | None,
    meshes: MeshTables | None,
) -> RawContacts:
    """Contact points of pairs (np, 2) that are grouped by kind, with limits and rank as in near_pairs.NearPairs."""
    results: list[GroupContacts] = []
    count = np.empty(len(pairs), np.int32)
    for code, first, last in groups:
        kernel_of_kind, most = PAIR_KERNELS[divmod(code, 8)]
        if code % 8 == MESH:
            for begin in range(first, last, CHUNK):
                some = slice(begin, min(begin + CHUNK, last))
                meshed = position, rotation, size, mesh_of, meshes, limits[some]
                results.append(_mesh_contacts(kernel_of_kind, pairs[some], begin, meshed, count[some]))
            continue
        own, size_of = slice(first, last), last - first
        point, normal = np.empty((size_of, most, 3)), np.empty((size_of, most, 3))
        gap, feature = np.empty((size_of, most)), np.empty((size_of, most), np.int32)
        shapes = position, rotation, size, hull_of, hulls, reach
        kernel_of_kind(pairs[own], *shapes, point, normal, gap, feature, count[own])
        results.append((None, first, point, normal, gap, feature))

    start = np.empty(len(pairs), np.int64)
    total = _starts(rank, count, start)
    contacts = RawContacts(
        np.empty(total, np.int32), np.empty(total, np.int32), np.empty((total, 3)), np.empty((total, 3)),
        np.empty(total), np.empty(total, np.int64),
    )  # fmt: skip
    for result in results:
        gather(pairs, start, count, *result, *contacts)
    return contacts


def _mesh_contacts(
    kernel_of_kind: Callable[..., None],
    pairs: Ints,
    start: int,
    shapes: tuple[object, ...],
    count_out: Ints,
) -> GroupContacts:
    """Contacts of some pairs of one kind with meshes, without room for those that have none; counts to count_out."""
    room = len(pairs)
    point, normal = np.empty((room, MOST, 3)), np.empty((room, MOST, 3))
    gap, feature = np.empty((room, MOST)), np.empty((room, MOST), np.int32)
    kernel_of_kind(pairs, *shapes, point, normal, gap, feature, count_out)
    some = np.flatnonzero(count_out)
    most = int(count_out.max(initial=0))
    kept = [np.ascontiguousarray(array[some, :most]) for array in (point, normal, gap, feature)]
    return some, start, kept[0], kept[1], kept[2], kept[3]


@kernel
def _starts(rank, count, start_out):
    """Where the contacts of each pair start if pairs are in the order of their ranks; returns how many there are."""
    for m in range(rank.shape[0]):
        start_out[rank[m]] = count[m]
    total = 0
    for r in range(rank.shape[0]):
        own = start_out[r]
        start_out[r] = total
        total += own
    first = np.empty(rank.shape[0], np.int64)
    for m in range(rank.shape[0]):
        first[m] = start_out[rank[m]]
    for m in range(rank.shape[0]):
        start_out[m] = first[m]
    return total


@kernel
def gather(
    pairs, start, found, rows, first, point, normal, gap, feature,
    shape_a_out, shape_b_out, point_out, normal_out, gap_out, key_out,
):  # fmt: skip
    """Copy the contacts of pairs to their places, those of one pair in the order of their features.

    Of the pairs from ``first`` on: all whose contacts are given, or where ``rows`` is not None, only those.
    """
    for m in range(point.shape[0]):
        row = first + m
        if rows is not None:
            row = first + rows[m]
        a, b = pairs[row, 0], pairs[row, 1]
        for k in range(found[row]):
            c = start[row]
            for other in range(found[row]):
                # equal features cannot be, but must not leave a place unwritten
                c += feature[m, other] < feature[m, k] or (feature[m, other] == feature[m, k] and other < k)
            shape_a_out[c], shape_b_out[c] = a, b
            for x in range(3):
                point_out[c, x] = point[m, k, x]
                normal_out[c, x] = normal[m, k, x]
            gap_out[c] = gap[m, k]
            key_out[c] = (np.int64(a) << 40) | (np.int64(b) << 16) | feature[m, k]
