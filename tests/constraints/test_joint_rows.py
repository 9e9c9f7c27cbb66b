"""Rows of joints: values at the start, Jacobians against finite differences, angles over many turns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joint_scenes import all_joints, random_configuration

from stickslip import Scene, compile_scene
from stickslip.bodies.rigid.advance import advance
from stickslip.constraints.joint.rows import measure_coordinates, measure_rows, row_speed
from stickslip.geometry.rotation import about_axis
from stickslip.model.joint_tables import ANGLE, DISTANCE, DOT, OTHER_ANGLE, POINT, TURN


def measured(model, q):
    """Measures and Jacobian of all rows, angles within half a turn of zero."""
    tables = model.joints
    return measure_rows(tables, q, np.zeros((len(q), 6)), np.zeros((tables.count, 2)), 0.0)


@pytest.mark.parametrize("seed", range(3))
def test_all_is_zero_where_the_scene_starts(seed: int) -> None:
    model = all_joints(seed)
    value, _ = measured(model, model.q_start)
    locked = model.joints.row_coordinate < 0
    assert np.abs((value - model.joints.row_offset)[locked]).max() < 1e-13
    angles = np.zeros((model.joints.count, 2))
    position, _ = measure_coordinates(model.joints, model.q_start, np.zeros((model.body_count, 6)), angles, 0.0)
    assert np.abs(position[model.joints.coordinate[:, :, 0] != DISTANCE]).max() < 1e-13


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([1e-3, 1.0]))
def test_jacobians_are_derivatives(seed: int, size: float) -> None:
    """Central differences with a step of 1e-5: their error is 1e-10 (truncation) and 1e-16 / 1e-5 (rounding), times
    third derivatives, which for rotation vectors and angles grow towards their singularities: those are left out."""
    model, rng = all_joints(7), np.random.default_rng(seed)
    tables, step = model.joints, 1e-5
    q, v = random_configuration(model, rng, size), rng.normal(size=(model.body_count, 6))
    value, J = measured(model, q)
    ahead, _ = measured(model, advance(q, v, step))
    back, _ = measured(model, advance(q, v, -step))
    difference = ahead - back
    code = tables.row_measure[:, 0]
    turning = np.isin(code, (ANGLE, OTHER_ANGLE))
    difference[turning] -= 2 * np.pi * np.round(difference[turning] / (2 * np.pi))
    gradient = np.linalg.norm(J[:, 1, 3:], axis=1)
    turn = np.sqrt(np.bincount(tables.row_joint, np.where(code == TURN, value**2, 0.0), tables.count))[tables.row_joint]
    regular = np.where(code == TURN, turn < 3.0, np.where(turning, gradient < 5.0, True))
    expected = row_speed(tables, tables.row_joint, J, v)
    np.testing.assert_allclose((difference / (2 * step))[regular], expected[regular], atol=2e-6)
    for kind in (POINT, DISTANCE, DOT, TURN, ANGLE, OTHER_ANGLE):
        assert (code == kind).any()


def test_turning_is_felt_relative() -> None:
    """Two bodies that move as one rigid whole change no measure but those against the world."""
    model, rng = all_joints(3), np.random.default_rng(0)
    tables = model.joints
    q = random_configuration(model, rng)
    omega, speed = rng.normal(size=3), rng.normal(size=3)
    v = np.concatenate([speed + np.cross(omega, q[:, :3]), np.broadcast_to(omega, (len(q), 3))], axis=1)
    _, J = measured(model, q)
    between = (tables.body_a >= 0) & (tables.body_b >= 0)
    assert np.abs(row_speed(tables, tables.row_joint, J, v)[between[tables.row_joint]]).max() < 1e-12


@pytest.mark.parametrize("swap", [False, True])
def test_a_positive_coordinate_moves_b_along_or_about_the_axis(swap: bool) -> None:
    scene = Scene()
    body = scene.add_box((0.1, 0.1, 0.1), (0.3, 0.0, 0.0))
    pair = (body, None) if swap else (None, body)
    scene.add_revolute(*pair, (0, 0, 0), (0, 0, 2))
    scene.add_prismatic(*pair, (0, 0, 2))
    scene.add_cylindrical(*pair, (0, 0, 0), (0, 0, 2))
    scene.add_universal(*pair, (0, 0, 0), (0, 0, 1), (1, 0, 0))
    scene.add_universal(*pair, (0, 0, 0), (1, 0, 0), (0, 0, 1))
    model = compile_scene(scene)
    turn = about_axis((0, 0, 1), 0.4)
    q = model.q_start.copy()
    q[0] = [0.3 * np.cos(0.4), 0.3 * np.sin(0.4), 0.25, *turn]
    v = np.zeros((1, 6))
    v[0] = [0.0, 0.0, 1.5, 0.0, 0.0, 2.0]
    position, velocity = measure_coordinates(model.joints, q, v, np.zeros((5, 2)), 0.0)
    sign = -1.0 if swap else 1.0
    expected = np.array([[0.4, 0.0], [0.25, 0.0], [0.25, 0.4], [0.4, 0.0], [0.0, 0.4]])
    np.testing.assert_allclose(position, sign * expected, atol=1e-14)
    assert velocity[0, 0] == pytest.approx(sign * 2.0)
    assert velocity[1, 0] == pytest.approx(sign * 1.5)
    np.testing.assert_allclose(velocity[2], [sign * 1.5, sign * 2.0])
    assert velocity[3, 0] == pytest.approx(sign * 2.0)
    assert velocity[4, 1] == pytest.approx(sign * 2.0)


@given(speed=st.floats(-500.0, 500.0), start=st.floats(-100.0, 100.0))
@settings(max_examples=50, deadline=None)
def test_angles_count_turns_at_any_speed(speed: float, start: float) -> None:
    """Also where a wheel makes several turns in one step."""
    model, h = wheel(), 0.05
    v = np.array([[0, 0, 0, 0, 0, speed]])
    q = model.q_start.copy()
    q[0, 3:] = about_axis((0, 0, 1), start)
    angle = np.array([[start, 0.0]])
    for k in range(1, 6):
        q = advance(q, v, h)
        angle, _ = measure_coordinates(model.joints, q, v, angle, h)
        assert angle[0, 0] == pytest.approx(start + k * h * speed, abs=1e-9)


def wheel():
    scene = Scene()
    scene.add_revolute(None, scene.add_cylinder(0.2, 0.1), (0, 0, 0), (0, 0, 1))
    return compile_scene(scene)
