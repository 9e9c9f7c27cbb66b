"""[macklin2019] Fig. 6 and 9: friction's compliance W over the force, and one constraint with and without scaling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.experiments.report import Claim, Row
from stickslip.solvers.newton import ncp

Vector = Array

FUNCTIONS = {"minimum map": ncp.MINIMUM_MAP, "Fischer-Burmeister": ncp.FISCHER_BURMEISTER}
SPEED, NORMAL, MU = 0.5, 10.0, 0.5
"""Fig. 6: sliding speed [m/s], normal force [N], coefficient of friction."""
LIMIT = MU * NORMAL
FORCES = np.linspace(0.0, 10.0, 401)
"""[N] of Fig. 6; r = 1, as in the body of the paper, which leaves it out there."""
STRONGLY = 5.0
"""How much larger W has to be at 1.5 times the cone's limit than at the limit, to be called strong."""
STARTS = np.concatenate([np.linspace(-10.0, 10.0, 401), [-1e6, 1e6]])
"""Forces from which Newton's method starts on the constraint of Fig. 9."""
MOST_STEPS, SOLVED = 100, 1e-12

_value = np.vectorize(ncp.ncp_value, otypes=[float])
_compliance = np.vectorize(ncp.friction_compliance, otypes=[float])


def compliance(function: int, force: Vector) -> Vector:
    """W [m/(s N)] of Fig. 6 at friction forces (n,) [N]."""
    found: Vector = _compliance(function, SPEED, NORMAL, force, MU, 1.0)
    return found


def friction_error(function: int, force: Vector) -> Vector:
    """phi_f [m/s] of eq. 36 in one dimension, at friction forces (n,) [N] against the motion."""
    return SPEED - compliance(function, force) * force


def printed_error(force: Vector) -> Vector:
    """phi_f [m/s] with W as eq. 104 is printed, the speed squared in its denominator."""
    g = LIMIT - force
    root = np.sqrt(SPEED**2 + g**2)
    return SPEED - (root - g) / (SPEED**2 + LIMIT - root) * force


def zero_of(error: Callable[[Vector], Vector], low: float, high: float) -> float:
    """The force [N] between two at which an error changes its sign, by halving."""
    sign = np.sign(error(np.array([low]))[0])
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.sign(error(np.array([middle]))[0]) == sign else (low, middle)
    return 0.5 * (low + high)


def friction_rows(experiment: str) -> list[Row]:
    """Numbers of Fig. 6; the paper says where phi_f is zero, the rest is only in its picture."""
    rows = []
    for name, function in FUNCTIONS.items():
        at = compliance(function, np.array([0.5 * LIMIT, LIMIT, 1.5 * LIMIT]))
        zero = zero_of(lambda force, function=function: friction_error(function, force), 1.0, 9.0)  # type: ignore[misc]
        rows.append(Row(experiment, f"{name}: force at which phi_f is zero", LIMIT, zero, "N"))
        for word, value in zip(("half the limit", "the limit", "1.5 times the limit"), at.tolist(), strict=True):
            rows.append(Row(experiment, f"{name}: W at {word}", None, value, "m/(s N)"))
    rows.append(Row(experiment, "eq. 104 as printed: force at which phi_f is zero", LIMIT, _printed_zero(), "N"))
    return rows


def friction_claims(experiment: str) -> list[Claim]:
    """Fig. 6: both functions are zero at the cone's limit, and beyond it W acts strongly."""
    zeros, growth = [], []
    for name, function in FUNCTIONS.items():
        error = friction_error(function, FORCES)
        far = np.abs(FORCES - LIMIT) > 0.01
        zero = abs(float(friction_error(function, np.array([LIMIT]))[0]))
        zeros.append((name, zero, bool((error[far] * (LIMIT - FORCES[far]) > 0.0).all())))
        at, beyond = compliance(function, np.array([LIMIT, 1.5 * LIMIT])).tolist()
        growth.append((name, beyond / at))
    wrong = _printed_zero()
    return [
        Claim(
            experiment, "phi_f of both functions is zero at the cone's limit",
            f"zero at {LIMIT:g} N",
            ", ".join(f"{name} {zero:.1e} m/s there, {'' if only else 'not '}only there" for name, zero, only in zeros),
            all(zero < 1e-14 and only for _, zero, only in zeros),
        ),
        Claim(
            experiment, "Beyond the limit W acts to strongly penalise the multiplier", "strongly",
            ", ".join(f"{name}: {ratio:.1f} times W of the limit at 1.5 times the force" for name, ratio in growth),
            all(ratio > STRONGLY for _, ratio in growth),
        ),
        Claim(
            experiment, "Eq. 104 as printed has its zero at the cone's limit", f"zero at {LIMIT:g} N",
            f"zero at {wrong:.4g} N: the speed is squared where it should not be", abs(wrong - LIMIT) < 1e-6,
        ),
    ]  # fmt: skip


