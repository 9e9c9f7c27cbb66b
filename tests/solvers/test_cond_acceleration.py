"""COND: Anderson's acceleration, where it takes turns with Chebyshev's, and how many contacts detection asks for."""

from __future__ import annotations

import numpy as np
import pytest
from nodal_problems import soft_cubes

from stickslip import Simulation
from stickslip.scenes.running import prepare
from stickslip.solvers.cond.cond import Cond
from stickslip.solvers.cond.mixing import mixed, no_past


def test_a_linear_iteration_ends_after_as_many_steps_as_it_has_dimensions() -> None:
    rng = np.random.default_rng(0)
    size = 6
    M = rng.normal(size=(size, size))
    M *= 0.9 / np.abs(np.linalg.eigvals(M)).max()
    b, x, before = rng.normal(size=size), np.zeros(size), np.zeros(size)
    past = no_past(size, 8)
    steps = [mixed(past, x, M @ x + b, before) for _ in range(size + 2)]
    assert steps[-1] < 1e-8 * steps[0]
    assert x == pytest.approx(np.linalg.solve(np.eye(size) - M, b), rel=1e-7)


def test_what_says_nothing_new_is_left_out() -> None:
    """An iteration that moves along one line only: differences are all alike."""
    x, before, past = np.zeros(3), np.zeros(3), no_past(3, 5)
    for _ in range(12):
        mixed(past, x, np.array([0.5, 0.0, 0.0]) * x + [1.0, 0.0, 0.0], before)
        assert np.isfinite(x).all()
    assert x == pytest.approx([2.0, 0.0, 0.0], abs=1e-12)


def test_fewer_iterations_to_the_same_solution() -> None:
    problem = Simulation(soft_cubes(velocity=(0.4, 0.1, -0.2)), dt=0.005, solver="cond").step().problem
    found = {
        name: Cond(acceleration=name, tolerance=1e-9, max_iterations=5000).solve(problem)
        for name in ("anderson", "chebyshev")
    }
    assert all(each.converged for each in found.values())
    assert found["anderson"].lam == pytest.approx(
        found["chebyshev"].lam, abs=1e-6 * np.abs(found["anderson"].lam).max()
    )
    assert found["anderson"].iterations < 0.9 * found["chebyshev"].iterations


def test_the_ball_takes_fewer() -> None:
    """0.87 of them in its first steps, where the fingers come down; 0.75 to 0.85 while it is lifted."""
    counts = {}
    for name in ("anderson", "chebyshev"):
        sim = prepare("ball-grip", "cond", {"solver.acceleration": name}).sim
        counts[name] = np.mean([sim.step().solution.iterations for _ in range(25)])
    assert 20.0 < counts["anderson"] < 0.95 * counts["chebyshev"]


def test_vertices_in_volumes_are_fewer_contacts_and_virtual_nodes() -> None:
    found = {}
    for how in ("surfaces", "vertices"):
        settings = {"divisions": 16, "stepping.detection": how, "solver.criterion": "step", "solver.tolerance": 1e-4}
        sim = prepare("soft-mat", "cond", settings).sim
        for _ in range(12):
            result = sim.step()
        found[how] = result
        assert result.certificate.penetration_mm < 0.05
    many, few = (found[how].solution.counts["virtual nodes"] for how in ("surfaces", "vertices"))
    assert few < 0.3 * many
    assert found["vertices"].certificate.contacts < found["surfaces"].certificate.contacts


def test_what_does_not_move_costs_no_unknowns() -> None:
    """Nodes on the ground are nodes of their contacts; only those that a wall touches as well are tied."""
    for wall in (False, True):
        sim = Simulation(soft_cubes(wall=wall), dt=0.005, solver="cond")
        result = sim.step()
        touched = result.problem.J.entry_column
        shared = len(touched) - len(np.unique(touched))
        assert result.solution.counts["virtual nodes"] == shared
        assert (shared > 0) == wall
