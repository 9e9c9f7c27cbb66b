"""Linear solvers against dense algebra. Systems: random_systems.py."""

import os

import numpy as np
import pytest
from random_systems import random_inertia, random_rows, random_system

import child_process
from stickslip.errors import InputError
from stickslip.linalg.inertia import Inertia, given
from stickslip.linalg.linear_solvers import LINEAR_SOLVERS
from stickslip.linalg.relaxation import RELAXATION, jacobi_steps
from stickslip.linalg.schur_system import SchurSystem, apply, schur_system, to_dense

KINDS = ("rigid", "joints", "particles", "mixed")
every_solver = pytest.mark.parametrize("name", LINEAR_SOLVERS)
every_kind = pytest.mark.parametrize("kind", KINDS)


def right_side(system: SchurSystem, seed: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=system.row_count)


def island_rows(system: SchurSystem, island: int) -> np.ndarray:
    return system.row[system.islands.row_start[island] : system.islands.row_start[island + 1]]


@every_kind
def test_products_and_diagonals_are_those_of_the_matrix(kind: str):
    system = random_system(0, kind, islands=2)
    x, S = right_side(system), to_dense(system)
    np.testing.assert_allclose(apply(system, x), S @ x, rtol=1e-12, atol=1e-12 * np.abs(S @ x).max())
    np.testing.assert_allclose(system.diagonal, np.diag(S), rtol=1e-12)


@every_kind
@pytest.mark.parametrize(("name", "iterations"), [("pcr", 500), ("pcg", 500), ("direct", 10), ("gauss-seidel", 20000)])
def test_solutions_are_those_of_dense_algebra(kind: str, name: str, iterations: int):
    system = random_system(1, kind, islands=2)
    b, S = right_side(system), to_dense(system)
    found = LINEAR_SOLVERS[name](system, b, iterations=iterations, tolerance=1e-12)
    exact = np.linalg.solve(S, b)
    # a residual of 1e-12 |b| moves x by at most that times |S^-1|; recurrences lose some digits more
    bound = 1e-11 * np.linalg.norm(b) * np.linalg.norm(np.linalg.inv(S), 2)
    assert np.linalg.norm(found.x - exact) <= bound


@every_kind
@every_solver
def test_recorded_residuals_are_true(kind: str, name: str):
    system = random_system(2, kind, islands=3)
    b, x0, S = right_side(system), right_side(system, 8), to_dense(system)
    for iterations in (0, 1, 2, 5):
        found = LINEAR_SOLVERS[name](system, b, x0, iterations)
        assert found.iterations <= iterations
        assert len(found.residuals) == len(found.weighted) == found.iterations + 1
        first, last = b - S @ x0, b - S @ found.x
        for r, k in ((first, 0), (last, -1)):
            scale = np.linalg.norm(first)
            assert found.residuals[k] == pytest.approx(np.linalg.norm(r), rel=1e-9, abs=1e-12 * scale)
            weighted = np.sqrt(r @ (r / np.diag(S)))
            assert found.weighted[k] == pytest.approx(weighted, rel=1e-9, abs=1e-12 * scale)


@every_kind
@pytest.mark.parametrize("compliance", [0.0, 0.5])
def test_conjugate_residuals_never_grow(kind: str, compliance: float):
    for seed in range(5):
        system = random_system(seed, kind, blocks=30, compliance=compliance)
        found = LINEAR_SOLVERS["pcr"](system, right_side(system), iterations=200)
        assert (np.diff(found.weighted) < 0.0).all()


def test_conjugate_residuals_have_the_least_residual_of_the_krylov_space():
    system = random_system(3, "mixed")
    b, S, inverse = right_side(system), to_dense(system), 1.0 / system.diagonal
    space = [inverse * b]
    for k in range(1, 6):
        # weighted least squares over span{z, D^-1 S z, ...}
        basis = np.linalg.qr(np.array(space).T)[0]
        weight = np.sqrt(inverse)
        rest = np.linalg.lstsq(weight[:, None] * (S @ basis), weight * b, rcond=None)[1]
        found = LINEAR_SOLVERS["pcr"](system, b, iterations=k)
        assert found.weighted[-1] == pytest.approx(np.sqrt(rest[0]), rel=1e-8)
        space.append(inverse * (S @ space[-1]))


@every_kind
def test_gauss_seidel_is_the_textbooks(kind: str):
    system = random_system(4, kind, islands=2)
    b, S = right_side(system), to_dense(system)
    x0 = right_side(system, 9)
    x = x0.copy()
    for _ in range(3):
        for i in range(len(b)):
            x[i] += (b[i] - S[i] @ x) / S[i, i]
    np.testing.assert_allclose(LINEAR_SOLVERS["gauss-seidel"](system, b, x0, 3).x, x, rtol=1e-10, atol=1e-12)


