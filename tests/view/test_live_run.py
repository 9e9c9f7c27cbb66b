"""Scenes that are changed while they run: settings, the spring of the mouse, pace, refusals."""

import math
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from stickslip import Scene, elastic
from stickslip.errors import DivergenceError, InputError
from stickslip.geometry import tet_generators
from stickslip.scenes.running import Run, prepare
from stickslip.simulation import Simulation
from stickslip.view.live.controls import PATIENCE, status_html
from stickslip.view.live.drag_spring import FREQUENCY, SAG, STABLE, WEIGHT, WEIGHTS
from stickslip.view.live.plots import rising, thinned
from stickslip.view.live.run import CATCH_UP, LiveRun
from stickslip.view.live.simulation import COLUMNS, Courses, LiveSimulation
from stickslip.view.web.run_charts import CHARTS, ITERATIONS, QUIET_PREFIX, prefix_of

G = 9.81


class Silent:
    """Metrics of nothing."""

    def observe(self, sim, result):
        pass

    def values(self):
        return {}


def run_of(scene: Scene, dt: float = 0.002, solver: str = "auto") -> Run:
    """A scene that is in no registry, as a run."""
    entry = replace(prepare("box-slope").entry, metrics=lambda sim, parameters: Silent())
    return Run(entry, {}, Simulation(scene, dt=dt, solver=solver), Silent())


def falling_box(ground: bool = False, **options) -> Scene:
    scene = Scene()
    scene.add_box((0.2, 0.2, 0.2), (0.0, 0.0, 1.0), mass=2.0, name="box", **options)
    if ground:
        scene.add_half_space(name="ground")
    return scene


def column(live: LiveSimulation, name: str) -> np.ndarray:
    return live.courses.table()[:, COLUMNS.index(name)]


# ---- settings -------------------------------------------------------------------------------------------------------


def test_unchanged_it_is_the_same_as_a_plain_run():
    live, plain = LiveSimulation(prepare("box-slope")), prepare("box-slope").sim
    for _ in range(20):
        live.step()
        plain.step()
    assert live.sim.state.digest() == plain.state.digest()


def test_reset_gives_the_same_steps_again():
    live = LiveSimulation(prepare("box-slide"))
    digests = []
    for _ in range(2):
        for _ in range(5):
            live.step()
        digests.append(live.sim.state.digest())
        live.reset()
    assert digests[0] == digests[1]
    assert live.sim.state.time == 0.0
    assert live.courses.steps == 0


def test_without_friction_a_box_slides_down_its_slope():
    live = LiveSimulation(prepare("box-slope"))
    model = live.sim.model
    box = int(model.dynamic[0])
    for _ in range(10):
        live.step()
    start = live.sim.state
    live.set_friction(0.0)
    for _ in range(100):
        live.step()
    after = live.sim.state
    slope = math.atan(0.8 * 0.5)
    speed = float(np.linalg.norm(after.body_velocity[box, :3]))
    assert start.time < after.time
    # symplectic Euler is exact for velocities under constant force
    assert speed == pytest.approx(G * math.sin(slope) * (after.time - start.time), rel=1e-3)
    live.set_friction(None)
    assert np.array_equal(live.sim.model.pairs.friction, model.pairs.friction)
    assert np.array_equal(live.sim.model.pairs.axis, model.pairs.axis)


def test_torsion_keeps_its_ratio_to_friction():
    live = LiveSimulation(prepare("spin-down"))
    own = live.sim.model.pairs.friction.copy()
    live.set_friction(0.6)
    scaled = live.sim.model.pairs.friction
    assert np.allclose(scaled[:, :, 2], own[:, :, 2] * 0.6 / own[:, :, :2].mean(axis=2))
    assert (scaled[:, :, :2] == 0.6).all()


def test_friction_that_the_solver_does_not_take_is_refused():
    live = LiveSimulation(prepare("spin-down"))
    live.step()
    with pytest.raises(InputError, match="nsgs"):
        live.set_solver("nsgs")
    live.set_friction(0.0)  # and no torsion
    live.set_solver("nsgs")
    live.step()
    for friction in (0.3, None):
        with pytest.raises(InputError, match="nsgs"):
            live.set_friction(friction)
        assert live.friction == 0.0
    live.step()


