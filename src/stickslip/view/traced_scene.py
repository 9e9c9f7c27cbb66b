"""From a model to what the ray tracer reads: shapes at their poses, their colours and their bounding boxes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stickslip.collision.contacts import shape_poses
from stickslip.geometry.mesh_distance import TRIANGLE_TREE, VERTEX_TREE
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HALF_SPACE, HULL, MESH, SPHERE
from stickslip.model import DYNAMIC, KINEMATIC, Model
from stickslip.view.bounding_tree import BoundingTree, bounding_tree
from stickslip.view.ray_tracer import TracedScene
from stickslip.view.soft_surfaces import soft_surfaces

PALETTE = (
    (0.84, 0.33, 0.22), (0.95, 0.69, 0.27), (0.22, 0.54, 0.62), (0.16, 0.33, 0.52),
    (0.50, 0.69, 0.42), (0.78, 0.48, 0.56), (0.92, 0.86, 0.72), (0.45, 0.39, 0.60),
)  # fmt: skip
"""sRGB colours of dynamic bodies, by index."""
STATIC_COLOUR, KINEMATIC_COLOUR, GROUND_COLOUR = (0.66, 0.66, 0.66), (0.48, 0.52, 0.57), (0.88, 0.88, 0.87)
STEEPEST_GROUND = 0.3
"""Half-spaces whose normal has a smaller upward component are walls and are not drawn: they would hide the scene."""


def traced_scene(
    model: Model, q: NDArray[np.float64], nodes: NDArray[np.float64], paint: NDArray[np.float64] | None = None
) -> tuple[TracedScene, BoundingTree]:
    """The shapes of a model at q (nb, 7), then its soft bodies at nodes (nn, 3), and the tree over what is finite.

    paint (nn, 3): sRGB colours of nodes, instead of those of the soft bodies.
    """
    position, rotation = shape_poses(model, q)
    kind, size = model.shape_type, model.shape_size.copy()
    hull_radius = model.shape_radius
    size[kind == HULL, 0] = hull_radius[kind == HULL]  # a length scale, for the width of drawn edges
    lower, upper = _bounds(model, position, rotation)
    meshes, count = model.meshes, model.soft.count
    soft = soft_surfaces(model.soft, nodes, len(meshes.bounds), len(meshes.triangles))
    mesh_paint = np.zeros((0, 9))
    if paint is not None:
        own = linear(paint)[soft.nodes].reshape(-1, 9)
        mesh_paint = np.concatenate([np.full((len(meshes.triangles), 9), -1.0), own])
    ground = (kind == HALF_SPACE) & (rotation[:, 2, 2] >= STEEPEST_GROUND)
    colours = body_colours(model)
    scene = TracedScene(
        kind=np.append(kind, np.full(count, MESH, np.int32)),
        position=np.concatenate([position, np.zeros((count, 3))]),
        rotation=np.concatenate([rotation, np.tile(np.eye(3), (count, 1, 1))]),
        size=np.concatenate([size, 0.5 * (soft.upper - soft.lower)]),
        hull=np.append(model.shape_hull, np.full(count, -1, np.int32)),
        face_start=model.hulls.face_start,
        face_plane=model.hulls.face_plane,
        mesh=np.append(model.shape_mesh, len(meshes.frames) + np.arange(count, dtype=np.int32)),
        mesh_start=np.concatenate([meshes.starts[:-1, [TRIANGLE_TREE, VERTEX_TREE]], soft.start]),
        mesh_bounds=np.concatenate([meshes.bounds, soft.bounds]),
        mesh_links=np.concatenate([meshes.links, soft.links]),
        mesh_corners=np.concatenate(
            [meshes.vertices[meshes.triangles[:, :3], :3].reshape(-1, 9), nodes[soft.nodes].reshape(-1, 9)]
        ),
        mesh_paint=mesh_paint,
        colour=linear(np.concatenate([colours[model.shape_body], colours[model.body_count :]])),
        planes=np.flatnonzero(ground).astype(np.int32),
    )
    finite = np.flatnonzero(scene.kind != HALF_SPACE).astype(np.int32)
    return scene, bounding_tree(np.concatenate([lower, soft.lower]), np.concatenate([upper, soft.upper]), finite)


def body_colours(model: Model) -> NDArray[np.float64]:
    """(nb + ns, 3) sRGB of rigid, then soft bodies: the user's, else the palette for what moves, else greys."""
    colours = np.tile(np.array(STATIC_COLOUR), (model.body_count + model.soft.count, 1))
    colours[: model.body_count][model.body_kind == KINEMATIC] = KINEMATIC_COLOUR
    colours[model.shape_body[model.shape_type == HALF_SPACE]] = GROUND_COLOUR
    moving = np.append(np.flatnonzero(model.body_kind == DYNAMIC), np.arange(model.body_count, len(colours)))
    colours[moving] = np.array(PALETTE)[np.arange(len(moving)) % len(PALETTE)]
    given = np.concatenate([model.colours, model.soft.colours])
    chosen = (given >= 0.0).all(axis=1)
    colours[chosen] = np.clip(given[chosen], 0.0, 1.0)
    return colours


def linear(colour: ArrayLike) -> NDArray[np.float64]:
    """Linear RGB of sRGB colours in 0..1."""
    srgb = np.asarray(colour, dtype=np.float64)
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def encoded(image: NDArray[np.float64]) -> NDArray[np.uint8]:
    """sRGB bytes of linear RGB."""
    light = np.clip(image, 0.0, 1.0)
    srgb = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1.0 / 2.4) - 0.055)
    return np.floor(255.0 * srgb + 0.5).astype(np.uint8)


def _bounds(
    model: Model, position: NDArray[np.float64], rotation: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Axis-aligned bounding boxes (ns, 3) of all shapes; half-spaces get their origin."""
    kind, size, axis = model.shape_type, model.shape_size, np.abs(rotation[:, :, 2])
    extent = np.zeros_like(position)
    radius, half = size[:, :1], size[:, 1:2]
    for code, reach in (
        (SPHERE, np.broadcast_to(radius, extent.shape)),
        (CAPSULE, half * axis + radius),
        (CYLINDER, half * axis + radius * np.sqrt(np.maximum(0.0, 1.0 - axis**2))),
        (BOX, np.einsum("sij,sj->si", np.abs(rotation), size)),
        (MESH, np.einsum("sij,sj->si", np.abs(rotation), size)),
    ):
        extent[kind == code] = reach[kind == code]
    lower, upper = position - extent, position + extent
    for s in np.flatnonzero(kind == HULL):
        h = model.shape_hull[s]
        corners = model.hulls.vertices[model.hulls.vertex_start[h] : model.hulls.vertex_start[h + 1]]
        placed = position[s] + corners @ rotation[s].T
        lower[s], upper[s] = placed.min(axis=0), placed.max(axis=0)
    return lower, upper
