"""Soft surfaces near rigid shapes: what is found in known places, and what is left out."""

import numpy as np
import pytest
from soft_placing import RUBBER, between, candidates, wedge

from stickslip import Scene
from stickslip.collision.surfaces.soft_rigid import soft_rigid_candidates
from stickslip.geometry import tet_generators
from stickslip.model.model import compile_scene

UP, DOWN = np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, -1.0])
DIAGONAL = np.ones(3)


def test_block_on_the_ground_touches_with_its_lower_nodes():
    scene = Scene()
    scene.add_half_space()
    scene.add_soft(tet_generators.box((1, 1, 1), (2, 2, 2)), RUBBER, (0, 0, 0.5 - 1e-4))
    model, found = candidates(scene)
    low = np.flatnonzero(model.soft.x_start[:, 2] < 0.1)
    np.testing.assert_array_equal(found.kind, 0)
    np.testing.assert_array_equal(found.soft_feature, low)
    np.testing.assert_array_equal(found.node, np.stack([low, 0 * low - 1, 0 * low - 1], axis=1))
    np.testing.assert_array_equal(found.weight, [[1.0, 0.0, 0.0]] * len(low))
    np.testing.assert_allclose(found.normal, [UP] * len(low), atol=1e-15)
    np.testing.assert_allclose(found.gap, -1e-4, atol=1e-15)
    np.testing.assert_allclose(found.point[:, 2], -0.5e-4, atol=1e-15)


@pytest.mark.parametrize("size", [3.0, 1.0])
def test_flat_on_flat_gives_exactly_the_nodes(size):
    scene = Scene()
    scene.add_box((size, size, 0.2), (0, 0, -0.1))
    scene.add_soft(tet_generators.box((1, 1, 1), (3, 3, 3)), RUBBER, (0, 0, 0.5))
    model, found = candidates(scene)
    np.testing.assert_array_equal(found.soft_feature, np.flatnonzero(model.soft.x_start[:, 2] < 0.1))
    np.testing.assert_array_equal(found.kind, 0)
    np.testing.assert_allclose(found.normal, [UP] * len(found.gap), atol=1e-12)


def test_soft_sphere_over_a_box_corner():
    scene = Scene()
    scene.add_box((1, 1, 1), -0.5 * DIAGONAL)
    scene.add_soft(tet_generators.sphere(0.3, 3), RUBBER, (0.3 + 1e-3) * DIAGONAL / np.sqrt(3.0))
    _, found = candidates(scene, 0.02)
    assert len(found.gap) >= 1
    nearest = np.argmin(found.gap)
    assert found.normal[nearest] @ DIAGONAL / np.sqrt(3.0) > 0.99
    # the facets of the sphere lie at most their sag inside its radius
    assert 0.0 <= found.gap[nearest] < 0.02


@pytest.mark.parametrize("height", [1e-3, 0.0, -1e-2])
def test_corner_over_the_middle_of_a_large_triangle(height):
    scene = Scene()
    turn = between(DIAGONAL, DOWN)
    scene.add_box((0.1, 0.1, 0.1), (0.3, 0.25, height + 0.05 * np.sqrt(3.0)), turn)
    scene.add_soft(wedge(), RUBBER)
    _, found = candidates(scene, 2e-3)
    assert found.kind.tolist() == [1]
    assert found.feature.tolist() == [7]
    weight = dict(zip(found.node[0].tolist(), found.weight[0], strict=True))
    assert weight == pytest.approx({0: 0.45, 1: 0.3, 2: 0.25})
    np.testing.assert_allclose(found.normal[0], DOWN, atol=1e-12)
    assert found.gap[0] == pytest.approx(height, abs=1e-12)
    np.testing.assert_allclose(found.point[0], [0.3, 0.25, 0.5 * height], atol=1e-12)