def test_ledger_balances_across_a_change_of_gravity():
    live = LiveSimulation(run_of(falling_box()))
    for gravity in ((0.0, 0.0, -G), (0.0, 5.0, 3.0), (0.0, 0.0, 0.0)):
        live.set_gravity(gravity)
        for _ in range(20):
            live.step()
    mechanical = sum(column(live, name) for name in ("kinetic", "potential", "elastic"))
    gained = column(live, "work") + column(live, "numerical")
    gained = gained - sum(column(live, name) for name in ("friction", "damping", "impact"))
    scale = np.abs(column(live, "kinetic")).max()
    assert np.allclose(mechanical - mechanical[0], gained - gained[0], atol=1e-12 * scale)


def test_a_new_step_size_goes_on_from_the_state_of_now():
    live = LiveSimulation(run_of(falling_box()))
    live.step()
    before = live.sim.state
    live.set_dt(0.005)
    assert live.sim.state.digest() == before.digest()
    live.step()
    assert live.sim.state.time == pytest.approx(0.007)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda live: live.set_friction(math.nan), "friction"),
        (lambda live: live.set_friction(-0.1), "friction"),
        (lambda live: live.set_gravity((0.0, math.inf, 0.0)), "gravity"),
        (lambda live: live.set_dt(0.0), "dt"),
        (lambda live: live.set_dt(math.nan), "dt"),
        (lambda live: live.set_dt(51.0 * live.sim.stepping.dt), "allowed are .* ms"),
        (lambda live: live.set_dt(0.009 * live.sim.stepping.dt), "allowed are .* ms"),
        (lambda live: live.set_solver("magic"), "magic"),
        (lambda live: live.grab(7, (0.0, 0.0, 0.0)), "body 7"),
        (lambda live: live.set_solver("lcp"), "anisotropic|ellip|friction"),
    ],
)
def test_bad_settings_are_refused_and_change_nothing(change, message):
    live = LiveSimulation(prepare("anisotropic-slide"))
    live.step()
    sim, digest = live.sim, live.sim.state.digest()
    with pytest.raises(InputError, match=message):
        change(live)
    assert live.sim is sim
    assert live.sim.state.digest() == digest
    live.step()


# ---- the spring ------------------------------------------------------------------------------------------------------


def test_a_pulled_box_follows_and_hangs_under_the_target_by_its_weight():
    live = LiveSimulation(run_of(falling_box(), dt=0.01))
    live.grab(0, (0.0, 0.0, 1.0))
    target = np.array([0.3, -0.2, 1.4])
    live.pull(target)
    for _ in range(200):
        live.step()
    state = live.sim.state
    stiffness = 2.0 * max(FREQUENCY**2, G / (SAG * 0.1 * math.sqrt(3.0)))
    assert np.allclose(state.body_pose[0, :3], target - (0.0, 0.0, 2.0 * G / stiffness), atol=1e-6)
    assert np.abs(state.body_velocity[0]).max() < 1e-6
    assert column(live, "work")[-1] > 0.0


def test_a_released_box_has_its_old_force_and_falls():
    live = LiveSimulation(run_of(falling_box(force=(0.1, 0.2, 0.3))))
    own = live.sim.control.body_force.copy()
    live.grab(0, (0.05, 0.0, 1.1))
    live.pull((0.0, 0.0, 2.0))
    for _ in range(50):
        live.step()
        assert np.array_equal(live.sim.control.body_force, own)
    live.release()
    before = live.sim.state
    for _ in range(50):
        live.step()
    fallen = live.sim.state.body_velocity[0, :3] - before.body_velocity[0, :3]
    assert np.allclose(fallen, 0.1 * (np.array([0.1, 0.2, 0.3]) / 2.0 + (0.0, 0.0, -G)), atol=1e-9)


def test_a_box_taken_at_a_corner_hangs_from_it():
    live = LiveSimulation(run_of(falling_box(), dt=0.01))
    corner = np.array([0.1, 0.1, 1.1])
    live.grab(0, corner)
    for _ in range(600):
        live.step()
    centre = live.sim.state.body_pose[0, :3]
    # the centre of mass below the corner, half a diagonal away
    assert np.allclose(centre[:2], corner[:2], atol=1e-3)
    assert live.spring is not None
    sag = 2.0 * G / live.spring.stiffness(0.01)
    assert corner[2] - centre[2] == pytest.approx(0.1 * math.sqrt(3.0) + sag, abs=1e-3)


