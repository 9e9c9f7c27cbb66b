"""Every solver takes trees: the same steps of a small robot with contacts, a loop, a limit, a drive and dry friction.

Solvers are compared with ``auto`` step by step from the states of one run, not run by run: a robot on several contacts
amplifies what tolerances leave. All contacts stick in the compared steps, where the boxes, pyramids and convex cones of
other laws give the velocities of Coulomb's. Where the finger presses, robot, box and ground are a loop that is jammed
with the friction of the finger at its limit: that is hard for methods of first order and for pivots.
"""

import numpy as np
import pytest

from robot_records import crawler
from stickslip import Scene, Simulation, Stepping
from stickslip.solvers.registry import SOLVERS

DT = 0.004
COMPARED = (0, 3, 12)
"""Steps before the finger meets the box, and with it pressed."""
PRESSED = 12
SLOW = {"prox-gs", "prox-jacobi", "dense", "pgs", "nsgs", "admm", "apgd", "lcp", "nesterov"}
"""From a cold start these end at their limits of iterations, or stall, in the pressed step; how far off, is checked."""
OWN_TREATMENT = {"xpbd", "penalty"}
"""Not a solver of the same problem: substeps of its own (test_xpbd_trees.py); springs instead of contacts."""


def crawler_and_box():
    """The robot on the ground, its finger above a box of 2 kg that it will press."""
    scene = Scene()
    ground = scene.add_half_space(friction=0.8)
    robot = scene.add_tree(crawler())
    box = scene.add_box((0.1, 0.1, 0.1), (0.45, 0.0, 0.05), mass=2.0, friction=0.8)
    return scene, robot, box, ground


def pressing(solver, warm_start=True):
    scene, robot, box, _ = crawler_and_box()
    sim = Simulation(scene, solver=solver, stepping=Stepping(dt=DT, warm_start=warm_start))
    sim.set_control(robot, position={"arm-hinge": 0.1})
    return sim, robot, box


@pytest.fixture(scope="module")
def course():
    """States before the compared steps and results of these, by ``auto``."""
    sim, robot, box = pressing("auto")
    found = {}
    for k in range(50):
        before = sim.state
        result = sim.step()
        assert result.certificate.converged, (k, result.certificate)
        assert result.certificate.joint_error < 1e-10
        if k in COMPARED:
            found[k] = before, result
    assert len(sim.contacts(box, robot.link("finger")))
    assert (sim.contacts().status[np.abs(sim.contacts().force).max(axis=1) > 0.0] == 1).all()  # they stick
    flap = sim.joint_positions(robot)[robot.joint_names.index("flap-hinge") + 6]
    assert abs(flap) == pytest.approx(0.3, abs=1.001e-9)  # at its limit, but for the slop of gaps and rounding
    return found


def velocities(state):
    return np.concatenate([state.body_velocity.ravel(), state.part_v("crawler").ravel()])


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name not in {*OWN_TREATMENT, "auto"}])
def test_a_step_is_that_of_auto(solver, course):
    sim, _, _ = pressing(solver, warm_start=False)  # the impulses of auto would be the answer
    for k, (before, expected) in course.items():
        sim.restore(before)
        result = sim.step()
        assert result.certificate.joint_error < 1e-8, (k, result.certificate)
        scale = max(1.0, np.abs(velocities(expected.state)).max())
        apart = np.abs(velocities(result.state) - velocities(expected.state)).max() / scale
        # impulses of a tolerance of 1e-8 (1e-6) on links of 0.1 kg
        slow = k == PRESSED and solver in SLOW
        limit = 5e-5 if slow else 2e-4 if sim.solver.tolerance > 1e-8 else 2e-6
        assert apart < limit, (k, apart, result.certificate.status)
        assert result.solution.status == "converged" or slow, (k, result.solution.status)


def test_springs_instead_of_contacts_hold_it_too():
    """Springs that a step resolves are soft where a light finger presses; what they carry in sum is the weight."""
    scene, robot, _, ground = crawler_and_box()
    sim = Simulation(scene, dt=DT, solver="penalty")
    sim.set_control(robot, position={"arm-hinge": 0.1})
    sim.run(150)
    assert sim.joint_error() < 1e-8
    report = sim.contacts(ground)
    assert -report.total_force[2] == pytest.approx((robot.mass + 2.0) * 9.81, rel=1e-2)
