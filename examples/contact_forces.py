"""Reading contacts: points, forces, slip, and whether they are open, stick or slip."""

from stickslip import Scene, Simulation

scene = Scene()
floor = scene.add_half_space(friction=0.3)
lower = scene.add_box((0.4, 0.4, 0.1), (0, 0, 0.05), mass=4.0, friction=0.3)
upper = scene.add_box((0.1, 0.1, 0.1), (0.1, 0, 0.15), mass=2.0, friction=0.3)

sim = Simulation(scene, dt=0.002)
sim.set_force(lower, force=(25.0, 0.0, 0.0))  # more than the floor's friction can hold
sim.run(50)

report = sim.contacts(lower, floor)  # what acts on the lower box, from the floor
for point, force, status in zip(report.point, report.force, report.status_names, strict=True):
    print(f"at {point.round(3)} m: {force.round(2)} N, {status}")
print("from the upper box:", sim.contacts(lower, upper).total_force.round(3), "N")
