"""A box on a slope below the friction limit: it stays, and the certificate says how well."""

import numpy as np

from stickslip import Scene, Simulation

angle = np.arctan(0.8 * 0.5)  # 80 % of the limit of friction 0.5
normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
tilt = (np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0)

scene = Scene()
scene.add_half_space(normal, friction=0.5)
box = scene.add_box((0.1, 0.1, 0.1), 0.05 * normal, tilt, mass=1.0, friction=0.5)

sim = Simulation(scene, dt=0.002)
start = sim.position(box)
for _ in range(500):
    result = sim.step()

certificate = result.certificate
print(f"moved {1e9 * np.linalg.norm(sim.position(box) - start):.3g} nm in {sim.state.time:.1f} s")
print(f"residual {certificate.natural_residual:.1e}, deepest overlap {certificate.penetration_mm:.1e} mm")
