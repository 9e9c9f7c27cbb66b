"""Rigid bodies in the viewer's page: instances of meshes where many are alike, else few meshes with moved vertices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.arrays import Array, Bools
from stickslip.model.model import STATIC, Model
from stickslip.model.shape_meshes import Instances, shape_instances, shape_poses_wxyz
from stickslip.view.picture.traced_scene import body_colours, linear
from stickslip.view.web.moved_meshes import FEW, MovedMesh, moved_meshes

if TYPE_CHECKING:
    import viser

MANY = 400
"""Instances from which on a page draws far ones with fewer triangles."""


@dataclass
class _Batch:
    group: Instances
    node: Any
    moves: bool


@dataclass
class _Gathered:
    mesh: MovedMesh
    node: Any
    moves: bool


class BodyNodes:
    """Shapes of a model but half-spaces, as nodes under ``root``."""

    def __init__(
        self, server: viser.ViserServer, model: Model, q: Array, unit: float, root: str, chosen: Bools
    ) -> None:
        """Nodes at q (nb, 7) of the ``chosen`` (ns,) shapes; unit: lengths of the page per metre."""
        self._model, self._unit = model, unit
        self._position, self._wxyz = shape_poses_wxyz(model, q)
        self._batches: list[_Batch] = []
        self._gathered: list[_Gathered] = []
        colours = body_colours(model)[model.shape_body]
        fixed = model.body_kind[model.shape_body] == STATIC
        rare: dict[bool, list[Instances]] = {True: [], False: []}
        for whole in shape_instances(model):
            for moves in (True, False):
                members = np.flatnonzero((fixed[whole.shapes] != moves) & chosen[whole.shapes])
                if len(members) == 0:
                    continue
                group = whole._replace(shapes=whole.shapes[members], scales=whole.scales[members])
                if len(members) < FEW:
                    rare[moves].append(group)
                else:
                    self._batches.append(self._batch(server, group, colours, moves, root))
        for moves, groups in rare.items():
            for mesh in moved_meshes(groups, colours):
                self._gathered.append(self._gather(server, mesh, moves, root))

    @property
    def count(self) -> int:
        """Nodes in the page."""
        return len(self._batches) + len(self._gathered)

    def show(self, q: Array) -> None:
        """Move everything that can move to q (nb, 7)."""
        self._position, self._wxyz = shape_poses_wxyz(self._model, q)
        for batch in self._batches:
            if batch.moves:
                batch.node.batched_positions = self._unit * self._position[batch.group.shapes]
                batch.node.batched_wxyzs = self._wxyz[batch.group.shapes]
        for part in self._gathered:
            if part.moves:
                part.node.vertices = self._unit * part.mesh.placed(self._position, self._wxyz)

    def set_opacity(self, opacity: float | None) -> None:
        """How far bodies hide what is behind them; None: wholly."""
        for node in (*(b.node for b in self._batches), *(g.node for g in self._gathered)):
            node.opacity = opacity

    def moving(self) -> list[tuple[Any, Callable[[int | None, Array], int]]]:
        """Every node that moves, with what says which body was pointed at, from an instance and a point (3,) [m]."""
        batches = [(b.node, partial(self._instance_body, b)) for b in self._batches if b.moves]
        return batches + [(g.node, partial(self._nearest_body, g)) for g in self._gathered if g.moves]

    def _instance_body(self, batch: _Batch, instance: int | None, _point: Array) -> int:
        index = min(max(instance or 0, 0), len(batch.group.shapes) - 1)
        return int(self._model.shape_body[batch.group.shapes[index]])

    def _nearest_body(self, part: _Gathered, _instance: int | None, point: Array) -> int:
        return int(self._model.shape_body[part.mesh.nearest(point, self._position, self._wxyz)])

    def _batch(self, server: viser.ViserServer, group: Instances, colours: Array, moves: bool, root: str) -> _Batch:
        node = server.scene.add_batched_meshes_simple(
            f"{root}/{group.name}{'' if moves else '-fixed'}",
            group.vertices, group.faces, self._wxyz[group.shapes], self._unit * self._position[group.shapes],
            batched_scales=self._unit * group.scales,
            batched_colors=linear(colours[group.shapes]),  # viser takes these for linear
            flat_shading=not group.smooth,
            lod="auto" if len(group.shapes) >= MANY else "off",
        )  # fmt: skip
        return _Batch(group, node, moves)

    def _gather(self, server: viser.ViserServer, mesh: MovedMesh, moves: bool, root: str) -> _Gathered:
        node = server.scene.add_mesh_simple(
            f"{root}/{mesh.name}{'' if moves else '-fixed'}",
            self._unit * mesh.placed(self._position, self._wxyz), mesh.faces,
            color=tuple(mesh.colour.tolist()),
            flat_shading=not mesh.smooth,
        )  # fmt: skip
        return _Gathered(mesh, node, moves)
