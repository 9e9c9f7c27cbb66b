"""Which nodes of soft bodies have gone through rigid bodies within a step.

A node is followed along its straight path as seen from each shape. The signed distance to a convex shape is
a convex function along a line, so its least value is found by cutting the line into thirds; with meshes, the path must
not lead through a triangle.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Bools
from stickslip.bodies.registry import frame_poses
from stickslip.collision.shape_poses import shape_poses
from stickslip.collision.surfaces.point_shapes import signed_distances
from stickslip.geometry.shapes import HALF_SPACE, MESH
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.pieces.crossing import SHARE, allowed_depth, entering

SEARCHES = 20
"""Times that a path is cut: what is left of it is 3e-4 of its length."""


def crossed(model: Model, before: State, after: State) -> Bools:
    """Bodies (nb + soft bodies,) that are in it where a node went deeper into a rigid body than SHARE of its thickness.

    What it was in already at the start is allowed.
    """
    tables, soft = model.shape_points, model.soft
    found = np.zeros(model.body_count + len(soft.names), dtype=bool)
    nodes = soft.surface.nodes
    start, end = before.node_position[nodes], after.node_position[nodes]
    q, q_end = before.body_pose, after.body_pose
    if model.others:  # links have shapes, too
        q, q_end = frame_poses(model, before), frame_poses(model, after)
    if not len(model.shape_body) or _longest(model, start, end, q, q_end) <= SHARE * tables.thinnest:
        return found
    position, rotation = shape_poses(model, q)
    position_end, rotation_end = shape_poses(model, q_end)
    for s in np.flatnonzero(model.shape_type != HALF_SPACE):
        # as seen from the shape
        p = (start - position[s]) @ rotation[s]
        d = (end - position_end[s]) @ rotation_end[s] - p
        way = np.linalg.norm(d, axis=1)
        t = np.clip(-np.einsum("ij,ij->i", p, d) / np.maximum(way * way, 1e-300), 0.0, 1.0)
        closest = np.linalg.norm(p + t[:, None] * d, axis=1)
        near = np.flatnonzero((way > SHARE * tables.thickness[s]) & (closest <= model.shape_radius[s]))
        if len(near):
            deep = near[_goes_deep(model, int(s), p[near], d[near])]
            found[model.shape_body[s]] |= len(deep) > 0
            found[model.body_count + soft.node_body[nodes[deep]]] = True
    return found


def _longest(model: Model, start: Array, end: Array, q: Array, q_end: Array) -> float:
    """Bound [m] of what nodes moved by as seen from any frame, which go from q (nb, 7) to q_end."""
    own = np.linalg.norm(end - start, axis=1).max(initial=0.0)
    cosine = np.abs(np.einsum("bi,bi->b", q[:, 3:], q_end[:, 3:]))
    turn = 2.0 * np.arccos(np.minimum(1.0, cosine))
    rigid = np.linalg.norm(q_end[:, :3] - q[:, :3], axis=1) + model.radius * turn
    return float(own + rigid.max(initial=0.0))


def _goes_deep(model: Model, s: int, p: Array, d: Array) -> Bools:
    """Which of the paths p + t d (k, 3), seen from shape s, go deeper into it than allowed."""
    thickness = model.shape_points.thickness[s]
    if model.shape_type[s] == MESH:
        return entering(model, s, p, p + d, SHARE * thickness)
    shape = np.full(len(p), s, dtype=np.int32)
    still = np.zeros((len(model.shape_body), 3)), np.broadcast_to(np.eye(3), (len(model.shape_body), 3, 3)).copy()

    def depth(t: Array) -> Array:
        x = p + t[:, None] * d
        return -signed_distances(model, *still, x, np.zeros_like(x), shape, np.full(len(x), np.inf))[0]

    began = depth(np.zeros(len(p)))
    low, high = np.zeros(len(p)), np.ones(len(p))
    for _ in range(SEARCHES):
        third = (high - low) / 3.0
        left, right = low + third, high - third
        deeper_left = depth(left) > depth(right)
        low, high = np.where(deeper_left, low, left), np.where(deeper_left, right, high)
    return depth(0.5 * (low + high)) > allowed_depth(np.full(len(p), thickness), began)
