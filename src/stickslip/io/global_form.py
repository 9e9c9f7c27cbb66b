"""Problems given by mass and constraint matrices: M v = H r + G l + f, u = H^T v + w, 0 = G^T v + b.

They become A = M, v_free = M^-1 f, J = (H, G)^T where M falls apart into small blocks (rigid bodies). A coupled M
(finite elements), or one that is not symmetric, is condensed to the Delassus matrix (H, G)^T M^-1 (H, G) of the same
problem.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem
from stickslip.errors import InputError
from stickslip.io.definiteness import ASYMMETRY_REFUSED, ASYMMETRY_WARNED, examine
from stickslip.io.local_form import from_local, joints_of, mixed_laws, row_starts
from stickslip.linalg.block_rows import summed
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.sparse_blocks import from_sparse
from stickslip.tolerances import FILE_ASYMMETRY

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LARGEST_BLOCK = 12
"""A block of M with more unknowns than this is no rigid body, and its dense inverse would be wasteful."""
CANCELLED = 1e-14
"""A pivot of M that is this much smaller than the diagonal it came from is zero up to rounding."""


@dataclass(frozen=True, eq=False)
class GlobalParts:
    """Matrices and vectors of a file, each checked for itself: M (nv, nv), H (nv, 3n), f (nv,), w (3n,), mu (n,)."""

    M: csr_array
    H: csr_array
    f: Array
    w: Array
    mu: Array
    G: csr_array | None = None
    """(nv, p) columns of bilateral rows, with"""
    b: Array = field(default_factory=lambda: np.zeros(0))
    """(p,)."""


def from_global(parts: GlobalParts) -> tuple[ContactProblem, list[str]]:
    """The problem, contacts first, and warnings; an M that is singular or indefinite raises an InputError."""
    from scipy.sparse import csr_array, hstack

    M, G = parts.M, parts.G
    warnings = _asymmetry(M)
    start = _blocks_of(M)
    columns = parts.H if G is None else csr_array(hstack([parts.H, G]))
    free = parts.w if G is None else np.concatenate([parts.w, parts.b])
    if start is None or not _symmetric(M):
        # every unknown for itself: which body it belongs to is not known
        joints = np.zeros(1, dtype=np.int32) if G is None else joints_of(csr_array(G.T))
        W, q = _condensed(M, columns, parts.f, free)
        warnings += examine(W, "W = H^T M^-1 H", refuse=False)
        return from_local(W, q, parts.mu, joints), warnings
    A = _block_diagonal(M, start)
    joints = np.zeros(1, dtype=np.int32) if G is None else joints_of(_touched(csr_array(G.T), start))
    J = from_sparse(csr_array(columns.T), row_starts(len(parts.mu), joints), start)
    laws = mixed_laws(parts.mu, joints)
    return ContactProblem(Momentum(A, A.solve(parts.f)), J, np.array(free), laws).checked(), warnings


def _asymmetry(M: csr_array) -> list[str]:
    largest = float(np.abs(M.data).max(initial=0.0))
    if largest == 0.0:
        raise InputError("M is zero; it must be positive definite")
    asymmetry = float(abs(M - M.T).max()) / largest
    if asymmetry > ASYMMETRY_REFUSED:
        raise InputError(f"M is not symmetric: max|M - M^T| is {asymmetry:.2g} of max|M|")
    if asymmetry > ASYMMETRY_WARNED:
        return [f"M is not symmetric, max|M - M^T| is {asymmetry:.1e} of max|M|; it is solved as it is"]
    return []


def _symmetric(M: csr_array) -> bool:
    """Whether M is symmetric up to rounding of each pair of unknowns."""
    difference = abs(M - M.T).tocoo()
    scale = np.sqrt(np.abs(M.diagonal()))
    return bool((difference.data <= FILE_ASYMMETRY * scale[difference.row] * scale[difference.col]).all())


def _condensed(M: csr_array, columns: csr_array, f: Array, free: Array) -> tuple[csr_array, Array]:
    """W = K^T M^-1 K and q = K^T M^-1 f + free for K = (H, G)."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import splu

    # pivots on the diagonal: then their signs tell whether M is positive definite
    options = {"SymmetricMode": True}
    try:
        factors = splu(M.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    except RuntimeError:
        raise InputError("M is singular; it must be positive definite") from None
    pivots, diagonal = factors.U.diagonal(), np.empty(M.shape[0])
    diagonal[factors.perm_c] = M.diagonal()
    if not np.array_equal(factors.perm_r, factors.perm_c) or (pivots < -CANCELLED * np.abs(diagonal)).any():
        raise InputError("M is indefinite; it must be positive definite")
    if (pivots <= CANCELLED * np.abs(diagonal)).any():
        raise InputError("M is singular; it must be positive definite")
    transposed = csr_array(columns.T)
    W = csr_array(transposed @ factors.solve(columns.toarray()))
    W.sort_indices()
    return W, transposed @ factors.solve(f) + free


def _blocks_of(M: csr_array) -> Ints | None:
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


def _block_diagonal(M: csr_array, start: Ints) -> Inertia:
    """Blocks of M and their inverses; one that is not positive definite raises an InputError."""
    width = np.diff(start)
    data_start = summed(width**2)
    entries = M.tocoo()
    block = np.repeat(np.arange(len(width)), width)[entries.row]
    used = entries.data != 0.0
    inside = (entries.row - start[block]) * width[block] + entries.col - start[block]
    data = np.zeros(int(data_start[-1]))
    data[(data_start[block] + inside)[used]] = entries.data[used]
    inverse = np.empty_like(data)
    for size in np.unique(width):
        members = np.flatnonzero(width == size)
        where = data_start[members][:, None] + np.arange(size * size)
        blocks = data[where].reshape(-1, size, size)
        blocks = 0.5 * (blocks + blocks.transpose(0, 2, 1))
        require_definite("M", blocks, start[members])
        inverses = np.linalg.inv(blocks)
        data[where] = blocks.reshape(len(members), -1)
        inverse[where] = (0.5 * (inverses + inverses.transpose(0, 2, 1))).reshape(len(members), -1)
    return Inertia(DenseBlocks(start, data_start, data, inverse))


def require_definite(name: str, blocks: Array, first: Ints) -> None:
    """Raise an InputError that names the worst of the blocks (k, w, w) that is not positive definite."""
    try:
        np.linalg.cholesky(blocks)
    except np.linalg.LinAlgError:
        lowest = np.linalg.eigvalsh(blocks)[:, 0]
        worst = int(np.argmin(lowest))
        what = "indefinite" if lowest[worst] < 0.0 else "singular"
        raise InputError(
            f"{name} is {what}: its block at unknown {first[worst]} has the eigenvalue {lowest[worst]:.2g}; "
            "it must be positive definite"
        ) from None


def _touched(rows: csr_array, start: Ints) -> csr_array:
    """Which column blocks, which start at ``start``, each row touches."""
    from scipy.sparse import csr_array

    block_of = np.repeat(np.arange(len(start) - 1), np.diff(start))
    entries = rows.tocoo()
    return csr_array(
        (np.ones(len(entries.row)), (entries.row, block_of[entries.col])), shape=(rows.shape[0], len(start) - 1)
    )
