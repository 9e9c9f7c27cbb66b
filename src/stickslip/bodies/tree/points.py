"""Frames of trees: poses, twists and the rows S by which unknown velocities move them."""

from __future__ import annotations

from stickslip.bodies.tree.articulated import is_deep, link_twists
from stickslip.bodies.tree.layout import DOF_LINK, LAST_DOF, ROW, ROW_END, TREE
from stickslip.jit import kernel
from stickslip.linalg.vec3 import add, cross, sub


@kernel
def link_frames(tree, frame_link, work, v, pose_out, velocity_out, twist_out):
    """Poses (k, 7) and twists (k, 6) of the links in frame_link (k,), and their S (6, w), one after the other.

    After ``place_links``. Twists are those of the origins of links, linear part first; twist_out comes in as zero.
    """
    deep, at = is_deep(tree), 0
    if deep:
        link_velocities(tree, frame_link, work, v, velocity_out)
    for f in range(frame_link.shape[0]):
        i = frame_link[f]
        t, last = tree.link_index[i, TREE], tree.link_index[i, LAST_DOF]
        first, width = tree.start[t], tree.start[t + 1] - tree.start[t]
        origin = (work.pose[i, 0], work.pose[i, 1], work.pose[i, 2])
        arm = sub(origin, (work.centre[t, 0], work.centre[t, 1], work.centre[t, 2]))
        for c in range(7):
            pose_out[f, c] = work.pose[i, c]
        if not deep:
            for c in range(6):
                velocity_out[f, c] = 0.0
        for e in range(tree.dof_index[last, ROW], tree.dof_index[last, ROW_END]):
            k = tree.path[e]
            w = (work.motion[k, 0], work.motion[k, 1], work.motion[k, 2])
            u = add((work.motion[k, 3], work.motion[k, 4], work.motion[k, 5]), cross(w, arm))
            for c in range(3):
                twist_out[at + c * width + k - first] = u[c]
                twist_out[at + (3 + c) * width + k - first] = w[c]
                if not deep:
                    velocity_out[f, c] += u[c] * v[k]
                    velocity_out[f, 3 + c] += w[c] * v[k]
        at += 6 * width


@kernel
def link_velocities(tree, frame_link, work, v, velocity_out):
    """The twists (k, 6) of ``link_frames`` alone; of deep trees from link to link, by way of ``force``."""
    if is_deep(tree):
        link_twists(tree, v, work, work.force)
        for f in range(frame_link.shape[0]):
            i = frame_link[f]
            t, own = tree.link_index[i, TREE], work.force[i]
            origin = (work.pose[i, 0], work.pose[i, 1], work.pose[i, 2])
            arm = sub(origin, (work.centre[t, 0], work.centre[t, 1], work.centre[t, 2]))
            w = (own[0], own[1], own[2])
            u = add((own[3], own[4], own[5]), cross(w, arm))
            for c in range(3):
                velocity_out[f, c], velocity_out[f, 3 + c] = u[c], w[c]
        return
    for f in range(frame_link.shape[0]):
        i = frame_link[f]
        t, last = tree.link_index[i, TREE], tree.link_index[i, LAST_DOF]
        origin = (work.pose[i, 0], work.pose[i, 1], work.pose[i, 2])
        arm = sub(origin, (work.centre[t, 0], work.centre[t, 1], work.centre[t, 2]))
        for c in range(6):
            velocity_out[f, c] = 0.0
        for e in range(tree.dof_index[last, ROW], tree.dof_index[last, ROW_END]):
            k = tree.path[e]
            w = (work.motion[k, 0], work.motion[k, 1], work.motion[k, 2])
            u = add((work.motion[k, 3], work.motion[k, 4], work.motion[k, 5]), cross(w, arm))
            for c in range(3):
                velocity_out[f, c] += u[c] * v[k]
                velocity_out[f, 3 + c] += w[c] * v[k]


@kernel
def point_force(tree, work, i, point, force, torque, out):
    """Add the generalised forces (nv,) of a force at a point of link i and a torque, world frame."""
    t, last = tree.link_index[i, TREE], tree.link_index[i, LAST_DOF]
    if last < 0:
        return
    moment = add(torque, cross(sub(point, (work.centre[t, 0], work.centre[t, 1], work.centre[t, 2])), force))
    for e in range(tree.dof_index[last, ROW], tree.dof_index[last, ROW_END]):
        k = tree.path[e]
        out[k] += (
            work.motion[k, 0] * moment[0] + work.motion[k, 1] * moment[1] + work.motion[k, 2] * moment[2]
            + work.motion[k, 3] * force[0] + work.motion[k, 4] * force[1] + work.motion[k, 5] * force[2]
        )  # fmt: skip


@kernel
def add_along_motions(tree, work, out):
    """Add the work of forces (nl, 6) on links, angular part first about the centre, along motions: out (nv,).

    Forces become those of all that hangs on a link, in place.
    """
    force, motion = work.force, work.motion
    for i in range(tree.links.shape[0] - 1, -1, -1):
        parent = tree.link_index[i, 0]
        if parent >= 0:
            for c in range(6):
                force[parent, c] += force[i, c]
    for k in range(motion.shape[0]):
        i = tree.dof_index[k, DOF_LINK]
        for c in range(6):
            out[k] += motion[k, c] * force[i, c]
