"""Single links of trees: rotation, inertia and centre of mass."""

from __future__ import annotations

from stickslip.bodies.tree.layout import CENTRE, INERTIA, TREE
from stickslip.jit import kernel
from stickslip.linalg.vec3 import add, mat_vec


@kernel
def link_matrix(work, i):
    """Rotation of link i as nine numbers."""
    R = work.turn[i]
    return R[0], R[1], R[2], R[3], R[4], R[5], R[6], R[7], R[8]


@kernel
def link_inertia(tree, i):
    """Inertia of link i in its frame as nine numbers."""
    a = tree.links[i]
    xx, yy, zz = a[INERTIA], a[INERTIA + 1], a[INERTIA + 2]
    xy, xz, yz = a[INERTIA + 3], a[INERTIA + 4], a[INERTIA + 5]
    return xx, xy, xz, xy, yy, yz, xz, yz, zz


@kernel
def link_centre(tree, work, i):
    """Centre of mass of link i in the world."""
    local = (tree.links[i, CENTRE], tree.links[i, CENTRE + 1], tree.links[i, CENTRE + 2])
    return add((work.pose[i, 0], work.pose[i, 1], work.pose[i, 2]), mat_vec(link_matrix(work, i), local))


@kernel
def tree_centre(tree, work, i):
    """The point about which motions of the tree of link i are."""
    t = tree.link_index[i, TREE]
    return work.centre[t, 0], work.centre[t, 1], work.centre[t, 2]
