"""Claims of [macklin2019] about Fig. 17 and 18, judged by the courses of Newton solves."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stickslip.experiments.macklin2019.courses import Course, Panel
from stickslip.experiments.report import Claim

STAGNANT, HIGH = 10.0, 1e-3
"""A residual stagnates that falls by less than this factor over the last half of the iterations, and stays above."""
CLEARLY = 1.5
"""How many times the iterations, or the last residual, another scaling has to have, to be called worse."""
ROUNDING = 1e-11
"""Scaled residual below which all are as good as solved."""
PREDICTED = 100.0
"""Factor within which a limit counts as predicted."""
NUMBER = 2.0
"""Factor within which residuals at the end count as equal."""


def scaling_claims(experiment: str, found: Mapping[str, Panel]) -> list[Claim]:
    """Sec. 10.2 and Fig. 17."""
    needed = {name: _needed(found, name) for name in ("identity", "timestep", "effective-mass")}
    words = {name: _listed(found, name) for name in needed}
    solved = {name: sum(k is not None for k in iterations.values()) for name, iterations in needed.items()}
    most = max(solved.values())
    plain, ours = needed["timestep"]["heavy-stack"], needed["effective-mass"]["heavy-stack"]
    stack = found["heavy-stack"].courses
    suffers = plain is None or (ours is not None and plain > CLEARLY * ours)
    ends = max(stack["timestep"].last, ROUNDING) > CLEARLY * max(stack["effective-mass"].last, ROUNDING)
    return [
        Claim(
            experiment, "Identity scaling often fails to converge", "often", words["identity"],
            solved["identity"] <= len(found) // 2,
        ),
        Claim(
            experiment, "Scaling by h^2 does well where mass ratios are small: arch and pile", "performs well",
            words["timestep"], all(needed["timestep"][scene] is not None for scene in ("arch", "table-pile")),
        ),
        Claim(
            experiment, "Scaling by h^2 still suffers from large mass ratios", "problems with large mass-ratios",
            f"heavy-stack: {_told(found['heavy-stack'], 'timestep')}, with the effective mass "
            f"{_told(found['heavy-stack'], 'effective-mass')}",
            ours is not None and (suffers or ends),
        ),
        Claim(
            experiment, "Time step and effective mass together converge most reliably", "most reliable",
            words["effective-mass"], solved["effective-mass"] == most and _never_slower(needed, "effective-mass"),
        ),
    ]  # fmt: skip


def solver_claims(experiment: str, found: Mapping[str, Panel]) -> list[Claim]:
    """Sec. 10.4, 10.5 and Fig. 18."""
    final = {
        scene: {name: max(course.last, ROUNDING) for name, course in panel.courses.items()}
        for scene, panel in found.items()
    }
    stuck = {
        f"{scene} {name}": found[scene].courses[name]
        for scene in ("heavy-stack", "beam-insertion")
        for name in ("Jacobi", "Gauss-Seidel")
    }
    rises = {name: [rise(panel.courses[name]) for panel in found.values()] for name in ("PCG", "PCR")}
    lines = [
        Claim(
            experiment, "Jacobi and Gauss-Seidel stagnate on ill-conditioned problems", "characteristic stagnation",
            ", ".join(
                f"{name} {course.last:.1e} at the end, {course.middle:.1e} half-way" for name, course in stuck.items()
            ),
            all(course.middle < STAGNANT * course.last and course.last > HIGH for course in stuck.values()),
        ),
        Claim(
            experiment, "PCG has large fluctuations of the residual, PCR reduces it smoothly", "large fluctuations",
            f"rises summed over the scenes: PCG {sum(rises['PCG']):.1f} decades, PCR {sum(rises['PCR']):.1f}",
            sum(rises["PCR"]) < sum(rises["PCG"]),
        ),
    ]  # fmt: skip
    for scene, values in final.items():
        best = min(("PCR", "PCG", "Gauss-Seidel", "Jacobi"), key=lambda name: values[name])  # of equals, the first
        ends = ", ".join(f"{name} {value:.1e}" for name, value in values.items())
        lines.append(
            Claim(
                experiment, f"PCR converges fastest: {scene}", "fast convergence",
                f"lowest at the end: {best}; {ends}", values["PCR"] <= NUMBER * min(values.values()),
            )
        )  # fmt: skip
    return [*lines, *limit_claims(experiment, found)]


def limit_claims(experiment: str, found: Mapping[str, Panel]) -> list[Claim]:
    """Sec. 10.5: the limits of eq. 91 and 92 against the least error and step of any course.

    An error of exactly zero is below every limit.
    """
    lines = []
    for scene, panel in found.items():
        error = min(course.least("error") for course in panel.courses.values())
        step = min(course.least("step") for course in panel.courses.values())
        limits = panel.limits
        near = [value <= PREDICTED * limit for value, limit in ((error, limits.residual), (step, limits.step))]
        near += [value * PREDICTED >= limit for value, limit in ((error, limits.residual), (step, limits.step))]
        said = "a good job, but for the residual of the beam" if scene == "beam-insertion" else "a good job"
        lines.append(
            Claim(
                experiment, f"The error analysis predicts the accuracy that is reached, {scene}, {panel.precision} bit",
                said, f"error {error:.0e}, predicted {limits.residual:.0e}; step {step:.0e}, predicted "
                f"{limits.step:.0e}", all(near) if scene != "beam-insertion" else near[1] and near[3],
            )
        )  # fmt: skip
    return lines


def rise(course: Course) -> float:
    """[decades] by which the residual rises in all, where it rises and is above rounding."""
    logs = np.log10(np.maximum(course.residual, ROUNDING))
    return float(np.maximum(np.diff(logs), 0.0).sum())


def _needed(found: Mapping[str, Panel], name: str) -> dict[str, int | None]:
    return {scene: panel.courses[name].first_below(panel.reached) for scene, panel in found.items()}


def _never_slower(needed: Mapping[str, Mapping[str, int | None]], name: str) -> bool:
    """Whether no other scaling needs fewer iterations in any scene."""
    own = needed[name]
    return not any(
        k is not None and (own[scene] is None or k < (own[scene] or 0))
        for other in needed.values()
        for scene, k in other.items()
    )


def _told(panel: Panel, name: str) -> str:
    course = panel.courses[name]
    k = course.first_below(panel.reached)
    reached = f"not to {panel.reached:g}" if k is None else f"{k} iterations to {panel.reached:g}"
    return f"{reached}, at the end {course.last:.1e}"


def _listed(found: Mapping[str, Panel], name: str) -> str:
    return "; ".join(f"{scene}: {_told(panel, name)}" for scene, panel in found.items())
