"""Pictures and tables of [macklin2019] from what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from stickslip.arrays import Array
from stickslip.experiments.macklin2019 import functions
from stickslip.experiments.macklin2019.courses import Panel
from stickslip.experiments.macklin2019.quartiles import Curves
from stickslip.experiments.macklin2019.table import PAPER, Timed
from stickslip.experiments.report import write_table
from stickslip.view.drawing import canvas, save

Vector = Array
COLOURS = {"minimum map": "#2166ac", "Fischer-Burmeister": "#1b7837"}
CYCLE = ("#2166ac", "#b2182b", "#e08214", "#762a83")
"""Blue, red, yellow, purple, as in the paper's figures."""
SMALLEST = 1e-20
"""Least number drawn on a logarithmic axis."""


def draw_friction(picture: Path, table: Path) -> None:
    """Fig. 6: W and phi_f over the friction force, and phi_f with W as eq. 104 is printed."""
    figure, axes = canvas(1, 2, 9.5, 3.8)
    force = functions.FORCES
    columns = [force]
    header = ["force_N"]
    for name, function in functions.FUNCTIONS.items():
        W, error = functions.compliance(function, force), functions.friction_error(function, force)
        axes[0, 0].plot(force, W, color=COLOURS[name], label=name)
        axes[0, 1].plot(force, error, color=COLOURS[name], label=name)
        columns += [W, error]
        stem = name.replace(" ", "_").replace("-", "_").lower()
        header += [f"{stem}_W_m_per_sN", f"{stem}_phi_m_per_s"]
    near = force < 9.0
    printed = functions.printed_error(force[near])
    axes[0, 1].plot(force[near], printed, ":", color="0.2", label="eq. 104 as printed")
    for axis in axes[0]:
        axis.axvline(functions.LIMIT, color="0.4", linestyle="--", linewidth=0.9, label="cone's limit")
        axis.set_xlabel("friction force [N]")
        axis.grid(alpha=0.3)
    axes[0, 0].set(ylabel="W [m/(s N)]", ylim=(0.0, 3.0))
    axes[0, 1].set(ylabel="phi_f [m/s]", ylim=(-8.0, 1.0))
    axes[0, 1].axhline(0.0, color="0.4", linewidth=0.6)
    axes[0, 1].legend(fontsize=8)
    save(figure, picture)
    write_table(table, header, np.column_stack(columns).tolist())


def draw_scaling(picture: Path, table: Path) -> None:
    """Fig. 9: phi over the force without and with scaling, and Newton steps from each start."""
    figure, axes = canvas(1, 3, 12.5, 3.8)
    force = np.linspace(-1.0, 1.5, 251)
    counts = functions.step_counts()
    starts = functions.STARTS[np.abs(functions.STARTS) <= 10.0]
    for case in functions.SCALED:
        name = next(name for name, function in functions.FUNCTIONS.items() if function == case.function)
        scaled = case.r != 1.0
        axes[0, int(scaled)].plot(force, case.error(force), color=COLOURS[name], label=name)
        steps = counts[case.name][: len(starts)]
        axes[0, 2].plot(starts, steps, "-" if scaled else "--", color=COLOURS[name], label=case.name)
    for axis, title in zip(axes[0], ("r = 1", "r = 1/4, the effective mass", "Newton steps"), strict=True):
        axis.set_title(title, fontsize=10)
        axis.grid(alpha=0.3)
    for axis in axes[0, :2]:
        axis.axhline(0.0, color="0.4", linewidth=0.6)
        axis.axvline(0.5, color="0.4", linestyle="--", linewidth=0.9, label="solution")
        axis.set(xlabel="force", ylabel="phi", ylim=(-1.2, 0.4))
    axes[0, 0].legend(fontsize=8)
    axes[0, 2].set(xlabel="force at the start", ylabel="steps to |phi| <= 1e-12", ylim=(0.0, 8.5))
    axes[0, 2].legend(fontsize=8, loc="upper right")
    save(figure, picture)
    header = ["force", *(case.name.replace(",", "") for case in functions.SCALED)]
    write_table(table, header, np.column_stack([force, *(case.error(force) for case in functions.SCALED)]).tolist())


def draw_courses(found: Mapping[str, Panel], picture: Path, table: Path) -> None:
    """Fig. 17 and 18: error, residual and step size over Newton iterations, a column a scene."""
    figure, axes = canvas(3, len(found), 3.9 * len(found), 8.2, sharex=True)
    lines = []
    for j, (scene, panel) in enumerate(found.items()):
        for k, (name, course) in enumerate(panel.courses.items()):
            iterations = np.arange(1, len(course.error) + 1)
            for axis, values in zip(axes[:, j], (course.error, course.residual, course.step), strict=True):
                axis.semilogy(iterations, np.maximum(values, SMALLEST), color=CYCLE[k], label=name, linewidth=1.3)
            lines += [
                (scene, name, int(i), float(e), float(r), float(s))
                for i, e, r, s in zip(iterations, course.error, course.residual, course.step, strict=True)
            ]
        for axis, value in ((axes[0, j], panel.limits.residual), (axes[2, j], panel.limits.step)):
            axis.axhline(value, color="0.3", linestyle="--", linewidth=1.0, label=f"limit, {panel.precision}-bit")
        axes[0, j].set_title(f"{scene}, {panel.contacts} contacts", fontsize=10)
        axes[2, j].set_xlabel("Newton iteration")
    for i, label in enumerate(("largest error [m, m/s]", "scaled residual", "step size [m/s, N s]")):
        axes[i, 0].set_ylabel(label)
    for axis in axes.ravel():
        axis.grid(alpha=0.3)
        axis.minorticks_off()
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=9)
    save(figure, picture)
    header = ("scene", "case", "iteration", "largest_error_m_or_m_per_s", "scaled_residual", "step_m_per_s_or_Ns")
    write_table(table, header, lines)


