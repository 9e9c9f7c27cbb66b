"""The first line of a recording, before HDF5's own bytes: how many frames are whole, and how long the file was then.

It is outside HDF5 so that a reader knows whether a file was cut short before HDF5 looks for what is no longer there:
while it waits for a writer it tries again, after pauses that double, for years.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

BYTES = 512
"""Room before HDF5's own bytes, its smallest "user block"."""
_LINE = re.compile(rb"stickslip recording: (\d+) frames in (\d+) bytes *\n")


def write_mark(handle: int, frames: int, size: int) -> None:
    """Say that a file (open, with its user block) has so many whole frames in its first ``size`` bytes."""
    line = f"stickslip recording: {frames} frames in {size} bytes"
    os.pwrite(handle, f"{line:<95}\n".encode(), 0)  # one write of less than a page: a kill cannot tear it


def read_mark(path: Path) -> tuple[int, int] | None:
    """Frames and bytes; None where a file has no mark."""
    with path.open("rb") as stream:
        found = _LINE.match(stream.read(BYTES))
    return None if found is None else (int(found[1]), int(found[2]))
