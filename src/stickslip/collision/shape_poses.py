"""Where shapes are in the world."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.collision.pair_search import place_shapes
from stickslip.model.model import Model


def shape_poses(model: Model, q: Array) -> tuple[Array, Array]:
    """World position (ns, 3) and rotation matrix (ns, 3, 3) of every shape at configuration q (nb, 7)."""
    count = len(model.shape_body)
    position, rotation = np.empty((count, 3)), np.empty((count, 3, 3))
    place_shapes(model.shape_body, model.shape_position, model.shape_rotation, q, position, rotation)
    return position, rotation
