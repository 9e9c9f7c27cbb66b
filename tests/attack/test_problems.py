"""Random problems against the solvers, and the judge of the attack against problems that are solved by hand."""

from math import sqrt

import numpy as np
import pytest
from outcome import gather
from problem_attack import ITERATIONS, attack
from problem_judge import Judge, ellipsoid, polygon
from raw_arrays import BILATERAL, BOUNDED, CONTACT, LIMIT, Block, RawProblem

SEED, CASES = 20260, 150


@pytest.mark.slow
def test_no_crash_no_nan_and_nothing_called_converged_that_is_not():
    found = gather(attack, SEED, range(CASES))
    assert found.failures == []
    assert found.counts["problems"] == CASES
    for name in ITERATIONS:
        assert found.counts[f"{name}: solved"] > CASES / 2
        assert found.counts[f"{name}: converged"] > CASES / 8


def one_contact(q, mu, mass=2.0, law=CONTACT, bound=0.0):
    rows = len(q)
    block = Block(law, {0: np.eye(rows)}, np.zeros(rows), friction=(mu, mu, 0.0), bound=np.full(rows, bound))
    return Judge(RawProblem("matrix", [rows], np.array(q), [block], np.eye(rows) / mass))


def test_judge_knows_sliding_and_sticking():
    sliding = one_contact([-1.0, 3.0, 0.0], 0.5)
    assert sliding.judge(np.array([2.0, -1.0, 0.0])).residual < 1e-18
    assert sliding.judge(np.array([2.0, -1.0, 0.1])).residual > 1e-2
    # in the convex law it opens at mu |u_t|: u = (0.5 lam_n - 1, 3 - 0.25 lam_n), u_n = 0.5 u_t
    assert sliding.judge(np.array([4.0, -2.0, 0.0]), "convex").residual < 1e-18
    assert one_contact([-1.0, 0.3, 0.0], 0.5).judge(np.array([2.0, -0.6, 0.0])).residual < 1e-15


def test_judge_measures_a_known_error():
    # nothing pushes back: F = u_n, over |q|
    assert one_contact([-1.0, 2.0, 2.0], 0.0).judge(np.zeros(3)).residual == pytest.approx(1.0 / 3.0, rel=1e-15)
    held = one_contact([-1.0, 2.0], 0.0, law=BILATERAL)
    assert held.judge(np.array([2.0, 0.0])).residual == pytest.approx(2 / sqrt(5))
    assert one_contact([1.0, 0.0, 0.0], 0.0).judge(np.zeros(3)).residual == 0.0  # parts without slip or friction
    assert one_contact([3.0, -2.0], 0.0, law=LIMIT).judge(np.zeros(2)).residual == 1.0
    assert one_contact([1.0], 0.0, law=BOUNDED, bound=0.5).judge(np.array([-0.5])).residual == 0.0
    assert one_contact([1.0], 0.0, law=BOUNDED, bound=0.5).judge(np.array([-0.3])).residual == pytest.approx(0.1)


def test_rounding_is_no_excuse_for_a_wrong_digit_that_a_double_can_hold():
    found = one_contact([-1.0, 3.0, 0.0], 0.5).judge(np.array([2.0 + 1e-12, -1.0, 0.0]))
    assert found.rounding < 1e-13 < found.residual


def test_closest_points():
    rng = np.random.default_rng(0)
    for _ in range(50):
        axes, z = rng.uniform(0.1, 2.0, size=3).astype(np.longdouble), 3.0 * rng.normal(size=3).astype(np.longdouble)
        p = ellipsoid(z, axes)
        assert ((p / axes) ** 2).sum() <= 1.0 + 1e-15
        if ((z / axes) ** 2).sum() > 1.0:  # the offset is along the normal of the surface
            assert np.abs(np.cross(z - p, p / axes**2)).max() < 1e-12
    assert polygon(np.array([3.0, 0.0], dtype=np.longdouble), np.longdouble(2.0)) == pytest.approx([2.0, 0.0])
    assert polygon(np.array([0.1, 0.2], dtype=np.longdouble), np.longdouble(2.0)) == pytest.approx([0.1, 0.2])
