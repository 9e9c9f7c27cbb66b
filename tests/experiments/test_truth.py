"""The closed forms against independent integrations, and the rows that `stickslip truth` prints."""

import builtins
import io
import math
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from scipy.integrate import solve_ivp

from stickslip.errors import InputError
from stickslip.experiments.truth import mechanism_equations as equations
from stickslip.experiments.truth import peer_drake, peer_mujoco, peer_pybullet, truth
from stickslip.experiments.truth.mechanisms import RobotScene, empty_run
from stickslip.experiments.truth.scenes import (
    SceneData,
    balls_on_slab,
    heavy_on_light,
    pushed_box,
    surface_friction,
)
from stickslip.experiments.truth.tests import FAMILIES, truth_tests
from stickslip.experiments.truth.trajectory import empty_trajectory
from stickslip.scenes import closed_forms

G = 9.81


def regularised_friction(velocity: float, limit: float, scale: float = 1e-6) -> float:
    """Coulomb friction smoothed over `scale` [m/s]: a model other than the one the closed forms assume."""
    return -limit * math.tanh(velocity / scale)


@pytest.mark.parametrize(("load", "moves"), [(0.8, False), (1.001, True), (1.5, True)])
def test_slope_acceleration_agrees_with_integrating_regularised_friction(load: float, moves: bool) -> None:
    mu = 0.5
    angle = math.atan(load * mu)

    def right(_t: float, v: np.ndarray) -> list[float]:
        return [G * math.sin(angle) + regularised_friction(v[0], mu * G * math.cos(angle))]

    end = solve_ivp(right, (0.0, 1.0), [0.0], method="Radau", rtol=1e-9, atol=1e-12).y[0, -1]
    # the smoothing lets a sticking block creep at about its scale, 1e-6 m/s
    assert closed_forms.slope_acceleration(angle, mu, G) == pytest.approx(end, abs=2e-5)
    assert (closed_forms.slope_acceleration(angle, mu, G) > 0.0) == moves


def test_pushed_block_agrees_with_integrating_regularised_friction() -> None:
    force, mass, mu, duration = 2.0, 0.5, 0.2, 2.0

    def right(_t: float, y: np.ndarray) -> list[float]:
        return [y[1], force / mass + regularised_friction(y[1], mu * G)]

    end = solve_ivp(right, (0.0, duration), [0.0, 0.0], method="Radau", rtol=1e-9, atol=1e-12).y[0, -1]
    a = closed_forms.pushed_block_acceleration(force, mass, mu, G)
    distance = closed_forms.positions_under_constant_acceleration(a, 0.01, 200, "continuous")
    assert distance[-1] == pytest.approx(end, rel=1e-5)


def test_semi_implicit_positions_are_those_of_the_scheme() -> None:
    a, dt = 2.038, 0.01
    position, velocity, expected = 0.0, 0.0, [0.0]
    for _ in range(50):
        velocity += dt * a
        position += dt * velocity
        expected.append(position)
    found = closed_forms.positions_under_constant_acceleration(a, dt, 50, "semi-implicit")
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def planar_newton_euler(slab_on_top: bool, force: float, floor_friction: float) -> tuple[float, float]:
    """Slab and ball accelerations from the equations of motion with no-slip rows, solved as one linear system.

    Unknowns: slab a, ball a, ball alpha, force f of the slab on a ball, and force b of the floor on a ball.
    """
    slab, ball, count, r = 10.0, 1.0, 25, 0.5
    inertia = 0.4 * ball * r * r
    if slab_on_top:
        rows = [
            [slab, 0.0, 0.0, count, 0.0],  # slab: M a = F - n f
            [0.0, ball, 0.0, -1.0, -1.0],  # ball: m a = f + b
            [0.0, 0.0, inertia, -r, r],  # ball: I alpha = r f - r b (f acts on its top)
            [1.0, -1.0, -r, 0.0, 0.0],  # no slip at the top
            [0.0, 1.0, -r, 0.0, 0.0],  # no slip at the floor
        ]
    else:
        rows = [
            [slab, 0.0, 0.0, count, 0.0],
            [0.0, ball, 0.0, -1.0, 0.0],
            [0.0, 0.0, inertia, -r, 0.0],  # the slab drives the ball's lowest point
            [1.0, -1.0, -r, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 1.0],  # the floor does not touch the balls
        ]
    found = np.linalg.solve(np.array(rows), [force - floor_friction, 0.0, 0.0, 0.0, 0.0])
    return found[0], found[1]


