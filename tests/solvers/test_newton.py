"""The non-smooth Newton method, [macklin2019]."""

from __future__ import annotations

import numpy as np
import pytest

from stickslip.contact.gallery import GALLERY, box_slips_on_slope, mass_ratio, redundant_table
from stickslip.contact.laws import BOX_SET
from stickslip.contact.problem import ContactProblem, from_delassus
from stickslip.contact.residual import scaled_residual
from stickslip.errors import InputError
from stickslip.linalg.linear_solvers import LINEAR_SOLVERS
from stickslip.scenes.running import prepare
from stickslip.solvers.newton.ncp import NCP_FUNCTIONS
from stickslip.solvers.newton.newton import SCALINGS, NonsmoothNewton
from stickslip.solvers.newton.rows import LARGE, row_terms
from stickslip.solvers.registry import make_solver


def stack_problem() -> ContactProblem:
    """The first problem of the heavy stack."""
    run = prepare("heavy-stack", "prox-gs", {})
    return run.sim.step().problem


@pytest.mark.parametrize("function", list(NCP_FUNCTIONS))
@pytest.mark.parametrize("name", list(GALLERY))
def test_known_answers(name: str, function: str) -> None:
    """Both functions, with the paper's damping, solve every problem whose answer is known."""
    known = GALLERY[name]()
    found = NonsmoothNewton(function=function).solve(known.problem)
    assert found.converged, found.history[-1]
    np.testing.assert_allclose(found.v, known.v, atol=1e-5 * max(1.0, float(np.abs(known.v).max())))


@pytest.mark.parametrize("linear", list(LINEAR_SOLVERS))
def test_every_linear_solver_gives_the_same_answer(linear: str) -> None:
    """With enough inner iterations the choice of the linear solver is one of time alone."""
    problem = box_slips_on_slope().problem
    exact = NonsmoothNewton(linear="direct", tolerance=1e-10).solve(problem)
    options = {"linear_iterations": 2000, "linear_tolerance": 1e-10, "tolerance": 1e-10}
    found = make_solver("newton", linear=linear, **options).solve(problem)
    assert exact.converged
    assert found.converged
    np.testing.assert_allclose(found.v, exact.v, atol=1e-8)


def test_heavy_stack_within_twenty_iterations() -> None:
    """4096:1 from zero impulses, with conjugate residuals: the bar of the scene is 1e-6 in at most 20 iterations."""
    found = NonsmoothNewton(linear="pcr", tolerance=1e-6).solve(stack_problem())
    assert found.converged
    assert found.iterations <= 20


def test_scaling_saves_iterations_where_masses_differ() -> None:
    """Sec. 10.2, on the heavy stack with the smooth function: effective mass needs fewest iterations, identity most."""
    problem = stack_problem()
    used = [NonsmoothNewton(scaling=scaling, linear="direct").solve(problem).iterations for scaling in SCALINGS]
    assert used[0] < used[1] < used[2]


def test_damping_sets_the_rate() -> None:
    """Near a solution that sticks, t = 0.75 leaves a quarter of the error in each iteration."""
    history = NonsmoothNewton(linear="direct", function="minimum-map").solve(mass_ratio().problem).history[:, 1]
    np.testing.assert_allclose(history[-4:-1] / history[-5:-2], 0.25, rtol=0.05)


def test_zero_start_is_the_papers() -> None:
    """Eq. 67-68: without impulses and velocities; the first step is not the same as from the free velocity."""
    problem = redundant_table().problem
    zero, free = (NonsmoothNewton(start_from=start).solve(problem) for start in ("zero", "warm"))
    assert zero.converged
    assert free.converged
    assert zero.history[1, 1] != free.history[1, 1]
    np.testing.assert_allclose(zero.v, free.v, atol=1e-6)


def test_warm_start_is_kept() -> None:
    """From its own solution it needs one iteration."""
    problem = stack_problem()
    solver = NonsmoothNewton(tolerance=1e-8)
    first = solver.solve(problem)
    again = solver.solve(problem, first.lam)
    assert first.iterations > 5
    assert again.iterations == 1


def test_line_search_lowers_the_error_without_friction() -> None:
    """Sec. 8.1: it works where there is no friction."""
    problem = stack_problem()
    smooth = problem.laws._replace(friction=np.zeros_like(problem.laws.friction))
    without = ContactProblem(problem.momentum, problem.J, problem.bias, smooth, problem.step)
    found = NonsmoothNewton(line_search=True, linear="direct").solve(without)
    assert found.converged


def test_details_tell_every_iteration() -> None:
    """Each iteration leaves its step sizes, errors and the work of the linear solver."""
    found = NonsmoothNewton().solve(redundant_table().problem)
    for name in ("step_impulse", "step_velocity", "normal_error", "friction_error", "joint_error", "linear_residual"):
        assert found.details[name].shape == (found.iterations,)
        assert np.isfinite(found.details[name]).all()
    assert found.counts["linear_iterations"] == found.details["linear_iterations"].sum()
    assert len(found.history) == found.iterations + 1


