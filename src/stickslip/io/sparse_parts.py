"""Vectors and sparse matrices as files store them: checked here, since kernels trust their indices without looking.

Every check names the field as the file does; whoever reads the file adds its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Ints
from stickslip.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def array_of(data: dict[str, NDArray[Any]], name: str) -> NDArray[Any]:
    """The array of that name; an InputError where it is missing."""
    if name not in data:
        raise InputError(f"the array {name!r} is missing")
    return data[name]


def vector(name: str, values: NDArray[Any], length: int | None = None) -> Array:
    """Finite numbers (length,), or an InputError that names the field."""
    if values.dtype.kind not in "fiu":
        raise InputError(f"{name} holds {values.dtype} and no numbers")
    flat = np.ascontiguousarray(values, dtype=np.float64).reshape(-1)
    if length is not None and len(flat) != length:
        raise InputError(f"{name} has {len(flat)} entries; {length} are needed")
    finite = np.isfinite(flat)
    if not finite.all():
        at = int(np.argmin(finite))
        raise InputError(f"{name} has the entry {flat[at]} at {at}; all must be finite")
    return flat


def friction(name: str, values: NDArray[Any], rows: int, matrix: str) -> Array:
    """Coefficients of Coulomb friction (n,) for ``rows`` = 3n rows of the matrix named ``matrix``."""
    mu = vector(name, values)
    if len(mu) and rows == 5 * len(mu):
        raise InputError(
            f"{matrix} has 5 rows for each of the {len(mu)} entries of {name}: a problem with rolling friction; "
            "stickslip reads Coulomb friction, 3 rows a contact"
        )
    if len(mu) and rows == 2 * len(mu):
        raise InputError(
            f"{matrix} has 2 rows for each of the {len(mu)} entries of {name}: a plane problem; "
            "stickslip reads problems in space, 3 rows a contact"
        )
    if rows != 3 * len(mu):
        raise InputError(f"{name} has {len(mu)} entries; {rows} rows of {matrix} need {rows / 3:g}, one for three rows")
    if (mu < 0.0).any():
        c = int(np.argmax(mu < 0.0))
        raise InputError(f"{name} is {mu[c]} at contact {c}; it must be zero or positive")
    return mu


def compressed(
    name: str, form: str, values: NDArray[Any], index: NDArray[Any], start: NDArray[Any], shape: NDArray[Any]
) -> csr_array:
    """Matrix in compressed rows (form "csr") or columns ("csc"), as rows; entries stored twice are added."""
    from scipy.sparse import csc_array, csr_array

    rows, columns = _shape(name, shape)
    major, minor = (rows, columns) if form == "csr" else (columns, rows)
    start, index = _whole(f"the starts of {name}", start), _whole(f"the indices of {name}", index)
    if len(start) != major + 1 or start[0] != 0 or (np.diff(start) < 0).any() or start[-1] > len(index):
        raise InputError(
            f"{name}: its {len(start)} starts do not divide {len(index)} entries into {major} "
            f"{'rows' if form == 'csr' else 'columns'}"
        )
    count = int(start[-1])  # room behind the last entry is allowed
    numbers = vector(name, values)
    if len(numbers) < count:
        raise InputError(f"{name} has {len(numbers)} values for {count} indices")
    _within(name, index[:count], minor)
    kind = csr_array if form == "csr" else csc_array
    matrix = kind((numbers[:count], index[:count], start), shape=(rows, columns)).tocsr()
    matrix.sum_duplicates()
    return matrix


def triplets(
    name: str, values: NDArray[Any], row: NDArray[Any], column: NDArray[Any], shape: NDArray[Any]
) -> csr_array:
    """Matrix from rows, columns and values of its entries; entries stored twice are added."""
    from scipy.sparse import csr_array

    size = _shape(name, shape)
    row, column = _whole(f"the rows of {name}", row), _whole(f"the columns of {name}", column)
    numbers = vector(name, values)
    if not len(row) == len(column) == len(numbers):
        raise InputError(f"{name} has {len(numbers)} values, {len(row)} rows and {len(column)} columns of entries")
    if max(size) > 1_000_000 + 1000 * len(numbers):  # would take the memory of the machine
        raise InputError(f"{name} has shape {size} for {len(numbers)} entries")
    _within(name, row, size[0])
    _within(name, column, size[1])
    matrix = csr_array((numbers, (row, column)), shape=size)
    matrix.sum_duplicates()
    return matrix


def _shape(name: str, shape: NDArray[Any]) -> tuple[int, int]:
    numbers = _whole(f"{name}_shape", shape)
    if len(numbers) != 2 or (numbers < 0).any():
        raise InputError(f"{name}_shape is {shape.tolist()}; two numbers of rows and columns are needed")
    return int(numbers[0]), int(numbers[1])


def _whole(name: str, values: NDArray[Any]) -> Ints:
    """Whole numbers that fit in 32 bits."""
    flat = np.asarray(values).reshape(-1)
    if flat.dtype.kind not in "iu":
        raise InputError(f"{name} are {flat.dtype}; whole numbers are needed")
    if len(flat) and (int(flat.min()) < -(2**31) or int(flat.max()) >= 2**31):
        raise InputError(f"{name} have the entry {flat[np.argmax(np.abs(flat))]}, beyond 32 bits")
    return np.ascontiguousarray(flat, dtype=np.int32)


def _within(name: str, index: Ints, count: int) -> None:
    outside = (index < 0) | (index >= count)
    if outside.any():
        raise InputError(f"{name} has the index {index[outside][0]}, outside 0 to {count - 1}")
