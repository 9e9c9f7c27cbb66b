"""Table I, Fig. 6 and Fig. 14 of [lee2023]: what is measured, what is said of it, and that it is drawn."""

from dataclasses import replace

import numpy as np
import pytest

from stickslip.experiments.lee2023 import slide_figures as figures
from stickslip.experiments.lee2023 import slides


def sunk(y: float, z: float) -> slides.Slide:
    """A run with these mean errors [mm]."""
    time = np.linspace(0.0, 1.0, 11)
    error = np.outer(2.0 * time, [0.0, 1e-3 * y, -1e-3 * z])
    return slides.Slide(time, error, error, 2e-3, 1e-3 if z < 1.0 else 2e-4, 1.0)


@pytest.fixture
def as_in_the_paper() -> dict[str, slides.Slide]:
    found = {}
    for name, line in slides.TABLE.items():
        _, y, z = line.paper or (0.0, 0.1, 0.7 if line.solver == "cond" else 2.0)
        found[name] = sunk(y, z)
    return found


def test_the_paper_agrees_with_itself(as_in_the_paper: dict[str, slides.Slide]) -> None:
    claims = slides.claims("table1", as_in_the_paper)
    assert [claim.agrees for claim in claims] == [True] * len(claims)


def test_larger_errors_are_seen(as_in_the_paper: dict[str, slides.Slide]) -> None:
    name = slides.NODAL[1]
    worse = {**as_in_the_paper, name: sunk(0.0122, 0.0613)}
    assert [c.claim for c in slides.claims("table1", worse) if not c.agrees] == [
        f"{name}: errors at most those of the paper"
    ]


def test_rows_have_the_columns_of_the_table(as_in_the_paper: dict[str, slides.Slide]) -> None:
    rows = {row.name: row for row in slides.rows("table1", as_in_the_paper)}
    row = rows["Penalty2: z error"]
    assert (row.paper, row.unit) == (15.32, "mm")
    assert row.ours == pytest.approx(15.32)
    assert rows["COND, impulses kept: z error"].paper is None


def test_a_line_is_run_as_it_says() -> None:
    line = slides.TABLE["Penalty1 (2ms)"]
    seen = slides.slide(line)
    assert len(seen.time) == 501
    assert seen.time[-1] == pytest.approx(1.0)
    assert seen.errors[2] == pytest.approx(12.23, abs=0.01)
    assert seen.converged == 1.0


def test_ways_and_their_claims(tmp_path) -> None:
    found = slides.measure_anisotropic(True, lambda *_: None, solver="auto")
    assert all(claim.agrees for claim in slides.anisotropic_claims("fig14", found))
    assert len(slides.anisotropic_rows("fig14", found)) == 6 * len(found)
    figures.draw_ways(found, tmp_path / "fig14.png", tmp_path / "fig14.csv")
    lines = (tmp_path / "fig14.csv").read_text().splitlines()
    assert len(lines) == 1 + sum(len(way.path) for way in found.values())
    pair, way = next(iter(found.items()))
    off = {**found, pair: replace(way, path=way.path + 1e-4)}
    assert not slides.anisotropic_claims("fig14", off)[0].agrees


def test_pictures_and_tables_of_the_pushed_box(as_in_the_paper: dict[str, slides.Slide], tmp_path) -> None:
    figures.draw_table(as_in_the_paper, tmp_path / "table1.png", tmp_path / "table1.csv")
    figures.draw_slide(as_in_the_paper, tmp_path / "fig6.png", tmp_path / "fig6.csv")
    header, first = (tmp_path / "table1.csv").read_text().splitlines()[:2]
    assert header.startswith("formulation,x_error_mm,y_error_mm,z_error_mm,paper_x_error_mm")
    assert first.startswith("COND (k_v = 1e3),0,0.1226,0.6131,0,0.1226,0.6131")
    assert (tmp_path / "fig6.png").stat().st_size > 10_000
