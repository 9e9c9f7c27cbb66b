"""Nodes and cells of Gmsh files (.msh), text or binary, versions 2, 4.0 and 4.1; all other sections are passed over.

By hand, because the library that reads them takes any amount of memory that a number in a file asks for.

    2      $Nodes       n; number x y z
           $Elements    n; number type tags ... nodes; in binary blocks of type, k, tags; number tags nodes
    4.0    $Nodes       blocks n; tag dim - k; number x y z
           $Elements    blocks n; tag dim type k; number nodes
    4.1    $Nodes       blocks n - -; dim tag - k; k numbers, k x y z
           $Elements    blocks n - -; dim tag type k; number nodes
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.geometry.number_stream import NumberStream, as_whole

CELLS = {1: ("line", 2), 2: ("triangle", 3), 3: ("quad", 4), 4: ("tetra", 4), 5: ("hexahedron", 8), 6: ("wedge", 6),
         7: ("pyramid", 5), 8: ("line3", 3), 9: ("triangle6", 6), 10: ("quad9", 9), 11: ("tetra10", 10),
         12: ("hexahedron27", 27), 13: ("wedge18", 18), 14: ("pyramid14", 14), 15: ("vertex", 1), 16: ("quad8", 8),
         17: ("hexahedron20", 20), 18: ("wedge15", 15), 19: ("pyramid13", 13)}  # fmt: skip
"""Name and number of nodes of Gmsh's types of elements."""

Nodes = tuple[LongInts, Array]
"""Numbers (n,) and positions (n, 3)."""
Blocks = list[tuple[str, LongInts]]


def read_gmsh(content: bytes) -> tuple[Array, Blocks]:
    """Points (n, 3) and for each type of cells its name and corners (k, j); a ValueError says what is wrong."""
    stream = NumberStream(content)
    version, order, size = _format(stream)
    nodes: list[Nodes] = []
    cells: Blocks = []
    while words := stream.line():
        name = words[0]
        if name == "$Nodes":
            nodes += _nodes_2(stream, order) if version == "2" else _nodes_4(stream, order, size, version)
        elif name == "$Elements":
            cells += _cells_2(stream, order) if version == "2" else _cells_4(stream, order, size, version)
        if name.startswith("$") and not name.startswith("$End"):
            _leave(stream, name)
    if not nodes or not cells:
        raise ValueError(f"it has no {'$Elements' if nodes else '$Nodes'}")
    numbers, points = np.concatenate([tags for tags, _ in nodes]), np.concatenate([part for _, part in nodes])
    return points, [(kind, _places(numbers, tags)) for kind, tags in cells]


def _format(stream: NumberStream) -> tuple[str, str, str]:
    """Version, order of bytes, and type of counts; the stream is binary afterwards if the file is."""
    while (words := stream.line()) and words != ["$MeshFormat"]:
        if words != ["$Comments"]:
            raise ValueError("it does not begin with $MeshFormat")
        _leave(stream, "$Comments")
    words = stream.line()
    if len(words) < 3:
        raise ValueError("its $MeshFormat lacks version, type and size of data")
    version = {"2": "2", "2.1": "2", "2.2": "2", "4.0": "4.0", "4": "4.1", "4.1": "4.1"}.get(words[0])
    if version is None:
        raise ValueError(f"it has version {words[0]}; versions 2, 4.0 and 4.1 are read")
    if words[1] not in ("0", "1") or words[2] not in ("4", "8"):
        raise ValueError(f"its $MeshFormat says {' '.join(words)}; 0 or 1, and 4 or 8, must follow the version")
    order = "<"
    stream.binary = words[1] == "1"
    if stream.binary:
        one = stream.content[stream.at : stream.at + 4]
        if one not in (b"\1\0\0\0", b"\0\0\0\1"):
            raise ValueError("its order of bytes is not known")
        order = "<" if one[0] else ">"
    _leave(stream, "$MeshFormat")
    return version, order, f"{order}u{words[2] if version == '4.1' else '8'}"


def _leave(stream: NumberStream, section: str) -> None:
    """Go behind the end of a section."""
    end = stream.content.find(b"$End" + section[1:].encode("latin-1"), stream.at)
    if end < 0:
        raise ValueError(f"its {section} has no end")
    stream.at = end
    stream.line()


