"""Contacts of rigid bodies at one configuration."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Bools, LongInts
from stickslip.collision.contacts import Contacts, joined, with_surfaces
from stickslip.collision.narrow_phase import collide_groups
from stickslip.collision.near_pairs import near_pairs
from stickslip.collision.reach import Approach
from stickslip.model import Model


def find_contacts(
    model: Model,
    q: Array,
    reach: Array,
    known: Contacts | None = None,
    changed: Bools | None = None,
    approach: Approach | None = None,
    ignored: LongInts | None = None,
) -> Contacts:
    """All contact points at q whose gap is at most the sum of the two bodies' reach (nb,) [m].

    Where contacts at the same q are ``known``, only pairs with a body whose reach has ``changed`` (nb,) are searched.
    ``approach`` may say that two bodies need look less far for each other than their reaches add up to; then pairs
    that are further apart than that, as balls, are left out, and meshes look no further. ``ignored``: what
    Model.ignored_pairs returns; where it is not given, no joint is broken.
    """
    again = known is not None and changed is not None
    near = near_pairs(
        model, q, reach, model.ignored_at_start if ignored is None else ignored, changed if again else None, approach
    )
    raw = collide_groups(
        near.pairs, near.limits, near.rank, near.groups, near.position, near.rotation, model.shape_size,
        model.shape_hull, model.hulls, near.reach, model.shape_mesh, model.meshes,
    )  # fmt: skip
    bodies = model.shape_body[raw.shape_a], model.shape_body[raw.shape_b]
    found = with_surfaces(model, q, raw.key, (raw.shape_a, raw.shape_b), bodies, raw.point, raw.normal, raw.gap)
    if known is None or changed is None:
        return found
    kept = known.take(np.flatnonzero(~(changed[known.body_a] | changed[known.body_b])))
    both = joined([kept, found])
    return both.take(np.argsort(both.key, kind="stable"))
