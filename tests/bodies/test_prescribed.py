"""Bodies whose motion is given."""

from dataclasses import replace

import numpy as np
import pytest

from stickslip import InputError, Scene, Simulation, compile_scene
from stickslip.bodies.rigid.advance import advance, prescribed_positions, prescribed_velocities
from stickslip.geometry.rotation import about_axis, matrix
from stickslip.model.state import initial_state


def screw(t: float) -> tuple:
    return (np.sin(t), 0.5 * t, t * t), about_axis((1, 2, 2), 1.5 * t)


def scene() -> Scene:
    made = Scene()
    made.add_sphere(0.1, (0, 0, 0), kind="static")
    made.add_sphere(0.1, (1, 0, 0), kind="kinematic", velocity=(0, 1, 0), angular_velocity=(0, 0, 2))
    made.add_sphere(0.1, (7, 7, 7), kind="kinematic", motion=screw, name="screw")
    made.add_sphere(0.1, (3, 0, 0), velocity=(1, 2, 3))
    return made


def test_velocities_of_each_kind() -> None:
    model = compile_scene(scene())
    state = initial_state(model)
    before = state.body_velocity.copy()
    v = prescribed_velocities(model, state, 0.1)
    np.testing.assert_array_equal(v[0], np.zeros(6))
    np.testing.assert_array_equal(v[1], [0, 1, 0, 0, 0, 2])
    np.testing.assert_array_equal(v[3], [1, 2, 3, 0, 0, 0])
    np.testing.assert_array_equal(state.body_velocity, before)  # the state is not touched


@pytest.mark.parametrize("time", [0.0, 0.7, 2.5])
@pytest.mark.parametrize("h", [0.001, 0.1, 1.0])
def test_mean_velocity_of_a_motion_leads_to_its_next_pose(time: float, h: float) -> None:
    model = compile_scene(scene())
    at = np.concatenate(screw(time))
    q = initial_state(model).body_pose
    q[2] = at
    state = replace(initial_state(model).with_parts(body_pose=q), time=time)
    v = prescribed_velocities(model, state, h)
    position, rotation = screw(time + h)
    after = advance(q, v, h)[2]
    np.testing.assert_allclose(after[:3], position, atol=1e-13)
    np.testing.assert_allclose(matrix(after[3:]), matrix(rotation), atol=1e-12)  # the sign of q is free
    np.testing.assert_allclose(v[2, 3:], 1.5 * np.array([1, 2, 2]) / 3, atol=1e-12 / h)


def test_a_motion_whose_quaternion_changes_sign_does_not_spin() -> None:
    """q and -q are one rotation: the step between them has no angular velocity."""
    made = Scene()
    made.add_sphere(0.1, kind="kinematic", motion=lambda t: ((0, 0, 0), (1, 0, 0, 0) if t < 0.05 else (-1, 0, 0, 0)))
    model = compile_scene(made)
    np.testing.assert_array_equal(prescribed_velocities(model, initial_state(model), 0.1), np.zeros((1, 6)))


def test_positions_put_bodies_with_a_motion_exactly() -> None:
    model = compile_scene(scene())
    q = np.random.default_rng(0).normal(size=(4, 7))
    expected = q.copy()
    expected[2] = np.concatenate(screw(3.0))
    np.testing.assert_allclose(prescribed_positions(model, q, 3.0), expected, atol=1e-15)


def test_the_motion_decides_where_a_body_starts() -> None:
    made = scene()
    sim = Simulation(made)
    np.testing.assert_array_equal(sim.position(made.body("screw")), [0, 0, 0])  # not (7, 7, 7)


def test_motion_that_stops_being_finite_is_named_with_its_time() -> None:
    made = Scene()
    made.add_sphere(
        0.1, kind="kinematic", name="arm", motion=lambda t: ((0, 0, t if t < 0.025 else np.nan), (1, 0, 0, 0))
    )
    sim = Simulation(made, dt=0.01)
    sim.run(2)
    good = sim.state
    with pytest.raises(InputError, match=r"'arm'.*t = 0.03 s.*nan"):
        sim.step()
    assert sim.state is good


def test_kinematic_body_is_not_pushed_by_contact() -> None:
    made = Scene()
    lift = made.add_box((1, 1, 0.1), (0, 0, -0.05), kind="kinematic", velocity=(0, 0, 0.3))
    load = made.add_box((0.2, 0.2, 0.2), (0, 0, 0.1), density=8000.0)
    sim = Simulation(made, dt=0.002)
    sim.run(100)
    np.testing.assert_allclose(sim.position(lift), [0, 0, -0.05 + 0.06], atol=1e-12)
    np.testing.assert_array_equal(sim.velocity(lift), [0, 0, 0.3])
    assert sim.velocity(load)[2] == pytest.approx(0.3, abs=1e-8)
