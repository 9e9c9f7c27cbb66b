"""Pictures of soft bodies: their surfaces where the nodes are, in the user's colours or in those of numbers."""

from pathlib import Path

import numpy as np
import pytest

from stickslip import InputError, Model, Scene, Simulation, compile_scene
from stickslip.arrays import Array, LongInts
from stickslip.cli import main
from stickslip.geometry.mesh_shapes import BOX_TRIANGLES
from stickslip.geometry.tet_generators import box
from stickslip.io.recording import Recorder
from stickslip.scene.soft_body import elastic
from stickslip.view.picture.camera import frame_camera, look_at
from stickslip.view.picture.picture import render_frame
from stickslip.view.picture.soft_surfaces import soft_surfaces
from stickslip.view.soft_colours import QUANTITIES, element_values

RUBBER = elastic(1e5, 0.3)
MESH = box((1, 1, 1), 2)
RED, GREY = (0.9, 0.1, 0.1), (0.8, 0.8, 0.8)
CUBE = 0.5 * np.array([[1.0 if i >> k & 1 else -1.0 for k in range(3)] for i in range(8)])


def soft_box(ground: bool = True, colour: tuple[float, float, float] = RED) -> Model:
    scene = Scene()
    if ground:
        scene.add_half_space()
    scene.add_soft(MESH, RUBBER, (0, 0, 0.5), colour=colour)
    return compile_scene(scene)


def drawn(model: Model, nodes: Array, **options: object) -> LongInts:
    options = {"width": 48, "height": 36, "samples": 1, **options}
    return render_frame(model, model.q_start, nodes=nodes, **options).astype(int)


def test_a_soft_box_looks_like_a_rigid_mesh_and_throws_its_shadow() -> None:
    rigid = Scene()
    rigid.add_half_space()
    rigid.add_mesh(CUBE, BOX_TRIANGLES, (0, 0, 0.5), colour=RED)
    other, model, camera = compile_scene(rigid), soft_box(), look_at((4, 2, 2), (0, 0, 0.5))
    expected = render_frame(other, other.q_start, 48, 36, samples=1, camera=camera)
    found = drawn(model, model.soft.x_start, camera=camera)
    assert np.abs(found - expected).max() <= 2
    empty = drawn(model, model.soft.x_start + (0, 0, 1e3), camera=camera)
    shadow = (empty.sum(axis=2) - found.sum(axis=2) > 100) & (np.ptp(found, axis=2) < 60)
    assert shadow.sum() > 20


def test_the_picture_follows_the_nodes() -> None:
    model, camera = soft_box(ground=False), look_at((6, 0, 0.5), (0, 0, 0.5))
    x = model.soft.x_start
    away = drawn(model, x + (0, 1e3, 0), camera=camera)
    half = model.soft.x_start * (1, 1, 0.5)
    masks = [(drawn(model, nodes, camera=camera) != away).any(axis=2) for nodes in (x, half)]
    assert masks[0].sum() > 80
    assert masks[1].sum() == pytest.approx(0.5 * masks[0].sum(), rel=0.15)
    rows = [np.nonzero(mask)[0].mean() for mask in masks]
    assert rows[1] > rows[0] + 2  # the upper half is gone


def test_the_camera_frames_soft_bodies() -> None:
    model = soft_box(ground=False)
    x = model.soft.x_start * (4, 0.5, 1) + (7, 3, 1)
    camera = frame_camera(model, model.q_start, 48, 27, nodes=x)
    mask = (drawn(model, x, camera=camera, height=27) != drawn(model, x + 1e4, camera=camera, height=27)).any(axis=2)
    rows, columns = np.nonzero(mask)
    assert 1 <= rows.min() < rows.max() <= 25
    assert 1 <= columns.min() < columns.max() <= 46
    assert np.ptp(rows) > 16 or np.ptp(columns) > 30


