"""HDF5 datasets that grow along their first axis and are written in blocks."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np
from numpy.typing import DTypeLike, NDArray

BLOCK_BYTES = 1 << 19
"""Rows wait in memory until they fill this much: one write to HDF5 costs as much as a step of a small scene."""


class GrowingDataset:
    """A dataset (n, *row_shape) whose rows arrive in arrays; call :meth:`finish` at the end."""

    def __init__(self, group: h5py.Group, name: str, row_shape: tuple[int, ...], dtype: DTypeLike) -> None:
        self._group, self._name = group, name
        self._row_shape, self._dtype = row_shape, np.dtype(dtype)
        self._waiting: list[NDArray[Any]] = []
        self._waiting_bytes = 0
        self._dataset: h5py.Dataset | None = None

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows (k, *row_shape); the array is kept until it is written and must not change before."""
        self._waiting.append(rows)
        self._waiting_bytes += rows.nbytes
        if self._waiting_bytes >= BLOCK_BYTES:
            self._write()

    def finish(self) -> None:
        """Write what waits; a dataset that fits into one block is stored contiguously."""
        if self._dataset is None:
            self._group.create_dataset(self._name, data=self._gathered())
        elif self._waiting:
            self._write()

    def _gathered(self) -> NDArray[Any]:
        empty = np.zeros((0, *self._row_shape), self._dtype)
        rows = np.concatenate([empty, *self._waiting]).astype(self._dtype, copy=False)
        self._waiting, self._waiting_bytes = [], 0
        return rows

    def _write(self) -> None:
        rows = self._gathered()
        if self._dataset is None:
            self._dataset = self._group.create_dataset(
                self._name,
                data=rows,
                maxshape=(None, *self._row_shape),
                chunks=(len(rows), *(max(1, size) for size in self._row_shape)),
            )
            return
        end = len(self._dataset)
        self._dataset.resize(end + len(rows), axis=0)
        self._dataset[end:] = rows
