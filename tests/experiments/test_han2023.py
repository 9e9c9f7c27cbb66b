"""`stickslip reproduce han2023`: the clock of stages, runs, claims that follow the numbers, pictures, the command."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stickslip.cli import main
from stickslip.experiments.han2023 import beam, figures, press, scaling, table
from stickslip.experiments.han2023 import shares as fig2
from stickslip.experiments.han2023.beam import LAGGED, POLAR, Beams, Bent
from stickslip.experiments.han2023.experiment import EXPERIMENTS
from stickslip.experiments.han2023.press import Curve
from stickslip.experiments.han2023.runs import Case, Measured, Runs, measure
from stickslip.experiments.han2023.shares import Shares
from stickslip.experiments.registry import PAPERS
from stickslip.experiments.report import Claim
from stickslip.experiments.stage_clock import NAMES, OTHER, StageClock
from stickslip.scenes.cylinder_press import FULL_LOAD
from stickslip.scenes.running import prepare
from stickslip.solvers.sap import sap

PNG = b"\x89PNG\r\n\x1a\n"


def verdicts(claims: list[Claim]) -> list[bool]:
    return [claim.agrees for claim in claims]


def seen(seconds: float = 0.01, **changes: object) -> Measured:
    """Made-up numbers of four steps."""
    values = {
        "stands": True, "max_drift_mm": 0.1, "lifted_m": 0.1, "slipped_mm": 1.0, "placed": True, "hangs": True,
        "overlap_max_mm": 0.01, "sway_mm": 2.0,
    }  # fmt: skip
    stages = dict.fromkeys(NAMES, seconds / len(NAMES))
    one = Measured(
        900, 0.02, np.full(4, seconds), np.ones(4, dtype=np.bool_), np.full(4, 7), np.full(4, 3),
        np.ones(4, dtype=np.bool_), stages, 1.0, 0.9, values,
    )  # fmt: skip
    return replace(one, **changes)  # type: ignore[arg-type]


def test_every_experiment_is_registered() -> None:
    assert list(PAPERS["han2023"].experiments) == list(EXPERIMENTS)


@pytest.fixture(scope="module")
def short_chain() -> Measured:
    return measure(Case("soft-chain", 4, (("links", 2),)), lambda *told: None)


def test_a_run_is_timed_by_stages_that_add_up(short_chain: Measured) -> None:
    assert short_chain.dofs == 1800
    assert short_chain.timed.any()
    assert sum(short_chain.stages.values()) == pytest.approx(short_chain.seconds, rel=1e-9)
    assert all(short_chain.stages[name] > 0.0 for name in ("geometry", "elements", "Cholesky and Schur"))
    assert sum(map(short_chain.share, NAMES)) == pytest.approx(1.0)
    assert short_chain.converged.all()


def test_the_clock_counts_each_second_once_and_puts_functions_back() -> None:
    before = sap.Sap.solve
    sim = prepare("soft-chain", settings={"links": 1}).sim
    with StageClock() as clock:
        assert sap.Sap.solve is not before
        clock.reset()
        sim.step()
        taken = clock.read()
    assert sap.Sap.solve is before
    assert set(taken) == set(NAMES)
    assert all(value >= 0.0 for value in taken.values())
    assert taken[OTHER] > 0.0


def test_cases_are_run_once() -> None:
    case = Case("soft-chain", 4)
    runs = Runs(lambda *told: None, {case: seen()})
    assert runs[case] is runs[replace(case)]
    assert dict(case.but(stepping__warm_start=False).settings) == {"stepping.warm_start": False}


def test_claims_of_the_table_follow_the_numbers() -> None:
    ten_minutes = np.full(table.MINUTES, 0.005)
    standing = seen(dt=0.04, cpu=ten_minutes, timed=ten_minutes > 0.0)
    falls = seen(values={**seen().values, "stands": False})
    found = {name: seen() for name in table.cases(True)} | {table.STANDING: standing, table.SLIDING: falls}
    assert all(verdicts(table.claims("table1", found, quick=False)))
    other = {name: replace(each, converged=np.zeros(4, dtype=np.bool_)) for name, each in found.items()}
    other[table.STANDING], other[table.SLIDING] = other[table.SLIDING], other[table.STANDING]
    assert verdicts(table.claims("table1", other, quick=False))[:3] == [False, False, False]
    slow = found | {table.HAND_EXACT: seen(0.03, values={**seen().values, "sway_mm": 20.0})}
    assert verdicts(table.claims("table1", slow, quick=False))[-2:] == [False, False]
    found[table.HAND] = seen(certificate={"penetration_max_mm": 0.25})
    rows = table.rows("table1", found)
    # a line for each of the paper's
    named = {row.name.partition(":")[0].partition(",")[0] for row in rows}
    assert named >= {name.partition(",")[0] for name in table.PAPER}
    hand = {row.name: (row.paper, row.ours) for row in rows if row.name.startswith(f"{table.HAND}:")}
    assert hand["Allegro hand: realtime rate"] == (1.13, pytest.approx(2.0))
    assert hand["Allegro hand: overlap, deepest"] == (None, 0.25)
    assert all(row.paper is None for row in rows if "smaller" in row.name)


def test_claims_of_shares_follow_the_numbers() -> None:
    busy = seen()
    busy = replace(busy, stages={**busy.stages, fig2.FACTORISATIONS: 1.0})
    scenes = {name: seen() for name in table.cases(True)} | {table.TEDDY: busy}
    cold = seen(iterations=np.full(4, 30))
    found = Shares(scenes, {name: (seen(), cold) for name in fig2.CALM})
    assert all(verdicts(fig2.claims("fig2", found)))
    sparse = {name: seen(neighbours=0.5, density=0.1) for name in scenes}
    other = Shares(sparse, {name: (cold, seen()) for name in fig2.CALM})
    assert not any(verdicts(fig2.claims("fig2", other))[:2] + verdicts(fig2.claims("fig2", other))[3:])


def curve(error: float) -> Curve:
    way = np.linspace(0.0, 1.0, 11)[1:] * FULL_LOAD.displacement * (1.0 + error)
    force = np.linspace(0.0, 1.0, 11)[1:] * FULL_LOAD.force
    summary = {"unknowns": 100.0, "overlap_max_mm": 0.1, "converged": 1.0, "cpu_ms": 1.0}
    return Curve(way, force, summary)


def test_claims_of_the_press_follow_the_numbers() -> None:
    assert curve(0.05).error(FULL_LOAD) == pytest.approx(0.05)
    assert math.isnan(curve(0.0).error(FULL_LOAD._replace(force=2.0 * FULL_LOAD.force)))
    assert verdicts(press.claims("fig4", {0: curve(0.05), 1: curve(-0.01)})) == [True, True]
    assert verdicts(press.claims("fig4", {0: curve(0.02), 1: curve(0.05)})) == [False, False]


def beams(apart: tuple[float, ...], reach: float, volume: float) -> Beams:
    bent = {}
    for dt, shift in zip((1.0, 0.1, 0.01), apart, strict=True):
        still = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.5, 0.0, 0.5]])
        bent[LAGGED, dt] = Bent(still, volume, True, 1.0)
        bent[POLAR, dt] = Bent(still + [shift, 0.0, 0.0], 1.0, True, reach)
    smallest = {key: beam for key, beam in bent.items() if key[1] < 1.0}
    return Beams(bent, smallest, 1.0, np.array([[0, 1, 2], [0, 2, 1]], dtype=np.int32))


def test_claims_of_the_beam_follow_the_numbers() -> None:
    assert all(verdicts(beam.claims("fig7", beams((0.5, 0.1, 0.01), 40.0, 1.3))))
    assert verdicts(beam.claims("fig7", beams((0.5, 0.1, 0.2), 1.0, 1.0))) == [False, True, False, False]


def test_lagged_rotations_gain_volume_at_large_steps() -> None:
    lagged, polar = (beam.bend(model, 0.5, 0.0) for model in (LAGGED, POLAR))
    assert lagged.solved
    assert polar.solved
    assert lagged.volume > 1.02
    assert polar.volume == pytest.approx(1.0, abs=0.02)


def test_exponents_and_claims_of_growth() -> None:
    linear = {links: seen(0.002 * links) for links in (1, 2, 5, 10, 25, 100)}
    assert scaling.exponent(linear, 10) == pytest.approx(1.0)
    assert verdicts(scaling.chain_claims("fig8", linear)) == [True, True]
    steep = {size: seen(1e-6 * size**1.5) for size in (900, 3003, 12000)}
    assert scaling.exponent(steep) == pytest.approx(1.5)
    assert verdicts(scaling.chain_claims("fig8", steep)) == [False, True]
    assert verdicts(scaling.torus_claims("fig9", steep)) == [True, False]


def test_every_figure_can_be_drawn(tmp_path: Path) -> None:
    scenes = {name: seen() for name in table.cases(True)}
    shares = Shares(scenes, {})
    sizes = {size: seen(1e-5 * size) for size in (10, 100)}
    for name, draw, found in (
        ("table1", figures.draw_table, scenes),
        ("fig2", figures.draw_shares, shares),
        ("fig4", figures.draw_press, {0: curve(0.0), 1: curve(0.1)}),
        ("fig7", figures.draw_beams, beams((0.5, 0.1, 0.01), 2.0, 1.0)),
        ("fig9", figures.draw_torus, sizes),
    ):
        picture, file = tmp_path / f"{name}.png", tmp_path / f"{name}.csv"
        draw(found, picture, file)  # type: ignore[arg-type]
        assert picture.read_bytes().startswith(PNG)
        assert len(file.read_text().splitlines()) > 2
    figures.draw_chain(sizes, 1.0, tmp_path / "fig8.png", tmp_path / "fig8.csv")
    assert (tmp_path / "fig8.csv").read_text().startswith("links,")


def test_the_command_prints_one_json_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scaling, "QUICK_LINKS", (1, 2))
    monkeypatch.setattr(table, "chain_case", lambda links, quick: Case("soft-chain", 3, (("links", links),)))
    code = main(["reproduce", "han2023", "fig8", "--quick", "--json", "--out", str(tmp_path)])
    captured = capsys.readouterr()
    assert (code, captured.err) == (0, "")
    report = json.loads(captured.out)
    assert report["paper"] == "han2023"
    assert {row["experiment"] for row in report["rows"]} == {"fig8"}
    assert (tmp_path / "fig8.png").read_bytes().startswith(PNG)
    assert "Allegro hand" in (tmp_path / "report.md").read_text()
