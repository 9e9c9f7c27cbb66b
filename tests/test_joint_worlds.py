"""Many worlds of joints between rigid bodies, and of bodies of prescribed motion: each has the bits of one alone."""

from __future__ import annotations

import numpy as np
import pytest

from stickslip import InputError, Scene, Simulation, Stepping, Worlds, rollout
from stickslip.certify.record import Certificate
from stickslip.model.schemes import Scheme
from stickslip.model.state import State
from test_compiled_joints import DRIVE, landing, loose, pendulum

DT, N = 0.004, 5


def alone(worlds: Worlds, k: int, steps: int) -> tuple[State, Certificate]:
    """World k of worlds as they are now, so many steps later, by the Python driver."""
    sim = Simulation(worlds.model_of(k), stepping=worlds.stepping, driver="python")
    sim.restore(worlds.state(k), worlds.controls.control(k))
    sim.run(steps)
    assert sim.last is not None
    return sim.state, sim.last.certificate


def agree(worlds: Worlds, steps: int, substeps: int) -> None:
    """Take steps of worlds and of simulations; states and certificates have the same bits."""
    assert worlds.driver == "compiled"
    expected = [alone(worlds, k, steps) for k in range(len(worlds))]
    for _ in range(steps // substeps):
        worlds.step(substeps=substeps)
    told = worlds.certificate
    for k, (state, certificate) in enumerate(expected):
        assert worlds.state(k).digest() == state.digest(), k
        assert told[k] == certificate, k


@pytest.mark.parametrize(("threads", "substeps", "scheme"), [(1, 1, "moreau"), (2, 10, "euler")])
def test_worlds_with_joints_and_contacts_have_the_bits_of_one_alone(
    threads: int, substeps: int, scheme: Scheme
) -> None:
    scene = landing()
    worlds = Worlds(scene, N, stepping=Stepping(dt=DT, scheme=scheme), threads=threads)
    speeds = np.linspace(-0.5, 0.5, N)
    worlds.set_velocity(scene.body("link-0-1"), np.stack([speeds, 0 * speeds, 2 * speeds], axis=1))
    agree(worlds, 30, substeps)
    joint = scene.joint("revolute-0")
    sim = Simulation(worlds.model, dt=DT)
    sim.restore(worlds.state(3))
    assert worlds.joint_position(joint)[3] == pytest.approx(sim.joint_position(joint), abs=1e-14)
    assert worlds.joint_velocity(joint)[3] == pytest.approx(sim.joint_velocity(joint), abs=1e-13)
    for mine, its in zip(worlds.joint_force(joint), sim.joint_force(joint), strict=True):
        assert mine[3] == pytest.approx(its, abs=1e-9)
    assert worlds.nbytes / N < 8192


def test_drives_and_efforts_differ_between_worlds() -> None:
    scene = pendulum(3, drive=DRIVE)
    joint, other = scene.joint("revolute-0"), scene.joint("revolute-2")
    worlds = Worlds(scene, N, dt=DT, threads=2)
    worlds.set_drive(joint, np.linspace(-1.0, 1.0, N), velocity=0.1)
    worlds.set_effort(other, [1.0, 2.0], worlds=[1, 3])
    agree(worlds, 20, 5)
    positions = worlds.joint_position(joint)[:, 0]
    assert (np.diff(positions) > 0.0).all()
    worlds.reset([0])
    assert worlds.controls.control(0).target[0, 0].tolist() == [DRIVE.position, DRIVE.velocity]
    with pytest.raises(InputError, match="'revolute-0': coordinate 1 has no drive"):
        worlds.set_drive(joint, 0.0, coordinate=1)
    with pytest.raises(InputError, match=r"'revolute-0': position has shape \(2,\)"):
        worlds.set_drive(joint, [0.0, 1.0])
    with pytest.raises(InputError, match="effort is nan"):
        worlds.set_effort(joint, np.nan)


def test_joints_break_in_some_worlds() -> None:
    scene = pendulum(3, break_force=60.0)
    worlds = Worlds(scene, N, dt=DT, threads=2)
    worlds.set_force(scene.body("link-2"), np.linspace(0.0, 120.0, N)[:, None] * (0.0, 0.0, -1.0))
    agree(worlds, 40, 20)
    broken = worlds.joint_broken(scene.joint("revolute-0"))
    assert 0 < broken.sum() < N
    agree(worlds, 10, 10)


def test_motions_are_sampled_before_the_call_whatever_the_times_of_worlds() -> None:
    worlds = Worlds(loose(), N, dt=DT, threads=2)
    assert worlds.model.motions
    agree(worlds, 12, 6)
    worlds.reset([1, 3])
    agree(worlds, 8, 4)


def test_boxes_ride_on_bodies_that_move_as_told() -> None:
    scene = Scene()
    scene.add_box((3, 3, 0.2), (0, 0, -0.1), kind="kinematic", velocity=(0.3, 0, 0.1), angular_velocity=(0, 0, 0.2))
    box = scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.1))
    scene.add_box(
        (0.2, 0.2, 0.2), (0.5, 0, 0.1), kind="kinematic",
        motion=lambda t: ((0.5 - 2.0 * t, 0.1 * t, 0.1), (np.cos(t), 0, 0, np.sin(t))),
    )  # fmt: skip
    scene.add_half_space((0, 0, 1), (0, 0, -1))
    worlds = Worlds(scene, N, dt=DT, threads=2)
    worlds.set_velocity(box, np.linspace(0.0, 1.0, N)[:, None] * (1.0, 0.0, 0.0))
    agree(worlds, 40, 20)
    start = worlds.get_state()
    found = rollout(worlds, steps=10, every=2)
    worlds.set_state(start)
    for row in range(5):
        worlds.step(substeps=2)
        assert np.array_equal(found.q[row], worlds.coordinates)


def test_gains_of_drives_and_damping_of_joints_differ_between_worlds() -> None:
    scene = pendulum(3, drive=DRIVE)
    worlds = Worlds(scene, N, dt=DT, threads=2)
    joint, some = scene.joint("revolute-1"), np.linspace(0.0, 1.0, N)
    worlds.set_parameters(
        drive_stiffness={joint: 5.0 + 20.0 * some}, drive_damping={joint: 0.1 + some},
        mass={scene.body("link-2"): 1.0 + some}, gravity=np.stack([some, 0 * some, -9.81 + some], axis=1),
    )  # fmt: skip
    agree(worlds, 20, 10)
    tables = worlds.model_of(4).joints
    own = (tables.row_joint == 1) & (tables.row_driven == 1)
    assert tables.row_stiffness[own].tolist() == [25.0]
    assert tables.row_damping[own].tolist() == [1.1]
    assert len({worlds.state(k).digest() for k in range(N)}) == N
    with pytest.raises(InputError, match="drive_stiffness of joint 'revolute-1' has the entry -1"):
        worlds.set_parameters(drive_stiffness={joint: -np.ones(N)})
    with pytest.raises(InputError, match="joint 'revolute-0' has no drive"):
        Worlds(pendulum(2), 2, dt=DT).set_parameters(drive_stiffness={pendulum(2).joint("revolute-0"): [1.0, 2.0]})
