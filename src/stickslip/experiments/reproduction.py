"""A paper measured again: its experiments are measured, judged and drawn one after the other, and reported together.

A paper's ``experiment.py`` is a :class:`Study`: a table of experiments by name, what they share (runs that several
figures show), and the words around the numbers. What is done with it is :func:`reproduce`, the same for all papers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from stickslip.experiments.progress import Progress
from stickslip.experiments.report import Claim, Figure, Report, Row, ready_folder, write_report
from stickslip.view.drawing import needed_packages

Shared = TypeVar("Shared")
"""What the experiments of a paper share."""


@dataclass(frozen=True)
class Asked:
    """What somebody wants to have measured."""

    experiments: tuple[str, ...]
    quick: bool
    """Smaller scenes and fewer steps."""
    progress: Progress
    workers: int | None = None
    """Number of processes, by default one a processor; papers whose times are compared use one."""


@dataclass(frozen=True)
class Task(Generic[Shared]):
    """One experiment to be measured."""

    experiment: str
    asked: Asked
    shared: Shared

    @property
    def quick(self) -> bool:
        """Whether smaller scenes and fewer steps do."""
        return self.asked.quick

    def tell(self, done: int, total: int, text: str) -> None:
        """Progress, with the name of the experiment before the text."""
        self.asked.progress(done, total, f"{self.experiment}: {text}")

    def tell_drawing(self) -> None:
        """Progress where all runs were made before, so that what remains is drawing."""
        self.asked.progress(1, 1, f"drawing {self.experiment}")


@dataclass(frozen=True)
class Drawing:
    """A figure of an experiment."""

    caption: str
    draw: Callable[[Any, Path, Path], None]
    """Draws what was measured into a picture and writes its numbers into a table."""
    stem: str = ""
    """Name of both files without ending, by default that of the experiment."""


@dataclass(frozen=True)
class Experiment(Generic[Shared]):
    """A figure or table of a paper. What ``measure`` returns goes to the other three."""

    measure: Callable[[Task[Shared]], Any]
    rows: Callable[[str, Any], list[Row]]
    """Numbers of the experiment of that name beside the paper's."""
    claims: Callable[[str, Any], list[Claim]]
    """What the paper says, judged by the numbers."""
    drawings: tuple[Drawing, ...] = ()


@dataclass(frozen=True)
class Study(Generic[Shared]):
    """A paper to be measured again."""

    paper: str
    title: str
    experiments: Mapping[str, Experiment[Shared]]
    share: Callable[[Asked], Shared]
    """What all experiments share, made before the first."""
    settings: Callable[[Asked, Shared], Mapping[str, str]]
    """What was run, in words and numbers that do not depend on the machine."""
    notes: Callable[[Asked, Shared], Sequence[str]]
    """Sentences that a reader of the numbers needs, asked for after the last experiment."""


def perform(
    experiment: Experiment[Shared], task: Task[Shared], folder: Path
) -> tuple[list[Row], list[Claim], list[Figure]]:
    """Measure one experiment, draw its figures into ``folder``, and judge it."""
    found = experiment.measure(task)
    figures = []
    for drawing in experiment.drawings:
        stem = drawing.stem or task.experiment
        drawing.draw(found, folder / f"{stem}.png", folder / f"{stem}.csv")
        figures.append(Figure(task.experiment, stem, drawing.caption))
    return experiment.rows(task.experiment, found), experiment.claims(task.experiment, found), figures


def reproduce(
    study: Study[Shared],
    experiments: Sequence[str],
    quick: bool,
    out: Path,
    progress: Progress,
    workers: int | None = None,
) -> Report:
    """Measure the experiments of those names and write figures, tables and a report into ``out``."""
    needed_packages()  # before the work, not after it
    folder = ready_folder(out)
    asked = Asked(tuple(experiments), quick, progress, workers)
    shared = study.share(asked)
    rows: list[Row] = []
    claims: list[Claim] = []
    figures: list[Figure] = []
    for name in asked.experiments:
        found = perform(study.experiments[name], Task(name, asked, shared), folder)
        rows += found[0]
        claims += found[1]
        figures += found[2]
    report = Report(
        study.paper, study.title, asked.experiments, study.settings(asked, shared), tuple(rows), tuple(claims),
        tuple(figures), tuple(study.notes(asked, shared)),
    )  # fmt: skip
    write_report(report, folder)
    return report
