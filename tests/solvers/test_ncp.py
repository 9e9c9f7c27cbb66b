"""The NCP functions: roots, derivatives, the fixed point of friction, units, and numbers where terms cancel."""

from itertools import product
from math import hypot, isfinite, sqrt

import numpy as np
import pytest

from stickslip.solvers.newton.ncp import FISCHER_BURMEISTER, MINIMUM_MAP, friction_compliance, ncp_value, normal_terms

BOTH = [MINIMUM_MAP, FISCHER_BURMEISTER]


@pytest.mark.parametrize("function", BOTH)
def test_roots_are_complementary_pairs(function: int) -> None:
    for a, b in [(0.0, 0.0), (0.0, 3.0), (2.0, 0.0), (1e-200, 0.0), (0.0, 1e200)]:
        assert ncp_value(function, a, b) == 0.0
    for a, b in product([-2.0, -1e-9, 0.5, 4.0], repeat=2):
        value = ncp_value(function, a, b)
        assert value > 0.0 if a > 0.0 and b > 0.0 else value < 0.0


@pytest.mark.parametrize("function", BOTH)
def test_derivatives_of_the_normal_agree_with_differences(function: int) -> None:
    rng = np.random.default_rng(1)
    for C, lam, r in zip(rng.normal(size=50), rng.normal(size=50), rng.uniform(0.01, 3.0, 50), strict=True):
        _, by_gap, by_force = normal_terms(function, C, r, lam)
        d = 1e-6
        gap = (normal_terms(function, C + d, r, lam)[0] - normal_terms(function, C - d, r, lam)[0]) / (2 * d)
        force = (normal_terms(function, C, r, lam + d)[0] - normal_terms(function, C, r, lam - d)[0]) / (2 * d)
        assert by_gap == pytest.approx(gap, abs=1e-7)
        assert by_force == pytest.approx(force, abs=1e-7)


def test_values_at_the_kink() -> None:
    assert normal_terms(FISCHER_BURMEISTER, 0.0, 0.5, 0.0) == (0.0, 0.0, 0.5)  # eq. 26, 27
    assert normal_terms(MINIMUM_MAP, 0.0, 0.5, 0.0) == (0.0, 1.0, 0.0)  # C <= r lam: the contact is active


@pytest.mark.parametrize("function", BOTH)
def test_stick_and_slip_are_fixed_points(function: int) -> None:
    """Eq. 33 and 34 leave them as they are, so that W |lam_f| = s holds there, and nowhere else."""
    mu, lam_n = 0.5, 10.0
    for r in (0.01, 1.0, 30.0):
        for lam_f in (0.0, 1.0, 4.999, 5.0):  # stick
            assert friction_compliance(function, 0.0, lam_n, lam_f, mu, r) == 0.0
        for slip in (1e-9, 0.5, 1.0, 200.0):
            assert friction_compliance(function, slip, lam_n, 5.0, mu, r) * 5.0 == pytest.approx(slip, rel=1e-14)
        for slip, lam_f in product((1e-6, 0.5, 20.0), (0.0, 1.0, 4.9)):  # sliding within the cone: W too small
            assert friction_compliance(function, slip, lam_n, lam_f, mu, r) * lam_f < slip
        for slip, lam_f in product((0.0, 1e-6, 0.5, 20.0), (5.1, 9.9, 10.0, 10.6, 1e3)):  # outside of it: too large
            assert friction_compliance(function, slip, lam_n, lam_f, mu, r) * lam_f > slip


@pytest.mark.parametrize("function", BOTH)
def test_compliance_is_the_ratio_of_the_fixed_point(function: int) -> None:
    rng = np.random.default_rng(2)
    for slip, lam_f, r in zip(rng.uniform(0, 2, 50), rng.uniform(0, 6, 50), rng.uniform(0.1, 2, 50), strict=True):
        psi = ncp_value(function, slip, r * (0.5 * 10.0 - lam_f))  # eq. 32
        W = friction_compliance(function, slip, 10.0, lam_f, 0.5, r)
        np.testing.assert_allclose(W, (slip - psi) / (lam_f + psi / r), rtol=1e-12, atol=1e-15)


