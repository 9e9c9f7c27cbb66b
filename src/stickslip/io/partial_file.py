"""The name of a recording while it is written: FILE.partial, beside FILE, which it becomes when it is whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stickslip.errors import FileError
from stickslip.files import PARTIAL

try:
    import fcntl
except ImportError:  # a system without such locks: two runs that write one file are not noticed
    fcntl = None  # type: ignore[assignment]

ENDING = ".partial"


def partial_path(path: Path) -> Path:
    """Where a recording is while it is written."""
    return path.with_name(path.name + ENDING)


@contextmanager
def partial_file(target: Path) -> Iterator[Path]:
    """Yield an empty FILE.partial; rename it to the target on success, keep it after an error if it has frames.

    ``PARTIAL[path]`` says how many it has; whoever writes keeps it up to date. What an earlier run left under this name
    is removed. The file is locked, so that a second run that wants to write it gets a FileError.
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
    """An empty file that no other run writes, open and locked; what a dead run left there is unlinked, not emptied.

    Somebody may be looking at it.
    """
    busy = FileError(f"cannot write {path}: another run is writing it; wait for its end, or give another file")
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder; give another file")
    old = os.open(path, flags, 0o666)
    try:
        _lock(old, busy)
        if not os.path.samestat(os.fstat(old), os.stat(path)):  # another run was quicker
            raise busy
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
