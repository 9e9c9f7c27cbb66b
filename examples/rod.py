"""Rods: a cantilever bends under its weight and a load, and a rod with rest curvature and twist winds to a helix."""

import warnings

import numpy as np

from stickslip import Scene, Simulation, SimulationWarning

# long steps find the shape at rest; they add energy on the way, which damping takes again
warnings.simplefilter("ignore", SimulationWarning)

# clamped at its start; a rod is a chain of rigid links that elastic sections join
scene = Scene()
points = np.linspace((0, 0, 0), (0.3, 0, 0), 13)
rod = scene.add_rod(points, radius=0.004, young=50e6, poisson=0.3, density=1100, damping=0.02, fixed_start=True)
sim = Simulation(scene, dt=0.02, solver="newton")
sim.set_force(rod.links[-1], (0, 0, -0.05))
sim.run(60)
tip = rod.points(sim.state.body_pose)[-1]
force, torque = sim.joint_force(rod.sections[-1])  # the clamp: the last section, as the first ones lie between links
print(f"the tip hangs at x = {tip[0]:.3f} m, z = {tip[2]:.3f} m; the clamp holds {force[2]:.3f} N")

# the shape at rest can be given by curvature about the local x and y axes and twist, per metre; z is along the rod
scene = Scene(gravity=(0, 0, 0))
points = np.linspace((0, 0, 0), (0, 0, 0.3), 13)
spring = scene.add_rod(
    points, radius=0.004, young=1e6, density=10, damping=0.2, rest=(20.0, 0.0, 6.0), fixed_start=True
)
sim = Simulation(scene, dt=0.05, solver="newton")
sim.run(60)
ends = spring.points(sim.state.body_pose)
axis = np.array([20.0, 0.0, 6.0]) / np.hypot(20.0, 6.0)
print(f"the helix advances by {(ends[-1] - ends[0]) @ axis:.4f} m along its axis, of a length of {spring.length:.1f} m")