def draw_quartiles(found: Mapping[str, Curves], picture: Path, table: Path) -> None:
    """Fig. 16: median and quartiles of the residual over Newton iterations."""
    rows = (len(found) + 2) // 3
    figure, axes = canvas(rows, 3, 12.5, 3.4 * rows, sharey=True)
    lines = []
    for axis in axes.ravel()[len(found) :]:
        axis.set_visible(False)
    for axis, (name, curves) in zip(axes.ravel(), found.items(), strict=False):
        colour = CYCLE[0] if name.startswith("identity") else CYCLE[2]
        low, middle, high = np.maximum(curves.quartiles, SMALLEST)
        iterations = np.arange(1, len(middle) + 1)
        axis.fill_between(iterations, low, high, color=colour, alpha=0.25, linewidth=0, label="quartiles")
        axis.semilogy(iterations, middle, color=colour, label="median")
        axis.set_title(f"{name}, {len(curves.residual)} steps", fontsize=10)
        axis.set_xlabel("Newton iteration")
        axis.grid(alpha=0.3)
        axis.minorticks_off()
        axis.legend(fontsize=8)
        lines += [(name, int(k), *curves.quartiles[:, k - 1].tolist()) for k in iterations]
    for axis in axes[:, 0]:
        axis.set_ylabel("scaled residual")
    save(figure, picture)
    write_table(table, ("case", "iteration", "lower_quartile", "median", "upper_quartile"), lines)


def draw_systems(found: Mapping[str, Mapping[str, Vector]], picture: Path, table: Path) -> None:
    """Fig. 11: residual of each inner solver on one linear system of each example."""
    figure, axes = canvas(1, len(found), 4.8 * len(found), 3.8)
    lines = []
    for axis, (scene, curves) in zip(axes[0], found.items(), strict=True):
        for k, (name, residual) in enumerate(curves.items()):
            axis.semilogy(np.maximum(residual, SMALLEST), color=CYCLE[k], label=name)
            lines += [(scene, name, i, float(value)) for i, value in enumerate(residual)]
        axis.set_title(scene, fontsize=10)
        axis.set_xlabel("iteration of the linear solver")
        axis.grid(alpha=0.3)
        axis.minorticks_off()
    axes[0, 0].set_ylabel("residual over that of the start")
    axes[0, -1].legend(fontsize=8)
    save(figure, picture)
    write_table(table, ("scene", "solver", "iteration", "relative_residual"), lines)


def draw_times(found: Mapping[str, Timed], picture: Path, table: Path) -> None:
    """Table 2 as bars: time of a step, ours on one core beside the paper's GPU; soft bodies in a panel of their own."""
    rigid = {scene: timed for scene, timed in found.items() if not timed.elements}
    soft = {scene: timed for scene, timed in found.items() if timed.elements}
    panels = [panel for panel in (rigid, soft) if panel]
    ratios = [1 + len(panel) for panel in panels]
    figure, axes = canvas(1, len(panels), 7.5 if len(panels) == 1 else 10.5, 3.8, width_ratios=ratios)
    for axis, panel in zip(axes[0], panels, strict=True):
        for k, (scene, timed) in enumerate(panel.items()):
            paper, first = PAPER[scene], k == 0 and axis is axes[0, 0]
            axis.bar(k - 0.2, paper.solve, 0.36, yerr=paper.solve_deviation, color="0.6", capsize=3,
                     label="the paper: solve, GPU" if first else None)  # fmt: skip
            axis.bar(k + 0.2, timed.solve.mean(), 0.36, yerr=timed.solve.std(), color="#2166ac", capsize=3,
                     label="ours: linear solver, one core" if first else None)  # fmt: skip
            axis.bar(k + 0.2, timed.assembly.mean(), 0.36, bottom=timed.solve.mean(), color="#92c5de",
                     label="ours: assembly" if first else None)  # fmt: skip
            if timed.auto is not None:
                axis.bar(k + 0.6, timed.auto.mean(), 0.36, yerr=timed.auto.std(), color="#1b7837", capsize=3,
                         label="ours: assembly and solve by auto")  # fmt: skip
        axis.set_xticks(range(len(panel)), list(panel))
        axis.set_ylim(0.0, 1.2 * axis.get_ylim()[1])
        axis.grid(alpha=0.3, axis="y")
        axis.legend(fontsize=8)
    axes[0, 0].set_ylabel("ms a step")
    save(figure, picture)
    header = (
        "scene", "bodies", "joints", "elements", "contacts_mean", "largest_island_contacts", "newton_iterations",
        "linear_iterations", "assembly_ms", "assembly_std_ms", "solve_ms", "solve_std_ms", "scaled_residual_median",
        "auto_ms", "auto_scaled_residual_median",
    )  # fmt: skip
    write_table(table, header, [_time_line(scene, timed) for scene, timed in found.items()])


def _time_line(scene: str, timed: Timed) -> tuple[str | float, ...]:
    """A line of the table of times."""
    paper = PAPER[scene]
    auto = ("", "") if timed.auto is None else (float(timed.auto.mean()), timed.auto_residual)
    return (
        scene, timed.bodies, timed.joints, timed.elements, float(timed.contacts.mean()), timed.largest_island,
        paper.newton, paper.linear, float(timed.assembly.mean()), float(timed.assembly.std()),
        float(timed.solve.mean()), float(timed.solve.std()), timed.residual, *auto,
    )  # fmt: skip
