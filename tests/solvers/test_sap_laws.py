"""The regularised laws of the convex method: projections, their derivatives, and the exact line search on them."""

import numpy as np
import pytest
from scipy.optimize import minimize

from stickslip.contact.laws import BILATERAL, BOUNDED, CONTACT, ELASTIC, LIMIT
from stickslip.solvers.sap.laws import LONGEST, SapLaws, curvatures, held_curvatures, impulses, line_search, times

OTHERS = [BILATERAL, LIMIT, ELASTIC, BOUNDED]


def contact_law(mu: float, Rn: float, Rt: float) -> SapLaws:
    """One contact."""
    return SapLaws(
        np.array([0, 3], np.int32), np.array([CONTACT], np.int32), np.array([mu]), np.zeros(3), np.array([Rn, Rt, Rt])
    )


def all_laws(rng: np.random.Generator, contacts: int = 4) -> SapLaws:
    """Contacts, and blocks of one to six rows of every other law."""
    law = [CONTACT] * contacts + OTHERS * 2
    height = [3] * contacts + [int(rng.integers(1, 7)) for _ in OTHERS * 2]
    start = np.concatenate([[0], np.cumsum(height)]).astype(np.int32)
    R = 10.0 ** rng.uniform(-4, 1, size=start[-1])
    for c in range(contacts):
        R[3 * c + 2] = R[3 * c + 1]
    mu = rng.uniform(0.0, 2.0, size=len(law)) * (np.arange(len(law)) > 0)
    return SapLaws(start, np.array(law, np.int32), mu, rng.uniform(0.0, 2.0, size=start[-1]), R)


def gamma_of(laws: SapLaws, u: np.ndarray) -> tuple[float, np.ndarray]:
    """l(u) and gamma(u)."""
    gamma = np.full(len(u), np.nan)
    return float(impulses(laws, u, gamma)), gamma


def matrix_of(laws: SapLaws, u: np.ndarray) -> np.ndarray:
    """G (m, m) dense, by products with unit vectors."""
    G = np.full((len(u), 3), np.nan)
    curvatures(laws, u, G)
    columns = np.empty((len(u), len(u)))
    for k, e in enumerate(np.eye(len(u))):
        y = np.empty(len(u))
        times(laws, G, e, y)
        columns[:, k] = y
    return columns


def closest(y: np.ndarray, mu: float, R: np.ndarray) -> np.ndarray:
    """The point of the cone closest to y in the norm of R, by a general minimiser over (n >= 0, |t| <= mu n)."""
    side = y[1:] / max(np.linalg.norm(y[1:]), 1e-300)

    def distance(x: np.ndarray) -> float:
        g = np.array([x[0], x[1] * side[0], x[1] * side[1]])
        return float(0.5 * (g - y) @ (R * (g - y)))

    # rotation symmetry: the closest point is in the half-plane of y
    best = min(
        (
            minimize(
                distance, [start, 0.5 * mu * start], method="SLSQP", bounds=[(0, None), (0, None)],
                constraints={"type": "ineq", "fun": lambda x: mu * x[0] - x[1]},
                options={"ftol": 1e-15, "maxiter": 500},
            )
            for start in (0.0, 1.0)
        ),
        key=lambda found: found.fun,
    )  # fmt: skip
    return np.array([best.x[0], best.x[1] * side[0], best.x[1] * side[1]])


@pytest.mark.parametrize("seed", range(40))
def test_impulse_of_a_contact_is_the_closest_point_of_its_cone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mu = 0.0 if seed % 5 == 0 else float(rng.uniform(0.05, 2.0))
    R = np.array([1.0, *[10.0 ** rng.uniform(-1.5, 1.5)] * 2])
    y = rng.normal(size=3)
    found = gamma_of(contact_law(mu, R[0], R[1]), -R * y)[1]
    assert found == pytest.approx(closest(y, mu, R), abs=2e-5)  # what the minimiser reaches
    # exact: the angle between the way to y and the way to any other point of the cone is not acute
    t = rng.normal(size=(200, 2))
    n = rng.uniform(0.0, 3.0, size=200)
    t *= (mu * n * rng.uniform(size=200) / np.linalg.norm(t, axis=1))[:, None]
    others = np.column_stack([n, t])
    assert (((others - found) * R) @ (y - found)).max() <= 1e-12
    assert np.linalg.norm(found[1:]) <= mu * found[0] * (1 + 1e-12)


