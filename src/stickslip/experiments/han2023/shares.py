"""[han2023] Fig. 2: shares of time of the main computations, and what sec. VII says about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from stickslip.experiments.han2023 import table
from stickslip.experiments.han2023.runs import Case, Measured, Runs
from stickslip.experiments.report import Claim, Row
from stickslip.experiments.stage_clock import NAMES

FACTORISATIONS = "SAP, factorisations"
CHAINED = (table.STANDING, table.CHAIN)
"""Scenes whose problem is said to be block tridiagonal."""
CALM = (table.STANDING, table.PRESS)
"""Scenes that are said to gain by warm starts."""
WARM_STEPS, QUICK_WARM_STEPS = 250, 20
"""Steps of the arch with and without warm start; the press makes those of Table I."""
DENSE = 0.75
"""Share of the Hessian's entries from which on it is called close to dense."""
GAIN = 0.8
"""Iterations with warm start over those without, below which it helps."""


@dataclass(frozen=True)
class Shares:
    """What Fig. 2 needs."""

    scenes: Mapping[str, Measured]
    warm: Mapping[str, tuple[Measured, Measured]]
    """With and without warm start."""


def measure(quick: bool, runs: Runs) -> Shares:
    """The scenes of Table I, and the calm ones with and without warm start."""
    chosen = table.cases(quick)
    warm = {}
    for name in CALM:
        case = chosen[name]
        if name == table.STANDING:
            case = replace(case, steps=QUICK_WARM_STEPS if quick else WARM_STEPS)
        warm[name] = runs[case], runs[_cold(case)]
    scenes = {name: seen for name, seen in table.measure(quick, runs).items() if name != table.HAND_EXACT}
    return Shares(scenes, warm)


def _cold(case: Case) -> Case:
    return case.but(stepping__warm_start=False)


def rows(experiment: str, found: Shares) -> list[Row]:
    """Shares in per cent; the paper's bars have no numbers."""
    lines = []
    for line, seen in found.scenes.items():
        name = table.shown(line, seen)
        lines += [Row(experiment, f"{name}: {stage}", None, 100.0 * seen.share(stage), "%") for stage in NAMES]
        lines.append(Row(experiment, f"{name}: time a step", None, 1e3 * seen.seconds, "ms"))
        lines.append(Row(experiment, f"{name}: entries of the Hessian's blocks", None, 100.0 * seen.density, "%"))
    for name, (warm, cold) in found.warm.items():
        for start, seen in (("warm", warm), ("cold", cold)):
            label = f"{name}: iterations a step, {start} start"
            lines.append(Row(experiment, label, None, float(seen.iterations.mean()), ""))
    return lines


def claims(experiment: str, found: Shares) -> list[Claim]:
    """Sec. VII, before its part A."""
    chained = {table.shown(name, found.scenes[name]): found.scenes[name].neighbours for name in CHAINED}
    teddy = found.scenes[table.TEDDY]
    most = max(NAMES, key=lambda stage: teddy.stages[stage])
    verdicts = [
        Claim(
            experiment, "The problems of arch and chain are block tridiagonal", "essentially",
            ", ".join(f"{name}: {100 * value:.4g} %" for name, value in chained.items())
            + " of contacts join neighbours",
            all(value > 0.99 for value in chained.values()),
        ),
        Claim(
            experiment, "The problem of the teddy bear is very close to dense", "very close to dense",
            f"{100 * teddy.density:.3g} % of the Hessian, by bodies, in the step with most constraints",
            teddy.density > DENSE,
        ),
        Claim(
            experiment, "With the teddy bear, factorisations of SAP are the bottleneck", "become the bottleneck",
            f"{100 * teddy.share(FACTORISATIONS):.3g} % of the time; most in: {most} "
            f"({100 * teddy.share(most):.3g} %)", most == FACTORISATIONS,
        ),
    ]  # fmt: skip
    for name, (warm, cold) in found.warm.items():
        ours = float(warm.iterations.mean()), float(cold.iterations.mean())
        verdicts.append(
            Claim(
                experiment, f"{name}: SAP benefits from warm starts", "benefits",
                f"{ours[0]:.3g} iterations a step, {ours[1]:.3g} without", ours[0] < GAIN * ours[1],
            )
        )  # fmt: skip
    return verdicts
