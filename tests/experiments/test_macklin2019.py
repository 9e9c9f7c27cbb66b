"""`stickslip reproduce macklin2019`: functions, courses, limits, claims that follow the numbers, and the command."""

import json
from pathlib import Path

import numpy as np
import pytest

from stickslip.cli import main
from stickslip.experiments.macklin2019 import (
    course_claims,
    distribution,
    figures,
    functions,
    insertion,
    quartiles,
    robustness,
    standing,
    systems,
    table,
)
from stickslip.experiments.macklin2019.courses import SCALINGS, Course, Panel, course_of
from stickslip.experiments.macklin2019.experiment import EXPERIMENTS
from stickslip.experiments.macklin2019.limits import DELTA, Limits, limits_of, newton_matrix, row_terms
from stickslip.experiments.macklin2019.quartiles import Curves
from stickslip.experiments.macklin2019.steps import Stage
from stickslip.experiments.registry import PAPERS
from stickslip.experiments.report import Claim

PNG = b"\x89PNG\r\n\x1a\n"


def verdicts(claims: list[Claim]) -> dict[str, bool]:
    return {claim.claim: claim.agrees for claim in claims}


def test_every_experiment_is_registered() -> None:
    assert list(PAPERS["macklin2019"].experiments) == list(EXPERIMENTS)


def test_friction_is_zero_at_the_limit_only_with_the_corrected_equation() -> None:
    found = verdicts(functions.friction_claims("fig6"))
    assert list(found.values()) == [True, True, False]
    zero = functions.zero_of(functions.printed_error, 1.0, 9.0)
    assert 4.9 < zero < 4.99


def test_scaling_makes_the_minimum_map_a_straight_line() -> None:
    counts = functions.step_counts()
    assert set(counts["minimum map, r = effective mass"].tolist()) <= {0, 1}
    assert counts["minimum map, r = 1"].max() == 2
    for case in functions.SCALED:
        force = np.linspace(-1.0, 1.0, 2001)
        second = np.abs(np.diff(case.error(force), 2)).max() / (force[1] - force[0]) ** 2
        if np.isfinite(case.curvature):
            assert second == pytest.approx(case.curvature, rel=1e-3, abs=1e-6)
    assert all(verdicts(functions.scaling_claims("fig9")).values())


def course(*residual: float) -> Course:
    values = np.array(residual)
    return Course(values, values, values)


def panel(**courses: Course) -> Panel:
    named = {name.replace("_", "-"): item for name, item in courses.items()}
    return Panel(named, Limits(1e-12, 1e-12, 1.0, 1.0), 4)


def test_scaling_claims_follow_the_numbers() -> None:
    good, slow, bad = course(1.0, 1e-8), course(1.0, 1e-1, 1e-2, 1e-8), course(1.0, 1.0)
    as_in_the_paper = {
        "arch": panel(identity=bad, timestep=good, effective_mass=good),
        "table-pile": panel(identity=good, timestep=good, effective_mass=good),
        "heavy-stack": panel(identity=bad, timestep=slow, effective_mass=good),
    }
    assert all(verdicts(course_claims.scaling_claims("fig17", as_in_the_paper)).values())
    other = {scene: panel(identity=good, timestep=bad, effective_mass=bad) for scene in as_in_the_paper}
    assert not any(verdicts(course_claims.scaling_claims("fig17", other)).values())


def test_rises_and_orders_of_magnitude() -> None:
    assert course_claims.rise(course(1.0, 0.1, 10.0, 1.0)) == pytest.approx(2.0)
    falling, wild = np.array([1.0, 0.1, 0.01]), np.array([1.0, 2.0, 0.05])
    assert systems.rises(falling) == 0
    assert systems.rises(wild) == 1
    assert systems.share_lower(falling, wild) == 0.5


def test_quartiles_and_rates() -> None:
    damped = Curves(0.25 ** np.arange(20)[None, :].repeat(4, axis=0))
    assert damped.superlinear == 0
    assert damped.converged == 4
    np.testing.assert_allclose(damped.quartiles[0], damped.quartiles[2])
    newton = Curves(np.array([[1e-1, 1e-2, 1e-5, 1e-11], [1.0, 1.0, 1.0, 1.0]]))
    assert (newton.superlinear, newton.converged) == (1, 1)
    found = {name: Curves(np.ones((4, 20))) if name.startswith("identity") else damped for name in quartiles.CASES}
    assert list(verdicts(quartiles.claims("fig16", found)).values()) == [False, *6 * [True]]
    bent = Curves(np.array([[1.0, 0.9, 0.8, 0.7, 0.6, 0.1, 1e-3, 1e-7]]))
    assert (damped.accelerating, bent.accelerating) == (0, 1)


