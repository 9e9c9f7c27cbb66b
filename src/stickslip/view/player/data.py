"""Numbers of a recording as few bytes: rounded, differenced, split into bytes and deflated; player_data.js reads them.

A block is an array (rows, columns) of integers, rows being moments. Rounding is lazy: a number keeps its rounded value
until it has moved by STEADY steps, so that bodies at rest stay at rest bit for bit. Differences (once or twice from row
to row, perhaps from column to column) turn rest and even motion into zeros; then the first bytes of all differences are
stored, then the second ones and so on, column by column, and deflated. Quaternions are stored whole, with the sign that
is continuous in time: leaving out the largest entry saves a quarter of the numbers, but the entry that is left out
changes as a body turns, and each change is a jump that costs more.
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Ints

STEADY = 0.75
"""Steps by which a number must move before it is rounded anew, and thus the largest error, in steps."""
LARGEST = 2**30
"""Steps from zero to where numbers are cut off."""
TRIED = 200_000
"""Numbers on which ways to take differences are tried."""
FILTERS = ((1, 0), (2, 0), (1, 1), (2, 1), (0, 0))
"""Differences along rows, and whether also along columns; what compresses best is taken."""


class Block(NamedTuple):
    """A deflated array."""

    data: bytes
    rows: int
    columns: int
    order: int
    """How often differences along rows were taken."""
    across: int
    """1 where differences along columns were taken as well."""
    planes: int
    """Bytes of a number, 1 to 4."""
    step: float
    """What one stands for; zero where the numbers are floats of single precision."""


def rounded(values: Array, step: float) -> Ints:
    """Whole steps (n, ...) of numbers (n, ...) over n moments, none farther off than STEADY steps."""
    scaled = np.clip(np.nan_to_num(np.asarray(values) / step), -LARGEST, LARGEST)
    out = np.rint(scaled).astype(np.int32)
    for k in range(1, len(out)):
        still = np.abs(scaled[k] - out[k - 1]) <= STEADY
        out[k] = np.where(still, out[k - 1], out[k])
    return out


def continuous_quaternions(wxyz: Array) -> Array:
    """Quaternions (n, nb, 4) over n moments with the signs that make neighbours in time agree."""
    turned = np.einsum("nbk,nbk->nb", wxyz[1:], wxyz[:-1]) < 0.0
    sign = np.where(np.cumsum(turned, axis=0) % 2 == 1, -1.0, 1.0)
    return np.concatenate([wxyz[:1], wxyz[1:] * sign[..., None]])


def integer_block(values: NDArray[np.integer[Any]], step: float = 1.0) -> Block:
    """Integers (rows, columns) or (rows,) that stand for so many steps."""
    table = np.atleast_2d(values.T).T.astype(np.int32)
    sample = table[:, : max(1, TRIED // max(1, len(table)))]
    trials = [(len(zlib.compress(_planes(_differences(sample, *way))[0], 4)), way) for way in FILTERS]
    order, across = min(trials)[1]
    data, planes = _planes(_differences(table, order, across))
    return Block(zlib.compress(data, 9), len(table), table.shape[1], order, across, planes, step)


def float_block(values: NDArray[np.floating[Any]]) -> Block:
    """Numbers (rows, columns) or (rows,) in single precision, bit for bit; what is too large becomes its largest."""
    most = float(np.finfo(np.float32).max)
    table = np.clip(np.atleast_2d(values.T).T, -most, most).astype(np.float32)
    data = _bytes(table.view(np.uint32), 4)
    return Block(zlib.compress(data, 9), len(table), table.shape[1], 0, 0, 4, 0.0)


def time_block(time: Array) -> Block:
    """Times (rows,) [s], to a billionth of the last."""
    step = max(float(np.abs(time).max(initial=0.0)), 1e-9) / LARGEST
    return integer_block(np.rint(time / step).astype(np.int32), step)


def read_block(block: Block) -> NDArray[Any]:
    """The numbers (rows, columns) of a block, as the page reads them."""
    shape = (block.columns, block.rows)
    planes = np.frombuffer(zlib.decompress(block.data), np.uint8).reshape(block.planes, *shape)
    bits = sum(
        (planes[k].astype(np.uint32) << np.uint32(8 * k) for k in range(block.planes)), np.zeros(shape, np.uint32)
    )
    if block.step == 0.0:
        return np.ascontiguousarray(bits.T).view(np.float32)
    table = ((bits >> np.uint32(1)) ^ (np.uint32(0) - (bits & np.uint32(1)))).view(np.int32).T
    if block.across:
        table = np.cumsum(table, axis=1, dtype=np.int32)
    for _ in range(block.order):
        table = np.cumsum(table, axis=0, dtype=np.int32)
    return table if block.step == 1.0 else table * block.step


def joined(facts: dict[str, Any], blocks: dict[str, Block]) -> bytes:
    """One byte string: length of the head, the head (facts and where blocks are, JSON, deflated), the blocks."""
    where, at = {}, 0
    for name, block in blocks.items():
        where[name] = {"at": at, "size": len(block.data), **block._asdict()}
        del where[name]["data"]
        at += len(block.data)
    text = json.dumps({**facts, "blocks": where}, separators=(",", ":"), allow_nan=False)
    head = zlib.compress(text.encode(), 9)
    return struct.pack("<I", len(head)) + head + b"".join(block.data for block in blocks.values())


def taken_apart(data: bytes) -> tuple[dict[str, Any], dict[str, Block]]:
    """Facts and blocks of :func:`joined`."""
    (length,) = struct.unpack_from("<I", data)
    facts = json.loads(zlib.decompress(data[4 : 4 + length]))
    blocks = {}
    for name, where in facts.pop("blocks").items():
        start = 4 + length + where.pop("at")
        blocks[name] = Block(data[start : start + where.pop("size")], **where)
    return facts, blocks


def _differences(table: Ints, order: int, across: int) -> Ints:
    """Differences modulo 2^32; first rows and columns stay."""
    out = table
    for _ in range(order):
        out = np.concatenate([out[:1], out[1:] - out[:-1]])
    if across:
        out = np.concatenate([out[:, :1], out[:, 1:] - out[:, :-1]], axis=1)
    return out


def _planes(table: Ints) -> tuple[bytes, int]:
    """Bytes of integers, small ones of either sign becoming small ones, and how many bytes each has."""
    bits = ((table << 1) ^ (table >> 31)).view(np.uint32)
    planes = max(1, (int(bits.max(initial=0)).bit_length() + 7) // 8)
    return _bytes(bits, planes), planes


def _bytes(bits: NDArray[np.uint32], planes: int) -> bytes:
    columns = np.ascontiguousarray(bits.T)
    return b"".join(((columns >> np.uint32(8 * k)) & np.uint32(255)).astype(np.uint8).tobytes() for k in range(planes))
