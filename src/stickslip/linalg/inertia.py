"""The matrix A of a step, as what solvers need of it: products with A and with its inverse.

``BlockDiagonal``: dense blocks (rigid bodies, trees of joints) with their inverses.
``GivenInverse``: only A^-1 is known. A problem stated by its Delassus matrix (u = W lam + q) is the problem
with J = I and A^-1 = W, whether or not W has an inverse, so it needs no type of its own.
``SparseInertia``: blocks of rigid bodies, then the matrices of soft bodies with their stiffness, which are factorised
at first use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, Ints
from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.linalg import block_matrix
from stickslip.linalg.block_factors import BlockFactors, Plan, eliminated, ending_with
from stickslip.linalg.block_matrix import BlockPattern
from stickslip.linalg.block_rows import all_sized
from stickslip.linalg.small_inverse import invert_small

REMEMBERED = 16
"""Plans kept of a soft body: while contacts stay, steps have the same one."""


class BlockDiagonal(NamedTuple):
    """Dense symmetric positive definite blocks; block b acts on the unknowns start[b]:start[b+1]."""

    start: Ints
    data_start: Ints
    data: Array
    inverse: Array


class GivenInverse(NamedTuple):
    """A^-1 as a sparse matrix in CSR form (square)."""

    data: Array
    indices: Ints
    indptr: Ints


class SoftPart(NamedTuple):
    """Where the matrix of one soft body is: blocks data[first_entry:last_entry] of the whole, by ``pattern``."""

    first: int
    """First block row, counted from the first soft one."""
    first_entry: int
    last_entry: int
    pattern: BlockPattern
    plan: Plan
    """The symbolic half of a factorisation, made once."""
    plans: dict[bytes, Plan]
    """The same for other last rows, by their marks: those of the latest steps."""

    @property
    def rows(self) -> slice:
        """Its unknowns among those of soft bodies."""
        return slice(3 * self.first, 3 * (self.first + self.pattern.size))


def part_of(pattern: BlockPattern, first: int, last: int) -> SoftPart:
    """The block rows first:last of a pattern, which no block joins with others, with their order of elimination."""
    low, high = int(pattern.indptr[first]), int(pattern.indptr[last])
    own = BlockPattern(
        pattern.indptr[first : last + 1] - np.int32(low),
        pattern.indices[low:high] - np.int32(first),
        pattern.diagonal[first:last] - np.int32(low),
    )
    return SoftPart(first, low, high, own, eliminated(own), {})


def parts_ending_with(parts: tuple[SoftPart, ...], touched: Bools) -> tuple[SoftPart, ...]:
    """The same parts with an order of elimination in which the ``touched`` block rows (nf,) of all come last.

    The factorisation then passes the Schur complement on them ([han2023] sec. VI-B).
    """
    return tuple(
        part._replace(plan=plan_ending_with(part, touched[part.first : part.first + part.pattern.size]))
        for part in parts
    )


def least_fill(A: SparseInertia) -> SparseInertia:
    """A in orders of elimination that put no rows last, in which solving with it is cheapest; A itself if it is so."""
    parts = parts_ending_with(A.parts, np.zeros(A.pattern.size, dtype=np.bool_))
    same = all(new.plan is old.plan for new, old in zip(parts, A.parts, strict=True))
    return A if same else SparseInertia(A.rigid, parts, A.data, A.pattern)


def plan_ending_with(part: SoftPart, touched: Bools) -> Plan:
    """The plan of a part for these last rows (n,), from memory where they were the last ones not long ago."""
    key = touched.tobytes()
    plan = part.plans.get(key)
    if plan is None:
        last = np.flatnonzero(touched).astype(np.int32)
        plan = ending_with(part.plan, part.pattern, last)
        if len(part.plans) >= REMEMBERED:
            del part.plans[next(iter(part.plans))]
        part.plans[key] = plan
    return plan


@dataclass(frozen=True, eq=False)
class SparseInertia:
    """A of rigid bodies, whose unknowns come first, and of soft ones, each a sparse matrix of 3x3 blocks."""

    rigid: BlockDiagonal
    parts: tuple[SoftPart, ...]
    data: Array
    """(nnzb, 3, 3) blocks of all soft bodies."""
    pattern: BlockPattern
    """Where they are, all bodies together."""

    @property
    def rigid_size(self) -> int:
        """Number of unknowns of rigid bodies."""
        return int(self.rigid.start[-1])

    @property
    def factors(self) -> Iterator[BlockFactors]:
        """One factorisation per soft body, each made at its first use."""
        for k, part in enumerate(self.parts):
            if k == len(self._made):
                self._made.append(BlockFactors(part.plan, self.blocks(part)))
            yield self._made[k]

    def made(self, k: int) -> bool:
        """Whether the k-th soft body is factorised."""
        return k < len(self._made)

    @cached_property
    def _made(self) -> list[BlockFactors]:
        """Factors of the first bodies, up to all."""
        return []

    def with_rigid(self, rigid: BlockDiagonal) -> SparseInertia:
        """The same with other blocks of the rigid bodies; factors are shared."""
        changed = SparseInertia(rigid, self.parts, self.data, self.pattern)
        changed.__dict__["_made"] = self._made
        return changed

    def blocks(self, part: SoftPart) -> Array:
        """Blocks of the matrix of one soft body."""
        return self.data[part.first_entry : part.last_entry]


Inertia = BlockDiagonal | GivenInverse | SparseInertia


def block_diagonal(blocks: Array, inverses: Array) -> BlockDiagonal:
    """From equal blocks (nb, k, k) and their inverses."""
    count, width = blocks.shape[0], blocks.shape[1]
    start = np.arange(count + 1, dtype=np.int32)
    return BlockDiagonal(start * np.int32(width), start * np.int32(width * width), blocks.ravel(), inverses.ravel())


def solve(inertia: Inertia, f: Array) -> Array:
    """A^-1 f."""
    if isinstance(inertia, BlockDiagonal):
        return _product(inertia, inertia.inverse, f)
    if isinstance(inertia, SparseInertia):
        x = np.empty(len(f))
        n = inertia.rigid_size
        x[:n] = _product(inertia.rigid, inertia.rigid.inverse, f[:n])
        # a body's factors are made and used while they are in the cache
        for part, factors in zip(inertia.parts, inertia.factors, strict=True):
            x[n:][part.rows] = factors.solve(f[n:][part.rows])
        return x
    x = np.zeros(len(f))
    _csr_product(inertia.data, inertia.indices, inertia.indptr, f, x)
    return x


def apply(inertia: Inertia, v: Array) -> Array:
    """A v; an InputError where only the inverse is known."""
    if isinstance(inertia, GivenInverse):
        raise InputError("problem: it was given by its Delassus matrix W, so products with A = W^-1 do not exist")
    if isinstance(inertia, SparseInertia):
        f = np.empty(len(v))
        n = inertia.rigid_size
        f[:n] = _product(inertia.rigid, inertia.rigid.data, v[:n])
        f[n:] = block_matrix.product(inertia.pattern, inertia.data, v[n:])
        return f
    return _product(inertia, inertia.data, v)


def diagonal_blocks(inertia: SparseInertia) -> BlockDiagonal:
    """The blocks of A on its diagonal, with their inverses: those of rigid bodies, then those of nodes."""
    rigid = inertia.rigid
    nodes = inertia.data[inertia.pattern.diagonal].ravel()
    inverse = nodes.copy()
    _invert_blocks(inverse)
    count = inertia.pattern.size + 1
    after = np.arange(1, count, dtype=np.int32)
    return BlockDiagonal(
        np.concatenate([rigid.start, rigid.start[-1] + 3 * after]),
        np.concatenate([rigid.data_start, rigid.data_start[-1] + 9 * after]),
        np.concatenate([rigid.data, nodes]),
        np.concatenate([rigid.inverse, inverse]),
    )


def rigid_inverses(inertia: Inertia) -> Array | None:
    """A^-1 of free rigid bodies (nb, 7): 1/m and the entries xx, xy, xz, yy, yz, zz of the inverse inertia; else None.

    A fifth of the memory of the blocks, and all that a sweep over contacts needs.
    """
    if not isinstance(inertia, BlockDiagonal) or not all_sized(inertia.start, 6):
        return None
    compact = np.empty((len(inertia.start) - 1, 7))
    return compact if _rigid_inverses(inertia.inverse.reshape(-1, 6, 6), compact) else None


def _product(inertia: BlockDiagonal, data: Array, x: Array) -> Array:
    """Blocks in ``data`` times x; blocks of six, the common case, have a kernel of their own."""
    y = np.zeros(len(x))
    count = len(inertia.start) - 1
    if len(data) == 36 * count and len(x) == 6 * count and all_sized(inertia.start, 6):
        rigid_product(data.reshape(-1, 6, 6), x.reshape(-1, 6), y.reshape(-1, 6))
    else:
        _block_product(inertia.start, inertia.data_start, data, x, y)
    return y


@kernel
def _invert_blocks(blocks_out):
    """Blocks of three by three, one after the other, inverted in place."""
    diagonal = np.empty(3)
    for k in range(blocks_out.shape[0] // 9):
        invert_small(3, 9 * k, blocks_out, diagonal)


@kernel
def _rigid_inverses(inverse, compact_out):
    """Copy the entries that a rigid body has; False where a block has others."""
    for b in range(inverse.shape[0]):
        m, out = inverse[b], compact_out[b]
        for i in range(6):
            for j in range(6):
                linear = i < 3 and j < 3
                expected = m[j, i] if i > 2 and j > 2 else (m[0, 0] if linear and i == j else 0.0)
                if m[i, j] != expected:
                    return False
        out[0], out[1], out[2], out[3] = m[0, 0], m[3, 3], m[3, 4], m[3, 5]
        out[4], out[5], out[6] = m[4, 4], m[4, 5], m[5, 5]
    return True


@kernel
def rigid_product(blocks, x, y_out):
    """y_out = blocks x for blocks (nb, 6, 6)."""
    for b in range(blocks.shape[0]):
        m, f = blocks[b], x[b]
        for i in range(6):
            y_out[b, i] = (
                m[i, 0] * f[0] + m[i, 1] * f[1] + m[i, 2] * f[2] + m[i, 3] * f[3] + m[i, 4] * f[4] + m[i, 5] * f[5]
            )


@kernel
def _block_product(start, data_start, data, x, y_out):
    """y_out = blocks x."""
    for b in range(start.shape[0] - 1):
        first = start[b]
        width = start[b + 1] - first
        at = data_start[b]
        for i in range(width):
            total = 0.0
            for j in range(width):
                total += data[at + j] * x[first + j]
            y_out[first + i] = total
            at += width


@kernel
def _csr_product(data, indices, indptr, x, y_out):
    """y_out = matrix x."""
    for i in range(indptr.shape[0] - 1):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * x[indices[k]]
        y_out[i] = total
