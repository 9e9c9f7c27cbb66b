"""Ground, lights and the first view of the viewer's page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.arrays import Array
from stickslip.model.model import STATIC, Model
from stickslip.model.shape_meshes import half_spaces, shape_poses_wxyz
from stickslip.view.picture.camera import Camera
from stickslip.view.picture.picture import round_length
from stickslip.view.picture.traced_scene import STEEPEST_GROUND, body_colours
from stickslip.view.web.moved_meshes import rotation_matrices

if TYPE_CHECKING:
    import viser

VIEW_DISTANCE = 6.0
"""Distance of the camera in lengths of the page; all scenes are drawn so large, since shadows and keys are made for
rooms."""
CELLS = 12.0
"""Cells of the ground's grid over the camera's distance, at most."""
FAR = 70.0
"""Where the ground fades out, in lengths of the page."""
WALL_OPACITY, WALL_SIZE = 0.07, 5.0
"""Walls are drawn faintly and as squares of this half edge, in lengths of the page."""


class GroundNodes:
    """Half-spaces of a model: those that can be stood on as ground with a grid, steep ones as faint squares."""

    def __init__(self, server: viser.ViserServer, model: Model, q: Array, camera: Camera, root: str) -> None:
        """Half-spaces at q (nb, 7), where the camera looks."""
        self._model, self._unit = model, VIEW_DISTANCE / camera.distance
        self._moving: list[tuple[int, Any]] = []
        self.cell: float | None = None
        """[m] from one line of the ground's grid to the next; each tenth is a heavier one."""
        position, wxyz = shape_poses_wxyz(model, q)
        normal = rotation_matrices(wxyz)[:, :, 2]
        target = camera.eye + camera.distance * camera.axes[2]
        colours = body_colours(model)[model.shape_body]
        cell = round_length(camera.distance / CELLS)
        for s in half_spaces(model):
            # the point of the plane nearest to what is looked at, so that the middle of a square is there
            fixed = model.body_kind[model.shape_body[s]] == STATIC
            at = target - ((target - position[s]) @ normal[s]) * normal[s] if fixed else position[s]
            if normal[s, 2] >= STEEPEST_GROUND:
                self.cell = cell
                if fixed:  # lines stay on round coordinates of the plane's own frame
                    axes = rotation_matrices(wxyz[s][None])[0]
                    local = (at - position[s]) @ axes
                    at = position[s] + axes[:, :2] @ (np.round(local[:2] / (10.0 * cell)) * 10.0 * cell)
                node = self._ground(
                    server, f"{root}/plane-{s}", self._unit * at, wxyz[s], colours[s], self._unit * cell
                )
            else:
                node = self._wall(server, f"{root}/wall-{s}", self._unit * at, wxyz[s], colours[s])
            if not fixed:
                self._moving.append((int(s), node))

    def show(self, q: Array) -> None:
        """Move half-spaces of moving bodies to q (nb, 7)."""
        if self._moving:
            position, wxyz = shape_poses_wxyz(self._model, q)
            for s, node in self._moving:
                node.position, node.wxyz = self._unit * position[s], wxyz[s]

    def _ground(
        self, server: viser.ViserServer, name: str, at: Array, wxyz: Array,
        colour: Array, cell: float,
    ) -> Any:  # fmt: skip
        darker = tuple((0.86 * colour).tolist()), tuple((0.76 * colour).tolist())
        return server.scene.add_grid(
            name, position=at, wxyz=wxyz, plane="xy", infinite_grid=True, fade_distance=FAR,
            cell_size=cell, cell_color=darker[0], cell_thickness=0.8,
            section_size=10.0 * cell, section_color=darker[1], section_thickness=1.2,
            plane_color=tuple(colour.tolist()), plane_opacity=1.0, shadow_opacity=0.35,
        )  # fmt: skip

    def _wall(
        self, server: viser.ViserServer, name: str, at: Array, wxyz: Array,
        colour: Array,
    ) -> Any:  # fmt: skip
        corners = WALL_SIZE * np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])
        return server.scene.add_mesh_simple(
            name, corners, np.array([[0, 1, 2], [0, 2, 3]]), position=at, wxyz=wxyz,
            color=tuple((0.6 * colour).tolist()), opacity=WALL_OPACITY, side="double",
            cast_shadow=False, receive_shadow=False,
        )  # fmt: skip


def add_lights(server: viser.ViserServer) -> Any:
    """A lamp from behind the shoulder with shadows, and soft light from above and below; returns the lamp."""
    scene = server.scene
    scene.configure_default_lights(enabled=False)
    scene.configure_environment_map(None)  # it costs more than all the rest where there is no graphics card
    lamp = scene.add_light_directional("/lamp", position=(1.5, -3.0, 6.0), intensity=2.6, cast_shadow=True)
    scene.add_light_hemisphere("/sky", sky_color=(255, 255, 255), ground_color=(190, 185, 180), intensity=1.2)
    return lamp
