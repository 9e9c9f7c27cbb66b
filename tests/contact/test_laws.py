"""Projections onto friction sets: in the set, closest, idempotent, non-expansive; against brute force."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from stickslip.contact.laws import (
    BOX_SET,
    DISC,
    ELLIPSE,
    ELLIPSOID,
    project_cone,
    project_disc,
    project_ellipsoid,
    project_friction,
    project_scaled,
)

number = st.floats(-10, 10).filter(lambda x: x == 0.0 or abs(x) > 1e-100)  # squares must not underflow
axis = st.one_of(st.just(0.0), st.floats(1e-6, 10.0))
pressure = st.one_of(st.just(0.0), st.floats(1e-6, 5.0))
friction = st.one_of(st.just(0.0), st.floats(1e-3, 10.0))
point3 = st.tuples(number, number, number)
SETS = {"disc": DISC, "ellipse": ELLIPSE, "ellipsoid": ELLIPSOID, "box": BOX_SET}
TOLERANCE = 1e-12  # relative to the size of the numbers: some hundred roundings


def project(kind: int, x: tuple, lam_n: float, mu: tuple) -> np.ndarray:
    return np.array(project_friction(kind, *x, lam_n, *mu))


def semi_axes(kind: int, lam_n: float, mu: tuple) -> np.ndarray:
    a, b, c = mu
    return lam_n * np.array({DISC: (a, a, 0.0), ELLIPSE: (a, b, 0.0)}.get(kind, (a, b, c)))


def points_of_the_set(kind: int, axes: np.ndarray, count: int = 200) -> np.ndarray:
    """Random points (count, 3) of the set, half of them on its boundary, and its extreme points along the axes."""
    raw = np.random.default_rng(count).normal(size=(count, 3)) * (axes > 0)
    if kind == BOX_SET:
        inside = np.clip(raw, -1, 1)
    else:
        length = np.maximum(np.linalg.norm(raw, axis=1, keepdims=True), 1e-300)
        inside = raw / np.where(np.arange(count)[:, None] % 2, length, np.maximum(length, 1.0))
    return np.vstack([inside, np.eye(3), -np.eye(3)]) * axes


def excess(kind: int, p: np.ndarray, axes: np.ndarray) -> float:
    """How far p sticks out of the set, relative to its axes; directions of zero axes must be exactly zero."""
    assert (p[axes == 0.0] == 0.0).all()
    share = np.divide(p, axes, out=np.zeros(3), where=axes > 0)
    return float(np.abs(share).max() if kind == BOX_SET else np.linalg.norm(share)) - 1.0


@pytest.mark.parametrize("kind", SETS.values(), ids=SETS)
@settings(deadline=None)
@given(x=point3, lam_n=pressure, mu=st.tuples(axis, axis, axis))
@example(x=(0.0, 0.0, 0.0), lam_n=0.0, mu=(0.0, 0.0, 0.0))
@example(x=(3.0, -1.0, 2.0), lam_n=0.0, mu=(1.0, 2.0, 3.0))
def test_projection_gives_the_closest_point_of_the_set(kind: int, x: tuple, lam_n: float, mu: tuple) -> None:
    axes = semi_axes(kind, lam_n, mu)
    p = project(kind, x, lam_n, mu)
    assert excess(kind, p, axes) <= TOLERANCE
    # closest: no point of the set lies ahead of p in the direction of x (variational inequality)
    ahead = (points_of_the_set(kind, axes) - p) @ (np.array(x) - p)
    assert ahead.max() <= TOLERANCE * (1.0 + np.linalg.norm(x)) * (1.0 + axes.max())
    # and a projection: points of the set stay, to rounding
    assert (np.abs(project(kind, tuple(p), lam_n, mu) - p) <= 1e-13 * axes.max()).all()


@pytest.mark.parametrize("kind", SETS.values(), ids=SETS)
@settings(deadline=None)
@given(x=point3, y=point3, lam_n=pressure, mu=st.tuples(axis, axis, axis))
def test_projection_brings_points_no_further_apart(kind: int, x: tuple, y: tuple, lam_n: float, mu: tuple) -> None:
    p, q = project(kind, x, lam_n, mu), project(kind, y, lam_n, mu)
    assert np.linalg.norm(p - q) <= np.linalg.norm(np.subtract(x, y)) + 1e-11


def support(kind: int, axes: np.ndarray, direction: np.ndarray) -> float:
    """Largest direction . p over the set: what friction can dissipate against the slip -direction."""
    reach = np.abs(axes * direction)
    return float(reach.sum() if kind == BOX_SET else np.linalg.norm(reach))


def minimised(kind: int, x: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Closest point by a general minimiser, in coordinates relative to the axes: it sees a unit ball or cube."""
    kept = axes > 0
    ball = {"type": "ineq", "fun": lambda s: 1 - s @ s, "jac": lambda s: -2 * s}
    best = minimize(
        lambda s: ((s * axes[kept] - x[kept]) ** 2).sum(),
        np.full(kept.sum(), 0.1),
        jac=lambda s: 2 * axes[kept] * (s * axes[kept] - x[kept]),
        bounds=[(-1, 1)] * kept.sum() if kind == BOX_SET else None,
        constraints=() if kind == BOX_SET else ball,
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    p = np.zeros(3)
    p[kept] = best.x * axes[kept]
    return p


@pytest.mark.parametrize("kind", SETS.values(), ids=SETS)
@pytest.mark.parametrize("mu", [(0.5, 0.75, 0.25), (0.75, 0.75, 0.01)])
def test_projection_agrees_with_a_general_minimiser(kind: int, mu: tuple) -> None:
    axes = semi_axes(kind, 2.0, mu)
    for x in np.random.default_rng(8).normal(size=(5, 3)) * 3:
        p = project(kind, tuple(x), 2.0, mu)
        np.testing.assert_allclose(p, minimised(kind, x, axes), atol=1e-6)  # a minimum is flat: half of its digits
        assert np.linalg.norm(p - x) <= np.linalg.norm(points_of_the_set(kind, axes, 5000) - x, axis=1).min() + 1e-15


@pytest.mark.parametrize("kind", SETS.values(), ids=SETS)
@pytest.mark.parametrize("length", [1.0, 0.013, 30.0])
def test_fixed_point_maximises_dissipation(kind: int, length: float) -> None:
    """lam = P(lam - r u) with r3 = length^2 r1 in the metric of ``length``: -u . lam is all that the set allows."""
    lam_n, mu, rng = 2.0, (0.5, 0.75, 0.01), np.random.default_rng(9)
    axes = semi_axes(kind, lam_n, mu)
    for _ in range(5):
        u = rng.normal(size=3) / np.array([1, 1, length])  # comparable speeds at that radius
        r = np.array([1.0, 1.0, length**2])
        lam = np.zeros(3)
        for _ in range(3000):
            lam = np.array(project_scaled(kind, *(lam - r * u), length, lam_n, *mu))
        assert excess(kind, lam, axes) <= TOLERANCE
        assert -u @ lam >= support(kind, axes, u) * (1 - 1e-9)


def test_unequal_factors_need_their_metric() -> None:
    """The same factors with the plain projection come to rest elsewhere, and dissipate less."""
    lam_n, mu, length = 2.0, (0.5, 0.75, 0.01), 0.013
    u, r = np.array([1.0, -0.5, 40.0]), np.array([1.0, 1.0, length**2])
    lam = np.zeros(3)
    for _ in range(3000):
        lam = project(ELLIPSOID, tuple(lam - r * u), lam_n, mu)
    assert -u @ lam < 0.9 * support(ELLIPSOID, semi_axes(ELLIPSOID, lam_n, mu), u)


@pytest.mark.parametrize("kind", SETS.values(), ids=SETS)
@settings(deadline=None)
@given(x=point3, lam_n=pressure, mu=st.tuples(axis, axis, axis), length=st.floats(0.01, 100.0))
@example(x=(3.0, -1.0, 2.0), lam_n=2.0, mu=(0.5, 0.75, 0.01), length=1.0)
def test_scaled_projection_is_closest_in_its_metric(
    kind: int, x: tuple, lam_n: float, mu: tuple, length: float
) -> None:
    axes, metric = semi_axes(kind, lam_n, mu), np.array([1.0, 1.0, 1.0 / length])
    p = np.array(project_scaled(kind, *x, length, lam_n, *mu))
    assert excess(kind, p, axes) <= TOLERANCE
    ahead = ((points_of_the_set(kind, axes) - p) * metric) @ ((x - p) * metric)
    size = (1.0 + np.linalg.norm(x * metric)) * (1.0 + (axes * metric).max())
    assert ahead.max() <= TOLERANCE * size
    if length == 1.0:
        assert tuple(p) == tuple(project(kind, x, lam_n, mu))


@pytest.mark.parametrize("kind", SETS.values(), ids=SETS)
def test_points_inside_stay_bit_for_bit(kind: int) -> None:
    mu = (0.5, 0.75, 0.25)
    inside = (0.5, -0.5, 0.0 if kind in (DISC, ELLIPSE) else 0.125)  # lam_n 2: axes 1, 1.5, 0.5
    assert tuple(project(kind, inside, 2.0, mu)) == inside


@pytest.mark.parametrize(
    "axes",
    [
        (1.0, 0.3, 0.6),
        (1.0, 1.0, 1.0),
        (1.0, 1.0, 1e-6),  # flat
        (1.0, 1e-6, 1e-6),  # needle
        (1e-3, 1e-9, 1.0),
        (1.0, 0.5, 0.0),  # no friction in a direction
        (0.0, 0.0, 2.0),
        (0.0, 0.0, 0.0),
        (1e-12, 2e-12, 1e-12),
        (1e8, 1e7, 1.0),
    ],
)
def test_ellipsoid_against_brute_force(axes: tuple) -> None:
    """No point of a fine grid on the surface is closer, and the closest of the grid is as near as its spacing."""
    polar, around = np.meshgrid(np.linspace(0, np.pi, 61), np.linspace(0, 2 * np.pi, 121))
    sphere = np.stack([np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)], axis=-1)
    surface = sphere.reshape(-1, 3) * np.array(axes)
    big = max(*axes, 1e-300)
    rng = np.random.default_rng(11)
    for far in (1.001, 1.5, 10.0, 1e4):
        for direction in [*rng.normal(size=(20, 3)), *np.eye(3), [1, 1, 0], [0, -1, 1], [1e-9, 1.0, 1.0]]:
            x = far * np.array(direction) / np.linalg.norm(direction) * big
            p = np.array(project_ellipsoid(*x, *axes))
            share = np.divide(p, axes, out=np.zeros(3), where=np.array(axes) > 0)
            outside = np.linalg.norm(np.divide(x, axes, out=np.zeros(3), where=np.array(axes) > 0)) > 1
            assert (p[np.array(axes) == 0] == 0).all()
            assert np.linalg.norm(share) <= 1 + 1e-12
            if outside:
                assert np.linalg.norm(share) == pytest.approx(1.0, abs=1e-12)  # on the surface
                nearest = np.linalg.norm(surface - x, axis=1).min()
                distance = np.linalg.norm(p - x)
                assert distance <= nearest * (1 + 1e-14) + 1e-12 * big
                assert distance >= nearest - 0.06 * big  # the grid's spacing is pi / 60


