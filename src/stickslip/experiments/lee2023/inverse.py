"""[lee2023] Fig. 13: contact forces of the regularised model, from the solver and from its velocities alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.laws import CONTACT
from stickslip.experiments.progress import Progress
from stickslip.experiments.report import Claim, Row
from stickslip.linalg.threads import one_thread
from stickslip.scenes.parameters import Value
from stickslip.scenes.running import prepare
from stickslip.simulation import StepResult
from stickslip.solvers.cond.cond import Cond

OMEGA = 1e-3
"""[m/(s N)] of the paper, whose lambda are forces (eq. 4): over the time step it is that of impulses [1/kg]."""
THRESHOLD, FINE = 1e-4, 1e-6
"""[m/s] the paper's, and one at which virtual nodes are nearer to where they are tied."""
STEPS = {"soft-mat": 240, "ball-grip": 130}
QUICK_STEPS = {"soft-mat": 60, "ball-grip": 60}
PAPER = {"soft-mat": 0.087, "ball-grip": 0.48}
"""[mN] mean difference of norms of forward and inverse forces."""
MATCH = 1e-3
"""Share of the forces up to which both match well."""
PROXIMAL, STRICT = "proximal", "strict"


@dataclass(frozen=True, eq=False)
class Forces:
    """Norms [N] of the forces of all contacts, (n,), an entry a step."""

    forward: Array
    inverse: Array
    strict: Array
    """Of a run with the strict operator, without regularisation."""
    dt: float
    fine_error: float
    """[mN] as ``error``, of a run to the threshold FINE."""

    @property
    def error(self) -> float:
        """[mN] between forward and inverse norms, mean over steps."""
        return _apart(self.forward, self.inverse)

    def jitter(self, operator: str) -> float:
        """Mean change of the norm from step to step, over its mean."""
        norm = self.forward if operator == PROXIMAL else self.strict
        return float(np.abs(np.diff(norm)).mean() / max(norm.mean(), 1e-300))


def measure(quick: bool, progress: Progress, steps: Mapping[str, int] | None = None) -> dict[str, Forces]:
    """By scene."""
    return {name: forces(name, count, progress) for name, count in (steps or (QUICK_STEPS if quick else STEPS)).items()}


def forces(scene: str, steps: int, progress: Progress) -> Forces:
    """Run a scene with both operators."""
    forward, inverse, dt = _run(scene, PROXIMAL, THRESHOLD, steps, progress)
    strict, _, _ = _run(scene, STRICT, THRESHOLD, steps, progress)
    fine = _apart(*_run(scene, PROXIMAL, FINE, steps, progress)[:2])
    return Forces(forward, inverse, strict, dt, fine)


def _run(scene: str, operator: str, threshold: float, steps: int, progress: Progress) -> tuple[Array, Array, float]:
    """Norms [N] of forces of the solver and of those that velocities tell (strict: none), and the time step [s]."""
    options: dict[str, Value] = {"solver.criterion": "step", "solver.tolerance": threshold}
    dt = prepare(scene, "cond", options).sim.stepping.dt
    regularised: dict[str, Value] = {"solver.operator": PROXIMAL, "solver.regularisation": OMEGA / dt}
    sim = prepare(scene, "cond", {**options, **(regularised if operator == PROXIMAL else {})}).sim
    assert isinstance(sim.solver, Cond)
    forward, inverse = [], []
    with one_thread():
        for k in range(steps):
            progress(k, steps, f"{scene}, {operator} to {threshold:g} m/s")
            result = sim.step()
            forward.append(_norm(result, result.solution.lam, dt))
            if operator == PROXIMAL:
                told = sim.solver.impulses_from_velocities(result.problem, result.solution.v)
                inverse.append(_norm(result, told, dt))
    return np.array(forward), np.array(inverse), dt


def _apart(forward: Array, inverse: Array) -> float:
    """[mN] between norms (n,) [N], mean over steps."""
    return 1e3 * float(np.abs(forward - inverse).mean())


def _norm(result: StepResult, lam: Array, dt: float) -> float:
    """[N] of the forces of all contacts together."""
    problem = result.problem
    contact = np.repeat(problem.laws.law == CONTACT, np.diff(problem.J.row_start))
    return float(np.linalg.norm(lam[contact])) / dt


def rows(experiment: str, found: Mapping[str, Forces]) -> list[Row]:
    """The paper's curves have no numbers but the errors."""
    lines = []
    for scene, seen in found.items():
        lines += [
            Row(experiment, f"{scene}: forward against inverse force", PAPER[scene], seen.error, "mN"),
            Row(experiment, f"{scene}: the same to {FINE:g} m/s", None, seen.fine_error, "mN"),
            Row(experiment, f"{scene}: forward force, mean", None, float(seen.forward.mean()), "N"),
            Row(experiment, f"{scene}: inverse force, mean", None, float(seen.inverse.mean()), "N"),
            Row(experiment, f"{scene}: force of the strict operator, mean", None, float(seen.strict.mean()), "N"),
            Row(experiment, f"{scene}: change a step over mean, proximal", None, seen.jitter(PROXIMAL), ""),
            Row(experiment, f"{scene}: change a step over mean, strict", None, seen.jitter(STRICT), ""),
        ]
    return lines


def claims(experiment: str, found: Mapping[str, Forces]) -> list[Claim]:
    """Sec. V-F."""
    verdicts = []
    for scene, seen in found.items():
        mean = 1e3 * float(seen.forward.mean())
        verdicts.append(
            Claim(
                experiment, f"{scene}: velocities tell the forces", f"{PAPER[scene]:g} mN off",
                f"{seen.error:.3g} mN off, of {mean:.3g} mN; to {FINE:g} m/s {seen.fine_error:.2g} mN off",
                seen.error <= MATCH * mean,
            )
        )  # fmt: skip
    mat, ball = found["soft-mat"], found["ball-grip"]
    apart = float(np.abs(ball.forward - ball.strict).mean() / ball.strict.mean())
    verdicts += [
        Claim(
            experiment, "The mat jitters with the proximal operator, not with the strict one", "jitters while sliding",
            f"forces change by {100 * mat.jitter(PROXIMAL):.2g} % a step, strict {100 * mat.jitter(STRICT):.2g} %",
            mat.jitter(PROXIMAL) > 1.5 * mat.jitter(STRICT),
        ),
        Claim(
            experiment, "On the ball both operators are very similar", "very similar",
            f"{100 * apart:.2g} % apart", apart <= 0.1,
        ),
    ]  # fmt: skip
    return verdicts
