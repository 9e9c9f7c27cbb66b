"""PROX Gauss-Seidel by itself: the plain method of the paper, its options, its statuses."""

import numpy as np
import pytest

from stickslip import InputError, Scene, Simulation
from stickslip.contact.gallery import GALLERY
from stickslip.contact.residual import residual
from stickslip.scenes.piles import spheres
from stickslip.scenes.walls import wall
from stickslip.solvers.prox.gauss_seidel import MOST_WORSENING, ProxGaussSeidel

PLAIN = ProxGaussSeidel(subspace=0, growth=1.0, max_iterations=20000)


@pytest.mark.parametrize("name", [name for name in GALLERY if name not in ("mass-ratio", "heavy-chain")])
def test_plain_method_of_the_paper(name: str) -> None:
    """Alg. 2 as printed solves everything but mass ratios of 1e4, where it needs as many sweeps and more."""
    known = GALLERY[name]()
    solution = PLAIN.solve(known.problem)
    assert solution.converged
    # five boxes: an error of 1e-8 in the equations is one of 1e-7 in the velocities
    np.testing.assert_allclose(solution.v, known.v, atol=1e-6)


def test_a_solver_that_does_not_arrive_says_so() -> None:
    known = GALLERY["mass-ratio"]()
    slow = PLAIN.solve(known.problem)
    assert slow.status in ("stalled", "max-iterations")
    assert not slow.converged
    assert residual(known.problem, slow.lam).scaled > PLAIN.tolerance
    short = ProxGaussSeidel(max_iterations=3, subspace=0).solve(known.problem)
    assert (short.status, short.iterations) == ("max-iterations", 3)


def test_subspace_steps_solve_what_sweeps_cannot() -> None:
    known = GALLERY["mass-ratio"]()
    solution = ProxGaussSeidel().solve(known.problem)
    assert solution.converged
    assert solution.iterations <= 100


def test_history_is_the_residual_of_the_iterates() -> None:
    known = GALLERY["stack-of-five"]()
    solution = ProxGaussSeidel(record_every=1, subspace=0, max_iterations=40).solve(known.problem)
    np.testing.assert_array_equal(solution.history[:, 0], np.arange(1, 41))
    assert solution.history[-1, 1] == pytest.approx(residual(known.problem, solution.lam).scaled, rel=1e-12)
    assert solution.history[-1, 1] < solution.history[0, 1]


def test_criterion_of_siconos() -> None:
    known = GALLERY["box-slips-on-slope"]()
    solution = ProxGaussSeidel(criterion="siconos", tolerance=1e-6).solve(known.problem)
    assert solution.converged
    assert residual(known.problem, solution.lam).siconos <= 1e-6


def test_no_contacts_is_solved_at_once() -> None:
    scene = Scene()
    scene.add_sphere(0.1, (0, 0, 5))
    solution = Simulation(scene).step().solution
    assert (solution.status, solution.iterations, len(solution.lam)) == ("converged", 0, 0)


@pytest.mark.parametrize(
    ("option", "value"),
    [("tolerance", 0.0), ("max_iterations", 0), ("nu", 1.1), ("growth", 0.5), ("patience", 0), ("criterion", "mine")],
)
def test_options_out_of_range_are_refused(option: str, value: object) -> None:
    with pytest.raises(InputError, match=option):
        ProxGaussSeidel(**{option: value})  # type: ignore[arg-type]


def test_a_bad_warm_start_is_no_worse_than_none() -> None:
    known = GALLERY["stack-of-five"]()
    misleading = 1e6 * np.ones(known.problem.row_count)
    short = ProxGaussSeidel(max_iterations=5, subspace=0)
    assert np.array_equal(short.solve(known.problem, misleading).lam, short.solve(known.problem).lam)


def test_an_iterate_that_wandered_off_is_given_up() -> None:
    """A thin rod deep in the floor: sweeps and subspace steps wander, but never end much worse than they were."""
    scene = Scene()
    scene.add_half_space()
    scene.add_box((2, 0.001, 0.001), (0, 0, 0.2), (0.9, 0.1, 0.2, 0.1))
    sim = Simulation(scene, dt=0.002)
    for _ in range(160):
        result = sim.step()
        reached = result.solution.history[:, 1].min(initial=np.inf)
        start = residual(result.problem, np.zeros(result.problem.row_count)).scaled
        # of the last piece where a step was cut, as the history is
        ended = residual(result.problem, result.solution.lam).scaled
        assert ended <= MOST_WORSENING * min(reached, start) * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize(("torsion", "limit"), [(0.0, 0.06), (0.01, 0.12)])
def test_a_pile_does_not_sink_when_sweeps_are_cut_off(torsion: float, limit: float) -> None:
    """Ten sweeps a step: 0.023 mm deep, with torsion 0.078 mm where a ball rolls off; returning the iterate of
    smallest residual instead gave 0.155 mm."""
    solver = ProxGaussSeidel(tolerance=1e-6, max_iterations=10, subspace=0)
    pile = spheres(count=150, across=5, radius=0.05, density=1000.0, friction=0.5, torsion=torsion)
    sim = Simulation(pile, dt=0.002, solver=solver)
    sim.run(500)
    deepest: list[float] = []
    sim.run(100, lambda result: deepest.append(result.certificate.penetration_mm))
    assert max(deepest) < limit


def test_a_wall_with_torsion_is_solved_in_every_step() -> None:
    """Torsion at its bound in an iterate must not keep the direct solve from holding the bricks.

    How many sweeps come before the direct solve succeeds hangs on rounding (40 to 2,000 for step sizes that hardly
    differ), and so on the processor: the usual number is judged. It was at most 160 in 17 of 21 walls.
    """
    sweeps = []
    for dt in np.linspace(0.0095, 0.0105, 9):
        sim = Simulation(wall(), float(dt), ProxGaussSeidel(tolerance=1e-6))
        for step in range(5):
            result = sim.step()
            assert result.certificate.natural_residual <= 2e-6
            if step == 0:
                sweeps.append(result.solution.iterations)
    assert np.median(sweeps) <= 200
