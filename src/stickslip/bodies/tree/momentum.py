"""Momentum of trees: the mass matrix by composite rigid bodies, its factors over branches, bias forces by recursion.

Inertias, motions and forces of a tree are about one point in world axes, so a composite inertia is a sum of ten numbers
([featherstone2008] ch. 5, 6 and 8). Two degrees of freedom of different branches share no entry of M, and M = L^T D L
fills in nothing, so rows are stored along paths from the root: the row of an ancestor is as long as the place that it
has in the rows of its descendants, and elimination runs over numbers that lie side by side.
"""

from __future__ import annotations

from stickslip.bodies.tree.layout import (
    ARMATURE,
    BALL,
    CENTRE,
    DOF_LINK,
    FIRST_JOINT,
    FIRST_V,
    FREE,
    INERTIA,
    JOINT_END,
    KIND,
    MASS,
    PARENT,
    ROW,
    ROW_END,
    TREE,
)
from stickslip.jit import kernel
from stickslip.linalg.vec3 import add, cross, scale


@kernel
def weigh_links(tree, work):
    """Inertia of each link about the centre of its tree, in world axes: R I R^T + m (c^2 - c c^T)."""
    links, out = tree.links, work.inertia
    for i in range(links.shape[0]):
        m, R, tree_of = links[i, MASS], work.turn[i], tree.link_index[i, TREE]
        x, y, z = links[i, CENTRE], links[i, CENTRE + 1], links[i, CENTRE + 2]
        cx = R[0] * x + R[1] * y + R[2] * z + work.pose[i, 0] - work.centre[tree_of, 0]
        cy = R[3] * x + R[4] * y + R[5] * z + work.pose[i, 1] - work.centre[tree_of, 1]
        cz = R[6] * x + R[7] * y + R[8] * z + work.pose[i, 2] - work.centre[tree_of, 2]
        a, b, c = links[i, INERTIA], links[i, INERTIA + 1], links[i, INERTIA + 2]
        d, e, f = links[i, INERTIA + 3], links[i, INERTIA + 4], links[i, INERTIA + 5]
        # rows of R I
        p0, p1, p2 = R[0] * a + R[1] * d + R[2] * e, R[0] * d + R[1] * b + R[2] * f, R[0] * e + R[1] * f + R[2] * c
        q0, q1, q2 = R[3] * a + R[4] * d + R[5] * e, R[3] * d + R[4] * b + R[5] * f, R[3] * e + R[4] * f + R[5] * c
        s0, s1, s2 = R[6] * a + R[7] * d + R[8] * e, R[6] * d + R[7] * b + R[8] * f, R[6] * e + R[7] * f + R[8] * c
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = m, m * cx, m * cy, m * cz
        out[i, 4] = p0 * R[0] + p1 * R[1] + p2 * R[2] + m * (cy * cy + cz * cz)
        out[i, 5] = q0 * R[3] + q1 * R[4] + q2 * R[5] + m * (cx * cx + cz * cz)
        out[i, 6] = s0 * R[6] + s1 * R[7] + s2 * R[8] + m * (cx * cx + cy * cy)
        out[i, 7] = p0 * R[3] + p1 * R[4] + p2 * R[5] - m * cx * cy
        out[i, 8] = p0 * R[6] + p1 * R[7] + p2 * R[8] - m * cx * cz
        out[i, 9] = q0 * R[6] + q1 * R[7] + q2 * R[8] - m * cy * cz


@kernel
def times_inertia(inertia, i, w, v):
    """Momentum (angular about the centre, linear) of inertia i that moves with (w, v)."""
    m = inertia[i, 0]
    c = (inertia[i, 1], inertia[i, 2], inertia[i, 3])
    xx, yy, zz = inertia[i, 4], inertia[i, 5], inertia[i, 6]
    xy, xz, yz = inertia[i, 7], inertia[i, 8], inertia[i, 9]
    cv, wc = cross(c, v), cross(w, c)
    angular = (
        xx * w[0] + xy * w[1] + xz * w[2] + cv[0],
        xy * w[0] + yy * w[1] + yz * w[2] + cv[1],
        xz * w[0] + yz * w[1] + zz * w[2] + cv[2],
    )
    return angular, (m * v[0] + wc[0], m * v[1] + wc[1], m * v[2] + wc[2])


