"""Contacts and joints in the viewer's page: points, force arrows, friction cones, lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.arrays import Array, Bools, Ints
from stickslip.certify.contact_report import OPEN
from stickslip.geometry.unit_surfaces import cone
from stickslip.model.model import Model
from stickslip.view.frame import FrameContacts
from stickslip.view.marks import (
    BROKEN_COLOUR,
    JOINT_COLOUR,
    crowd_size,
    friction_cones,
    joint_marks,
    status_colours,
    turns_from_z,
)  # fmt: skip
from stickslip.view.picture.traced_scene import linear
from stickslip.view.web.following_scale import FollowingScale

if TYPE_CHECKING:
    import viser

POINT, ARROW_WIDTH, ARROW_LENGTH, CONE_HEIGHT = 0.016, 0.010, 0.4, 0.15
"""Radius of points, half width and length of the arrow of the reference force, height of cones, in lengths of the page,
whose camera stands VIEW_DISTANCE away."""
LONGEST = 4.0
"""Longest arrows, in arrows of the reference force: impacts are no longer."""
MOST_CONES = 4000
"""Contacts with cones: the strongest."""


class ContactNodes:
    """Contacts of one frame, as nodes under ``root``; their number changes from frame to frame."""

    def __init__(self, server: viser.ViserServer, unit: float, root: str) -> None:
        """unit: lengths of the page per metre."""
        self._unit = unit
        self._force, self._crowd = FollowingScale(), FollowingScale()
        add = server.scene.add_batched_meshes_simple
        none = {
            "batched_wxyzs": np.array([[1.0, 0.0, 0.0, 0.0]]),
            "batched_positions": np.zeros((1, 3)),
            "batched_scales": np.zeros((1, 3)),
            "batched_colors": np.zeros((1, 3)),
            "lod": "off",
            "cast_shadow": False,
            "receive_shadow": False,
        }
        self.points = add(f"{root}/points", *ball(), **none)
        self.arrows = add(f"{root}/arrows", *arrow(), flat_shading=False, **none)
        self.cones = add(f"{root}/cones", *cone(), side="double", opacity=0.35, **none)

    @property
    def reference(self) -> float:
        """[N] force whose arrow is ``arrow_length`` long: it follows the 95th percentile of contact forces, unless
        fix_scale says."""
        return self._force.value

    @property
    def arrow_length(self) -> float:
        """[m] of the arrow of the reference force."""
        return self._size * ARROW_LENGTH / self._unit

    @property
    def _size(self) -> float:
        """How large points and arrows are: 1 where there are few contacts."""
        return crowd_size(self._crowd.value)

    def fix_scale(self, reference: float, count: int) -> None:
        """Choose the reference force [N] and the number of contacts that sizes are made for, once for all frames."""
        self._force.limit(reference, reference)
        self._crowd.limit(count, count)

    def restart_scale(self) -> None:
        """Choose both anew by the coming frames, unless they are fixed."""
        self._force.restart()
        self._crowd.restart()

    def show(self, contacts: FrameContacts, points: bool, forces: bool, cones: bool) -> None:
        """Draw some of the marks of contacts; those that are not drawn cost nothing."""
        size = np.linalg.norm(contacts.force, axis=1)
        pushing = size > 0.0
        if pushing.any():
            self._force.follow(float(np.percentile(size[pushing], 95.0)))
            self._crowd.follow(len(size))
        colours = status_colours(contacts)
        wxyz = np.zeros((len(size), 4))
        wxyz[:, 0] = 1.0
        self.points.visible, self.arrows.visible, self.cones.visible = points, forces, cones
        if points:
            scale = np.full((len(size), 3), self._size * POINT)
            _place(self.points, self._unit * contacts.point, wxyz, scale, colours)
        if forces:
            drawn = np.flatnonzero(pushing)
            share = np.minimum(size[drawn] / max(self.reference, 1e-300), LONGEST)
            length = self._size * ARROW_LENGTH * share
            width = np.minimum(self._size * ARROW_WIDTH, 0.1 * length)
            turn = turns_from_z(contacts.force[drawn] / size[drawn, None])
            _place(
                self.arrows,
                self._unit * contacts.point[drawn],
                turn,
                np.stack([width, width, length], 1),
                colours[drawn],
            )
        if cones:
            drawn = np.flatnonzero(contacts.status != OPEN)
            drawn = np.sort(drawn[np.argsort(-size[drawn], kind="stable")[:MOST_CONES]])
            shown = friction_cones(contacts, self._size * CONE_HEIGHT)
            at, wxyz, scale = (column[drawn] for column in shown)
            _place(self.cones, self._unit * at, wxyz, scale, colours[drawn])


class JointNodes:
    """Joints of a model as lines from centre to centre through their points, and balls at the points."""

    def __init__(self, server: viser.ViserServer, model: Model, q: Array, unit: float, root: str) -> None:
        """Joints at q (nb, 7); unit: lengths of the page per metre."""
        self._model, self._count, self._unit = model, len(model.joint_names), unit
        self._lines: Any = None
        self._broken: Bools = np.zeros(self._count, np.bool_)
        if self._count == 0:
            return
        marks = joint_marks(model, q)
        colours = self._colours(self._broken)
        self._lines = server.scene.add_line_segments(
            f"{root}/lines", unit * marks.lines.reshape(-1, 2, 3), _both_ends(colours),
            thickness=2.5, thickness_units="screen",
        )  # fmt: skip
        self._size = np.full((self._count, 3), 0.9 * POINT)
        self._wxyz = np.tile([1.0, 0.0, 0.0, 0.0], (self._count, 1))
        self._balls = server.scene.add_batched_meshes_simple(
            f"{root}/points", *ball(), self._wxyz, unit * marks.anchors.mean(axis=1), batched_scales=self._size,
            batched_colors=linear(colours), lod="off", cast_shadow=False,
        )  # fmt: skip

    def show(self, q: Array, broken: Bools, visible: bool) -> None:
        """Draw joints at q (nb, 7); broken (nj,) ones are grey."""
        if self._lines is None:
            return
        self._lines.visible = self._balls.visible = visible
        if not visible:
            return
        marks = joint_marks(self._model, q)
        self._lines.points = self._unit * marks.lines.reshape(-1, 2, 3)
        self._balls.batched_positions = self._unit * marks.anchors.mean(axis=1)
        if not np.array_equal(broken, self._broken):
            self._broken = np.array(broken)
            colours = self._colours(broken)
            self._balls.batched_colors = linear(colours)
            self._lines.colors = _both_ends(colours)

    def _colours(self, broken: Bools) -> Array:
        return np.where(np.asarray(broken)[:, None], BROKEN_COLOUR, JOINT_COLOUR)


def _both_ends(colours: Array) -> Array:
    """(3 nj, 2, 3) colours of the ends of three lines for each of nj joints."""
    return np.repeat(colours, 3, axis=0)[:, None].repeat(2, axis=1)


def _place(
    node: Any,
    position: Array,
    wxyz: Array,
    scale: Array,
    colours: Array,
) -> None:
    """Give a node its instances; where there are none, one of no size, which pages can hold."""
    if len(position) == 0:
        position, wxyz, scale, colours = np.zeros((1, 3)), np.eye(1, 4), np.zeros((1, 3)), np.zeros((1, 3))
    node.batched_positions = position
    node.batched_wxyzs = wxyz
    node.batched_scales = scale
    node.batched_colors = linear(colours)  # viser takes these for linear


def ball() -> tuple[Array, Ints]:
    """A ball of radius 1 of few triangles: an octahedron, each face cut in four."""
    corners = np.array([[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=np.float64)
    faces = np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4], [1, 0, 5], [2, 1, 5], [3, 2, 5], [0, 3, 5]])
    middle = corners[faces] + corners[np.roll(faces, -1, axis=1)]
    middle /= np.linalg.norm(middle, axis=2, keepdims=True)
    a, b, c = (corners[faces[:, k]] for k in range(3))
    ab, bc, ca = (middle[:, k] for k in range(3))
    found = np.concatenate([np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
    vertices, index = np.unique(np.round(found.reshape(-1, 3), 9), axis=0, return_inverse=True)
    return vertices, index.reshape(-1, 3).astype(np.int32)


def arrow() -> tuple[Array, Ints]:
    """An arrow along z from the origin to height 1, of radius 1 at its shaft."""
    around, head = 8, 0.72
    turn = 2.0 * np.pi * np.arange(around) / around
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    rings = ((1.0, 0.0), (1.0, head), (1.0, head), (2.6, head), (2.6, head))
    vertices = [np.column_stack([r * circle, np.full(around, z)]) for r, z in rings]
    tips = np.tile([0.0, 0.0, 1.0], (around, 1))  # one for each side, so that the shading has no twist
    here = np.arange(around)
    after = np.roll(here, -1)
    faces = []
    for low in (0, 2):  # the shaft; the lower side of the head
        a, b = around * low, around * (low + 1)
        faces += [np.stack([a + here, a + after, b + after], 1), np.stack([a + here, b + after, b + here], 1)]
    faces.append(np.stack([4 * around + here, 4 * around + after, 5 * around + here], axis=1))
    return np.concatenate([*vertices, tips]), np.concatenate(faces).astype(np.int32)
