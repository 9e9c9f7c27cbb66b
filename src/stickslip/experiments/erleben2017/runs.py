"""The runs of [erleben2017] sec. 5: five scenes, two solvers, strategies for r-factors; which experiment needs which.

The paper leaves open, and we chose for its printed settings: a cold start of every solve and local factors for Fig. 8
and 9, both as in the author's simulator (github.com/diku-dk/PROX), whose stopping rules ours are; and the size of
bricks: 63 kg each, the mass of the paper's spheres, because its start r = 5 is a mass in kg and fits no lighter ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from stickslip.experiments.erleben2017.statistics import (
    GAUSS_SEIDEL,
    JACOBI,
    METHOD_RUNS,
    STRATEGIES,
    Key,
)
from stickslip.experiments.erleben2017.variants import MAX_ITERATIONS, PRINTED_SETTINGS, Variant
from stickslip.experiments.solver_runs import RunSpec

STEPS = 450
SHOWN, QUICK_SHOWN = (50, 250, 500), (0.1, 0.5, 1.0)
"""Steps after which Fig. 3 shows the scenes, 0.5, 2.5 and 5 s; of quick runs the same shares of their steps."""
SHOWN_STRATEGY = "local"


def needed_runs(experiments: Sequence[str], variant: Variant = PRINTED_SETTINGS) -> list[Key]:
    """The runs that the experiments need, each once, longest first."""
    every = tuple(variant.scenes)
    scenes: dict[str, Sequence[str]] = {"fig4": every, "fig5": ("jacks",), "fig6": ("spheres",), "fig7": ("jacks",)}
    chosen: set[Key] = set()
    for experiment in experiments:
        chosen |= {(scene, GAUSS_SEIDEL, factors) for scene in scenes.get(experiment, ()) for factors in STRATEGIES}
        if experiment == "fig3":
            chosen |= {(scene, GAUSS_SEIDEL, SHOWN_STRATEGY) for scene in every}
        if experiment in ("fig8", "fig9"):
            chosen |= set(METHOD_RUNS)
    order = {scene: number for number, scene in enumerate(every)}
    return sorted(chosen, key=lambda key: (order[key[0]], key[1] != JACOBI, key[2]))


def spec_of(key: Key, quick: bool, variant: Variant = PRINTED_SETTINGS, shown: bool = False) -> RunSpec:
    """The run of that name; ``shown``: poses for Fig. 3 are kept."""
    scene, solver, strategy = key
    parameters = {**variant.scenes[scene], **(variant.quick[scene] if quick else {})}
    options = {**variant.options, **variant.strategies[strategy], **variant.own[solver]}
    steps = variant.quick_steps if quick else STEPS
    at = tuple(round(share * steps) for share in QUICK_SHOWN) if quick else SHOWN
    kept = at if shown and (solver, strategy) == (GAUSS_SEIDEL, SHOWN_STRATEGY) else ()
    name = (*key, variant.name)
    return RunSpec(name, scene, parameters, solver, options, variant.stepping, steps, MAX_ITERATIONS, kept)