def test_given_w_has_the_same_answer() -> None:
    """A problem of W, q and mu has the impulses of the one with masses."""
    known = box_slips_on_slope()
    problem = known.problem
    given = from_delassus(problem.A.delassus(problem.J), problem.free_constraint_velocity, problem.laws.friction[:, 0])
    found = NonsmoothNewton(tolerance=1e-9).solve(given)
    assert found.converged
    np.testing.assert_allclose(problem.velocity(found.lam), known.v, atol=1e-6)


def test_status_is_true() -> None:
    """Cut off after two iterations it says so, and gives finite numbers that are not called converged."""
    problem = stack_problem()
    found = NonsmoothNewton(max_iterations=2).solve(problem)
    assert found.status == "max-iterations"
    assert np.isfinite(found.lam).all()
    u = problem.constraint_velocity(problem.velocity(found.lam))
    assert scaled_residual(problem, found.lam, u) > 1e-8


def test_rows_that_are_off_leave_the_system() -> None:
    """A contact that opens fast gets the step that ends its impulse, and no part in the linear system."""
    problem = redundant_table().problem
    lam = np.full(problem.row_count, 1e-3)
    u = np.full(problem.row_count, 10.0)
    C, h, known, error = (np.empty(problem.row_count) for _ in range(4))
    row_terms(problem.J.row_start, problem.laws, lam, u, problem.diagonal, 1, 0.0, 0.0, 1.0, C, h, known, error)
    normal = problem.J.row_start[:-1]
    assert (C[normal] >= LARGE * problem.diagonal[normal]).all()
    np.testing.assert_allclose(known[normal], -lam[normal], rtol=1e-3)
    assert (h[normal] == 0.0).all()


def test_bad_input() -> None:
    """Options and friction sets that it does not know are named."""
    for options, word in (
        ({"function": "max"}, "function"), ({"scaling": "mass"}, "scaling"), ({"linear": "lu"}, "linear"),
        ({"damping": 0.0}, "damping"), ({"damping": 1.5}, "damping"), ({"linear_iterations": 0}, "linear_iterations"),
        ({"start_from": "cold"}, "start_from"), ({"regularisation": -1.0}, "regularisation"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=word):
            make_solver("newton", **options)
    problem = redundant_table().problem
    boxes = problem.laws._replace(friction_set=np.full(problem.block_count, BOX_SET, dtype=np.int32))
    with pytest.raises(InputError, match="box"):
        NonsmoothNewton().solve(ContactProblem(problem.momentum, problem.J, problem.bias, boxes))


@pytest.mark.parametrize("name", ["mass_ratio", "box_slips_on_slope", "redundant_table"])
def test_semismooth_friction_converges_faster_than_linearly(name: str) -> None:
    """Near the solution an iteration leaves far less than the quarter of the error that damping by 0.75 leaves."""
    problem = {"mass_ratio": mass_ratio, "box_slips_on_slope": box_slips_on_slope, "redundant_table": redundant_table}[
        name
    ]().problem
    fixed = NonsmoothNewton(linear="direct", tolerance=1e-10).solve(problem)
    semismooth = NonsmoothNewton(tolerance=1e-10).solve(problem)
    assert fixed.converged
    assert semismooth.converged
    last, before = semismooth.history[-1, 1], semismooth.history[-2, 1]
    assert last < 0.06 * before
    assert fixed.history[-1, 1] > 0.1 * fixed.history[-2, 1]
    np.testing.assert_allclose(semismooth.v, fixed.v, atol=1e-8)


def test_semismooth_derivative_is_that_of_friction() -> None:
    """What a whole step over velocities predicts for the error of friction is what is there after a short step."""
    problem = box_slips_on_slope().problem
    for function in NCP_FUNCTIONS:
        found = NonsmoothNewton(function=function, tolerance=1e-12).solve(problem)
        assert found.converged
        assert found.history[-1, 1] < 1e-3 * found.history[-2, 1]  # superlinear: no share of the error stays


def test_line_search_with_joints_and_friction() -> None:
    """Sec. 8.1, one merit in one norm: it does not stall where joints turn and contacts slide."""
    run = prepare("beam-insertion", "newton", {})
    solver = NonsmoothNewton(line_search=True, tolerance=1e-6)
    run.sim.solver = solver
    run.sim.method = run.sim.method._replace(solver=solver, judge=solver)
    for _ in range(5):
        assert run.sim.step().solution.converged


def test_unsymmetric_matrices_need_their_solver() -> None:
    """The semismooth derivative makes the matrix unsymmetric, which conjugate residuals do not take."""
    with pytest.raises(InputError, match="only 'velocities' takes"):
        NonsmoothNewton(friction="alart-curnier", linear="pcr")
