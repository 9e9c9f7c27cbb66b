"""What plots share: the canvas, colours that everybody can tell apart, and how a plot is written."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

from stickslip.errors import InputError, MissingDependencyError
from stickslip.files import whole_file

DPI = 130
FORMATS = (".png", ".svg", ".pdf")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
"""Okabe and Ito's palette, told apart by colour-blind readers too; without its yellow, which white paper swallows."""
DASHES = ("-", "--", "-.", ":")
FAILED = "#c1121f"
"""Colour of what went wrong; marks in it also have a shape of their own."""


def needed_packages() -> None:
    """Raise an error that says what to install where pictures cannot be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("Matplotlib is not installed; pip install 'stickslip[plot]'") from error


def check_plot(file: Path, formats: tuple[str, ...] = FORMATS) -> None:
    """Raise an error unless a picture can be drawn to a file of that name: before hours of work, not after."""
    if file.suffix.lower() not in formats:
        raise InputError(f"plot: {file} ends with {file.suffix!r}; it must end with one of {', '.join(formats)}")
    if not file.parent.is_dir() or file.is_dir():
        raise InputError(f"plot: {file} cannot be written; give the name of a file in a folder that exists")
    needed_packages()


def canvas(rows: int, columns: int, width: float, height: float, **options: Any) -> tuple[Any, Any]:
    """A figure and its axes (rows, columns), without the state that pyplot keeps."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def style(number: int) -> dict[str, str]:
    """Colour and dashes of the line with that number."""
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[number // len(COLOURS) % len(DASHES)]}


def save(figure: Any, file: Path) -> None:
    """Write a figure in the format that the file's ending names, whole or not at all."""
    with whole_file(file) as temporary:
        figure.savefig(temporary, dpi=DPI, format=file.suffix.lower()[1:])


def svg(figure: Any) -> bytes:
    """A figure as an SVG picture: the same bytes for the same figure, nothing in it that is loaded from elsewhere."""
    from matplotlib import rc_context

    written = BytesIO()
    with rc_context({"svg.hashsalt": "stickslip"}):
        figure.savefig(written, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = written.getvalue()
    return text[text.index(b"<svg") :]