def test_balls_on_slab_agree_with_the_equations_of_motion() -> None:
    expected = planar_newton_euler(False, 150.0, 0.4 * 35.0 * G)
    assert closed_forms.balls_on_slab_accelerations(150.0, 10.0, 1.0, 25, 0.4, G) == pytest.approx(expected, rel=1e-12)


def test_slab_on_balls_agrees_with_the_equations_of_motion() -> None:
    expected = planar_newton_euler(True, 50.0, 0.0)
    assert closed_forms.slab_on_balls_accelerations(50.0, 10.0, 1.0, 25) == pytest.approx(expected, rel=1e-12)


COMBINE = {
    "max": max,
    "min": min,
    "product": lambda a, b: a * b,
    "geometric": lambda a, b: math.sqrt(a * b),
    "harmonic": lambda a, b: 2.0 * a * b / (a + b),
    "mean": lambda a, b: 0.5 * (a + b),
}


@pytest.mark.parametrize("rule", COMBINE)
def test_every_combination_rule_gives_the_same_pair_friction(rule: str) -> None:
    for scene in (pushed_box("a", 0.2, 2.0, 0.01, 1), heavy_on_light("b", 10.0, 0.01, 1), balls_on_slab("c", 0.01, 1)):
        own = surface_friction(scene, rule)  # type: ignore[arg-type]
        for surface, mu in scene.friction:
            assert COMBINE[rule](own[scene.hub], own[surface]) == pytest.approx(mu, rel=1e-12)


def test_scenes_start_exactly_touching() -> None:
    for test in truth_tests():
        if not isinstance(test.scene, SceneData):
            continue
        heights = [
            np.dot(b.position, test.scene.normal) - b.size[-1] * (1.0 if b.shape == "sphere" else 0.5)
            for b in test.scene.bodies
        ]
        assert min(heights) == pytest.approx(0.0, abs=1e-15)


def test_measures_see_an_exact_and_a_wrong_motion() -> None:
    by_name = {test.name: test for test in truth_tests(quick=True)}
    slope = by_name["slope"]
    run = empty_trajectory(slope.scene)
    run.position[:] = run.position[0]
    assert slope.measure(run).ok
    time = slope.scene.dt * np.arange(slope.scene.steps + 1)
    run.position[:, 0] += 5e-6 * time[:, None] * np.array([slope.scene.normal[2], 0.0, -slope.scene.normal[0]])
    found = slope.measure(run)
    assert found.value == pytest.approx(5.0, rel=1e-9)  # um/s
    assert not found.ok

    rolling = by_name["rolling"]
    run = empty_trajectory(rolling.scene)
    run.velocity[:] = 0.0
    a = closed_forms.balls_on_slab_accelerations(150.0, 10.0, 1.0, 25, 0.4, G)
    time = rolling.scene.dt * np.arange(rolling.scene.steps)
    expected = (a[0] ** 2 + a[1] ** 2) * float((time**2).mean())
    assert rolling.measure(run).value == pytest.approx(expected, rel=1e-9)

    heavy = by_name["mass-ratio-1000"]
    run = empty_trajectory(heavy.scene)
    run.position[:] = run.position[0]
    run.position[-1, heavy.scene.index("heavy"), 2] -= 3e-3
    assert heavy.measure(run).value == pytest.approx(3.0, rel=1e-9)  # mm
    assert not heavy.measure(run).ok
    assert heavy.measure(run).note == "stands"

    slip = by_name["critical-slip"]
    run = empty_trajectory(slip.scene)
    run.velocity[:] = 0.0
    assert not slip.measure(run).ok  # sticking above the Coulomb limit is as wrong as creeping below it


def test_rows_are_printed_with_their_values_and_verdicts() -> None:
    row = truth.TruthRow("slope", "mujoco", "default", 3516.2, "um/s", 0.0, 0.001, False, 0.3, "creeps")
    rows = [row, replace(row, engine="drake", setting="", value=None, ok=None, note="not installed")]
    text = io.StringIO()
    Console(file=text, width=150).print(truth.truth_table(rows))
    printed = text.getvalue()
    for word in ("3.52e+03", "um/s", "no", "creeps", "not installed"):
        assert word in printed
    assert replace(row, value=math.nan).to_json()["value"] is None
    assert row.to_json()["value"] == 3516.2


