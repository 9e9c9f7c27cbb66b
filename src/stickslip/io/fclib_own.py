"""The group of an FCLIB file in which stickslip keeps the whole problem, bit for bit; other programs pass it by.

It holds the arrays of our own form (io/own_form.py) and, as ``fclib``, a digest of the FCLIB group that was written
with it: where somebody has changed that since, FCLIB's numbers are right and the group says nothing.
"""

from __future__ import annotations

import hashlib
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from stickslip.contact.problem import ContactProblem
from stickslip.errors import InputError
from stickslip.io.own_form import read_problem

OWN_GROUP = "stickslip"


def contents_digest(group: h5py.Group) -> str:
    """A digest of the names, types, shapes and numbers of all datasets in a group."""
    found: list[tuple[str, h5py.Dataset]] = []
    group.visititems(lambda name, item: found.append((name, item)) if isinstance(item, h5py.Dataset) else None)
    digest = hashlib.sha256()
    for name, item in sorted(found, key=lambda pair: pair[0]):
        digest.update(f"{name} {item.dtype.str} {item.shape} ".encode())
        digest.update(np.asarray(item[()]).tobytes())
    return digest.hexdigest()


def read_own_group(file: h5py.File, main: h5py.Group) -> tuple[ContactProblem | None, list[str]]:
    """The problem as it was saved, and warnings; None where the file has none that belongs to its FCLIB group."""
    group = file.get(OWN_GROUP)
    if not isinstance(group, h5py.Group) or not {"format", "fclib"} <= set(group):
        return None, []
    data = {name: _array(item) for name, item in group.items() if isinstance(item, h5py.Dataset)}
    if str(data["fclib"]) != contents_digest(main):
        return None, [f"{main.name} was changed after it was saved; /{OWN_GROUP}, which was saved with it, is not read"]
    try:
        return read_problem(data)
    except InputError as error:
        raise InputError(f"/{OWN_GROUP}: {str(error).removeprefix('problem: ')}") from None


def _array(item: h5py.Dataset) -> NDArray[Any]:
    """The numbers of a dataset, or its text."""
    value = item[()]
    return np.array(value.decode(errors="replace")) if isinstance(value, bytes) else np.asarray(value)
