"""Efforts: generalised forces along the coordinates of joints."""

from pathlib import Path

import numpy as np
import pytest

from stickslip import InputError, Joint, Scene, Simulation
from stickslip.solvers.registry import make_solver

H = 1e-3


def hinge() -> tuple[Simulation, Joint, float]:
    """A bar on a hinge without gravity, and its inertia [kg m^2] about the axis."""
    scene = Scene(gravity=(0, 0, 0))
    bar = scene.add_box((0.4, 0.1, 0.1), (0.2, 0, 0), mass=2.0)
    joint = scene.add_revolute(None, bar, (0, 0, 0), (0, 0, 1))
    inertia = 2.0 * (0.4**2 + 0.1**2) / 12.0 + 2.0 * 0.2**2
    return Simulation(scene, dt=H, solver=make_solver("prox-gs", tolerance=1e-12)), joint, inertia


def test_a_torque_turns_a_hinge() -> None:
    sim, joint, inertia = hinge()
    sim.set_effort(joint, 3.0)
    work, steps = 0.0, 50
    for _ in range(steps):
        result = sim.step()
        work += result.certificate.energy.work
    speed = 3.0 / inertia * steps * H
    # forces of the hinge act along the bar at the end of a step, which damps by (speed h)^2 at most
    damped = steps * (speed * H) ** 2
    assert sim.joint_velocity(joint)[0] == pytest.approx(speed, rel=damped)
    turned = sim.joint_position(joint)[0]
    assert turned == pytest.approx(0.5 * speed * steps * H, rel=2.0 / steps)
    # impulses act over the mean velocity of a step, so the work of a constant torque is the energy that it gave
    assert work == pytest.approx(0.5 * inertia * speed**2, rel=1e-3)
    assert work == pytest.approx(result.certificate.energy.kinetic, rel=1e-3)
    sim.set_effort(joint, 0.0)
    assert sim.step().certificate.energy.work == 0.0
    assert sim.joint_velocity(joint)[0] == pytest.approx(speed, rel=damped)


@pytest.mark.parametrize("coordinate", [0, 1])
def test_efforts_act_on_both_bodies(coordinate: int) -> None:
    """Along and about the axis of a cylindrical joint; nothing is added to the momentum of both."""
    scene = Scene(gravity=(0, 0, 0))
    a = scene.add_box((0.1, 0.1, 0.4), (0, 0, 0), mass=3.0)
    b = scene.add_box((0.1, 0.1, 0.4), (0, 0, 0.5), mass=1.0)
    joint = scene.add_cylindrical(a, b, (0, 0, 0.25), (0, 0, 1))
    sim = Simulation(scene, dt=H)
    sim.set_effort(joint, 2.0, coordinate)
    sim.run(10)
    for mass, body, sign in ((3.0, a, -1.0), (1.0, b, 1.0)):
        pushed = sign * 2.0 * 10 * H
        inertia = mass * 0.02 / 12.0
        wanted = (pushed / mass, 0.0) if coordinate == 0 else (0.0, pushed / inertia)
        assert sim.velocity(body)[2] == pytest.approx(wanted[0], abs=1e-7)
        assert sim.angular_velocity(body)[2] == pytest.approx(wanted[1], rel=1e-6, abs=1e-7)


def test_a_force_moves_a_slider() -> None:
    scene = Scene(gravity=(0, 0, 0))
    block = scene.add_box((0.1, 0.1, 0.1), (0, 0, 0), mass=4.0)
    joint = scene.add_prismatic(None, block, axis=(1, 1, 0))
    sim = Simulation(scene, dt=H)
    sim.set_effort(joint, 8.0)
    work = sum(sim.step().certificate.energy.work for _ in range(20))
    assert sim.joint_velocity(joint)[0] == pytest.approx(8.0 / 4.0 * 20 * H, rel=1e-9)
    np.testing.assert_allclose(sim.velocity(block), 0.04 * np.array([0.5, 0.5, 0.0]) ** 0.5, atol=1e-9)
    assert work == pytest.approx(0.5 * 4.0 * 0.04**2, rel=1e-6)


def test_a_broken_joint_has_no_effort(tmp_path: Path) -> None:
    scene = Scene()
    bar = scene.add_box((0.4, 0.1, 0.1), (0.2, 0, 0), mass=2.0)
    joint = scene.add_revolute(None, bar, (0, 0, 0), (0, 0, 1), break_force=1.0)
    sim = Simulation(scene, dt=H)
    sim.step()
    assert sim.joint_broken(joint)
    sim.set_effort(joint, 3.0)
    before = sim.angular_velocity(bar)
    sim.step()
    np.testing.assert_array_equal(sim.angular_velocity(bar), before)


def test_substeps_know_efforts() -> None:
    sim, joint, inertia = hinge()
    other = Simulation(sim.model, dt=H, solver="xpbd")
    other.set_effort(joint, 3.0)
    other.run(50)
    assert other.joint_velocity(joint)[0] == pytest.approx(3.0 / inertia * 50 * H, rel=1e-3)


def test_efforts_that_make_no_sense_are_refused() -> None:
    sim, joint, _ = hinge()
    with pytest.raises(InputError, match=r"coordinate is 1, but it has 1; those that it has: \[0\]"):
        sim.set_effort(joint, 1.0, 1)
    with pytest.raises(InputError, match="effort is nan"):
        sim.set_effort(joint, float("nan"))
    with pytest.raises(InputError, match="no handle"):
        sim.set_effort("hinge", 1.0)  # type: ignore[arg-type]
    assert not sim.control.effort.any()
