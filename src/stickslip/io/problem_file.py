"""Contact problems in ``.npz`` files: our own form, and the forms W, q, mu and M, H, q, b, mu of collections.

Own form: every array of :class:`ContactProblem` bit for bit, named ``A.start``, ``J.data``, ``laws.law``, ...

Local form: u = W r + q, W in CSR as W_data, W_indices, W_indptr, W_shape. It becomes the problem with J = I and
A^-1 = W (linalg/inertia.py).

Global form: M v = q + H r, u = H^T v + b, M and H in CSC. It becomes A = M, v_free = M^-1 q, J = H^T, bias = b where
M is symmetric and falls apart into small blocks (rigid bodies). A coupled M (finite elements) or one that
is not symmetric is condensed to W = H^T M^-1 H, q = H^T M^-1 q + b, the local form of the same problem.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stickslip.contact.problem import ContactProblem, Laws, checked, contact_laws, from_delassus
from stickslip.errors import FileError, InputError
from stickslip.files import whole_file
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.inertia import BlockDiagonal, GivenInverse

if TYPE_CHECKING:
    from scipy.sparse import csc_array

FORMAT, VERSION = "stickslip-problem", 1
LARGEST_BLOCK = 12
"""A block of M with more unknowns than this is no rigid body, and its dense inverse would be wasteful."""


def save_problem(problem: ContactProblem, path: str | os.PathLike[str]) -> None:
    """Write a problem to an ``.npz`` file, whole or not at all."""
    arrays: dict[str, Any] = {"format": FORMAT, "version": VERSION, "inertia": type(problem.A).__name__}
    for prefix, table in (("A", problem.A), ("J", problem.J), ("laws", problem.laws)):
        arrays |= {f"{prefix}.{name}": array for name, array in table._asdict().items()}
    arrays |= {"v_free": problem.v_free, "bias": problem.bias}
    with whole_file(path) as temporary, open(temporary, "wb") as stream:
        np.savez(stream, **arrays)


def load_problem(path: str | os.PathLike[str]) -> ContactProblem:
    """Read a problem of any of the three forms; a missing, damaged or foreign file raises a FileError."""
    file = Path(path)
    if not file.is_file():
        raise FileError(f"problem file {file} does not exist; give an .npz file with a contact problem")
    if not zipfile.is_zipfile(file):
        raise FileError(f"problem file {file} is not an .npz file or is damaged: it is not a zip archive")
    try:
        with np.load(file, allow_pickle=False) as archive:
            data = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileError(f"problem file {file} is not an .npz file or is damaged: {reason}") from None
    try:
        return _problem_of(data, file)
    except KeyError as error:
        raise FileError(f"problem file {file} is damaged: the array {error} is missing") from None
    except (InputError, ValueError, TypeError, IndexError, RuntimeError) as error:
        raise FileError(f"problem file {file} holds no valid problem: {str(error).splitlines()[0]}") from None


def _problem_of(data: dict[str, NDArray[Any]], file: Path) -> ContactProblem:
    """The problem in the arrays of a file, by the names that it has."""
    if "format" in data:
        return _own_form(data, file)
    if "W_data" in data:
        return from_delassus(_sparse(data, "W", "csr"), data["q"], data["mu"])
    if "M_data" in data:
        return from_global(_sparse(data, "M", "csc"), _sparse(data, "H", "csc"), data["q"], data["b"], data["mu"])
    names = ", ".join(sorted(data)[:6]) or "nothing"
    raise FileError(
        f"problem file {file} holds {names}; a problem has the arrays of save_problem, or W, q, mu, or M, H, q, b, mu"
    )


def _own_form(data: dict[str, NDArray[Any]], file: Path) -> ContactProblem:
    if str(data["format"]) != FORMAT:
        raise FileError(f"problem file {file} has the format {str(data['format'])!r}; {FORMAT!r} is needed")
    if int(data["version"]) != VERSION:
        raise FileError(
            f"problem file {file} has version {int(data['version'])}; this stickslip reads version {VERSION}"
        )
    kinds: dict[str, type[BlockDiagonal] | type[GivenInverse]] = {
        kind.__name__: kind for kind in (BlockDiagonal, GivenInverse)
    }
    inertia = kinds[str(data["inertia"])]
    return _consistent(
        ContactProblem(
            A=inertia(*(data[f"A.{name}"] for name in inertia._fields)),
            v_free=data["v_free"],
            J=BlockRows(*(data[f"J.{name}"] for name in BlockRows._fields)),
            bias=data["bias"],
            laws=Laws(*(data[f"laws.{name}"] for name in Laws._fields)),
        )
    )


def _consistent(problem: ContactProblem) -> ContactProblem:
    """The problem itself if its index tables stay inside their arrays; kernels trust them without looking."""
    J, A = problem.J, problem.A
    columns = len(J.column_start) - 1
    tables = [
        ("J.row_start", J.row_start, J.block_count, J.row_count),
        ("J.entry_start", J.entry_start, J.block_count, len(J.entry_column)),
        ("J.data_start", J.data_start, len(J.entry_column), len(J.data)),
        ("J.column_start", J.column_start, columns, J.column_count),
    ]
    if isinstance(A, BlockDiagonal):
        tables.append(("A.start", A.start, columns, J.column_count))
        tables.append(("A.data_start", A.data_start, columns, len(A.data)))
        used = [("J.entry_column", J.entry_column, columns)]
    else:
        tables.append(("A.indptr", A.indptr, J.column_count, len(A.data)))
        used = [("J.entry_column", J.entry_column, columns), ("A.indices", A.indices, J.column_count)]
    for name, start, count, end in tables:
        if len(start) != count + 1 or start[0] != 0 or start[-1] != end or (np.diff(start) < 0).any():
            raise InputError(f"problem: {name} does not divide {end} items into {count} parts")
    for name, index, count in used:
        if ((index < 0) | (index >= count)).any():
            raise InputError(f"problem: {name} has an index outside 0..{count - 1}")
    return checked(problem)


def _sparse(data: dict[str, NDArray[Any]], name: str, form: str) -> Any:
    """A sparse matrix from its parts; entries stored twice are added."""
    from scipy.sparse import csc_array, csr_array

    parts = tuple(data[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    matrix = (csr_array if form == "csr" else csc_array)(parts, shape=tuple(data[f"{name}_shape"].tolist()))
    matrix.sum_duplicates()
    return matrix


def from_global(
    M: csc_array, H: csc_array, q: NDArray[np.float64], b: NDArray[np.float64], mu: NDArray[np.float64]
) -> ContactProblem:
    """Problem M v = q + H r, u = H^T v + b; M (nv, nv), H (nv, 3n), q (nv,), b (3n,), friction mu (n,)."""
    size, rows = H.shape
    if M.shape != (size, size) or q.shape != (size,) or b.shape != (rows,) or rows != 3 * mu.size:
        raise InputError(
            f"problem: M has shape {M.shape}, H {H.shape}, q {q.shape}, b {b.shape}, mu {mu.shape}; "
            "needed: (nv, nv), (nv, 3n), (nv,), (3n,), (n,)"
        )
    start = _blocks_of(M)
    if start is None or abs(M - M.T).max() > 0.0:
        from scipy.sparse.linalg import splu

        factors = splu(M.tocsc())
        return from_delassus(H.T @ factors.solve(H.toarray()), H.T @ factors.solve(q) + b, mu)
    A = _block_diagonal(M, start)
    v_free = np.concatenate(
        [A.inverse[k : k + w * w].reshape(w, w) @ q[s : s + w] for s, w, k in zip(start, np.diff(start), A.data_start)]
    )
    return checked(ContactProblem(A, v_free, _block_rows(H, start), b.astype(np.float64), contact_laws(mu)))


def _blocks_of(M: csc_array) -> NDArray[np.int32] | None:
    """Starts of the diagonal blocks of M, in sixes or threes where those fit (bodies, points); None if one is large."""
    size = M.shape[0]
    entries = M.tocoo()
    row, column = entries.row[entries.data != 0.0], entries.col[entries.data != 0.0]
    for width in (6, 3):
        if size % width == 0 and (row // width == column // width).all():
            return np.arange(0, size + 1, width, dtype=np.int32)
    reach = np.arange(size)
    np.maximum.at(reach, np.minimum(row, column), np.maximum(row, column))
    ends = np.flatnonzero(np.maximum.accumulate(reach) == np.arange(size)) + 1
    start = np.concatenate([[0], ends]).astype(np.int32)
    return start if np.diff(start).max(initial=0) <= LARGEST_BLOCK else None


def _block_diagonal(M: csc_array, start: NDArray[np.int32]) -> BlockDiagonal:
    dense = [M[a:b, a:b].toarray() for a, b in zip(start[:-1], start[1:], strict=True)]
    return BlockDiagonal(
        start=start,
        data_start=np.concatenate([[0], np.cumsum(np.diff(start) ** 2)]).astype(np.int32),
        data=np.concatenate([block.ravel() for block in dense]),
        inverse=np.concatenate([_inverse(block).ravel() for block in dense]),
    )


def _inverse(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Symmetric inverse; a block that is not positive definite raises an InputError."""
    try:
        np.linalg.cholesky(block)
    except np.linalg.LinAlgError:
        raise InputError("problem: M is not positive definite") from None
    inverse = np.linalg.inv(block)
    return 0.5 * (inverse + inverse.T)


def _block_rows(H: csc_array, start: NDArray[np.int32]) -> BlockRows:
    """J = H^T as block rows of three, over the column blocks that start at ``start``."""
    count = H.shape[1] // 3
    block_of = np.repeat(np.arange(len(start) - 1, dtype=np.int32), np.diff(start))
    entry_start, columns, widths, data = [0], [], [], []
    for c in range(count):
        rows = H[:, 3 * c : 3 * c + 3]
        touched = np.unique(block_of[rows.nonzero()[0]])
        dense = rows.toarray()
        for block in touched:
            part = dense[start[block] : start[block + 1]].T
            columns.append(block)
            widths.append(part.size)
            data.append(part.ravel())
        entry_start.append(len(columns))
    return BlockRows(
        row_start=3 * np.arange(count + 1, dtype=np.int32),
        entry_start=np.array(entry_start, dtype=np.int32),
        entry_column=np.array(columns, dtype=np.int32),
        data_start=np.concatenate([[0], np.cumsum(widths)]).astype(np.int32),
        data=np.concatenate([np.zeros(0), *data]),
        column_start=start,
    )
