"""[lee2023] Tables II, III, V and VI: COND against PGS and APGD on four scenes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stickslip.experiments.lee2023.trials import FORCE, INTERNAL, MARKERS, Course, Method, Runs, Settings, Trials
from stickslip.experiments.report import Claim, Row
from stickslip.scenes.cable_winding import RELEASE

COND, PGS, APGD = "COND", "PGS", "APGD"
BODIES = "COND, bodies"
"""COND whose stopping rule asks for the momentum of soft bodies as well, which the paper's does not."""
MP, IE, FE, DE, DT, ST, ASSEMBLY, IN = "MP", "IE", "FE", "DE", "DT", "ST", "ST, Delassus operator", "IN"
Line = Mapping[str, float]
NOT_HERE = "not measured: needs the robot"
TRIALS, QUICK_TRIALS = 20, 2
MOST_ITERATIONS = 200
"""l_max, which the paper does not tell: that of the authors' release."""
CHEBYSHEV = ("acceleration", "chebyshev")
"""The paper's; ours is Anderson's."""
LEADING = 1e-5
"""[m/s] least threshold of leading runs."""
SLOW = 4.0
"""How many times slower the mat is folded than at the scene's own pace, at which the first change of velocity in a step
is a thousand times the threshold."""
SAME = 0.05
"""Share of a force by which solvers may differ and still be nearly identical."""


@dataclass(frozen=True)
class Comparison:
    """A table of the paper, and how it is measured here."""

    title: str
    scene: str
    threshold: float
    """theta_th [m/s]."""
    points: tuple[int, ...]
    """Steps of the leading run at which methods take over."""
    quick_points: tuple[int, ...]
    burst: int
    quick_burst: int
    units: Mapping[str, str]
    """Of the columns, in their order."""
    paper: Mapping[str, Line]
    faster: Mapping[str, float]
    """How many times faster COND is, as the text says it."""
    real: tuple[str, ...] = ()
    """Columns that the paper measures against an experiment with a robot."""
    settings: Settings = ()
    """Of the scene."""

    def course(self, quick: bool) -> Course:
        """The trials."""
        seeds = tuple(range(1, (QUICK_TRIALS if quick else TRIALS) + 1))
        points, burst = (self.quick_points, self.quick_burst) if quick else (self.points, self.burst)
        return Course(self.scene, max(self.threshold, LEADING), points, burst, seeds, self.settings)


def _columns(*names: str, force: str = "N") -> dict[str, str]:
    units = {MP: "mm", IE: force, FE: "N", DE: "mm", DT: "ms", ST: "ms", ASSEMBLY: "ms", IN: ""}
    return {name: units[name] for name in names}


COMPARISONS: Mapping[str, Comparison] = {
    "table2": Comparison(
        "soft mat", "soft-mat", 1e-4, (40, 160, 320, 480, 620, 680, 740, 840), (48, 160, 300), 5, 2,
        _columns(MP, IE, DT, ST, ASSEMBLY, IN, force="mN"),
        {
            COND: {MP: 0.0033, IE: 1.868, DT: 9.568, ST: 8.650, IN: 39.72},
            PGS: {MP: 0.0328, IE: 0.917, DT: 9.599, ST: 1412.0, ASSEMBLY: 898.0, IN: 50.59},
            APGD: {MP: 0.0576, IE: 1.492, DT: 9.563, ST: 170.9, IN: 81.57},
        },
        {PGS: 150.0, APGD: 20.0}, settings=(("slow", SLOW),),
    ),
    "table3": Comparison(
        "soft ball", "ball-grip", 1e-5, (5, 10, 20, 40, 60, 80, 100, 120), (8, 25, 60), 5, 3,
        _columns(MP, IE, DT, ST, ASSEMBLY, IN),
        {
            COND: {MP: 0.0058, IE: 0.1560, DT: 18.61, ST: 8.464, IN: 37.51},
            PGS: {MP: 1.9933, IE: 0.3189, DT: 18.51, ST: 805.1, ASSEMBLY: 624.0, IN: 233.9},
            APGD: {MP: 0.2325, IE: 0.1235, DT: 18.43, ST: 659.8, IN: 100.4},
        },
        {PGS: 80.0, APGD: 80.0},
    ),
    "table5": Comparison(
        "cable", "cable-winding", 1e-4, (400, 1200, 2000, 2800, 3600, 4400, 5100), (150, 400, 700), 5, 3,
        _columns(MP, FE, DT, ST, ASSEMBLY, IN),
        {
            COND: {MP: 0.0021, FE: 0.3996, DT: 2.086, ST: 1.229, IN: 18.28},
            PGS: {MP: 0.0521, FE: 0.3997, DT: 2.103, ST: 74.27, ASSEMBLY: 28.2, IN: 65.61},
            APGD: {MP: 0.0556, FE: 0.3976, DT: 2.112, ST: 8.554, IN: 46.05},
        },
        {PGS: 60.0, APGD: 7.0}, (FE,), tuple(RELEASE.items()),
    ),
    "table6": Comparison(
        "soft gripper", "soft-gripper", 1e-6, (30, 50, 70, 90, 120, 150, 180), (40, 80), 5, 2,
        _columns(MP, FE, DE, DT, ST, ASSEMBLY, IN),
        {
            COND: {MP: 0.0005, FE: 0.1169, DE: 1.898, DT: 43.24, ST: 18.24, IN: 30.88},
            PGS: {MP: 0.0397, FE: 0.1175, DE: 1.895, DT: 42.89, ST: 547.0, ASSEMBLY: 533.0, IN: 59.06},
            # the printed line of APGD reads "1 806 12.78 5/// 1" for DE, DT and ST, which is not legible
            APGD: {MP: 0.0400, FE: 0.1172, IN: 57.81},
        },
        {PGS: 30.0, APGD: 30.0}, (FE, DE),
    ),
}  # fmt: skip
"""As printed; FE is the error of the end effector force (cable) or of the contact force (gripper)."""