def test_all_regions_of_a_contact() -> None:
    laws = contact_law(0.5, 1.0, 2.0)  # mu^ = 1
    open_, sticking = gamma_of(laws, np.array([1.0, 1.0, 0.5])), gamma_of(laws, np.array([-2.0, 1.0, 0.0]))
    assert open_[1].tolist() == [0.0, 0.0, 0.0]
    assert sticking[1] == pytest.approx([2.0, -0.5, 0.0])
    assert sticking[0] == pytest.approx(0.5 * (1.0 * 2.0**2 + 2.0 * 0.5**2))
    sliding = gamma_of(laws, np.array([-1.0, -4.0, 0.0]))[1]  # y = (1, 2, 0)
    assert sliding == pytest.approx([2.0, 1.0, 0.0])  # (1 + 1 * 2) / (1 + 0.5), mu times that
    assert gamma_of(laws, np.zeros(3))[1].tolist() == [0.0, 0.0, 0.0]
    smooth = contact_law(0.0, 1.0, 2.0)
    assert gamma_of(smooth, np.array([-3.0, 5.0, 1.0]))[1].tolist() == [3.0, 0.0, 0.0]
    assert gamma_of(smooth, np.array([3.0, 5.0, 1.0]))[1].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("seed", range(12))
def test_impulses_are_minus_the_gradient_and_g_their_derivative(seed: int) -> None:
    """Central differences, where no kink is within a step."""
    rng = np.random.default_rng(seed)
    laws = all_laws(rng)
    kinds = set()
    for _ in range(10):
        u = rng.normal(size=len(laws.R)) * np.where(rng.random(len(laws.R)) < 0.3, 1e-3, 1.0)
        value, gamma = gamma_of(laws, u)
        assert value >= 0.0
        step = 1e-6
        gradient, G = np.empty(len(u)), np.empty((len(u), len(u)))
        for k, e in enumerate(np.eye(len(u))):
            (high, gamma_high), (low, gamma_low) = gamma_of(laws, u + step * e), gamma_of(laws, u - step * e)
            gradient[k], G[:, k] = (high - low) / (2 * step), -(gamma_high - gamma_low) / (2 * step)
        assert gradient == pytest.approx(-gamma, abs=1e-4 * (1.0 + np.abs(gamma).max()))
        found = matrix_of(laws, u)
        assert found == pytest.approx(found.T, abs=1e-12 * np.abs(found).max())
        assert np.linalg.eigvalsh(found).min() >= -1e-9 * np.abs(found).max()
        for c in range(len(laws.law)):
            rows = slice(laws.row_start[c], laws.row_start[c + 1])
            own, other = found[rows, rows], G[rows, rows]
            # where a kink lies between the two points, the difference is no derivative
            if np.abs(own - other).max() <= 1e-4 * (1.0 + np.abs(own).max()):
                slides = bool(laws.law[c] == CONTACT and own[0, 1:].any())
                kinds |= {(int(laws.law[c]), bool(follows), slides) for follows in np.diagonal(own)}
            else:
                apart = [matrix_of(laws, u + s * step * e)[rows, rows] for e in np.eye(len(u))[rows] for s in (-1, 1)]
                assert max(np.abs(a - own).max() for a in apart) > 1e-3 * np.abs(own).max()
    assert (CONTACT, True, True) in kinds  # sliding
    assert (CONTACT, True, False) in kinds  # sticking, or without friction
    assert {(BILATERAL, True, False), (LIMIT, False, False), (LIMIT, True, False), (BOUNDED, False, False)} <= kinds


