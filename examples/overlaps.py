"""Boxes that begin inside each other: pushed apart over many steps, or closed in one without being thrown."""

import numpy as np

import stickslip
from stickslip.model.stepping import Stepping
from stickslip.solvers.registry import make_solver

DEPTH = 0.004  # [m]


def stack(**options) -> stickslip.Simulation:
    """Two boxes, each 4 mm too deep, and a solver whose linear systems are iterated on."""
    scene = stickslip.Scene()
    scene.add_half_space(friction=0.5)
    for k in range(2):
        scene.add_box((0.2, 0.2, 0.2), (0.0, 0.0, 0.1 + 0.2 * k - DEPTH * (k + 1)), density=500.0, friction=0.5)
    solver = make_solver("newton", linear="pcr", linear_iterations=40)
    sim = stickslip.Simulation(scene, solver=solver, stepping=Stepping(dt=0.005, **options))
    sim.watch.silent = True  # overlaps at the start are meant
    return sim


for name, options in (("pushed", {}), ("closed", {"overlaps": "closed"}), ("four a pair", {"per_pair": 4})):
    sim = stack(**options)
    result = sim.step()
    top, speed = sim.state.body_pose[-1, 2], np.abs(sim.state.body_velocity).max()
    print(
        f"{name}: after one step the upper box is at {1e3 * top:.1f} mm of 300, at {speed:.3f} m/s; "
        f"{result.problem.contact_count} contacts, overlap at the start {1e3 * result.certificate.penetration:.1f} mm"
    )
