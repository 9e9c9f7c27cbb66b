"""What commands share: JSON on stdout, progress bars and notes on stderr."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from stickslip.names import visible, visible_text

if TYPE_CHECKING:
    from rich.console import Console

Advance = Callable[[int, str], None]
"""Told how many items are done, and what is under way."""


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print a value to stdout; non-finite numbers are rejected, since JSON has none."""
    print(json.dumps(value, indent=indent, allow_nan=False))


def say(text: str, to: TextIO | None = None, end: str = "\n") -> None:
    """Print a text that may hold names from files: what would drive the terminal is made visible."""
    print(visible_text(text), file=to, end=end, flush=True)


def cell(text: object) -> str:
    """A name as a table of rich takes it: neither control characters nor markup count."""
    from rich.markup import escape

    return escape(visible(text, 1000))


@contextmanager
def progress(total: int, remaining: bool = True) -> Iterator[Advance]:
    """A progress bar on stderr, where that is a terminal; stdout stays clean.

    ``remaining``: the bar guesses how long is left; not where the text says it.
    """
    if not sys.stderr.isatty():
        yield lambda done, text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*(columns if remaining else columns[:2]), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done, text: bar.update(task, completed=done, description=visible(text))


@contextmanager
def warnings_as_lines(kind: type[Warning]) -> Iterator[None]:
    """Say warnings of a kind as one line on stderr each, without the place in the code where they arose."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", kind)
        yield
    for item in caught:
        if issubclass(item.category, kind):
            print(f"warning: {' '.join(str(item.message).split())}", file=sys.stderr)
        else:
            warnings.warn_explicit(item.message, item.category, item.filename, item.lineno)


def table_console() -> Console:
    """A console for tables on stdout; where that is a file or a pipe, wide enough not to break cells."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=160)


def finite_or_none(value: float) -> float | None:
    """The value, or None in the place of infinity and NaN, which JSON lacks."""
    return value if math.isfinite(value) else None


def milliseconds(seconds: float | None) -> str:
    """A time in milliseconds, in three digits or more; a dash where there is none."""
    if seconds is None:
        return "-"
    return f"{1e3 * seconds:.3g}" if seconds < 1.0 else f"{1e3 * seconds:.0f}"


def plain_number(value: float) -> str:
    """A number in at most four digits."""
    return f"{value:.4g}"
