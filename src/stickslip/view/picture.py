"""Pictures of a scene, computed without a display.

Made by hand because the usual ways (VTK, OpenGL) need 100 MB and more of packages and a graphics stack that servers
and containers lack. The shapes here are few and convex, so a small ray tracer draws them exactly, with shadows, on any
machine.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stickslip.errors import FileError, InputError, MissingDependencyError
from stickslip.files import whole_file
from stickslip.model import Model
from stickslip.view.camera import Camera, frame_camera
from stickslip.view.soft_colours import node_means, value_colours, value_limits

if TYPE_CHECKING:
    from stickslip.view.contact_marks import ContactMarks

SUN_ABOVE, SUN_ASIDE = 48.0, 55.0
"""[deg] height of the sun, and how far it stands to the left of the camera: every view is lit alike."""


def render_frame(
    model: Model,
    q: NDArray[np.float64],
    width: int = 960,
    height: int = 540,
    *,
    azimuth: float = -60.0,
    elevation: float = 18.0,
    zoom: float = 1.0,
    camera: Camera | None = None,
    samples: int = 2,
    contacts: ContactMarks | None = None,
    nodes: NDArray[np.float64] | None = None,
    values: NDArray[np.float64] | None = None,
    limits: tuple[float, float] | None = None,
) -> NDArray[np.uint8]:
    """Picture (height, width, 3) of a model at q (nb, 7), sRGB; of soft bodies with nodes (nn, 3) [m].

    azimuth and elevation [deg] of the camera, which frames the dynamic bodies; or a ``camera`` of one's own, to keep
    it still over several frames. samples: rays per side of a pixel. contacts: forces drawn as bars over the
    picture, blue where they stick, red where they slip, grey where open. values: one number for each element of
    model.soft, shown as colours of soft bodies, from dark blue over green to yellow between two ``limits``.
    """
    if not (8 <= width <= 16384 and 8 <= height <= 16384):
        raise InputError(f"picture: size is {width} x {height}; each side must be between 8 and 16384 pixels")
    if not 1 <= samples <= 8:
        raise InputError(f"picture: samples is {samples}; it must be between 1 and 8")
    if q.shape != (model.body_count, 7) or not np.isfinite(q).all():
        raise InputError(f"picture: q has shape {q.shape}; finite numbers of shape {(model.body_count, 7)} are needed")
    if nodes is None and model.soft.count:
        raise InputError("picture: the model has soft bodies; give nodes, as State.node_position")
    x = np.zeros((0, 3)) if nodes is None else nodes
    if x.shape != (model.soft.node_count, 3) or not np.isfinite(x).all():
        raise InputError(f"picture: nodes have shape {x.shape}; finite numbers {(model.soft.node_count, 3)} are needed")
    view = camera or frame_camera(model, q, width, height, azimuth, elevation, zoom, x)
    paint = None
    if values is not None:
        of_nodes = values if values.shape == (model.soft.node_count,) else node_means(model.soft, values)
        paint = value_colours(of_nodes, limits or value_limits(of_nodes))
    return _traced(model, q, x, paint, view, width, height, samples, contacts)


def save_picture(picture: NDArray[np.uint8], path: str | os.PathLike[str]) -> None:
    """Write a picture (h, w, 3) as a PNG file, whole or not at all; needs the extra ``view``."""
    try:
        from PIL import Image
    except ImportError:
        raise MissingDependencyError("pictures need Pillow; install it with: pip install 'stickslip[view]'") from None
    if Path(path).suffix.lower() != ".png":
        raise FileError(f"cannot write {path}: pictures are PNG files; give a name that ends in .png")
    with whole_file(path) as temporary:
        Image.fromarray(picture).save(temporary, format="PNG", optimize=True)


def _traced(
    model: Model,
    q: NDArray[np.float64],
    nodes: NDArray[np.float64],
    paint: NDArray[np.float64] | None,
    view: Camera,
    width: int,
    height: int,
    samples: int,
    contacts: ContactMarks | None,
) -> NDArray[np.uint8]:
    """Trace the scene and, over it, the contacts."""
    # here and not above: these modules hold kernels, and only who renders pays for them
    from stickslip.view.contact_marks import draw_contacts
    from stickslip.view.shading import compose, trace
    from stickslip.view.traced_scene import encoded, traced_scene

    shape, normal = np.full((height, width), -1, dtype=np.int32), np.zeros((height, width, 3))
    far, tile = 1.5 * view.distance, _round_length(view.distance / 14.0)
    eye, axes = tuple(view.eye.tolist()), np.ascontiguousarray(view.axes)
    half = view.half_size(width, height)
    own, sunny, ambient, seen = (np.zeros((height, width, channels)) for channels in (3, 3, 3, 2))
    light = (own, sunny, ambient, seen, shape, normal)
    trace(*traced_scene(model, q, nodes, paint), eye, axes, half, samples, far, tile, _sun(view), *light)
    image = compose(*light)
    if contacts is not None and len(contacts.point):
        draw_contacts(image, contacts, view, samples)
    return encoded(image)


def _sun(view: Camera) -> tuple[float, float, float]:
    """Direction to the sun: behind the camera, to its left."""
    above, aside = np.deg2rad(SUN_ABOVE), np.deg2rad(SUN_ASIDE)
    back = -view.axes[2, :2] / np.linalg.norm(view.axes[2, :2])
    flat = np.cos(aside) * back - np.sin(aside) * view.axes[0, :2]
    return float(np.cos(above) * flat[0]), float(np.cos(above) * flat[1]), float(np.sin(above))


def _round_length(length: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above a length."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(power * max(step for step in (1.0, 2.0, 5.0) if step * power <= length * (1.0 + 1e-12)))
