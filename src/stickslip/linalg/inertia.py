"""The matrix A of a step, as what solvers need of it: products with A and with its inverse, and with rows J.

One type with up to two parts: dense blocks, whose unknowns come first, and the sparse matrices of soft bodies; or only
the inverse. What differs between them is in the methods here and in those of the parts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.arrays import Array, Bools, Ints
from stickslip.errors import InputError
from stickslip.linalg import block_rows, dense_blocks, given_inverse
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.dense_blocks import BODY, NOTHING, DenseBlocks, equal_blocks, node_blocks, product
from stickslip.linalg.given_inverse import GivenInverse
from stickslip.linalg.schur_complement import SchurComplement, schur_complement
from stickslip.linalg.soft_blocks import NO_NODES, SparseBlocks
from stickslip.linalg.soft_delassus import assembling, dense_delassus
from stickslip.linalg.sparse_blocks import to_sparse

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Inertia:
    """A: dense blocks, then soft bodies; or A^-1 alone."""

    dense: DenseBlocks
    """Of rigid bodies and particles; no blocks where the inverse is given."""
    sparse: SparseBlocks | None = None
    """Of soft bodies; None where there are none, or where their elements are rows of the problem."""
    given: GivenInverse | None = None

    def __post_init__(self) -> None:
        known = self.__dict__  # plain attributes, which everybody asks for
        known["is_given"], known["has_soft"] = self.given is not None, self.sparse is not None
        known["is_dense"] = self.sparse is None and self.given is None

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles hold: the fields, not what was computed from them."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @cached_property
    def is_given(self) -> bool:
        """Whether only A^-1 is known."""
        return self.given is not None

    @cached_property
    def has_soft(self) -> bool:
        """Whether it has a sparse part, whose inverse is full and takes a factorisation."""
        return self.sparse is not None

    @cached_property
    def is_dense(self) -> bool:
        """Whether it is dense blocks and nothing else, with their inverses."""
        return self.sparse is None and self.given is None

    @property
    def nodes(self) -> SparseBlocks:
        """The sparse part, empty where there is none."""
        return NO_NODES if self.sparse is None else self.sparse

    @property
    def stored(self) -> int:
        """Numbers that are kept of A, or of A^-1 where it is given."""
        own = self.dense.data if self.given is None else self.given.data
        return len(own) + self.nodes.data.size

    @cached_property
    def uniform(self) -> int:
        """Unknowns of every dense block where all have as many, else 0."""
        return self.dense.uniform

    def solve(self, f: Array) -> Array:
        """A^-1 f."""
        if self.given is not None:
            return self.given.solve(f)
        dense = self.dense
        if self.sparse is None:
            return product(dense, dense.inverse, f)
        x, n = np.empty(len(f)), int(dense.start[-1])
        if n:
            x[:n] = product(dense, dense.inverse, f[:n])
        self.sparse.solve(f[n:], x[n:])
        return x

    def apply(self, v: Array) -> Array:
        """A v; an InputError where only the inverse is known. With soft bodies v may be rows (k, nv)."""
        if self.given is not None:
            self.require_blocks("products with A = W^-1 do not exist")
        dense = self.dense
        if self.sparse is None:
            return product(dense, dense.data, v)
        f, n = np.empty(v.shape), int(dense.start[-1])
        if n:
            for row, to in zip(np.atleast_2d(v), np.atleast_2d(f), strict=True):
                to[:n] = product(dense, dense.data, row[:n])
        f[..., n:] = self.sparse.apply(v[..., n:])
        return f

    def require_blocks(self, otherwise: str) -> None:
        """Raise an InputError that says what cannot be done where only the inverse is known."""
        if self.given is not None:
            raise InputError(f"problem: it was given by its Delassus matrix W, so {otherwise}")

    # with rows J

    def response(self, J: BlockRows) -> BlockRows:
        """J A^-1 as block rows: what a unit impulse of each row does to the velocities; not with soft bodies.

        For dense blocks it has the entries of J.
        """
        if self.given is not None:
            return self.given.response(J)
        assert self.sparse is None  # A^-1 is full there: problems are condensed
        return self.dense.response(J)

    def mobility(self, J: BlockRows) -> Array:
        """diag J A^-1 J^T (m,) [1/kg]."""
        if self.given is not None:
            return self.given.mobility(J)
        if self.sparse is not None:
            return np.asarray(self.delassus(J).diagonal(), dtype=np.float64)
        return self.dense.mobility(J)

    def delassus(self, J: BlockRows) -> csr_array:
        """W = J A^-1 J^T as a sparse matrix (m, m)."""
        if self.given is not None:
            return self.given.delassus(J)
        if self.sparse is not None:
            return given_inverse.from_dense(*self.dense_delassus(J)).matrix()
        rows = to_sparse(J)
        return rows @ self.dense.inverse_matrix() @ rows.T

    def dense_delassus(self, J: BlockRows, factorised: bool = False) -> tuple[Array, Bools]:
        """W (m, m) of soft bodies, and which pairs of rows (m, m) touch a common body; the others are zero.

        ``factorised``: whether somebody solves with A anyway, so that its factors cost nothing here.
        """
        return dense_delassus(J, self.dense, self.nodes, factorised)

    def delassus_product(self, J: BlockRows, lam: Array) -> Array:
        """W lam (m,)."""
        return block_rows.apply(J, self.solve(block_rows.apply_transpose(J, lam)))

    def schur(self, touched: Bools) -> SchurComplement:
        """The Schur complement on the touched column blocks (columns,); an InputError where only A^-1 is known."""
        self.require_blocks("no unknowns can be eliminated")
        return schur_complement(self.dense, self.nodes, touched)

    # other forms of it

    def diagonal_blocks(self) -> Inertia:
        """The blocks of A on its diagonal, with their inverses: dense ones, then those of nodes."""
        if self.sparse is None:
            return self
        return Inertia(self.dense.followed_by(node_blocks(self.sparse.data[self.sparse.pattern.diagonal])))

    def with_dense(self, first: DenseBlocks) -> Inertia:
        """The same with other numbers in the first dense blocks; factors of soft bodies are shared."""
        return replace(self, dense=self.dense.beginning_with(first))

    def with_sparse(self, sparse: SparseBlocks) -> Inertia:
        """The same with another sparse part; A itself where it is the same one."""
        return self if sparse is self.nodes else replace(self, sparse=sparse)

    def least_fill(self) -> Inertia:
        """A in orders of elimination that put no rows last, in which solving with it is cheapest; A itself if it is."""
        return self.with_sparse(self.nodes.least_fill())

    def assembling(self, J: BlockRows, factorised: bool = False) -> Inertia:
        """A in the orders of elimination with which factorising it and assembling W cost least; A itself if it is.

        ``factorised`` as in ``dense_delassus``.
        """
        return self.with_sparse(assembling(J, self.dense.block_count, self.nodes, factorised))

    def factorise(self) -> None:
        """Make all factors of soft bodies that are not made yet."""
        for _ in self.nodes.factors:
            pass

    # what it says of bodies

    def bodies(self, columns: int) -> Ints:
        """(columns,) column blocks of one soft body have the number of its first one, others their own."""
        body: Ints = np.arange(columns, dtype=np.int32)
        if self.sparse is not None:
            for part in self.sparse.parts:
                head = len(self.dense.start) - 1 + part.first
                body[head : head + len(part.pattern.diagonal)] = head
        return body

    def soft_unknowns(self) -> list[slice]:
        """Unknowns of each soft body."""
        n = self.dense.size
        return [slice(n + part.rows.start, n + part.rows.stop) for part in self.nodes.parts]

    def rigid_inverses(self) -> Array | None:
        """A^-1 of free rigid bodies (nb, 7): 1/m and entries xx, xy, xz, yy, yz, zz of the inverse inertia; else None.

        A fifth of the memory of the blocks, and all that a sweep over contacts needs.
        """
        return dense_blocks.rigid_inverses(self.dense) if self.is_dense and self.uniform == BODY else None


def block_diagonal(blocks: Array, inverses: Array) -> Inertia:
    """A of equal dense blocks (nb, k, k) and their inverses."""
    return Inertia(equal_blocks(blocks, inverses))


def given(data: Array, indices: Ints, indptr: Ints) -> Inertia:
    """A by its inverse in CSR form."""
    return Inertia(NOTHING, given=GivenInverse(data, indices, indptr))
