"""Plots beside a live run: residual per iteration, certificate and energy ledger over time."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from stickslip.arrays import Array
from stickslip.view.live.run import LiveSnapshot
from stickslip.view.live.simulation import COLUMNS
from stickslip.view.web.run_charts import CHARTS, ITERATIONS, QUIET_PREFIX, WORST, Chart, prefix_of
from stickslip.view.web.web_charts import add_chart, chart_heading

if TYPE_CHECKING:
    import viser

INTERVAL = 0.22
"""[s] between updates."""
MOST_POINTS = 200
"""Points of a curve: one in two pixels of a narrow plot; more would only slow down browsers without a graphics card."""
ABSENT = 1e9
"""Where a point is not seen: far above the range of a logarithmic axis."""


class LivePlots:
    """The plots, in the container of the page that is open when this is made."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._server = server
        self._iterations = _Plot(server, ITERATIONS, "iterations of the last step")
        self._plots = [_Plot(server, chart, "time [s]") for chart in CHARTS]

    def show(self, snapshot: LiveSnapshot) -> None:
        """Draw the numbers of a snapshot."""
        table = thinned(snapshot.courses, snapshot.steps, MOST_POINTS)
        time = table[:, 0]
        with self._server.atomic():
            history = snapshot.history[:: max(1, ceil(len(snapshot.history) / MOST_POINTS))]
            self._iterations.show(rising(history[:, 0]), [history[:, 1]])
            for plot in self._plots:
                plot.show(time, [table[:, COLUMNS.index(name)] for name, _, _ in plot.chart.series])


class _Plot:
    """A chart in the page and its heading. Only data and heading change: with other axes, the page would make a new
    chart and lose what the user has zoomed to."""

    def __init__(self, server: viser.ViserServer, chart: Chart, along: str) -> None:
        self.chart, self._along, self._prefix = chart, along, QUIET_PREFIX
        self._heading = server.gui.add_html(self._title())
        absent = np.full(2, ABSENT if chart.decades is not None else 0.0)
        self._nothing = (np.arange(2.0), *(absent for _ in chart.series))
        series = [(label, colour) for _, label, colour in chart.series]
        self._node = add_chart(
            server, self._nothing, along, series,
            decades=chart.decades, height=chart.height, whole=chart.whole, points=chart.points,
        )  # fmt: skip

    def show(self, x: Array, curves: list[Array]) -> None:
        """Draw curves (n,) over x (n,), rising; without points nothing is seen."""
        if len(x) == 0:
            self._node.data = self._nothing
            return
        curves = [np.nan_to_num(curve, nan=0.0, posinf=1e300, neginf=-1e300) for curve in curves]
        if self.chart.decades is not None:
            low, high = (10.0**k for k in self.chart.decades)
            curves = [np.clip(curve, low, high) for curve in curves]
        elif self.chart.unit:
            prefix = prefix_of(max(float(np.abs(curve).max()) for curve in curves), self._prefix)
            if prefix != self._prefix:
                self._prefix = prefix
                self._heading.content = self._title()
            curves = [curve / prefix[0] for curve in curves]
        self._node.data = (x, *curves)

    def _title(self) -> str:
        unit = f"{self._prefix[1]}{self.chart.unit}" if self.chart.unit else ""
        return chart_heading(self.chart.title, unit, self._along)


def thinned(table: Array, steps: int, most: int) -> Array:
    """At most about ``most`` rows of a table of the last of ``steps`` steps: of errors the worst of neighbours.

    Neighbours stay together as further steps come, so that curves do not flicker.
    """
    stride = 1
    while len(table) > stride * most:
        stride *= 2
    if stride == 1:
        return table
    first = steps - len(table)
    starts = np.arange((-first) % stride, len(table), stride)
    ends = np.append(starts[1:], len(table)) - 1
    rows = table[ends]
    worst = [COLUMNS.index(name) for name in WORST]
    rows[:, worst] = np.maximum.reduceat(table[:, worst], starts, axis=0)
    return rows


def rising(numbers: Array) -> Array:
    """Iteration numbers (k,) with those that start anew counted on, as an axis needs them."""
    jumps = np.minimum(np.diff(numbers, prepend=numbers[:1]), 0.0)
    return numbers - np.cumsum(jumps)
