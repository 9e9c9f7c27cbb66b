"""[macklin2019] Fig. 3, 10 and 15: what robots do to a soft ball, to objects of a set, to a drawer and to themselves.

The pictures of the paper show moments of runs. Here the scenes are run from start to end by their own solver, and what
the captions say is measured: internal dynamics of the ball (its volumetric strain), stable grasps of irregular objects
in spite of redundant contacts, a drawer opened by the friction of fingers alone, a humanoid that gets up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stickslip.arrays import Array
from stickslip.experiments.progress import Progress
from stickslip.experiments.report import Claim, Row, write_table
from stickslip.geometry.tet_mesh import TetMesh
from stickslip.scenes.grasp_objects import OBJECTS
from stickslip.scenes.parameters import Value
from stickslip.scenes.running import Run, prepare
from stickslip.simulation import Simulation
from stickslip.view.drawing import canvas, save, style

Settings = Mapping[str, Value]
RISING: Settings = {"mode": "rise", "start": "prone"}
RISE = 5.5
"""[s] in which a humanoid gets up."""
QUICK = 0.4
"""Share of a run that is made."""
QUICK_OBJECTS = ("torus",)
SLIPPED = 3.0
"""[mm] that an object may move in a hand that turns over and shakes it."""
STILL = 0.01
"""[mm/s] below which what is held does not creep."""
SQUEEZED = 0.1
"""Volumetric strain from which on the ball is squeezed."""


@dataclass(frozen=True, eq=False)
class Seen:
    """A run of a scene."""

    values: Mapping[str, float | bool]
    """Metrics of the scene."""
    course: Array
    """(steps, 1 + n): time [s], and what is read after each step."""
    names: tuple[str, ...]
    """Of the n numbers, with units."""
    whole: bool
    """Whether the run went to its end."""


def run(
    scene: str, settings: Settings, quick: bool, progress: Progress, names: tuple[str, ...] = (),
    read: Callable[[Run], tuple[float, ...]] = lambda run: (), seconds: float | None = None,
) -> Seen:  # fmt: skip
    """Run a scene, to QUICK of its end or all of it, and read numbers after every step."""
    made = prepare(scene, settings=settings)
    count = made.step_count(duration=seconds)
    steps = round(QUICK * count) if quick else count
    course = np.empty((steps, 1 + len(names)))
    for k in range(steps):
        progress(k, steps, scene)
        result = made.sim.step()
        made.metrics.observe(made.sim, result)
        course[k] = (result.state.time, *read(made))
    return Seen(made.metrics.values(), course, ("time_s", *names), steps == count)


# ---- Fig. 3 --------------------------------------------------------------------------------------------------------


def measure_ball(quick: bool, progress: Progress) -> Seen:
    """A hand squeezes a soft ball and rolls it."""
    names = ("largest_compression", "largest_extension", "height_mm")
    first: list[Array] = []

    def read(made: Run) -> tuple[float, ...]:
        volumes = _volumes(made.sim)
        if not first:
            first.append(made.metrics.rest)  # type: ignore[attr-defined]
            first.append(TetMesh(first[0], made.sim.model.soft.elements.nodes, "ball").volumes)
        strain = volumes / first[1] - 1.0
        return float(strain.min()), float(strain.max()), 1e3 * float(np.ptp(made.sim.state.node_position[:, 2]))

    return run("allegro-ball", {}, quick, progress, names, read)


def _volumes(sim: Simulation) -> Array:
    """(nt,) [m^3] of the elements."""
    return TetMesh(sim.state.node_position, sim.model.soft.elements.nodes, "ball").volumes


def ball_rows(experiment: str, seen: Seen) -> list[Row]:
    """What the hand does to the ball."""
    return [
        Row(experiment, "ball: flattened by", None, float(seen.values["squeeze_mm"]), "mm"),
        Row(experiment, "ball: force of the fingers", None, float(seen.values["grip_force_N"]), "N"),
        Row(experiment, "ball: rolled to and fro by", None, float(seen.values["rolled_rad"]), "rad"),
        Row(experiment, "ball: least volumetric strain of an element", None, float(seen.course[:, 1].min()), ""),
        Row(experiment, "ball: largest volumetric strain of an element", None, float(seen.course[:, 2].max()), ""),
        Row(experiment, "ball: most contacts of a step", None, float(seen.values["contacts_max"]), ""),
        Row(experiment, "ball: share of steps that converged", None, float(seen.values["converged"]), ""),
    ]


def ball_claims(experiment: str, seen: Seen) -> list[Claim]:
    """The caption."""
    least, solved = float(seen.course[:, 1].min()), float(seen.values["converged"])
    return [
        Claim(
            experiment, "Fingers and the internal dynamics of the ball are fully coupled", "squeezed in the hand",
            f"volumetric strain to {100 * least:.0f} %, {100 * solved:.1f} % of the steps converged",
            least < -SQUEEZED and bool(seen.values["held"]) and solved == 1.0,
        )
    ]  # fmt: skip


# ---- Fig. 10 -------------------------------------------------------------------------------------------------------


def measure_grasps(quick: bool, progress: Progress) -> dict[str, Seen]:
    """A hand takes each object of the set."""
    names = QUICK_OBJECTS if quick else tuple(OBJECTS)
    return {name: run("dexnet", {"object": name}, False, progress) for name in names}


def grasp_rows(experiment: str, found: Mapping[str, Seen]) -> list[Row]:
    """Each grasp."""
    of = (
        ("slip while turned and shaken", "slip_mm", "mm"), ("creep, held still", "creep_mm_per_s", "mm/s"),
        ("epsilon of the grasp", "epsilon", ""), ("contacts that press", "contacts", ""),
        ("most contacts of a step", "contacts_max", ""), ("share of steps that converged", "converged", ""),
    )  # fmt: skip
    return [
        Row(experiment, f"{name}: {what}", None, float(seen.values[key]), unit)
        for name, seen in found.items() for what, key, unit in of
    ]  # fmt: skip


def grasp_claims(experiment: str, found: Mapping[str, Seen]) -> list[Claim]:
    """The caption: stable grasps, whatever the meshes."""
    held = [name for name, seen in found.items() if _stable(seen)]
    rough = [name for name in found if OBJECTS[name].thickness is not None]
    solved = min((float(found[name].values["converged"]) for name in rough or found), default=0.0)
    return [
        Claim(
            experiment, "Grasps around irregular objects are stable", "all shown",
            f"{len(held)} of {len(found)} slip less than {SLIPPED:g} mm when shaken and creep less than {STILL:g} mm/s",
            len(held) == len(found),
        ),
        Claim(
            experiment, "Over-specified sets of contacts from meshes that are no manifolds do no harm", "robust",
            f"at least {100 * solved:.1f} % of the steps of each of {len(rough)} converged", solved == 1.0,
        ),
    ]  # fmt: skip


def _stable(seen: Seen) -> bool:
    """Whether an object was held."""
    slip, creep = float(seen.values["slip_mm"]), float(seen.values["creep_mm_per_s"])
    return bool(seen.values["held"]) and slip < SLIPPED and creep < STILL


def draw_grasps(found: Mapping[str, Seen], picture: Path, table: Path) -> None:
    """Bars of slip and quality; the table has all metrics."""
    names = list(found)
    figure, axes = canvas(1, 2, 9.5, 3.4)
    for axis, key, label in (
        (axes[0, 0], "slip_mm", "slip while turned and shaken [mm]"), (axes[0, 1], "epsilon", "epsilon of the grasp"),
    ):  # fmt: skip
        axis.barh(names, [float(found[name].values[key]) for name in names], **style(0) | {"linestyle": "-"})
        axis.set_xlabel(label, fontsize=8)
        axis.tick_params(labelsize=7)
    save(figure, picture)
    keys = tuple(next(iter(found.values())).values)
    write_table(table, ("object", *keys), [(name, *(seen.values[key] for key in keys)) for name, seen in found.items()])


# ---- Fig. 15 -------------------------------------------------------------------------------------------------------


def measure_learned(quick: bool, progress: Progress) -> dict[str, Seen]:
    """The two robots that the paper trains, led here by courses and postures: a drawer, and getting up."""
    return {
        "drawer": run(
            "yumi-cabinet", {}, quick, progress, ("opened_m",), lambda made: (made.metrics.opened,)  # type: ignore[attr-defined]
        ),
        "humanoid": run(
            "humanoid", RISING, quick, progress, ("height_m",),
            lambda made: (float(made.metrics.centres[0, 2]),), RISE,  # type: ignore[attr-defined]
        ),
    }  # fmt: skip


def learned_rows(experiment: str, found: Mapping[str, Seen]) -> list[Row]:
    """What the drawer and the humanoid do."""
    drawer, humanoid = found["drawer"].values, found["humanoid"].values
    return [
        Row(experiment, "drawer: opened by", None, float(drawer["opened_m"]), "m"),
        Row(experiment, "drawer: force of a finger across", None, float(drawer["grip_force_N"]), "N"),
        Row(experiment, "drawer: share of what friction can carry", None, float(drawer["load_share"]), ""),
        Row(experiment, "drawer: slip along the fingers", None, float(drawer["slip_mm"]), "mm"),
        Row(experiment, "drawer: share of steps that converged", None, float(drawer["converged"]), ""),
        Row(experiment, "humanoid: height of its centre of mass, lying", None, found["humanoid"].course[0, 1], "m"),
        Row(experiment, "humanoid: the same at the end", None, float(humanoid["height_m"]), "m"),
        Row(experiment, "humanoid: share of steps that converged", None, float(humanoid["converged"]), ""),
    ]


def learned_claims(experiment: str, found: Mapping[str, Seen]) -> list[Claim]:
    """The caption; a policy that runs is not part of it here."""
    drawer, humanoid = found["drawer"], found["humanoid"]
    opened, height = float(drawer.values["opened_m"]), float(humanoid.values["height_m"])
    solved = min(float(seen.values["converged"]) for seen in found.values())
    return [
        Claim(
            experiment, "The drawer opens by friction of the fingers alone", "opens", f"{1e3 * opened:.0f} mm",
            opened > (0.1 if drawer.whole else -1e-9),
        ),
        Claim(
            experiment, "A humanoid recovers from falls", "gets up", f"centre of mass at {height:.2f} m at the end",
            bool(humanoid.values["standing"]) or not humanoid.whole,
        ),
        Claim(
            experiment, "Steps of both are solved", "robust",
            f"{100 * solved:.1f} % of the steps converged", solved == 1.0,
        ),
    ]  # fmt: skip


def draw_courses(found: Mapping[str, Seen], picture: Path, table: Path) -> None:
    """What was read, over time, a panel each."""
    figure, axes = canvas(1, len(found), 4.6 * len(found), 3.2)
    lines: list[tuple[object, ...]] = []
    for axis, (name, seen) in zip(axes[0], found.items(), strict=True):
        for number, label in enumerate(seen.names[1:]):
            axis.plot(seen.course[:, 0], seen.course[:, 1 + number], label=label, linewidth=0.9, **style(number))
            lines += [(name, label, time, value) for time, value in seen.course[:, [0, 1 + number]].tolist()]
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("time [s]", fontsize=8)
        axis.legend(fontsize=7)
    save(figure, picture)
    write_table(table, ("run", "what", "time_s", "value"), lines)


def draw_ball(seen: Seen, picture: Path, table: Path) -> None:
    """Strains, and apart from them the height of the ball."""
    strains = Seen(seen.values, seen.course[:, :3], seen.names[:3], seen.whole)
    height = Seen(seen.values, seen.course[:, [0, 3]], (seen.names[0], seen.names[3]), seen.whole)
    draw_courses({"volumetric strain of elements": strains, "height of the ball": height}, picture, table)
