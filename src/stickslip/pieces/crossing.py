"""Whether fast bodies have gone through each other within a step, which linearised contacts cannot always prevent.

Where two convex shapes are apart, the plane through their closest points, across the normal of their contact, separates
them. Moved along with either of the two, it must still do so at the end of the step, up to a share of their thickness:
a body that was turned so far that it swings through a wall is on the wrong side of both planes. Meshes have no such
planes; there no corner, and of another mesh none of its outermost points, may go through their surface.

Only pairs that move by more than that share are looked at, so that ordinary steps pay a few comparisons.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.certify.status import MOST_TURN
from stickslip.collision.contacts import Contacts
from stickslip.collision.lookahead import Found
from stickslip.collision.reach import Approach, common_velocity, relative_speeds, speeds
from stickslip.collision.rigid_contacts import find_contacts
from stickslip.geometry.shapes import HALF_SPACE, MESH
from stickslip.jit import kernel
from stickslip.linalg.vec3 import (
    add,
    axpy,
    cross,
    dot,
    load3,
    mat_t_vec,
    mat_vec,
    quat_matrix,
    quat_multiply,
    sub,
)
from stickslip.model.model import Model
from stickslip.model.stepping import Stepping
from stickslip.workspace import Workspace

SHARE = 0.25
"""Of the thinner shape of a pair: how deep one may get into the other in a step before its contacts mean nothing."""
CREEP = 0.05
"""Of the same: by how much an overlap that is deeper already may grow in a step."""


class Watched(NamedTuple):
    """nc contacts of pairs that could pass through each other."""

    shape_a: Ints
    shape_b: Ints
    with_mesh: Bools
    """(nc,) whether one of them is a mesh, and the other one no half-space."""
    allowed: Array
    """(nc,) [m] how deep they may be in each other after the step."""


class Meshed(NamedTuple):
    """ns shapes, as in Model."""

    body: Ints
    position: Array
    rotation: Array
    mesh: Ints
    type: Ints


def allowed_depth(thickness: Array, began: Array) -> Array:
    """How deep shapes may be in each other [m] after a step; who was deeper already may hardly get any deeper.

    thickness [m] of the thinner one, began [m]: how deep they were.
    """
    return np.maximum(SHARE * thickness, began + CREEP * thickness)


def is_slow(model: Model, v: Array, v_end: Array, h: float) -> bool:
    """Whether no body can go too far in a step of h with velocities v before and v_end (nb, 6) after it."""
    way, turn = _longest(model.lever, v, v_end, h)
    return turn <= MOST_TURN and 2.0 * way <= SHARE * model.shape_points.thinnest


def watched_contacts(
    model: Model,
    q: Array,
    way: Array,
    way_end: Array,
    found: Found | None,
    options: Stepping,
    ignored: LongInts,
    workspace: Workspace | None = None,
) -> Contacts | None:
    """Contacts at the start q (nb, 7) of a step of pairs that could pass through each other in it; None where none can.

    way, way_end (nb, 6) [m, rad]: displacements of bodies with their velocities before and after the step.
    ``found``: what the step found at q; where a body moved further than the step looked, they are sought here.
    """
    if not len(model.moving):
        return None
    thinnest, thickness = model.shape_points.thinnest, model.shape_points.thickness
    length, length_end = (speeds(model, each, common_velocity(model, each)) for each in (way, way_end))
    longest = np.maximum(length, length_end)
    contacts, reach = (None, None) if found is None or found.reach is None else (found.near, found.reach)
    if reach is None and longest.max() <= thinnest:
        return None  # what overlaps now is seen in the next step
    further = np.ones(model.body_count, dtype=bool) if reach is None else length_end > reach
    if contacts is None or further.any():
        margin = options.margin_under(model.gravity_norm)
        approach = Approach(way, way_end, np.zeros(model.body_count), 1.0, margin)
        contacts = find_contacts(model, q, longest + 0.5 * margin, contacts, further, approach, ignored, workspace)
    relative = relative_speeds(model, way, way_end, contacts.body_a, contacts.body_b)
    fast = np.flatnonzero(relative > SHARE * np.minimum(thickness[contacts.shape_a], thickness[contacts.shape_b]))
    return contacts.take(fast) if len(fast) else None


def crossings(
    model: Model,
    contacts: Contacts,
    q: Array,
    q_end: Array,
    turn: Array,
) -> Array:
    """How far (nc,) shapes are beyond the planes that separated them at q, at q_end (nb, 7).

    As a share of what they may be: above 1 they have gone too far. Planes turn with a body that turns by less than
    MOST_TURN, turn (nb,) [rad]: those of one that spins would say nothing.
    """
    tables = model.shape_points
    thickness = np.minimum(tables.thickness[contacts.shape_a], tables.thickness[contacts.shape_b])
    allowed = allowed_depth(thickness, -contacts.gap)
    share = np.empty(len(contacts))
    types = model.shape_type[contacts.shape_a], model.shape_type[contacts.shape_b]
    with_mesh = (types[0] == MESH) | (types[1] == MESH)
    # the plane of a half-space is that of all its contacts; meshes in a heap overlap in places
    on_plane = with_mesh & ((types[0] == HALF_SPACE) | (types[1] == HALF_SPACE))
    allowed[on_plane] = np.maximum(allowed, 2.0 * thickness)[on_plane]
    with_mesh &= ~on_plane
    pairs = Watched(contacts.shape_a, contacts.shape_b, with_mesh, allowed)
    _crossing(
        pairs, contacts.point, contacts.normal, contacts.gap, model.shape_body, tables, q, q_end, turn <= MOST_TURN,
        share,
    )  # fmt: skip
    if with_mesh.any():  # nothing to compile for without
        own = Meshed(model.shape_body, model.shape_position, model.shape_rotation, model.shape_mesh, model.shape_type)
        _piercing(pairs, own, tables, model.meshes, q, q_end, share)
    return share


def entering(model: Model, shape: int, p: Array, end: Array, allowed: float) -> Bools:
    """Which of the segments from p to end (k, 3), as seen from a mesh, lead deeper into it than allowed [m]."""
    found = np.zeros(len(p), dtype=np.bool_)
    _entering(p, end, allowed, model.meshes, model.shape_mesh[shape], found)
    return found


@kernel
def _carried(q, q_end, i, turns, direction):
    """A world direction, or one from the centre of body i, that turns with it from q to q_end where that is asked."""
    if not turns:
        return direction
    before = quat_matrix((q[i, 3], q[i, 4], q[i, 5], q[i, 6]))
    after = quat_matrix((q_end[i, 3], q_end[i, 4], q_end[i, 5], q_end[i, 6]))
    return mat_vec(after, mat_t_vec(before, direction))


@kernel
def _longest(lever, v, v_end, h):
    """Largest displacement [m] of any surface, largest turn [rad] of any body in h, with either of two velocities."""
    way, turn = 0.0, 0.0
    for i in range(lever.shape[0]):
        for k in range(2):
            w = v if k == 0 else v_end
            spin = sqrt(w[i, 3] ** 2 + w[i, 4] ** 2 + w[i, 5] ** 2)
            way = max(way, h * (sqrt(w[i, 0] ** 2 + w[i, 1] ** 2 + w[i, 2] ** 2) + lever[i] * spin))
            if lever[i] > 0.0:
                turn = max(turn, h * spin)
    return way, turn


@kernel
def _moved(q, i, local):
    """A point of body i in the world."""
    return add(load3(q, i), mat_vec(quat_matrix((q[i, 3], q[i, 4], q[i, 5], q[i, 6])), local))


@kernel
def _height(q, i, local, n, plane):
    """Height of a point of body i above a plane."""
    return dot(n, sub(_moved(q, i, local), plane))


@kernel
def _beyond(s, sign, plane, n, shape_body, tables, q):
    """How far shape s is beyond a plane; sign: its own side along n. Infinite for half-spaces."""
    start, points, radius = tables.start, tables.points, tables.radius
    if start[s] == start[s + 1]:
        return np.inf
    i = shape_body[s]
    deepest = 0.0
    for k in range(start[s], start[s + 1]):
        deepest = max(deepest, radius[s] - sign * _height(q, i, load3(points, k), n, plane))
    return deepest


@kernel
def _crossing(pairs, point, normal, gap, shape_body, tables, q, q_end, turns, share_out):
    """Smaller of how far b is beyond the plane that moves with a, and a beyond the one that moves with b."""
    shape_a, shape_b, with_mesh, allowed = pairs
    for c in range(shape_a.shape[0]):
        share_out[c] = 0.0
        if with_mesh[c]:
            continue
        n, p = load3(normal, c), load3(point, c)
        least = np.inf
        for side in range(2):
            sign = 1.0 if side == 0 else -1.0
            i = shape_body[shape_a[c]] if side == 0 else shape_body[shape_b[c]]  # the plane moves with it
            other = shape_b[c] if side == 0 else shape_a[c]
            plane = axpy(-0.5 * sign * gap[c], n, p)  # on the surface of i
            n_end = _carried(q, q_end, i, turns[i], n)
            plane_end = add(load3(q_end, i), _carried(q, q_end, i, turns[i], sub(plane, load3(q, i))))
            least = min(least, _beyond(other, sign, plane_end, n_end, shape_body, tables, q_end))
        share_out[c] = least / allowed[c]


@kernel
def _seen_from(q, i, position, rotation, x):
    """A world point in the frame of a shape of body i."""
    own = quat_multiply((q[i, 3], q[i, 4], q[i, 5], q[i, 6]), rotation)
    R = quat_matrix((q[i, 3], q[i, 4], q[i, 5], q[i, 6]))
    origin = add(load3(q, i), mat_vec(R, position))
    return mat_t_vec(quat_matrix(own), sub(x, origin))


@kernel
def _enters(p, end, radius, shallow, deep, meshes, m):
    """Whether a ball that moves from p to end gets deeper than ``deep`` into mesh m through one of its triangles, in
    front of which, or no deeper than ``shallow`` behind which, it began."""
    for k in range(3):  # it must get into the box about the mesh, and that deep
        low, high = min(p[k], end[k]) - radius + deep, max(p[k], end[k]) + radius - deep
        if high < meshes.frames[m, k] or low > meshes.frames[m, 3 + k]:
            return False
    d = sub(end, p)
    for t in range(meshes.starts[m, 1], meshes.starts[m + 1, 1]):
        n = load3(meshes.normals, t)
        into = dot(n, d)
        if into >= 0.0:
            continue
        height = dot(n, sub(p, load3(meshes.vertices, meshes.triangles[t, 0]))) - radius
        # the point of the ball that gets there first
        if height < -shallow or height + into > -deep:
            continue
        x = axpy(-radius, n, axpy(min(1.0, max(0.0, -height / into)), d, p))
        within = True
        for k in range(3):
            tail = load3(meshes.vertices, meshes.triangles[t, k])
            head = load3(meshes.vertices, meshes.triangles[t, (k + 1) % 3])
            within = within and dot(n, cross(sub(head, tail), sub(x, tail))) >= 0.0
        if within:
            return True
    return False


@kernel
def _entering(p, end, allowed, meshes, m, found_out):
    """_enters for several points."""
    for k in range(p.shape[0]):
        found_out[k] = _enters(load3(p, k), load3(end, k), 0.0, allowed, allowed, meshes, m)


@kernel
def _piercing(pairs, shapes, tables, meshes, q, q_end, share_out):
    """Infinite where points of one shape have got into the mesh of the other."""
    shape_a, shape_b, with_mesh, allowed = pairs
    shape_body, shape_position, shape_rotation, shape_mesh, shape_type = shapes
    start, points, radius, thickness = tables.start, tables.points, tables.radius, tables.thickness
    for c in range(shape_a.shape[0]):
        if not with_mesh[c]:
            continue
        if c > 0 and shape_a[c] == shape_a[c - 1] and shape_b[c] == shape_b[c - 1]:
            share_out[c] = share_out[c - 1]  # contacts of a pair are neighbours
            continue
        for side in range(2):
            s = shape_a[c] if side == 0 else shape_b[c]
            other = shape_b[c] if side == 0 else shape_a[c]
            if shape_mesh[s] < 0:
                continue
            i, j = shape_body[s], shape_body[other]
            position = load3(shape_position, s)
            rotation = (shape_rotation[s, 0], shape_rotation[s, 1], shape_rotation[s, 2], shape_rotation[s, 3])
            first, last = start[other], start[other + 1]
            for k in range(first, last):
                local = load3(points, k)
                p = _seen_from(q, i, position, rotation, _moved(q, j, local))
                end = _seen_from(q_end, i, position, rotation, _moved(q_end, j, local))
                # again: what matters is whether one comes out on the other side
                deep = (
                    max(allowed[c], 2.0 * min(thickness[s], thickness[other]))
                    if shape_type[other] == MESH
                    else allowed[c]
                )
                if _enters(p, end, radius[other], allowed[c], deep, meshes, shape_mesh[s]):
                    share_out[c] = np.inf
                    break
