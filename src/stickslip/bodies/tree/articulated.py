"""The velocity of a step of stiff or deep trees without constraints, by an elimination that grows with their links.

Below a degree of freedom k, A = M + D + h K (free_motion.py, stiffening.py) is a form of the motions above:

    A_jk = s_j . B_i s_k      j above k, i the link of k;  B_i = sum of I + h G over all that hangs on i

with G of one link the turning of its force f at x: G (w, u) = (u x f + x (f . w) - w (x . f), 0). To eliminate k takes
y y^T / d from B, y = B s_k and d = s_k . y, as in articulated bodies ([featherstone2008] ch. 7), and so six by six
numbers a link stand for rows as long as the tree is deep. What is solved is A dv = -r, with

    r = S^T (I S v - p) + armature (v - v_0) + D v - h f

at the end of the step to which v leads. A is not always positive definite on the way: links that spin about the axis of
a chain have next to no inertia, and what light links lack there has either sign. Newton steps do not mind, and to leave
K out instead leads a chain with a heavy end astray. A lacks how S v turns with links, so steps of fast, bent chains
may lead nowhere: passes of before follow there.
"""

from __future__ import annotations

import numpy as np

from stickslip.bodies.tree.advance import advance_tree
from stickslip.bodies.tree.kinematics import place_links
from stickslip.bodies.tree.layout import (
    ARMATURE,
    DOF_LINK,
    FIRST_JOINT,
    FIRST_V,
    JOINT_END,
    MASS,
    PARENT,
)
from stickslip.bodies.tree.links import link_centre, link_inertia, link_matrix, tree_centre
from stickslip.bodies.tree.momentum import times_inertia, weigh_links
from stickslip.jit import kernel, large_kernel, plain_kernel
from stickslip.linalg.vec3 import add, cross, mat_vec, sub

DEEP = 32
"""Degrees of freedom above each, on average, from which on a tree is deep: below, rows along paths are as fast."""
MOST_STEPS, MOST_PASSES = 12, 60
"""Newton steps, and passes where these lead nowhere, at most, ..."""
SHORTER = 0.5
"""Share of the one before that a step must have at most, ..."""
FOUND = 1e-11
"""... until velocities change, or would change in the next one, by no more than this share of the largest, ..."""
ROUNDED = 1e-5
"""... or until changes below this share no longer become smaller: rounding, which heavy ends of light chains have."""


@plain_kernel
def is_deep(tree):
    """Whether rows along paths are long."""
    return tree.path.shape[0] > DEEP * tree.dofs.shape[0]


@kernel
def link_twists(tree, v, work, velocity):
    """Velocities of links (nl, 6), angular part first about the centre, at v (nv,); after ``place_links``."""
    motion = work.motion
    for i in range(tree.links.shape[0]):
        parent = tree.link_index[i, PARENT]
        a, b, c, x, y, z = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if parent >= 0:
            a, b, c = velocity[parent, 0], velocity[parent, 1], velocity[parent, 2]
            x, y, z = velocity[parent, 3], velocity[parent, 4], velocity[parent, 5]
        first, end = own_dofs(tree, i)
        for k in range(first, end):
            a, b, c = a + motion[k, 0] * v[k], b + motion[k, 1] * v[k], c + motion[k, 2] * v[k]
            x, y, z = x + motion[k, 3] * v[k], y + motion[k, 4] * v[k], z + motion[k, 5] * v[k]
        velocity[i, 0], velocity[i, 1], velocity[i, 2] = a, b, c
        velocity[i, 3], velocity[i, 4], velocity[i, 5] = x, y, z


@kernel
def own_dofs(tree, i):
    """Degrees of freedom between link i and its parent: the first, and the one after the last."""
    first, end = tree.link_index[i, FIRST_JOINT], tree.link_index[i, JOINT_END]
    if first == end:
        return 0, 0
    start = tree.joint_index[first, FIRST_V]
    last = tree.dof_index.shape[0] if end == tree.joint_index.shape[0] else tree.joint_index[end, FIRST_V]
    return start, last


@kernel
def lacking(tree, twist, v, work):
    """Momenta I S v - p that links lack at velocities v (nv,), into ``force`` (nl, 6); after ``weigh_links``."""
    link_twists(tree, v, work, work.velocity)
    velocity, force = work.velocity, work.force
    for i in range(tree.links.shape[0]):
        w = (velocity[i, 0], velocity[i, 1], velocity[i, 2])
        u = (velocity[i, 3], velocity[i, 4], velocity[i, 5])
        h, p = times_inertia(work.inertia, i, w, u)
        m, R = tree.links[i, MASS], link_matrix(work, i)
        had = (m * twist[i, 0], m * twist[i, 1], m * twist[i, 2])
        turning = mat_vec(R, mat_vec(link_inertia(tree, i), (twist[i, 3], twist[i, 4], twist[i, 5])))
        moment = add(turning, cross(sub(link_centre(tree, work, i), tree_centre(tree, work, i)), had))
        for c in range(3):
            force[i, c], force[i, 3 + c] = h[c] - moment[c], p[c] - had[c]


