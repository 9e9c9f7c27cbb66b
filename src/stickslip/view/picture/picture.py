"""Pictures of a scene, computed without a display.

Made by hand because the usual ways (VTK, OpenGL) need 100 MB and more of packages and a graphics stack that servers
and containers lack. The shapes here are few and convex, so a small ray tracer draws them exactly, with shadows, on any
machine.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip import checks
from stickslip.arrays import Array, Bools
from stickslip.errors import FileError, InputError, MissingDependencyError
from stickslip.files import whole_file
from stickslip.model.model import Model
from stickslip.model.visual_tables import NO_VISUALS
from stickslip.names import shown, visible
from stickslip.view.picture.camera import Camera, frame_camera, projected
from stickslip.view.soft_colours import node_means, value_colours, value_limits

if TYPE_CHECKING:
    from stickslip.view.picture.contact_marks import ArrowScale, ContactMarks
    from stickslip.view.picture.pixels import Canvas
    from stickslip.view.picture.traced_scene import Tables

THIN = 1.5
"""Pixels; shapes thinner than this get all rays of a pixel, since one might pass beside them."""
RIM = 0.0011
"""Width of the edges of walls, relative to the camera's distance."""
SUN_ABOVE, SUN_ASIDE = 48.0, 55.0
"""[deg] height of the sun, and how far it stands to the left of the camera: every view is lit alike."""


class Easel(NamedTuple):
    """What pictures of one model and one size share; made once for a film."""

    tables: Tables
    canvas: Canvas
    samples: int


def easel(model: Model, width: int, height: int, samples: int) -> Easel:
    """An easel; a size or number of samples that makes no sense raises an InputError."""
    from stickslip.view.picture.pixels import canvas
    from stickslip.view.picture.traced_scene import scene_tables

    checks.instance("picture", "model", model, Model, "a stickslip.Model is needed")
    width, height = (checks.whole("picture", *side) for side in (("width", width), ("height", height)))
    if not (8 <= width <= 16384 and 8 <= height <= 16384):
        raise InputError(f"picture: size is {width} x {height}; each side must be between 8 and 16384 pixels")
    samples = checks.whole("picture", "samples", samples)
    if not 1 <= samples <= 8:
        raise InputError(f"picture: samples is {samples}; it must be between 1 and 8")
    return Easel(scene_tables(model), canvas(width, height), samples)


def render_frame(
    model: Model,
    q: Array,
    width: int = 960,
    height: int = 540,
    *,
    azimuth: float = -60.0,
    elevation: float = 18.0,
    zoom: float = 1.0,
    camera: Camera | None = None,
    samples: int = 2,
    contacts: ContactMarks | None = None,
    nodes: Array | None = None,
    values: Array | None = None,
    limits: tuple[float, float] | None = None,
    joints_broken: Bools | None = None,
    collision: bool = False,
) -> NDArray[np.uint8]:
    """Picture (height, width, 3) of a model at q (nb, 7), sRGB; of soft bodies with nodes (nn, 3) [m].

    azimuth and elevation [deg] of the camera, which frames the bodies that move; or a ``camera`` of one's own, to keep
    it still over several frames. samples: rays per side of a pixel at edges; elsewhere one, and from 3 on more rays to
    sun and sky. contacts: forces as arrows from their points, blue where they stick, red where they slip, grey where
    open. values: one number for each node or element of model.soft, shown as colours of soft bodies, from dark blue to
    green and yellow between two ``limits``. joints_broken (nj,): draws joints as bars, broken ones in grey. collision:
    draws the collision shapes of robots, and not what their files give to look at.
    """
    from stickslip.view.picture.see_through import see_through
    from stickslip.view.picture.wall_panes import wall_room

    checks.instance("picture", "model", model, Model, "a stickslip.Model is needed")
    if checks.boolean("picture", "collision", collision):
        model = without_visuals(model)
    prepared = easel(model, width, height, samples)
    q, x = check_pose(model, q, nodes)
    if camera is not None:
        checks.instance("picture", "camera", camera, Camera, "what look_at or frame_camera returned is needed")
    if joints_broken is not None:
        joints_broken = np.asarray(joints_broken)
        if joints_broken.dtype != np.bool_ or joints_broken.shape != (model.joints.count,):
            raise InputError(f"picture: joints_broken must be ({model.joints.count},) truth values")
    view = camera or frame_camera(model, q, width, height, azimuth, elevation, zoom, x)
    paint = None
    if values is not None:
        counts = model.soft.node_count, len(model.soft.element_body)
        values = checks.numbers("picture", "values", values, *((count,) for count in counts))
        if limits is not None:
            low, high = checks.vector("picture", "limits", limits, 2).tolist()
            limits = low, high
        of_nodes = values if values.shape == (model.soft.node_count,) else node_means(model.soft, values)
        paint = value_colours(of_nodes, limits or value_limits(of_nodes))
    glass = see_through(model, [(q, x)], view)
    return draw(prepared, view, q, x, paint, glass, contacts, joints_broken, room=wall_room(model, [(q, x)]))


