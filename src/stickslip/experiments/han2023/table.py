"""[han2023] Table I: unknowns, time step, realtime rate and constraints of its scenes; the cases that figures share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from stickslip.experiments.han2023.runs import Case, Measured, Runs
from stickslip.experiments.report import Claim, Row


@dataclass(frozen=True)
class Line:
    """A line of Table I."""

    dofs: int
    dt: float
    """[s]"""
    realtime_rate: float
    mean: float
    """Constraints, average."""
    most: int
    """Constraints, max."""

    @property
    def seconds(self) -> float:
        """[s] CPU time a step: the time step over the realtime rate."""
        return self.dt / self.realtime_rate


SLIDING, STANDING, PRESS, HAND, HAND_EXACT, TEDDY, CHAIN, TORUS = (
    "Arch (mu = 0.2)", "Arch (mu = 1.0)", "Cylinder press", "Allegro hand", "Allegro hand, by auto", "Teddy bear",
    "Chain with 100 links", "Single torus",
)  # fmt: skip
PAPER: Mapping[str, Line] = {
    SLIDING: Line(225, 0.04, 7.26, 259.5, 357),
    STANDING: Line(225, 0.04, 6.29, 320.2, 364),
    PRESS: Line(3796, 0.01, 0.06, 248.3, 335),
    HAND: Line(410, 0.01, 1.13, 380.7, 863),
    HAND_EXACT: Line(410, 0.01, 1.13, 380.7, 863),
    TEDDY: Line(2043, 0.02, 0.37, 236.5, 464),
    CHAIN: Line(90000, 0.02, 0.020, 3880.2, 5663),
    TORUS: Line(28800, 0.02, 0.017, 53.0, 394),
}
"""As printed; the hand twice, since ours is also run with the default solver and the exact law."""
CERTIFIED = (
    ("natural_residual_max", "residual by the exact law, largest", ""),
    ("penetration_max_mm", "overlap, deepest", "mm"),
    ("gliding_gap_max_mm", "gliding gap, largest", "mm"),
)
"""What is printed of certificates: name there, name in rows, unit."""
MINUTES = 15000
"""Steps in the ten minutes for which the arch is to stand."""
LOADED, SETTLED = 50, 3
"""Steps of the press before those that are measured: to a twentieth of the load. """


def chain_case(links: int, quick: bool) -> Case:
    """The chain, for 3 s; quick: 0.6 s."""
    return Case("soft-chain", 30 if quick else 150, (("links", links),))


def torus_case(unknowns: int, quick: bool) -> Case:
    """The ring, for 2 s; quick: 0.3 s."""
    return Case("soft-torus", 15 if quick else 100, (("unknowns", unknowns),))


def cases(quick: bool) -> dict[str, Case]:
    """By line of the table; quick ones are of smaller scenes where those of the paper take minutes."""
    # quick: until the hand has closed about the ball
    hand = Case("allegro-iiwa", 270 if quick else 730)
    return {
        SLIDING: Case("soft-arch", 50 if quick else 250, (("friction", 0.2),)),
        STANDING: Case("soft-arch", 50 if quick else MINUTES, (("friction", 1.0),)),
        PRESS: Case(
            "cylinder-press", 3 if quick else 20, (("mesh", 0 if quick else 1),),
            dt=0.01, approach=5 if quick else LOADED, approach_dt=1.0, settle=SETTLED,
        ),
        HAND: hand,
        HAND_EXACT: replace(hand, solver="auto"),
        TEDDY: Case("soft-bubble", 40 if quick else 420),
        CHAIN: chain_case(5 if quick else 100, quick),
        TORUS: torus_case(3003 if quick else 28800, quick),
    }  # fmt: skip


def shown(name: str, seen: Measured) -> str:
    """The name of a line, with the size where it is another scene than the paper's."""
    return f"{name}, smaller: {seen.dofs} unknowns" if smaller(name, seen) else name


def smaller(name: str, seen: Measured) -> bool:
    """Whether a scene has less than half of the paper's unknowns, so that the paper's numbers say nothing about it."""
    return seen.dofs < 0.5 * PAPER[name].dofs


def measure(quick: bool, runs: Runs) -> dict[str, Measured]:
    """All lines that can be run."""
    return {name: runs[case] for name, case in cases(quick).items()}


