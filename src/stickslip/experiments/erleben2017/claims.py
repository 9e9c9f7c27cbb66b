"""The claims of [erleben2017] sec. 5 and 6 and of its captions, judged by the numbers of our runs.

Thresholds for words without a number: "comparable" within a factor of 1.5, "slower" by 10 %, "far more often" at least
tenfold, "a significant difference" of energies 5 %, "little drift" a mean overlap of 1 % of a body's diameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import Any

import numpy as np

from stickslip.experiments.erleben2017.statistics import (
    COMPARED,
    GAUSS_SEIDEL,
    JACOBI,
    METHOD_STRATEGY,
    STRATEGIES,
    Runs,
    common_level,
    counted,
    iterations_to,
    median,
    pooled,
    spread,
)
from stickslip.experiments.report import Claim, Row
from stickslip.experiments.solver_runs import ABSOLUTE, NONE, RunRecord

COMPARABLE = 1.5
SLOWER = 1.1
FAR_MORE = 10.0
SIGNIFICANT = 0.05
LITTLE_DRIFT = 0.01
SAME_ANSWER = 1e-6
"""[m/s]"""
EXTRA_ITERATIONS, EXTRA_ROLLBACKS = 100.0, (60.0, 100.0)
"""Fig. 8 and Fig. 9: what Jacobi needs more than Gauss-Seidel."""
STRUCTURED = ("tower", "wall")


def by_strategy(runs: Runs, scenes: tuple[str, ...] | None = None) -> dict[str, list[RunRecord]]:
    """The Gauss-Seidel runs of each strategy, on all scenes or on some."""
    return {
        factors: [
            run
            for (scene, solver, own), run in runs.items()
            if solver == GAUSS_SEIDEL and own == factors and (scenes is None or scene in scenes)
        ]
        for factors in STRATEGIES
    }


def strategies(experiment: str, runs: Runs) -> list[Claim]:
    """Fig. 4: blocked, global and local r-factors."""
    groups, stacks = by_strategy(runs), by_strategy(runs, STRUCTURED)
    found = _each(groups, lambda group: int(pooled(group, "rollbacks").sum()))
    failed = _each(groups, lambda group: counted(group, NONE))
    absolute = _each(groups, lambda group: counted(group, ABSOLUTE))
    merit = _each(groups, lambda group: median(pooled(group, "merit")))
    iterations = _each(groups, lambda group: median(pooled(group, "iterations")))
    stacked = _each(stacks, lambda group: counted(group, ABSOLUTE))
    stacked_found = _each(stacks, lambda group: int(pooled(group, "rollbacks").sum()))

    def claim(text: str, paper: str, ours: str, agrees: bool) -> Claim:
        return Claim(experiment, text, paper, ours, bool(agrees))

    return [
        claim(
            "Blocked detects divergence most often", "many more times than the other strategies",
            _words(found, "detections"), found["blocked"] > max(found["global"], found["local"]),
        ),
        claim(
            "Blocked fails to converge most often", "often results in non-convergence",
            _words(failed, "steps without convergence"), failed["blocked"] > max(failed["global"], failed["local"]),
        ),
        claim(
            "Global detects divergence less often than local", "less overall divergence detection",
            _words(found, "detections", "global", "local"), found["global"] < found["local"],
        ),
        claim(
            "Global reaches absolute convergence more often than local", "absolute convergence in more cases",
            _words(absolute, "steps", "global", "local"), absolute["global"] > absolute["local"],
        ),
        claim(
            "Global gives better merit values than local", "overall better merit values",
            _words(merit, "N s in the median", "global", "local"), merit["global"] < merit["local"],
        ),
        claim(
            "Global converges absolutely more often than local on tower and wall", "noticeably more effective",
            _words(stacked, "steps", "global", "local"), stacked["global"] > stacked["local"],
        ),
        claim(
            "Local detects divergence more often than global on tower and wall", "clearly more detections",
            _words(stacked_found, "detections", "global", "local"), stacked_found["local"] > stacked_found["global"],
        ),
        claim(
            "Local uses fewer iterations than global", "the job done in less iterations",
            _words(iterations, "iterations in the median", "global", "local"),
            iterations["local"] < iterations["global"],
        ),
        claim(
            "Local fails to converge slightly less often than global", "slightly fewer cases",
            _words(failed, "steps without convergence", "global", "local"), failed["local"] < failed["global"],
        ),
        _drift(experiment, runs),
    ]  # fmt: skip


def _drift(experiment: str, runs: Runs) -> Claim:
    """Sec. 5: little drift, for the two strategies that converge; the author's runs were stabilised."""
    shares: dict[str, float] = {}
    for (scene, solver, factors), run in runs.items():
        if solver == GAUSS_SEIDEL and factors != "blocked" and len(run.overlap):
            share = float(run.overlap[-1]) / run.size if run.lost == 0 else np.inf
            shares[scene] = max(shares.get(scene, 0.0), share)
    ours = ", ".join(f"{scene} {_percent(share)}" for scene, share in shares.items())
    return Claim(
        experiment, "Little drift (global and local)", "remarkable how little drift",
        f"mean overlap at the end, of a diameter: {ours}",
        bool(shares) and all(share <= LITTLE_DRIFT for share in shares.values()),
    )  # fmt: skip


