"""Writing files so that they are whole or absent."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stickslip.errors import FileError

UNFINISHED: set[Path] = set()
"""Temporary files that a program must remove when it leaves without unwinding, as on a signal."""
PARTIAL: dict[Path, int] = {}
"""Recordings that are being written and can be read as they are, with their number of frames; kept unless it is 0."""


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary name beside ``path``; rename it to ``path`` on success, remove it on any error."""
    from stickslip.checks import path as checked_path  # the help of the command line does not wait for NumPy

    target = checked_path("file", path)
    if target.is_dir():
        raise FileError(f"cannot write {target}: it is a folder; give the name of a file")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=target.suffix, dir=target.parent)
    except OSError as error:
        reason = error.strerror or error
        raise FileError(f"cannot write {target}: {reason}; give a file in a folder that can be written") from None
    os.close(handle)
    temporary = Path(name)
    UNFINISHED.add(temporary)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp makes private files; give this one the usual permissions
        temporary.replace(target)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}; is the disk full?") from None
    finally:
        temporary.unlink(missing_ok=True)
        UNFINISHED.discard(temporary)
