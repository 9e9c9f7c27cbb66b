"""SAP: the minimum of the regularised convex problem, found from anywhere, and what the solver says of it."""

from dataclasses import replace

import numpy as np
import pytest
from mixed_problems import given_by_delassus, mixed_problem, tower, with_idle_contact

from stickslip import InputError, Scene, Simulation
from stickslip.contact.gallery import GALLERY
from stickslip.contact.laws import CONTACT
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem, from_delassus
from stickslip.contact.random_problems import random_problem
from stickslip.linalg.block_rows import to_dense
from stickslip.solvers.apgd import APGD
from stickslip.solvers.auto import Automatic
from stickslip.solvers.sap.laws import SapLaws, impulses
from stickslip.solvers.sap.sap import Sap, _Search
from stickslip.solvers.verdict import judge_solution

STIFF = {"near_rigid": 1e-4, "friction_share": 1e-8, "tolerance": 1e-9}
"""Nearly the convex law itself."""


def search_of(problem: ContactProblem, solver: Sap) -> _Search:
    """The minimisation of a problem of bodies, before its start."""
    laws = problem.laws
    mu = np.ascontiguousarray(laws.friction[:, 0])
    own = SapLaws(problem.J.row_start, laws.law, mu, laws.bound, solver.regularisation(problem))
    part = problem.participating
    return _Search(part, own, problem.free_constraint_velocity, part.taken(problem.v_free), problem.workspace)


# ---- the minimisation ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_the_function_never_rises_and_ends_where_no_other_point_is_lower(seed: int) -> None:
    problem, solver, rng = mixed_problem(seed), Sap(), np.random.default_rng(seed)
    search = search_of(problem, solver)
    search.start(None)
    costs = [search.cost]
    for _ in range(60):
        if search.error <= 1e-12:
            break
        search.step()
        costs.append(search.cost)
    assert search.error <= 1e-8
    assert (np.diff(costs) <= 1e-12 * np.abs(costs[1:])).all()
    w, A = search.w, search.part.A
    gamma = np.empty(problem.row_count)
    for scale in (1e-3, 1e-1, 1.0):
        for _ in range(20):
            other = search.w + scale * rng.normal(size=len(w))
            u = to_dense(search.part.J) @ other + search.q
            kinetic = 0.5 * sum(
                other[A.start[k] : A.start[k + 1]]
                @ A.data[A.data_start[k] : A.data_start[k + 1]].reshape(6, 6)
                @ other[A.start[k] : A.start[k + 1]]
                for k in range(len(A.start) - 1)
            )
            assert kinetic + impulses(search.laws, u, gamma) >= search.cost - 1e-9 * abs(search.cost)


def test_islands_have_line_searches_of_their_own() -> None:
    """A problem beside another one goes the way it goes alone."""
    scene, alone = Scene(), Scene()
    for each, count in ((scene, 2), (alone, 1)):
        each.add_half_space(friction=0.5)
        for k in range(count):
            speed = (1.0, 0.3, -2.0) if k == 0 else (0.0, 0.0, -0.1)
            spin = (3.0, 1.0, 0.0) if k == 0 else (0.0, 0.0, 0.0)
            each.add_box((0.2, 0.1, 0.1), (5.0 * k, 0, 0.05), friction=0.5, velocity=speed, angular_velocity=spin)
    both, one = (Simulation(each, dt=0.01, solver="sap").step() for each in (scene, alone))
    together = Sap().run(both.problem, None, None)  # a step would give it one island after the other
    assert together.counts["islands"] == 2
    assert one.solution.counts["islands"] == 1
    for found in (together, both.solution):
        assert found.v[:6] == pytest.approx(one.solution.v, abs=1e-8)
        assert found.iterations == one.solution.iterations > 1


