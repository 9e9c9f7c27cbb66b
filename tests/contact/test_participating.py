"""Participating unknowns: A^, what is eliminated, and W, against dense algebra ([han2023] eq. 14-17)."""

from dataclasses import replace

import numpy as np
import pytest

from stickslip import Scene, Simulation, elastic, tet_generators
from stickslip.contact.laws import CONTACT
from stickslip.contact.participating import Participating, given_participating, participating
from stickslip.contact.problem import ContactProblem
from stickslip.errors import DivergenceError, InputError
from stickslip.linalg.block_rows import BlockRows, summed, to_dense
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.given_inverse import GivenInverse
from stickslip.linalg.inertia import Inertia
from stickslip.solvers.sap.sap import Sap


def soft_problem(both: bool = True) -> ContactProblem:
    """Soft boxes on each other and on the ground, one welded to a ball, and a ball that nothing touches."""
    scene = Scene()
    scene.add_half_space(friction=0.4)
    mesh, material = tet_generators.box((0.1, 0.1, 0.1), 2), elastic(2e5, 0.3, beta=0.01)
    scene.add_sphere(0.05, (3, 0, 2))
    lower = scene.add_soft(mesh, material, (0, 0, 0.0499), friction=0.4, velocity=(0.2, 0.1, 0))
    if both:
        scene.add_soft(mesh, material, (0.02, 0.01, 0.1496), friction=0.4)
        scene.add_box((0.1, 0.1, 0.1), (0, 0, 0.2494), friction=0.4)
    scene.add_sphere(0.05, (0.5, 0, 0.0499), friction=0.4)
    ball = scene.add_sphere(0.02, (-0.07, 0, 0.08))
    scene.weld_nodes(lower, mesh.nodes_on_plane("x", float(mesh.nodes[:, 0].min())), ball)
    return Simulation(scene, dt=0.005, solver="sap").step().problem


def dense_A(A: Inertia) -> np.ndarray:
    """A, column by column."""
    return np.column_stack([A.apply(e) for e in np.eye(A.dense.size + A.nodes.size)])


def dense_clusters(part: Participating) -> tuple[np.ndarray, np.ndarray]:
    """A^ and its inverse (3 p, 3 p)."""
    A, n = part.A, part.size
    blocks, inverses = np.zeros((n, n)), np.zeros((n, n))
    for k in range(len(A.start) - 1):
        own, size = slice(A.start[k], A.start[k + 1]), A.start[k + 1] - A.start[k]
        data = slice(A.data_start[k], A.data_start[k + 1])
        blocks[own, own], inverses[own, own] = A.data[data].reshape(size, size), A.inverse[data].reshape(size, size)
    return blocks, inverses


@pytest.mark.parametrize("both", [False, True])
def test_soft_and_rigid_bodies_against_dense_algebra(both: bool) -> None:
    problem = soft_problem(both)
    assert problem.A.has_soft
    part, A, J = problem.participating, dense_A(problem.A), to_dense(problem.J)
    p = part.unknown
    assert (p >= 0).all()
    assert len(np.unique(p)) == len(p) < len(A)
    n = np.setdiff1d(np.arange(len(A)), p)
    assert not J[:, n].any()  # what does not take part is touched by nothing
    assert to_dense(part.J) == pytest.approx(J[:, p])
    # eq. 16; bodies apart
    schur = A[np.ix_(p, p)] - A[np.ix_(p, n)] @ np.linalg.solve(A[np.ix_(n, n)], A[np.ix_(n, p)])
    blocks, inverses = dense_clusters(part)
    assert blocks == pytest.approx(schur, rel=1e-8, abs=1e-10 * np.abs(schur).max())
    assert blocks @ inverses == pytest.approx(np.eye(len(p)), abs=1e-8)
    assert np.array_equal(blocks, blocks.T)
    # eq. 15: momentum of all from impulses on those that take part
    rng = np.random.default_rng(0)
    lam, v_free = rng.normal(size=len(J)), rng.normal(size=len(A))
    v = part.extended(v_free, np.linalg.solve(schur, (J.T @ lam)[p]))
    assert v == pytest.approx(v_free + np.linalg.solve(A, J.T @ lam), rel=1e-7, abs=1e-8)
    assert np.array_equal(part.taken(v_free), v_free[p])
    # W
    W = J @ np.linalg.solve(A, J.T)
    assert part.diagonal() == pytest.approx(np.diagonal(W), rel=1e-8)
    assert np.array_equal(problem.diagonal, part.diagonal())


