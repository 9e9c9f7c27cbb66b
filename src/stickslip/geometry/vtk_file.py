"""Points and cells of legacy VTK files (.vtk), text or binary, versions 2 to 5.1; the data on them are passed over.

By hand, because meshio gives up on files of today's VTK that hold 64-bit integers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CELLS = {1: "vertex", 3: "line", 4: "polyline", 5: "triangle", 7: "polygon", 9: "quad", 10: "tetra", 12: "hexahedron",
         13: "wedge", 14: "pyramid", 21: "line3", 22: "triangle6", 23: "quad8", 24: "tetra10"}  # fmt: skip
"""meshio's names of VTK's types of cells."""
TYPES = {"float": "f4", "double": "f8", "char": "i1", "unsigned_char": "u1", "short": "i2", "unsigned_short": "u2",
         "int": "i4", "unsigned_int": "u4", "long": "i8", "unsigned_long": "u8", "vtktypeint64": "i8",
         "vtktypeuint64": "u8", "vtkidtype": "i4"}  # fmt: skip


class _Reader:
    """A file's bytes and the place in them."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0
        self.binary = False

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

    def array(self, count: int, kind: str) -> NDArray[Any]:
        """The next ``count`` numbers of a VTK type, in 64 bits."""
        name = TYPES.get(kind.lower())
        if name is None:
            raise ValueError(f"numbers of type {kind!r} are not known")
        wide = np.float64 if name[0] == "f" else np.int64
        if self.binary:
            values = np.frombuffer(self.content, dtype=f">{name}", count=count, offset=self.at)
            self.at += values.nbytes
            return values.astype(wide)
        words: list[str] = []
        while len(words) < count:
            more = self.line()
            if not more:
                raise ValueError(f"it ends within {count} numbers")
            words += more
        return np.array(words[:count], dtype=np.float64).astype(wide)


def read_vtk(file: Path) -> tuple[NDArray[np.float64], list[tuple[str, NDArray[np.int64]]]]:
    """Points (n, 3) and for each type of cells its name and corners (k, j); a ValueError says what is wrong."""
    reader = _Reader(file.read_bytes())
    if not reader.content.startswith(b"# vtk DataFile"):
        raise ValueError("its first line is not '# vtk DataFile Version ...'")
    for _ in range(2):  # the second line is a title, which may be empty
        reader.at = reader.content.find(b"\n", reader.at) + 1
    reader.binary = reader.line() == ["BINARY"]
    if (words := reader.line()) != ["DATASET", "UNSTRUCTURED_GRID"]:
        raise ValueError(f"it has {' '.join(words)!r} where 'DATASET UNSTRUCTURED_GRID' is needed")
    points = corners = offsets = types = None
    while points is None or corners is None or types is None:
        words = reader.line()
        match [word.upper() for word in words[:1]]:
            case []:
                raise ValueError("it ends before its points, cells and types of cells")
            case ["POINTS"]:
                points = reader.array(3 * int(words[1]), words[2]).astype(np.float64).reshape(-1, 3)
            case ["CELLS"]:
                corners, offsets = _cells(reader, int(words[1]), int(words[2]))
            case ["CELL_TYPES"]:
                types = reader.array(int(words[1]), "int")
            case ["FIELD"]:
                for _ in range(int(words[2])):
                    _, width, length, kind = reader.line()
                    reader.array(int(width) * int(length), kind)
            case _:
                pass  # METADATA and its lines
    assert offsets is not None
    size = np.diff(offsets)
    if len(size) != len(types):
        raise ValueError(f"it has {len(size)} cells and {len(types)} types of cells")
    blocks = []
    for kind in np.unique(types).tolist():
        own = np.flatnonzero(types == kind)
        for width in np.unique(size[own]).tolist():
            alike = own[size[own] == width]
            blocks.append((CELLS.get(kind, f"VTK {kind}"), corners[offsets[alike][:, None] + np.arange(width)]))
    return points, blocks


def _cells(reader: _Reader, count: int, total: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Corners of all cells one after the other, and where those of each cell begin (one more than cells)."""
    before = reader.at
    words = reader.line()
    if words and words[0] == "OFFSETS":  # version 5
        offsets = reader.array(count, words[1])
        words = reader.line()
        if words[:1] != ["CONNECTIVITY"]:
            raise ValueError("CONNECTIVITY is missing after OFFSETS")
        return reader.array(total, words[1]).astype(np.int64), offsets.astype(np.int64)
    reader.at = before  # before that, each cell was led by the number of its corners
    table = reader.array(total, "int").astype(np.int64)
    if count and total % count == 0 and (table[:: total // count] == total // count - 1).all():
        width = total // count - 1
        return table.reshape(count, -1)[:, 1:].ravel(), width * np.arange(count + 1)
    leads = np.empty(count, dtype=np.int64)
    at = 0
    for cell in range(count):
        if at >= total:
            raise ValueError(f"its cells end before the {count} promised")
        leads[cell] = at
        at += 1 + int(table[at])
    sizes = table[leads]
    return np.delete(table, leads), np.concatenate([[0], np.cumsum(sizes)])
