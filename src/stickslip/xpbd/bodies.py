"""Bodies and nodes under position-based dynamics: one substep without constraints, pushes, and what it was in sum.

After [macklin2019small]: positions are predicted with forces and velocities, constraints push them, and velocities are
the change of positions over the substep. A push p [kg m] moves a body by p / m, as an impulse p / s in s [s] would.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools
from stickslip.constraints.joint.rows import quat_rotation_vector
from stickslip.jit import kernel
from stickslip.linalg.vec3 import (
    cross,
    dot,
    load3,
    load_matrix,
    mat_t_vec,
    mat_vec,
    norm,
    quat_integrate,
    quat_matrix,
    quat_multiply,
    sub,
)
from stickslip.xpbd.trees import CANCELLED, Trees, answer_of_link, answer_to, hit_link, push_link, tree_of


class Bodies(NamedTuple):
    """nb rigid bodies and links within a step; all arrays but the first five change with every substep."""

    mass: Array
    """(nb,) [kg], zero where motion is given, and of links."""
    inertia: Array
    """(nb, 3, 3) [kg m^2] in the body's frame."""
    inverse_inertia: Array
    """(nb, 3, 3) in the body's frame, zero where motion is given."""
    force: Array
    """(nb, 6) [N, N m] of the user and of gravity."""
    moves: Bools
    """(nb,) whether it moves at all."""
    q: Array
    """(nb, 7)"""
    q_start: Array
    """(nb, 7) at the start of the substep."""
    v: Array
    """(nb, 6)"""
    v_start: Array
    """(nb, 6) before constraints act, with the forces of the substep."""
    mobility: Array
    """(nb, 9) I^-1 in the world."""
    turned: Array
    """(nb, 3) [rad] sum of all turns of the step."""
    trees: Trees
    """What moves links; q, q_start, v and v_start of these follow it."""


@kernel
def predict_bodies(bodies, s):
    """Move all bodies for s [s] under forces and, as in [muller2020], the explicit gyroscopic term."""
    q, v = bodies.q, bodies.v
    for i in range(q.shape[0]):
        if not bodies.moves[i] or bodies.trees.link[i] >= 0:
            continue
        for k in range(7):
            bodies.q_start[i, k] = q[i, k]
        m = bodies.mass[i]
        if m > 0.0:
            R = quat_matrix((q[i, 3], q[i, 4], q[i, 5], q[i, 6]))
            for k in range(3):
                v[i, k] += s * bodies.force[i, k] / m
            w = mat_t_vec(R, (v[i, 3], v[i, 4], v[i, 5]))
            torque = mat_t_vec(R, (bodies.force[i, 3], bodies.force[i, 4], bodies.force[i, 5]))
            change = mat_vec(
                load_matrix(bodies.inverse_inertia, i),
                sub(torque, cross(w, mat_vec(load_matrix(bodies.inertia, i), w))),
            )
            gained = mat_vec(R, change)
            for k in range(3):
                v[i, 3 + k] += s * gained[k]
        for k in range(3):
            q[i, k] += s * v[i, k]
        r = quat_integrate((q[i, 3], q[i, 4], q[i, 5], q[i, 6]), (v[i, 3], v[i, 4], v[i, 5]), s)
        for k in range(4):
            q[i, 3 + k] = r[k]
        for k in range(6):
            bodies.v_start[i, k] = v[i, k]
        if m > 0.0:
            _place_mobility(bodies, i, quat_matrix(r))


@kernel
def _place_mobility(bodies, i, R):
    """I^-1 in the world of body i with rotation R."""
    own = load_matrix(bodies.inverse_inertia, i)
    for k in range(3):
        # column k of R I^-1 R^T is R I^-1 (row k of R)
        column = mat_vec(R, mat_vec(own, (R[3 * k], R[3 * k + 1], R[3 * k + 2])))
        for j in range(3):
            bodies.mobility[i, 3 * j + k] = column[j]


@kernel
def load_mobility(bodies, i):
    """I^-1 in the world of body i as a 9-tuple."""
    a = bodies.mobility
    return a[i, 0], a[i, 1], a[i, 2], a[i, 3], a[i, 4], a[i, 5], a[i, 6], a[i, 7], a[i, 8]


@kernel
def push_body(bodies, i, p, moment):
    """Push body i by p and turn it by the moment about its centre, in place."""
    if bodies.trees.link[i] >= 0:
        push_link(bodies, i, p, moment)
        return
    m = bodies.mass[i]
    if m == 0.0:
        return
    q = bodies.q
    for k in range(3):
        q[i, k] += p[k] / m
    r = quat_integrate((q[i, 3], q[i, 4], q[i, 5], q[i, 6]), mat_vec(load_mobility(bodies, i), moment), 1.0)
    for k in range(4):
        q[i, 3 + k] = r[k]


