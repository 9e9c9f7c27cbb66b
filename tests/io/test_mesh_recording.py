"""A recording of meshes holds all that drawing and colliding them needs."""

from pathlib import Path

import numpy as np

from stickslip import Scene, Simulation
from stickslip.collision.rigid_contacts import find_contacts
from stickslip.geometry.mesh_shapes import BOX_TRIANGLES
from stickslip.io.recording import Recorder, read_recording
from stickslip.view.picture.picture import render_frame

CUBE = 0.1 * np.array([[1.0 if i >> k & 1 else -1.0 for k in range(3)] for i in range(8)])


def test_meshes_come_back_and_are_drawn(tmp_path: Path) -> None:
    scene = Scene()
    scene.add_half_space()
    scene.add_mesh(CUBE, BOX_TRIANGLES, (0.0, 0.0, 0.1))
    scene.add_box((0.1, 0.1, 0.1), (0.0, 0.0, 0.25))
    sim = Simulation(scene, dt=0.002)
    with Recorder(tmp_path / "run.h5", sim) as recorder:
        recorder(sim.step())
    model = read_recording(tmp_path / "run.h5").model
    np.testing.assert_array_equal(model.shape_mesh, sim.model.shape_mesh)
    for ours, theirs in zip(model.meshes, sim.model.meshes, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    reach = np.full(3, 1e-3)
    found, before = (
        find_contacts(model, sim.state.body_pose, reach),
        find_contacts(sim.model, sim.state.body_pose, reach),
    )
    np.testing.assert_array_equal(found.key, before.key)

    picture = render_frame(model, sim.state.body_pose, width=40, height=30)
    boxes = Scene()
    boxes.add_half_space()
    boxes.add_box((0.2, 0.2, 0.2), (0.0, 0.0, 0.1))
    boxes.add_box((0.1, 0.1, 0.1), (0.0, 0.0, 0.25))
    other = Simulation(boxes, dt=0.002)
    same = render_frame(other.model, sim.state.body_pose, width=40, height=30)
    # a box has lighter edges; everywhere else a cube of triangles looks like one
    assert np.mean(np.abs(picture.astype(int) - same) > 24) < 0.06
