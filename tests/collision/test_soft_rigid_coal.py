"""Soft surfaces near rigid shapes: the nearest place and the depth of slight overlaps are those of coal."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from soft_placing import RUBBER, candidates

from stickslip import Scene
from stickslip.collision.surfaces import soft_rigid
from stickslip.geometry import tet_generators
from stickslip.geometry.hull import polyhedron

coal = pytest.importorskip("coal")
KINDS = ["sphere", "capsule", "box", "cylinder", "hull", "mesh"]
MESHES = {
    "box": tet_generators.box((0.5, 0.4, 0.3), (1, 1, 1)),
    "sphere": tet_generators.sphere(0.3, 2),
    "torus": tet_generators.torus(0.3, 0.1, 6, 8),
}


def surface(vertices, triangles):
    """A mesh of coal."""
    mesh = coal.BVHModelOBBRSS()
    mesh.beginModel(len(triangles), len(vertices))
    for a, b, c in vertices[triangles]:
        mesh.addTriangle(a, b, c)
    mesh.endModel()
    return mesh


def add_shape(scene, rng, kind, position, rotation):
    """Add a random shape of a kind to a scene; the same for coal."""
    x, y, z = rng.uniform(0.05, 0.3, 3)
    match kind:
        case "sphere":
            scene.add_sphere(x, position, rotation)
            return coal.Sphere(x)
        case "capsule":
            scene.add_capsule(0.5 * x, 2.0 * y, position, rotation)
            return coal.Capsule(0.5 * x, 2.0 * y)
        case "box":
            scene.add_box((2.0 * x, 2.0 * y, 2.0 * z), position, rotation)
            return coal.Box(2.0 * x, 2.0 * y, 2.0 * z)
        case "cylinder":
            scene.add_cylinder(x, 2.0 * y, position, rotation)
            return coal.Cylinder(x, 2.0 * y)
    hull = polyhedron(0.15 * rng.normal(size=(12, 3)))
    triangles = np.array([[loop[0], i, j] for loop in hull.loops for i, j in zip(loop[1:-1], loop[2:], strict=True)])
    if kind == "hull":
        scene.add_hull(hull.vertices, position, rotation)
    else:
        scene.add_mesh(hull.vertices, triangles, position, rotation)
    return surface(hull.vertices, triangles)


def random_place(rng, nearest, furthest):
    """A position at some distance from the origin, and a rotation."""
    direction, rotation = rng.normal(size=3), rng.normal(size=4)
    return direction / np.linalg.norm(direction) * rng.uniform(nearest, furthest), rotation / np.linalg.norm(rotation)


def pose(position, rotation):
    return coal.Transform3s(Rotation.from_quat(rotation, scalar_first=True).as_matrix(), np.array(position))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mesh", MESHES)
def test_the_smallest_gap_is_the_distance(monkeypatch, kind, mesh):
    # all places, also those that nodes tell of
    monkeypatch.setattr(soft_rigid, "SAG", np.full(7, -1.0))
    rng = np.random.default_rng(KINDS.index(kind))
    compared = 0
    for _ in range(25):
        scene = Scene()
        place = random_place(rng, 0.4, 0.75)
        shape = add_shape(scene, rng, kind, *place)
        scene.add_soft(MESHES[mesh], RUBBER, rotation=random_place(rng, 0.0, 1.0)[1])
        model, found = candidates(scene, 0.5)
        soft = surface(model.soft.x_start, model.soft.surface.triangles)
        distance = coal.distance(
            soft, coal.Transform3s(), shape, pose(*place), coal.DistanceRequest(), coal.DistanceResult()
        )
        if 1e-6 < distance < 0.45:
            assert found.gap.min() == pytest.approx(distance, abs=1e-5)  # coal's tolerance for cylinders is 1e-6
            compared += 1
    assert compared >= 10


@pytest.mark.parametrize("kind", ["sphere", "capsule", "box", "cylinder"])
def test_slight_overlaps_have_the_depth_and_direction_of_convex_bodies(kind):
    rng = np.random.default_rng(10 + KINDS.index(kind))
    right = []
    for _ in range(700):
        scene = Scene()
        place, soft_place = random_place(rng, 0.2, 0.6), random_place(rng, 0.0, 0.0)
        shape = add_shape(scene, rng, kind, *place)
        result = coal.DistanceResult()
        solid = coal.Box(0.5, 0.4, 0.3)
        depth = coal.distance(shape, pose(*place), solid, pose(*soft_place), coal.DistanceRequest(), result)
        if not -0.02 < depth < -1e-4:
            continue
        scene.add_soft(MESHES["box"], RUBBER, *soft_place)
        _, found = candidates(scene)
        assert len(found.gap) > 0
        deepest = np.argmin(found.gap)
        close = abs(found.gap[deepest] / depth - 1.0) < 0.1
        right.append(close and found.normal[deepest] @ result.normal > 0.95)
    # nodes near an edge of the other body may leave over a face of it that is nearer
    assert len(right) > 10
    assert np.mean(right) > 0.85
