"""Pictures and tables of the sliding boxes of [lee2023]: Table I, Fig. 6 and Fig. 14."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from stickslip.experiments.lee2023.slides import SHOWN, TABLE, Slide, Way
from stickslip.experiments.report import write_table
from stickslip.view.drawing import canvas, save

OURS, THEIRS = "#2166ac", "#b2182b"
LINES = {
    "COND (k_v = 1e5)": ("#b2182b", "-"),
    "Penalty1": ("#4393c3", "-"),
    "Penalty2": ("#053061", "-"),
    "Penalty1 (2ms)": ("#4393c3", ":"),
    "Penalty2 (2ms)": ("#053061", ":"),
}
"""Colour and stroke in Fig. 6."""
COLOURS = ("#1b9e77", "#d95f02", "#7570b3", "#e7298a", "#66a61e")
LEAST = 1e-7
"""[mm] errors below are drawn as this."""


def draw_table(found: Mapping[str, Slide], picture: Path, file: Path) -> None:
    """Table I as bars: errors y and z."""
    figure, axes = canvas(1, 2, 11.0, 3.6)
    place = np.arange(len(found))
    for axis, k, label in zip(axes[0], (1, 2), ("y error [mm]", "z error [mm]"), strict=True):
        axis.barh(place - 0.2, [max(seen.errors[k], LEAST) for seen in found.values()], 0.38, color=OURS, label="here")
        papers = [TABLE[name].paper for name in found]
        theirs = [np.nan if paper is None else paper[k] for paper in papers]
        axis.barh(place + 0.2, theirs, 0.38, color=THEIRS, label="paper")
        axis.set(xscale="log", yticks=place, yticklabels=list(found), xlabel=label)
        axis.invert_yaxis()
        axis.grid(alpha=0.3, axis="x")
    axes[0, 1].set_yticklabels([])
    axes[0, 1].legend(fontsize=8)
    save(figure, picture)
    names = ("x_error_mm", "y_error_mm", "z_error_mm")
    header = ("formulation", *names, *(f"paper_{name}" for name in names), "cpu_us_a_step", "solver_us_a_step")
    lines = [
        (name, *seen.errors, *(TABLE[name].paper or ("", "", "")), 1e6 * seen.cpu, 1e6 * seen.solving)
        for name, seen in found.items()
    ]
    write_table(file, header, lines)


def draw_slide(found: Mapping[str, Slide], picture: Path, file: Path) -> None:
    """Fig. 6 (b): the position of the box over time, and how far it is from the analytic one."""
    figure, axes = canvas(2, 2, 10.5, 6.0, sharex=True)
    for name in SHOWN:
        seen = found[name]
        colour, stroke = LINES[name]
        for k, axis in zip((1, 2), axes[0], strict=True):
            axis.plot(seen.time, 1e3 * seen.moved[:, k], stroke, color=colour, label=name, linewidth=1.2)
        for k, axis in zip((1, 2), axes[1], strict=True):
            axis.semilogy(
                seen.time[1:], np.maximum(1e3 * np.abs(seen.error[1:, k]), LEAST), stroke, color=colour, linewidth=1.2
            )
    nodal = found[SHOWN[0]]
    for k, axis in zip((1, 2), axes[0], strict=True):
        analytic = nodal.moved[:, k] - nodal.error[:, k]
        axis.plot(nodal.time, 1e3 * analytic, "--", color="#1a9850", label="analytic", linewidth=1.8)
    for axis, label in zip(axes[0], ("y [mm]", "z [mm], from the floor"), strict=True):
        axis.set_ylabel(label)
    for axis, label in zip(axes[1], ("|y error| [mm]", "|z error| [mm]"), strict=True):
        axis.set(xlabel="time [s]", ylabel=label)
    for axis in axes.ravel():
        axis.grid(alpha=0.3)
    axes[0, 0].legend(fontsize=7)
    save(figure, picture)
    lines = [
        (name, float(t), *(1e3 * moved).tolist(), *(1e3 * error).tolist())
        for name, seen in found.items()
        for t, moved, error in zip(seen.time, seen.moved, seen.error, strict=True)
    ]
    header = ("formulation", "time_s", "x_mm", "y_mm", "z_mm", "x_error_mm", "y_error_mm", "z_error_mm")
    write_table(file, header, lines)


def draw_ways(found: Mapping[tuple[float, float], Way], picture: Path, file: Path) -> None:
    """Fig. 14 (b): paths of the box, with those of maximal dissipation, and the ellipses of friction."""
    figure, axes = canvas(1, 1, 6.4, 5.4)
    axis = axes[0, 0]
    angle = np.linspace(0.0, 2.0 * np.pi, 100)
    for ((mu_1, mu_2), seen), colour in zip(found.items(), COLOURS, strict=False):
        axis.plot(*seen.path.T, color=colour, label=f"mu = ({mu_1:g}, {mu_2:g})")
        axis.plot(*seen.stepwise[::8].T, "o", color=colour, fillstyle="none", markersize=4)
        axis.plot(*seen.exact.T, ":", color="0.3", linewidth=0.8)
        # friction ellipse where the box stops, at a tenth of a metre for a coefficient of one
        x, y = seen.path[-1]
        axis.plot(x + 0.1 * mu_1 * np.cos(angle), y + 0.1 * mu_2 * np.sin(angle), color=colour, linewidth=0.8)
    axis.plot([], [], "o", color="0.3", fillstyle="none", markersize=4, label="maximal dissipation, same steps")
    axis.plot([], [], ":", color="0.3", label="maximal dissipation, continuous time")
    axis.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    save(figure, picture)
    lines = [
        (mu_1, mu_2, k, *here.tolist(), *there.tolist(), *exact.tolist())
        for (mu_1, mu_2), seen in found.items()
        for k, (here, there, exact) in enumerate(zip(seen.path, seen.stepwise, seen.exact, strict=True))
    ]
    header = ("mu_1", "mu_2", "step", "x_m", "y_m", "mdp_x_m", "mdp_y_m", "continuous_x_m", "continuous_y_m")
    write_table(file, header, lines)