def test_rows_of_other_laws() -> None:
    R, start = np.full(6, 0.5), np.array([0, 2, 4, 6], np.int32)
    bound = np.array([0.0, 0.0, 0.0, 0.0, 3.0, 3.0])
    laws = SapLaws(start, np.array([BILATERAL, LIMIT, BOUNDED], np.int32), np.zeros(3), bound, R)
    value, gamma = gamma_of(laws, np.array([1.0, -1.0, 1.0, -1.0, 1.0, -4.0]))
    assert gamma.tolist() == [-2.0, 2.0, 0.0, 2.0, -2.0, 3.0]
    # 1/2 R gamma^2 inside; beyond the bound a straight line with the slope of the bound
    assert value == pytest.approx(0.25 * (4 + 4 + 0 + 4 + 4) + (3.0 * 4.0 - 0.25 * 9.0))


@pytest.mark.parametrize("seed", range(10))
def test_impulses_alone_say_who_sticks(seed: int) -> None:
    """At impulses that belong to u nothing is left and G is that of u; next to them, what sticks still does."""
    rng = np.random.default_rng(seed)
    laws = all_laws(rng, contacts=10)
    u = rng.normal(size=len(laws.R))
    gamma = gamma_of(laws, u)[1]
    wanted, G = np.zeros((len(u), 3)), np.full((len(u), 3), np.nan)
    curvatures(laws, u, wanted)
    left = np.full(len(u), np.nan)
    held_curvatures(laws, gamma, u, G, left)
    single = np.repeat(laws.law, np.diff(laws.row_start)) != CONTACT
    G[single, 1:] = 0.0
    np.testing.assert_allclose(G, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())
    assert left == pytest.approx(np.zeros(len(u)), abs=1e-9 * np.abs(gamma).max())
    # velocities that are off by more than R gamma: the same rows follow
    moved = np.full((len(u), 3), np.nan)
    held_curvatures(laws, gamma, u + 10.0, moved, left)
    assert np.array_equal(moved[:, 0] > 0.0, G[:, 0] > 0.0)
    # impulses outside their cones: G is none the less positive semidefinite
    held_curvatures(laws, 3.0 * rng.normal(size=len(u)), u, moved, left)
    for c in np.flatnonzero(laws.law == CONTACT):
        block = moved[3 * c : 3 * c + 3]
        assert np.linalg.eigvalsh(block).min() >= -1e-12 * np.abs(block).max()


@pytest.mark.parametrize("seed", range(20))
def test_line_search_is_exact_in_every_island(seed: int) -> None:
    """f(t) = linear t + square t^2 / 2 + l(u + t du): its derivative vanishes at t, or t is the longest step."""
    rng = np.random.default_rng(seed)
    laws = all_laws(rng, contacts=6)
    count = len(laws.law)
    owner = rng.integers(3, size=count)
    blocks = np.argsort(owner, kind="stable").astype(np.int32)
    start = np.searchsorted(owner[blocks], np.arange(4)).astype(np.int32)
    u, du = rng.normal(size=len(laws.R)), rng.normal(size=len(laws.R))
    linear, square = rng.normal(size=3) - 1.0, rng.uniform(0.1, 3.0, size=3)
    t = np.full(3, np.nan)
    line_search(laws, start, blocks, u, du, linear, square, 1e-10, t)

    def slope(island: int, s: float) -> float:
        gamma = gamma_of(laws, u + s * du)[1]
        rows = np.isin(np.repeat(owner, np.diff(laws.row_start)), island)
        return float(linear[island] + s * square[island] - (gamma * du)[rows].sum())

    for k in range(3):
        first = slope(k, 0.0)
        if first >= 0.0:
            assert t[k] == 0.0
        elif t[k] == LONGEST:
            assert slope(k, LONGEST) <= 0.0
        else:
            assert 0.0 < t[k] < LONGEST
            assert abs(slope(k, t[k])) <= 1e-9 * abs(first)
