"""The HDF5 file of a recording, open for reading from several threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from stickslip.errors import FileError, InputError
from stickslip.io.commit_mark import read_mark
from stickslip.io.partial_file import ENDING, partial_path


class RecordingFile:
    """Keeps a file open until :meth:`close`; a lock lets one thread at a time read."""

    def __init__(self, path: Path) -> None:
        """Open a file, also one that a run still writes or was killed while it wrote it.

        One that is missing or no HDF5 raises a FileError.
        """
        self.path = path
        self._lock = threading.RLock()
        if path.is_dir():
            raise FileError(f"recording {path} is a folder; give a file that a recorded run wrote")
        if not path.is_file():
            rest = partial_path(path)
            if rest.is_file():
                raise FileError(
                    f"recording {path} does not exist, but {rest} holds the frames of a run that was interrupted or "
                    "still goes on; open that file"
                )
            raise FileError(f"recording {path} does not exist; give a file that a recorded run wrote")
        self._file, self.cut_off = _opened(path)

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
            try:
                yield self._file
            except (FileError, InputError):
                raise
            except (OSError, KeyError, ValueError, TypeError, RuntimeError) as error:
                text = str(error.args[0] if error.args else error).splitlines()[0]
                raise FileError(f"recording {self.path} is damaged: {text}") from None

    def read(self, dataset: h5py.Dataset, selection: Any) -> NDArray[Any]:
        """Part of a dataset."""
        with self.opened():
            return np.asarray(dataset[selection])


def _opened(path: Path) -> tuple[h5py.File, bool]:
    """A file, and whether its writer did not close it properly, or not yet."""
    # a lock on the name under which runs write would keep the next one from it
    locking = False if path.name.endswith(ENDING) else None
    try:
        return h5py.File(path, "r", locking=locking), False
    except OSError as error:
        text = str(error)
    mark = read_mark(path)
    reason = "cannot be read as HDF5, so it is no recording"
    if "already open" in text:  # a killed run leaves a file that looks so
        reason = "has no frames: its run was stopped before the first, or has not come so far"
    if "truncated" in text or (mark is not None and path.stat().st_size < mark[1]):
        reason = "is truncated"
    if mark is not None and path.stat().st_size >= mark[1]:  # a full disk leaves a file shorter than HDF5 wanted
        with suppress(OSError):
            return h5py.File(path, "r", swmr=True, libver="latest", locking=locking), True
    raise FileError(f"file {path} {reason}; give a file that a recorded run wrote")
