"""Resting contact in the general convex narrow phase: exact to rounding, full manifolds, ids that persist."""

from __future__ import annotations

import numpy as np
import pytest
from convex_placing import COMPILED, NONE, block, contacts, pair

from stickslip.arrays import Array
from stickslip.geometry.hull import Polyhedron, polyhedron
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HULL, SPHERE


def voussoir(angle: float, inner: float = 1.0, outer: float = 1.3, depth: float = 0.2) -> Polyhedron:
    """Wedge of an arch in the x-z plane, from -angle/2 to angle/2 about the arch's centre."""
    corners = [
        (r * np.sin(t), y, r * np.cos(t))
        for r in (inner, outer)
        for t in (-angle / 2, angle / 2)
        for y in (-depth, depth)
    ]
    return polyhedron(np.array(corners))


def about_y(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


GAPS = (-1e-7, -1e-9, 0.0, 1e-12, 1e-9, 1e-7, 1e-4)
SLAB = np.array([0.5, 0.4, 0.1])
BRICK = np.array([0.1, 0.2, 0.05])
UP = np.array([0.0, 0.0, 1.0])
SIDEWAYS = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])

FLAT = {
    "hull brick on box": ((BOX, HULL), (SLAB, NONE), [block(BRICK)], 0.15, 4),
    "box brick on box": ((BOX, BOX), (SLAB, BRICK), [block(BRICK)], 0.15, 4),
    "hull brick on hull": ((HULL, HULL), (NONE, NONE), [block(SLAB), block(BRICK)], 0.15, 4),
    "hull brick on its copy": ((HULL, HULL), (NONE, NONE), [block(BRICK)], 0.1, 4),
    "cylinder standing on box": ((BOX, CYLINDER), (SLAB, (0.1, 0.05, 0.0)), [block(BRICK)], 0.15, 8),
    "cylinder under hull": ((CYLINDER, HULL), ((0.1, 0.05, 0.0), NONE), [block(SLAB)], 0.15, 8),
    "cylinder on cylinder": ((CYLINDER, CYLINDER), ((0.1, 0.05, 0.0), (0.1, 0.05, 0.0)), [block(SLAB)], 0.1, 8),
    "small hull on cylinder": ((CYLINDER, HULL), ((0.5, 0.05, 0.0), NONE), [block(BRICK)], 0.1, 4),
    "cylinder lying on box": ((BOX, CYLINDER), (SLAB, (0.1, 0.2, 0.0)), [block(BRICK)], 0.2, 2),
    "capsule lying on box": ((CAPSULE, BOX), ((0.1, 0.2, 0.0), SLAB), [block(BRICK)], 0.2, 2),
    "capsule lying under hull": ((CAPSULE, HULL), ((0.1, 0.2, 0.0), NONE), [block(SLAB)], 0.2, 2),
    "sphere under hull": ((SPHERE, HULL), ((0.1, 0.0, 0.0), NONE), [block(SLAB)], 0.2, 1),
}


@pytest.mark.parametrize("case", FLAT, ids=[name.replace(" ", "-") for name in FLAT])
def test_resting_contact_is_exact_on_both_sides_of_touching(case):
    """Exact face normal, gap to 1e-12 (1e-11 for round shapes), full manifold, same ids through gap zero."""
    kinds, sizes, hulls, height, count = FLAT[case]
    lying = "lying" in case
    features = []
    for gap in GAPS:
        offset = np.array([0.013, 0.021, 0.0]) + UP * (height + gap)
        if case in ("hull brick on its copy", "cylinder on cylinder"):
            offset[:2] = 0.0
        turns = (SIDEWAYS if lying and kinds[0] == CAPSULE else None, SIDEWAYS if lying and kinds[0] == BOX else None)
        found = contacts(pair(kinds, sizes, hulls, offset, *turns), reach=1e-2)[0]
        assert len(found.gap) == count
        np.testing.assert_array_equal(found.normal, np.tile(UP, (count, 1)))
        np.testing.assert_allclose(found.gap, gap, atol=1e-12 if "c" not in case[:1] else 1e-11)
        features.append(found.feature.tolist())
        low, high = found.point.min(axis=0), found.point.max(axis=0)
        if count == 4:
            np.testing.assert_allclose((high - low)[:2], 2.0 * BRICK[:2], atol=1e-12)
        elif count == 8:  # the rim is met at eight even places
            np.testing.assert_allclose((high - low)[:2], 0.2, atol=1e-12)
    assert all(feature == features[0] for feature in features)


