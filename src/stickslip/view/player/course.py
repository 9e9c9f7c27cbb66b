"""Certificate, counts and energy of a recording as the page plots them, and its worst numbers in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.arrays import Array, Bools
from stickslip.view.course import Course
from stickslip.view.player.data import float_block, time_block
from stickslip.view.player.frames import Packed

POINTS = 2000
"""Points of a plotted curve; of longer recordings the extremes of each stretch are kept."""
ROUNDING = 1e-9
"""[N] forces below are not worth a word."""


def courses(course: Course, shown: Bools) -> Packed:
    """Curves over the frames that are ``shown`` (n,)."""
    curves = course.columns(int(np.flatnonzero(shown)[0]))
    curves["overlap"] = 1e3 * curves["overlap"]  # pages say millimetres
    table = np.stack([values[shown] for values in curves.values()], axis=1)
    time, thin = thinned(course.time[shown], table)
    facts: dict[str, Any] = {
        "curves": list(curves),
        "tolerance": course.tolerance,
        "sparse": course.sparse,
        "failed": _failed_times(course, shown),
        "words": _words(course, shown),
    }
    return Packed(facts, {"course_time": time_block(time), "course": float_block(thin)})


def thinned(time: Array, table: Array, points: int = POINTS) -> tuple[Array, Array]:
    """Times (k,) and curves (k, m) of at most ``points`` points: of each stretch the least and the largest value.

    The two stand in the order in which they came, a third of the stretch from its ends.
    """
    n = len(time)
    if n <= points:
        return time, table
    edges = np.linspace(0, n, points // 2 + 1).astype(int)
    times, rows = [], []
    for a, b in zip(edges[:-1], edges[1:], strict=True):
        part = np.nan_to_num(table[a:b])
        low, high = part.argmin(axis=0), part.argmax(axis=0)
        column = np.arange(table.shape[1])
        rows += [part[np.minimum(low, high), column], part[np.maximum(low, high), column]]
        times += [time[a + (b - a) // 3], time[a + 2 * (b - a) // 3]]
    return np.array(times), np.array(rows)


def _failed_times(course: Course, shown: Bools) -> list[list[float]]:
    """Stretches [from, to] [s] of frames whose steps did not converge; at most POINTS, then neighbours are joined."""
    failed = np.flatnonzero(shown & ~course.converged)
    if not len(failed):
        return []
    runs = np.split(failed, np.flatnonzero(np.diff(failed) > 1) + 1)
    while len(runs) > POINTS:
        runs = [np.concatenate(runs[k : k + 2]) for k in range(0, len(runs), 2)]
    before = np.append(course.time[0] - (course.time[1] - course.time[0] if len(course) > 1 else 0.0), course.time[:-1])
    return [[float(before[run[0]]), float(course.time[run[-1]])] for run in runs]


def _words(course: Course, shown: Bools) -> list[str]:
    """The worst numbers of the certificates, each as one phrase."""
    at = np.flatnonzero(shown)
    found = []
    for values, least, text in (
        (course.natural_residual, 0.0, "contact law missed by {value:.1e} (relative) at worst, t = {time:.3g} s"),
        (1e3 * course.penetration, 0.0, "deepest overlap {value:.3g} mm, t = {time:.3g} s"),
        (course.momentum_relative, 0.0, "momentum created or lost: {value:.1e} of it at worst"),
        (course.cone_violation, ROUNDING, "friction left its cone by up to {value:.2g} N, t = {time:.3g} s"),
    ):
        own = np.nan_to_num(values[at])
        worst = int(own.argmax())
        if own[worst] > least:
            found.append(text.format(value=own[worst], time=course.time[at[worst]]))
    failed = int((~course.converged[at]).sum())
    what = "recorded steps" if course.sparse else "steps"
    if failed:
        found.insert(0, f"{failed:,} of {len(at):,} {what} did not converge")
    else:
        found.insert(0, f"all {len(at):,} {what} converged")
    return found
