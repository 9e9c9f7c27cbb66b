"""Contacts of rigid bodies under position-based dynamics: found once a step, their gaps followed in every substep.

Points of the cores of both shapes are fixed in their bodies, normals stay what they are ([macklin2019] eq. 9), so that

    gap = gap_0 + n . (d_b - d_a) >= lift,     push p_n >= 0 along n,     |p_t| <= mu p_n against the tangential slip,

d_a and d_b being the displacements of the two points since the step began, and slip that of this substep.

``lift`` is zero; an overlap that was there before is taken back evenly over the step, not faster than recovery_speed:
pushed out in one substep it would leave with the speed of that push. Restitution is a change of velocities after
the substep ([muller2020]).
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.collision.contacts import Contacts
from stickslip.constraints.contact.motion import core_radii
from stickslip.geometry.rotation import matrix
from stickslip.jit import kernel
from stickslip.linalg.vec3 import add, axpy, cross, dot, load3, scale, sub
from stickslip.model.model import Model
from stickslip.model.stepping import Stepping
from stickslip.xpbd.bodies import carried_point, hit_body, mobility_of_pair, push_body, way_of_body


class ContactPoints(NamedTuple):
    """nc contacts as pairs of points that are fixed in their bodies."""

    body_a: Ints
    body_b: Ints
    local_a: Array
    """(nc, 3) [m] point of the core of a, from the centre of mass and in the frame of the body."""
    local_b: Array
    radius: Array
    """(nc, 2) [m] from the cores to the surfaces."""
    normal: Array
    tangent: Array
    base: Array
    """(nc,) [m] gap less n . (point of b - point of a)."""
    lift: Array
    """(nc, 2) [m] least gap at the start and at the end of the step."""
    friction: Array
    """(nc,)"""
    restitution: Array
    """(nc,)"""
    compliance: Array
    """(nc, 2) 1 / stiffness [m/N] and dissipation time [s]."""
    pressed: Array
    """(nc,) [kg m] normal push of the substep."""


def contact_points(model: Model, contacts: Contacts, q: Array, options: Stepping) -> ContactPoints:
    """Contacts that were found at q (nb, 7)."""
    radius = core_radii(model, contacts, q)
    at_a = contacts.point - radius[:, :1] * contacts.normal
    at_b = contacts.point + radius[:, 1:] * contacts.normal
    base = contacts.gap - np.einsum("ck,ck->c", contacts.normal, at_b - at_a)
    return ContactPoints(
        contacts.body_a, contacts.body_b, points_in_frames(q, contacts.body_a, at_a),
        points_in_frames(q, contacts.body_b, at_b), radius, contacts.normal, contacts.tangent, base,
        lifts(contacts.gap, contacts.compliance, options),
        np.ascontiguousarray(contacts.friction[:, 0]), np.ascontiguousarray(contacts.restitution[:, 0]),
        contacts.compliance, np.zeros(len(contacts)),
    )  # fmt: skip


def lifts(gap: Array, compliance: Array, options: Stepping) -> Array:
    """Least gaps (nc, 2) [m] at both ends of a step with gaps (nc,) at its start; springs take overlaps as they are."""
    overlap = np.where(compliance[:, 0] > 0.0, 0.0, np.minimum(gap, 0.0))
    return np.stack([overlap, np.minimum(overlap + options.recovery_speed * options.dt, 0.0)], axis=1)


def points_in_frames(q: Array, body: Ints, x: Array) -> Array:
    """Points x (k, 3) from the centres and in the frames of the bodies (k,) at q (nb, 7)."""
    used, where = np.unique(body, return_inverse=True)
    frames = np.array([matrix(q[i, 3:]) for i in used]).reshape(-1, 3, 3)[where]
    return np.einsum("kji,kj->ki", frames, x - q[body, :3])


@kernel
def push_contacts(bodies, points, share, s, backwards, impulse_out):
    """One pass over all contacts, at the ``share`` of the step that is done by now; impulses (nc, 3) are added up."""
    count = points.base.shape[0]
    for each in range(count):
        c = count - 1 - each if backwards else each
        a, b = points.body_a[c], points.body_b[c]
        n = load3(points.normal, c)
        at_a, arm_a = carried_point(bodies, a, load3(points.local_a, c))
        at_b, arm_b = carried_point(bodies, b, load3(points.local_b, c))
        lift = (1.0 - share) * points.lift[c, 0] + share * points.lift[c, 1]
        gap = points.base[c] + dot(n, sub(at_b, at_a)) - lift
        points.pressed[c] = 0.0
        give, tau = points.compliance[c, 0], points.compliance[c, 1]
        if gap >= 0.0:
            continue
        turn_a, turn_b = cross(arm_a, n), cross(arm_b, n)
        K = mobility_of_pair(bodies, a, b, n, turn_a, turn_b)
        right = -gap
        if give > 0.0:
            K += give / (s * (s + tau))
            if tau > 0.0:
                right += tau / (s + tau) * min(gap - _parted(bodies, a, b, arm_a, arm_b, n), 0.0)
        if K <= 0.0 or right <= 0.0:
            continue
        p = right / K
        push_body(bodies, a, scale(-p, n), scale(-p, turn_a))
        push_body(bodies, b, scale(p, n), scale(p, turn_b))
        points.pressed[c] = p
        impulse_out[c, 0] += p / s
        mu = points.friction[c]
        if mu > 0.0:
            t1 = load3(points.tangent, c)
            # from the centres to the surfaces, which meet there
            arm_a, arm_b = axpy(points.radius[c, 0], n, arm_a), axpy(-points.radius[c, 1], n, arm_b)
            x, y = _rub(bodies, a, b, arm_a, arm_b, n, t1, mu * p)
            impulse_out[c, 1] += x / s
            impulse_out[c, 2] += y / s


@kernel
def _way_of_point(bodies, i, arm):
    """What a point of body i has moved by in this substep."""
    if not bodies.moves[i]:
        return 0.0, 0.0, 0.0
    way, turn = way_of_body(bodies, i)
    return add(way, cross(turn, arm))


@kernel
def _parted(bodies, a, b, arm_a, arm_b, n):
    """By how much the gap has grown in this substep."""
    return dot(n, sub(_way_of_point(bodies, b, arm_b), _way_of_point(bodies, a, arm_a)))


@kernel
def _rub(bodies, a, b, arm_a, arm_b, n, t1, most):
    """Push back along the tangents what the two points slid in this substep, by ``most`` at most."""
    way = sub(_way_of_point(bodies, b, arm_b), _way_of_point(bodies, a, arm_a))
    t2 = cross(n, t1)
    x, y = dot(way, t1), dot(way, t2)
    slid = sqrt(x * x + y * y)
    if slid == 0.0:
        return 0.0, 0.0
    x, y = x / slid, y / slid
    d = axpy(x, t1, scale(y, t2))
    turn_a, turn_b = cross(arm_a, d), cross(arm_b, d)
    K = mobility_of_pair(bodies, a, b, d, turn_a, turn_b)
    if K <= 0.0:  # two links that their tree does not let slide
        return 0.0, 0.0
    p = min(slid / K, most)
    push_body(bodies, a, scale(p, d), scale(p, turn_a))
    push_body(bodies, b, scale(-p, d), scale(-p, turn_b))
    return -p * x, -p * y


@kernel
def bounce(bodies, points, least, impulse_out):
    """Let contacts that were hit faster than ``least`` [m/s] in this substep leave with their restitution."""
    v, v_start = bodies.v, bodies.v_start
    for c in range(points.base.shape[0]):
        e = points.restitution[c]
        if e <= 0.0 or points.pressed[c] <= 0.0 or points.compliance[c, 0] > 0.0:
            continue
        a, b = points.body_a[c], points.body_b[c]
        n = load3(points.normal, c)
        _, arm_a = carried_point(bodies, a, load3(points.local_a, c))
        _, arm_b = carried_point(bodies, b, load3(points.local_b, c))
        turn_a, turn_b = cross(arm_a, n), cross(arm_b, n)
        came, goes = 0.0, 0.0
        for k in range(3):
            came += n[k] * (v_start[b, k] - v_start[a, k])
            came += turn_b[k] * v_start[b, 3 + k] - turn_a[k] * v_start[a, 3 + k]
            goes += n[k] * (v[b, k] - v[a, k]) + turn_b[k] * v[b, 3 + k] - turn_a[k] * v[a, 3 + k]
        K = mobility_of_pair(bodies, a, b, n, turn_a, turn_b)
        if -came <= least or goes >= -e * came or K <= 0.0:
            continue
        p = (-e * came - goes) / K
        hit_body(bodies, a, scale(-p, n), scale(-p, turn_a))
        hit_body(bodies, b, scale(p, n), scale(p, turn_b))
        impulse_out[c, 0] += p
