"""[han2023] Fig. 8 and 9: time a step and constraints by links of a chain, and time by unknowns of a ring."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stickslip.experiments.han2023 import table
from stickslip.experiments.han2023.runs import Measured, Runs
from stickslip.experiments.report import Claim, Row
from stickslip.scenes.soft_chain import DIVISIONS

LINKS, QUICK_LINKS = (1, 2, 5, 10, 25, 50, 100), (1, 2, 5)
UNKNOWNS, QUICK_UNKNOWNS = tuple(DIVISIONS), (900, 3003)
FITTED = 10
"""Links from which on the exponent is fitted: below, what a step costs whatever its size has a part."""
LINEAR = 1.1
"""Exponent up to which growth is called linear."""
LARGE = 10000
"""Unknowns that a mesh must have for its growth to be judged: below, what a step costs whatever its size has a part."""
CHOLESKY = "Cholesky and Schur"


def measure_chain(quick: bool, runs: Runs) -> dict[int, Measured]:
    """By links."""
    return {links: runs[table.chain_case(links, quick)] for links in (QUICK_LINKS if quick else LINKS)}


def measure_torus(quick: bool, runs: Runs) -> dict[int, Measured]:
    """By unknowns."""
    return {size: runs[table.torus_case(size, quick)] for size in (QUICK_UNKNOWNS if quick else UNKNOWNS)}


def exponent(found: Mapping[int, Measured], start: int = 0) -> float:
    """Slope of the logarithm of time over that of size, by least squares, of sizes from ``start`` on (all if few)."""
    sizes = [size for size in found if size >= start]
    if len(sizes) < 2:
        sizes = list(found)
    times = [found[size].seconds for size in sizes]
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def chain_rows(experiment: str, found: Mapping[int, Measured]) -> list[Row]:
    """Fig. 8; the paper's numbers are those of 100 links in Table I."""
    lines = []
    for links, seen in found.items():
        paper = table.PAPER[table.CHAIN] if links == 100 else None
        label = f"{links} links"
        lines += [
            Row(experiment, f"{label}: time a step", 1e3 * paper.seconds if paper else None, 1e3 * seen.seconds, "ms"),
            Row(
                experiment,
                f"{label}: constraints, mean",
                paper.mean if paper else None,
                float(seen.constraints.mean()),
                "",
            ),
            Row(
                experiment,
                f"{label}: constraints, most",
                paper.most if paper else None,
                int(seen.constraints.max()),
                "",
            ),
            Row(experiment, f"{label}: iterations, mean", None, float(seen.iterations.mean()), ""),
            Row(experiment, f"{label}: deepest overlap", None, float(seen.values["overlap_max_mm"]), "mm"),
        ]
    lines.append(Row(experiment, "exponent of time over links", None, exponent(found, FITTED), ""))
    return lines


def chain_claims(experiment: str, found: Mapping[int, Measured]) -> list[Claim]:
    """Sec. VII-F."""
    power = exponent(found, FITTED)
    hangs = [links for links, seen in found.items() if seen.values["hangs"]]
    seconds = max(len(seen.cpu) * seen.dt for seen in found.values())
    return [
        Claim(
            experiment, "Time grows linearly with the number of links", "linearly",
            f"exponent {power:.3f}", power <= LINEAR,
        ),
        Claim(
            experiment, "The chain holds", "sustains 60 s",
            f"{len(hangs)} of {len(found)} chains hang after {seconds:.3g} s", len(hangs) == len(found),
        ),
    ]  # fmt: skip


def torus_rows(experiment: str, found: Mapping[int, Measured]) -> list[Row]:
    """Fig. 9; the paper's number is that of 28,800 unknowns in Table I."""
    lines = []
    for size, seen in found.items():
        paper = table.PAPER[table.TORUS] if size == table.PAPER[table.TORUS].dofs else None
        theirs = 1e3 * paper.seconds if paper else None
        lines.append(Row(experiment, f"{size} unknowns: time a step", theirs, 1e3 * seen.seconds, "ms"))
        cholesky = 1e3 * seen.stages[CHOLESKY]
        lines.append(Row(experiment, f"{size} unknowns: time a step of Cholesky and Schur", None, cholesky, "ms"))
    lines.append(Row(experiment, "exponent of time over unknowns", None, exponent(found), ""))
    spent = [seen.stages[CHOLESKY] for seen in found.values()]
    power = float(np.polyfit(np.log(list(found)), np.log(spent), 1)[0])
    lines.append(Row(experiment, "exponent of Cholesky and Schur over unknowns", None, power, ""))
    return lines


def torus_claims(experiment: str, found: Mapping[int, Measured]) -> list[Claim]:
    """Sec. VII-F."""
    few, many = min(found), max(found)
    before = sorted(found)[-2]
    power = float(np.log(found[many].seconds / found[before].seconds) / np.log(many / before))
    shares = [100.0 * found[size].share(CHOLESKY) for size in (few, many)]
    grows = Claim(
        experiment, "Time grows more than linearly with the unknowns of a mesh", "superlinearly",
        f"exponent {power:.3f} from {before} to {many} unknowns, {exponent(found):.3f} over all", power > 1.0,
    )  # fmt: skip
    return [
        *([grows] if many >= LARGE else []),
        Claim(
            experiment, "What grows most is the Cholesky factorisation", "superlinear due to it",
            f"its share of the time is {shares[0]:.3g} % at {few} unknowns, {shares[1]:.3g} % at {many}",
            shares[1] > shares[0],
        ),
    ]  # fmt: skip
