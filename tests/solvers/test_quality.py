"""What a simulation without a solver gets, by a word."""

from __future__ import annotations

import pytest

from stickslip import InputError, Scene, Simulation
from stickslip.solvers.auto import Automatic
from stickslip.solvers.quality import OPTIONS, QUALITIES, solver_options


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


def test_many_bodies_do_not_choose_by_themselves() -> None:
    """Few iterations let a falling column of 60 boxes lock and burst; whoever wants them asks for them."""
    assert options(Simulation(falling(60))) == (1e-8, 2000)
    assert solver_options("normal") == OPTIONS["normal"] == {}


def test_exact_is_exact() -> None:
    sim = Simulation(falling(4), dt=0.005, quality="exact")
    sim.run(80)
    assert sim.last is not None
    assert sim.last.certificate.converged
    assert sim.last.certificate.natural_residual <= 2e-10
