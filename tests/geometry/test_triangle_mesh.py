"""Triangle meshes: what is refused and where, mass against closed forms, distance against brute force."""

import numpy as np
import pytest

from stickslip import Scene
from stickslip.errors import InputError
from stickslip.geometry import mass
from stickslip.geometry.generators import jack, surface_of_revolution
from stickslip.geometry.mesh_distance import signed_distances
from stickslip.geometry.mesh_shapes import BOX_TRIANGLES, shape_meshes
from stickslip.geometry.mesh_tables import mesh_tables
from stickslip.geometry.shapes import Box, Mesh
from stickslip.geometry.triangle_mesh import checked_mesh
from stickslip.model.model import compile_scene

CUBE = np.array([[1.0 if i >> k & 1 else -1.0 for k in range(3)] for i in range(8)])
GLASS = surface_of_revolution([(0, 0), (0.5, 0), (0.5, 1), (0.47, 1), (0.47, 0.03), (0, 0.03)], 24)


def test_hole_is_located() -> None:
    with pytest.raises(
        InputError, match=r"plate: it has a hole, 3 edges .* the edge from \(.*\) to \(.*\) of triangle"
    ):
        checked_mesh(CUBE, BOX_TRIANGLES[:-1], "plate")


def test_third_triangle_at_an_edge() -> None:
    # two cubes that share one edge
    other = CUBE + (2.0, 2.0, 0.0)
    both, triangles = np.concatenate([CUBE, other]), np.concatenate([BOX_TRIANGLES, BOX_TRIANGLES + 8])
    with pytest.raises(InputError, match=r"4 triangles \[.*\] share the edge from \(1, 1, -1\) to \(1, 1, 1\)"):
        checked_mesh(both, triangles)


def test_one_reversed_triangle() -> None:
    triangles = BOX_TRIANGLES.copy()
    triangles[5] = triangles[5, ::-1]
    with pytest.raises(InputError, match=r"triangles \d+ and \d+ turn opposite ways at the edge from"):
        checked_mesh(CUBE, triangles)


def test_inside_out() -> None:
    with pytest.raises(InputError, match=r"inside out, its volume is -8 m\^3"):
        checked_mesh(CUBE, BOX_TRIANGLES[:, ::-1])


def test_degenerate_triangle() -> None:
    # an extra vertex in the middle of an edge, and the triangle without area that closes the gap
    vertices = np.concatenate([CUBE, [(0.0, -1.0, -1.0)]])
    triangles = [t for t in BOX_TRIANGLES.tolist() if t != [0, 3, 1]] + [[0, 3, 8], [8, 3, 1], [0, 8, 1]]
    with pytest.raises(InputError, match=r"triangle 13 \[0, 8, 1\] at \(-1, -1, -1\) is degenerate"):
        checked_mesh(vertices, triangles)


def test_self_intersection_names_triangles_and_point() -> None:
    vertices = np.concatenate([CUBE, 0.5 * CUBE + (1.0, 0.1, 0.2)])
    triangles = np.concatenate([BOX_TRIANGLES, BOX_TRIANGLES + 8])
    with pytest.raises(InputError, match=r"intersects itself, triangles \d+ and \d+ cross at \(1, ") as error:
        checked_mesh(vertices, triangles)
    i, j = (int(word.rstrip(",")) for word in str(error.value).split() if word.rstrip(",").isdigit())
    assert i < 12 <= j


def test_folded_triangles_are_refused() -> None:
    # a tetrahedron pressed flat: two faces on top of two others
    with pytest.raises(InputError, match="no volume"):
        checked_mesh([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], [(0, 1, 2), (0, 2, 3), (0, 3, 1), (1, 3, 2)])


