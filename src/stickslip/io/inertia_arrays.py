"""The matrix A of a problem as named arrays, for our own form of problem files.

``A.dense.start``, ... are its dense blocks, ``A.given.data``, ... its inverse where only that is known. Of soft bodies
there are the pattern (``A.sparse.pattern.indptr``, ...), the blocks ``A.sparse.data`` (nnzb, 3, 3), the first node of
each body and the end ``A.sparse.part_start`` (k + 1,), and the nodes of each that are eliminated last, in
``A.sparse.last`` between ``A.sparse.last_start`` (k + 1,). Orders of elimination follow from these, so they are made
again.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Bools, Ints
from stickslip.contact.checks import check_pattern
from stickslip.errors import InputError
from stickslip.io.definiteness import examine
from stickslip.io.global_form import require_definite
from stickslip.io.sparse_parts import array_of
from stickslip.linalg.block_matrix import BlockPattern
from stickslip.linalg.block_rows import summed
from stickslip.linalg.dense_blocks import NOTHING, DenseBlocks
from stickslip.linalg.elimination import Symbolic
from stickslip.linalg.given_inverse import GivenInverse
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.soft_blocks import SoftPart, SparseBlocks, part_of, plan_ending_with
from stickslip.reading import ROOM, SHARE
from stickslip.workspace import Workspace

WHOLE = ("start", "data_start", "indices", "indptr", "diagonal")
"""Fields of whole numbers."""
Table = TypeVar("Table", DenseBlocks, GivenInverse, BlockPattern)
INVERSE_ERROR = 1e-6
"""Largest entry of A A^-1 - I that is taken: blocks of the worst bodies have 1e-10."""
ASYMMETRY = 1e-9
"""Largest entry of A - A^T of soft bodies that is taken, over the diagonal entries of its row and column."""


def numbers(data: dict[str, NDArray[Any]], name: str, needed: type[np.generic] = np.float64) -> NDArray[Any]:
    """An array of the type that kernels expect, contiguous."""
    array = array_of(data, name)
    if array.dtype != needed:
        raise InputError(f"{name} holds {array.dtype}; {np.dtype(needed)} is needed")
    return np.ascontiguousarray(array)


def inertia_arrays(name: str, A: Inertia) -> dict[str, Any]:
    """The arrays of A, whose names begin with ``name``."""
    if A.given is not None:
        return _fields(f"{name}.given", A.given)
    arrays = _fields(f"{name}.dense", A.dense)
    if A.sparse is None:
        return arrays
    last, first = [part.plan.last for part in A.sparse.parts], [part.first for part in A.sparse.parts]
    sparse = {
        "data": A.sparse.data,
        "part_start": np.array([*first, A.sparse.pattern.size], dtype=np.int32),
        "last": np.concatenate([np.zeros(0, dtype=np.int32), *last]),
        "last_start": summed(np.array([len(each) for each in last], dtype=np.int32)),
    }
    arrays |= _fields(f"{name}.sparse.pattern", A.sparse.pattern)
    return arrays | {f"{name}.sparse.{item}": array for item, array in sparse.items()}


def read_inertia(data: dict[str, NDArray[Any]], name: str) -> Inertia:
    """A from the arrays whose names begin with ``name``; an InputError names the one that is wrong."""
    if f"{name}.given.data" in data:
        return Inertia(NOTHING, given=_read(data, f"{name}.given", GivenInverse))
    dense = _read(data, f"{name}.dense", DenseBlocks)
    return Inertia(dense, _read_sparse(data, f"{name}.sparse") if f"{name}.sparse.data" in data else None)


def _read_sparse(data: dict[str, NDArray[Any]], name: str) -> SparseBlocks:
    pattern, start = _read(data, f"{name}.pattern", BlockPattern), numbers(data, f"{name}.part_start", np.int32)
    check_pattern(name, pattern, start)
    if (np.diff(start) == 0).any():
        raise InputError(f"{name}.part_start has a part without nodes")
    parts, factors, workspace = [], 0, Workspace()
    for k, last in enumerate(_last_nodes(data, name, start)):
        part = part_of(pattern, int(start[k]), int(start[k + 1]))
        parts.append(part._replace(plan=plan_ending_with(part, last, workspace)))
        factors += _factor_bytes(parts[-1])
    held = sum(array.nbytes for array in data.values())
    if factors > ROOM + SHARE * held:
        raise InputError(
            f"{name} would take {factors / 2**20:.0f} MB once it is factorised; a problem of its size may take "
            f"{(ROOM + SHARE * held) / 2**20:.0f} MB"
        )
    return SparseBlocks(tuple(parts), numbers(data, f"{name}.data"), pattern, workspace)


def check_inertia(name: str, A: Inertia) -> list[str]:
    """Warnings about A; an InputError where it is not positive definite, as far as its diagonal blocks tell."""
    if A.given is not None:
        given = A.given.matrix().copy()
        given.sum_duplicates()
        return examine(given, f"{name}^-1 = W")
    _check_dense(name, A.dense)
    if A.sparse is not None:
        _check_sparse(name, A.sparse, A.dense.size)
    return []


def _check_sparse(name: str, A: SparseBlocks, first: int) -> None:
    """Diagonal blocks are positive definite, the whole is symmetric; its unknowns begin with ``first``."""
    pattern, nodes = A.pattern, A.data[A.pattern.diagonal]
    require_definite(name, nodes, first + 3 * np.arange(pattern.size, dtype=np.int32))
    row = np.repeat(np.arange(pattern.size), np.diff(pattern.indptr))
    other = np.lexsort((row, pattern.indices))  # where the block (j, i) of each block (i, j) is
    root = np.sqrt(np.diagonal(nodes, axis1=1, axis2=2))
    difference = np.abs(A.data - A.data[other].transpose(0, 2, 1))
    scale = root[row][:, :, None] * root[pattern.indices][:, None, :]
    if (difference > ASYMMETRY * scale).any():
        worst = float((difference / scale).max())
        raise InputError(f"{name} is not symmetric: entries differ by {worst:.2g} of their row and column")


def _fields(name: str, table: DenseBlocks | GivenInverse | BlockPattern) -> dict[str, Any]:
    return {f"{name}.{item}": array for item, array in table._asdict().items()}


def _read(data: dict[str, NDArray[Any]], name: str, kind: type[Table]) -> Table:
    """The fields of a table of this kind."""
    return kind(*(numbers(data, f"{name}.{item}", np.int32 if item in WHOLE else np.float64) for item in kind._fields))


def _last_nodes(data: dict[str, NDArray[Any]], name: str, start: Ints) -> list[Bools]:
    """Which nodes of each part are eliminated last."""
    last, last_start = (numbers(data, f"{name}.{item}", np.int32) for item in ("last", "last_start"))
    ends = (0, len(last)) if last.ndim == 1 else (0, -1)
    if last_start.shape != start.shape or (last_start[0], last_start[-1]) != ends or (np.diff(last_start) < 0).any():
        raise InputError(f"{name}.last_start does not divide {name}.last into {len(start) - 1} parts")
    found = []
    for k, size in enumerate(np.diff(start)):
        own, marks = last[last_start[k] : last_start[k + 1]], np.zeros(size, dtype=np.bool_)
        if ((own < 0) | (own >= size)).any() or (np.diff(own) <= 0).any():
            raise InputError(f"{name}.last has nodes of part {k} that do not rise from 0 to {size - 1} at most")
        marks[own] = True
        found.append(marks)
    return found


def _factor_bytes(part: SoftPart) -> int:
    """Memory that the factors of a part take; 0 where another library knows."""
    plan = part.plan
    return 8 * (plan.value_count + plan.sizes.work + plan.sizes.kept) if isinstance(plan, Symbolic) else 0


def _check_dense(name: str, A: DenseBlocks) -> None:
    """Raise an InputError where blocks are not positive definite, or not inverse to each other."""
    width = np.diff(A.start)
    for size in np.unique(width[width > 0]):
        members = np.flatnonzero(width == size)
        where = A.data_start[members][:, None] + np.arange(size * size)
        blocks, inverses = (array[where].reshape(-1, size, size) for array in (A.data, A.inverse))
        require_definite(name, blocks, A.start[members])
        error = np.abs(np.einsum("bij,bjk->bik", blocks, inverses) - np.eye(size)).max()
        if not error <= INVERSE_ERROR:
            raise InputError(f"{name}.dense.inverse is not the inverse of {name}: A A^-1 differs from I by {error:.2g}")
