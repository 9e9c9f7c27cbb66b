"""Plots beside a recording that is played: certificate, iterations, energy over time, with the shown frame marked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stickslip.view.quantity_words import prefixed
from stickslip.view.web_charts import add_chart, chart_heading

if TYPE_CHECKING:
    import viser

    from stickslip.io.recording import Recording

MOST_POINTS = 400
"""Points of a curve: more than a narrow plot has pixels."""
ERRORS = (-16, 0)
"""Decades of the axis of errors; what is outside is drawn on its edge."""
SI = ("m", "J")
"""Units that get a prefix."""
MARK = "#495057"
"""Colour of the shown frame."""


@dataclass(frozen=True)
class Curves:
    """Numbers of all frames that share a plot."""

    title: str
    unit: str
    values: tuple[tuple[str, str, NDArray[np.float64]], ...]
    """Label, colour, numbers (n,)."""
    logarithmic: bool = False


def recorded_curves(recording: Recording) -> list[Curves]:
    """What is plotted of a recording."""
    certificate, energy = recording.certificate, recording.energy
    numbers = {name: np.asarray(certificate[name], dtype=np.float64) for name in certificate if name != "status"}
    potential = energy["potential"] - energy["potential"][0]
    return [
        Curves(
            "Errors", "relative",
            (
                ("law (natural residual)", "#1f6fb4", numbers["natural_residual"]),
                ("momentum", "#d9480f", numbers["momentum_relative"]),
            ),
            logarithmic=True,
        ),
        Curves("Overlap", "m", (("deepest", "#c2255c", numbers["penetration"]),)),
        Curves(
            "Work of a step", "",
            (
                ("iterations", "#1f6fb4", np.asarray(recording.iterations, dtype=np.float64)),
                ("contacts", "#d9480f", numbers["contacts"]),
            ),
        ),
        Curves(
            "Energy", "J",
            (
                ("kinetic", "#d9480f", energy["kinetic"]),
                ("potential since start", "#1f6fb4", potential),
                ("elastic", "#2b8a3e", energy["elastic"]),
            ),
        ),
    ]  # fmt: skip


class PlaybackPlots:
    """Plots in the container of the page that is open when this is made."""

    def __init__(self, server: viser.ViserServer, recording: Recording) -> None:
        self._server = server
        self._starts = neighbours(len(recording), MOST_POINTS)
        time = recording.time[self._starts]
        self._plots = [_Plot(server, curves, time, self._starts) for curves in recorded_curves(recording)]

    def show(self, frame: int) -> None:
        """Mark a frame."""
        at = int(np.searchsorted(self._starts, frame, side="right")) - 1
        with self._server.atomic():
            for plot in self._plots:
                plot.mark(at)


class _Plot:
    """One plot; the mark of the shown frame is a curve that goes up and down at one time."""

    def __init__(
        self, server: viser.ViserServer, curves: Curves, time: NDArray[np.float64], starts: NDArray[np.int64]
    ) -> None:
        # of neighbouring frames the largest, so that no peak is lost
        drawn = [np.maximum.reduceat(np.nan_to_num(v, nan=0.0, posinf=1e300), starts) for *_, v in curves.values]
        unit = curves.unit
        if unit in SI:
            factor, prefix = prefixed(max(float(np.abs(v).max()) for v in drawn))
            drawn, unit = [v / factor for v in drawn], f"{prefix}{unit}"
        low, high = limits(drawn, curves.logarithmic)
        self._low, self._high, self._at = low, high, -1
        self._data = (time, *(np.clip(v, low, high) for v in drawn))
        if len(time) == 1:  # a plot needs a width
            self._data = tuple(np.repeat(v, 2) for v in self._data)
            self._data[0][1] += 1e-3
        server.gui.add_html(chart_heading(curves.title, unit, "time [s]"))
        series = [("shown", MARK), *((label, colour) for label, colour, _ in curves.values)]
        self._node = add_chart(
            server,
            self._marked(0),
            "time [s]",
            series,
            decades=ERRORS if curves.logarithmic else None,
            limits=(low, high),
            height=115,
        )

    def mark(self, at: int) -> None:
        """Mark a point of the curves."""
        if at != self._at:
            self._at = at
            self._node.data = self._marked(at)

    def _marked(self, at: int) -> tuple[NDArray[np.float64], ...]:
        return with_mark(self._data, at, self._low, self._high)


def with_mark(
    data: tuple[NDArray[np.float64], ...], at: int, low: float, high: float
) -> tuple[NDArray[np.float64], ...]:
    """x, an upright line at point ``at``, and curves, all (n + 2,), of x and curves (n,).

    The line goes from ``low`` to ``high`` and is ``low`` elsewhere. The point is there three times, so that the
    line is upright however few points there are.
    """
    places = np.insert(np.arange(len(data[0])), at, [at, at])
    line = np.full(len(places), low)
    line[at + 1] = high
    return data[0][places], line, *(curve[places] for curve in data[1:])


def neighbours(count: int, most: int) -> NDArray[np.int64]:
    """First frames of at most about ``most`` groups of neighbouring frames."""
    return np.arange(0, count, max(1, -(-count // most)))


def limits(curves: list[NDArray[np.float64]], logarithmic: bool) -> tuple[float, float]:
    """Range of an axis on which all curves are seen."""
    if logarithmic:
        return 10.0 ** ERRORS[0], 10.0 ** ERRORS[1]
    low, high = min(float(v.min()) for v in curves), max(float(v.max()) for v in curves)
    low = min(low, 0.0)
    room = 0.06 * (high - low)
    return (low - room if low < 0.0 else low, high + room) if high > low else (low, low + 1.0)