def test_a_step_of_the_stack_and_its_limits() -> None:
    moment = Stage("heavy-stack", 1).moment()
    seen, solution = course_of(moment, 12, scaling=SCALINGS[2])
    assert len(seen.error) == len(seen.residual) == len(seen.step) == 12
    assert seen.best < 1e-3
    limits = limits_of(solution)
    assert limits.residual > DELTA
    assert limits.step > DELTA
    problem = solution.problem
    assert problem is not None
    C, _ = row_terms(problem, solution.lam, solution.v)
    matrix = newton_matrix(problem, C)
    assert limits.largest == pytest.approx(np.linalg.norm(matrix, np.inf))
    assert limits.inverse == pytest.approx(np.linalg.norm(np.linalg.inv(matrix), np.inf), rel=1e-3)


def test_the_rows_of_table_2_are_the_papers() -> None:
    assert [row.newton * row.linear for row in table.PAPER.values()] == [160, 300, 120, 80, 320, 200, 300, 40, 125]
    assert [row.solve for row in table.PAPER.values()] == [10.0, 11.4, 7.75, 3.7, 22.25, 12.2, 18.6, 8.9, 56.0]


def test_times_are_taken_at_the_papers_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "QUICK_STEPS", 2)
    monkeypatch.setattr(table, "QUICK_BEFORE", {"arch": 0})
    timed = table.measure("arch", True, lambda *_: None)
    assert (timed.bodies, timed.joints, len(timed.total)) == (20, 0, 2)
    assert timed.largest_island == timed.contacts[-1]
    assert (timed.total > 0.0).all()
    found = {"arch": timed}
    rows = {row.name: (row.paper, row.ours) for row in table.rows("table2", found)}
    assert rows["arch: Newton iterations"] == (6, 6)
    assert rows["arch: contacts, mean"][0] == 134
    assert len(table.claims("table2", found)) == 1


@pytest.mark.parametrize(("scene", "bodies", "joints"), [("fetch-tomato", 15, 17), ("fetch-beam", 28, 28)])
def test_the_fetch_counts_in_table_2_with_what_it_moves(monkeypatch, scene, bodies, joints) -> None:
    """12 links that move, and 3 bodies of the scale with 5 joints (one a spring), or 16 of the beam with 16."""
    monkeypatch.setattr(table, "QUICK_STEPS", 1)
    monkeypatch.setattr(table, "QUICK_BEFORE", {scene: 0})
    timed = table.measure(scene, True, lambda *_: None)
    assert (timed.bodies, timed.joints) == (bodies, joints)
    assert timed.auto_residual < 1e-6


def test_forces_of_the_insertion_are_drawn_over_time(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(insertion, "QUICK_STEPS", 100)
    found = insertion.measure(True, lambda *_: None)
    rows = {row.name: (row.paper, row.ours) for row in insertion.rows("fig7", found)}
    assert rows["fetch-beam: bodies"] == (42.0, 42.0)
    assert (
        rows["fetch-beam: largest force of the hole on the beam"][1]
        == np.linalg.norm(found.course[:, 1:4], axis=1).max()
    )
    insertion.draw(found, tmp_path / "a.png", tmp_path / "a.csv")
    assert (tmp_path / "a.png").stat().st_size > 1000
    assert (tmp_path / "a.csv").read_text().count("\n") == 101


def test_copies_of_robots_go_on_where_one_of_them_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "QUICK_STEPS", 2)
    monkeypatch.setattr(table, "QUICK_BEFORE", {"humanoid": 3})
    monkeypatch.setattr(table, "QUICK_COPIES", 3)
    timed = table.measure("humanoid", True, lambda *_: None)
    assert (timed.bodies, timed.joints, timed.unknowns, timed.converged) == (39, 63, 81, 1.0)
    assert timed.auto is not None
    assert (timed.contacts == 3 * timed.largest_island).all()


