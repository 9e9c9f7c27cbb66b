"""Contacts of rigid bodies at one configuration."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.collision.broad_phase import candidate_pairs
from stickslip.collision.contacts import Contacts, joined, with_surfaces
from stickslip.collision.narrow_phase import collide
from stickslip.collision.shape_poses import shape_poses
from stickslip.model import DYNAMIC, Model

PairReach = Callable[[Ints, Ints], Array]
"""Gap [m] up to which pairs of bodies, given by two arrays, can matter."""


def find_contacts(
    model: Model,
    q: Array,
    reach: Array,
    known: Contacts | None = None,
    changed: Bools | None = None,
    pair_reach: PairReach | None = None,
    ignored: LongInts | None = None,
) -> Contacts:
    """All contact points at q whose gap is at most the sum of the two bodies' reach (nb,) [m].

    Where contacts at the same q are ``known``, only pairs with a body whose reach has ``changed`` (nb,) are searched.
    ``pair_reach`` may say that two bodies need look less far for each other than their reaches add up to; then pairs
    that are further apart than that, as balls, are left out, and meshes look no further. ``ignored``: what
    Model.ignored_pairs returns; where it is not given, no joint is broken.
    """
    position, rotation = shape_poses(model, q)
    shape_reach = reach[model.shape_body]
    geometry = (position, rotation, model.shape_size, model.shape_hull, model.hulls, shape_reach)
    keys = model.ignored_at_start if ignored is None else ignored
    pairs = candidate_pairs(model.shape_type, model.shape_body, model.body_kind == DYNAMIC, *geometry, keys)
    if known is not None and changed is not None:
        pairs = pairs[changed[model.shape_body[pairs]].any(axis=1)]
    limits = None
    if pair_reach is not None:
        a, b = pairs[:, 0], pairs[:, 1]
        limits = pair_reach(model.shape_body[a], model.shape_body[b])
        apart = np.linalg.norm(position[a] - position[b], axis=1) - model.shape_radius[a] - model.shape_radius[b]
        near = apart <= limits
        pairs, limits = pairs[near], limits[near]
    raw = collide(pairs, model.shape_type, *geometry, model.shape_mesh, model.meshes, limits)
    bodies = model.shape_body[raw.shape_a], model.shape_body[raw.shape_b]
    found = with_surfaces(model, q, raw.key, (raw.shape_a, raw.shape_b), bodies, raw.point, raw.normal, raw.gap)
    if known is None or changed is None:
        return found
    kept = known.take(np.flatnonzero(~(changed[known.body_a] | changed[known.body_b])))
    both = joined([kept, found])
    return both.take(np.argsort(both.key, kind="stable"))