@pytest.mark.parametrize("gap", [-1e-7, 0.0, 1e-9, 1e-6])
def test_voussoirs_meet_in_four_points(gap):
    """Neighbours of an arch, each turned by the wedge angle; the joint is no coordinate plane."""
    angle = np.deg2rad(180.0 / 9)
    wedge = voussoir(angle)
    for start in np.linspace(-1.2, 1.2, 9):
        turn_a, turn_b = about_y(start), about_y(start + angle)
        normal = about_y(start + angle / 2) @ np.array([1.0, 0.0, 0.0])
        found = contacts(pair((HULL, HULL), (NONE, NONE), [wedge], gap * normal, turn_a, turn_b), reach=1e-3)[0]
        assert len(found.gap) == 4
        np.testing.assert_allclose(found.gap, gap, atol=1e-12)
        np.testing.assert_allclose(found.normal, np.tile(normal, (4, 1)), atol=1e-14)
        np.testing.assert_array_equal(found.normal, np.tile(found.normal[0], (4, 1)))


def test_small_motion_keeps_ids_and_reference_face():
    """A brick on a brick, jittered by tilts up to 1e-8 rad and 1e-9 m: same ids, normal always a's own face."""
    rng = np.random.default_rng(3)
    hulls = [block(SLAB), block(BRICK)]
    seen = set()
    for _ in range(200 if COMPILED else 3):
        w = 1e-8 * rng.normal(size=3)
        tilt = np.eye(3) + np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        offset = np.array([0.02, 0.03, 0.15]) + 1e-9 * rng.normal(size=3)
        found = contacts(pair((HULL, HULL), (NONE, NONE), hulls, offset, None, tilt), reach=1e-3)[0]
        np.testing.assert_array_equal(found.normal, np.tile(UP, (4, 1)))
        seen.add(tuple(found.feature))
    assert len(seen) == 1


def test_crossed_planks_have_a_full_manifold_although_no_corner_is_inside():
    """Log-cabin joint: every corner overhangs; a small tilt makes crossing edges the separating axis."""
    long_x, long_y = np.array([1.0, 0.1, 0.05]), np.array([0.1, 1.0, 0.05])
    for tilt in (0.0, 1e-9, 1e-6, 1e-4):
        turn = about_y(tilt)
        found = contacts(pair((BOX, BOX), (long_x, long_y), [block(BRICK)], 0.1 * UP, None, turn), reach=1e-3)[0]
        assert len(found.gap) == 4
        np.testing.assert_allclose(np.abs(found.normal[:, 2]), 1.0, atol=1e-7)
        assert found.gap.min() == pytest.approx(-0.1 * np.sin(tilt), abs=1e-8)


def test_tilted_cylinder_touches_with_its_exact_lowest_rim_point():
    for tilt in (0.01, 0.2, 0.7, 1.2):
        height = 0.1 + 0.3 * np.cos(tilt) + 0.1 * np.sin(tilt)
        placing = pair((BOX, CYLINDER), (SLAB, (0.1, 0.3, 0.0)), [block(BRICK)], height * UP, None, about_y(tilt))
        found = contacts(placing, reach=1e-3)[0]
        np.testing.assert_allclose(found.normal, np.tile(UP, (len(found.gap), 1)), atol=0.0)
        assert found.gap.min() == pytest.approx(0.0, abs=1e-12)


def test_parallel_cylinders_side_by_side_touch_at_two_points():
    for gap in GAPS:
        offset = np.array([0.25 + gap, 0.0, 0.05])
        sizes = ((0.1, 0.3, 0.0), (0.15, 0.2, 0.0))
        found = contacts(pair((CYLINDER, CYLINDER), sizes, [block(BRICK)], offset), reach=1e-2)[0]
        assert len(found.gap) == 2
        np.testing.assert_allclose(found.gap, gap, atol=1e-9)
        np.testing.assert_allclose(found.normal, [[1.0, 0.0, 0.0]] * 2, atol=1e-7)
        np.testing.assert_allclose(np.ptp(found.point[:, 2]), 0.4, atol=1e-12)
