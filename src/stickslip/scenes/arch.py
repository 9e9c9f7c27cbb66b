"""Arches of voussoirs: the self-supported arch of [macklin2019] sec. 10.1.5, and a semicircular one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.scene.scene import Scene
from stickslip.scenes.metrics import Standing
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation

STONES = ((0.80, 0.74, 0.62), (0.72, 0.66, 0.55), (0.86, 0.80, 0.70))
ABUTMENT = (0.45, 0.45, 0.48)
CENTROID_ROUNDS = 40
"""Rounds in which the centroid of a stone is found to rounding."""
SPRINGING = 0.3
"""[m] height of the abutments."""


def arch(
    voussoirs: int = 20,
    crown_mass: float = 15.0,
    foot_mass: float = 110.0,
    crown_thickness: float = 0.15,
    foot_thickness: float = 0.4,
    foot_slope: float = 2.5,
    depth: float = 0.3,
    density: float = 2000.0,
    friction: float = 0.6,
) -> Scene:
    """An arch that stands by itself, without mortar, on two fixed abutments; its stones grow towards the feet.

    The paper gives 20 bodies, their masses, 15 to 110 kg, and friction 0.6; the rest is ours: thickness of the joints
    at crown and feet, depth [m], density [kg/m^3]. Masses grow by equal amounts from stone to stone. The centre line is
    the arch's own line of thrust, so that every joint is pressed in its middle and square to it, whatever the
    thickness; for even weight along x it would be the parabola of the paper. The springings are level, and so need
    friction: this line leans by 1 / ``foot_slope`` there, and within the thickness a line may lean a little less. By
    default the arch stands from 0.3 on, and so at 0.6 with a margin of two, and slides apart at 0.26 and below.
    """
    scene = Scene()
    scene.add_half_space(friction=friction, name="floor")
    masses, thicknesses = (crown_mass, foot_mass), (crown_thickness, foot_thickness)
    stones = funicular_stones(voussoirs, masses, thicknesses, foot_slope, depth * density)
    for i, outline in enumerate(stones):
        corners = np.array([(x, y, z + SPRINGING) for x, z in outline for y in (-0.5 * depth, 0.5 * depth)])
        scene.add_hull(corners, density=density, friction=friction, colour=STONES[i % 3], name=f"voussoir-{i}")
    foot = stones[-1][2:]
    for side, name in ((-1, "left"), (1, "right")):
        scene.add_box(
            (2.0 * abs(foot[1, 0] - foot[0, 0]), 1.5 * depth, SPRINGING),
            (side * foot[:, 0].mean(), 0.0, 0.5 * SPRINGING),
            kind="static", friction=friction, colour=ABUTMENT, name=f"abutment-{name}",
        )  # fmt: skip
    return scene


def funicular_stones(
    voussoirs: int,
    mass_range: tuple[float, float],
    thickness_range: tuple[float, float],
    foot_slope: float,
    area_density: float,
) -> list[Array]:
    """Outlines (4, 2) [m] in x and z of the stones from left to right, on a springing line at z = 0.

    Corners: inner and outer of the left joint, inner and outer of the right one. mass_range [kg] and thickness_range
    [m]: at crown and feet; area_density [kg/m^2]: of the outlines.
    Joint k carries the weight V_k of the arch from the crown to there against the horizontal thrust H; the thrust line
    has the slope V_k / H in the joint, and changes it below the centroid of each stone. So the middles of two joints
    differ by the slopes of both, weighted by the shares of the line before and behind the centroid, which is found by
    iteration. The area of a quadrilateral is the line between the middles of two sides times (crosswise) their mean, so
    lengths follow from masses.
    """
    voussoirs = whole_number("arch", "voussoirs", voussoirs, 3)
    for end, mass, thickness in zip(("crown", "foot"), mass_range, thickness_range, strict=True):
        positive("arch", f"{end}_mass", mass)
        positive("arch", f"{end}_thickness", thickness)
    positive("arch", "foot_slope", foot_slope)
    positive("arch", "depth times density", area_density)
    half = (voussoirs + 1) // 2  # of an odd number, the first is half of the key stone
    masses = np.linspace(*mass_range, half)
    if voussoirs % 2:
        masses[0] *= 0.5
    carried = np.concatenate([[0.0], np.cumsum(masses)])
    slope = foot_slope * carried / carried[-1]
    thicknesses = np.linspace(*thickness_range, half + 1)
    # from the inner to the outer end of each joint, square to the thrust; the last one is level
    side = thicknesses[:, None] * np.column_stack([slope, np.ones(half + 1)]) / np.hypot(slope, 1.0)[:, None]
    side[-1] = thicknesses[-1] * math.hypot(foot_slope, 1.0) / foot_slope, 0.0
    middle = np.zeros((half + 1, 2))
    for k in range(half):
        if k == 0 and voussoirs % 2:  # half of a trapezium about the axis
            middle[1, 0] = masses[0] / area_density / side[1, 1]
            continue
        across = 0.5 * (side[k] + side[k + 1])
        share = 0.5
        for _ in range(CENTROID_ROUNDS):
            along = np.array([1.0, -share * slope[k] - (1.0 - share) * slope[k + 1]])
            way = along * masses[k] / area_density / (along[0] * across[1] - along[1] * across[0])
            share = _centroid_x(way, side[k], side[k + 1]) / way[0]
        middle[k + 1] = middle[k] + way
    middle[:, 1] -= middle[-1, 1]
    inner, outer = middle - 0.5 * side, middle + 0.5 * side
    if ((np.diff(inner, axis=0) * np.diff(middle, axis=0)).sum(axis=1) <= 0.0).any():
        raise InputError(
            f"arch: joints {thickness_range[0]} to {thickness_range[1]} m thick would cross within stones of "
            f"{mass_range[0]} to {mass_range[1]} kg; make them thinner"
        )
    right = [np.array([inner[k], outer[k], inner[k + 1], outer[k + 1]]) for k in range(half)]
    mirror = np.array([-1.0, 1.0])
    left = [stone[[2, 3, 0, 1]] * mirror for stone in reversed(right)]
    if voussoirs % 2:
        key = np.concatenate([left.pop()[:2], right.pop(0)[2:]])
        return [*left, key, *right]
    return left + right


def _centroid_x(way: Array, start: Array, end: Array) -> float:
    """x of the centroid of a quadrilateral with the middles of its sides ``start``, ``end`` (2,) at 0 and ``way``."""
    a, b, c, d = -0.5 * start, 0.5 * start, way + 0.5 * end, way - 0.5 * end
    first, second = (abs(p[0] * q[1] - p[1] * q[0]) for p, q in ((b - a, c - a), (c - a, d - a)))
    return float((first * (a[0] + b[0] + c[0]) + second * (a[0] + c[0] + d[0])) / (3.0 * (first + second)))


def arch_metrics(sim: Simulation, parameters: Mapping[str, Any]) -> Standing:
    """The arch stands while no block has moved by half the thickness of its crown."""
    return Standing(sim, 0.5 * parameters["crown_thickness"])


def round_arch(
    voussoirs: int = 15,
    span: float = 4.0,
    thickness: float = 0.4,
    depth: float = 0.5,
    density: float = 2000.0,
    friction: float = 0.6,
) -> Scene:
    """A semicircular arch of equal wedge-shaped blocks that stand without mortar on two fixed abutments.

    span: diameter of the centre line [m]; thickness (radial) and depth [m]; density [kg/m^3]. Such an arch needs a
    thickness above 0.1075 of the centre line's radius (Heyman), and a friction above 0.31 to 0.40, depending on
    thickness, or its springings slide. The default ratio is 0.2: it stands at friction 0.6 and 1.0 and falls at 0.2.
    """
    voussoirs = whole_number("round-arch", "voussoirs", voussoirs, 3)
    radius = 0.5 * span
    if not 0.0 < thickness < span:
        raise InputError(f"round-arch: thickness is {thickness}; it must be positive and below the span {span}")
    scene = Scene()
    edges = np.linspace(math.pi, 0.0, voussoirs + 1)
    for i in range(voussoirs):
        corners = voussoir(radius, thickness, depth, edges[i], edges[i + 1])
        scene.add_hull(
            corners, (0.0, 0.0, SPRINGING), density=density, friction=friction, colour=STONES[i % 3],
            name=f"voussoir-{i}",
        )  # fmt: skip
    for side, name in ((-1, "left"), (1, "right")):
        scene.add_box(
            (2.0 * thickness, 1.5 * depth, SPRINGING), (side * radius, 0.0, 0.5 * SPRINGING),
            kind="static", friction=friction, colour=ABUTMENT, name=f"abutment-{name}",
        )  # fmt: skip
    scene.add_half_space(friction=friction, name="floor")
    return scene


def voussoir(radius: float, thickness: float, depth: float, start: float, end: float) -> Array:
    """Corners (8, 3) [m] of the block between two angles [rad] of a circle about the origin in the x-z plane."""
    return np.array(
        [
            (r * math.cos(angle), y, r * math.sin(angle))
            for angle in (start, end)
            for r in (radius - 0.5 * thickness, radius + 0.5 * thickness)
            for y in (-0.5 * depth, 0.5 * depth)
        ]
    )


def round_arch_metrics(sim: Simulation, parameters: Mapping[str, Any]) -> Standing:
    """The arch stands while no block has moved by half its thickness."""
    return Standing(sim, 0.5 * parameters["thickness"])