@pytest.mark.parametrize(("engine", "package"), [("mujoco", "mujoco"), ("drake", "pydrake"), ("pybullet", "pybullet")])
def test_a_missing_engine_is_one_row_that_says_so(monkeypatch: pytest.MonkeyPatch, engine: str, package: str) -> None:
    real = builtins.__import__

    def without(name: str, *args: object, **kwargs: object) -> object:
        if name.partition(".")[0] == package:
            raise ImportError(f"No module named {name!r}")
        return real(name, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    (row,) = truth.run_truth([engine], tests=["slide"], quick=True)
    assert (row.engine, row.note, row.value, row.ok) == (engine, "not installed", None, None)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match="engine 'havok'"):
        truth.run_truth(["havok"])
    with pytest.raises(InputError, match="truth test 'sloop'"):
        truth.run_truth(["stickslip"], tests=["sloop"])


def test_families_name_every_test() -> None:
    assert {test.family for test in truth_tests()} == set(FAMILIES)


@pytest.mark.parametrize("module", [peer_mujoco, peer_drake, peer_pybullet])
def test_peers_describe_each_setting(module: object) -> None:
    assert len(module.SETTINGS) >= 2  # type: ignore[attr-defined]


def test_mujoco_default_creeps_as_others_measured() -> None:
    pytest.importorskip("mujoco")
    rows = truth.run_truth(["mujoco"], tests=["slope"])
    by_setting = {row.setting: row for row in rows}
    # the figure others measured on this test; a scene that differs would not give it
    assert by_setting["default"].value == pytest.approx(3516.0, rel=0.02)


def test_measures_of_robots_see_an_exact_and_a_wrong_motion() -> None:
    by_name = {test.name: test for test in truth_tests(quick=True)}
    rods = by_name["five-rods"]
    assert isinstance(rods.scene, RobotScene)
    exact = equations.integrated(equations.chain_rates(5, 0.4, 1.0), np.zeros(10), [0.1])[:5, -1]
    run = empty_run(rods.scene, 5, 5)
    run.q[-1] = np.diff(exact, prepend=0.0)
    assert rods.measure(run).ok
    run.q[-1, 2] += 3e-3
    assert rods.measure(run).value == pytest.approx(3e-3, rel=1e-6)
    assert not rods.measure(run).ok

    wheel = by_name["rimless-wheel"]
    assert isinstance(wheel.scene, RobotScene)
    run = empty_run(wheel.scene, 4, 4)
    given = equations.RimlessWheel()
    time = wheel.scene.dt * np.arange(wheel.scene.steps + 1)
    run.q[:, 3] = -given.half + 2.0 * given.half * time / given.period()
    assert wheel.measure(run).value == pytest.approx(given.period(), rel=1e-9)
    run.q[:, 3] = -given.half  # it stands
    assert not wheel.measure(run).ok

    chain = by_name["heavy-chain"]
    assert isinstance(chain.scene, RobotScene)
    run = empty_run(chain.scene, 50, 50)
    run.energy[:] = 0.0
    assert chain.measure(run).ok
    run.energy[3] = 1.0
    assert not chain.measure(run).ok


def test_robots_have_rows_of_engines_that_know_them() -> None:
    rows = truth.run_truth(["stickslip", "drake"], ["nsgs"], tests=["furuta"], quick=True)
    assert [(row.engine, row.setting, row.ok) for row in rows] == [("stickslip", "nsgs", True)]


def test_mujoco_is_given_the_same_mechanism() -> None:
    """Its method of order four agrees with the references, better than our midpoint rule does."""
    pytest.importorskip("mujoco")
    for name, bound in (("furuta", 1e-9), ("five-rods", 1e-7), ("floating-robot", 1e-9), ("spherical-pendulum", 1e-6)):
        best = truth.run_truth(["mujoco"], tests=[name], quick=True)[-1]
        assert best.value is not None
        assert best.value < bound


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_stickslip_passes_quickly(family: str) -> None:
    for row in truth.run_truth(["stickslip"], ["prox-gs"], tests=[family], quick=True):
        assert row.ok, row
