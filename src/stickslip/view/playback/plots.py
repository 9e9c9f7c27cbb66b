"""Plots beside a recording that is played: those of a live run, with the shown frame marked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.view.course import course_of_recording
from stickslip.view.web.run_charts import CHARTS, QUIET_PREFIX, WORST, Chart, prefix_of
from stickslip.view.web.web_charts import add_chart, chart_heading

if TYPE_CHECKING:
    import viser

    from stickslip.io.recording import Recording

MOST_POINTS = 400
"""Points of a curve: more than a narrow plot has pixels."""
MARK = "#495057"
"""Colour of the shown frame."""
TOLERANCE = ("tolerance", "solver's tolerance", "#adb5bd")
"""Column, label and colour of what the solver was asked for."""


class PlaybackPlots:
    """Plots in the container of the page that is open when this is made."""

    def __init__(self, server: viser.ViserServer, recording: Recording) -> None:
        self._server = server
        self._starts = neighbours(len(recording), MOST_POINTS)
        course, (errors, *others) = course_of_recording(recording), CHARTS
        columns = {name: grouped(values, self._starts, name in WORST) for name, values in course.columns().items()}
        if course.tolerance is not None:
            errors = replace(errors, series=(*errors.series, TOLERANCE))
            columns[TOLERANCE[0]] = np.full(len(self._starts), course.tolerance)
        time = recording.time[self._starts]
        self._plots = [_Plot(server, chart, time, columns) for chart in (errors, *others)]

    def show(self, frame: int) -> None:
        """Mark a frame."""
        at = int(np.searchsorted(self._starts, frame, side="right")) - 1
        with self._server.atomic():
            for plot in self._plots:
                plot.mark(at)


class _Plot:
    """One plot; the mark of the shown frame is a curve that goes up and down at one time."""

    def __init__(
        self,
        server: viser.ViserServer,
        chart: Chart,
        time: Array,
        columns: Mapping[str, Array],
    ) -> None:
        drawn, unit = [columns[name] for name, _, _ in chart.series], chart.unit
        if unit:
            factor, prefix = prefix_of(max(float(np.abs(curve).max()) for curve in drawn), QUIET_PREFIX)
            drawn, unit = [curve / factor for curve in drawn], f"{prefix}{unit}"
        low, high = limits(drawn, chart.decades)
        self._low, self._high, self._at = low, high, -1
        self._data = (time, *(np.clip(curve, low, high) for curve in drawn))
        if len(time) == 1:  # a plot needs a width
            self._data = tuple(np.repeat(values, 2) for values in self._data)
            self._data[0][1] += 1e-3
        server.gui.add_html(chart_heading(chart.title, unit, "time [s]"))
        series = [("shown", MARK), *((label, colour) for _, label, colour in chart.series)]
        self._node = add_chart(
            server, self._marked(0), "time [s]", series,
            decades=chart.decades, limits=(low, high), height=chart.height, whole=chart.whole,
        )  # fmt: skip

    def mark(self, at: int) -> None:
        """Mark a point of the curves."""
        if at != self._at:
            self._at = at
            self._node.data = self._marked(at)

    def _marked(self, at: int) -> tuple[Array, ...]:
        return with_mark(self._data, at, self._low, self._high)


def with_mark(data: tuple[Array, ...], at: int, low: float, high: float) -> tuple[Array, ...]:
    """x, an upright line at point ``at``, and curves, all (n + 2,), of x and curves (n,).

    The line goes from ``low`` to ``high`` and is ``low`` elsewhere. The point is there three times, so that the
    line is upright however few points there are.
    """
    places = np.insert(np.arange(len(data[0])), at, [at, at])
    line = np.full(len(places), low)
    line[at + 1] = high
    return data[0][places], line, *(curve[places] for curve in data[1:])


def neighbours(count: int, most: int) -> LongInts:
    """First frames of at most about ``most`` groups of neighbouring frames."""
    return np.arange(0, count, max(1, -(-count // most)))


def grouped(values: Array, starts: LongInts, worst: bool) -> Array:
    """Numbers (n,) as one for each group of frames: the largest, so that no peak is lost, or that of the first."""
    finite = np.nan_to_num(values, nan=0.0, posinf=1e300, neginf=-1e300)
    return np.maximum.reduceat(finite, starts) if worst else finite[starts]


def limits(curves: list[Array], decades: tuple[int, int] | None) -> tuple[float, float]:
    """Range of an axis on which all curves are seen; of a logarithmic one between powers of ten."""
    if decades is not None:
        return 10.0 ** decades[0], 10.0 ** decades[1]
    low, high = min(float(v.min()) for v in curves), max(float(v.max()) for v in curves)
    low = min(low, 0.0)
    room = 0.06 * (high - low)
    return (low - room if low < 0.0 else low, high + room) if high > low else (low, low + 1.0)
