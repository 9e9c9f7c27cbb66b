"""The non-smooth Newton method on elements as rows, [macklin2019] sec. 9: few iterations, for every material."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stickslip
from stickslip.scene.soft_body import MODELS
from stickslip.scenes.registry import SCENES
from stickslip.solvers.newton.newton import NonsmoothNewton


def run(name: str, steps: int, solver: NonsmoothNewton, dt: float | None = None, **parameters: Any) -> list[Any]:
    """Solutions of the first steps of a scene."""
    entry = SCENES[name]
    sim = stickslip.Simulation(entry.build(**parameters), dt=dt or entry.dt, solver=solver)
    assert sim.method.as_rows is not None
    return [sim.step().solution for _ in range(steps)]


@pytest.mark.parametrize("model", [model for model in MODELS if model != "mooney-rivlin"])
def test_every_material_is_stretched_in_few_iterations(model: str) -> None:
    """A bar pulled by 2.5 % of its length in 10 steps: each converges to 1e-6, in 12 iterations or fewer in the
    mean."""
    found = run("extension", 10, NonsmoothNewton(tolerance=1e-6), model=model, divisions=(6.0, 2.0, 2.0), ramp=0.4)
    assert all(each.converged for each in found)
    assert np.mean([each.iterations for each in found]) <= 12


def test_rubber_of_mooney_and_rivlin_is_stretched_in_few_iterations() -> None:
    """The same for a material that is given by coefficients of its own."""
    material = stickslip.elastic(mooney=(2e4, 5e3, 1e6), density=1000.0, beta=0.005)
    mesh = stickslip.tet_generators.box((0.4, 0.1, 0.1), (6, 2, 2))
    scene = stickslip.Scene(gravity=(0.0, 0.0, 0.0))
    bar = scene.add_soft(mesh, material, (0.0, 0.0, 0.1))
    scene.hold_nodes(bar, mesh.nodes[:, 0] < -0.199)
    scene.hold_nodes(bar, mesh.nodes[:, 0] > 0.199, lambda time: ((0.5 * time, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)))
    sim = stickslip.Simulation(scene, dt=0.0083, solver=NonsmoothNewton(tolerance=1e-6))
    found = [sim.step().solution for _ in range(10)]
    assert all(each.converged for each in found)
    assert np.mean([each.iterations for each in found]) <= 12


def test_a_bound_on_the_stiffness_keeps_blocks_apart() -> None:
    """Column sums keep A block diagonal: more iterations, and to the same velocities."""
    common: dict[str, Any] = {"tolerance": 1e-6}
    direct = run("extension", 2, NonsmoothNewton(**common), divisions=(4.0, 2.0, 2.0))
    iterated = run(
        "extension", 2, NonsmoothNewton(linear="direct", **common),
        divisions=(4.0, 2.0, 2.0),
    )  # fmt: skip
    assert all(each.converged for each in iterated)
    speed = np.abs(direct[-1].v).max()
    np.testing.assert_allclose(iterated[-1].v, direct[-1].v, atol=1e-4 * speed)
    assert iterated[-1].iterations > direct[-1].iterations


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dt", "steps", "mean", "most"),
    [("twist", None, 20, 12, 20), ("pneunet", 0.0083, 8, 8, 20), ("soft-ball", None, 55, 6, 20)],
)
def test_soft_scenes_converge(name: str, dt: float | None, steps: int, mean: float, most: int) -> None:
    """Every step to 1e-6."""
    found = run(name, steps, NonsmoothNewton(tolerance=1e-6), dt)
    assert all(each.converged for each in found)
    used = [each.iterations for each in found]
    assert np.mean(used) <= mean
    assert max(used) <= most
