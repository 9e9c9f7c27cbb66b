"""Budgets: no step makes more iterations than its solver may, nor goes on after its time, whatever it repeats."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np
import pytest
from mixed_problems import given_by_delassus, mixed_problem, tower
from nodal_problems import soft_cubes

from stickslip import Scene, Simulation
from stickslip.arrays import Array
from stickslip.certify.status import WORST_FIRST
from stickslip.contact.problem import ContactProblem
from stickslip.linalg.threads import one_blas_thread
from stickslip.model.stepping import Stepping
from stickslip.solvers.budget import Clock, hurried, in_chunks, left, spent
from stickslip.solvers.cond.cond import Cond
from stickslip.solvers.protocol import Solver
from stickslip.solvers.registry import SOLVERS, make_solver
from stickslip.solvers.verdict import judge_solution

OTHER_WAYS: dict[str, dict[str, object]] = {
    "admm": {"splitting": "nodes", "criterion": "velocity"},
    "apgd": {"criterion": "velocity"},
    "cond": {"criterion": "step"},
    "pgs": {"criterion": "velocity"},
    "prox-gs": {"criterion": "step"},
    "prox-jacobi": {"criterion": "step"},
    "proximal-point": {"inner": "nsgs"},
    "implicit": {"recoveries": 0},
    "newton": {"start_from": "zero", "line_search": True},
}
"""Options by which a solver takes another path."""
WAYS: list[tuple[str, dict[str, object]]] = [(name, {}) for name in SOLVERS] + list(OTHER_WAYS.items())


@dataclass(frozen=True)
class Remembering(Cond):
    """A solver from outside the package that has a memory."""

    known: dict[str, object] = field(default_factory=dict, init=False)


def turning_chain() -> Scene:
    """Bodies on ball joints that turn fast, so that one linearisation is not enough, one of them on the ground."""
    scene = Scene()
    scene.add_half_space(friction=0.5)
    last = None
    for k in range(4):
        at = (0.2 * k + 0.1, 0.0, 0.05)
        body = scene.add_box((0.2, 0.06, 0.1), at, mass=1.0 if k < 3 else 20.0, friction=0.5, velocity=(0, 3.0 * k, 0))
        scene.add_ball(last, body, (0.2 * k, 0.0, 0.05))
        last = body
    return scene


SCENES = {"contacts and joints": turning_chain, "soft": lambda: soft_cubes((0.5, 0, 0), box=True)}


@pytest.mark.parametrize("most", [1, 3, 10])
@pytest.mark.parametrize(("name", "options"), WAYS, ids=lambda each: each if isinstance(each, str) else "-".join(each))
def test_iterations_of_a_problem_are_bounded(name: str, options: dict[str, object], most: int) -> None:
    solver = make_solver(name, max_iterations=most, tolerance=1e-13, **options)
    problems = [tower(3), mixed_problem(1)] + ([] if options.get("splitting") == "nodes" else [given_by_delassus(2)])
    for problem in problems:
        for warm in (None, np.full(problem.row_count, 0.01)):
            found = solver.solve(problem, warm)
            assert 0 <= found.iterations <= most
            assert np.isfinite(found.lam).all()
            assert np.isfinite(found.v).all()


@pytest.mark.parametrize("kind", SCENES)
@pytest.mark.parametrize(("name", "options"), WAYS, ids=lambda each: each if isinstance(each, str) else "-".join(each))
def test_iterations_of_a_step_are_bounded(name: str, options: dict[str, object], kind: str) -> None:
    for most in (1, 3, 10):
        solver = make_solver(name, max_iterations=most, tolerance=1e-13, **options)
        sim = Simulation(SCENES[kind](), solver=solver, stepping=Stepping(dt=0.01))
        for _ in range(2):
            found = sim.step().solution
            assert 0 <= found.iterations <= most
            assert found.converged or found.iterations == most or found.status in ("stalled", "diverged")


@pytest.mark.parametrize(("name", "options"), WAYS, ids=lambda each: each if isinstance(each, str) else "-".join(each))
def test_a_solve_ends_when_its_time_is_up(name: str, options: dict[str, object]) -> None:
    solver = make_solver(name, max_seconds=1e-9, tolerance=1e-13, **options)
    for problem in (tower(3), mixed_problem(1)):
        found = solver.solve(problem, np.full(problem.row_count, 0.01))
        assert found.status in ("max-seconds", "converged")
        # penalty has nothing to iterate without joints, prox-gs solves small problems after its first sweep, and dense
        # leaves to it what it has no time for
        assert found.status == "max-seconds" or name in ("penalty", "prox-gs", "dense")
        assert judge_solution(solver, problem, found).honest
        assert np.isfinite(found.lam).all()
        assert np.isfinite(found.v).all()
        assert found.iterations <= 2


@pytest.mark.parametrize("kind", SCENES)
@pytest.mark.parametrize("name", SOLVERS)
def test_a_step_ends_when_its_time_is_up(name: str, kind: str) -> None:
    sim = Simulation(SCENES[kind](), solver=make_solver(name, max_seconds=1e-9), stepping=Stepping(dt=0.002))
    result = sim.step()
    assert result.solution.status in ("max-seconds", "converged", "stalled")
    assert result.certificate.status in (result.solution.status, *WORST_FIRST)
    assert np.isfinite(sim.state.body_pose).all()


@pytest.mark.parametrize(("name", "options"), WAYS, ids=lambda each: each if isinstance(each, str) else "-".join(each))
def test_looking_at_the_clock_changes_no_bit(name: str, options: dict[str, object]) -> None:
    problem = tower(4)
    without, within = (
        make_solver(name, tolerance=1e-9, max_seconds=seconds, max_iterations=300, **options).solve(problem)
        for seconds in (inf, 1e6)
    )
    assert (without.status, without.iterations) == (within.status, within.iterations)
    assert without.lam.tobytes() == within.lam.tobytes()
    assert without.v.tobytes() == within.v.tobytes()


def test_long_solves_stop_near_their_time() -> None:
    problem = tower(60)
    solvers = {
        "prox-gs": {"subspace": 0}, "nsgs": {}, "prox-jacobi": {}, "apgd": {}, "admm": {"memory": 0}, "auto": {},
        "lcp": {"contact_limit": 1000},
    }  # fmt: skip
    for name, options in solvers.items():
        solver = make_solver(name, tolerance=1e-300, max_iterations=10**9, **options)
        replace(solver, max_iterations=1).solve(problem)  # type: ignore[type-var]
        started = time.perf_counter()
        found = replace(solver, max_seconds=0.05).solve(problem)  # type: ignore[type-var]
        assert found.status in ("max-seconds", "stalled"), name
        assert time.perf_counter() - started < 5.0, name


@dataclass(frozen=True)
class Plain:
    """A solver without limits."""

    name = "plain"
    law = "exact"
    nonlinear = False

    def solve(self, problem: ContactProblem, warm: Array | None = None, relinearise: object = None):
        """Nothing."""


def test_what_is_left() -> None:
    solver = make_solver("auto", max_iterations=10, max_seconds=2.0)
    rest = left(solver, 4, 0.5)
    assert (rest.max_iterations, rest.max_seconds) == (6, 1.5)
    assert left(solver, 10, 0.0) is None
    assert left(solver, 0, 2.0) is None
    assert (spent(solver, 10, 0.0), spent(solver, 9, 2.0), spent(solver, 9, 1.9)) == (
        "max-iterations", "max-seconds", None
    )  # fmt: skip
    unlimited = make_solver("auto")
    assert left(unlimited, 0, 1e9) is unlimited
    assert hurried(unlimited, 1e9) is unlimited
    assert 0.0 < hurried(solver, 5.0).max_seconds < 1e-6
    plain: Solver = Plain()
    assert left(plain, 10**9, 1e9) is plain
    own = Remembering()
    assert left(own, 1, 0.0).known is own.known  # what a solver of one's own remembers from step to step


def test_chunks_make_all_iterations_unless_time_is_up() -> None:
    asked: list[int] = []

    def run(count: int) -> tuple[int, bool]:
        asked.append(count)
        return count, False

    assert in_chunks(run, 100, Clock(inf)) == 100
    assert asked == [100]
    asked.clear()
    assert in_chunks(run, 100, Clock(60.0)) == sum(asked) == 100
    assert len(asked) > 1
    asked.clear()
    assert in_chunks(run, 100, Clock(1e-9)) == 1
    assert in_chunks(lambda count: (count, True), 100, Clock(60.0)) == 1


def test_a_step_with_joints_has_one_budget() -> None:
    """Rounds of linearisation share it: with enough for all of them, nothing changes."""
    with one_blas_thread():
        states, most = [], []
        for budget in (10**6, 2000):
            solver = make_solver("auto", max_iterations=budget)
            sim = Simulation(turning_chain(), solver=solver, stepping=Stepping(dt=0.01))
            most.append(max(sim.step().solution.iterations for _ in range(5)))
            states.append(sim.state)
    assert most[0] == most[1] < 2000
    assert states[0].body_pose.tobytes() == states[1].body_pose.tobytes()
