"""The HDF5 file of a recording, open for reading from several threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from stickslip.errors import FileError
from stickslip.io.commit_mark import read_mark
from stickslip.io.hdf5_reading import open_checked
from stickslip.io.partial_file import partial_path, unfinished
from stickslip.reading import reading, reason, regular_file

WHAT = "recording"


class RecordingFile:
    """Keeps a file open until :meth:`close`; a lock lets one thread at a time read."""

    def __init__(self, path: Path) -> None:
        """Open a file, also one that a run still writes or was killed while it wrote it.

        One that is missing or no HDF5 raises a FileError.
        """
        self.path = path
        self._lock = threading.RLock()
        rest = partial_path(path)
        if not path.exists() and rest.is_file():
            raise FileError(
                f"recording {path} does not exist, but {rest} holds the frames of a run that was interrupted or "
                "still goes on; open that file"
            )
        regular_file(path, WHAT, "a file that a recorded run wrote")
        self._file, self.cut_off, self.mark = _opened(path)

    def close(self) -> None:
        """Close the file; what was read stays."""
        with self._lock:
            self._file.close()

    @contextmanager
    def opened(self) -> Iterator[h5py.File]:
        """The file for this thread alone; whatever goes wrong while reading becomes a FileError of one line."""
        with self._lock:
            if not self._file:
                raise FileError(f"recording {self.path} was closed; read it again with read_recording")
            with reading(self.path, WHAT, "a recording"):
                yield self._file

    def read(self, dataset: h5py.Dataset, selection: Any) -> NDArray[Any]:
        """Part of a dataset."""
        with self.opened():
            return np.asarray(dataset[selection])


def _opened(path: Path) -> tuple[h5py.File, bool, tuple[int, int] | None]:
    """A file, whether its writer did not close it properly, or not yet, and its mark.

    The mark of a file that grows is older than what HDF5 has seen of it, so that all its frames are there.
    """
    # a lock on the name under which runs write would keep the next one from it
    locking = False if unfinished(path) else None
    try:
        file = open_checked(path, locking)
    except ValueError as error:
        raise FileError(f"recording {path} cannot be read, it is damaged: {error}") from error
    except Exception as error:  # whatever HDF5 says of bytes that are not its own
        text = str(error)
    else:
        with reading(path, WHAT, "a recording"):
            return file, False, read_mark(path)
    with reading(path, WHAT, "a recording"):
        mark, size = read_mark(path), path.stat().st_size
    why = "cannot be read as HDF5, so it is no recording"
    if "already open" in text:  # a killed run leaves a file that looks so
        why = "has no frames: its run was stopped before the first, or has not come so far"
    if "truncated" in text or (mark is not None and size < mark[1]):
        why = "is truncated"
    if mark is not None and size >= mark[1]:  # a full disk leaves a file shorter than HDF5 wanted
        try:
            return open_checked(path, locking, growing=True), True, mark
        except ValueError as error:
            raise FileError(f"recording {path} cannot be read, it is damaged: {error}") from error
        except Exception as error:
            if mark[0]:
                why = f"cannot be read, it is damaged: {reason(error)}"
    raise FileError(f"file {path} {why}; give a file that a recorded run wrote")
