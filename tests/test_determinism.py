"""The same bits for any number of threads, in the libraries' pools and in ours."""

import json
import os
import subprocess
import sys


def state_hash(threads: int, *arguments: str) -> str:
    pools = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    done = subprocess.run(
        [sys.executable, "-m", "stickslip", "run", *arguments, "--json"],
        capture_output=True, text=True, check=True, env={**os.environ, **dict.fromkeys(pools, str(threads))},
    )  # fmt: skip
    return str(json.loads(done.stdout)["state_hash"])


def test_sparse_factorisation_and_long_sums_do_not_depend_on_threads() -> None:
    """486 unknowns: the sparse subspace step runs; 1740 rows in the vectors that norms are taken of."""
    wall = ("wall", "--steps", "15", "--set", "friction=0.3")
    assert state_hash(1, *wall) == state_hash(2, *wall)


def test_a_pile_does_not_depend_on_threads() -> None:
    pile = ("spheres", "--set", "count=500", "--steps", "40")
    assert state_hash(1, *pile) == state_hash(2, *pile)
