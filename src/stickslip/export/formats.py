"""Which files a recording can be exported to, by the endings of their names."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np

from stickslip import checks
from stickslip.errors import InputError
from stickslip.io.recording import Recording, read_recording

Told = Callable[[int, int], None]
"""Told how many frames are done, of how many."""


@dataclass(frozen=True)
class Format:
    """A kind of file."""

    noun: str
    writer: str
    """Module and function in this folder."""
    table: bool = False
    """Whether it holds one table of numbers (tables.TABLES)."""
    single: bool = False
    """Whether it holds the last frame alone."""


FORMATS = {
    ".csv": Format("a table as text", "tables.write_csv", True),
    ".parquet": Format("a table for data frames", "tables.write_parquet", True),
    ".npz": Format("arrays of NumPy", "tables.write_npz"),
    ".pvd": Format("a series of meshes for ParaView, in a folder beside it", "paraview.write_pvd"),
    ".vtu": Format("the last frame for ParaView", "paraview.write_vtu", single=True),
    ".glb": Format("an animated glTF scene", "gltf.write_glb"),
    ".usd": Format("an animated USD stage", "usd.write_usd"),
    ".usda": Format("the same as text", "usd.write_usd"),
    ".usdc": Format("the same in binary", "usd.write_usd"),
    ".obj": Format("a mesh a frame, in a folder", "obj.write_obj"),
}


def export(
    recording: Recording | str | os.PathLike[str], out: str | os.PathLike[str], *, every: int = 1,
    start: float | None = None, end: float | None = None, table: str | None = None,
    told: Told = lambda done, total: None,
) -> int:  # fmt: skip
    """Write a recording, or its file, in the format that the ending of ``out`` names; returns the number of frames.

    every: of the recorded frames; start, end [s]: those between; table: of CSV and Parquet, "steps" (the default),
    "bodies", "contacts", "joints" or "nodes". Optional packages come with the extra ``export``.
    """
    target = checks.path("export", out)
    form = FORMATS.get(target.suffix.lower())
    if form is None:
        raise InputError(f"export: {target} ends with {target.suffix!r}; it must end with one of {', '.join(FORMATS)}")
    if table is not None and not form.table:
        raise InputError(f"export: table is {table!r}, but {target.name} is {form.noun}; tables are .csv and .parquet")
    module, name = form.writer.rsplit(".", maxsplit=1)
    write = getattr(import_module(f"stickslip.export.{module}"), name)
    if not isinstance(recording, Recording):
        with read_recording(recording) as opened:
            return _written(opened, target, form, write, (every, start, end, table), told)
    return _written(recording, target, form, write, (every, start, end, table), told)


def _written(
    recording: Recording, target: Path, form: Format, write: Callable[..., None],
    asked: tuple[int, float | None, float | None, str | None], told: Told,
) -> int:  # fmt: skip
    every, start, end, table = asked
    frames = chosen_frames(recording, every, start, end)[-1 if form.single else 0 :]
    given = (table or "steps",) if form.table or form.writer == "tables.write_npz" else ()
    write(recording, target, frames, *given, lambda last: told(last + 1, len(frames)))
    return len(frames)


def chosen_frames(recording: Recording, every: int, start: float | None, end: float | None) -> Sequence[int]:
    """Numbers of frames: every so many of those between two times [s]."""
    step = checks.whole("export", "every", every, 1)
    low = -np.inf if start is None else checks.finite("export", "start", start)
    high = np.inf if end is None else checks.finite("export", "end", end)
    near = 1e-9 * max(1.0, float(np.abs(recording.time).max(initial=0.0)))
    found = np.flatnonzero((recording.time >= low - near) & (recording.time <= high + near))[::step]
    if not len(found):
        raise InputError(
            f"export: no frame of {recording.path} is between {low:g} and {high:g} s; it has "
            + (f"{recording.time[0]:g} to {recording.time[-1]:g} s" if len(recording) else "no frames")
        )
    return [int(frame) for frame in found]
