"""ADMM: the exact law in any units, with W as it is, and what it says of itself."""

import numpy as np
import pytest
from mixed_problems import given_by_delassus, mixed_problem, tower, with_idle_contact

from stickslip import InputError, Scene, Simulation
from stickslip.contact.gallery import GALLERY
from stickslip.contact.laws import BOX_SET, CONTACT
from stickslip.contact.problem import ContactProblem
from stickslip.contact.residual import residual
from stickslip.solvers.admm import ADMM
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel
from stickslip.solvers.shifted_delassus import ShiftedDelassus


def of_cones(problem: ContactProblem) -> bool:
    """Whether all contacts have friction sets that ADMM takes."""
    return bool((problem.laws.friction_set[problem.laws.law == CONTACT] != BOX_SET).all())


@pytest.mark.parametrize("name", [name for name, make in GALLERY.items() if of_cones(make().problem)])
def test_known_solution(name: str) -> None:
    known = GALLERY[name]()
    solution = ADMM(tolerance=1e-10).solve(known.problem)
    assert solution.converged
    np.testing.assert_allclose(solution.v, known.v, atol=1e-7)
    if known.impulses is not None:
        np.testing.assert_allclose(solution.lam, known.impulses, atol=1e-7)


def test_the_method_of_the_paper_without_additions() -> None:
    known = GALLERY["box-slips-on-slope"]()
    solution = ADMM(memory=0, relaxation=1.0, power=0.2).solve(known.problem)
    assert solution.converged
    assert solution.counts["extrapolations"] == 0
    np.testing.assert_allclose(solution.v, known.v, atol=1e-8)


@pytest.mark.parametrize("seed", range(10))
def test_velocities_of_mixed_problems_are_those_of_prox_gs(seed: int) -> None:
    """Contacts (one twice), a joint, limits and an elastic row."""
    problem = mixed_problem(seed)
    solution = ADMM(tolerance=1e-10).solve(problem)
    reference = ProxGaussSeidel(tolerance=1e-10, max_iterations=20000).solve(problem)
    assert solution.converged
    assert reference.converged
    assert residual(problem, solution.lam).scaled <= 1e-10
    np.testing.assert_allclose(solution.v, reference.v, atol=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_iterations_do_not_depend_on_units(seed: int) -> None:
    plain = ADMM().solve(given_by_delassus(seed))
    scaled = ADMM().solve(given_by_delassus(seed, unit=2.0**20))
    assert plain.converged
    assert scaled.iterations == plain.iterations
    np.testing.assert_allclose(2.0**20 * scaled.lam, plain.lam, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_slightly_asymmetric_w_is_solved_as_it_is(seed: int) -> None:
    problem = given_by_delassus(seed, asymmetry=1e-3)
    solution = ADMM().solve(problem)
    assert solution.converged
    assert residual(problem, solution.lam).scaled <= 1e-8


def test_a_contact_that_nothing_moves() -> None:
    problem = with_idle_contact(1, speed=1.0)
    solution = ADMM().solve(problem)
    assert solution.converged
    assert np.abs(solution.lam[:3]).max() == 0.0


def test_a_problem_without_solution_stalls() -> None:
    """The idle contact is pushed together: no impulse can help, and nothing becomes infinite."""
    problem = with_idle_contact(1, speed=-1.0)
    solution = ADMM(max_iterations=300).solve(problem)
    assert not solution.converged
    assert np.isfinite(solution.lam).all()
    assert residual(problem, solution.lam).scaled > 1e-8


@pytest.mark.parametrize("seed", [0, 1])
def test_shifted_systems_are_solved_in_either_form(seed: int) -> None:
    """A tower has fewer velocities than rows (velocity form, sparse); mixed problems and given W are small (dense)."""
    rng = np.random.default_rng(seed)
    for problem in (tower(14), mixed_problem(seed), given_by_delassus(seed, asymmetry=1e-3)):
        S, r = rng.uniform(0.5, 2.0, problem.row_count), rng.uniform(0.1, 1.0, problem.row_count)
        b = rng.normal(size=problem.row_count)
        x = ShiftedDelassus(problem, S).factorised(r)(b)
        W_x = problem.constraint_velocity(problem.velocity(S * x)) - problem.free_constraint_velocity
        np.testing.assert_allclose(S * W_x + r * x, b, atol=1e-9)


def test_warm_start_and_statuses() -> None:
    known = GALLERY["mass-ratio"]()
    first = ADMM().solve(known.problem)
    again = ADMM().solve(known.problem, first.lam)
    assert (again.status, again.iterations) == ("converged", 0)
    near = ADMM(tolerance=1e-12).solve(known.problem, first.lam * (1 + 1e-6))
    assert near.converged
    short = ADMM(max_iterations=3).solve(known.problem)
    assert (short.status, short.iterations) == ("max-iterations", 3)
    assert residual(known.problem, short.lam).scaled > 1e-8
    np.testing.assert_array_equal(short.v, known.problem.velocity(short.lam))


@pytest.mark.parametrize(
    ("option", "value"), [("proximal", 0.0), ("power", 2.0), ("relaxation", 2.0), ("memory", -1), ("tolerance", -1.0)]
)
def test_options_out_of_range_are_refused(option: str, value: object) -> None:
    with pytest.raises(InputError, match=option):
        ADMM(**{option: value})  # type: ignore[arg-type]


def test_a_pile_of_blocks_with_torsion_takes_few_iterations() -> None:
    scene = Scene()
    scene.add_half_space(friction=0.6, torsion=0.01)
    for level in range(8):
        for k in range(3):
            turned = (1.2, 0.4) if level % 2 else (0.4, 1.2)
            at = 0.42 * (k - 1)
            place = (0.0, at, 0.1 + 0.2 * level) if level % 2 else (at, 0.0, 0.1 + 0.2 * level)
            scene.add_box((*turned, 0.2), place, friction=0.6, torsion=0.01)
    problem = Simulation(scene, solver=ADMM(max_iterations=1)).step().problem
    assert (np.diff(problem.J.row_start) == 4).all()
    solution = ADMM(tolerance=1e-6).solve(problem)
    assert solution.converged
    assert solution.iterations <= 60


def test_refuses_other_friction_sets_where_nodes_are_split_and_takes_no_contacts() -> None:
    with pytest.raises(InputError, match=r"admm.*ellipse"):
        ADMM(splitting="nodes").solve(GALLERY["ellipse-slips"]().problem)
    scene = Scene()
    scene.add_sphere(0.1, (0, 0, 5))
    solution = Simulation(scene, solver=ADMM()).step().solution
    assert (solution.status, solution.iterations) == ("converged", 0)
