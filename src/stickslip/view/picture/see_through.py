"""Which fixed shapes are drawn as glass: those that stand between the camera and much of what moves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stickslip.arrays import Array, Bools
from stickslip.collision.shape_poses import shape_poses
from stickslip.geometry.shapes import HALF_SPACE
from stickslip.model.model import STATIC, Model
from stickslip.view.picture.camera import Camera, Pose
from stickslip.view.picture.outlines import local_boxes
from stickslip.view.visual_meshes import covered_shapes

HIDDEN = 0.3
"""A fixed body that hides more than this share of what moves is looked through."""
LOOKED_AT = 400
"""Most points of what moves that are tried."""


def see_through(model: Model, poses: Sequence[Pose], view: Camera) -> Bools:
    """(ns,) shapes of static bodies that hide what moves in one of the poses; walls of containers, mostly."""
    glass = np.zeros(len(model.shape_type), np.bool_)
    drawn = (model.shape_type != HALF_SPACE) & ~covered_shapes(model)
    fixed = np.flatnonzero((model.body_kind[model.shape_body] == STATIC) & drawn)
    if not len(fixed):
        return glass
    middle, half = local_boxes(model)
    for q, nodes in poses:
        points = _points(model, q, nodes)
        if not len(points):
            continue
        position, rotation = shape_poses(model, q)
        hides = np.array([_between(view.eye, points, position[s], rotation[s], middle[s], half[s]) for s in fixed])
        for body in np.unique(model.shape_body[fixed]):
            own = model.shape_body[fixed] == body
            if hides[own].any(axis=0).mean() > HIDDEN:
                glass[fixed[own]] |= hides[own].any(axis=1)
    return glass


def _points(model: Model, q: Array, nodes: Array) -> Array:
    """Points (k, 3) [m] of what moves: centres of rigid bodies, and nodes on the surfaces of soft ones."""
    points = np.concatenate([q[model.body_dynamic, :3], nodes[np.unique(model.soft.surface.triangles)]])
    return points[:: max(1, -(-len(points) // LOOKED_AT))]


def _between(
    eye: Array,
    points: Array,
    position: Array,
    rotation: Array,
    middle: Array,
    half: Array,
) -> Bools:
    """(k,) whether the segment from the eye to points (k, 3) enters a box at a pose."""
    start, end = (eye - position) @ rotation - middle, (points - position) @ rotation - middle
    way = np.where(np.abs(end - start) < 1e-300, 1e-300, end - start)
    first, second = (-half - start) / way, (half - start) / way
    enters = np.minimum(first, second).max(axis=1)
    leaves = np.maximum(first, second).min(axis=1)
    return np.asarray((enters <= leaves) & (enters > 0.0) & (enters < 1.0))
