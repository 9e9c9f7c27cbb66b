"""``stickslip solve``: solve contact problems from files, with the residuals that tables compare."""

from __future__ import annotations

import math
import time
from dataclasses import fields, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stickslip.cli.output import print_json, progress, table_console

if TYPE_CHECKING:
    from stickslip.contact.problem import ContactProblem
    from stickslip.solvers.protocol import Solver


class Criterion(StrEnum):
    """Which residual a tolerance is for."""

    SCALED = "scaled"
    SICONOS = "siconos"


def solve(
    problems: Annotated[list[Path], typer.Argument(help="Files with contact problems (.npz).")],
    solver: Annotated[str, typer.Option(help="Name of a solver; see: stickslip list solvers.")] = "prox-gs",
    tolerance: Annotated[float | None, typer.Option(help="Residual at which to stop.")] = None,
    criterion: Annotated[Criterion | None, typer.Option(help="Which residual the tolerance is for.")] = None,
    max_iterations: Annotated[int | None, typer.Option(help="Iterations at most.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="OPTION=VALUE", help="Another option of the solver.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 unless every problem converged.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object a problem, one per line.")] = False,
) -> None:
    """Solve contact problems and print their residuals, measured outside the solver.

    Examples:

    stickslip run wall --steps 10 --dump-problem 10 wall.npz

    stickslip solve wall.npz --tolerance 1e-10 --json

    stickslip solve wall.npz --solver prox-jacobi --set factors=global
    """
    from stickslip.io.problem_file import load_problem
    from stickslip.scenes.parameters import parse_assignments
    from stickslip.solvers.registry import make_solver

    given = {
        "tolerance": tolerance,
        "criterion": criterion.value if criterion else None,
        "max_iterations": max_iterations,
    }
    named = {name.removeprefix("solver."): value for name, value in parse_assignments(set_ or []).items()}
    chosen = make_solver(solver, **{**named, **{name: value for name, value in given.items() if value is not None}})
    loaded = [(path, load_problem(path)) for path in problems]  # all of them first: a bad file should cost no time
    rows = []
    with progress(len(loaded)) as advance:
        for number, (path, problem) in enumerate(loaded):
            advance(number, path.name)
            rows.append(solve_problem(str(path), problem, chosen))
            if json:
                print_json(rows[-1], indent=None)
    if not json:
        _print_table(rows)
    if any(row["status"] == "diverged" or (strict and not row["converged"]) for row in rows):
        raise typer.Exit(1)


def solve_problem(name: str, problem: ContactProblem, solver: Solver) -> dict[str, Any]:
    """Solve one problem: what ``--json`` prints. ``seconds`` is the solver's time without loading of kernels."""
    from stickslip.contact.residual import residual

    if any(item.name == "max_iterations" for item in fields(solver)):  # type: ignore[arg-type]
        replace(solver, max_iterations=1).solve(problem)  # type: ignore[type-var]
    start = time.perf_counter()
    solution = solver.solve(problem)
    seconds = time.perf_counter() - start
    found = residual(problem, solution.lam)
    return {
        "problem": name,
        "solver": solver.name,
        "contacts": problem.block_count,
        "converged": solution.converged,
        "status": solution.status,
        "iterations": solution.iterations,
        "seconds": seconds,
        "residual": found.siconos if math.isfinite(found.siconos) else None,
        "residual_scaled": found.scaled if math.isfinite(found.scaled) else None,
    }


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table("problem", "contacts", "status", "iterations", "ms", "residual", "scaled residual")
    for row in rows:
        values = ["-" if row[key] is None else f"{row[key]:.2e}" for key in ("residual", "residual_scaled")]
        colour = "green" if row["converged"] else "red"
        table.add_row(
            row["problem"], str(row["contacts"]), f"[{colour}]{row['status']}[/]", str(row["iterations"]),
            f"{1e3 * row['seconds']:.3g}", *values,
        )  # fmt: skip
    table_console().print(table)
