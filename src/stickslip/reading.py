"""Reading files that may be damaged, huge, or no files at all: one way in, and one error for whatever is wrong.

A file is first looked at from outside (:func:`regular_file`), then parsed within :func:`reading`. Numbers in a file
that say how much memory is needed are compared with its size before the memory is taken (:func:`most_bytes`).
"""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from stickslip.checks import path as checked_path
from stickslip.errors import FileError, InputError, StickslipError

ROOM, SHARE = 96 * 2**20, 20
"""What a file holds takes at most ROOM + SHARE times its size [bytes] of memory: with the copies that parsing makes,
files below 10 MB need less than 1 GB. Arrays of simulations are compressed by less than ten; uncompressed ones never
come near."""
MOST_ARRAYS = 1000
"""Arrays of an archive; problems and states have fewer than a hundred."""
KINDS = {
    stat.S_IFIFO: "a named pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket",
}  # fmt: skip


def regular_file(path: str | os.PathLike[str], what: str, needed: str) -> Path:
    """The path of a file that can be opened without waiting for anybody.

    ``what`` is what the file should be ("state file"), ``needed`` what the user should give. Anything else, also an
    empty file, raises a FileError; what is no path raises an InputError.
    """
    file = checked_path(what, path)
    try:
        found = os.stat(file)
    except (FileNotFoundError, NotADirectoryError):
        raise FileError(f"{what} {file} does not exist; give {needed}") from None
    except (OSError, ValueError) as error:
        raise FileError(f"{what} {file} cannot be read: {reason(error)}; give {needed}") from None
    if stat.S_ISDIR(found.st_mode):
        raise FileError(f"{what} {file} is a folder; give {needed}")
    if not stat.S_ISREG(found.st_mode):
        kind = KINDS.get(stat.S_IFMT(found.st_mode), "something else")
        raise FileError(f"{what} {file} is {kind} and not a regular file; give {needed}")
    if found.st_size == 0:
        raise FileError(f"{what} {file} cannot be read: it is empty; give {needed}")
    return file


@contextmanager
def reading(path: str | os.PathLike[str], what: str, should: str) -> Iterator[None]:
    """Turn whatever goes wrong while a file is parsed into one FileError; errors of ours pass.

    ``what`` names the file ("state file"), ``should`` says what it should be ("a saved state"). Nothing but parsing
    belongs inside: libraries raise any exception when they meet damage, so all are taken for it.
    """
    try:
        yield
    except StickslipError:
        raise
    except Exception as error:
        raise FileError(f"{what} {path} cannot be read, it is damaged or not {should}: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """Why something failed, in one line."""
    if isinstance(error, MemoryError):
        return "it asks for more memory than there is"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    given = error.args[0] if isinstance(error, KeyError) and error.args else error
    lines = str(given).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def most_bytes(file: Path) -> int:
    """Most memory [bytes] that the contents of a file may take."""
    return ROOM + SHARE * file.stat().st_size


def memory_of(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """Bytes that an array takes once its numbers have eight bytes each, as most have sooner or later."""
    entries = 1
    for length in shape:
        entries *= length
    return entries * max(dtype.itemsize, 8)


def require_memory(asked: int, file: Path) -> None:
    """Raise a ValueError, which :func:`reading` words, where the contents of a file would take too much memory."""
    most = most_bytes(file)
    if asked > most:
        raise ValueError(
            f"it asks for {asked / 2**20:.0f} MB of memory; a file of its size may ask for {most / 2**20:.0f} MB"
        )


def read_arrays(file: Path, what: str, should: str) -> dict[str, NDArray[Any]]:
    """All arrays of an ``.npz`` archive; the headers of all are looked at before any is read."""
    with reading(file, what, should), zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if len(members) > MOST_ARRAYS:
            raise ValueError(f"it holds {len(members)} arrays; {MOST_ARRAYS} at most are taken")
        asked = 0
        for member in members:
            name = member.filename.removesuffix(".npy")
            with archive.open(member) as stream:
                shape, dtype = _header(stream, name)
            size = int(np.prod(shape, dtype=object)) * dtype.itemsize
            if min(shape, default=0) < 0 or size > member.file_size:
                raise ValueError(f"{name} promises {size} bytes; it has {member.file_size}")
            asked += memory_of(shape, dtype)
        require_memory(asked, file)
        arrays: dict[str, NDArray[Any]] = {}
        for member in members:
            with archive.open(member) as stream:
                arrays[member.filename.removesuffix(".npy")] = np.lib.format.read_array(stream, allow_pickle=False)
        return arrays


def _header(stream: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of an array in NumPy's format; one of Python objects, which could hold code, is refused."""
    if np.lib.format.read_magic(stream) == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    else:  # 3.0 differs from 2.0 in the letters of field names alone, of which there should be none
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    if dtype.hasobject:
        raise InputError(f"{name} holds Python objects and no numbers")
    return shape, dtype