def _count(stream: NumberStream) -> int:
    words = stream.line()
    if len(words) != 1 or not words[0].isdigit() or int(words[0]) > len(stream.content):
        raise ValueError(f"it promises {' '.join(words)!r} items")
    return int(words[0])


def _nodes_2(stream: NumberStream, order: str) -> list[Nodes]:
    return [_numbered(stream, _count(stream), order)]


def _numbered(stream: NumberStream, count: int, order: str) -> Nodes:
    """Nodes that have a number and a position each; in binary the number has four bytes."""
    if not stream.binary:
        table = stream.array(4 * count, "f8").reshape(-1, 4)
        return as_whole(table[:, 0]), table[:, 1:]
    rows = stream.array(28 * count, "u1").astype(np.uint8).reshape(-1, 28)
    tags = np.ascontiguousarray(rows[:, :4]).view(f"{order}i4")[:, 0].astype(np.int64)
    return tags, np.ascontiguousarray(rows[:, 4:]).view(f"{order}f8").astype(np.float64)


def _cells_2(stream: NumberStream, order: str) -> Blocks:
    left = _count(stream)
    blocks: Blocks = []
    if stream.binary:
        while left > 0:
            kind, count, tags = stream.array(3, f"{order}i4").tolist()
            name, width = _kind(kind)
            if count < 1 or tags < 0:
                raise ValueError(f"it has a block of {count} elements with {tags} tags")
            rows = stream.array(count * (1 + tags + width), f"{order}i4").reshape(count, -1)
            blocks.append((name, rows[:, 1 + tags :]))
            left -= count
        return blocks
    rows_of: list[tuple[str, list[list[int]]]] = []
    for _ in range(left):
        words = [int(word) for word in stream.line()]
        if len(words) < 3:
            raise ValueError(f"it ends within {left} elements")
        name, width = _kind(words[1])
        if len(words) != 3 + words[2] + width:
            raise ValueError(
                f"element {words[0]} has {len(words)} numbers; its type and tags need {3 + words[2] + width}"
            )
        if not rows_of or rows_of[-1][0] != name:
            rows_of.append((name, []))
        rows_of[-1][1].append(words[-width:])
    return [(name, np.array(rows, dtype=np.int64)) for name, rows in rows_of]


def _nodes_4(stream: NumberStream, order: str, size: str, version: str) -> list[Nodes]:
    blocks, *_ = stream.array(2 if version == "4.0" else 4, size).tolist()
    parts: list[Nodes] = []
    for _ in range(blocks):
        *_, parametric = stream.array(3, f"{order}i4").tolist()
        count = stream.number(size)
        if version == "4.0":
            parts.append(_numbered(stream, count, order))
            continue
        if parametric:
            raise ValueError("it has parametric nodes; save the mesh without them")
        numbers = stream.array(count, size)
        parts.append((numbers, stream.array(3 * count, f"{order}f8").reshape(-1, 3)))
    return parts


def _cells_4(stream: NumberStream, order: str, size: str, version: str) -> Blocks:
    blocks, *_ = stream.array(2 if version == "4.0" else 4, size).tolist()
    parts: Blocks = []
    for _ in range(blocks):
        *_, kind = stream.array(3, f"{order}i4").tolist()
        count = stream.number(size)
        name, width = _kind(kind)
        rows = stream.array(count * (1 + width), f"{order}i4" if version == "4.0" else size).reshape(-1, 1 + width)
        parts.append((name, rows[:, 1:]))
    return parts


def _kind(code: int) -> tuple[str, int]:
    if code not in CELLS:
        raise ValueError(f"elements of type {code} are not known")
    return CELLS[code]


def _places(numbers: LongInts, tags: LongInts) -> LongInts:
    """Where the nodes of the given numbers are; numbers may have gaps of any size."""
    order = np.argsort(numbers, kind="stable")
    at = np.minimum(np.searchsorted(numbers[order], tags), len(numbers) - 1)
    found: LongInts = order[at]
    if tags.size and not len(numbers):
        raise ValueError("its elements have nodes, but there are none")
    missing = numbers[found] != tags
    if missing.any():
        raise ValueError(f"an element has node {tags[missing][0]}, which does not exist")
    return found
