"""Meshes with more vertices: the same solid, watertight, as many vertices as asked for."""

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.geometry.refinement import refined
from stickslip.geometry.triangle_mesh import mass_of
from stickslip.scenes.jacks import jack_mesh
from stickslip.scenes.registry import SCENES
from stickslip.scenes.vessels import glass_mesh


@pytest.mark.parametrize("count", [56, 57, 200, 1660])
def test_the_solid_stays(count: int) -> None:
    mesh = jack_mesh(0.2)
    vertices, triangles = refined(mesh, count)
    assert len(vertices) == count
    assert len(triangles) == 2 * count - 4  # Euler: closed, without holes
    edges = np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()
    for ours, plain in zip(mass_of(vertices, triangles), mass_of(*mesh), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-12, atol=1e-16)


def test_fewer_vertices_are_refused() -> None:
    with pytest.raises(InputError, match="has 56 vertices already"):
        refined(jack_mesh(0.2), 20)


@pytest.mark.parametrize(
    ("name", "vertices", "parts"), [("jacks", 1660, 18), ("glasses", 1630, 18), ("chalices", 275, 40)]
)
def test_meshes_of_the_papers_size(name: str, vertices: int, parts: int) -> None:
    build, share = SCENES[name].build, {"jacks": 0.05, "glasses": 0.05, "chalices": 0.01}[name]
    scene = build(scale=share, vertices=vertices)
    last = scene.bodies[-1]
    assert len(last.parts[0].shape.vertices) == vertices
    plain = build(scale=share).bodies[-1]
    assert last.mass_properties.mass == pytest.approx(plain.mass_properties.mass, rel=0.06)
    assert sum(body.kind == "dynamic" for body in scene.bodies) == parts


def test_glasses_are_rounder_with_more_vertices() -> None:
    assert [len(glass_mesh(0.6, count)[0]) for count in (0, 300, 1630)] == [86, 300, 1630]


@pytest.mark.parametrize("name", ["jacks", "glasses", "spheres"])
def test_the_authors_layout_starts_above_a_glass_without_overlap(name: str) -> None:
    scene = SCENES[name].build(layout="glass", scale=0.03)
    glass = next(body for body in scene.bodies if body.name == "big-glass")
    assert glass.kind == "static"
    rim = max(float(placed.shape.vertices[:, 2].max()) for placed in glass.parts) + glass.position[2]
    for body in scene.bodies:
        if body.kind == "dynamic":
            assert body.position[2] > rim - 1e-9
    with pytest.raises(InputError, match="known: tray, glass"):
        SCENES[name].build(layout="cup")
