"""What is plotted of a run beside its view, live or recorded: the charts, their curves and units."""

from __future__ import annotations

from dataclasses import dataclass

from stickslip.view.quantity_words import prefixed

NOTHING = 1e-9
"""In SI units: what is smaller is rounding, and drawn as zero."""
QUIET_PREFIX = (1e-3, "m")
"""Of curves that are zero."""
WORST = ("residual", "momentum", "overlap", "iterations", "contacts")
"""Columns of which thinned curves show the largest value of neighbouring steps; of others the last."""


@dataclass(frozen=True)
class Chart:
    """Curves over time, or one over iterations, whose column has no name."""

    title: str
    series: tuple[tuple[str, str, str], ...]
    """Column (Course.columns(), live_simulation.COLUMNS), label, colour."""
    unit: str = ""
    """SI unit, which gets a prefix; empty for plain numbers."""
    decades: tuple[int, int] | None = None
    """Range of a logarithmic axis; what is outside is drawn on its edge. None: a linear one that fits."""
    height: int = 120
    whole: str = ""
    """Axes with whole numbers only: x, y."""
    points: bool = False
    """Whether points are marked where they are few: steps may have a single iteration."""


ERRORS = (-16, 0)
ITERATIONS = Chart("Residual", (("", "residual", "#1f6fb4"),), decades=ERRORS, whole="x", points=True)
CHARTS = (
    Chart(
        "Relative errors",
        (("residual", "law (natural residual)", "#1f6fb4"), ("momentum", "momentum", "#d9480f")),
        decades=ERRORS,
    ),
    Chart(
        "Energy",
        (
            ("kinetic", "kinetic", "#d9480f"),
            ("potential", "potential since start", "#1f6fb4"),
            ("elastic", "elastic", "#2b8a3e"),
        ),
        unit="J",
    ),
    Chart(
        "Energy ledger, sums",
        (
            ("work", "work done", "#2b8a3e"),
            ("friction", "lost: friction", "#d9480f"),
            ("damping", "lost: damping", "#e8a200"),
            ("impact", "lost: impact", "#7048b6"),
            ("numerical", "gained by numerics", "#868e96"),
        ),
        unit="J",
    ),
    Chart("Deepest overlap", (("overlap", "overlap", "#c2255c"),), unit="m"),
    Chart(
        "Work of a step",
        (("iterations", "iterations", "#1f6fb4"), ("contacts", "contacts", "#d9480f")),
        whole="y",
    ),
)


def prefix_of(largest: float, before: tuple[float, str]) -> tuple[float, str]:
    """Prefix with which numbers up to ``largest`` are written with few digits; the one before as long as it will do.

    Numbers below NOTHING have the prefix of zero, and are too small to be seen with it.
    """
    if 0.3 * before[0] <= largest < 1000.0 * before[0]:
        return before
    return prefixed(largest) if largest >= NOTHING else QUIET_PREFIX
