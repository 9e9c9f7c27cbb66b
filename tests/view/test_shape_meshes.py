"""Triangles of shapes: closed, outward, as large as the shape, and where the shape is."""

import numpy as np
import pytest

from stickslip.collision.shape_poses import shape_poses
from stickslip.geometry import unit_surfaces
from stickslip.geometry.rotation import matrix
from stickslip.geometry.shapes import HALF_SPACE
from stickslip.model.model import compile_scene
from stickslip.model.shape_meshes import half_spaces, shape_instances, shape_poses_wxyz
from stickslip.scene.scene import Scene
from stickslip.scenes.registry import SCENES


def volume(vertices: np.ndarray, faces: np.ndarray) -> float:
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return float(np.einsum("fi,fi->", a, np.cross(b, c)) / 6.0)


def polygon_share() -> float:
    """Area of the regular polygon in which circles are cut, relative to the circle."""
    n = unit_surfaces.AROUND
    return n * np.sin(2.0 * np.pi / n) / (2.0 * np.pi)


@pytest.mark.parametrize(
    ("mesh", "exact", "least"),
    [
        (unit_surfaces.box(), 8.0, 1.0),
        (unit_surfaces.cylinder(), 2.0 * np.pi, 0.98 * polygon_share()),
        (unit_surfaces.sphere(), 4.0 * np.pi / 3.0, 0.96),
        (unit_surfaces.capsule(2.0), 4.0 * np.pi / 3.0 + 4.0 * np.pi, 0.97),
    ],
)
def test_surfaces_are_closed_and_nearly_fill_their_shape(mesh, exact, least):
    vertices, faces = mesh
    assert least * exact <= volume(vertices, faces) <= exact * (1.0 + 1e-12)
    # every edge, by the places of its ends, is passed once in each direction
    place = np.unique(np.round(vertices, 12), axis=0, return_inverse=True)[1].ravel()[faces]
    edges = np.concatenate([place[:, [0, 1]], place[:, [1, 2]], place[:, [2, 0]]])
    forward = {tuple(edge) for edge in edges.tolist()}
    assert len(forward) == len(edges)
    assert forward == {(b, a) for a, b in forward}


@pytest.mark.parametrize("name", ["demo", "arch", "jacks", "rope-bridge"])
def test_every_shape_but_half_spaces_is_in_one_group_and_has_its_size(name):
    model = compile_scene(SCENES[name].build())
    groups = shape_instances(model)
    drawn = np.sort(np.concatenate([group.shapes for group in groups]))
    np.testing.assert_array_equal(drawn, np.flatnonzero(model.shape_type != HALF_SPACE))
    for group in groups:
        reach = np.linalg.norm(group.vertices[None] * group.scales[:, None], axis=2).max(axis=1)
        np.testing.assert_allclose(reach, model.shape_radius[group.shapes], rtol=1e-2)


@pytest.mark.parametrize("name", ["demo", "jacks", "rope-bridge"])
def test_poses_are_those_of_the_kernel(name):
    model = compile_scene(SCENES[name].build())
    q = model.q_start.copy()
    rng = np.random.default_rng(3)
    q[:, 3:] = rng.normal(size=(len(q), 4))
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
    position, wxyz = shape_poses_wxyz(model, q)
    expected, turn = shape_poses(model, q)
    np.testing.assert_allclose(position, expected, atol=1e-12)
    np.testing.assert_allclose([matrix(row) for row in wxyz], turn, atol=1e-12)


def test_equal_hulls_are_one_mesh_and_half_spaces_none():
    scene = Scene()
    scene.add_half_space()
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    for k in range(3):
        scene.add_hull(corners, position=(2.0 * k, 0, 1), mass=1.0)
    scene.add_hull(2.0 * corners, position=(9, 0, 1), mass=1.0)
    model = compile_scene(scene)
    assert [len(group.shapes) for group in shape_instances(model)] == [3, 1]
    assert half_spaces(model).tolist() == [0]
    assert volume(*shape_instances(model)[0][1:3]) == pytest.approx(1.0 / 6.0)
