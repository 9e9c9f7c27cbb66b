"""Arrays kept on disk by a digest of what they were computed from: robots are read again and again.

The folder is ``meshes`` in that of the compiled kernels (``STICKSLIP_CACHE_DIR``, see jit.py). What cannot be read or
written there is computed, silently: the cache changes times, and meshes read once need no reader a second time.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.jit import cache_root

VERSION = b"1"
"""Changes where the same input gives other arrays."""

Arrays = Mapping[str, NDArray[Any]]


def digest(*parts: bytes | NDArray[Any]) -> str:
    """Name of what is computed from some bytes and arrays."""
    mixed = hashlib.sha256(VERSION)
    for part in parts:
        mixed.update(part if isinstance(part, bytes) else np.ascontiguousarray(part).tobytes())
        mixed.update(b"\0")
    return mixed.hexdigest()[:40]


def cached(name: str, compute: Callable[[], Arrays]) -> Arrays:
    """What was kept under a name, or what ``compute`` gives, which is kept; its errors pass."""
    file = cache_root() / "meshes" / f"{name}.npz"
    try:
        with np.load(file, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
        pass  # not there, or damaged: computed again
    values = compute()
    _store(file, values)
    return values


def _store(file: Path, values: Arrays) -> None:
    temporary = None
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=file.parent, suffix=".partial")
        with os.fdopen(handle, "wb") as stream:
            np.savez(stream, allow_pickle=False, **dict(values))
        os.replace(temporary, file)
    except OSError:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
