"""Every scene at its first and last frame, drawn small: its bodies are in the picture, in their colours."""

import importlib.util
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from stickslip.arrays import Array
from stickslip.bodies.registry import frame_poses as all_poses
from stickslip.model.model import Model
from stickslip.scenes.registry import SCENES
from stickslip.scenes.running import prepare
from stickslip.view.picture.camera import Camera, frame_poses, look_at, projected
from stickslip.view.picture.picture import render_frame
from stickslip.view.picture.traced_scene import body_colours

WIDTH, HEIGHT, STEPS = 160, 90, 3
STRAYS = 0.1
"""Share of bodies that may be outside: the camera leaves out those that have flown far away."""
HUE = 0.12
"""Distance between unit vectors of linear RGB up to which a pixel has the hue of a body."""


def small_parameters() -> dict[str, dict[str, object]]:
    """Those of the tests of scenes, which stand in another folder."""
    file = Path(__file__).parents[1] / "scenes" / "test_scenes.py"
    tree = importlib.util.spec_from_file_location("small_scenes", file)
    assert tree is not None
    assert tree.loader is not None
    module = importlib.util.module_from_spec(tree)
    tree.loader.exec_module(module)
    return module.SMALL


SMALL = small_parameters()


class Ends(NamedTuple):
    """A scene at its start and after some steps."""

    model: Model
    q: list[Array]
    nodes: list[Array]


@cache
def ends(name: str) -> Ends:
    sim = prepare(name, settings=SMALL.get(name, {})).sim
    first = all_poses(sim.model, sim.state).copy(), sim.state.node_position.copy()
    for _ in range(STEPS):
        sim.step()
    last = all_poses(sim.model, sim.state).copy(), sim.state.node_position.copy()
    return Ends(sim.model, [first[0], last[0]], [first[1], last[1]])


def shown_points(model: Model, q: Array, nodes: Array) -> Array:
    """Centres (k, 3) of what moves: dynamic bodies, and soft ones as the mean of their nodes."""
    surface = model.soft.surface
    soft = [
        nodes[np.unique(surface.triangles[surface.triangle_body == s])].mean(axis=0) for s in range(model.soft.count)
    ]
    return np.concatenate([q[model.body_dynamic, :3], np.array(soft).reshape(-1, 3)])


def unit(colour: Array) -> Array:
    return colour / np.maximum(np.linalg.norm(colour, axis=-1, keepdims=True), 1e-9)


def complaints(model: Model, q: Array, nodes: Array, camera: Camera, picture: NDArray[np.uint8]) -> list[str]:
    """What is wrong with a picture; nothing, if all is well."""
    found = []
    if picture.reshape(-1, 3).std(axis=0).max() < 4.0:
        found.append("blank")
    seen = projected(camera, shown_points(model, q, nodes), WIDTH, HEIGHT)
    inside = ((seen >= 0.0) & (seen <= (WIDTH, HEIGHT))).all(axis=1)
    if inside.mean() < 1.0 - STRAYS:
        found.append(f"{(~inside).sum()} of {len(inside)} bodies are outside")
    # linear light: that of a body times that of the sun or the sky, so the hue changes little
    empty = render_frame(
        model, moved_away(q, camera), WIDTH, HEIGHT, camera=camera, samples=1, nodes=moved_away(nodes, camera)
    )
    changed = (np.abs(picture.astype(int) - empty) > 12).any(axis=2)
    if changed.sum() < 40:
        found.append(f"bodies cover {changed.sum()} pixels")
    moving = np.append(model.body_dynamic, np.ones(model.soft.count, dtype=bool))
    seen_as = model.visuals  # what robots are drawn as, in the place of their shapes
    visuals = seen_as.colours[(seen_as.body >= 0) & moving[seen_as.body], :3]
    hues = unit(np.unique(np.concatenate([body_colours(model)[moving], visuals]), axis=0) ** 2.2)
    pixels = unit((picture[changed] / 255.0) ** 2.2)
    near = np.linalg.norm(pixels[:, None] - hues, axis=2).min(axis=1, initial=9.0) < 3.0 * HUE
    if near.sum() < 12:
        found.append(f"{near.sum()} pixels have the colour of a body")
    return found


def moved_away(x: Array, camera: Camera) -> Array:
    """Bodies or nodes far behind the eye, where they throw no shadow into the picture."""
    away = x.copy()
    away[:, :3] = camera.eye - 1e3 * camera.distance * (camera.axes[2] + 0.7 * camera.axes[1])
    return away


@pytest.mark.parametrize("name", SCENES)
def test_the_first_and_the_last_frame_show_the_scene(name: str) -> None:
    model, q, nodes = ends(name)
    camera = frame_poses(model, list(zip(q, nodes, strict=True)), WIDTH, HEIGHT)
    pictures = []
    for k in range(2):
        picture = render_frame(model, q[k], WIDTH, HEIGHT, camera=camera, samples=1, nodes=nodes[k])
        assert complaints(model, q[k], nodes[k], camera, picture) == []
        pictures.append(picture)
    points = [projected(camera, shown_points(model, q[k], nodes[k]), WIDTH, HEIGHT) for k in range(2)]
    if np.nanmax(np.abs(points[1] - points[0])) > 1.0:
        assert not np.array_equal(*pictures)


def test_a_camera_that_looks_away_fails_the_same_check() -> None:
    model, q, nodes = ends("wall")
    camera = frame_poses(model, [(q[0], nodes[0])], WIDTH, HEIGHT)
    away = look_at(camera.eye, 2.0 * camera.eye + (0.0, 0.0, 1.0))
    picture = render_frame(model, q[0], WIDTH, HEIGHT, camera=away, samples=1)
    found = complaints(model, q[0], nodes[0], away, picture)
    assert any("outside" in text for text in found)
    assert any("cover" in text for text in found)
    assert any("colour" in text for text in found)


def test_a_camera_too_close_fails_the_same_check() -> None:
    model, q, nodes = ends("wall")
    camera = frame_poses(model, [(q[0], nodes[0])], WIDTH, HEIGHT, zoom=4.0)
    picture = render_frame(model, q[0], WIDTH, HEIGHT, camera=camera, samples=1)
    assert any("outside" in text for text in complaints(model, q[0], nodes[0], camera, picture))


def test_a_blank_picture_fails_the_same_check() -> None:
    model, q, nodes = ends("wall")
    camera = frame_poses(model, [(q[0], nodes[0])], WIDTH, HEIGHT)
    blank = np.full((HEIGHT, WIDTH, 3), 200, np.uint8)
    assert "blank" in complaints(model, q[0], nodes[0], camera, blank)
    grey = render_frame(model, q[0], WIDTH, HEIGHT, camera=camera, samples=1).mean(axis=2, keepdims=True)
    painted = np.repeat(grey, 3, axis=2).astype(np.uint8)
    assert any("colour" in text for text in complaints(model, q[0], nodes[0], camera, painted))
