"""Points and cells of legacy VTK files (.vtk), text or binary, versions 2 to 5.1; the data on them are passed over.

By hand, because libraries give up on files of today's VTK that hold 64-bit integers.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.geometry.number_stream import NumberStream

CELLS = {1: "vertex", 3: "line", 4: "polyline", 5: "triangle", 7: "polygon", 9: "quad", 10: "tetra", 12: "hexahedron",
         13: "wedge", 14: "pyramid", 21: "line3", 22: "triangle6", 23: "quad8", 24: "tetra10"}  # fmt: skip
"""Names of VTK's types of cells."""
SOLID = {10: 4, 24: 10}
"""Corners of the types whose cells are read."""
TYPES = {"float": "f4", "double": "f8", "char": "i1", "unsigned_char": "u1", "short": "i2", "unsigned_short": "u2",
         "int": "i4", "unsigned_int": "u4", "long": "i8", "unsigned_long": "u8", "vtktypeint64": "i8",
         "vtktypeuint64": "u8", "vtkidtype": "i4"}  # fmt: skip


def read_vtk(content: bytes) -> tuple[Array, list[tuple[str, LongInts]]]:
    """Points (n, 3) and for each type of cells its name and corners (k, j); a ValueError says what is wrong."""
    reader = NumberStream(content)
    if not content.startswith(b"# vtk DataFile"):
        raise ValueError("its first line is not '# vtk DataFile Version ...'")
    for _ in range(2):  # the second line is a title, which may be empty
        reader.at = content.find(b"\n", reader.at) + 1
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
                points = reader.array(3 * int(words[1]), _type(words[2])).astype(np.float64).reshape(-1, 3)
            case ["CELLS"]:
                corners, offsets = _cells(reader, int(words[1]), int(words[2]))
            case ["CELL_TYPES"]:
                types = reader.array(int(words[1]), _type("int"))
            case ["FIELD"]:
                for _ in range(int(words[2])):
                    _, width, length, kind = reader.line()
                    reader.array(int(width) * int(length), _type(kind))
            case _:
                pass  # METADATA and its lines
    assert offsets is not None
    return points, cells_by_type(corners, offsets, types)


def cells_by_type(corners: LongInts, offsets: LongInts, types: LongInts) -> list[tuple[str, LongInts]]:
    """Names of the types of cells and, where they are tetrahedra, their corners (k, j), else none.

    ``offsets`` (n + 1,): where the corners of each cell begin, and their end; ``types`` (n,) VTK's codes.
    """
    size = np.diff(offsets)
    if len(size) != len(types):
        raise ValueError(f"it has {len(size)} cells and {len(types)} types of cells")
    if len(size) and (offsets[0] != 0 or (size < 0).any() or offsets[-1] > len(corners)):
        raise ValueError(f"its {len(size)} cells do not divide {len(corners)} corners")
    blocks: list[tuple[str, LongInts]] = []
    for kind in np.unique(types).tolist():
        name, width = CELLS.get(kind, f"VTK {kind}"), SOLID.get(kind)
        if width is None:
            blocks.append((name, np.empty((0, 0), dtype=np.int64)))
            continue
        own = np.flatnonzero(types == kind)
        if (size[own] != width).any():
            raise ValueError(f"it has a cell of type {name} that has not {width} corners")
        blocks.append((name, corners[offsets[own][:, None] + np.arange(width)]))
    return blocks


def _type(name: str) -> str:
    """NumPy's name of a type of numbers; files are big-endian."""
    if name.lower() not in TYPES:
        raise ValueError(f"numbers of type {name!r} are not known")
    return f">{TYPES[name.lower()]}"


def _cells(reader: NumberStream, count: int, total: int) -> tuple[LongInts, LongInts]:
    """Corners of all cells one after the other, and where those of each cell begin (one more than cells)."""
    before = reader.at
    words = reader.line()
    if words and words[0] == "OFFSETS":  # version 5
        offsets = reader.array(count, _type(words[1]))
        words = reader.line()
        if words[:1] != ["CONNECTIVITY"]:
            raise ValueError("CONNECTIVITY is missing after OFFSETS")
        return reader.array(total, _type(words[1])).astype(np.int64), offsets.astype(np.int64)
    reader.at = before  # before that, each cell was led by the number of its corners
    table = reader.array(total, _type("int"))
    if count and total % count == 0 and (table[:: total // count] == total // count - 1).all():
        width = total // count - 1
        return table.reshape(count, -1)[:, 1:].ravel(), width * np.arange(count + 1)
    if not 0 <= count <= total:
        raise ValueError(f"its cells end before the {count} promised")
    leads = np.empty(count, dtype=np.int64)
    at = 0
    for cell in range(count):
        if at >= total:
            raise ValueError(f"its cells end before the {count} promised")
        leads[cell] = at
        at += 1 + max(0, int(table[at]))
    sizes = table[leads]
    return np.delete(table, leads), np.concatenate([[0], np.cumsum(sizes)])
