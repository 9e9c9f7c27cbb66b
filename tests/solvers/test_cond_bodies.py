"""COND on soft bodies as a whole: momentum that a small step hides, small systems, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from stickslip import Scene, Simulation
from stickslip.contact.block_laws import contact_laws
from stickslip.errors import InputError
from stickslip.geometry.tet_generators import box
from stickslip.geometry.tet_mesh import TetMesh
from stickslip.scene.soft_body import elastic
from stickslip.solvers.cond.cond import Cond

SLOPE, FRICTION, STEP = np.radians(40.0), 0.3, 0.005


def _sliding(young: float, solver: Cond, steps: int = 20) -> tuple[float, list[str]]:
    """Acceleration [m/s^2] of a soft block on a slope, and how its steps ended."""
    scene = Scene(gravity=(9.81 * np.sin(SLOPE), 0.0, -9.81 * np.cos(SLOPE)))
    scene.add_half_space(friction=FRICTION)
    mesh = box((0.1, 0.1, 0.05), (3, 3, 2))
    block = scene.add_soft(mesh, elastic(young, 0.35, density=1000.0, beta=0.01), (0.0, 0.0, 0.025), friction=FRICTION)
    sim = Simulation(scene, dt=STEP, solver=solver)
    found = [sim.step().certificate.status for _ in range(steps)]
    return float(sim.node_velocities(block)[:, 0].mean()) / (steps * STEP), found


@pytest.mark.parametrize("young", [1e5, 1e6, 1e7])
def test_a_small_step_does_not_hide_that_a_stiff_body_slides(young: float):
    exact = 9.81 * (np.sin(SLOPE) - FRICTION * np.cos(SLOPE))
    found, ended = _sliding(young, Cond(criterion="step", tolerance=1e-3))
    assert set(ended) == {"converged"}
    assert found == pytest.approx(exact, abs=0.02 * 9.81)


def test_a_body_of_steel_slides():
    """By Anderson's acceleration; Chebyshev's did not converge in 3000 iterations."""
    exact = 9.81 * (np.sin(SLOPE) - FRICTION * np.cos(SLOPE))
    found, ended = _sliding(2e11, Cond(), 3)
    assert set(ended) == {"converged"}
    assert found == pytest.approx(exact, rel=0.01)


def test_a_body_too_stiff_says_that_it_did_not_converge():
    found, ended = _sliding(2e11, Cond(tolerance=1e-4, acceleration="chebyshev"), 3)
    assert "converged" not in ended
    assert abs(found) < 9.81


def test_one_tetrahedron_falls():
    scene = Scene()
    corners = 0.1 * np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    body = scene.add_soft(TetMesh(corners, np.array([[0, 1, 2, 3]])), elastic(1e5, 0.3, density=1000.0), (0, 0, 1))
    sim = Simulation(scene, dt=STEP, solver="cond")
    assert sim.step().certificate.converged
    assert sim.node_velocities(body)[:, 2] == pytest.approx(-9.81 * STEP, rel=1e-6)


def test_the_convex_operator_refuses_ellipses():
    scene = Scene()
    scene.add_half_space(friction=(0.5, 0.2))
    scene.add_box((0.1, 0.1, 0.1), mass=1.0, position=(0, 0, 0.05), friction=(0.5, 0.2))
    problem = Simulation(scene, dt=STEP).step().problem
    assert contact_laws(problem.laws.friction).friction_set.any()
    with pytest.raises(InputError, match=r"the friction set 'ellipse'; it takes .* the sets 'disc'"):
        Cond(operator="proximal").solve(problem)
    assert Cond().solve(problem).converged


@pytest.mark.parametrize(("option", "value"), [("relaxation", 2.0), ("relaxation", 0.0), ("regularisation", -1.0)])
def test_options_out_of_range(option: str, value: float):
    with pytest.raises(InputError, match=f"{option} is"):
        Cond(**{option: value})
