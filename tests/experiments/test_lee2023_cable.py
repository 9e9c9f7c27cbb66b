"""Table VIII of Lee et al. (2023): its lines as printed, and what a run gives."""

import numpy as np

from stickslip.experiments.lee2023.cable import METHODS, cable_run


def test_lines_are_those_of_the_paper() -> None:
    assert [(m.penetration_mm, m.force_error_N, m.total_ms) for m in METHODS.values()] == [
        (0.0031, 0.553, 3.949),
        (0.0032, 0.553, 7.125),
        (0.0036, 2.654, 94.45),
        (0.0026, 1.575, 187.6),
    ]


def test_a_run_has_a_force_for_every_step() -> None:
    run = cable_run("xpbd", {"substeps": 5}, 1, 4, links=16)
    assert run.force_N.shape == (4, 3)
    assert run.penetration_mm.shape == (4,)
    assert np.isfinite(run.force_N).all()
    assert (run.cpu_ms > 0.0).all()
    assert run.converged == 0.0
