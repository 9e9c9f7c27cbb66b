"""Claims of [macklin2019] about Fig. 17 and 18, judged by the courses of Newton solves."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stickslip.experiments.macklin2019.courses import CONVERGED, Course, Panel
from stickslip.experiments.report import Claim

STAGNANT = 100.0
"""How many times the residual of PCR another inner solver has to keep, to be called stagnant."""
CLEARLY = 1.5
"""How many times the iterations another scaling has to need, to be called worse."""
ROUNDING = 1e-11
"""Scaled residual below which all are as good as solved."""
PREDICTED = 100.0
"""Factor within which a limit counts as predicted."""


def scaling_claims(experiment: str, found: Mapping[str, Panel]) -> list[Claim]:
    """Sec. 10.2 and Fig. 17."""
    needed = {name: _needed(found, name) for name in ("identity", "timestep", "effective-mass")}
    words = {name: _listed(iterations) for name, iterations in needed.items()}
    solved = {name: sum(k is not None for k in iterations.values()) for name, iterations in needed.items()}
    most = max(solved.values())
    plain, ours = needed["timestep"]["heavy-stack"], needed["effective-mass"]["heavy-stack"]
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
            f"heavy-stack: {_count(plain)}, with the effective mass {_count(ours)}",
            ours is not None and (plain is None or plain > CLEARLY * ours),
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
    stack, beam = final["heavy-stack"], final["beam-insertion"]
    stuck = [f"heavy-stack {name} {stack[name]:.1e}" for name in ("Jacobi", "Gauss-Seidel")]
    stuck += [f"beam-insertion {name} {beam[name]:.1e}" for name in ("Jacobi", "Gauss-Seidel")]
    rises = {name: [rise(panel.courses[name]) for panel in found.values()] for name in ("PCG", "PCR")}
    order = ("PCR", "PCG", "Gauss-Seidel", "Jacobi")  # of equals, the first
    best = {scene: min(order, key=lambda name: values[name]) for scene, values in final.items()}
    smooth = sum(rises["PCR"]) < sum(rises["PCG"])
    return [
        Claim(
            experiment, "Jacobi and Gauss-Seidel stagnate on ill-conditioned problems", "characteristic stagnation",
            ", ".join(stuck) + f"; PCR {stack['PCR']:.1e} and {beam['PCR']:.1e}",
            all(values[name] > STAGNANT * values["PCR"] for values in (stack, beam) for name in
                ("Jacobi", "Gauss-Seidel")),
        ),
        Claim(
            experiment, "PCG has large fluctuations of the residual, PCR reduces it smoothly", "large fluctuations",
            f"rises summed over the scenes: PCG {sum(rises['PCG']):.1f} decades, PCR {sum(rises['PCR']):.1f}", smooth,
        ),
        Claim(
            experiment, "PCR converges fastest", "fast convergence",
            "lowest residual at the end: " + ", ".join(f"{scene} {name}" for scene, name in best.items()),
            all(values["PCR"] <= 2.0 * min(values.values()) for values in final.values()),
        ),
        *limit_claims(experiment, found),
    ]  # fmt: skip


def limit_claims(experiment: str, found: Mapping[str, Panel]) -> list[Claim]:
    """Sec. 10.5: the limits of eq. 91 and 92 against the least error and step of any course."""
    words, good = [], True
    for scene, panel in found.items():
        error = min(course.least("error") for course in panel.courses.values())
        step = min(course.least("step") for course in panel.courses.values())
        words.append(
            f"{scene}: error {error:.0e}, predicted {panel.limits.residual:.0e}; step {step:.0e}, predicted "
            f"{panel.limits.step:.0e}"
        )
        ratios = np.array([error / panel.limits.residual, step / panel.limits.step])
        good &= bool(((ratios < PREDICTED) & (ratios > 1.0 / PREDICTED)).all())
    claim = "The error analysis predicts the accuracy that is reached (64-bit numbers here, 32-bit in the paper)"
    return [Claim(experiment, claim, "a good job, but for the residual of the beam", "; ".join(words), good)]


def rise(course: Course) -> float:
    """[decades] by which the residual rises in all, where it rises and is above rounding."""
    logs = np.log10(np.maximum(course.residual, ROUNDING))
    return float(np.maximum(np.diff(logs), 0.0).sum())


def _needed(found: Mapping[str, Panel], name: str) -> dict[str, int | None]:
    return {scene: panel.courses[name].first_below(CONVERGED) for scene, panel in found.items()}


def _never_slower(needed: Mapping[str, Mapping[str, int | None]], name: str) -> bool:
    """Whether no other scaling needs fewer iterations in any scene."""
    own = needed[name]
    return not any(
        k is not None and (own[scene] is None or k < (own[scene] or 0))
        for other in needed.values()
        for scene, k in other.items()
    )


def _count(iterations: int | None) -> str:
    return f"not to {CONVERGED:g}" if iterations is None else f"{iterations} iterations to {CONVERGED:g}"


def _listed(iterations: Mapping[str, int | None]) -> str:
    return ", ".join(f"{scene}: {_count(k)}" for scene, k in iterations.items())