@pytest.mark.parametrize("seed", range(6))
def test_the_same_minimum_from_any_start(seed: int) -> None:
    problem, solver = mixed_problem(seed), Sap(tolerance=1e-10)
    rng = np.random.default_rng(seed)
    cold = solver.solve(problem)
    assert cold.converged
    for size in (1.0, 1e4):
        warm = solver.solve(problem, size * rng.normal(size=problem.row_count))
        assert warm.converged
        assert warm.v == pytest.approx(cold.v, abs=1e-7 * (1.0 + np.abs(cold.v).max()))
        contact = np.repeat(problem.laws.law == CONTACT, np.diff(problem.J.row_start))
        assert warm.lam[contact] == pytest.approx(cold.lam[contact], abs=1e-5 * (1.0 + np.abs(cold.lam).max()))


def test_convergence_is_quadratic_at_the_end() -> None:
    problem = tower(8)
    problem = replace(
        problem, momentum=Momentum(problem.A, problem.v_free + 0.1 * np.random.default_rng(2).normal(size=48))
    )
    search = search_of(problem, Sap())
    search.start(None)
    errors = [search.error]
    for _ in range(14):
        search.step()
        errors.append(search.error)
    first = next(k for k, error in enumerate(errors) if error < 1e-3)
    assert min(errors[first + 1], errors[first + 2]) <= 10.0 * errors[first] ** 2  # one more where a contact changes
    assert min(errors) <= 1e-9  # rounding, with R at 1e-5 of the mobility


def test_islands_at_rest_are_solved_beside_fast_ones() -> None:
    """The momentum of an island counts by itself: a feather at rest beside a train."""
    scene = Scene()
    scene.add_half_space(friction=0.5)
    scene.add_box((1, 1, 1), (0, 0, 0.5), mass=1e4, friction=0.5, velocity=(10, 0, 0))
    feather = scene.add_sphere(0.05, (5, 0, 0.05), mass=1e-3, friction=0.5)
    sim = Simulation(scene, dt=0.01, solver="sap")
    sim.run(5)
    assert sim.last.certificate.converged
    assert sim.contacts(feather).total_force[2] == pytest.approx(9.81e-3, rel=1e-4)


# ---- which law -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [
    "one-contact-open", "one-contact-stick", "one-contact-rebound", "sphere-rolls-on-slope", "box-sticks-on-slope",
    "stack-of-five", "redundant-table", "ball-in-groove", "hanging-pair", "compliant-joint", "pendulum", "four-bar",
    "drive-holds", "drive-saturates", "short-chain", "heavy-chain",
])  # fmt: skip
def test_known_solutions_where_nothing_slides(name: str) -> None:
    known = GALLERY[name]()
    found = Sap(**STIFF).solve(known.problem)
    assert found.converged
    # what is regularised yields by R gamma
    added = Sap(**STIFF).regularisation(known.problem) - known.problem.laws.compliance
    yielding = np.abs(added * found.lam).sum()
    assert yielding < 2e-3
    assert found.v == pytest.approx(known.v, abs=1e-6 * (1.0 + np.abs(known.v).max()) + yielding)


@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_apgd_as_regularisation_vanishes(seed: int) -> None:
    problem = mixed_problem(seed)
    wanted = APGD(tolerance=1e-11, max_iterations=50_000).solve(problem)
    assert wanted.converged
    errors = []
    for near_rigid, share in ((0.3, 1e-2), (0.03, 1e-4), (0.003, 1e-6)):
        found = Sap(near_rigid=near_rigid, friction_share=share, tolerance=1e-9).solve(problem)
        assert found.converged
        errors.append(np.abs(found.v - wanted.v).max() / np.abs(problem.v_free).max())
    # R falls by a hundred each time, and the error with it
    assert errors[2] <= 1e-4
    assert errors[2] <= 0.05 * errors[0] + 1e-7


@pytest.mark.parametrize("seed", range(4))
def test_without_friction_it_is_the_exact_law(seed: int) -> None:
    problem = mixed_problem(seed)
    problem = replace(problem, laws=problem.laws._replace(friction=np.zeros_like(problem.laws.friction)))
    wanted, found = Automatic(tolerance=1e-10).solve(problem), Sap(**STIFF).solve(problem)
    assert wanted.converged
    assert found.converged
    assert found.v == pytest.approx(wanted.v, abs=1e-5 * np.abs(problem.v_free).max())


