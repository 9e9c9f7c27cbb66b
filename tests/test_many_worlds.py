"""Many worlds by the compiled driver: each has the bits that it has alone."""

from __future__ import annotations

import numpy as np
import pytest

from robot_records import ant, crawler
from stickslip import Scene, Simulation
from stickslip.compiled.many import ManyWorlds
from stickslip.model.state import State

pytestmark = pytest.mark.slow

COUNT, STEPS = 9, 60


def worlds() -> tuple[Simulation, list[State]]:
    """Two boxes and a ball, thrown with another velocity in each world; some are hit so that Python must help."""
    scene = Scene()
    scene.add_half_space()
    low = scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.1))
    scene.add_box((0.2, 0.2, 0.2), (0.02, 0, 0.3))
    scene.add_sphere(0.1, (1.0, 0, 0.1), velocity=(-2.0, 0, 0))
    sim = Simulation(scene, dt=0.004, driver="python")
    states = []
    for k in range(COUNT):
        sim.set_velocity(low, (0.1 * k, 0.05, 0.0))
        states.append(sim.state)
    return sim, states


def alone(sim: Simulation, state: State, steps: int) -> State:
    sim.restore(state)
    return sim.run(steps)


@pytest.mark.parametrize(("threads", "substeps"), [(1, 1), (2, 20), (3, 7)])
def test_worlds_have_the_bits_of_a_run_alone(threads: int, substeps: int) -> None:
    sim, states = worlds()
    many = ManyWorlds(sim.model, sim.stepping, sim.solver, states, threads)
    going, done, helped = np.ones(COUNT, dtype=bool), 0, []

    def by_python(k: int, state: State) -> State:
        helped.append(k)
        return alone(sim, state, 1)

    while done < STEPS:
        take = min(substeps, STEPS - done)
        assert not many.step(going, take, by_python).any()
        done += take
    assert 0 < len(helped) < COUNT * STEPS / 2
    for k in range(COUNT):
        assert many.state(k).digest() == alone(sim, states[k], STEPS).digest()


def test_worlds_that_rest_or_diverge_stay_as_they_are() -> None:
    sim, states = worlds()
    many = ManyWorlds(sim.model, sim.stepping, sim.solver, states, 2)
    going = np.arange(COUNT) % 2 == 0
    lost = many.step(going, 40, lambda k, state: None if k == 4 else alone(sim, state, 1))
    assert lost.tolist() == [k == 4 for k in range(COUNT)]
    assert many.state(1).digest() == states[1].digest()
    assert many.state(2).digest() == alone(sim, states[2], 40).digest()
    broken = many.state(4)
    assert 0 < broken.steps < 40
    assert broken.digest() == alone(sim, states[4], broken.steps).digest()


@pytest.mark.parametrize(("threads", "substeps"), [(1, 60), (2, 7)])
def test_worlds_of_robots_have_the_bits_of_a_run_alone(threads: int, substeps: int) -> None:
    scene = Scene()
    scene.add_half_space()
    robot, other = scene.add_tree(ant(), "a"), scene.add_tree(ant(), "b", position=(2.0, 0.0, 0.1))
    scene.add_box((0.2, 0.2, 0.2), (0.0, 0.0, 0.9))
    sim = Simulation(scene, dt=0.004, driver="python")
    states = []
    for k in range(COUNT):
        sim.set_joint_velocities(robot, 0.1 * np.arange(14) * k)
        states.append(sim.state)
    many = ManyWorlds(sim.model, sim.stepping, sim.solver, states, threads)
    targets = np.linspace(-0.5, 0.5, COUNT)
    many.control_of("b")[:, :, 0] = targets[:, None]
    many.arrays.along[:, 6 + 6] = targets
    many.arrays.force[:, 1, 0] = targets

    def alone_under_control(k: int, state: State, steps: int) -> State:
        sim.set_control(other, actuators=np.full(8, targets[k]))
        effort = np.zeros(14)
        effort[6] = targets[k]
        sim.set_control(robot, effort=effort)
        sim.set_force(scene.body("box-1"), (targets[k], 0.0, 0.0))
        return alone(sim, state, steps)

    going, done, helped = np.ones(COUNT, dtype=bool), 0, []

    def by_python(k: int, state: State) -> State:
        helped.append(k)
        return alone_under_control(k, state, 1)

    while done < STEPS:
        take = min(substeps, STEPS - done)
        assert not many.step(going, take, by_python).any()
        done += take
    assert len(helped) < COUNT * STEPS / 2
    for k in range(COUNT):
        assert many.state(k).digest() == alone_under_control(k, states[k], STEPS).digest()


@pytest.mark.parametrize(("threads", "substeps"), [(1, 40), (2, 7)])
def test_worlds_of_robots_with_loops_have_the_bits_of_a_run_alone(threads: int, substeps: int) -> None:
    """A joint to a ball breaks in some of the worlds."""
    scene = Scene()
    scene.add_half_space()
    robot = scene.add_tree(crawler())
    ball = scene.add_sphere(0.05, (0.3, 0.0, 0.4), mass=0.1)
    scene.add_ball(robot.link("arm"), ball, (0.3, 0.0, 0.35), break_force=4.0)
    sim = Simulation(scene, dt=0.004, driver="python")
    states = []
    for k in range(COUNT):
        sim.set_velocity(ball, (0.0, 0.3 * k, 0.0))
        states.append(sim.state)
    many = ManyWorlds(sim.model, sim.stepping, sim.solver, states, threads)
    going, done, helped = np.ones(COUNT, dtype=bool), 0, []

    def by_python(k: int, state: State) -> State:
        helped.append(k)
        return alone(sim, state, 1)

    while done < 40:
        take = min(substeps, 40 - done)
        assert not many.step(going, take, by_python).any()
        done += take
    assert len(helped) < COUNT * 40 / 4
    assert 0 < many.arrays.broken.sum() < COUNT
    for k in range(COUNT):
        assert many.state(k).digest() == alone(sim, states[k], 40).digest()
