"""Pairs of shapes that may touch: axis-aligned bounds, sweeps inside columns, half-spaces apart.

The shapes are dealt into columns (a grid across two axes) and every column is swept along the third axis. A pair that
shares several columns is reported by the first one both are in. Measured for a pile of 2,000 spheres: columns 0.3 ms,
strips across one axis 0.8 ms, one sweep 1.3 ms; 10,000 spheres 1.8, 6.7 and 13.6 ms. A grid of cells as large as the
largest shape takes half the time of columns for equal spheres, but has no answer to mixed sizes: here a large shape
lies in many columns, which costs one entry each and no more comparisons than one sweep.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.geometry.hull import HullTables
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HALF_SPACE, MESH, SPHERE
from stickslip.jit import kernel
from stickslip.linalg.vec3 import dot, load3, neg, sub

COLUMN_WIDTH = 2.5
"""Width of a column in median extents of a shape; the time is flat between 2 and 3."""
SAMPLE = 128
"""Shapes looked at to lay out the columns."""
TINY = 1e-300
ENTRIES_PER_SHAPE = 8
"""Columns are made coarser until the shapes have at most so many entries on average."""


def candidate_pairs(
    shape_type: Ints,
    shape_body: Ints,
    body_dynamic: Bools,
    position: Array,
    rotation: Array,
    size: Array,
    hull_of: Ints,
    hulls: HullTables,
    reach: Array,
    ignored: LongInts,
) -> Ints:
    """Pairs (np, 2) of shapes whose bounds, inflated by ``reach`` (ns) [m], meet; sorted, type[a] <= type[b] in each.

    Left out: shapes of one body, of two bodies that are both not dynamic, of body pairs in ``ignored`` (sorted
    keys body_lo * 2**32 + body_hi), and half-spaces with each other. Of equal types the smaller index comes first.
    Shapes: position (ns, 3) m, rotation (ns, 3, 3), size (ns, 3) m, hull_of (ns); bodies: body_dynamic (nb).
    """
    count = len(shape_type)
    lower, upper = np.empty((count, 3)), np.empty((count, 3))
    bounds(shape_type, position, rotation, size, hull_of, hulls, reach, lower, upper)
    endless, bounded = np.flatnonzero(shape_type == HALF_SPACE), np.flatnonzero(shape_type != HALF_SPACE)
    where = position, rotation, size, hull_of, hulls, reach
    key = swept_pairs(shape_type, shape_body, body_dynamic, *where, bounded, endless, ignored, lower, upper)
    pairs = np.empty((len(key), 2), np.int32)
    pairs[:, 0] = key >> 32
    pairs[:, 1] = key & 0xFFFFFFFF
    return pairs


def swept_pairs(
    shape_type: Ints,
    shape_body: Ints,
    body_dynamic: Bools,
    position: Array,
    rotation: Array,
    size: Array,
    hull_of: Ints,
    hulls: HullTables,
    reach: Array,
    bounded: LongInts,
    endless: LongInts,
    ignored: LongInts,
    lower: Array,
    upper: Array,
) -> LongInts:
    """Sorted keys (np,), a * 2**32 + b, of what candidate_pairs returns, from the bounds lower, upper (ns, 3) [m].

    Numbers of the ``bounded`` shapes, and of the ``endless`` half-spaces.
    """
    count = len(shape_type)
    sample = bounded[:: 1 + len(bounded) // SAMPLE]
    axes, base, width, cells = column_layout(lower[sample], upper[sample], len(bounded))
    order = bounded[np.argsort(lower[bounded, axes[0]])]
    key = np.empty(8 * count + 64, np.int64)
    while True:
        found = sweep(order, lower, upper, axes, base, width, cells, shape_type, shape_body, body_dynamic, ignored, key)
        found = against_half_spaces(
            bounded, endless, shape_type, shape_body, body_dynamic, position, rotation, size, hull_of, hulls, reach,
            ignored, found, key,
        )  # fmt: skip
        if found <= len(key):
            break
        key = np.empty(found, np.int64)
    return np.sort(key[:found])


def column_layout(lower: Array, upper: Array, count: int) -> tuple[LongInts, Array, Array, LongInts]:
    """Axes (3) with the sweep's first, and base (2) m, width (2) m and number (2) of the columns across the others.

    From the bounds of a sample of ``count`` shapes, and from its middle nine tenths: one body lost far away must not
    spoil the layout. The outermost columns have no end, so the layout decides the time only, never the result.
    """
    if count == 0:
        return np.arange(3), np.zeros(2), np.ones(2), np.ones(2, np.int64)
    centre = np.sort(0.5 * (lower + upper), axis=0)
    tail = len(centre) // 20
    span = centre[len(centre) - 1 - tail] - centre[tail]
    axes = np.argsort(-span, kind="stable")
    across = axes[1:]
    extent = np.sort((upper - lower).max(axis=1))[len(centre) // 2]
    wanted = np.maximum(span[across] / max(COLUMN_WIDTH * extent, TINY), 1.0)
    cells = np.minimum(wanted, max((2.0 * count) ** 0.5, 1.0)).astype(np.int64)
    return axes, centre[tail, across], np.maximum(span[across] / cells, TINY), cells


@kernel
def extent_along(kind, d, size, s, hull, hulls):
    """Largest x . d over the points x of shape s, for a unit vector d, both in the shape's frame."""
    if kind == SPHERE:
        return size[s, 0]
    if kind == CAPSULE:
        return size[s, 0] + size[s, 1] * abs(d[2])
    if kind in (BOX, MESH):  # a mesh is centred in its bounding box
        return size[s, 0] * abs(d[0]) + size[s, 1] * abs(d[1]) + size[s, 2] * abs(d[2])
    if kind == CYLINDER:
        return size[s, 0] * sqrt(d[0] * d[0] + d[1] * d[1]) + size[s, 1] * abs(d[2])
    best = -np.inf
    for v in range(hulls.vertex_start[hull], hulls.vertex_start[hull + 1]):
        best = max(best, dot(load3(hulls.vertices, v), d))
    return best


