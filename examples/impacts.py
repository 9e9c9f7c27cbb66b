"""Impacts: how much of the normal and of the tangential velocity a bounce turns around."""

import numpy as np

from stickslip import Scene, Simulation, Stepping

scene = Scene(gravity=(0, 0, 0))
scene.add_half_space(friction=1.0, restitution=0.9)
plain = scene.add_sphere(0.03, (0, 0, 0.05), friction=1.0, velocity=(1, 0, -2), name="plain ball")
super_ball = scene.add_sphere(
    0.03, (0, 1, 0.05), friction=1.0, tangential_restitution=0.8, velocity=(1, 0, -2), name="super-ball"
)

# a bounce happens up to a step early, so the step is small; contacts slower than restitution_speed [m/s] do not bounce
sim = Simulation(scene, dt=0.0001, stepping=Stepping(restitution_speed=0.05))
sim.run(500)

for ball in (plain, super_ball):
    v, spin = sim.velocity(ball), sim.angular_velocity(ball)
    surface = v + np.cross(spin, (0, 0, -0.03))  # where it touched
    print(f"{ball.name}: up {v[2]:.3f} m/s, along {v[0]:.3f} m/s, its surface {surface[0]:+.3f} m/s")