def without_visuals(model: Model) -> Model:
    """The model as its collision shapes are, without what is drawn in their place."""
    return replace(model, visuals=NO_VISUALS)


def check_pose(model: Model, q: Array, nodes: Array | None) -> tuple[Array, Array]:
    """q (nb, 7) and nodes (nn, 3), or an InputError unless they are finite and fit the model."""
    if nodes is None and model.soft.count:
        raise InputError("picture: the model has soft bodies; give nodes, as State.node_position")
    x = np.zeros((0, 3)) if nodes is None else nodes
    return (
        checks.array("picture", "q", q, (model.body_count, 7)),
        checks.array("picture", "nodes", x, (model.soft.node_count, 3)),
    )


def save_picture(picture: NDArray[np.uint8], path: str | os.PathLike[str]) -> None:
    """Write a picture (h, w, 3) as a PNG file, whole or not at all; needs the extra ``view``."""
    try:
        from PIL import Image
    except ImportError:
        raise MissingDependencyError("pictures need Pillow; install it with: pip install 'stickslip[view]'") from None
    if checks.path("picture", path).suffix.lower() != ".png":
        raise FileError(f"cannot write {visible(path)}: pictures are PNG files; give a name that ends in .png")
    try:
        picture = np.asarray(picture)
    except ValueError:  # rows of different lengths
        raise InputError(f"picture: it is {shown(picture)}; an array of bytes (h, w, 3) is needed") from None
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or not picture.size:
        raise InputError(f"picture: it is an array of {picture.dtype} {picture.shape}; bytes (h, w, 3) are needed")
    with whole_file(path) as temporary:
        Image.fromarray(picture).save(temporary, format="PNG", optimize=True)


