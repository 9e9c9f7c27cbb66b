"""Every shape, a compound, a hull, and materials with their own friction as a pair."""

from stickslip import Scene, Simulation, placed, shapes

scene = Scene(friction_rule="min")
scene.add_material("steel", friction=0.4, restitution=0.3)
scene.add_material("rubber", friction=0.9)
scene.set_pair("steel", "rubber", friction=0.7)

scene.add_half_space(material="rubber")
scene.add_sphere(0.1, (0.0, 0.0, 0.5), material="steel")
scene.add_capsule(0.05, 0.2, (0.4, 0.0, 0.5), material="steel")
scene.add_cylinder(0.1, 0.2, (0.8, 0.0, 0.5), material="steel")
scene.add_hull([(0, 0, 0), (0.2, 0, 0), (0, 0.2, 0), (0, 0, 0.2)], (1.2, 0.0, 0.4), material="steel")
hammer = scene.add_compound(
    [placed(shapes.Box((0.3, 0.1, 0.1)), (0.0, 0.0, 0.4)), placed(shapes.Cylinder(0.02, 0.4), (0.0, 0.0, 0.15))],
    (1.6, 0.0, 0.5),
    material="steel",
)

sim = Simulation(scene, dt=0.002)
sim.run(400)
print("hammer: centre of mass at", sim.centre_of_mass(hammer).round(3), "m")
print("deepest overlap:", f"{sim.last.certificate.penetration_mm:.3g} mm")
