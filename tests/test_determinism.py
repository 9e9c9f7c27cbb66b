"""The same bits for any number of threads, in the libraries' pools and in ours."""

import json
import os
import subprocess
import sys

import pytest

LATTICE = """
import sys
import numpy as np
from stickslip import Scene, Simulation
from stickslip.solvers.prox_gs import SLAB_BLOCKS, ProxGaussSeidel
torsion = float(sys.argv[1])
scene = Scene(gravity=(0.5, 0.2, -9.81))
scene.add_half_space(torsion=torsion)
for k in range(13**3):
    scene.add_sphere(0.05, 0.1 * np.array([k % 13, k // 13 % 13, k // 169]) + (0, 0, 0.05), torsion=torsion)
sim = Simulation(scene, 0.01, ProxGaussSeidel(max_iterations=30))
sim.run(3)
assert sim.last.certificate.contacts > SLAB_BLOCKS
print(sim.state.digest())
"""
POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def output(threads: int, *arguments: str) -> str:
    environment = {**os.environ, **dict.fromkeys(POOLS, str(threads))}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=True, env=environment
    ).stdout


def state_hash(threads: int, *arguments: str) -> str:
    return str(json.loads(output(threads, "-m", "stickslip", "run", *arguments, "--json"))["state_hash"])


def test_sparse_factorisation_and_long_sums_do_not_depend_on_threads() -> None:
    """486 unknowns: the sparse subspace step runs; 1740 rows in the vectors that norms are taken of."""
    wall = ("wall", "--steps", "15", "--set", "friction=0.3")
    assert state_hash(1, *wall) == state_hash(2, *wall)


def test_a_pile_does_not_depend_on_threads() -> None:
    pile = ("spheres", "--set", "count=500", "--steps", "40")
    assert state_hash(1, *pile) == state_hash(2, *pile)


@pytest.mark.parametrize("torsion", ["0", "0.01"])
def test_sweeps_in_slabs_do_not_depend_on_threads(torsion: str) -> None:
    """6000 contacts, swept by several threads at once."""
    assert output(1, "-c", LATTICE, torsion) == output(2, "-c", LATTICE, torsion) == output(3, "-c", LATTICE, torsion)
