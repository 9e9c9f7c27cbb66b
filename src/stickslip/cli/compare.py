"""``stickslip compare``: several solvers on the same problems, with their performance profile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stickslip.cli.output import Advance, cell, milliseconds, print_json, progress, say, table_console
from stickslip.cli.solve import Criterion
from stickslip.errors import InputError
from stickslip.fields_as_arguments import fields_as_arguments
from stickslip.names import visible

if TYPE_CHECKING:
    from rich.console import Console

    from stickslip.contact.problem import ContactProblem
    from stickslip.experiments.comparison import Comparison, ComparisonRow
    from stickslip.experiments.scene_comparison import SceneComparison
    from stickslip.solvers.protocol import Solver

DEFAULTS = {"tolerance": 1e-8, "criterion": "scaled"}
"""Options of solvers on problems, where none are given."""
STEPS, EVERY = 50, 10
"""Steps of a scene, and of which one the problem is taken."""
SOLVE_LIMIT, SIMULATION_LIMIT = 10.0, 60.0
"""[s] that a solve, and a simulation, may take by default."""


@dataclass(frozen=True)
class CompareOptions:
    """What ``stickslip compare`` is asked for."""

    sources: Annotated[
        list[str],
        typer.Argument(metavar="PROBLEM|FOLDER|SCENE...", help="Problem files, folders, or scenes."),
    ]
    solvers: Annotated[str | None, typer.Option(help="Solvers, separated by commas; all if left out.")] = None
    tolerance: Annotated[
        float | None,
        typer.Option(help="Residual that counts as solved, and at which to stop: 1e-8; with --simulate the scene's."),
    ] = None
    criterion: Annotated[Criterion | None, typer.Option(help="Which residual the tolerance is for: scaled.")] = None
    max_iterations: Annotated[
        int | None, typer.Option(help="Iterations at most, of every solver; by default each one's own number.")
    ] = None
    max_seconds: Annotated[
        float | None, typer.Option(help="Time after which every solver ends by itself, in seconds; no limit.")
    ] = None
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Time that a solve may take at most: 10; with --simulate a run: 60."),
    ] = None
    cpu: Annotated[bool, typer.Option("--cpu", help="Compare CPU time, not wall time: steadier on a busy machine.")] = (
        False
    )
    own_law: Annotated[
        bool, typer.Option("--own-law", help="Count as solved by the law that a solver obeys, not by the exact one.")
    ] = False
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Let every solver simulate the scenes itself, from their start.")
    ] = False
    steps: Annotated[
        int | None, typer.Option(help="Steps of a scene to simulate: 50; with --simulate the scene's own time.")
    ] = None
    time: Annotated[float | None, typer.Option(help="With --simulate: simulated seconds, instead of steps.")] = None
    every: Annotated[int | None, typer.Option(help="Take the problem of every so many steps of a scene: 10.")] = None
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the scene, or solver.X, or stepping.X."),
    ] = None
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw the performance profile and residuals over iterations (.png, .svg, .pdf); with --simulate the "
            "courses of runs (also .html).",
        ),
    ] = None
    load: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE.py", help="Run a file first, which registers solvers of your own."),
    ] = None
    record_every: Annotated[
        int | None,
        typer.Option(help="Look at residuals every so many iterations, for --plot; of solvers that have this option."),
    ] = None
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 unless every solver solved all.")] = False
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False
    markdown: Annotated[bool, typer.Option("--markdown", help="With --simulate: print the tables as Markdown.")] = False


@fields_as_arguments(CompareOptions)
def compare(asked: CompareOptions) -> None:
    """Run several solvers on the same problems; print times, residuals and the performance profile.

    Solved means that the residual of the exact law, computed outside the solver, is at most the tolerance, within the
    time limit. Solvers of another law (box, convex, pyramid) are marked; --own-law counts them by their own. Each solve
    runs in a process that is ended when it takes too long; compiling is not counted. Solvers that a file
    of --load, or a scene my.py, registers have names here.

    With --simulate every solver simulates the scenes itself, with the options that stickslip run gives it, in a process
    that is ended at the time limit. With --set, solver.X goes to the solvers that have X, and SCENE.X to that scene
    alone. One table a scene: times, iterations, the certificate over all steps, and what the scene measures. Strict:
    finished, every step converged. --plot draws residuals, overlaps, friction, iterations, contacts, times and energies
    of all solvers, scene by scene.

    Exit code 1: a solver diverged or crashed.

    Examples:

    stickslip compare problems/ --solvers prox-gs,pgs --plot profile.png

    stickslip compare wall --steps 100 --every 20 --time-limit 2

    stickslip compare a.npz b.npz --criterion siconos --tolerance 1e-8 --json

    stickslip compare problems/ --load mine.py --solvers auto,mine --plot histories.png --record-every 1

    stickslip compare arch wall --simulate --time 2 --time-limit 30 --plot solvers.html
    """
    if asked.json and asked.markdown:
        raise InputError("both json and markdown are given; give one of them")
    if asked.simulate:
        _compare_simulations(asked)
    else:
        _compare_solves(asked)


def _compare_simulations(asked: CompareOptions) -> None:
    """Every solver simulates the scenes itself."""
    _refuse(
        {"every": asked.every, "own-law": asked.own_law or None, "record-every": asked.record_every},
        "does not go with --simulate, where solvers do not solve the same problems",
    )
    from stickslip.cli.compare_plots import PLOT_FORMATS, draw_simulations
    from stickslip.cli.compare_scenes import compare_simulations, print_simulations
    from stickslip.view.drawing import check_plot

    plot = asked.plot
    if plot is not None:
        check_plot(plot, PLOT_FORMATS)
    limit = SIMULATION_LIMIT if asked.time_limit is None else asked.time_limit
    _load_files(asked.sources, asked.load or [])
    runs = compare_simulations(
        asked.sources, _names(asked.solvers), _given(asked), asked.set_ or [], asked.steps, asked.time, limit,
        asked.cpu, plot is not None,
    )  # fmt: skip
    if plot is not None:
        draw_simulations(runs, plot)
    print_simulations(runs, asked.json, asked.markdown)
    if plot is not None and not (asked.json or asked.markdown):
        say(f"written to {plot}")
    _exit_code(runs, asked.strict)


def _compare_solves(asked: CompareOptions) -> None:
    """Every solver solves the same problems."""
    _refuse(
        {"time": asked.time, "markdown": asked.markdown or None},
        "is for --simulate, where every solver simulates scenes itself",
    )
    from stickslip.experiments.comparison import compare as run_comparison

    plot = asked.plot
    if plot is not None:
        from stickslip.view.drawing import check_plot

        check_plot(plot)
    _load_files(asked.sources, asked.load or [])
    chosen = _solvers(_names(asked.solvers), {**DEFAULTS, **_given(asked)})
    with progress(1) as advance:
        problems = _problems(asked.sources, asked.steps, asked.every, asked.set_ or [], advance)
    with progress(len(problems) * len(chosen)) as advance:
        limit = SOLVE_LIMIT if asked.time_limit is None else asked.time_limit
        found = run_comparison(
            problems, chosen, limit, asked.own_law, asked.cpu, lambda done, total, text: advance(done, text)
        )
    if plot is not None:
        from stickslip.experiments.profile_plot import draw_profile

        draw_profile(found, plot)
    if asked.json:
        print_json(found.to_json())
    else:
        _print_rows(table_console(), found)
        _print_profile(table_console(), found)
        if plot is not None:
            say(f"written to {plot}")
    _exit_code(found, asked.strict)


def _exit_code(found: Comparison | SceneComparison, strict: bool) -> None:
    """Leave with 1 where a solver failed, or, if ``strict``, did not do all that was asked."""
    if found.failed or (strict and not all(row.solved for row in found.rows)):
        raise typer.Exit(1)


def _refuse(given: dict[str, Any], why: str) -> None:
    """Raise an InputError for the first option that is given, and why that is wrong."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name}: {why}")


