"""Where the links of a robot are in many worlds, and how they move."""

from __future__ import annotations

from stickslip.bodies.tree.kinematics import place_links
from stickslip.bodies.tree.layout import TREE
from stickslip.bodies.tree.momentum import move_links
from stickslip.jit import bare_threaded_kernel


@bare_threaded_kernel
def place_many(tree, q, v, work, pose_out, velocity_out):
    """For postures q (N, nq) and velocities v (N, nv): poses (N, nl, 7) of links, and velocities (N, nl, 6) of their
    origins, linear part first; work: room for one world."""
    for k in range(q.shape[0]):
        place_links(tree, q[k], work)
        move_links(tree, v[k], work)
        for i in range(pose_out.shape[1]):
            for x in range(7):
                pose_out[k, i, x] = work.pose[i, x]
            centre = work.centre[tree.link_index[i, TREE]]
            w0, w1, w2 = work.velocity[i, 0], work.velocity[i, 1], work.velocity[i, 2]
            r0, r1, r2 = work.pose[i, 0] - centre[0], work.pose[i, 1] - centre[1], work.pose[i, 2] - centre[2]
            velocity_out[k, i, 0] = work.velocity[i, 3] + (w1 * r2 - w2 * r1)
            velocity_out[k, i, 1] = work.velocity[i, 4] + (w2 * r0 - w0 * r2)
            velocity_out[k, i, 2] = work.velocity[i, 5] + (w0 * r1 - w1 * r0)
            velocity_out[k, i, 3], velocity_out[k, i, 4], velocity_out[k, i, 5] = w0, w1, w2
