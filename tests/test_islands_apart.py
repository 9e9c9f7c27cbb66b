"""What happens elsewhere in a scene changes neither the bits nor the iterations of an island."""

import numpy as np
import pytest

from stickslip import Scene, Simulation, Stepping
from stickslip.solvers.registry import SOLVERS

STEPS = 12
SOLVERS_APART = [name for name in SOLVERS if name not in ("penalty", "newton")]
"""newton linearises all islands together, and the shift of its contacts follows the residual of all of them."""


def two_boxes(scene: Scene) -> list:
    scene.add_half_space()
    lower = scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.1), mass=1.0, friction=0.5)
    upper = scene.add_box((0.2, 0.2, 0.2), (0.03, 0.01, 0.3), mass=8.0, friction=0.5, velocity=(0.3, 0.1, 0))
    return [lower, upper]


def sphere(scene: Scene) -> None:
    scene.add_sphere(0.1, (50, 0, 0.1), mass=3.0, friction=0.5)


def falling(scene: Scene) -> None:
    scene.add_sphere(0.1, (50, 0, 40.0), velocity=(30, 0, -5))


def rolling(scene: Scene) -> None:
    scene.add_sphere(0.1, (50, 0, 0.1), velocity=(3, 1, 0), friction=0.5)


def pendulum(scene: Scene) -> None:
    bob = scene.add_sphere(0.1, (50, 0, 2.0))
    scene.add_revolute(None, bob, (50, 0, 3.0), (0, 1, 0))


def spinning(scene: Scene) -> None:
    """Joints that turn, and a box that turns freely: its momentum is not that of the boxes' step."""
    pendulum(scene)
    scene.add_box((0.1, 0.2, 0.3), (60, 0, 9.0), angular_velocity=(5, 9, 1))


def many_in_the_air(scene: Scene) -> None:
    """More unknowns than direct solves take, none of which anything touches."""
    for k in range(260):
        scene.add_sphere(0.05, (50 + 0.5 * (k % 20), 10 + 0.5 * (k // 20), 60.0))


def bullet(scene: Scene) -> None:
    scene.add_sphere(0.1, (50, 0, 900.0), velocity=(900.0, 0, 0))


OTHERS = {
    "sphere": sphere,
    "falling": falling,
    "rolling": rolling,
    "pendulum": pendulum,
    "spinning": spinning,
    "many": many_in_the_air,
    "bullet": bullet,
}


def run(build, other=None, **options) -> tuple[list[bytes], list[int]]:  # type: ignore[no-untyped-def]
    scene = Scene()
    bodies = build(scene)
    if other is not None:
        other(scene)
    sim = Simulation(scene, **options)
    bits, iterations = [], []
    for _ in range(STEPS):
        result = sim.step()
        bits.append(
            b"".join(
                sim.state.body_pose[b.index].tobytes() + sim.state.body_velocity[b.index].tobytes() for b in bodies
            )
        )
        iterations.append(result.certificate.iterations)
    return bits, iterations


@pytest.mark.parametrize("other", OTHERS)
def test_two_stacked_boxes_do_not_see_what_is_far_away(other: str) -> None:
    alone, beside = (run(two_boxes, each, dt=0.005, solver="auto") for each in (None, OTHERS[other]))
    assert alone[0] == beside[0]
    if other in ("sphere", "falling", "many", "bullet"):  # which needs no more iterations than the boxes do
        assert alone[1] == beside[1]


@pytest.mark.parametrize("solver", SOLVERS_APART)
def test_the_same_with_every_solver(solver: str) -> None:
    alone, beside = (run(two_boxes, each, dt=0.005, solver=solver) for each in (None, sphere))
    assert alone[0] == beside[0]


@pytest.mark.parametrize("scheme", ["euler", "moreau", "passive"])
def test_the_same_with_every_scheme(scheme: str) -> None:
    stepping = Stepping(dt=0.005, scheme=scheme)
    alone, beside = (run(two_boxes, each, stepping=stepping) for each in (None, rolling))
    assert alone[0] == beside[0]


def hinged_boxes(scene: Scene) -> list:
    one = scene.add_box((0.2, 0.1, 0.1), (0, 0, 2.0))
    two = scene.add_box((0.2, 0.1, 0.1), (0.3, 0, 2.0), velocity=(0, 0, 1))
    scene.add_revolute(None, one, (-0.1, 0, 2.0), (0, 1, 0))
    scene.add_revolute(one, two, (0.15, 0, 2.0), (0, 1, 0))
    return [one, two]


@pytest.mark.parametrize("other", OTHERS)
def test_jointed_bodies_do_not_see_it_either(other: str) -> None:
    alone, beside = (run(hinged_boxes, each, dt=0.005, solver="auto") for each in (None, OTHERS[other]))
    assert alone[0] == beside[0]


def test_a_part_is_the_problem_that_an_island_has_alone() -> None:
    """Residuals of an island's own problem, cut out of a larger one, are those of the scene without the others."""
    from stickslip.contact.residual import residual
    from stickslip.solvers.island_split import part_of

    def problem(other=None):  # type: ignore[no-untyped-def]
        scene = Scene()
        hinged_boxes(scene)
        if other is not None:
            other(scene)
        return Simulation(scene, dt=0.005).step().problem

    whole, alone = problem(rolling), problem()
    parts = [part_of(whole, whole.islands, [i]).problem for i in range(whole.islands.island_count)]
    part = next(each for each in parts if each.block_count == alone.block_count)
    lam = np.linspace(-1.0, 1.0, alone.row_count)
    assert residual(part, lam) == residual(alone, lam)