@pytest.mark.parametrize("dt", [0.001, 0.02, 0.1])
def test_springs_are_stable_at_every_step_size(dt):
    live = LiveSimulation(run_of(falling_box(), dt=dt))
    live.grab(0, (0.1, 0.1, 1.1))
    live.pull((0.0, 0.5, 1.5))
    for _ in range(300):
        live.step()
    assert np.linalg.norm(live.sim.state.body_pose[0, :3] - (0.0, 0.5, 1.5)) < 2.0
    assert np.abs(live.sim.state.body_velocity).max() < 20.0


def test_long_pulls_are_limited():
    scene = falling_box()
    scene.gravity = (0.0, 0.0, 0.0)
    live = LiveSimulation(run_of(scene))
    live.grab(0, (0.0, 0.0, 1.0))
    live.pull((1e6, 0.0, 1.0))
    live.step()
    assert live.sim.state.body_velocity[0, 0] == pytest.approx(WEIGHTS * WEIGHT * 0.002)


def test_a_box_is_pulled_out_of_a_stack():
    scene = Scene()
    scene.add_half_space(name="ground")
    for level in range(3):
        scene.add_box((0.2, 0.2, 0.1), (0.0, 0.0, 0.05 + 0.1 * level), density=800.0, name=f"box {level}")
    live = LiveSimulation(run_of(scene, dt=0.004))
    for _ in range(10):
        live.step()
    live.grab(2, (0.1, 0.0, 0.15))
    for k in range(200):
        live.pull((0.1 + 0.005 * k, 0.0, 0.15))
        live.step()
    x = live.sim.state.body_pose[:, 0]
    assert x[2] > 0.5
    assert x[1] < 0.3


def test_fixed_bodies_cannot_be_pulled():
    live = LiveSimulation(run_of(falling_box(ground=True)))
    with pytest.raises(InputError, match="static"):
        live.grab(1, (0.0, 0.0, 0.0))
    assert live.spring is None


def test_what_joints_join_is_pulled_as_one():
    scene = Scene()
    links = [scene.add_sphere(0.05, (0.0, 0.0, 1.0 - 0.2 * k), mass=1.0) for k in range(4)]
    for a, b in zip(links, links[1:], strict=False):
        scene.add_ball(a, b, (0.0, 0.0, 0.9 - 0.2 * a.index))
    live = LiveSimulation(run_of(scene, dt=0.01))
    live.grab(0, (0.0, 0.0, 1.0))
    assert live.spring is not None
    assert live.spring.mass == pytest.approx(4.0)
    live.pull((0.0, 0.0, 1.3))
    for _ in range(200):
        live.step()
    # the spring carries all four, as stiffly as it may at this step size
    sag = 4.0 * G / live.spring.stiffness(0.01)
    assert live.spring.stiffness(0.01) == pytest.approx((STABLE / 0.01) ** 2)
    assert np.allclose(live.sim.state.body_pose[:, 2], 1.3 - sag - 0.2 * np.arange(4), atol=1e-3)


def test_a_soft_body_is_lifted_by_nodes_near_the_point():
    scene = Scene()
    mesh = tet_generators.box((0.2, 0.2, 0.2), (2, 2, 2))
    material = elastic(young=2e5, poisson=0.3, density=500.0, beta=0.005)
    body = scene.add_soft(mesh, material, (0.0, 0.0, 0.5))
    live = LiveSimulation(run_of(scene, dt=0.01))
    own = live.sim.control.node_force.copy()
    top = live.sim.nodes(body).max(axis=0)[2]
    live.grab(0, (0.0, 0.0, top))
    live.pull((0.0, 0.0, top + 0.3))
    for _ in range(200):
        live.step()
    assert live.spring is not None
    assert live.spring.mass == pytest.approx(500.0 * 0.2**3)
    sag = live.spring.mass * G / live.spring.stiffness(0.01)
    point = live.spring.held_point(live.sim.state)
    assert np.allclose(point, (0.0, 0.0, top + 0.3 - sag), atol=5e-3)
    assert np.array_equal(live.sim.control.node_force, own)


def test_a_soft_body_of_many_light_nodes_is_lifted_too():
    """A few of them alone could only be pulled so gently that the body stays on the ground."""
    live = LiveSimulation(prepare("soft-ball"))
    for _ in range(100):
        live.step()
    before, top = live.sim.state.node_position[:, 2].mean(), live.sim.state.node_position[:, 2].max()
    body = live.sim.model.body_count
    live.grab(body, (0.0, 0.0, top))
    live.pull((0.0, 0.0, top + 0.05))
    heights = []
    for _ in range(150):
        live.step()
        heights.append(live.sim.state.node_position[:, 2].mean() - before)
    assert np.allclose(heights[-20:], 0.05, atol=0.01)
    assert max(heights) < 0.06  # critically damped
    assert np.abs(live.sim.state.node_velocity).max() < 0.05


