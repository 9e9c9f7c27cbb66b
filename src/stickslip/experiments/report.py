"""What the reproduction of a paper gives: rows, claims, tables, figures, and a page that collects them."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from stickslip.errors import FileError
from stickslip.files import whole_file

Number = float | int | str | None


@dataclass(frozen=True)
class Row:
    """One number of a paper beside ours; None where the paper gives none, or where nothing could be measured."""

    experiment: str
    name: str
    paper: Number
    ours: Number
    unit: str


@dataclass(frozen=True)
class Claim:
    """One claim of a paper: what it says, what we measure, and whether the two agree."""

    experiment: str
    claim: str
    paper: str
    ours: str
    agrees: bool
    variant: str = ""
    """Of the settings that it was measured with, where there are several."""


@dataclass(frozen=True)
class Figure:
    """A picture and the table of its numbers: ``stem``.png and ``stem``.csv."""

    experiment: str
    stem: str
    caption: str


@dataclass(frozen=True)
class Report:
    """All that was measured for one paper."""

    paper: str
    title: str
    experiments: tuple[str, ...]
    settings: Mapping[str, str]
    """What was run, by name: machine-independent, so that two reports can be compared."""
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = field(default=())
    """Sentences that a reader of the numbers needs."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; numbers that are not finite become None."""
        return {
            "paper": self.paper,
            "experiments": list(self.experiments),
            "rows": [{key: _plain(value) for key, value in asdict(row).items()} for row in self.rows],
            "claims": [asdict(claim) for claim in self.claims],
            "settings": dict(self.settings),
            "notes": list(self.notes),
        }


def ready_folder(folder: Path) -> Path:
    """The folder, made where it does not exist, and tried, so that hours of work do not end at a wrong name."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"out: {folder} cannot be made: {error.strerror}; give a folder that can be written") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileError(f"out: {folder} cannot be written; give a folder that can")
    return folder


def write_table(file: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file; floats in six digits."""
    with whole_file(file) as temporary, open(temporary, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([_short(value) for value in row] for row in rows)


def write_report(report: Report, folder: Path) -> Path:
    """Write claims.csv, rows.csv and report.md into ``folder``, and return the path of the last."""
    claims = [(c.experiment, c.claim, c.paper, c.ours, _verdict(c), c.variant) for c in report.claims]
    rows = [(r.experiment, r.name, r.paper, r.ours, r.unit) for r in report.rows]
    write_table(folder / "claims.csv", ("experiment", "claim", "paper", "ours", "verdict", "settings"), claims)
    write_table(folder / "rows.csv", ("experiment", "name", "paper", "ours", "unit"), rows)
    file = folder / "report.md"
    with whole_file(file) as temporary:
        temporary.write_text(report_text(report), encoding="utf-8")
    return file


def report_text(report: Report) -> str:
    """The report as Markdown: verdicts first, then each experiment with its figures and numbers."""
    lines = [f"# {report.title}", "", f"{_agreement(report.claims)}.", "", *claim_lines(report.claims)]
    if report.notes:
        lines += ["", "## To know when reading the numbers", "", *(f"- {note}" for note in report.notes)]
    lines += ["", "## Settings", "", *_table(("what", "value"), list(report.settings.items()))]
    for experiment in report.experiments:
        lines += ["", f"## {experiment}", ""]
        for figure in report.figures:
            if figure.experiment == experiment:
                lines += [f"![{figure.stem}]({figure.stem}.png)", ""]
                lines += [f"{figure.caption} Numbers: [{figure.stem}.csv]({figure.stem}.csv).", ""]
        rows = [(r.name, r.paper, r.ours, r.unit) for r in report.rows if r.experiment == experiment]
        lines += _table(("what", "paper", "ours", "unit"), rows) if rows else []
    return "\n".join(lines) + "\n"


def claim_lines(claims: Sequence[Claim]) -> list[str]:
    """A table of claims, one line each; where they were measured with several settings, those side by side.

    A claim that does not depend on settings has the same words beside all of them.
    """
    variants = _variants(claims)
    lines: dict[tuple[str, str, str], dict[str, Claim]] = {}
    for claim in claims:
        lines.setdefault((claim.experiment, claim.claim, claim.paper), {})[claim.variant] = claim
    header = ["experiment", "claim", "the paper says"]
    for variant in variants:
        header += [f"measured here, {variant} settings" if variant else "measured here", "verdict"]
    rows: list[list[Any]] = []
    for names, found in lines.items():
        row: list[Any] = list(names)
        for variant in variants:
            own = found.get(variant, found.get(""))
            row += [None, None] if own is None else [own.ours, f"**{_verdict(own)}**"]
        rows.append(row)
    return _table(header, rows)


def _variants(claims: Sequence[Claim]) -> list[str]:
    """The settings that claims were measured with; the empty name where there is one set alone."""
    return list(dict.fromkeys(claim.variant for claim in claims if claim.variant)) or [""]


def _agreement(claims: Sequence[Claim]) -> str:
    """How many claims agree, by the settings; those that do not depend on them count for each."""
    parts = []
    for variant in _variants(claims):
        own = [claim for claim in claims if claim.variant in (variant, "")]
        words = f" with {variant} settings" if variant else ""
        parts.append(f"{sum(claim.agrees for claim in own)} of {len(own)} claims agree{words}")
    return ", ".join(parts)


def listed(options: Mapping[str, Any]) -> str:
    """Options as words for settings."""
    return ", ".join(f"{name}={value}" for name, value in options.items())


def _table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Lines of a Markdown table; None becomes a dash."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for row in rows:
        cells = ["–" if value is None else str(_short(value, 4)).replace("|", "\\|") for value in row]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _verdict(claim: Claim) -> str:
    return "agrees" if claim.agrees else "differs"


def _short(value: Any, digits: int = 6) -> Any:
    return f"{value:.{digits}g}" if isinstance(value, float) else value


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
