"""Many worlds of one scene: each has the bits of a simulation of its own."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import stickslip
from robot_records import ant, arm
from stickslip import InputError, Scene, Simulation, Worlds, elastic, rollout, tet_generators
from stickslip.errors import DivergenceError, WorldsWarning
from stickslip.robots.records import Sensor
from stickslip.worlds.states import WorldStates

DT = 0.004
N = 5


def thrown(gravity: float = 9.81, mass: float = 8.0, friction: float = 0.5, size: float = 0.2) -> Scene:
    """A box on the ground, and a ball that hits it."""
    scene = Scene((0.0, 0.0, -gravity))
    scene.add_half_space(name="ground")
    scene.add_box((0.2, 0.2, size), (0.0, 0.0, 0.1), mass=mass, friction=friction, name="box")
    scene.add_sphere(0.1, (0.4, 0.0, 0.1), velocity=(-2.0, 0.0, 0.0), name="ball")
    return scene


def spider() -> tuple[Scene, stickslip.scene.robots.Robot]:
    """A robot with legs on the ground, with sensors."""
    scene = Scene()
    scene.add_half_space(name="ground")
    sensors = (
        Sensor("knee", "joint position", "knee1", "joint"), Sensor("speed", "velocimeter", "torso", "link"),
        Sensor("turn", "gyro", "shin1", "link"), Sensor("up", "axis z", "torso", "link"),
        Sensor("heavy", "accelerometer", "torso", "link"), Sensor("foot", "touch", "shin2", "link"),
        Sensor("push", "actuator force", "drive3", "actuator"),
    )  # fmt: skip
    return scene, scene.add_tree(replace(ant(), sensors=sensors), "ant")


def test_each_world_has_the_bits_and_the_certificate_of_a_simulation() -> None:
    scene = thrown()
    box, ground = scene.body("box"), scene.body("ground")
    worlds = Worlds(scene, N, dt=DT, threads=2)
    assert worlds.driver == "compiled"
    assert worlds.reason == ""
    assert worlds.status.tolist() == N * ["unstepped"]
    speeds, forces = np.linspace(0.0, 1.0, N), np.linspace(-5.0, 5.0, N)
    worlds.set_velocity(box, np.stack([speeds, 0 * speeds, 0 * speeds], axis=1))
    worlds.set_force(box, np.stack([0 * forces, forces, 0 * forces], axis=1))
    for _ in range(10):
        worlds.step(substeps=4)
    sim, told, pushes = Simulation(scene, dt=DT, driver="python"), worlds.certificate, worlds.contact_force(box, ground)
    start = sim.state
    for k in range(N):
        sim.restore(start)
        sim.set_velocity(box, (speeds[k], 0, 0))
        sim.set_force(box, (0, forces[k], 0))
        sim.run(40)
        assert worlds.state(k).digest() == sim.state.digest()
        assert sim.last is not None
        assert told[k] == sim.last.certificate
        assert worlds.position(box)[k] == pytest.approx(sim.position(box), abs=1e-14)
        assert np.array_equal(worlds.velocity(box)[k], sim.velocity(box))
        assert np.array_equal(worlds.rotation(box)[k], sim.rotation(box))
        assert pushes[k] == pytest.approx(sim.contacts(box, ground).total_force, abs=1e-9)
    assert worlds.time == pytest.approx(np.full(N, 40 * DT))
    assert set(worlds.status.tolist()) == {"converged"}
    assert worlds.nbytes / N < 4096


def test_contacts_are_told_by_pair_of_bodies() -> None:
    scene = thrown()
    box, ball, ground = (scene.body(name) for name in ("box", "ball", "ground"))
    worlds = Worlds(scene, N, dt=DT, threads=2)
    worlds.set_force(box, (0.0, 0.0, 20.0), worlds=[1])
    worlds.set_velocity(ball, (-60.0, 0.0, 0.0), worlds=2)  # too fast for the compiled driver
    assert not worlds.contacts().count.any()
    worlds.step(substeps=3)
    found = worlds.contacts([(ground, box), (box, ground), (ground, ball)])
    assert found.names[0] == ("ground", "box")
    assert found.count.shape == (N, 3)
    assert np.array_equal(found.force[:, 0], -found.force[:, 1])
    assert found.touching[:, 0].all()
    assert worlds.contact_force(box, ground) == pytest.approx(found.force[:, 0], abs=1e-12)
    assert worlds.force(box)[0][:2].tolist() == [[0.0, 0.0, 0.0], [0.0, 0.0, 20.0]]
    for k in range(3):
        sim = Simulation(scene, dt=DT, driver="python")
        sim.set_force(box, worlds.force(box)[0][k])
        sim.set_velocity(ball, (-60.0 if k == 2 else -2.0, 0.0, 0.0))
        sim.run(3)
        for p, other in enumerate((box, ball)):
            alone = sim.contacts(ground, other)
            assert found.count[k, 2 * p] == len(alone)
            assert found.force[k, 2 * p] == pytest.approx(sim.contacts(other, ground).total_force, abs=1e-9)
    assert {*worlds.contacts().names} >= {("ground", "box"), ("ground", "ball")}
    with pytest.raises(InputError, match="'box' is given twice"):
        worlds.contacts([(box, box)])
    with pytest.raises(InputError, match="is no pair"):
        worlds.contacts([box])  # type: ignore[list-item]


def test_worlds_of_own_numbers_have_the_bits_of_scenes_with_these_numbers() -> None:
    scene, some = thrown(), np.linspace(0.0, 1.0, N)
    given = {"gravity": 5.0 + some, "mass": 2.0 + some, "friction": 0.2 + 0.5 * some, "size": 0.2 + 0.01 * some}
    worlds = Worlds(scene, N, dt=DT, threads=2)
    box = scene.body("box")
    worlds.set_parameters(
        gravity=np.stack([0 * some, 0 * some, -given["gravity"]], axis=1), mass={box: given["mass"]},
        friction={box: given["friction"]},
        size={box: np.stack([0 * some + 0.2, 0 * some + 0.2, given["size"]], axis=1)},
    )  # fmt: skip
    worlds.step(substeps=60)
    different = set()
    for k in range(N):
        sim = Simulation(thrown(**{name: float(numbers[k]) for name, numbers in given.items()}), dt=DT, driver="python")
        assert worlds.state(k).digest() == sim.run(60).digest()
        different.add(sim.state.digest())
    assert len(different) == N
    worlds.set_parameters()
    worlds.reset()
    worlds.step(substeps=30)
    assert worlds.state(3).digest() == Simulation(scene, dt=DT, driver="python").run(30).digest()


def test_states_are_values_from_which_worlds_go_on_bit_for_bit(tmp_path: Path) -> None:
    scene = thrown()
    worlds = Worlds(scene, N, dt=DT, threads=1)
    worlds.set_velocity(scene.body("box"), (0.3, 0.0, 0.0), worlds=[1, 3])
    start = worlds.get_state()
    worlds.step(substeps=20)
    middle = worlds.get_state()
    worlds.step(substeps=20)
    end = worlds.get_state()
    middle.save(tmp_path / "middle.npz")
    worlds.set_state(WorldStates.load(tmp_path / "middle.npz"))
    assert worlds.get_state().digest() == middle.digest()
    worlds.step(substeps=20)
    assert worlds.get_state().digest() == end.digest()
    worlds.reset(np.arange(N) == 3)
    assert worlds.status.tolist() == [*3 * ["converged"], "unstepped", "converged"]
    assert worlds.state(3).digest() == start[0].digest()
    assert worlds.state(1).digest() == end[1].digest()
    worlds.reset([0, 1], end.take([3, 2]))
    assert worlds.state(0).digest() == end[3].digest() == end.take([3])[0].digest()


def test_room_grows_once_for_all_worlds_that_need_it() -> None:
    scene = Scene()
    scene.add_half_space()
    for k in range(9):  # 36 contacts; there is room for 32 at first
        scene.add_box((0.2, 0.2, 0.2), (0.3 * k, 0.0, 0.1), name=f"box-{k}")
    worlds = Worlds(scene, 40, dt=DT, threads=2)
    worlds.set_parameters(friction=np.linspace(0.1, 0.9, 40))
    worlds.set_velocity(scene.body("box-3"), (0.5, 0.0, 0.0))
    worlds.step(substeps=5)
    assert set(worlds.certificate.contacts.tolist()) == {36}
    assert worlds.nbytes / 40 < 20_000
    sim = Simulation(worlds.model_of(7), dt=DT, driver="python")
    sim.set_velocity(scene.body("box-3"), (0.5, 0.0, 0.0))
    assert worlds.state(7).digest() == sim.run(5).digest()


def test_a_world_that_diverges_is_frozen_and_flagged_and_can_be_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = thrown()
    worlds = Worlds(scene, N, dt=DT, threads=2)
    ball, fast = scene.body("ball"), np.array([2.0, 2.0, 60.0, 2.0, 2.0])
    worlds.set_velocity(ball, np.stack([-fast, 0 * fast, 0 * fast], axis=1))
    before = worlds.get_state()

    def fails(self: Simulation) -> None:
        raise DivergenceError("not finite")

    with monkeypatch.context() as broken:  # the fast one is what the Python driver is asked for
        broken.setattr(Simulation, "step", fails)
        worlds.step()
    assert worlds.diverged.tolist() == [False, False, True, False, False]
    assert worlds.state(2).digest() == before[2].digest()
    assert worlds.status[2] == "diverged"
    worlds.step(substeps=3)
    assert worlds.steps.tolist() == [4, 4, 0, 4, 4]
    worlds.set_state(before)
    with monkeypatch.context() as broken:
        broken.setattr(Simulation, "step", fails)
        found = rollout(worlds, steps=3)
    assert found.diverged.tolist() == 3 * [[False, False, True, False, False]]
    assert np.array_equal(found.q[2, 2], before.q[2])
    assert found.time[2].tolist() == [worlds.time[0], worlds.time[0], 0.0, worlds.time[0], worlds.time[0]]
    assert found.certificate.status[2].tolist() == [*2 * ["converged"], "diverged", *2 * ["converged"]]
    worlds.step()
    worlds.reset(worlds.diverged)
    worlds.step()
    assert not worlds.diverged.any()
    assert worlds.steps.tolist() == [5, 5, 1, 5, 5]


def test_rollouts_are_the_steps_they_stand_for() -> None:
    scene = thrown()
    worlds = Worlds(scene, N, dt=DT, threads=2)
    worlds.set_velocity(scene.body("box"), np.linspace(0, 1, 3 * N).reshape(N, 3) * (1, 1, 0))
    worlds.set_velocity(scene.body("ball"), (-60.0, 0.0, 0.0), worlds=1)  # too fast for the compiled driver
    start = worlds.get_state()
    one = rollout(worlds, steps=2)
    worlds.set_state(start)
    for row in range(2):
        worlds.step()
        for k in range(N):
            assert one.certificate.penetration[row, k] == worlds.certificate[k].penetration
            assert one.certificate.energy.friction[row, k] == worlds.certificate[k].energy.friction
    worlds.set_state(start)
    found = rollout(worlds, steps=30, every=3, substeps=2, checkpoints=[0, 13, 30])
    assert found.q.shape == (10, N, 21)
    assert found.certificate.penetration.shape == (10, N)
    end = worlds.get_state()
    worlds.set_state(start)
    for row in range(10):
        worlds.step(substeps=6)
        assert np.array_equal(found.q[row], worlds.coordinates)
        assert np.array_equal(found.time[row], worlds.time)
        assert np.array_equal(found.certificate.natural_residual[row], worlds.certificate.natural_residual)
        assert found.certificate.status[row].tolist() == worlds.status.tolist()
    assert worlds.get_state().digest() == end.digest() == found.checkpoints[30].digest()
    worlds.set_state(found.checkpoints[13])
    worlds.step(substeps=34)
    assert worlds.get_state().digest() == end.digest()
    assert found.checkpoints[0].digest() == start.digest()


def test_robots_are_driven_read_and_rolled_out_as_alone() -> None:
    scene, robot = spider()
    worlds = Worlds(scene, 3, dt=DT, threads=2)
    assert worlds.driver == "compiled"
    controls = 0.4 * np.sin(np.arange(20 * 3 * 8)).reshape(20, 3, 8)
    names = [sensor.name for sensor in robot.record.sensors]
    found = rollout(worlds, controls, every=10, sensors=[(robot, name) for name in names])
    assert worlds.nbytes / 3 < 10_000
    fast = Worlds(scene, 3, dt=DT, threads=1)
    few = rollout(fast, controls, every=5, sensors=[(robot, "speed")])
    assert np.array_equal(few.q[1::2], found.q)
    assert fast.get_state().digest() == worlds.get_state().digest()
    assert np.array_equal(few.sensors["speed"][1::2], found.sensors["speed"])
    for k in range(3):
        sim = Simulation(scene, dt=DT, driver="python")
        for t in range(20):
            sim.set_control(robot, actuators=controls[t, k])
            sim.step()
        assert worlds.state(k).digest() == sim.state.digest()
        assert sim.last is not None
        assert worlds.certificate[k] == sim.last.certificate
        for name in names:
            expected = sim.sensor(robot, name)
            assert worlds.sensor(robot, name)[k] == pytest.approx(expected, rel=1e-9, abs=1e-9), name
            assert found.sensors[name][-1, k] == pytest.approx(expected, rel=1e-9, abs=1e-9), name
        assert worlds.link_velocity(robot, "shin2")[1][k] == pytest.approx(sim.link_velocity(robot, "shin2")[1])
        assert worlds.link_pose(robot, "shin2")[0][k] == pytest.approx(sim.link_pose(robot, "shin2")[0])
        assert np.array_equal(found.joint_velocities(robot)[-1, k], sim.joint_velocities(robot))


def test_numbers_of_robots_differ_between_worlds() -> None:
    record = arm(3)

    def alone(stiffness: float, damping: float, mass: float) -> Simulation:
        drives = tuple(replace(each, gain=stiffness, bias=(0.0, -stiffness, -80.0)) for each in record.actuators)
        joints = [tuple(replace(joint, damping=damping) for joint in link.joints) for link in record.links]
        links = [replace(link, joints=own) for link, own in zip(record.links, joints, strict=True)]
        links[2] = replace(links[2], mass=mass, inertia=links[2].inertia * (mass / links[2].mass))
        scene = Scene()
        robot = scene.add_tree(replace(record, links=tuple(links), actuators=drives))
        sim = Simulation(scene, dt=DT, driver="python")
        sim.set_control(robot, position=[0.2, 0.4, -0.3])
        return sim

    scene = Scene()
    robot = scene.add_tree(record)
    worlds = Worlds(scene, 3, dt=DT, threads=2)
    stiffness, damping, mass = np.array([1000.0, 2000.0, 500.0]), np.array([0.1, 1.0, 0.0]), np.array([1.0, 2.0, 3.0])
    worlds.set_parameters(drive_stiffness=stiffness, joint_damping=damping, mass={robot.links["link2"]: mass})
    worlds.set_control(robot, position=np.tile([0.2, 0.4, -0.3], (3, 1)))
    worlds.step(substeps=20)
    for k in range(3):
        sim = alone(stiffness[k], damping[k], mass[k])
        assert worlds.state(k).digest() == sim.run(20).digest()


def test_other_scenes_are_stepped_by_the_python_driver_which_says_so() -> None:
    scene = Scene()
    ball = scene.add_sphere(0.1, (0.0, 0.0, 1.0))
    scene.add_ball(None, ball, point=(0.0, 0.0, 1.5))
    with pytest.warns(WorldsWarning, match="Python driver.*'nsgs'"):
        worlds = Worlds(scene, 2, dt=DT, solver="nsgs")
    assert worlds.driver == "python"
    assert "nsgs" in worlds.reason
    worlds.set_velocity(ball, [[0.1, 0, 0], [0.2, 0, 0]])
    worlds.set_parameters(mass={ball: [1.0, 2.0]})
    found = rollout(worlds, steps=5, every=2, checkpoints=[3])
    for k in range(2):
        sim = Simulation(worlds.model_of(k), dt=DT, solver="nsgs")
        sim.set_velocity(ball, (0.1 * (k + 1), 0, 0))
        assert found.checkpoints[3][k].digest() == sim.run(3).digest()
        assert worlds.state(k).digest() == sim.run(2).digest()
        assert sim.last is not None
        assert worlds.certificate[k] == sim.last.certificate


def test_soft_bodies_are_stepped_by_the_python_driver() -> None:
    scene = Scene()
    scene.add_half_space()
    cube = scene.add_soft(tet_generators.box((0.1, 0.1, 0.1), (1, 1, 1)), elastic(1e5, 0.3, density=1000), (0, 0, 0.05))
    ball = scene.add_sphere(0.03, (0.0, 0.0, 0.13))
    with pytest.warns(WorldsWarning, match="soft bodies"):
        worlds = Worlds(scene, 2, dt=DT)
    worlds.set_velocity(ball, [[0.1, 0, 0], [0.2, 0, 0]])
    worlds.set_node_force(cube, [[0, 0, 1.0], [0, 0, -1.0]], nodes=[0, 3])
    worlds.step(substeps=3)
    for k in range(2):
        sim = Simulation(scene, dt=DT)
        sim.set_velocity(ball, (0.1 * (k + 1), 0, 0))
        sim.set_node_force(cube, (0, 0, 1.0 - 2.0 * k), nodes=[0, 3])
        assert worlds.state(k).digest() == sim.run(3).digest()
        assert np.array_equal(worlds.nodes(cube)[k], sim.nodes(cube))
        assert np.array_equal(worlds.node_velocities(cube)[k], sim.node_velocities(cube))
        assert worlds.contact_force(ball)[k] == pytest.approx(sim.contacts(ball).total_force, abs=1e-9)
    with pytest.raises(InputError, match="no handle"):
        worlds.nodes(ball)  # type: ignore[arg-type]


def test_inertias_differ_between_worlds() -> None:
    scene, some = thrown(), np.linspace(1.0, 2.0, N)
    box, moments = scene.body("box"), np.array([0.05, 0.06, 0.07])
    worlds = Worlds(scene, N, dt=DT, threads=2)
    worlds.set_parameters(inertia={box: some[:, None] * moments}, mass={box: 8.0 * some})
    worlds.step(substeps=30)
    for k in (0, 3):
        own = Scene()
        own.add_half_space(name="ground")
        inertia = np.diag(some[k] * moments)
        own.add_box((0.2, 0.2, 0.2), (0.0, 0.0, 0.1), mass=8.0 * some[k], inertia=inertia, name="box", friction=0.5)
        own.add_sphere(0.1, (0.4, 0.0, 0.1), velocity=(-2.0, 0.0, 0.0), name="ball")
        assert worlds.state(k).digest() == Simulation(own, dt=DT, driver="python").run(30).digest()
    with pytest.raises(InputError, match="inertia of body 'box', world 1: inertia has the eigenvalue -1"):
        worlds.set_parameters(inertia={box: np.stack([moments, -np.ones(3), *3 * [moments]])})
    with pytest.raises(InputError, match=r"ground.*does not move"):
        worlds.set_parameters(inertia={scene.body("ground"): np.ones((N, 3))})


def test_what_is_wrong_is_rejected_by_name() -> None:
    scene, robot = spider()
    worlds = Worlds(scene, 3, dt=DT)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match="count"):
            Worlds(scene, 0)
        with pytest.raises(InputError, match=r"control of robot 'ant' has shape \(3, 7\)"):
            worlds.step(np.zeros((3, 7)))
        with pytest.raises(InputError, match=r"ant.\[1\] is \[nan"):
            worlds.step({robot: np.array([[0.0] * 8, [np.nan] * 8, [0.0] * 8])})
        with pytest.raises(InputError, match="robot 'bee'"):
            worlds.step({"bee": np.zeros((3, 8))})
        with pytest.raises(InputError, match="mask has shape"):
            worlds.reset(np.zeros(2, dtype=bool))
        with pytest.raises(InputError, match=r"2 states are given for 3 worlds"):
            worlds.set_state(worlds.get_state([0, 1]))
        with pytest.raises(InputError, match=r"ground.*does not move"):
            worlds.set_parameters(mass={scene.body("ground"): np.ones(3)})
        with pytest.raises(InputError, match="in world 1; it must be positive"):
            worlds.set_parameters(mass={robot.links["torso"]: np.array([1.0, -1.0, 1.0])})
        with pytest.raises(InputError, match="neither controls nor steps"):
            rollout(worlds)
        with pytest.raises(InputError, match="every is 9"):
            rollout(worlds, np.zeros((4, 3, 8)), every=9)
