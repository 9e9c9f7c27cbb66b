"""[macklin2019] Fig. 17 and 18: the course of one Newton solve under each scaling, and under each inner solver.

All solves of a scene take the same step from zero. Errors are what each solve sees in its own scaling, as in the paper,
so those of different scalings do not compare; the scaled residual (contact/residual.py) is one measure for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.experiments.macklin2019.limits import UNITS, Limits, limits_of
from stickslip.experiments.macklin2019.steps import Moment, Stage
from stickslip.experiments.progress import Progress
from stickslip.experiments.report import Row

Vector = Array

ITERATIONS, QUICK_ITERATIONS = 100, 40
LINEAR_ITERATIONS = 40
CONVERGED = 1e-6
"""Scaled residual at which a solve counts as converged."""
REACHED = {32: 1e-3, 64: CONVERGED}
"""The same by the bits of numbers: what 32 bit can reach in scenes of heavy bodies."""
SCALINGS = ("identity", "timestep", "effective-mass")
INNER = {"jacobi": "Jacobi", "gauss-seidel": "Gauss-Seidel", "pcg": "PCG", "pcr": "PCR"}
FIG17: Mapping[str, Stage] = {"arch": Stage("arch", 10), "table-pile": Stage("table-pile", 40),
                              "heavy-stack": Stage("heavy-stack", 10)}  # fmt: skip
FIG18: Mapping[str, Stage] = {"arch": Stage("arch", 10), "heavy-stack": Stage("heavy-stack", 10),
                              "beam-insertion": Stage("beam-insertion", 100)}  # fmt: skip
QUICK_STEPS = {"table-pile": 15, "beam-insertion": 30}


@dataclass(frozen=True, eq=False)
class Course:
    """What one solve did, by Newton iteration (k,)."""

    error: Vector
    """Largest |phi_n| [m], |phi_f| [m/s] and |h_b| [m], in the scaling of the solve."""
    residual: Vector
    """Scaled residual after each iteration."""
    step: Vector
    """Largest change of a velocity [m/s] or an impulse [N s], before damping."""

    @property
    def best(self) -> float:
        """Least scaled residual."""
        return float(self.residual.min())

    @property
    def last(self) -> float:
        """Scaled residual at the end."""
        return float(self.residual[-1])

    @property
    def middle(self) -> float:
        """Scaled residual half-way."""
        return float(self.residual[len(self.residual) // 2])

    def least(self, name: str) -> float:
        """Least error or step of the second half, where it has settled: the start from zero may have no error."""
        values: Vector = getattr(self, name)
        return float(values[len(values) // 2 :].min())

    def first_below(self, value: float) -> int | None:
        """Newton iterations until the scaled residual is below a value, or None."""
        below = np.flatnonzero(self.residual <= value)
        return int(below[0]) + 1 if len(below) else None


@dataclass(frozen=True, eq=False)
class Panel:
    """The solves of one scene's step, by name, and the limits of its accuracy."""

    courses: Mapping[str, Course]
    limits: Limits
    contacts: int
    precision: int = 64
    """Bits of numbers."""

    @property
    def reached(self) -> float:
        """Scaled residual at which a solve of it counts as converged."""
        return REACHED[self.precision]


def course_of(moment: Moment, iterations: int, **options: Any) -> tuple[Course, Any]:
    """The course of a Newton solve of so many iterations, and its solution."""
    solution = moment.solve(max_iterations=iterations, linear_iterations=LINEAR_ITERATIONS, **options)
    d = solution.details
    error = np.maximum(np.maximum(d["normal_error"], d["friction_error"]), d["joint_error"])
    step = np.maximum(d["step_velocity"], d["step_impulse"])
    return Course(*(_filled(x, iterations) for x in (error, solution.history[1:, 1], step))), solution


def _filled(values: Vector, count: int) -> Vector:
    """(count,) values, the last one repeated where a solve ended early: solved to the last bit, or diverged."""
    return np.concatenate([values, np.full(count, values[-1] if len(values) else np.nan)])[:count]


def panels(
    stages: Mapping[str, Stage], option: str, values: Mapping[str, str], quick: bool, progress: Progress,
    precision: int = 64,
) -> dict[str, Panel]:  # fmt: skip
    """By scene, the solves with each value of an option of the solver; names of courses are those of ``values``.

    ``precision``: bits of the numbers of functions, linear solver and iterates; steps before have 64.
    """
    found = {}
    for done, (scene, stage) in enumerate(stages.items()):
        progress(done, len(stages), f"{scene}: {', '.join(values.values())}")
        moment = stage.shortened(QUICK_STEPS[scene] if quick and scene in QUICK_STEPS else None).moment()
        iterations = QUICK_ITERATIONS if quick else ITERATIONS
        solved = {
            name: course_of(moment, iterations, **{option: value, "precision": precision})
            for value, name in values.items()
        }
        best = min((solution for _, solution in solved.values()), key=lambda item: float(item.history[:, 1].min()))
        found[scene] = Panel(
            {name: course for name, (course, _) in solved.items()},
            limits_of(best, UNITS[precision]),
            moment.problem.contact_count,
            precision,
        )
    return found


def rows(experiment: str, found: Mapping[str, Panel]) -> list[Row]:
    """Numbers of the panels; the paper's are only in its pictures."""
    lines = []
    for scene, panel in found.items():
        lines.append(Row(experiment, f"{scene}: contacts", None, panel.contacts, ""))
        for name, course in panel.courses.items():
            lines.append(Row(experiment, f"{scene}, {name}: least scaled residual", None, course.best, ""))
            lines.append(Row(experiment, f"{scene}, {name}: last scaled residual", None, course.last, ""))
            below = course.first_below(panel.reached)
            lines.append(Row(experiment, f"{scene}, {name}: Newton iterations to {panel.reached:g}", None, below, ""))
            lines.append(Row(experiment, f"{scene}, {name}: last error", None, float(course.error[-1]), "m, m/s"))
            lines.append(Row(experiment, f"{scene}, {name}: last step", None, float(course.step[-1]), "m/s, N s"))
        lines.append(Row(experiment, f"{scene}: limit of the residual, eq. 92", None, panel.limits.residual, ""))
        lines.append(Row(experiment, f"{scene}: limit of the step, eq. 91", None, panel.limits.step, ""))
    return lines
