"""Walls and towers of boxes, [erleben2017] Table 1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from stickslip.errors import InputError
from stickslip.geometry.rotation import about_axis
from stickslip.scene.scene import Scene
from stickslip.scenes.lattice import scaled
from stickslip.scenes.metrics import Standing
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation

BRICK_COLOURS = ((0.70, 0.30, 0.22), (0.78, 0.42, 0.30), (0.62, 0.25, 0.20), (0.80, 0.50, 0.36))


def brick_colour(number: int) -> tuple[float, float, float]:
    """One of a few reds, so that neighbours can be told apart."""
    return BRICK_COLOURS[(number * 7 + number // 5) % len(BRICK_COLOURS)]


def wall(
    scale: float = 1.0,
    courses: int = 10,
    bricks: int = 8,
    length: float = 0.2,
    height: float = 0.1,
    width: float = 0.1,
    joint: float = 0.002,
    shift: float = 1.0 / 3.0,
    density: float = 2000.0,
    friction: float = 0.75,
    torsion: float = 0.01,
) -> Scene:
    """A free-standing wall: ``courses`` courses of ``bricks`` whole bricks, by default 80 and the floor.

    That is 81 bodies, the paper's number: its counts include what is fixed (spheres 1730 = 12^3 + 2). length, height,
    width of a brick and the open joint between neighbours [m]; density [kg/m^3]; torsion: coefficient of torsional
    friction [m]. scale: number of bricks over the default. Every other course is shifted by the share ``shift`` of a
    brick, at most 1/2: with 1/2, as in the author's runs, the last brick of a course, which has no half brick beside
    it, balances on the edge of the one below. The paper does not give the layout.
    """
    courses = scaled("wall", scale, whole_number("wall", "courses", courses, 1), 2)
    bricks = scaled("wall", scale, whole_number("wall", "bricks", bricks, 1), 2)
    if not 0.0 <= shift <= 0.5:
        raise InputError(f"wall: shift is {shift}; it must be at least 0 and at most 0.5")
    pitch = length + joint
    scene = Scene()
    scene.add_half_space(friction=friction, torsion=torsion, name="floor")
    for course in range(courses):
        for i in range(bricks):
            x = (i - 0.5 * (bricks - 1) + (shift if course % 2 else 0.0)) * pitch
            scene.add_box(
                (length, width, height), (x, 0.0, (course + 0.5) * height), density=density, friction=friction,
                torsion=torsion, colour=brick_colour(course * bricks + i), name=f"brick-{course}-{i}",
            )  # fmt: skip
    return scene


def tower(
    scale: float = 1.0,
    rings: int = 8,
    bricks: int = 6,
    radius: float = 0.3,
    height: float = 0.12,
    width: float = 0.12,
    joint: float = 0.004,
    density: float = 2000.0,
    friction: float = 0.75,
    torsion: float = 0.01,
) -> Scene:
    """A round tower: ``rings`` rings of ``bricks`` boxes, each turned by half a brick, by default 48 and the floor.

    That is 49 bodies, the paper's number: its counts include what is fixed (spheres 1730 = 12^3 + 2). radius of the
    circle of the bricks' centres, height and radial width of a brick, and joint between the inner corners of
    neighbours [m]; density [kg/m^3]; torsion: coefficient of torsional friction [m]. scale: number of rings over the
    default. The paper does not give the layout.
    """
    scene = Scene()
    scene.add_half_space(friction=friction, torsion=torsion, name="floor")
    rings = scaled("tower", scale, whole_number("tower", "rings", rings, 1))
    add_tower(scene, (0.0, 0.0), rings, bricks, radius, height, width, joint, density, friction, torsion)
    return scene


def add_tower(
    scene: Scene,
    centre: tuple[float, float],
    rings: int,
    bricks: int,
    radius: float,
    height: float,
    width: float,
    joint: float,
    density: float,
    friction: float,
    torsion: float = 0.0,
) -> None:
    """Add the bricks of a round tower about ``centre`` (x, y) [m]; the rest as for :func:`tower`."""
    rings = whole_number("tower", "rings", rings, 1)
    bricks = whole_number("tower", "bricks", bricks, 3)
    step = 2.0 * math.pi / bricks
    # neighbours come closest at their inner corners, which lie on the bisector between them
    length = 2.0 * (radius - 0.5 * width) * math.tan(0.5 * step) - joint
    if not length > 0.0:
        raise InputError(
            f"tower: radius {radius} leaves no room for {bricks} bricks of width {width} and joint {joint}"
        )
    for ring in range(rings):
        for i in range(bricks):
            angle = (i + 0.5 * (ring % 2)) * step
            x, y = centre[0] + radius * math.cos(angle), centre[1] + radius * math.sin(angle)
            scene.add_box(
                (width, length, height), (x, y, (ring + 0.5) * height), about_axis((0, 0, 1), angle),
                density=density, friction=friction, torsion=torsion, colour=brick_colour(ring * bricks + i),
                name=f"brick-{ring}-{i}",
            )  # fmt: skip


def wall_metrics(sim: Simulation, parameters: Mapping[str, Any]) -> Standing:
    """A wall or tower stands while no brick has moved by half its height."""
    return Standing(sim, 0.5 * parameters["height"])
