"""A contact problem in plain dense arrays, for those who must not use a line of the package to read it.

v = v_free + A^-1 J^T lam,      u = J v + bias,      a law for each block of rows
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stickslip.arrays import Array, Ints

Vector = Array

CONTACT, BILATERAL, LIMIT, ELASTIC, BOUNDED = range(5)
DISC, ELLIPSE, ELLIPSOID, BOX = range(4)


@dataclass
class Block:
    """Some rows with one law, over one or more column blocks."""

    law: int
    columns: dict[int, Vector]
    """Rows (k, width) over each column block that they touch."""
    bias: Vector
    friction_set: int = DISC
    friction: tuple[float, float, float] = (0.0, 0.0, 0.0)
    compliance: Vector = field(default_factory=lambda: np.zeros(0))
    bound: Vector = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        rows = len(self.bias)
        self.compliance = self.compliance if len(self.compliance) else np.zeros(rows)
        self.bound = self.bound if len(self.bound) else np.zeros(rows)


@dataclass
class RawProblem:
    """One problem in dense arrays; what W alone states has J = I and ``inverse`` = W."""

    kind: str
    """"matrix", "bodies" or "soft"."""
    width: list[int]
    """Unknowns of each column block: bodies, nodes."""
    v_free: Vector
    blocks: list[Block]
    inverse: Vector | None = None
    """(nv, nv) A^-1 as it is given; None where only A is."""
    matrix: Vector | None = None
    """(nv, nv) A."""
    sparse: bool = False
    """Whether W is handed over as a sparse matrix."""
    rigid: int = 0
    """Of soft problems: column blocks that are rigid bodies; they come first."""
    springs: list[tuple[int, int]] = field(default_factory=list)
    """Of soft problems: pairs of nodes that a 3x3 block of A joins."""
    bodies: list[int] = field(default_factory=list)
    """Of soft problems: first node of each soft body, and the end of the last."""
    missing: Vector | None = None
    """(nv,) [N s] of soft problems: ``v_free`` lacks A^-1 missing, which is to be solved for by whoever needs it."""
    traits: list[str] = field(default_factory=list)

    @property
    def row_start(self) -> Ints:
        """Where blocks start (n + 1,)."""
        return np.concatenate([[0], np.cumsum([len(b.bias) for b in self.blocks])]).astype(np.int32)

    @property
    def column_start(self) -> Ints:
        """Where column blocks start."""
        return np.concatenate([[0], np.cumsum(self.width)]).astype(np.int32)

    @property
    def J(self) -> Vector:
        """Dense constraint matrix (m, nv)."""
        row, column = self.row_start, self.column_start
        J = np.zeros((row[-1], column[-1]))
        for c, block in enumerate(self.blocks):
            for b, rows in block.columns.items():
                J[row[c] : row[c + 1], column[b] : column[b + 1]] = rows
        return J

    def joined(self, name: str) -> Vector:
        """An array of all blocks, one after the other."""
        return np.concatenate([getattr(b, name) for b in self.blocks]) if self.blocks else np.zeros(0)
