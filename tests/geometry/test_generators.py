"""Meshes and stones made by code: closed, outward, of the right volume."""

import math

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.geometry import generators
from stickslip.geometry.generators import Mesh
from stickslip.geometry.hull import polyhedron
from stickslip.geometry.mass import of_shape
from stickslip.geometry.shapes import Hull
from stickslip.geometry.triangle_mesh import checked_mesh
from stickslip.scenes.jacks import jack_mesh
from stickslip.scenes.vessels import CHALICE, GLASS, vessel_mesh

CONE = ((0.0, 0.0), (1.0, 0.0), (0.0, 2.0))
TUBE = ((1.0, 0.0), (2.0, 0.0), (2.0, 1.0), (1.0, 1.0))
SPINDLE = ((0.0, -1.0), (0.5, 0.0), (0.0, 1.0))


def inscribed(volume: float, segments: int) -> float:
    """Volume of a body of revolution when its circles become polygons."""
    return volume * math.sin(2.0 * math.pi / segments) * segments / (2.0 * math.pi)


@pytest.mark.parametrize(
    ("profile", "volume", "euler"),
    [(CONE, 2.0 * math.pi / 3.0, 2), (TUBE, 3.0 * math.pi, 0), (SPINDLE, math.pi / 6.0, 2)],
)
@pytest.mark.parametrize("segments", [3, 12])
def test_surfaces_of_revolution(profile: tuple[tuple[float, float], ...], volume: float, euler: int, segments: int):
    trimesh = pytest.importorskip("trimesh")
    for outline in (profile, profile[::-1]):  # either sense of the outline
        vertices, triangles = generators.surface_of_revolution(outline, segments)
        mesh = trimesh.Trimesh(vertices, triangles, process=False)
        assert mesh.is_watertight
        assert mesh.is_winding_consistent
        assert mesh.euler_number == euler
        assert mesh.volume == pytest.approx(inscribed(volume, segments), rel=1e-12)
        assert mesh.area_faces.min() > 0.0


@pytest.mark.parametrize(
    "mesh", [vessel_mesh(GLASS, 0.6), vessel_mesh(CHALICE, 0.4), jack_mesh(0.2)], ids=["glass", "chalice", "jack"]
)
def test_bodies_of_the_scenes_are_sound(mesh: Mesh):
    trimesh = pytest.importorskip("trimesh")
    body = trimesh.Trimesh(*mesh, process=False)
    assert body.is_watertight
    assert body.is_winding_consistent
    assert body.euler_number == 2
    assert len(mesh[1]) <= 300
    # our own check also finds self-intersections, which trimesh does not
    assert checked_mesh(*mesh).volume == pytest.approx(body.volume, rel=1e-12)
    np.testing.assert_allclose(body.center_mass, 0.0, atol=1e-12)


def test_vessels_are_hollow():
    trimesh = pytest.importorskip("trimesh")
    vertices, triangles = vessel_mesh(GLASS, 0.6)
    glass = trimesh.Trimesh(vertices, triangles, process=False)
    assert glass.volume < 0.4 * glass.convex_hull.volume
    on_axis = np.sort(vertices[(vertices[:, :2] == 0.0).all(axis=1), 2])
    assert len(on_axis) == 2, "the bottom, from below and from above"
    assert np.ptp(on_axis) < 0.2 * np.ptp(vertices[:, 2])


def test_volume_of_a_jack():
    reach, width = 1.0, 0.2
    _, _ = mesh = generators.jack(reach, width, width, 1e-6)
    # straight arms: core, and six prisms from the core to the end
    assert checked_mesh(*mesh).volume == pytest.approx(width**3 + 6.0 * width**2 * (reach - 0.5 * width), rel=1e-4)


def volume(corners: np.ndarray) -> float:
    return of_shape(Hull(corners)).mass


@pytest.mark.parametrize("taper", [0.0, 0.13])
def test_voussoirs_fill_their_bay(taper: float):
    radius, depth, bay, top, count = 1.2, 1.4, 4.0, 2.0, 5
    edges = np.linspace(0.0, math.pi, count + 1)
    stones = [generators.voussoir(radius, a, b, depth, bay, top, taper) for a, b in zip(edges[:-1], edges[1:])]
    opening = 0.5 * count * radius**2 * math.sin(math.pi / count)
    assert sum(map(volume, stones)) == pytest.approx(depth * (bay * top - opening), rel=1e-9)
    for stone in stones:
        assert len(polyhedron(stone, "stone").vertices) == len(stone), "every corner is one of the hull"


def test_bare_voussoirs_are_wedges():
    stone = generators.voussoir(1.0, 1.4, 1.7, 0.5, 4.0, 3.0, thickness=0.3)
    half = 0.15
    area = (1.3**2 * math.tan(half)) - math.sin(half) * math.cos(half)
    assert volume(stone) == pytest.approx(0.5 * area, rel=1e-9)


def test_other_stones():
    assert volume(generators.trapezoid_prism(2.0, 1.0, 3.0, 0.5)) == pytest.approx(2.25)
    assert volume(generators.trapezoid_prism(2.0, 0.0, 3.0, 0.5)) == pytest.approx(1.5)
    assert volume(generators.drum(1.0, 1.0, 2.0, 8)) == pytest.approx(2.0 * 4.0 * math.sin(math.pi / 4.0))
    ring = generators.ring_stone(3.0, 4.0, 0.1, 0.5, 2.0)
    assert volume(ring) == pytest.approx(2.0 * (16.0 - 9.0) * math.tan(0.2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: generators.surface_of_revolution([(1.0, 0.0), (2.0, 0.0)], 8), "k >= 3"),
        (lambda: generators.surface_of_revolution([(-1.0, 0.0), (2.0, 0.0), (1.0, 1.0)], 8), "negative"),
        (lambda: generators.surface_of_revolution([(1.0, 0.0), (2.0, 0.0), (3.0, 0.0)], 8), "no area"),
        (lambda: generators.surface_of_revolution(CONE, 2), "segments is 2"),
        (lambda: generators.jack(1.0, 3.0, 0.1, 0.01), "make no arms"),
        (lambda: generators.jack(1.0, 0.0, 0.1, 0.01), "width is 0.0"),
        (lambda: generators.voussoir(1.0, 2.0, 1.0, 1.0, 4.0, 2.0), "start < end"),
        (lambda: generators.convex_corners([(1, 0, 0, 1), (0, 1, 0, 1), (0, 0, 1, 1)]), "enclose no solid"),
        (lambda: generators.drum(1.0, 1.0, 1.0, 2), "sides is 2"),
        (lambda: generators.ring_stone(2.0, 1.0, 0.0, 0.1, 1.0), "make no stone"),
    ],
)
def test_bad_shapes_are_named(make, message: str):
    with pytest.raises(InputError, match=message):
        make()
