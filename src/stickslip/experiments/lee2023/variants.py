"""[lee2023] Table IV (stiffness), Table VII (contact constraint splitting) and Table IX (Chebyshev acceleration)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stickslip.experiments.lee2023.tables import (
    APGD,
    CHEBYSHEV,
    COMPARISONS,
    COND,
    IE,
    IN,
    MP,
    PGS,
    ST,
    Line,
    method,
    value,
)
from stickslip.experiments.lee2023.trials import Method, Runs, Trials
from stickslip.experiments.report import Claim, Row

STIFFNESS = {"0.1 MPa": 1e5, "1 MPa": 1e6, "10 MPa": 1e7}
"""Young's moduli [Pa] of the ball."""
STIFFNESS_PAPER: Mapping[str, tuple[float, float, float]] = {
    COND: (39.72, 37.93, 34.99), PGS: (145.8, 224.0, 306.7), APGD: (48.07, 100.9, 200.5),
}  # fmt: skip
FLAT = 1.5
"""Ratio of most to fewest iterations up to which they do not depend on stiffness."""
MOST = 3000
"""Iterations at most without acceleration, which takes more than the release allows."""
NEVER = 1e-300
"""[m/s] threshold that no iteration reaches, so that all are made."""
SPLITTING_PAPER: Mapping[str, Line] = {
    "COND (50)": {MP: 0.0049, IE: 0.9662, ST: 10.85},
    "COND (100)": {MP: 0.0050, IE: 0.1620, ST: 20.90},
    "CCS (50)": {MP: 0.0051, IE: 13.40, ST: 65.99},
    "CCS (100)": {MP: 0.0053, IE: 6.559, ST: 107.9},
}
CHEBYSHEV_PAPER: Mapping[str, tuple[float, float]] = {
    "table2": (167.4, 39.72), "table3": (138.8, 37.51), "table5": (40.14, 18.28), "table6": (155.7, 30.88),
}  # fmt: skip
"""Iterations without and with acceleration, by the table of the scene."""
WITHOUT, WITH = "without", "with"


def measure_stiffness(quick: bool, runs: Runs) -> dict[str, dict[str, Trials]]:
    """By method and stiffness; one ball of each, with the means of the other parameters."""
    table = COMPARISONS["table3"]
    course = replace(table.course(quick), seeds=(0,), judged=False)
    return {
        name: {
            label: runs(course.but(young=young), method(name, table.threshold)) for label, young in STIFFNESS.items()
        }
        for name in (COND, PGS, APGD)
    }


def stiffness_rows(experiment: str, found: Mapping[str, Mapping[str, Trials]]) -> list[Row]:
    """Table IV."""
    return [
        Row(experiment, f"{name}, {label}: IN", paper, value(IN, "", seen), "")
        for name, balls in found.items()
        for (label, seen), paper in zip(balls.items(), STIFFNESS_PAPER[name], strict=True)
    ]


def stiffness_claims(experiment: str, found: Mapping[str, Mapping[str, Trials]]) -> list[Claim]:
    """Sec. V-C-4."""
    counts = {name: [value(IN, "", seen) for seen in balls.values()] for name, balls in found.items()}
    spread = max(counts[COND]) / min(counts[COND])
    verdicts = [
        Claim(
            experiment, "Iterations of COND do not depend on the stiffness of the ball", _words(STIFFNESS_PAPER[COND]),
            f"{_words(counts[COND])}; most over fewest {spread:.2g}", spread <= FLAT,
        )
    ]  # fmt: skip
    for name in (PGS, APGD):
        low, middle, high = counts[name]
        verdicts.append(
            Claim(
                experiment, f"Those of {name} grow with it", _words(STIFFNESS_PAPER[name]), _words(counts[name]),
                low < middle < high,
            )
        )  # fmt: skip
    return verdicts


def splitting_methods() -> tuple[Method, ...]:
    """COND and CCS, which is ADMM over the velocities of nodes, with fixed numbers of iterations."""
    ccs = Method("CCS", "admm", (("splitting", "nodes"), ("criterion", "velocity"), ("tolerance", NEVER)))
    cond = Method(COND, "cond", (("criterion", "step"), ("tolerance", NEVER), CHEBYSHEV))
    return tuple(
        each.but(f"{each.name} ({count})", max_iterations=count) for each in (cond, ccs) for count in (50, 100)
    )


