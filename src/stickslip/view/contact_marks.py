"""Contact forces as bars, laid over a picture so that bodies do not hide them."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stickslip.geometry.rotation import between, matrix
from stickslip.geometry.shapes import CAPSULE
from stickslip.view.bounding_tree import bounding_tree
from stickslip.view.camera import Camera
from stickslip.view.marks import STATUS_COLOURS
from stickslip.view.ray_tracer import TracedScene
from stickslip.view.shading import lay_over
from stickslip.view.traced_scene import linear

LONGEST, THICKNESS = 0.10, 0.0016
"""Length of the bar of the largest force, and radius of all, relative to the camera's distance."""


class ContactMarks(Protocol):
    """Contacts to draw; both ContactReport and RecordedContacts are such."""

    @property
    def point(self) -> NDArray[np.float64]:
        """(k, 3) [m] world."""
        ...

    @property
    def force(self) -> NDArray[np.float64]:
        """(k, 3) [N] world."""
        ...

    @property
    def status(self) -> NDArray[np.int32]:
        """(k,) OPEN, STICK or SLIP."""
        ...


def draw_contacts(image: NDArray[np.float64], contacts: ContactMarks, view: Camera, samples: int) -> None:
    """Lay bars over a linear image (h, w, 3), in place: through each contact point, along its force."""
    height, width = image.shape[:2]
    count = len(contacts.point)
    size = np.linalg.norm(contacts.force, axis=1)
    length = LONGEST * view.distance * size / max(float(size.max()), 1e-300)
    direction = np.where(size[:, None] > 0.0, contacts.force, (0.0, 0.0, 1.0))
    direction = direction / np.linalg.norm(direction, axis=1)[:, None]
    centre = np.ascontiguousarray(contacts.point)
    thick = THICKNESS * view.distance
    extent = 0.5 * length[:, None] * np.abs(direction) + thick
    scene = TracedScene(
        kind=np.full(count, CAPSULE, dtype=np.int32),
        position=centre,
        rotation=np.array([matrix(between((0.0, 0.0, 1.0), n)) for n in direction]),
        size=np.column_stack([np.full(count, thick), 0.5 * length, np.zeros(count)]),
        hull=np.full(count, -1, dtype=np.int32),
        face_start=np.zeros(1, dtype=np.int32),
        face_plane=np.zeros((0, 4)),
        mesh=np.full(count, -1, dtype=np.int32),
        mesh_start=np.zeros((0, 2), dtype=np.int64),
        mesh_bounds=np.zeros((0, 6)),
        mesh_links=np.zeros((0, 3), dtype=np.int32),
        mesh_corners=np.zeros((0, 9)),
        mesh_paint=np.zeros((0, 9)),
        colour=linear([STATUS_COLOURS[int(code)] for code in contacts.status]),
        planes=np.zeros(0, dtype=np.int32),
    )
    tree = bounding_tree(centre - extent, centre + extent, np.arange(count, dtype=np.int32))
    eye, axes = tuple(view.eye.tolist()), np.ascontiguousarray(view.axes)
    lay_over(scene, tree, eye, axes, view.half_size(width, height), samples, image)