def test_ellipsoid_satisfies_the_normal_equation() -> None:
    """x - p is along the outward normal (p_i / a_i^2): precise where brute force is not."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        axes = 10.0 ** rng.uniform(-4, 1, 3)
        x = rng.normal(size=3) * axes.max() * 10.0 ** rng.uniform(-1, 3)
        if np.linalg.norm(x / axes) <= 1:
            continue
        p = np.array(project_ellipsoid(*x, *axes))
        normal = p / axes**2
        # the angle between the two; p is right to rounding
        gap = (x - p) / np.linalg.norm(x - p) - normal / np.linalg.norm(normal)
        assert np.linalg.norm(gap) < 1e-9


@settings(deadline=None)
@given(number, number, axis)
def test_disc_is_the_round_ellipsoid(x: float, y: float, radius: float) -> None:
    np.testing.assert_allclose(
        project_disc(x, y, radius), project_ellipsoid(x, y, 0.0, radius, radius, 0.0)[:2], atol=1e-14 * 10
    )


@settings(deadline=None)
@given(point3, friction, st.integers(0, 1000))
@example((-1.0, 0.0, 0.0), 0.0, 0)  # 0 <= -0.0: a pulling impulse without tangential part is outside a flat cone
@example((-1.0, 0.0, 0.0), 0.5, 0)
@example((0.0, 0.0, 0.0), 0.5, 0)
@example((1.0, 3.0, 0.0), 0.0, 0)
def test_cone_projection_is_closest(x: tuple, mu: float, seed: int) -> None:
    p = np.array(project_cone(*x, mu))
    size = 1.0 + np.linalg.norm(x)
    assert p[0] >= 0.0
    assert np.hypot(p[1], p[2]) <= mu * p[0] + TOLERANCE * size
    rng = np.random.default_rng(seed)
    n = rng.uniform(0, 20, 50)
    angle, reach = rng.uniform(0, 2 * np.pi, 50), mu * n * np.sqrt(rng.uniform(0, 1, 50))
    others = np.vstack([np.zeros(3), np.column_stack([n, reach * np.cos(angle), reach * np.sin(angle)])])
    assert ((others - p) @ (x - p)).max() <= 1e2 * TOLERANCE * size * (1.0 + mu)
    np.testing.assert_allclose(project_cone(*p, mu), p, rtol=1e-12, atol=TOLERANCE * size)


@settings(deadline=None)
@given(point3, st.floats(1e-3, 1e3))
def test_cone_by_moreaus_decomposition(x: tuple, mu: float) -> None:
    """x = P_K(x) + P_K*(-x) * (-1), the two orthogonal; the dual of the cone of mu is that of 1 / mu."""
    p = np.array(project_cone(*x, mu))
    polar = -np.array(project_cone(*(-c for c in x), 1.0 / mu))
    np.testing.assert_allclose(p + polar, x, atol=TOLERANCE * (1.0 + np.linalg.norm(x)))
    assert abs(p @ polar) <= TOLERANCE * (1.0 + np.linalg.norm(x)) ** 2


@settings(deadline=None)
@given(point3, point3, friction)
def test_cone_projection_brings_points_no_further_apart(x: tuple, y: tuple, mu: float) -> None:
    gap = np.subtract(project_cone(*x, mu), project_cone(*y, mu))
    assert np.linalg.norm(gap) <= np.linalg.norm(np.subtract(x, y)) + 1e-12
