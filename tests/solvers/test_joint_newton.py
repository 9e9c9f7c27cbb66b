"""Problems of joints alone: one factorisation, whichever limits are reached and drives are at their bounds."""

import numpy as np
import pytest

from stickslip import Scene, Simulation
from stickslip.contact.problem import ContactProblem
from stickslip.contact.residual import scaled_residual
from stickslip.scene.joint import Drive
from stickslip.scenes.running import prepare
from stickslip.solvers.joint_newton import solve_joints
from stickslip.solvers.nsgs import NonsmoothGaussSeidel


def arm(bound: float, limit: float) -> ContactProblem:
    """Three links that fall from the horizontal, with limits and drives of bounded strength, after some steps."""
    scene = Scene()
    above = None
    for k in range(3):
        link = scene.add_box((0.3, 0.05, 0.05), (0.15 + 0.3 * k, 0.0, 0.0), mass=1.0)
        drive = Drive(stiffness=50.0, damping=5.0, position=0.2, limit=bound)
        scene.add_revolute(above, link, (0.3 * k, 0.0, 0.0), (0.0, 1.0, 0.0), limits=(-limit, limit), drive=drive)
        above = link
    sim = Simulation(scene, 0.005, "nsgs")
    sim.run(20)
    assert sim.last is not None
    return sim.last.problem


@pytest.mark.parametrize(("bound", "limit"), [(100.0, 2.0), (1.0, 2.0), (1.0, 0.05), (0.1, 0.2)])
def test_limits_and_bounded_drives(bound: float, limit: float) -> None:
    problem = arm(bound, limit)
    found = solve_joints(problem, None, 1e-10, 100)
    assert found is not None
    u = problem.constraint_velocity(found.v)
    assert scaled_residual(problem, found.lam, u) <= 1e-10
    np.testing.assert_allclose(found.u, u, atol=1e-10)
    other = NonsmoothGaussSeidel(tolerance=1e-11, max_iterations=100_000).solve(problem)
    np.testing.assert_allclose(found.v, other.v, atol=1e-7)


def test_redundant_joints_keep_what_they_do_not_determine() -> None:
    """From a solution the next one is the same: nothing grows in the null space of W."""
    sim = prepare("four-bar").sim
    sim.run(5)
    assert sim.last is not None
    problem, lam = sim.last.problem, sim.last.solution.lam
    for _ in range(20):
        found = solve_joints(problem, lam, 1e-8, 100)
        assert found is not None
        lam = found.lam
    np.testing.assert_allclose(lam, sim.last.solution.lam, atol=1e-6 * np.abs(lam).max())


def test_contacts_are_left_to_others() -> None:
    sim = prepare("box-slope").sim
    assert solve_joints(sim.step().problem, None, 1e-8, 100) is None


@pytest.mark.parametrize("name", ["four-bar", "hinge"])
def test_constraint_velocities_are_computed_a_few_times_a_step(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "hinge":
        scene = Scene()
        box = scene.add_box((0.3, 0.1, 0.1), (0.15, 0.0, 0.0), mass=1.0)
        other = scene.add_box((0.3, 0.1, 0.1), (0.45, 0.0, 0.0), mass=1.0)
        scene.add_revolute(None, box, (0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
        scene.add_revolute(box, other, (0.3, 0.0, 0.0), (0.0, 1.0, 0.0))
        sim = Simulation(scene, 0.002)
    else:
        sim = prepare(name).sim
    sim.run(10)
    plain, calls = ContactProblem.constraint_velocity, []

    def counted(self: ContactProblem, v: np.ndarray) -> np.ndarray:
        calls.append(1)
        return plain(self, v)

    monkeypatch.setattr(ContactProblem, "constraint_velocity", counted)
    assert sim.step().certificate.converged
    assert len(calls) <= 10
