"""Every solver on every problem of the gallery, against the known solution."""

import numpy as np
import pytest

from stickslip.contact.gallery import GALLERY
from stickslip.contact.residual import residual
from stickslip.errors import InputError
from stickslip.solvers.registry import SOLVERS, make_solver

TOO_HARD = {
    (solver, name) for solver in ("prox-jacobi", "nsgs", "xpbd", "cond") for name in ("mass-ratio", "heavy-chain")
}
"""First-order methods need as many iterations as masses differ, and more; they say that they stalled."""
TOO_HARD |= {("nesterov", "heavy-chain")}
TOO_EXACT = {("cond", "delassus-only")}
"""It inverts W with 1e-9 of it added, and ends there."""
TAKE_ELLIPSES = ("cond",)
"""Solvers of contacts with three rows, whatever their friction sets."""
OTHER_SETS = ("ellipse-slips", "disc-spins", "disc-stops", "disc-with-load")
"""Problems with friction sets other than discs of three rows."""
TAKES_ALL_SETS = [solver for solver in SOLVERS if "ellipsoid" in make_solver(solver).takes.friction_sets]
EXACT = [solver for solver in SOLVERS if make_solver(solver).takes.law == "exact"]


def takes(solver: str, problem: str) -> bool:
    """Whether a solver takes the friction sets of a problem of the gallery."""
    ellipses = solver in TAKE_ELLIPSES and problem == "ellipse-slips"
    return solver in TAKES_ALL_SETS or problem not in OTHER_SETS or ellipses


CASES = [
    (solver, problem)
    for solver in EXACT
    for problem in GALLERY
    if (solver, problem) not in TOO_HARD | TOO_EXACT and takes(solver, problem)
]
REFUSED = [(solver, problem) for problem in OTHER_SETS for solver in SOLVERS if not takes(solver, problem)]


@pytest.mark.parametrize(("solver", "name"), CASES)
def test_known_solution(solver: str, name: str) -> None:
    known = GALLERY[name]()
    solution = make_solver(solver, tolerance=1e-10).solve(known.problem)
    assert solution.converged, (solution.status, solution.history[-1])
    assert len(solution.history) == 0 or solution.history[-1, 1] <= 1e-10
    # the residual is relative to |q|, and velocities follow it with the conditioning of the problem
    scale = max(1.0, known.problem.free_speed)
    np.testing.assert_allclose(solution.v, known.v, atol=1e-7 * scale)
    if known.impulses is not None:
        np.testing.assert_allclose(solution.lam, known.impulses, atol=1e-6)
    # of impulses alone; cond never solves with A, so that its velocities meet momentum up to the tolerance only
    assert residual(known.problem, solution.lam).scaled <= (1e-8 if solver == "cond" else 1e-10)


@pytest.mark.parametrize(("solver", "name"), REFUSED)
def test_friction_sets_that_a_solver_does_not_take_are_refused(solver: str, name: str) -> None:
    with pytest.raises(InputError, match=rf"{solver}.*(disc|three rows).*prox-gs"):
        make_solver(solver).solve(GALLERY[name]().problem)


@pytest.mark.parametrize("name", [name for name, make in GALLERY.items() if make().impulses is not None])
def test_solution_of_the_gallery_is_one(name: str) -> None:
    """The stated impulses satisfy the exact law, so the gallery itself is right (where they are unique)."""
    known = GALLERY[name]()
    assert known.impulses is not None
    np.testing.assert_allclose(known.problem.velocity(known.impulses), known.v, atol=1e-12)
    # velocities are differences of the much larger ones that single impulses cause
    caused = np.abs(known.problem.diagonal * known.impulses).max() / (known.problem.free_speed or 1.0)
    assert residual(known.problem, known.impulses).scaled < 1e-12 * max(1.0, caused)


@pytest.mark.parametrize("solver", SOLVERS)
def test_warm_start_at_the_solution_is_quick(solver: str) -> None:
    known = GALLERY["stack-of-five"]()
    first = make_solver(solver, max_iterations=20000).solve(known.problem)
    again = make_solver(solver).solve(known.problem, first.lam)
    assert again.converged
    assert again.iterations <= 25  # sweeps before the residual is looked at
