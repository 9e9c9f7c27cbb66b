"""`stickslip reproduce erleben2017`: claims follow the numbers, figures exist, commands behave."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stickslip.cli import main
from stickslip.errors import InputError, MissingDependencyError
from stickslip.experiments.erleben2017 import claims, fixed_points, projection, runs, variants
from stickslip.experiments.erleben2017.experiment import EXPERIMENTS, OF_RUNS
from stickslip.experiments.erleben2017.figures import FIGURES
from stickslip.experiments.erleben2017.statistics import METHOD_RUNS, STRATEGIES, iterations_to, quartiles
from stickslip.experiments.erleben2017.variants import PRINTED_SETTINGS
from stickslip.experiments.processes import record_runs
from stickslip.experiments.registry import PAPERS
from stickslip.experiments.report import Claim, Report, Row, claim_lines, report_text, write_report
from stickslip.experiments.solver_runs import ABSOLUTE, NONE, RELATIVE, RunRecord, record_run
from stickslip.model.stepping import Stepping
from stickslip.solvers.registry import make_solver

STEPS = 10
PNG = b"\x89PNG\r\n\x1a\n"


def record(key: tuple[str, str, str], steps: int = STEPS, **fields: object) -> RunRecord:
    """A run of ten steps with contacts, each field the same number in every step or an array."""
    values = {
        "outcome": RELATIVE, "iterations": 100, "rollbacks": 2, "contacts": 50, "merit": 1e-2, "residual": 1e-3,
        "seconds": 0.1, "kinetic": 10.0, "potential": 5.0, "overlap": 1e-4, "overlap_max": 2e-4,
    } | fields  # fmt: skip
    curve = values.pop("curve", np.geomspace(1.0, 1e-2, 1000))
    arrays = {name: np.broadcast_to(value, steps).copy() for name, value in values.items()}
    spec = runs.spec_of(key, quick=False)
    curves = np.broadcast_to(curve, (steps, 1000)).astype(np.float32)
    return RunRecord(replace(spec, steps=STEPS), **arrays, curve=curves, size=0.4, bodies=3)


def strategy_runs(**changes: dict[str, object]) -> dict[tuple[str, ...], RunRecord]:
    """Equal Gauss-Seidel runs on all scenes, but for the changes to the fields of a strategy."""
    keys = [(scene, "prox-gs", factors) for scene in PRINTED_SETTINGS.scenes for factors in STRATEGIES]
    return {key: record(key, **changes.get(key[2].replace("global", "global_"), {})) for key in keys}


def verdicts(claims: list[Claim]) -> dict[str, bool]:
    return {claim.claim: claim.agrees for claim in claims}


def test_claims_on_strategies_flip_with_the_numbers():
    paper = {
        "blocked": {"rollbacks": 9, "outcome": NONE},
        "global_": {"rollbacks": 1, "outcome": ABSOLUTE, "merit": 1e-3, "iterations": 300},
        "local": {"rollbacks": 3, "iterations": 100},
    }
    agree = verdicts(claims.strategies("fig4", strategy_runs(**paper)))
    assert not agree.pop("Local fails to converge slightly less often than global")
    assert all(agree.values())
    swapped = {"global_": paper["local"], "local": paper["global_"], "blocked": {"rollbacks": 0, "outcome": ABSOLUTE}}
    differ = verdicts(claims.strategies("fig4", strategy_runs(**swapped)))
    assert differ.pop("Little drift (global and local)")
    assert not any(differ.values())


def test_drift_is_judged_by_the_overlap_of_converging_strategies():
    claim = "Little drift (global and local)"
    for factors, agrees in (("global_", False), ("local", False), ("blocked", True)):
        found = claims.strategies("fig4", strategy_runs(**{factors: {"overlap": 0.1}}))
        assert verdicts(found)[claim] == agrees


def test_claims_on_time_flip_with_the_numbers():
    slow = claims.jacks_time("fig5", strategy_runs(blocked={"seconds": 1.1, "outcome": NONE}))
    assert all(verdicts(slow).values())
    fast = strategy_runs(blocked={"seconds": 0.01}, local={"seconds": 0.3, "rollbacks": 20})
    assert not any(verdicts(claims.jacks_time("fig5", fast)).values())
    varied = {"seconds": np.linspace(0.02, 0.18, STEPS)}
    found = claims.spheres_time("fig6", strategy_runs(global_=varied, local={"rollbacks": 9}))
    assert all(verdicts(found).values())
    found = claims.spheres_time("fig6", strategy_runs(local=varied, global_={"seconds": 1.0}))
    assert not any(verdicts(found).values())


def test_claims_on_energies_flip_with_the_numbers():
    apart = strategy_runs(global_={"kinetic": 5.0})
    assert all(verdicts(claims.jacks_energy("fig7", apart)).values())
    assert not any(verdicts(claims.jacks_energy("fig7", strategy_runs())).values())


def method_runs(jacobi: dict[str, object]) -> dict[tuple[str, ...], RunRecord]:
    return {key: record(key, **(jacobi if key[1] == "prox-jacobi" else {})) for key in METHOD_RUNS}


def test_claims_on_methods_flip_with_the_numbers():
    spread = np.geomspace(0.1, 10.0, STEPS)[:, None]
    # the median of Jacobi falls to where Gauss-Seidel ends 100 iterations later
    late = np.concatenate([np.ones(100), np.geomspace(1.0, 1e-2, 800), np.full(100, 1e-2)])
    early = np.concatenate([np.geomspace(1.0, 1e-2, 800), np.full(200, 1e-2)])
    runs = {}
    for key in METHOD_RUNS:
        jacobi = key[1] == "prox-jacobi"
        runs[key] = record(key, curve=spread * late if jacobi else early, rollbacks=80 if jacobi else 1)
    runs = {k: replace(r, curve=r.curve / np.median(r.curve[:, -1]) * np.float32(1e-2)) for k, r in runs.items()}
    assert all(verdicts(claims.method_convergence("fig8", runs)).values())
    assert all(verdicts(claims.method_detections("fig9", runs)).values())
    equal = method_runs({})
    assert not any(verdicts(claims.method_convergence("fig8", equal)).values())
    assert not any(verdicts(claims.method_detections("fig9", equal)).values())


def test_steps_lost_count_as_not_converged_and_idle_ones_not_at_all():
    contacts = np.array([0, 0, 5, 5, 5, 5])
    outcome = np.array([ABSOLUTE, ABSOLUTE, ABSOLUTE, RELATIVE, RELATIVE, NONE])
    run = record(("wall", "prox-gs", "local"), steps=6, contacts=contacts, outcome=outcome)
    assert [run.count(kind) for kind in (ABSOLUTE, RELATIVE, NONE)] == [1, 2, 1 + 4]
    assert run.total == 8
    assert run.lost == 4


def test_quartiles_and_iterations_to_a_level():
    curve = np.geomspace(1.0, 1e-3, 1000)
    run = record(("wall", "prox-gs", "local"), curve=np.arange(1, STEPS + 1)[:, None] * curve)
    low, middle, high = quartiles(run)[:, 0]
    assert (low, middle, high) == pytest.approx((3.25, 5.5, 7.75))
    assert iterations_to(run, 5.5) == 1
    assert np.isnan(iterations_to(run, 1e-4))


def test_solutions_depend_on_blocked_factors():
    answers = fixed_points.measure()
    claim = claims.same_fixed_point(answers)
    assert not claim.agrees
    assert answers["box-slips-on-slope, blocked"][0] > 1e-4
    assert answers["box-slips-on-slope, local"][0] < 1e-9
    same = {name: (0.0, status) for name, (_, status) in answers.items()}
    assert claims.same_fixed_point(same).agrees


@pytest.fixture
def tiny(monkeypatch):
    """Two scenes of a few bodies each, three steps: what the command does, in seconds."""
    small = {"spheres": {"count": 4, "across": 2}, "wall": {"courses": 2}}
    for name, variant in variants.VARIANTS.items():
        quick = {scene: {**own, "scale": 1.0 if scene == "spheres" else 0.5} for scene, own in small.items()}
        scenes = {scene: variant.scenes[scene] for scene in small}
        tiny = replace(variant, scenes=scenes, quick=quick, quick_steps=3)
        monkeypatch.setattr(variants, "VARIANTS", {**variants.VARIANTS, name: tiny})


def test_a_tiny_run_through_the_command(capsys, tmp_path, tiny):
    out = tmp_path / "made" / "here"
    code = main(["reproduce", "erleben2017", "fig4", "--quick", "--out", str(out), "--workers", "1", "--json"])
    captured = capsys.readouterr()
    assert (code, captured.err) == (0, "")
    found = json.loads(captured.out)
    assert found["paper"] == "erleben2017"
    assert found["experiments"] == ["fig4"]
    assert all(row.keys() == {"experiment", "name", "paper", "ours", "unit"} for row in found["rows"])
    assert all(claim.keys() >= {"claim", "paper", "ours", "agrees"} for claim in found["claims"])
    assert {type(claim["agrees"]) for claim in found["claims"]} == {bool}
    names = {file.name for file in out.iterdir()}
    assert names == {
        "report.md", "claims.csv", "rows.csv", "fig4-convergence.png", "fig4-convergence.csv",
        "fig4-histograms.png", "fig4-histograms.csv",
    }  # fmt: skip
    for picture in out.glob("*.png"):
        assert picture.read_bytes().startswith(PNG)
    with open(out / "fig4-histograms.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {(row["scene"], row["factors"]) for row in rows} == {(s, f) for s in ("spheres", "wall") for f in STRATEGIES}
    for row in rows:
        assert int(row["absolute"]) + int(row["relative"]) + int(row["none"]) == int(row["steps"])
    text = (out / "report.md").read_text()
    assert all(f"]({stem}.csv)" in text for stem in ("fig4-convergence", "fig4-histograms"))


def test_both_settings_side_by_side(tmp_path, tiny):
    out = tmp_path / "out"
    report = PAPERS["erleben2017"].reproduce(["fig3"], True, out, lambda *_: None, 1, "both")
    names = {file.name for file in out.iterdir()}
    assert {"fig3-scenes.png", "fig3-scenes-author.png", "fig3-scenes.csv", "fig3-scenes-author.csv"} <= names
    assert {row.name.split(":")[0] for row in report.rows} == {"printed", "author"}
    assert "author, stepping" in report.settings
    assert "least_overlap=0.001" in report.settings["author, stepping"]
    assert "prox-jacobi: tolerance=1e-300, relative=0.0" in report.settings["author, own options"]


def test_what_the_author_ran_differs_from_what_is_printed():
    def options(name: str, solver: str, factors: str) -> dict[str, object]:
        return runs.spec_of(("wall", solver, factors), False, variants.VARIANTS[name]).options

    assert "nu" not in options("printed", "prox-gs", "blocked")
    assert [options("author", "prox-gs", f)["nu"] for f in STRATEGIES] == [1.0, 0.1, 0.9]
    assert options("author", "prox-jacobi", "local")["relative"] == 0.0
    for name, variant in variants.VARIANTS.items():
        for key in runs.needed_runs(list(EXPERIMENTS), variant):
            spec = runs.spec_of(key, False, variant, shown=True)
            assert make_solver(spec.solver, **spec.options).name == spec.solver
            Stepping(**spec.stepping)
            assert spec.poses_at == ((50, 250, 500) if key[1:] == ("prox-gs", "local") else ())
            assert spec.name[-1] == name


def test_claims_of_two_settings_are_one_line():
    pair = [Claim("fig4", "c", "p", "ours", True, "printed"), Claim("fig4", "c", "p", "theirs", False, "author")]
    lines = claim_lines(pair)
    assert len(lines) == 3
    assert lines[2] == "| fig4 | c | p | ours | **agrees** | theirs | **differs** |"
    assert "author settings" in lines[0]
    text = report_text(Report("p", "Title", (), {}, (), tuple(pair)))
    assert "1 of 1 claims agree with printed settings, 0 of 1 claims agree with author settings." in text


def test_projections_of_fig2_agree_and_newton_gets_lost():
    found = projection.measure()
    assert all(claim.agrees for claim in projection.claims("fig2", found))
    assert abs(projection.g_of(np.array([found.root]), projection.POINT, projection.AXES)[0]) < 1e-12


def test_figures_of_every_experiment(tmp_path):
    found = strategy_runs() | method_runs({"rollbacks": 5})
    for experiment, figures in FIGURES.items():
        if experiment == "fig3":
            continue  # poses, which these have not
        for drawing in figures:
            picture, table = tmp_path / f"{drawing.stem}.png", tmp_path / f"{drawing.stem}.csv"
            drawing.draw(found, picture, table)
            assert picture.read_bytes().startswith(PNG), experiment
            assert len(table.read_text().splitlines()) > 1, experiment


def test_every_experiment_is_drawn_or_solved():
    assert list(PAPERS["erleben2017"].experiments) == list(EXPERIMENTS) == ["fig2", *FIGURES, "fixed-point"]
    assert set(OF_RUNS) == set(FIGURES)


@pytest.mark.slow
def test_processes_give_what_one_process_gives(tiny):
    keys = [("wall", "prox-gs", "local"), ("wall", "prox-gs", "global"), ("spheres", "prox-jacobi", "local")]
    specs = [runs.spec_of(key, True, variants.VARIANTS["printed"]) for key in keys]
    heard = []
    alone = record_runs(specs, lambda *_: None, workers=1)
    apart = record_runs(specs, lambda *told: heard.append(told), workers=2)
    assert [run.spec.name[:3] for run in apart] == keys
    for one, two in zip(alone, apart, strict=True):
        assert np.array_equal(one.curve, two.curve)
        assert np.array_equal(one.kinetic, two.kinetic)
    assert heard[-1][:2] == (9, 9)


@pytest.mark.slow
def test_an_error_in_a_process_is_an_error_here(tiny):
    spec = runs.spec_of(("wall", "prox-gs", "local"), True, variants.VARIANTS["printed"])
    wrong = replace(spec, parameters={"courses": -1})
    with pytest.raises(InputError, match="courses is -1"):
        record_runs([spec, wrong], lambda *_: None, workers=2)


def test_a_run_that_blows_up_says_so_and_keeps_what_it_had(tiny, monkeypatch):
    monkeypatch.setattr("stickslip.experiments.solver_runs.BLOWN_UP", 0.15)
    spec = replace(runs.spec_of(("spheres", "prox-gs", "local"), True, variants.VARIANTS["printed"]), steps=4)
    run = record_run(spec)
    assert 0 < len(run.outcome) < 4  # free fall passes 0.15 m/s in the second step
    assert "m/s" in run.failure
    assert run.lost + len(run.outcome) == 4


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["erleben2017", "fig1"], "fig2, fig3, fig4, fig5, fig6, fig7, fig8, fig9, fixed-point"),
        (["erleben2017", "fig2", "--set", "settings=mine"], "known: printed, author, both"),
        (["erleben2017", "fig2", "--set", "nu=1"], "'nu' is unknown"),
        (["todorov2010", "fig6", "--set", "settings=author"], "one set of settings"),
        (["erleben1917"], "known: erleben2017"),
        (["erleben2017", "fixed-point", "--workers", "0"], "workers is 0"),
    ],
)
def test_wrong_names_end_with_2_and_the_known_ones(capsys, tmp_path, monkeypatch, arguments, expected):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *arguments]) == 2
    assert expected in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_costs_no_time(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert main(["reproduce", "erleben2017", "--out", str(tmp_path / "file" / "out")]) == 2
    assert "cannot be made" in capsys.readouterr().err


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'stickslip\[plot\]'"):
        PAPERS["erleben2017"].reproduce(["fig4"], True, tmp_path / "out", lambda *_: None)
    assert not (tmp_path / "out").exists()


def test_experiments_are_listed(capsys):
    assert main(["list", "experiments", "--json"]) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)["experiments"]]
    assert names[0] == "truth"
    assert {"erleben2017", "erleben2017 fig9"} <= set(names)


def test_report_keeps_tables_whole(tmp_path: Path):
    row = Row("a", "x | y", None, float("nan"), "m")
    report = Report("p", "Title", ("a",), {"dt": "0.01"}, (row,), (Claim("a", "c", "p", "o", False),))
    assert "x \\| y | – | nan | m" in report_text(report)
    assert report.to_json()["rows"][0]["ours"] is None
    assert write_report(report, tmp_path).read_text().startswith("# Title\n\n0 of 1 claims agree.")
