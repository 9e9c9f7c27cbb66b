"""Forward kinematics of a tree: poses of links, and the motion subspaces of their joints ([featherstone2008] ch. 4).

Motions are taken about one point for the whole tree, in world axes: the velocity of a link is the sum of its joints'
columns times their rates, and nothing has to be transformed from link to link.
"""

from __future__ import annotations

from math import atan2, cos, sin, sqrt

from stickslip.bodies.tree.layout import (
    ANCHOR,
    AXIS,
    BALL,
    FIRST_JOINT,
    FIRST_Q,
    FIRST_V,
    FREE,
    JOINT_END,
    KIND,
    PARENT,
    PITCH,
    POSITION,
    PRISMATIC,
    ROTATION,
    SCREW,
    TREE,
    ZERO,
)
from stickslip.jit import kernel, large_kernel
from stickslip.linalg.vec3 import add, axpy, cross, mat_vec, quat_matrix, quat_multiply, scale, sub


@kernel
def unit4(q, at):
    """Four numbers from ``at`` on as a unit quaternion; the identity for zeros."""
    length = sqrt(q[at] * q[at] + q[at + 1] * q[at + 1] + q[at + 2] * q[at + 2] + q[at + 3] * q[at + 3])
    if length == 0.0:
        return 1.0, 0.0, 0.0, 0.0
    return q[at] / length, q[at + 1] / length, q[at + 2] / length, q[at + 3] / length


@kernel
def rotation_vector(r):
    """Axis times angle [rad], at most pi, of a unit quaternion."""
    s = sqrt(r[1] * r[1] + r[2] * r[2] + r[3] * r[3])
    if s < 1e-150:
        return 0.0, 0.0, 0.0
    angle = 2.0 * atan2(s, abs(r[0]))
    factor = angle / s if r[0] >= 0.0 else -angle / s
    return factor * r[1], factor * r[2], factor * r[3]


@kernel
def about(axis, angle):
    """The quaternion of a turn about a unit axis."""
    s = sin(0.5 * angle)
    return cos(0.5 * angle), s * axis[0], s * axis[1], s * axis[2]


@kernel
def put_motion(motion, k, angular, linear):
    """Write row k."""
    motion[k, 0], motion[k, 1], motion[k, 2] = angular
    motion[k, 3], motion[k, 4], motion[k, 5] = linear


@large_kernel
def place_links(tree, q, work):
    """Poses of all links at coordinates q (nq,), and motions of degrees of freedom about the origin of a first link.

    Writes pose, turn, centre and motion.
    """
    place_some_links(tree, q, 0, tree.links.shape[0], work)


@kernel
def place_some_links(tree, q, first, end, work):
    """The same of the links from ``first`` to ``end``: those of one tree, or of several."""
    links, joints, motion = tree.links, tree.joints, work.motion
    for i in range(first, end):
        parent = tree.link_index[i, PARENT]
        x = (links[i, POSITION], links[i, POSITION + 1], links[i, POSITION + 2])
        r = (links[i, ROTATION], links[i, ROTATION + 1], links[i, ROTATION + 2], links[i, ROTATION + 3])
        if parent >= 0:
            R = (
                work.turn[parent, 0], work.turn[parent, 1], work.turn[parent, 2],
                work.turn[parent, 3], work.turn[parent, 4], work.turn[parent, 5],
                work.turn[parent, 6], work.turn[parent, 7], work.turn[parent, 8],
            )  # fmt: skip
            x = add((work.pose[parent, 0], work.pose[parent, 1], work.pose[parent, 2]), mat_vec(R, x))
            above = (work.pose[parent, 3], work.pose[parent, 4], work.pose[parent, 5], work.pose[parent, 6])
            r = quat_multiply(above, r)
        for j in range(tree.link_index[i, FIRST_JOINT], tree.link_index[i, JOINT_END]):
            kind, at, k = tree.joint_index[j, KIND], tree.joint_index[j, FIRST_Q], tree.joint_index[j, FIRST_V]
            if kind == FREE:
                x = (q[at], q[at + 1], q[at + 2])
                r = unit4(q, at + 3)
                continue  # its motion follows when the centre is known
            R = quat_matrix(r)
            local = (joints[j, ANCHOR], joints[j, ANCHOR + 1], joints[j, ANCHOR + 2])
            anchor = add(x, mat_vec(R, local))
            if kind == BALL:
                r = quat_multiply(r, unit4(q, at))
                R = quat_matrix(r)
                x = sub(anchor, mat_vec(R, local))
                for c in range(3):
                    put_motion(motion, k + c, (R[c], R[3 + c], R[6 + c]), anchor)
                continue
            own = (joints[j, AXIS], joints[j, AXIS + 1], joints[j, AXIS + 2])
            axis, moved = mat_vec(R, own), q[at] - joints[j, ZERO]
            if kind == PRISMATIC:
                x = axpy(moved, axis, x)
                put_motion(motion, k, (0.0, 0.0, 0.0), axis)
                continue
            r = quat_multiply(r, about(own, moved))
            x = sub(anchor, mat_vec(quat_matrix(r), local))
            if kind == SCREW:
                x = axpy(joints[j, PITCH] * moved, axis, x)
            put_motion(motion, k, axis, anchor)
        # products of unit quaternions drift by rounding only, and no further than a path is long
        R = quat_matrix(r)
        for c in range(9):
            work.turn[i, c] = R[c]
        for c in range(3):
            work.pose[i, c] = x[c]
        for c in range(4):
            work.pose[i, 3 + c] = r[c]
        if parent < 0:
            for c in range(3):
                work.centre[tree.link_index[i, TREE], c] = x[c]
        _about_the_centre(tree, i, work)


@kernel
def _about_the_centre(tree, i, work):
    """Linear parts of the motions of link i, which hold the anchors of their axes until now: velocity of the centre."""
    motion, tree_of = work.motion, tree.link_index[i, TREE]
    centre = (work.centre[tree_of, 0], work.centre[tree_of, 1], work.centre[tree_of, 2])
    for j in range(tree.link_index[i, FIRST_JOINT], tree.link_index[i, JOINT_END]):
        kind, k = tree.joint_index[j, KIND], tree.joint_index[j, FIRST_V]
        if kind == FREE:
            arm = sub(centre, (work.pose[i, 0], work.pose[i, 1], work.pose[i, 2]))
            for c in range(3):
                e = (1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0)
                put_motion(motion, k + c, (0.0, 0.0, 0.0), e)
                put_motion(motion, k + 3 + c, e, cross(e, arm))
        elif kind != PRISMATIC:
            for m in range(k, k + (3 if kind == BALL else 1)):
                axis = (motion[m, 0], motion[m, 1], motion[m, 2])
                linear = cross(axis, sub(centre, (motion[m, 3], motion[m, 4], motion[m, 5])))
                if kind == SCREW:
                    linear = add(linear, scale(tree.joints[j, PITCH], axis))
                put_motion(motion, m, axis, linear)
