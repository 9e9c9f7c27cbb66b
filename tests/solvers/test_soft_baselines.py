"""The methods that COND is compared with, on soft bodies: each finds the solution of its law, and says how it went."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from stickslip import InputError, Scene, Simulation
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem
from stickslip.geometry import tet_generators
from stickslip.linalg import soft_delassus
from stickslip.linalg.block_rows import apply, apply_transpose, to_dense
from stickslip.scene.soft_body import elastic
from stickslip.scenes.soft_stack import soft_stack
from stickslip.solvers.admm import ADMM
from stickslip.solvers.apgd import APGD
from stickslip.solvers.auto import Automatic
from stickslip.solvers.methods import solve
from stickslip.solvers.pgs import ProjectedGaussSeidel
from stickslip.solvers.protocol import Solver

STOPS = (
    ProjectedGaussSeidel(criterion="velocity", tolerance=1e-4),
    ProjectedGaussSeidel(criterion="velocity", tolerance=1e-4, friction="disc"),
    APGD(criterion="velocity", tolerance=1e-4),
    APGD(criterion="velocity", tolerance=1e-4, operator="factorised"),
    ADMM(criterion="velocity", tolerance=1e-4, splitting="nodes"),
)


def mat(stiffness: float | None = None) -> Scene:
    """A soft mat that slides and turns as it lands."""
    scene = Scene()
    scene.add_half_space(friction=0.3, contact_stiffness=stiffness)
    mesh = tet_generators.box((0.3, 0.3, 0.01), (6, 6, 1), "mirrored")
    rubber = elastic(75e3, 0.35, density=1000.0, beta=0.01)
    scene.add_soft(
        mesh, rubber, (0, 0, 0.005), friction=0.3, velocity=(0.2, 0.1, -0.2), angular_velocity=(0, 0, 2.0)
    )  # fmt: skip
    return scene


@cache
def problem_of(name: str) -> ContactProblem:
    """A problem with soft bodies: of nodes on the floor, the same with soft contacts, of faces and rigid bodies."""
    scenes = {"mat": mat, "cushions": lambda: mat(2e3), "stack": lambda: soft_stack(levels=3, divisions=2)}
    sim = Simulation(scenes[name](), dt=0.01, solver="sap")
    sim.run(2)
    problem = sim.step().problem
    assert problem.A.has_soft
    return problem


def fresh(name: str, unsolved: bool = False) -> ContactProblem:
    """The problem before anything is factorised; ``unsolved``: without v_free, as solvers that factorise get it."""
    problem = problem_of(name)
    A = problem.A.with_sparse(problem.A.nodes.with_data(problem.A.nodes.data))
    if unsolved:
        zero = np.zeros(problem.unknown_count)
        return replace(problem, momentum=Momentum(A.least_fill(), zero, -problem.momentum.gain(zero)))
    return replace(problem, momentum=replace(problem.momentum, A=A))


def close(a: np.ndarray, b: np.ndarray, share: float) -> None:
    """Both the same up to a share of the larger one."""
    assert np.linalg.norm(a - b) <= share * max(np.linalg.norm(a), np.linalg.norm(b))


# ---- the Delassus operator -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("slower", [1e-9, 1e9])
@pytest.mark.parametrize("name", ["mat", "stack"])
def test_delassus_is_the_same_in_every_order_of_elimination(
    name: str, slower: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By substitution, or by products of dense matrices: J A^-1 J^T."""
    monkeypatch.setattr(soft_delassus, "SLOWER", slower)
    problem = fresh(name)
    J, A = to_dense(problem.J), problem.A
    expected = J @ np.column_stack([A.solve(row) for row in J])
    for given in (fresh(name).A, fresh(name).A.least_fill(), fresh(name).A.assembling(problem.J)):
        W, _ = given.dense_delassus(problem.J)
        np.testing.assert_allclose(W, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())
        assert np.abs(W - W.T).max() <= 1e-14 * np.abs(W).max()


# ---- each method solves its law --------------------------------------------------------------------------------------


@pytest.mark.parametrize("unsolved", [False, True])
@pytest.mark.parametrize("name", ["mat", "cushions", "stack"])
@pytest.mark.parametrize("operator", ["assembled", "factorised"])
def test_apgd_finds_the_convex_solution_with_either_operator(name: str, operator: str, unsolved: bool) -> None:
    problem = fresh(name, unsolved)
    expected = APGD(tolerance=1e-10).solve(problem_of(name).condensed)
    found = solve(APGD(tolerance=1e-9, operator=operator), problem)  # type: ignore[arg-type]
    assert found.converged
    u, u_expected = (problem.constraint_velocity(problem.velocity(each.lam)) for each in (found, expected))
    close(u, u_expected, 1e-6)
    close(found.v, problem.velocity(expected.lam), 1e-6)
    assert found.timings.keys() >= {"factorise", "iterate", "measure"}
    assert ("assemble" in found.timings) == (operator == "assembled")
    least = found.iterations + found.counts["doublings"]
    assert found.counts["solves" if operator == "factorised" else "products"] == least + 2