def test_corner_above_the_edge_between_two_coplanar_triangles_counts_once():
    scene = Scene()
    scene.add_box((0.1, 0.1, 0.1), (0.12, 0.12, 1.0 - 1e-3 + 0.05 * np.sqrt(3.0)), between(DIAGONAL, DOWN))
    scene.add_soft(tet_generators.box((1, 1, 1), (1, 1, 1)), RUBBER, (0, 0, 0.5))
    _, found = candidates(scene, 2e-3)
    np.testing.assert_allclose(found.gap, -1e-3, atol=1e-12)
    assert found.kind.tolist() == [1]


@pytest.mark.parametrize("radius", [0.05, 0.3])
def test_ball_on_a_large_triangle(radius):
    scene = Scene()
    scene.add_sphere(radius, (0.3, 0.3, radius - 1e-3))
    scene.add_soft(wedge(), RUBBER)
    _, found = candidates(scene)
    assert found.kind.tolist() == [1]
    np.testing.assert_allclose(found.normal[0], DOWN, atol=1e-12)
    assert found.gap[0] == pytest.approx(-1e-3)


def test_ball_on_a_soft_edge_and_beside_a_node():
    scene = Scene()
    edge = np.array([1.0, 0.0, 1.0]) / np.sqrt(2.0)
    scene.add_sphere(0.1, np.array([0.5, 0.05, 1.0]) + 0.101 * edge)
    scene.add_soft(tet_generators.box((1, 1, 1), (1, 1, 1)), RUBBER, (0, 0, 0.5))
    _, found = candidates(scene, 2e-3)
    assert found.kind.tolist() == [2]
    np.testing.assert_allclose(found.normal[0], -edge, atol=1e-12)
    assert found.gap[0] == pytest.approx(1e-3)
    assert sorted(found.weight[0]) == pytest.approx([0.0, 0.45, 0.55])


def test_large_ball_on_a_fine_surface_is_left_to_the_nodes():
    scene = Scene()
    scene.add_sphere(2.0, (0.02, 0.03, 3.0 - 1e-3))
    scene.add_soft(tet_generators.box((1, 1, 1), (10, 10, 2)), RUBBER, (0, 0, 0.5))
    _, found = candidates(scene, 2e-3)
    assert len(found.kind) >= 1
    np.testing.assert_array_equal(found.kind, 0)


def test_capsule_across_soft_edges():
    scene = Scene()
    # along y over the line x = 0.25 between the nodes of a surface whose cells are 0.5 m wide
    scene.add_capsule(0.05, 0.6, (0.25, 0.1, 1.05 - 1e-3), (np.sqrt(0.5), np.sqrt(0.5), 0, 0))
    scene.add_soft(tet_generators.box((1, 1, 1), (2, 2, 2)), RUBBER, (0, 0, 0.5))
    _, found = candidates(scene)
    assert set(found.kind.tolist()) <= {1, 2}
    np.testing.assert_allclose(found.gap, -1e-3, atol=1e-9)
    np.testing.assert_allclose(found.normal, [DOWN] * len(found.gap), atol=1e-6)
    # it lies from y = -0.2 to 0.4, in the cells below and above y = 0: two diagonals, and the edge between the cells
    crossed = found.point[found.kind == 2]
    np.testing.assert_allclose(crossed[:, 0], 0.25, atol=1e-6)
    assert np.any(np.abs(crossed[:, 1]) < 1e-6)
    assert (found.kind == 1).sum() == 2


def test_cylinder_standing_on_a_large_triangle_has_its_rim():
    scene = Scene()
    scene.add_cylinder(0.1, 0.4, (0.3, 0.3, 0.2))
    scene.add_soft(wedge(), RUBBER)
    _, found = candidates(scene)
    assert found.kind.tolist() == [1] * 8
    np.testing.assert_allclose(found.gap, 0.0, atol=1e-12)
    np.testing.assert_allclose(np.hypot(*(found.point[:, :2] - 0.3).T), 0.1, atol=1e-12)