def method(name: str, threshold: float) -> Method:
    """COND (by the paper's stopping rule, or ours), PGS or APGD as the tables have them, to a threshold [m/s]."""
    tolerance = ("tolerance", threshold)
    if name == COND:
        return Method(
            COND,
            "cond",
            (("criterion", "step"), tolerance, ("net", 1.0), ("max_iterations", MOST_ITERATIONS), CHEBYSHEV),
        )
    if name == BODIES:
        return Method(BODIES, "cond", (("criterion", "step"), tolerance))
    if name == PGS:
        return Method(PGS, "pgs", (("criterion", "velocity"), ("friction", "disc"), tolerance))
    return Method(APGD, "apgd", (("operator", "factorised"), ("criterion", "velocity"), tolerance))


def measure(experiment: str, quick: bool, runs: Runs) -> dict[str, Trials]:
    """By method."""
    table = COMPARISONS[experiment]
    return {name: runs(table.course(quick), method(name, table.threshold)) for name in (COND, BODIES, PGS, APGD)}


def value(column: str, unit: str, seen: Trials) -> float:
    """Our number for a column."""
    if column == MP:
        return float(seen.penetration.mean()) if len(seen.penetration) else math.nan
    if column == IE:
        return (1e3 if unit == "mN" else 1.0) * seen.mean(INTERNAL)
    if column in (FE, DE):
        return seen.mean(FORCE if column == FE else MARKERS)
    if column == IN:
        return float(seen.iterations.mean()) if len(seen.iterations) else math.nan
    return seen.milliseconds({DT: seen.dynamics, ST: seen.solving, ASSEMBLY: seen.assembly}[column])


def ratio(found: Mapping[str, Trials], other: str) -> float:
    """How many times longer another method solves than COND."""
    return found[other].milliseconds(found[other].solving) / found[COND].milliseconds(found[COND].solving)


def rows(experiment: str, found: Mapping[str, Trials]) -> list[Row]:
    """Our lines beside the paper's; where the paper's error is one against a robot, that is said, and ours follows."""
    table, lines = COMPARISONS[experiment], []
    for name, seen in found.items():
        paper = table.paper.get(name, {})
        for column, unit in table.units.items():
            theirs, ours = paper.get(column), value(column, unit, seen)
            if column == ASSEMBLY and name != PGS:
                continue
            if column in table.real and name in table.paper:
                lines.append(Row(experiment, f"{name}: {column} against the experiment", theirs, NOT_HERE, unit))
                lines.append(Row(experiment, f"{name}: {column} against converged steps", None, ours, unit))
            else:
                lines.append(Row(experiment, f"{name}: {column}", theirs, ours, unit))
        for what in (INTERNAL, FORCE):
            if what in seen.errors:
                size = seen.mean(f"{what} vector")
                lines.append(Row(experiment, f"{name}: error of the {what} as a vector", None, size, "N"))
        lines.append(Row(experiment, f"{name}: steps that met the threshold", None, _percent(seen.converged), "%"))
    for other in (PGS, APGD):
        theirs = table.paper[other].get(ST)
        given = None if theirs is None else theirs / table.paper[COND][ST]
        lines.append(Row(experiment, f"ST of {other} over that of COND", given, ratio(found, other), ""))
    any_of = found[COND]
    lines += [
        Row(experiment, "unknowns", {"table2": 4438, "table3": 4397, "table5": 1927}.get(experiment, 14681),
            any_of.unknowns, ""),
        Row(experiment, "speed before a step, mean norm", None, float(any_of.speed.mean()), "m/s"),
        Row(experiment, "change of velocity in a step, mean norm", None, float(any_of.change.mean()), "m/s"),
        Row(experiment, "COND: first change of velocity, mean", None, float(any_of.first.mean()), "m/s"),
        Row(experiment, "COND: momentum missing, median", None, 100.0 * float(np.median(any_of.missing)), "%"),
        Row(experiment, "contacts a step", 40 if experiment == "table6" else None, float(any_of.contacts.mean()), ""),
        Row(experiment, "steps of each method", None, len(any_of.iterations), ""),
        Row(experiment, "residual of the reference steps, median", None, float(np.median(any_of.reference)), ""),
    ]  # fmt: skip
    if table.real:
        figure = "Fig. 9 (c) to (e)" if experiment == "table5" else "Fig. 10 (c) to (e)"
        lines.append(Row(experiment, f"{figure}: curves of the force sensor", "curves", NOT_HERE, "N"))
    return lines