def test_regularisation_is_that_of_the_paper() -> None:
    """R_n = beta^2 / (4 pi^2) w, R_t = sigma w; a stiffness softer than near-rigid takes the place of R_n."""
    problem = mixed_problem(1)
    start, contact = problem.J.row_start[:-1], problem.laws.law == CONTACT
    solver = Sap(near_rigid=0.5, friction_share=0.01)
    R = solver.regularisation(problem)
    w = problem.weight[contact]
    assert R[start[contact]] == pytest.approx(0.25 / (4 * np.pi**2) * w)
    assert R[start[contact] + 1] == pytest.approx(0.01 * w)
    assert R[start[contact] + 2] == pytest.approx(0.01 * w)
    compliance = problem.laws.compliance.copy()
    compliance[start[contact]] = 0.3
    softer = solver.regularisation(replace(problem, laws=problem.laws._replace(compliance=compliance)))
    assert softer[start[contact]] == pytest.approx(np.maximum(0.3, R[start[contact]]))
    assert (R[problem.laws.compliance > 0.0] == problem.laws.compliance[problem.laws.compliance > 0.0]).all()
    assert (R > 0.0).all()


# ---- what it says of itself ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["scaled", "siconos"])
def test_random_problems_are_solved_and_judged_honestly(criterion: str) -> None:
    """Problems of bodies, and given ones whose W is symmetric, all converge; others may not, and are told."""
    solver, converged, tried = Sap(criterion=criterion), 0, 0
    for seed in range(120):
        drawn = random_problem(seed)
        try:
            with np.errstate(all="ignore"):
                found = solver.solve(drawn.problem, drawn.warm)
        except InputError as error:
            assert "friction set" in str(error)  # noqa: PT017
            continue
        verdict = judge_solution(solver, drawn.problem, found)
        assert verdict.finite, seed
        assert verdict.honest, (seed, verdict.own)
        if "not symmetric" not in drawn.traits:
            tried += 1
            converged += found.converged
            assert found.converged or criterion == "siconos", (seed, drawn.traits)
    assert converged >= 0.95 * tried


@pytest.mark.parametrize("seed", [89, 220, 400, 502, 569])
def test_impulses_of_sliding_contacts_are_polished(seed: int) -> None:
    """W of many contacts with few unknowns, responses 1e9 apart: impulses are exact to rounding, sliding ones too."""
    found = Sap().solve(random_problem(seed).problem)
    assert found.converged


@pytest.mark.parametrize("seed", [576, 868, 1355])
def test_starts_far_outside_their_cones(seed: int) -> None:
    drawn = random_problem(seed)
    assert drawn.warm is not None
    assert Sap().solve(drawn.problem, drawn.warm).converged


@pytest.mark.parametrize("limit", [1, 2, 4])
@pytest.mark.parametrize("seed", range(12))
def test_cut_off_early_it_says_so_and_velocities_stay_sane(seed: int, limit: int) -> None:
    problem = mixed_problem(seed)
    solver = Sap(max_iterations=limit)
    found = solver.solve(problem)
    verdict = judge_solution(solver, problem, found)
    assert verdict.honest
    assert found.iterations <= limit
    assert found.status in ("max-iterations", "converged")
    assert found.converged == (verdict.own <= solver.tolerance)
    # stiff rows that are not met yet must not throw bodies about
    assert np.abs(found.v).max() <= 100.0 * np.abs(problem.v_free).max()


def test_one_iteration_is_not_enough_for_a_pile() -> None:
    assert Sap(max_iterations=1).solve(mixed_problem(0)).status == "max-iterations"


def test_a_converged_start_takes_no_iteration() -> None:
    for problem in (mixed_problem(2), given_by_delassus(2)):
        first = Sap().solve(problem)
        again = Sap().solve(problem, first.lam)
        assert np.array_equal(again.lam, first.lam)
        assert again.converged
        assert again.iterations == 0
        assert first.iterations > 0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_starts_that_are_no_numbers_are_left_aside(bad: float) -> None:
    problem = mixed_problem(0)
    warm = np.zeros(problem.row_count)
    warm[2] = bad
    with np.errstate(all="ignore"):
        found, cold = Sap().solve(problem, warm), Sap().solve(problem)
    assert found.converged
    assert np.array_equal(found.lam, cold.lam)


