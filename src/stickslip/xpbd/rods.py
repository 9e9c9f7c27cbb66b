"""Sections of rods under position-based dynamics: what xpbd/joints.py does, made fast for long cables.

The six strains of a section (docs/rods.md) are solved together. With the turn r = (w, x) from one link to the other and
phi = f x its rotation vector, no angle function but one is needed: tan(|phi| / 4) = |x| / (1 + w).

Damping is a pass of its own over velocities, as [muller2020] has it: within the pass over positions a section
sees its neighbours half pushed, and damping, which is much stiffer than the spring over a substep, would take that
for motion; a cable at rest would pull with a fraction of its tension.
"""

from __future__ import annotations

from math import atan2, sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, Ints
from stickslip.jit import kernel
from stickslip.linalg.small_solve import solve_small
from stickslip.linalg.vec3 import (
    add,
    axpy,
    column,
    cross,
    dot,
    mat_vec,
    quat_integrate,
    quat_matrix,
    quat_multiply,
    sub,
)
from stickslip.model.joint_tables import JointTables
from stickslip.scene.joint import JOINT_KINDS

NONE = (0.0, 0.0, 0.0)


class Sections(NamedTuple):
    """ns sections."""

    body: Ints
    """(ns, 2) a and b, or -1 for the world."""
    place: Array
    """(ns, 14) anchor (3,) and frame (4,) of a, then of b."""
    rest: Array
    """(ns, 6) [m, rad] strains at rest, times length."""
    stiffness: Array
    """(ns, 6) [N/m, N m/rad]"""
    damping: Array
    """(ns, 6) [N s/m, N m s/rad]"""
    row: Ints
    """(ns,) first row of each among those of the model."""
    J: Array
    """(ns, 6, 12) rows where the last pass over positions has found them: linear and angular of a, then of b."""


def at_links(tables: JointTables, link: Ints) -> Bools:
    """(nj,) which joints are at links of trees, which are rare for rods and left to xpbd/joints.py; link (nb,)."""
    sides = np.stack([tables.body_a, tables.body_b])
    found = (sides >= 0) & (np.append(link, -1)[sides] >= 0)
    return np.asarray(found.any(axis=0))


def sections_of(tables: JointTables, broken: Bools, link: Ints) -> Sections:
    """The sections between bodies of all rods that are not broken (nj,); link (nb,)."""
    owner = tables.block_joint
    rod = (tables.kind[owner] == JOINT_KINDS.index("rod")) & ~broken[owner]
    rod = np.flatnonzero(rod & ~at_links(tables, link)[owner])
    joint, first = owner[rod], tables.block_start[rod]
    rows = first[:, None] + np.arange(6)
    place = [tables.anchor_a[joint], tables.frame_a[joint], tables.anchor_b[joint], tables.frame_b[joint]]
    return Sections(
        np.stack([tables.body_a[joint], tables.body_b[joint]], axis=1),
        np.concatenate(place, axis=1).reshape(-1, 14),
        tables.row_offset[rows],
        tables.row_stiffness[rows],
        tables.row_damping[rows],
        first.astype(np.int32),
        np.zeros((len(rod), 6, 12)),
    )


@kernel
def _placed(place, k, at, rotation, centre):
    """Arm, point and frame of one side of section k; ``at`` is where its columns begin."""
    local = (place[k, at], place[k, at + 1], place[k, at + 2])
    frame = (place[k, at + 3], place[k, at + 4], place[k, at + 5], place[k, at + 6])
    arm = mat_vec(quat_matrix(rotation), local)
    return arm, add(arm, centre), quat_multiply(rotation, frame)


@kernel
def _write(J, k, row, e, moment_a, moment_b):
    """Row of J with the direction e and the moments on both bodies."""
    for t in range(3):
        J[k, row, t] = -e[t]
        J[k, row, 3 + t] = -moment_a[t]
        J[k, row, 6 + t] = e[t]
        J[k, row, 9 + t] = moment_b[t]


@kernel
def _strains(J, k, arm_a, point_a, ra, arm_b, point_b, rb):
    """The six strains of section k, times length; their rows are written to J."""
    d = sub(point_b, point_a)
    r = quat_multiply((ra[0], -ra[1], -ra[2], -ra[3]), rb)
    sign = 1.0 if r[0] >= 0.0 else -1.0
    w, x = sign * r[0], (sign * r[1], sign * r[2], sign * r[3])
    s2 = dot(x, x)
    s = sqrt(s2)
    f = 2.0 + s2 * (1.0 / 3.0 + 0.15 * s2) if s < 1e-3 else 2.0 * atan2(s, w) / s
    phi = (f * x[0], f * x[1], f * x[2])
    angle2 = f * f * s2
    Ra = quat_matrix(ra)
    turn = mat_vec(Ra, phi)
    # halfway between the two frames
    c = sqrt(0.5 * (1.0 + w))
    E = quat_matrix(quat_multiply(ra, (c, 0.5 * x[0] / c, 0.5 * x[1] / c, 0.5 * x[2] / c)))
    half = 0.5 / (f * (1.0 + w))
    bend = 1.0 / 12.0 + angle2 / 720.0 if s < 1e-3 else (1.0 - 0.5 * f * w) / angle2
    reach = add(arm_a, d)
    for i in range(3):
        e = column(E, i)
        m = cross(e, d)
        g = axpy(-half, cross(m, turn), (0.5 * m[0], 0.5 * m[1], 0.5 * m[2]))
        _write(J, k, i, e, add(cross(reach, e), g), add(cross(arm_b, e), g))
        u = column(Ra, i)
        across = cross(turn, u)
        g = axpy(bend, cross(turn, across), axpy(0.5, across, u))
        _write(J, k, 3 + i, NONE, g, g)
    return dot(column(E, 0), d), dot(column(E, 1), d), dot(column(E, 2), d), phi[0], phi[1], phi[2]