@kernel
def residual(tree, state, push, diagonal, h, work, r_out):
    """r (nv,) of momenta that links lack; state: v, v_0."""
    v, v_0 = state
    force, total, motion = work.force, work.acceleration, work.motion
    for i in range(force.shape[0]):
        for c in range(6):
            total[i, c] = force[i, c]
    for i in range(force.shape[0] - 1, -1, -1):
        parent = tree.link_index[i, PARENT]
        if parent >= 0:
            for c in range(6):
                total[parent, c] += total[i, c]
    for k in range(v.shape[0]):
        f = total[tree.dof_index[k, DOF_LINK]]
        r_out[k] = (
            motion[k, 0] * f[0] + motion[k, 1] * f[1] + motion[k, 2] * f[2]
            + motion[k, 3] * f[3] + motion[k, 4] * f[4] + motion[k, 5] * f[5]
            + tree.dofs[k, ARMATURE] * (v[k] - v_0[k]) + diagonal[k] * v[k] - h * push[k]
        )  # fmt: skip


@kernel
def put_inertia(tree, h, work):
    """I of each link, with h G of the momentum that it lacks, as six by six numbers."""
    inertia, force, body = work.inertia, work.force, work.body
    for i in range(body.shape[0]):
        B = body[i]
        m, x, y, z = inertia[i, 0], inertia[i, 1], inertia[i, 2], inertia[i, 3]
        xx, yy, zz = inertia[i, 4], inertia[i, 5], inertia[i, 6]
        xy, xz, yz = inertia[i, 7], inertia[i, 8], inertia[i, 9]
        f, g, e = h * force[i, 3], h * force[i, 4], h * force[i, 5]
        r = sub(link_centre(tree, work, i), tree_centre(tree, work, i))
        a, b, c = r[0] * f, r[1] * g, r[2] * e
        B[0], B[1], B[2] = xx - b - c, xy + r[0] * g, xz + r[0] * e
        B[6], B[7], B[8] = xy + r[1] * f, yy - a - c, yz + r[1] * e
        B[12], B[13], B[14] = xz + r[2] * f, yz + r[2] * g, zz - a - b
        # u x f beside c x u
        B[3], B[4], B[5] = 0.0, e - z, y - g
        B[9], B[10], B[11] = z - e, 0.0, f - x
        B[15], B[16], B[17] = g - y, x - f, 0.0
        B[18], B[19], B[20] = 0.0, z, -y
        B[24], B[25], B[26] = -z, 0.0, x
        B[30], B[31], B[32] = y, -x, 0.0
        B[21], B[22], B[23] = m, 0.0, 0.0
        B[27], B[28], B[29] = 0.0, m, 0.0
        B[33], B[34], B[35] = 0.0, 0.0, m


@kernel
def eliminate(tree, diagonal, h, work):
    """y, s (nv, 6) and 1 / d (nv,) of all degrees of freedom, leaves first; returns whether A is positive definite."""
    put_inertia(tree, h, work)
    body, motion, response, pivot = work.body, work.motion, work.response, work.vectors[0]
    good = True
    for i in range(body.shape[0] - 1, -1, -1):
        B = body[i]
        first, end = own_dofs(tree, i)
        for k in range(end - 1, first - 1, -1):
            s, y = motion[k], response[k]
            s0, s1, s2, s3, s4, s5 = s[0], s[1], s[2], s[3], s[4], s[5]
            for c in range(6):
                y[c] = (
                    B[6 * c] * s0 + B[6 * c + 1] * s1 + B[6 * c + 2] * s2
                    + B[6 * c + 3] * s3 + B[6 * c + 4] * s4 + B[6 * c + 5] * s5
                )  # fmt: skip
            y[6], y[7], y[8], y[9], y[10], y[11] = s0, s1, s2, s3, s4, s5
            y0, y1, y2, y3, y4, y5 = y[0], y[1], y[2], y[3], y[4], y[5]
            d = s0 * y0 + s1 * y1 + s2 * y2 + s3 * y3 + s4 * y4 + s5 * y5
            d += diagonal[k] + tree.dofs[k, ARMATURE]
            good = good and d > 0.0
            inverse = 1.0 / d
            pivot[k] = inverse
            for c in range(6):
                a = y[c] * inverse
                B[6 * c] -= a * y0
                B[6 * c + 1] -= a * y1
                B[6 * c + 2] -= a * y2
                B[6 * c + 3] -= a * y3
                B[6 * c + 4] -= a * y4
                B[6 * c + 5] -= a * y5
        parent = tree.link_index[i, PARENT]
        if parent >= 0:
            above = body[parent]
            for c in range(36):
                above[c] += B[c]
    return good


