"""Which contacts can matter within a step: those that touch, and those that may close before it ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints, LongInts
from stickslip.collision.contacts import Contacts, find_contacts, no_contacts
from stickslip.dynamics import contact_rows
from stickslip.model import Model
from stickslip.stepping import Stepping


class Found(NamedTuple):
    """Contacts of a step, and where they were sought."""

    contacts: Contacts
    near: Contacts
    """Those and further ones that the bodies would reach only if they turned in the step."""
    reach: Array | None
    """(nb,) [m] how far each body looked, as seen from where most bodies rest; None: only what touches was sought."""


def contacts_of_step(model: Model, q: Array, v: Array, options: Stepping, ignored: LongInts) -> Found:
    """Contacts that can close within the step, but of pairs whose keys are ``ignored``.

    Bodies look as far as they move; where one that is slow now may be hit and move on, the search is repeated.
    """
    if not len(model.dynamic):  # soft bodies find theirs elsewhere
        return Found(no_contacts(), no_contacts(), None)
    far = contact_rows.APPROACH_SAFETY * options.dt
    margin = options.margin_under(float(np.linalg.norm(model.gravity)))
    if not options.lookahead:
        touching = find_contacts(model, q, np.full(model.body_count, 0.5 * margin), ignored=ignored)
        return Found(touching, touching, None)
    speed = contact_rows.speeds(model, v, common_velocity(model, v))
    gained = np.zeros(model.body_count)

    def pair_reach(a: Ints, b: Ints) -> Array:
        return margin + far * (contact_rows.relative_speeds(model, v, a, b) + gained[a] + gained[b])

    contacts = find_contacts(model, q, far * speed + 0.5 * margin, pair_reach=pair_reach, ignored=ignored)
    for search in range(contact_rows.SEARCHES + 1):
        closing = contact_rows.approach(contacts.body_a, contacts.body_b, contacts.point, contacts.normal, q, v)
        if search == contact_rows.SEARCHES:
            break
        new = contact_rows.velocity_gains(
            model, contacts.body_a, contacts.body_b, contacts.gap, closing, contacts.restitution, far, margin
        )
        hit = far * (new - gained) > np.maximum(margin, contact_rows.HIT_SHARE * model.radius)
        if not hit.any():
            break
        gained = np.where(hit, new, gained)
        contacts = find_contacts(model, q, far * (speed + gained) + 0.5 * margin, contacts, hit, pair_reach, ignored)
    closest = margin + far * np.maximum(gained[contacts.body_a] + gained[contacts.body_b] - closing, 0.0)
    near = contacts.gap <= closest
    reach = far * (speed + gained) + 0.5 * margin
    return Found(contacts if near.all() else contacts.take(np.flatnonzero(near)), contacts, reach)


def common_velocity(model: Model, v: Array) -> Array:
    """Velocity (3,) with which most bodies move: seen from it, those that fall side by side need not look far."""
    return np.median(v[model.dynamic, :3], axis=0)
