"""Collects what a reader has to say of a file: one line for each kind of thing, with the first place and a count."""

from __future__ import annotations

from dataclasses import dataclass, field

from stickslip.names import visible
from stickslip.robots.records import ImportReport
from stickslip.robots.xml_file import Element


@dataclass
class ImportNotes:
    """Warnings and notes by kind, in the order of their first place."""

    _warnings: dict[str, list[str]] = field(default_factory=dict)
    _notes: dict[str, list[str]] = field(default_factory=dict)
    repaired: list[str] = field(default_factory=list)

    def warn(self, element: Element, text: str, kind: str = "") -> None:
        """What the file asks for and does not get; those of one ``kind`` become one line."""
        self._warnings.setdefault(kind or f"{element.line} {text}", []).append(f"{element.words()}: {text}")

    def note(self, element: Element, text: str, kind: str = "") -> None:
        """What is understood, but has no meaning here or another than elsewhere."""
        self._notes.setdefault(kind or f"{element.line} {text}", []).append(f"{element.words()}: {text}")

    def write(self, report: ImportReport) -> None:
        """Add all to a report."""
        report.warnings += [_line(found) for found in self._warnings.values()]
        report.notes += [_line(found) for found in self._notes.values()]
        report.repaired += [visible(line, 1000) for line in self.repaired]


def _line(found: list[str]) -> str:
    more = len(found) - 1
    return visible(found[0], 1000) + (f" (and {more} more like it)" if more else "")