def rows(experiment: str, found: Mapping[str, Measured]) -> list[Row]:
    """Our lines beside the paper's."""
    lines = []
    for name, paper in PAPER.items():
        if name not in found:
            continue
        seen = found[name]
        given = (paper.dofs, paper.dt, paper.realtime_rate, paper.mean, paper.most)
        label, other = shown(name, seen), smaller(name, seen)
        most = int(seen.constraints.max(initial=0))
        ours = (seen.dofs, seen.dt, seen.realtime_rate, float(seen.constraints.mean()), most)
        for what, unit, theirs, value in zip(
            ("unknowns", "time step", "realtime rate", "constraints, mean", "constraints, most"),
            ("", "s", "s/s", "", ""), given, ours, strict=True,
        ):  # fmt: skip
            lines.append(Row(experiment, f"{label}: {what}", None if other else theirs, value, unit))
        lines.append(Row(experiment, f"{label}: iterations, mean", None, float(seen.iterations.mean()), ""))
        lines.append(Row(experiment, f"{label}: steps", None, len(seen.cpu), ""))
        lines.append(Row(experiment, f"{label}: steps that converged", None, 100.0 * seen.converged.mean(), "%"))
        lines += [
            Row(experiment, f"{label}: {what}", None, seen.certificate[key], unit)
            for key, what, unit in CERTIFIED
            if key in seen.certificate
        ]
    return lines


def claims(experiment: str, found: Mapping[str, Measured], quick: bool) -> list[Claim]:
    """What the text says of the runs of the table."""
    steps = sum(len(seen.converged) for seen in found.values())
    solved = sum(int(seen.converged.sum()) for seen in found.values())
    standing, sliding, teddy = found[STANDING], found[SLIDING], found[TEDDY]
    seconds = len(standing.cpu) * standing.dt
    drift = standing.values["max_drift_mm"]
    verdicts = [
        Claim(
            experiment, "Every step is solved to a relative tolerance of 1e-6", "all results",
            f"{solved} of {steps} steps", solved == steps,
        ),
        Claim(
            experiment, "The arch stands at mu = 1.0", "long-term stable, ten minutes",
            f"{'stands' if standing.values['stands'] else 'falls'} for {seconds:.3g} s, drifts by {drift:.3g} mm",
            bool(standing.values["stands"]) and (quick or seconds >= 600.0 - 1e-6),
        ),
        Claim(
            experiment, "The arch falls apart at mu = 0.2", "falls apart",
            "stands" if sliding.values["stands"] else "falls apart", not sliding.values["stands"],
        ),
    ]  # fmt: skip
    if not quick:
        # the bear is in the air from the end of lifting to the begin of placing
        verdicts.append(
            Claim(
                experiment, "The gripper closes, lifts, shakes and places the bear", "securing the grasp",
                f"lifted by {1e3 * teddy.values['lifted_m']:.3g} mm, slips by {teddy.values['slipped_mm']:.2g} mm, "
                f"{'placed' if teddy.values['placed'] else 'not placed'}",
                bool(teddy.values["placed"]) and teddy.values["slipped_mm"] < SLIPPED,
            )
        )  # fmt: skip
        hand, exact = found[HAND], found[HAND_EXACT]
        verdicts.append(
            Claim(
                experiment, "The hand holds the ball while it shakes it", "secure grasp",
                f"moves by {hand.values['sway_mm']:.2g} mm in the hand, {exact.values['sway_mm']:.2g} mm by auto",
                max(hand.values["sway_mm"], exact.values["sway_mm"]) < SLIPPED,
            )
        )  # fmt: skip
        verdicts.append(
            Claim(
                experiment, "Interactive control runs at real-time rates", f"{PAPER[HAND].realtime_rate:g}",
                f"{hand.realtime_rate:.3g}, {exact.realtime_rate:.3g} by auto",
                min(hand.realtime_rate, exact.realtime_rate) >= 1.0,
            )
        )  # fmt: skip
    return verdicts


SLIPPED = 10.0
"""[mm] most that a bear slips, and a ball moves, in a grasp that is called secure."""


def table_lines(found: Mapping[str, Measured]) -> list[tuple[object, ...]]:
    """Lines for the CSV file, the paper's numbers after ours."""
    return [
        (
            name, seen.dofs, seen.dt, seen.realtime_rate, float(np.mean(seen.constraints)), int(seen.constraints.max()),
            PAPER[name].dofs, PAPER[name].dt, PAPER[name].realtime_rate, PAPER[name].mean, PAPER[name].most,
        )
        for name, seen in found.items()
    ]  # fmt: skip
