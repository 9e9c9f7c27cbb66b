"""The same bits for any number of threads, in the libraries' pools and in ours."""

import json

from child_process import outputs_on_threads

LATTICE = """
import numpy as np
from stickslip import Scene, Simulation
from stickslip.solvers.prox.gauss_seidel import SLAB_BLOCKS, ProxGaussSeidel
for torsion in (0.0, 0.01):
    scene = Scene(gravity=(0.5, 0.2, -9.81))
    scene.add_half_space(torsion=torsion)
    for k in range(13**3):
        scene.add_sphere(0.05, 0.1 * np.array([k % 13, k // 13 % 13, k // 169]) + (0, 0, 0.05), torsion=torsion)
    sim = Simulation(scene, 0.01, ProxGaussSeidel(max_iterations=30))
    sim.run(3)
    assert sim.last.certificate.contacts > SLAB_BLOCKS
    print(sim.state.digest())
"""


def state_hashes(*arguments: str) -> list[str]:
    """Those of a run by the command, on one, two and three threads."""
    code = f"from stickslip.cli import main; assert main(['run', *{arguments}, '--json']) == 0"
    return [json.loads(text)["state_hash"] for text in outputs_on_threads(code)]


def test_sparse_factorisation_and_long_sums_do_not_depend_on_threads() -> None:
    """486 unknowns: the sparse subspace step runs; 1740 rows in the vectors that norms are taken of."""
    one, two, three = state_hashes("wall", "--steps", "15", "--set", "friction=0.3")
    assert one == two == three


def test_a_pile_does_not_depend_on_threads() -> None:
    one, two, three = state_hashes("spheres", "--set", "count=500", "--steps", "40")
    assert one == two == three


def test_sweeps_in_slabs_do_not_depend_on_threads() -> None:
    """6000 contacts, without and with torsion, swept by several threads at once."""
    one, two, three = outputs_on_threads(LATTICE)
    assert len(one.split()) == 2
    assert one == two == three