def _given(asked: CompareOptions) -> dict[str, Any]:
    """Options of solvers that are given."""
    options = {
        "tolerance": asked.tolerance,
        "criterion": None if asked.criterion is None else asked.criterion.value,
        "max_iterations": asked.max_iterations,
        "max_seconds": asked.max_seconds,
        "record_every": asked.record_every,
    }
    return {name: value for name, value in options.items() if value is not None}


def _load_files(sources: list[str], more: list[str]) -> None:
    """Run files of Python among the sources, and others, so that solvers that they register are known by name."""
    from stickslip.scene_files import PYTHON_ENDING, entry_of, is_file, names_in

    for file in more:
        names_in(file)
    for source in sources:
        if is_file(source) and PYTHON_ENDING in source:
            entry_of(source)


def _names(text: str | None) -> list[str]:
    """Names of solvers, all of them by default."""
    from stickslip.solvers.registry import known_solvers

    names = list(known_solvers()) if text is None else [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError("solvers: the list is empty; give names separated by commas")
    if len(set(names)) < len(names):
        raise InputError(f"solvers: {text!r} names one twice; give each once")
    return names


def _solvers(names: list[str], options: dict[str, Any]) -> list[Solver]:
    """The solvers named, each with those of the options that it has."""
    from stickslip.solvers.registry import PATIENT, make_solver, option_defaults

    made = []
    for name in names:
        known = option_defaults(name)
        taken = {key: value for key, value in options.items() if key in known}
        made.append(make_solver(name, **{**PATIENT.get(name, {}), **taken}))
    return made


def _problems(
    sources: list[str], steps: int | None, every: int | None, assignments: list[str], advance: Advance
) -> dict[str, ContactProblem]:
    """Problems by name, in the order given; those of a folder by the names of its files."""
    from stickslip.cli.loading import load_problems
    from stickslip.scene_files import is_file
    from stickslip.scenes.registry import SCENES

    found: dict[str, ContactProblem] = {}
    scenes = 0
    for source in sources:
        path = Path(source)
        if is_file(source) or (not path.exists() and source in SCENES):
            count, interval = STEPS if steps is None else steps, EVERY if every is None else every
            found |= _of_scene(source, count, interval, assignments, advance)
            scenes += 1
        elif not path.exists() and not path.suffix:
            raise InputError(f"{source!r} is no file, no folder and no scene; see: stickslip list scenes")
        else:
            advance(0, source)
            found |= {str(file): content.problem for file, content in load_problems([path])}
    if not scenes:
        given = {"steps": steps, "every": every, "set": assignments[0] if assignments else None}
        for name, value in given.items():
            if value is not None:
                raise InputError(f"{name}: {value!r} is for scenes, and none is given")
    return found


def _of_scene(name: str, steps: int, every: int, assignments: list[str], advance: Advance) -> dict[str, ContactProblem]:
    """The problems of every so many steps of a scene, where there are contacts."""
    from stickslip.scene_files import prepared
    from stickslip.scenes.parameters import parse_assignments

    if not 1 <= every <= steps:
        raise InputError(f"every is {every}; it must be from 1 to the number of steps, {steps}")
    run = prepared(name, None, parse_assignments(assignments), None)
    found: dict[str, ContactProblem] = {}
    for step in range(1, steps + 1):
        advance(0, f"{name}: step {step} of {steps}")
        result = run.sim.step()
        if step % every == 0 and result.problem.block_count:
            found[f"{name}@{step}"] = result.problem
    if not found:
        raise InputError(
            f"scene {name}: no contacts at any of the steps looked at; give more steps, or a smaller every"
        )
    return found


def _print_rows(console: Console, found: Comparison) -> None:
    """One line a problem and solver; the quickest of each problem in bold."""
    from rich.table import Column, Table

    table = Table(
        Column("problem", overflow="fold"), "contacts", "solver", "status", title="solves", title_justify="left"
    )
    for title in ("iterations", "CPU ms" if found.by_cpu else "ms", "residual", "scaled\nresidual", "own law"):
        table.add_column(title, justify="right", no_wrap=True)
    short = {name: Path(name).name for name in found.problems}
    if len(set(short.values())) < len(short):
        short = {name: name for name in found.problems}
    ratios = found.ratios()
    for number, row in enumerate(found.rows):
        p, k = divmod(number, len(found.solvers))
        table.add_row(
            *((cell(short[row.problem]), str(row.contacts)) if k == 0 else ("", "")), *_cells(row, found.by_cpu),
            style="bold" if ratios[p, k] == 1.0 else None, end_section=k == len(found.solvers) - 1,
        )  # fmt: skip
    console.print(table)
    for note in dict.fromkeys(f"{row.solver}: {row.note}" for row in found.rows if row.note):
        console.print(f"- {visible(note)}", markup=False, highlight=False)


def _cells(row: ComparisonRow, by_cpu: bool) -> list[str]:
    """Solver, status, iterations, milliseconds and residuals of a line."""
    mark = "" if row.law == "exact" else f" ({row.law} law)"
    numbers = [row.residual, row.residual_scaled, None if row.law == "exact" else row.residual_law]
    return [
        row.solver + mark,
        f"[{'green' if row.solved else 'red'}]{'solved' if row.solved else row.status}[/]"
        + ("" if row.method in (None, row.solver) else f" by {row.method}"),
        "-" if row.iterations is None else str(row.iterations),
        milliseconds(row.time(by_cpu)),
        *("-" if value is None else f"{value:.1e}" for value in numbers),
    ]


def _print_profile(console: Console, found: Comparison) -> None:
    """The performance profile, with what each solver solved and the time it took for that."""
    from rich.table import Table

    from stickslip.experiments.comparison import TAUS

    title = f"share of {len(found.problems)} problems solved within tau times the quickest solver's time"
    table = Table("solver", title=title, title_justify="left")
    for tau in TAUS:
        table.add_column(f"tau {tau:g}", justify="right")
    for column in ("solved", "s for these"):
        table.add_column(column, justify="right")
    laws = {row.solver: row.law for row in found.rows}
    for name, shares in found.profile().items():
        solved = [row.time(found.by_cpu) or 0.0 for row in found.rows if row.solver == name and row.solved]
        mark = "" if laws[name] == "exact" else f" ({laws[name]} law)"
        table.add_row(name + mark, *(f"{share:.2f}" for share in shares), str(len(solved)), f"{math.fsum(solved):.3g}")
    console.print(table)
    if any(law != "exact" for law in laws.values()) and found.settings["judged_by"] == "exact law":
        console.print("Solvers of another law are judged by the exact one here; --own-law judges them by theirs.")
