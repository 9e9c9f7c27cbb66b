"""A soft block is pushed over a table by the convex method `sap`: contacts with stiffness, and what its law costs."""

from stickslip import Scene, Simulation, Stepping, elastic, tet_generators

scene = Scene()
table = scene.add_half_space(friction=0.4, contact_stiffness=5e3, contact_dissipation=0.02)
mesh = tet_generators.box((0.12, 0.08, 0.06), (4, 3, 2))
block = scene.add_soft(
    mesh, elastic(young=1e5, poisson=0.4, density=1000, beta=0.01), position=(0, 0, 0.03), friction=0.4, name="block"
)
pushed = mesh.nodes_on_plane("x", float(mesh.nodes[:, 0].min()))
weight = 1000 * mesh.volumes.sum() * 9.81

# contacts are looked for as far away as the block glides in the convex law
sim = Simulation(scene, solver="sap", stepping=Stepping(dt=0.005, margin=0.002))
sim.run(60)
at_rest = sim.contacts(block)
print(f"at rest: the table carries {at_rest.total_force[2]:.3f} N of {weight:.3f} N")
print(f"a contact gives way by its force over 5 kN/m: {-1e3 * at_rest.gap[0]:.3f} mm, {at_rest.force[0, 2] / 5:.3f} mm")

push = 0.6 * weight / len(pushed)  # half as much again as friction resists
sim.set_node_force(block, (push, 0, 0), pushed)
sim.run(60)
certificate = sim.last.certificate
speed = sim.node_velocities(block)[:, 0].mean()
friction = -sim.contacts(block).total_force[0] / sim.contacts(block).total_force[2]
print(f"pushed: {speed:.3f} m/s after 0.3 s, friction over normal force {friction:.3f}")
print(f"it glides {certificate.gliding_gap_mm:.2f} mm above its springs, h mu |u| = {0.4 * 5 * speed:.2f} mm")
print(f"iterations: {certificate.iterations}, converged: {certificate.converged}")
