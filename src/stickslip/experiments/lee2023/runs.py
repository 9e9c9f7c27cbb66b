"""[lee2023] Tables II, III, V and VI, Fig. 7 and 8: every step of whole runs of COND, from the start of each scene.

Tables of trials take steps of all methods at some points; here nothing is left out, so that neither a state that is
easy nor errors that gather stay unseen. Each scene is run with the paper's stopping rule and with ours, which asks for
the momentum of bodies as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from stickslip.experiments.lee2023.robots import LITTLE, RobotRun, RobotScene, run
from stickslip.experiments.lee2023.tables import BODIES, COMPARISONS, COND, DT, IN, MP, SLOW, ST
from stickslip.experiments.progress import Progress
from stickslip.experiments.report import Claim, Row, write_table
from stickslip.scenes.cable_winding import RELEASE
from stickslip.scenes.parameters import Value
from stickslip.view.drawing import canvas, save

SCENES: Mapping[str, RobotScene] = {
    "mat": RobotScene("table2", "soft-mat", 4438, 860, 120, {"slow": SLOW}),
    "ball": RobotScene("table3", "ball-grip", 4397, 150, 60),
    "cable": RobotScene("table5", "cable-winding", 1927, 5200, 200, RELEASE),
    "gripper": RobotScene("table6", "soft-gripper", 14681, 200, 30),
}
MEANS = "COND, mean velocities"
"""COND by the paper's rule with the paper's stepping, eq. 4-9, where the others take Euler's steps."""
MEAN_STEPPING: Mapping[str, Value] = {"stepping.scheme": "passive", "stepping.calmed": True}
BARS: Mapping[str, float] = {"mat": 40.0, "ball": 38.0, "cable": 19.0, "gripper": 31.0}
"""Iterations of the paper, rounded up."""
MOST_MET = 0.99
"""Share of the steps that must meet the threshold."""
FEWEST = 0.25
"""Share of the paper's iterations below which a run is not like it."""
Found = Mapping[str, Mapping[str, RobotRun]]


def measure(quick: bool, progress: Progress) -> dict[str, dict[str, RobotRun]]:
    """By the name of the scene and of the rule."""
    return {
        name: {
            rule: run_by(each, each.quick_steps if quick else each.steps, progress, rule)
            for rule in (COND, BODIES, MEANS)
        }
        for name, each in SCENES.items()
    }


def run_by(scene: RobotScene, steps: int, progress: Progress, rule: str) -> RobotRun:
    """So many steps of a scene from its start by one of the three rules."""
    if rule != MEANS:
        return run(scene, steps, progress, rule)
    return run(replace(scene, settings={**scene.settings, **MEAN_STEPPING}), steps, progress, COND)


def rows(experiment: str, found: Found) -> list[Row]:
    """Our numbers beside the paper's line of COND."""
    lines = []
    for scene, rules in found.items():
        for rule, seen in rules.items():
            name, paper = f"{scene}, {rule}", COMPARISONS[SCENES[scene].table].paper[COND]
            lines += [
                Row(experiment, f"{name}: steps", None, len(seen.iterations), ""),
                Row(experiment, f"{name}: contacts a step", None, float(seen.contacts.mean()), ""),
                Row(experiment, f"{name}: speed, norm, mean", None, float(seen.speed.mean()), "m/s"),
                Row(experiment, f"{name}: first change of velocity, mean", None, float(seen.first.mean()), "m/s"),
                Row(experiment, f"{name}: MP", paper[MP], float(seen.penetration.mean()), "mm"),
                Row(experiment, f"{name}: DT", paper[DT], 1e3 * float(np.nanmean(seen.dynamics)), "ms"),
                Row(experiment, f"{name}: ST", paper[ST], 1e3 * float(np.nanmean(seen.solving)), "ms"),
                Row(experiment, f"{name}: IN", paper[IN], float(seen.iterations.mean()), ""),
                Row(experiment, f"{name}: steps that met the threshold", None,
                    100.0 * float(seen.converged.mean()), "%"),
                Row(experiment, f"{name}: momentum missing, median", None, 100.0 * float(np.median(seen.missing)), "%"),
                Row(experiment, f"{name}: steps with less than 1 % missing", None,
                    100.0 * float((seen.missing < LITTLE).mean()), "%"),
            ]  # fmt: skip
    return lines


def claims(experiment: str, found: Found) -> list[Claim]:
    """Iterations, from both sides."""
    verdicts = []
    for scene, rules in found.items():
        count, bar = float(rules[COND].iterations.mean()), BARS[scene]
        verdicts.append(
            Claim(
                experiment, f"{scene}: COND takes tens of iterations over the whole run", f"{bar:g}", f"{count:.4g}",
                FEWEST * bar <= count <= bar,
            )
        )  # fmt: skip
        if MEANS in rules:
            seen = rules[MEANS]
            met, last = float(seen.converged.mean()), float(seen.iterations[-len(seen.iterations) // 4 :].mean())
            verdicts.append(
                Claim(
                    experiment, f"{scene}: steps of mean velocities stay within the threshold over the whole run",
                    "used throughout", f"{100.0 * met:.4g} % of the steps, {last:.3g} iterations in the last quarter",
                    met >= MOST_MET,
                )
            )  # fmt: skip
    return verdicts


def draw(found: Found, picture: Path, file: Path) -> None:
    """Iterations, penetration and internal force over the steps of each run; the table has them all."""
    figure, axes = canvas(3, len(found), 3.2 * len(found), 6.4)
    lines: list[tuple[object, ...]] = []
    for column, (scene, rules) in enumerate(found.items()):
        paper = COMPARISONS[SCENES[scene].table].paper[COND]
        for rule, seen in rules.items():
            steps = np.arange(1, len(seen.iterations) + 1)
            for row, values in enumerate((seen.iterations, seen.penetration, seen.internal)):
                axes[row, column].plot(steps, values, lw=0.7, label=rule)
            lines += list(
                zip(
                    [scene] * len(steps), [rule] * len(steps), steps.tolist(), seen.iterations.tolist(),
                    seen.contacts.tolist(), seen.penetration.tolist(), seen.internal.tolist(), seen.missing.tolist(),
                    strict=True,
                )
            )  # fmt: skip
        axes[0, column].axhline(paper[IN], ls="--", lw=0.8, color="0.4", label="paper, mean")
        axes[1, column].axhline(paper[MP], ls="--", lw=0.8, color="0.4")
        axes[0, column].set_yscale("log")
        axes[0, column].set_title(scene, fontsize=9)
        axes[2, column].set_xlabel("step", fontsize=8)
    for row, label in enumerate(("iterations", "penetration [mm]", "internal force [N]")):
        axes[row, 0].set_ylabel(label, fontsize=8)
    axes[0, 0].legend(fontsize=7)
    save(figure, picture)
    names = (
        "scene",
        "rule",
        "step",
        "iterations",
        "contacts",
        "penetration_mm",
        "internal_force_N",
        "momentum_missing",
    )
    write_table(file, names, lines)
