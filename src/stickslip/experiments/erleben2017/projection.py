"""Fig. 2 of [erleben2017]: the closest point on the ellipsoid of friction, and the function whose root gives it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.ellipsoid import project_ellipsoid, project_ellipsoid_bisection
from stickslip.experiments.report import Claim, Row, write_table
from stickslip.view.drawing import canvas, save

OURS: Any = project_ellipsoid
SEARCH: Any = project_ellipsoid_bisection
"""Kernels: our projection, and the paper's search by halves."""
AXES = np.array([1.0, 1.5, 0.5])
POINT = np.array([2.0, 2.5, 1.5])
"""Semi-axes and the point z of the picture; the paper does not give its own."""
STEPS, ITERATIONS = 200, 50
TRIALS = 2000
"""Random ellipsoids and points on which ways to the root are compared; semi-axes over three decades."""
CLOSE = 1e-9
FAR = 1e50
"""Where Newton's method has left for good."""


@dataclass(frozen=True, eq=False)
class Found:
    """What was measured."""

    t: Array
    """(n,) from zero to beyond the root."""
    g: Array
    path: Array
    """(n, 3) x(t), eq. (32)."""
    closest: Array
    """x*, (3,)."""
    root: float
    worst: float
    """Largest difference of the two projections, over the largest semi-axis."""
    falls: bool
    """Whether g fell wherever it was looked at."""
    lost: float
    """Share of the trials in which Newton's method from eq. (36) does not find the positive root."""


def g_of(t: Array, z: Array, axes: Array) -> Array:
    """g(t), eq. (35)."""
    value: Array = ((axes * z / (axes**2 + t[:, None])) ** 2).sum(axis=1) - 1.0
    return value


def newton(z: Array, axes: Array, t: float) -> float:
    """Where Newton's method for g leads from t."""
    for _ in range(ITERATIONS):
        below = axes**2 + t
        if not abs(t) < FAR or np.any(below == 0.0):
            break
        value = float(((axes * z / below) ** 2).sum() - 1.0)
        slope = float((-2.0 * (axes * z) ** 2 / below**3).sum())
        if slope == 0.0:
            break
        t -= value / slope
    return t


def measure() -> Found:
    """The picture's path and function, and both projections and Newton's method on random ellipsoids."""
    closest = np.array(OURS(*POINT.tolist(), *AXES.tolist()))
    root = _root(POINT, closest, AXES)
    t = np.linspace(0.0, 4.0 * root, STEPS)
    path = AXES**2 / (AXES**2 + t[:, None]) * POINT
    rng = np.random.default_rng(1)
    worst, lost, falls = 0.0, 0, bool(np.all(np.diff(g_of(t, POINT, AXES)) < 0.0))
    for _ in range(TRIALS):
        axes = 10.0 ** rng.uniform(-3.0, 0.0, 3)
        z = rng.normal(size=3) * 10.0 ** rng.uniform(-1.0, 2.0)
        if ((z / axes) ** 2).sum() <= 1.0:
            continue
        ours = np.array(OURS(*z.tolist(), *axes.tolist()))
        theirs = np.array(SEARCH(*z.tolist(), *axes.tolist()))
        worst = max(worst, float(np.abs(ours - theirs).max() / axes.max()))
        t_star = _root(z, ours, axes)
        falls = falls and bool(np.all(np.diff(g_of(np.linspace(0.0, 2.0 * t_star, STEPS), z, axes)) < 0.0))
        reached = newton(z, axes, float(axes.max() * np.linalg.norm(z)))
        lost += not (np.isfinite(reached) and abs(reached - t_star) <= 1e-6 * t_star)
    return Found(t, g_of(t, POINT, AXES), path, closest, root, worst, falls, lost / TRIALS)


def _root(z: Array, x: Array, axes: Array) -> float:
    """t with x = (t K + I)^-1 z, from the component in which the two differ most."""
    k = int(np.argmax(np.abs(z - x)))
    return float(axes[k] ** 2 * (z[k] / x[k] - 1.0))


def rows(experiment: str, found: Found) -> list[Row]:
    """Numbers of the picture; the paper gives none."""
    return [
        Row(experiment, "root t* of g in the picture", None, found.root, "1"),
        Row(experiment, "search of the paper against ours, largest difference", None, found.worst, "semi-axes"),
        Row(experiment, "Newton's method from eq. (36) misses the positive root", None, 100.0 * found.lost, "%"),
    ]


def claims(experiment: str, found: Found) -> list[Claim]:
    """Sec. 4.1."""
    return [
        Claim(
            experiment, "g falls for all t > 0, and a search by halves finds its root", "dg/dt < 0; a good choice",
            f"{'falls everywhere' if found.falls else 'rises somewhere'}; at most {found.worst:.1e} semi-axes apart",
            found.falls and found.worst < CLOSE,
        ),
        Claim(
            experiment, "Newton's method for g diverges or finds negative roots", "diverge or find negative roots",
            f"from eq. (36) in {100.0 * found.lost:.0f} % of {TRIALS} trials", found.lost > 0.0,
        ),
    ]  # fmt: skip


def draw(found: Found, picture: Path, table: Path) -> None:
    """The way from z to x* on the ellipsoid, and g(t) with its root."""
    figure, axes = canvas(1, 2, 9.5, 4.0)
    left, right = axes[0]
    # in the plane of the first two axes, with the ellipsoid's outline there
    angle = np.linspace(0.0, 2.0 * np.pi, 200)
    left.plot(AXES[0] * np.cos(angle), AXES[1] * np.sin(angle), color="0.6", label="ellipsoid, section z = 0")
    height = found.closest[2] / AXES[2]
    rim = np.sqrt(1.0 - height**2)
    left.plot(
        rim * AXES[0] * np.cos(angle), rim * AXES[1] * np.sin(angle), color="0.6", linestyle=":",
        label="section at the height of x*",
    )  # fmt: skip
    left.plot(found.path[:, 0], found.path[:, 1], color="#2166ac", label="x(t), eq. (32)")
    left.plot(*POINT[:2], "o", color="0.2", label="z")
    left.plot(*found.closest[:2], "o", color="#b2182b", label="x*")
    left.set(aspect="equal", xlabel="first axis", ylabel="second axis")
    right.plot(found.t, found.g, color="#2166ac")
    right.axhline(0.0, color="0.5", linewidth=0.8)
    right.plot(found.root, 0.0, "o", color="#b2182b", label=f"t* = {found.root:.4g}")
    right.set(xlabel="t", ylabel="g(t), eq. (35)")
    left.set_xlim(-1.2, 4.0)  # room for the legend
    for axis, place in ((left, "lower right"), (right, "upper right")):
        axis.legend(fontsize=8, loc=place)
        axis.grid(alpha=0.3)
    save(figure, picture)
    write_table(
        table, ("t", "g", "x", "y", "z"), [(a, b, *x) for a, b, x in zip(found.t, found.g, found.path, strict=True)]
    )