def test_printed_equation_104_is_no_fixed_point() -> None:
    """With |D^T q'|^2 in the denominator, as printed, sliding at 0.5 m/s is left at once; with |D^T q'| it stays."""

    def printed(slip: float, lam_n: float, lam_f: float, mu: float, r: float, power: int) -> float:
        g = r * (mu * lam_n - lam_f)
        root = sqrt(slip**2 + g**2)
        return r * (root - g) / (slip**power + r * mu * lam_n - root)

    assert printed(0.5, 10.0, 5.0, 0.5, 1.0, 2) * 5.0 == pytest.approx(0.5 / 0.95)
    assert printed(0.5, 10.0, 5.0, 0.5, 1.0, 1) * 5.0 == pytest.approx(0.5)
    ours = friction_compliance(FISCHER_BURMEISTER, 0.3, 10.0, 4.0, 0.5, 0.2)
    assert ours == pytest.approx(printed(0.3, 10.0, 4.0, 0.5, 0.2, 1), rel=1e-12)
    # centimetres for metres: W of speed by force has to grow a hundredfold
    assert printed(30.0, 10.0, 4.0, 0.5, 20.0, 1) == pytest.approx(100.0 * printed(0.3, 10.0, 4.0, 0.5, 0.2, 1))
    assert abs(printed(30.0, 10.0, 4.0, 0.5, 20.0, 2) / printed(0.3, 10.0, 4.0, 0.5, 0.2, 2) - 100.0) > 50.0


@pytest.mark.parametrize("function", BOTH)
def test_any_units(function: int) -> None:
    length, force = 100.0, 1e-3
    phi, by_gap, by_force = normal_terms(function, 0.3, 0.2, 0.7)
    scaled = normal_terms(function, 0.3 * length, 0.2 * length / force, 0.7 * force)
    assert scaled == pytest.approx((phi * length, by_gap, by_force * length / force))
    for lam_f in (1.0, 5.5, 12.0):
        W = friction_compliance(function, 0.3, 10.0, lam_f, 0.5, 0.2)
        other = friction_compliance(function, 0.3 * length, 10.0 * force, lam_f * force, 0.5, 0.2 * length / force)
        assert other == pytest.approx(W * length / force)


def test_nothing_cancels() -> None:
    """References from the series: a + b - sqrt(a^2 + b^2) = a - a^2 / (2 b) + ... for b >> a > 0."""
    assert ncp_value(FISCHER_BURMEISTER, 1e-9, 1e9) == pytest.approx(1e-9, rel=1e-15)
    phi, by_gap, by_force = normal_terms(FISCHER_BURMEISTER, 1e-9, 1.0, 1.0)
    assert phi == pytest.approx(1e-9, rel=1e-9)
    assert by_gap == pytest.approx(1.0, rel=1e-8)
    assert by_force == pytest.approx(0.5e-18, rel=1e-9)
    # s << g: W = (s^2 / 2 g) / |lam_f|
    assert friction_compliance(FISCHER_BURMEISTER, 1e-9, 10.0, 1.0, 0.5, 1.0) == pytest.approx(1e-18 / 8, rel=1e-8)


@pytest.mark.parametrize("function", BOTH)
def test_always_finite(function: int) -> None:
    sizes = [0.0, 1e-300, 1e-12, 1.0, 1e12, 1e150]
    for slip, lam_f, lam_n, r in product(sizes, sizes, sizes[1:], [1e-9, 1.0, 1e9]):
        W = friction_compliance(function, slip, lam_n, lam_f, 0.5, r)
        if max(slip, lam_f * r, r * lam_n) / lam_n < 1e290:
            assert isfinite(W)
        assert W >= 0.0
    for C, lam in product([*sizes, -1e-300, -1.0, -1e12], repeat=2):
        phi, by_gap, by_force = normal_terms(function, C, 0.5, lam)
        assert isfinite(phi)
        assert 0.0 <= by_gap <= 2.0
        assert 0.0 <= by_force <= 1.0
        assert abs(phi) <= 3.0 * hypot(C, lam)


@pytest.mark.parametrize(("share", "settles"), [(0.0, True), (0.5, True), (1.9, True), (4.0, False)])
def test_the_fixed_point_of_friction_needs_r_below_twice_the_response(share: float, settles: bool) -> None:
    """A slider that an impulse slows by k: s = a - k |lam_f|, and W held fixed while both are solved for.

    |lam_f| = a / (k + W); W' = (s - r (L - |lam_f|)) / L has the derivative (k - r) / (k + W) at its fixed point, so it
    contracts where r < 2 k + W. Where others hold the body, k is far below the diagonal that eq. 66 takes for r.
    """
    k, limit, a = 1.0, 5.0, 5.0 * 1.1  # slides at W = 0.1 k
    W = 0.2
    for _ in range(400):
        force = a / (k + W)
        W = friction_compliance(MINIMUM_MAP, a - k * force, limit, force, 1.0, share * k + 1e-12)
    assert (abs(W - 0.1) < 1e-6) == settles
