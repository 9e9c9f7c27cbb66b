"""Quaternions outside kernels: against SciPy, and the same as those inside kernels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from stickslip.geometry.rotation import about_axis, between, conjugate, matrix, multiply, rotation_vector
from stickslip.linalg.vec3 import quat_integrate, quat_matrix, quat_multiply, tangents

coordinate = st.floats(-1, 1)
directions = st.tuples(coordinate, coordinate, coordinate).filter(lambda x: np.linalg.norm(x) > 1e-3)
quaternions = st.tuples(coordinate, coordinate, coordinate, coordinate).filter(lambda x: np.linalg.norm(x) > 1e-3)
angles = st.floats(-np.pi, np.pi)
ROUNDING = 1e-14  # a few dozen operations on numbers of size one


def unit(q: tuple) -> np.ndarray:
    return np.array(q) / np.linalg.norm(q)


@given(quaternions)
def test_matrix_is_the_rotation_of_the_quaternion(raw: tuple) -> None:
    q = unit(raw)
    np.testing.assert_allclose(matrix(q), Rotation.from_quat(q, scalar_first=True).as_matrix(), atol=ROUNDING)
    np.testing.assert_allclose(matrix(q) @ matrix(q).T, np.eye(3), atol=ROUNDING)
    assert np.linalg.det(matrix(q)) == pytest.approx(1.0, abs=ROUNDING)


@given(quaternions, quaternions)
def test_product_composes_and_conjugate_inverts(raw_p: tuple, raw_q: tuple) -> None:
    p, q = unit(raw_p), unit(raw_q)
    np.testing.assert_allclose(matrix(multiply(p, q)), matrix(p) @ matrix(q), atol=ROUNDING)
    np.testing.assert_allclose(multiply(q, conjugate(q)), [1, 0, 0, 0], atol=ROUNDING)
    np.testing.assert_allclose(matrix(conjugate(q)), matrix(q).T, atol=ROUNDING)


def test_rotation_about_an_axis_is_right_handed() -> None:
    np.testing.assert_allclose(matrix(about_axis((0, 0, 5), np.pi / 2)) @ [1, 0, 0], [0, 1, 0], atol=ROUNDING)
    np.testing.assert_allclose(matrix(about_axis((1, 1, 1), 2 * np.pi / 3)) @ [1, 0, 0], [0, 1, 0], atol=ROUNDING)


@given(directions, directions)
def test_between_takes_one_direction_to_the_other_the_short_way(start: tuple, end: tuple) -> None:
    q = between(start, end)
    a, b = unit(start), unit(end)
    # near opposite directions the axis comes from a difference as small as the distance from exactly opposite
    slack = ROUNDING / max(np.linalg.norm(a + b), 1e-7)
    np.testing.assert_allclose(matrix(q) @ a, b, atol=max(slack, ROUNDING))
    angle = np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b)
    assert np.linalg.norm(rotation_vector(q)) == pytest.approx(angle, abs=max(slack, 1e-7))


@pytest.mark.parametrize("axis", [*np.eye(3), *-np.eye(3), unit((1, -2, 3))])
@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-8])
def test_between_opposite_directions(axis: np.ndarray, noise: float) -> None:
    end = unit(-axis + noise * np.array([0.3, 1.0, -0.5]))
    np.testing.assert_allclose(matrix(between(axis, end)) @ axis, end, atol=2e-7)  # 1e-14 of a cosine, as an angle


@given(directions, angles)
def test_rotation_vector_undoes_about_axis(axis: tuple, angle: float) -> None:
    expected = unit(axis) * angle
    found = rotation_vector(about_axis(axis, angle))
    # at half a turn both signs are right
    assert min(np.abs(found - expected).max(), np.abs(found + expected).max() + (abs(angle) < 3.14)) < 1e-13
    np.testing.assert_allclose(rotation_vector(-about_axis(axis, angle)), found, atol=1e-13)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-13, 1e-12, 1e-9])
def test_rotation_vector_of_small_angles_keeps_its_digits(angle: float) -> None:
    assert rotation_vector(about_axis((0, 1, 0), angle))[1] == pytest.approx(angle, rel=1e-14, abs=0)


@settings(max_examples=30, deadline=None)
@given(quaternions, quaternions)
def test_kernels_agree_with_numpy(raw_p: tuple, raw_q: tuple) -> None:
    p, q = unit(raw_p), unit(raw_q)
    np.testing.assert_allclose(quat_multiply(tuple(p), tuple(q)), multiply(p, q), atol=ROUNDING)
    np.testing.assert_allclose(np.reshape(quat_matrix(tuple(q)), (3, 3)), matrix(q), atol=ROUNDING)


@settings(max_examples=50, deadline=None)
@given(quaternions, directions, st.sampled_from([1e-9, 0.99e-4, 1.01e-4, 0.1, 3.0]))
def test_integration_is_the_exponential_map(raw: tuple, omega: tuple, angle: float) -> None:
    """On both sides of the threshold of the series."""
    q, w = unit(raw), unit(omega)
    exact = multiply(about_axis(w, angle), q)
    np.testing.assert_allclose(quat_integrate(tuple(q), tuple(2.0 * w), 0.5 * angle), exact, atol=ROUNDING)


@settings(max_examples=100, deadline=None)
@given(directions)
def test_tangents_make_a_right_handed_frame(raw: tuple) -> None:
    n = unit(raw)
    t1, t2 = tangents(tuple(n))
    frame = np.array([n, t1, t2])
    np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-13)  # near the equator of Duff's formula
    assert np.linalg.det(frame) == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("n", [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (1.0, 0.0, -1e-300), (0.0, 1.0, -0.0)])
def test_tangents_at_the_poles_and_the_equator(n: tuple) -> None:
    frame = np.array([n, *tangents(n)])
    np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(frame) == pytest.approx(1.0, abs=1e-15)
