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
from stickslip.solvers.newton.newton import NonsmoothNewton
from stickslip.solvers.newton.options import SCALINGS
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
    found = NonsmoothNewton(linear="pcr", friction="fixed-point", tolerance=1e-6).solve(stack_problem())
    assert found.converged
    assert found.iterations <= 20


def test_scaling_saves_iterations_where_masses_differ() -> None:
    """Sec. 10.2, on the heavy stack with the smooth function: effective mass needs fewest iterations, identity most."""
    problem = stack_problem()
    used = [
        NonsmoothNewton(scaling=scaling, linear="direct", friction="fixed-point").solve(problem).iterations
        for scaling in SCALINGS
    ]
    assert used[0] < used[1] < used[2]


def test_damping_sets_the_rate() -> None:
    """Near a solution that sticks, t = 0.75 leaves a quarter of the error in each iteration."""
    history = (
        NonsmoothNewton(linear="direct", friction="fixed-point", function="minimum-map")
        .solve(mass_ratio().problem)
        .history[:, 1]
    )
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
    fixed = NonsmoothNewton(linear="direct", friction="fixed-point", tolerance=1e-10).solve(problem)
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


def test_only_krylov_methods_take_a_preconditioner() -> None:
    """Others say which do."""
    with pytest.raises(InputError, match="only pcr and pcg take one"):
        NonsmoothNewton(preconditioner="joints", linear="gauss-seidel")
    with pytest.raises(InputError, match="preconditioner"):
        NonsmoothNewton(preconditioner="ilu", linear="pcr")


def test_forty_inner_iterations_solve_the_beam() -> None:
    """Sec. 10.2: a chain of joints in a hole, with conjugate residuals that have its joints eliminated."""
    run = prepare("beam-insertion", "newton", {"solver.linear": "pcr", "solver.linear_iterations": 40}, dt=0.0083)
    solver = run.sim.solver
    assert isinstance(solver, NonsmoothNewton)
    found = [run.sim.step() for _ in range(30)]
    assert all(each.solution.converged for each in found)
    assert max(each.solution.details["linear_iterations"].max() for each in found) < 40
    problem = found[-1].problem
    plain = NonsmoothNewton(linear="pcr", linear_iterations=40, preconditioner="jacobi", tolerance=1e-6)
    joints = NonsmoothNewton(linear="pcr", linear_iterations=40, preconditioner="joints", tolerance=1e-6)
    assert joints.solve(problem).converged
    assert not plain.solve(problem).converged


@pytest.mark.parametrize("linear", ["pcr", "pcg", "jacobi", "gauss-seidel"])
def test_32_bit_numbers_reach_what_they_can(linear: str) -> None:
    """Sec. 10.5: the answer of 64 bit but for rounding; iterates are numbers that 32 bit can hold."""
    problem = box_slips_on_slope().problem
    options = {"linear": linear, "linear_iterations": 400, "linear_tolerance": 0.0, "friction_share": 1.0}
    exact = make_solver("newton", friction="fixed-point", tolerance=1e-10, **options).solve(problem)
    found = make_solver("newton", precision=32, tolerance=1e-5, **options).solve(problem)
    assert exact.converged
    assert found.converged
    np.testing.assert_allclose(found.v, exact.v, atol=1e-5)
    np.testing.assert_array_equal(found.lam, found.lam.astype(np.float32))
    finer = make_solver("newton", precision=32, tolerance=1e-14, max_iterations=40, **options).solve(problem)
    assert finer.history[:, 1].min() > 1e-12  # cannot be had in 32 bit


def test_scalings_part_in_32_bit() -> None:
    """Fig. 17: identity scaling fails on the heavy stack in 32 bit, where it converges in 64 bit."""
    problem = stack_problem()
    common = {
        "linear": "pcr", "preconditioner": "jacobi", "start_from": "zero", "friction": "fixed-point",
        "friction_share": 1.0, "linear_tolerance": 0.0, "patience": 1000, "whole_steps": False, "tolerance": 1e-200,
        "max_iterations": 60,
    }  # fmt: skip
    least = {}
    for scaling in ("identity", "effective-mass"):
        for bits in (32, 64):
            found = make_solver("newton", scaling=scaling, precision=bits, **common).solve(problem)
            least[scaling, bits] = found.history[:, 1].min()
    assert least["identity", 32] > 100.0 * least["effective-mass", 32]
    assert max(least["identity", 64], least["effective-mass", 64]) < 1e-9


def test_32_bit_asks_for_the_papers_forms() -> None:
    """What it does not go with is named."""
    for options, word in (
        ({}, "linear"), ({"linear": "pcr", "friction": "tresca"}, "friction"),
        ({"linear": "pcr", "preconditioner": "joints"}, "preconditioner"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=word):
            make_solver("newton", precision=32, **options)
    with pytest.raises(InputError, match="precision is 16"):
        make_solver("newton", precision=16)


def test_the_residual_is_looked_at_when_asked() -> None:
    """Rare looks find the same iterates; the last one is always looked at."""
    problem = stack_problem()
    common = {"linear": "pcr", "friction": "fixed-point", "tolerance": 1e-200, "max_iterations": 10}
    each, rare = (make_solver("newton", look_every=k, **common).solve(problem) for k in (1, 4))
    np.testing.assert_array_equal(rare.history[:, 0], [0, 4, 8, 10])
    np.testing.assert_array_equal(rare.lam, each.lam)
    np.testing.assert_array_equal(rare.history[:, 1], each.history[[0, 4, 8, 10], 1])
