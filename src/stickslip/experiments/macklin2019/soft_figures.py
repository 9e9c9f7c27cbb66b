"""Pictures and tables of [macklin2019] about soft bodies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.experiments.macklin2019.courses import CONVERGED
from stickslip.experiments.macklin2019.extension import Pull
from stickslip.experiments.macklin2019.sheet import SETTINGS, Look, hard_look
from stickslip.experiments.report import write_table
from stickslip.view.drawing import canvas, save

COLOURS = {True: "#2166ac", False: "#b2182b"}
MODEL_COLOURS = {"corotational": "#b2182b", "neo-hookean": "#2166ac"}
SHOWN = 12
"""Iterates that are drawn on the merit function."""
LARGEST = 1e6
"""[m/s] merit from which on iterates are not drawn."""


def draw_sheet(found: Mapping[str, list[Look]], picture: Path, table: Path) -> None:
    """Fig. 12: the merit function with iterates, its course, and residuals by stretch; a row a sheet."""
    figure, axes = canvas(len(found), 3, 13.0, 3.5 * len(found))
    lines = []
    for (left, middle, right), (name, looks) in zip(axes, found.items(), strict=True):
        hard = hard_look(looks)
        _draw_line(left, hard)
        left.set_title(f"{name}: stretch {hard.stretch:.2f}", fontsize=10)
        for setting, word in SETTINGS.items():
            label = f"{word} geometric stiffness"
            values = np.minimum(hard.traces[setting].merit, LARGEST)
            middle.semilogy(values, color=COLOURS[setting], label=label, linewidth=1.3)
            last = [look.traces[setting].residual.min() for look in looks]
            right.semilogy([look.stretch for look in looks], last, "o-", color=COLOURS[setting], markersize=4)
            lines += [
                (name, label, look.stretch, k, float(residual), float(merit))
                for look in looks
                for k, (residual, merit) in enumerate(
                    zip(look.traces[setting].residual, look.traces[setting].merit, strict=True)
                )
            ]
        middle.set(xlabel="Newton iteration", ylabel="merit [m/s]")
        right.axhline(CONVERGED, color="0.4", linestyle="--", linewidth=0.9)
        right.set(xlabel="stretch", ylabel="least scaled residual")
        for axis in (left, middle, right):
            axis.grid(alpha=0.3)
            axis.minorticks_off()
    axes[0, 1].legend(fontsize=8)
    save(figure, picture)
    header = ("sheet", "case", "stretch", "iteration", "scaled_residual", "merit_m_per_s")
    write_table(table, header, lines)


def _draw_line(axis: Any, look: Look) -> None:
    """The merit function along the line on which iterates overshoot, and the first iterates by their place on it."""
    shown = {}
    for setting in SETTINGS:
        place, values = look.along(setting)[1 : SHOWN + 1], look.traces[setting].merit[1 : SHOWN + 1]
        shown[setting] = place[values < LARGEST], values[values < LARGEST]
    reach = 1.15 * max(float(np.abs(place).max(initial=0.0)) for place, _ in shown.values())
    where = np.linspace(-reach, reach, 121)
    axis.semilogy(where, look.merit_at(where), color="0.5", linewidth=1.0, label="merit on the line")
    for setting, (place, values) in shown.items():
        axis.semilogy(place, values, "o:", color=COLOURS[setting], markersize=3.5, linewidth=0.8)
    axis.set(xlabel="distance from the solution [m/s]", ylabel="merit [m/s]")


def draw_extension(found: Mapping[str, Pull], picture: Path, table: Path) -> None:
    """Fig. 13: volume over stretch, and the bars at the end coloured by volumetric strain."""
    figure, axes = canvas(1, 2, 12.0, 4.2, width_ratios=(1.0, 1.3))
    axis = axes[0, 0]
    lines = []
    for model, pull in found.items():
        axis.plot(pull.stretch, pull.volume, color=MODEL_COLOURS[model], label=model)
        axis.plot(pull.stretch, pull.uniform, ":", color=MODEL_COLOURS[model], label=f"{model}, long bar, free ends")
        lines += [
            (model, float(s), float(v), float(u))
            for s, v, u in zip(pull.stretch, pull.volume, pull.uniform, strict=True)
        ]
    axis.axhline(1.0, color="0.4", linewidth=0.6)
    axis.set(xlabel="stretch", ylabel="volume over that at rest", ylim=(0.0, None))
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    bars = axes[0, 1]
    top = 0.0
    for model, pull in reversed(list(found.items())):
        front, strain = _front(pull)
        x, z = pull.x[:, 0], pull.x[:, 2] - pull.x[:, 2].min() + top
        drawn = bars.tripcolor(
            x, z, front, strain, cmap="RdBu", vmin=-1.0, vmax=1.0, shading="gouraud", rasterized=True
        )  # fmt: skip
        bars.triplot(x, z, front, color="0.2", linewidth=0.3)
        bars.text(x.min(), z.max() + 0.01, model, fontsize=9)
        top = float(z.max()) + 0.06
    bars.set_aspect("equal")
    bars.set(xlabel="x [m]", yticks=[], ylim=(-0.02, top))
    figure.colorbar(drawn, ax=bars, orientation="horizontal", shrink=0.7, label="volume over that at rest, minus 1")
    save(figure, picture)
    write_table(table, ("model", "stretch", "volume_ratio", "volume_ratio_of_long_bar_with_free_ends"), lines)


def _front(pull: Pull) -> tuple[Any, Any]:
    """Surface triangles (m, 3) that face a viewer on the -y side, and the volumetric strain (nn,) of the nodes."""
    total, count = np.zeros(len(pull.x)), np.zeros(len(pull.x))
    np.add.at(total, pull.tets.ravel(), np.repeat(pull.element - 1.0, 4))
    np.add.at(count, pull.tets.ravel(), 1.0)
    a, b, c = (pull.x[pull.surface[:, k]] for k in range(3))
    return pull.surface[np.cross(b - a, c - a)[:, 1] < 0.0], total / np.maximum(count, 1.0)