@every_kind
def test_steps_of_jacobi_are_bounded_where_plain_ones_diverge(kind: str):
    system = random_system(5, kind, blocks=60)
    S = to_dense(system)
    bound = np.empty(system.row_count)
    bound[system.row] = RELAXATION / jacobi_steps(system)
    scaled = S / np.sqrt(np.outer(bound, bound))
    assert np.linalg.eigvalsh(scaled)[-1] <= 1.0 + 1e-12
    plain = S / np.sqrt(np.outer(np.diag(S), np.diag(S)))
    assert np.linalg.eigvalsh(plain)[-1] > 2.0
    found = LINEAR_SOLVERS["jacobi"](system, right_side(system), iterations=300)
    assert found.residuals[-1] < 0.7 * found.residuals[0]


@every_solver
@every_kind
def test_islands_are_solved_apart(kind: str, name: str):
    """Each island gives the bits that it gives alone, whatever the others do; direct, to its accuracy."""
    system = random_system(6, kind, islands=3)
    b = right_side(system)
    together = LINEAR_SOLVERS[name](system, b, iterations=7)
    for island in range(3):
        rows = island_rows(system, island)
        alone = np.zeros_like(b)
        alone[rows] = b[rows]
        x = LINEAR_SOLVERS[name](system, alone, iterations=7).x
        assert not x[np.setdiff1d(np.arange(len(b)), rows)].any()
        if name == "direct":
            np.testing.assert_allclose(together.x[rows], x[rows], rtol=1e-9, atol=1e-9)
        else:
            np.testing.assert_array_equal(together.x[rows], x[rows])


