"""Points and cells of VTK's XML files (.vtu): text, base64 or raw bytes, compressed or not; the data are passed over.

By hand, because the library that reads them unpacks whatever compressed data become.
"""

from __future__ import annotations

import base64
import lzma
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, LongInts
from stickslip.geometry.vtk_file import cells_by_type

TYPES = {"Float32": "f4", "Float64": "f8", "Int8": "i1", "Int16": "i2", "Int32": "i4", "Int64": "i8", "UInt8": "u1",
         "UInt16": "u2", "UInt32": "u4", "UInt64": "u8"}  # fmt: skip
APPENDED = re.compile(rb"<AppendedData[^>]*>\s*_")


@dataclass(frozen=True)
class _Coding:
    """How arrays are stored in a file."""

    order: str
    header: str
    """Type of the numbers before an array."""
    unpacker: Callable[[], Any] | None
    appended: bytes
    """Arrays behind the tree, as bytes or in base64."""
    raw: bool
    most: int
    """Bytes that an array may have at most, with eight for each number."""


def read_vtu(content: bytes, most: int) -> tuple[Array, list[tuple[str, LongInts]]]:
    """Points (n, 3) and for each type of cells its name and corners (k, j); a ValueError says what is wrong.

    most: bytes that arrays may take.
    """
    tree, appended, raw = _parted(content)
    if tree.tag != "VTKFile" or tree.get("type") != "UnstructuredGrid":
        raise ValueError(
            f"it is <{tree.tag} type={tree.get('type')!r}> where <VTKFile type='UnstructuredGrid'> is needed"
        )
    compressor = tree.get("compressor")
    known = {None: None, "vtkZLibDataCompressor": zlib.decompressobj, "vtkLZMADataCompressor": lzma.LZMADecompressor}
    if compressor not in known:
        raise ValueError(f"it is compressed by {compressor}; zlib and LZMA are read")
    order = ">" if tree.get("byte_order") == "BigEndian" else "<"
    header = order + TYPES.get(tree.get("header_type", "UInt32"), "u4")
    coding = _Coding(order, header, known[compressor], appended, raw, most // 4)  # points and three arrays of cells
    all_points, blocks, first = [], [], 0
    for piece in tree.iter("Piece"):
        points = _only(piece, "Points", None, coding).astype(np.float64).reshape(-1, 3)
        corners, ends, types = (
            _only(piece, "Cells", name, coding).astype(np.int64) for name in ("connectivity", "offsets", "types")
        )
        blocks += cells_by_type(corners + first, np.concatenate([[0], ends]), types)
        all_points.append(points)
        first += len(points)
    if not all_points:
        raise ValueError("it has no <Piece>")
    return np.concatenate(all_points), blocks


def _parted(content: bytes) -> tuple[ElementTree.Element, bytes, bool]:
    """The tree of a file without what is appended to it, that, and whether it is raw bytes, which no XML may hold."""
    found = APPENDED.search(content)
    if found is None:
        return ElementTree.fromstring(content), b"", False
    end = content.rfind(b"</AppendedData>")
    if end < found.end():
        raise ValueError("its <AppendedData> has no end")
    tree = ElementTree.fromstring(content[: found.end() - 1] + content[end:])
    return tree, content[found.end() : end], b"raw" in found[0]


def _only(piece: ElementTree.Element, group: str, name: str | None, coding: _Coding) -> NDArray[Any]:
    """The array of that name in a group, or its only one."""
    found = [item for item in piece.findall(f"{group}/DataArray") if name is None or item.get("Name") == name]
    if len(found) != 1:
        raise ValueError(f"a piece has {len(found)} arrays {group}/{name or ''} where one is needed")
    kind = TYPES.get(found[0].get("type", ""))
    if kind is None:
        raise ValueError(f"numbers of type {found[0].get('type')!r} are not known")
    text = (found[0].text or "").strip()
    match found[0].get("format", "ascii"):
        case "ascii":
            return np.array(text.split(), dtype=np.float64).astype(kind)
        case "binary":
            data, raw = text.encode("ascii"), False
        case "appended":
            data, raw = coding.appended[int(found[0].get("offset", "0")) :], coding.raw
        case other:
            raise ValueError(f"arrays of format {other!r} are not known")
    values = np.frombuffer(_unpacked(data, raw, coding), dtype=coding.order + kind)
    if 8 * len(values) > coding.most:
        raise ValueError(f"an array has {len(values)} numbers; a file of its size may have {coding.most // 8}")
    return values


def _unpacked(data: bytes, raw: bool, coding: _Coding) -> bytes:
    """The bytes of an array whose header is at the start of ``data``."""
    width = int(coding.header[-1])
    if coding.unpacker is None:
        start = data[:width] if raw else _decoded(data, width)
        size = int(np.frombuffer(start, coding.header, 1)[0])
        if raw:
            return _exactly(data[width:], size)
        whole = _decoded(data, width + size)
        # some programs encode the header for itself
        return _exactly(whole[width:] if len(whole) > width else _decoded(data[_encoded(width) :], size), size)
    first = data[:width] if raw else _decoded(data, width)
    blocks = int(np.frombuffer(first, coding.header, 1)[0])
    if blocks * width > len(data):
        raise ValueError(f"an array promises {blocks} blocks")
    length = (3 + blocks) * width
    sizes = np.frombuffer(data[:length] if raw else _decoded(data, length), coding.header, 3 + blocks)[3:].tolist()
    packed = data[length:] if raw else _decoded(data[_encoded(length) :], sum(sizes))
    parts, at, total = [], 0, 0
    for size in sizes:
        part = coding.unpacker().decompress(packed[at : at + size], max_length=coding.most + 1 - total)
        at += size
        total += len(part)
        if total > coding.most:
            raise ValueError(f"an array unpacks to more than {coding.most} bytes")
        parts.append(part)
    return b"".join(parts)


def _encoded(size: int) -> int:
    """Letters of so many bytes in base64."""
    return -(-size // 3) * 4


def _decoded(data: bytes, size: int) -> bytes:
    return base64.b64decode(data[: _encoded(size)])[:size]


def _exactly(data: bytes, size: int) -> bytes:
    if len(data) < size:
        raise ValueError(f"an array promises {size} bytes; it has {len(data)}")
    return data[:size]
