"""A contact problem as data: take it from a step, save it, load it, solve it, judge it."""

import tempfile
from pathlib import Path

import numpy as np

from stickslip import Scene, Simulation, make_solver
from stickslip.contact.problem import from_delassus
from stickslip.contact.residual import residual
from stickslip.io.problem_file import load_problem, save_problem

scene = Scene()
scene.add_half_space()
for k in range(4):
    scene.add_box((0.1, 0.1, 0.1), (0, 0, 0.05 + 0.1 * k), mass=10.0**k)
problem = Simulation(scene, dt=0.002).step().problem

with tempfile.TemporaryDirectory() as folder:
    save_problem(problem, Path(folder) / "stack.npz")
    problem = load_problem(Path(folder) / "stack.npz")
solution = make_solver("prox-gs", tolerance=1e-10).solve(problem)
error = residual(problem, solution.lam).scaled
print(f"stack: {solution.status} after {solution.iterations} sweeps, residual {error:.1e}")

# or from a Delassus matrix: u = W lam + q, one contact, sliding
sliding = from_delassus(0.5 * np.eye(3), q=[-1.0, 1.0, 0.0], mu=[0.4])
print("sliding contact: impulse", make_solver("prox-gs").solve(sliding).lam, "N s")
