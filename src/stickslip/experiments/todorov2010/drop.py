"""Fig. 6 of [todorov2010]: balls dropped together; the shock of the impact passes through all of them in one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.arrays import Array, Bools, LongInts
from stickslip.experiments.report import Claim, Row
from stickslip.model.stepping import Stepping
from stickslip.scenes.ball_drop import AT_REST
from stickslip.scenes.registry import find_scene
from stickslip.simulation import Simulation
from stickslip.solvers.protocol import Solver

PAPER_ITERATIONS = 1
SCENE = "ball-drop"


@dataclass(frozen=True, eq=False)
class Drop:
    """A drop of n balls, k steps; the lowest ball first."""

    time: Array
    """(k,) [s] at the end of each step."""
    height: Array
    """(k, n) [m] of the centres."""
    speed: Array
    """(k, n) [m/s] upwards."""
    contacts: LongInts
    iterations: LongInts
    converged: Bools
    radius: float
    """[m] of the balls."""

    @property
    def shock(self) -> int:
        """The step (from 0) that stops the fall of the lowest ball; the last one where none does."""
        slower = np.flatnonzero(np.diff(self.speed[:, 0], prepend=0.0) > 0.0)
        return int(slower[0]) if len(slower) else len(self.time) - 1

    @property
    def impact_speed(self) -> float:
        """[m/s] at which the balls fall before the shock."""
        return float(np.abs(self.speed[: self.shock]).max(initial=0.0))

    @property
    def shock_steps(self) -> float:
        """Steps from the shock until all balls stand still; infinite where they never do."""
        still = np.flatnonzero(np.abs(self.speed[self.shock :]).max(axis=1) < AT_REST * self.impact_speed)
        return float(still[0] + 1) if len(still) else np.inf

    @property
    def speed_after(self) -> float:
        """[m/s] fastest vertical speed at the end of the shock's step."""
        return float(np.abs(self.speed[self.shock]).max())


def record_drop(solver: Solver, stepping: Mapping[str, Any], steps: int) -> Drop:
    """Drop the balls of the scene."""
    scene = find_scene(SCENE)
    parameters = scene.defaults()
    sim = Simulation(scene.build(**parameters), solver=solver, stepping=Stepping(**stepping))
    balls = sim.model.dynamic
    results = [sim.step() for _ in range(steps)]
    return Drop(
        time=np.array([result.state.time for result in results]),
        height=np.array([result.state.body_pose[balls, 2] for result in results]),
        speed=np.array([result.state.body_velocity[balls, 2] for result in results]),
        contacts=np.array([len(result.contacts) for result in results]),
        iterations=np.array([result.solution.iterations for result in results]),
        converged=np.array([result.solution.converged for result in results]),
        radius=float(sim.model.radius[balls].max()),
    )


def rows(experiment: str, drop: Drop) -> list[Row]:
    """Numbers of the impact."""
    k = drop.shock
    busy = drop.contacts > 0
    return [
        Row(experiment, "speed of the impact", None, drop.impact_speed, "m/s"),
        Row(experiment, "steps of the shock", 1, drop.shock_steps, "1"),
        Row(experiment, "fastest vertical speed after its first step", 0.0, drop.speed_after, "m/s"),
        Row(experiment, "iterations of that step", PAPER_ITERATIONS, int(drop.iterations[k]), "1"),
        Row(experiment, "contacts of that step", None, int(drop.contacts[k]), "1"),
        Row(experiment, "most iterations of any step", None, int(drop.iterations.max(initial=0)), "1"),
        Row(experiment, "steps not converged", None, int((~drop.converged & busy).sum()), f"of {int(busy.sum())}"),
    ]


def claims(experiment: str, drop: Drop) -> list[Claim]:
    """What sec. IV says of Fig. 6."""
    iterations = int(drop.iterations[drop.shock])
    return [
        Claim(
            experiment, "The shock passes through all balls within a single step", "within a single time step",
            f"steps: {drop.shock_steps:g}", drop.shock_steps == 1.0,
        ),
        Claim(
            experiment, "All vertical velocities become zero", "became zero",
            f"at most {drop.speed_after:.1e} m/s, of {drop.impact_speed:.3g} m/s before",
            drop.speed_after < AT_REST * drop.impact_speed,
        ),
        Claim(
            experiment, "The shock takes one iteration at most", "only one iteration",
            f"iterations: {iterations}, {'converged' if drop.converged[drop.shock] else 'not converged'}",
            bool(iterations <= PAPER_ITERATIONS and drop.converged[drop.shock]),
        ),
    ]  # fmt: skip
