"""Closed-form pairs: known contacts, agreement with coal, symmetry and invariance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_pairs import coal_distance, deepest, pair, random_pairs
from scipy.spatial.transform import Rotation

from stickslip.geometry.hull import polyhedron, tables
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HALF_SPACE, HULL, SPHERE

CLOSED_FORMS = [
    (SPHERE, SPHERE), (SPHERE, CAPSULE), (SPHERE, BOX), (SPHERE, CYLINDER), (CAPSULE, CAPSULE), (CAPSULE, BOX),
    (SPHERE, HALF_SPACE), (CAPSULE, HALF_SPACE), (BOX, HALF_SPACE), (CYLINDER, HALF_SPACE),
]  # fmt: skip
GROUND = (HALF_SPACE, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
ON_SIDE = Rotation.from_euler("x", 90, degrees=True).as_matrix()


def leaves_by_the_cap(shapes):
    """Sphere centres inside a cylinder and nearer to a cap than to the side, with their distance to that cap."""
    x = np.einsum("nji,nj->ni", shapes.rotation[1::2], shapes.position[::2] - shapes.position[1::2])
    side = np.hypot(x[:, 0], x[:, 1]) - shapes.size[1::2, 0]
    cap = np.abs(x[:, 2]) - shapes.size[1::2, 1]
    return (side < 0.0) & (cap < 0.0) & (cap > side), cap


@pytest.mark.parametrize(("type_a", "type_b"), CLOSED_FORMS)
def test_signed_distance_and_normal_are_those_of_coal(type_a, type_b):
    pytest.importorskip("coal")
    shapes = random_pairs(type_a, type_b, 1500, seed=8 * type_a + type_b)
    contacts = shapes.collide()
    best = deepest(contacts)
    distance, normal = coal_distance(shapes)
    assert len(best) == 1500
    compared = np.full(1500, True)
    if (type_a, type_b) == (SPHERE, CYLINDER):
        # coal 3.0.3 moves these out through the side although the cap is nearer; the next test has them
        compared = ~leaves_by_the_cap(shapes)[0]
        assert compared.mean() > 0.98
    assert np.abs(contacts.gap[best] - distance)[compared].max() < 1e-6
    # two directions of equal overlap, or a distance of about zero, leave the normal open
    agree = (contacts.normal[best] * normal).sum(axis=1)[compared]
    assert np.mean(agree > 1.0 - 1e-5) > 0.99


def test_sphere_deep_in_a_cylinder_leaves_by_the_nearer_cap():
    shapes = random_pairs(SPHERE, CYLINDER, 1500, seed=3)
    inside, cap = leaves_by_the_cap(shapes)
    contacts = shapes.collide()
    assert inside.sum() > 10
    np.testing.assert_allclose(contacts.gap[inside], (cap - shapes.size[::2, 0])[inside], atol=1e-12)
    along = np.abs((contacts.normal * shapes.rotation[1::2, :, 2]).sum(axis=1))
    np.testing.assert_allclose(along[inside], 1.0, atol=1e-12)


@pytest.mark.parametrize(("type_a", "type_b"), CLOSED_FORMS)
def test_points_lie_midway_on_a_unit_normal_and_within_reach(type_a, type_b):
    shapes = random_pairs(type_a, type_b, 300, seed=1)
    contacts = shapes.collide(reach=0.1)
    assert len(contacts.gap) > 50
    assert contacts.gap.max() <= 0.1
    np.testing.assert_allclose(np.linalg.norm(contacts.normal, axis=1), 1.0, atol=1e-12)
    assert np.all(np.diff(contacts.key) > 0)  # sorted, and every feature unique in its pair
    everything = shapes.collide()
    near = np.unique(everything.shape_a[everything.gap <= 0.1])
    np.testing.assert_array_equal(np.unique(contacts.shape_a), near)


@pytest.mark.parametrize(("type_a", "type_b"), CLOSED_FORMS)
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.tuples(*[st.floats(-3.0, 3.0)] * 3), st.tuples(*[st.floats(-9.0, 9.0)] * 3))
def test_a_common_rigid_motion_moves_the_contacts_along(type_a, type_b, seed, angles, shift):
    shapes = random_pairs(type_a, type_b, 8, seed)
    turn = Rotation.from_rotvec(angles).as_matrix()
    here, there = shapes.collide(), shapes.moved(turn, np.array(shift)).collide()
    np.testing.assert_array_equal(here.key, there.key)
    np.testing.assert_allclose(there.gap, here.gap, atol=1e-11)
    np.testing.assert_allclose(there.normal, here.normal @ turn.T, atol=1e-9)
    np.testing.assert_allclose(there.point, here.point @ turn.T + shift, atol=1e-9)


@pytest.mark.parametrize("kind", [SPHERE, CAPSULE])
def test_swapping_the_shapes_turns_the_normal_round(kind):
    shapes = random_pairs(kind, kind, 200, seed=3)
    here, there = shapes.collide(), shapes.swapped().collide()
    best, best_swapped = deepest(here), deepest(there)
    np.testing.assert_allclose(there.gap[best_swapped], here.gap[best], atol=1e-12)
    np.testing.assert_allclose(there.normal[best_swapped], -here.normal[best], atol=1e-9)
    np.testing.assert_allclose(there.point[best_swapped], here.point[best], atol=1e-9)


@pytest.mark.parametrize(("type_a", "type_b"), CLOSED_FORMS)
def test_features_and_gaps_survive_a_perturbation_of_a_nanometre(type_a, type_b):
    shapes = random_pairs(type_a, type_b, 300, seed=5)
    rng = np.random.default_rng(6)
    shapes_moved = random_pairs(type_a, type_b, 300, seed=5)
    shapes_moved.position[:] += rng.uniform(-1e-9, 1e-9, shapes.position.shape)
    here, there = shapes.collide(), shapes_moved.collide()
    np.testing.assert_array_equal(here.key, there.key)
    np.testing.assert_allclose(there.gap, here.gap, atol=1e-8)


def test_sphere_on_plane():
    contacts = pair(SPHERE, (0.5, 0, 0), (1, 2, 0.4), *GROUND).collide()
    np.testing.assert_allclose(contacts.gap, [-0.1], atol=1e-15)
    np.testing.assert_allclose(contacts.point, [[1, 2, -0.05]], atol=1e-15)
    np.testing.assert_array_equal(contacts.normal, [[0, 0, -1]])


def test_box_on_plane_has_its_four_lower_corners():
    contacts = pair(BOX, (0.1, 0.2, 0.3), (0, 0, 0.301), *GROUND).collide(reach=0.01)
    np.testing.assert_allclose(contacts.gap, np.full(4, 0.001), atol=1e-15)
    corners = {(-0.1, -0.2), (0.1, -0.2), (-0.1, 0.2), (0.1, 0.2)}
    assert {tuple(point) for point in np.round(contacts.point[:, :2], 12).tolist()} == corners
    assert (contacts.key & 0xFFFF).tolist() == [0, 1, 2, 3]


def test_capsule_lies_on_plane_with_two_points_and_stands_with_one():
    lying = pair(CAPSULE, (0.1, 0.5, 0), (0, 0, 0.1), *GROUND, rotation_a=ON_SIDE).collide(reach=0.01)
    np.testing.assert_allclose(lying.gap, [0, 0], atol=1e-15)
    np.testing.assert_allclose(np.sort(lying.point[:, 1]), [-0.5, 0.5], atol=1e-12)
    assert len(pair(CAPSULE, (0.1, 0.5, 0), (0, 0, 0.6), *GROUND).collide(reach=0.01).gap) == 1


def test_cylinder_stands_on_four_points_around_its_cap():
    contacts = pair(CYLINDER, (0.2, 0.5, 0), (0, 0, 0.5), *GROUND).collide(reach=0.01)
    np.testing.assert_allclose(contacts.gap, np.zeros(4), atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(contacts.point[:, :2], axis=1), 0.2, atol=1e-12)
    np.testing.assert_allclose(contacts.point.mean(axis=0), 0.0, atol=1e-12)


def test_cylinder_lies_on_two_points_and_keeps_its_cap_points_when_it_tilts_a_little():
    lying = pair(CYLINDER, (0.2, 0.5, 0), (0, 0, 0.2), *GROUND, rotation_a=ON_SIDE).collide(reach=0.01)
    np.testing.assert_allclose(lying.gap, [0, 0], atol=1e-12)
    tilt = Rotation.from_rotvec([0.003, 0.004, 0]).as_matrix()
    tilted = pair(CYLINDER, (0.2, 0.5, 0), (0, 0, 0.5), *GROUND, rotation_a=tilt).collide(reach=0.01)
    assert (tilted.key & 0xFFFF).tolist() == [0, 1, 2, 3, 8]
    assert tilted.gap.min() == pytest.approx(0.5 - 0.5 * np.cos(0.005) - 0.2 * np.sin(0.005), abs=1e-12)


def test_parallel_capsules_touch_at_the_ends_of_what_they_share():
    contacts = pair(CAPSULE, (0.1, 0.5, 0), (0, 0, 0), CAPSULE, (0.1, 0.5, 0), (0.2, 0, 0.4)).collide(reach=0.01)
    np.testing.assert_allclose(contacts.gap, [0, 0], atol=1e-15)
    np.testing.assert_allclose(np.sort(contacts.point[:, 2]), [-0.1, 0.5], atol=1e-12)
    np.testing.assert_allclose(contacts.normal, [[1, 0, 0], [1, 0, 0]], atol=1e-15)


def test_crossing_capsules_part_along_the_common_normal():
    contacts = pair(CAPSULE, (0.1, 0.5, 0), (0, 0, 0), CAPSULE, (0.2, 0.5, 0), (0, 0, 0), None, ON_SIDE).collide()
    np.testing.assert_allclose(contacts.gap, [-0.3], atol=1e-12)
    np.testing.assert_allclose(np.abs(contacts.normal), [[1, 0, 0]], atol=1e-12)


@pytest.mark.parametrize("tilt", [0.0, 1e-12, -1e-9, 1e-7])
def test_capsule_over_the_rim_of_a_box_keeps_two_points(tilt):
    turn = Rotation.from_euler("x", np.pi / 2 + tilt).as_matrix()
    shapes = pair(CAPSULE, (0.1, 0.5, 0), (0, 0.3, 0.3), BOX, (0.4, 0.5, 0.2), (0, 0, 0), rotation_a=turn)
    contacts = shapes.collide(reach=0.01)
    assert (contacts.key & 0xFFFF).tolist() == [1, 2]
    np.testing.assert_allclose(np.sort(contacts.point[:, 1]), [-0.2, 0.5], atol=1e-6)
    np.testing.assert_allclose(contacts.gap, 0.0, atol=1e-6)
    np.testing.assert_array_equal(contacts.normal, [[0, 0, -1], [0, 0, -1]])


def test_capsule_along_the_edge_of_a_box_has_two_points():
    # axis parallel to the edge at x = z = 0.2, at 45 degrees from it
    place = 0.2 + 0.1 * np.sqrt(0.5)
    shapes = pair(CAPSULE, (0.1, 0.5, 0), (place, 0.1, place), BOX, (0.2, 0.3, 0.2), (0, 0, 0), rotation_a=ON_SIDE)
    contacts = shapes.collide(reach=0.01)
    np.testing.assert_allclose(contacts.gap, [0, 0], atol=1e-12)
    np.testing.assert_allclose(np.sort(contacts.point[:, 1]), [-0.3, 0.3], atol=1e-8)


def hull_on_plane(points, position):
    hulls = tables([polyhedron(np.asarray(points, float))])
    shapes = pair(HULL, (0, 0, 0), position, *GROUND)
    return type(shapes)(shapes.types, shapes.position, shapes.rotation, shapes.size, hulls)


def test_hull_touches_a_plane_with_each_vertex_of_its_face():
    cube = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
    contacts = hull_on_plane(cube, (0, 0, 0.1)).collide(reach=0.01)
    np.testing.assert_allclose(contacts.gap, np.zeros(4), atol=1e-15)


def test_hull_with_many_vertices_keeps_the_deepest_and_the_outermost():
    angle = 2.0 * np.pi * np.arange(60) / 60
    rim = np.stack([np.cos(angle), np.sin(angle), np.zeros(60)], axis=1)
    points = np.vstack([rim, 0.9 * rim + [0, 0, -1e-3], [[0, 0, -2e-3], [0, 0, 1]]])
    contacts = hull_on_plane(points, (0, 0, 0)).collide(reach=0.01)
    assert len(contacts.gap) <= 16
    assert contacts.gap.min() == pytest.approx(-2e-3, abs=1e-12)
    outermost = contacts.point[np.linalg.norm(contacts.point[:, :2], axis=1) > 0.99]
    bearing = np.sort(np.arctan2(outermost[:, 1], outermost[:, 0]))
    assert len(bearing) == 15
    assert np.diff(bearing).max() < 2.0 * np.pi / 15 + 2.0 * np.pi / 60 + 1e-9


@pytest.mark.parametrize(("inside", "normal"), [((0.25, 0, 0), (-1, 0, 0)), ((0, 0, -0.45), (0, 0, 1))])
def test_sphere_centre_inside_a_box_leaves_through_the_nearest_face(inside, normal):
    contacts = pair(SPHERE, (0.1, 0, 0), inside, BOX, (0.3, 0.4, 0.5), (0, 0, 0)).collide()
    np.testing.assert_allclose(contacts.normal, [normal], atol=1e-15)
    np.testing.assert_allclose(contacts.gap, [-0.15], atol=1e-15)


@pytest.mark.parametrize("other", [SPHERE, CAPSULE, BOX, CYLINDER])
def test_equal_centres_give_a_finite_unit_normal(other):
    contacts = pair(SPHERE, (0.1, 0, 0), (0, 0, 0), other, (0.3, 0.4, 0.5), (0, 0, 0)).collide()
    np.testing.assert_allclose(contacts.gap, [-0.4], atol=1e-15)
    assert np.linalg.norm(contacts.normal) == pytest.approx(1.0)
