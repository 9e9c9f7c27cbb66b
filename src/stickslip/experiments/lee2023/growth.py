"""[lee2023] Fig. 11: solver time over unknowns of the mat, for COND, PGS and APGD."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stickslip.experiments.lee2023.tables import APGD, COMPARISONS, COND, PGS, method, value
from stickslip.experiments.lee2023.trials import Course, Runs, Trials
from stickslip.experiments.report import Claim, Row

DIVISIONS: Mapping[str, tuple[int, ...]] = {
    COND: (20, 28, 38, 52, 76, 104, 130), PGS: (20, 28, 38, 52), APGD: (20, 28, 38, 52, 76),
}  # fmt: skip
"""Cells along the mat. PGS ends where its dense matrix no longer fits: with n contacts it has 9 n^2 entries."""
QUICK_DIVISIONS: Mapping[str, tuple[int, ...]] = {COND: (20, 28, 38, 52, 76), PGS: (20, 28, 38), APGD: (20, 28, 38)}
POINTS, QUICK_POINTS, BURST, QUICK_BURST = (15, 30), (12,), 4, 3
PAPER = {COND: 0.9997, PGS: 2.473, APGD: 1.470}
"""Exponents as printed."""
LINEAR = 1.0
LARGE = 90000
"""Unknowns to which growth is to be measured."""
Growth = Mapping[str, Mapping[int, Trials]]


def measure(quick: bool, runs: Runs) -> dict[str, dict[int, Trials]]:
    """By method and unknowns."""
    threshold = COMPARISONS["table2"].threshold
    points, burst = (QUICK_POINTS, QUICK_BURST) if quick else (POINTS, BURST)
    found: dict[str, dict[int, Trials]] = {}
    for name, sizes in (QUICK_DIVISIONS if quick else DIVISIONS).items():
        found[name] = {}
        for divisions in sizes:
            course = Course("soft-mat", threshold, points, burst, (0,), (("divisions", divisions),), judged=False)
            seen = runs(course, method(name, threshold))
            found[name][seen.unknowns] = seen
    return found


def milliseconds(seen: Trials) -> float:
    """[ms] of the solver, mean."""
    return seen.milliseconds(seen.solving)


def exponent(sizes: Mapping[int, Trials], per_iteration: bool = False) -> float:
    """Slope of the logarithm of solver time (of that of an iteration) over that of unknowns, by least squares."""
    times = [milliseconds(seen) / (value("IN", "", seen) if per_iteration else 1.0) for seen in sizes.values()]
    return float(np.polyfit(np.log(list(sizes)), np.log(times), 1)[0])


def rows(experiment: str, found: Growth) -> list[Row]:
    """The paper's figure has no numbers but exponents."""
    lines = []
    for name, sizes in found.items():
        for unknowns, seen in sizes.items():
            label = f"{name}, {unknowns} unknowns"
            lines.append(Row(experiment, f"{label}: ST", None, milliseconds(seen), "ms"))
            lines.append(Row(experiment, f"{label}: IN", None, value("IN", "", seen), ""))
        lines.append(Row(experiment, f"{name}: exponent of ST over unknowns", PAPER[name], exponent(sizes), ""))
        each = exponent(sizes, per_iteration=True)
        lines.append(Row(experiment, f"{name}: exponent of ST an iteration", None, each, ""))
    return lines


def claims(experiment: str, found: Growth) -> list[Claim]:
    """Sec. V-D."""
    powers = {name: exponent(sizes) for name, sizes in found.items()}
    most = max(found[COND])
    return [
        Claim(
            experiment, "Solver time of COND grows linearly with unknowns", f"exponent {PAPER[COND]}",
            f"exponent {powers[COND]:.3f} up to {most} unknowns", powers[COND] <= LINEAR,
        ),
        *(
            Claim(
                experiment, f"That of {name} grows faster than linearly", f"exponent {PAPER[name]}",
                f"exponent {powers[name]:.3f} up to {max(found[name])} unknowns", powers[name] > max(1.0, powers[COND]),
            )
            for name in (PGS, APGD)
        ),
    ]  # fmt: skip
