"""Pictures and tables of [lee2023]: Tables II to IX, Fig. 11 and 13."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.experiments.lee2023 import growth, tables, variants
from stickslip.experiments.lee2023.cable import Table8
from stickslip.experiments.lee2023.inverse import Forces
from stickslip.experiments.lee2023.trials import Trials
from stickslip.experiments.report import write_table
from stickslip.view.drawing import canvas, save

OURS, THEIRS = "#2166ac", "#b2182b"
COLOURS = {"COND": "#b2182b", "PGS": "#2166ac", "APGD": "#1b9e77", "PBD": "#7570b3", "CCS": "#e6ab02"}
AXES = "xyz"


def draw_comparison(experiment: str, found: Mapping[str, Trials], picture: Path, file: Path) -> None:
    """Tables II, III, V and VI as bars: solver time, iterations, penetration."""
    table = tables.COMPARISONS[experiment]
    figure, axes = canvas(1, 3, 11.0, 2.8)
    for axis, (column, unit) in zip(axes[0], ((tables.ST, "ms"), (tables.IN, ""), (tables.MP, "mm")), strict=True):
        ours = [tables.value(column, unit, seen) for seen in found.values()]
        theirs = [table.paper.get(name, {}).get(column, np.nan) for name in found]
        _bars(axis, list(found), ours, theirs, f"{column} [{unit}]" if unit else "iterations")
    axes[0, 0].legend(fontsize=8)
    figure.suptitle(f"{table.title}, to {table.threshold:g} m/s", fontsize=10)
    save(figure, picture)
    write_table(file, *tables.table_lines(experiment, found))


def draw_stiffness(found: Mapping[str, Mapping[str, Trials]], picture: Path, file: Path) -> None:
    """Table IV: iterations over Young's modulus."""
    figure, axes = canvas(1, 1, 6.0, 4.0)
    axis, lines = axes[0, 0], []
    young = list(variants.STIFFNESS.values())
    for name, balls in found.items():
        ours = [tables.value(tables.IN, "", seen) for seen in balls.values()]
        axis.loglog(young, ours, "o-", color=COLOURS[name], label=f"{name}, here")
        axis.loglog(young, variants.STIFFNESS_PAPER[name], "s--", color=COLOURS[name], label=f"{name}, paper")
        lines += list(zip([name] * 3, young, ours, variants.STIFFNESS_PAPER[name], strict=True))
    axis.set(xlabel="Young's modulus [Pa]", ylabel="iterations")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    save(figure, picture)
    write_table(file, ("solver", "young_Pa", "iterations", "paper_iterations"), lines)


def draw_splitting(found: Mapping[str, Trials], picture: Path, file: Path) -> None:
    """Table VII as bars."""
    figure, axes = canvas(1, 3, 11.0, 2.8)
    columns = ((tables.ST, "ms"), (tables.IE, "mN"), (tables.MP, "mm"))
    for axis, (column, unit) in zip(axes[0], columns, strict=True):
        ours = [tables.value(column, unit, seen) for seen in found.values()]
        theirs = [variants.SPLITTING_PAPER[name][column] for name in found]
        _bars(axis, list(found), ours, theirs, f"{column} [{unit}]")
    axes[0, 0].legend(fontsize=8)
    save(figure, picture)
    lines = [
        (name, *(tables.value(column, unit, seen) for column, unit in columns),
         *(variants.SPLITTING_PAPER[name][column] for column, _ in columns))
        for name, seen in found.items()
    ]  # fmt: skip
    write_table(file, ("solver", "ST_ms", "IE_mN", "MP_mm", "paper_ST_ms", "paper_IE_mN", "paper_MP_mm"), lines)


def draw_cable(found: Table8, picture: Path, file: Path) -> None:
    """Table VIII and Fig. 12: force on the hand over time; the sensor's curves are the paper's alone."""
    figure, axes = canvas(1, 3, 11.5, 3.2)
    curves = {"converged": found.reference_N, **{line.name: line.force_N for line in found.lines}}
    for k, axis in enumerate(axes[0]):
        for name, force in curves.items():
            colour = COLOURS.get(name.split(" ", 1)[0], "0.2")
            stroke = "-" if "(200)" in name or name == "converged" else ":"
            axis.plot(0.01 * np.arange(1, len(force) + 1), force[:, k], stroke, color=colour, label=name, linewidth=1.0)
        axis.set(xlabel="time [s]", ylabel=f"force on the hand, {AXES[k]} [N]")
        axis.grid(alpha=0.3)
    axes[0, 0].legend(fontsize=7)
    save(figure, picture)
    lines = [
        (line.name, line.penetration_mm, line.force_error_N, line.total_ms, line.paper.penetration_mm,
         line.paper.force_error_N, line.paper.total_ms)
        for line in found.lines
    ]  # fmt: skip
    names = ("MP_mm", "FE_N", "TT_ms")
    write_table(file, ("solver", *names, *(f"paper_{name}" for name in names)), lines)


