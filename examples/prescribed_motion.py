"""Kinematic bodies: a belt with a constant velocity, and an arm that follows a function of time."""

import numpy as np

from stickslip import Scene, Simulation
from stickslip.geometry.rotation import about_axis


def sweep(time: float) -> tuple:
    """Pose of the arm: it turns about z at 1 rad/s."""
    return (2.0, 0.0, 0.1), about_axis((0, 0, 1), 0.5 * np.pi + time)


scene = Scene()
scene.add_box((6.0, 1.0, 0.1), (0, 0, -0.05), kind="kinematic", velocity=(0.5, 0, 0), name="belt")
scene.add_box((0.8, 0.05, 0.1), kind="kinematic", motion=sweep, name="arm")
box = scene.add_box((0.1, 0.1, 0.1), (0, 0, 0.05))

sim = Simulation(scene, dt=0.002)
sim.run(1000)
print(f"the belt carries the box at {sim.velocity(box)[0]:.6f} m/s")
