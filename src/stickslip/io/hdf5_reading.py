"""HDF5 files of others, opened only if they hold what they say and nothing that reaches outside them.

A file of a thousand bytes can declare an array of terabytes, or one whose bytes are in another file, or a link to one.
So every link and every array is looked at before anything is read.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path

import h5py
import numpy as np

from stickslip.reading import require_memory

ATTEMPTS = 28
"""How often metadata that do not fit their checksum are read again while somebody writes them: pauses begin with a
nanosecond and double, 0.3 s in all. HDF5 itself would try a hundred times, which takes longer than the universe is old.
"""


def open_checked(path: Path, locking: bool | None = None, growing: bool = False) -> h5py.File:
    """A file for reading; ``growing``: while another process writes it. Whatever is wrong raises some exception."""
    file = _growing(path, locking) if growing else h5py.File(path, "r", locking=locking)
    try:
        _check(file, path)
    except BaseException:
        file.close()
        raise
    return file


def _growing(path: Path, locking: bool | None) -> h5py.File:
    """A file that somebody may be writing, or was when a kill came."""
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_LATEST, h5py.h5f.LIBVER_LATEST)
    if locking is not None:
        access.set_file_locking(locking, True)
    with suppress(OSError, AttributeError):  # h5py has no name for it; where this does not work, HDF5 waits
        library = ctypes.CDLL(h5py.h5p.__file__)
        library.H5Pset_metadata_read_attempts(ctypes.c_int64(access.id), ctypes.c_uint(ATTEMPTS))
    flags = h5py.h5f.ACC_RDONLY | h5py.h5f.ACC_SWMR_READ
    return h5py.File(h5py.h5f.open(os.fsencode(path), flags, access))


def _check(file: h5py.File, path: Path) -> None:
    """Raise a ValueError unless all links stay inside the file and all arrays fit its size."""
    asked = _attribute_bytes(file.id)
    hard, soft = h5py.h5l.TYPE_HARD, h5py.h5l.TYPE_SOFT
    seen: list[tuple[bytes, int]] = []
    file.id.links.visit(lambda name, info: seen.append((name, info.type)), info=True)
    for name, kind in seen:
        if kind not in (hard, soft):
            raise ValueError(f"{name.decode(errors='replace')} is in another file")
        if kind != hard:
            continue
        item = h5py.h5o.open(file.id, name)
        asked += _attribute_bytes(item)
        if isinstance(item, h5py.h5d.DatasetID):
            asked += _dataset_bytes(item, name.decode(errors="replace"))
        require_memory(asked, path)


def _dataset_bytes(item: h5py.h5d.DatasetID, name: str) -> int:
    """Memory that reading an array takes at most, with eight bytes for each number."""
    plan = item.get_create_plist()
    layout = plan.get_layout()
    if layout == h5py.h5d.VIRTUAL or plan.get_external_count():
        raise ValueError(f"the numbers of {name} are in another file")
    width = max(8, item.get_type().get_size())
    chunk = int(np.prod(plan.get_chunk(), dtype=object)) * width if layout == h5py.h5d.CHUNKED else 0
    return max(int(np.prod(item.shape, dtype=object)) * width, chunk)


def _attribute_bytes(item: h5py.h5g.GroupID) -> int:
    """Memory that the attributes of an item take."""
    total = 0
    for number in range(h5py.h5a.get_num_attrs(item)):
        attribute = h5py.h5a.open(item, index=number)
        total += int(np.prod(attribute.shape, dtype=object)) * attribute.get_type().get_size()
    return total
