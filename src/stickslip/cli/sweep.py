"""``stickslip sweep``: a scene with every combination of settings, a row a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stickslip.cli.output import print_json, progress, say
from stickslip.errors import InputError
from stickslip.fields_as_arguments import fields_as_arguments

if TYPE_CHECKING:
    from stickslip.sweeps.one_run import Row


@dataclass(frozen=True)
class SweepOptions:
    """What ``stickslip sweep`` is asked for."""

    scene: Annotated[str, typer.Argument(metavar="SCENE|FILE", help="A scene by name, a robot's file, or my.py:build.")]
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUES",
            help="A value, A:B:N (N values evenly from A to B), A:B (whole numbers) or X|Y, of a parameter of the "
            "scene, of solver.X or stepping.X. All combinations are run.",
        ),
    ] = None  # fmt: skip
    out: Annotated[Path, typer.Option(metavar="FILE", help="The table: .csv or .parquet.")] = Path("sweep.csv")
    metrics: Annotated[str | None, typer.Option(metavar="A,B", help="Metrics and errors to keep; all if left out.")] = (
        None
    )
    solver: Annotated[str | None, typer.Option(help="Solver of all runs. Default: the scene's own.")] = None
    steps: Annotated[int | None, typer.Option(help="Number of steps of each run.")] = None
    time: Annotated[float | None, typer.Option(help="Simulated time of each run in seconds, instead of steps.")] = None
    dt: Annotated[float | None, typer.Option(help="Step size in seconds, instead of the scene's.")] = None
    on: Annotated[str, typer.Option(help="Where runs are made: processes of this machine, or ray.")] = "processes"
    address: Annotated[
        str | None, typer.Option(help="Address of a Ray cluster. Default: one of this machine alone.")
    ] = None
    processes: Annotated[int | None, typer.Option(help="Runs at the same time. Default: all processors.")] = None
    time_limit: Annotated[float | None, typer.Option(help="Seconds that a run may take.")] = None
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the metrics over the first setting: .png, .svg, .pdf.")
    ] = None
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 unless every run converged.")] = False
    json: Annotated[bool, typer.Option("--json", help="Print all rows as one JSON list.")] = False


@fields_as_arguments(SweepOptions)
def sweep(asked: SweepOptions) -> None:
    """Run a scene with every combination of settings; write a table with a row a run.

    A row has the settings, how the run ended, what the scene measures and the largest errors of its certificates. A
    sweep that was interrupted goes on where it was when the same command is given again.

    Exit code 1: a run crashed, or, with --strict, did not converge.

    Examples:

    stickslip sweep arch --set friction=0.2:0.8:7 --out arch.csv --time 2

    stickslip sweep box-slope --set friction=0.1:1.0:10 --set fraction=0.9|1.1 --metrics creep_um_per_s --plot a.png

    stickslip sweep my.py:build --set seed=1:20 --solver sap --on ray --json
    """
    import math

    from stickslip.sweeps.plan import parse_axes
    from stickslip.sweeps.run_sweep import sweep as make

    axes = parse_axes(asked.set_ or [])
    if asked.dt is not None:
        if "stepping.dt" in axes:
            raise InputError("dt is given twice, also as --set stepping.dt; give one of them")
        axes["stepping.dt"] = (asked.dt,)
    if asked.address is not None and asked.on != "ray":
        raise InputError(f"address is {asked.address}, but on is {asked.on}; addresses are those of Ray clusters")
    where = asked.on if asked.address is None else f"{asked.on}:{asked.address}"
    names = [name.strip() for name in (asked.metrics or "").split(",") if name.strip()]
    with progress(max(1, math.prod(map(len, axes.values())))) as advance:

        def told(done: int, total: int, row: Row | None) -> None:
            advance(done, f"{asked.scene}: {'begins' if row is None else row['status']}")

        rows = make(
            asked.scene, {name: list(values) for name, values in axes.items()}, asked.out, metrics=names,
            solver=asked.solver, steps=asked.steps, time=asked.time, on=where, processes=asked.processes,
            time_limit=math.inf if asked.time_limit is None else asked.time_limit,
            plot=asked.plot, told=told,
        )  # fmt: skip
    ends = Counter(str(row["status"]) for row in rows)
    if asked.json:
        print_json([{name: str(x) if x in (math.inf, -math.inf) else x for name, x in row.items()} for row in rows])
    else:
        say(f"{len(rows)} runs: {', '.join(f'{count} {status}' for status, count in ends.most_common())}")
        say(f"written to {asked.out}" + (f" and {asked.plot}" if asked.plot is not None else ""))
    if ends["crashed"] or (asked.strict and ends["converged"] < len(rows)):
        raise typer.Exit(1)