def jacks_time(experiment: str, runs: Runs) -> list[Claim]:
    """Fig. 5: solver time of jacks."""
    groups = by_strategy(runs, ("jacks",))
    found = _each(groups, lambda group: int(pooled(group, "rollbacks").sum()))
    reached = sum(counted(groups["blocked"], outcome) for outcome in (0, 1))
    slower, comparable = _blocked_slower(experiment, runs, "jacks"), _comparable(experiment, runs, "jacks")
    return [
        slower,
        Claim(
            experiment, "Blocked converges in no step of jacks", "it has not converged in any step",
            f"{reached} steps converged, absolutely or relatively", reached == 0,
        ),
        comparable,
        Claim(
            experiment, "Global and local detect divergence about as often on jacks", "nearly the same number",
            _words(found, "detections", "global", "local"), _close(found["global"], found["local"]),
        ),
    ]  # fmt: skip


def spheres_time(experiment: str, runs: Runs) -> list[Claim]:
    """Fig. 6: solver time of spheres."""
    groups = by_strategy(runs, ("spheres",))
    found = _each(groups, lambda group: int(pooled(group, "rollbacks").sum()))
    variation = _each(groups, lambda group: _variation(pooled(group, "seconds")))
    return [
        _comparable(experiment, runs, "spheres"),
        Claim(
            experiment, "Local detects divergence much more often than global on spheres", "many more detections",
            _words(found, "detections", "global", "local"), found["local"] > COMPARABLE * found["global"],
        ),
        Claim(
            experiment, "Solver time of local varies less than that of global on spheres", "less variation",
            _words(variation, "quartile distance over median", "global", "local"),
            variation["local"] < variation["global"],
        ),
    ]  # fmt: skip


def _blocked_slower(experiment: str, runs: Runs, scene: str) -> Claim:
    seconds = _each(by_strategy(runs, (scene,)), lambda group: median(pooled(group, "seconds")))
    return Claim(
        experiment, f"Blocked is slower than global and local on {scene}", "about 1 s a step more than the others",
        _words(seconds, "s a step in the median"),
        seconds["blocked"] > SLOWER * max(seconds["global"], seconds["local"]),
    )  # fmt: skip


def _comparable(experiment: str, runs: Runs, scene: str) -> Claim:
    seconds = _each(by_strategy(runs, (scene,)), lambda group: float(pooled(group, "seconds").sum()))
    return Claim(
        experiment, f"Global and local need comparable solver time on {scene}", "comparable in performance",
        _words(seconds, "s in all", "global", "local"), _close(seconds["global"], seconds["local"]),
    )  # fmt: skip


