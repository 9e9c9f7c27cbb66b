"""`stickslip reproduce lee2023`: trials beside converged steps, claims that follow numbers, pictures, the command."""

import json
import math
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stickslip.cli import main
from stickslip.errors import DivergenceError
from stickslip.experiments.lee2023 import cable as table8
from stickslip.experiments.lee2023 import figures, growth, inverse, robots, tables, variants
from stickslip.experiments.lee2023.cable import METHODS, CableLine, Table8
from stickslip.experiments.lee2023.experiment import EXPERIMENTS
from stickslip.experiments.lee2023.inverse import Forces
from stickslip.experiments.lee2023.tables import APGD, COMPARISONS, COND, PGS
from stickslip.experiments.lee2023.trials import (
    FORCE,
    INTERNAL,
    MARKERS,
    Course,
    Method,
    Runs,
    Trials,
    cpu_clock,
    errors,
)
from stickslip.experiments.registry import PAPERS
from stickslip.experiments.report import Claim
from stickslip.simulation import Simulation

PNG = b"\x89PNG\r\n\x1a\n"
SMALL_MAT = Course("soft-mat", 1e-4, (2, 12), 2, (1,), (("divisions", 10),))
SMALL_BALL = Course("ball-grip", 1e-5, (8,), 2, (1,), (("divisions", 2),))


def silent(*told: object) -> None:
    """Progress that nobody watches."""


def verdicts(claims: list[Claim]) -> list[bool]:
    return [claim.agrees for claim in claims]


def seen(milliseconds: float = 8.0, iterations: int = 30, deep: float = 0.001, off: float = 0.001) -> Trials:
    """Made-up numbers of four steps."""
    yes, one = np.ones(4, dtype=np.bool_), np.ones(4)
    wrong = dict.fromkeys((INTERNAL, FORCE, MARKERS, f"{INTERNAL} vector", f"{FORCE} vector"), off * one)
    return Trials(
        4446, deep * one, wrong, 0.01 * one, 1e-3 * milliseconds * one, 0.0 * one, yes, np.full(4, iterations),
        np.full(4, 40), yes, 1e-8 * one, one, 0.01 * one, 0.01 * one, 0.001 * one,
    )  # fmt: skip


def as_in_the_paper() -> dict[str, Trials]:
    return {COND: seen(), PGS: seen(2000.0, 100, 0.1), APGD: seen(900.0, 90, 0.1, 0.0001)}


def the_other_way_round() -> dict[str, Trials]:
    return {COND: seen(900.0, 300, 0.1, 0.5), PGS: seen(8.0, 90), APGD: seen(8.0, 90, off=1.0)}


def test_every_experiment_is_registered() -> None:
    assert list(PAPERS["lee2023"].experiments) == list(EXPERIMENTS)


@pytest.fixture(scope="module")
def runs() -> Runs:
    return Runs(silent)


def test_methods_are_measured_beside_converged_steps(runs: Runs) -> None:
    found = {name: runs(SMALL_BALL, tables.method(name, 1e-5)) for name in (COND, PGS, APGD)}
    for each in found.values():
        assert len(each.iterations) == len(each.errors[INTERNAL]) == 2
        assert each.converged.all()
        assert each.reference.max() < 1e-6
        assert (each.solving > 0.0).all()
        assert (each.dynamics > 0.0).all()
        assert not each.lost
        # to 1e-5 m/s all are near the converged step: nodes are stiff, forces small differences of large ones
        assert each.mean(INTERNAL) < 0.5
    assert found[PGS].assembly.min() > 0.0
    assert found[COND].assembly.max() == 0.0


def test_a_smaller_threshold_is_nearer_to_the_converged_step(runs: Runs) -> None:
    rough, fine = (runs(SMALL_MAT, tables.method(COND, threshold)) for threshold in (1e-2, 1e-6))
    assert fine.mean(f"{INTERNAL} vector") < 0.2 * rough.mean(f"{INTERNAL} vector")
    assert fine.iterations.mean() > rough.iterations.mean()


