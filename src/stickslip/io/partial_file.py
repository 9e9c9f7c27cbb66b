"""The name of a recording while it is written: FILE.partial, beside FILE, which it becomes when it is whole."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stickslip.errors import FileError, RecordingWarning
from stickslip.files import PARTIAL
from stickslip.io.commit_mark import read_mark

try:
    import fcntl
except ImportError:  # a system without such locks: two runs that write one file are not noticed
    fcntl = None  # type: ignore[assignment]

ENDING = ".partial"
_UNFINISHED = re.compile(rf"{re.escape(ENDING)}(-\d+)?$")


def partial_path(path: Path) -> Path:
    """Where a recording is while it is written."""
    return path.with_name(path.name + ENDING)


def unfinished(path: Path) -> bool:
    """Whether a name is that of a recording that was not finished: FILE.partial, or FILE.partial-1 once moved aside."""
    return _UNFINISHED.search(path.name) is not None


def finished_name(name: str) -> str:
    """The name that a recording would have had at its end."""
    return _UNFINISHED.sub("", name)


def move_aside(path: Path) -> Path:
    """Give FILE.partial the first free name of FILE.partial-1, FILE.partial-2, ...; returns it."""
    number = 1
    while True:
        target = path.with_name(f"{path.name}-{number}")
        try:
            os.link(path, target)  # unlike a rename it never replaces what another run has just put there
        except FileExistsError:
            number += 1
            continue
        except OSError:  # a file system without links
            if target.exists():
                number += 1
                continue
            path.rename(target)
            return target
        path.unlink()
        return target


@contextmanager
def partial_file(target: Path) -> Iterator[Path]:
    """Yield an empty FILE.partial; rename it to the target on success, keep it after an error if it has frames.

    ``PARTIAL[path]`` says how many it has; whoever writes keeps it up to date. What an earlier run left under this name
    is moved aside, with a warning that says so, if it has frames, and removed if not. The file is locked, so that a
    second run that wants to write it gets a FileError.
    """
    if target.is_dir():
        raise FileError(f"cannot write {target}: it is a folder; give the name of a file")
    path = partial_path(target)
    try:
        lock = _locked(path)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        reason = error.strerror or error
        raise FileError(f"cannot write {target}: {reason}; give a file in a folder that can be written") from None
    PARTIAL[path] = 0
    try:
        yield path
        path.replace(target)
    except BaseException as error:
        if PARTIAL[path]:
            error.add_note(f"{path} holds the first {PARTIAL[path]} frames")
        else:
            path.unlink(missing_ok=True)
        raise
    finally:
        del PARTIAL[path]
        os.close(lock)


def _locked(path: Path) -> int:
    """An empty file that no other run writes, open and locked; what a dead run left there keeps its frames elsewhere.

    Without frames it is unlinked, not emptied: somebody may be looking at it.
    """
    busy = FileError(f"cannot write {path}: another run is writing it; wait for its end, or give another file")
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "not a regular file"
        raise FileError(f"cannot write {path}: it is {kind}; give another file")
    old = os.open(path, flags, 0o666)
    try:
        _lock(old, busy)
        if not os.path.samestat(os.fstat(old), os.stat(path)):  # another run was quicker
            raise busy
        mark = read_mark(path)
        if mark[0] if mark is not None else path.stat().st_size:
            held = "something" if mark is None else f"{mark[0]} frames of a run that did not end"
            text = f"{path} held {held}; it is kept as {move_aside(path)}"
            warnings.warn(text, RecordingWarning, stacklevel=2)
        else:
            path.unlink()
        try:
            new = os.open(path, flags | os.O_EXCL, 0o666)
        except FileExistsError:
            raise busy from None
    finally:
        os.close(old)
    _lock(new, busy)
    return new


def _lock(handle: int, busy: FileError) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise busy from None
    except OSError:  # a file system without locks
        return
