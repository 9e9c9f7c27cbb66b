"""`stickslip reproduce todorov2010`: cells, claims that follow the numbers, the drop, and the command."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stickslip.cli import main
from stickslip.experiments.registry import PAPERS
from stickslip.experiments.report import Claim
from stickslip.experiments.solver_runs import ABSOLUTE, NONE, RunRecord, record_run
from stickslip.experiments.todorov2010 import drop as drops
from stickslip.experiments.todorov2010 import runs, solvers, table
from stickslip.experiments.todorov2010.experiment import EXPERIMENTS
from stickslip.experiments.todorov2010.table import BALLS, FRICTIONS, PAPER, Cell, cell_of
from stickslip.solvers.registry import make_solver

PNG = b"\x89PNG\r\n\x1a\n"


def record(iterations: list[int], contacts: list[int], newton: list[int], **changes: object) -> RunRecord:
    """A run whose steps took these iterations; every line search ended off an edge."""
    steps = len(iterations)
    searched = np.array(iterations) - newton
    zeros = {name: np.zeros(steps) for name in ("merit", "seconds", "kinetic", "potential", "overlap", "overlap_max")}
    values = {
        "outcome": np.full(steps, ABSOLUTE), "iterations": np.array(iterations), "contacts": np.array(contacts),
        "residual": np.full(steps, 1e-9), "rollbacks": np.zeros(steps, dtype=int), **zeros,
        "counts": {"newton_points": np.array(newton), "searched_points": searched, "edge_points": 0 * searched},
    } | changes  # fmt: skip
    spec = replace(runs.specs_of("table1", True)[0], steps=steps)
    return RunRecord(spec, **values, curve=np.zeros((steps, 1), np.float32), size=0.3)


def test_a_cell_leaves_out_steps_without_contacts():
    first = record([0, 0, 0, 2, 4, 9], [0, 0, 0, 5, 6, 7], [0, 0, 0, 2, 3, 5])
    second = record([0, 1, 1, 1, 3, 3], [0, 1, 1, 1, 2, 2], [0, 1, 1, 1, 3, 2])
    cell = cell_of([first, second])
    assert cell.iterations == 0.5 * (4 + 1)
    assert cell.newton == pytest.approx(100.0 * 18 / 24)
    assert cell.contacts == pytest.approx(25 / 12)
    assert (cell.steps, cell.failed, cell.most, cell.searched, cell.on_edge) == (8, 0, 9, 6, 0)
    assert cell.on_newton_leg is None
    assert cell.iterations_error == pytest.approx(1.5)  # of 4 and 1: their distance over 2
    assert cell.newton_error == pytest.approx(0.5 * (100.0 * 10 / 15 - 100.0 * 8 / 9) * -1.0)


def test_a_cell_counts_steps_that_did_not_converge_and_steps_lost():
    run = record([3, 3], [1, 1], [3, 3], outcome=np.array([ABSOLUTE, NONE]), residual=np.array([1e-9, 1e-2]))
    assert cell_of([run]).failed == 1
    assert cell_of([run]).residual == 1e-2
    assert cell_of([replace(run, spec=replace(run.spec, steps=5))]).failed == 1 + 3


def test_a_cell_of_steps_that_needed_no_iteration_has_no_percentage():
    cell = cell_of([record([0, 0], [1, 1], [0, 0])])
    assert cell.iterations == 0.0
    assert np.isnan(cell.newton)


def cell(iterations: float, newton: float, **changes: object) -> Cell:
    plain = Cell(
        iterations=iterations, newton=newton, contacts=10.0, steps=100, failed=0, residual=1e-9, most=20, seconds=1e-3,
        searched=100, on_edge=50, on_newton_leg=95, stalled=0, recoveries=0, sweeps=0, iterations_error=np.nan,
        newton_error=np.nan,
    )  # fmt: skip
    return replace(plain, **changes)


def verdicts(claims: list[Claim]) -> dict[str, bool]:
    return {claim.claim: claim.agrees for claim in claims}


def test_the_numbers_of_the_paper_agree_with_its_claims():
    cells = {condition: cell(*numbers) for condition, numbers in PAPER.items()}
    assert len(cells) == len(FRICTIONS) * len(BALLS)
    found = verdicts(table.claims("table1", cells))
    assert len(found) == 10
    assert all(found.values())


def test_claims_differ_where_the_numbers_do():
    changes = {"failed": 1, "stalled": 2, "on_edge": 99, "on_newton_leg": 10}
    cells = {(mu, balls): cell(20.0 + balls * mu, 10.0 * mu, **changes) for mu, balls in PAPER}
    found = verdicts(table.claims("table1", cells))
    assert found.pop("With 15 balls, iterations grow with friction")
    assert not any(found.values())
    one_over = {condition: cell(*numbers) for condition, numbers in PAPER.items()}
    one_over[1.0, 5] = cell(2.9, 90.0)
    claim = table.claims("table1", one_over)[0]
    assert not claim.agrees
    assert claim.ours == "in 11 of 12 cells; mu = 1, 5 balls: 2.9 against 2.8"


def test_claims_on_the_line_search_need_counts():
    cells = {condition: cell(*numbers, searched=0, on_newton_leg=None) for condition, numbers in PAPER.items()}
    assert not any("Line" in claim.claim or "edge" in claim.claim for claim in table.claims("t", cells))


def test_warm_starts_are_judged_beside_cold_ones():
    cold = {condition: cell(*numbers) for condition, numbers in PAPER.items()}
    warm = {condition: replace(value, iterations=value.iterations - 1.0) for condition, value in cold.items()}
    assert verdicts(table.warm_claims("w", warm, cold)) == {"Warm starts are even better": True}
    assert verdicts(table.warm_claims("w", cold, warm)) == {"Warm starts are even better": False}
    assert table.warm_claims("w", warm, {}) == []


def test_recoveries_say_what_they_cost_besides_iterations():
    cells = {condition: cell(*numbers, recoveries=50, sweeps=7000) for condition, numbers in PAPER.items()}
    found = table.recovery_claims("r", cells)
    assert all(claim.agrees for claim in found)
    assert found[0].ours == "in 12 of 12 cells; besides, 70 Gauss-Seidel sweeps a step"
    names = {row.name: row.ours for row in table.rows("table1-recovery", cells)}
    assert names["mu = 1, 5 balls: Gauss-Seidel sweeps of recoveries"] == 70.0
    cells[0.1, 5] = cell(3.9, 99.0, failed=13)  # of 1,200 steps
    assert not any(claim.agrees for claim in table.recovery_claims("r", cells))


def test_the_table_is_measured_with_the_method_of_the_paper():
    for spec in runs.specs_of("table1", True):
        assert (spec.options["recoveries"], spec.options["restarts"], spec.options["correct"]) == (0, 0, False)
    assert all("recoveries" not in spec.options for spec in runs.specs_of("table1-recovery", True))


def test_the_letter_is_in_the_units_of_the_problem():
    for spec in runs.specs_of("table1-letter", True):
        assert (spec.options["rescale"], spec.options["letter"]) == ("none", True)
        assert spec.options["recoveries"] == spec.options["restarts"] == 0


def drop(speed: list[list[float]], iterations: list[int]) -> drops.Drop:
    k = len(speed)
    return drops.Drop(
        time=0.01 * np.arange(1, k + 1), height=np.ones((k, 2)), speed=np.array(speed), contacts=np.ones(k, dtype=int),
        iterations=np.array(iterations), converged=np.ones(k, dtype=bool), radius=0.1,
    )  # fmt: skip


def test_claims_on_the_drop_flip_with_the_numbers():
    one_step = drop([[-1, -1], [-2, -2], [0, 0], [0, 0]], [0, 0, 1, 3])
    assert (one_step.shock, one_step.impact_speed, one_step.shock_steps, one_step.speed_after) == (2, 2.0, 1.0, 0.0)
    assert all(verdicts(drops.claims("fig6", one_step)).values())
    slow = drop([[-1, -1], [-2, -2], [-0.5, -2], [0, 0]], [0, 0, 2, 0])
    assert (slow.shock, slow.shock_steps, slow.speed_after) == (2, 2.0, 2.0)
    assert not any(verdicts(drops.claims("fig6", slow)).values())


@pytest.mark.parametrize("solver", ["implicit", "prox-gs"])
def test_the_shock_passes_in_one_step(solver: str):
    found = drops.record_drop(make_solver(solver), runs.DROP_STEPPING, 40)
    assert found.shock == 31  # the height is that of a fall of 31 steps
    assert found.contacts[found.shock] == 5
    assert found.shock_steps == 1.0
    assert found.converged.all()
    heights = found.height[-1] - found.radius * np.arange(1, 10, 2)
    assert np.abs(heights).max() < 1e-6
    if solver == "implicit":
        assert found.iterations[found.shock] <= 1


def test_runs_keep_what_the_solver_counts():
    spec = replace(runs.specs_of("table1", True)[0], steps=30)
    assert (spec.solver, spec.stepping["warm_start"], spec.parameters["balls"]) == ("implicit", False, 15)
    run = record_run(spec)
    assert run.counts.keys() >= {"newton_points", "searched_points", "edge_points"}
    busy = run.busy
    assert busy.any()
    assert (run.counts["newton_points"] <= run.counts["computed"]).all()
    assert (run.iterations <= run.counts["computed"]).all()  # that of the island that took most
    assert run.counted("newton_points") == run.counts["newton_points"].sum()
    assert run.counted("nothing") == 0


def test_every_experiment_is_registered():
    assert list(PAPERS["todorov2010"].experiments) == list(EXPERIMENTS)


def test_specs_are_the_conditions_of_the_table():
    specs = runs.specs_of("table1", False)
    assert len(specs) == 12 * 10
    assert {(spec.parameters["friction"], spec.parameters["balls"]) for spec in specs} == set(PAPER)
    assert {(spec.steps, spec.stepping["dt"]) for spec in specs} == {(200, 0.005)}
    assert all(spec.stepping["warm_start"] for spec in runs.specs_of("table1-warm", False))


def test_a_tiny_run_through_the_command(capsys, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(runs, "QUICK_RUNS", 1)
    monkeypatch.setattr(runs, "QUICK_STEPS", 15)
    monkeypatch.setattr(runs, "QUICK_STRIDE", 15)
    out = tmp_path / "here"
    code = main(["reproduce", "todorov2010", "--quick", "--out", str(out), "--workers", "1", "--json"])
    captured = capsys.readouterr()
    assert (code, captured.err) == (0, "")
    found = json.loads(captured.out)
    assert found["experiments"] == list(PAPERS["todorov2010"].experiments)
    paper = {row["name"]: row["paper"] for row in found["rows"] if row["experiment"] == "table1"}
    assert paper["mu = 2, 15 balls: iterations a step"] == 16.2
    assert paper["mu = 0.5, 10 balls: Newton points accepted"] == 85.0
    assert paper["10 balls: contacts, mean"] == 16.0
    names = {file.name for file in out.iterdir()}
    pictures = {f"{stem}.{ending}" for stem in found["experiments"] for ending in ("png", "csv")}
    assert names == {"report.md", "claims.csv", "rows.csv"} | pictures
    assert all(file.read_bytes().startswith(PNG) for file in out.glob("*.png"))
    with open(out / "table1.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(float(row["friction"]), int(row["balls"])) for row in rows] == list(PAPER)
    assert any("mu = 0.5 in the second row" in note for note in found["notes"])


def test_claim_on_the_lcp_is_about_one_linear_solve_and_flips_with_its_time(monkeypatch):
    def solves(seconds: dict[str, float]) -> list[solvers.Solve]:
        return [
            solvers.Solve(solver, balls, 0.5, 10, 9, 3, seconds.get(solver, 1.0), True, 1e-9)
            for solver in solvers.COMPARED
            for balls in BALLS
        ]

    slow, quick = solvers.linear_solves(4)
    assert slow > quick
    monkeypatch.setattr(solvers, "linear_solves", lambda contacts: (30.0, 1.0))
    faster = solvers.claims("solvers", solves({"lcp": 15.0}))
    assert faster[0].agrees
    assert "30 times with 9 contacts" in faster[0].ours
    assert "15, 15, 15 times" in faster[0].ours
    monkeypatch.setattr(solvers, "linear_solves", lambda contacts: (3.0, 1.0))
    assert not solvers.claims("solvers", solves({"lcp": 100.0}))[0].agrees


def test_one_experiment_makes_only_its_own(tmp_path: Path):
    report = PAPERS["todorov2010"].reproduce(["fig6"], True, tmp_path, lambda *_: None, 1)
    assert {row.experiment for row in report.rows} == {"fig6"}
    assert {file.name for file in tmp_path.iterdir()} == {
        "report.md", "claims.csv", "rows.csv", "fig6.png", "fig6.csv",
    }  # fmt: skip
