"""How forces that joints carry turn with links: a link under tension is stiff across it.

A step without constraints holds S^T f = 0 for the momenta f = I S v' - p that links lack (free_motion.py) at its end
q' = q + h v'. There S depends on v', too: of linear momenta f_i at centres of mass x_i it gives h K to A, with

    K_jk = sum_i f_i . d2x_i / dq_j dq_k = w_j . sum_i (dx_i / dq_k x f_i)      j above k, i all that k moves

and w_j the axis of j. Without it the search for q' does not end where h^2 T / (m l) is above one, as in a chain of
light links with a heavy end. A with K leads to the same v': it only says how to get there.
"""

from __future__ import annotations

from stickslip.bodies.tree.layout import DOF_LINK, MASS, PARENT, ROW, ROW_END
from stickslip.bodies.tree.links import link_centre, tree_centre
from stickslip.bodies.tree.momentum import move_links
from stickslip.jit import kernel
from stickslip.linalg.vec3 import add, cross, sub


@kernel
def stiffening_rows(tree, twist, v, work):
    """K (np,) along paths at velocities v (nv,), with p of ``free_twists``; after ``place_links``.

    Sums over what hangs on a link are of f_i (3) and (x_i - c) f_i^T (9), c the common point of the tree.
    """
    pull, motion, path = work.pull, work.motion, tree.path
    move_links(tree, v, work)
    for i in range(tree.links.shape[0]):
        m, arm = tree.links[i, MASS], sub(link_centre(tree, work, i), tree_centre(tree, work, i))
        w = (work.velocity[i, 0], work.velocity[i, 1], work.velocity[i, 2])
        u = add((work.velocity[i, 3], work.velocity[i, 4], work.velocity[i, 5]), cross(w, arm))
        for b in range(3):
            f = m * (u[b] - twist[i, b])
            pull[i, b] = f
            for a in range(3):
                pull[i, 3 + 3 * a + b] = arm[a] * f
    for i in range(tree.links.shape[0] - 1, -1, -1):
        parent = tree.link_index[i, PARENT]
        if parent >= 0:
            for c in range(12):
                pull[parent, c] += pull[i, c]
    for k in range(motion.shape[0]):
        own = pull[tree.dof_index[k, DOF_LINK]]
        w, u = (motion[k, 0], motion[k, 1], motion[k, 2]), (motion[k, 3], motion[k, 4], motion[k, 5])
        # (w x r) x f = r (f . w) - w (r . f)
        turned = cross(u, (own[0], own[1], own[2]))
        along = own[3] + own[7] + own[11]
        x = turned[0] + own[3] * w[0] + own[4] * w[1] + own[5] * w[2] - along * w[0]
        y = turned[1] + own[6] * w[0] + own[7] * w[1] + own[8] * w[2] - along * w[1]
        z = turned[2] + own[9] * w[0] + own[10] * w[1] + own[11] * w[2] - along * w[2]
        for e in range(tree.dof_index[k, ROW], tree.dof_index[k, ROW_END]):
            j = path[e]
            work.stiffening[e] = motion[j, 0] * x + motion[j, 1] * y + motion[j, 2] * z


@kernel
def add_stiffening(tree, v, h, work, out):
    """Add h K to A, and h K v (nv,) to its right-hand side, so that A v = out stays as true as it was."""
    for k in range(out.shape[0]):
        last = tree.dof_index[k, ROW_END] - 1
        for e in range(tree.dof_index[k, ROW], last + 1):
            a, j = h * work.stiffening[e], tree.path[e]
            work.mass[e] += a
            out[k] += a * v[j]
            if e < last:
                out[j] += a * v[k]
