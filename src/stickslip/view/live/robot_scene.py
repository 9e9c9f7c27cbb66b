"""A robot alone on the ground, for a live page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from stickslip.geometry.shapes import HALF_SPACE
from stickslip.model.model import Model, compile_scene
from stickslip.robots.records import RobotRecord
from stickslip.scene.scene import Scene
from stickslip.view.picture.outlines import outline
from stickslip.view.picture.picture import without_visuals

GAP = 1e-3
"""[m] between the lowest point of a robot and a ground that was put under it."""


def robot_scene(
    robot: str | os.PathLike[str] | RobotRecord, package_dirs: Sequence[str | os.PathLike[str]] = ()
) -> Scene:
    """A robot, or that of a file; on ground at height zero or under its lowest point, unless it brings ground."""
    scene = Scene()
    if isinstance(robot, RobotRecord):
        scene.add_tree(robot)
    else:
        scene.add_robot(Path(robot), package_dirs=package_dirs)
    model = compile_scene(scene)
    if not (model.shape_type == HALF_SPACE).any():
        lowest = min(_lowest(model), _lowest(without_visuals(model)))
        scene.add_half_space(position=(0.0, 0.0, lowest - GAP if lowest < -GAP else 0.0), name="ground")
    return scene


def _lowest(model: Model) -> float:
    """[m] height of the lowest point."""
    seen = outline(model)
    return float((seen.placed(model.pose_start)[:, 2] - seen.radius).min(initial=0.0))