def test_leading_runs_and_trials_are_made_once(runs: Runs) -> None:
    states = runs.states(SMALL_MAT, 1)
    assert [state.steps for state in states] == [2, 12]
    assert runs.states(replace(SMALL_MAT, burst=7, judged=False), 1) is states
    method = tables.method(COND, 1e-2)
    assert runs(SMALL_MAT, method) is runs(replace(SMALL_MAT), method)


def test_fixed_numbers_of_iterations_are_all_made(runs: Runs) -> None:
    for method in variants.splitting_methods()[::2]:
        count = dict(method.options)["max_iterations"]
        assert set(runs(SMALL_MAT, method).iterations.tolist()) == {count}


def test_trials_repeat(runs: Runs) -> None:
    method = Method(COND, "cond", (("criterion", "step"), ("tolerance", 1e-3)))
    one, other = runs(SMALL_MAT, method), Runs(silent)(SMALL_MAT, method)
    assert one.iterations.tolist() == other.iterations.tolist()
    assert one.errors[INTERNAL].tolist() == other.errors[INTERNAL].tolist()


def test_the_clock_is_put_back() -> None:
    wall = time.perf_counter
    with cpu_clock():
        assert time.perf_counter is time.process_time
    assert time.perf_counter is wall


def test_errors_are_of_norms_of_vectors_and_of_ways() -> None:
    here = {FORCE: np.array([3.0, 4.0, 0.0]), MARKERS: np.zeros((2, 3))}
    there = {FORCE: np.array([0.0, 5.0, 0.0]), MARKERS: np.array([[0.0, 0.0, 1e-3], [0.0, 0.0, 0.0]])}
    found = errors(here, there)
    assert found[FORCE] == 0.0
    assert found[f"{FORCE} vector"] == pytest.approx(math.sqrt(10.0))
    assert found[MARKERS] == pytest.approx(0.5)


@pytest.mark.parametrize("experiment", COMPARISONS)
def test_claims_of_comparisons_follow_the_numbers(experiment: str) -> None:
    count = int(COMPARISONS[experiment].paper[COND]["IN"])
    good = as_in_the_paper() | {COND: seen(iterations=count)}
    assert all(verdicts(tables.claims(experiment, good)))
    assert not any(verdicts(tables.claims(experiment, the_other_way_round())))
    rows = tables.rows(experiment, good)
    ratio = next(row for row in rows if row.name.startswith("ST of PGS"))
    assert ratio.ours == pytest.approx(250.0)
    robot = [row for row in rows if row.ours == tables.NOT_HERE]
    assert len(robot) == {"table5": 4, "table6": 7}.get(experiment, 0)
    assert all(row.paper is not None for row in robot if not row.name.startswith(APGD))


def test_claims_of_variants_follow_the_numbers() -> None:
    growing = {label: seen(iterations=count) for label, count in zip(variants.STIFFNESS, (20, 40, 80), strict=True)}
    flat = dict.fromkeys(variants.STIFFNESS, seen())
    assert all(verdicts(variants.stiffness_claims("table4", {COND: flat, PGS: growing, APGD: growing})))
    assert not any(verdicts(variants.stiffness_claims("table4", {COND: growing, PGS: flat, APGD: flat})))
    lines = [method.name for method in variants.splitting_methods()]
    good = dict(zip(lines, (seen(), seen(), seen(80.0, off=1.0), seen(80.0, off=1.0)), strict=True))
    assert all(verdicts(variants.splitting_claims("table7", good)))
    bad = dict(zip(lines, (seen(80.0, off=1.0), seen(80.0, deep=1.0, off=1.0), seen(), seen()), strict=True))
    assert not any(verdicts(variants.splitting_claims("table7", bad)))
    both = {variants.WITHOUT: seen(iterations=100), variants.WITH: seen()}
    assert all(verdicts(variants.chebyshev_claims("table9", dict.fromkeys(variants.CHEBYSHEV_PAPER, both))))


