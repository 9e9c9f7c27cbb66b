"""Fig. 3 of [erleben2017]: the five scenes, drawn at three times of their runs with local factors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from stickslip.experiments.erleben2017.statistics import GAUSS_SEIDEL, Runs
from stickslip.experiments.report import Row, write_table
from stickslip.experiments.solver_runs import RunRecord
from stickslip.model.model import compile_scene
from stickslip.scenes.registry import find_scene
from stickslip.view.drawing import canvas, save
from stickslip.view.picture.camera import frame_poses
from stickslip.view.picture.picture import render_frame

ORDER = ("jacks", "spheres", "glasses", "tower", "wall")
"""Of the paper's rows."""
WIDTH, HEIGHT = 480, 320
AZIMUTH, ELEVATION = -60.0, 12.0


def shown(runs: Runs) -> dict[str, RunRecord]:
    """Runs that kept poses, in the paper's order."""
    found = {key[0]: run for key, run in runs.items() if key[1] == GAUSS_SEIDEL and run.spec.poses_at}
    return {scene: found[scene] for scene in ORDER if scene in found}


def rows(experiment: str, runs: Runs) -> list[Row]:
    """Where the bodies that move are: the paper has pictures alone."""
    lines = []
    for scene, run in shown(runs).items():
        moving = run.moving
        for step, pose in run.poses.items():
            time = step * run.spec.stepping["dt"]
            lines += [
                Row(experiment, f"{scene}, {time:g} s: mean height", None, float(pose[moving, 2].mean()), "m"),
                Row(experiment, f"{scene}, {time:g} s: highest", None, float(pose[moving, 2].max()), "m"),
            ]
    return lines


def draw(runs: Runs, picture: Path, table: Path) -> None:
    """A row of pictures a scene; the camera of a scene stays where it sees all that moves at all times."""
    found = shown(runs)
    times = max(len(run.spec.poses_at) for run in found.values())
    figure, axes = canvas(len(found), times, 3.1 * times, 2.15 * len(found))
    lines: list[tuple[object, ...]] = []
    for i, (scene, run) in enumerate(found.items()):
        entry = find_scene(scene)
        model = compile_scene(entry.build(**entry.parameters(run.spec.parameters)))
        nodes = np.zeros((0, 3))
        poses = [(pose, nodes) for pose in run.poses.values()]
        camera = frame_poses(model, poses, WIDTH, HEIGHT, AZIMUTH, ELEVATION, 1.0) if poses else None
        for j, step in enumerate(run.spec.poses_at):
            axis = axes[i, j]
            axis.set_axis_off()
            time = step * run.spec.stepping["dt"]
            if step not in run.poses:
                axis.set_title(f"{scene}: blew up before {time:g} s", fontsize=9)
                continue
            pose = run.poses[step]
            axis.imshow(render_frame(model, pose, WIDTH, HEIGHT, camera=camera))
            axis.set_title(f"{scene}, {time:g} s", fontsize=9)
            lines += [(scene, time, name, *x.tolist()) for name, x in zip(model.body_names, pose, strict=True)]
    save(figure, picture)
    write_table(table, ("scene", "time_s", "body", "x", "y", "z", "qw", "qx", "qy", "qz"), lines)
