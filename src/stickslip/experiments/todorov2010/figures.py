"""Pictures and tables of [todorov2010] from our runs: Table 1 as curves, and Fig. 6."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from stickslip.experiments.report import write_table
from stickslip.experiments.todorov2010.drop import Drop
from stickslip.experiments.todorov2010.table import BALLS, FRICTIONS, PAPER, PAPER_CONTACTS, Cells
from stickslip.view.drawing import canvas, save

COLOURS = {5: "#1b7837", 10: "#2166ac", 15: "#b2182b"}


def draw_cells(cells: Cells, picture: Path, table: Path, cold: bool) -> None:
    """Iterations and Newton points of every cell against friction, ours with standard errors, the paper's dashed."""
    figure, axes = canvas(1, 2, 9.5, 3.8)
    for balls in BALLS:
        own = [cells[mu, balls] for mu in FRICTIONS]
        paper = [PAPER[mu, balls] for mu in FRICTIONS]
        for axis, ours, errors, theirs in (
            (axes[0, 0], [cell.iterations for cell in own], [cell.iterations_error for cell in own],
             [cell[0] for cell in paper]),
            (axes[0, 1], [cell.newton for cell in own], [cell.newton_error for cell in own],
             [cell[1] for cell in paper]),
        ):  # fmt: skip
            axis.errorbar(FRICTIONS, ours, errors, fmt="o-", capsize=3, color=COLOURS[balls], label=f"{balls} balls")
            label = f"{balls} balls, the paper's{'' if cold else ' cold starts'}"
            axis.plot(FRICTIONS, theirs, "x--", color=COLOURS[balls], alpha=0.6, label=label)
    axes[0, 0].set(xlabel="coefficient of friction", ylabel="iterations a step", ylim=(0.0, None))
    axes[0, 1].set(xlabel="coefficient of friction", ylabel="iterations that accept the Newton point [%]")
    axes[0, 1].set_ylim(0.0, 103.0)
    axes[0, 0].legend(fontsize=8)
    for axis in axes[0]:
        axis.grid(alpha=0.3)
    save(figure, picture)
    header = (
        "friction", "balls", "contacts_paper", "contacts_mean", "iterations_paper", "iterations",
        "newton_percent_paper", "newton_percent", "iterations_error", "newton_percent_error", "iterations_most",
        "steps", "steps_not_converged", "residual_worst",
        "steps_stalled", "searched_points", "edge_points", "recoveries", "sweeps", "solver_seconds_median",
    )  # fmt: skip
    lines = [
        (mu, balls, PAPER_CONTACTS[balls], cell.contacts, PAPER[mu, balls][0] if cold else "", cell.iterations,
         PAPER[mu, balls][1] if cold else "", cell.newton,
         cell.iterations_error, cell.newton_error, cell.most, cell.steps, cell.failed, cell.residual,
         cell.stalled, cell.searched, cell.on_edge, cell.recoveries, cell.sweeps, cell.seconds)
        for (mu, balls), cell in cells.items()
    ]  # fmt: skip
    write_table(table, header, lines)


def draw_drop(drop: Drop, picture: Path, table: Path) -> None:
    """Fig. 6B: heights of the balls over time, and where the shock is."""
    figure, axes = canvas(1, 2, 9.5, 3.8)
    at = float(drop.time[drop.shock])
    for i in range(drop.height.shape[1]):
        shade = i / max(1, drop.height.shape[1] - 1)
        colour = (0.9 - 0.7 * shade, 0.3, 0.2 + 0.6 * shade)
        axes[0, 0].plot(drop.time, drop.height[:, i], color=colour)
        axes[0, 1].plot(drop.time, drop.speed[:, i], color=colour, label=f"ball {i + 1}")
    axes[0, 0].set(xlabel="time [s]", ylabel="height of the centres [m]", ylim=(0.0, None))
    axes[0, 1].set(xlabel="time [s]", ylabel="vertical velocity [m/s]")
    contacts, iterations = int(drop.contacts[drop.shock]), int(drop.iterations[drop.shock])
    for axis in axes[0]:
        axis.axvline(at, color="0.4", linestyle=":", linewidth=1.0)
        axis.grid(alpha=0.3)
    axes[0, 0].set_title(f"shock at {at:.2f} s: {contacts} contacts, {iterations} iterations", fontsize=10)
    axes[0, 1].legend(fontsize=8)
    save(figure, picture)
    numbers = range(1, drop.height.shape[1] + 1)
    header = ["time_s", *(f"height_{i}_m" for i in numbers), *(f"velocity_{i}_m_per_s" for i in numbers)]
    header += ["contacts", "iterations", "converged"]
    lines = [
        (float(drop.time[k]), *drop.height[k].tolist(), *drop.speed[k].tolist(), int(drop.contacts[k]),
         int(drop.iterations[k]), bool(np.all(drop.converged[k])))
        for k in range(len(drop.time))
    ]  # fmt: skip
    write_table(table, header, lines)
