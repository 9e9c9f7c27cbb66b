"""Plots of runs: one function a plot, each for one course or for those of several solvers.

A plot of one course shows what is in it (all energies, all stages); a plot of several shows one line or bar a solver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.view.course import FLOWS, STAGES, Course
from stickslip.view.drawing import COLOURS, FAILED, canvas, style

MOST_POINTS = 2000
"""Points of a line at most."""
MOST_MARKS = 200
"""Marks of steps that did not converge at most, on all lines together."""
ROUNDING = 1e-17
"""Relative errors below it are drawn as it: double precision knows no smaller ones."""
LEAST_LENGTH = 1e-6
"""[mm] the same of overlaps."""
LEAST_FORCE = 1e-9
"""[N] forces below it are drawn as it, so that zeros have a place on a logarithmic axis."""
USUAL = 0.98
"""Share of steps whose times fit onto the axis by all means: the first one may compile, and dwarfs the others."""
SEEN = 0.01
"""Share of another line's height from which a line is more than the axis itself."""
DECADES = 1e6
"""Span that a logarithmic axis has at least, so that rounding looks as small as it is."""
WIDTH, HEIGHT = 5.2, 2.75
"""[inch] of one plot."""
SMALL = 8.0
"""[pt] size of letters."""


class Plot(NamedTuple):
    """A plot by name."""

    name: str
    title: str
    about: str
    """What it shows, in one sentence."""
    draw: Callable[[Any, Sequence[Course]], None]
    """Draws onto axes of Matplotlib."""


