"""The soft gripper: its mesh and parameters, and coarse fingers that close on the object and pull it."""

import math

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.model.model import compile_scene
from stickslip.scene.scene import Body
from stickslip.scenes.joint_metrics import joint_named
from stickslip.scenes.running import execute, prepare
from stickslip.scenes.soft_gripper import (
    CLOSED,
    FRICTIONS,
    LENGTH,
    MARKERS,
    POISSONS,
    THICK,
    YOUNGS,
    drawn,
    finger_mesh,
    marker_nodes,
    soft_gripper,
)

COARSE = {"scale": 0.4}


def test_size_is_about_that_of_the_paper():
    model = compile_scene(soft_gripper())
    assert model.soft.node_count == 4864  # [lee2023]: 4889
    assert len(model.soft.elements.volume) == 18130  # 18122
    assert model.dof_count == pytest.approx(14681, rel=0.04)  # without the nodes that the actuator holds


def test_finger_is_tapered_and_has_good_elements():
    mesh = finger_mesh()
    assert mesh.quality().mean_ratio.min() > 0.5
    assert mesh.nodes[:, 0].max() == pytest.approx(0.0, abs=1e-15)
    markers = mesh.nodes[marker_nodes(mesh)]
    assert markers.shape == (MARKERS, 3)
    np.testing.assert_allclose(markers[:, 2], -LENGTH * np.arange(1, MARKERS + 1) / MARKERS, atol=0.002)
    assert (markers[:, 0] < -0.55 * THICK).all()


def test_seeds_draw_from_the_ranges_of_the_paper():
    trials = np.array([drawn(seed) for seed in range(1, 41)])
    for values, (low, high) in zip(trials.T, (YOUNGS, POISSONS, FRICTIONS), strict=True):
        assert low <= values.min() < low + 0.2 * (high - low)
        assert high >= values.max() > high - 0.2 * (high - low)


def test_nothing_touches_at_the_start():
    prepared = prepare("soft-gripper", settings=COARSE)
    metrics = execute(prepared, 3).metrics
    assert metrics["contacts_max"] == 0
    assert metrics["force_x_N"] == metrics["squeeze_N"] == 0.0


def test_fingers_in_the_middle_squeeze_alike():
    prepared = prepare("soft-gripper", settings={**COARSE, "offset": 0.0})
    metrics = execute(prepared, prepared.step_count(duration=CLOSED + 0.15)).metrics
    assert metrics["squeeze_N"] > 0.5
    assert metrics["force_x_N"] == pytest.approx(0.0, abs=0.02 * metrics["squeeze_N"])
    assert metrics["force_y_N"] == pytest.approx(0.0, abs=0.02 * metrics["squeeze_N"])


def test_sensor_reads_what_the_fingers_do():
    prepared = prepare("soft-gripper", settings=COARSE)
    metrics = execute(prepared, prepared.step_count()).metrics
    sim = prepared.sim
    assert metrics["converged"] == 1.0
    # pulled up and along y, and pushed to the side that the gripper is off to
    assert metrics["force_z_N"] > 0.3
    assert metrics["force_y_N"] > 0.1
    assert metrics["force_x_N"] > 0.1
    assert metrics["sensor_error_N"] < 0.01
    assert metrics["contacts_max"] >= 6
    assert 5.0 < metrics["marker_displacement_mm"] < 30.0
    # nothing but the object touches the fingers
    held = Body(sim.model.body_names.index("object"), "object")
    for finger in prepared.metrics.fingers:
        np.testing.assert_allclose(
            sim.contacts(finger, held).total_force, sim.node_contact_forces(finger).sum(axis=0), atol=1e-9
        )
    # the object gave way as the stiffness of the sensor has it, and no more
    force, _ = sim.joint_force(joint_named(sim, "sensor"))
    assert np.linalg.norm(force) < 5.0
    assert np.linalg.norm(sim.position(held) - [0.0, 0.0, 0.08]) < 1e-3


def test_smooth_fingers_do_not_pull_along():
    rough, smooth = (
        execute(prepared := prepare("soft-gripper", settings={**COARSE, "friction": friction}), 160).metrics
        for friction in (2.1, 0.02)
    )
    assert prepared.sim.state.time == pytest.approx(1.6)
    assert abs(smooth["force_y_N"]) < 0.1 * rough["force_y_N"]


def test_values_of_a_run_without_steps_are_unknown():
    values = prepare("soft-gripper", settings=COARSE).metrics.values()
    assert math.isnan(values["force_x_N"])
    assert math.isnan(values["contacts_mean"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"squeeze": 0.0}, "squeeze"),
        ({"squeeze": 0.03}, "bases meet"),
        ({"offset": 0.01}, "offset"),
        ({"pull": (0.1,)}, "pull has 1 numbers"),
        ({"scale": 0.0}, "scale"),
        ({"seed": -1}, "seed"),
    ],
)
def test_nonsense_is_refused(settings: dict[str, float], message: str):
    with pytest.raises(InputError, match=message):
        soft_gripper(**settings)
