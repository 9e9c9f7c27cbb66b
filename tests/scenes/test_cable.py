"""The cable hangs in its catenary, and is wound on the drum without overlap."""

import numpy as np
import pytest

from stickslip import InputError
from stickslip.scenes.cable import cable, elastic_sag, hanging_points
from stickslip.scenes.running import execute, prepare


def test_closed_forms_agree() -> None:
    """The elastic catenary of a cable that does not stretch is the catenary."""
    points = hanging_points(np.linspace(0.0, 1.2, 2001), 1.2, 0.9)
    length = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
    assert length == pytest.approx(1.2, rel=1e-6)
    assert points[-1, 0] - points[0, 0] == pytest.approx(0.9, abs=1e-12)
    assert elastic_sag(1.2, 0.9, 0.5, 1e12) == pytest.approx(-points[:, 2].min(), rel=1e-9)


def test_a_hanging_cable_stays_near_the_elastic_catenary() -> None:
    run = prepare("cable", "newton", {"links": 24})
    summary = execute(run, 20)
    assert summary.converged
    assert abs(summary.metrics["sag_error_mm"]) < 5.0  # of 354; bending and the links' length


def test_a_drum_takes_the_cable_up() -> None:
    run = prepare("cable", "auto", {"mode": "winding", "links": 24, "length": 0.6, "speed": 6.0}, dt=0.01)
    summary = execute(run, 65)
    assert summary.converged_fraction >= 0.95
    assert summary.metrics["wound_m"] > 0.05
    assert summary.metrics["penetration_mm"] < 0.05


def test_unknown_modes_are_refused() -> None:
    with pytest.raises(InputError, match="cable: mode is 'flying'; it must be one of hanging, winding"):
        cable(mode="flying")
