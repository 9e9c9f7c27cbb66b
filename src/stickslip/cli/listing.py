"""``stickslip list``: what there is to run."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

import typer

from stickslip.cli.output import cell, finite_or_none, print_json, table_console


class Kind(StrEnum):
    """What can be listed."""

    SCENES = "scenes"
    SOLVERS = "solvers"
    ROBOTS = "robots"
    ENVIRONMENTS = "environments"
    EXPERIMENTS = "experiments"


def list_names(
    kind: Annotated[Kind | None, typer.Argument(help="What to list; everything if left out.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> None:
    """List scenes with their parameters, solvers with their options, robots that are built in, environments for
    learning, experiments.

    Example: stickslip list scenes
    """
    rows = {item: ROWS[item]() for item in ([kind] if kind else Kind)}
    if json:
        print_json({str(item): found for item, found in rows.items()})
        return
    from rich.table import Table

    for item, found in rows.items():
        shown = TAKES if item == Kind.SOLVERS else ()
        titles = ("name", "what it is", *(["what it takes"] if shown else []), "settings")
        table = Table(*titles, title=str(item), title_justify="left", show_lines=bool(shown))
        for row in found:
            settings = ", ".join(f"{name}={_short(value)}" for name, value in row["settings"].items())
            lines = [cell(f"{name.replace('_', ' ')}: {_short(row[name])}") for name in shown]
            takes = ["\n".join(lines)] if shown else []
            table.add_row(cell(row["name"]), cell(row["summary"]), *takes, cell(settings))
        table_console().print(table)


TAKES = ("law", "unknowns", "linearise", "friction_sets", "compliance", "factors", "islands")
"""What the table shows of what solvers declare (solvers/protocol.py, Takes); JSON has all of it."""


def _short(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_short, value))
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _of_json(value: Any) -> Any:
    """A default as JSON has it: no limit is null, and what JSON does not know is text."""
    if isinstance(value, float):
        return finite_or_none(value)
    return value if isinstance(value, bool | int | str | type(None)) else repr(value)


def _scenes() -> list[dict[str, Any]]:
    from stickslip.scenes.registry import SCENES

    return [
        {
            "name": entry.name,
            "summary": entry.summary,
            "dt": entry.dt,
            "duration": entry.duration,
            "settings": {k: list(v) if isinstance(v, tuple) else v for k, v in entry.defaults().items()},
        }
        for entry in SCENES.values()
    ]


def _solvers() -> list[dict[str, Any]]:
    from stickslip.solvers.registry import known_solvers, make_solver, option_defaults

    rows = []
    for name, kind in known_solvers().items():
        takes = {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in asdict(make_solver(name).takes).items()
        }
        summary = next(iter((kind.__doc__ or "").strip().splitlines()), "")
        settings = {option: _of_json(value) for option, value in option_defaults(name).items()}
        rows.append({"name": name, "summary": summary, **takes, "settings": settings})
    return rows


def _robots() -> list[dict[str, Any]]:
    from stickslip.scenes.robots.registry import ROBOTS

    return [{"name": entry.name, "summary": entry.summary, "settings": {}} for entry in ROBOTS.values()]


def _environments() -> list[dict[str, Any]]:
    from stickslip.learning.names import ENVIRONMENTS

    return [{"name": entry.name, "summary": entry.summary, "settings": {}} for entry in ENVIRONMENTS.values()]


def _experiments() -> list[dict[str, Any]]:
    from stickslip.experiments.registry import PAPERS

    summary = "tests with a known answer, on our solvers and on other engines: stickslip truth"
    rows: list[dict[str, Any]] = [{"name": "truth", "summary": summary, "settings": {}}]
    for paper in PAPERS.values():
        rows.append({"name": paper.name, "summary": f"{paper.summary}: stickslip reproduce", "settings": {}})
        for name, shows in paper.experiments.items():
            rows.append({"name": f"{paper.name} {name}", "summary": shows, "settings": {}})
    return rows


ROWS = {
    Kind.SCENES: _scenes, Kind.SOLVERS: _solvers, Kind.ROBOTS: _robots, Kind.ENVIRONMENTS: _environments,
    Kind.EXPERIMENTS: _experiments,
}  # fmt: skip
