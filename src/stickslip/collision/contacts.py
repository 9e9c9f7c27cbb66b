"""Contacts between bodies at one configuration, as flat arrays sorted by persistent key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.collision.broad_phase import candidate_pairs
from stickslip.collision.narrow_phase import collide
from stickslip.jit import kernel
from stickslip.linalg.vec3 import (
    add,
    dot,
    load3,
    mat_vec,
    norm,
    normalize,
    quat_matrix,
    quat_multiply,
    scale,
    store3,
    sub,
    tangents,
)
from stickslip.materials import AXIS_OF_A, NO_AXIS
from stickslip.model import DYNAMIC, Model

PairReach = Callable[[Ints, Ints], Array]
"""Gap [m] up to which pairs of bodies, given by two arrays, can matter."""


@dataclass(frozen=True, eq=False)
class Contacts:
    """nc contact points. The normal points from body a to body b; the gap is negative where they overlap."""

    key: LongInts
    """(nc,) sorted; the same physical contact has the same key in the next step."""
    shape_a: Ints
    shape_b: Ints
    body_a: Ints
    body_b: Ints
    point: Array
    """(nc, 3) [m] world, midway between the surfaces."""
    normal: Array
    """(nc, 3) unit, world."""
    gap: Array
    """(nc,) [m]"""
    tangent: Array
    """(nc, 3) unit, world: the first tangent t1; t2 = n x t1."""
    friction: Array
    """(nc, 3) coefficients along t1 and t2, and about the normal [m]."""
    restitution: Array
    """(nc, 2) coefficients, normal and tangential."""
    compliance: Array
    """(nc, 2) 1 / stiffness [m/N], zero where the contact is rigid, and dissipation time [s]."""

    def __len__(self) -> int:
        return len(self.key)

    def take(self, index: NDArray[np.intp]) -> Contacts:
        """The contacts of the given indices."""
        return Contacts(*(getattr(self, name)[index] for name in self.__dataclass_fields__))


def no_contacts() -> Contacts:
    """None."""
    index, number, rows = np.zeros(0, dtype=np.int32), np.zeros(0), np.zeros((0, 3))
    pairs = np.zeros((0, 2))
    return Contacts(
        np.zeros(0, dtype=np.int64), index, index, index, index, rows, rows, number, rows, rows, pairs, pairs
    )


def shape_poses(model: Model, q: Array) -> tuple[Array, Array]:
    """World position (ns, 3) and rotation matrix (ns, 3, 3) of every shape at configuration q (nb, 7)."""
    count = len(model.shape_body)
    position, rotation = np.empty((count, 3)), np.empty((count, 3, 3))
    _shape_poses(model.shape_body, model.shape_position, model.shape_rotation, q, position, rotation)
    return position, rotation


def find_contacts(
    model: Model,
    q: Array,
    reach: Array,
    known: Contacts | None = None,
    changed: Bools | None = None,
    pair_reach: PairReach | None = None,
    ignored: LongInts | None = None,
) -> Contacts:
    """All contact points at q whose gap is at most the sum of the two bodies' reach (nb,) [m].

    Where contacts at the same q are ``known``, only pairs with a body whose reach has ``changed`` (nb,) are searched.
    ``pair_reach`` may say that two bodies need look less far for each other than their reaches add up to; then pairs
    that are further apart than that, as balls, are left out, and meshes look no further. ``ignored``: what
    Model.ignored_pairs returns; where it is not given, no joint is broken.
    """
    position, rotation = shape_poses(model, q)
    shape_reach = reach[model.shape_body]
    geometry = (position, rotation, model.shape_size, model.shape_hull, model.hulls, shape_reach)
    keys = model.ignored_at_start if ignored is None else ignored
    pairs = candidate_pairs(model.shape_type, model.shape_body, model.body_kind == DYNAMIC, *geometry, keys)
    if known is not None and changed is not None:
        pairs = pairs[changed[model.shape_body[pairs]].any(axis=1)]
    limits = None
    if pair_reach is not None:
        a, b = pairs[:, 0], pairs[:, 1]
        limits = pair_reach(model.shape_body[a], model.shape_body[b])
        apart = np.linalg.norm(position[a] - position[b], axis=1) - model.shape_radius[a] - model.shape_radius[b]
        near = apart <= limits
        pairs, limits = pairs[near], limits[near]
    raw = collide(pairs, model.shape_type, *geometry, model.shape_mesh, model.meshes, limits)
    body_a, body_b = model.shape_body[raw.shape_a], model.shape_body[raw.shape_b]
    materials = model.shape_material[raw.shape_a], model.shape_material[raw.shape_b]
    tangent = np.empty_like(raw.normal)
    first_tangents(raw.normal, body_a, body_b, *materials, model.pairs.axis, model.friction_axis, q, tangent)
    found = Contacts(
        raw.key,
        raw.shape_a,
        raw.shape_b,
        body_a,
        body_b,
        raw.point,
        raw.normal,
        raw.gap,
        tangent,
        model.pairs.friction[materials],
        model.pairs.restitution[materials],
        model.pairs.compliance[materials],
    )
    if known is None or changed is None:
        return found
    kept = known.take(np.flatnonzero(~(changed[known.body_a] | changed[known.body_b])))
    names = kept.__dataclass_fields__
    both = Contacts(*(np.concatenate([getattr(kept, name), getattr(found, name)]) for name in names))
    return both.take(np.argsort(both.key, kind="stable"))


@kernel
def first_tangents(normal, body_a, body_b, material_a, material_b, axis_of, axis, q, tangent_out):
    """t1 of each contact: the friction axis of its body, laid into the tangent plane, where there is one."""
    for c in range(normal.shape[0]):
        n = load3(normal, c)
        t1, _ = tangents(n)
        which = axis_of[material_a[c], material_b[c]]
        if which != NO_AXIS:
            i = body_a[c] if which == AXIS_OF_A else body_b[c]
            own = load3(axis, material_a[c] if which == AXIS_OF_A else material_b[c])
            d = mat_vec(quat_matrix((q[i, 3], q[i, 4], q[i, 5], q[i, 6])), own)
            along = sub(d, scale(dot(d, n), n))
            # an axis that points along the normal has no direction in the plane
            if norm(along) > 1e-9:
                t1 = normalize(along)
        store3(tangent_out, c, t1)


@kernel
def _shape_poses(shape_body, shape_position, shape_rotation, q, position_out, rotation_out):
    """Pose of each shape: body pose times the shape's pose in the body."""
    for s in range(shape_body.shape[0]):
        i = shape_body[s]
        body = (q[i, 3], q[i, 4], q[i, 5], q[i, 6])
        x = add(load3(q, i), mat_vec(quat_matrix(body), load3(shape_position, s)))
        own = (shape_rotation[s, 0], shape_rotation[s, 1], shape_rotation[s, 2], shape_rotation[s, 3])
        R = quat_matrix(quat_multiply(body, own))
        for k in range(3):
            position_out[s, k] = x[k]
            for j in range(3):
                rotation_out[s, k, j] = R[3 * k + j]