def test_nothing_to_solve() -> None:
    scene = Scene()
    scene.add_sphere(0.1, (0, 0, 5))
    result = Simulation(scene, dt=0.01, solver="sap").step()
    assert result.problem.row_count == 0
    assert result.solution.converged
    assert result.solution.v == pytest.approx([0, 0, -0.0981, 0, 0, 0])


def test_a_contact_that_nothing_moves() -> None:
    problem = with_idle_contact(1, speed=1.0)
    found = Sap().solve(problem)
    assert found.converged
    assert found.lam[:3].tolist() == [0.0, 0.0, 0.0]
    alone = from_delassus(np.zeros((3, 3)), [-1.0, 0.5, 0.0], [0.3])
    assert np.isfinite(Sap().solve(alone).lam).all()


def test_w_that_is_indefinite_is_not_called_solved() -> None:
    found = Sap().solve(from_delassus(np.diag([1.0, -2.0, 1.0]), [-1.0, 0.5, 0.1], [0.3]))
    assert found.status == "stalled"
    assert np.isfinite(found.lam).all()


def test_units_do_not_matter() -> None:
    for seed in range(4):
        plain, scaled = Sap().solve(given_by_delassus(seed)), Sap().solve(given_by_delassus(seed, unit=1e6))
        assert plain.converged
        assert scaled.converged
        assert plain.iterations == scaled.iterations
        assert 1e6 * scaled.lam == pytest.approx(plain.lam, abs=1e-4 * np.abs(plain.lam).max())


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("near_rigid", 0.0), ("near_rigid", -1.0), ("near_rigid", np.nan), ("near_rigid", 10.0), ("near_rigid", "1"),
        ("friction_share", 0.0), ("friction_share", 1.0), ("friction_share", np.nan), ("friction_share", None),
        ("tolerance", 0.0), ("tolerance", np.nan), ("max_iterations", 0), ("max_iterations", 1.5),
        ("criterion", "step"),
    ],
)  # fmt: skip
def test_bad_options_are_named(option: str, value: object) -> None:
    with pytest.raises(InputError, match=f"solver sap: {option} is "):
        Sap(**{option: value})


@pytest.mark.parametrize(("options", "words"), [
    ({"torsion": 0.01}, "4 rows and the friction set 'ellipsoid'"),
    ({"friction": (0.2, 0.6)}, "the friction set 'ellipse'"),
])  # fmt: skip
def test_torsion_and_ellipses_are_refused(options: dict, words: str) -> None:
    scene = Scene()
    scene.add_half_space(**options)
    scene.add_sphere(0.1, (0, 0, 0.1), **options)
    with pytest.raises(InputError, match=words):
        Simulation(scene, dt=0.01, solver="sap").step()


def test_warm_impulses_outside_their_cones_do_no_harm() -> None:
    """Impulses carried over from other contacts may be anything; they are brought into the cones first."""
    problem = from_delassus(np.eye(6), [-1.0, 0.9, 0.3, -2.0, 0.1, 0.0], [0.2, 0.2])
    solver = Sap()
    cold = solver.solve(problem)
    warm = solver.solve(problem, np.array([62.8, 280.0, -34.9, -5.0, 300.0, 1.0]))
    assert warm.converged
    np.testing.assert_allclose(warm.lam, cold.lam, atol=1e-5)


def test_what_is_returned_is_never_worse_than_no_impulses() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        B = rng.normal(size=(12, 12))
        problem = from_delassus(B @ B.T, rng.normal(size=12), np.full(4, 0.5))
        solver = Sap(max_iterations=1)
        found = solver.solve(problem, 1e3 * rng.normal(size=12))
        none = solver.residual(problem, np.zeros(12), problem.free_constraint_velocity)
        assert solver.residual(problem, found.lam, problem.constraint_velocity(found.v)) <= none * (1.0 + 1e-9)