def draw_chebyshev(found: Mapping[str, Mapping[str, Trials]], picture: Path, file: Path) -> None:
    """Table IX as bars."""
    figure, axes = canvas(1, 2, 9.0, 3.0, sharex=True)
    titles = [tables.COMPARISONS[name].title for name in found]
    lines = []
    for axis, how, place in zip(axes[0], (variants.WITHOUT, variants.WITH), (0, 1), strict=True):
        ours = [tables.value(tables.IN, "", both[how]) for both in found.values()]
        theirs = [variants.CHEBYSHEV_PAPER[name][place] for name in found]
        _bars(axis, titles, ours, theirs, f"iterations {how} Chebyshev")
        lines += list(zip(titles, [how] * len(titles), ours, theirs, strict=True))
    axes[0, 0].legend(fontsize=8)
    save(figure, picture)
    write_table(file, ("scene", "chebyshev", "iterations", "paper_iterations"), lines)


def draw_growth(found: growth.Growth, picture: Path, file: Path) -> None:
    """Fig. 11: solver time over unknowns, with fitted powers."""
    figure, axes = canvas(1, 1, 6.2, 4.4)
    axis, lines = axes[0, 0], []
    for name, sizes in found.items():
        x, power = np.array(list(sizes), dtype=float), growth.exponent(sizes)
        y = np.array([growth.milliseconds(seen) for seen in sizes.values()])
        label = f"{name}, exponent {power:.2f} (paper {growth.PAPER[name]:g})"
        axis.loglog(x, y, "o", color=COLOURS[name], label=label)
        level = np.exp(np.mean(np.log(y) - power * np.log(x)))
        axis.loglog(x, level * x**power, "-", color=COLOURS[name], linewidth=0.9)
        lines += [
            (name, unknowns, growth.milliseconds(seen), tables.value(tables.IN, "", seen))
            for unknowns, seen in sizes.items()
        ]
    axis.set(xlabel="unknowns", ylabel="solver time [ms]")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    save(figure, picture)
    write_table(file, ("solver", "unknowns", "ST_ms", "iterations"), lines)


def draw_forces(found: Mapping[str, Forces], picture: Path, file: Path) -> None:
    """Fig. 13: forces forward and inverse on the left, of the strict operator on the right."""
    figure, axes = canvas(len(found), 2, 10.0, 2.8 * len(found), sharex="row")
    lines: list[tuple[object, ...]] = []
    for (left, right), (scene, seen) in zip(axes, found.items(), strict=True):
        t = seen.dt * np.arange(1, len(seen.forward) + 1)
        left.plot(t, seen.forward, color=OURS, label="forward")
        left.plot(t, seen.inverse, "--", color=THEIRS, label="inverse")
        right.plot(t, seen.strict, color=OURS, label="strict")
        left.set(ylabel=f"{scene}: contact force [N]", xlabel="time [s]")
        right.set(xlabel="time [s]")
        for axis in (left, right):
            axis.grid(alpha=0.3)
            axis.legend(fontsize=8)
        lines += [(scene, *map(float, each)) for each in zip(t, seen.forward, seen.inverse, seen.strict, strict=True)]
    save(figure, picture)
    write_table(file, ("scene", "time_s", "forward_N", "inverse_N", "strict_N"), lines)


def _bars(axis: Any, names: Sequence[str], ours: Sequence[float], theirs: Sequence[float], label: str) -> None:
    place = np.arange(len(names))
    axis.barh(place - 0.2, ours, 0.38, color=OURS, label="here")
    axis.barh(place + 0.2, theirs, 0.38, color=THEIRS, label="paper")
    positive = [value for value in (*ours, *theirs) if value > 0.0]
    if positive:  # whole decades, so that their marks suffice
        low, high = np.floor(np.log10(0.9 * min(positive))), np.ceil(np.log10(1.1 * max(positive)))
        axis.set(xscale="log", xlim=(10.0**low, 10.0**high))
        axis.xaxis.set_minor_formatter("")
    axis.set(yticks=place, yticklabels=names, xlabel=label)
    axis.invert_yaxis()
    axis.grid(alpha=0.3, axis="x")
