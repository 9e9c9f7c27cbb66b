"""A solver of one's own: declared, registered, and then known by its name to simulations and comparisons."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from stickslip import Scene, Simulation, make_solver
from stickslip.arrays import Array
from stickslip.contact.gallery import GALLERY
from stickslip.contact.problem import ContactProblem
from stickslip.errors import InputError
from stickslip.experiments.comparison import compare
from stickslip.solvers.budget import Clock
from stickslip.solvers.iterative import ConvergenceMonitor, Iterative
from stickslip.solvers.protocol import Relinearise, Solution, Takes
from stickslip.solvers.registry import register


@register
@dataclass(frozen=True)
class DampedJacobi(Iterative):
    """Damped projected Jacobi: all contacts step along their velocities at once, then go back into their cones."""

    name: ClassVar[str] = "damped-jacobi"

    tolerance: float = 1e-6
    max_iterations: int = 20000
    damping: float = 1.5
    """Step over the one that W allows by the sum of each of its rows; below 2, or neighbours push each other away."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_range("damping", 0.0, 2.0)

    @cached_property
    def takes(self) -> Takes:
        """Contacts with friction discs and nothing else; soft bodies and compliance are turned into such problems."""
        return Takes(law="exact", criterion=self.criterion, laws=("contact",), friction_sets=("disc",))

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Iterate lam <- P(lam - r (u + mu |u_t| n)), De Saxce's form of the exact law."""
        clock = Clock(self.max_seconds)
        lam, _, value = self.start(problem, warm)
        watch, iterations = ConvergenceMonitor(self, problem, lam, value, 5000, clock), 0
        watch.note(lam, value, 0)
        mu = problem.laws.friction[:, 0]
        r = self.damping / np.maximum(row_sums(problem), 1e-300)[:, None]
        while watch.goes_on(iterations):
            u = problem.constraint_velocity(problem.velocity(lam)).reshape(-1, 3)
            u[:, 0] += mu * np.hypot(u[:, 1], u[:, 2])
            lam = into_cones(lam.reshape(-1, 3) - r * u, mu).ravel()
            iterations += 1
            if iterations % 20 == 0 or watch.ends(iterations):
                watch.look(lam, iterations)
        lam = watch.settled(lam)
        return Solution(problem.velocity(lam), lam, watch.status, iterations, np.array(watch.history))


def row_sums(problem: ContactProblem) -> Array:
    """(n,) [1/kg] sums of the sizes of all entries of W in the three rows of each contact."""
    W = problem.delassus
    contact = np.repeat(np.arange(problem.block_count), np.diff(W.data_start[W.entry_start]))
    return np.bincount(contact, np.abs(W.data), problem.block_count)


def into_cones(z: Array, mu: Array) -> Array:
    """The points of Coulomb's cones nearest to z (n, 3), normal first."""
    n, size = z[:, 0], np.hypot(z[:, 1], z[:, 2])
    inside, below = size <= mu * n, mu * size <= -n
    normal = np.where(inside, n, np.where(below, 0.0, (mu * size + n) / (1.0 + mu * mu)))
    share = np.where(inside, 1.0, np.where(below, 0.0, mu * normal / np.maximum(size, 1e-300)))
    return np.column_stack([normal, share * z[:, 1], share * z[:, 2]])


def main() -> None:
    """Problems with known answers, a simulation, a comparison."""
    solved = tried = 0
    for name, known in GALLERY.items():
        try:
            found = make_solver("damped-jacobi").solve(known().problem)
        except InputError as error:
            print(f"{name:22} {str(error).split('; ')[0]}")
            continue
        print(f"{name:22} {found.status:15} {found.iterations:6} iterations, residual {found.exact_residual:.1e}")
        solved, tried = solved + found.converged, tried + 1
    print(f"solved {solved} of {tried} problems of contacts")

    scene = Scene()
    scene.add_half_space(friction=0.5)
    for k in range(3):
        scene.add_box((0.1, 0.1, 0.1), (0.02 * k, 0, 0.05 + 0.1 * k), friction=0.5)
    sim = Simulation(scene, dt=0.005, solver="damped-jacobi")
    steps = [sim.step().certificate for _ in range(20)]
    print(f"a stack: {sum(each.converged for each in steps)} of {len(steps)} steps converged")

    problems = {name: GALLERY[name]().problem for name in ("stack-of-five", "wedge-jams")}
    found = compare(problems, [make_solver("prox-gs", tolerance=1e-6), make_solver("damped-jacobi")])
    for row in found.rows:
        print(f"{row.problem}, {row.solver}: {'solved' if row.solved else row.status}, {row.iterations} iterations")


if __name__ == "__main__":  # the process of the comparison loads this file, too
    main()
