"""Contact forces and joints as bars, laid over a picture so that bodies do not hide them."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stickslip.geometry.mesh_tree import build_tree
from stickslip.geometry.shapes import CAPSULE
from stickslip.model import Model
from stickslip.view.camera import FIELD_OF_VIEW, Camera
from stickslip.view.marks import BROKEN_COLOUR, JOINT_COLOUR, STATUS_COLOURS, joint_marks
from stickslip.view.pixels import lay_over
from stickslip.view.ray_tracer import COLOUR, KIND, POSITION, ROTATION, SHAPE_COLUMNS, SIZE
from stickslip.view.traced_scene import linear, node_rows

LONGEST, SPARE, THICKNESS = 0.10, 0.5, 0.0016
"""Length of the bar of the largest force relative to the camera's distance, how much longer than that a bar may be,
and radius of all relative to that distance."""
HEAD, HEAD_SHARE, HEAD_RADIUS = 11.0, 0.5, 3.0
"""Length of the head of a bar in radii of the bar, the largest share of the whole that it may be, and its radius."""
HEAD_BALLS = 10
"""Balls of falling size that make a head."""


class ContactMarks(Protocol):
    """Contacts to draw; both ContactReport and RecordedContacts are such."""

    @property
    def point(self) -> NDArray[np.float64]:
        """(k, 3) [m] world."""
        ...

    @property
    def force(self) -> NDArray[np.float64]:
        """(k, 3) [N] world; FrameContacts have it on the body that can move."""
        ...

    @property
    def status(self) -> NDArray[np.int32]:
        """(k,) OPEN, STICK or SLIP."""
        ...


def draw_contacts(
    image: NDArray[np.float32], contacts: ContactMarks, view: Camera, samples: int, largest: float | None = None
) -> None:
    """Lay bars over a linear image (h, w, 3), in place: from each contact point along its force, with a head.

    largest [N]: the force whose bar is as long as any; else the largest of these.
    """
    size = np.linalg.norm(contacts.force, axis=1)
    share = size / max(float(size.max()) if largest is None else largest, 1e-300)
    length = LONGEST * view.distance * np.minimum(share, 1.0 + SPARE)
    along = np.where(size[:, None] > 0.0, contacts.force, (0.0, 0.0, 1.0))
    along = along / np.linalg.norm(along, axis=1)[:, None]
    colours = np.array([STATUS_COLOURS[int(code)] for code in contacts.status])
    thick = _thickness(image, view)
    # a head is a row of balls that get smaller towards the tip; of short bars it is smaller as a whole
    head = np.minimum(HEAD * thick, HEAD_SHARE * length)
    tip = contacts.point + along * length[:, None]
    place = np.linspace(0.0, 1.0, HEAD_BALLS, endpoint=False)
    balls = tip[:, None] - (along * head[:, None])[:, None] * (1.0 - place)[None, :, None]
    reach = np.maximum(head[:, None] * HEAD_RADIUS / HEAD * (1.0 - place), 0.5 * thick)
    end = contacts.point + along * (length - 0.5 * head)[:, None]
    start, stop = np.concatenate([contacts.point, balls.reshape(-1, 3)]), np.concatenate([end, balls.reshape(-1, 3)])
    radius = np.concatenate([np.full(len(end), thick), reach.ravel()])
    _draw_bars(image, start, stop, radius, np.concatenate([colours, colours.repeat(HEAD_BALLS, axis=0)]), view, samples)


def bar_length(width: int, height: int) -> float:
    """Length of the bar of the largest force in the middle of what is seen, relative to the width of the picture."""
    half = float(np.tan(0.5 * FIELD_OF_VIEW)) * min(1.0, width / height)
    return LONGEST / (2.0 * half)


def draw_joints(
    image: NDArray[np.float32],
    model: Model,
    q: NDArray[np.float64],
    broken: NDArray[np.bool_],
    view: Camera,
    samples: int,
) -> None:
    """Lay bars over a linear image (h, w, 3), in place: from centres of bodies to the points that joints (nj,) hold."""
    lines = joint_marks(model, q).lines
    colours = np.where(broken[:, None], BROKEN_COLOUR, JOINT_COLOUR).repeat(3, axis=0)
    radius = np.full(len(colours), _thickness(image, view))
    _draw_bars(image, lines[:, :, 0].reshape(-1, 3), lines[:, :, 1].reshape(-1, 3), radius, colours, view, samples)


def _thickness(image: NDArray[np.float32], view: Camera) -> float:
    """[m] radius of bars: at least half a pixel."""
    height, width = image.shape[:2]
    return max(THICKNESS, view.half_size(width, height)[0] / width) * view.distance


def _draw_bars(
    image: NDArray[np.float32],
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    radius: NDArray[np.float64],
    colours: NDArray[np.float64],
    view: Camera,
    samples: int,
) -> None:
    """Lay round bars with ends (k, 3), radii (k,) [m] and sRGB colours (k, 3) over a linear image, in place."""
    height, width = image.shape[:2]
    middle = 0.5 * (start + end)
    half = 0.5 * np.linalg.norm(end - start, axis=1)
    shapes = np.zeros((len(start), SHAPE_COLUMNS))
    shapes[:, KIND], shapes[:, SIZE], shapes[:, SIZE + 1] = CAPSULE, radius, half
    shapes[:, POSITION : POSITION + 3], shapes[:, COLOUR : COLOUR + 3] = middle, linear(colours)
    # axes of each bar: z along it, the others across
    along = np.where(half[:, None] > 0.0, (end - start) / np.maximum(2.0 * half, 1e-300)[:, None], (0.0, 0.0, 1.0))
    across = np.cross(along, np.where(np.abs(along[:, :1]) < 0.5, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    turn = np.stack([across, np.cross(along, across), along], axis=2)
    shapes[:, ROTATION : ROTATION + 9] = turn.reshape(-1, 9)
    reach = half[:, None] * np.abs(along) + radius[:, None]
    tree = build_tree(middle - reach, middle + reach)
    eye, axes = tuple(view.eye.tolist()), np.ascontiguousarray(view.axes)
    parts = node_rows(tree.bounds, tree.links, 0, 0)
    lay_over(shapes[tree.order], parts, 0, eye, axes, view.half_size(width, height), samples, image)
