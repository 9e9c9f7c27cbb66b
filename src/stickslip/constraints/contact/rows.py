"""The rows of contacts in the problem of a step: J and bias."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.bodies.rigid.points import body_rows
from stickslip.bodies.soft.plane_strain import project_rows
from stickslip.bodies.soft.points import node_rows
from stickslip.collision.arrays import gap_in, three_in, two_in
from stickslip.collision.contacts import Contacts
from stickslip.constraints.contact.mean_velocity import mean_gap_bias
from stickslip.constraints.contact.springs import closing_speed, normal_compliances
from stickslip.contact.block_laws import Laws, friction_sets
from stickslip.geometry.rigid_motion import point_velocity
from stickslip.jit import kernel, plain_kernel, view_at
from stickslip.linalg.block_rows import BlockRows, apply_contacts
from stickslip.linalg.vec3 import axpy, cross, dot, load3, sub
from stickslip.model.model import Model
from stickslip.model.stepping import Stepping


class Sides(NamedTuple):
    """Where nc contacts are, and of what; as in Contacts."""

    body_a: Ints
    body_b: Ints
    point: Array
    normal: Array
    tangent: Array


class GapNumbers(NamedTuple):
    """What gaps and impacts read of the options of a step (model/stepping.py)."""

    h: float
    horizon: float
    slop: float
    recovery: float
    fastest: float
    """[m/s] with which overlaps are removed at most."""
    least: float
    """[m/s] of approach above which contacts bounce."""
    means: bool
    """Whether the unknowns are mean velocities."""


class FirstRows(NamedTuple):
    """Rows (m,) of contacts between rigid bodies where they were found, at the start of a step."""

    J: BlockRows
    bias: Array
    """[m/s]"""
    prescribed: Array
    """[m/s] the part of the bias that is the velocity of bodies with prescribed motion."""
    gap_bias: Array
    """[m/s] the part that gaps and impacts make."""
    before: Array
    """[m/s] J v + bias at the velocities before the step."""
    laws: Laws


class RowParts(NamedTuple):
    """Parts of the two flat arrays of ``first_rows``, for nc contacts of ``height`` rows."""

    row_start: Ints
    entry_start: Ints
    column: Ints
    """(2 nc,) of which the first ones are entries, as those of the next two."""
    data_start: Ints
    data: Array
    """(2 nc, height, 6)"""
    carried: Array
    """(nc, height) [m/s], as the next three and as in FirstRows."""
    gaps: Array
    bias: Array
    before: Array
    law: Ints
    friction_set: Ints
    compliance: Array
    """(height nc,)"""
    bound: Array
    """(height nc,) zero: contacts have none."""
    unknown: Array
    """(nm, 6) velocities of the frames that move."""


FULL = -1
"""What ``fill_rows`` returns that has no room."""


@plain_kernel
def row_room(count, height, moving):
    """Integers and reals of the rows of so many contacts, where so many frames move."""
    return 8 * count + 3, 18 * height * count + 6 * moving


@plain_kernel
def rows_in(ints, reals, n, height, moving):
    """The parts of the arrays of ``first_rows``."""
    a, m = 12 * height * n, height * n
    four = view_at(reals, a, (4, n, height))
    return RowParts(
        ints[: n + 1], ints[n + 1 : 2 * n + 2], ints[2 * n + 2 : 4 * n + 2], ints[4 * n + 2 : 6 * n + 3],
        view_at(reals, 0, (2 * n, height, 6)), four[0], four[1], four[2], four[3],
        ints[6 * n + 3 : 7 * n + 3], ints[7 * n + 3 : 8 * n + 3], reals[a + 4 * m : a + 5 * m],
        reals[a + 5 * m : a + 6 * m], view_at(reals, a + 6 * m, (moving, 6)),
    )  # fmt: skip


def contact_jacobian(
    model: Model, contacts: Contacts, q: Array, point: Array | None = None, rows: int | None = None
) -> BlockRows:
    """J of the contacts, rows (normal, t1, t2[, torsion]), [erleben2017] eq. (52)-(57), bodies at q (nb, 7).

    Columns are those of the dynamic bodies; where sides are soft, free nodes follow, with barycentric weights.
    ``point`` (nc, 3): where the contacts are by now; ``rows`` of a contact, if not those of the model.
    """
    at = contacts.point if point is None else point
    height = contact_height(model, contacts) if rows is None else rows
    count, most, size = len(contacts.key), *((2, 12 * height) if contacts.nodes is None else (6, 54))
    entry_start, column = np.empty(count + 1, np.int32), np.empty(most * count, np.int32)
    data_start, data = np.empty(most * count + 1, np.int32), np.empty(size * count)
    entries = _contact_jacobian(
        _sides(contacts, at), contacts.nodes, q, model.block, model.soft.block, len(model.moving), height, entry_start,
        column, data_start, data,
    )  # fmt: skip
    J = BlockRows(
        row_start=height * np.arange(count + 1, dtype=np.int32),
        entry_start=entry_start,
        entry_column=column[:entries],
        data_start=data_start[: entries + 1],
        data=data[: data_start[entries]],
        column_start=model.frame_columns if contacts.nodes is None else model.columns,
    )
    return project_rows(model, J) if contacts.nodes is not None and len(model.soft.plane_nodes) else J


def contact_height(model: Model, contacts: Contacts) -> int:
    """Rows of each contact; soft bodies have no torsion."""
    return model.contact_rows if contacts.nodes is None else 3


def contact_velocities(
    model: Model,
    contacts: Contacts,
    q: Array,
    v: Array,
    node_velocity: Array | None = None,
    prescribed_only: bool = False,
    point: Array | None = None,
    rows: int | None = None,
) -> Array:
    """Relative velocity (rows nc,) [m/s] of b to a in the contact frames, under v (nb, 6) and node_velocity (nn, 3).

    ``prescribed_only``: the part of what has no unknowns; ``point`` and ``rows`` as for contact_jacobian.
    """
    at = contacts.point if point is None else point
    u = np.zeros((len(contacts.key), contact_height(model, contacts) if rows is None else rows))
    _contact_velocities(
        _sides(contacts, at), contacts.nodes, q, v, node_velocity, model.block, model.soft.block, prescribed_only, u
    )
    return u.ravel()


def gap_bias(
    gap: Array,
    restitution: Array,
    u_before: Array,
    stepping: Stepping,
    compliance: Array | None = None,
) -> Array:
    """Part of the bias (rows nc,) [m/s] that gaps and impacts make; u_before (rows nc,) velocities before the step.

    An open contact may close its gap within the horizon. An overlap is removed by the share ``recovery`` a step,
    not faster than ``recovery_speed``. A contact that hits within the horizon, faster than ``restitution_speed``,
    leaves with e times its approach velocity, normal and tangential ([erleben2017] eq. 14). Gaps within ``slop``
    count as zero: a face that rests on four corners has gaps that differ by rounding, and a problem that took them
    for real would let it stand on three. Where the unknowns are mean velocities, see mean_velocity.py. Springs
    know nothing of all that: where ``compliance`` (nc, 2) is above zero, see constraints/contact/springs.py.
    """
    before = u_before.reshape(len(gap), -1) if len(gap) else np.zeros((0, 3))
    bias = np.empty_like(before)
    _gap_bias(gap, restitution, compliance, before, gap_numbers(stepping), bias)
    return bias.ravel()


def first_rows(model: Model, contacts: Contacts, q: Array, v: Array, stepping: Stepping) -> FirstRows:
    """Rows of contacts between rigid bodies at q (nb, 7) with velocities v (nb, 6) before the step.

    The same as by the functions above, one after the other. Arrays are parts of two, which are new: steps keep them.
    """
    count, height, moving = len(contacts.key), model.contact_rows, model.moving
    int_count, real_count = row_room(count, height, len(moving))
    ints, reals, numbers = np.empty(int_count, np.int32), np.empty(real_count), gap_numbers(stepping)
    parts = rows_in(ints, reals, count, height, len(moving))
    entries = fill_rows(*contacts.flat, q, v, model.block, moving, height, numbers, ints, reals)
    data = reals[: 6 * height * entries]
    J = BlockRows(
        parts.row_start, parts.entry_start, parts.column[:entries], parts.data_start[: entries + 1], data,
        model.frame_columns,
    )  # fmt: skip
    m = height * count
    a = 12 * m
    laws = Laws(parts.law, parts.friction_set, contacts.friction, parts.compliance, parts.bound)
    return FirstRows(
        J, reals[a + 2 * m : a + 3 * m], reals[a : a + m], reals[a + m : a + 2 * m], reals[a + 3 * m : a + 4 * m], laws
    )


def _sides(contacts: Contacts, point: Array) -> Sides:
    """The contacts, at points (nc, 3)."""
    return Sides(contacts.body_a, contacts.body_b, point, contacts.normal, contacts.tangent)


def gap_numbers(stepping: Stepping) -> GapNumbers:
    """What ``_gap_bias`` reads of the options."""
    # post-stabilisation moves overlapping bodies apart without giving them a velocity
    pushes = stepping.stabilisation == 0 and stepping.overlaps == "pushed"
    recovery = stepping.recovery if pushes else 0.0
    return GapNumbers(
        stepping.dt, stepping.horizon, stepping.slop, recovery, stepping.recovery_speed, stepping.restitution_speed,
        stepping.rule.mean_velocities,
    )  # fmt: skip


@kernel
def fill_rows(index, surfaces, q, v, block, moving, height, numbers, ints_out, reals_out):
    """Rows of contacts in the order of RowParts: J, the parts of the bias and their sum, J v + bias, laws.

    index (4, nc), surfaces (17 nc,): Contacts.flat; block, moving: those of the model. Returns the entries of J, or
    FULL where ``row_room`` says more than there is.
    """
    n = index.shape[1]
    int_count, real_count = row_room(n, height, moving.shape[0])
    if ints_out.shape[0] < int_count or reals_out.shape[0] < real_count:
        return FULL
    out = rows_in(ints_out, reals_out, n, height, moving.shape[0])
    three, two, gap = three_in(surfaces, n), two_in(surfaces, n), gap_in(surfaces, n)
    sides = Sides(index[2], index[3], three[0], three[1], three[2])
    for c in range(n + 1):
        out.row_start[c] = height * c
    for b in range(moving.shape[0]):
        for k in range(6):
            out.unknown[b, k] = v[moving[b], k]
    entries = _contact_jacobian(
        sides, None, q, block, block, moving.shape[0], height, out.entry_start, out.column, out.data_start,
        out.data.reshape(-1),
    )  # fmt: skip
    out.carried[:] = 0.0
    out.before[:] = 0.0
    _contact_velocities(sides, None, q, v, None, block, block, True, out.carried)
    apply_contacts(out.entry_start, out.column, out.data, out.unknown, out.before)
    for c in range(n):
        for k in range(height):
            out.bias[c, k] = out.before[c, k] + out.carried[c, k]
    _gap_bias(gap, two[0], two[1], out.bias, numbers, out.gaps)
    for c in range(n):
        for k in range(height):
            out.bias[c, k] = out.carried[c, k] + out.gaps[c, k]
            out.before[c, k] += out.bias[c, k]
    friction_sets(three[3], out.law, out.friction_set)
    out.compliance[:] = 0.0
    out.bound[:] = 0.0
    for c in range(n):
        if two[1][c, 0] > 0.0:
            normal_compliances(two[1], numbers.h, numbers.horizon, height, out.compliance)
            break
    return entries


@kernel
def _gap_bias(gap, restitution, compliance, before, numbers, bias_out):
    """See ``gap_bias``; before, bias_out (nc, rows), ``compliance`` None or (nc, 2), ``numbers``: GapNumbers."""
    h, horizon, slop, recovery, fastest, least, means = numbers
    if means:
        mean_gap_bias(gap, restitution, before, h, slop, recovery, fastest, least, bias_out)
    for c in range(gap.shape[0]):
        if compliance is not None and compliance[c, 0] > 0.0:
            bias_out[c] = 0.0
            bias_out[c, 0] = closing_speed(gap[c], compliance[c, 1], horizon)
        elif not means:
            speed = before[c, 0]
            push = max(recovery * min(gap[c] + slop, 0.0) / h, -fastest)
            closing = max(gap[c] - slop, 0.0) / horizon + push
            hits = speed < -least and gap[c] <= -speed * horizon
            impact = restitution[c, 0] * speed
            bias_out[c, 0] = min(closing, impact) if hits and impact < 0.0 else closing
            back = restitution[c, 1] if hits else 0.0
            for k in range(1, before.shape[1]):
                bias_out[c, k] = back * before[c, k]


@kernel
def _contact_jacobian(
    sides, nodes, q, block, node_block, rigid, rows, entry_start_out, column_out, data_start_out, data_out
):  # fmt: skip
    """Entries of every contact, those of a first, without what has no unknowns; returns how many there are.

    ``nodes`` is None or a SideNodes: an argument of its own, so that the compiler sees which.
    """
    body_a, body_b, point, normal, tangent = sides
    e, at = 0, 0
    entry_start_out[0], data_start_out[0] = 0, 0
    for c in range(body_a.shape[0]):
        n, t1 = load3(normal, c), load3(tangent, c)
        frame = (n, t1, cross(n, t1))
        for side in range(2):
            sign = -1.0 if side == 0 else 1.0
            i = body_a[c] if side == 0 else body_b[c]
            if nodes is not None:
                own = nodes.node_a if side == 0 else nodes.node_b
                weight = nodes.weight_a if side == 0 else nodes.weight_b
                if own[c, 0] >= 0:
                    for k in range(3):
                        if own[c, k] >= 0 and node_block[own[c, k]] >= 0:
                            at = node_rows(data_out, at, sign * weight[c, k], frame)
                            column_out[e] = rigid + node_block[own[c, k]]
                            e += 1
                            data_start_out[e] = at
                    continue
            if block[i] >= 0:
                at = body_rows(data_out, at, sign, frame, sub(load3(point, c), load3(q, i)), rows)
                column_out[e] = block[i]
                e += 1
                data_start_out[e] = at
        entry_start_out[c + 1] = e
    return e


@kernel
def _contact_velocities(sides, nodes, q, v, node_velocity, block, node_block, prescribed_only, u_out):
    """Velocity of b minus velocity of a in the contact frame."""
    body_a, body_b, point, normal, tangent = sides
    for c in range(body_a.shape[0]):
        x = load3(point, c)
        u, spin, moves = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), False
        for side in range(2):
            sign = -1.0 if side == 0 else 1.0
            i = body_a[c] if side == 0 else body_b[c]
            if nodes is not None:
                own = nodes.node_a if side == 0 else nodes.node_b
                weight = nodes.weight_a if side == 0 else nodes.weight_b
                if own[c, 0] >= 0:
                    for k in range(3):
                        if own[c, k] >= 0 and not (prescribed_only and node_block[own[c, k]] >= 0):
                            u = axpy(sign * weight[c, k], load3(node_velocity, own[c, k]), u)
                            moves = True
                    continue
            if prescribed_only and block[i] >= 0:
                continue
            u = axpy(sign, point_velocity(q, v, i, x), u)
            spin = axpy(sign, (v[i, 3], v[i, 4], v[i, 5]), spin)
            moves = True
        if not moves:
            continue
        n, t1 = load3(normal, c), load3(tangent, c)
        u_out[c, 0] = dot(n, u)
        u_out[c, 1] = dot(t1, u)
        u_out[c, 2] = dot(cross(n, t1), u)
        if u_out.shape[1] > 3:
            u_out[c, 3] = dot(n, spin)