def jacks_energy(experiment: str, runs: Runs) -> list[Claim]:
    """Fig. 7: energies of jacks."""
    kinetic = {factors: runs["jacks", GAUSS_SEIDEL, factors].kinetic for factors in STRATEGIES}
    steps = min(len(values) for values in kinetic.values())
    largest = max((float(values[:steps].max(initial=0.0)) for values in kinetic.values()), default=0.0)

    def apart(a: str, b: str) -> float:
        difference = np.abs(kinetic[a][:steps] - kinetic[b][:steps])
        return float(difference.max(initial=0.0)) / largest if largest > 0.0 else 0.0

    local, other, both = apart("blocked", "local"), apart("blocked", "global"), apart("global", "local")
    return [
        Claim(
            experiment, "Energies of global and local differ on jacks", "a significant difference",
            f"kinetic energies at most {_percent(both)} of their largest apart", both > SIGNIFICANT,
        ),
        Claim(
            experiment, "Blocked moves more like local than like global", "appears more similar to local",
            f"kinetic energy at most {_percent(local)} from local's, {_percent(other)} from global's", local < other,
        ),
    ]  # fmt: skip


def method_convergence(experiment: str, runs: Runs) -> list[Claim]:
    """Fig. 8: Gauss-Seidel against Jacobi, on both scenes of the figure."""
    spreads: dict[str, tuple[float, float]] = {}
    more: dict[str, tuple[float, float]] = {}
    for scene in COMPARED:
        gauss, jacobi = (runs[scene, solver, METHOD_STRATEGY] for solver in (GAUSS_SEIDEL, JACOBI))
        last = max(
            (int(np.percentile(run.of("iterations"), 75)) for run in (gauss, jacobi) if run.busy.any()), default=1
        )
        spreads[scene] = spread(gauss, last), spread(jacobi, last)
        level = common_level((gauss, jacobi))
        more[scene] = iterations_to(jacobi, level) - iterations_to(gauss, level), level
    varied = [f"{scene} {a:.2f} decades for Gauss-Seidel, {b:.2f} for Jacobi" for scene, (a, b) in spreads.items()]
    later = [f"{scene} {count:.0f} more to {level:.2g} N s" for scene, (count, level) in more.items()]
    return [
        Claim(
            experiment, "Gauss-Seidel varies less than Jacobi", "Jacobi has a much larger variation",
            f"between the quartiles: {'; '.join(varied)}", all(a < b for a, b in spreads.values()),
        ),
        Claim(
            experiment, "Jacobi needs about 100 iterations more to the same median merit",
            "approximately 100 (agrees within a factor of two)", "; ".join(later),
            all(EXTRA_ITERATIONS / 2 <= count <= EXTRA_ITERATIONS * 2 for count, _ in more.values()),
        ),
    ]  # fmt: skip


def detection_rows(experiment: str, runs: Runs) -> list[Row]:
    """Fig. 9 in numbers."""
    rows = []
    for scene in COMPARED:
        gauss, jacobi = _rollbacks(runs, scene)
        rows += [
            Row(experiment, f"{scene}: detections a step, Gauss-Seidel", None, gauss, "1"),
            Row(experiment, f"{scene}: detections a step, Jacobi", None, jacobi, "1"),
            Row(experiment, f"{scene}: Jacobi over Gauss-Seidel", "60-100", _ratio(jacobi, gauss), "1"),
            Row(experiment, f"{scene}: Jacobi minus Gauss-Seidel, a step", "60-100", jacobi - gauss, "1"),
        ]
    return rows


