"""``stickslip compare --simulate``: every solver simulates scenes by itself; one table a scene."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stickslip.cli.output import plain_number, print_json, progress
from stickslip.errors import InputError

if TYPE_CHECKING:
    from stickslip.experiments.scene_comparison import SceneComparison, SceneRow
    from stickslip.scenes.parameters import Value

WIDTH = 200
"""Characters of a table that goes to a file or a pipe."""
CERTIFICATE = {
    "residual": "natural_residual_max",
    "overlap\nmm": "penetration_max_mm",
    "gliding\nmm": "gliding_gap_max_mm",
    "approach\nm/s": "velocity_violation_max_m_per_s",
    "outside\ncone N": "cone_violation_max_N",
    "momentum": "momentum_relative",
    "energy\ngained J": "energy_gain_J",
}
"""Columns of the certificate by their names in a summary."""
LEGEND = (
    "Times are medians of steps, compiling not counted. Residual (natural map of the exact law, scaled), overlap, gap "
    "across which a contact pushes (gliding), forbidden approach, friction outside its cone and momentum are the "
    "largest of all steps, whatever law a solver obeys; energy is the sum of what the time discretisation added in the "
    "steps that added some."
)


@dataclass(frozen=True)
class TextTable:
    """A table before it is drawn: lines in its titles are separated by newlines."""

    scene: str
    about: str
    titles: list[str]
    cells: list[list[str]]
    good: list[bool]
    """Of each line: whether the solver did all that was asked."""
    notes: list[str]
    words: int = 3
    """Columns from the left that hold words, not numbers."""


def compare_simulations(
    scenes: list[str],
    solvers: list[str],
    options: dict[str, Value],
    assignments: list[str],
    steps: int | None,
    time: float | None,
    time_limit: float,
    by_cpu: bool,
    courses: bool = False,
) -> SceneComparison:
    """Run every solver on every scene, with a progress bar; options of solvers are as those of --set, solver.X.

    courses: whether to keep those of the runs, for plots.
    """
    from stickslip.experiments.scene_comparison import compare_scenes
    from stickslip.scene_files import is_file
    from stickslip.scenes.parameters import parse_assignments
    from stickslip.scenes.registry import SCENES

    for scene in scenes:
        if scene not in SCENES and not is_file(scene):
            raise InputError(f"{scene!r} is no scene, and --simulate takes scenes; see: stickslip list scenes")
    if len(set(scenes)) < len(scenes):
        raise InputError(f"scenes: {' '.join(scenes)} names one twice; give each once")
    settings = parse_assignments(assignments)
    for name, value in options.items():
        if f"solver.{name}" in settings:
            raise InputError(f"option {name} is given twice, also as --set solver.{name}; give it once")
        settings[f"solver.{name}"] = value
    with progress(100) as advance:
        return compare_scenes(
            scenes, solvers, settings, steps, time, time_limit, by_cpu,
            lambda done, total, text: advance(100 * done // total, text), courses,
        )  # fmt: skip


def print_simulations(found: SceneComparison, as_json: bool = False, as_markdown: bool = False) -> None:
    """Print what was found: tables for people, one JSON object, or Markdown."""
    if as_json:
        print_json(found.to_json())
    elif as_markdown:
        print(markdown(found))
    else:
        print_tables(found)


def print_tables(found: SceneComparison) -> None:
    """The tables for people, one a scene."""
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=WIDTH)
    for text in (table_of(found, scene) for scene in found.scenes):
        table = Table(title=f"{text.scene}: {text.about}", title_justify="left", box=box.SIMPLE, padding=(0, 1))
        for number, title in enumerate(text.titles):
            table.add_column(title, justify="left" if number < text.words else "right")
        for line, good in zip(text.cells, text.good, strict=True):
            solver, law, end, *others = map(escape, line)
            table.add_row(solver, law, f"[{'green' if good else 'red'}]{end}[/]", *others)
        console.print(table)
        for note in text.notes:
            console.print(note, markup=False)
        if text.notes:
            console.print()
    console.print(LEGEND)


def markdown(found: SceneComparison) -> str:
    """The tables as Markdown, one a scene."""
    parts = []
    for text in (table_of(found, scene) for scene in found.scenes):
        titles = [title.replace("\n", " ") for title in text.titles]
        rule = [":---" if number < text.words else "---:" for number in range(len(titles))]
        lines = [titles, rule, *text.cells]
        table = "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
        notes = "\n".join(f"{note}  " for note in text.notes)  # two blanks break a line
        parts.append(
            "\n\n".join(
                filter(None, (f"### {text.scene}", f"{text.about[:1].upper()}{text.about[1:]}.", table, notes.rstrip()))
            )
        )
    return "\n\n".join([*parts, LEGEND])


def table_of(found: SceneComparison, scene: str) -> TextTable:
    """The table of one scene: who, how it ended, time, iterations, certificate, metrics."""
    from stickslip.scene_files import entry_of

    rows = found.of_scene(scene)
    names = dict.fromkeys(name for row in rows if row.summary is not None for name in row.summary.metrics)
    metrics = [name for name in names if _title(name) not in CERTIFICATE]
    titles = [
        "solver", "law", "end", "CPU ms\na step" if found.by_cpu else "ms\na step", "iterations\nmean",
        "iterations\nmost", "converged\n%", *CERTIFICATE, *(_title(name) for name in metrics),
    ]  # fmt: skip
    notes: list[str] = []
    cells = [_cells(row, metrics, found.by_cpu, notes) for row in rows]
    about = entry_of(scene).summary
    first = next((row.summary for row in rows if row.summary is not None), None)
    if first is not None:
        about += (
            f"; {first.bodies} bodies, {first.contacts_mean:.0f} contacts on average, "
            f"{rows[0].steps_asked} steps of {1e3 * first.dt:g} ms"
        )
    about += "".join(f", {name}={value}" for name, value in found.settings["scenes"][scene].items())
    numbered = [f"({number}) {note}" for number, note in enumerate(notes, 1)]
    return TextTable(scene, about, titles, cells, [row.solved for row in rows], numbered)


def _cells(row: SceneRow, metrics: list[str], by_cpu: bool, notes: list[str]) -> list[str]:
    """The cells of a line; reasons why a run ended early are added to the notes, each once."""
    end = row.status.replace("-", " ")
    if row.status != "finished":
        if row.steps:
            end += f" after {row.steps}"
        if row.status != "time-limit":
            note = row.note.removeprefix(f"solver {row.solver}: ")
            if note not in notes:
                notes.append(note)
            end += f" ({notes.index(note) + 1})"
    start = [row.solver, row.law, end]
    summary, milliseconds = row.summary, row.time(by_cpu)
    if summary is None:
        return start + ["-"] * (4 + len(CERTIFICATE) + len(metrics))
    return [
        *start,
        "-" if milliseconds is None else f"{milliseconds:.3g}",
        f"{summary.iterations_mean:.1f}",
        str(summary.iterations_max),
        _percent(summary.converged_fraction),
        *(f"{summary.certificate[name]:.1e}" for name in CERTIFICATE.values()),
        *(_metric(summary.metrics.get(name, math.nan)) for name in metrics),
    ]


def _title(metric: str) -> str:
    """The name of a metric as a column's title: its unit on a line of its own."""
    words, _, last = metric.rpartition("_")
    return f"{words.replace('_', ' ')}\n{last}" if words else last


def _percent(share: float) -> str:
    """A share in per cent, rounded down: 100 means all."""
    return f"{math.floor(1000.0 * share) / 10.0:g}"


def _metric(value: float | bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return plain_number(value) if math.isfinite(value) else "-"