@kernel
def compose_mass(tree, work):
    """Mass matrices by composite rigid bodies ([featherstone2008] table 6.2), armature included.

    The inertia of a link becomes that of all that hangs on it, in place.
    """
    inertia, motion, mass, path = work.inertia, work.motion, work.mass, tree.path
    for i in range(tree.links.shape[0] - 1, -1, -1):
        parent = tree.link_index[i, PARENT]
        if parent >= 0:
            for c in range(10):
                inertia[parent, c] += inertia[i, c]
    for k in range(motion.shape[0]):
        w, v = (motion[k, 0], motion[k, 1], motion[k, 2]), (motion[k, 3], motion[k, 4], motion[k, 5])
        f, g = times_inertia(inertia, tree.dof_index[k, DOF_LINK], w, v)
        end = tree.dof_index[k, ROW_END]
        for e in range(tree.dof_index[k, ROW], end):
            j = path[e]
            mass[e] = (
                motion[j, 0] * f[0] + motion[j, 1] * f[1] + motion[j, 2] * f[2]
                + motion[j, 3] * g[0] + motion[j, 4] * g[1] + motion[j, 5] * g[2]
            )  # fmt: skip
        mass[end - 1] += tree.dofs[k, ARMATURE]


@kernel
def factorise(tree, matrix, factor_out):
    """L and D with A = L^T D L ([featherstone2008] table 6.3), in the rows of A; False where D is not positive."""
    path, good = tree.path, True
    for e in range(path.shape[0]):
        factor_out[e] = matrix[e]
    for k in range(tree.dof_index.shape[0] - 1, -1, -1):
        row, last = tree.dof_index[k, ROW], tree.dof_index[k, ROW_END] - 1
        good = good and factor_out[last] > 0.0
        inverse = 1.0 / factor_out[last]  # divisions would take most of the time
        own = factor_out[row:last]
        for e in range(last - row):
            above = tree.dof_index[path[row + e], ROW]
            a, other = own[e] * inverse, factor_out[above : above + e + 1]
            for c in range(e + 1):
                other[c] -= a * own[c]
        for e in range(last - row):
            own[e] *= inverse
    return good


@kernel
def solve_factors(tree, factor, x):
    """A^-1 x, in place."""
    solve_some_factors(tree, factor, 0, tree.dof_index.shape[0], x)


@kernel
def solve_some_factors(tree, factor, first, end, x):
    """The same of the degrees of freedom from ``first`` to ``end``: those of one tree, or of several."""
    path = tree.path
    for k in range(end - 1, first - 1, -1):  # L^T
        for e in range(tree.dof_index[k, ROW], tree.dof_index[k, ROW_END] - 1):
            x[path[e]] -= factor[e] * x[k]
    for k in range(first, end):  # D, then L
        x[k] /= factor[tree.dof_index[k, ROW_END] - 1]
    for k in range(first, end):
        for e in range(tree.dof_index[k, ROW], tree.dof_index[k, ROW_END] - 1):
            x[k] -= factor[e] * x[path[e]]


@kernel
def invert_factors(tree, factor, inverse_out):
    """Full A^-1 of each tree, row by row from L A^-1 = D^-1 L^-T, of which all left of the diagonal is zero."""
    path, dofs = tree.path, tree.dof_index
    for t in range(tree.start.shape[0] - 1):
        first, width, base = tree.start[t], tree.start[t + 1] - tree.start[t], tree.square[t]
        for k in range(width):
            row, last = dofs[first + k, ROW], dofs[first + k, ROW_END] - 1
            own = inverse_out[base + k * width : base + k * width + k]
            for i in range(k):
                own[i] = 0.0
            for e in range(row, last):
                a, above = factor[e], base + (path[e] - first) * width
                other = inverse_out[above : above + k]
                for i in range(k):
                    own[i] -= a * other[i]
            total = 1.0 / factor[last]
            for e in range(row, last):
                total -= factor[e] * own[path[e] - first]
            for i in range(k):
                inverse_out[base + i * width + k] = own[i]
            inverse_out[base + k * width + k] = total


@kernel
def fill_matrix(tree, rows, matrix_out):
    """Full symmetric matrices of each tree from rows (np,) along paths."""
    dofs = tree.dof_index
    for t in range(tree.start.shape[0] - 1):
        first, width, base = tree.start[t], tree.start[t + 1] - tree.start[t], tree.square[t]
        for e in range(base, base + width * width):
            matrix_out[e] = 0.0
        for k in range(width):
            for e in range(dofs[first + k, ROW], dofs[first + k, ROW_END]):
                j = tree.path[e] - first
                matrix_out[base + k * width + j] = rows[e]
                matrix_out[base + j * width + k] = rows[e]


