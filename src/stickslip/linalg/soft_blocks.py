"""The sparse part of A: matrices of soft bodies with their stiffness, each of 3x3 blocks, factorised at first use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools
from stickslip.jit import kernel
from stickslip.linalg.block_factors import BlockFactors, Plan, eliminated, ending_with
from stickslip.linalg.block_matrix import BlockPattern
from stickslip.workspace import Same, Workspace

REMEMBERED = 16
"""Plans kept for each soft body: while contacts stay, steps have the same one."""


class SoftPart(NamedTuple):
    """Where the matrix of one soft body is: blocks data[first_entry:last_entry] of the whole, by ``pattern``."""

    first: int
    """First block row, counted from the first soft one."""
    first_entry: int
    last_entry: int
    pattern: BlockPattern
    plan: Plan
    """The symbolic half of a factorisation."""
    free: Plan
    """The same with no rows last, made once; those for other last rows are made of it."""

    @property
    def rows(self) -> slice:
        """Its unknowns among those of soft bodies."""
        return slice(3 * self.first, 3 * (self.first + len(self.pattern.diagonal)))


def part_of(pattern: BlockPattern, first: int, last: int) -> SoftPart:
    """The block rows first:last of a pattern, which no block joins with others, with their order of elimination."""
    low, high = int(pattern.indptr[first]), int(pattern.indptr[last])
    own = BlockPattern(
        pattern.indptr[first : last + 1] - np.int32(low),
        pattern.indices[low:high] - np.int32(first),
        pattern.diagonal[first:last] - np.int32(low),
    )
    plan = eliminated(own)
    return SoftPart(first, low, high, own, plan, plan)


def parts_ending_with(
    parts: tuple[SoftPart, ...], touched: Bools, workspace: Workspace | None = None
) -> tuple[SoftPart, ...]:
    """The same parts with an order of elimination in which the ``touched`` block rows (nf,) of all come last.

    The factorisation then passes the Schur complement on them ([han2023] sec. VI-B).
    """
    known, most, found = workspace or Workspace(), REMEMBERED * len(parts), []
    for part in parts:
        own = touched[part.first : part.first + len(part.pattern.diagonal)]
        found.append(part._replace(plan=plan_ending_with(part, own, known, most)))
    return tuple(found)


def plan_ending_with(part: SoftPart, touched: Bools, workspace: Workspace, most: int = REMEMBERED) -> Plan:
    """The plan of a part for these last rows (n,), from memory where they were the last ones not long ago.

    It is what pattern and rows make it, whichever was made before. The ``most`` latest ones are kept.
    """
    if not touched.any():
        return part.free
    free, pattern, last = part.free, part.pattern, np.flatnonzero(touched).astype(np.int32)
    if np.array_equal(last, part.plan.last):
        return part.plan
    key = Same(free), touched.tobytes()
    return workspace.recall("plans of elimination", key, lambda: ending_with(free, pattern, last), most)


@dataclass(frozen=True, eq=False)
class SparseBlocks:
    """Matrices of soft bodies, one after the other."""

    parts: tuple[SoftPart, ...]
    data: Array
    """(nnzb, 3, 3) blocks of all soft bodies."""
    pattern: BlockPattern
    """Where they are, all bodies together."""
    workspace: Workspace = field(default_factory=Workspace, repr=False)
    """Where plans are remembered, and storage of factors waits: that of whoever solves with it."""
    places: Array | None = None
    """(nf, 3) [m] where the nodes are, for methods whose coarse spaces move like rigid bodies; None: not known."""
    made: list[BlockFactors] = field(default_factory=list, init=False, repr=False)
    """Factorisations of the first soft bodies, up to all, each made at its first use."""

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles hold: no factors, which libraries keep in memory of their own."""
        return {item.name: getattr(self, item.name) for item in fields(self)} | {"made": []}

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return 3 * self.pattern.size

    @property
    def factors(self) -> Iterator[BlockFactors]:
        """One factorisation per soft body, each made at its first use."""
        found = self.made
        for k, part in enumerate(self.parts):
            if k == len(found):
                found.append(self.factorised(part, part.plan))
            yield found[k]

    def factorised(self, part: SoftPart, plan: Plan) -> BlockFactors:
        """The factorisation of one soft body by a plan, made anew."""
        return BlockFactors(plan, self.blocks(part), self.workspace)

    def plan_ending_with(self, part: SoftPart, touched: Bools) -> Plan:
        """The plan of a part for these last rows (n,)."""
        return plan_ending_with(part, touched, self.workspace, REMEMBERED * len(self.parts))

    def blocks(self, part: SoftPart) -> Array:
        """Blocks of the matrix of one soft body."""
        return self.data[part.first_entry : part.last_entry]

    def solve(self, f: Array, x_out: Array) -> None:
        """x_out = A^-1 f; a body's factors are made and used while they are in the cache."""
        made = self.made
        for k, part in enumerate(self.parts):
            rows = part.rows
            if k == len(made):
                made.append(self.factorised(part, part.plan))
            x_out[rows] = made[k].solve(f[rows])

    def apply(self, v: Array) -> Array:
        """A v, for v (3 nf,) or for each row of v (k, 3 nf)."""
        f, shape = np.empty(v.shape), (1 if v.ndim == 1 else len(v), len(self.pattern.diagonal), 3)
        _product(self.pattern.indptr, self.pattern.indices, self.data, v.reshape(shape), f.reshape(shape))
        return f

    def planned(self, parts: tuple[SoftPart, ...]) -> SparseBlocks:
        """The same with other orders of elimination; these blocks themselves where they are the same ones."""
        same = all(new.plan is old.plan for new, old in zip(parts, self.parts, strict=True))
        return self if same else SparseBlocks(parts, self.data, self.pattern, self.workspace, self.places)

    def ending_with(self, touched: Bools) -> SparseBlocks:
        """The same with an order of elimination in which the ``touched`` block rows (nf,) come last."""
        return self.planned(parts_ending_with(self.parts, touched, self.workspace))

    def least_fill(self) -> SparseBlocks:
        """The same in orders of elimination that put no rows last, in which solving is cheapest."""
        return self.ending_with(np.zeros(self.pattern.size, dtype=np.bool_))

    def with_data(self, data: Array) -> SparseBlocks:
        """The same with other blocks (nnzb, 3, 3), not factorised."""
        return SparseBlocks(self.parts, data, self.pattern, self.workspace, self.places)


NO_NODES = SparseBlocks(
    (), np.zeros((0, 3, 3)), BlockPattern(np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int32))
)
"""Nothing soft."""


@kernel
def _product(indptr, indices, data, x, y_out):
    """y_out = matrix x over block rows, for all vectors (k, n, 3) in one walk through the matrix."""
    for i in range(indptr.shape[0] - 1):
        for r in range(x.shape[0]):
            a, b, c = 0.0, 0.0, 0.0
            for k in range(indptr[i], indptr[i + 1]):
                m, f = data[k], x[r, indices[k]]
                a += m[0, 0] * f[0] + m[0, 1] * f[1] + m[0, 2] * f[2]
                b += m[1, 0] * f[0] + m[1, 1] * f[1] + m[1, 2] * f[2]
                c += m[2, 0] * f[0] + m[2, 1] * f[1] + m[2, 2] * f[2]
            y_out[r, i, 0], y_out[r, i, 1], y_out[r, i, 2] = a, b, c
