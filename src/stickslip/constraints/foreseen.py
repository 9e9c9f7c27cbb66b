"""Contacts that a step found only where it led, as rows see them from its start.

A step knows contacts by the planes in which bodies were near when it began. Where bodies turn or slide far, or are hit
on, others overlap at its end. Such a contact, found at the end q(v1) with a gap g1 and a normal n, is given to the step
when it is taken again, linearised where the last try led:

    g(v) = g1 + h J (v - v1) >= -keep,        way = g1 + keep - h J v1,        J v >= -way / h

keep [m]: what the pair overlapped by already when the step began, less what recovery removes. ``way`` is how far the
contact may still close; where it is negative, the bodies must part by as much, since what they turn and slide by
brings them closer than any plane of the start says.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.collision.contacts import Contacts, joined, with_surfaces
from stickslip.model.model import Model
from stickslip.model.stepping import Stepping

FEATURES = 0xFFFF
"""Bits of a key that tell contacts of one pair of shapes apart."""


class Foreseen(NamedTuple):
    """nc contacts that a step is given beside those that it finds."""

    contacts: Contacts
    way: Array
    """(nc,) [m] how far each may close within the step; negative: by how much it must open."""


def foreseen_contacts(
    model: Model, at_end: Contacts, began: Array, poses: tuple[Array, Array], options: Stepping
) -> Foreseen:
    """Contacts found at the end of a step, as they are seen from its start; poses (nb, 7) at the start and the end.

    began (nc,) [m]: what each pair overlapped by at the start.
    """
    q, q_end = poses
    a, b = at_end.body_a, at_end.body_b
    point = 0.5 * (_carried(q_end, q, a, at_end.point) + _carried(q_end, q, b, at_end.point))
    moved = _displacement(q, q_end, b, point) - _displacement(q, q_end, a, point)
    way = at_end.gap + (1.0 - options.recovery) * began - np.einsum("ci,ci->c", at_end.normal, moved)
    sides = (at_end.shape_a, at_end.shape_b), (a, b)
    contacts = with_surfaces(model, q, at_end.key, *sides, point, at_end.normal, np.maximum(way, 0.0))
    return Foreseen(contacts, way)


def with_foreseen(found: Contacts, more: Foreseen) -> Foreseen:
    """Contacts that a step found and those that it is given, by key; those given take the place of those found.

    With how far each may close [m]; NaN where its gap says it.
    """
    left = found.take(np.flatnonzero(~np.isin(found.key, more.contacts.key)))
    return _by_key(left, np.full(len(left), np.nan), more.contacts, more.way)


def added(known: Foreseen | None, new: Foreseen) -> Foreseen:
    """Those of earlier tries and of the last one. Where both have the same, it is linearised at two places and both
    count, the later one by a key of its own: one alone would lead from here to there and back.
    """
    if known is None:
        return new
    taken, key = set(known.contacts.key.tolist()), new.contacts.key.copy()
    taken.update(key[~np.isin(key, known.contacts.key)].tolist())
    for c in np.flatnonzero(np.isin(key, known.contacts.key)):
        while int(key[c]) in taken:
            key[c] = (key[c] & ~FEATURES) | ((key[c] + 1) & FEATURES)
        taken.add(int(key[c]))
    return _by_key(known.contacts, known.way, replace(new.contacts, key=key), new.way)


def _by_key(first: Contacts, first_way: Array, then: Contacts, then_way: Array) -> Foreseen:
    """All of two sets of contacts, by key."""
    both, way = joined([first, then]), np.concatenate([first_way, then_way])
    order = np.argsort(both.key, kind="stable")
    return Foreseen(both.take(order), way[order])


def _turned(quaternion: Array, x: Array) -> Array:
    """Vectors (k, 3) turned by unit quaternions (k, 4)."""
    u = quaternion[:, 1:]
    across = 2.0 * np.cross(u, x)
    return np.asarray(x + quaternion[:, :1] * across + np.cross(u, across))


def _carried(q: Array, q_to: Array, body: Ints, point: Array) -> Array:
    """Points (k, 3) of bodies at poses q (nb, 7), where they are at the poses q_to."""
    back = q[body, 3:] * [1.0, -1.0, -1.0, -1.0]
    return np.asarray(q_to[body, :3] + _turned(q_to[body, 3:], _turned(back, point - q[body, :3])))


def _displacement(q: Array, q_end: Array, body: Ints, point: Array) -> Array:
    """What points (k, 3) of bodies at q move by (k, 3) [m] as the velocities say that lead to q_end.

    The constant velocity and angular velocity that lead from q to q_end, times the step.
    """
    was, now = q[body, 3:], q_end[body, 3:]
    # the turn from one to the other: now times the conjugate of was
    cosine = np.einsum("ci,ci->c", was, now)
    u = was[:, :1] * now[:, 1:] - now[:, :1] * was[:, 1:] - np.cross(now[:, 1:], was[:, 1:])
    sine = np.sqrt(np.einsum("ci,ci->c", u, u))
    angle = 2.0 * np.arctan2(sine, np.abs(cosine)) * np.where(cosine < 0.0, -1.0, 1.0)
    axis = u * np.where(sine > 0.0, angle / np.where(sine > 0.0, sine, 1.0), 2.0)[:, None]
    return np.asarray(q_end[body, :3] - q[body, :3] + np.cross(axis, point - q[body, :3]))