def measure_splitting(quick: bool, runs: Runs) -> dict[str, Trials]:
    """Table VII, by line."""
    course = COMPARISONS["table2"].course(quick)
    return {each.name: runs(course, each) for each in splitting_methods()}


def splitting_rows(experiment: str, found: Mapping[str, Trials]) -> list[Row]:
    """Table VII."""
    lines = []
    for name, seen in found.items():
        for column, unit in ((MP, "mm"), (IE, "mN"), (ST, "ms")):
            lines.append(
                Row(experiment, f"{name}: {column}", SPLITTING_PAPER[name][column], value(column, unit, seen), unit)
            )
    for count in (50, 100):
        ours = _time(found[f"CCS ({count})"]) / _time(found[f"COND ({count})"])
        theirs = SPLITTING_PAPER[f"CCS ({count})"][ST] / SPLITTING_PAPER[f"COND ({count})"][ST]
        lines.append(Row(experiment, f"ST of CCS over that of COND, {count} iterations", theirs, ours, ""))
    return lines


def splitting_claims(experiment: str, found: Mapping[str, Trials]) -> list[Claim]:
    """Sec. V-E-1."""
    times = [_time(found[f"CCS ({count})"]) / _time(found[f"COND ({count})"]) for count in (50, 100)]
    off = {name: value(IE, "mN", seen) for name, seen in found.items()}
    deep = {name: value(MP, "mm", seen) for name, seen in found.items()}
    return [
        Claim(
            experiment, "COND takes less time than CCS for as many iterations", "nearly 5 times",
            f"{times[0]:.3g} and {times[1]:.3g} times", min(times) >= 4.5,
        ),
        Claim(
            experiment, "Internal forces of COND are nearer to converged ones", "0.97 and 0.16 mN for 13.4 and 6.56 mN",
            ", ".join(f"{name} {each:.3g}" for name, each in off.items()) + " mN",
            all(off[f"COND ({count})"] < off[f"CCS ({count})"] for count in (50, 100)),
        ),
        Claim(
            experiment, "Both penetrate about as much", "0.0049 to 0.0053 mm",
            ", ".join(f"{name} {each:.2g}" for name, each in deep.items()) + " mm",
            max(deep.values()) <= 2.0 * min(deep.values()),
        ),
    ]  # fmt: skip


def measure_chebyshev(quick: bool, runs: Runs) -> dict[str, dict[str, Trials]]:
    """By the table of the scene, without and with acceleration."""
    found = {}
    for name in CHEBYSHEV_PAPER:
        table = COMPARISONS[name]
        cond, course = method(COND, table.threshold), table.course(quick)
        plain = cond.but("COND without Chebyshev", acceleration="none", max_iterations=MOST)
        found[name] = {WITHOUT: runs(replace(course, judged=False), plain), WITH: runs(course, cond)}
    return found


def chebyshev_rows(experiment: str, found: Mapping[str, Mapping[str, Trials]]) -> list[Row]:
    """Table IX."""
    return [
        Row(experiment, f"{COMPARISONS[name].title}: iterations {how} Chebyshev", paper, value(IN, "", seen), "")
        for name, both in found.items()
        for (how, seen), paper in zip(both.items(), CHEBYSHEV_PAPER[name], strict=True)
    ]


def chebyshev_claims(experiment: str, found: Mapping[str, Mapping[str, Trials]]) -> list[Claim]:
    """Sec. V-H."""
    verdicts = []
    for name, both in found.items():
        paper = CHEBYSHEV_PAPER[name]
        plain, fast = (value(IN, "", both[how]) for how in (WITHOUT, WITH))
        verdicts.append(
            Claim(
                experiment, f"{COMPARISONS[name].title}: Chebyshev saves iterations", f"{paper[0]:g} to {paper[1]:g}",
                f"{plain:.4g} to {fast:.4g}", fast < plain,
            )
        )  # fmt: skip
    return verdicts


def _time(seen: Trials) -> float:
    return seen.milliseconds(seen.solving)


def _words(counts: object) -> str:
    return ", ".join(f"{count:.4g}" for count in counts)  # type: ignore[attr-defined]