def _printed_zero() -> float:
    return zero_of(printed_error, 1.0, 9.0)


# ---- Fig. 9 ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Scaled:
    """The constraint of Fig. 9, c = lam / 4 - 1 / 8, under one function with one scaling."""

    name: str
    function: int
    r: float

    def error(self, force: Vector) -> Vector:
        """phi (n,) at forces (n,)."""
        found: Vector = _value(self.function, 0.25 * force - 0.125, self.r * force)
        return found

    def steps(self, start: float) -> int:
        """Newton steps, undamped, until phi is zero to rounding; MOST_STEPS where it never is."""
        lam = start
        for step in range(MOST_STEPS):
            phi, by_gap, by_force = ncp.normal_terms(self.function, 0.25 * lam - 0.125, self.r, lam)  # type: ignore[no-untyped-call]
            if abs(phi) <= SOLVED * max(1.0, abs(start)):
                return step
            lam -= phi / (0.25 * by_gap + by_force)
        return MOST_STEPS

    @property
    def curvature(self) -> float:
        """Largest |phi''| over the force: of R = sqrt(a^2 + b^2) it is (a b' - b a')^2 / R^3; infinite at a kink."""
        if self.function == ncp.MINIMUM_MAP:
            return 0.0 if self.r == 0.25 else float("inf")
        least = 0.125 * self.r / sqrt(0.25**2 + self.r**2)
        return (0.125 * self.r) ** 2 / least**3


SCALED = [
    Scaled(f"{name}, {words}", function, r)
    for words, r in (("r = 1", 1.0), ("r = effective mass", 0.25))
    for name, function in FUNCTIONS.items()
]


def step_counts() -> dict[str, LongInts]:
    """(n,) Newton steps from each of STARTS, by name."""
    return {case.name: np.array([case.steps(start) for start in STARTS.tolist()]) for case in SCALED}


def scaling_rows(experiment: str) -> list[Row]:
    """Numbers of Fig. 9."""
    rows = []
    counts = step_counts()
    for case in SCALED:
        one = case.function == ncp.MINIMUM_MAP and case.r != 1.0
        found = counts[case.name]
        rows.append(Row(experiment, f"{case.name}: most Newton steps", 1 if one else None, int(found.max()), ""))
        rows.append(Row(experiment, f"{case.name}: mean Newton steps", None, float(found.mean()), ""))
        rows.append(Row(experiment, f"{case.name}: largest curvature", None, case.curvature, "1/N"))
    return rows


def scaling_claims(experiment: str) -> list[Claim]:
    """Fig. 9: with scaling the minimum map is a straight line, and Fischer-Burmeister's curvature is less."""
    counts = step_counts()
    plain_min, plain_fb, scaled_min, scaled_fb = SCALED
    most = int(counts[scaled_min.name].max())
    return [
        Claim(
            experiment, "With scaling, one Newton step solves the minimum map from any start", "one step",
            f"at most {most} from {len(STARTS)} starts; without scaling {int(counts[plain_min.name].max())}", most == 1,
        ),
        Claim(
            experiment, "With scaling, the curvature of Fischer-Burmeister is reduced", "reduced",
            f"at most {scaled_fb.curvature:.3g} against {plain_fb.curvature:.3g} without; Newton steps in the mean "
            f"{counts[scaled_fb.name].mean():.1f} against {counts[plain_fb.name].mean():.1f}",
            scaled_fb.curvature < plain_fb.curvature,
        ),
    ]  # fmt: skip
