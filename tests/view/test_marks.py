"""Arrows, cones and joints that viewers draw."""

import numpy as np
import pytest

from stickslip import Scene, Simulation
from stickslip.geometry.rotation import matrix
from stickslip.geometry.unit_surfaces import cone
from stickslip.model.model import compile_scene
from stickslip.scenes.registry import SCENES
from stickslip.view.frame import live_frame
from stickslip.view.marks import STATUS_COLOURS, friction_cones, joint_marks, status_colours


@pytest.fixture(scope="module")
def resting():
    scene = Scene()
    scene.add_half_space(friction=0.5)
    scene.add_box((0.2, 0.2, 0.2), position=(0, 0, 0.1), mass=2.0)
    sim = Simulation(scene, dt=0.01)
    before = live_frame(sim)
    sim.run(3)
    return before, live_frame(sim)


def test_a_simulation_that_has_not_stepped_has_no_contacts(resting):
    before, _ = resting
    assert before.time == 0.0
    assert len(before.contacts.point) == 0


def test_forces_are_those_on_what_can_move(resting):
    _, frame = resting
    np.testing.assert_allclose(frame.contacts.force.sum(axis=0), [0, 0, 2.0 * 9.81], atol=1e-9)
    assert set(frame.contacts.body_b.tolist()) == {1}
    np.testing.assert_allclose(status_colours(frame.contacts), [STATUS_COLOURS[int(s)] for s in frame.contacts.status])


def test_cones_open_along_normals_by_the_angle_of_friction(resting):
    contacts = resting[1].contacts
    rng = np.random.default_rng(1)
    normal = np.concatenate([rng.normal(size=(6, 3)), [[0, 0, -1.0], [0, 0, 1.0]]])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    many = contacts._replace(
        normal=normal, point=np.ones((8, 3)), friction=np.tile([0.5, 0.5, 0.0], (8, 1)), status=np.zeros(8, np.int32)
    )
    cones = friction_cones(many, 0.3)
    vertices, _ = cone()
    for k in range(8):
        rim = (vertices[:-2] * cones.scale[k]) @ matrix(cones.wxyz[k]).T
        along = rim @ normal[k]
        np.testing.assert_allclose(along, 0.3, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(rim - along[:, None] * normal[k], axis=1), 0.15, atol=1e-12)


def test_joints_join_their_anchors():
    model = compile_scene(SCENES["four-bar"].build())
    marks = joint_marks(model, model.q_start)
    np.testing.assert_allclose(marks.anchors[:, 0], marks.anchors[:, 1], atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(marks.axis, axis=1), 1.0)
    np.testing.assert_array_equal(marks.lines[:, 0, 1], marks.anchors[:, 0])
    np.testing.assert_array_equal(marks.lines[:, 2, 0], marks.anchors[:, 1])
