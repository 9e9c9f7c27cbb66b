"""What all papers share: experiments are measured, judged, drawn and reported one after the other."""

from importlib import import_module
from pathlib import Path

import pytest

from stickslip.errors import FileError
from stickslip.experiments.registry import PAPERS, Paper
from stickslip.experiments.report import Claim, Figure, Row
from stickslip.experiments.reproduction import Asked, Drawing, Experiment, Study, Task, reproduce

Told = tuple[int, int, str]


def write_both(found: object, picture: Path, table: Path) -> None:
    picture.write_text(f"picture of {found}")
    table.write_text(f"table of {found}")


def measure(task: Task[list[str]]) -> str:
    task.tell(1, 2, "half")
    task.tell_drawing()
    task.shared.append(task.experiment)
    return f"{task.experiment}, {'quick' if task.quick else 'full'}"


def rows(experiment: str, found: str) -> list[Row]:
    return [Row(experiment, found, None, 1.0, "m")]


def claims(experiment: str, found: str) -> list[Claim]:
    return [Claim(experiment, found, "yes", "no", False)]


STUDY = Study(
    "paper2000",
    "A paper",
    {
        "fig1": Experiment(measure, rows, claims, (Drawing("One.", write_both),)),
        "fig2": Experiment(measure, rows, claims, tuple(Drawing(s, write_both, f"fig2-{s}") for s in ("a", "b"))),
        "words": Experiment(measure, rows, lambda experiment, found: []),
    },
    lambda asked: [],
    lambda asked, shared: {"size": "quick" if asked.quick else "full", "workers": str(asked.workers)},
    lambda asked, shared: [f"{name} was measured" for name in shared],
)


@pytest.mark.parametrize("chosen", [("fig1", "fig2", "words"), ("fig2",)])
def test_experiments_are_measured_in_order_and_reported_together(tmp_path: Path, chosen: tuple[str, ...]) -> None:
    told: list[Told] = []
    report = reproduce(STUDY, chosen, True, tmp_path / "out", lambda *words: told.append(words), 3)
    assert (report.paper, report.title, report.experiments) == ("paper2000", "A paper", chosen)
    assert [row.name for row in report.rows] == [f"{name}, quick" for name in chosen]
    assert [claim.experiment for claim in report.claims] == [name for name in chosen if name != "words"]
    stems = {"fig1": ["fig1"], "fig2": ["fig2-a", "fig2-b"], "words": []}
    assert [figure.stem for figure in report.figures] == [stem for name in chosen for stem in stems[name]]
    assert Figure("fig2", "fig2-b", "b") in report.figures
    assert report.settings == {"size": "quick", "workers": "3"}
    assert report.notes == tuple(f"{name} was measured" for name in chosen)  # what is shared tells what happened
    assert told == [each for name in chosen for each in ((1, 2, f"{name}: half"), (1, 1, f"drawing {name}"))]
    files = {f"{figure.stem}.{ending}" for figure in report.figures for ending in ("png", "csv")}
    assert {file.name for file in (tmp_path / "out").iterdir()} == files | {"report.md", "claims.csv", "rows.csv"}
    assert (tmp_path / "out" / "fig2-a.png").read_text() == "picture of fig2, quick"
    assert (tmp_path / "out" / "fig2-a.csv").read_text() == "table of fig2, quick"


def test_nothing_is_measured_where_nothing_can_be_written(tmp_path: Path) -> None:
    def fail(asked: Asked) -> list[str]:
        raise AssertionError("measured")

    (tmp_path / "file").write_text("")
    study = Study("p", "P", STUDY.experiments, fail, STUDY.settings, STUDY.notes)
    with pytest.raises(FileError, match="cannot be made"):
        reproduce(study, ("fig1",), True, tmp_path / "file" / "out", lambda *_: None)


@pytest.mark.parametrize("paper", PAPERS.values(), ids=list(PAPERS))
def test_papers_are_tables_of_their_registered_experiments(paper: Paper) -> None:
    study: Study[object] = import_module(paper.module).STUDY
    assert study.paper == paper.name
    assert list(study.experiments) == list(paper.experiments)
    captions = [drawing.caption for each in study.experiments.values() for drawing in each.drawings]
    assert len(set(captions)) == len(captions)
    stems = [drawing.stem or name for name, each in study.experiments.items() for drawing in each.drawings]
    assert len(set(stems)) == len(stems)
