"""Which contacts can matter within a step: those that touch, and those that may close before it ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints, LongInts
from stickslip.collision.contacts import Contacts, no_contacts
from stickslip.collision.reach import APPROACH_SAFETY, Approach, common_velocity, speeds
from stickslip.collision.rigid_contacts import find_contacts
from stickslip.geometry.rigid_motion import point_velocity
from stickslip.jit import kernel
from stickslip.linalg.vec3 import dot, load3, sub
from stickslip.model import Model
from stickslip.stepping import Stepping

HIT_SHARE = 0.02
"""A body that may be hit looks ahead when it could move by more than this share of its radius in the step."""
SEARCHES = 3
"""Repeated searches for contacts in a step at most, each as far as bodies move that may be hit."""
SPREAD_ROUNDS = 4
"""Contacts across which an impact is handed on when looking for contacts."""


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
    far = APPROACH_SAFETY * options.dt
    margin = options.margin_under(model.gravity_norm)
    if not options.lookahead:
        touching = find_contacts(model, q, np.full(model.body_count, 0.5 * margin), ignored=ignored)
        return Found(touching, touching, None)
    speed = speeds(model, v, common_velocity(model, v))
    gained = np.zeros(model.body_count)
    contacts, hit = None, None
    for search in range(SEARCHES + 1):
        reach, approach = far * (speed + gained) + 0.5 * margin, Approach(v, v, gained, far, margin)
        contacts = find_contacts(model, q, reach, contacts, hit, approach, ignored)
        near, hit, new = np.empty(len(contacts), np.bool_), np.empty(len(v), np.bool_), np.zeros(len(v))
        any_hit, all_near = _look(
            contacts.body_a, contacts.body_b, contacts.point, contacts.normal, contacts.gap, contacts.restitution, q, v,
            model.mass, model.radius, far, margin, gained, search < SEARCHES, new, hit, near,
        )  # fmt: skip
        if not any_hit:
            break
        gained = np.where(hit, new, gained)
    assert contacts is not None
    return Found(contacts if all_near else contacts.take(np.flatnonzero(near)), contacts, reach)


def velocity_gains(
    model: Model,
    body_a: Ints,
    body_b: Ints,
    gap: Array,
    closing: Array,
    restitution: Array,
    far: float,
    margin: float,
) -> Array:
    """Bound (nb,) [m/s] of the change of velocity that dynamic bodies may get within the step from what they hit.

    A body at rest that is hit now moves on in this very step, and one that is stopped no longer makes way: both must
    see what is near. closing (nc,) [m/s] is negative where a gap (nc,) [m] closes; contacts whose gap stays open for
    ``far`` [s] hand on nothing. An impact of relative speed s changes a velocity by (1 + e) s m' / (m + m'), m' the
    other body's mass; rotation, which can make a little more of it, is left to the safety in ``far``.
    """
    gained = np.zeros(model.body_count)
    _gains(body_a, body_b, gap, closing, restitution, model.mass, far, margin, gained)
    return gained


def approach(
    body_a: Ints,
    body_b: Ints,
    point: Array,
    normal: Array,
    q: Array,
    v: Array,
) -> Array:
    """Relative normal velocity (nc,) [m/s] of the contact points under v (nb, 6); negative when approaching."""
    speed = np.empty(len(body_a))
    _approach(body_a, body_b, point, normal, q, v, speed)
    return speed


@kernel
def _hand_on(body_a, body_b, gap, closing, restitution, mass, far, margin, known, gained_out):
    """One round of velocity_gains: impacts with what the last round knew; whether any gain rose by a tenth."""
    rose = False
    for c in range(body_a.shape[0]):
        a, b = body_a[c], body_b[c]
        for side in range(2):
            i, j = (a, b) if side == 0 else (b, a)
            # without i's own gain: its neighbour must not hand back what it got from i
            speed = known[j] - closing[c]
            if mass[i] > 0.0 and speed > 0.0 and gap[c] <= margin + far * speed:
                share = mass[j] / (mass[i] + mass[j]) if mass[j] > 0.0 else 1.0
                new = (1.0 + restitution[c, 0]) * share * speed
                if new > gained_out[i]:
                    rose = rose or new > 1.1 * gained_out[i]
                    gained_out[i] = new
    return rose


@kernel
def _approach(body_a, body_b, point, normal, q, v, speed_out):
    """n . (velocity of b - velocity of a) at each point."""
    for c in range(body_a.shape[0]):
        x = load3(point, c)
        relative = sub(point_velocity(q, v, body_b[c], x), point_velocity(q, v, body_a[c], x))
        speed_out[c] = dot(load3(normal, c), relative)


@kernel
def _gains(body_a, body_b, gap, closing, restitution, mass, far, margin, gained_out):
    """velocity_gains, from zero."""
    known = np.empty_like(gained_out)
    for _ in range(SPREAD_ROUNDS):
        known[:] = gained_out
        if not _hand_on(body_a, body_b, gap, closing, restitution, mass, far, margin, known, gained_out):
            break


@kernel
def _look(
    body_a, body_b, point, normal, gap, restitution, q, v, mass, radius, far, margin, gained, hand_on, new_out,
    hit_out, near_out,
):  # fmt: skip
    """Who may be hit so that it must look further than with its velocity and what it ``gained``, and what is near.

    Returns whether anybody may be hit, and whether all contacts can close within the step.
    """
    closing = np.empty(body_a.shape[0])
    _approach(body_a, body_b, point, normal, q, v, closing)
    any_hit, all_near = False, True
    if hand_on:
        _gains(body_a, body_b, gap, closing, restitution, mass, far, margin, new_out)
        for i in range(mass.shape[0]):
            hit_out[i] = far * (new_out[i] - gained[i]) > max(margin, HIT_SHARE * radius[i])
            any_hit = any_hit or hit_out[i]
    for c in range(body_a.shape[0]):
        more = max(gained[body_a[c]] + gained[body_b[c]] - closing[c], 0.0)
        near_out[c] = gap[c] <= margin + far * more
        all_near = all_near and near_out[c]
    return any_hit, all_near