@kernel
def hit_body(bodies, i, p, moment):
    """Change the velocity of body i by an impulse p and a moment about its centre, in place."""
    if bodies.trees.link[i] >= 0:
        hit_link(bodies, i, p, moment)
        return
    m = bodies.mass[i]
    if m == 0.0:
        return
    gained = mat_vec(load_mobility(bodies, i), moment)
    for k in range(3):
        bodies.v[i, k] += p[k] / m
        bodies.v[i, 3 + k] += gained[k]


@kernel
def mobility_along(bodies, i, d, turn):
    """How far body i moves along the unit vector d under a unit push in it, whose moment is ``turn``."""
    if bodies.trees.link[i] >= 0:
        way, turned = answer_to(bodies, i, d, turn)
        return dot(way, d) + dot(turned, turn)
    m = bodies.mass[i]
    return 1.0 / m + dot(turn, mat_vec(load_mobility(bodies, i), turn)) if m > 0.0 else 0.0


@kernel
def mobility_of_pair(bodies, a, b, d, turn_a, turn_b):
    """How far bodies a and b part along the unit vector d under unit pushes that part them."""
    t = tree_of(bodies, a)
    if t < 0 or t != tree_of(bodies, b):
        return mobility_along(bodies, a, d, turn_a) + mobility_along(bodies, b, d, turn_b)
    # two links of a tree: what pushes one moves the other, too
    way, turn = answer_to(bodies, a, d, turn_a)
    own_a = dot(way, d) + dot(turn, turn_a)
    way, turn = answer_to(bodies, b, d, turn_b)
    own_b = dot(way, d) + dot(turn, turn_b)
    way, turn = answer_of_link(bodies, a)
    K = own_a + own_b - 2.0 * (dot(way, d) + dot(turn, turn_a))
    return 0.0 if CANCELLED * (own_a + own_b) >= K else K


@kernel
def way_of_body(bodies, i):
    """What body i has moved by in this substep: of its centre, and its turn (to the second order of that)."""
    q, b = bodies.q, bodies.q_start
    r = quat_multiply((q[i, 3], q[i, 4], q[i, 5], q[i, 6]), (b[i, 3], -b[i, 4], -b[i, 5], -b[i, 6]))
    two = 2.0 if r[0] >= 0.0 else -2.0
    return (q[i, 0] - b[i, 0], q[i, 1] - b[i, 1], q[i, 2] - b[i, 2]), (two * r[1], two * r[2], two * r[3])


@kernel
def velocities_of_bodies(bodies, s):
    """v of dynamic bodies from what positions did in s [s], in place."""
    q, b, v = bodies.q, bodies.q_start, bodies.v
    for i in range(q.shape[0]):
        if not bodies.moves[i]:
            continue
        if bodies.mass[i] > 0.0:
            r = quat_multiply((q[i, 3], q[i, 4], q[i, 5], q[i, 6]), (b[i, 3], -b[i, 4], -b[i, 5], -b[i, 6]))
            turn = quat_rotation_vector(r)
            for k in range(3):
                v[i, k] = (q[i, k] - b[i, k]) / s
                v[i, 3 + k] = turn[k] / s
        for k in range(3):
            bodies.turned[i, k] += s * v[i, 3 + k]


@kernel
def mean_velocities(q, q_end, turned, h, v_out):
    """v_out (nb, 6) with which q (nb, 7) becomes q_end in h [s]; full turns are those of ``turned`` (nb, 3)."""
    for i in range(q.shape[0]):
        r = quat_multiply((q_end[i, 3], q_end[i, 4], q_end[i, 5], q_end[i, 6]), (q[i, 3], -q[i, 4], -q[i, 5], -q[i, 6]))
        turn = quat_rotation_vector(r)
        angle = norm(turn)
        full = 1.0
        if angle > 1e-3:
            along = (turned[i, 0] * turn[0] + turned[i, 1] * turn[1] + turned[i, 2] * turn[2]) / angle
            full = 1.0 + 2.0 * np.pi * np.floor((along - angle) / (2.0 * np.pi) + 0.5) / angle
        for k in range(3):
            v_out[i, k] = (q_end[i, k] - q[i, k]) / h
            v_out[i, 3 + k] = full * turn[k] / h


@kernel
def carried_point(bodies, i, local):
    """Where a point of body i, given in its frame from its centre of mass, is now, and its arm from there."""
    q = bodies.q
    arm = mat_vec(quat_matrix((q[i, 3], q[i, 4], q[i, 5], q[i, 6])), local)
    x = load3(q, i)
    return (x[0] + arm[0], x[1] + arm[1], x[2] + arm[2]), arm
