"""Candidate pairs against a comparison of all bounds with all others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from stickslip.collision.broad_phase import bounds, candidate_pairs
from stickslip.geometry.hull import polyhedron, tables
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HALF_SPACE, HULL, SPHERE

NOTHING = np.zeros(0, np.int64)


def scene(count, seed, types=(SPHERE, CAPSULE, BOX, CYLINDER, HULL), spread=1.0, largest=0.3, half_spaces=2):
    """Arguments of candidate_pairs before ``ignored``: random shapes on about half as many bodies."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(12, 3)) * 0.1 + [0.05, 0, 0]
    kind = np.append(rng.choice(types, count), np.full(half_spaces, HALF_SPACE)).astype(np.int32)
    rng.shuffle(kind)
    total = len(kind)
    bodies = max(total // 2, 1)
    return (
        kind,
        rng.integers(0, bodies, total).astype(np.int32),
        rng.random(bodies) < 0.7,
        rng.uniform(-spread, spread, (total, 3)),
        np.ascontiguousarray(Rotation.random(total, rng=rng).as_matrix()),
        largest * rng.random((total, 3)) ** 3 + 0.01,
        np.where(kind == HULL, 0, -1).astype(np.int32),
        tables([polyhedron(points)]),
        rng.uniform(0.0, 0.05, total),
    )


def surface_points(kind, size, hulls, rng):
    """Points (n, 3) of a shape whose bounding box is the shape's, up to the sampling of round parts."""
    sphere = rng.normal(size=(4000, 3))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    circle = sphere[:, :2] / np.linalg.norm(sphere[:, :2], axis=1, keepdims=True)
    end = np.sign(sphere[:, 2:])
    if kind == SPHERE:
        return size[0] * sphere
    if kind == CAPSULE:
        return size[0] * sphere + end * [0, 0, size[1]]
    if kind == BOX:
        return np.sign(sphere) * size
    if kind == CYLINDER:
        return np.hstack([size[0] * circle, size[1] * end])
    return hulls.vertices


def expected_pairs(args, ignored):
    """All pairs of bounded shapes whose bounds meet, by comparing all with all."""
    kind, body, dynamic, position, rotation, size, hull_of, hulls, reach = args
    lower, upper = np.empty((len(kind), 3)), np.empty((len(kind), 3))
    bounds(kind, position, rotation, size, hull_of, hulls, reach, lower, upper)
    found = []
    for a in range(len(kind)):
        for b in range(a + 1, len(kind)):
            i, j = sorted((int(body[a]), int(body[b])))
            if i == j or not (dynamic[i] or dynamic[j]) or i * 2**32 + j in ignored:
                continue
            first, second = sorted((a, b), key=lambda s: (kind[s], s))
            if kind[first] != HALF_SPACE and kind[second] != HALF_SPACE:
                if np.all(lower[a] <= upper[b]) and np.all(lower[b] <= upper[a]):
                    found.append((first, second))
    return np.array(sorted(found), np.int32).reshape(-1, 2)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31), st.integers(0, 60), st.sampled_from([0.1, 1.0, 4.0]), st.sampled_from([0.05, 0.5, 5.0]))
def test_bounded_shapes_pair_as_all_against_all_says(seed, count, spread, largest):
    args = scene(count, seed, spread=spread, largest=largest)
    body, dynamic = args[1], args[2]
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.integers(0, len(dynamic), (10, 2)), axis=1)
    ignored = np.unique(chosen[:, 0].astype(np.int64) * 2**32 + chosen[:, 1])
    pairs = candidate_pairs(*args, ignored)
    assert pairs.dtype == np.int32
    np.testing.assert_array_equal(
        pairs[args[0][pairs[:, 1]] != HALF_SPACE], expected_pairs(args, set(ignored.tolist()))
    )
    assert not np.any(body[pairs[:, 0]] == body[pairs[:, 1]])


