"""What solved an island in the last step is what the next one begins with, also after a state was saved."""

from pathlib import Path

import numpy as np
import pytest

from stickslip import InputError, Scene, Simulation
from stickslip.contact.gallery import GALLERY
from stickslip.contact.habits import Habit, Habits
from stickslip.solvers.admm import ADMM
from stickslip.solvers.auto import Automatic, Stage, habitual, plan, structure
from stickslip.solvers.ipm.ipm import InteriorPoint
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel
from stickslip.solvers.work import OF_PRODUCT, Work


def stack() -> Scene:
    """Two columns of boxes apart from each other."""
    scene = Scene()
    scene.add_half_space(normal=(0, 0, 1), friction=0.5)
    for x in (0.0, 1.0):
        for k in range(3):
            scene.add_box((0.1, 0.1, 0.1), position=(x, 0, 0.05 + 0.1 * k), friction=0.5)
    return scene


def test_parts_write_into_the_table_of_the_whole() -> None:
    noted = np.array([1, 2, 4]), np.array([[3.0, 0.5, 2.0], [3.0, 0.7, 1.0], [2.0, 0.0, 4.0]])
    habits = Habits(5, lambda: noted, {}, {})
    part = habits.of(np.array([0, 1, 2], dtype=np.int32)).of(np.array([1, 2], dtype=np.int32))
    assert part.recall() == Habit("admm", 0.6, 1)
    assert habits.of(np.array([4], dtype=np.int32)).recall() == Habit("nesterov", 0.0, 4)
    assert habits.of(np.array([0], dtype=np.int32)).recall() == Habit()
    part.note(Habit("ipm", 0.0, 3))
    number, rows = habits.table()
    np.testing.assert_array_equal(number, [1, 2])
    np.testing.assert_array_equal(rows, [[4.0, 0.0, 3.0, 0.0]] * 2)
    part.forget()
    assert len(habits.table()[0]) == 0


def test_the_penalty_is_kept_from_step_to_step_and_in_files(tmp_path: Path) -> None:
    scene = stack()
    sim = Simulation(scene, dt=0.005, solver=ADMM(tolerance=1e-8))
    sim.step()
    bodies, rows = sim.state.memory.of("island")
    np.testing.assert_array_equal(bodies, np.arange(6))
    assert (rows[:, 1] > 0.0).all()
    sim.save(tmp_path / "state.npz")
    other = Simulation(scene, dt=0.005, solver=ADMM(tolerance=1e-8))
    other.load(tmp_path / "state.npz")
    for each in (sim, other):
        each.set_force(scene.body("box-2"), (5.0, 0.0, 0.0))
    one, two = sim.step(), other.step()
    assert one.solution.details["penalty"][0] in rows[:, 1]
    assert one.solution.lam.tobytes() == two.solution.lam.tobytes()


def test_a_plan_begins_with_what_worked() -> None:
    stages = (Stage(ProxGaussSeidel, 100), Stage(ADMM, 200), Stage(InteriorPoint, 80))
    found = habitual(stages, "admm")
    assert [stage.method for stage in found] == [ADMM, ProxGaussSeidel, ADMM, InteriorPoint]
    assert habitual(stages, "prox-gs") == stages
    assert habitual(stages, "") == stages


def test_work_of_a_step_is_bounded() -> None:
    """Only the first method of the plan is tried where nothing else fits."""
    problem = GALLERY["disc-with-load"]().problem
    assert len(plan(structure(problem))) > 2
    freely = Automatic(tolerance=1e-300, max_iterations=500).solve(problem)
    bounded = Automatic(tolerance=1e-300, max_iterations=500, max_work=1e-9).solve(problem)
    assert not bounded.converged
    assert bounded.iterations < freely.iterations
    with pytest.raises(InputError, match="max_work"):
        Automatic(max_work=0.0)


def test_estimates_of_work_grow_with_rows() -> None:
    problems = [GALLERY[name]().problem for name in ("one-contact-slip", "stack-of-five")]
    small, large = (Work(problem, 1e-9 * OF_PRODUCT * problem.row_count) for problem in problems)
    for method in (ADMM, InteriorPoint):
        assert small.expected(method) < large.expected(method)
