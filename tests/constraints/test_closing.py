"""Overlaps closed within the step at position level: in one step, without speed, also where joints hold."""

import numpy as np
import pytest

import stickslip
from stickslip.errors import InputError
from stickslip.model.stepping import Stepping
from stickslip.simulation import Simulation

SUNK = 0.004


def stack(solver: str = "auto", **options: str) -> Simulation:
    """A box 4 mm deep in the ground and another one as deep in the first."""
    scene = stickslip.Scene()
    scene.add_half_space(friction=0.5)
    for k in range(2):
        scene.add_box((0.2, 0.2, 0.2), (0.0, 0.0, 0.1 + 0.2 * k - SUNK * (k + 1)), density=500.0, friction=0.5)
    sim = Simulation(scene, solver=solver, stepping=Stepping(dt=0.005, **options))
    sim.watch.silent = True
    return sim


@pytest.mark.parametrize("solver", ["auto", "newton"])
def test_overlaps_are_gone_after_a_step_and_nobody_flies(solver: str) -> None:
    sim = stack(solver, overlaps="closed")
    first = sim.step()
    assert first.certificate.converged
    assert first.certificate.penetration == pytest.approx(SUNK, rel=1e-6)
    np.testing.assert_allclose(sim.state.body_pose[1:, 2], [0.1, 0.3], atol=1e-5)
    assert np.abs(sim.state.body_velocity).max() < 1e-6
    second = sim.step()
    assert second.certificate.penetration < 1e-5
    pushed = stack(solver)
    pushed.step()
    assert pushed.state.body_pose[1, 2] < 0.1 - 0.5 * SUNK  # takes many steps
    assert np.abs(pushed.state.body_velocity).max() > 0.1  # and leaves with the speed of the push


def test_energy_is_that_of_being_lifted() -> None:
    """What a step adds is the weight times the lift, and no more; pushing adds kinetic energy."""
    sim = stack(overlaps="closed")
    made = sum(sim.step().certificate.energy.numerical for _ in range(20))
    mass = sim.model.mass[sim.model.dynamic[0]]
    assert made == pytest.approx(mass * 9.81 * (SUNK + 2.0 * SUNK), rel=1e-3)


def test_joints_hold_where_overlaps_are_closed() -> None:
    """Two boxes on a hinge, one of them in the ground: closed, and the joint is not pulled open."""
    scene = stickslip.Scene()
    scene.add_half_space(friction=0.5)
    left = scene.add_box((0.2, 0.1, 0.1), (-0.1, 0.0, 0.05 - SUNK), density=500.0, friction=0.5)
    right = scene.add_box((0.2, 0.1, 0.1), (0.1, 0.0, 0.05 - SUNK), density=500.0, friction=0.5)
    scene.add_revolute_joint(left, right, (0.0, 0.0, 0.05 - SUNK), axis=(0.0, 1.0, 0.0))
    sim = Simulation(scene, stepping=Stepping(dt=0.005, overlaps="closed"))
    sim.watch.silent = True
    result = sim.step()
    assert result.certificate.joint_error < 1e-6
    assert np.abs(sim.state.body_velocity).max() < 1e-5
    assert sim.step().certificate.penetration < 1e-5


def test_what_it_does_not_go_with_is_named() -> None:
    with pytest.raises(InputError, match="overlaps is 'closed', scheme 'moreau'"):
        Stepping(overlaps="closed", scheme="moreau")
    with pytest.raises(InputError, match="overlaps"):
        Stepping(overlaps="opened")  # type: ignore[arg-type]
