"""Which contacts can matter within a step: those that touch, and those that may close before it ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints, LongInts
from stickslip.collision.arrays import BODY_RADIUS, MASS, look_in, real
from stickslip.collision.contacts import NONE, Contacts
from stickslip.collision.reach import APPROACH_SAFETY, Approach
from stickslip.collision.rigid_contacts import contacts_in
from stickslip.collision.rigid_space import RigidSpace
from stickslip.jit import kernel
from stickslip.linalg.vec3 import dot, load3, sub
from stickslip.linalg.vec3_motion import point_velocity
from stickslip.model.model import Model
from stickslip.model.stepping import Stepping
from stickslip.workspace import Workspace

HIT_SHARE = 0.02
"""A body that may be hit looks ahead when it could move by more than this share of its radius in the step."""
SEARCHES = 3
"""Repeated searches for contacts in a step at most, unless Stepping.searches says otherwise."""
SPREAD_ROUNDS = 4
"""Contacts across which an impact is handed on when looking for contacts."""


class Found(NamedTuple):
    """Contacts of a step, and where they were sought."""

    contacts: Contacts
    near: Contacts
    """Those and further ones that the bodies would reach only if they turned in the step; with ``Stepping.searches``
    of zero, of meshes only some."""
    reach: Array | None
    """(nb,) [m] how far each body looked, as seen from where most bodies rest; None: only what touches was sought."""


NOTHING_FOUND = Found(NONE, NONE, None)
"""Where no frame moves; soft bodies find theirs elsewhere."""


class Meeting(NamedTuple):
    """What decides which of nc contacts can close, as in Contacts."""

    body_a: Ints
    body_b: Ints
    point: Array
    normal: Array
    gap: Array
    restitution: Array


def contacts_of_step(
    model: Model,
    q: Array,
    v: Array,
    options: Stepping,
    ignored: LongInts,
    workspace: Workspace | None = None,
) -> Found:
    """Contacts that can close within the step, but of pairs whose keys are ``ignored``.

    Bodies look as far as they move; where one that is slow now may be hit and move on, the search is repeated.
    """
    memory = Workspace() if workspace is None else workspace
    space = memory.slot((RigidSpace, model), lambda: RigidSpace(model))
    if space.options is not options:
        space.options, space.margin = options, options.margin_under(model.gravity_norm)
    margin, far = space.margin, APPROACH_SAFETY * options.dt
    if not options.lookahead:
        reach = np.full(len(v), 0.5 * margin)
        touching = contacts_in(space, model, q, reach, None, None, None, ignored)
        return Found(touching, touching, None)
    reach, gained = np.empty(len(v)), space.still
    contacts, hit = None, None
    for search in range(options.searches + 1):
        if search > 0:
            reach = far * (space.speed + gained) + 0.5 * margin
        approach = Approach(v, v, gained, far, margin, options.searches == 0)
        contacts = contacts_in(space, model, q, reach, contacts, hit, approach, ignored, search == 0)
        count = len(contacts.key)
        if space.capacity[2] < count:
            space.grow(model, *space.capacity[:2], 2 * count)
        room = space.look
        meeting = Meeting(
            contacts.body_a, contacts.body_b, contacts.point, contacts.normal, contacts.gap, contacts.restitution
        )
        any_hit, all_near = _look(meeting, space.flat, q, v, far, margin, gained, search < options.searches)
        if not any_hit:
            break
        gained, hit = np.where(room.hit, room.new, gained), room.hit
    assert contacts is not None
    return Found(contacts if all_near else contacts.take(np.flatnonzero(room.near[:count])), contacts, reach)


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
    gained = np.zeros(len(model.mass))
    _gains(body_a, body_b, gap, closing, restitution, model.mass, far, margin, np.empty_like(gained), gained)
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
def _gains(body_a, body_b, gap, closing, restitution, mass, far, margin, known, gained_out):
    """velocity_gains, from zero; ``known`` (nb,) is room."""
    for i in range(gained_out.shape[0]):
        gained_out[i] = 0.0
    for _ in range(SPREAD_ROUNDS):
        for i in range(gained_out.shape[0]):
            known[i] = gained_out[i]
        if not _hand_on(body_a, body_b, gap, closing, restitution, mass, far, margin, known, gained_out):
            break


@kernel
def _look(meeting, flat, q, v, far, margin, gained, hand_on):
    """Who may be hit so that it must look further than with its velocity and what it ``gained``, and what is near.

    Returns whether anybody may be hit, and whether all contacts can close within the step.
    """
    body_a, body_b, point, normal, gap, restitution = meeting
    known, new, hit, closing, near = look_in(flat)
    mass, radius = real(flat, MASS), real(flat, BODY_RADIUS)
    _approach(body_a, body_b, point, normal, q, v, closing)
    any_hit, all_near = False, True
    if hand_on:
        _gains(body_a, body_b, gap, closing, restitution, mass, far, margin, known, new)
        for i in range(mass.shape[0]):
            hit[i] = far * (new[i] - gained[i]) > max(margin, HIT_SHARE * radius[i])
            any_hit = any_hit or hit[i]
    for c in range(body_a.shape[0]):
        more = max(gained[body_a[c]] + gained[body_b[c]] - closing[c], 0.0)
        near[c] = gap[c] <= margin + far * more
        all_near = all_near and near[c]
    return any_hit, all_near
