"""What a simulation without a solver gets: by a word, and by whether its bodies fall or stand."""

from __future__ import annotations

import pytest

from stickslip import InputError, Scene, Simulation
from stickslip.scenes.walls import wall
from stickslip.solvers.auto import Automatic
from stickslip.solvers.quality import EXACT, MANY, PILE, solver_options


def falling(count: int) -> Scene:
    scene = Scene()
    scene.add_half_space()
    for k in range(count):
        scene.add_sphere(0.05, (0.2 * (k % 8), 0.2 * (k // 8), 0.5))
    return scene


def options(sim: Simulation) -> tuple[float, int]:
    assert isinstance(sim.solver, Automatic)
    return sim.solver.tolerance, sim.solver.max_iterations


EXACTLY = (1e-8, 2000)
CHEAPLY = (PILE["tolerance"], PILE["max_iterations"])


def test_words_choose() -> None:
    assert options(Simulation(falling(3))) == EXACTLY
    assert options(Simulation(falling(3), quality="fast")) == CHEAPLY
    assert options(Simulation(falling(MANY), quality="exact")) == EXACTLY
    assert Simulation(falling(3), solver="auto").quality is None
    with pytest.raises(InputError, match="quality is 'nice'"):
        Simulation(falling(3), quality="nice")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="both solver and quality"):
        Simulation(falling(3), solver="auto", quality="fast")


def test_many_bodies_that_fall_are_a_pile_and_those_that_stand_are_not() -> None:
    assert options(Simulation(falling(MANY - 1))) == EXACTLY
    assert options(Simulation(falling(MANY))) == CHEAPLY
    standing = Simulation(wall())
    assert int(standing.model.body_dynamic.sum()) >= MANY
    assert options(standing) == EXACTLY
    assert options(Simulation(falling(MANY), solver="auto")) == EXACTLY  # who names a solver gets its own defaults


def test_half_the_bodies_decide() -> None:
    assert solver_options("normal", MANY, MANY // 2 - 1) == PILE
    assert solver_options("normal", MANY, MANY // 2 + 1) == EXACT
