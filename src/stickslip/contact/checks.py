"""Whether the parts of a contact problem that somebody made fit together.

Kernels trust its tables without looking, so every problem is checked once before a solver takes it
(ContactProblem.checked). Problems that are made here, from models or from other problems, are known to be sound.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from stickslip import checks
from stickslip.arrays import Array, Ints, LongInts
from stickslip.contact.block_laws import Laws, contact_laws
from stickslip.contact.laws import CONTACT, ELLIPSOID, FRICTION_SET_NAMES, LAW_NAMES
from stickslip.contact.momentum import Momentum
from stickslip.contact.scale import Scale
from stickslip.errors import InputError
from stickslip.linalg.block_matrix import BlockPattern
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.given_inverse import GivenInverse
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.soft_blocks import SparseBlocks

LARGEST = 1e100
"""Numbers beyond it overflow when they are squared and multiplied with masses."""


def check_equations(momentum: Momentum, J: BlockRows, bias: Array, laws: Laws, step: float) -> None:
    """Raise an InputError that names what is not finite, negative or of the wrong type or shape."""
    if not isinstance(momentum, Momentum):
        raise InputError(f"problem: momentum is {type(momentum).__name__}; it must be Momentum")
    check_tables(momentum.A, J)
    blocks, rows, unknowns = J.block_count, J.row_count, J.column_count
    _check_vectors(
        ("v_free", momentum.at, (unknowns,)),
        ("missing", momentum.missing, (unknowns,)),
        ("bias", bias, (rows,)),
        ("laws.law", laws.law, (blocks,)),
        ("laws.friction_set", laws.friction_set, (blocks,)),
        ("laws.friction", laws.friction, (blocks, 3)),
        ("laws.compliance", laws.compliance, (rows,)),
        ("laws.bound", laws.bound, (rows,)),
        optional=("missing",),
    )
    _check_numbers("J", J.data)
    _check_matrix("A", momentum.A)
    for name, array in (("friction", laws.friction), ("compliance", laws.compliance), ("bound", laws.bound)):
        if (array < 0).any():
            raise InputError(f"problem: {name} {array[array < 0][0]} is negative; it must be zero or positive")
    for name, codes, known in (("law", laws.law, LAW_NAMES), ("friction set", laws.friction_set, FRICTION_SET_NAMES)):
        unknown = ~np.isin(codes, list(known))
        if unknown.any():
            raise InputError(f"problem: {name} code {codes[unknown][0]} is unknown; known: {known}")
    _check_blocks(J, laws)
    if not (isinstance(step, int | float | np.floating) and 0.0 < step < np.inf):
        raise InputError(f"problem: step is {step!r}; it must be a positive number of seconds")


def check_knowledge(
    A: Inertia,
    J: BlockRows,
    laws: Laws,
    prescribed: Array | None,
    v_before: Array | None,
    gap: Array | None,
    keys: LongInts | None,
    scale: Scale,
    v_likely: Array | None = None,
) -> None:
    """Raise an InputError where what is known beside the equations does not fit them."""
    if not isinstance(scale, Scale):
        raise InputError(f"problem: scale is {type(scale).__name__}; it must be Scale")
    rows, unknowns, contacts = J.row_count, J.column_count, int((laws.law == CONTACT).sum())
    _check_vectors(
        ("prescribed", prescribed, (rows,)),
        ("v_before", v_before, (unknowns,)),
        ("v_likely", v_likely, (unknowns,)),
        ("gap", gap, (contacts,)),
        ("scale.momentum", scale.momentum, (unknowns,)),
        ("scale.mobility", scale.mobility, (rows,)),
        ("scale.island_speed", scale.island_speed, (J.block_count,)),
        ("scale.rounding", scale.rounding, (len(J.column_start) - 1,)),
        optional=(
            "prescribed",
            "v_before",
            "v_likely",
            "gap",
            "scale.momentum",
            "scale.mobility",
            "scale.island_speed",
            "scale.rounding",
        ),
    )
    if keys is not None:
        _check_array("keys", keys, np.int64)
        if keys.shape != (J.block_count, 2):
            raise InputError(f"problem: keys have shape {keys.shape}; it must be {(J.block_count, 2)}")
    speed = scale.speed
    if speed is not None and not (isinstance(speed, int | float | np.floating) and 0.0 <= speed < np.inf):
        raise InputError(f"problem: scale.speed is {speed!r}; it must be zero or positive, and finite")
    if scale.masses is not None:
        if not isinstance(scale.masses, Inertia) or scale.masses.is_given != A.is_given:
            raise InputError("problem: scale.masses is of another kind than A; both must be an Inertia of blocks")
        _check_inertia("scale.masses", scale.masses, J)
        _check_matrix("scale.masses", scale.masses)


def _check_vectors(*given: tuple[str, Any, tuple[int, ...]], optional: tuple[str, ...]) -> None:
    """Arrays with their names and shapes; those that are ``optional`` may be None."""
    for name, array, shape in given:
        if array is None and name in optional:
            continue
        if isinstance(array, np.ndarray) and array.shape != shape:
            raise InputError(f"problem: {name} has shape {array.shape}; it must be {shape}")
        _check_array(name, array, np.int32 if name in ("laws.law", "laws.friction_set") else np.float64)
        _check_numbers(name, array)


def check_tables(A: Inertia, J: BlockRows) -> None:
    """Raise an InputError unless all tables have the type that kernels take, and stay inside their arrays."""
    if not isinstance(J, BlockRows):
        raise InputError(f"problem: J is {type(J).__name__}; it must be BlockRows")
    if not isinstance(A, Inertia):
        raise InputError(f"problem: A is {type(A).__name__}; it must be Inertia")
    for name in J._fields:
        _check_array(f"J.{name}", getattr(J, name), np.float64 if name == "data" else np.int32)
    for name, table in (("row_start", J.row_start), ("column_start", J.column_start)):
        if table.ndim != 1 or len(table) == 0:
            raise InputError(f"problem: J.{name} has shape {table.shape}; starts of blocks and their end are needed")
    columns = len(J.column_start) - 1
    _check_starts("J.row_start", J.row_start, J.block_count, J.row_count)
    _check_starts("J.column_start", J.column_start, columns, J.column_count)
    _check_starts("J.entry_start", J.entry_start, J.block_count, len(J.entry_column))
    _check_starts("J.data_start", J.data_start, len(J.entry_column), len(J.data))
    _check_indices("J.entry_column", J.entry_column, columns)
    height, width = np.diff(J.row_start), np.diff(J.column_start)
    owner = np.repeat(np.arange(J.block_count), np.diff(J.entry_start))
    if (np.diff(J.data_start) != height[owner] * width[J.entry_column]).any():
        raise InputError("problem: J.data_start does not give each entry as many numbers as its rows and columns need")
    _check_inertia("A", A, J)


def _check_inertia(name: str, A: Inertia, J: BlockRows) -> None:
    """The tables of A, or of what has its place, fit those of J."""
    _check_parts(name, A)
    if A.given is not None:
        _check_given(f"{name}.given", A.given, J)
        return
    if A.sparse is not None:
        _check_sparse(f"{name}.sparse", A.dense.block_count, A.sparse, J)
    columns = J.column_start[: A.dense.block_count + 1] if A.has_soft else J.column_start
    _check_dense(f"{name}.dense", A.dense, columns)


def _check_matrix(name: str, A: Inertia) -> None:
    """All entries of A are numbers."""
    matrices = [(name, A.dense.data), (f"{name}^-1", A.dense.inverse), (name, A.nodes.data)]
    if A.given is not None:
        matrices.append((f"{name}^-1", A.given.data))
    for each, array in matrices:
        _check_numbers(each, array)


def _check_parts(name: str, A: Inertia) -> None:
    """The parts are what they should be, and if the inverse is given there is nothing else."""
    kinds = (("dense", A.dense, DenseBlocks), ("sparse", A.sparse, SparseBlocks), ("given", A.given, GivenInverse))
    for item, part, kind in kinds:
        if not isinstance(part, kind) and (part is not None or item == "dense"):
            raise InputError(f"problem: {name}.{item} is {type(part).__name__}; it must be {kind.__name__}")
    if A.given is not None and (A.sparse is not None or np.shape(A.dense.start) != (1,)):
        raise InputError(f"problem: {name} has an inverse that is given and blocks beside it; it must be one of both")


def _check_dense(name: str, A: DenseBlocks, column_start: Ints) -> None:
    """Blocks over the columns that start at ``column_start``."""
    for item in A._fields:
        _check_array(f"{name}.{item}", getattr(A, item), np.int32 if item in ("start", "data_start") else np.float64)
    count, width = len(column_start) - 1, np.diff(column_start)
    _check_starts(f"{name}.start", A.start, count, int(column_start[-1]))
    _check_starts(f"{name}.data_start", A.data_start, count, len(A.data))
    if (A.start != column_start).any():
        raise InputError(f"problem: {name}.start differs from J.column_start; blocks of A are the column blocks of J")
    if (np.diff(A.data_start) != width**2).any() or A.inverse.shape != A.data.shape:
        raise InputError(
            f"problem: {name}.data_start does not give each block as many numbers as its square needs, in "
            f"{name}.data and {name}.inverse"
        )


def _check_given(name: str, A: GivenInverse, J: BlockRows) -> None:
    """A^-1 in compressed rows, where J = I."""
    for item in A._fields:
        _check_array(f"{name}.{item}", getattr(A, item), np.float64 if item == "data" else np.int32)
    _check_starts(f"{name}.indptr", A.indptr, J.column_count, len(A.data))
    _check_indices(f"{name}.indices", A.indices, J.column_count)
    if A.indices.shape != A.data.shape:
        raise InputError(f"problem: {name}.indices has shape {A.indices.shape}; {name}.data has {A.data.shape}")
    blocks = J.block_count
    own = len(J.entry_column) == blocks and bool((J.entry_column == np.arange(blocks)).all())
    if not own or not np.array_equal(J.row_start, J.column_start) or not _is_identity(J):
        raise InputError("problem: A is given by its inverse, the Delassus matrix W of the rows, but J is not I")


def _is_identity(J: BlockRows) -> bool:
    """Whether square blocks on the diagonal of J are identities."""
    height = np.diff(J.row_start)
    inside = np.arange(J.row_count) - np.repeat(J.row_start[:-1], height)
    ones = np.repeat(J.data_start[:-1], height) + inside * (np.repeat(height, height) + 1)
    return bool((J.data[ones] == 1.0).all() and np.count_nonzero(J.data) == J.row_count)


def _check_sparse(name: str, bodies: int, A: SparseBlocks, J: BlockRows) -> None:
    """Blocks of nodes by their pattern, each in the part of one soft body, after those of so many rigid ``bodies``."""
    pattern = A.pattern
    if len(J.column_start) != bodies + pattern.size + 1 or (np.diff(J.column_start)[bodies:] != 3).any():
        raise InputError(
            f"problem: {name} has {pattern.size} nodes of three unknowns, after {bodies} rigid bodies; J has "
            f"{len(J.column_start) - 1} column blocks, which must be the same ones"
        )
    ends = [(part.first, part.first + part.pattern.size) for part in A.parts]
    if ends and (ends[-1][1] != pattern.size or any(one[1] != two[0] for one, two in pairwise(ends))):
        raise InputError(
            f"problem: the parts of {name} are the nodes {ends}; they must be all {pattern.size}, one by one"
        )
    check_pattern(name, pattern, np.array([*(first for first, _ in ends or [(0, 0)]), pattern.size], dtype=np.int32))
    _check_array(f"{name}.data", A.data, np.float64)
    if A.data.shape != (len(pattern.indices), 3, 3):
        raise InputError(
            f"problem: {name}.data has shape {A.data.shape}; its pattern has {len(pattern.indices)} blocks of (3, 3)"
        )


def check_pattern(name: str, pattern: BlockPattern, start: Ints) -> None:
    """Raise an InputError unless a pattern is that of symmetric matrices, one for the nodes of each part.

    ``start`` (k + 1,): first nodes of the parts, and the end. No block joins nodes of different parts.
    """
    for item in pattern._fields:
        _check_array(f"{name}.pattern.{item}", getattr(pattern, item), np.int32)
    if pattern.indptr.ndim != 1 or len(pattern.indptr) == 0:
        raise InputError(f"problem: {name}.pattern.indptr has shape {pattern.indptr.shape}; (n + 1,) is needed")
    size = pattern.size
    _check_starts(f"{name}.pattern.indptr", pattern.indptr, size, len(pattern.indices))
    _check_indices(f"{name}.pattern.indices", pattern.indices, size)
    row = np.repeat(np.arange(size), np.diff(pattern.indptr))
    place = row * size + pattern.indices  # rising where rows are sorted
    if (np.diff(place) <= 0).any() or not np.array_equal(np.sort(pattern.indices.astype(np.int64) * size + row), place):
        raise InputError(f"problem: {name}.pattern is not symmetric with rising columns in each row")
    if not np.array_equal(np.flatnonzero(pattern.indices == row), pattern.diagonal) or len(pattern.diagonal) != size:
        raise InputError(f"problem: {name}.pattern.diagonal does not say where the {size} diagonal blocks are")
    if start.ndim != 1 or len(start) == 0:
        raise InputError(f"problem: {name}.part_start has shape {start.shape}; (k + 1,) is needed")
    _check_starts(f"{name}.part_start", start, len(start) - 1, size)
    part = np.repeat(np.arange(len(start) - 1), np.diff(start))
    if (part[row] != part[pattern.indices]).any():
        raise InputError(f"problem: {name}.pattern joins nodes of different parts, which begin at {start[:-1]}")


def _check_blocks(J: BlockRows, laws: Laws) -> None:
    """Blocks have the rows that their laws need, and compliance is along normals."""
    height = np.diff(J.row_start)
    needed = np.where(laws.law == CONTACT, np.where(laws.friction_set == ELLIPSOID, 4, 3), 1)
    if (height < needed).any():
        c = int(np.argmax(height < needed))
        raise InputError(f"problem: block {c} has {height[c]} rows; its law needs {needed[c]}")
    across = np.repeat(laws.law == CONTACT, height) & (laws.compliance > 0.0)
    across[J.row_start[:-1]] = False
    if across.any():
        k = int(np.argmax(across))
        raise InputError(
            f"problem: compliance of row {k} is {laws.compliance[k]}; contacts have one along normals only"
        )


def _check_array(name: str, array: object, needed: type[np.generic]) -> None:
    """Raise an InputError unless it is an array of the type that kernels take, row by row in memory."""
    if not isinstance(array, np.ndarray):
        raise InputError(f"problem: {name} is {type(array).__name__}; an array of {needed.__name__} is needed")
    if array.dtype != needed or not array.flags.c_contiguous:
        order = "" if array.flags.c_contiguous else " that is not contiguous"
        raise InputError(
            f"problem: {name} is an array of {array.dtype}{order}; np.ascontiguousarray(..., np.{needed.__name__}) is "
            "needed"
        )


def _check_starts(name: str, start: Ints, count: int, end: int) -> None:
    """Raise an InputError unless ``start`` (count + 1,) divides ``end`` items into parts."""
    if start.shape != (count + 1,) or start[0] != 0 or start[-1] != end or (np.diff(start) < 0).any():
        raise InputError(f"problem: {name} does not divide {end} items into {count} parts")


def _check_indices(name: str, index: Ints, count: int) -> None:
    """Raise an InputError unless all indices are of ``count`` items."""
    if index.ndim != 1 or ((index < 0) | (index >= count)).any():
        raise InputError(f"problem: {name} has an index outside 0..{count - 1}")


def _check_numbers(name: str, array: NDArray[np.generic]) -> None:
    """Raise an InputError where an entry is not finite, or so large that squares of it would not be."""
    wrong = ~(np.abs(array) <= LARGEST)
    if wrong.any():
        raise InputError(
            f"problem: {name} has the entry {array[wrong][0]}; all must be finite, and at most {LARGEST:g} in size"
        )


def checked_delassus(W: object, q: ArrayLike, mu: ArrayLike) -> tuple[csr_array, Array, Laws]:
    """W (3n, 3n) with sorted indices, q (3n,) and the laws of n contacts, as ``from_delassus`` is given them."""
    if issparse(W):
        matrix = csr_array(W)
        if matrix.dtype.kind not in "iuf":
            raise InputError(f"problem: W holds {matrix.dtype}; numbers are needed")
        try:
            matrix.check_format()  # kernels trust indices without looking
        except ValueError as error:
            raise InputError(f"problem: W is no sound sparse matrix: {error}") from None
    else:
        matrix = csr_array(checks.array("problem", "W", W, (None, None), largest=LARGEST))
    matrix.sort_indices()
    free = checks.array("problem", "q", q, (None,), (None, 1), (1, None), (None, 3), largest=LARGEST).reshape(-1)
    laws = contact_laws(mu)
    count = len(laws.law)
    if len(free) != 3 * count or matrix.shape != (3 * count, 3 * count):
        raise InputError(
            f"problem: W has shape {matrix.shape}, q {free.shape}, mu ({count},); needed: (3n, 3n), (3n,), (n,)"
        )
    return matrix, free, laws