def method_detections(experiment: str, runs: Runs) -> list[Claim]:
    """Fig. 9: how often Gauss-Seidel and Jacobi roll back, on both scenes of the figure."""
    found = {scene: _rollbacks(runs, scene) for scene in COMPARED}
    low, high = EXTRA_ROLLBACKS
    ratios = [_ratio(jacobi, gauss) for gauss, jacobi in found.values()]
    more = [jacobi - gauss for gauss, jacobi in found.values()]
    ours = "; ".join(
        f"{scene} {jacobi:.3g} a step against {gauss:.3g}: {ratio:.3g} times as many"
        for (scene, (gauss, jacobi)), ratio in zip(found.items(), ratios, strict=True)
    )
    return [
        Claim(
            experiment, "Jacobi detects divergence far more often than Gauss-Seidel", "far more often", ours,
            all(ratio >= FAR_MORE for ratio in ratios),
        ),
        Claim(
            experiment, "Jacobi rolls back 60-100 times more",
            "60-100 times more in each solver run (as a ratio or as a number)", ours,
            all(low <= ratio <= high or low <= extra <= high for ratio, extra in zip(ratios, more, strict=True)),
        ),
    ]  # fmt: skip


def same_fixed_point(answers: Mapping[str, tuple[float, str]]) -> Claim:
    """Sec. 4.2: "The r-Factors does not change the model, the solutions hold for all r-values"."""
    errors = {name: error for name, (error, _) in answers.items() if name.startswith("box")}
    ours = ", ".join(f"{name.split(', ')[1]} {error:.1e}" for name, error in errors.items())
    return Claim(
        "fixed-point", "Solutions do not depend on the r-factors", "the solutions hold for all r-values",
        f"box that slips, velocity error [m/s]: {ours}", all(error < SAME_ANSWER for error in errors.values()),
    )  # fmt: skip


def notes(runs: Runs) -> Iterator[str]:
    """What the numbers say and the paper does not."""
    for key, run in runs.items():
        if run.lost:
            yield f"{', '.join(key)}: blew up after {len(run.outcome)} steps; those not taken count as not converged."
    for factors, group in by_strategy(runs).items():
        outcome, residual = pooled(group, "outcome"), pooled(group, "residual")
        reached = residual[outcome == ABSOLUTE]
        if len(reached):
            yield (
                f"{factors}: in the {len(reached)} steps with absolute convergence, where eq. (27) is below 1e-3 N s, "
                f"the natural-map residual of the exact law is {np.median(reached):.1e} in the median and "
                f"{reached.max():.1e} at most: impulses that hardly change need not be a solution."
            )
    idle = sum(int((~run.busy).sum()) for run in runs.values())
    if idle:
        yield f"{idle} steps of all runs had no contacts; they are left out of all statistics."
    yield "The start r = 5 of the global strategy is a mass in kg: whether it fits depends on the bodies' masses."


def _rollbacks(runs: Runs, scene: str) -> tuple[float, float]:
    """Divergence detections a step, mean, of Gauss-Seidel and of Jacobi."""
    found = [runs[scene, solver, METHOD_STRATEGY].of("rollbacks") for solver in (GAUSS_SEIDEL, JACOBI)]
    gauss, jacobi = (float(each.mean()) if len(each) else float("nan") for each in found)
    return gauss, jacobi


def _each(groups: Mapping[str, list[RunRecord]], measure: Callable[[list[RunRecord]], Any]) -> dict[str, Any]:
    return {factors: measure(group) for factors, group in groups.items()}


def _words(values: Mapping[str, Any], unit: str, *names: str) -> str:
    """Numbers of the strategies as text."""
    chosen = names or STRATEGIES
    return ", ".join(f"{name} {_number(values[name])}" for name in chosen) + f" {unit}"


def _number(value: Any) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3g}"


def _percent(share: float) -> str:
    return f"{100.0 * share:.2g} %" if isfinite(share) else "blew up"


def _ratio(a: float, b: float) -> float:
    return a / b if b > 0.0 else (float("inf") if a > 0.0 else 1.0)


def _close(a: float, b: float) -> bool:
    return 1.0 / COMPARABLE <= _ratio(a, b) <= COMPARABLE


def _variation(values: Any) -> float:
    """Distance of the quartiles over the median."""
    if not len(values):
        return float("nan")
    low, middle, high = np.percentile(values, (25, 50, 75))
    return float((high - low) / middle) if middle > 0.0 else float("nan")
