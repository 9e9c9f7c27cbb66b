"""Contacts and welds of nodes under position-based dynamics; see xpbd/contacts.py.

The side of a contact is a point of a rigid body or link, or one between up to three nodes with their weights.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.collision.contacts import Contacts
from stickslip.jit import kernel
from stickslip.linalg.small_solve import solve_small
from stickslip.linalg.vec3 import add, axpy, cross, dot, load3, mat_vec, scale, sub
from stickslip.model.model import Model
from stickslip.model.stepping import Stepping
from stickslip.xpbd.bodies import carried_point, load_mobility, mobility_along, push_body, way_of_body
from stickslip.xpbd.contacts import lifts, points_in_frames
from stickslip.xpbd.trees import answer_to


class SoftPoints(NamedTuple):
    """nc contacts of soft bodies; sides 0 and 1 are a and b."""

    body: Ints
    """(nc, 2) rigid body, or -1."""
    local: Array
    """(nc, 2, 3) [m] point of the rigid body, from its centre of mass and in its frame."""
    node: Ints
    """(nc, 2, 3) nodes, -1 beyond."""
    weight: Array
    """(nc, 2, 3)"""
    normal: Array
    tangent: Array
    base: Array
    """(nc,) [m] gap less n . (point of b - point of a)."""
    lift: Array
    """(nc, 2) [m] least gap at the start and at the end of the step."""
    friction: Array
    """(nc,)"""
    compliance: Array
    """(nc, 2) 1 / stiffness [m/N] and dissipation time [s]."""


def soft_points(model: Model, contacts: Contacts, q: Array, x: Array, options: Stepping) -> SoftPoints:
    """Contacts that were found with bodies at q (nb, 7) and nodes at x (nn, 3)."""
    count = len(contacts)
    bodies = np.stack([contacts.body_a, contacts.body_b], axis=1)
    node = np.stack([contacts.node_a, contacts.node_b], axis=1)
    weight = np.stack([contacts.weight_a, contacts.weight_b], axis=1)
    rigid = node[:, :, 0] < 0
    at = np.einsum("csk,cskj->csj", weight, x[np.maximum(node, 0)])
    local = np.zeros((count, 2, 3))
    for side in range(2):
        own = np.flatnonzero(rigid[:, side])
        at[own, side] = contacts.point[own]
        local[own, side] = points_in_frames(q, bodies[own, side], contacts.point[own])
    base = contacts.gap - np.einsum("ck,ck->c", contacts.normal, at[:, 1] - at[:, 0])
    return SoftPoints(
        np.where(rigid, bodies, -1).astype(np.int32), local, np.ascontiguousarray(node, dtype=np.int32), weight,
        contacts.normal, contacts.tangent, base, lifts(contacts.gap, contacts.compliance, options),
        np.ascontiguousarray(contacts.friction[:, 0]), contacts.compliance,
    )  # fmt: skip


@kernel
def push_soft_contacts(bodies, nodes, points, share, s, backwards, impulse_out):
    """One pass over all contacts of nodes, at the ``share`` of the step that is done; impulses (nc, 3) are added up."""
    count = points.base.shape[0]
    for each in range(count):
        c = count - 1 - each if backwards else each
        n = load3(points.normal, c)
        at_a, way_a, arm_a = _side(bodies, nodes, points, c, 0)
        at_b, way_b, arm_b = _side(bodies, nodes, points, c, 1)
        lift = (1.0 - share) * points.lift[c, 0] + share * points.lift[c, 1]
        gap = points.base[c] + dot(n, sub(at_b, at_a)) - lift
        if gap >= 0.0:
            continue
        K = _mobility(bodies, nodes, points, c, 0, arm_a, n) + _mobility(bodies, nodes, points, c, 1, arm_b, n)
        right = -gap
        give, tau = points.compliance[c, 0], points.compliance[c, 1]
        if give > 0.0:
            K += give / (s * (s + tau))
            right += tau / (s + tau) * min(gap - dot(n, sub(way_b, way_a)), 0.0)
        if K <= 0.0 or right <= 0.0:
            continue
        p = right / K
        _push_side(bodies, nodes, points, c, 0, arm_a, scale(-p, n))
        _push_side(bodies, nodes, points, c, 1, arm_b, scale(p, n))
        impulse_out[c, 0] += p / s
        if points.friction[c] == 0.0:
            continue
        _, way_a, arm_a = _side(bodies, nodes, points, c, 0)
        _, way_b, arm_b = _side(bodies, nodes, points, c, 1)
        way, t1 = sub(way_b, way_a), load3(points.tangent, c)
        t2 = cross(n, t1)
        x, y = dot(way, t1), dot(way, t2)
        slid = sqrt(x * x + y * y)
        if slid == 0.0:
            continue
        x, y = x / slid, y / slid
        d = axpy(x, t1, scale(y, t2))
        K = _mobility(bodies, nodes, points, c, 0, arm_a, d) + _mobility(bodies, nodes, points, c, 1, arm_b, d)
        p = min(slid / K, points.friction[c] * p)
        _push_side(bodies, nodes, points, c, 0, arm_a, scale(p, d))
        _push_side(bodies, nodes, points, c, 1, arm_b, scale(-p, d))
        impulse_out[c, 1] -= p * x / s
        impulse_out[c, 2] -= p * y / s


@kernel
def _side(bodies, nodes, points, c, side):
    """Where a side of contact c is, its displacement in this substep, and its arm from the centre of its body."""
    i = points.body[c, side]
    if i >= 0:
        at, arm = carried_point(
            bodies, i, (points.local[c, side, 0], points.local[c, side, 1], points.local[c, side, 2])
        )
        way = (0.0, 0.0, 0.0)
        if bodies.moves[i]:
            centre, turn = way_of_body(bodies, i)
            way = add(centre, cross(turn, arm))
        return at, way, arm
    at, way = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for k in range(3):
        j, w = points.node[c, side, k], points.weight[c, side, k]
        if j >= 0:
            here = load3(nodes.x, j)
            at = axpy(w, here, at)
            way = axpy(w, sub(here, load3(nodes.x_start, j)), way)
    return at, way, (0.0, 0.0, 0.0)


@kernel
def _mobility(bodies, nodes, points, c, side, arm, d):
    """How far a side of contact c moves along the unit vector d under a unit push along it."""
    i = points.body[c, side]
    if i >= 0:
        return mobility_along(bodies, i, d, cross(arm, d))
    total = 0.0
    for k in range(3):
        j, w = points.node[c, side, k], points.weight[c, side, k]
        if j >= 0:
            total += w * w * nodes.mobility[j]
    return total


@kernel
def _push_side(bodies, nodes, points, c, side, arm, p):
    """Push a side of contact c by p, in place."""
    i = points.body[c, side]
    if i >= 0:
        push_body(bodies, i, p, cross(arm, p))
        return
    for k in range(3):
        j, w = points.node[c, side, k], points.weight[c, side, k]
        if j >= 0:
            for t in range(3):
                nodes.x[j, t] += w * nodes.mobility[j] * p[t]


@kernel
def push_welds(bodies, nodes, weld_node, weld_body, weld_point, s, K, p, impulse_out):
    """One pass over welded nodes; K (36,), p (6,) are scratch; impulses (nw, 3) on nodes are added up."""
    for c in range(weld_node.shape[0]):
        j, i = weld_node[c], weld_body[c]
        at, arm = carried_point(bodies, i, load3(weld_point, c))
        for k in range(3):
            p[k] = at[k] - nodes.x[j, k]
        mass, link = bodies.mass[i], bodies.trees.link[i] >= 0
        own = nodes.mobility[j] + (1.0 / mass if mass > 0.0 else 0.0)
        W = load_mobility(bodies, i)
        for k in range(3):
            e = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
            column = (0.0, 0.0, 0.0)
            if link:
                way, turned = answer_to(bodies, i, e, cross(arm, e))
                column = add(way, cross(turned, arm))
            elif mass > 0.0:
                column = cross(mat_vec(W, cross(arm, e)), arm)
            for t in range(3):
                K[3 * t + k] = column[t] + (own if t == k else 0.0)
        solve_small(3, K, p)
        push = (p[0], p[1], p[2])
        for k in range(3):
            nodes.x[j, k] += nodes.mobility[j] * push[k]
            impulse_out[c, k] += push[k] / s
        push_body(bodies, i, scale(-1.0, push), scale(-1.0, cross(arm, push)))