@kernel
def move_links(tree, v, work):
    """Velocities of links, and accelerations that these and gravity give them ([featherstone2008] table 5.1)."""
    motion, velocity, acceleration = work.motion, work.velocity, work.acceleration
    for i in range(tree.links.shape[0]):
        parent = tree.link_index[i, PARENT]
        if parent >= 0:
            w = (velocity[parent, 0], velocity[parent, 1], velocity[parent, 2])
            u = (velocity[parent, 3], velocity[parent, 4], velocity[parent, 5])
            aw = (acceleration[parent, 0], acceleration[parent, 1], acceleration[parent, 2])
            au = (acceleration[parent, 3], acceleration[parent, 4], acceleration[parent, 5])
        else:
            w, u, aw = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
            au = (-tree.gravity[0], -tree.gravity[1], -tree.gravity[2])
        for j in range(tree.link_index[i, FIRST_JOINT], tree.link_index[i, JOINT_END]):
            kind, k = tree.joint_index[j, KIND], tree.joint_index[j, FIRST_V]
            if kind == FREE:
                # axes fixed in the world, about an origin that moves: only the arm of the turning changes
                linear = (v[k], v[k + 1], v[k + 2])
                turning = (v[k + 3], v[k + 4], v[k + 5])
                w = turning
                u = linear
                for c in range(3, 6):
                    u = add(u, scale(v[k + c], (motion[k + c, 3], motion[k + c, 4], motion[k + c, 5])))
                au = add(au, cross(linear, turning))
                continue
            dw, du = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
            for c in range(k, k + (3 if kind == BALL else 1)):
                dw = add(dw, scale(v[c], (motion[c, 0], motion[c, 1], motion[c, 2])))
                du = add(du, scale(v[c], (motion[c, 3], motion[c, 4], motion[c, 5])))
            # the axes move with what is before them: (w, u) x (dw, du)
            aw = add(aw, cross(w, dw))
            au = add(au, add(cross(w, du), cross(u, dw)))
            w, u = add(w, dw), add(u, du)
        velocity[i, 0], velocity[i, 1], velocity[i, 2] = w
        velocity[i, 3], velocity[i, 4], velocity[i, 5] = u
        acceleration[i, 0], acceleration[i, 1], acceleration[i, 2] = aw
        acceleration[i, 3], acceleration[i, 4], acceleration[i, 5] = au


@kernel
def bias_forces(tree, work):
    """Forces on links by their accelerations and velocities, and their sums along joints; inertias are of links."""
    inertia, motion, velocity, acceleration, force = (
        work.inertia, work.motion, work.velocity, work.acceleration, work.force
    )  # fmt: skip
    count = tree.links.shape[0]
    for i in range(count):
        w = (velocity[i, 0], velocity[i, 1], velocity[i, 2])
        u = (velocity[i, 3], velocity[i, 4], velocity[i, 5])
        h, p = times_inertia(inertia, i, w, u)
        f, g = times_inertia(
            inertia, i, (acceleration[i, 0], acceleration[i, 1], acceleration[i, 2]),
            (acceleration[i, 3], acceleration[i, 4], acceleration[i, 5]),
        )  # fmt: skip
        f = add(f, add(cross(w, h), cross(u, p)))
        g = add(g, cross(w, p))
        force[i, 0], force[i, 1], force[i, 2] = f
        force[i, 3], force[i, 4], force[i, 5] = g
    for i in range(count - 1, -1, -1):
        parent = tree.link_index[i, PARENT]
        if parent >= 0:
            for c in range(6):
                force[parent, c] += force[i, c]
    for k in range(motion.shape[0]):
        i = tree.dof_index[k, DOF_LINK]
        total = 0.0
        for c in range(6):
            total += motion[k, c] * force[i, c]
        work.bias[k] = total


@kernel
def linearise(tree, v, work):
    """After ``place_links``: bias forces at velocities v (nv,), mass matrices and their factors."""
    weigh_links(tree, work)
    move_links(tree, v, work)
    bias_forces(tree, work)
    compose_mass(tree, work)
    return factorise(tree, work.mass, work.factor)