def test_values_of_elements_are_seen_as_colours() -> None:
    model, camera = soft_box(ground=False, colour=GREY), look_at((6, 0, 0.5), (0, 0, 0.5))
    x, elements = model.soft.x_start, model.soft.elements
    height = x[elements.nodes, 2].mean(axis=1)
    picture = drawn(model, x, camera=camera, values=np.where(height > 0.5, 1.0, 0.0))
    body = (picture != drawn(model, x + (0, 1e3, 0), camera=camera)).any(axis=2)
    rows, columns = np.nonzero(body)
    top, bottom = picture[rows.min() + 2, int(columns.mean())], picture[rows.max() - 2, int(columns.mean())]
    assert top[1] > top[2] + 40  # yellow
    assert bottom[2] > bottom[1] + 10  # dark blue
    assert top.sum() > bottom.sum() + 150
    same = drawn(model, x, camera=camera, values=np.zeros(len(height)), limits=(-1.0, 0.0))
    assert same[int(rows.mean()), int(columns.mean()), 1] > same[int(rows.mean()), int(columns.mean()), 2] + 40
    with pytest.raises(InputError, match="values have shape"):
        drawn(model, x, values=np.zeros(3))


def test_a_painted_scene_keeps_the_colours_of_rigid_meshes() -> None:
    scene = Scene()
    scene.add_mesh(CUBE, BOX_TRIANGLES, (0, -1, 0.5), colour=RED)
    scene.add_soft(MESH, RUBBER, (0, 1, 0.5), colour=GREY)
    model, camera = compile_scene(scene), look_at((8, 0, 0.5), (0, 0, 0.5))
    x, count = model.soft.x_start, len(model.soft.element_body)
    plain, coloured = drawn(model, x, camera=camera), drawn(model, x, camera=camera, values=np.ones(count))
    assert np.array_equal(plain[:, :24], coloured[:, :24])
    assert not np.array_equal(plain[:, 24:], coloured[:, 24:])


def test_trees_follow_those_of_other_meshes() -> None:
    scene = Scene()
    for y in (0.0, 2.0):
        scene.add_soft(MESH, RUBBER, (0, y, 0.5))
    soft = compile_scene(scene).soft
    found = soft_surfaces(soft, soft.x_start, 10, 7)
    assert found.start[0, 0] == 10
    assert found.start[1, 0] == found.start[0, 1]
    assert found.start[1, 1] == 10 + len(found.bounds)
    leaves = found.links[found.links[:, 2] > 0]
    numbers = np.concatenate([np.arange(first, first + count) for _, first, count in leaves])
    assert sorted(numbers.tolist()) == list(range(7, 7 + len(soft.surface.triangles)))
    np.testing.assert_allclose(found.lower, [[-0.5, -0.5, 0], [-0.5, 1.5, 0]])


def test_nodes_are_needed() -> None:
    model = soft_box()
    with pytest.raises(InputError, match="give nodes"):
        render_frame(model, model.q_start, 32, 18)
    with pytest.raises(InputError, match="nodes have shape"):
        drawn(model, model.soft.x_start[1:])


def test_recordings_of_soft_bodies_are_rendered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("PIL")
    scene = Scene()
    scene.add_half_space()
    body = scene.add_soft(MESH, elastic(1e4, 0.3), (0, 0, 0.5))
    sim = Simulation(scene, dt=0.005)
    with Recorder(tmp_path / "run.h5", sim) as recorder:
        sim.run(3, recorder)
    for quantity in QUANTITIES.keys() - {"speed"}:
        assert (element_values(sim.elements(body), quantity, sim.model.soft.elements.volume) >= 0.0).all()
    file, options = str(tmp_path / "run.h5"), ["--width", "48"]
    assert main(["render", file, str(tmp_path / "plain.png"), *options]) == 0
    assert main(["render", file, str(tmp_path / "stress.png"), *options, "--colour-by", "von-mises"]) == 0
    assert (tmp_path / "plain.png").read_bytes() != (tmp_path / "stress.png").read_bytes()
    capsys.readouterr()
    assert main(["render", file, str(tmp_path / "no.png"), *options, "--colour-by", "mood"]) == 2
    assert "one of von-mises, strain, energy" in capsys.readouterr().err
    assert not (tmp_path / "no.png").exists()