@kernel
def bounds(shape_type, position, rotation, size, hull_of, hulls, reach, lower_out, upper_out):
    """Axis-aligned bounds of each shape, inflated by its reach; endless for half-spaces."""
    for s in range(shape_type.shape[0]):
        kind = shape_type[s]
        for k in range(3):
            if kind == HALF_SPACE:
                lower_out[s, k], upper_out[s, k] = -np.inf, np.inf
                continue
            d = (rotation[s, k, 0], rotation[s, k, 1], rotation[s, k, 2])
            above = extent_along(kind, d, size, s, hull_of[s], hulls)
            below = above if kind <= CYLINDER else extent_along(kind, neg(d), size, s, hull_of[s], hulls)
            lower_out[s, k] = position[s, k] - below - reach[s]
            upper_out[s, k] = position[s, k] + above + reach[s]


@kernel
def may_touch(a, b, shape_body, body_dynamic, ignored):
    """Whether shapes a and b are of two bodies, one of them dynamic, that are not an ignored pair."""
    i, j = shape_body[a], shape_body[b]
    if i == j or not (body_dynamic[i] or body_dynamic[j]):
        return False
    key = np.int64(min(i, j)) * 4294967296 + max(i, j)
    first, last = 0, ignored.shape[0]  # bisection: np.searchsorted compiles for a second
    while first < last:
        middle = (first + last) // 2
        if ignored[middle] < key:
            first = middle + 1
        else:
            last = middle
    return first == ignored.shape[0] or ignored[first] != key


@kernel
def pair_key(a, b, shape_type):
    """Sort key of a pair with the smaller type, then the smaller index, in the upper half."""
    if shape_type[a] > shape_type[b] or (shape_type[a] == shape_type[b] and a > b):
        a, b = b, a
    return np.int64(a) * 4294967296 + b


@kernel
def column_of(x, base, width, cells):
    """Number of the column at coordinate x; the first for NaN, so that nothing is read out of bounds."""
    c = (x - base) / width
    if not c > 0.0:
        return 0
    return cells - 1 if c >= cells else int(c)


