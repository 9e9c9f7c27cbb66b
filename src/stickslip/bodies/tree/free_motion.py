"""A step of trees without constraints: A and the velocity that it leads to.

With forces at the end of the step (Euler's scheme), the momentum that links have at the start, with what gravity and
forces add, is carried to where the step leads and projected on the motions that joints allow there:

    S^T (I S v' - p) = 0    at q' = q + h v',    p = I v_free of each link by itself (bodies/rigid/momentum.py)

which is how rigid bodies with joints take a step in maximal coordinates, too, and makes no energy: p is longest before
it is projected. Differs from [featherstone2008], whose explicit bias forces gain energy. Elsewhere
(midpoint rules) M (v' - v) = h (f - c) with bias forces c of the middle of the step ([featherstone2008] ch. 5).

q' is looked for in passes, each with A and p at where the one before led. That ends only while h^2 T / (m l) is below
one for links of mass m and length l under a tension T; beyond, and in deep trees from the start, by Newton steps whose
A has the turning of these forces with the links, too (articulated.py).

Springs, dampers and drives without limits are implicit: stiffness and damping are on the diagonal of A.
"""

from __future__ import annotations

import numpy as np

from stickslip.bodies.rigid.momentum import MOST_PARTS, spin
from stickslip.bodies.tree.advance import advance_tree
from stickslip.bodies.tree.articulated import is_deep, newton_velocity
from stickslip.bodies.tree.kinematics import place_links, rotation_vector, unit4
from stickslip.bodies.tree.layout import (
    ARMATURE,
    BALL,
    BIAS,
    CONTROL_HIGH,
    CONTROL_LOW,
    DAMPING,
    FIRST_Q,
    FIRST_V,
    FORCE_HIGH,
    FORCE_LOW,
    FREE,
    GAIN,
    IN_MOMENTUM,
    KIND,
    MASS,
    PUSHES,
    REST,
    ROW_END,
    STIFFNESS,
)
from stickslip.bodies.tree.links import link_centre, link_inertia, link_matrix, tree_centre
from stickslip.bodies.tree.momentum import (
    bias_forces,
    compose_mass,
    factorise,
    fill_matrix,
    invert_factors,
    move_links,
    solve_factors,
    weigh_links,
)
from stickslip.bodies.tree.points import add_along_motions, link_frames, link_velocities, point_force
from stickslip.bodies.tree.stiffening import add_stiffening, stiffening_rows
from stickslip.jit import kernel, large_kernel
from stickslip.linalg.vec3 import add, cross, mat_t_vec, mat_vec, norm, sub

MOST_PASSES = 12
"""How often the end of a step without constraints is looked for at most, ..."""
FOUND = 1e-11
"""... until velocities change, or would change in the next pass, by no more than this share of the largest."""
SLOW = 0.1
"""Share of the change before from which on a change is one of a search that will not end: Newton steps with forces that
turn with links follow, and A has these, too (stiffening.py)."""


@kernel
def free_twists(tree, start, link_force, h, twist_out):
    """Velocity of the centre of mass and angular velocity, in its own frame, of each link by itself after h: (nl, 6).

    ``start``: a TreeWork after ``place_links`` and ``move_links``; link_force (nl, 6) [N, N m] at centres of mass.
    """
    for i in range(tree.links.shape[0]):
        w = (start.velocity[i, 0], start.velocity[i, 1], start.velocity[i, 2])
        u = (start.velocity[i, 3], start.velocity[i, 4], start.velocity[i, 5])
        arm = sub(link_centre(tree, start, i), tree_centre(tree, start, i))
        u = add(u, cross(w, arm))
        m, R = tree.links[i, MASS], link_matrix(start, i)
        omega = mat_t_vec(R, w)
        torque = mat_t_vec(R, (link_force[i, 3], link_force[i, 4], link_force[i, 5]))
        inertia = link_inertia(tree, i)
        if inertia[0] > 0.0 and inertia[4] > 0.0 and inertia[8] > 0.0:
            parts = int(min(norm(omega) * h / 1.5, MOST_PARTS)) + 1
            for _ in range(parts):
                omega = spin(inertia, omega, torque, h / parts)
        for c in range(3):
            pushed = 0.0 if m == 0.0 else link_force[i, c] / m
            twist_out[i, c] = u[c] + h * (tree.gravity[c] + pushed)
            twist_out[i, 3 + c] = omega[c]


