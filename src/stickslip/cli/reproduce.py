"""``stickslip reproduce``: the tables, figures and claims of a paper, measured again."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stickslip.cli.completion import beginning, paper_names
from stickslip.cli.output import plain_number, print_json, progress, say, table_console
from stickslip.errors import InputError, SimulationWarning

if TYPE_CHECKING:
    from stickslip.experiments.report import Report


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(autocompletion=beginning(paper_names), help="Name of a paper; see: stickslip list experiments."),
    ],
    experiment: Annotated[str | None, typer.Argument(help="One experiment of it; all if left out.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller scenes, fewer steps: a few minutes.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the results; by default reproduce-PAPER here.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; by default one a processor.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="settings=NAME", help="Other settings: erleben2017 printed, author, both."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> None:
    """Measure a paper's figures again; write pictures, tables and report.md, and say which claims agree.

    Examples:

    stickslip reproduce erleben2017 --quick --out quick

    stickslip reproduce erleben2017 fig9 --json

    stickslip reproduce erleben2017 --quick --set settings=both
    """
    from stickslip.experiments.registry import find_paper

    found = find_paper(paper)
    chosen = found.chosen(experiment)
    named = _settings(settings or [])
    found.settings_named(named)
    if workers is not None and workers < 1:
        raise InputError(f"workers is {workers}; it must be at least 1")
    folder = out or Path(f"reproduce-{paper}")
    # methods are shown where they fail, too, and the report says how wrong each of them is
    with warnings.catch_warnings(), progress(100) as bar:
        warnings.simplefilter("ignore", SimulationWarning)
        advance = bar if json or sys.stderr.isatty() else Lines()  # scripts read what is printed
        advance(0, f"{paper}: compiling")
        report = found.reproduce(
            chosen,
            quick,
            folder,
            lambda done, total, text: advance(100 * done // max(1, total), text),
            workers,
            named,
        )
    if json:
        print_json(report.to_json())
    else:
        _print_report(report, folder)


def _settings(texts: list[str]) -> str | None:
    """The name that ``settings=NAME`` gives, or None."""
    from stickslip.scenes.parameters import parse_assignments

    given = parse_assignments(texts)
    for name in given:
        if name != "settings":
            raise InputError(f"reproduce: {name!r} is unknown; what can be set is settings, as in settings=author")
    return str(given["settings"]) if given else None


class Lines:
    """Progress where there is no terminal, in a log: a line each tenth."""

    def __init__(self) -> None:
        self.told = -1

    def __call__(self, percent: int, text: str) -> None:
        """Told how far it is."""
        if percent // 10 > self.told:
            self.told = percent // 10
            say(f"{percent:3d} %: {text}", sys.stderr)


def _print_report(report: Report, folder: Path) -> None:
    from rich.markup import escape
    from rich.table import Table

    console = table_console()
    numbers = Table("experiment", "what", "paper", "ours", "unit", title="numbers", title_justify="left")
    for row in report.rows:
        numbers.add_row(row.experiment, escape(row.name), *(_cell(value) for value in (row.paper, row.ours)), row.unit)
    verdicts = Table("experiment", "claim", "the paper says", "measured here", "", title="claims", title_justify="left")
    for claim in report.claims:
        verdict = "[green]agrees[/]" if claim.agrees else "[red]differs[/]"
        ours = f"{claim.variant}: {claim.ours}" if claim.variant else claim.ours
        verdicts.add_row(claim.experiment, *map(escape, (claim.claim, claim.paper, ours)), verdict)
    console.print(numbers)
    console.print(verdicts)
    for note in report.notes:
        console.print(f"- {note}", markup=False, highlight=False)
    console.print(f"{folder / 'report.md'} collects figures, tables and settings", markup=False, highlight=False)


def _cell(value: float | int | str | None) -> str:
    if value is None:
        return "-"
    return plain_number(value) if isinstance(value, float) else str(value)