def odd_blocks(seed: int) -> tuple[BlockRows, Inertia]:
    """Bodies of 1 to 7 unknowns, and blocks of 1 to 6 rows over none to three of them."""
    rng = np.random.default_rng(seed)
    width = np.array([6, 1, 2, 3, 4, 5, 7, 2])
    column_start = summed(width)
    roots = [rng.normal(size=(w, w + 2)) for w in width]
    blocks = [root @ root.T for root in roots]
    A = DenseBlocks(
        column_start, summed(width**2), np.concatenate([b.ravel() for b in blocks]),
        np.concatenate([np.linalg.inv(b).ravel() for b in blocks]),
    )  # fmt: skip
    height = rng.integers(1, 7, size=9)
    chosen = [np.sort(rng.choice(7, size=k, replace=False)) for k in (1, 2, 3, 2, 1, 0, 2, 3, 1)]  # the last one rests
    entries = [rng.normal(size=(h, width[b])) for h, bodies in zip(height, chosen) for b in bodies]
    J = BlockRows(
        summed(height), summed(np.array([len(c) for c in chosen])), np.concatenate(chosen).astype(np.int32),
        summed(np.array([e.size for e in entries])), np.concatenate([e.ravel() for e in entries]), column_start,
    )  # fmt: skip
    return J, Inertia(A)


@pytest.mark.parametrize("seed", range(5))
def test_widths_that_are_no_multiple_of_three_are_padded(seed: int) -> None:
    J, A = odd_blocks(seed)
    part = participating(J, A)
    real = part.unknown >= 0
    dense, own = to_dense(J), to_dense(part.J)
    assert own[:, real] == pytest.approx(dense[:, part.unknown[real]])
    assert not own[:, ~real].any()
    assert not dense[:, np.setdiff1d(np.arange(dense.shape[1]), part.unknown)].any()
    blocks, inverses = dense_clusters(part)
    full = dense_A(A)
    assert blocks[np.ix_(real, real)] == pytest.approx(full[np.ix_(part.unknown[real], part.unknown[real])])
    assert np.array_equal(blocks[~real], np.eye(part.size)[~real])  # nothing moves the others
    assert blocks @ inverses == pytest.approx(np.eye(part.size), abs=1e-9)
    assert part.diagonal() == pytest.approx(np.diagonal(dense @ np.linalg.solve(full, dense.T)))
    v, change = np.arange(float(len(full))), np.ones(part.size)
    wanted = v.copy()
    wanted[part.unknown[real]] += 1.0
    assert np.array_equal(part.extended(v, change), wanted)
    assert np.array_equal(part.taken(v)[~real], np.zeros((~real).sum()))


@pytest.mark.parametrize("seed", range(3))
def test_problems_given_by_w_are_the_same_plus_what_is_added(seed: int) -> None:
    J, A = odd_blocks(seed)
    dense = to_dense(J)
    W = dense @ np.linalg.solve(dense_A(A), dense.T)
    rng = np.random.default_rng(seed)
    added = rng.uniform(0.1, 1.0, size=len(W))
    rows = np.repeat(np.arange(len(W)), len(W)), np.tile(np.arange(len(W)), len(W))
    keep = np.abs(W[rows]) > 1e-12
    given = GivenInverse(
        W[rows][keep], rows[1][keep].astype(np.int32),
        np.concatenate([[0], np.cumsum(keep.reshape(W.shape).sum(axis=1))]).astype(np.int32),
    )  # fmt: skip
    blocks_of = np.arange(J.block_count, dtype=np.int32)
    identity = J._replace(column_start=J.row_start, entry_start=np.arange(J.block_count + 1, dtype=np.int32))
    height = np.diff(J.row_start)
    identity = identity._replace(
        entry_column=blocks_of, data_start=summed(height**2), data=np.concatenate([np.eye(h).ravel() for h in height])
    )
    part = given_participating(identity, given, added)
    own = to_dense(part.J)
    blocks, inverses = dense_clusters(part)
    assert own @ inverses @ own.T == pytest.approx(W + np.diag(added), abs=1e-10)
    assert blocks @ inverses == pytest.approx(np.eye(part.size), abs=1e-8)
    assert part.diagonal() == pytest.approx(np.diagonal(W) + added)
    assert len(part.A.start) > 2  # blocks that W does not join are apart
    with pytest.raises(DivergenceError, match="not positive definite"):
        given_participating(identity, given, added - 2.0 * np.abs(W).max())


def test_the_same_problem_as_bodies_and_as_w_has_the_same_impulses() -> None:
    problem = soft_problem()
    assert (problem.laws.law == CONTACT).any()
    assert not (problem.laws.law == CONTACT).all()
    solver = Sap(tolerance=1e-10)
    bodies, given = solver.solve(problem), solver.solve(problem.condensed)
    assert bodies.converged
    assert given.converged
    u = problem.constraint_velocity(bodies.v)
    assert given.v == pytest.approx(u, abs=1e-7 * np.abs(problem.free_constraint_velocity).max())
    pushing = problem.laws.law.repeat(np.diff(problem.J.row_start)) == CONTACT
    assert given.lam[pushing] == pytest.approx(bodies.lam[pushing], abs=1e-5 * np.abs(bodies.lam).max())


def test_w_alone_has_no_unknowns_to_eliminate() -> None:
    problem = replace(soft_problem(False).condensed)
    with pytest.raises(InputError, match="given by its Delassus matrix"):
        _ = problem.participating