@kernel
def carried_momentum(tree, work, twist, out):
    """Add S^T p for momenta of links with twists (nl, 6) of ``free_twists``, at the poses of ``work``: out (nv,)."""
    for i in range(tree.links.shape[0]):
        m, R = tree.links[i, MASS], link_matrix(work, i)
        p = (m * twist[i, 0], m * twist[i, 1], m * twist[i, 2])
        spin_momentum = mat_vec(R, mat_vec(link_inertia(tree, i), (twist[i, 3], twist[i, 4], twist[i, 5])))
        arm = sub(link_centre(tree, work, i), tree_centre(tree, work, i))
        moment = add(spin_momentum, cross(arm, p))
        for c in range(3):
            work.force[i, c], work.force[i, 3 + c] = moment[c], p[c]
    add_along_motions(tree, work, out)


@kernel
def drive_length(drive, d, q):
    """Length of drive d at coordinates q."""
    total = 0.0
    for e in range(drive.start[d], drive.start[d + 1]):
        if drive.coordinate[e] >= 0:
            total += drive.factor[e] * q[drive.coordinate[e]]
    return total


@kernel
def drive_push(drive, d, control):
    """The part of the force of drive d that does not depend on the motion, for its control and wanted velocity."""
    own = drive.drives[d]
    u = min(max(control[d, 0], own[CONTROL_LOW]), own[CONTROL_HIGH])
    return own[GAIN] * u + own[BIAS] - own[BIAS + 2] * control[d, 1]


@kernel
def middle_force(drive):
    """Middle of the range of a drive's force, about which its row acts; zero where an end of it is open."""
    if drive[FORCE_LOW] > -1e300 and drive[FORCE_HIGH] < 1e300:
        return 0.5 * (drive[FORCE_LOW] + drive[FORCE_HIGH])
    return 0.0


@kernel
def implicit_forces(tree, drive, q, force, control, h, share, push_out, diagonal_out):
    """Generalised forces (nv,) at the start of a step of h, and what springs, dampers and drives add to A (nv,).

    share: of the step after which springs act: their force is that at q + share h v.
    """
    for k in range(push_out.shape[0]):
        damping, stiffness = tree.dofs[k, DAMPING], tree.dofs[k, STIFFNESS]
        push_out[k], diagonal_out[k] = force[k], h * (damping + share * h * stiffness)
    for j in range(tree.joint_index.shape[0]):
        kind, at, k = tree.joint_index[j, KIND], tree.joint_index[j, FIRST_Q], tree.joint_index[j, FIRST_V]
        if kind == BALL:
            r = unit4(q, at)
            turned = rotation_vector(r)
            for c in range(3):
                push_out[k + c] -= tree.dofs[k, STIFFNESS] * turned[c]
        elif kind != FREE:
            push_out[k] -= tree.dofs[k, STIFFNESS] * (q[at] - tree.dofs[k, REST])
    for d in range(drive.how.shape[0]):
        own = drive.drives[d]
        f = drive_push(drive, d, control)
        if drive.how[d] == PUSHES:
            f += own[BIAS + 1] * drive_length(drive, d, q)
            f = min(max(f, own[FORCE_LOW]), own[FORCE_HIGH])
        elif drive.how[d] == IN_MOMENTUM:
            f += own[BIAS + 1] * drive_length(drive, d, q)
            e = drive.start[d]
            g = drive.factor[e] * drive.factor[e]
            diagonal_out[drive.dof[e]] -= h * g * (own[BIAS + 2] + share * h * own[BIAS + 1])
        else:  # a limited one: its row acts within half the range about the middle of it
            f = middle_force(own)
        for e in range(drive.start[d], drive.start[d + 1]):
            push_out[drive.dof[e]] += drive.factor[e] * f


@kernel
def momentum_at(tree, q_at, twist, push, diagonal, v, guess, h, stiff, work, v_out):
    """Rows of A, their factors and v_free of a step of h whose forces act at q_at (nq,), the end of it, to which the
    guess (nv,) led.

    twist: momentum of ``free_twists``; stiff: whether A has the turning of forces. Returns False where A is not
    positive definite.
    """
    place_links(tree, q_at, work)
    weigh_links(tree, work)
    compose_mass(tree, work)
    for k in range(v_out.shape[0]):
        work.mass[tree.dof_index[k, ROW_END] - 1] += diagonal[k]
        v_out[k] = tree.dofs[k, ARMATURE] * v[k] + h * push[k]
    carried_momentum(tree, work, twist, v_out)
    if stiff:
        stiffening_rows(tree, twist, guess, work)
        add_stiffening(tree, guess, h, work, v_out)
    good = factorise(tree, work.mass, work.factor)
    if stiff and not good:  # links are pressed together so that the turning has the upper hand: without it
        add_stiffening(tree, guess, -h, work, v_out)
        good = factorise(tree, work.mass, work.factor)
    solve_factors(tree, work.factor, v_out)
    return good


