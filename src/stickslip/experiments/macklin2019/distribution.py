"""[macklin2019] sec. 10.3: how the two NCP functions distribute forces over redundant contacts.

A tessellated cylinder stands on a ring of contacts, with a load that is off its axis in another direction each time;
all solves are from zero, in 32-bit numbers as the paper's and in 64-bit ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem
from stickslip.experiments.macklin2019.robustness import RADIUS, cylinder_foot
from stickslip.experiments.macklin2019.steps import Moment
from stickslip.experiments.progress import Progress
from stickslip.experiments.report import Claim, Row, write_table
from stickslip.solvers.newton.ncp import NCP_FUNCTIONS
from stickslip.view.drawing import canvas, save

DRAWS, QUICK_DRAWS = 20, 5
OFF = 0.35
"""Of the radius: how far the load is off the axis. From a half on the cylinder would lift off."""
NEWTON, LINEAR = 8, 20
"""Of the grasps in Table 2, whose contacts are redundant."""
LONG = 40
"""Newton iterations that are enough."""
ACCURATE = 1e-6
NOISIER = 5.0
"""How many times as rough a distribution has to be to be called noisy."""


@dataclass(frozen=True, eq=False)
class Forces:
    """What one function gave."""

    normal: Array
    """(draws, contacts) [N s]"""
    residual: float
    """Largest scaled residual."""
    accuracy: float
    """The same after enough iterations."""

    @property
    def roughness(self) -> float:
        """Second differences around the ring over the sum, averaged over the draws: 0.02 for a smooth wave."""
        second = np.abs(np.roll(self.normal, 1, axis=1) - 2.0 * self.normal + np.roll(self.normal, -1, axis=1))
        return float((second.sum(axis=1) / self.normal.sum(axis=1)).mean())

    @property
    def idle(self) -> float:
        """Share of contacts that carry less than a hundredth of the mean."""
        return float((self.normal < 0.01 * self.normal.mean(axis=1)[:, None]).mean())


def measure(quick: bool, progress: Progress) -> dict[str, Forces]:
    """Both functions on the same loads, by name and bits."""
    draws = QUICK_DRAWS if quick else DRAWS
    cases = [(function, bits) for bits in (32, 64) for function in NCP_FUNCTIONS]
    found = {}
    for done, (function, bits) in enumerate(cases):
        progress(done, len(cases), f"forces under a cylinder, {function}, {bits} bit")
        rng, problem = np.random.default_rng(0), cylinder_foot()
        normals, worst, least = [], 0.0, 0.0
        for _ in range(draws):
            moment = Moment(loaded(problem, 2.0 * np.pi * rng.uniform()), None, None)
            options: dict[str, Any] = {"function": function, "precision": bits, "linear_iterations": LINEAR}
            solution = moment.solve(max_iterations=NEWTON, **options)
            normals.append(solution.lam[::3])
            worst = max(worst, float(solution.history[-1, 1]))
            least = max(least, float(moment.solve(max_iterations=LONG, **options).history[:, 1].min()))
        found[named(function, bits)] = Forces(np.array(normals), worst, least)
    return found


def named(function: str, bits: int) -> str:
    """Name of a case."""
    return f"{function}, {bits} bit"


def loaded(problem: ContactProblem, angle: float) -> ContactProblem:
    """The cylinder's foot, with its weight off the axis in a direction [rad]."""
    free, A = problem.v_free.copy(), problem.A
    mass, inertia = A.dense.data[0], A.dense.data[21]
    torque = mass * free[2] * OFF * RADIUS
    free[3:5] = torque / inertia * np.array([np.sin(angle), -np.cos(angle)])
    return replace(problem, momentum=Momentum(A, free))


def rows(experiment: str, found: Mapping[str, Forces]) -> list[Row]:
    """Numbers of both functions; the paper has words alone."""
    lines = []
    for name, forces in found.items():
        lines += [
            Row(experiment, f"{name}: roughness of normal impulses around the ring", None, forces.roughness, ""),
            Row(experiment, f"{name}: contacts that carry nothing", None, 100.0 * forces.idle, "%"),
            Row(experiment, f"{name}: scaled residual", None, forces.residual, ""),
            Row(experiment, f"{name}: scaled residual after {LONG} iterations", None, forces.accuracy, ""),
        ]
    return lines


def claims(experiment: str, found: Mapping[str, Forces]) -> list[Claim]:
    """Sec. 10.3, in both precisions."""
    lines = [
        Claim(
            experiment, "Both functions achieve high accuracy given enough iterations", "high accuracy",
            "scaled residuals of at most "
            + ", ".join(f"{forces.accuracy:.0e} ({name})" for name, forces in found.items()),
            all(forces.accuracy <= ACCURATE for forces in found.values()),
        )
    ]  # fmt: skip
    for bits in (32, 64):
        flat, smooth = (found[named(name, bits)] for name in ("minimum-map", "fischer-burmeister"))
        lines.append(
            Claim(
                experiment, f"The minimum map distributes forces noisily, Fischer-Burmeister smoothly, {bits} bit",
                "noisy, smooth", f"roughness {flat.roughness:.2g} against {smooth.roughness:.2g}, "
                f"{100 * flat.idle:.0f} and {100 * smooth.idle:.0f} % of the contacts carry nothing",
                flat.roughness > NOISIER * smooth.roughness,
            )
        )  # fmt: skip
    return lines


def draw(found: Mapping[str, Forces], picture: Path, table: Path) -> None:
    """Normal impulses around the ring, every draw a line."""
    figure, axes = canvas(1, len(found), 3.4 * len(found), 3.4, sharey=True)
    lines = []
    for axis, (name, forces) in zip(axes[0], found.items(), strict=True):
        for k, normal in enumerate(forces.normal):
            axis.plot(normal / normal.mean(), color="#2166ac", alpha=0.4, linewidth=0.8)
            lines += [(name, k, c, float(value)) for c, value in enumerate(normal)]
        axis.set_title(name, fontsize=10)
        axis.set_xlabel("contact")
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("normal impulse over the mean")
    save(figure, picture)
    write_table(table, ("case", "draw", "contact", "normal_Ns"), lines)
