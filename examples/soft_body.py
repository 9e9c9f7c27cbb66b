"""A soft ball is dropped on the ground, squeezed by a box that lands on it, and says what it feels."""

from stickslip import Scene, Simulation, elastic, tet_generators

scene = Scene()
ground = scene.add_half_space(friction=0.6)
ball = scene.add_soft(
    tet_generators.sphere(0.05, 3),
    elastic(young=2e5, poisson=0.4, density=1000, beta=0.01),
    position=(0, 0, 0.051),
    friction=0.6,
    name="ball",
)
box = scene.add_box((0.08, 0.08, 0.02), position=(0, 0, 0.112), mass=0.5, friction=0.6, name="box")

sim = Simulation(scene, dt=0.005)
sim.run(100)

weight = (0.5 + sim.model.soft.mass.sum()) * 9.81
print(f"height of the box {1e3 * sim.position(box)[2]:.1f} mm, of the ball {1e3 * sim.soft_centre(ball)[2]:.1f} mm")
print(f"ground on ball: {sim.contacts(ball, ground).total_force[2]:.3f} N, weight of both: {weight:.3f} N")
print(f"ball on box: {sim.contacts(box, ball).total_force[2]:.3f} N")
print(f"largest von Mises stress: {sim.elements(ball).von_mises.max():.0f} Pa")
print(f"converged: {sim.last.certificate.converged}, deepest overlap {sim.last.certificate.penetration_mm:.1e} mm")
