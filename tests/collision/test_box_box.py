"""Box against box: manifolds of faces at rest, agreement with coal, stable features."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_pairs import Shapes, coal_distance, deepest, pair, random_pairs
from scipy.spatial.transform import Rotation

from stickslip.collision.rigid.box_box import SNAP_COSINE
from stickslip.geometry.shapes import BOX

UNIT = (0.5, 0.5, 0.5)


def stack(gap=0.0, yaw=0.0, upper=UNIT, shift=(0.0, 0.0), tilt=(0.0, 0.0)) -> Shapes:
    """A box above a unit cube, ``gap`` (m) apart, turned by ``yaw`` and ``tilt`` (rad)."""
    turn = Rotation.from_rotvec([*tilt, 0.0]) * Rotation.from_euler("z", yaw)
    return pair(BOX, UNIT, (0, 0, 0), BOX, upper, (*shift, 0.5 + upper[2] + gap), rotation_b=turn.as_matrix())


@pytest.mark.parametrize("gap", [-1e-3, 0.0, 1e-9, 1e-3])
def test_aligned_boxes_touch_at_four_corners_with_exact_gap_and_normal(gap):
    contacts = stack(gap).collide(reach=0.01)
    np.testing.assert_allclose(contacts.gap, np.full(4, gap), atol=1e-12)
    np.testing.assert_array_equal(contacts.normal, np.tile([0.0, 0.0, 1.0], (4, 1)))
    corners = {(-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)}
    assert {tuple(point) for point in np.round(contacts.point[:, :2], 9).tolist()} == corners
    np.testing.assert_allclose(contacts.point[:, 2], 0.5 + 0.5 * gap, atol=1e-12)


def test_boxes_turned_by_45_degrees_touch_at_eight_points():
    contacts = stack(yaw=np.pi / 4).collide(reach=0.01)
    assert len(contacts.gap) == 8
    np.testing.assert_allclose(contacts.gap, 0.0, atol=1e-12)
    # the corners of the regular octagon that two squares share
    np.testing.assert_allclose(np.linalg.norm(contacts.point[:, :2], axis=1), 0.5 / np.cos(np.pi / 8), atol=1e-6)


@pytest.mark.parametrize("upper", [(0.2, 0.2, 0.1), (0.9, 0.9, 0.1), (0.2, 0.9, 0.1)])
def test_faces_of_different_size_share_four_corners(upper):
    contacts = stack(upper=upper).collide(reach=0.01)
    expected = np.minimum(upper[:2], 0.5)
    np.testing.assert_allclose(np.abs(contacts.point[:, :2]), np.tile(expected, (4, 1)), atol=1e-6)


def test_the_normal_is_the_face_s_own_in_any_pose():
    turn = Rotation.from_rotvec([0.3, -0.7, 1.1]).as_matrix()
    contacts = stack(yaw=0.3).moved(turn, np.array([3.0, -2.0, 1.0])).collide(reach=0.01)
    np.testing.assert_array_equal(contacts.normal, np.tile(turn[:, 2], (8, 1)))
    np.testing.assert_allclose(contacts.gap, 0.0, atol=2e-15 * 8)


def test_crossing_edges_touch_at_one_point():
    # edges along x and y, each box standing on an edge
    turn_a = Rotation.from_euler("x", 45, degrees=True).as_matrix()
    turn_b = Rotation.from_euler("y", 45, degrees=True).as_matrix()
    height = 2.0 * np.sqrt(0.5)
    contacts = pair(BOX, UNIT, (0, 0, 0), BOX, UNIT, (0.1, 0.2, height - 0.01), turn_a, turn_b).collide(reach=0.01)
    np.testing.assert_allclose(contacts.gap, [-0.01], atol=1e-12)
    np.testing.assert_allclose(contacts.normal, [[0, 0, 1]], atol=1e-12)
    np.testing.assert_allclose(contacts.point, [[0.1, 0.0, 0.5 * height - 0.005]], atol=1e-12)


def test_boxes_apart_across_a_corner_know_their_distance():
    contacts = pair(BOX, UNIT, (0, 0, 0), BOX, UNIT, (1.1, 1.2, 1.3)).collide()
    best = contacts.gap.argmin()
    assert contacts.gap[best] == pytest.approx(np.sqrt(0.1**2 + 0.2**2 + 0.3**2), rel=1e-6)
    np.testing.assert_allclose(contacts.normal[best] * contacts.gap[best], [0.1, 0.2, 0.3], atol=1e-6)
    np.testing.assert_allclose(contacts.point[best], [0.55, 0.6, 0.65], atol=1e-6)


def separating_axis_depth(shapes: Shapes):
    """Largest separation over the 15 axes for every pair, straight from the definition, in NumPy."""
    a, b = shapes.rotation[::2], shapes.rotation[1::2]
    axes = np.concatenate(
        [a.transpose(0, 2, 1), b.transpose(0, 2, 1)]
        + [np.cross(a[:, :, i], b[:, :, j])[:, None] for i in range(3) for j in range(3)],
        axis=1,
    )
    axes /= np.linalg.norm(axes, axis=2, keepdims=True)
    reach_a = np.einsum("pki,pi->pk", np.abs(np.einsum("pkx,pxi->pki", axes, a)), shapes.size[::2])
    reach_b = np.einsum("pki,pi->pk", np.abs(np.einsum("pkx,pxi->pki", axes, b)), shapes.size[1::2])
    centres = np.abs(np.einsum("pkx,px->pk", axes, shapes.position[1::2] - shapes.position[::2]))
    return (centres - reach_a - reach_b).max(axis=1)


def test_signed_distance_and_normal_are_those_of_coal():
    pytest.importorskip("coal")
    shapes = random_pairs(BOX, BOX, 4000, seed=1)
    contacts = shapes.collide()
    best = deepest(contacts)
    distance, normal = coal_distance(shapes)
    assert len(best) == 4000
    assert np.mean(distance < 0.0) > 0.2
    # an axis within SNAP_COSINE of a face is taken for the face: then the normal is off by that angle at most and the
    # gap by its cosine, and else by nothing
    error = np.abs(contacts.gap[best] - distance)
    agree = (contacts.normal[best] * normal).sum(axis=1)
    same_axis = agree > 1.0 - 1e-6
    assert agree.min() > SNAP_COSINE - 1e-6
    assert np.all(error < 1e-6 + (1.0 - SNAP_COSINE) * np.abs(distance))
    assert error[same_axis].max() < 1e-6
    assert same_axis.mean() > 0.95


def test_overlap_is_that_of_the_fifteen_axes():
    shapes = random_pairs(BOX, BOX, 3000, seed=2, spread=0.5)
    depth = separating_axis_depth(shapes)
    contacts = shapes.collide()
    gap = contacts.gap[deepest(contacts)]
    overlap = depth < 0.0
    assert overlap.sum() > 1000
    assert np.all(np.abs(gap - depth)[overlap] < 1e-6 + (1.0 - SNAP_COSINE) * np.abs(depth[overlap]))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.tuples(*[st.floats(-3.0, 3.0)] * 3), st.tuples(*[st.floats(-9.0, 9.0)] * 3))
def test_a_common_rigid_motion_moves_the_contacts_along(seed, angles, shift):
    shapes = random_pairs(BOX, BOX, 8, seed)
    turn = Rotation.from_rotvec(angles).as_matrix()
    here, there = shapes.collide(), shapes.moved(turn, np.array(shift)).collide()
    np.testing.assert_array_equal(here.key, there.key)
    np.testing.assert_allclose(there.gap, here.gap, atol=1e-10)
    np.testing.assert_allclose(there.normal, here.normal @ turn.T, atol=1e-9)
    np.testing.assert_allclose(there.point, here.point @ turn.T + shift, atol=1e-8)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_swapping_the_boxes_turns_the_normal_round(seed):
    shapes = random_pairs(BOX, BOX, 20, seed)
    here, there = shapes.collide(), shapes.swapped().collide()
    best, best_swapped = deepest(here), deepest(there)
    # of two axes within the bias either may win, and with a snapped one the gap changes by 1 - SNAP_COSINE of itself
    gap = here.gap[best]
    assert np.all(np.abs(there.gap[best_swapped] - gap) < 1e-6 + 2.0 * (1.0 - SNAP_COSINE) * np.abs(gap))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from([0.0, 0.1, np.pi / 4]), st.sampled_from([(0.0, 0.0), (0.2, 0.3)]))
def test_features_of_resting_boxes_survive_a_perturbation_of_a_nanometre(seed, yaw, shift):
    rng = np.random.default_rng(seed)
    still = stack(yaw=yaw, shift=shift)
    noise = Rotation.from_rotvec(rng.uniform(-1e-9, 1e-9, (2, 3))).as_matrix()
    position = still.position + rng.uniform(-1e-9, 1e-9, (2, 3))
    moved = Shapes(still.types, position, noise @ still.rotation, still.size)
    here, there = still.collide(reach=0.01), moved.collide(reach=0.01)
    np.testing.assert_array_equal(here.key, there.key)
    np.testing.assert_allclose(there.gap, here.gap, atol=1e-8)
    # the lower box stays the reference: its own face normal, not the other's
    np.testing.assert_array_equal(there.normal, np.tile(moved.rotation[0, :, 2], (len(there.gap), 1)))


@pytest.mark.parametrize("tilt", [1e-6, 1e-4, 1e-2])
def test_a_slightly_tilted_box_keeps_its_face_manifold(tilt):
    contacts = stack(yaw=0.2, tilt=(tilt, 0.7 * tilt)).collide(reach=0.1)
    assert len(contacts.gap) == 8
    np.testing.assert_array_equal(contacts.normal, np.tile([0.0, 0.0, 1.0], (8, 1)))


def test_features_of_random_pairs_survive_a_perturbation_of_a_nanometre():
    shapes = random_pairs(BOX, BOX, 500, seed=5)
    noise = np.random.default_rng(6).uniform(-1e-9, 1e-9, shapes.position.shape)
    moved = Shapes(shapes.types, shapes.position + noise, shapes.rotation, shapes.size)
    np.testing.assert_array_equal(shapes.collide().key, moved.collide().key)


@pytest.mark.parametrize("half", [1e-3, 1.0, 1e3])
def test_gaps_scale_with_the_boxes(half):
    shapes = pair(BOX, (half,) * 3, (0, 0, 0), BOX, (half,) * 3, (0.1 * half, 0.2 * half, 2.001 * half))
    contacts = shapes.collide(reach=0.01 * half)
    np.testing.assert_allclose(contacts.gap, np.full(4, 0.001 * half), rtol=0, atol=1e-12 * half)


def test_equal_boxes_at_one_place_give_finite_contacts():
    contacts = pair(BOX, UNIT, (0, 0, 0), BOX, UNIT, (0, 0, 0)).collide()
    assert contacts.gap.min() == pytest.approx(-1.0)
    assert np.isfinite(contacts.point).all()
    np.testing.assert_allclose(np.linalg.norm(contacts.normal, axis=1), 1.0)