@pytest.mark.parametrize("kind", [SPHERE, CAPSULE, BOX, CYLINDER, HULL])
def test_bounds_are_tight_around_the_shape(kind):
    args = scene(30, seed=2, types=(kind,), half_spaces=0)
    _, _, _, position, rotation, size, hull_of, hulls, reach = args
    lower, upper = np.empty((30, 3)), np.empty((30, 3))
    bounds(args[0], position, rotation, size, hull_of, hulls, reach, lower, upper)
    rng = np.random.default_rng(3)
    for s in range(30):
        points = surface_points(kind, size[s], hulls, rng) @ rotation[s].T + position[s]
        inflated = np.array([points.min(axis=0) - reach[s], points.max(axis=0) + reach[s]])
        assert np.all(lower[s] <= inflated[0] + 1e-12)
        assert np.all(upper[s] >= inflated[1] - 1e-12)
        np.testing.assert_allclose([lower[s], upper[s]], inflated, atol=5e-3 * size[s].max())


@pytest.mark.parametrize("kind", [SPHERE, CAPSULE, BOX, CYLINDER, HULL])
def test_half_spaces_pair_with_what_reaches_them(kind):
    args = scene(80, seed=4, types=(kind,), half_spaces=2)
    types, body, dynamic, position, rotation, size, _, hulls, reach = args
    pairs = {tuple(pair) for pair in candidate_pairs(*args, NOTHING).tolist() if types[pair[1]] == HALF_SPACE}
    rng = np.random.default_rng(5)
    sure = 0
    for h in np.flatnonzero(types == HALF_SPACE):
        for s in np.flatnonzero(types != HALF_SPACE):
            if body[s] == body[h] or not (dynamic[body[s]] or dynamic[body[h]]):
                assert (s, h) not in pairs
                continue
            points = surface_points(kind, size[s], hulls, rng) @ rotation[s].T + position[s]
            above = ((points - position[h]) @ rotation[h][:, 2]).min() - reach[s] - reach[h]
            if abs(above) > 5e-3 * size[s].max():  # the sampling decides the others
                assert ((s, h) in pairs) == (above < 0.0)
                sure += 1
    assert sure > 50


def test_half_spaces_do_not_meet_each_other():
    args = scene(0, seed=1, half_spaces=6)
    assert candidate_pairs(*args, NOTHING).shape == (0, 2)


def test_a_shape_lost_far_away_and_a_huge_floor_change_nothing_for_the_others():
    args = scene(200, seed=7, largest=0.2, half_spaces=0)
    near = candidate_pairs(*args, NOTHING)
    kind, body, dynamic, position, rotation, size, hull_of, hulls, reach = args
    n = len(kind)
    more = (
        np.append(kind, [SPHERE, BOX]).astype(np.int32),
        np.append(body, [len(dynamic), len(dynamic) + 1]).astype(np.int32),
        np.append(dynamic, [True, False]),
        np.vstack([position, [[0, 0, -1e9], [0, 0, -500]]]),
        np.concatenate([rotation, [np.eye(3), np.eye(3)]]),
        np.vstack([size, [[0.1, 0, 0], [1e4, 1e4, 499.5]]]),
        np.append(hull_of, [-1, -1]).astype(np.int32),
        hulls,
        np.append(reach, [0.0, 0.0]),
    )
    pairs = candidate_pairs(*more, NOTHING)
    np.testing.assert_array_equal(pairs[(pairs < n).all(axis=1)], near)
    assert len(pairs) > len(near)


def test_a_heap_of_overlapping_shapes_needs_more_room_than_expected():
    args = scene(120, seed=9, types=(SPHERE,), spread=0.001, largest=0.5, half_spaces=0)
    body, dynamic = np.arange(120, dtype=np.int32), np.full(120, True)
    pairs = candidate_pairs(args[0], body, dynamic, *args[3:], NOTHING)
    assert len(pairs) == 120 * 119 // 2
    assert np.all(pairs[:, 0] < pairs[:, 1])


def test_an_empty_scene_has_no_pairs():
    assert candidate_pairs(*scene(0, seed=0, half_spaces=0), NOTHING).shape == (0, 2)
