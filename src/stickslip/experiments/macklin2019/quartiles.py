"""[macklin2019] Fig. 16: residuals over Newton iterations in all steps of an insertion, with and without scaling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stickslip.arrays import Array
from stickslip.experiments.macklin2019.courses import CONVERGED, course_of
from stickslip.experiments.macklin2019.steps import Stage
from stickslip.experiments.progress import Progress
from stickslip.experiments.report import Claim, Row

STEPS, QUICK_STEPS = 132, 40
ITERATIONS, QUICK_ITERATIONS = 100, 50
STAGE = Stage("beam-insertion", STEPS)
CASES: Mapping[str, Mapping[str, float | str]] = {
    "identity": {"scaling": "identity"},
    "effective-mass": {"scaling": "effective-mass"},
    "identity, joints eliminated": {"scaling": "identity", "preconditioner": "joints-eliminated"},
    "effective-mass, joints eliminated": {"scaling": "effective-mass", "preconditioner": "joints-eliminated"},
    "identity, direct": {"scaling": "identity", "linear": "direct"},
    "effective-mass, direct": {"scaling": "effective-mass", "linear": "direct"},
    "effective-mass, direct, full steps": {"scaling": "effective-mass", "linear": "direct", "damping": 1.0},
}
"""The paper's two, with 40 PCR iterations, and ours: with joints eliminated in PCR, so that 40 iterations are enough,
without the error of the inner solver, and without damping. With t = 0.75 every iteration leaves a quarter of the error
at best, which is a linear rate."""
STRIDE, DIRECT_STRIDE = 1, 4
"""Steps from one that is solved to the next; direct solves take longer."""
FLOOR = 1e-10
"""Scaled residual below which rounding may rule, and rates say nothing."""
SUPERLINEAR = 0.01
"""Ratio of one residual to the one before that no linear rate seen here explains."""
OFTEN = 0.5
ORDER = 10.0


@dataclass(frozen=True, eq=False)
class Curves:
    """Scaled residuals (steps, iterations) of one case."""

    residual: Array

    @property
    def quartiles(self) -> Array:
        """(3, iterations) lower quartile, median, upper quartile over the steps."""
        found: Array = np.percentile(self.residual, (25, 50, 75), axis=0)
        return found

    @property
    def accelerating(self) -> int:
        """Steps that converge and whose residual falls through its last decades faster than through its first.

        What bends downwards in the paper's semilogarithmic picture: the second half of the decades between the start
        and convergence takes at most half as many iterations as the first.
        """
        count = 0
        for course in self.residual:
            below = np.flatnonzero(course <= CONVERGED)
            if len(below):
                half = np.sqrt(max(course[0], CONVERGED) * CONVERGED)
                first = int(np.flatnonzero(course <= half)[0]) + 1
                count += int(int(below[0]) + 1 - first <= 0.5 * first)
        return count

    @property
    def superlinear(self) -> int:
        """Steps in which some iteration above the floor lowers the residual a hundredfold."""
        before, after = self.residual[:, :-1], self.residual[:, 1:]
        return int(((after < SUPERLINEAR * before) & (before > FLOOR)).any(axis=1).sum())

    def words(self, count: str) -> str:
        """A count of steps, of how many."""
        return f"{getattr(self, count)} of {len(self.residual)} steps"

    @property
    def converged(self) -> int:
        """Steps that reach the residual of convergence."""
        return int((self.residual.min(axis=1) <= CONVERGED).sum())


def measure(quick: bool, progress: Progress) -> dict[str, Curves]:
    """The same steps under each case, every solve from zero; the steps are those that the solver's defaults make."""
    steps, iterations = (QUICK_STEPS, QUICK_ITERATIONS) if quick else (STEPS, ITERATIONS)
    found: dict[str, list[Array]] = {name: [] for name in CASES}
    sim, watched = STAGE.begin()
    for k in range(steps):
        sim.step()
        progress(k, steps, "beam-insertion, identity and effective mass")
        for name, options in CASES.items():
            stride = STRIDE if not quick and len(options) == 1 else DIRECT_STRIDE
            if k % stride == stride - 1:
                found[name].append(course_of(watched.last, iterations, **options)[0].residual)
    return {name: Curves(np.array(curves)) for name, curves in found.items()}


def rows(experiment: str, found: Mapping[str, Curves]) -> list[Row]:
    """Numbers of Fig. 16; the paper's are only in its picture."""
    lines = []
    for name, curves in found.items():
        middle = curves.quartiles[1]
        total = len(curves.residual)
        for k in (10, 20, 50, 100):
            if k <= len(middle):
                lines.append(
                    Row(experiment, f"{name}: median residual at iteration {k}", None, float(middle[k - 1]), "")
                )
        share = 100.0 * curves.converged / total
        lines.append(Row(experiment, f"{name}: steps that reach {CONVERGED:g}", None, share, "%"))
        lines.append(
            Row(experiment, f"{name}: steps with superlinear rates", None, 100.0 * curves.superlinear / total, "%")
        )
    return lines


def claims(experiment: str, found: Mapping[str, Curves]) -> list[Claim]:
    """Sec. 10.2: more steps converge superlinearly, and the median is often an order of magnitude lower."""
    plain, scaled, plain_joints, scaled_joints, plain_direct, scaled_direct, full = (found[name] for name in CASES)
    lines = [
        Claim(
            experiment, "Super-linear convergence in significantly more steps with scaling", "significantly more steps",
            f"residuals that fall ever faster, with joints eliminated: {scaled_joints.words('accelerating')} with "
            f"scaling, {plain_joints.words('accelerating')} without; a hundredfold drop in one iteration, direct and "
            f"undamped: {full.words('superlinear')}; with the damping of 0.75 the best rate is a quarter an iteration",
            scaled_joints.accelerating > 1.5 * plain_joints.accelerating,
        )
    ]  # fmt: skip
    for words, without, ours in (
        (", 40 PCR iterations", plain, scaled),
        (", 40 PCR iterations with joints eliminated", plain_joints, scaled_joints),
        (", direct", plain_direct, scaled_direct),
    ):
        ratio = without.quartiles[1] / np.maximum(ours.quartiles[1], 1e-300)
        lower = float((ratio >= ORDER).mean())
        lines += [
            Claim(
                experiment, f"More steps converge with scaling{words}", "significantly more",
                f"{ours.words('converged')} reach {CONVERGED:g}, {without.words('converged')} without",
                ours.converged > 1.5 * without.converged,
            ),
            Claim(
                experiment, f"The median error is often an order of magnitude lower{words}", "often",
                f"at {100 * lower:.0f} % of the iterations; at the last one {ours.quartiles[1, -1]:.2g} against "
                f"{without.quartiles[1, -1]:.2g}", lower > OFTEN,
            ),
        ]  # fmt: skip
    return lines
