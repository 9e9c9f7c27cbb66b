"""[macklin2019] Fig. 14 and sec. 10.1.5: an arch and a stack of heavy boxes that stand by Krylov methods and fall by
relaxation, at the iterations of Table 2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from stickslip.arrays import Array
from stickslip.errors import DivergenceError
from stickslip.experiments.macklin2019.courses import INNER
from stickslip.experiments.macklin2019.steps import PAPERS_FORMS, SOLVER, STEP
from stickslip.experiments.progress import Progress
from stickslip.experiments.report import Claim, Row, write_table
from stickslip.model.stepping import Stepping
from stickslip.scenes.registry import find_scene
from stickslip.simulation import Simulation
from stickslip.solvers.registry import make_solver
from stickslip.view.drawing import canvas, save

SECONDS, QUICK_SECONDS = 3.0, 0.5
NEWTON, LINEAR = 6, 20
SCENES = ("arch", "heavy-stack")
COLOURS = ("#2166ac", "#b2182b", "#e08214", "#762a83")
STANDS = 0.01
"""[m] drift and overlap up to which a structure counts as standing."""
RELAXATION = ("Jacobi", "Gauss-Seidel")


@dataclass(frozen=True, eq=False)
class Run:
    """What a scene did under one inner solver, by step (k,)."""

    drift: Array
    """[m] farthest that a body is from where it was at the start."""
    overlap: Array
    """[m] deepest one."""

    @property
    def drifted(self) -> float:
        """[m] at the end; infinite where numbers overflowed."""
        return float(self.drift[-1])

    @property
    def deepest(self) -> float:
        """[m] of all steps."""
        return float(self.overlap.max())

    @property
    def stands(self) -> bool:
        """Whether it neither drifted nor sank."""
        return self.drifted <= STANDS and self.deepest <= STANDS


Found = dict[str, dict[str, Run]]


def measure(quick: bool, progress: Progress) -> Found:
    """Each scene under each inner solver, all steps with the paper's counts, from zero."""
    seconds = QUICK_SECONDS if quick else SECONDS
    cases = [(scene, key, name) for scene in SCENES for key, name in INNER.items()]
    found: Found = {scene: {} for scene in SCENES}
    for done, (scene, key, name) in enumerate(cases):
        progress(done, len(cases), f"{scene}, {name}")
        found[scene][name] = run(scene, key, round(seconds / STEP))
    return found


def run(scene: str, linear: str, steps: int) -> Run:
    """A scene whose steps have the inner solver ``linear``."""
    entry = find_scene(scene)
    stepping = replace(Stepping(**{**entry.stepping, "dt": STEP}), redetect=0)  # type: ignore[arg-type]
    solver = make_solver(
        SOLVER, **{**PAPERS_FORMS, "linear": linear}, max_iterations=NEWTON, linear_iterations=LINEAR,
        linear_tolerance=0.0, tolerance=1e-200,
    )  # fmt: skip
    sim = Simulation(entry.build(**entry.parameters({})), None, solver, stepping)
    sim.watch.silent = True
    start, seen = sim.state.body_pose[:, :3].copy(), []
    for _ in range(steps):
        try:
            result = sim.step()
        except DivergenceError:
            seen.append((np.inf, np.inf))
            break
        drift = np.linalg.norm(sim.state.body_pose[:, :3] - start, axis=1).max()
        seen.append((float(drift), float(result.certificate.penetration)))
    drift, overlap = np.array(seen).T
    return Run(drift, overlap)


def rows(experiment: str, found: Found) -> list[Row]:
    """Drifts and overlaps; the paper's are only in its picture."""
    lines = []
    for scene, runs in found.items():
        for name, each in runs.items():
            lines.append(Row(experiment, f"{scene}, {name}: drift at the end", None, 1e3 * each.drifted, "mm"))
            lines.append(Row(experiment, f"{scene}, {name}: deepest overlap", None, 1e3 * each.deepest, "mm"))
    return lines


def claims(experiment: str, found: Found) -> list[Claim]:
    """Who stands."""

    def told(scene: str, names: tuple[str, ...]) -> str:
        return "; ".join(
            f"{name} drifts by {1e3 * found[scene][name].drifted:.3g} mm, overlaps by "
            f"{1e3 * found[scene][name].deepest:.3g} mm"
            for name in names
        )

    return [
        Claim(
            experiment, "Krylov solvers form a stable arch without drift", "stable", told("arch", ("PCR",)),
            found["arch"]["PCR"].stands,
        ),
        Claim(
            experiment, "Under Jacobi and Gauss-Seidel the arch eventually collapses", "collapse",
            told("arch", RELAXATION), not any(found["arch"][name].stands for name in RELAXATION),
        ),
        Claim(
            experiment, "Krylov solvers hold a stack of mass ratio 4096 without interpenetration", "prevented",
            told("heavy-stack", ("PCR",)), found["heavy-stack"]["PCR"].stands,
        ),
        Claim(
            experiment, "Relaxation lets the stack interpenetrate", "significant interpenetration",
            told("heavy-stack", RELAXATION), not any(found["heavy-stack"][name].stands for name in RELAXATION),
        ),
    ]  # fmt: skip


def draw(found: Mapping[str, Mapping[str, Run]], picture: Path, table: Path) -> None:
    """Drift and overlap over time."""
    figure, axes = canvas(2, len(found), 4.6 * len(found), 6.0)
    lines = []
    for j, (scene, runs) in enumerate(found.items()):
        for k, (name, each) in enumerate(runs.items()):
            time = STEP * np.arange(1, len(each.drift) + 1)
            for axis, values in zip(axes[:, j], (each.drift, each.overlap), strict=True):
                axis.semilogy(time, np.maximum(1e3 * values, 1e-5), color=COLOURS[k], label=name, linewidth=1.2)
            lines += [
                (scene, name, float(t), float(d), float(o))
                for t, d, o in zip(time, each.drift, each.overlap, strict=True)
            ]
        axes[0, j].set_title(scene, fontsize=10)
        axes[1, j].set_xlabel("time [s]")
    for axis, label in zip(axes[:, 0], ("drift [mm]", "overlap [mm]"), strict=True):
        axis.set_ylabel(label)
    for axis in axes.ravel():
        axis.grid(alpha=0.3)
        axis.minorticks_off()
    axes[0, 0].legend(fontsize=8)
    save(figure, picture)
    write_table(table, ("scene", "solver", "time_s", "drift_m", "overlap_m"), lines)
