"""Speed of the projections onto ellipsoids: ns each, for the default, the bisection and plain Newton from the left.

Points outside are points of the surface displaced by 1e-4 to 1 of the largest semi-axis, as a proximal step displaces
them; ``near`` has displacements down to 1e-12. Numbers are the smallest of several runs, each a mean over all points;
the methods take turns, so that all see the same machine.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from math import sqrt

import numpy as np

from stickslip import jit
from stickslip.contact.ellipsoid import project_ellipsoid, project_ellipsoid_bisection

compiled = jit.numba.njit(error_model="numpy")  # not cached: the cache's digest follows modules of the package only

SHAPES = {
    "typical 1:1:0.013": (1.0, 1.0, 0.013),
    "round 1:0.8:0.6": (1.0, 0.8, 0.6),
    "flat 1:0.7:1e-6": (1.0, 0.7, 1e-6),
    "needle 1:2e-6:1e-6": (1.0, 2e-6, 1e-6),
    "ellipse 1:0.5:0": (1.0, 0.5, 0.0),
    "ball 1:1:1": (1.0, 1.0, 1.0),
}


@compiled
def newton_from_the_left(x, y, z, a, b, c):
    """The method that the default replaced: Newton on g itself, where g is convex and decreasing."""
    big = max(a, b, c)
    a, b, c, x, y, z = a / big, b / big, c / big, x / big, y / big, z / big
    if c == 0.0:
        c, z = 1.0, 0.0
    if (x / a) ** 2 + (y / b) ** 2 + (z / c) ** 2 <= 1.0:
        return x * big, y * big, z * big
    aa, bb, cc = a * a, b * b, c * c
    t = max(a * abs(x) - aa, b * abs(y) - bb, c * abs(z) - cc, 0.0)
    for _ in range(100):
        p, q, r = (a * x / (aa + t)) ** 2, (b * y / (bb + t)) ** 2, (c * z / (cc + t)) ** 2
        g = p + q + r - 1.0
        slope = -2.0 * (p / (aa + t) + q / (bb + t) + r / (cc + t))
        if g <= 0.0 or slope == 0.0 or -g / slope <= 1e-16 * t:
            break
        t -= g / slope
    return aa * x / (aa + t) * big, bb * y / (bb + t) * big, cc * z / (cc + t) * big


METHODS = {"default": project_ellipsoid, "bisection": project_ellipsoid_bisection, "newton": newton_from_the_left}


def looped(project: Callable) -> Callable:
    """A compiled loop of projections over rows of points, into rows of results."""

    @compiled
    def loop(z, a, b, c, p_out):
        for i in range(z.shape[0]):
            p_out[i, 0], p_out[i, 1], p_out[i, 2] = project(z[i, 0], z[i, 1], z[i, 2], a, b, c)

    return loop


def points(axes: tuple[float, float, float], place: str, count: int) -> np.ndarray:
    """Points (count, 3) outside or inside the ellipsoid."""
    rng = np.random.default_rng(5)
    found = np.empty((0, 3))
    while len(found) < count:
        direction = rng.normal(size=(count, 3)) * (np.array(axes) > 0)
        surface = direction / np.linalg.norm(direction, axis=1)[:, None] * axes
        if place == "inside":
            return surface * rng.uniform(0, 0.99, (count, 1))
        far = 10 ** rng.uniform(-12 if place == "near" else -4, 0, (count, 1))
        z = surface + far * rng.normal(size=(count, 3)) * max(axes) / sqrt(3.0)
        level = np.divide(z, axes, out=np.zeros_like(z), where=np.array(axes) > 0)
        found = np.vstack([found, z[(level**2).sum(axis=1) > 1]])
    return found[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--count", type=int, default=10000, help="points of each kind")
    parser.add_argument("--runs", type=int, default=15, help="runs of each method")
    options = parser.parse_args()
    loops = {name: looped(project) for name, project in METHODS.items()}
    values: dict[str, dict[str, float]] = {}
    for shape, axes in SHAPES.items():
        for place in ("outside", "near", "inside"):
            z = points(axes, place, options.count)
            p = np.empty_like(z)
            times: dict[str, list[float]] = {name: [] for name in loops}
            for _ in range(options.runs + 1):
                for name, loop in loops.items():
                    start = time.perf_counter()
                    loop(z, *axes, p)
                    times[name].append(1e9 * (time.perf_counter() - start) / len(z))
            # the first run compiled
            row = {name: min(runs[1:]) for name, runs in times.items()}
            values[f"{shape} {place}"] = row | {"newton_over_default": row["newton"] / row["default"]}
    if options.json:
        print(json.dumps(values))
        return
    print(f"{'ns per projection':28s}" + "".join(f"{name:>12s}" for name in METHODS) + "  newton / default")
    for name, row in values.items():
        print(f"{name:28s}" + "".join(f"{row[m]:12.1f}" for m in METHODS) + f"{row['newton_over_default']:18.2f}")


if __name__ == "__main__":
    main()
