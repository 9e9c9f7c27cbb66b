"""Boxes and points that a camera needs to see whole in order to see a shape, and balls as large as bodies."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Ints, LongInts
from stickslip.collision.shape_poses import shape_poses
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HALF_SPACE, HULL, MESH, SPHERE
from stickslip.model.model import STATIC, Model
from stickslip.view.visual_meshes import covered_shapes, outer_vertices, visual_poses

MANY = 600
"""Number of shapes from which each is small enough in a picture to count as a ball."""
CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


class Outline(NamedTuple):
    """k balls that together are as large as what is drawn of a model: shapes but half-spaces, then visuals."""

    model: Model
    shape: LongInts
    """(k,) the shape of each, or the number of shapes and that of the visual."""
    point: Array
    """(k, 3) [m] centre in the frame of the shape."""
    radius: Array
    """(k,) [m]"""

    @property
    def kind(self) -> Ints:
        """(k,) ``body_kind`` of the body of each; the world is static."""
        body = np.concatenate([self.model.shape_body, self.model.visuals.body])
        return np.where(body < 0, STATIC, self.model.body_kind[body]).astype(np.int32)[self.shape]

    @property
    def body(self) -> Ints:
        """(k,) the body of each; -1: the world."""
        return np.concatenate([self.model.shape_body, self.model.visuals.body])[self.shape]

    def placed(self, q: Array) -> Array:
        """Centres (k, 3) [m] in the world at q (nb, 7)."""
        shapes, visuals = shape_poses(self.model, q), visual_poses(self.model.visuals.body, q)
        position, rotation = (np.concatenate(both) for both in zip(shapes, visuals, strict=True))
        return position[self.shape] + np.einsum("kij,kj->ki", rotation[self.shape], self.point)


def outline(model: Model) -> Outline:
    """Balls of no radius at corners, larger ones where shapes are round."""
    middle, half = local_boxes(model)
    kind, size = model.shape_type, model.shape_size
    finite = np.flatnonzero((kind != HALF_SPACE) & ~covered_shapes(model))
    visual, outer = outer_vertices(model)
    if len(finite) > MANY:
        reach = np.append(np.linalg.norm(half[finite], axis=1), np.zeros(len(outer)))
        return Outline(model, np.append(finite, len(kind) + visual), np.concatenate([middle[finite], outer]), reach)
    shapes, points, radii = [np.zeros(0, np.int64)], [np.zeros((0, 3))], [np.zeros(0)]
    for s in finite:
        radius = 0.0
        match int(kind[s]):
            case code if code == SPHERE:
                own, radius = np.zeros((1, 3)), float(size[s, 0])
            case code if code == CAPSULE:
                own, radius = np.array([[0.0, 0.0, -size[s, 1]], [0.0, 0.0, size[s, 1]]]), float(size[s, 0])
            case code if code == HULL:
                h = model.shape_hull[s]
                own = model.hulls.vertices[model.hulls.vertex_start[h] : model.hulls.vertex_start[h + 1]]
            case _:
                own = middle[s] + half[s] * CORNERS
        shapes.append(np.full(len(own), s))
        points.append(own)
        radii.append(np.full(len(own), radius))
    shapes.append(len(kind) + visual)
    points.append(outer)
    radii.append(np.zeros(len(outer)))
    return Outline(model, np.concatenate(shapes), np.concatenate(points), np.concatenate(radii))


def body_balls(model: Model) -> Array:
    """(nb, 4) [m] a ball about each body: middle in its frame, from the centre of mass, and radius; 0 without shapes.

    Tighter than Model.radius, which is about the centre of mass and counts from the origins of shapes: hulls may be far
    from theirs. Half-spaces are left out.
    """
    count = model.body_count
    middle, half = local_boxes(model)
    position, turn = shape_poses(model, np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (count, 1)))
    own = np.flatnonzero(model.shape_type != HALF_SPACE)
    body = model.shape_body[own]
    placed = position[own] + np.einsum("kij,kj->ki", turn[own], middle[own])
    extent = np.einsum("kij,kj->ki", np.abs(turn[own]), half[own])
    low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    np.minimum.at(low, body, placed - extent)
    np.maximum.at(high, body, placed + extent)
    bare = ~np.isfinite(low[:, 0])
    low[bare] = high[bare] = 0.0
    centre = 0.5 * (low + high)
    radius = np.zeros(count)
    # balls about its shapes are tighter than its box where a body is round, the box where it has many shapes
    np.maximum.at(radius, body, np.linalg.norm(placed - centre[body], axis=1) + _radii(model, middle)[own])
    return np.column_stack([centre, np.minimum(radius, 0.5 * np.linalg.norm(high - low, axis=1))])


def _radii(model: Model, middle: Array) -> Array:
    """(ns,) [m] of balls about the middles (ns, 3) of the shapes' boxes that hold them; inf for half-spaces."""
    radius, hulls = model.shape_radius.copy(), model.hulls
    for s in np.flatnonzero(model.shape_type == HULL):
        h = model.shape_hull[s]
        own = hulls.vertices[hulls.vertex_start[h] : hulls.vertex_start[h + 1]]
        radius[s] = np.linalg.norm(own - middle[s], axis=1).max()
    return radius


def half_sides(kind: NDArray[Any], size: Array) -> Array:
    """Half sides (n, 3) [m] of boxes around shapes of kind (n,) and size (n, 3); zero of those that have parts."""
    half = np.zeros((len(kind), 3))
    radius, length = size[:, 0], size[:, 1]
    for code, sides in (
        (SPHERE, (radius, radius, radius)),
        (CAPSULE, (radius, radius, radius + length)),
        (CYLINDER, (radius, radius, length)),
        (BOX, tuple(size.T)),
    ):
        half[kind == code] = np.column_stack(sides)[kind == code]
    return half


def local_boxes(model: Model) -> tuple[Array, Array]:
    """Middle and half sides (ns, 3) of a box around each shape, in its frame; half-spaces get none."""
    kind = model.shape_type
    middle, half = np.zeros((len(kind), 3)), half_sides(kind, model.shape_size)
    half[kind == MESH] = model.shape_size[kind == MESH]
    hulls = model.hulls
    if len(hulls.vertex_start) > 1:
        starts = hulls.vertex_start[:-1]
        lower, upper = (extreme.reduceat(hulls.vertices, starts) for extreme in (np.minimum, np.maximum))
        own = model.shape_hull[kind == HULL]
        middle[kind == HULL], half[kind == HULL] = 0.5 * (lower + upper)[own], 0.5 * (upper - lower)[own]
    return middle, half
