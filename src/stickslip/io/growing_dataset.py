"""HDF5 datasets that grow along their first axis, chunk by chunk."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np
from numpy.typing import DTypeLike, NDArray

from stickslip.arrays import Array

CHUNK_BYTES = 1 << 18
"""Most that a chunk holds, unless one row is larger. Whoever reads a frame reads the whole chunks that it is in; to
write one costs HDF5 as much time as the copying of 100 KB."""


class GrowingDataset:
    """A dataset (n, *row_shape) whose rows arrive in arrays; :meth:`write` writes those that wait.

    It exists from the start, so that its file can be read while it grows. Rows are gathered in one chunk, which goes to
    the file by HDF5's direct writes: the usual ones, by selections and a cache of chunks, take twice the time.
    """

    def __init__(
        self, group: h5py.Group, name: str, row_shape: tuple[int, ...], dtype: DTypeLike, chunk_rows: int = 64
    ) -> None:
        """chunk_rows: most rows of a chunk."""
        self._row_shape = row_shape
        of_chunk = tuple(max(1, size) for size in row_shape)
        row_bytes = np.dtype(dtype).itemsize * int(np.prod(of_chunk))
        rows = max(1, min(chunk_rows, CHUNK_BYTES // row_bytes))
        self._dataset = group.create_dataset(
            name,
            (0, *row_shape),
            dtype,
            maxshape=(None, *(size or None for size in row_shape)),
            chunks=(rows, *of_chunk),
        )
        self._chunk: NDArray[Any] = np.zeros((rows, *row_shape), dtype)
        self._filled = 0
        self._count = 0
        self._last: NDArray[Any] | None = None

    def __len__(self) -> int:
        return self._count

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows (k, *row_shape)."""
        size = len(self._chunk)
        while len(rows):
            part = rows[: size - self._filled]
            rows = rows[len(part) :]
            self._chunk[self._filled : self._filled + len(part)] = part
            self._filled += len(part)
            self._count += len(part)
            if self._filled == size:
                self.write()
                self._filled = 0

    def append_uniform(self, rows: NDArray[Any]) -> None:
        """Add rows, but of rows that are all the same only the first."""
        uniform = len(rows) > 1 and _same(rows[:1], rows[-1:]) and _same(rows[1:], rows[:-1])  # most differ at once
        self.append(rows[:1] if uniform else rows)

    def append_changed(self, row: NDArray[Any]) -> int:
        """Add a row unless it is the same as the last one; returns the place of the row."""
        if self._last is None or not _same(row, self._last):
            self.append(row[None])
            self._last = row.copy()
        return self._count - 1

    def write(self) -> None:
        """Write the chunk that is being filled; the rows behind its end are of no meaning."""
        if self._filled and self._chunk.size:
            start = self._count - self._filled
            self._dataset.id.set_extent((self._count, *self._row_shape))
            self._dataset.id.write_direct_chunk((start, *(0 for _ in self._row_shape)), self._chunk)
        elif self._filled:
            self._dataset.id.set_extent((self._count, *self._row_shape))


def _same(ours: Array, theirs: Array) -> bool:
    """Whether two arrays of floats agree bit for bit."""
    return ours.tobytes() == theirs.tobytes()  # half the time of a comparison by NumPy
