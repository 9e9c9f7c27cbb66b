"""From a model to what the ray tracer reads: shapes at their poses, their colours and the trees over them."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stickslip.arrays import Array, Bools, Ints
from stickslip.collision.shape_poses import shape_poses
from stickslip.geometry.mesh_distance import TRIANGLE_TREE, VERTEX_TREE
from stickslip.geometry.mesh_tree import build_tree
from stickslip.geometry.shapes import HALF_SPACE, HULL, MESH
from stickslip.model.model import DYNAMIC, KINEMATIC, Model
from stickslip.view.picture.outlines import local_boxes
from stickslip.view.picture.ray_tracer import (  # fmt: skip
    COLOUR,
    END,
    FIRST,
    KIND,
    NORMALS,
    PAINT,
    PART_COLUMNS,
    POSITION,
    ROTATION,
    SHAPE_COLUMNS,
    SIZE,
    TracedScene,
)
from stickslip.view.picture.soft_surfaces import soft_surfaces
from stickslip.view.visual_meshes import VisualMesh, covered_shapes, visual_meshes, visual_poses

PALETTE = (
    (0.84, 0.33, 0.22), (0.95, 0.69, 0.27), (0.22, 0.54, 0.62), (0.16, 0.33, 0.52),
    (0.50, 0.69, 0.42), (0.78, 0.48, 0.56), (0.92, 0.86, 0.72), (0.45, 0.39, 0.60),
)  # fmt: skip
"""sRGB colours of dynamic bodies, by index."""
STATIC_COLOUR, KINEMATIC_COLOUR, GROUND_COLOUR = (0.66, 0.66, 0.66), (0.48, 0.52, 0.57), (0.88, 0.88, 0.87)
STEEPEST_GROUND = 0.3
"""Half-spaces whose normal has a smaller upward component are walls, drawn as panes: else they would hide the scene."""


class Tables(NamedTuple):
    """What all pictures of a model share: rows of shapes without poses, and parts of rigid ones."""

    model: Model
    shapes: Array
    """(ns + soft bodies + visuals, 23)"""
    parts: Array
    """(p, 9) faces of hulls, nodes and triangles of meshes, those of visuals with their normals."""
    middle: Array
    """(ns, 3) [m] middle of the box around each shape, in its frame."""
    half: Array
    """(ns, 3) [m] half its sides."""
    visuals: list[VisualMesh]
    drawn: Bools
    """(ns,) shapes that are drawn, and not visuals in their place."""


def scene_tables(model: Model) -> Tables:
    """Tables of a model, for all its pictures."""
    hulls, meshes, count = model.hulls, model.meshes, model.soft.count
    kind, faces, nodes = model.shape_type, len(model.hulls.face_plane), len(model.meshes.bounds)
    visuals = visual_meshes(model)
    shapes = np.zeros((len(kind) + count + len(visuals), SHAPE_COLUMNS))
    rigid, soft = shapes[: len(kind)], shapes[len(kind) : len(kind) + count]
    rigid[:, KIND], rigid[:, SIZE : SIZE + 3] = kind, model.shape_size
    rigid[kind == HULL, SIZE] = model.shape_radius[kind == HULL]  # a length scale, for the width of drawn edges
    is_hull, is_mesh = kind == HULL, kind == MESH
    rigid[is_hull, FIRST] = hulls.face_start[model.shape_hull[is_hull]]
    rigid[is_hull, END] = hulls.face_start[model.shape_hull[is_hull] + 1]
    start = meshes.starts[model.shape_mesh[is_mesh]]
    rigid[is_mesh, FIRST], rigid[is_mesh, END] = faces + start[:, TRIANGLE_TREE], faces + start[:, VERTEX_TREE]
    soft[:, KIND], soft[:, ROTATION], soft[:, ROTATION + 4], soft[:, ROTATION + 8] = MESH, 1.0, 1.0, 1.0
    colours = linear(body_colours(model))
    rigid[:, COLOUR : COLOUR + 3], soft[:, COLOUR : COLOUR + 3] = colours[model.shape_body], colours[model.body_count :]
    parts = np.zeros((faces + nodes + len(meshes.triangles), PART_COLUMNS))
    parts[:faces, :4] = hulls.face_plane
    parts[faces : faces + nodes] = node_rows(meshes.bounds, meshes.links, faces, faces + nodes)
    parts[faces + nodes :] = meshes.vertices[meshes.triangles[:, :3], :3].reshape(-1, 9)
    parts = np.concatenate([parts, *visual_rows(visuals, len(parts), shapes[len(kind) + count :])])
    return Tables(model, shapes, parts, *local_boxes(model), visuals, ~covered_shapes(model))


def visual_rows(visuals: list[VisualMesh], used: int, shapes_out: Array) -> list[Array]:
    """Parts of visuals, after ``used`` others: triangles, normals of their corners, tree; and their rows of shapes."""
    parts = []
    for visual, row in zip(visuals, shapes_out, strict=True):
        corner = visual.vertices[visual.faces]
        tree, count = build_tree(corner.min(axis=1), corner.max(axis=1)), len(corner)
        first = used + 2 * count
        normals = visual.normals[visual.faces[tree.order]]
        parts += [corner[tree.order].reshape(-1, 9), normals.reshape(-1, 9)]
        parts.append(node_rows(tree.bounds, tree.links, first, used))
        row[KIND], row[FIRST], row[END], row[NORMALS] = MESH, first, first + len(tree.bounds), count
        row[COLOUR : COLOUR + 3] = linear(visual.colour)
        used = first + len(tree.bounds)
    return parts


def traced_scene(
    tables: Tables,
    q: Array,
    nodes: Array,
    paint: Array | None = None,
    glass: Bools | None = None,
) -> TracedScene:
    """The shapes of a model at q (nb, 7) and its soft bodies at nodes (nn, 3).

    paint (nn, 3): sRGB colours of nodes, instead of those of the soft bodies. glass (ns,): shapes to look through.
    """
    model, count = tables.model, len(tables.model.shape_type)
    position, rotation = shape_poses(model, q)
    shapes, parts = tables.shapes.copy(), [tables.parts]
    shapes[:count, POSITION : POSITION + 3] = position
    shapes[:count, ROTATION : ROTATION + 9] = rotation.reshape(count, 9)
    seen, soft_end = tables.visuals, count + model.soft.count
    place, turn = visual_poses(np.array([visual.body for visual in seen], np.int32), q)
    shapes[soft_end:, POSITION : POSITION + 3] = place
    shapes[soft_end:, ROTATION : ROTATION + 9] = turn.reshape(-1, 9)
    triangles, used = len(model.soft.surface.triangles), len(tables.parts)
    painted = 0 if paint is None else triangles
    soft = soft_surfaces(model.soft, nodes, used + triangles + painted, used)
    shapes[count:soft_end, FIRST : END + 1], shapes[count:soft_end, PAINT] = soft.start, painted
    parts.append(nodes[soft.nodes].reshape(-1, 9))
    if paint is not None:
        parts.append(linear(paint)[soft.nodes].reshape(-1, 9))
    parts.append(node_rows(soft.bounds, soft.links, 0, 0))
    used += triangles + painted + len(soft.bounds)

    middle = position + np.einsum("sij,sj->si", rotation, tables.middle)
    reach = np.einsum("sij,sj->si", np.abs(rotation), tables.half)
    low, high = visual_bounds(tables, shapes[soft_end:])
    lower = np.concatenate([middle - reach, soft.lower, low])
    upper = np.concatenate([middle + reach, soft.upper, high])
    kind = shapes[:, KIND]
    planes = np.flatnonzero((kind[:count] == HALF_SPACE) & (rotation[:, 2, 2] >= STEEPEST_GROUND))
    clear = np.zeros(len(shapes), np.bool_)
    clear[:count] = False if glass is None else glass
    solid = kind != HALF_SPACE
    solid[:count] &= tables.drawn
    order, roots = [planes], []
    for group in (np.flatnonzero(solid & ~clear), np.flatnonzero(solid & clear)):
        tree = build_tree(lower[group], upper[group])
        roots.append(used if len(group) else -1)
        parts.append(node_rows(tree.bounds, tree.links, used, sum(map(len, order))))
        order.append(group[tree.order])
        used += len(tree.bounds)
    ordered = shapes[np.concatenate(order)]
    return TracedScene(ordered, np.concatenate(parts), len(planes), roots[0], roots[1])


def visual_bounds(tables: Tables, rows: Array) -> tuple[Array, Array]:
    """Lower and upper corner (k, 3) [m] of boxes around visuals at the poses that their rows of shapes have."""
    box = tables.parts[rows[:, FIRST].astype(np.int64), :6]  # of the root of the tree of each
    turn = rows[:, ROTATION : ROTATION + 9].reshape(-1, 3, 3)
    middle = rows[:, POSITION : POSITION + 3] + np.einsum("sij,sj->si", turn, 0.5 * (box[:, :3] + box[:, 3:]))
    reach = np.einsum("sij,sj->si", np.abs(turn), 0.5 * (box[:, 3:] - box[:, :3]))
    return middle - reach, middle + reach


def body_colours(model: Model) -> Array:
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


def linear(colour: ArrayLike) -> Array:
    """Linear RGB of sRGB colours in 0..1."""
    srgb = np.asarray(colour, dtype=np.float64)
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def encoded(image: NDArray[np.float32]) -> NDArray[np.uint8]:
    """sRGB bytes of linear RGB."""
    return _srgb_bytes()[(np.clip(image, 0.0, 1.0) * (1 << 15) + np.float32(0.5)).astype(np.uint16)]


@functools.cache
def _srgb_bytes() -> NDArray[np.uint8]:
    """(32769,) byte of each step of 2^-15 of linear light: 0.1 of a byte where sRGB is steepest."""
    light = np.linspace(0.0, 1.0, (1 << 15) + 1)
    srgb = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1.0 / 2.4) - 0.055)
    return np.floor(255.0 * srgb + 0.5).astype(np.uint8)


def node_rows(bounds: Array, links: Ints, first_node: int, first_item: int) -> Array:
    """Rows (k, 9) of parts for the nodes of a tree that follow others, over items that do."""
    return np.column_stack([bounds, links + np.array([first_node, first_item, 0])])
