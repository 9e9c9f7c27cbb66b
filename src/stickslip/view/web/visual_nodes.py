"""Visuals of bodies in the viewer's page: meshes that are sent once, under a frame for each body that moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.arrays import Array
from stickslip.model.model import STATIC, Model
from stickslip.view.visual_meshes import visual_meshes

if TYPE_CHECKING:
    import viser

OPAQUE = 0.98
"""Opacity from which on nothing is seen through a visual."""


class VisualNodes:
    """All visuals of a model, as nodes under ``root``."""

    def __init__(self, server: viser.ViserServer, model: Model, q: Array, unit: float, root: str) -> None:
        """Nodes at q (nb, 7); unit: lengths of the page per metre."""
        self._unit = unit
        self._frames: dict[int, Any] = {}
        self._meshes: list[tuple[int, float | None, Any]] = []
        """Body, opacity of its own, node."""
        self._fixed = {body for body in range(model.body_count) if model.body_kind[body] == STATIC} | {-1}
        self._root = server.scene.add_frame(root, show_axes=False)
        for number, mesh in enumerate(visual_meshes(model)):
            name = f"{root}/{'world' if mesh.body < 0 else mesh.body}"
            if mesh.body not in self._frames:
                self._frames[mesh.body] = server.scene.add_frame(name, show_axes=False)
            opacity = None if mesh.opacity >= OPAQUE else mesh.opacity
            node = server.scene.add_mesh_simple(
                f"{name}/{number}", (unit * mesh.vertices).astype(np.float32), mesh.faces,
                color=tuple(mesh.colour.tolist()), opacity=opacity, side="double",
            )  # fmt: skip
            self._meshes.append((mesh.body, opacity, node))
        self._place(q, self._frames.keys() - {-1})

    @property
    def count(self) -> int:
        """Nodes in the page that hold meshes."""
        return len(self._meshes)

    @property
    def visible(self) -> bool:
        """Whether they are drawn."""
        return bool(self._root.visible)

    @visible.setter
    def visible(self, wanted: bool) -> None:
        self._root.visible = wanted

    def show(self, q: Array) -> None:
        """Move everything that can move to q (nb, 7)."""
        self._place(q, self._frames.keys() - self._fixed)

    def set_opacity(self, opacity: float | None) -> None:
        """How far visuals hide what is behind them; None: as their files say."""
        for _, own, node in self._meshes:
            node.opacity = own if opacity is None else min(opacity, own or 1.0)

    def moving(self) -> list[tuple[Any, Callable[[int | None, Array], int]]]:
        """Every node that moves, with what says which body was pointed at."""
        return [(node, _always(body)) for body, _, node in self._meshes if body not in self._fixed]

    def _place(self, q: Array, bodies: set[int]) -> None:
        for body in bodies:
            self._frames[body].position = self._unit * q[body, :3]
            self._frames[body].wxyz = q[body, 3:]


def _always(body: int) -> Callable[[int | None, Array], int]:
    return lambda _instance, _point: body
