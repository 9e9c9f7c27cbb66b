"""What plots share: the canvas and how it is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stickslip.errors import MissingDependencyError
from stickslip.files import whole_file

DPI = 130


def needed_packages() -> None:
    """Raise an error that says what to install where pictures cannot be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("Matplotlib is not installed; pip install 'stickslip[plot]'") from error


def canvas(rows: int, columns: int, width: float, height: float, **options: Any) -> tuple[Any, Any]:
    """A figure and its axes (rows, columns), without the state that pyplot keeps."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def save(figure: Any, file: Path) -> None:
    """Write a figure in the format that the file's ending names, whole or not at all."""
    with whole_file(file) as temporary:
        figure.savefig(temporary, dpi=DPI, format=file.suffix.lower()[1:])
