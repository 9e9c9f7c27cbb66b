"""``stickslip truth``: tests with a known answer, on our solvers and on other engines."""

from __future__ import annotations

from typing import Annotated

import typer

from stickslip.cli.output import print_json, progress, table_console
from stickslip.errors import InputError


def truth(
    engines: Annotated[str, typer.Option(help="Engines, separated by commas.")] = "stickslip,mujoco,drake,pybullet",
    solvers: Annotated[str, typer.Option(help="Solvers of stickslip, separated by commas.")] = "prox-gs",
    tests: Annotated[str | None, typer.Option(help="Tests or families of them, separated by commas.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter simulated times.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 where stickslip misses a bar.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Run the slope, slide, rolling, mass-ratio, critical-friction and robot tests.

    Engines that are not installed say so; the robot tests have stickslip and MuJoCo.

    Example: stickslip truth --engines stickslip,mujoco --tests slope,slide --quick
    """
    from stickslip.experiments.truth.truth import run_truth, truth_table
    from stickslip.solvers.registry import find_solver

    chosen = _names("solvers", solvers)
    for name in chosen:
        find_solver(name)  # raises, and lists the known ones
    with progress(1) as advance:
        rows = run_truth(
            engines=_names("engines", engines),
            solvers=chosen,
            tests=None if tests is None else _names("tests", tests),
            quick=quick,
            progress=lambda text: advance(0, text),
        )
    good = all(row.ok for row in rows if row.engine == "stickslip")
    if json:
        print_json({"ok": good, "rows": [row.to_json() for row in rows]})
    else:
        table_console().print(truth_table(rows))
    if strict and not good:
        raise typer.Exit(1)


def _names(what: str, text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError(f"{what}: the list is empty; give names separated by commas")
    return names