@every_solver
def test_the_numbering_of_islands_does_not_matter(name: str):
    """One island of the whole against a system that has nothing else."""
    whole = random_system(7, "rigid", blocks=20, islands=2)
    rng = np.random.default_rng(0)
    order = whole.islands.order[: whole.islands.start[1]]
    J = whole.J
    dense = to_dense(whole)[np.ix_(island_rows(whole, 0), island_rows(whole, 0))]
    columns = [tuple(int(b) // 2 for b in J.entry_column[J.entry_start[c] : J.entry_start[c + 1]]) for c in order]
    widths = np.full(6, 6, dtype=np.int32)
    data = np.concatenate([J.data[J.data_start[J.entry_start[c]] : J.data_start[J.entry_start[c + 1]]] for c in order])
    H = whole.H._replace(
        start=whole.H.start[:7],
        data_start=whole.H.data_start[:7],
        data=whole.H.data.reshape(-1, 36)[0::2].ravel(),
        inverse=whole.H.inverse.reshape(-1, 36)[0::2].ravel(),
    )
    rows = random_rows(rng, columns, [3] * len(order), widths)._replace(data=data)
    part = schur_system(rows, Inertia(H), whole.C[island_rows(whole, 0)])
    np.testing.assert_allclose(to_dense(part), dense, atol=1e-12)
    b = right_side(whole)
    x = LINEAR_SOLVERS[name](whole, b, iterations=5).x[island_rows(whole, 0)]
    np.testing.assert_allclose(LINEAR_SOLVERS[name](part, b[island_rows(whole, 0)], iterations=5).x, x, rtol=1e-9)


@every_solver
@every_kind
def test_redundant_rows_are_no_obstacle(kind: str, name: str):
    """More rows than unknowns, no compliance: consistent right-hand sides are answered, others as well as can be."""
    system = random_system(8, kind, blocks=40, compliance=0.0)
    S = to_dense(system)
    assert np.linalg.matrix_rank(S) < system.row_count
    consistent, any_side = S @ right_side(system), right_side(system)
    found = LINEAR_SOLVERS[name](system, consistent, iterations=300)
    assert found.residuals[-1] <= (0.2 if name == "jacobi" else 1e-6) * found.residuals[0]
    found = LINEAR_SOLVERS[name](system, any_side, iterations=300)
    assert np.isfinite(found.x).all()
    weight = 1.0 / np.sqrt(np.diag(S))
    scaled = S * np.outer(weight, weight)
    least = np.linalg.norm(weight * any_side - scaled @ (np.linalg.pinv(scaled, rcond=1e-10) @ (weight * any_side)))
    assert found.weighted[-1] >= least * (1.0 - 1e-9)
    if name == "direct":
        assert found.weighted[-1] <= least * 1.001
        assert np.abs(found.x).max() < 1e4
    if name == "pcr":
        assert np.abs(found.x).max() < 1e4


@every_solver
def test_nothing_to_do_is_done_at_once(name: str):
    system = random_system(9, "mixed", islands=2)
    zero = LINEAR_SOLVERS[name](system, np.zeros(system.row_count))
    assert zero.iterations == 0
    assert not zero.x.any()
    assert zero.residuals[0] == 0.0
    x = right_side(system)
    b = apply(system, x)
    again = LINEAR_SOLVERS[name](system, b, x, tolerance=1e-10)
    assert again.iterations == 0
    np.testing.assert_array_equal(again.x, x)


@pytest.mark.parametrize("name", ["pcr", "pcg", "gauss-seidel", "jacobi"])
def test_the_tolerance_is_met_by_every_island(name: str):
    system = random_system(10, "rigid", blocks=30, islands=3)
    b = right_side(system)
    b[island_rows(system, 0)] *= 1e-6
    found = LINEAR_SOLVERS[name](system, b, iterations=20000, tolerance=1e-4)
    r = b - apply(system, found.x)
    for island in range(3):
        rows = island_rows(system, island)
        assert np.linalg.norm(r[rows]) <= 1.0001e-4 * np.linalg.norm(b[rows])


@every_solver
def test_rows_that_nothing_answers_stay_as_they_are(name: str):
    """Blocks between fixed bodies have no column, and rows of zeros no effect."""
    rng = np.random.default_rng(11)
    widths = np.full(2, 6, dtype=np.int32)
    J = random_rows(rng, [(0,), (), (0, 1)], [3, 2, 1], widths)
    J.data[:6] = 0.0  # the first row
    system = schur_system(J, random_inertia(rng, widths))
    found = LINEAR_SOLVERS[name](system, np.ones(6), iterations=200)
    assert np.isfinite(found.x).all()
    assert not found.x[[0, 3, 4]].any()
    assert found.residuals[-1] == pytest.approx(np.sqrt(3.0), abs=1e-3)


@every_solver
@pytest.mark.parametrize("share", [0.5, 0.99, 1.0, 3.0])
def test_an_indefinite_matrix_stops_cleanly(name: str, share: float):
    system = random_system(12, "rigid", blocks=12)
    wrong = schur_system(system.J, Inertia(system.H), system.C - share * system.diagonal)
    found = LINEAR_SOLVERS[name](wrong, right_side(system), iterations=2000)
    assert np.isfinite(found.x).all()
    assert np.isfinite(found.residuals).all()


@every_solver
def test_empty_systems_have_empty_solutions(name: str):
    widths = np.full(2, 6, dtype=np.int32)
    rng = np.random.default_rng(0)
    found = LINEAR_SOLVERS[name](
        schur_system(random_rows(rng, [], [], widths), random_inertia(rng, widths)), np.zeros(0)
    )
    assert found.x.shape == (0,)
    assert found.iterations == 0


def test_wrong_input_is_named():
    system = random_system(13)
    with pytest.raises(InputError, match=r"b has shape \(3,\)"):
        LINEAR_SOLVERS["pcr"](system, np.zeros(3))
    with pytest.raises(InputError, match="x0 has shape"):
        LINEAR_SOLVERS["direct"](system, np.zeros(system.row_count), np.zeros(1))
    for solve in LINEAR_SOLVERS.values():
        for bad in (np.nan, np.inf):
            b = np.zeros(system.row_count)
            b[2] = bad
            with pytest.raises(InputError, match=f"b has the entry {bad} in row 2; all must be finite"):
                solve(system, b)
            with pytest.raises(InputError, match=f"x0 has the entry {bad} in row 2"):
                solve(system, np.zeros(system.row_count), b)
    with pytest.raises(InputError, match="C has shape"):
        schur_system(system.J, Inertia(system.H), np.zeros(1))
    nothing = np.zeros(0)
    with pytest.raises(InputError, match="known by its inverse"):
        schur_system(system.J, given(nothing, nothing.astype(np.int32), np.zeros(1, np.int32)))


def test_the_least_tolerance_is_rounding():
    system = random_system(14, compliance=10.0)
    found = LINEAR_SOLVERS["pcr"](system, right_side(system), iterations=500)
    assert found.iterations < 500
    assert found.residuals[-1] <= 1e-13 * found.residuals[0]


THREADED = """
import hashlib
import numpy as np
from random_systems import random_system
from stickslip.linalg import linear_solution
from stickslip.linalg.linear_solvers import LINEAR_SOLVERS
linear_solution.PARALLEL_ROWS = 0
digest = hashlib.sha256()
for kind in ("rigid", "mixed"):
    system = random_system(0, kind, blocks=400, islands=40)
    b = np.random.default_rng(1).normal(size=system.row_count)
    for solve in LINEAR_SOLVERS.values():
        found = solve(system, b, iterations=6)
        for array in (found.x, found.residuals, found.weighted):
            digest.update(array.tobytes())
print(digest.hexdigest())
"""


def test_threads_do_not_change_a_bit():
    code = f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})" + THREADED
    one, two, three = child_process.outputs_on_threads(code)
    assert one == two == three
