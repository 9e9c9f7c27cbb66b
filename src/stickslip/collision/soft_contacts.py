"""Contacts of soft bodies with rigid ones, with each other and with themselves, as flat arrays sorted by key."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Ints, LongInts
from stickslip.collision.contact_sides import NODE_SHAPE, ContactSides, contact_keys, join, selected
from stickslip.collision.contacts import first_tangents
from stickslip.collision.reach import APPROACH_SAFETY, speeds
from stickslip.collision.rigid_features import rigid_features
from stickslip.collision.soft_rigid import SoftRigid, soft_rigid_candidates
from stickslip.collision.surface_search import surface_contacts, surface_impacts
from stickslip.model import Model


@dataclass(frozen=True, eq=False)
class SoftContacts:
    """nc contact points that involve a soft body. The normal points from a to b; rigid bodies are always a."""

    key: LongInts
    """(nc,) sorted; the same pair of features has the same key in the next step."""
    body_a: Ints
    """(nc,) rigid body, or Model.body_count + soft body; a body that touches itself is both."""
    body_b: Ints
    node_a: Ints
    """(nc, 3) nodes of a, -1 beyond, all -1 where a is rigid."""
    node_b: Ints
    weight_a: Array
    """(nc, 3) barycentric weights of the nodes, zero beyond."""
    weight_b: Array
    point: Array
    """(nc, 3) [m] world, midway between the surfaces."""
    normal: Array
    """(nc, 3) unit, world."""
    gap: Array
    """(nc,) [m] negative where they overlap; of an impact within the step, along its normal at the start."""
    tangent: Array
    """(nc, 3) unit, world: the first tangent t1; t2 = n x t1."""
    friction: Array
    """(nc, 3) coefficients along t1 and t2, and zero."""
    restitution: Array
    """(nc, 2) coefficients, normal and tangential."""
    compliance: Array
    """(nc, 2) 1 / stiffness [m/N], zero where the contact is rigid, and dissipation time [s]."""

    def __len__(self) -> int:
        return len(self.key)

    def take(self, index: NDArray[np.intp]) -> SoftContacts:
        """The contacts of the given indices."""
        return SoftContacts(*(getattr(self, name)[index] for name in self.__dataclass_fields__))


def find_soft_contacts(
    model: Model,
    q: Array,
    x: Array,
    v: Array,
    node_velocity: Array,
    h: float,
    margin: float,
    continuous: bool = False,
    ignored: LongInts | None = None,
) -> SoftContacts:
    """All contacts of soft bodies that can matter within a time h [s], bodies at q (nb, 7), nodes at x (nn, 3) [m].

    Those whose gap is at most ``margin`` [m] and 1.5 times what the relative velocity of the two places closes, under
    v (nb, 6) and node_velocity (nn, 3) [m/s]; with ``continuous`` those as well that moving along straight lines for
    the time h makes. ``ignored``: what Model.ignored_pairs returns.
    """
    keys = model.ignored_at_start if ignored is None else ignored
    rigid = _of_rigid(model, q, x, v, node_velocity, h, margin)
    parts = [rigid, *surface_contacts(model, x, h * node_velocity, margin, keys)]
    if continuous:
        # an impact says more of its pair of features than the distance at the start
        parts = [*surface_impacts(model, q, x, v, node_velocity, h, margin, keys, rigid), *parts]
    found = join(parts) if len(parts) > 1 else rigid
    if not (np.diff(found.key) > 0).all():  # those of rigid bodies alone are sorted
        found = selected(found, np.unique(found.key, return_index=True)[1])
    if len(keys):
        lower, upper = np.minimum(found.body_a, found.body_b), np.maximum(found.body_a, found.body_b)
        found = selected(found, np.flatnonzero(~np.isin((lower.astype(np.int64) << 32) + upper, keys)))
    return _with_materials(model, q, found)


def _with_materials(model: Model, q: Array, found: ContactSides) -> SoftContacts:
    """Contacts with friction, restitution, compliance and tangents."""
    materials = found.material_a, found.material_b
    friction = model.pairs.friction[materials]
    friction[:, 2] = 0.0
    tangent = np.empty_like(found.normal)
    # soft bodies have no frame: their friction axes stay as they are in the world
    frames = np.concatenate([q, np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (model.soft.count, 1))])
    first_tangents(
        found.normal, found.body_a, found.body_b, *materials, model.pairs.axis, model.friction_axis, frames, tangent
    )
    return SoftContacts(
        found.key, found.body_a, found.body_b, found.node_a, found.node_b, found.weight_a, found.weight_b, found.point,
        found.normal, found.gap, tangent, friction, model.pairs.restitution[materials],
        model.pairs.compliance[materials],
    )  # fmt: skip


def _of_rigid(
    model: Model,
    q: Array,
    x: Array,
    v: Array,
    node_velocity: Array,
    h: float,
    margin: float,
) -> ContactSides:
    """Contacts of rigid shapes with soft surfaces at the start of the step."""
    node_reach = APPROACH_SAFETY * h * np.linalg.norm(node_velocity, axis=1) + margin
    near = soft_rigid_candidates(model, q, x, node_reach, APPROACH_SAFETY * h * speeds(model, v))
    body = model.shape_body[near.shape]
    nodes = np.where(near.node < 0, 0, near.node)
    turning = np.cross(v[body, 3:], near.point - q[body, :3])
    relative = np.einsum("ck,ckj->cj", near.weight, node_velocity[nodes]) - v[body, :3] - turning
    kept = np.flatnonzero(near.gap <= margin + APPROACH_SAFETY * h * np.linalg.norm(relative, axis=1))
    near = SoftRigid._make(column[kept] for column in near)
    soft_body = model.soft.node_body[near.node[:, 0]]
    return ContactSides(
        contact_keys(near.kind, _rigid_feature(model, near), near.soft_feature),
        body[kept],
        (model.body_count + soft_body).astype(np.int32),
        np.full_like(near.node, -1),
        near.node,
        np.zeros_like(near.weight),
        near.weight,
        near.point,
        near.normal,
        near.gap,
        model.shape_material[near.shape],
        model.soft.material[soft_body],
    )


def _rigid_feature(model: Model, near: SoftRigid) -> LongInts:
    """Numbers (k,) of corners and edges through all shapes; of a node and a shape, the shape's."""
    if (near.kind == NODE_SHAPE).all():
        return near.shape.astype(np.int64)
    features = rigid_features(model)
    room = np.maximum(np.diff(features.corner_start), np.diff(features.edge_start))[features.of_shape]
    first = np.cumsum(room) - room
    return np.where(near.kind == NODE_SHAPE, near.shape, first[near.shape] + near.feature)