# ---- the thread ------------------------------------------------------------------------------------------------------


@pytest.fixture
def live_run() -> Iterator[LiveRun]:
    with LiveRun(run_of(falling_box(ground=True))) as run:
        run.step_once()
        run.settled()
        run.reset()
        run.settled()
        yield run


def test_it_is_never_faster_than_asked(live_run):
    live_run.set_speed(0.5)
    live_run.play()
    live_run.settled()
    start = time.perf_counter()
    time.sleep(0.8)
    live_run.pause()
    snapshot = live_run.settled()
    wall = time.perf_counter() - start
    assert 0.0 < snapshot.frame.time <= 0.5 * (wall + CATCH_UP) + 2 * 0.002
    assert snapshot.paused


def test_single_steps_and_pause(live_run):
    for k in range(1, 4):
        live_run.step_once()
        snapshot = live_run.settled()
        assert snapshot.steps == k
        assert snapshot.frame.time == pytest.approx(0.002 * k)
    time.sleep(0.05)
    assert live_run.snapshot().steps == 3
    assert snapshot.certificate is not None
    assert snapshot.courses.shape == (3, len(COLUMNS))
    with pytest.raises(ValueError, match="read-only"):
        snapshot.courses[0, 0] = 1.0


def test_it_stands_still_while_nobody_watches(live_run):
    live_run.watch(False)
    live_run.play()
    live_run.settled()
    time.sleep(0.1)
    assert live_run.snapshot().steps == 0
    live_run.watch(True)
    snapshot = live_run.next_snapshot(live_run.settled().number, 10.0)
    assert snapshot is not None
    assert not snapshot.paused


def test_refusals_are_messages_and_the_run_goes_on(live_run):
    live_run.set_solver("magic")
    assert "magic" in live_run.settled().message
    live_run.set_gravity((math.nan, 0.0, 0.0))
    assert "gravity" in live_run.settled().message
    live_run.set_speed(0.0)
    assert "speed" in live_run.settled().message
    live_run.set_dt(0.004)
    snapshot = live_run.settled()
    assert snapshot.message == ""
    assert snapshot.dt == 0.004
    live_run.set_friction(0.25)
    live_run.set_gravity((0.0, 1.0, 0.0))
    live_run.set_solver("nsgs")
    snapshot = live_run.settled()
    assert (snapshot.friction, snapshot.gravity, snapshot.solver) == (0.25, (0.0, 1.0, 0.0), "nsgs")


def test_a_step_is_shown_with_the_solver_that_made_it(live_run):
    live_run.step_once()
    live_run.set_solver("nsgs")
    snapshot = live_run.settled()
    assert (snapshot.solver, snapshot.step_solver) == ("nsgs", "auto")
    text = status_html(snapshot, 0.0)
    assert "auto: " in text
    assert "nsgs makes the next step" in text
    live_run.step_once()
    snapshot = live_run.settled()
    assert snapshot.step_solver == "nsgs"
    assert "nsgs: " in status_html(snapshot, 0.0)
    live_run.reset()
    assert live_run.settled().step_solver == ""


def test_times_of_steps_of_another_size_are_not_shown(live_run):
    live_run.step_once()
    assert "ms for 2 ms" in status_html(live_run.settled(), 0.0)
    live_run.set_dt(0.01)
    snapshot = live_run.settled()
    assert math.isnan(snapshot.step_ms)
    assert "\N{EN DASH} ms for 10 ms" in status_html(snapshot, 0.0)


def test_the_status_has_the_same_rows_at_all_times(live_run):
    before = live_run.settled()
    live_run.step_once()
    live_run.set_dt(-1.0)
    after = live_run.settled()
    texts = [status_html(before, 0.0), status_html(after, 0.0), status_html(after, PATIENCE + 1.0, may_compile=True)]
    assert len({text.count("<tr") for text in texts}) == 1
    assert len({text.count("height:4.35em") for text in texts}) == 1
    assert "refused" in texts[1]
    assert "working for 3 s; kernels" in texts[2]
    assert "working" not in status_html(after, 0.9 * PATIENCE)


