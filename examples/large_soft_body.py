"""A soft body of five thousand nodes is dropped on the ground, by a method that factorises nothing."""

from stickslip import Scene, Simulation, elastic, tet_generators
from stickslip.solvers.cond.cond import Cond

scene = Scene()
ground = scene.add_half_space(friction=0.6)
block = scene.add_soft(
    tet_generators.box((0.4, 0.4, 0.1), (28, 28, 6)),
    elastic(young=2e5, poisson=0.4, density=1000, beta=0.005),
    position=(0, 0, 0.0505),
    velocity=(0.2, 0, -0.2),
    friction=0.6,
    name="block",
)

# the paper's criterion: velocities change by less than 1e-4 m/s in an iteration, all nodes together
sim = Simulation(scene, dt=0.005, solver=Cond(criterion="step", tolerance=1e-4))
iterations = 0
for _ in range(20):
    iterations += sim.step().solution.iterations

certificate = sim.last.certificate
print(f"{sim.model.soft.node_count} nodes, {certificate.contacts} contacts, {iterations / 20:.0f} iterations a step")
print(f"centre at {1e3 * sim.soft_centre(block)[2]:.2f} mm, deepest overlap {certificate.penetration_mm:.1e} mm")
print(f"momentum without a cause: {certificate.momentum_relative:.1e} of what was exchanged")
