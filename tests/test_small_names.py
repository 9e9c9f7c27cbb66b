"""Names that people try first: time, bounds, vertices, joints by their full names, other spellings, typing errors."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi, sin, sqrt

import numpy as np
import pytest

from stickslip import InputError, Scene, Simulation, elastic, tet_generators
from stickslip.keywords import KeywordError

TURNED = (cos(pi / 8), sin(pi / 8), 0.0, 0.0)
"""By 45 degrees about x."""


def test_run_takes_steps_or_time() -> None:
    scene = Scene(gravity=(0, 0, 0))
    scene.add_sphere(0.1)
    sim = Simulation(scene, dt=0.01)
    sim.run(time=0.05)
    assert sim.state.steps == 5
    assert sim.time == sim.state.time
    sim.run(2)
    assert sim.state.steps == 7
    for wrong in ({}, {"steps": 3, "time": 0.1}):
        with pytest.raises(InputError, match="either steps or time"):
            sim.run(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="time"):
        sim.run(time=-1.0)


HALF = sqrt(0.5)
SHAPES: dict[str, tuple[Callable[[Scene], object], tuple[float, float, float]]] = {
    "sphere": (lambda scene: scene.add_sphere(0.2, (1, 2, 3), TURNED), (0.2, 0.2, 0.2)),
    "box": (lambda scene: scene.add_box((0.2, 0.4, 0.6), (1, 2, 3), TURNED), (0.1, 0.5 * HALF, 0.5 * HALF)),
    "capsule": (
        lambda scene: scene.add_capsule(0.1, 0.4, (1, 2, 3), TURNED), (0.1, 0.1 + 0.2 * HALF, 0.1 + 0.2 * HALF)
    ),
    "cylinder": (
        lambda scene: scene.add_cylinder(0.1, 0.4, (1, 2, 3), TURNED), (0.1, 0.3 * HALF, 0.3 * HALF)
    ),
}  # fmt: skip
"""A body about (1, 2, 3), turned, and half of the box about it."""


@pytest.mark.parametrize("name", SHAPES)
def test_bounds_in_closed_form(name: str) -> None:
    add, half = SHAPES[name]
    scene = Scene()
    body = add(scene)
    sim = Simulation(scene, dt=0.01)
    low, high = sim.bounds(body)  # type: ignore[arg-type]
    assert np.allclose(low, np.array([1, 2, 3]) - half, atol=1e-15)
    assert np.allclose(high, np.array([1, 2, 3]) + half, atol=1e-15)
    points = sim.vertices(body)  # type: ignore[arg-type]
    assert (points > low - 1e-12).all()
    assert (points < high + 1e-12).all()
    assert np.allclose(np.ptp(points, axis=0), 2 * np.array(half), rtol=0.02)


def test_bounds_of_hulls_and_soft_bodies() -> None:
    scene = Scene()
    hull = scene.add_hull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], (1, 1, 1))
    soft = scene.add_soft(tet_generators.box((1, 1, 1), 1), elastic(1e5, 0.3), (3, 0, 0))
    ground = scene.add_half_space(position=(0, 0, -5))
    sim = Simulation(scene, dt=0.01)
    assert np.allclose(sim.bounds(hull), [[1, 1, 1], [2, 2, 2]])
    assert np.allclose(sim.bounds(soft), [[2.5, -0.5, -0.5], [3.5, 0.5, 0.5]])
    assert np.array_equal(sim.vertices(soft), sim.nodes(soft))
    with pytest.raises(InputError, match="half-space"):
        sim.bounds(ground)


def test_joints_by_their_full_names() -> None:
    for name in ("fixed", "ball", "revolute", "prismatic", "cylindrical", "universal", "distance"):
        full, short = getattr(Scene, f"add_{name}_joint"), getattr(Scene, f"add_{name}")
        assert full is short
    scene = Scene()
    bob = scene.add_sphere(0.1)
    joint = scene.add_ball_joint(None, bob, (0, 0, 1))
    assert Simulation(scene, dt=0.01).joint_position(joint).shape == (0,)


def test_color_is_colour() -> None:
    scene = Scene()
    scene.add_box((1, 1, 1), color=(1.0, 0.0, 0.0))  # type: ignore[call-arg]
    assert scene.bodies[0].colour == (1.0, 0.0, 0.0)


def test_unknown_keywords_are_answered_with_the_closest() -> None:
    scene = Scene()
    body = scene.add_sphere(0.1)
    sim = Simulation(scene, dt=0.01)
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: scene.add_box((1, 1, 1), frictoin=0.5), r"Scene.add_box.*'frictoin'.*did you mean friction"),
        (lambda: scene.add_ball_joint(None, body, brake_force=1), r"did you mean break_force"),
        (lambda: scene.add_soft(None, None, frictio=1), r"did you mean friction"),
        (lambda: sim.set_force(body, forse=(0, 0, 1)), r"Simulation.set_force.*did you mean force"),
    ]  # type: ignore[call-arg]
    for call, message in calls:
        with pytest.raises(KeywordError, match=message) as caught:
            call()
        assert isinstance(caught.value, InputError)
        assert isinstance(caught.value, TypeError)
