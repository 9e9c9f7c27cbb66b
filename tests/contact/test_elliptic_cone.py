"""The closest point of an elliptic cone, by the conditions that only it obeys."""

import numpy as np
import pytest

from stickslip.contact.elliptic_cone import project_elliptic_cone
from stickslip.contact.laws import project_cone


@pytest.mark.parametrize("flat", [None, 0, 1, 2])
def test_the_offset_is_in_the_dual_cone_and_orthogonal(flat: int | None) -> None:
    """p in K, p - x in K* and orthogonal to p: what makes p the closest point of a convex cone."""
    rng = np.random.default_rng(7)
    for _ in range(500):
        axes, x = 10.0 ** rng.uniform(-3.0, 1.0, 3), rng.normal(size=4) * 10.0 ** rng.uniform(-2.0, 2.0, 4)
        if flat is not None:
            axes[flat] = 0.0
        p, size = np.array(project_elliptic_cone(*x, *axes)), np.linalg.norm(x)
        has = axes > 0.0
        assert np.linalg.norm(p[1:][has] / axes[has]) <= p[0] + 1e-11 * size
        assert not p[1:][~has].any()
        offset = p - x
        assert np.linalg.norm(axes * offset[1:]) <= offset[0] + 1e-11 * size
        assert abs(p @ offset) <= 1e-11 * size * size


def test_with_equal_axes_it_is_coulombs_cone() -> None:
    rng = np.random.default_rng(8)
    for _ in range(100):
        x = rng.normal(size=3)
        expected = (*project_cone(*x, 0.6), 0.0)  # type: ignore[no-untyped-call]
        np.testing.assert_allclose(project_elliptic_cone(*x, 0.0, 0.6, 0.6, 0.6), expected, atol=1e-14)
