"""Flat arrays of the search for contacts of rigid bodies, and their parts as kernels see them.

Tables of the model and all rooms are parts of four flat arrays: to hand an array to a kernel costs more than what a
kernel does with few shapes, to cut one into parts inside it costs nothing. Rooms have capacities. A kernel that has no
room says so; who called it makes room for twice as much and calls again. Nothing in them outlives the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.geometry.hull import HullTables
from stickslip.jit import plain_kernel, view_at, view_kernel

KINDS = 64
"""Pairs of types, 8 type[a] + type[b]."""
FULL = -1
"""What a kernel of the narrow phase returns that has no room for its points."""
(
    POSITION, ROTATION, SIZE, RADIUS, LEVER, MASS, BODY_RADIUS, VERTICES, PLANES, PLACED, TURN, REACH, LOWER, UPPER,
    SORTING, MEDIAN, SPEED, KNOWN, NEW, LIMITS, SOME, POINT, NORMAL, GAP, CLOSING, FRICTION, RESTITUTION, COMPLIANCE,
    AXIS, MOTIONS,
) = range(30)  # fmt: skip
"""Parts of ``reals``."""
MOTION = 8
"""Numbers of how a pair moves, PairRoom.motions."""
(
    TYPE, BODY, HULL_OF, MESH_OF, MOVERS, VERTEX_START, FACE_START, LOOP_START, LOOP, EDGE_START, EDGES, PAIRS, LENGTH,
    FEATURE, SHAPE_MATERIAL, SOFT_MATERIAL, AXIS_OF,
) = range(17)  # fmt: skip
"""Parts of ``ints``."""
BOUNDED, ENDLESS, KEY, RANK, FIRST, START, GROUPS, KIND_START = range(8)
"""Parts of ``longs``."""
DYNAMIC, HIT, NEAR = range(3)
"""Parts of ``bools``."""


class Flat(NamedTuple):
    """Four flat arrays and where their parts are."""

    layout: LongInts
    """(4, 31) first element of each part of each array, and the one after the last."""
    reals: Array
    ints: Ints
    longs: LongInts
    bools: Bools


class ShapeTables(NamedTuple):
    """ns shapes of nb bodies, as in Model: what the search for pairs reads."""

    type: Ints
    body: Ints
    dynamic: Bools
    """(nb,) whether a body is."""
    position: Array
    rotation: Array
    size: Array
    radius: Array
    hull_of: Ints
    hulls: HullTables
    bounded: LongInts
    """Numbers of the shapes that are no half-spaces."""
    endless: LongInts
    """Numbers of those that are."""


class PlacedShapes(NamedTuple):
    """ns shapes in the world."""

    position: Array
    """(ns, 3) [m]"""
    rotation: Array
    """(ns, 3, 3)"""
    reach: Array
    """(ns,) [m]"""
    lower: Array
    """(ns, 3) [m] bounds, inflated by the reach."""
    upper: Array
    size: Array
    """(ns, 3) [m], as hull_of and mesh_of from the model"""
    hull_of: Ints
    mesh_of: Ints


class PairRoom(NamedTuple):
    """Room for pairs of shapes with type[a] <= type[b]."""

    key: LongInts
    """(n,) a * 2**32 + b"""
    pairs: Ints
    """(n, 2) shapes; those of one kind are together, and sorted."""
    limits: Array
    """(n,) [m] gap up to which each pair can matter."""
    rank: LongInts
    """(n,) place of each among all, sorted by their shapes."""
    groups: LongInts
    """(KINDS, 3) per kind that occurs, in order: its code, its first pair and the one after its last."""
    kind_start: LongInts
    """(KINDS + 1,) where the pairs of each kind start, while they are counted."""
    some: Array
    """(n,) limits before they are in order."""
    first: LongInts
    """(n,) where the contacts of each pair start among all."""
    motions: Array
    """(n, MOTION) of each pair: velocity of b as seen from a at the origin of shape b (3) [m/s], the same of turning
    (3) [rad/s], the time for which that counts [s], zero where it does not, and the gap [m] at which points count even
    if they do not close."""


class PointRows(NamedTuple):
    """Room for contact points as the kernels of the narrow phase find them, those of a pair in a row."""

    start: LongInts
    """(np,) row of the first point of each pair."""
    length: Ints
    """(np,) points of each pair."""
    point: Array
    """(n, 3) world, midway between the surfaces [m]"""
    normal: Array
    """(n, 3) unit, from a to b"""
    gap: Array
    """(n,) [m]"""
    feature: Ints
    """(n,) below 65536, unique in its pair"""


class LookRoom(NamedTuple):
    """Room for who may be hit, nb bodies, and for which contacts are near."""

    known: Array
    """(nb,) [m/s] gains of velocity that the last round knew."""
    new: Array
    """(nb,) [m/s] those that this search knows."""
    hit: Bools
    """(nb,) who must look further."""
    closing: Array
    """(n,) [m/s] relative normal velocity of contacts."""
    near: Bools
    """(n,) which contacts can close within the step."""


def flat_of(
    reals: Sequence[NDArray[Any] | int],
    ints: Sequence[NDArray[Any] | int],
    longs: Sequence[NDArray[Any] | int],
    bools: Sequence[NDArray[Any] | int],
) -> Flat:
    """Flat arrays of parts in their order: arrays are copied, a number is room for so many elements."""
    layout, joined = np.zeros((4, 31), np.int64), []
    for k, (parts, kind) in enumerate(zip((reals, ints, longs, bools), (float, np.int32, np.int64, bool), strict=True)):
        sizes = [part if isinstance(part, int) else part.size for part in parts]
        layout[k, 1 : len(sizes) + 1] = np.cumsum(sizes)
        whole = np.zeros(sum(sizes), kind)
        for part, start in zip(parts, layout[k], strict=False):
            if not isinstance(part, int):
                whole[start : start + part.size] = part.ravel()
        joined.append(whole)
    return Flat(layout, *joined)


@view_kernel
def real(flat, k):
    """Part k of the reals."""
    first = flat.layout[0, k]
    return view_at(flat.reals, first, (flat.layout[0, k + 1] - first,))


@view_kernel
def rows3(flat, k):
    """Part k of the reals as rows (n, 3)."""
    first = flat.layout[0, k]
    return view_at(flat.reals, first, ((flat.layout[0, k + 1] - first) // 3, 3))


@view_kernel
def rows4(flat, k):
    """Part k of the reals as rows (n, 4)."""
    first = flat.layout[0, k]
    return view_at(flat.reals, first, ((flat.layout[0, k + 1] - first) // 4, 4))


@view_kernel
def whole(flat, k):
    """Part k of the integers."""
    first = flat.layout[1, k]
    return view_at(flat.ints, first, (flat.layout[1, k + 1] - first,))


@view_kernel
def rows2(flat, k):
    """Part k of the integers as rows (n, 2)."""
    first = flat.layout[1, k]
    return view_at(flat.ints, first, ((flat.layout[1, k + 1] - first) // 2, 2))


@view_kernel
def long(flat, k):
    """Part k of the long integers."""
    first = flat.layout[2, k]
    return view_at(flat.longs, first, (flat.layout[2, k + 1] - first,))


@view_kernel
def mark(flat, k):
    """Part k of the marks."""
    first = flat.layout[3, k]
    return view_at(flat.bools, first, (flat.layout[3, k + 1] - first,))


@plain_kernel
def hulls_in(flat):
    """The hulls."""
    return HullTables(
        whole(flat, VERTEX_START), rows3(flat, VERTICES), whole(flat, FACE_START), rows4(flat, PLANES),
        whole(flat, LOOP_START), whole(flat, LOOP), whole(flat, EDGE_START), rows2(flat, EDGES),
    )  # fmt: skip


@plain_kernel
def shapes_in(flat):
    """The tables of shapes."""
    return ShapeTables(
        whole(flat, TYPE), whole(flat, BODY), mark(flat, DYNAMIC), rows3(flat, POSITION), rows4(flat, ROTATION),
        rows3(flat, SIZE), real(flat, RADIUS), whole(flat, HULL_OF), hulls_in(flat), long(flat, BOUNDED),
        long(flat, ENDLESS),
    )  # fmt: skip


@plain_kernel
def placed_in(flat):
    """Shapes in the world."""
    first = flat.layout[0, TURN]
    turn = view_at(flat.reals, first, ((flat.layout[0, TURN + 1] - first) // 9, 3, 3))
    return PlacedShapes(
        rows3(flat, PLACED), turn, real(flat, REACH), rows3(flat, LOWER),
        rows3(flat, UPPER), rows3(flat, SIZE), whole(flat, HULL_OF), whole(flat, MESH_OF),
    )  # fmt: skip


@view_kernel
def motions_in(flat):
    """How pairs move."""
    first = flat.layout[0, MOTIONS]
    return view_at(flat.reals, first, ((flat.layout[0, MOTIONS + 1] - first) // MOTION, MOTION))


@plain_kernel
def pairs_in(flat):
    """Room for pairs."""
    groups = view_at(flat.longs, flat.layout[2, GROUPS], (KINDS, 3))
    return PairRoom(
        long(flat, KEY), rows2(flat, PAIRS), real(flat, LIMITS), long(flat, RANK), groups, long(flat, KIND_START),
        real(flat, SOME), long(flat, FIRST), motions_in(flat),
    )  # fmt: skip


@plain_kernel
def rows_in(flat):
    """Room for contact points."""
    return PointRows(
        long(flat, START), whole(flat, LENGTH), rows3(flat, POINT), rows3(flat, NORMAL), real(flat, GAP),
        whole(flat, FEATURE),
    )  # fmt: skip


@plain_kernel
def narrow_in(flat):
    """What kernels of the narrow phase take: pairs, their limits, shapes, and room for points."""
    return rows2(flat, PAIRS), real(flat, LIMITS), placed_in(flat), rows_in(flat)


@plain_kernel
def look_in(flat):
    """Room for who may be hit."""
    return LookRoom(real(flat, KNOWN), real(flat, NEW), mark(flat, HIT), real(flat, CLOSING), mark(flat, NEAR))


@view_kernel
def three_in(numbers, n):
    """(4, nc, 3) points, normals, tangents and friction among the numbers (17 nc,) of Contacts.flat."""
    return view_at(numbers, 0, (4, n, 3))


@view_kernel
def two_in(numbers, n):
    """(2, nc, 2) restitution and compliance."""
    return view_at(numbers, 12 * n, (2, n, 2))


@view_kernel
def gap_in(numbers, n):
    """(nc,) gaps."""
    return view_at(numbers, 16 * n, (n,))
