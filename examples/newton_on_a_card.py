"""The non-smooth Newton method as kernels of Warp: on a graphics card where there is one, else on the CPU.

Run: python examples/newton_on_a_card.py [cuda]      (extra gpu)
"""

import sys

import numpy as np

from stickslip import Scene, Simulation, make_solver

device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
scene = Scene()
scene.add_half_space()
boxes = [scene.add_box((0.1, 0.1, 0.1), (0, 0, 0.05 + 0.1 * k), mass=1.0) for k in range(3)]
scene.add_box((0.1, 0.1, 0.1), (0.5, 0, 0.05), velocity=(1, 0, 0), mass=1.0)

height = {}
for precision, tolerance in ((64, 1e-8), (32, 1e-5)):
    solver = make_solver("newton", device=device, precision=precision, tolerance=tolerance)
    sim = Simulation(scene, dt=0.005, solver=solver)
    results = [sim.step() for _ in range(20)]
    worst = max(result.certificate.natural_residual for result in results)
    height[precision] = sim.position(boxes[-1])[2]
    print(f"{precision} bit on {device}: every step to {worst:.0e}, the stack is {height[precision] + 0.05:.6f} m high")
print("the same to a micrometre:", bool(np.isclose(height[64], height[32], atol=1e-6)))