def grown(power: float) -> dict[int, Trials]:
    return {size: seen(1e-3 * size**power) for size in (1000, 4000, 90000)}


def test_exponents_and_claims_of_growth() -> None:
    assert growth.exponent(grown(1.3)) == pytest.approx(1.3)
    found = {COND: grown(0.95), PGS: grown(2.4), APGD: grown(1.4)}
    assert verdicts(growth.claims("fig11", found)) == [True, True, True]
    assert verdicts(growth.claims("fig11", {COND: grown(1.2), PGS: grown(0.9), APGD: grown(0.9)})) == [False] * 3


def test_velocities_tell_the_forces_of_the_regularised_model() -> None:
    found = inverse.forces("ball-grip", 12, silent)
    assert found.forward.max() > 1.0
    # up to what virtual nodes and bodies are apart, theta_th / Omega = 0.1 N a contact
    assert found.inverse == pytest.approx(found.forward, rel=0.1, abs=0.1)
    assert found.strict.shape == (12,)
    assert found.fine_error < 0.2 * found.error


def forces(jitter: float) -> Forces:
    forward = 10.0 + jitter * np.tile([1.0, -1.0], 10)
    return Forces(forward, forward + 1e-6, np.full(20, 10.0), 0.01, 0.1)


def test_claims_of_forces_follow_the_numbers() -> None:
    good = {"soft-mat": forces(1.0), "ball-grip": forces(0.0)}
    assert all(verdicts(inverse.claims("fig13", good)))
    bad = {"soft-mat": forces(0.0), "ball-grip": forces(5.0)}
    assert verdicts(inverse.claims("fig13", bad))[2:] == [False, False]


def cable(cond: float, pbd: float, times: float) -> Table8:
    force = np.zeros((5, 3))
    numbers = {
        "COND (100)": (cond, 2.0), "COND (200)": (cond, 4.0), "PBD (100)": (pbd, 2.0 * times),
        "PBD (200)": (0.5 * pbd, 4.0 * times),
    }  # fmt: skip
    lines = [CableLine(name, 0.1, off, ms, METHODS[name], 1, 5, force) for name, (off, ms) in numbers.items()]
    return Table8(tuple(lines), force, 1.0)


def test_the_cable_says_what_needs_a_robot() -> None:
    assert all(verdicts(table8.claims("table8", cable(0.1, 2.0, 20.0))))
    assert verdicts(table8.claims("table8", cable(2.0, 0.1, 0.5)))[:2] == [False, False]
    rows = table8.rows("table8", cable(0.1, 2.0, 20.0))
    assert [row.paper for row in rows if row.ours == tables.NOT_HERE] == [0.553, 0.553, 2.654, 1.575, "curves"]


def test_every_figure_can_be_drawn(tmp_path: Path) -> None:
    trio = as_in_the_paper()
    balls = {name: dict.fromkeys(variants.STIFFNESS, each) for name, each in trio.items()}
    split = {method.name: seen() for method in variants.splitting_methods()}
    both = {name: {variants.WITHOUT: seen(), variants.WITH: seen()} for name in variants.CHEBYSHEV_PAPER}
    sizes = dict.fromkeys(trio, grown(1.0))
    curves = {"soft-mat": forces(1.0), "ball-grip": forces(0.0)}
    for name, draw, found in (
        ("table4", figures.draw_stiffness, balls),
        ("table7", figures.draw_splitting, split),
        ("table8", figures.draw_cable, cable(0.1, 2.0, 20.0)),
        ("table9", figures.draw_chebyshev, both),
        ("fig11", figures.draw_growth, sizes),
        ("fig13", figures.draw_forces, curves),
    ):
        picture, file = tmp_path / f"{name}.png", tmp_path / f"{name}.csv"
        draw(found, picture, file)  # type: ignore[arg-type]
        assert picture.read_bytes().startswith(PNG)
        assert len(file.read_text().splitlines()) > 2
    figures.draw_comparison("table6", trio, tmp_path / "table6.png", tmp_path / "table6.csv")
    assert (tmp_path / "table6.csv").read_text().startswith("solver,MP_mm,FE_N,DE_mm,")


