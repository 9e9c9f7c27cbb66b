"""What a simulation without a solver gets, by a word."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from stickslip import InputError, Scene, Simulation, Stepping
from stickslip.solvers.auto import Automatic
from stickslip.solvers.quality import ENOUGH, HEAP_BODIES, QUALITIES, solver_options


def falling(count: int) -> Scene:
    scene = Scene()
    scene.add_half_space()
    for k in range(count):
        scene.add_sphere(0.05, (0.2 * (k % 8), 0.2 * (k // 8), 0.5))
    return scene


def options(sim: Simulation) -> tuple[float, int]:
    assert isinstance(sim.solver, Automatic)
    return sim.solver.tolerance, sim.solver.max_iterations


def test_words_choose() -> None:
    found = [options(Simulation(falling(3), quality=word)) for word in QUALITIES]
    assert found == [(1e-4, 50), (1e-8, 2000), (1e-10, 10_000)]
    assert options(Simulation(falling(3))) == options(Simulation(falling(3), solver="auto"))
    assert Simulation(falling(3), solver="auto").quality is None
    with pytest.raises(InputError, match="quality is 'nice'"):
        Simulation(falling(3), quality="nice")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="both solver and quality"):
        Simulation(falling(3), solver="auto", quality="fast")


def test_many_bodies_are_looked_at_where_they_led() -> None:
    """Few iterations let a falling column of 60 boxes lock and burst; whoever wants them asks for them."""
    few, many = falling(HEAP_BODIES - 1), falling(HEAP_BODIES)
    assert options(Simulation(many)) == (1e-8, 2000)
    assert solver_options("normal") == {"enough": ENOUGH}
    found = [Simulation(few), Simulation(many), Simulation(many, dt=0.004), Simulation(many, quality="exact")]
    assert [sim.stepping.redetect for sim in found] == [0, 3, 3, 3]
    assert found[2].stepping.dt == 0.004
    chosen = [Simulation(many, quality="fast"), Simulation(many, solver="auto"), Simulation(many, stepping=Stepping())]
    assert [sim.stepping.redetect for sim in chosen] == [0, 0, 0]


def test_a_tall_column_that_falls_comes_to_rest() -> None:
    """80 boxes, 320 contacts: steps may end at ENOUGH, and at rest they reach the tolerance all the same."""
    scene, random = Scene(), np.random.default_rng(1)
    scene.add_half_space(friction=0.5)
    for k in range(80):
        place = 0.003 * random.normal(size=2)
        scene.add_box((0.1, 0.1, 0.1), (*place, 0.06 + 0.11 * k), mass=1.0, friction=0.5)
    sim, seen = Simulation(scene, dt=0.005), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sim.run(170, lambda result: seen.append(result.certificate))
    assert {each.status for each in seen} <= {"converged", "max-iterations", "overlapping"}
    assert max(each.natural_residual for each in seen) <= ENOUGH
    assert all(each.converged and each.natural_residual <= 1e-8 for each in seen[-20:])
    assert seen[-1].energy.kinetic < 1e-10
    assert any("as quality 'normal' does with heaps" in str(item.message) for item in caught)
    ended = sum(each.status == "max-iterations" for each in seen)
    assert ended > 0
    assert f"{ended} ended early, at a residual of 0.001 at most" in str(sim.summary())


def test_only_large_islands_of_contacts_end_early() -> None:
    """A hundred boxes apart from each other are solved to the tolerance, whatever is enough for a heap."""
    scene = Scene()
    scene.add_half_space(friction=0.5)
    for k in range(100):
        scene.add_box((0.1, 0.1, 0.1), (0.2 * (k % 10), 0.2 * (k // 10), 0.05), velocity=(0.5, 0.0, 0.0))
    sim = Simulation(scene, dt=0.005)
    sim.run(3, lambda result: None)
    assert sim.last is not None
    assert sim.last.certificate.contacts == 400
    assert sim.last.certificate.converged


def test_exact_is_exact() -> None:
    sim = Simulation(falling(4), dt=0.005, quality="exact")
    sim.run(80)
    assert sim.last is not None
    assert sim.last.certificate.converged
    assert sim.last.certificate.natural_residual <= 2e-10
