"""Two fingers with soft pads take a soft ball and lift it, by the convex method `sap`; what that costs is read off."""

from stickslip import Drive, Scene, Simulation, elastic, tet_generators

scene = Scene()
ground = scene.add_half_space(friction=0.8)
rubber = elastic(young=5e4, poisson=0.3, density=300, beta=0.01)
ball = scene.add_soft(tet_generators.sphere(0.03, 3), rubber, position=(0, 0, 0.03), friction=0.8, name="ball")

# a carriage goes up and down; the fingers slide on it
carriage = scene.add_box((0.16, 0.03, 0.02), position=(0, 0, 0.12), mass=0.5)
lift = scene.add_prismatic(None, carriage, axis=(0, 0, 1), drive=Drive(stiffness=2e4, damping=1e3))
slides, pads = [], []
for side, name in ((-1, "left"), (1, "right")):
    finger = scene.add_box((0.01, 0.03, 0.08), position=(side * 0.065, 0, 0.06), mass=0.1, name=f"finger {name}")
    drive = Drive(stiffness=2000, damping=100, limit=20)
    slides.append(scene.add_prismatic(carriage, finger, axis=(-side, 0, 0), drive=drive))
    mesh = tet_generators.box((0.02, 0.03, 0.04), (2, 3, 4))
    pad = scene.add_soft(mesh, rubber, position=(side * 0.05, 0, 0.04), friction=0.8, name=f"pad {name}")
    scene.weld_nodes(pad, mesh.nodes_on_plane("x", side * 0.01), finger)
    pads.append(pad)

sim = Simulation(scene, dt=0.01, solver="sap")
gliding_gap, converged = 0.0, True
for closing, height, steps in ((0.02, 0.0, 60), (0.02, 0.05, 60)):
    for slide in slides:
        sim.set_drive(slide, position=closing)
    sim.set_drive(lift, position=height)
    for _ in range(steps):
        certificate = sim.step().certificate
        gliding_gap = max(gliding_gap, certificate.gliding_gap)
        converged = converged and certificate.converged

for pad in pads:
    x, _, z = sim.contacts(ball, pad).total_force
    print(f"{pad.name}: squeezes with {abs(x):.2f} N, carries {z:.3f} N")
print(f"weight of the ball: {9.81 * sim.model.soft.mass[: len(sim.nodes(ball))].sum():.3f} N")
print(f"the ball is {1e3 * sim.soft_centre(ball)[2]:.0f} mm above the ground; converged: {converged}")
print(f"gap that convex friction opened under sliding contacts: at most {1e3 * gliding_gap:.1e} mm")
