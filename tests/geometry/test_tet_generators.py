"""Structured tetrahedral meshes: promised counts, shape of elements, volume, topology of the surface."""

from collections.abc import Callable
from math import pi

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.geometry.tet_generators import box, cylinder, hollow_hemisphere, sphere, torus
from stickslip.geometry.tet_mesh import TetMesh, edges_of
from stickslip.geometry.triangle_mesh import checked_mesh

BODIES: dict[str, tuple[Callable[[int], TetMesh], float, int]] = {
    "cylinder": (lambda n: cylinder(0.5, 1.0, n, 2 * n), pi * 0.25, 2),
    "sphere": (lambda n: sphere(0.5, n), pi / 6, 2),
    "octahedral sphere": (lambda n: sphere(0.5, n, "octahedron"), pi / 6, 2),
    "sphere of given layers": (lambda n: sphere(0.5, [*range(1, n + 1), n]), pi / 6, 2),
    "torus": (lambda n: torus(1.0, 0.4, n, 14 * n), 2 * pi**2 * 0.16, 0),
    "hollow hemisphere": (lambda n: hollow_hemisphere(1.0, 0.7, 4 * n, n), 2 / 3 * pi * (1 - 0.343), 2),
}


@pytest.mark.parametrize("name", BODIES)
def test_round_bodies(name: str) -> None:
    make, volume, euler = BODIES[name]
    missing = []
    for n in (2, 4, 8):
        mesh = make(n)
        report = mesh.quality()
        assert report.mean_ratio.min() > 0.5
        assert report.mean_ratio.mean() > 0.7
        assert report.euler == euler
        assert report.piece_count == 1
        assert len(report.pinched) == 0
        assert (edges_of(mesh.surface)[1] >= 0).all()
        missing.append(1 - mesh.volume / volume)
    assert (np.array(missing) > 0).all()
    # inscribed: the volume is of second order in the size of the elements
    rates = np.log2(np.array(missing[:-1]) / missing[1:])
    assert rates[-1] == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("pattern", ["kuhn", "mirrored", "five"])
def test_box(pattern: str) -> None:
    mesh = box((1, 2, 3), (2, 4, 6), pattern)  # type: ignore[arg-type]
    assert len(mesh.nodes) == 3 * 5 * 7
    assert len(mesh.tets) == (5 if pattern == "five" else 6) * 48
    assert mesh.volume == pytest.approx(6.0, rel=1e-14)
    report = mesh.quality()
    assert report.mean_ratio.min() > 0.7
    assert report.euler == 2
    assert mesh.nodes.min(axis=0).tolist() == [-0.5, -1.0, -1.5]
    checked_mesh(mesh.nodes[mesh.surface_nodes], np.searchsorted(mesh.surface_nodes, mesh.surface))


@pytest.mark.parametrize("pattern", ["mirrored", "five"])
def test_symmetry(pattern: str) -> None:
    mesh = box((1, 1, 1), (2, 4, 2), pattern)  # type: ignore[arg-type]
    for axis in range(3):
        mirror = mesh.nodes.copy()
        mirror[:, axis] *= -1
        image = np.array([np.flatnonzero((mesh.nodes == x).all(axis=1))[0] for x in mirror])
        elements = {tuple(sorted(t)) for t in mesh.tets.tolist()}
        assert {tuple(sorted(t)) for t in image[mesh.tets].tolist()} == elements


@pytest.mark.parametrize(
    ("mesh", "nodes", "elements"),
    [
        (box(np.ones(3), 3), 64, 162),
        (cylinder(1, 1, 3, 2), 37 * 3, 18 * 9 * 2),
        (sphere(1, 1), 13, 20),
        (sphere(1, 3), 147, 540),
        (sphere(1, 4), 309, 1280),
        (sphere(1, 4, "octahedron"), 129, 512),
        (sphere(1, (1, 1, 2, 2)), 109, 160 + 60 + 240),
        (sphere(1, (1, 2, 2, 3, 3), "octahedron"), 119, 216 + 24 * 4 + 24 * 9),
        (sphere(1, (1, 1, 2, 3, 3, 4)), 413, 1280 + 60 + 60 * 9),
        (sphere(1, (1, 2, 3, 3, 4)), 401, 1280 + 60 * 9),
        (torus(2, 1, 2, 12), 19 * 12, 18 * 4 * 12),
        (hollow_hemisphere(1, 0.8, 5, 2), 61 * 3, 12 * 25 * 2),
    ],
)
def test_counts(mesh: TetMesh, nodes: int, elements: int) -> None:
    assert (len(mesh.nodes), len(mesh.tets)) == (nodes, elements)
    assert mesh.quality().mean_ratio.min() > 0.15


def test_the_dome_stands_on_its_rim() -> None:
    mesh = hollow_hemisphere(1, 0.8, 4, 1)
    assert mesh.nodes[:, 2].min() == 0.0
    assert len(mesh.nodes_on_plane("z", 0.0)) == 2 * 16


def test_meshes_repeat() -> None:
    one, other = sphere(0.3, (1, 2, 3, 3)), sphere(0.3, (1, 2, 3, 3))
    assert np.array_equal(one.nodes, other.nodes)
    assert np.array_equal(one.tets, other.tets)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: box((1, 0, 1), 2), r"box: size\.y is 0\.0"),
        (lambda: box((1, 1, 1), (2, 0, 1)), r"box: divisions\.y is 0; it must be a whole number"),
        (lambda: box((1, 1, 1), (2, 1)), "one or three whole numbers"),
        (lambda: box((1, 1, 1), 2.5), r"divisions\.x is 2\.5"),
        (lambda: box((1, 1, 1), 2, "six"), "pattern is 'six'; it must be one of kuhn, mirrored, five"),
        (lambda: cylinder(-1, 1, 2, 2), "radius is -1"),
        (lambda: cylinder(1, 1, 2, 0), "layers is 0"),
        (lambda: sphere(1, 0), "divisions is 0"),
        (lambda: sphere(1, (1, 3)), "must begin with 1"),
        (lambda: sphere(1, (2, 3)), "must begin with 1"),
        (lambda: sphere(1, 2, "cube"), "base is 'cube'"),
        (lambda: torus(1, 1, 2, 8), "minor radius must be below"),
        (lambda: torus(1, 0.5, 2, 2), "sectors is 2; it must be a whole number, at least 3"),
        (lambda: hollow_hemisphere(1, 1, 2, 2), "inner radius must be below"),
    ],
)
def test_what_is_refused(make: Callable[[], TetMesh], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
