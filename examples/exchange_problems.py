"""Problems for others: a step as an FCLIB file with its solution, read back, solved from its guess, and judged."""

import tempfile
from pathlib import Path

from stickslip import Scene, Simulation, make_solver
from stickslip.contact.residual import residual
from stickslip.io.problem_file import load_file, load_problem, save_delassus, save_problem

scene = Scene()
scene.add_half_space()
for k in range(3):
    scene.add_box((0.2, 0.2, 0.2), (0.05 * k, 0, 0.1 + 0.2 * k), mass=1.0 + k)
sim = Simulation(scene, dt=0.005)
before = sim.step()
step = sim.step()

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "stack.hdf5"  # FCLIB, which Siconos reads; .npz is our own form, bit for bit
    save_problem(step.problem, file, step.solution.lam, guesses=[before.solution.lam], title="three boxes")
    save_delassus(step.problem, Path(folder) / "stack.npz")  # W, q, mu: what every solver understands

    stored = load_file(file)
    solution = make_solver("prox-gs", tolerance=1e-10).solve(stored.problem, warm=stored.guesses[0])
    print(f"FCLIB: {stored.problem.block_count} contacts, {solution.status} after {solution.iterations} sweeps")
    local = load_problem(Path(folder) / "stack.npz")

for name, problem, lam in (
    ("the step itself", step.problem, step.solution.lam),
    ("as stored", stored.problem, stored.solution),
    ("solved again", stored.problem, solution.lam),
    ("the same in W, q, mu", local, solution.lam),
):
    error = residual(problem, lam)
    print(f"{name}: residual {error.scaled:.1e}, {error.siconos:.1e} as Siconos computes it")
