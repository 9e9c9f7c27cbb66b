"""The cable is wound onto the cylinder: as often as the hand goes around, with the pull that its stretch makes."""

import math

import numpy as np
import pytest

from stickslip import InputError
from stickslip.model.model import compile_scene
from stickslip.scenes.cable_winding import (
    FRICTION,
    FRICTIONS,
    HELD,
    POISSON,
    PULL,
    YOUNG,
    YOUNGS,
    Course,
    cable_winding,
    drawn_parameters,
)
from stickslip.scenes.running import execute, prepare


def test_the_hand_keeps_the_length_of_the_cable() -> None:
    """Held part, windings and free part are (1 + stretch) times the length at all times."""
    course = Course(1.2, 0.004, 0.06, 2.0, 0.03)
    for time in np.linspace(PULL, 6.5, 7):
        position, turn = course.pose(float(time))
        assert np.isfinite(np.concatenate([position, turn])).all()
    assert course.free_length(0.0) == pytest.approx((1.03 - HELD) * 1.2)
    assert course.free_length(course.angle) == pytest.approx((1.03 - HELD) * 1.2 - 2.0 * course.around)
    # where the cable leaves the cylinder it touches it: the way to the hand is a tangent
    angle = math.pi
    touch = np.array([0.0, 0.5 * course.pitch, -course.reach])
    along = (course.pose(PULL + 0.5 * 6.0)[0] - (touch + [0.0, 0.5 * course.pitch, 2.0 * course.reach]))[[0, 2]]
    assert abs(along[1]) < 1e-9  # after one turn of two the cable leaves at the top, level
    assert course.turn(2.0 * angle) == pytest.approx(-course.turn(0.0))


def test_seeds_draw_the_parameters_of_the_paper() -> None:
    assert drawn_parameters(0) == (YOUNG, POISSON, FRICTION)
    drawn = [drawn_parameters(seed) for seed in range(1, 21)]
    assert drawn_parameters(7) == drawn[6]
    young, poisson, friction = np.array(drawn).T
    assert YOUNGS[0] <= young.min() < young.max() <= YOUNGS[1]
    assert 0.4 <= poisson.min() < poisson.max() <= 0.49
    assert FRICTIONS[0] <= friction.min() < friction.max() <= FRICTIONS[1]


def test_the_cable_of_the_paper_has_320_links() -> None:
    model = compile_scene(cable_winding())
    assert len(model.dynamic) == 320
    assert model.dof_count == 1920
    assert model.mass.sum() == pytest.approx(1100.0 * math.pi * 0.004**2 * 1.2)


@pytest.mark.parametrize("solver", ["auto", "xpbd"])
def test_the_hand_pulls_and_winds(solver: str) -> None:
    """After 2.5 s a quarter of the way is done: 0.3 turns, and E A times the stretch is 4.45 N."""
    options = {"solver.substeps": 100} if solver == "xpbd" else {}
    run = prepare("cable-winding", solver, {"links": 40, **options})
    summary = execute(run, 250)
    metrics = summary.metrics
    taut = YOUNG * math.pi * 0.004**2 * 0.03
    assert metrics["effector_force_N"] == pytest.approx(taut, rel=0.25)
    assert metrics["penetration_max_mm"] < 0.2
    assert 0.2 < metrics["windings"] < 0.6
    assert 0.02 < metrics["stretch"] < 0.035
    assert np.isfinite(run.sim.state.body_pose).all()


def test_a_cable_that_is_too_short_is_refused() -> None:
    with pytest.raises(InputError, match=r"cable-winding: length is 0\.5 m, too little for 2 windings"):
        cable_winding(length=0.5)
    with pytest.raises(InputError, match="links is 3"):
        cable_winding(links=3)
