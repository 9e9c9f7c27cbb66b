"""The bytes of a mesh file and the place in them: lines, and arrays of numbers in text or binary."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, LongInts


class NumberStream:
    """Reads a file from front to back. What it lacks, or cannot be, raises a ValueError that says what."""

    def __init__(self, content: bytes, binary: bool = False) -> None:
        self.content, self.binary = content, binary
        self.at = 0

    def line(self) -> list[str]:
        """Words of the next line that has any; none at the end."""
        while self.at < len(self.content):
            end = self.content.find(b"\n", self.at)
            end = len(self.content) if end < 0 else end
            words = self.content[self.at : end].decode("latin-1").split()
            self.at = end + 1
            if words:
                return words
        return []

    def array(self, count: int, dtype: str) -> NDArray[Any]:
        """The next ``count`` numbers, in 64 bits; as many as are promised must fit into what is left of the file."""
        wide = np.float64 if np.dtype(dtype).kind == "f" else np.int64
        left = len(self.content) - self.at
        needed = count * np.dtype(dtype).itemsize if self.binary else 2 * count - 1  # a digit and a space each
        if count < 0:
            raise ValueError(f"it promises {count} numbers")
        if needed > left:
            raise ValueError(f"it ends within {count} numbers")
        if self.binary:
            values = np.frombuffer(self.content, dtype, count, self.at)
            self.at += values.nbytes
            return values.astype(wide)
        pieces: list[Array] = []
        found = 0
        while found < count:
            words = self.line()
            if not words:
                raise ValueError(f"it ends within {count} numbers")
            if len(words) > count - found:  # the rest of the line is for whoever reads next
                end = min(self.at, len(self.content))
                start = self.content.rfind(b"\n", 0, end - 1) + 1
                self.at = end - len(self.content[start:end].split(None, count - found)[-1])
            pieces.append(np.array(words[: count - found], dtype=np.float64))
            found += len(pieces[-1])
        return as_whole(np.concatenate([np.empty(0), *pieces])) if wide is np.int64 else _joined(pieces)

    def number(self, dtype: str) -> int:
        """The next number, which is whole."""
        return int(self.array(1, dtype)[0])


def _joined(pieces: list[Array]) -> Array:
    return np.concatenate([np.empty(0), *pieces])


def as_whole(values: Array) -> LongInts:
    """Numbers that were written as text, as whole ones."""
    whole = np.isfinite(values) & (np.abs(values) < 2.0**53)
    if not whole.all():
        raise ValueError(f"it has {values[~whole][0]} where a whole number is needed")
    return values.astype(np.int64)
