"""``stickslip run``: simulate a scene and say how right the result is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stickslip import __version__
from stickslip.cli.completion import beginning, scene_names, solver_names
from stickslip.cli.output import cell, plain_number, print_json, progress, warnings_as_lines
from stickslip.errors import InputError, RecordingWarning
from stickslip.fields_as_arguments import fields_as_arguments

if TYPE_CHECKING:
    from stickslip.scenes.running import Run, Summary
    from stickslip.simulation import Simulation, StepResult


@dataclass(frozen=True)
class RunOptions:
    """What ``stickslip run`` is asked for."""

    scene: Annotated[
        str,
        typer.Argument(
            metavar="SCENE|FILE",
            autocompletion=beginning(scene_names),
            help="Name of a scene (stickslip list scenes), a scene file (.toml), a file of Python with a function that "
            "builds a scene (my.py, my.py:build), or a robot's file (.urdf, .xml).",
        ),
    ]
    solver: Annotated[
        str | None,
        typer.Option(
            autocompletion=beginning(solver_names),
            help="Name of a solver; see: stickslip list solvers. Default: the scene's own.",
        ),
    ] = None
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the scene, or solver.X, or stepping.X."),
    ] = None
    steps: Annotated[int | None, typer.Option(help="Number of steps.")] = None
    time: Annotated[float | None, typer.Option(help="Simulated time in seconds, instead of steps.")] = None
    dt: Annotated[float | None, typer.Option(help="Step size in seconds, instead of the scene's.")] = None
    max_seconds: Annotated[
        float | None, typer.Option(help="Time that the solver may take for a step at most, in seconds; no limit.")
    ] = None
    out: Annotated[Path | None, typer.Option(metavar="FILE.h5", help="Record the run to this file.")] = None
    every: Annotated[int, typer.Option(help="Record every so many steps.")] = 1
    elements: Annotated[bool, typer.Option(help="Record strain, stress and energy of the elements of soft bodies.")] = (
        True
    )
    dump_problem: Annotated[
        tuple[int, Path] | None,
        typer.Option(
            metavar="STEP FILE",
            help="Save the contact problem of a step (from 1) with its solution: .npz, or .hdf5 for FCLIB.",
        ),
    ] = None
    worlds: Annotated[int | None, typer.Option(help="Step so many worlds of the scene at once.")] = None
    threads: Annotated[int | None, typer.Option(help="Threads for --worlds. Default: as many as there are cores.")] = (
        None
    )
    package_dir: Annotated[
        list[Path] | None, typer.Option(help="Folder with packages, for package:// names of a robot's file.")
    ] = None
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 unless every step converged.")] = False
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a summary.")] = False


@fields_as_arguments(RunOptions)
def run(asked: RunOptions) -> None:
    """Simulate a scene; print what it did and the certificate of its worst step.

    Examples:

    stickslip run demo --out demo.h5

    stickslip run arch --set friction=0.2 --set voussoirs=21 --time 2 --json

    stickslip run box-slide --set stepping.scheme=moreau --set solver.tolerance=1e-10

    stickslip run box-slope --worlds 1024 --json

    stickslip run panda.xml --time 2
    """
    from stickslip.cold_start import compiled_beside
    from stickslip.scene_files import prepared as prepare
    from stickslip.scenes.parameters import parse_assignments
    from stickslip.scenes.running import execute

    settings = parse_assignments(asked.set_ or [])
    if asked.max_seconds is not None:
        if "solver.max_seconds" in settings:
            raise InputError("max-seconds is given twice, also as --set solver.max_seconds; give one of them")
        settings["solver.max_seconds"] = asked.max_seconds
    prepared = prepare(asked.scene, asked.solver, settings, asked.dt, asked.package_dir or ())
    count = prepared.step_count(asked.steps, asked.time)
    if asked.worlds is not None:
        _run_worlds(prepared, count, asked)
        return
    if asked.threads is not None:
        raise InputError("threads is given without worlds; they step many worlds, so give both")
    dump = _dump(prepared.sim, asked.scene, count, *asked.dump_problem) if asked.dump_problem is not None else None
    with ExitStack() as stack:
        recorder = None
        if asked.out is not None:
            from stickslip.io.recorder import Recorder

            with warnings_as_lines(RecordingWarning):
                kept = dict(prepared.parameters)
                recorder = stack.enter_context(
                    Recorder(asked.out, prepared.sim, asked.scene, kept, asked.every, asked.elements)
                )
        advance = stack.enter_context(progress(count))
        advance(0, f"{asked.scene}: first step (compiles if the cache is empty)")

        def observe(sim: Simulation, result: StepResult) -> None:
            done = result.state.steps
            if recorder is not None:
                recorder(result)
            if dump is not None:
                dump(result)
            advance(done, f"{asked.scene}: t = {result.state.time:.2f} s, {result.certificate.contacts} contacts")

        with compiled_beside():
            summary = execute(prepared, count, observe)
    if asked.json:
        print_json(summary.to_json())
    else:
        _print_summary(summary, asked.out)
    if asked.strict and not summary.converged:
        raise typer.Exit(1)


def _run_worlds(prepared: Run, count: int, asked: RunOptions) -> None:
    """Many worlds, which are neither recorded nor dumped."""
    from stickslip.cli.run_worlds import print_worlds, run_worlds

    assert asked.worlds is not None
    for name, value in (("out", asked.out), ("dump-problem", asked.dump_problem)):
        if value is not None:
            raise InputError(f"{name} is given with worlds; it is for a run of one world")
    summary = run_worlds(prepared, asked.worlds, count, asked.threads)
    if asked.json:
        print_json(summary.to_json())
    else:
        print_worlds(summary)
    if asked.strict and not summary.converged:
        raise typer.Exit(1)


def _dump(sim: Simulation, scene: str, count: int, step: int, path: Path) -> Callable[[StepResult], None]:
    """Saves the problem of one step, its solution and what the solver started from; a bad step or file raises now."""
    from stickslip.io.problem_file import check_problem_path, save_problem

    if not 1 <= step <= count:
        raise InputError(f"dump-problem: step {step} is not among the steps 1 to {count} of this run")
    ending = check_problem_path(path)
    if ending != ".npz" and sim.model.contact_rows > 3:
        raise InputError(
            f"dump-problem: FCLIB ({path}) has no torsional friction, which {scene} has; give an .npz file"
        )

    def save(result: StepResult) -> None:
        if result.state.steps != step:
            return
        guesses = [result.warm] if result.warm is not None and result.warm.any() else []
        title = f"{scene}, step {step}"
        description = (
            f"stickslip {__version__}: {scene}, step {step} of {sim.stepping.dt:g} s, solved by {sim.solver.name}"
        )
        save_problem(result.problem, path, result.solution.lam, guesses, title, description)

    return save


def _print_summary(summary: Summary, out: Path | None) -> None:
    """The summary as text, the certificate in words."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    s, c = summary, summary.certificate
    console.print(
        f"[bold]{s.scene}[/]: {s.steps} steps of {1e3 * s.dt:g} ms, {s.bodies} bodies, {s.contacts_mean:.0f} contacts "
        f"on average ({s.contacts_max} at most)"
    )
    console.print(
        f"{s.solver} ({s.law} law): {s.ms_per_step:.2f} ms a step, {s.realtime_rate:.2g} x real time, "
        f"{s.iterations_mean:.1f} iterations on average"
    )
    if set(s.methods) != {s.solver}:
        console.print("steps by method: " + ", ".join(f"{name or 'none'} {count}" for name, count in s.methods.items()))
    if s.unread_hints:
        console.print(
            f"note: the scene hints at {', '.join(s.unread_hints)} for its own solver; {s.solver} goes without"
        )
    table = Table("", "", show_header=False, box=None, padding=(0, 2))
    for name, value in s.metrics.items():
        words = {True: "[green]yes[/]", False: "[red]no[/]"}
        if isinstance(value, bool):
            table.add_row(name, words[value])
        else:
            table.add_row(name, plain_number(value) if isfinite(value) else "not reached in this run")
    console.print(table)
    failed = s.steps - round(s.steps * s.converged_fraction)
    if failed:
        how = ", ".join(f"{count} {word}" for word, count in s.statuses.items() if word != "converged")
        console.print(f"[red]{failed} of {s.steps} steps did not converge: {how}.[/]")
    else:
        console.print("[green]Every step converged.[/]")
    lines = Table("", "", "", show_header=False, box=None, padding=(0, 2))
    lines.add_row("momentum", plain_number(c["momentum_relative"]), "of it was created or lost in the worst step")
    lines.add_row("overlap", f"{plain_number(c['penetration_max_mm'])} mm", "deepest")
    lines.add_row("gliding gap", f"{plain_number(c['gliding_gap_max_mm'])} mm", "widest across which a contact pushes")
    lines.add_row("contact law", plain_number(c["natural_residual_max"]), "largest residual, relative")
    if c["joint_error_max_mm"] > 0.0:
        lines.add_row("joints", f"{plain_number(c['joint_error_max_mm'])} mm", "most that rigid ones were apart")
    lines.add_row("friction", f"{plain_number(c['cone_violation_max_N'])} N", "most that a force left its cone")
    # the report's ledger has another number, in which losses of some steps offset the gains of others
    lines.add_row("energy", f"{plain_number(c['energy_gain_J'])} J", "gained by discretisation, losses not counted")
    console.print(lines)
    for text in s.warnings:
        console.print(f"[yellow]warning:[/] {escape(text)}")
    console.print(f"state {s.state_hash[:16]}" + (f", recorded to {cell(out)}" if out is not None else ""))
