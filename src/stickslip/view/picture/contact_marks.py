"""Contact forces as arrows and joints as bars, laid over a picture so that bodies do not hide them."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, Ints
from stickslip.geometry.mesh_tree import build_tree
from stickslip.geometry.shapes import CAPSULE
from stickslip.model.model import Model
from stickslip.view.marks import BROKEN_COLOUR, JOINT_COLOUR, STATUS_COLOURS, crowd_size, joint_marks
from stickslip.view.picture.camera import FIELD_OF_VIEW, Camera
from stickslip.view.picture.pixels import lay_over, lens_of
from stickslip.view.picture.ray_tracer import COLOUR, CONE, KIND, POSITION, ROTATION, SHAPE_COLUMNS, SIZE
from stickslip.view.picture.traced_scene import linear, node_rows

LONGEST, SPARE, THICKNESS = 0.10, 0.5, 0.0014
"""Length of the arrow of the largest force relative to the camera's distance, how much longer than that an arrow may
be, and radius of shafts relative to that distance; all where there are few contacts."""
HEAD, HEAD_SHARE, HEAD_RADIUS = 11.0, 0.5, 3.4
"""Length of a head in radii of the shaft, the largest share of the whole that it may be, and its radius."""
POINT = 1.5
"""Radius of the ball at the contact point, in radii of the shaft."""


class ArrowScale(NamedTuple):
    """How large the arrows of forces are; one for a whole film."""

    force: float
    """[N] of the longest arrow."""
    size: float
    """Of all arrows; 1 where there are few contacts."""


class ContactMarks(Protocol):
    """Contacts to draw; both ContactReport and RecordedContacts are such."""

    @property
    def point(self) -> Array:
        """(k, 3) [m] world."""
        ...

    @property
    def force(self) -> Array:
        """(k, 3) [N] world; FrameContacts have it on the body that can move."""
        ...

    @property
    def status(self) -> Ints:
        """(k,) OPEN, STICK or SLIP."""
        ...


def draw_contacts(
    image: NDArray[np.float32], contacts: ContactMarks, view: Camera, samples: int, scale: ArrowScale | None = None
) -> None:
    """Lay arrows over a linear image (h, w, 3), in place: from each contact point along its force.

    scale: that of a film; else the largest of these forces has the longest arrow.
    """
    size = np.linalg.norm(contacts.force, axis=1)
    if scale is None:
        scale = ArrowScale(float(size.max()), crowd_size(len(size)))
    share = size / max(scale.force, 1e-300)
    length = scale.size * LONGEST * view.distance * np.minimum(share, 1.0 + SPARE)
    along = np.where(size[:, None] > 0.0, contacts.force, (0.0, 0.0, 1.0))
    along = along / np.linalg.norm(along, axis=1)[:, None]
    colours = np.array([STATUS_COLOURS[int(code)] for code in contacts.status])
    thick = _thickness(image, view, scale.size)
    head = np.minimum(HEAD * thick, HEAD_SHARE * length)
    shaft = np.minimum(thick, 0.5 * head * HEAD_RADIUS / HEAD)  # of short arrows all is smaller, as far as it can be
    neck, tip = (contacts.point + along * reach[:, None] for reach in (length - head, length))
    balls = _bars(contacts.point, contacts.point, np.full(len(size), POINT * thick), colours)
    drawn = length > POINT * thick
    shafts = _bars(contacts.point[drawn], neck[drawn], shaft[drawn], colours[drawn])
    heads = _bars(neck[drawn], tip[drawn], (head * HEAD_RADIUS / HEAD)[drawn], colours[drawn])
    heads[:, KIND] = CONE
    _draw(image, np.concatenate([balls, shafts, heads]), view, samples)


def arrow_shape(width: int, height: int, size: float) -> tuple[float, float]:
    """Length and diameter of the arrow of the largest force in the middle of what is seen, relative to the width."""
    half = float(np.tan(0.5 * FIELD_OF_VIEW)) * min(1.0, width / height)
    return size * LONGEST / (2.0 * half), max(size * THICKNESS, half / width) / half


def draw_joints(
    image: NDArray[np.float32],
    model: Model,
    q: Array,
    broken: Bools,
    view: Camera,
    samples: int,
) -> None:
    """Lay bars over a linear image (h, w, 3), in place: from centres of bodies to the points that joints (nj,) hold."""
    lines = joint_marks(model, q).lines
    colours = np.where(broken[:, None], BROKEN_COLOUR, JOINT_COLOUR).repeat(3, axis=0)
    radius = np.full(len(colours), _thickness(image, view))
    _draw(image, _bars(lines[:, :, 0].reshape(-1, 3), lines[:, :, 1].reshape(-1, 3), radius, colours), view, samples)


def _thickness(image: NDArray[np.float32], view: Camera, size: float = 1.0) -> float:
    """[m] radius of bars: at least half a pixel."""
    height, width = image.shape[:2]
    return max(size * THICKNESS, view.half_size(width, height)[0] / width) * view.distance


def _bars(start: Array, end: Array, radius: Array, colours: Array) -> Array:
    """Rows (k, 22) of the ray tracer: round bars with ends (k, 3), radii (k,) [m] and sRGB colours (k, 3)."""
    half = 0.5 * np.linalg.norm(end - start, axis=1)
    shapes = np.zeros((len(start), SHAPE_COLUMNS))
    shapes[:, KIND], shapes[:, SIZE], shapes[:, SIZE + 1] = CAPSULE, radius, half
    shapes[:, POSITION : POSITION + 3], shapes[:, COLOUR : COLOUR + 3] = 0.5 * (start + end), linear(colours)
    # axes of each bar: z along it, the others across
    along = np.where(half[:, None] > 0.0, (end - start) / np.maximum(2.0 * half, 1e-300)[:, None], (0.0, 0.0, 1.0))
    across = np.cross(along, np.where(np.abs(along[:, :1]) < 0.5, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    turn = np.stack([across, np.cross(along, across), along], axis=2)
    shapes[:, ROTATION : ROTATION + 9] = turn.reshape(-1, 9)
    return shapes


def _draw(image: NDArray[np.float32], shapes: Array, view: Camera, samples: int) -> None:
    """Lay bars and cones, rows (k, 22) of the ray tracer, over a linear image (h, w, 3), in place."""
    height, width = image.shape[:2]
    middle, along = shapes[:, POSITION : POSITION + 3], shapes[:, ROTATION + 2 : ROTATION + 9 : 3]
    reach = shapes[:, SIZE + 1, None] * np.abs(along) + shapes[:, SIZE, None]
    tree = build_tree(middle - reach, middle + reach)
    parts = node_rows(tree.bounds, tree.links, 0, 0)
    lay_over(shapes[tree.order], parts, 0, lens_of(view, width, height), samples, image)
