"""A frame in the viewer's page that the mouse moves and turns: where a hand shall be."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.arrays import Array
from stickslip.view.web.viewer_scene import ROOT, ViewerScene

if TYPE_CHECKING:
    import viser

SIZE = 0.4
"""Length of its arrows, of 6 lengths from the camera to what is seen."""

Moved = Callable[[Array, Array], None]
"""Takes a position (3,) [m] and a rotation (w, x, y, z)."""


class TargetGizmo:
    """Arrows, squares and rings: drag an arrow to move along it, a square to move in it, a ring to turn."""

    def __init__(self, server: viser.ViserServer, scene: ViewerScene, moved: Moved) -> None:
        """moved: called while the mouse drags it, on the server's thread, one call after another."""
        self._unit, self._moved = scene.unit, moved
        self.held = False
        """Whether a mouse has hold of it."""
        self._shown: tuple[Array, Array] | None = None
        self._node = server.scene.add_transform_controls(
            f"{ROOT}/target", scale=SIZE, line_width=3.0, depth_test=False, visible=False
        )
        self._node.on_update(self._drag)

    def show(self, position: Array, rotation: Array, turns: bool) -> None:
        """Put it to a pose [m]; turns: whether it has rings. A mouse that has hold of it goes first."""
        if self.held:
            return
        if self._node.disable_rotations is turns:
            self._node.disable_rotations = not turns
        before = self._shown
        if before is None or not (np.array_equal(before[0], position) and np.array_equal(before[1], rotation)):
            self._shown = position, rotation
            self._node.position, self._node.wxyz = self._unit * position, rotation
        self.visible = True

    @property
    def visible(self) -> bool:
        """Whether it is drawn."""
        return bool(self._node.visible)

    @visible.setter
    def visible(self, visible: bool) -> None:
        if self._node.visible != visible:
            self._node.visible = visible

    async def _drag(self, event: Any) -> None:  # async: these come in their order
        self.held = event.phase != "end"
        self._shown = None
        if event.phase != "start":
            at, turn = (np.array(x, dtype=np.float64) for x in (event.target.position, event.target.wxyz))
            self._moved(at / self._unit, turn / np.linalg.norm(turn))
