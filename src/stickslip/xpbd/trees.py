"""Trees in joint coordinates under position-based dynamics: one substep without constraints, pushes, velocities.

Their positions are coordinates q: a push f at a point of a link, whose twist is S v, moves them by

    dq = A^-1 S^T f,     K = S A^-1 S^T

with the L^T D L factors of A where the substep without constraints leads (bodies/tree/free_motion.py), held within the
substep, and S at the current q. A has springs, dampers and drives without limits: they answer a push implicitly, and
need no pass of their own. Poses of links follow from q, so joints of a tree are never open.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.bodies.tree.advance import advance_joints, advance_tree, tree_difference
from stickslip.bodies.tree.free_motion import free_velocity
from stickslip.bodies.tree.kinematics import place_links, place_some_links
from stickslip.bodies.tree.layout import (
    BALL,
    FIRST_JOINT,
    FIRST_V,
    FREE,
    JOINT_END,
    KIND,
    LAST_DOF,
    PARENT,
    ROW,
    ROW_END,
    TREE,
    VELOCITIES,
    DriveTables,
    TreeTables,
    TreeWork,
)
from stickslip.bodies.tree.momentum import move_links, solve_some_factors
from stickslip.bodies.tree.points import point_force
from stickslip.jit import kernel
from stickslip.linalg.vec3 import add, cross, dot, norm, scale, sub

CANCELLED = 1e-10
"""Share of what two links of a tree move by themselves below which what they part by is rounding."""


class Trees(NamedTuple):
    """All trees of a step, of all robots; q, v and what is made of them change with every substep."""

    tree: TreeTables
    drive: DriveTables
    given: tuple[Array, Array, Array]
    """Forces along v (nv,), on links (nl, 6), and controls of drives (nu, 2)."""
    works: tuple[TreeWork, TreeWork]
    """At the start of the substep; at the current q, with the factors of A."""
    room: tuple[Array, ...]
    """Scratch of ``free_velocity``."""
    link: Ints
    """(nb,) the link that a body of the model is, or -1."""
    body: Ints
    """(nl,) the body of the model that a link is, or -1."""
    first_link: Ints
    """(nt + 1,) of each tree."""
    q: Array
    """(nq,)"""
    q_start: Array
    """(nq,) at the start of the substep."""
    v: Array
    """(nv,)"""
    v_start: Array
    """(nv,) before constraints act, with the forces of the substep."""
    moved: Array
    """(nv,) [m or rad] displacements of this substep; of rotations, the sum of all turns."""
    turned: Array
    """(nv,) [m or rad] sum of all displacements of the step."""
    x: Array
    """(nv,) A^-1 J^T of the push at hand; only trees that it is about are written."""


# ---- the substep -------------------------------------------------------------------------------------------------


@kernel
def predict_trees(bodies, s):
    """Move all trees for s [s] as they would without constraints."""
    own = bodies.trees
    tree, start, now = own.tree, own.works[0], own.works[1]
    if own.v.shape[0] == 0:
        return
    for k in range(own.q.shape[0]):
        own.q_start[k] = own.q[k]
    place_links(tree, own.q, start)
    move_links(tree, own.v, start)
    good = free_velocity(
        tree, own.drive, (own.q_start, own.v), own.given, (s, True, 0.0, 1.0), own.works, own.room, own.v_start
    )
    for k in range(own.v.shape[0]):
        if not good:
            own.v_start[k] = np.nan  # such a step says that it diverged
        own.v[k], own.moved[k] = own.v_start[k], s * own.v_start[k]
    advance_tree(tree, own.q_start, own.v, s, own.q)
    place_links(tree, own.q, now)
    for i in range(own.body.shape[0]):
        b = own.body[i]
        if b >= 0:
            for c in range(7):
                bodies.q_start[b, c] = start.pose[i, c]
    for t in range(own.first_link.shape[0] - 1):
        _follow_poses(bodies, t)
        _follow_velocities(bodies, t)
    for i in range(own.body.shape[0]):
        b = own.body[i]
        if b >= 0:
            for c in range(6):
                bodies.v_start[b, c] = bodies.v[b, c]


@kernel
def velocities_of_trees(bodies, s):
    """v of trees and of their links from what coordinates did in s [s], in place."""
    own = bodies.trees
    tree_difference(own.tree, own.q_start, own.q, s, own.v)
    for k in range(own.v.shape[0]):
        own.turned[k] += s * own.v[k]
    for t in range(own.first_link.shape[0] - 1):
        _follow_velocities(bodies, t)


@kernel
def mean_velocities_of_trees(tree, q, q_end, turned, h, v_out):
    """v_out (nv,) with which q (nq,) becomes q_end in h [s]; full turns are those of ``turned`` (nv,)."""
    tree_difference(tree, q, q_end, h, v_out)
    for j in range(tree.joint_index.shape[0]):
        kind = tree.joint_index[j, KIND]
        if kind not in (FREE, BALL):
            continue
        k = tree.joint_index[j, FIRST_V] + (3 if kind == FREE else 0)
        turn = (h * v_out[k], h * v_out[k + 1], h * v_out[k + 2])
        angle = norm(turn)
        if angle > 1e-3:
            along = dot((turned[k], turned[k + 1], turned[k + 2]), turn) / angle
            full = 1.0 + 2.0 * np.pi * np.floor((along - angle) / (2.0 * np.pi) + 0.5) / angle
            for c in range(3):
                v_out[k + c] *= full


@kernel
def _follow_poses(bodies, t):
    """Poses of the frames of tree t, from its links."""
    own = bodies.trees
    for i in range(own.first_link[t], own.first_link[t + 1]):
        b = own.body[i]
        if b >= 0:
            for c in range(7):
                bodies.q[b, c] = own.works[1].pose[i, c]


@kernel
def _follow_velocities(bodies, t):
    """Velocities of the frames of tree t, from those of its degrees of freedom."""
    own = bodies.trees
    tree, now = own.tree, own.works[1]
    velocity = now.velocity
    for i in range(own.first_link[t], own.first_link[t + 1]):
        parent = tree.link_index[i, PARENT]
        for c in range(6):
            velocity[i, c] = velocity[parent, c] if parent >= 0 else 0.0
        for j in range(tree.link_index[i, FIRST_JOINT], tree.link_index[i, JOINT_END]):
            first = tree.joint_index[j, FIRST_V]
            for k in range(first, first + VELOCITIES[tree.joint_index[j, KIND]]):
                for c in range(6):
                    velocity[i, c] += now.motion[k, c] * own.v[k]
        b = own.body[i]
        if b >= 0:
            w = (velocity[i, 0], velocity[i, 1], velocity[i, 2])
            u = add((velocity[i, 3], velocity[i, 4], velocity[i, 5]), cross(w, _arm(own, i)))
            for c in range(3):
                bodies.v[b, c], bodies.v[b, 3 + c] = u[c], w[c]


@kernel
def _arm(own, i):
    """From the point about which motions of its tree are to the origin of link i."""
    t, now = own.tree.link_index[i, TREE], own.works[1]
    origin = (now.pose[i, 0], now.pose[i, 1], now.pose[i, 2])
    return sub(origin, (now.centre[t, 0], now.centre[t, 1], now.centre[t, 2]))


# ---- pushes ------------------------------------------------------------------------------------------------------


@kernel
def tree_of(bodies, i):
    """The tree that body i of the model is a link of, or -1."""
    if i < 0 or bodies.trees.link[i] < 0:
        return -1
    return bodies.trees.tree.link_index[bodies.trees.link[i], TREE]


@kernel
def clear_push(bodies, t):
    """Begin a push of tree t."""
    own = bodies.trees
    for k in range(own.tree.start[t], own.tree.start[t + 1]):
        own.x[k] = 0.0


@kernel
def add_push(bodies, i, p, moment):
    """Add p at the origin of body i, a link, and a moment to the push of its tree."""
    own, q = bodies.trees, bodies.q
    point_force(own.tree, own.works[1], own.link[i], (q[i, 0], q[i, 1], q[i, 2]), p, moment, own.x)


@kernel
def answer_push(bodies, t):
    """From J^T of the push to A^-1 J^T, in place."""
    own = bodies.trees
    solve_some_factors(own.tree, own.works[1].factor, own.tree.start[t], own.tree.start[t + 1], own.x)


@kernel
def answer_of_link(bodies, i):
    """What the push at hand moves the origin of body i, a link, by, and its turn."""
    own = bodies.trees
    link, motion = own.link[i], own.works[1].motion
    w, u = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    last = own.tree.link_index[link, LAST_DOF]
    for e in range(own.tree.dof_index[last, ROW], own.tree.dof_index[last, ROW_END]):
        k = own.tree.path[e]
        w = add(w, scale(own.x[k], (motion[k, 0], motion[k, 1], motion[k, 2])))
        u = add(u, scale(own.x[k], (motion[k, 3], motion[k, 4], motion[k, 5])))
    return add(u, cross(w, _arm(own, link))), w


@kernel
def move_tree(bodies, t, p):
    """Move tree t by p times the answer to the push at hand."""
    own = bodies.trees
    tree, first, end = own.tree, own.first_link[t], own.first_link[t + 1]
    joints = tree.link_index[first, FIRST_JOINT], tree.link_index[end - 1, JOINT_END]
    advance_joints(tree, own.q, own.x, p, joints[0], joints[1], own.q)
    for k in range(tree.start[t], tree.start[t + 1]):
        own.moved[k] += p * own.x[k]
    place_some_links(tree, own.q, first, end, own.works[1])
    _follow_poses(bodies, t)


@kernel
def hasten_tree(bodies, t, p):
    """Change the velocities of tree t by p times the answer to the push at hand."""
    own = bodies.trees
    for k in range(own.tree.start[t], own.tree.start[t + 1]):
        own.v[k] += p * own.x[k]
    _follow_velocities(bodies, t)


@kernel
def push_link(bodies, i, p, moment):
    """Push body i, a link, by p at its origin and by a moment, in place."""
    t = tree_of(bodies, i)
    clear_push(bodies, t)
    add_push(bodies, i, p, moment)
    answer_push(bodies, t)
    move_tree(bodies, t, 1.0)


@kernel
def hit_link(bodies, i, p, moment):
    """Change the velocities of the tree of body i, a link, by an impulse p at its origin and a moment."""
    t = tree_of(bodies, i)
    clear_push(bodies, t)
    add_push(bodies, i, p, moment)
    answer_push(bodies, t)
    hasten_tree(bodies, t, 1.0)


@kernel
def answer_to(bodies, i, p, moment):
    """By what body i, a link, moves and turns under p at its origin and a moment; nothing moves yet."""
    t = tree_of(bodies, i)
    clear_push(bodies, t)
    add_push(bodies, i, p, moment)
    answer_push(bodies, t)
    return answer_of_link(bodies, i)
