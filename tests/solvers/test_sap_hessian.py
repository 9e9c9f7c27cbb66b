"""The Hessian of the convex problem: its blocks and islands against dense algebra, and what is remembered of it."""

import numpy as np
import pytest
from mixed_problems import mixed_problem
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from stickslip.contact.laws import BILATERAL, BOUNDED, CONTACT, ELASTIC, LIMIT
from stickslip.contact.participating import Participating
from stickslip.linalg.block_cholesky import solve
from stickslip.linalg.block_rows import BlockRows, summed, to_dense
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.solvers.sap.hessian import base_of, factorised, structure_of
from stickslip.solvers.sap.laws import SapLaws, curvatures, times
from stickslip.workspace import Workspace


def random_part(seed: int) -> tuple[Participating, SapLaws]:
    """Clusters of one to nine blocks; contacts over up to six of them, some twice, joints, and blocks over nothing."""
    rng = np.random.default_rng(seed)
    size = 3 * rng.integers(1, 10, size=int(rng.integers(2, 9)))
    start = summed(size)
    cluster = np.repeat(np.arange(len(size)), size // 3)
    roots = [rng.normal(size=(s, s + 2)) for s in size]
    blocks = [root @ root.T / s for root, s in zip(roots, size)]
    A = DenseBlocks(
        start, summed(size**2), np.concatenate([b.ravel() for b in blocks]),
        np.concatenate([np.linalg.inv(b).ravel() for b in blocks]),
    )  # fmt: skip
    law, height, column = [], [], []
    for _ in range(int(rng.integers(3, 12))):
        law.append(int(rng.choice([CONTACT, CONTACT, BILATERAL, LIMIT, ELASTIC, BOUNDED])))
        height.append(3 if law[-1] == CONTACT else int(rng.integers(1, 7)))
        touched = rng.choice(len(size), size=min(len(size), int(rng.integers(0, 3))), replace=False)
        own = np.flatnonzero(np.isin(cluster, touched))
        column.append(rng.permutation(own)[: int(rng.integers(1, 7))])
        if rng.random() < 0.3:  # a redundant one
            law.append(law[-1])
            height.append(height[-1])
            column.append(column[-1])
    entries = [rng.normal(size=(h, 3)) for h, columns in zip(height, column) for _ in columns]
    J = BlockRows(
        summed(np.array(height)), summed(np.array([len(c) for c in column])),
        np.concatenate(column).astype(np.int32), summed(np.array([e.size for e in entries])),
        np.concatenate([np.zeros(0), *(e.ravel() for e in entries)]), 3 * np.arange(len(cluster) + 1, dtype=np.int32),
    )  # fmt: skip
    rows = J.row_count
    R = np.repeat(10.0 ** rng.uniform(-3, 0, size=len(law)), height)
    laws = SapLaws(J.row_start, np.array(law, np.int32), rng.uniform(0, 1, size=len(law)), np.ones(rows), R)
    return Participating(A, J, np.arange(int(start[-1]), dtype=np.int64), ()), laws


@pytest.mark.parametrize("seed", range(30))
def test_factors_and_islands_against_dense_algebra(seed: int) -> None:
    part, laws = random_part(seed)
    rng = np.random.default_rng(seed)
    structure = structure_of(part, Workspace())
    base = base_of(structure, part)
    J, n = to_dense(part.J), part.size
    A = np.zeros((n, n))
    for k in range(len(part.A.start) - 1):
        own, size = slice(part.A.start[k], part.A.start[k + 1]), part.A.start[k + 1] - part.A.start[k]
        A[own, own] = part.A.data[part.A.data_start[k] : part.A.data_start[k + 1]].reshape(size, size)
    factor = None
    for _ in range(2):  # the second factor takes the place of the first
        G = np.zeros((len(J), 3))
        curvatures(laws, rng.normal(size=len(J)), G)
        product = np.empty((len(J), n))
        for k in range(n):
            y = np.empty(len(J))
            times(laws, G, np.ascontiguousarray(J[:, k]), y)
            product[:, k] = y
        H = A + J.T @ product
        factor = factorised(structure, part, base, laws, G, factor)
        assert factor.positive
        b = rng.normal(size=n)
        assert solve(factor, b) == pytest.approx(np.linalg.solve(H, b), rel=1e-6, abs=1e-8)

    # islands: clusters that blocks join
    cluster = np.repeat(np.arange(len(part.A.start) - 1), np.diff(part.A.start) // 3)
    owner = np.repeat(np.arange(part.J.block_count), np.diff(part.J.entry_start))
    touches = csr_array(
        (np.ones(len(owner)), (owner, cluster[part.J.entry_column])), shape=(part.J.block_count, cluster[-1] + 1)
    )
    count, wanted = connected_components(touches.T @ touches, directed=False)
    assert structure.island_count == count
    of_block = wanted[cluster]
    assert len(np.unique(np.column_stack([structure.island, of_block]), axis=0)) == count
    assert np.array_equal(np.sort(structure.blocks), np.arange(part.J.block_count))
    for k in range(count):
        for c in structure.blocks[structure.block_start[k] : structure.block_start[k + 1]]:
            columns = part.J.entry_column[part.J.entry_start[c] : part.J.entry_start[c + 1]]
            assert (structure.island[columns] == k).all()


def test_structures_are_remembered_by_who_touches_whom() -> None:
    part, other = mixed_problem(3).participating, mixed_problem(3).participating
    known = Workspace()
    assert part is not other
    assert structure_of(part, known) is structure_of(other, known)
    moved = other.J._replace(data=2.0 * other.J.data)
    assert structure_of(Participating(other.A, moved, other.unknown, ()), known) is structure_of(part, known)
    column = other.J.entry_column.copy()
    column[[0, 1]] = column[[1, 0]]
    swapped = Participating(other.A, other.J._replace(entry_column=column), other.unknown, ())
    assert structure_of(swapped, known) is not structure_of(part, known)
    # the same entries over other clusters: two bodies made one
    start = np.delete(other.A.start, 1)
    merged = Participating(other.A._replace(start=start), other.J, other.unknown, ())
    assert structure_of(merged, known) is not structure_of(part, known)