def test_tilted_cylinder_touches_with_the_deepest_point_of_its_rim():
    scene = Scene()
    angle = 0.4
    axis = np.array([np.sin(angle), 0.0, np.cos(angle)])
    down = 0.2 * np.cos(angle) + 0.1 * np.sin(angle)
    scene.add_cylinder(0.1, 0.4, (0.3, 0.3, down + 1e-4), between(UP, axis))
    scene.add_soft(wedge(), RUBBER)
    _, found = candidates(scene, 2e-4)
    assert (found.kind == 1).all()
    assert found.gap.min() == pytest.approx(1e-4, abs=1e-9)


def test_box_on_a_larger_soft_block_has_its_corners_and_rim():
    scene = Scene()
    scene.add_box((0.5, 0.5, 0.5), (0.13, 0.07, 1.25))
    scene.add_soft(tet_generators.box((1, 1, 1), (2, 2, 2)), RUBBER, (0, 0, 0.5))
    _, found = candidates(scene)
    assert np.bincount(found.kind).tolist() == [1, 4, 8]
    np.testing.assert_allclose(found.normal, [DOWN] * 13, atol=1e-12)
    np.testing.assert_allclose(found.gap, 0.0, atol=1e-12)
    # what touches is on the rim of the box, but for the one node below it
    away = np.abs(found.point[1:, :2] - [0.13, 0.07]).max(axis=1)
    np.testing.assert_allclose(away, 0.25, atol=1e-9)


def test_corner_above_a_thin_sheet_does_not_see_its_other_side():
    scene = Scene()
    scene.add_box((0.1, 0.1, 0.1), (0.11, 0.05, 0.005 + 1e-4 + 0.05 * np.sqrt(3.0)), between(DIAGONAL, DOWN))
    scene.add_soft(tet_generators.box((1, 1, 0.01), (2, 2, 1)), RUBBER)
    _, found = candidates(scene)
    assert found.gap.tolist() == pytest.approx([1e-4])
    np.testing.assert_allclose(found.normal[0], DOWN, atol=1e-12)