@pytest.mark.parametrize("unsolved", [False, True])
@pytest.mark.parametrize("name", ["mat", "cushions", "stack"])
@pytest.mark.parametrize(
    "solver", [ADMM(tolerance=1e-8, splitting="nodes"), ProjectedGaussSeidel(tolerance=1e-8, friction="disc")]
)
def test_exact_methods_find_the_exact_solution(name: str, solver: Solver, unsolved: bool) -> None:
    problem = fresh(name, unsolved)
    expected = solve(Automatic(tolerance=1e-9), problem_of(name))
    found = solve(solver, problem)
    assert found.converged
    assert solver.law == "exact"
    close(found.v, expected.v, 1e-5)


@pytest.mark.parametrize("name", ["mat", "stack"])
def test_pgs_obeys_the_box_law_as_it_does_on_the_condensed_problem(name: str) -> None:
    solver = ProjectedGaussSeidel(tolerance=1e-8)
    assert solver.law == "box"
    found, expected = solve(solver, fresh(name)), solver.solve(problem_of(name).condensed)
    assert found.converged
    assert expected.converged
    close(found.v, problem_of(name).velocity(expected.lam), 1e-5)
    assert found.timings.keys() >= {"factorise", "assemble", "iterate"}


def test_plain_splitting_arrives_where_the_accelerated_one_does() -> None:
    plain, fast = (
        solve(ADMM(tolerance=1e-6, splitting="nodes", **options), fresh("mat"))  # type: ignore[arg-type]
        for options in ({"relaxation": 1.0, "memory": 0}, {})
    )
    assert plain.converged
    assert fast.converged
    assert plain.counts["extrapolations"] == 0
    assert fast.iterations < plain.iterations
    close(plain.v, fast.v, 1e-4)


# ---- the criterion in velocities -------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", STOPS[:4], ids=lambda s: f"{s.name}-{getattr(s, 'operator', s.law)}")
@pytest.mark.parametrize("name", ["mat", "cushions", "stack"])
def test_velocity_criterion_is_the_change_of_velocities_in_the_last_iteration(name: str, solver: Solver) -> None:
    problem = fresh(name, unsolved=True)
    found = solve(solver, problem)
    assert found.converged
    count = found.iterations
    before = solve(replace(solver, max_iterations=count - 1), fresh(name, unsolved=True))  # type: ignore[type-var]
    assert before.status == "max-iterations"
    theta = np.linalg.norm(problem.A.solve(apply_transpose(problem.J, found.lam - before.lam)))
    assert theta == pytest.approx(found.history[-1, 1], rel=1e-6)
    assert theta <= 1e-4
    assert found.history[-1, 0] == count
    if len(found.history) > 1:  # it did not go on after it could have stopped
        assert (found.history[:-1, 1] > 1e-4).all()


def test_splitting_by_velocity_gives_feasible_velocities() -> None:
    """Contacts of nodes do not approach faster than they may; the rest is near the exact solution."""
    problem = fresh("mat", unsolved=True)
    found = solve(STOPS[4], problem)
    assert found.converged
    u = apply(problem.J, found.v) + problem.bias
    assert (u[::3] >= -1e-12).all()
    exact = solve(Automatic(tolerance=1e-9), problem_of("mat"))
    assert np.linalg.norm(found.v - exact.v) <= 0.05 * np.linalg.norm(exact.v)
    assert found.counts["solves"] == found.iterations


@pytest.mark.parametrize("solver", STOPS, ids=lambda s: f"{s.name}-{getattr(s, 'operator', s.law)}")
def test_simulations_run_with_every_baseline(solver: Solver) -> None:
    """A mat that lands and slides: as with the exact method, up to what a threshold of 1e-4 m/s leaves."""
    runs = [Simulation(mat(), dt=0.01, solver=each) for each in (solver, Automatic())]
    for _ in range(5):
        assert all(sim.step().solution.converged for sim in runs)
    ends = [sim.state.node_position.mean(axis=0) for sim in runs]
    assert np.linalg.norm(ends[0] - ends[1]) < 2e-3  # boxes and gliding gaps are other laws


def test_velocity_criterion_of_rigid_bodies() -> None:
    scene = Scene()
    scene.add_half_space(friction=0.5)
    for k in range(3):
        scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.1 + 0.2 * k), friction=0.5)
    for solver in STOPS:
        solution = Simulation(scene, dt=0.01, solver=solver).step().solution
        assert solution.converged, solver.name
        assert solution.history[-1, 1] <= 1e-4


# ---- what they refuse ------------------------------------------------------------------------------------------------


def test_options_that_cannot_be() -> None:
    with pytest.raises(InputError, match="friction is 'cone'"):
        ProjectedGaussSeidel(friction="cone")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="operator is 'dense'"):
        APGD(operator="dense")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="needs splitting 'nodes'"):
        ADMM(criterion="velocity")
    with pytest.raises(InputError, match="given by W"):
        ADMM(splitting="nodes").solve(problem_of("mat").condensed)
