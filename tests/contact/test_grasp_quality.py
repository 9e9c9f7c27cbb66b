"""The largest disturbance that contacts resist in every direction."""

import numpy as np
from numpy.typing import NDArray

from stickslip.contact.grasp_quality import contact_wrenches, grasp_epsilon

ORIGIN = np.zeros(3)
AXES = np.concatenate([np.eye(3), -np.eye(3)])


def epsilon(points: NDArray[np.float64], friction: float, centre: NDArray[np.float64] = ORIGIN) -> float:
    normals = -points / np.linalg.norm(points, axis=1)[:, None]
    return grasp_epsilon(points + centre, normals, np.full(len(points), friction), centre, 1.0)


def test_two_fingers_do_not_resist_a_torque_about_the_line_between_them() -> None:
    assert epsilon(AXES[[0, 3]], 0.8) == 0.0


def test_no_friction_holds_no_ball_and_no_contact_holds_nothing() -> None:
    assert epsilon(AXES, 0.0) == 0.0
    assert epsilon(AXES[:0], 0.8) == 0.0
    assert epsilon(AXES[:1], 0.8) == 0.0


def test_it_is_the_least_of_what_any_direction_has() -> None:
    """Of the hull of wrenches, the support in a direction bounds it from above, with equality for some direction."""
    rng = np.random.default_rng(4)
    points = AXES[[0, 1, 2, 3, 5]]
    found = epsilon(points, 0.6)
    wrenches = contact_wrenches(points, -points, np.full(5, 0.6), ORIGIN, 1.0, 8)
    directions = rng.standard_normal((20000, 6))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    support = (directions @ wrenches.T).max(axis=1)
    assert 0.0 < found <= support.min()
    assert support.min() < 2.0 * found


def test_it_grows_with_friction_and_contacts_and_moves_with_the_body() -> None:
    assert epsilon(AXES, 0.8) > epsilon(AXES, 0.4) > 0.0
    assert epsilon(AXES, 0.4) >= epsilon(AXES[:5], 0.4)
    assert np.isclose(epsilon(AXES, 0.4, np.array([3.0, -2.0, 1.0])), epsilon(AXES, 0.4))


def test_contacts_that_lie_together_count_once() -> None:
    doubled = np.concatenate([AXES, AXES + 1e-4])
    assert np.isclose(epsilon(doubled, 0.5), epsilon(AXES, 0.5), rtol=1e-3)
