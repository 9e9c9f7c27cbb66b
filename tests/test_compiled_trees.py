"""Robots by the compiled driver: the steps of the Python driver, bit for bit, or handed back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from robot_records import ABOUT_Y, arm, crawler, floating_box, pendulum, rod_link
from test_compiled import same

from stickslip import Scene, Simulation, Stepping
from stickslip.compiled.driver import reason_against
from stickslip.geometry.shapes import Box, placed
from stickslip.robots.records import (
    Actuator,
    FixedTendon,
    JointEquality,
    LinkShape,
    RobotRecord,
    TreeJoint,
    TreeLink,
)
from stickslip.solvers.registry import make_solver

pytestmark = pytest.mark.slow

FILES = Path("/work/shared/data/robots/mjcf")


def both(
    scene: Scene, steps: int, solver: str = "auto", change: Callable[[Simulation], None] | None = None, **options: object
) -> int:
    """Take steps by both drivers, comparing all; returns how many the compiled one took."""
    stepping = Stepping(**{"dt": 0.004, **options})  # type: ignore[arg-type]
    plain, fast = (
        Simulation(scene, solver=solver, stepping=stepping, driver=driver) for driver in ("python", "compiled")
    )
    for sim in (plain, fast):
        if change:
            change(sim)
    return sum(same(plain.step(), fast.step()) for _ in range(steps))


def ground() -> Scene:
    scene = Scene()
    scene.add_half_space()
    return scene


def swinging(**joint: object) -> Scene:
    """A double pendulum against its limits, with friction and springs."""
    scene = Scene()
    options = {"limits": (-0.4, 0.3), "friction": 0.2, "damping": 0.01, "stiffness": 2.0, "rest": 0.1} | joint
    links = tuple(rod_link(f"rod{k}", k - 1, 0.5, (0.5 * min(k, 1), 0.0, 0.0), **options) for k in range(3))
    scene.add_tree(RobotRecord("pendulum", links))
    return scene


OPTIONS = ({}, {"scheme": "moreau"}, {"warm_start": False}, {"scheme": "symplectic"})


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_pendulum_meets_its_limits_with_the_same_bits(options: dict[str, object]) -> None:
    assert both(swinging(), 100, **options) == 100


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_floating_bases_fall_with_the_same_bits(options: dict[str, object]) -> None:
    scene = ground()
    scene.add_tree(floating_box(position=(0.0, 0.0, 0.06)))
    scene.add_tree(floating_box(position=(0.05, 0.0, 0.17), rotation=(0.998, 0.05, 0.0, 0.0)), "other")
    scene.add_box((0.2, 0.2, 0.1), (0.0, 0.02, 0.3))
    assert both(scene, 100, **options) > 60


@pytest.mark.parametrize("limit", [87.0, 2.0, np.inf])
def test_driven_arms_have_the_same_bits(limit: float) -> None:
    scene = ground()
    record = arm(friction=0.3)
    drives = tuple(
        Actuator(d.name, d.kind, d.terms, d.gain, d.bias, None, None if limit == np.inf else (-limit, limit))
        for d in record.actuators
    )
    robot = scene.add_tree(RobotRecord("arm", record.links, actuators=drives))

    def aimed(sim: Simulation) -> None:
        sim.set_control(robot, position=np.full(7, 0.7), velocity=np.full(7, 0.1), effort=np.full(7, 0.2))

    assert both(scene, 80, change=aimed) == 80
