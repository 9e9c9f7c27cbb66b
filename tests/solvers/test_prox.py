"""The family of PROX schemes: factors, schemes, stopping, and what PGS is a special case of."""

from dataclasses import replace

import numpy as np
import pytest

from stickslip import InputError, Scene, Simulation
from stickslip.arrays import Array
from stickslip.contact.gallery import GALLERY
from stickslip.contact.laws import BOX_SET
from stickslip.contact.problem import ContactProblem
from stickslip.contact.reordering import reordered
from stickslip.contact.residual import residual
from stickslip.solvers.pgs import ProjectedGaussSeidel
from stickslip.solvers.prox import gauss_seidel as prox_gs
from stickslip.solvers.prox.factors import reciprocal_of_eigenvalues, starting_factors
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel
from stickslip.solvers.prox.jacobi import ProxJacobi
from stickslip.solvers.prox.slabs import slabs_of

SCHEMES = {"gauss-seidel": ProxGaussSeidel, "jacobi": ProxJacobi}


def lattice(n: int, torsion: float = 0.0, tilt: float = 0.3) -> ContactProblem:
    """The problem of the first step of n^3 touching balls under gravity that is not vertical."""
    scene = Scene(gravity=(tilt, 0.0, -9.81))
    scene.add_half_space(torsion=torsion)
    for k in range(n**3):
        cell = np.array([k % n, (k // n) % n, k // n**2])
        # half a metre: global factors take radians for metres, which is fair at this size only
        scene.add_sphere(0.5, cell + (0.0, 0.0, 0.5), torsion=torsion, angular_velocity=(0, 0, 1.0 + 0.1 * k))
    return Simulation(scene, 0.005, ProxGaussSeidel(max_iterations=1, subspace=0)).step().problem


def dense(problem: ContactProblem) -> Array:
    return np.asarray(problem.A.delassus(problem.J).toarray())


# ---- factors -----------------------------------------------------------------------------------------------


def test_local_factors_are_the_reciprocal_diagonal() -> None:
    """Eq. (39); by default the tangents share the smaller one, and torsion equals it at the torsion length."""
    problem = lattice(2, torsion=0.01)
    diagonal = np.diag(dense(problem)).reshape(-1, 4)
    plain = starting_factors(problem, "local", None, True, 1.0)
    np.testing.assert_allclose(plain.row.reshape(-1, 4), 1.0 / diagonal, rtol=1e-12)
    np.testing.assert_array_equal(plain.length, 1.0)
    ours = starting_factors(problem, "local", None, False, 1.0)
    row = ours.row.reshape(-1, 4)
    np.testing.assert_allclose(row[:, 0], 1.0 / diagonal[:, 0], rtol=1e-12)
    np.testing.assert_allclose(row[:, 1], 1.0 / diagonal[:, 1:3].max(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(row[:, 1], row[:, 2])
    np.testing.assert_allclose(row[:, 3], ours.length**2 * row[:, 1], rtol=1e-12)


def test_blocked_factors_invert_the_friction_block() -> None:
    """Eq. (40), for three and for four rows."""
    for torsion in (0.0, 0.01):
        problem = lattice(2, torsion)
        W, k = dense(problem), 4 if torsion else 3
        factors = starting_factors(problem, "blocked", None, True, 1.0)
        for c in range(problem.block_count):
            block = W[k * c + 1 : k * (c + 1), k * c + 1 : k * (c + 1)]
            np.testing.assert_allclose(factors.friction[c, : k - 1, : k - 1] @ block, np.eye(k - 1), atol=1e-9)


def test_the_global_start_comes_from_the_eigenvalues() -> None:
    problem = lattice(2, torsion=0.0)
    eigenvalues = np.linalg.eigvalsh(dense(problem))
    r = reciprocal_of_eigenvalues(problem)
    assert r == pytest.approx(1.0 / (abs(eigenvalues[0]) + abs(eigenvalues[-1])), rel=0.05)
    assert (starting_factors(problem, "global", None, True, 1.0).row == r).all()
    assert (starting_factors(problem, "global", 5.0, True, 1.0).row == 5.0).all()


# ---- schemes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("factors", ["local", "global"])
@pytest.mark.parametrize("torsion", [0.0, 0.01])
def test_every_scheme_and_strategy_finds_the_same_solution(scheme: str, factors: str, torsion: float) -> None:
    problem = lattice(2, torsion)
    best = ProxGaussSeidel(tolerance=1e-12).solve(problem)
    solution = SCHEMES[scheme](factors=factors, tolerance=1e-9, max_iterations=50000).solve(problem)  # type: ignore[arg-type]
    assert solution.converged
    np.testing.assert_allclose(solution.v, best.v, atol=1e-7)


def test_blocked_factors_stick_as_well_but_slide_in_the_wrong_direction() -> None:
    """The paper's blocked strategy projects R u in the plain norm: only where nothing slides is that the law."""
    sticks, slips = GALLERY["box-sticks-on-slope"](), GALLERY["box-slips-on-slope"]()
    solver = ProxGaussSeidel(factors="blocked", subspace=0, tolerance=1e-10)
    assert solver.solve(sticks.problem).converged
    sliding = solver.solve(slips.problem)
    assert sliding.status == "stalled"
    assert 1e-5 < np.abs(sliding.v - slips.v).max() < 1e-2


def test_divergence_is_rolled_back_and_counted() -> None:
    """Factors ten times too large: the first sweeps diverge, are taken back, and the rest converges."""
    problem = GALLERY["redundant-table"]().problem
    start = 10.0 / np.diag(dense(problem)).min()
    paper = ProxGaussSeidel(factors="global", r_start=start, criterion="step", tolerance=1e-9, relative=0.0, growth=1.0)
    solution = paper.solve(problem)
    assert solution.rollbacks >= 3
    assert solution.converged
    assert residual(problem, solution.lam).scaled < 1e-6


@pytest.mark.parametrize("scheme", SCHEMES)
def test_stopping_on_the_change_of_an_iteration(scheme: str) -> None:
    """Eq. (27): absolutely, relatively, or not at all; the history is the merit of every iteration."""
    problem = lattice(2)
    make = SCHEMES[scheme]
    done = make(criterion="step", tolerance=1e-4, relative=0.0, max_iterations=5000).solve(problem)
    assert done.status == "converged"
    assert done.history[-1, 1] <= 1e-4 < done.history[-2, 1]
    assert len(done.history) == done.iterations
    slow = make(criterion="step", tolerance=1e-14, relative=0.5, max_iterations=5000).solve(problem)
    assert slow.status == "stalled"
    last, before = slow.history[-1, 1], slow.history[:-1, 1]
    assert np.abs(before - last).min() < 0.5 * before.max()
    short = make(criterion="step", tolerance=1e-14, relative=0.0, max_iterations=4).solve(problem)
    assert (short.status, short.iterations) == ("max-iterations", 4)


@pytest.mark.parametrize(
    ("option", "value"),
    [("factors", "mine"), ("relaxation", 2.0), ("r_start", 0.0), ("relative", -1.0), ("criterion", "none")],
)
def test_options_out_of_range_are_refused(option: str, value: object) -> None:
    with pytest.raises(InputError, match=option):
        ProxJacobi(**{option: value})  # type: ignore[arg-type]


# ---- projected Gauss-Seidel -----------------------------------------------------------------------------------


@pytest.mark.parametrize("relaxation", [1.0, 1.3, 0.7])
def test_projected_gauss_seidel_is_the_textbook_one(relaxation: float) -> None:
    """Against PGS and PSOR written down from the textbook, contact by contact, row by row within the normal first."""
    problem = lattice(2)
    W, q, mu = dense(problem), problem.free_constraint_velocity, problem.laws.friction[:, 0]
    lam = np.zeros(len(q))
    for _ in range(30):
        for c in range(len(mu)):
            rows = slice(3 * c, 3 * c + 3)
            z = lam[rows] - relaxation * (W[rows] @ lam + q[rows]) / np.diag(W)[rows]
            normal = max(0.0, z[0])
            lam[rows] = normal, *np.clip(z[1:], -mu[c] * normal, mu[c] * normal)
    ours = ProjectedGaussSeidel(max_iterations=30, relaxation=relaxation, tolerance=1e-15).solve(problem)
    np.testing.assert_allclose(ours.lam, lam, atol=1e-12 * np.abs(lam).max())


def test_projected_gauss_seidel_obeys_the_box_and_the_certificate_says_so() -> None:
    """A block that slides along the diagonal of the contact frame is held by sqrt(2) times its friction."""
    scene = Scene()
    scene.add_half_space()
    block = scene.add_box((1, 1, 0.2), (0, 0, 0.1), velocity=(1.0, 1.0, 0.0))
    sim = Simulation(scene, 0.001, "pgs")
    result = sim.step()
    assert sim.solver.law == "box"
    slowed = np.sqrt(2.0) - np.linalg.norm(sim.velocity(block)[:2])
    assert slowed == pytest.approx(np.sqrt(2.0) * 0.5 * 9.81 * 0.001, rel=1e-3)
    assert result.certificate.cone_violation > 0.1 * 0.5 * sim.model.mass[1] * 9.81
    boxes = np.full(result.problem.block_count, BOX_SET, dtype=np.int32)
    boxed = replace(result.problem, laws=result.problem.laws._replace(friction_set=boxes))
    assert residual(boxed, result.solution.lam).scaled <= 1e-8


# ---- slabs ----------------------------------------------------------------------------------------------------


def islands() -> ContactProblem:
    """Three columns of balls that do not touch each other."""
    scene = Scene()
    scene.add_half_space()
    for column, height in enumerate((2, 9, 30)):
        for k in range(height):
            scene.add_sphere(0.05, (column, 0.0, 0.05 + 0.1 * k))
    return Simulation(scene, 0.005, ProxGaussSeidel(max_iterations=1, subspace=0)).step().problem


@pytest.mark.parametrize("make", [lambda: lattice(5), islands])
def test_the_parts_of_a_phase_share_no_body(make: object) -> None:
    problem: ContactProblem = make()  # type: ignore[operator]
    J, slabs = problem.J, slabs_of(problem.J)
    assert slabs is not None
    assert sorted(slabs.order) == list(range(problem.block_count))
    for phase in range(3):
        seen: set[int] = set()
        for p in range(slabs.phase_start[phase], slabs.phase_start[phase + 1]):
            contacts = slabs.order[slabs.part_start[p] : slabs.part_start[p + 1]]
            bodies = {int(b) for c in contacts for b in J.entry_column[J.entry_start[c] : J.entry_start[c + 1]]}
            assert not seen & bodies
            seen |= bodies


def test_a_reordered_problem_is_the_same_problem() -> None:
    problem = lattice(3, torsion=0.01)
    order = np.random.default_rng(0).permutation(problem.block_count).astype(np.int32)
    expected = problem.diagonal.copy()
    inner, rows = reordered(problem, order)
    np.testing.assert_array_equal(dense(inner), dense(problem)[np.ix_(rows, rows)])
    np.testing.assert_array_equal(inner.free_constraint_velocity, problem.free_constraint_velocity[rows])
    np.testing.assert_array_equal(problem.diagonal, expected)
    lam = np.random.default_rng(1).random(problem.row_count)
    assert residual(inner, lam[rows]).scaled == pytest.approx(residual(problem, lam).scaled, rel=1e-12)


@pytest.mark.parametrize("torsion", [0.0, 0.01])
def test_sweeps_in_slabs_find_the_same_solution(torsion: float, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = lattice(4, torsion)
    options = ProxGaussSeidel(tolerance=1e-10, max_iterations=20000, subspace=0)
    serial = options.solve(problem)
    monkeypatch.setattr(prox_gs, "SLAB_BLOCKS", 0)
    slabs = options.solve(problem)
    assert serial.converged
    assert slabs.converged
    np.testing.assert_allclose(slabs.v, serial.v, atol=1e-8)
    again = options.solve(problem, slabs.lam)
    assert again.iterations <= 20
