"""Soft bodies of a scene in their place at time zero, and their candidates with rigid shapes."""

from __future__ import annotations

import numpy as np

import stickslip
from stickslip.arrays import Array
from stickslip.collision.surfaces.soft_rigid import SoftRigid, soft_rigid_candidates
from stickslip.geometry.tet_mesh import TetMesh
from stickslip.model.model import Model, compile_scene

RUBBER = stickslip.elastic(1e5, 0.3)


def candidates(scene: stickslip.Scene, reach: float = 1e-3) -> tuple[Model, SoftRigid]:
    """The model of a scene, and its candidates at time zero; nodes reach a length [m], bodies nothing."""
    model = compile_scene(scene)
    nodes, bodies = np.full(model.soft.node_count, reach), np.zeros(model.body_count)
    return model, soft_rigid_candidates(model, model.q_start, model.soft.x_start, nodes, bodies)


def wedge() -> TetMesh:
    """One element whose upper face is a large triangle at z = 0 with a right angle at the origin, legs of 1 m."""
    nodes = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.3, 0.3, -0.8]])
    return TetMesh(nodes, np.array([[0, 2, 1, 3]], dtype=np.int32))


def between(start: Array, end: Array) -> Array:
    """Rotation (w, x, y, z) that takes the direction ``start`` into ``end``."""
    start, end = start / np.linalg.norm(start), end / np.linalg.norm(end)
    q = np.append(1.0 + start @ end, np.cross(start, end))
    return q / np.linalg.norm(q)
