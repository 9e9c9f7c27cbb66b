"""Friction sets: runners that slide one way only, and friction about the normal that stops a spin."""

from stickslip import Scene, Simulation

scene = Scene()
scene.add_half_space(friction=1.0)

# two coefficients, along an axis in the body's frame and across it; a pair has the geometric mean of both surfaces
sledge = scene.add_box(
    (0.4, 0.2, 0.1), (0, 0, 0.05), friction=(0.01, 0.64), friction_axis=(1, 0, 0), velocity=(1, 1, 0), name="sledge"
)
# torsion [m]: the torque about the normal is at most torsion times the normal force
ball = scene.add_sphere(0.1, (2, 0, 0.1), torsion=0.01, angular_velocity=(0, 0, 20), name="ball")

sim = Simulation(scene, dt=0.001)
sim.run(500)
v, spin = sim.velocity(sledge), sim.angular_velocity(ball)[2]
print(f"the sledge glides on at {v[0]:.2f} m/s along its runners, {abs(v[1]):.2f} m/s across")
print(f"the ball spins at {spin:.2f} rad/s after {sim.state.time:.1f} s")

while sim.angular_velocity(ball)[2] > 1e-6:
    sim.step()
print(f"it stops at {sim.state.time:.3f} s; expected {0.4 * 0.1**2 * 20 / (0.01 * 9.81):.4f} s")
