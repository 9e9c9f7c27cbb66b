"""Scales of what the viewer draws: colours of soft bodies, force arrows, the mark of the shown frame."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed: pip install 'stickslip[view]'")

from stickslip import Scene, Simulation
from stickslip.geometry import tet_generators
from stickslip.io.recording import Recorder, read_recording
from stickslip.model.model import compile_scene
from stickslip.scene.soft_body import elastic
from stickslip.view.frame import FrameContacts, live_frame, spread
from stickslip.view.marks import CROWD
from stickslip.view.playback.page import certificate_text, digits, force_scale, heading
from stickslip.view.playback.plots import with_mark
from stickslip.view.soft_colours import QUANTITIES, SCALE, least_range, value_colours, value_limits
from stickslip.view.web.display_panel import display_panel
from stickslip.view.web.following_scale import CALM, SMALL, FollowingScale
from stickslip.view.web.guarded_server import guarded_server, stop_server
from stickslip.view.web.mark_nodes import ARROW_LENGTH, LONGEST, POINT, ContactNodes
from stickslip.view.web.viewer_scene import ViewerScene

YOUNG = 1e5


@pytest.fixture
def server() -> Any:
    made = guarded_server()
    yield made
    stop_server(made)


def soft_cube() -> Scene:
    scene = Scene()
    scene.add_soft(tet_generators.box((0.2, 0.2, 0.2), (1, 1, 1)), elastic(YOUNG, 0.3), (0.0, 0.0, 0.5))
    return scene


def pushes(force: np.ndarray) -> FrameContacts:
    """Contacts of forces (k,) [N] along z."""
    k = len(force)
    up = np.tile([0.0, 0.0, 1.0], (k, 1))
    body = np.zeros(k, np.int32)
    return FrameContacts(body, body, np.zeros((k, 3)), up, force[:, None] * up, np.full((k, 3), 0.5), body + 1)


@pytest.mark.parametrize("at", [0, 1, 3])
def test_the_mark_of_the_shown_frame_is_upright(at: int) -> None:
    time, curve = np.array([0.0, 1.0, 2.0, 3.0]), np.array([5.0, 6.0, 7.0, 8.0])
    x, line, again = with_mark((time, curve), at, -1.0, 9.0)
    assert x.shape == line.shape == again.shape == (6,)
    assert (np.diff(x) >= 0.0).all()
    assert (x[line > -1.0] == time[at]).all()
    assert (line[x == time[at]] == [-1.0, 9.0, -1.0]).all()
    assert (line[x != time[at]] == -1.0).all()
    np.testing.assert_array_equal(again, 5.0 + x)


def test_rounding_errors_have_the_lowest_colour() -> None:
    soft = compile_scene(soft_cube()).soft
    assert {q: least_range(soft, q) for q in QUANTITIES} == pytest.approx(
        {"von-mises": 1e-9 * YOUNG, "strain": 1e-9, "energy": 0.5e-18 * YOUNG, "speed": 1e-9}
    )
    noise = YOUNG * np.array([0.0, 1e-15, 3e-15])
    limits = value_limits(noise, least_range(soft, "von-mises"))
    assert limits == (0.0, pytest.approx(1e-9 * YOUNG))
    np.testing.assert_allclose(value_colours(noise, limits), np.tile(SCALE[0], (3, 1)), atol=1e-4)
    assert value_limits(np.array([0.0, 7.0]), 1.0) == (0.0, 7.0)
    assert value_limits(np.array([-1.0, 7.0])) == (-1.0, 7.0)


def test_the_legend_gives_scales_their_words(server: Any) -> None:
    sim = Simulation(soft_cube(), dt=0.005)
    view = ViewerScene(server, sim.model, sim.state.body_pose, sim.state.node_position)
    panel = display_panel(server, view, sim.model, list(QUANTITIES))
    panel.quantity = "von-mises"
    panel.colours("von-mises", np.zeros(sim.model.soft.node_count))
    assert "100 µPa" in panel._legend_html()
    assert "-0" not in panel._legend_html()
    view.fix_scale(20.0, 10)
    assert "= 20 N, longest 80 N or more" in panel._legend_html()
    assert "force on the body that can move" in panel._legend_html()


def test_a_scale_grows_at_once_and_shrinks_when_it_is_calm() -> None:
    scale = FollowingScale()
    for largest in (1.0, 100.0, 101.0 * SMALL):
        scale.follow(largest)
    assert scale.value == 100.0
    for k in range(CALM - 1):
        scale.follow(1.0 + k % 7)
    assert scale.value == 100.0
    scale.follow(0.0)  # a frame without forces
    assert scale.value == 100.0
    scale.follow(2.0)
    assert scale.value == 7.0
    scale.limit(3.0)
    for _ in range(2 * CALM):
        scale.follow(0.1)
    assert scale.value == 3.0
    scale.follow(9.0)
    scale.restart()
    assert scale.value == 3.0


def test_scales_can_be_chosen_anew(server: Any) -> None:
    sim = Simulation(soft_cube(), dt=0.005)
    view = ViewerScene(server, sim.model, sim.state.body_pose, sim.state.node_position)
    panel = display_panel(server, view, sim.model, list(QUANTITIES))
    panel.quantity = "speed"
    view.show(live_frame(sim)._replace(contacts=pushes(np.array([500.0]))))
    panel.colours("speed", np.array([0.0, 8.0]))
    assert (panel.limits, view.force_scale[1]) == ((0.0, 8.0), 500.0)
    view.show(live_frame(sim)._replace(contacts=pushes(np.array([2.0]))))
    panel.restart_scales()
    assert view.force_scale[1] == 2.0
    panel.colours("speed", np.array([0.0, 0.5]))
    assert panel.limits == (0.0, 0.5)
    panel.hold_limits("speed", (-1.0, 3.0))
    panel.restart_scales()
    assert panel.limits == (-1.0, 3.0)


def test_the_legend_says_how_wide_the_grid_is(server: Any) -> None:
    scene = soft_cube()
    for ground in (False, True):
        if ground:
            scene.add_half_space()
        sim = Simulation(scene, dt=0.005)
        view = ViewerScene(server, sim.model, sim.state.body_pose, sim.state.node_position)
        text = display_panel(server, view, sim.model, [])._legend_html()
        assert ("grid " in text) == ground
    assert view.grid is not None
    assert f"grid {1e3 * view.grid:.3g} mm, heavy lines" in text


def test_a_fixed_scale_stays(server: Any) -> None:
    marks = ContactNodes(server, 1.0, "/marks")
    marks.show(pushes(np.array([1.0])), True, True, False)
    assert marks.reference == 1.0
    marks.fix_scale(10.0, 8 * CROWD)
    marks.show(pushes(np.array([5.0, 1000.0])), True, True, False)
    assert marks.reference == 10.0
    assert marks.arrow_length == pytest.approx(0.5 * ARROW_LENGTH)
    np.testing.assert_allclose(marks.arrows.batched_scales[:, 2], np.array([0.25, 0.5 * LONGEST]) * ARROW_LENGTH)
    np.testing.assert_allclose(marks.points.batched_scales, 0.5 * POINT)


def test_recordings_have_a_scale_of_forces_and_a_heading(tmp_path: Path) -> None:
    assert spread(3, 20) == [0, 1, 2]
    assert len(spread(1000, 20)) == 20
    scene = Scene()
    scene.add_half_space()
    scene.add_box((0.1, 0.1, 0.1), (0.0, 0.0, 0.05), mass=1.0)
    sim = Simulation(scene, dt=0.005)
    with Recorder(tmp_path / "box.h5", sim) as recorder:
        sim.run(5, recorder)
    with read_recording(tmp_path / "box.h5") as recording:
        scale = force_scale(recording)
        assert scale is not None
        assert scale == (pytest.approx(9.81 / 4, rel=0.3), 4)  # corners share the weight as they like
        assert heading(recording).startswith(f"box.h5: {recording.solver}, steps of 5 ms")
        assert "0.0e+00" not in certificate_text(recording, 0)
    assert (digits(0.0), digits(1.23e-7)) == ("0", "1.2e-07")