@pytest.mark.parametrize(
    ("vertices", "triangles", "message"),
    [
        (np.where(CUBE[3] == CUBE, np.nan, CUBE), BOX_TRIANGLES, r"vertices\[0\] is"),
        (np.concatenate([CUBE, [(0, 0, 0)]]), BOX_TRIANGLES, r"vertex 8 at \(0, 0, 0\) belongs to no triangle"),
        (CUBE, BOX_TRIANGLES + 1, "vertices are numbered 0 to 7"),
        (CUBE, BOX_TRIANGLES + 0.5, "whole numbers"),
        (CUBE[:, :2], BOX_TRIANGLES, r"vertices have shape \(8, 2\)"),
        (CUBE, BOX_TRIANGLES[0], r"triangles have shape \(3,\)"),
        ("cube", BOX_TRIANGLES, r"vertices are 'cube'; \(n, 3\) numbers are needed"),
        (CUBE[:3], BOX_TRIANGLES[:1], "at least four"),
    ],
)
def test_bad_arrays(vertices: object, triangles: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        checked_mesh(vertices, triangles)  # type: ignore[arg-type]


def test_the_body_is_named() -> None:
    with pytest.raises(InputError, match="body 'cup': it has a hole"):
        Scene().add_mesh(CUBE, BOX_TRIANGLES[:-1], name="cup")
    with pytest.raises(InputError, match="either vertices and triangles, or file"):
        Scene().add_mesh(CUBE)


def test_triangle_soup_is_merged() -> None:
    soup = CUBE[BOX_TRIANGLES].reshape(-1, 3) + 1e-9 * np.random.default_rng(0).uniform(-1, 1, (36, 3))
    mesh = checked_mesh(soup, np.arange(36).reshape(-1, 3))
    assert len(mesh.vertices) == 8
    assert mesh.volume == pytest.approx(8.0, rel=1e-8)


def test_mass_of_a_box_is_exact() -> None:
    box, mesh = Box((0.3, 0.5, 0.7)), Mesh(0.5 * CUBE * (0.3, 0.5, 0.7), BOX_TRIANGLES)
    ours, exact = mass.of_shape(mesh), mass.of_shape(box)
    assert ours.mass == pytest.approx(exact.mass, rel=1e-14)
    np.testing.assert_allclose(ours.inertia, exact.inertia, rtol=1e-13, atol=1e-17)
    moved = mass.of_shape(Mesh(0.5 * CUBE * (0.3, 0.5, 0.7) + (10.0, -20.0, 5.0), BOX_TRIANGLES))
    np.testing.assert_allclose(moved.centre, (10.0, -20.0, 5.0), rtol=1e-14)
    np.testing.assert_allclose(moved.inertia, exact.inertia, rtol=1e-9, atol=1e-15)


def test_mass_of_a_cone_converges_to_the_closed_form() -> None:
    r, h, n = 0.4, 1.2, 720
    own = mass.of_shape(Mesh(*surface_of_revolution([(0, 0), (r, 0), (0, h)], n)))
    fill = np.sin(2 * np.pi / n) * n / (2 * np.pi)  # area of the inscribed polygon over that of the circle
    m = np.pi * r * r * h / 3 * fill
    assert own.mass == pytest.approx(m, rel=1e-12)
    np.testing.assert_allclose(own.centre, (0, 0, h / 4), atol=1e-12)
    # the moment of an inscribed polygon is below that of the circle by (2 + cos) / 3 besides its area
    shape = (2.0 + np.cos(2 * np.pi / n)) / 3.0
    assert own.inertia[2, 2] == pytest.approx(0.3 * m * r * r * shape, rel=1e-12)


def brute_force(vertices: np.ndarray, triangles: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Signed distance: least over all triangles, inside where the winding number is one."""
    distance = np.empty(len(points))
    for i, x in enumerate(points):
        corner = vertices[triangles] - x
        a, b, c = corner[:, 0], corner[:, 1], corner[:, 2]
        length = np.linalg.norm(corner, axis=2)
        above = np.einsum("ij,ij->i", a, np.cross(b, c))
        below = length.prod(axis=1) + np.sum(a * b, 1) * length[:, 2] + np.sum(b * c, 1) * length[:, 0]
        below += np.sum(a * c, 1) * length[:, 1]
        inside = 2.0 * np.arctan2(above, below).sum() > 2.0 * np.pi
        normal = np.cross(b - a, c - a)
        normal /= np.linalg.norm(normal, axis=1)[:, None]
        height = np.einsum("ij,ij->i", normal, a)
        foot = height[:, None] * normal
        within = np.ones(len(a), bool)
        least = np.full(len(a), np.inf)
        for p, q in ((a, b), (b, c), (c, a)):
            within &= np.einsum("ij,ij->i", np.cross(q - p, foot - p), normal) >= 0
            t = np.clip(-np.sum(p * (q - p), 1) / np.sum((q - p) ** 2, 1), 0, 1)
            least = np.minimum(least, np.linalg.norm(p + t[:, None] * (q - p), axis=1))
        least = np.where(within, np.abs(height), least)
        distance[i] = -least.min() if inside else least.min()
    return distance


MESHES = {"glass": GLASS, "jack": jack(0.5, 0.25, 0.2, 0.03), "cube": (CUBE, BOX_TRIANGLES)}


@pytest.mark.parametrize("mesh", MESHES.values(), ids=MESHES)
def test_distance_is_that_of_brute_force(mesh: tuple[np.ndarray, np.ndarray]) -> None:
    solid = checked_mesh(*mesh)
    other = checked_mesh(CUBE, BOX_TRIANGLES)
    tables = mesh_tables([(other, np.zeros(3)), (solid, np.zeros(3))])  # not the first, so that offsets count
    rng = np.random.default_rng(3)
    low, high = solid.vertices.min(axis=0), solid.vertices.max(axis=0)
    points = rng.uniform(low - 0.3, high + 0.3, (300, 3))
    near = solid.vertices[rng.integers(len(solid.vertices), size=100)] + rng.normal(scale=0.01, size=(100, 3))
    points = np.concatenate([points, near])
    distance, direction = np.empty(len(points)), np.empty((len(points), 3))
    signed_distances(tables, 1, points, distance, direction)
    exact = brute_force(solid.vertices, solid.triangles, points)
    np.testing.assert_allclose(distance, exact, atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(direction, axis=1), 1.0, atol=1e-12)
    # the direction is the gradient: a step back along it by the distance ends on the surface
    foot = points - distance[:, None] * direction
    signed_distances(tables, 1, foot, distance, direction)
    np.testing.assert_allclose(distance, 0.0, atol=1e-12)


def test_equal_meshes_share_their_tables() -> None:
    scene = Scene()
    for i in range(5):
        scene.add_mesh(*GLASS, position=(2.0 * i, 0.0, 0.0))
    scene.add_box((1.0, 1.0, 1.0), (0.0, 5.0, 0.0))
    scene.add_box((1.0, 1.0, 1.0), (0.0, 9.0, 0.0))
    scene.add_sphere(1.0, (0.0, 15.0, 0.0))
    model = compile_scene(scene)
    assert model.shape_mesh.tolist() == [0, 0, 0, 0, 0, 1, 1, -1]
    assert len(model.meshes.frames) == 2
    assert model.shape_hull.tolist() == [-1] * 8


def test_no_mesh_no_tables() -> None:
    tables, number = shape_meshes([Box((1.0, 1.0, 1.0))])
    assert len(tables.vertices) == 0
    assert number.tolist() == [-1]


@pytest.mark.parametrize("offset", [(1, 0, 0), (1, 1, 1), (0.5, 0.5, 0.5), (1, 1, 0), (0.31, 0.42, 0.53)])
def test_pieces_that_overlap_are_refused(offset: tuple[float, float, float]) -> None:
    """Also where edges meet edges and faces lie in one plane, so that no edge passes inside a triangle."""
    vertices, triangles = np.concatenate([CUBE, CUBE + offset]), np.concatenate([BOX_TRIANGLES, BOX_TRIANGLES + 8])
    with pytest.raises(InputError, match=r"(pieces overlap|intersects itself).* at \("):
        checked_mesh(vertices, triangles)


def test_a_solid_inside_a_solid_is_refused_and_a_cavity_is_not() -> None:
    vertices = np.concatenate([CUBE, 0.5 * CUBE])
    with pytest.raises(InputError, match="inside 1 other"):
        checked_mesh(vertices, np.concatenate([BOX_TRIANGLES, BOX_TRIANGLES + 8]))
    hollow = checked_mesh(vertices, np.concatenate([BOX_TRIANGLES, BOX_TRIANGLES[:, ::-1] + 8]))
    assert hollow.volume == pytest.approx(7.0)
    apart = checked_mesh(np.concatenate([CUBE, CUBE + (3, 0, 0)]), np.concatenate([BOX_TRIANGLES, BOX_TRIANGLES + 8]))
    assert apart.volume == pytest.approx(16.0)
