"""The runs of [erleben2017] sec. 5: five scenes, two solvers, strategies for r-factors; which experiment needs which.

The paper leaves open, and we chose: a cold start of every solve and local factors for Fig. 8 and 9, both the defaults
of the author's simulator (github.com/diku-dk/PROX), whose stopping rules ours are; and the size of bricks: 63 kg each,
the mass of the paper's spheres, because its start r = 5 is a mass in kg and fits no lighter ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stickslip.experiments.erleben2017.statistics import (
    GAUSS_SEIDEL,
    JACOBI,
    METHOD_RUNS,
    STRATEGIES,
    THRESHOLD,
    Key,
)
from stickslip.experiments.solver_runs import RunSpec

STEPS, QUICK_STEPS = 450, 100
STEPS_ABSOLUTE = 150
"""Of the runs without relative stopping, which are not the paper's and take most iterations."""
MAX_ITERATIONS = 1000
STEPPING: Mapping[str, Any] = {
    "dt": 0.01, "scheme": "moreau", "recovery": 0.0, "lookahead": False, "warm_start": False,
}  # fmt: skip
"""Sec. 5: steps of 0.01 s, discrete collision detection, nothing pushes overlaps apart. Sec. 4.3: Moreau's scheme."""
OPTIONS: Mapping[str, Any] = {
    "criterion": "step", "tolerance": THRESHOLD, "relative": 1e-3, "max_iterations": MAX_ITERATIONS, "growth": 1.0,
    "plain": True,
}  # fmt: skip
"""Of every solver: eq. (27), thresholds of sec. 5, the rule of Alg. 1 and 2, projections in the plain norm."""
OWN_OPTIONS: Mapping[str, Mapping[str, Any]] = {"prox-gs": {"subspace": 0}, "prox-jacobi": {}}
STRATEGY_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "blocked": {"factors": "blocked"},
    "global": {"factors": "global", "r_start": 5.0},
    "local": {"factors": "local"},
    "local-absolute": {"factors": "local", "relative": 0.0},
}
"""The r-factor strategies of sec. 4.2, and local factors without relative stopping."""

SCENES: Mapping[str, Mapping[str, Any]] = {
    "spheres": {},
    "jacks": {},
    "glasses": {},
    "wall": {"length": 0.5, "height": 0.25, "width": 0.25, "joint": 0.005},
    "tower": {"radius": 0.6, "height": 0.24, "width": 0.24, "joint": 0.008},
}
"""Scenes of Fig. 4 and the parameters that differ from their defaults; those with the longest runs first."""
QUICK_SCALE: Mapping[str, float] = {"spheres": 0.05, "jacks": 0.05, "glasses": 0.05, "wall": 0.3, "tower": 0.5}


def needed_runs(experiments: Sequence[str]) -> list[Key]:
    """The runs that the experiments need, each once, longest first."""
    scenes: dict[str, Sequence[str]] = {
        "fig4": tuple(SCENES), "fig5": ("jacks",), "fig6": ("spheres",), "fig7": ("jacks",),
    }  # fmt: skip
    chosen: set[Key] = set()
    for experiment in experiments:
        chosen |= {(scene, GAUSS_SEIDEL, factors) for scene in scenes.get(experiment, ()) for factors in STRATEGIES}
        if experiment in ("fig8", "fig9"):
            chosen |= set(METHOD_RUNS)
    order = {scene: number for number, scene in enumerate(SCENES)}
    return sorted(chosen, key=lambda key: (order[key[0]], key[1] != JACOBI, key[2]))


def spec_of(key: Key, quick: bool) -> RunSpec:
    """The run of that name."""
    scene, solver, strategy = key
    scale = {"scale": QUICK_SCALE[scene]} if quick else {}
    options = {**OPTIONS, **OWN_OPTIONS[solver], **STRATEGY_OPTIONS[strategy]}
    steps = QUICK_STEPS if quick else STEPS_ABSOLUTE if strategy == "local-absolute" else STEPS
    return RunSpec(key, scene, {**SCENES[scene], **scale}, solver, options, STEPPING, steps, MAX_ITERATIONS)
