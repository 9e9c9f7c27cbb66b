"""Pictures and tables of [han2023]."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from stickslip.experiments.han2023 import table
from stickslip.experiments.han2023.beam import LAGGED, POLAR, SHOWN, Beams
from stickslip.experiments.han2023.press import Curve
from stickslip.experiments.han2023.runs import Measured
from stickslip.experiments.han2023.shares import Shares
from stickslip.experiments.report import write_table
from stickslip.experiments.stage_clock import NAMES
from stickslip.scenes.cylinder_press import REFERENCE
from stickslip.view.drawing import canvas, save

OURS, THEIRS = "#2166ac", "#b2182b"
STAGE_COLOURS = ("#66a61e", "#e6ab02", "#7570b3", "#b2182b", "#e7298a", "#a6cee3", "0.75")
MESH_COLOURS = ("#c6dbef", "#9ecae1", "#4292c6", "#08519c")
MARKS = ("s", "^", "o")


def draw_table(found: Mapping[str, Measured], picture: Path, file: Path) -> None:
    """Table I as bars: realtime rates, and constraints."""
    figure, axes = canvas(1, 2, 11.0, 3.6)
    place = np.arange(len(found))
    papers = [table.PAPER[name] for name in found]
    rates = [seen.realtime_rate for seen in found.values()], [line.realtime_rate for line in papers]
    counts = [float(seen.constraints.mean()) for seen in found.values()], [line.mean for line in papers]
    for axis, (ours, theirs), label in zip(
        axes[0], (rates, counts), ("simulated over CPU time", "constraints, mean"), strict=True
    ):
        axis.barh(place - 0.2, ours, 0.38, color=OURS, label="here")
        axis.barh(place + 0.2, theirs, 0.38, color=THEIRS, label="paper")
        axis.set(
            xscale="log",
            yticks=place,
            yticklabels=[table.shown(name, seen) for name, seen in found.items()],
            xlabel=label,
        )
        axis.invert_yaxis()
        axis.grid(alpha=0.3, axis="x")
    axes[0, 1].set_yticklabels([])
    axes[0, 0].legend(fontsize=8)
    save(figure, picture)
    names = ("unknowns", "time_step_s", "realtime_rate", "constraints_mean", "constraints_max")
    write_table(file, ("scene", *names, *(f"paper_{name}" for name in names)), table.table_lines(found))


def draw_shares(found: Shares, picture: Path, file: Path) -> None:
    """Fig. 2: a bar a scene."""
    figure, axes = canvas(1, 1, 9.5, 3.8)
    axis = axes[0, 0]
    left = np.zeros(len(found.scenes))
    for stage, colour in zip(NAMES, STAGE_COLOURS, strict=True):
        share = np.array([100.0 * seen.share(stage) for seen in found.scenes.values()])
        axis.barh(
            [table.shown(name, seen) for name, seen in found.scenes.items()],
            share,
            left=left,
            color=colour,
            label=stage,
        )
        left += share
    axis.invert_yaxis()
    axis.set(xlabel="share of CPU time [%]", xlim=(0, 100))
    figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=8)
    save(figure, picture)
    lines = [
        (name, stage, 1e3 * seen.stages[stage], seen.share(stage))
        for name, seen in found.scenes.items()
        for stage in NAMES
    ]
    write_table(file, ("scene", "stage", "ms_a_step", "share"), lines)


def draw_press(found: Mapping[int, Curve], picture: Path, file: Path) -> None:
    """Fig. 4: force over displacement, with the reference points by source."""
    figure, axes = canvas(1, 1, 6.5, 4.6)
    axis = axes[0, 0]
    for (mesh, curve), colour in zip(found.items(), MESH_COLOURS, strict=False):
        label = f"mesh {mesh}, {curve.summary['unknowns']:.0f} unknowns"
        axis.plot(1e3 * curve.way, 1e-6 * curve.force, color=colour, label=label)
    sources = list(dict.fromkeys(point.source for point in REFERENCE))
    for source, mark in zip(sources, MARKS, strict=False):
        points = [point for point in REFERENCE if point.source == source]
        way, force = [1e3 * p.displacement for p in points], [1e-6 * p.force for p in points]
        short = source.split(":", 1)[0].split(",", 1)[0]
        axis.plot(way, force, mark, color="0.2", fillstyle="none", label=short)
    axis.set(xlabel="displacement [mm]", ylabel="force [MN/m]")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7)
    save(figure, picture)
    lines = [
        (f"mesh {mesh}", float(way), float(force))
        for mesh, curve in found.items()
        for way, force in zip(curve.way, curve.force, strict=True)
    ]
    lines += [(point.source, point.displacement, point.force) for point in REFERENCE]
    write_table(file, ("source", "displacement_m", "force_N_per_m"), lines)


def draw_beams(found: Beams, picture: Path, file: Path) -> None:
    """Fig. 7: both beams from the side, a panel a step."""
    shown = found.steps[:SHOWN]
    figure, axes = canvas(1, len(shown), 11.0, 4.0, sharex=True, sharey=True)
    for axis, dt in zip(axes[0], shown, strict=True):
        for model, colour in ((POLAR, THEIRS), (LAGGED, OURS)):
            x = found.bent[model, dt].x
            a, b, c = (x[found.surface[:, k]] for k in range(3))
            front = found.surface[np.cross(b - a, c - a)[:, 1] < 0.0]
            axis.triplot(x[:, 0], x[:, 2] - 1.0, front, color=colour, linewidth=0.7)
            axis.plot([], [], color=colour, label=model)
        axis.set_title(f"steps of {1e3 * dt:g} ms", fontsize=10)
        axis.set(aspect="equal", xlabel="x [m]")
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("height over the clamp [m]")
    axes[0, -1].legend(fontsize=8)
    save(figure, picture)
    lines = [
        (model, dt, k, *node.tolist()) for (model, dt), beam in found.bent.items() for k, node in enumerate(beam.x)
    ]
    write_table(file, ("model", "step_s", "node", "x_m", "y_m", "z_m"), lines)


def draw_chain(found: Mapping[int, Measured], power: float, picture: Path, file: Path) -> None:
    """Fig. 8: time a step, and constraints, over links."""
    figure, axes = canvas(1, 2, 10.0, 3.8)
    links = np.array(list(found), dtype=float)
    times = np.array([1e3 * seen.seconds for seen in found.values()])
    left, right = axes[0]
    left.loglog(links, times, "o-", color=OURS, label=f"here, exponent {power:.2f}")
    left.loglog(links, times[-1] * links / links[-1], "--", color="0.4", label="linear")
    if 100 in found:
        left.loglog(100, 1e3 * table.PAPER[table.CHAIN].seconds, "s", color=THEIRS, label="paper, Table I")
    left.set(xlabel="links", ylabel="CPU time a step [ms]")
    right.plot(links, [seen.constraints.max() for seen in found.values()], "o-", color=OURS, label="most")
    right.plot(links, [seen.constraints.mean() for seen in found.values()], "o--", color=OURS, label="mean")
    right.set(xlabel="links", ylabel="constraints")
    for axis in (left, right):
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    save(figure, picture)
    header = ("links", "unknowns", "ms_a_step", "constraints_mean", "constraints_max", "iterations_mean")
    write_table(file, header, [(size, *_line(seen)) for size, seen in found.items()])


def draw_torus(found: Mapping[int, Measured], picture: Path, file: Path) -> None:
    """Fig. 9: time a step over unknowns, with linear and quadratic growth."""
    figure, axes = canvas(1, 1, 6.0, 4.2)
    axis = axes[0, 0]
    size = np.array(list(found), dtype=float)
    times = np.array([1e3 * seen.seconds for seen in found.values()])
    axis.loglog(size, times, "o-", color=OURS, label="here")
    axis.loglog(size, times[0] * size / size[0], "--", color="0.4", label="linear")
    axis.loglog(size, times[0] * (size / size[0]) ** 2, ":", color="0.4", label="quadratic")
    paper = table.PAPER[table.TORUS]
    axis.loglog(paper.dofs, 1e3 * paper.seconds, "s", color=THEIRS, label="paper, Table I")
    axis.set(xlabel="unknowns", ylabel="CPU time a step [ms]")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    save(figure, picture)
    header = ("size", "unknowns", "ms_a_step", "constraints_mean", "constraints_max", "iterations_mean")
    write_table(file, header, [(number, *_line(seen)) for number, seen in found.items()])


def _line(seen: Measured) -> tuple[object, ...]:
    return (
        seen.dofs, 1e3 * seen.seconds, float(seen.constraints.mean()), int(seen.constraints.max()),
        float(seen.iterations.mean()),
    )  # fmt: skip
