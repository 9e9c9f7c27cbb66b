"""Folders of files that are whole or absent."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stickslip.errors import FileError


@contextmanager
def whole_folder(folder: Path, ending: str) -> Iterator[Path]:
    """Yield a temporary folder beside ``folder``, which takes its place on success and is removed on any error.

    An older folder is replaced only if it holds nothing but files with that ending.
    """
    if folder.exists() and not folder.is_dir():
        raise FileError(f"cannot write folder {folder}: a file has that name; give another name")
    if folder.is_dir() and any(item.suffix != ending for item in folder.iterdir()):
        raise FileError(f"cannot write folder {folder}: it holds other files than *{ending}; give another name")
    try:
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise FileError(f"cannot write folder {folder}: {error.strerror or error}; give one that can be") from None
    try:
        yield temporary
        temporary.chmod(0o755)
        if folder.is_dir():
            shutil.rmtree(folder)
        temporary.replace(folder)
    except OSError as error:
        raise FileError(f"cannot write folder {folder}: {error.strerror or error}; is the disk full?") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
