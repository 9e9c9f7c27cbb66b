"""``stickslip solve``: solve contact problems from files, with the residuals that tables compare."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stickslip.cli.output import cell, finite_or_none, milliseconds, print_json, progress, table_console
from stickslip.errors import InputError

if TYPE_CHECKING:
    from stickslip.arrays import Array
    from stickslip.contact.problem import ContactProblem
    from stickslip.solvers.protocol import Solution, Solver


NUMBERS = {"residual": "residual", "residual_scaled": "scaled\nresidual"}
PHYSICAL = {
    "signorini_m_per_s": "Signorini\nm/s",
    "cone_N_s": "cone\nN s",
    "dissipation_J": "dissipation\nJ",
    "consistency_m_per_s": "consistency\nm/s",
}
"""Columns of the table by their names in JSON."""


class Criterion(StrEnum):
    """Which residual a tolerance is for."""

    SCALED = "scaled"
    SICONOS = "siconos"


def solve(
    problems: Annotated[
        list[Path],
        typer.Argument(metavar="FILE|FOLDER...", help="Contact problems: .npz, FCLIB's .hdf5, or folders of them."),
    ],
    solver: Annotated[str, typer.Option(help="Name of a solver; see: stickslip list solvers.")] = "auto",
    tolerance: Annotated[float | None, typer.Option(help="Residual at which to stop.")] = None,
    criterion: Annotated[Criterion | None, typer.Option(help="Which residual the tolerance is for.")] = None,
    max_iterations: Annotated[int | None, typer.Option(help="Iterations at most; auto: 20000.")] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Time of a solve at most, in seconds; no limit.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="OPTION=VALUE", help="Another option of the solver.")
    ] = None,
    physical: Annotated[
        bool, typer.Option("--physical", help="Show the errors in physical units, too; --json always has them.")
    ] = False,
    guess: Annotated[bool, typer.Option("--guess", help="Start from the first guess that a file holds.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the problem with its solution, as .npz or .hdf5 (FCLIB).")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 unless every problem converged.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object a problem, one per line.")] = False,
) -> None:
    """Solve contact problems and print their residuals, measured outside the solver.

    Examples:

    stickslip run wall --steps 10 --dump-problem 10 wall.npz

    stickslip solve wall.npz --tolerance 1e-10 --json

    stickslip solve wall.npz --solver prox-jacobi --set factors=global

    stickslip solve problems/ other.hdf5 --criterion siconos
    """
    from stickslip.cli.loading import load_problems
    from stickslip.io.problem_file import check_problem_path, save_problem
    from stickslip.scenes.parameters import parse_assignments
    from stickslip.solvers.registry import PATIENT, make_solver

    given = {
        "tolerance": tolerance,
        "criterion": criterion.value if criterion else None,
        "max_iterations": max_iterations,
        "max_seconds": max_seconds,
    }
    asked: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    for name, value in parse_assignments(set_ or []).items():
        option = name.removeprefix("solver.")
        if option in asked:
            raise InputError(f"option {option} is given twice; give it once")
        asked[option] = value
    chosen = make_solver(solver, **{**PATIENT.get(solver, {}), **asked})
    if out is not None:
        check_problem_path(out)
    loaded = load_problems(problems)
    if out is not None and len(loaded) != 1:
        raise InputError(f"out: {out} can hold one problem; {len(loaded)} are given")
    for path, content in loaded:
        if guess and not content.guesses:
            raise InputError(f"guess: {path} holds no guess to start from")
    rows = []
    with progress(len(loaded)) as advance:
        for number, (path, content) in enumerate(loaded):
            advance(number, path.name)
            row, solution = solve_problem(str(path), content.problem, chosen, content.guesses[0] if guess else None)
            rows.append(row)
            if json:
                print_json(row, indent=None)
            if out is not None:
                save_problem(content.problem, out, solution.lam, content.guesses, content.title, content.description)
    if not json:
        _print_table(rows, physical)
    if any(row["status"] == "diverged" or (strict and not row["converged"]) for row in rows):
        raise typer.Exit(1)


def solve_problem(
    name: str, problem: ContactProblem, solver: Solver, warm: Array | None = None
) -> tuple[dict[str, Any], Solution]:
    """Solve one problem: what ``--json`` prints, and the solution. Times are the solver's alone, kernels loaded."""
    from stickslip.experiments.solver_timing import timed_solve
    from stickslip.solvers.verdict import judge_solution

    timed = timed_solve(solver, problem, warm)
    solution = timed.solution
    verdict = judge_solution(solver, solution.problem or problem, solution)
    row = {
        "problem": name,
        "solver": solver.name,
        "contacts": problem.contact_count,
        "converged": solution.converged,
        "status": solution.status,
        "iterations": solution.iterations,
        "seconds": timed.seconds,
        "residual": finite_or_none(verdict.exact.siconos),
        "residual_scaled": finite_or_none(verdict.exact.scaled),
        "law": solver.takes.law,
        "method": solution.method or solver.name,
        "residual_law": finite_or_none(verdict.own),
        "cpu_seconds": timed.cpu_seconds,
        **verdict.physical.to_json(),
    }
    return row, solution


def _print_table(rows: list[dict[str, Any]], physical: bool) -> None:
    """Columns of numbers where they say something: the method of solvers that choose, the law that is not exact."""
    from rich.table import Column, Table

    columns = dict(NUMBERS)
    if any(row["law"] != "exact" for row in rows):
        columns["residual_law"] = f"in the\n{rows[0]['law']} law"
    if physical:
        columns |= PHYSICAL
    chosen = any(row["method"] != row["solver"] for row in rows)
    table = Table(
        Column("problem", overflow="fold"), "contacts", "status", "iterations", "ms", *(["method"] if chosen else [])
    )
    for title in columns.values():
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        values = ["-" if row[key] is None else f"{row[key]:.1e}" for key in columns]
        colour = "green" if row["converged"] else "red"
        table.add_row(
            cell(row["problem"]), str(row["contacts"]), f"[{colour}]{row['status']}[/]", str(row["iterations"]),
            milliseconds(row["seconds"]), *([row["method"]] if chosen else []), *values,
        )  # fmt: skip
    table_console().print(table)
