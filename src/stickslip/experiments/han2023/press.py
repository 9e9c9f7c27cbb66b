"""[han2023] Fig. 4: force and displacement of a rubber cylinder between plates, on finer and finer meshes."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

import numpy as np

from stickslip.arrays import Array
from stickslip.experiments.progress import Progress
from stickslip.experiments.report import Claim, Row
from stickslip.linalg.threads import one_thread
from stickslip.scenes.cylinder_press import DIVISIONS, FULL_LOAD, REFERENCE, ReferencePoint, press_curve

NEAR = 0.02
"""Relative error of the displacement at full load that counts as convergence."""
STEPS = 500
"""To full load: steps of 1 s; the paper's are of 0.01 s."""
QUICK_SHARE, QUICK_MESHES = 0.02, (0, 1)


@dataclass(frozen=True, eq=False)
class Curve:
    """What one mesh gave."""

    way: Array
    """(n,) [m]"""
    force: Array
    """(n,) [N/m]"""
    summary: Mapping[str, float]

    def error(self, point: ReferencePoint) -> float:
        """Displacement at the force of a point over that of the point, minus one; NaN beyond the end of the curve."""
        if point.force > self.force[-1] * (1.0 + 1e-9):
            return float("nan")
        here = np.interp(point.force, np.append(0.0, self.force), np.append(0.0, self.way))
        return float(here / point.displacement) - 1.0


def measure(quick: bool, progress: Progress, workers: int | None = None) -> dict[int, Curve]:
    """Press the cylinder on every mesh, in processes of their own, the finest first; quick: the foot of two curves."""
    if quick:
        return {mesh: _curve(mesh, QUICK_SHARE) for mesh in QUICK_MESHES}
    found: dict[int, Curve] = {}
    processes = workers or min(len(DIVISIONS), os.cpu_count() or 1)
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        waiting = {pool.submit(_curve, mesh, 1.0): mesh for mesh in reversed(range(len(DIVISIONS)))}
        progress(0, len(waiting), "cylinder-press")
        for done in as_completed(waiting):
            found[waiting[done]] = done.result()
            progress(len(found), len(waiting), "cylinder-press")
    return dict(sorted(found.items()))


def _curve(mesh: int, share: float) -> Curve:
    with one_thread():
        return Curve(*press_curve(mesh, STEPS, share=share))


def rows(experiment: str, found: Mapping[int, Curve]) -> list[Row]:
    """Displacements of the finest mesh at the forces of the reference points, errors of all meshes at full load.

    The paper has its curves in a picture only.
    """
    finest = max(found)
    lines = [
        Row(
            experiment,
            f"mesh {finest}: displacement at {1e-6 * point.force:.4g} MN/m, against {point.displacement:g} m, "
            f"{point.source}", None, point.displacement * (1.0 + found[finest].error(point)), "m",
        )
        for point in REFERENCE
        if np.isfinite(found[finest].error(point))
    ]  # fmt: skip
    for mesh, curve in found.items():
        error = curve.error(FULL_LOAD)
        if np.isfinite(error):
            name = f"mesh {mesh}: error of the displacement at full load"
            lines.append(Row(experiment, name, None, 100.0 * error, "%"))
        seen = curve.summary
        lines += [
            Row(experiment, f"mesh {mesh}: unknowns", None, int(seen["unknowns"]), ""),
            Row(experiment, f"mesh {mesh}: deepest overlap", None, seen["overlap_max_mm"], "mm"),
            Row(experiment, f"mesh {mesh}: steps that converged", None, 100.0 * seen["converged"], "%"),
            Row(experiment, f"mesh {mesh}: time a step, median", None, seen["cpu_ms"], "ms"),
        ]
    return lines


def claims(experiment: str, found: Mapping[int, Curve]) -> list[Claim]:
    """Sec. VII-A, judged at the largest load that was reached."""
    last = min(curve.force[-1] for curve in found.values())
    points = [point for point in REFERENCE if point.force <= last]
    at = FULL_LOAD if last >= FULL_LOAD.force * (1.0 - 1e-9) else (points[-1] if points else None)
    if at is None:
        return []
    errors = [abs(curve.error(at)) for curve in found.values()]
    words = ", ".join(f"{100 * error:.2g} %" for error in errors)
    verdicts = [
        Claim(
            experiment, "Force and displacement converge to the reference under refinement", "converge",
            f"errors at {1e-6 * at.force:.3g} MN/m by mesh: {words}",
            all(fine < coarse for coarse, fine in zip(errors[:-1], errors[1:], strict=True)),
        )
    ]  # fmt: skip
    if at is FULL_LOAD:
        verdicts.append(
            Claim(
                experiment, f"The finest mesh is within {100 * NEAR:g} % of the reference at full load",
                "convergence is attained", f"{100 * errors[-1]:.2g} %", errors[-1] < NEAR,
            )
        )  # fmt: skip
    return verdicts