@kernel
def finish(tree, work, out):
    """A and its inverse of each tree, from rows and factors along paths."""
    _, matrix_out, inverse_out = out
    fill_matrix(tree, work.mass, matrix_out)
    invert_factors(tree, work.factor, inverse_out)


@kernel
def momentum_between(tree, q_at, v_at, push, diagonal, v, h, gain, work, v_out):
    """The same with bias forces at q_at (nq,), v_at (nv,) within the step, where velocities gain 1 / ``gain``."""
    place_links(tree, q_at, work)
    weigh_links(tree, work)
    move_links(tree, v_at, work)
    bias_forces(tree, work)
    compose_mass(tree, work)
    for e in range(work.mass.shape[0]):
        work.mass[e] *= gain
    for k in range(v_out.shape[0]):
        work.mass[tree.dof_index[k, ROW_END] - 1] += diagonal[k]
        # gain M (v' - v) = h (f - c - (d + k s h) v'), with v' the unknown
        v_out[k] = h * (push[k] - work.bias[k]) - diagonal[k] * v[k]
    good = factorise(tree, work.mass, work.factor)
    solve_factors(tree, work.factor, v_out)
    for k in range(v_out.shape[0]):
        v_out[k] += v[k]
    return good


@kernel
def free_velocity(tree, drive, state, given, scheme, works, room, v_out):
    """The velocity (nv,) of a step without constraints; rows of A and their factors are in the second of ``works``.

    After ``place_links`` and ``move_links`` of the first; the rest as for :func:`begin_step`.
    """
    good = find_velocity(tree, drive, state, given, scheme, works, room, v_out)
    if is_deep(tree) and room[6][0] > 0.0:
        return good and stiff_rows(tree, state, scheme, v_out, works[1], room)
    return good


@kernel
def find_velocity(tree, drive, state, given, scheme, works, room, v_out):
    """The same; without rows of A and factors of deep trees that are stiff."""
    q, v = state
    force, link_force, control = given
    h, at_end, _, _ = scheme
    start, other = works
    q_at, twist, push, diagonal, v_at, _, stiff = room
    implicit_forces(tree, drive, q, force, control, h, 1.0 if at_end else 0.5, push, diagonal)
    if not at_end:
        add_link_forces(tree, start, link_force, push)
    good = True
    for k in range(v.shape[0]):
        v_at[k] = v[k]  # the latest guess of the unknown velocities
    if at_end:
        free_twists(tree, start, link_force, h, twist)
    stiff[0] = 1.0 if at_end and is_deep(tree) else 0.0
    last = np.inf
    for _ in range(MOST_PASSES):
        if stiff[0] > 0.0:
            break
        good = _pass(tree, q, v, v_at, scheme, other, room, v_out)
        change, size = 0.0, 0.0
        for k in range(v.shape[0]):
            change, size = max(change, abs(v_out[k] - v_at[k])), max(size, abs(v_out[k]))
            v_at[k] = v_out[k]
        if not good or change <= FOUND * size:
            break
        # changes fall by about the same factor from pass to pass: the next one would be within the bound
        if change <= SLOW * last < np.inf and change * (change / last) <= FOUND * size:
            break
        if at_end and change > SLOW * last:
            stiff[0] = 1.0
        last = change
    if stiff[0] > 0.0:
        good = newton_velocity(tree, state, (twist, push, diagonal), q_at, other, h, v_out)
        if not is_deep(tree):
            good = good and stiff_rows(tree, state, scheme, v_out, other, room)
    return good


@kernel
def stiff_rows(tree, state, scheme, own, work, room):
    """Rows of A with the turning of forces, and their factors, where velocities ``own`` (nv,) lead."""
    h, _, _, _ = scheme
    q_at, twist, push, diagonal, _, between, _ = room
    advance_tree(tree, state[0], own, h, q_at)
    return momentum_at(tree, q_at, twist, push, diagonal, state[1], own, h, True, work, between)