@kernel
def push_sections(mass, mobility, q, sections, s, response, K, p, impulse_out):
    """One pass over all sections; response (6, 12), K (36,), p (6,) are scratch.

    Bodies have mass (nb,), mobility (nb, 9) and q (nb, 7), which moves; impulses are added to ``impulse_out`` (k,).
    """
    body, place, rest, stiffness = sections.body, sections.place, sections.rest, sections.stiffness
    first, J = sections.row, sections.J
    for k in range(first.shape[0]):
        a, b = body[k, 0], body[k, 1]
        ra, xa, rb, xb = (1.0, 0.0, 0.0, 0.0), NONE, (1.0, 0.0, 0.0, 0.0), NONE
        if a >= 0:
            ra, xa = (q[a, 3], q[a, 4], q[a, 5], q[a, 6]), (q[a, 0], q[a, 1], q[a, 2])
        if b >= 0:
            rb, xb = (q[b, 3], q[b, 4], q[b, 5], q[b, 6]), (q[b, 0], q[b, 1], q[b, 2])
        arm_a, point_a, frame_a = _placed(place, k, 0, ra, xa)
        arm_b, point_b, frame_b = _placed(place, k, 7, rb, xb)
        strain = _strains(J, k, arm_a, point_a, frame_a, arm_b, point_b, frame_b)
        for i in range(6):
            p[i] = rest[k, i] - strain[i]
        for side in range(2):
            n, at = (a, 0) if side == 0 else (b, 6)
            if n < 0 or mass[n] == 0.0:
                for i in range(6):
                    for t in range(6):
                        response[i, at + t] = 0.0
                continue
            light = 1.0 / mass[n]
            for i in range(6):
                x, y, z = J[k, i, at + 3], J[k, i, at + 4], J[k, i, at + 5]
                for t in range(3):
                    response[i, at + t] = light * J[k, i, at + t]
                    response[i, at + 3 + t] = (
                        mobility[n, 3 * t] * x + mobility[n, 3 * t + 1] * y + mobility[n, 3 * t + 2] * z
                    )
        for i in range(6):
            for j in range(i + 1):
                total = 0.0
                for t in range(12):
                    total += J[k, i, t] * response[j, t]
                K[6 * i + j] = total
            K[7 * i] += 1.0 / (s * s * stiffness[k, i])
        solve_small(6, K, p)
        for i in range(6):
            impulse_out[first[k] + i] += p[i] / s
        for side in range(2):
            n, at = (a, 0) if side == 0 else (b, 6)
            if n < 0 or mass[n] == 0.0:
                continue
            for t in range(3):
                way = 0.0
                for i in range(6):
                    way += p[i] * response[i, at + t]
                q[n, t] += way
            x, y, z = 0.0, 0.0, 0.0
            for i in range(6):
                x += p[i] * response[i, at + 3]
                y += p[i] * response[i, at + 4]
                z += p[i] * response[i, at + 5]
            r = quat_integrate((q[n, 3], q[n, 4], q[n, 5], q[n, 6]), (x, y, z), 1.0)
            q[n, 3], q[n, 4], q[n, 5], q[n, 6] = r[0], r[1], r[2], r[3]


@kernel
def damp_sections(mass, mobility, v, sections, s, impulse_out):
    """One pass of damping over velocities v (nb, 6), row by row: (J M^-1 J^T + 1 / (s d)) p = -J v."""
    body, damping, first, J = sections.body, sections.damping, sections.row, sections.J
    for k in range(first.shape[0]):
        a, b = body[k, 0], body[k, 1]
        for i in range(6):
            d = damping[k, i]
            if d == 0.0:
                continue
            u, K = 0.0, 1.0 / (s * d)
            for side in range(2):
                n, at = (a, 0) if side == 0 else (b, 6)
                if n < 0:
                    continue
                for t in range(6):
                    u += J[k, i, at + t] * v[n, t]
                if mass[n] == 0.0:
                    continue
                x, y, z = J[k, i, at + 3], J[k, i, at + 4], J[k, i, at + 5]
                for t in range(3):
                    K += J[k, i, at + t] * J[k, i, at + t] / mass[n]
                    K += J[k, i, at + 3 + t] * (
                        mobility[n, 3 * t] * x + mobility[n, 3 * t + 1] * y + mobility[n, 3 * t + 2] * z
                    )
            p = -u / K
            impulse_out[first[k] + i] += p
            for side in range(2):
                n, at = (a, 0) if side == 0 else (b, 6)
                if n < 0 or mass[n] == 0.0:
                    continue
                x, y, z = J[k, i, at + 3], J[k, i, at + 4], J[k, i, at + 5]
                for t in range(3):
                    v[n, t] += p * J[k, i, at + t] / mass[n]
                    v[n, 3 + t] += p * (
                        mobility[n, 3 * t] * x + mobility[n, 3 * t + 1] * y + mobility[n, 3 * t + 2] * z
                    )
