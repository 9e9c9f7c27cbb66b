"""`stickslip reproduce macklin2019`, soft bodies: Fig. 12, Fig. 13 and the row of Table 2."""

from pathlib import Path

import numpy as np
import pytest

from stickslip.experiments.macklin2019 import extension, figures, soft_figures, table
from stickslip.experiments.macklin2019 import sheet as fig12
from stickslip.experiments.macklin2019.experiment import EXPERIMENTS
from stickslip.experiments.macklin2019.extension import Pull, uniform_volume
from stickslip.experiments.macklin2019.sheet import Look, Sheet, Trace, merit, trace_of
from stickslip.experiments.macklin2019.steps import STEP, Beside, Moment
from stickslip.experiments.report import Claim
from stickslip.experiments.reproduction import Asked, Task, perform
from stickslip.model.stepping import Stepping

PNG = b"\x89PNG\r\n\x1a\n"


def verdicts(claims: list[Claim]) -> list[bool]:
    return [claim.agrees for claim in claims]


@pytest.fixture(scope="module")
def stretched() -> tuple[Moment, np.ndarray]:
    """The problem of a step of a sheet at twice its length, and the velocities that auto finds."""
    beside = Beside(Sheet("corotational", 1.0, 0.05).scene(4, 10 * STEP), Stepping(dt=STEP))
    for _ in range(8):
        beside.sim.step()
    result, moment = beside.step()
    assert result.solution.converged
    return moment, result.solution.v


def test_the_merit_function_is_zero_at_the_solution_that_auto_finds(stretched: tuple[Moment, np.ndarray]) -> None:
    moment, v = stretched
    assert moment.relinearise is not None
    assert moment.problem.contact_count == 0
    at_solution, nearby = merit(moment.relinearise(v, None), v), merit(moment.relinearise(1.01 * v, None), 1.01 * v)
    assert at_solution < 1e-4 * nearby


def test_geometric_stiffness_solves_a_stretched_sheet(stretched: tuple[Moment, np.ndarray]) -> None:
    moment, v = stretched
    traces = {setting: trace_of(moment, 30, setting) for setting in (True, False)}
    ours = traces[True]
    assert ours.converged is not None
    assert traces[False].converged is None or traces[False].converged > ours.converged
    assert np.abs(ours.v[-1] - v).max() < 1e-5
    assert len(ours.v) == len(ours.merit) == len(ours.residual)
    np.testing.assert_array_equal(ours.v[0], 0.0)


def trace(*places: float, residual: float = 1.0) -> Trace:
    values = np.array(places)
    return Trace(np.array([1.0] * (len(places) - 1) + [residual]), np.abs(values), values[:, None] * np.ones(2))


def test_overshooting_is_what_turns_back(stretched: tuple[Moment, np.ndarray]) -> None:
    straight, swinging = trace(1.0, 0.5, 0.25, 0.1, residual=1e-8), trace(1.0, -1.0, 1.0, -1.0)
    assert (straight.turned, swinging.turned) == (0.0, 1.0)
    assert (straight.converged, swinging.converged) == (3, None)
    as_in_the_paper = Look(2.2, {True: straight, False: swinging}, np.zeros(2), stretched[0])
    other = Look(2.2, {True: swinging, False: straight}, np.zeros(2), stretched[0])
    assert verdicts(fig12.claims("fig12", {"sheet": [as_in_the_paper]})) == [True, True]
    assert verdicts(fig12.claims("fig12", {"sheet": [other]})) == [False, False]
    np.testing.assert_allclose(np.abs(as_in_the_paper.along(False)), np.sqrt(2.0))


def test_the_sheet_is_measured_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"QUICK_STEPS": 10, "QUICK_EVERY": 5, "QUICK_ITERATIONS": 6, "QUICK_CELLS": 2}.items():
        monkeypatch.setattr(fig12, name, value)
    files = tmp_path / "fig12.png", tmp_path / "fig12.csv"
    asked = Asked(("fig12",), True, lambda *_: None)
    rows, claims, _ = perform(EXPERIMENTS["fig12"], Task("fig12", asked, None), tmp_path)
    assert files[0].read_bytes()[:8] == PNG
    assert len(claims) == 2 * len(fig12.QUICK_CASES)
    assert {row.experiment for row in rows} == {"fig12"}
    assert len(files[1].read_text().splitlines()) > 2 * 2 * len(fig12.QUICK_CASES)


def test_volume_of_a_bar_with_free_ends() -> None:
    mu, lam = 1.0, 9.0  # nu = 0.45
    stretch = np.array([1.0, 1.001, 2.0])
    linear, other = (uniform_volume(model, mu, lam, stretch) for model in extension.MODELS)
    assert linear[2] == pytest.approx(2.0 * 0.55**2)
    assert other[2] == pytest.approx(1.05)
    np.testing.assert_allclose(linear[:2], other[:2], rtol=1e-5)  # small strains: 1 - 2 nu


def pull(volume: float) -> Pull:
    stretch = np.array([1.0, 2.0, 2.5])
    tets = np.array([[0, 1, 2, 3]], dtype=np.int32)
    x = np.vstack([np.zeros(3), np.eye(3)])
    return Pull(stretch, np.array([1.0, volume, volume]), np.ones(3), np.ones(1), x, tets, tets[:, 1:], 2)


def test_extension_claims_follow_the_numbers() -> None:
    kept, lost = pull(1.05), pull(0.6)
    claims = extension.claims
    assert verdicts(claims("fig13", {"corotational": lost, "neo-hookean": kept})) == [True, True]
    assert verdicts(claims("fig13", {"corotational": kept, "neo-hookean": lost})) == [False, False]


def test_the_linear_bar_loses_volume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extension, "QUICK_RAMP", 0.2)
    monkeypatch.setattr(extension, "QUICK_DIVISIONS", (4.0, 1.0, 1.0))
    found = extension.measure(True, lambda *_: None)
    linear, other = (found[model] for model in extension.MODELS)
    assert linear.stretch[-1] == other.stretch[-1] == pytest.approx(2.5)
    assert linear.volume[-1] < 0.7 < 0.95 < other.volume[-1]
    assert linear.volume_at(1.0) == 1.0
    assert linear.converged == len(linear.stretch) - 1
    soft_figures.draw_extension(found, tmp_path / "a.png", tmp_path / "a.csv")
    assert (tmp_path / "a.png").read_bytes()[:8] == PNG
    assert len(extension.rows("fig13", found)) == 2 * (2 * len(extension.LOOKED_AT) + 3)


def test_the_row_of_the_gripper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "QUICK_STEPS", 1)
    monkeypatch.setattr(table, "QUICK_BEFORE", {"pneunet": 0})
    timed = table.measure("pneunet", True, lambda *_: None)
    assert (timed.bodies, timed.joints) == (1, 0)
    assert abs(timed.elements - table.PAPER["pneunet"].elements) < 50
    assert timed.auto is not None
    assert timed.auto_residual < 1e-6
    rows = {row.name: (row.paper, row.ours) for row in table.rows("table2", {"pneunet": timed})}
    assert rows["pneunet: linear iterations"] == (80, 80)
    assert rows["pneunet: elements"][0] == 2241
    figures.draw_times({"pneunet": timed}, tmp_path / "a.png", tmp_path / "a.csv")
    assert (tmp_path / "a.png").read_bytes()[:8] == PNG
    assert len(table.claims("table2", {"pneunet": timed})) == 1  # times on other machines are rows, no claims
