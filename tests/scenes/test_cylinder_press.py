"""The rubber cylinder between plates, on its coarsest mesh."""

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.scenes.cylinder_press import FULL_LOAD, OWN, REFERENCE, cylinder_press, press_curve
from stickslip.scenes.running import execute, prepare


def test_reference_points_agree_with_each_other():
    own = np.array([(point.displacement, point.force) for point in REFERENCE if point.source == OWN])
    for point in REFERENCE:
        # published points are read from graphs, to 2 mm and 10 kN/m
        steep = np.interp(point.displacement + 0.004, *own.T) - np.interp(point.displacement - 0.004, *own.T)
        assert abs(point.force - np.interp(point.displacement, *own.T)) < 0.5 * steep + 0.02e6
    assert np.interp(FULL_LOAD.force, own[:, 1], own[:, 0]) == pytest.approx(FULL_LOAD.displacement, abs=2e-4)


def test_first_steps_follow_the_reference_and_stay_in_the_plane():
    way, force, summary = press_curve(0, 500, share=0.012, beta=0.0)
    assert len(way) == len(force) == 6
    assert np.all(np.diff(way) > 0.0)
    # 0.0242 MN/m press it by 20 mm; a coarse mesh, and the foot of the curve
    assert way[-1] == pytest.approx(0.020 * force[-1] / 0.02415e6, rel=0.3)
    assert summary["converged"] == 1.0
    assert summary["overlap_max_mm"] < 1e-3  # near-rigid contacts


@pytest.mark.slow
def test_complete_press_in_a_fifth_of_the_steps_is_within_6_percent_of_the_curve():
    way, force, summary = press_curve(0, 100)
    assert np.all(np.diff(way) > 0.0)
    # a polygon of 20 edges: between nodes that touch, the curve has steps, which matter less as more of them touch
    within = {0.05: 0.06, 0.10: 0.06, 0.15: 0.03, 0.18: 0.03}
    for point in REFERENCE:
        if point.source == OWN and point.displacement in within:
            error = np.interp(point.force, force, way) / point.displacement - 1.0
            assert abs(error) < within[point.displacement]
    assert summary["displacement_error"] == pytest.approx(-0.0177, abs=0.002)  # that of 500 steps
    # with five times the load a step, some end before linearisations settle
    assert summary["converged"] > 0.85
    assert summary["momentum_worst"] < 3e-3
    assert summary["overlap_max_mm"] < 0.3


def test_metrics_push_the_plate():
    run = prepare("cylinder-press", settings={"mesh": 0})
    metrics = execute(run, 2).metrics
    assert metrics["force_N_per_m"] == pytest.approx(2.0 / 500.0 * 1.4e6)
    assert metrics["displacement_m"] > 0.0
    assert metrics["out_of_plane_m_per_s"] == 0.0
    assert np.isnan(metrics["displacement_error"])


def test_unknown_meshes_are_refused():
    with pytest.raises(InputError, match="mesh is 4"):
        cylinder_press(4)