def thinned(time: Array, values: Array, most: int = MOST_POINTS) -> tuple[Array, Array]:
    """At most about ``most`` of the points (n,), among them the smallest and the largest of every stretch."""
    if len(time) <= most:
        return time, values
    starts = np.linspace(0, len(time), most // 2 + 1).astype(int)[:-1]
    kept = [0, len(time) - 1]
    for first, last in zip(starts, [*starts[1:], len(time)], strict=True):
        part = values[first:last]
        for missing, pick in ((np.inf, np.argmin), (-np.inf, np.argmax)):
            kept.append(first + int(pick(np.where(np.isnan(part), missing, part))))
    chosen = np.unique(kept)
    return time[chosen], values[chosen]


# ---- certificate -----------------------------------------------------------------------------------------------------


def draw_residual(axis: Any, courses: Sequence[Course]) -> None:
    """Residual of the exact law over time, logarithmic, with the solver's tolerance where there is one course."""
    _lines(axis, courses, lambda course: course.natural_residual, ROUNDING, marks=True)
    tolerance = courses[0].tolerance if len(courses) == 1 else None
    if tolerance and axis.get_yscale() == "log":
        axis.axhline(tolerance, color="0.45", linewidth=0.9, linestyle="--", label="tolerance of the solver")
        low, high = axis.get_ylim()
        axis.set_ylim(min(low, 0.3 * tolerance), max(high, 3.0 * tolerance))
        _legend(axis)
    axis.set_ylabel("law residual [1]")


def draw_momentum(axis: Any, courses: Sequence[Course]) -> None:
    """Share of momentum created or lost over time, logarithmic."""
    _lines(axis, courses, lambda course: course.momentum_relative, ROUNDING)
    axis.set_ylabel("momentum error [1]")


def draw_overlap(axis: Any, courses: Sequence[Course]) -> None:
    """Deepest overlap [mm] over time, of several courses logarithmic; of one also the gap across which contacts act."""
    alone = len(courses) == 1
    _lines(axis, courses, lambda course: 1e3 * course.penetration, None if alone else LEAST_LENGTH)
    if alone and len(courses[0]):
        gap = np.nan_to_num(courses[0].gliding_gap)
        if gap.max() > SEEN * courses[0].penetration.max(initial=1e-9):
            axis.lines[0].set_label("overlap")
            axis.plot(*thinned(courses[0].time, 1e3 * gap), label="gliding gap", **style(1), linewidth=1.0)
            _legend(axis)
    if alone:
        _from_zero(axis)
    axis.set_ylabel("deepest overlap [mm]")


def draw_cone(axis: Any, courses: Sequence[Course]) -> None:
    """Largest friction force outside its cone [N] over time, logarithmic."""
    _lines(axis, courses, lambda course: course.cone_violation, LEAST_FORCE)
    axis.set_ylabel("outside the cone [N]")


# ---- effort ----------------------------------------------------------------------------------------------------------


def draw_iterations(axis: Any, courses: Sequence[Course]) -> None:
    """Iterations of the solver over time, of several logarithmic; steps that did not converge are marked."""
    alone = len(courses) == 1
    _lines(axis, courses, lambda course: course.iterations.astype(np.float64), None if alone else 0.5, marks=True)
    if alone:
        _from_zero(axis)
    axis.set_ylabel("iterations [1]")


def draw_contacts(axis: Any, courses: Sequence[Course]) -> None:
    """Number of contacts over time."""
    _lines(axis, courses, lambda course: course.contacts.astype(np.float64))
    _from_zero(axis)
    axis.set_ylabel("contacts [1]")


def draw_stages(axis: Any, courses: Sequence[Course]) -> None:
    """Time per stage [ms]: of one course stacked over time, of several that of a usual step as bars."""
    if len(courses) == 1:
        _stacked_stages(axis, courses[0])
    else:
        _stage_bars(axis, courses)


def usual_stages(course: Course) -> dict[str, float]:
    """Time [s] of each stage in a usual step: means over the middle half of the warm steps by their time.

    So stages add up to about the median of a step, and steps that compiled or waited for others do not count.
    """
    if not len(course):
        return {}
    warm = np.flatnonzero(course.warm)
    rest = (len(warm) + 1) // 4
    usual = warm[np.argsort(course.step_seconds[warm], kind="stable")][rest : len(warm) - rest]
    return {name: float(np.nan_to_num(values[usual]).mean()) for name, values in course.timings.items()}


def _stacked_stages(axis: Any, course: Course) -> None:
    total = 1e3 * course.step_seconds
    if not course.timings or not len(total):
        _say(axis, "no times recorded")
        return
    # the slowest step of every stretch with its own stages, so that what is stacked belongs together
    edges = np.linspace(0, len(total), min(len(total), MOST_POINTS) + 1).astype(int)
    chosen = [first + int(total[first:last].argmax()) for first, last in zip(edges[:-1], edges[1:], strict=True)]
    names = [name for name in STAGES if _some(course.timings.get(name, np.zeros(0)), SEEN * 1e-3 * float(total.mean()))]
    layers = [1e3 * np.nan_to_num(course.timings[name][chosen]) for name in names]
    colours = [COLOURS[STAGES.index(name) % len(COLOURS)] for name in names]
    axis.stackplot(course.time[chosen], layers, labels=names, colors=colours, linewidth=0.0, rasterized=False)
    usual, most = float(np.quantile(total, USUAL)), float(total.max())
    if most > 3.0 * usual > 0.0:
        axis.set_ylim(0.0, 1.6 * usual)
        axis.set_title(_cut_off_words(course), fontsize=SMALL, loc="right", color="0.35")
    axis.margins(x=0.0)
    axis.set_xlabel("time [s]")
    axis.set_ylabel("time of a step [ms]")
    _legend(axis, columns=3)


def _cut_off_words(course: Course) -> str:
    """How long the slowest step took, and when, with the usual reason where it may be that."""
    worst = int(course.step_seconds.argmax())
    took = float(course.step_seconds[worst])
    words = f"cut off: {1e3 * took:.3g} ms" if took < 1.0 else f"cut off: {took:.3g} s"
    why = " (kernels were compiled or loaded)" if course.loaded[worst] else ""
    if not why and worst == 0:
        why = " (the first: kernels may have been compiled)"
    return f"{words} at t = {course.time[worst]:.3g} s{why}"


def _stage_bars(axis: Any, courses: Sequence[Course]) -> None:
    places = np.arange(len(courses))
    left = np.zeros(len(courses))
    usual = [usual_stages(course) for course in courses]
    for number, name in enumerate(STAGES):
        widths = np.array([1e3 * found.get(name, 0.0) for found in usual])
        axis.barh(places, widths, left=left, color=COLOURS[number % len(COLOURS)], label=name, height=0.7)
        left += widths
    for place, total in zip(places, left, strict=True):
        axis.annotate(f" {total:.3g}", (total, place), va="center", fontsize=SMALL - 1.0)
    axis.set_yticks(places, [course.label for course in courses])
    axis.invert_yaxis()
    axis.set_xlim(0.0, 1.15 * max(float(left.max(initial=0.0)), 1e-6))
    axis.set_xlabel("time of a usual step [ms]")
    axis.legend(fontsize=SMALL - 1.0, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, handlelength=1.0)


# ---- energy ----------------------------------------------------------------------------------------------------------


def draw_energies(axis: Any, courses: Sequence[Course]) -> None:
    """Energies [J] of one course; of several what their mechanical energy changed by since the start."""
    if len(courses) == 1:
        course = courses[0]
        for number, name in enumerate(("kinetic", "potential", "elastic")):
            values = course.energy[name] - (course.energy[name][0] if name == "potential" and len(course) else 0.0)
            if name != "elastic" or _some(values):
                words = "potential, since the first frame" if name == "potential" else name
                axis.plot(*thinned(course.time, values), label=words, linewidth=1.3, **style(number))
        _legend(axis)
        axis.set_ylabel("energy [J]")
    else:
        _lines(axis, courses, lambda course: sum(sign * course.cumulated(name) for name, sign in FLOWS.items()))
        axis.set_ylabel("change of energy [J]")
    axis.set_xlabel("time [s]")


def draw_ledger(axis: Any, courses: Sequence[Course]) -> None:
    """Where energy came from and went [J]: of one course cumulated over time, of several in the whole run."""
    if len(courses) == 1:
        course = courses[0]
        flows = {name: sign * course.cumulated(name) for name, sign in FLOWS.items()}
        shown = {name: values for name, values in flows.items() if _some(values)}
        for name, values in shown.items():
            number = list(FLOWS).index(name)
            axis.plot(*thinned(course.time, values), label=name, linewidth=1.3, **style(number))
        if not shown:
            _say(axis, "no energy came or went")
        _legend(axis)
        axis.axhline(0.0, color="0.6", linewidth=0.6)
        axis.set_xlabel("time [s]")
        axis.set_ylabel("given (+), taken (-) [J]")
        if course.sparse:
            axis.set_title("estimate: frames stand for steps left out", fontsize=SMALL, loc="right", color="0.35")
        return
    width = 0.84 / len(courses)
    for number, course in enumerate(courses):
        totals = [sign * float(course.cumulated(name)[-1]) if len(course) else 0.0 for name, sign in FLOWS.items()]
        places = np.arange(len(FLOWS)) + (number - 0.5 * (len(courses) - 1)) * width
        hatch = ("", "//", "\\\\", "xx")[number // len(COLOURS) % 4]
        axis.bar(places, totals, width, color=COLOURS[number % len(COLOURS)], hatch=hatch, edgecolor="white",
                 linewidth=0.2, label=course.label)  # fmt: skip
    axis.axhline(0.0, color="0.6", linewidth=0.6)
    axis.set_xticks(np.arange(len(FLOWS)), list(FLOWS))
    axis.set_ylabel("given (+), taken (-) [J]")


PLOTS = (
    Plot("residual", "Contact law", "Residual of the exact law (natural map, scaled).", draw_residual),
    Plot("momentum", "Momentum", "Share of momentum that a step created or lost.", draw_momentum),
    Plot("overlap", "Overlap", "Deepest overlap of two bodies.", draw_overlap),
    Plot("cone", "Friction", "Largest friction force outside its cone; the lowest line is zero.", draw_cone),
    Plot("iterations", "Iterations", "Iterations of the solver in each step.", draw_iterations),
    Plot("contacts", "Contacts", "Number of contacts in each step.", draw_contacts),
    Plot("stages", "Time split", "Time of a step by its stages.", draw_stages),
    Plot("energies", "Energy", "Mechanical energy.", draw_energies),
    Plot("ledger", "Energy ledger", "What changed the energy, summed up since the start.", draw_ledger),
)
"""All plots of a run, in the order in which they are shown."""


def run_figure(plot: Plot, courses: Sequence[Course], title: bool = False) -> Any:
    """One plot as a figure of its own, with a legend in it where several courses are few."""
    figure, axes = _small_letters(lambda: canvas(1, 1, WIDTH, HEIGHT))
    _draw(plot, axes[0, 0], courses, title)
    return figure


def legend_figure(courses: Sequence[Course], width: float = 2.0 * WIDTH) -> Any:
    """Which line is whose, as a figure of its own."""
    columns = max(1, min(len(courses), int(width / 1.7)))
    figure, axes = _small_letters(lambda: canvas(1, 1, width, 0.3 + 0.22 * -(-len(courses) // columns)))
    axes[0, 0].axis("off")
    axes[0, 0].legend(handles=_handles(courses), ncols=columns, loc="center", frameon=False, fontsize=SMALL + 1.0)
    return figure


def comparison_figure(scenes: Mapping[str, Sequence[Course]], columns: int = 3) -> Any:
    """All plots of several solvers, scene below scene; the courses of each scene by the scene's title."""
    from matplotlib.figure import Figure

    rows = -(-len(PLOTS) // columns)
    figure = Figure(figsize=(columns * WIDTH, len(scenes) * (rows * HEIGHT + 0.8)), layout="constrained")
    parts = figure.subfigures(len(scenes), 1, squeeze=False)[:, 0]
    for part, (title, courses) in zip(parts, scenes.items(), strict=True):
        axes = _small_letters(lambda part=part: part.subplots(rows, columns, squeeze=False)).ravel()  # type: ignore[misc]
        part.suptitle(title, fontsize=SMALL + 4.0, fontweight="bold")
        for axis, plot in zip(axes, PLOTS, strict=False):
            _draw(plot, axis, courses, True)
        for axis in axes[len(PLOTS) :]:
            axis.axis("off")
        part.legend(handles=_handles(courses), loc="outside lower center", ncols=min(8, len(courses)), frameon=False)
    return figure


# ---- what plots share ------------------------------------------------------------------------------------------------


def _draw(plot: Plot, axis: Any, courses: Sequence[Course], title: bool) -> None:
    plot.draw(axis, courses)
    for line in axis.lines:
        if len(line.get_xdata()) == 1 and line.get_marker() == "None":  # a line of one point would not be seen
            line.set_marker("o")
            line.set_markersize(4.0)
    if title:
        axis.set_title(plot.title, fontsize=SMALL + 1.5, loc="left", fontweight="bold")
    axis.grid(alpha=0.3, linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def _small_letters(make: Callable[[], Any]) -> Any:
    """What ``make`` makes, with letters that can be read beside a text."""
    from matplotlib import rc_context

    names = ("axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize")
    with rc_context(dict.fromkeys(names, SMALL)):
        return make()


def _lines(
    axis: Any,
    courses: Sequence[Course],
    values: Callable[[Course], Any],
    floor: float | None = None,
    marks: bool = False,
) -> None:
    """A line a course; with a floor on a logarithmic axis, where smaller values are drawn as it."""
    shown = False
    for number, course in enumerate(courses):
        heights = np.asarray(values(course), dtype=np.float64)
        shown |= _some(heights, floor or 0.0)
        if floor is not None:
            heights = np.maximum(heights, floor)
        line = style(number)
        alone = len(courses) == 1
        # later lines are thinner, so that lines below them are seen where they agree
        width = 1.2 + 1.6 * (len(courses) - 1 - number) / len(courses)
        axis.plot(*thinned(course.time, heights), linewidth=width, **line)
        failed = np.flatnonzero(~course.converged) if marks else np.zeros(0, dtype=np.int64)
        if len(failed):
            chosen = failed[np.unique(np.linspace(0, len(failed) - 1, MOST_MARKS // len(courses)).astype(int))]
            axis.plot(
                course.time[chosen], heights[chosen], "x", markersize=4.0, markeredgewidth=1.0, zorder=3,
                color=FAILED if alone else line["color"], label="did not converge" if alone else None,
            )  # fmt: skip
            _legend(axis)
    if floor is not None and shown:
        axis.set_yscale("log")
        axis.minorticks_off()
        low, high = axis.get_ylim()
        axis.set_ylim(max(low, 0.3 * floor), max(high, DECADES * floor if floor < 1e-6 else high))
    if not shown:
        _say(axis, "zero in every step" if any(len(course) for course in courses) else "no steps")
        axis.set_ylim(0.0, 1.0)
        axis.set_yticks([0.0])
    axis.margins(x=0.01)
    axis.set_xlabel("time [s]")


def _from_zero(axis: Any) -> None:
    """An axis that begins at zero and leaves some room above the highest line."""
    top = max((float(np.nanmax(line.get_ydata(), initial=0.0)) for line in axis.lines), default=0.0)
    axis.set_ylim(0.0, 1.08 * top if top > 0.0 else 1.0)


def _some(values: Array, floor: float = 0.0) -> bool:
    """Whether any value is a number above the floor, up or down."""
    return bool((np.abs(np.nan_to_num(values, nan=0.0)) > floor).any())


def _say(axis: Any, text: str) -> None:
    """Words in the middle of an empty plot."""
    axis.text(0.5, 0.5, text, transform=axis.transAxes, ha="center", va="center", fontsize=SMALL + 1.0, color="0.35")


def _legend(axis: Any, columns: int = 1) -> None:
    """A legend inside the plot, for the lines that have a label."""
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize=SMALL - 0.5, ncols=columns, framealpha=0.8, borderpad=0.3, handlelength=1.6)


def _handles(courses: Sequence[Course]) -> list[Any]:
    """Entries of a legend, one a course."""
    from matplotlib.lines import Line2D

    handles = []
    for number, course in enumerate(courses):
        given: dict[str, Any] = {"label": course.label, "linewidth": 2.0, **style(number)}
        handles.append(Line2D([], [], **given))
    if any(not course.converged.all() for course in courses):
        handles.append(Line2D([], [], color="0.3", marker="x", linestyle="", label="did not converge"))
    return handles