def test_the_command_prints_one_json_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(growth, "QUICK_DIVISIONS", {COND: (8, 10), PGS: (8, 10), APGD: (8, 10)})
    monkeypatch.setattr(growth, "QUICK_POINTS", (1,))
    code = main(["reproduce", "lee2023", "fig11", "--quick", "--json", "--out", str(tmp_path)])
    captured = capsys.readouterr()
    assert (code, captured.err) == (0, "")
    report = json.loads(captured.out)
    assert report["paper"] == "lee2023"
    assert {row["experiment"] for row in report["rows"]} == {"fig11"}
    assert (tmp_path / "fig11.png").read_bytes().startswith(PNG)
    assert tables.NOT_HERE in (tmp_path / "report.md").read_text()


def test_a_run_of_a_robot_that_diverges_ends_there_and_says_so(monkeypatch) -> None:
    step = Simulation.step

    def fails(sim: Simulation):
        if sim.state.steps == 2:
            raise DivergenceError("not finite")
        return step(sim)

    monkeypatch.setattr(Simulation, "step", fails)
    scene = robots.RobotScene("table5", "panda-cable", 1927, 12, 12, {"links": 16})
    seen = robots.run(scene, 12, silent)
    assert (len(seen.iterations), seen.lost) == (2, "panda-cable, COND: not finite")
    rows = {row.name: row.ours for row in robots.rows("robots", {"cable, 160 links": seen})}
    assert rows["cable, 160 links: it ended there"] == seen.lost


def test_robots_are_measured_at_every_step(tmp_path: Path) -> None:
    """An arm with a short cable, run as the table does it; the paper's numbers stand beside ours."""
    scene = robots.RobotScene("table5", "panda-cable", 1927, 12, 12, {"links": 20}, points=(4, 8))
    moments: list[robots.Moment] = []
    seen = robots.run(scene, 12, silent, points=scene.points, moments=moments)
    assert [(round(state.time / 0.01), len(controls)) for state, controls in moments] == [(4, 3), (8, 3)]
    seen = replace(seen, beside=robots.beside(scene, moments, silent))
    assert {len(each.iterations) for each in seen.beside.values()} == {6}
    assert all(each.mean("force") < 0.01 for each in seen.beside.values())  # [N]
    assert seen.unknowns == 6 * 20 + 7
    assert len(seen.iterations) == len(seen.missing) == 12
    assert np.isfinite(seen.missing).all()
    found = dict.fromkeys(robots.SCENES, seen)
    rows = {row.name: row for row in robots.rows("robots", found)}
    assert (rows["cable, 320 links: unknowns"].paper, rows["cable, 320 links: unknowns"].ours) == (1927, 127)
    assert rows["mat: IN"].paper == 39.72
    assert rows["cable, 160 links: IN"].ours == pytest.approx(seen.iterations.mean())
    assert rows["cable, 320 links, PGS beside: IN"].paper == 65.61
    assert len(robots.claims("robots", {"cable, 160 links": seen})) == 4
    # a claim fails on both sides
    for factor, agrees in ((1.0, True), (3.0, False), (0.3, False)):
        like = replace(seen, iterations=np.full(12, 18.28 * factor))
        assert robots.claims("robots", {"cable, 320 links": like})[0].agrees is agrees
    robots.draw(found, tmp_path / "robots.png", tmp_path / "robots.csv")
    assert (tmp_path / "robots.png").read_bytes().startswith(PNG)
    assert len((tmp_path / "robots.csv").read_text().splitlines()) == 1 + 4 * 12