class Failing:
    """Metrics that find a run diverged after some steps."""

    def __init__(self, sim, parameters):
        self.left = 3

    def observe(self, sim, result):
        self.left -= 1
        if self.left == 0:
            raise DivergenceError("body 'box' got the velocity (nan)")

    def values(self):
        return {}


def test_a_diverged_run_pauses_and_can_be_reset():
    prepared = run_of(falling_box())
    prepared = replace(prepared, entry=replace(prepared.entry, metrics=Failing), metrics=Failing(None, None))
    with LiveRun(prepared) as run:
        run.play()
        run.settled()
        deadline = time.perf_counter() + 120.0
        while not run.snapshot().paused and time.perf_counter() < deadline:
            time.sleep(0.01)
        snapshot = run.snapshot()
        assert "velocity (nan)" in snapshot.message
        assert np.isfinite(snapshot.frame.q).all()
        run.reset()
        snapshot = run.settled()
        assert (snapshot.message, snapshot.frame.time) == ("", 0.0)
        run.step_once()
        assert run.settled().steps == 1


def test_dragging_moves_a_body_and_shows_the_spring(live_run):
    live_run.set_speed(1e9)
    live_run.grab(0, (0.0, 0.0, 1.0))
    live_run.pull((0.5, 0.0, 1.2))
    snapshot = live_run.settled()
    assert snapshot.spring is not None
    assert np.allclose(snapshot.spring[1], (0.5, 0.0, 1.2))
    for _ in range(200):
        live_run.step_once()
    snapshot = live_run.settled()
    assert snapshot.frame.q[0, 0] > 0.3
    live_run.grab(1, (0.0, 0.0, 0.0))
    assert "static" in live_run.settled().message
    live_run.release()
    assert live_run.settled().spring is None


def test_waiting_values_of_a_slider_are_skipped(live_run):
    live_run.step_once()
    for k in range(200):
        live_run.set_friction(k / 200)
    assert live_run.settled().friction == pytest.approx(199 / 200)
    assert live_run._given < 100  # all but a few were never taken


def test_values_of_soft_bodies_come_with_snapshots():
    with LiveRun(prepare("soft-ball", settings={"divisions": 2})) as run:
        run.colour_by("strain")
        run.step_once()
        snapshot = run.settled()
        assert snapshot.quantity == "strain"
        assert snapshot.node_values is not None
        assert snapshot.node_values.shape == (len(snapshot.frame.nodes),)
        run.colour_by("temperature")
        assert "temperature" in run.settled().message


# ---- numbers for plots -----------------------------------------------------------------------------------------------


def test_courses_forget_their_oldest_rows():
    certificate = LiveSimulation(run_of(falling_box())).step().certificate
    courses = Courses(kept=10)
    for k in range(23):
        courses.add(float(k), certificate)
    assert courses.table()[:, 0].tolist() == [float(k) for k in range(13, 23)]


def test_thinned_curves_keep_the_worst_and_do_not_flicker():
    table = np.zeros((100, len(COLUMNS)))
    table[:, 0] = np.arange(100)
    residual = COLUMNS.index("residual")
    table[37, residual] = 5.0
    thin = thinned(table, 100, 30)
    assert len(thin) <= 30
    assert thin[:, residual].max() == 5.0
    # with more steps, whole groups of before stay
    longer = np.concatenate([table, table[:4] + 100.0])[4:]
    assert np.isin(thin[2:-1, 0], thinned(longer, 104, 30)[:, 0]).all()


def test_iterations_that_start_anew_are_counted_on():
    assert rising(np.array([0.0, 5.0, 10.0, 0.0, 5.0])).tolist() == [0.0, 5.0, 10.0, 10.0, 15.0]
    assert rising(np.zeros(0)).shape == (0,)


def test_rounding_is_drawn_as_zero():
    for largest in (0.0, 1e-14, 9e-10):
        assert prefix_of(largest, (1.0, "")) == QUIET_PREFIX
    assert prefix_of(2e-9, QUIET_PREFIX) == (pytest.approx(1e-9), "n")
    assert prefix_of(0.5e-9, (1e-9, "n")) == (1e-9, "n")  # not to and fro
    assert prefix_of(0.02, (1.0, "")) == (pytest.approx(1e-3), "m")
    assert prefix_of(0.4, (1.0, "")) == (1.0, "")


def test_errors_have_the_same_axis():
    assert {chart.decades for chart in (ITERATIONS, CHARTS[0])} == {(-16, 0)}
