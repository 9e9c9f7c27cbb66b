"""Signed distances of points to shapes: closed forms, the same solid as a mesh, and the meaning of the direction."""

import numpy as np
import pytest

from stickslip import Scene
from stickslip.collision.shape_poses import shape_poses
from stickslip.collision.surfaces.point_shapes import signed_distances
from stickslip.geometry.generators import jack
from stickslip.geometry.hull import polyhedron
from stickslip.model.model import compile_scene

POSE = {"position": (0.3, -0.2, 0.1), "rotation": (0.5, 0.5, -0.1, 0.7)}
CORNERS = np.random.default_rng(5).normal(size=(14, 3)) * 0.25


def fans(hull):
    """Triangles of a polyhedron."""
    return [[loop[0], i, j] for loop in hull.loops for i, j in zip(loop[1:-1], loop[2:], strict=True)]


def scene_of(kind):
    """One shape of a kind in a fixed pose."""
    scene = Scene()
    match kind:
        case "sphere":
            scene.add_sphere(0.4, **POSE)
        case "capsule":
            scene.add_capsule(0.2, 0.6, **POSE)
        case "box":
            scene.add_box((0.8, 0.5, 0.6), **POSE)
        case "cylinder":
            scene.add_cylinder(0.3, 0.7, **POSE)
        case "hull":
            scene.add_hull(CORNERS, **POSE)
        case "hull as mesh":
            hull = polyhedron(CORNERS)
            scene.add_mesh(hull.vertices, fans(hull), **POSE)
        case "mesh":
            scene.add_mesh(*jack(0.5, 0.2, 0.1, 0.02), **POSE)
        case "half-space":
            scene.add_half_space((0.2, -0.3, 0.9), (0.1, 0.0, 0.2))
    return compile_scene(scene)


def distances(model, points):
    """Signed distances and directions of points to the one shape of a model."""
    position, rotation = shape_poses(model, model.q_start)
    shape, limit = np.zeros(len(points), np.int32), np.full(len(points), np.inf)
    return signed_distances(model, position, rotation, points, 0.0 * points, shape, limit)


def in_frame(model, points):
    """The points in the frame of the one shape."""
    position, rotation = shape_poses(model, model.q_start)
    return (points - position[0]) @ rotation[0]


def closed_form(kind, x):
    """Signed distances in the shape's frame, from inequalities."""
    rho = np.hypot(x[:, 0], x[:, 1])
    match kind:
        case "sphere":
            return np.linalg.norm(x, axis=1) - 0.4
        case "capsule":
            return np.hypot(rho, np.maximum(np.abs(x[:, 2]) - 0.3, 0.0)) - 0.2
        case "box":
            beyond = np.abs(x) - [0.4, 0.25, 0.3]
        case "cylinder":
            beyond = np.stack([rho - 0.3, np.abs(x[:, 2]) - 0.35], axis=1)
        case "half-space":
            return x[:, 2]
    return np.linalg.norm(np.maximum(beyond, 0.0), axis=1) + np.minimum(beyond.max(axis=1), 0.0)


@pytest.mark.parametrize("kind", ["sphere", "capsule", "box", "cylinder", "half-space"])
def test_distances_are_those_of_closed_forms(kind):
    model = scene_of(kind)
    points = np.random.default_rng(0).uniform(-1.0, 1.0, (2000, 3))
    distance, _ = distances(model, points)
    np.testing.assert_allclose(distance, closed_form(kind, in_frame(model, points)), atol=1e-14)


def test_hull_and_the_same_mesh_agree():
    points = np.random.default_rng(1).uniform(-0.6, 0.6, (3000, 3)) + POSE["position"]
    hull, as_hull = distances(scene_of("hull"), points)
    mesh, as_mesh = distances(scene_of("hull as mesh"), points)
    np.testing.assert_allclose(hull, mesh, atol=1e-12)
    assert (hull < 0.0).sum() > 50
    # on the medial planes inside two faces are equally near
    assert np.mean((as_hull * as_mesh).sum(axis=1) > 1.0 - 1e-9) > 0.999


@pytest.mark.parametrize("kind", ["sphere", "capsule", "box", "cylinder", "half-space", "hull", "hull as mesh", "mesh"])
def test_direction_leads_out_and_to_the_surface(kind):
    model = scene_of(kind)
    points = np.random.default_rng(2).uniform(-1.0, 1.0, (1500, 3))
    distance, normal = distances(model, points)
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-12)
    # the closest point is on the surface
    on_surface, _ = distances(model, points - distance[:, None] * normal)
    np.testing.assert_allclose(on_surface, 0.0, atol=1e-9)
    # a step along the direction is the whole increase; near medial planes inside another face takes over
    further, _ = distances(model, points + 1e-6 * normal)
    right = np.abs(further - distance - 1e-6) < 1e-10
    assert right[distance > 0.0].all()
    assert right.mean() > 0.99


@pytest.mark.parametrize("kind", ["sphere", "capsule", "box", "cylinder", "hull", "mesh"])
def test_degenerate_points_have_a_unit_direction(kind):
    model = scene_of(kind)
    position, rotation = shape_poses(model, model.q_start)
    own = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.1], [0.0, 0.0, 2.0], [0.0, 0.0, 0.35], [0.4, 0.25, 0.3]])
    distance, normal = distances(model, own @ rotation[0].T + position[0])
    assert np.isfinite(distance).all()
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-12)


def test_a_limit_hides_only_points_beyond_it():
    model = scene_of("mesh")
    position, rotation = shape_poses(model, model.q_start)
    points = np.random.default_rng(3).uniform(-0.6, 0.6, (1000, 3)) + POSE["position"]
    exact, _ = distances(model, points)
    shape, limit = np.zeros(1000, np.int32), np.full(1000, 0.05)
    limited, _ = signed_distances(model, position, rotation, points, 0.0 * points, shape, limit)
    hidden = np.isinf(limited)
    np.testing.assert_array_equal(limited[~hidden], exact[~hidden])
    assert (exact[hidden] > 0.05).all()
    assert hidden.sum() > 100


@pytest.mark.parametrize("kind", ["box", "cylinder", "hull", "hull as mesh"])
def test_points_with_a_normal_are_pushed_by_faces_that_look_at_them(kind):
    model = scene_of(kind)
    position, rotation = shape_poses(model, model.q_start)
    rng = np.random.default_rng(7)
    points = rng.uniform(-0.6, 0.6, (3000, 3)) + POSE["position"]
    outward = rng.normal(size=(3000, 3))
    outward /= np.linalg.norm(outward, axis=1)[:, None]
    free, way = distances(model, points)
    shape, endless = np.zeros(3000, np.int32), np.full(3000, np.inf)
    distance, normal = signed_distances(model, position, rotation, points, outward, shape, endless)
    on_rim = (free > 0.0) & (free < 2e-3)
    right = ((way * outward).sum(axis=1) <= 0.3) & ~on_rim
    np.testing.assert_array_equal(distance[right], free[right])
    turned = ~right & np.isfinite(distance)
    # the way out is no shorter, and against the normal; a point outside is never pushed through the shape
    assert (distance[turned] <= free[turned] + 1e-12).all()
    facing = (normal * outward).sum(axis=1) <= -0.1 + 1e-12
    assert facing[turned & ~on_rim].all()
    assert (free[turned] <= 2e-3).all()
    assert turned.sum() > 10
