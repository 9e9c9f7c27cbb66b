"""Pairs of shapes for the narrow phase, grouped by their types, and where the shapes are: one kernel in small scenes.

With few shapes all pairs of bounds are compared, which takes less time than to lay out the columns of the broad phase.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.collision.broad_phase import against_half_spaces, bounds, may_touch, pair_key, swept_pairs
from stickslip.collision.reach import Approach, relative_speed
from stickslip.collision.shape_poses import place_shapes
from stickslip.jit import kernel
from stickslip.linalg.vec3 import load3, norm, sub
from stickslip.model import Model

FEW = 96
"""Shapes up to which all pairs are compared: 4,560 comparisons take as long as the layout of the columns."""
KINDS = 64
"""Pairs of types, 8 type[a] + type[b]."""


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


def near_pairs(
    model: Model, q: Array, reach: Array, ignored: LongInts, changed: Bools | None, approach: Approach | None
) -> NearPairs:
    """Pairs of shapes of bodies at q (nb, 7) whose bounds, inflated by the bodies' reach (nb,) [m], meet.

    Only those with a body that has ``changed`` (nb,), not those whose keys are ``ignored``, and where an ``approach``
    is given not those that are further apart, as balls, than they can come together.
    """
    count, bounded = len(model.shape_type), model.bounded_shapes
    position, rotation, shape_reach = np.empty((count, 3)), np.empty((count, 3, 3)), np.empty(count)
    lower, upper = np.empty((count, 3)), np.empty((count, 3))
    few = len(bounded) <= FEW
    key = np.empty(8 * count + 64, np.int64)
    while True:
        found = _place_and_search(
            model.shape_type, model.shape_body, model.body_dynamic, model.shape_position, model.shape_rotation,
            position, rotation, model.shape_size, model.shape_hull, model.hulls, shape_reach, bounded,
            model.half_spaces, ignored, q, reach, few, lower, upper, key,
        )  # fmt: skip
        if not few:
            key = swept_pairs(
                model.shape_type, model.shape_body, model.body_dynamic, position, rotation, model.shape_size,
                model.shape_hull, model.hulls, shape_reach, bounded, model.half_spaces, ignored, lower, upper,
            )  # fmt: skip
            found = len(key)
        if found <= len(key):
            break
        key = np.empty(found, np.int64)
    pairs, limits, rank = np.empty((found, 2), np.int32), np.empty(found), np.empty(found, np.int64)
    groups = np.empty((KINDS, 3), np.int64)
    limited = approach is not None
    bound = Approach(model.v_start, model.v_start, model.radius, 0.0, 0.0) if approach is None else approach
    kept, kinds = _group(
        key, found, few, model.shape_type, model.shape_body, model.shape_radius, position, shape_reach, model.lever,
        model.everybody if changed is None else changed, limited, *bound, pairs, limits, rank, groups,
    )  # fmt: skip
    return NearPairs(position, rotation, shape_reach, pairs[:kept], limits[:kept], rank[:kept], groups[:kinds].tolist())


@kernel
def _place_and_search(
    shape_type, shape_body, body_dynamic, shape_position, shape_rotation, position, rotation, size, hull_of, hulls,
    shape_reach, bounded, endless, ignored, q, reach, search, lower, upper, key_out,
):  # fmt: skip
    """Poses, reach and bounds of all shapes; with ``search``, keys of pairs that meet. Returns how many there are."""
    place_shapes(shape_body, shape_position, shape_rotation, q, position, rotation)
    for s in range(shape_type.shape[0]):
        shape_reach[s] = reach[shape_body[s]]
    bounds(shape_type, position, rotation, size, hull_of, hulls, shape_reach, lower, upper)
    found = 0
    if not search:
        return found
    for m in range(bounded.shape[0]):
        a = bounded[m]
        for n in range(m + 1, bounded.shape[0]):
            b = bounded[n]
            meet = True
            for k in range(3):
                meet = meet and lower[a, k] <= upper[b, k] and lower[b, k] <= upper[a, k]
            if meet and may_touch(a, b, shape_body, body_dynamic, ignored):
                if found < key_out.shape[0]:
                    key_out[found] = pair_key(a, b, shape_type)
                found += 1
    return against_half_spaces(
        bounded, endless, shape_type, shape_body, body_dynamic, position, rotation, size, hull_of, hulls, shape_reach,
        ignored, found, key_out,
    )  # fmt: skip


@kernel
def _group(
    key, count, sort, shape_type, shape_body, shape_radius, position, reach, lever, changed, limited, v, v_end, gained,
    far, margin, pairs_out, limits_out, rank_out, groups_out,
):  # fmt: skip
    """Leave out pairs that cannot matter, and group the others; returns how many there are, and of how many kinds."""
    if sort:
        for m in range(1, count):
            new, n = key[m], m
            while n > 0 and key[n - 1] > new:
                key[n] = key[n - 1]
                n -= 1
            key[n] = new
    kept = 0
    start, limits = np.zeros(KINDS + 1, np.int64), np.empty(count)
    for m in range(count):
        a, b = key[m] >> 32, key[m] & 0xFFFFFFFF
        i, j = shape_body[a], shape_body[b]
        if not (changed[i] or changed[j]):
            continue
        limit = reach[a] + reach[b]
        if limited:
            own = margin + far * (relative_speed(v, v_end, lever, i, j) + gained[i] + gained[j])
            apart = norm(sub(load3(position, a), load3(position, b))) - shape_radius[a] - shape_radius[b]
            if not apart <= own:
                continue
            limit = min(own, limit)
        key[kept], limits[kept] = key[m], limit
        start[8 * shape_type[a] + shape_type[b] + 1] += 1
        kept += 1
    kinds = 0
    for code in range(KINDS):
        if start[code + 1] > 0:
            groups_out[kinds, 0] = code
            groups_out[kinds, 1] = start[code]
            groups_out[kinds, 2] = start[code] + start[code + 1]
            kinds += 1
        start[code + 1] += start[code]
    for m in range(kept):
        a, b = key[m] >> 32, key[m] & 0xFFFFFFFF
        code = 8 * shape_type[a] + shape_type[b]
        n = start[code]
        start[code] += 1
        pairs_out[n, 0], pairs_out[n, 1] = a, b
        limits_out[n], rank_out[n] = limits[m], m
    return kept, kinds
