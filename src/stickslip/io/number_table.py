"""Numbers of every frame: time, iterations, certificate, energy, timings."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import h5py
import numpy as np
from numpy.typing import DTypeLike, NDArray

from stickslip.certify.certificate import Certificate
from stickslip.certify.energy_ledger import EnergyLedger
from stickslip.io.growing_dataset import GrowingDataset

CERTIFICATE = tuple(item.name for item in fields(Certificate) if item.name != "energy")
ENERGY = tuple(item.name for item in fields(EnergyLedger))
TIMINGS = ("collide", "assemble", "solve", "integrate", "stabilise", "certify")
TYPES = {"contacts": "i4", "iterations": "i4", "converged": "?", "status": "S16"}
"""Types of the certificate's entries that are not floats."""
LATER = ("gliding_gap", "angular_momentum_error", "worst_residual", "joint_error", "turn", "deepened")
"""Entries of certificates that older recordings lack; read as not a number."""


def record_type(names: tuple[str, ...]) -> np.dtype[Any]:
    """A record with a field for each number."""
    return np.dtype([(name, TYPES.get(name, "f8")) for name in names])


class NumberTable:
    """A dataset (n,) of numbers or of records of them, which arrive one by one."""

    def __init__(self, group: h5py.Group, name: str, dtype: DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._rows: list[Any] = []
        self._dataset = GrowingDataset(group, name, (), self._dtype)

    def append(self, row: Any) -> None:
        """Add a number, or a tuple of numbers that are the fields of a record."""
        self._rows.append(row)

    def write(self) -> None:
        """Write the rows that wait."""
        if self._rows:
            self._dataset.append(np.array(self._rows, self._dtype))
            self._rows = []
        self._dataset.write()


def read_numbers(table: h5py.Group | h5py.Dataset, names: tuple[str, ...], frames: int) -> dict[str, NDArray[Any]]:
    """Numbers (n,) by name, from records or, in files of version 1, from datasets.

    A missing one raises a KeyError, one that has too few rows a ValueError.
    """
    if isinstance(table, h5py.Dataset):
        table = table[:frames]
        stored = table.dtype.names or ()
    else:
        stored = tuple(table)
    missing = [name for name in names if name not in stored and name not in (*LATER, *TIMINGS)]
    if missing:
        raise KeyError(f"there is no {missing[0]!r}")
    numbers = {name: np.ascontiguousarray(table[name][:frames]) for name in names if name in stored}
    for name, values in numbers.items():
        if values.dtype.kind not in ("S" if TYPES.get(name, "f8")[0] == "S" else "biuf"):
            raise ValueError(f"{name} holds {values.dtype}")
    short = [name for name, values in numbers.items() if values.shape != (frames,)]
    if short:
        raise ValueError(f"{short[0]} has shape {numbers[short[0]].shape}; it should have {(frames,)}")
    for name in LATER:
        if name in names and name not in stored:
            numbers[name] = np.full(frames, np.nan)
    return {name: values.astype(str) if values.dtype.kind == "S" else values for name, values in numbers.items()}
