"""Robots that were read before, kept in the folder of compiled kernels: hulls and compiled models take time to make.

A record is kept under a digest of all bytes that it was made of, the options, the reader's sources and the version of
the format's own compiler. A file that cannot be read is as good as none. Like kernels, it is this user's own: whoever
may write to that folder can run code as this user.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import time
from collections.abc import Iterable
from pathlib import Path

from stickslip.errors import StickslipError
from stickslip.files import whole_file
from stickslip.jit import KEPT_DAYS, cache_root, source_digest
from stickslip.robots.records import RobotRecord


def record_key(module: str, options: object, contents: Iterable[tuple[str, bytes]]) -> str:
    """Digest of what a record is made of: the module that reads it, its options, names and bytes of files."""
    digest = hashlib.sha256(f"{source_digest(module)} {options!r}".encode())
    for name, data in contents:
        digest.update(f"\0{name}\0{len(data)}\0".encode("utf-8", "surrogateescape"))
        digest.update(data)
    return digest.hexdigest()


def kept_record(key: str) -> RobotRecord | None:
    """The record of a digest, or None."""
    file = _file(key)
    try:
        with file.open("rb") as stream:
            record = pickle.load(stream)
        os.utime(file)
    except Exception:  # absent, damaged, or of other versions: whatever unpickling raises
        return None
    return record if isinstance(record, RobotRecord) else None


def keep_record(key: str, record: RobotRecord) -> None:
    """Keep a record, and drop those that were not used for long; where nothing can be written, nothing happens."""
    file = _file(key)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file) as temporary:
            temporary.write_bytes(pickle.dumps(record, protocol=pickle.HIGHEST_PROTOCOL))
        for other in file.parent.glob("*.robot"):
            if time.time() - other.stat().st_mtime > KEPT_DAYS * 86400.0:
                other.unlink(missing_ok=True)
    except (OSError, StickslipError):
        return


def _file(key: str) -> Path:
    return cache_root() / "robots" / f"{key}.robot"