def draw(
    prepared: Easel,
    view: Camera,
    q: Array,
    nodes: Array,
    paint: Array | None = None,
    glass: Bools | None = None,
    contacts: ContactMarks | None = None,
    joints_broken: Bools | None = None,
    arrows: ArrowScale | None = None,
    room: Array | None = None,
) -> NDArray[np.uint8]:
    """Picture (h, w, 3) of a model at q (nb, 7) and nodes (nn, 3), sRGB; see :func:`render_frame`.

    paint (nn, 3): sRGB of nodes. glass (ns,): shapes that are looked through. arrows: how large forces are drawn.
    room (2, 3) [m]: box in which walls are drawn, as wall_room gives.
    """
    # here and not above: these modules hold kernels, and only who renders pays for them
    from stickslip.view.picture.contact_marks import draw_contacts, draw_joints
    from stickslip.view.picture.pixels import compose, expose, find_edges, lay_glass, lay_panes, lens_of
    from stickslip.view.picture.shading import PATTERN, Light, sky_directions, sun_directions
    from stickslip.view.picture.traced_scene import encoded, traced_scene
    from stickslip.view.picture.wall_panes import pane_rows, wall_panes

    tables, canvas, samples = prepared
    height, width = canvas.code.shape
    scene, lens, sun = traced_scene(tables, q, nodes, paint, glass), lens_of(view, width, height), _sun(view)
    rays = max(1, (samples - 1) ** 2)
    directions = PATTERN * max(rays, samples**2)
    pixel = 2.0 * float(lens.half[0]) / width
    light = Light(
        1.5 * view.distance, round_length(view.distance / 14.0), pixel,
        np.array(sun), sky_directions(directions), sun_directions(sun, directions),
    )  # fmt: skip
    canvas.chosen[:] = True
    expose(scene, lens, light, 1, rays, canvas.chosen, canvas.light, canvas.code, canvas.normal)
    if samples > 1:
        canvas.chosen[:] = False
        _choose_thin(scene.shapes[scene.planes :], view, canvas.chosen)
        find_edges(canvas.code, canvas.normal, canvas.chosen)
        expose(scene, lens, light, samples, 1, canvas.chosen, canvas.light, canvas.code, canvas.normal)
    compose(canvas.light, canvas.code, canvas.normal, canvas.image)
    panes = [] if room is None else wall_panes(tables.model, q, room)
    if panes:
        rim = max(RIM * view.distance, 0.5 * pixel * view.distance)
        walls = pane_rows(tables.model, panes, view.eye)
        lay_panes(scene, walls, lens, rim, samples, canvas.chosen, canvas.image)
    if scene.glass >= 0:
        lay_glass(scene, lens, light.sun, samples, canvas.image)
    if joints_broken is not None and len(joints_broken):
        draw_joints(canvas.image, tables.model, q, joints_broken, view, samples)
    if contacts is not None and len(contacts.point):
        draw_contacts(canvas.image, contacts, view, samples, arrows)
    return encoded(canvas.image)


def _choose_thin(shapes: Array, view: Camera, chosen_out: Bools) -> None:
    """Choose the pixels around shapes (rows as in ray_tracer.py) that are thinner than a pixel or so."""
    from stickslip.view.picture.outlines import CORNERS, half_sides
    from stickslip.view.picture.ray_tracer import KIND, POSITION, ROTATION, SIZE

    height, width = chosen_out.shape
    half = half_sides(shapes[:, KIND], shapes[:, SIZE : SIZE + 3])
    thickness = np.where(half.any(axis=1), 2.0 * half.min(axis=1), np.inf)  # of hulls and meshes nothing is known
    position = shapes[:, POSITION : POSITION + 3]
    depth = (position - view.eye) @ view.axes[2]
    pixel = 2.0 * view.half_size(width, height)[0] / width
    thin = np.flatnonzero((depth > 0.0) & (thickness < THIN * pixel * depth))
    turn = shapes[thin, ROTATION : ROTATION + 9].reshape(-1, 3, 3)
    corners = position[thin, None] + np.einsum("sij,scj->sci", turn, half[thin, None] * CORNERS)
    seen = projected(view, corners.reshape(-1, 3), width, height).reshape(-1, 8, 2)
    seen = seen[np.isfinite(seen).all(axis=(1, 2))]
    first, last = np.floor(seen.min(axis=1)).astype(int), np.floor(seen.max(axis=1)).astype(int) + 1
    for (x0, y0), (x1, y1) in zip(np.maximum(first, 0), last, strict=True):
        if x1 > 0 and y1 > 0:
            chosen_out[y0:y1, x0:x1] = True


def _sun(view: Camera) -> tuple[float, float, float]:
    """Direction to the sun: behind the camera, to its left."""
    above, aside = np.deg2rad(SUN_ABOVE), np.deg2rad(SUN_ASIDE)
    back = -view.axes[2, :2] / np.linalg.norm(view.axes[2, :2])
    flat = np.cos(aside) * back - np.sin(aside) * view.axes[0, :2]
    return float(np.cos(above) * flat[0]), float(np.cos(above) * flat[1]), float(np.sin(above))


def round_length(length: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above a length, or any positive number."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(power * max(step for step in (1.0, 2.0, 5.0) if step * power <= length * (1.0 + 1e-12)))
