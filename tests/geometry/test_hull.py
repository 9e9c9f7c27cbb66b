"""Hulls as polyhedra: whole faces, counter-clockwise loops, closed surfaces, flat tables."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull, QhullError

from stickslip import InputError
from stickslip.geometry.hull import Polyhedron, polyhedron, tables
from stickslip.geometry.rotation import matrix

CUBE = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)


def check_closed_convex_surface(hull: Polyhedron, points: np.ndarray) -> None:
    """Everything that must hold of any hull; 1e-9 of its size is where faces count as coplanar."""
    size = float(np.ptp(points, axis=0).max())
    normals, offsets = hull.planes[:, :3], hull.planes[:, 3]
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-12)
    assert (points @ normals.T - offsets).max() < 2e-9 * size, "a point is outside"
    directed = []
    for loop, normal, offset in zip(hull.loops, normals, offsets, strict=True):
        corners = hull.vertices[loop]
        assert np.abs(corners @ normal - offset).max() < 2e-9 * size, "a plane does not contain its loop"
        assert len(set(loop.tolist())) == len(loop) >= 3
        assert loop[0] == loop.min()
        ahead = np.roll(corners, -1, axis=0) - corners
        turns = np.cross(ahead, np.roll(ahead, -1, axis=0)) @ normal
        assert turns.min() > -1e-9 * size**2, "a loop turns right"
        assert turns.sum() > 0.0, "a loop runs clockwise"
        directed += list(zip(loop.tolist(), np.roll(loop, -1).tolist(), strict=True))
    # closed: every edge is run through once in each direction
    assert len(set(directed)) == len(directed)
    assert {(b, a) for a, b in directed} == set(directed)
    assert {tuple(edge) for edge in hull.edges.tolist()} == {(min(e), max(e)) for e in directed}
    assert len(hull.vertices) - len(hull.edges) + len(hull.loops) == 2  # Euler
    assert {int(i) for loop in hull.loops for i in loop} == set(range(len(hull.vertices)))


def test_cube_has_six_quadrilaterals() -> None:
    hull = polyhedron(CUBE)
    check_closed_convex_surface(hull, CUBE)
    assert [len(loop) for loop in hull.loops] == [4] * 6
    assert len(hull.edges) == 12
    planes = {tuple(np.round(plane, 12) + 0.0) for plane in hull.planes}
    assert planes == {(*(sign * axis + 0.0), 1.0) for axis in np.eye(3) for sign in (-1, 1)}


@pytest.mark.parametrize("sides", [3, 6, 24])
def test_prism_has_two_polygons_and_its_sides(sides: int) -> None:
    angle = 2 * np.pi * np.arange(sides) / sides
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    points = np.vstack([np.column_stack([ring, np.full(sides, z)]) for z in (-0.5, 0.5)])
    hull = polyhedron(points)
    check_closed_convex_surface(hull, points)
    assert sorted(len(loop) for loop in hull.loops) == sorted([sides, sides] + [4] * sides)


def test_points_inside_faces_and_the_solid_are_dropped() -> None:
    extra = np.array([[0, 0, 0], [0.3, -0.2, 1.0], [0.1, 0.2, 0.3]])
    hull = polyhedron(np.vstack([extra, CUBE]))
    np.testing.assert_array_equal(hull.vertices, CUBE)
    assert len(hull.loops) == 6


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(4, 60))
def test_random_hulls(seed: int, count: int) -> None:
    points = np.random.default_rng(seed).normal(size=(count, 3))
    hull = polyhedron(points)
    check_closed_convex_surface(hull, points)
    assert len(hull.vertices) == len(ConvexHull(points).vertices)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(*[st.integers(-2, 2)] * 3), min_size=5, max_size=40, unique=True),
    st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1),
    st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_hulls_of_lattice_points(lattice: list, turn: tuple, size: float) -> None:
    """Full of coplanar and collinear points: faces must come whole, in any pose and size."""
    plain = np.array(lattice, dtype=np.float64)
    try:
        ConvexHull(plain)
    except QhullError:
        assume(False)
    R = matrix(np.array(turn) / np.linalg.norm(turn))
    points = size * (plain @ R.T + [0.3, -2.0, 1.0])
    hull = polyhedron(points)
    check_closed_convex_surface(hull, points)
    # normals of lattice planes within +-2 differ by far more than this, so equal normals mean a face in pieces
    cosine = hull.planes[:, :3] @ hull.planes[:, :3].T
    assert np.count_nonzero(cosine > 1 - 1e-9) == len(hull.loops)


def test_the_order_of_points_does_not_change_the_faces() -> None:
    points = np.random.default_rng(5).normal(size=(20, 3))
    mixed = points[np.random.default_rng(6).permutation(20)]
    np.testing.assert_allclose(polyhedron(mixed).planes, polyhedron(points).planes, atol=1e-12)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_flat_points_are_refused_at_any_size(size: float) -> None:
    flat = size * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0.5, 0.3, 1e-14]])
    with pytest.raises(InputError, match=r"leaf: .*(no volume|degenerate)"):
        polyhedron(flat, "leaf")


def test_tables_hold_every_hull_at_its_offset() -> None:
    hulls = [polyhedron(CUBE), polyhedron(np.random.default_rng(1).normal(size=(12, 3))), polyhedron(2 * CUBE + 5)]
    table = tables(hulls)
    for array, kind in zip(table, "ififiiii", strict=True):
        assert array.dtype == (np.float64 if kind == "f" else np.int32)
        assert array.flags.c_contiguous
    for h, hull in enumerate(hulls):
        np.testing.assert_array_equal(table.vertices[table.vertex_start[h] : table.vertex_start[h + 1]], hull.vertices)
        np.testing.assert_array_equal(table.face_plane[table.face_start[h] : table.face_start[h + 1]], hull.planes)
        np.testing.assert_array_equal(table.edges[table.edge_start[h] : table.edge_start[h + 1]], hull.edges)
        for k, face in enumerate(range(table.face_start[h], table.face_start[h + 1])):
            np.testing.assert_array_equal(
                table.loop[table.loop_start[face] : table.loop_start[face + 1]], hull.loops[k]
            )
    assert len(table.loop_start) == table.face_start[-1] + 1
    assert table.loop_start[-1] == len(table.loop)
    assert table.vertex_start[-1] == len(table.vertices)


def test_tables_of_no_hull_are_empty() -> None:
    table = tables([])
    assert table.vertices.shape == (0, 3)
    assert table.face_plane.shape == (0, 4)
    assert table.edges.shape == (0, 2)
    assert [list(s) for s in (table.vertex_start, table.face_start, table.loop_start, table.edge_start)] == [[0]] * 4


@pytest.mark.parametrize("seed", range(6))
def test_every_edge_belongs_to_two_faces_whatever_slivers_there_are(seed):
    """Corners as mesh files have them: many points of each face, in single precision."""
    rng = np.random.default_rng(seed)
    turn = 2.0 * np.pi * rng.random(60)
    rim = np.column_stack([np.cos(turn), np.sin(turn), rng.choice([-0.5, 0.5], 60)])
    side = np.column_stack([np.cos(turn), np.sin(turn), rng.uniform(-0.5, 0.5, 60)])
    points = np.concatenate([rim, side, 0.999 * rim]) @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    hull = polyhedron(points.astype(np.float32).astype(np.float64))
    directed = [(int(i), int(j)) for loop in hull.loops for i, j in zip(loop, np.roll(loop, -1), strict=True)]
    assert len(set(directed)) == len(directed)
    assert all((j, i) in set(directed) for i, j in directed)
    used = {i for i, _ in directed}
    assert len(used) - len(hull.edges) + len(hull.loops) == 2
