"""Mass properties: closed forms against quadrature, against each other, and moved and turned."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull, Delaunay

from stickslip import InputError, placed, shapes
from stickslip.geometry.mass import MassProperties, of_compound, of_shape
from stickslip.geometry.rotation import about_axis, matrix

length = st.floats(0.05, 5.0)
offset = st.tuples(*[st.floats(-3, 3)] * 3)
turns = st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1)


def box_points(size: tuple) -> np.ndarray:
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return 0.5 * signs * np.array(size)


def agree(found: MassProperties, expected: MassProperties, rel: float = 1e-11) -> None:
    """Equal to rounding, relative to the size of the body."""
    size = np.sqrt(np.trace(expected.inertia) / expected.mass)
    assert found.mass == pytest.approx(expected.mass, rel=rel)
    np.testing.assert_allclose(found.centre, expected.centre, atol=rel * (size + np.linalg.norm(expected.centre)))
    np.testing.assert_allclose(found.inertia, expected.inertia, atol=rel * np.trace(expected.inertia))


def of_revolution(radius_squared: Callable, breaks: list[float]) -> MassProperties:
    """Discs stacked along z by Gauss quadrature, exact where r^2 is a polynomial between the breaks."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    z = np.concatenate([0.5 * (b - a) * nodes + 0.5 * (a + b) for a, b in zip(breaks, breaks[1:])])
    w = np.concatenate([0.5 * (b - a) * weights for a, b in zip(breaks, breaks[1:])])
    area = np.pi * radius_squared(z)
    around = w @ (0.5 * area * radius_squared(z))
    across = 0.5 * around + w @ (area * z * z)
    return MassProperties(w @ area, np.zeros(3), np.diag([across, across, around]))


@given(length, length)
def test_round_shapes_against_quadrature(r: float, l: float) -> None:
    half = 0.5 * l
    agree(of_shape(shapes.Sphere(r)), of_revolution(lambda z: r * r - z * z, [-r, 0, r]))
    agree(of_shape(shapes.Cylinder(r, l)), of_revolution(lambda z: r * r + 0 * z, [-half, half]))
    breaks = [-half - r, -half, half, half + r]
    agree(
        of_shape(shapes.Capsule(r, l)),
        of_revolution(lambda z: r * r - np.maximum(np.abs(z) - half, 0) ** 2, breaks),
    )


def test_capsule_against_random_points() -> None:
    """Independent of every formula: points in the bounding box that are inside."""
    r, l, count = 0.3, 0.8, 400_000
    x = np.random.default_rng(3).uniform(-1, 1, (count, 3)) * [r, r, 0.5 * l + r]
    along = np.clip(x[:, 2], -0.5 * l, 0.5 * l)
    inside = x[x[:, 0] ** 2 + x[:, 1] ** 2 + (x[:, 2] - along) ** 2 <= r * r]
    cell = 8 * r * r * (0.5 * l + r) / count
    second = cell * inside.T @ inside
    own = of_shape(shapes.Capsule(r, l))
    # standard error of a mean of 400,000 is 0.1 %, four of them allowed
    assert cell * len(inside) == pytest.approx(own.mass, rel=4e-3)
    np.testing.assert_allclose(np.trace(second) * np.eye(3) - second, own.inertia, atol=6e-3 * np.trace(own.inertia))


@given(st.tuples(length, length, length))
def test_box_as_hull_is_the_box(size: tuple) -> None:
    agree(of_shape(shapes.Hull(box_points(size))), of_shape(shapes.Box(size)))


@given(length, length)
def test_capsule_is_a_cylinder_and_two_half_balls(r: float, l: float) -> None:
    """A half ball: centre 3/8 r from its flat side, inertia 83/320 m r^2 across and 2/5 m r^2 about its axis."""
    m = 2.0 / 3.0 * np.pi * r**3
    cylinder = of_shape(shapes.Cylinder(r, l))
    across = 83 / 320 * m * r * r + m * (0.5 * l + 0.375 * r) ** 2
    ends = 2 * np.diag([across, across, 0.4 * m * r * r])
    expected = MassProperties(cylinder.mass + 2 * m, np.zeros(3), cylinder.inertia + ends)
    agree(of_shape(shapes.Capsule(r, l)), expected)