@kernel
def sweep(
    order, lower, upper, axes, base, width, cells, shape_type, shape_body, body_dynamic, ignored, key_out
):  # fmt: skip
    """Keys of the pairs of bounded shapes whose bounds meet, in no particular order; returns how many there are.

    ``order`` lists the shapes by their lower bound along axes[0]. Keys beyond the room in key_out are only counted.
    """
    x, y, z = axes[0], axes[1], axes[2]
    count = order.shape[0]
    rows, columns = cells[0], cells[1]
    row_width, column_width = width[0], width[1]
    place = np.empty((count, 4), np.int32)
    while True:
        entries = 0
        for m in range(count):
            s = order[m]
            place[m, 0] = column_of(lower[s, y], base[0], row_width, rows)
            place[m, 1] = column_of(upper[s, y], base[0], row_width, rows)
            place[m, 2] = column_of(lower[s, z], base[1], column_width, columns)
            place[m, 3] = column_of(upper[s, z], base[1], column_width, columns)
            entries += (place[m, 1] - place[m, 0] + 1) * (place[m, 3] - place[m, 2] + 1)
        if entries <= ENTRIES_PER_SHAPE * count or rows * columns == 1:
            break
        row_width, column_width = row_width * rows, column_width * columns
        rows, columns = (rows + 1) // 2, (columns + 1) // 2
        row_width, column_width = row_width / rows, column_width / columns

    # counting sort of the entries by column; inside a column they stay in the order of the sweep
    start = np.zeros(rows * columns + 2, np.int64)
    for m in range(count):
        for r in range(place[m, 0], place[m, 1] + 1):
            for c in range(place[m, 2], place[m, 3] + 1):
                start[r * columns + c + 2] += 1
    for cell in range(rows * columns):
        start[cell + 2] += start[cell + 1]
    entry = np.empty((entries, 6))
    owner = np.empty(entries, np.int64)
    for m in range(count):
        s = order[m]
        for r in range(place[m, 0], place[m, 1] + 1):
            for c in range(place[m, 2], place[m, 3] + 1):
                e = start[r * columns + c + 1]
                start[r * columns + c + 1] += 1
                owner[e] = m
                entry[e, 0], entry[e, 1], entry[e, 2] = lower[s, x], lower[s, y], lower[s, z]
                entry[e, 3], entry[e, 4], entry[e, 5] = upper[s, x], upper[s, y], upper[s, z]

    found = 0
    near = np.empty(count, np.int64)
    for cell in range(rows * columns):
        row, column = cell // columns, cell % columns
        for e in range(start[cell], start[cell + 1]):
            y0, z0, x1, y1, z1 = entry[e, 1], entry[e, 2], entry[e, 3], entry[e, 4], entry[e, 5]
            hits = 0
            for f in range(e + 1, start[cell + 1]):
                if entry[f, 0] > x1:
                    break
                # stored always and kept if it counts: a branch here would be mispredicted most of the time
                near[hits] = f
                hits += (entry[f, 1] <= y1) & (y0 <= entry[f, 4]) & (entry[f, 2] <= z1) & (z0 <= entry[f, 5])
            m = owner[e]
            for hit in range(hits):
                o = owner[near[hit]]
                if max(place[m, 0], place[o, 0]) != row or max(place[m, 2], place[o, 2]) != column:
                    continue
                if may_touch(order[m], order[o], shape_body, body_dynamic, ignored):
                    if found < key_out.shape[0]:
                        key_out[found] = pair_key(order[m], order[o], shape_type)
                    found += 1
    return found


@kernel
def against_half_spaces(
    bounded, endless, shape_type, shape_body, body_dynamic, position, rotation, size, hull_of, hulls, reach,
    ignored, found, key_out
):  # fmt: skip
    """Append the pairs of bounded shapes and half-spaces within reach, by the shapes' extent below their origins."""
    for h in endless:
        up = (rotation[h, 0, 2], rotation[h, 1, 2], rotation[h, 2, 2])
        for s in bounded:
            down = (
                -(rotation[s, 0, 0] * up[0] + rotation[s, 1, 0] * up[1] + rotation[s, 2, 0] * up[2]),
                -(rotation[s, 0, 1] * up[0] + rotation[s, 1, 1] * up[1] + rotation[s, 2, 1] * up[2]),
                -(rotation[s, 0, 2] * up[0] + rotation[s, 1, 2] * up[1] + rotation[s, 2, 2] * up[2]),
            )
            height = dot(sub(load3(position, s), load3(position, h)), up)
            depth = extent_along(shape_type[s], down, size, s, hull_of[s], hulls)
            if height - depth <= reach[s] + reach[h] and may_touch(s, h, shape_body, body_dynamic, ignored):
                if found < key_out.shape[0]:
                    key_out[found] = pair_key(s, h, shape_type)
                found += 1
    return found
