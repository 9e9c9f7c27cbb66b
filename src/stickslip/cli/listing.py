"""``stickslip list``: what there is to run."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from stickslip.cli.output import finite_or_none, print_json, table_console


class Kind(StrEnum):
    """What can be listed."""

    SCENES = "scenes"
    SOLVERS = "solvers"
    EXPERIMENTS = "experiments"


def list_names(
    kind: Annotated[Kind | None, typer.Argument(help="What to list; everything if left out.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> None:
    """List scenes with their parameters, solvers with their options, experiments.

    Example: stickslip list scenes
    """
    rows = {item: ROWS[item]() for item in ([kind] if kind else Kind)}
    if json:
        print_json({str(item): found for item, found in rows.items()})
        return
    from rich.table import Table

    for item, found in rows.items():
        table = Table("name", "what it is", "settings", title=str(item), title_justify="left", show_lines=False)
        for row in found:
            settings = ", ".join(f"{name}={_short(value)}" for name, value in row["settings"].items())
            table.add_row(row["name"], row["summary"], settings)
        table_console().print(table)


def _short(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_short, value))
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _of_json(value: Any) -> Any:
    """A default as JSON has it: no limit is null."""
    return finite_or_none(value) if isinstance(value, float) else value


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
    from dataclasses import fields

    from stickslip.solvers.registry import SOLVERS

    return [
        {
            "name": name,
            "summary": f"{(solver.__doc__ or '').splitlines()[0]} Law: {solver.law}.",
            "law": solver.law,
            "settings": {item.name: _of_json(item.default) for item in fields(solver) if item.init},
        }
        for name, solver in SOLVERS.items()
    ]


def _experiments() -> list[dict[str, Any]]:
    from stickslip.experiments.registry import PAPERS

    summary = "tests with a known answer, on our solvers and on other engines: stickslip truth"
    rows: list[dict[str, Any]] = [{"name": "truth", "summary": summary, "settings": {}}]
    for paper in PAPERS.values():
        rows.append({"name": paper.name, "summary": f"{paper.summary}: stickslip reproduce", "settings": {}})
        for name, shows in paper.experiments.items():
            rows.append({"name": f"{paper.name} {name}", "summary": shows, "settings": {}})
    return rows


ROWS = {Kind.SCENES: _scenes, Kind.SOLVERS: _solvers, Kind.EXPERIMENTS: _experiments}
