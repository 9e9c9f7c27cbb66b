"""Closest points of ellipsoids: a million cases against extended precision, hard ones against sixty digits."""

import json
import math
import os
import subprocess
import sys
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stickslip import jit
from stickslip.contact.ellipsoid import project_ellipsoid, project_ellipsoid_bisection

METHODS = {"default": project_ellipsoid, "bisection": project_ellipsoid_bisection}
COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
CASES = 1_000_000 if COMPILED else 1_000
EPS = np.finfo(float).eps
BAR = 1e-12
wide = pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="long double is no wider than double here")


# Cases

SHAPES = ("typical", "flat", "needle", "any", "spheroid", "ball", "no torsion", "segment")
PLACES = ("near", "grazing", "beside", "far", "axis", "plane", "centre", "boundary", "inside", "scattered")


def semi_axes(shape: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Semi-axes (n, 3), the largest about 1, ratios up to 1e8, in random order."""
    thin, thinner, mild = 10 ** rng.uniform(-8, -2, n), 10 ** rng.uniform(-8, -2, n), rng.uniform(0.1, 1, n)
    one, zero = np.ones(n), np.zeros(n)
    axes = {
        "typical": (one, one, 0.013 * one),
        "flat": (one, mild, thin),
        "needle": (one, thinner, thin),
        "any": tuple(10 ** rng.uniform(-8, 0, (3, n))),
        "spheroid": (mild, mild, 10 ** rng.uniform(-8, 8, n)),
        "ball": (mild, mild, mild),
        "no torsion": (one, mild, zero),
        "segment": (mild, zero, zero),
    }[shape]
    return rng.permuted(np.column_stack(axes), axis=1)


def points(place: str, axes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Points (n, 3) at a kind of place relative to the ellipsoids."""
    n = len(axes)
    direction = rng.normal(size=(n, 3))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    surface, size = direction * axes, axes.max(axis=1)[:, None]
    if place == "near":  # relative distances from 1e-14
        return surface * (1 + 10 ** rng.uniform(-14, 0, (n, 1)))
    if place == "grazing":
        return surface * (1 + 1e-14)
    if place == "beside":  # the rim of flat ones included: displaced by little of the largest semi-axis
        return surface + rng.normal(size=(n, 3)) * size * 10 ** rng.uniform(-16, 0, (n, 1))
    if place == "far":
        return direction * size * 10 ** rng.uniform(0, 8, (n, 1))
    if place == "axis":
        return direction * (np.arange(3) == rng.integers(0, 3, (n, 1))) * size * 10 ** rng.uniform(-9, 3, (n, 1))
    if place == "plane":
        return direction * (np.arange(3) != rng.integers(0, 3, (n, 1))) * size * 10 ** rng.uniform(-9, 3, (n, 1))
    if place == "inside":
        return surface * rng.uniform(0, 1, (n, 1))
    if place == "scattered":  # every coordinate of its own magnitude
        return rng.choice([-1.0, 1.0], (n, 3)) * size * 10 ** rng.uniform(-18, 2, (n, 3))
    return surface if place == "boundary" else np.zeros((n, 3))


def cases(total: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and semi-axes (total, 3) of all shapes and places; a third of them of sizes 1e-150 to 1e150."""
    rng = np.random.default_rng(seed)
    kinds = [(shape, place) for shape in SHAPES for place in PLACES]
    z, a = np.empty((2, total, 3))
    for (shape, place), part in zip(kinds, np.array_split(np.arange(total), len(kinds))):
        a[part] = semi_axes(shape, len(part), rng)
        z[part] = points(place, a[part], rng)
    scale = np.where(rng.random(total) < 1 / 3, 10 ** rng.uniform(-150, 150, total), 1.0)[:, None]
    return scale * z, scale * a


def many(method: str, z: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Projections (n, 3) in one compiled loop, not cached: the cache's digest follows modules of the package only."""
    project = METHODS[method]

    def loop(z, a, p_out):
        for i in range(len(z)):
            p_out[i, 0], p_out[i, 1], p_out[i, 2] = project(z[i, 0], z[i, 1], z[i, 2], a[i, 0], a[i, 1], a[i, 2])

    p = np.empty_like(z)
    jit.numba.njit(error_model="numpy")(loop)(z, a, p)
    return p


# References

EXTENDED = np.longdouble


def share(p: np.ndarray, a: np.ndarray) -> np.ndarray:
    """p_i / a_i in extended precision; zero along zero semi-axes."""
    return np.divide(p.astype(EXTENDED), a, out=np.zeros(p.shape, EXTENDED), where=a > 0)


def extended_reference(z: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Closest points in extended precision, unscaled: Newton's method for 1 / sqrt(g + 1) from a lower bound."""
    z, a = np.where(a > 0, z, 0.0).astype(EXTENDED), a.astype(EXTENDED)
    p = z.copy()
    left = np.flatnonzero((share(z, a) ** 2).sum(axis=1) > 1)
    t = np.maximum((a[left] * (abs(z[left]) - a[left])).max(axis=1), 0)
    for _ in range(100):
        aa = np.where(a[left] > 0, a[left] ** 2, 1)
        rate = 1 / (aa + t[:, None])
        h = (a[left] * z[left] * rate) ** 2
        m0, m1 = h.sum(axis=1), (h * rate).sum(axis=1)
        step = m0 * (np.sqrt(m0) - 1) / m1
        t = np.maximum(t + step, 0)
        done = (abs(np.sqrt(m0) - 1) < 1e-18) | (abs(step) <= 1e-18 * (aa.min(axis=1) + t))
        p[left] = aa * z[left] / (aa + t[:, None])
        left, t = left[~done], t[~done]
        if not len(left):
            return p
    # what is left moves in the last bit of g + 1 only
    assert abs((share(p[left], a[left]) ** 2).sum(axis=1) - 1).max() < 1e-17
    return p


def decimal_reference(z: list[float], a: list[float], digits: int = 60) -> list[float]:
    """Closest point by bisection on the paper's g with many digits."""
    with localcontext() as context:
        context.prec = digits
        kept = [i for i in range(3) if a[i] > 0]
        Z, A = [Decimal(z[i]) for i in kept], [Decimal(a[i]) for i in kept]

        def g(t: Decimal) -> Decimal:
            return sum(((s * x / (s * s + t)) ** 2 for s, x in zip(A, Z)), Decimal(-1))

        p = [0.0, 0.0, 0.0]
        low, high = Decimal(0), max(A) * sum(abs(x) for x in Z)
        if sum(((x / s) ** 2 for s, x in zip(A, Z)), Decimal(-1)) <= 0:
            high = low
        while high - low > Decimal("1e-25") * (min(A) ** 2 + low):
            t = (low + high) / 2
            low, high = (t, high) if g(t) > 0 else (low, t)
        for i, s, x in zip(kept, A, Z):
            p[i] = float(s * s * x / (s * s + low))
        return p


def position_error(p: np.ndarray, reference: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Distance from the reference relative to the largest semi-axis: stricter than to |z|, which may be 1e8 larger."""
    size = a.max(axis=1)
    return np.sqrt((((p - reference) / size[:, None]) ** 2).sum(axis=1)).astype(float)


def normal_error(z: np.ndarray, p: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Sine of the angle between z - p and the outward normal K p, less what rounding of p itself makes of it.

    p is a rounded number: a unit in its last place turns z - p by eps |p| / |z - p|, all of it where z is close to
    the surface. Four such units are taken off. The normal is scale-free: K p relative to its largest component.
    """
    size = a.max(axis=1)[:, None]
    offset = np.where(a > 0, z.astype(EXTENDED) - p, 0) / size
    normal = np.divide(share(p, a), a / size, out=np.zeros(p.shape, EXTENDED), where=a > 0)
    normal /= np.sqrt((normal**2).sum(axis=1))[:, None]
    along = (offset * normal).sum(axis=1)
    assert (along >= -4 * EPS).all()  # outward
    across = np.sqrt(((offset - along[:, None] * normal) ** 2).sum(axis=1))
    reach = np.sqrt((offset**2).sum(axis=1))
    rounding = 4 * EPS * np.sqrt(((p / size) ** 2).sum(axis=1))
    return np.divide(np.maximum(across - rounding, 0), reach, out=np.zeros(len(p), EXTENDED), where=reach > 0)


# A million cases


@wide
def test_a_million_cases_to_1e_12() -> None:
    z, a = cases(CASES, seed=4)
    level = (share(z, a) ** 2).sum(axis=1)
    outside, clear = level > 1, level < 1 - 1e-14
    assert 0.4 < outside.mean() < 0.6
    reference = extended_reference(z, a)
    found = {method: many(method, z, a) for method in METHODS}
    for method, p in found.items():
        assert position_error(p, reference, a).max() <= BAR, method
        assert (p[a == 0] == 0).all(), method
        assert (p[clear] == np.where(a[clear] > 0, z[clear], 0.0)).all(), method  # inside: the very point
        g = (share(p, a) ** 2).sum(axis=1) - 1
        assert g.max() <= BAR, method
        assert g[outside].min() >= -BAR, method  # on the surface
        assert normal_error(z[outside], p[outside], a[outside]).max() <= BAR, method
    assert position_error(found["default"], found["bisection"], a).max() <= BAR


@pytest.mark.parametrize("method", METHODS)
def test_against_sixty_digits(method: str) -> None:
    z, a = cases(400, seed=7)
    for point, axes in zip(z.tolist(), a.tolist()):
        p = np.array(METHODS[method](*point, *axes))
        assert abs(p - decimal_reference(point, axes)).max() <= 1e-14 * max(axes)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("thin", [1e-2, 1e-4, 1e-6, 1e-8])
def test_rim_of_a_flat_ellipsoid(method: str, thin: float) -> None:
    """Where g has its kink: t about as large as the square of the thin semi-axis, the slowest and least accurate."""
    for u in (1 - 1e-9, 1 - 1e-15, 1.0, 1 + 1e-15, 1 + thin**2, 1 + 1e-9):
        for w in (thin**3, thin**2, 0.5 * thin, thin, 1.001 * thin, 2 * thin, 100 * thin):
            point, axes = (0.6 * u, 0.8 * u, w), (1.0, 1.0, thin)
            for order in ((0, 1, 2), (2, 0, 1)):
                z, a = [point[i] for i in order], [axes[i] for i in order]
                p = np.array(METHODS[method](*z, *a))
                assert abs(p - decimal_reference(z, a)).max() <= 1e-15


# Places where formulas break


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("z", "a", "p"),
    [
        ((3.0, 0.0, 0.0), (2.0, 1.0, 0.5), (2.0, 0.0, 0.0)),  # on the axes, beyond and within
        ((0.0, 0.0, -3.0), (2.0, 1.0, 0.5), (0.0, 0.0, -0.5)),
        ((0.0, 0.25, 0.0), (2.0, 1.0, 0.5), (0.0, 0.25, 0.0)),
        ((0.0, 0.0, 0.0), (2.0, 1.0, 0.5), (0.0, 0.0, 0.0)),
        ((0.0, 0.0, 1e-3), (1.0, 1.0, 1e-8), (0.0, 0.0, 1e-8)),  # above the middle of a flat one
        ((3.0, 0.0, 4.0), (1.0, 1.0, 1.0), (0.6, 0.0, 0.8)),  # a ball
        ((3.0, 4.0, 7.0), (1.0, 1.0, 0.0), (0.6, 0.8, 0.0)),  # a disc
        ((3.0, 4.0, 7.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        ((3.0, -4.0, 7.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0)),  # a segment
        ((3.0, -0.4, 7.0), (0.0, 1.0, 0.0), (0.0, -0.4, 0.0)),
        ((1e300, 0.0, 0.0), (1.0, 2.0, 3.0), (1.0, 0.0, 0.0)),  # beyond the range of squares
        ((1e150, 0.0, 1e150), (1e-150, 1e-150, 1e-150), (1e-150 / math.sqrt(2), 0.0, 1e-150 / math.sqrt(2))),
        ((1.0, 1.0, 0.5), (1e-305, 1e-306, 1e-307), (0.0, 0.0, 0.0)),
        ((0.0, 2.0, 1.0), (1.0, 1.0, 1e-200), (0.0, 1.0, 0.0)),
    ],
)
def test_places_where_formulas_break(method: str, z: tuple, a: tuple, p: tuple) -> None:
    np.testing.assert_allclose(METHODS[method](*z, *a), p, rtol=1e-15, atol=0)


@pytest.mark.parametrize("method", METHODS)
def test_not_a_number_is_not_hidden(method: str) -> None:
    assert math.isnan(METHODS[method](math.nan, 1.0, 2.0, 1.0, 0.5, 0.2)[0])
    assert math.isnan(METHODS[method](1.0, math.nan, 0.0, 1.0, 0.5, 0.0)[1])


# Properties of a projection

coordinate = st.floats(-10, 10).map(lambda x: x if abs(x) > 1e-30 else 0.0)
point3 = st.tuples(coordinate, coordinate, coordinate)
axis = st.one_of(st.just(0.0), st.just(1.0), st.floats(-8, 1).map(lambda e: 10.0**e))
axes3 = st.tuples(axis, axis, axis)
rim = example(z=(0.6, 0.8, 1e-8), a=(1.0, 1.0, 1e-8))


@pytest.mark.parametrize("method", METHODS)
@settings(deadline=None)
@given(z=point3, a=axes3)
@rim
def test_idempotent(method: str, z: tuple, a: tuple) -> None:
    p = METHODS[method](*z, *a)
    assert np.abs(np.subtract(METHODS[method](*p, *a), p)).max() <= 1e-14 * max(a)


@pytest.mark.parametrize("method", METHODS)
@settings(deadline=None)
@given(z=point3, other=point3, a=axes3)
def test_brings_points_no_further_apart(method: str, z: tuple, other: tuple, a: tuple) -> None:
    gap = np.subtract(METHODS[method](*z, *a), METHODS[method](*other, *a))
    assert np.linalg.norm(gap) <= np.linalg.norm(np.subtract(z, other)) + 1e-14 * max(a)


@pytest.mark.parametrize("method", METHODS)
@settings(deadline=None)
@given(z=point3, a=axes3, power=st.integers(-400, 400))
@example(z=(0.6, 0.8, 1e-8), a=(1.0, 1.0, 1e-8), power=-300)
def test_powers_of_two_scale_exactly(method: str, z: tuple, a: tuple, power: int) -> None:
    s = 2.0**power
    scaled = METHODS[method](*(s * x for x in z), *(s * x for x in a))
    assert scaled == tuple(s * x for x in METHODS[method](*z, *a))


@pytest.mark.parametrize("method", METHODS)
@settings(deadline=None)
@given(z=point3, a=axes3, signs=st.tuples(*[st.sampled_from([-1.0, 1.0])] * 3), order=st.permutations(range(3)))
@example(z=(0.6, 0.8, 1e-8), a=(1.0, 1.0, 1e-8), signs=(1.0, -1.0, -1.0), order=[2, 0, 1])
def test_symmetric_under_mirrors_and_names_of_axes(
    method: str, z: tuple, a: tuple, signs: tuple, order: list[int]
) -> None:
    p = METHODS[method](*z, *a)
    assert METHODS[method](*np.multiply(signs, z), *a) == tuple(np.multiply(signs, p))
    renamed = METHODS[method](*(z[i] for i in order), *(a[i] for i in order))
    np.testing.assert_allclose(renamed, [p[i] for i in order], rtol=0, atol=1e-14 * max(a))


WITHOUT_COMPILER = """
import json
from stickslip.contact.ellipsoid import project_ellipsoid, project_ellipsoid_bisection
z = [(3.0, -1.0, 2.0), (0.5, 0.0, 1e-3), (0.0, 0.0, 0.0), (1e8, 1.0, -1e4), (2.0, 1.0, 5.0)]
a = [(1.0, 0.5, 0.013), (1.0, 1.0, 1e-8), (1.0, 2.0, 3.0), (1.0, 1e-8, 1e-4), (1.0, 0.5, 0.0)]
print(json.dumps([[f(*x, *s) for x, s in zip(z, a)] for f in (project_ellipsoid, project_ellipsoid_bisection)]))
"""


def test_without_the_compiler_the_same() -> None:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    plain, compiled = (
        json.loads(subprocess.check_output([sys.executable, "-c", WITHOUT_COMPILER], env=clean | extra, text=True))
        for extra in ({"NUMBA_DISABLE_JIT": "1"}, {})
    )
    np.testing.assert_allclose(plain, compiled, rtol=1e-14, atol=0)
    np.testing.assert_allclose(plain[0], plain[1], rtol=1e-13, atol=0)
