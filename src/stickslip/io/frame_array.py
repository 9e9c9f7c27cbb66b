"""Arrays of a recording that stay in its file: what is indexed is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from stickslip.arrays import LongInts

if TYPE_CHECKING:
    import h5py

    from stickslip.io.recording_file import RecordingFile


GAP_BYTES = 1 << 16
"""Rows that are not asked for are read along with others where they are fewer than this for each of them."""


class FrameArray:
    """An array (n, ...) of n frames in a file: ``a[i]``, ``a[i:j]``, ``a[i, 3]`` and ``np.asarray(a)`` read it.

    An index of many frames reads all of them at once; go frame by frame where they do not fit into memory.
    """

    def __init__(
        self,
        file: RecordingFile,
        source: h5py.Dataset | NDArray[Any],
        frames: int,
        rows: LongInts | None = None,
        check: Callable[[NDArray[Any]], None] | None = None,
    ) -> None:
        """``source`` has at least ``frames`` rows; ``rows`` (n,): the row of each frame, where several share one.

        check: sees what was read, and raises an error where it cannot be.
        """
        self._file, self._source, self._rows, self._check = file, source, rows, check
        self.shape: tuple[int, ...] = (frames, *source.shape[1:])
        self.dtype: np.dtype[Any] = source.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.prod(self.shape))

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"FrameArray(shape={self.shape}, dtype={self.dtype})"

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        found = self[:]
        return found if dtype is None else found.astype(dtype, copy=False)

    def __getitem__(self, key: Any) -> NDArray[Any]:
        """As NumPy does, reading the frames that the first index asks for."""
        first, *rest = key if isinstance(key, tuple) else (key,)
        if first is Ellipsis or first is None:  # the shape of what is asked for is NumPy's business
            return np.asarray(self[:][key])
        if isinstance(first, int | np.integer):
            frame = self._frame(int(first))
            found: NDArray[Any] = self._read(frame)[tuple(rest)]
            return found
        if isinstance(first, slice):
            numbers = np.arange(len(self))[first]
        else:
            chosen = np.asarray(first)
            numbers = np.arange(len(self))[chosen if chosen.size else chosen.astype(np.intp)]
        inner = tuple(rest)
        if all(isinstance(part, int | np.integer) for part in inner):
            for part, length in zip(inner, self.shape[1:], strict=False):
                if not -length <= part < length:
                    raise IndexError(f"there is no entry {part} in rows of shape {self.shape[1:]}")
            # HDF5 can leave out what is not asked for
            return self._gather(numbers, inner)
        return np.asarray(self._gather(numbers)[(slice(None),) * numbers.ndim + inner])

    def _frame(self, number: int) -> int:
        if not -len(self) <= number < len(self):
            raise IndexError(f"frame {number} does not exist; there are {len(self)} frames")
        return number % len(self)

    def _read(self, frame: int) -> NDArray[Any]:
        """One frame."""
        row = frame if self._rows is None else int(self._rows[frame])
        if isinstance(self._source, np.ndarray):
            return np.array(self._source[row])
        return self._stored(self._source, row)

    def _stored(self, source: h5py.Dataset, selection: Any) -> NDArray[Any]:
        """Part of the file, checked."""
        found = self._file.read(source, selection)
        if self._check is not None:
            self._check(found)
        return found

    def _gather(self, numbers: NDArray[np.intp], inner: tuple[int, ...] = ()) -> NDArray[Any]:
        """Frames of the given numbers, each read once, in one piece where they follow one another; or one part."""
        rows = numbers if self._rows is None else self._rows[numbers]
        if isinstance(self._source, np.ndarray):
            return np.asarray(self._source[(rows, *inner)])
        if not rows.size:
            return np.asarray(np.zeros((0, *self.shape[1:]), self.dtype)[(rows, *inner)])
        wanted, place = np.unique(rows, return_inverse=True)
        first, last = int(wanted[0]), int(wanted[-1]) + 1
        row_bytes = self.dtype.itemsize * int(np.prod(self.shape[1:]))
        if last - first == len(wanted) or (last - first - len(wanted)) * row_bytes < GAP_BYTES * len(wanted):
            found = self._stored(self._source, (slice(first, last), *inner))
            place = rows - first
        else:
            found = np.stack([self._stored(self._source, (int(row), *inner)) for row in wanted])
        if place.shape == found.shape[:1] and (place == np.arange(len(found))).all():
            return found
        return np.asarray(found[place.reshape(rows.shape)])
