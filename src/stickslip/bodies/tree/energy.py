"""Energies of trees."""

from __future__ import annotations

from stickslip.bodies.tree.free_motion import add_link_forces, drive_length, drive_push, middle_force
from stickslip.bodies.tree.kinematics import place_links, rotation_vector, unit4
from stickslip.bodies.tree.layout import (
    ARMATURE,
    BALL,
    BIAS,
    DAMPING,
    DOF_LINK,
    FIRST_Q,
    FIRST_V,
    FORCE_HIGH,
    FORCE_LOW,
    FREE,
    IN_MOMENTUM,
    KIND,
    MASS,
    PUSHES,
    REST,
    STIFFNESS,
    TREE,
)
from stickslip.bodies.tree.links import link_centre, link_inertia, link_matrix, tree_centre
from stickslip.bodies.tree.momentum import move_links
from stickslip.jit import kernel, large_kernel
from stickslip.linalg.vec3 import add, cross, mat_t_vec, mat_vec, sub


@kernel
def sum_energies(tree, q, v, work, out):
    """Kinetic, potential and elastic energy [J] of each tree: out (nt, 3); after ``place_links`` and ``move_links``."""
    for t in range(out.shape[0]):
        out[t, 0], out[t, 1], out[t, 2] = 0.0, 0.0, 0.0
    for i in range(tree.links.shape[0]):
        t, m, R = tree.link_index[i, TREE], tree.links[i, MASS], link_matrix(work, i)
        x = link_centre(tree, work, i)
        w = (work.velocity[i, 0], work.velocity[i, 1], work.velocity[i, 2])
        u = add((work.velocity[i, 3], work.velocity[i, 4], work.velocity[i, 5]),
                cross(w, sub(x, tree_centre(tree, work, i))))  # fmt: skip
        omega = mat_t_vec(R, w)
        L = mat_vec(link_inertia(tree, i), omega)
        out[t, 0] += 0.5 * m * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
        out[t, 0] += 0.5 * (omega[0] * L[0] + omega[1] * L[1] + omega[2] * L[2])
        out[t, 1] -= m * (tree.gravity[0] * x[0] + tree.gravity[1] * x[1] + tree.gravity[2] * x[2])
    for t in range(out.shape[0]):
        for k in range(tree.start[t], tree.start[t + 1]):
            out[t, 0] += 0.5 * tree.dofs[k, ARMATURE] * v[k] * v[k]
    for j in range(tree.joint_index.shape[0]):
        kind, at, k = tree.joint_index[j, KIND], tree.joint_index[j, FIRST_Q], tree.joint_index[j, FIRST_V]
        t, s = tree.link_index[tree.dof_index[k, DOF_LINK], TREE], tree.dofs[k, STIFFNESS]
        if s > 0.0 and kind == BALL:
            r = unit4(q, at)
            turned = rotation_vector(r)
            out[t, 2] += 0.5 * s * (turned[0] * turned[0] + turned[1] * turned[1] + turned[2] * turned[2])
        elif s > 0.0 and kind != FREE:
            d = q[at] - tree.dofs[k, REST]
            out[t, 2] += 0.5 * s * d * d


@kernel
def drive_work(tree, drive, q, v, between, given, h, work, given_out, damping_out):
    """Work [J] of forces and of drives that are no rows over a step of h from q, and of dampers, by tree.

    v (nv,): velocities with which implicit forces act; between (nv,): mean velocities of the step; given: force (nv,),
    link_force (nl, 6), control (nu, 2); work: after ``place_links`` at q; outputs come in as zero.
    """
    force, link_force, control = given
    push = work.bias
    for k in range(push.shape[0]):
        push[k] = force[k]
        t = tree.link_index[tree.dof_index[k, DOF_LINK], TREE]
        damping_out[t] += h * tree.dofs[k, DAMPING] * v[k] * between[k]
    add_link_forces(tree, work, link_force, push)
    for d in range(drive.how.shape[0]):
        own = drive.drives[d]
        f = drive_push(drive, d, control)
        if drive.how[d] == PUSHES:
            f += own[BIAS + 1] * drive_length(drive, d, q)
            f = min(max(f, own[FORCE_LOW]), own[FORCE_HIGH])
        elif drive.how[d] == IN_MOMENTUM:
            e = drive.start[d]
            rate = drive.factor[e] * v[drive.dof[e]]
            f += own[BIAS + 1] * (drive_length(drive, d, q) + h * rate) + own[BIAS + 2] * rate
        else:
            f = middle_force(own)
        for e in range(drive.start[d], drive.start[d + 1]):
            push[drive.dof[e]] += drive.factor[e] * f
    for k in range(push.shape[0]):
        given_out[tree.link_index[tree.dof_index[k, DOF_LINK], TREE]] += h * push[k] * between[k]


@large_kernel
def book_trees(tree, drive, states, given, h, works, placed, room, first, books):
    """Book the trees by island, in place; returns kinetic, potential and elastic energy before and after, work and
    damping of all [J].

    states: q and v before and after; works: two of TreeWork, for before and after, and whether ``placed`` says that
    links are placed and move there, and placed after; room: three (nt, 3), one (nv,); first: column block of the first
    tree that moves.
    """
    q_0, v_0, q, v = states
    start, end, sums, between = room
    if not placed:
        place_links(tree, q_0, works[0])
        move_links(tree, v_0, works[0])
        place_links(tree, q, works[1])
    move_links(tree, v, works[1])
    for k in range(v.shape[0]):
        between[k] = 0.5 * (v_0[k] + v[k])
    sum_energies(tree, q_0, v_0, works[0], start)
    sum_energies(tree, q, v, works[1], end)
    for t in range(sums.shape[0]):
        sums[t, 0], sums[t, 1] = 0.0, 0.0
    drive_work(tree, drive, q_0, v, between, given, h, works[0], sums[:, 0], sums[:, 1])
    total = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    block = first
    for t in range(sums.shape[0]):
        total = (
            total[0] + start[t, 0], total[1] + end[t, 0], total[2] + start[t, 1], total[3] + end[t, 1],
            total[4] + start[t, 2], total[5] + end[t, 2], total[6] + sums[t, 0], total[7] + sums[t, 1],
        )  # fmt: skip
        if tree.start[t + 1] > tree.start[t]:
            to = books.column[block]
            block += 1
            risen = end[t, 1] - start[t, 1]
            books.change[to] += end[t, 0] + end[t, 2] - start[t, 0] - start[t, 2] + risen
            books.given[to] += sums[t, 0] - sums[t, 1]
            books.known[to] += start[t, 0] + start[t, 2] + abs(risen) + abs(sums[t, 0])
    return total