def claims(experiment: str, found: Mapping[str, Trials]) -> list[Claim]:
    """Sec. V-C."""
    table = COMPARISONS[experiment]
    count, bar = value(IN, "", found[COND]), table.paper[COND][IN]
    found = {name: seen for name, seen in found.items() if name in table.paper}
    deepest = {name: value(MP, "mm", seen) for name, seen in found.items()}
    each = {name: value(IN, "", seen) for name, seen in found.items()}
    verdicts = [
        Claim(
            experiment, f"COND solves faster than {other}", f"{times:g} times", f"{ratio(found, other):.3g} times",
            ratio(found, other) >= times,
        )
        for other, times in table.faster.items()
    ]  # fmt: skip
    verdicts += [
        Claim(
            experiment, f"COND needs few iterations to {table.threshold:g} m/s", f"{bar:g}", f"{count:.4g}",
            count <= bar,
        ),
        Claim(
            experiment, "COND iterates less than PGS and APGD", _words(table.paper, IN), _listed(each, ""),
            each[COND] < min(each[PGS], each[APGD]),
        ),
        Claim(
            experiment, "COND penetrates least", _words(table.paper, MP) + " mm", _listed(deepest, " mm"),
            deepest[COND] <= min(deepest[PGS], deepest[APGD]),
        ),
    ]  # fmt: skip
    if IE in table.units:
        off = {name: 1e3 * seen.mean(INTERNAL) for name, seen in found.items()}
        scale = 1.0 if table.units[IE] == "mN" else 1e3
        paper = {name: scale * line[IE] for name, line in table.paper.items()}
        verdicts.append(
            Claim(
                experiment, "What is left of COND's error is in momentum: internal forces are further off than APGD's",
                _listed(paper, " mN"), _listed(off, " mN"), off[COND] > off[APGD],
            )
        )  # fmt: skip
    else:
        off = {name: seen.mean(FORCE) for name, seen in found.items()}
        apart = max(off.values())
        verdicts.append(
            Claim(
                experiment, "Forces of the three solvers are nearly identical", _words(table.paper, FE) + " N off",
                f"{apart:.2g} N from converged ones at most", apart <= SAME * table.paper[COND][FE],
            )
        )  # fmt: skip
    return verdicts


def table_lines(experiment: str, found: Mapping[str, Trials]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Header and lines for the CSV file, the paper's numbers after ours."""
    table = COMPARISONS[experiment]
    names = [f"{column}_{unit}" if unit else column for column, unit in table.units.items()]
    names = [name.replace(", ", "_").replace(" ", "_") for name in names]
    lines: list[tuple[object, ...]] = []
    for name, seen in found.items():
        ours = [value(column, unit, seen) for column, unit in table.units.items()]
        theirs = [table.paper.get(name, {}).get(column, "") for column in table.units]
        lines.append((name, *ours, *theirs))
    return ("solver", *names, *(f"paper_{name}" for name in names)), lines


def _percent(flags: object) -> float:
    values = [bool(flag) for flag in flags]  # type: ignore[attr-defined]
    return 100.0 * sum(values) / len(values) if values else math.nan


def _words(paper: Mapping[str, Line], column: str) -> str:
    return _listed({name: line[column] for name, line in paper.items() if column in line}, "")


def _listed(values: Mapping[str, float], unit: str) -> str:
    return ", ".join(f"{name} {each:.3g}" for name, each in values.items()) + unit
