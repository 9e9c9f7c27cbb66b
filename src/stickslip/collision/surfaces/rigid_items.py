"""Corners and edges of some rigid shapes in the world, with boxes around them, to be held against soft surfaces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, Ints
from stickslip.collision.surfaces.edge_cores import HEAD, THICK
from stickslip.collision.surfaces.face_cores import DISK, RADIUS
from stickslip.collision.surfaces.rigid_features import RigidFeatures
from stickslip.collision.surfaces.tree import Forest


class Items(NamedTuple):
    """n corners or edges of k shapes."""

    item: Ints
    """(n, 2) shape, and row of RigidFeatures.corner or RigidFeatures.edge"""
    number: Ints
    """(n,) number within the shape"""
    owner: NDArray[np.intp]
    """(n,) rising: number of the shape among the k"""
    point: Array
    """(n, 3) [m] the corner, or the tail of the edge"""
    boxes: Array
    """(n, 6) [m] lower and upper corner, with radius and reach"""

    def take(self, which: Bools) -> Items:
        """Some of them."""
        return Items._make(column[which] for column in self)

    def forest(self, shapes: int) -> Forest:
        """One leaf a shape: few shapes are near, and most have few corners."""
        count = np.bincount(self.owner, minlength=shapes)
        after = np.arange(1, shapes + 1)
        links = np.stack([after, np.cumsum(count) - count, count], axis=1).astype(np.int32)
        everywhere = np.full((shapes, 6), np.inf)
        everywhere[:, :3] = -np.inf
        order = np.arange(len(self.owner), dtype=np.int32)
        return Forest(np.append(0, after).astype(np.int32), links, order, self.item, everywhere, self.boxes)


def corner_items(
    features: RigidFeatures,
    shapes: NDArray[np.intp],
    position: Array,
    rotation: Array,
    reach: Array,
) -> Items:
    """Corners of some shapes (k,); position (ns, 3), rotation (ns, 3, 3) and reach (ns,) [m] are those of all."""
    owner, number, row = _listed(features.corner_start, features.of_shape[shapes])
    shape = shapes[owner]
    point = _in_world(features.corner[row, :3], position[shape], rotation[shape])
    around = (features.corner[row, RADIUS] + features.corner[row, DISK] + reach[shape])[:, None]
    boxes = np.concatenate([point - around, point + around], axis=1)
    return Items(np.stack([shape, row], axis=1).astype(np.int32), number, owner, point, boxes)


def edge_items(
    features: RigidFeatures,
    shapes: NDArray[np.intp],
    position: Array,
    rotation: Array,
    reach: Array,
) -> Items:
    """Edges of some shapes, as in :func:`corner_items`."""
    owner, number, row = _listed(features.edge_start, features.of_shape[shapes])
    shape = shapes[owner]
    pose = position[shape], rotation[shape]
    tail = _in_world(features.edge[row, :3], *pose)
    head = _in_world(features.edge[row, HEAD : HEAD + 3], *pose)
    around = (features.edge[row, THICK] + reach[shape])[:, None]
    boxes = np.concatenate([np.minimum(tail, head) - around, np.maximum(tail, head) + around], axis=1)
    return Items(np.stack([shape, row], axis=1).astype(np.int32), number, owner, tail, boxes)


def _listed(start: Ints, geometry: Ints) -> tuple[NDArray[np.intp], Ints, NDArray[np.intp]]:
    """Which of the geometries each row belongs to, its number in it, and the row, for rows start[g]:start[g + 1]."""
    count = start[geometry + 1] - start[geometry]
    owner = np.repeat(np.arange(len(geometry)), count)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    return owner, number.astype(np.int32), start[geometry][owner] + number


def _in_world(points: Array, position: Array, rotation: Array) -> Array:
    """Points (n, 3), each with its own frame."""
    return np.asarray(np.einsum("nij,nj->ni", rotation, points) + position)