@kernel
def solve_links(tree, work, x):
    """A^-1 x, in place, with A of the last ``eliminate``, wherever links are since."""
    response, pivot, sums = work.response, work.vectors[0], work.acceleration
    sums[:] = 0.0
    for i in range(sums.shape[0] - 1, -1, -1):
        p = sums[i]
        first, end = own_dofs(tree, i)
        for k in range(end - 1, first - 1, -1):
            y = response[k]
            z = x[k] - (y[6] * p[0] + y[7] * p[1] + y[8] * p[2] + y[9] * p[3] + y[10] * p[4] + y[11] * p[5])
            z *= pivot[k]
            x[k] = z
            for c in range(6):
                p[c] += y[c] * z
        parent = tree.link_index[i, PARENT]
        if parent >= 0:
            for c in range(6):
                sums[parent, c] += p[c]
    for i in range(sums.shape[0]):
        V, parent = sums[i], tree.link_index[i, PARENT]
        for c in range(6):
            V[c] = sums[parent, c] if parent >= 0 else 0.0
        first, end = own_dofs(tree, i)
        for k in range(first, end):
            y = response[k]
            x[k] -= (y[0] * V[0] + y[1] * V[1] + y[2] * V[2] + y[3] * V[3] + y[4] * V[4] + y[5] * V[5]) * pivot[k]
            for c in range(6):
                V[c] += y[6 + c] * x[k]


@kernel
def _lack(tree, state, v, numbers, h, q_at, work, r_out):
    """r (nv,) at velocities v (nv,), with links where these lead."""
    q, v_0 = state
    twist, push, diagonal = numbers
    advance_tree(tree, q, v, h, q_at)
    place_links(tree, q_at, work)
    weigh_links(tree, work)
    lacking(tree, twist, v, work)
    residual(tree, (v, v_0), push, diagonal, h, work, r_out)


@large_kernel
def newton_velocity(tree, state, numbers, q_at, work, h, v_out):
    """The velocity (nv,) of a step without constraints with forces at its end; returns whether it is finite.

    state: q, v; numbers: twists of ``free_twists``, generalised forces and what is on the diagonal of A (nv,) each;
    q_at (nq,): room. The next step by the same A says whether Newton steps lead to an end, and is taken where it is the
    last; where it is not shorter, passes by a positive definite A follow, from the start.
    """
    n = v_out.shape[0]
    step, r, ahead = work.vectors[1], work.vectors[2], work.vectors[3]
    for k in range(n):
        v_out[k] = state[1][k]
    _lack(tree, state, v_out, numbers, h, q_at, work, r)
    for _ in range(MOST_STEPS):
        eliminate(tree, numbers[2], h, work)
        change, size = _solved(tree, work, r, step), 0.0
        for k in range(n):
            v_out[k] -= step[k]
            size = max(size, abs(v_out[k]))
        _lack(tree, state, v_out, numbers, h, q_at, work, r)
        following = _solved(tree, work, r, ahead)
        rounded = change <= ROUNDED * size
        if not following < np.inf or not (rounded or following <= SHORTER * change):
            break
        if change <= FOUND * size or following * (following / change) <= FOUND * size or (
            rounded and following > SHORTER * change
        ):  # fmt: skip
            for k in range(n):
                v_out[k] -= ahead[k] if following < change else 0.0
            return True
    return _passes(tree, state, numbers, q_at, work, h, v_out)


@kernel
def _passes(tree, state, numbers, q_at, work, h, v_out):
    """The same by passes, each with A where the one before led, with K as long as A is positive definite.

    Each takes momentum to motions that joints allow, so that velocities stay bounded even if passes do not end.
    """
    n, last, size = v_out.shape[0], np.inf, 0.0
    step, r = work.vectors[1], work.vectors[2]
    for k in range(n):
        v_out[k] = state[1][k]
    for _ in range(MOST_PASSES):
        _lack(tree, state, v_out, numbers, h, q_at, work, r)
        if not eliminate(tree, numbers[2], h, work):
            eliminate(tree, numbers[2], 0.0, work)
        change, size = _solved(tree, work, r, step), 0.0
        for k in range(n):
            v_out[k] -= step[k]
            size = max(size, abs(v_out[k]))
        if not change < np.inf:
            return False
        if change <= FOUND * size or (change <= ROUNDED * size and change > SHORTER * last):
            break
        last = change
    return size < np.inf


@kernel
def _solved(tree, work, r, x_out):
    """x_out = A^-1 r, and the largest of its numbers; infinite where one is none."""
    for k in range(x_out.shape[0]):
        x_out[k] = r[k]
    solve_links(tree, work, x_out)
    most = 0.0
    for k in range(x_out.shape[0]):
        size = abs(x_out[k])
        if not size <= most:
            most = size if size > most else np.inf
    return most