def test_solver_claims_follow_the_numbers() -> None:
    good, stuck, rough = course(*0.1 ** np.arange(12)), course(1.0, *12 * [0.5]), course(1.0, 1e-1, 1.0, 1e-9)
    as_in_the_paper = panel(Jacobi=stuck, Gauss_Seidel=stuck, PCG=rough, PCR=good)
    turned = panel(Jacobi=good, Gauss_Seidel=good, PCG=good, PCR=stuck)
    scenes = ("arch", "heavy-stack", "beam-insertion")
    found = verdicts(course_claims.solver_claims("fig18", dict.fromkeys(scenes, as_in_the_paper)))
    assert all(agrees for claim, agrees in found.items() if "analysis" not in claim)
    found = verdicts(course_claims.solver_claims("fig18", dict.fromkeys(scenes, turned)))
    assert not any(agrees for claim, agrees in found.items() if "PCG" not in claim and "analysis" not in claim)


def test_the_stack_stands_by_conjugate_residuals_alone(tmp_path: Path) -> None:
    """Fig. 14, for a fifth of a second: relaxation lets 32 tonnes sink."""
    runs = {name: standing.run("heavy-stack", name, 25) for name in ("pcr", "jacobi")}
    assert runs["pcr"].stands
    assert runs["jacobi"].deepest > 0.01
    standing.draw({"heavy-stack": runs}, tmp_path / "a.png", tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().count("\n") == 51


def test_the_minimum_map_is_noisy_in_32_bit_alone(tmp_path: Path) -> None:
    """Sec. 10.3: what the paper saw is rounding."""
    found = distribution.measure(True, lambda *_: None)
    assert list(verdicts(distribution.claims("sec10.3", found)).values()) == [True, True, False]
    distribution.draw(found, tmp_path / "a.png", tmp_path / "a.csv")
    assert (tmp_path / "a.png").read_bytes()[:8] == PNG


def test_conjugate_residuals_answer_singular_systems() -> None:
    """Sec. 8.2: 96 rows of rank 6, where conjugate gradients and Cholesky fail."""
    found = robustness.singular_system()
    assert found["pcr"] < 1e-6
    assert found["cholesky, 32 bit"] > 1.0


def test_claims_of_robustness_follow_the_numbers() -> None:
    counts: dict[str, list[int | None]] = {name: [10, 10] for name in (*robustness.CASES, robustness.SMOOTH)}
    good = {**counts, "line search": [None, None], "start from the free velocity": [None, 10], "warm start": [2, 3]}
    singular = {"pcr": 1e-9, "pcg": np.inf, "cholesky, 64 bit": np.inf, "cholesky, 32 bit": np.inf}
    found = robustness.Robustness(good, ["a", "b"], singular)
    assert all(verdicts(robustness.claims("sec8", found)).values())
    bad = {**counts, "t = 0.5": [40, 40], robustness.SMOOTH: [None, 1], "t = 0.75": [None, 10]}
    found = robustness.Robustness(bad, ["a", "b"], {**singular, "pcr": 1.0})
    assert not any(verdicts(robustness.claims("sec8", found)).values())


def test_pictures_of_solves(tmp_path: Path) -> None:
    solves = {"arch": panel(identity=course(1.0, 1e-30)), "heavy-stack": panel(identity=course(1.0, 0.0))}
    curves = {name: Curves(np.full((3, 5), 0.1)) for name in quartiles.CASES}
    for name, draw, found in (("a", figures.draw_courses, solves), ("b", figures.draw_quartiles, curves)):
        draw(found, tmp_path / f"{name}.png", tmp_path / f"{name}.csv")
        assert (tmp_path / f"{name}.png").read_bytes()[:8] == PNG
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 1 + 2 * 2
    assert len((tmp_path / "b.csv").read_text().splitlines()) == 1 + 5 * len(curves)


def test_the_command_writes_pictures_and_verdicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(systems, "STAGES", {"heavy-stack": Stage("heavy-stack", 1)})
    for experiment in ("fig6", "fig9", "fig11"):
        code = main(["reproduce", "macklin2019", experiment, "--quick", "--out", str(tmp_path), "--json"])
        captured = capsys.readouterr()
        assert (code, captured.err) == (0, "")
        report = json.loads(captured.out)
        assert report["experiments"] == [experiment]
        assert report["claims"]
        assert (tmp_path / f"{experiment}.png").read_bytes()[:8] == PNG
        assert len((tmp_path / f"{experiment}.csv").read_text().splitlines()) > 20
    assert "claims agree" in (tmp_path / "report.md").read_text()
