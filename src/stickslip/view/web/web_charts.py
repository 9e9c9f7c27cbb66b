"""Charts in the viewer's page, all alike: curves over time or iterations, with a heading that names the unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stickslip.arrays import Array

if TYPE_CHECKING:
    import viser

FONT = "10px sans-serif"
DECADES_MARKED = 4
"""Decades from one number of a logarithmic axis to the next."""
WHOLE = tuple(float(digit * 10**power) for power in range(9) for digit in (1, 2, 5))
"""Distances between the numbers of an axis that counts."""
FITTING = {"min": {"pad": 0.1, "soft": 0.0, "mode": 3}, "max": {"pad": 0.1, "soft": 1.0, "mode": 1}}
"""Range of a linear axis that fits its curves, but goes to 1 at least: curves of zeros have an axis with numbers."""


def chart_heading(title: str, unit: str, along: str) -> str:
    """What stands above a chart, as HTML; the unit may be empty."""
    bracket = f" [{unit}]" if unit else ""
    return f"<div style='font-size:12px;padding:6px 10px 0'><b>{title}</b>{bracket} over {along}</div>"


def add_chart(
    server: viser.ViserServer,
    data: tuple[Array, ...],
    along: str,
    series: Sequence[tuple[str, str]],
    *,
    decades: tuple[int, int] | None = None,
    limits: tuple[float, float] | None = None,
    height: int = 120,
    whole: Sequence[str] = (),
    points: bool = False,
) -> Any:
    """A chart in the open container of the page: data are x (n,) and one y (n,) for each label and colour of a series.

    decades: exponents of ten between which a logarithmic axis goes; limits: the range of a linear one, which fits its
    curves where None. whole: the axes ("x", "y") that have whole numbers only; points: mark points where they are few.
    """
    y: dict[str, Any] = {"size": 44, "space": 20}
    scale: dict[str, Any] = {"range": FITTING if limits is None else limits}
    if decades is not None:
        low, high = decades
        marked = range(low, high + 1, DECADES_MARKED)
        y |= {"splits": tuple(10.0**k for k in marked), "values": tuple(f"1e{k}" if k else "1" for k in marked)}
        scale = {"distr": 3, "range": (10.0**low, 10.0**high)}
    lines: list[Any] = [{"label": along}]
    for label, colour in series:
        lines.append({"label": label, "stroke": colour, "width": 1.5} | ({} if points else {"points": {"show": False}}))
    common: dict[str, Any] = {"font": FONT, "ticks": {"size": 4}}
    x: dict[str, Any] = {"incrs": WHOLE} if "x" in whole else {}
    if "y" in whole:
        y["incrs"] = WHOLE
    return server.gui.add_uplot(
        data,
        tuple(lines),
        scales={"x": {"time": False}, "y": scale},
        axes=({**common, **x, "size": 26}, {**common, **y}),
        legend={"show": len(series) > 1, "live": False},
        cursor={"show": True, "x": True, "y": False, "points": {"show": False}},
        height=height,
        padding=(8, 16, 0, 0),
    )