@large_kernel
def begin_step(tree, drive, frames, state, given, scheme, works, room, whole, frames_out, out):
    """Where trees are at the start of a step, and the momentum of its motion without constraints.

    frames (k,): links that are frames; state: q, v; given: force (nv,), link_force (nl, 6), control (nu, 2); scheme: h,
    whether forces are at the end, ``contacts_at``, ``gain``; works: two of TreeWork, for the start and for where forces
    act; room: q (nq,), twists (nl, 6), push, diagonal (nv,), two of v (nv,), whether A has the turning of forces (1,).
    Unless the step is ``whole``, S and A of deep trees are left to ``complete_frames`` and ``complete_momentum``: steps
    without rows read neither.
    """
    q, v = state
    h, _, contacts_at, _ = scheme
    start, other = works
    q_found, pose_out, velocity_out, twist_out = frames_out
    v_out = out[0]
    place_links(tree, q, start)
    move_links(tree, v, start)
    if contacts_at > 0.0:
        advance_tree(tree, q, v, contacts_at * h, q_found)
        place_links(tree, q_found, other)
        _frames(tree, frames, other, v, pose_out, velocity_out, twist_out)
    else:
        for c in range(q.shape[0]):
            q_found[c] = q[c]
        if whole or not is_deep(tree):
            _frames(tree, frames, start, v, pose_out, velocity_out, twist_out)
        else:
            link_velocities(tree, frames, start, v, velocity_out)
            for f in range(frames.shape[0]):
                for c in range(7):
                    pose_out[f, c] = start.pose[frames[f], c]
    good = find_velocity(tree, drive, state, given, scheme, works, room, v_out)
    if not is_deep(tree) or not room[6][0] > 0.0:
        finish(tree, other, out)
        return good
    return good and (not whole or complete_momentum(tree, state, scheme, works, room, out))


@large_kernel
def complete_momentum(tree, state, scheme, works, room, out):
    """A and A^-1 of a deep tree, after ``begin_step``; returns whether A is positive definite."""
    good = stiff_rows(tree, state, scheme, out[0], works[1], room)
    finish(tree, works[1], out)
    return good


@large_kernel
def complete_frames(tree, frames, v, works, frames_out):
    """S of the frames of a deep tree, after ``begin_step`` of a scheme with contacts at the start."""
    _, pose_out, velocity_out, twist_out = frames_out
    _frames(tree, frames, works[0], v, pose_out, velocity_out, twist_out)


@kernel
def _pass(tree, q, v, guess, scheme, work, room, v_out):
    """Rows of A, their factors and v_free, linearised where a guess (nv,) of the unknown velocities leads."""
    h, at_end, _, gain = scheme
    q_at, twist, push, diagonal, _, between, stiff = room
    if at_end:
        advance_tree(tree, q, guess, h, q_at)
        return momentum_at(tree, q_at, twist, push, diagonal, v, guess, h, stiff[0] > 0.0, work, v_out)
    for k in range(v.shape[0]):
        between[k] = guess[k] if gain > 1.0 else 0.5 * (v[k] + guess[k])
    advance_tree(tree, q, between, 0.5 * h, q_at)
    return momentum_between(tree, q_at, between, push, diagonal, v, h, gain, work, v_out)


@kernel
def add_link_forces(tree, work, link_force, push_out):
    """Add forces on links (nl, 6) at their centres of mass to generalised ones (nv,)."""
    for i in range(tree.links.shape[0]):
        f = (link_force[i, 0], link_force[i, 1], link_force[i, 2])
        t = (link_force[i, 3], link_force[i, 4], link_force[i, 5])
        if norm(f) + norm(t) > 0.0:
            point_force(tree, work, i, link_centre(tree, work, i), f, t, push_out)


@kernel
def _frames(tree, frame_link, work, v, pose_out, velocity_out, twist_out):
    """As link_frames, with twist_out zeroed before."""
    for e in range(twist_out.shape[0]):
        twist_out[e] = 0.0
    link_frames(tree, frame_link, work, v, pose_out, velocity_out, twist_out)


@kernel
def frames_at(tree, frame_link, q, v, work, pose_out, velocity_out, twist_out):
    """Poses, twists and S of frames at coordinates q and velocities v."""
    place_links(tree, q, work)
    _frames(tree, frame_link, work, v, pose_out, velocity_out, twist_out)


@kernel
def momentum_led(tree, state, scheme, own, works, room, out):
    """A, A^-1 and v_free linearised where unknown velocities ``own`` (nv,) lead; after ``begin_step``."""
    q, v = state
    good = _pass(tree, q, v, own, scheme, works[1], room, out[0])
    finish(tree, works[1], out)
    return good
