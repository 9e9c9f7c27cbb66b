"""The table of a sweep: a row a run, as CSV or Parquet, and a plot of its metrics."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.errors import InputError, MissingDependencyError
from stickslip.files import whole_file
from stickslip.keywords import unknown
from stickslip.sweeps.one_run import Row
from stickslip.sweeps.plan import Plan

OWN = ("status", "steps", "simulated_s", "converged_fraction", "contacts_mean", "ms_per_step", "seconds")
ENDINGS = (".csv", ".parquet")
MOST_PANELS = 6


def check_table(out: Path) -> None:
    """Raise an error unless a table can be written to a file of that name: before hours of work, not after."""
    if out.suffix.lower() not in ENDINGS:
        raise InputError(f"sweep: {out} ends with {out.suffix!r}; tables end with .csv or .parquet")
    if not out.parent.is_dir() or out.is_dir():
        raise InputError(f"sweep: {out} cannot be written; give the name of a file in a folder that exists")
    if out.suffix.lower() == ".parquet":
        _pyarrow()


def flat(rows: Sequence[Row], plan: Plan, metrics: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Rows with plain columns: run, settings, how it ended, metrics, certificate; all have the same columns.

    metrics: those to keep, of the scene's metrics and of the certificate; all where none is named.
    """
    measured = list(dict.fromkeys(name for row in rows for name in row["metrics"]))
    certified = list(dict.fromkeys(name for row in rows for name in row["certificate"]))
    for name in metrics:
        if name not in measured and name not in certified and measured + certified:
            raise unknown("sweep: metric", name, [*measured, *certified])
    kept = [name for name in measured if not metrics or name in metrics]
    kept += [name for name in certified if (not metrics or name in metrics) and name not in kept]
    found = []
    for row in sorted(rows, key=lambda each: int(each["run"])):
        values = {**row["certificate"], **row["metrics"]}
        settings = {name: row["settings"].get(name) for name in plan.axes}
        found.append({
            "run": row["run"],
            **{name: _text(value) for name, value in settings.items()},
            **{name: row[name] for name in OWN},
            **{name: values.get(name) for name in kept},
            "state_hash": row["state_hash"],
            "note": row["note"],
        })  # fmt: skip
    return found


def write_table(rows: Sequence[dict[str, Any]], out: Path) -> None:
    """Write rows of :func:`flat`."""
    with whole_file(out) as temporary:
        if out.suffix.lower() == ".parquet":
            pyarrow = _pyarrow()
            columns = {name: [row[name] for row in rows] for name in rows[0]}
            pyarrow.parquet.write_table(pyarrow.table(columns), temporary)
            return
        with temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows({name: "" if value is None else value for name, value in row.items()} for row in rows)


def draw(rows: Sequence[dict[str, Any]], plan: Plan, metrics: Sequence[str], file: Path) -> None:
    """A panel a metric, over the first setting that has several values, which must be numbers.

    Points are runs; lines go through the means of those that share all settings but ``seed``.
    """
    from stickslip.view.drawing import canvas, save, style

    over = next((name for name in plan.varied if name != "seed" and isinstance(plan.axes[name][0], int | float)), None)
    if over is None:
        raise InputError("sweep: a plot needs a setting with several numbers")
    others = [name for name in plan.varied if name not in (over, "seed")]
    shown = [name for name in metrics or rows[0] if _drawable(rows, name, plan)][:MOST_PANELS]
    if not shown:
        raise InputError("sweep: no metric has a number to draw")
    figure, axes = canvas(len(shown), 1, 7.0, 2.4 * len(shown) + 0.6, sharex=True)
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in others), []).append(row)
    for axis, metric in zip(axes[:, 0], shown, strict=True):
        for k, (key, members) in enumerate(groups.items()):
            label = ", ".join(f"{name} {value}" for name, value in zip(others, key, strict=True))
            known = [(float(row[over]), float(row[metric])) for row in members if row[metric] is not None]
            if not known:
                continue
            x, y = np.array(known).T
            places = np.unique(x)
            axis.plot(x, y, ".", color=style(k)["color"], alpha=0.5)
            axis.plot(places, [y[x == place].mean() for place in places], label=label or None, **style(k))
        axis.set_ylabel(metric.replace("_", " "), fontsize=8)
        axis.grid(alpha=0.3)
    if others:
        axes[0, 0].legend(fontsize=8)
    axes[-1, 0].set_xlabel(over)
    save(figure, file)


def _drawable(rows: Sequence[dict[str, Any]], name: str, plan: Plan) -> bool:
    skipped = {"run", "state_hash", "note", "status", "seconds", "ms_per_step", "steps", "simulated_s", *plan.axes}
    return name not in skipped and any(isinstance(row.get(name), int | float) for row in rows)


def _text(value: Any) -> Any:
    """A value of a setting as a cell."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else value


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependencyError("Parquet needs pyarrow; pip install 'stickslip[export]'") from error
    return pyarrow