@given(st.tuples(length, length, length), st.floats(0.1, 0.9), offset)
def test_box_cut_in_two_is_the_box(size: tuple, share: float, at: tuple) -> None:
    x, y, z = size
    parts = [
        placed(shapes.Box((share * x, y, z)), np.add(at, (-0.5 * (1 - share) * x, 0, 0))),
        placed(shapes.Box(((1 - share) * x, y, z)), np.add(at, (0.5 * share * x, 0, 0))),
    ]
    whole = of_shape(shapes.Box(size))
    agree(of_compound(parts), MassProperties(whole.mass, np.array(at), whole.inertia))


@given(st.tuples(length, length, length), offset, turns)
def test_moved_and_turned_compound(size: tuple, at: tuple, turn: tuple) -> None:
    """The centre goes along, the inertia turns; mass stays."""
    quaternion = np.array(turn) / np.linalg.norm(turn)
    R = matrix(quaternion)
    own = of_shape(shapes.Box(size))
    agree(
        of_compound([placed(shapes.Box(size), at, turn)]), MassProperties(own.mass, np.array(at), R @ own.inertia @ R.T)
    )


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(4, 30), offset, turns)
def test_hull_against_tetrahedra_moved_and_turned(seed: int, count: int, at: tuple, turn: tuple) -> None:
    """Reference: Delaunay tetrahedra, second moments by the four-point rule that is exact to degree two."""
    raw = np.random.default_rng(seed).normal(size=(count, 3))
    R = matrix(np.array(turn) / np.linalg.norm(turn))
    points = raw @ R.T + at
    corners = raw[Delaunay(raw).simplices]
    volume = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])) / 6.0
    a, b = (5 + 3 * np.sqrt(5)) / 20, (5 - np.sqrt(5)) / 20
    rule = np.full((4, 4), b) + (a - b) * np.eye(4)
    nodes = np.einsum("kj,tjx->tkx", rule, corners)
    mass = volume.sum()
    centre = np.einsum("t,tkx->x", volume, nodes) / 4 / mass
    arms = nodes - centre
    second = np.einsum("t,tkx,tky->xy", volume, arms, arms) / 4
    tensor = np.trace(second) * np.eye(3) - second
    # the Delaunay library may drop slivers of relative volume 1e-12; thin hulls lose digits
    thin = ConvexHull(raw).volume / np.ptp(raw, axis=0).max() ** 3
    agree(
        of_shape(shapes.Hull(points)), MassProperties(mass, R @ centre + at, R @ tensor @ R.T), rel=1e-11 / min(1, thin)
    )


def test_tetrahedron_by_hand() -> None:
    """Volume 1/6, centre 1/4, second moments about it 3/80 and -1/80 of the volume (times the edge squared)."""
    own = of_shape(shapes.Hull(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])))
    second = (np.eye(3) * 4 - 1) / 80 / 6
    agree(own, MassProperties(1 / 6, np.full(3, 0.25), np.trace(second) * np.eye(3) - second))


def test_dumbbell_by_parallel_axes() -> None:
    r, d = 0.1, 0.5
    m = 4 / 3 * np.pi * r**3
    found = of_compound([placed(shapes.Sphere(r), (-d, 0, 0)), placed(shapes.Sphere(r), (d, 0, 0))])
    along, across = 0.8 * m * r * r, 0.8 * m * r * r + 2 * m * d * d
    agree(found, MassProperties(2 * m, np.zeros(3), np.diag([along, across, across])))


def test_inertia_follows_the_rotation_of_a_part() -> None:
    """A rod along z turned onto x has its small moment about x."""
    rod = of_compound([placed(shapes.Cylinder(0.01, 1.0), rotation=about_axis((0, 1, 0), np.pi / 2))])
    moments = np.diag(rod.inertia) / rod.mass
    assert moments == pytest.approx([0.5e-4, 1 / 12 + 0.25e-4, 1 / 12 + 0.25e-4], rel=1e-12)


def test_half_space_has_no_mass() -> None:
    with pytest.raises(InputError, match="floor: a half-space has no finite mass"):
        of_shape(shapes.HalfSpace(), "floor")