def test_point_weights_and_gap_fit_together():
    scene = Scene()
    rng = np.random.default_rng(4)
    for k in range(6):
        scene.add_hull(0.12 * rng.normal(size=(15, 3)), (0.3 * (k % 3) - 0.3, 0.3 * (k // 3) - 0.15, 1.2))
    scene.add_soft(tet_generators.box((1, 1, 1), (5, 5, 5)), RUBBER, (0, 0, 0.5))
    model, found = candidates(scene, 0.05)
    assert set(found.kind.tolist()) == {0, 1, 2}
    np.testing.assert_allclose(found.weight.sum(axis=1), 1.0, atol=1e-12)
    assert found.weight.min() >= -1e-9
    np.testing.assert_array_equal(found.weight[found.node < 0], 0.0)
    np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1.0, atol=1e-12)
    on_soft = np.einsum("ki,kij->kj", found.weight, model.soft.x_start[found.node])
    np.testing.assert_allclose(on_soft, found.point + 0.5 * found.gap[:, None] * found.normal, atol=1e-12)


def test_sorted_unique_and_repeatable():
    scene = Scene()
    rng = np.random.default_rng(9)
    for k in range(4):
        scene.add_box((0.3, 0.3, 0.3), (0.4 * k - 0.6, 0.1 * k, 1.1), rng.normal(size=4))
    scene.add_capsule(0.1, 0.4, (0.0, 0.0, -0.08), (np.sqrt(0.5), np.sqrt(0.5), 0, 0))
    scene.add_soft(tet_generators.box((1, 1, 1), (4, 4, 4)), RUBBER, (0, 0, 0.5))
    _, found = candidates(scene, 0.02)
    rows = np.stack([found.kind, found.shape, found.feature, found.soft_feature], axis=1)
    order = np.lexsort(rows.T[::-1])
    np.testing.assert_array_equal(order, np.arange(len(rows)))
    assert len(np.unique(rows, axis=0)) == len(rows)
    _, again = candidates(scene, 0.02)
    for one, other in zip(found, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_ignored_pairs_welded_and_held_nodes_are_left_out():
    def scene(kind):
        made = Scene()
        box = made.add_box((3, 3, 0.2), (0, 0, -0.1), kind=kind)
        soft = made.add_soft(tet_generators.box((1, 1, 1), (2, 2, 2)), RUBBER, (0, 0, 0.5))
        return made, box, soft

    made, box, soft = scene("dynamic")
    made.ignore_collision(box, soft)
    assert len(candidates(made)[1].gap) == 0
    made, box, soft = scene("dynamic")
    made.weld_nodes(soft, [0, 1], box, collide=True)
    assert candidates(made)[1].soft_feature.tolist() == list(range(2, 9))
    for kind, left in (("dynamic", 9), ("static", 6), ("kinematic", 6)):
        made, box, soft = scene(kind)
        made.hold_nodes(soft, [0, 1, 2])
        assert len(candidates(made)[1].gap) == left


def test_reach_of_nodes_and_bodies_adds_up():
    scene = Scene()
    scene.add_box((3, 3, 0.2), (0, 0, -0.1))
    scene.add_soft(tet_generators.box((1, 1, 1), (1, 1, 1)), RUBBER, (0, 0, 0.51))
    model = compile_scene(scene)
    for nodes, body, count in ((0.004, 0.005, 0), (0.006, 0.005, 4), (0.0, 0.011, 4), (0.011, 0.0, 4)):
        reach = np.full(model.soft.node_count, nodes), np.full(1, body)
        found = soft_rigid_candidates(model, model.q_start, model.soft.x_start, *reach)
        assert len(found.gap) == count


def test_scenes_without_soft_bodies_or_without_shapes_near():
    scene = Scene()
    scene.add_box((1, 1, 1))
    assert len(candidates(scene)[1].gap) == 0
    scene.add_soft(tet_generators.box((1, 1, 1), (1, 1, 1)), RUBBER, (0, 0, 5))
    assert len(candidates(scene)[1].gap) == 0


@pytest.mark.parametrize("kind", ["box", "hull", "mesh"])
@pytest.mark.parametrize("shift", [-1e-2, -1e-4, -1e-12, 0.0, 1e-12, 1e-4])
def test_rim_on_rim_is_pushed_up(kind, shift):
    scene = Scene()
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.1, 0.1)])
    if kind == "box":
        scene.add_box((1, 1, 0.2), (0, 0, -0.1))
    elif kind == "hull":
        scene.add_hull(corners, (0, 0, -0.1))
    else:
        triangles = [
            [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
            [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
        ]  # fmt: skip
        scene.add_mesh(corners, triangles, (0, 0, -0.1))
    scene.add_soft(tet_generators.box((1, 1, 1), (3, 3, 3)), RUBBER, (shift, 0.7 * shift, 0.5 - 1e-5))
    _, found = candidates(scene)
    np.testing.assert_allclose(found.normal, [UP] * len(found.gap), atol=1e-9)
    np.testing.assert_allclose(found.gap, -1e-5, atol=1e-9)
    # the whole face is held: the contacts surround its corners
    span = np.ptp(found.point[:, :2], axis=0)
    assert (span > 1.0 - 1.01 * abs(shift) - 1e-6).all()


def test_nodes_deep_in_a_plate_leave_where_they_came_in():
    scene = Scene()
    scene.add_box((3, 3, 0.02), (0, 0, -0.01))
    scene.add_soft(tet_generators.box((1, 1, 1), (2, 2, 2)), RUBBER, (0, 0, 0.5 - 0.015))
    _, found = candidates(scene)
    np.testing.assert_allclose(found.gap, -0.015, atol=1e-12)
    np.testing.assert_allclose(found.normal, [UP] * 9, atol=1e-12)
