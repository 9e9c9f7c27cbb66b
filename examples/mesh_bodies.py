"""Bodies that are not convex: a drinking glass and a jack, both triangle meshes, and a ball that stays in the glass."""

from stickslip import InputError, Scene, Simulation
from stickslip.geometry.generators import jack, surface_of_revolution

# the outline of the glass (r, z) in m: floor and wall are 3 mm thick
outline = [(0.0, 0.0), (0.035, 0.0), (0.04, 0.1), (0.037, 0.1), (0.032, 0.003), (0.0, 0.003)]
vertices, triangles = surface_of_revolution(outline, segments=24)

scene = Scene()
scene.add_half_space(friction=0.5)
glass = scene.add_mesh(vertices, triangles, (0.0, 0.0, 0.0), name="glass", density=2500.0, friction=0.5)
ball = scene.add_sphere(0.02, (0.01, 0.0, 0.08), density=200.0, friction=0.5)
shape = jack(reach=0.03, width=0.014, tip=0.01, chamfer=0.002)
toy = scene.add_mesh(*shape, position=(0.12, 0.0, 0.05), rotation=(0.9, 0.3, 0.2, 0.1), friction=0.5, name="jack")

sim = Simulation(scene, dt=0.002)
sim.run(600)

x, y, z = sim.position(ball)
print(f"the ball is inside the glass: {x * x + y * y < 0.032**2 and 0.0 < z < 0.1}")
print(f"it touches the glass at {len(sim.contacts(ball, glass))} point(s)")
print(f"the jack lies on {len(sim.contacts(toy))} points")

# a mesh that bounds no solid is rejected, with the location of the defect
try:
    scene.add_mesh(vertices, triangles[:-1], name="leaking glass")
except InputError as error:
    print(error)
