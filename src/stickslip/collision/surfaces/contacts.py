"""Contacts of soft bodies with rigid ones, with each other and with themselves, as flat arrays sorted by key."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.collision.contacts import Contacts, SideNodes, joined, with_surfaces
from stickslip.collision.pair_search import place_moving
from stickslip.collision.reach import APPROACH_SAFETY, STILL
from stickslip.collision.rigid_space import RigidSpace
from stickslip.collision.surfaces.keys import NODE_SHAPE, contact_keys
from stickslip.collision.surfaces.rigid_features import rigid_features
from stickslip.collision.surfaces.search import surface_contacts, surface_impacts
from stickslip.collision.surfaces.soft_rigid import SoftRigid, candidates_near
from stickslip.model.model import Model
from stickslip.workspace import Workspace


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
    workspace: Workspace | None = None,
    vertices: bool = False,
) -> Contacts:
    """All contacts of soft bodies that can matter within a time h [s], bodies at q (nb, 7), nodes at x (nn, 3) [m].

    Those whose gap is at most ``margin`` [m] and 1.5 times what the relative velocity of the two places closes, under
    v (nb, 6) and node_velocity (nn, 3) [m/s]; with ``continuous`` those as well that moving along straight lines for
    the time h makes. ``ignored``: what Model.ignored_pairs returns.
    ``vertices``: none between edges, and no corner of a shape on a face of which a node touches that shape.
    """
    keys = model.ignored_at_start if ignored is None else ignored
    memory, soft = Workspace() if workspace is None else workspace, model.soft
    rigid = _of_rigid(model, q, x, v, node_velocity, h, margin, memory, vertices)
    parts = [rigid]
    if len(soft.names) > 1 or soft.self_contact.any():
        parts += surface_contacts(model, q, x, h * node_velocity, margin, keys, memory, vertices)
    if continuous:
        # an impact says more of its pair of features than the distance at the start
        parts = [*surface_impacts(model, q, x, v, node_velocity, h, margin, keys, rigid, memory), *parts]
    found = joined(parts) if len(parts) > 1 else rigid
    if not (np.diff(found.key) > 0).all():  # those of rigid bodies alone are sorted
        found = found.take(np.unique(found.key, return_index=True)[1])
    if len(keys):
        lower, upper = np.minimum(found.body_a, found.body_b), np.maximum(found.body_a, found.body_b)
        found = found.take(np.flatnonzero(~np.isin((lower.astype(np.int64) << 32) + upper, keys)))
    return found


def _of_rigid(
    model: Model,
    q: Array,
    x: Array,
    v: Array,
    node_velocity: Array,
    h: float,
    margin: float,
    workspace: Workspace,
    vertices: bool,
) -> Contacts:
    """Contacts of rigid shapes with soft surfaces at the start of the step."""
    node_reach = APPROACH_SAFETY * h * np.linalg.norm(node_velocity, axis=1) + margin
    space, body_reach = workspace.slot((RigidSpace, model), lambda: RigidSpace(model)), np.empty(len(v))
    place_moving(space.flat, q, v, APPROACH_SAFETY * h, STILL, body_reach)
    near = candidates_near(model, space.placed, x, node_reach, body_reach, workspace, vertices)
    body = model.shape_body[near.shape]
    held = np.where(near.node < 0, 0, near.node)
    turning = np.cross(v[body, 3:], near.point - q[body, :3])
    relative = np.einsum("ck,ckj->cj", near.weight, node_velocity[held]) - v[body, :3] - turning
    kept = np.flatnonzero(near.gap <= margin + APPROACH_SAFETY * h * np.linalg.norm(relative, axis=1))
    near = SoftRigid._make(column[kept] for column in near)
    soft_body = model.soft.node_body[near.node[:, 0]]
    nodes = SideNodes(np.full_like(near.node, -1), near.node, np.zeros_like(near.weight), near.weight)
    return with_surfaces(
        model,
        q,
        contact_keys(near.kind, _rigid_feature(model, near, workspace), near.soft_feature),
        (near.shape, np.full_like(near.shape, -1)),
        (body[kept], (len(model.body_names) + soft_body).astype(np.int32)),
        near.point,
        near.normal,
        near.gap,
        nodes,
    )


def _rigid_feature(model: Model, near: SoftRigid, workspace: Workspace) -> LongInts:
    """Numbers (k,) of corners and edges through all shapes; of a node and a shape, the shape's."""
    if (near.kind == NODE_SHAPE).all():
        return near.shape.astype(np.int64)
    features = rigid_features(model, workspace)
    room = np.maximum(np.diff(features.corner_start), np.diff(features.edge_start))[features.of_shape]
    first = np.cumsum(room) - room
    return np.where(near.kind == NODE_SHAPE, near.shape, first[near.shape] + near.feature)
