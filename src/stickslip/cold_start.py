"""Cold start: the first run on a machine compiles its kernels in two processes.

A run compiles kernels in the order in which a step needs them. Beside it ``python -m stickslip.cold_start`` begins
with those that a step needs last. Each finds what the other has finished in the cache on disk, so results are those of
any other run; what both begin at the same time is compiled twice, and the last one kept.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from stickslip import jit
from stickslip.compiled.first_use import second_process
from stickslip.solvers.prox import first_sweeps


@contextmanager
def compiled_beside() -> Iterator[subprocess.Popen[bytes] | None]:
    """While kernels of the default solver are not in the cache and a second core is there, a second process compiles.

    It is ended with the block, and writes nothing but the cache.
    """
    if not jit.is_cold(first_sweeps.__name__):
        yield None
        return
    with second_process() as helper:
        yield helper


def compile_from_the_end() -> None:
    """Solve problems of contacts, which need no bodies, then step a scene, whose first stages are cached by then."""
    from stickslip.contact.gallery import mass_ratio, redundant_table
    from stickslip.simulation import Simulation
    from stickslip.solvers.proximal_point import ProximalPoint
    from stickslip.solvers.registry import DEFAULT, make_solver
    from stickslip.warmup import stacked

    problems = mass_ratio().problem, redundant_table().problem
    for problem in problems:
        make_solver(DEFAULT).solve(problem)
        ProximalPoint(sweeps=1, max_iterations=50, tolerance=1e-12).solve(problem)
    Simulation(stacked("box", "sphere"), 0.002).run(2)


if __name__ == "__main__":
    compile_from_the_end()
