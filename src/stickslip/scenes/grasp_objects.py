"""Objects to grasp, made by code: solids of closed meshes, and sheets and surfaces that bound no solid.

Like those of [macklin2019] sec. 10.1.3 they are no shapes that a hand was made for; sizes are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array, Ints
from stickslip.geometry import generators, unit_surfaces
from stickslip.geometry import rotation as rotations

Surface = tuple[Array, Ints]
AROUND = 20
"""Segments of circles."""
UPRIGHT, ACROSS = (1.0, 0.0, 0.0, 0.0), tuple(rotations.about_axis((1.0, 0.0, 0.0), 0.5 * np.pi).tolist())
"""The object's z axis up, or along the world's y: across the palm."""


@dataclass(frozen=True)
class GraspObject:
    """An object of the set."""

    surface: Callable[[], Surface]
    colour: tuple[float, float, float]
    mass: float
    """[kg]"""
    thickness: float | None = None
    """[m] of a sheet; None: a solid within a closed mesh."""
    rotation: tuple[float, ...] = UPRIGHT
    """How it lies in the hand."""
    offset: tuple[float, float] = (0.0, 0.0)
    """[m] x and y from the middle of the grasp."""


# ---- sheets --------------------------------------------------------------------------------------------------


def turned_sheet(profile: ArrayLike, segments: int = AROUND) -> Surface:
    """An open ``profile`` (k, 2) [r, z] in m, turned about z: a surface with edges."""
    r, z = np.asarray(profile, dtype=np.float64).T
    angle = 2.0 * np.pi * np.arange(segments) / segments
    rings = [np.column_stack([a * np.cos(angle), a * np.sin(angle), np.full(segments, b)]) for a, b in zip(r, z)]
    number = np.arange(segments)
    triangles = []
    for k in range(len(r) - 1):
        low, high = k * segments + number, (k + 1) * segments + number
        triangles += [
            np.stack([low, np.roll(low, -1), np.roll(high, -1)], axis=1),
            np.stack([low, np.roll(high, -1), high], axis=1),
        ]
    # those at r = 0 have no area
    return np.concatenate(rings), np.concatenate(triangles).astype(np.int32)


def strip(left: ArrayLike, right: ArrayLike) -> Surface:
    """A band between two lines of points (n, 3) [m] each."""
    a, b = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    n, k = len(a), np.arange(len(a) - 1)
    triangles = np.concatenate([np.stack([k, k + 1, n + k + 1], axis=1), np.stack([k, n + k + 1, n + k], axis=1)])
    return np.concatenate([a, b]), triangles.astype(np.int32)


def joined(*surfaces: Surface) -> Surface:
    """Several surfaces as one mesh, whether they fit together or not."""
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in surfaces)])
    triangles = [triangles + start for (_, triangles), start in zip(surfaces, starts)]
    return np.concatenate([vertices for vertices, _ in surfaces]), np.concatenate(triangles).astype(np.int32)


def mug() -> Surface:
    """A wall, a bottom, and a handle that goes through the wall: open, and surfaces cross."""
    body = turned_sheet([(0.0, -0.04), (0.031, -0.04), (0.034, 0.0), (0.034, 0.04)], 16)
    angle = np.linspace(-0.6 * np.pi, 0.6 * np.pi, 9)
    course = np.stack([0.037 + 0.02 * np.cos(angle), np.zeros(9), 0.026 * np.sin(angle)], axis=1)
    return joined(body, strip(course - [0.0, 0.006, 0.0], course + [0.0, 0.006, 0.0]))


def bowl() -> Surface:
    """The lower two thirds of a half sphere, with a hole at its bottom and a ring to stand on."""
    angle = np.radians([12.0, 35.0, 55.0, 75.0])
    wall = turned_sheet(np.stack([0.046 * np.sin(angle), 0.036 - 0.046 * np.cos(angle)], axis=1))
    return joined(wall, turned_sheet([(0.016, -0.016), (0.018, -0.0075)]))


def plate() -> Surface:
    """A thin dish."""
    return turned_sheet([(0.0, 0.0), (0.026, 0.0), (0.044, 0.008)])


def open_tube() -> Surface:
    """A pipe without ends."""
    return turned_sheet([(0.026, -0.05), (0.026, 0.0), (0.026, 0.05)])


def bracket() -> Surface:
    """Two legs at a right angle, each with a hole, and a web that crosses both."""

    def leg(turn: ArrayLike, position: ArrayLike) -> Surface:
        frame = _square_with_hole(0.03, 0.028, 0.01)
        return frame[0] @ rotations.matrix(np.asarray(turn)).T + np.asarray(position), frame[1]

    flat = leg(UPRIGHT, (0.0, 0.0, -0.02))
    wall = leg(rotations.about_axis((0.0, 1.0, 0.0), 0.5 * np.pi), (-0.028, 0.0, 0.01))
    web = np.array([(-0.032, 0.0, -0.024), (0.02, 0.0, -0.02), (-0.028, 0.0, 0.03)]), np.array([[0, 1, 2]], np.int32)
    return joined(flat, wall, web)


def wrench() -> Surface:
    """An open jaw, a shank and a ring, cut from one sheet; their edges do not fit together."""

    def ring(x: float, inner: float, outer: float, start: float, end: float, count: int) -> Surface:
        angle = np.linspace(start, end, count)
        out = np.stack([np.cos(angle), np.sin(angle), np.zeros(count)], axis=1)
        return strip([x, 0.0, 0.0] + inner * out, [x, 0.0, 0.0] + outer * out)

    jaw = ring(0.048, 0.009, 0.019, 0.35 * np.pi, 1.65 * np.pi, 12)
    eye = ring(-0.048, 0.008, 0.016, 0.0, 2.0 * np.pi, 13)
    line = np.array([(-0.036, 0.0, 0.0), (0.0, 0.0, 0.0), (0.034, 0.0, 0.0)])
    return joined(jaw, strip(line - [0.0, 0.0075, 0.0], line + [0.0, 0.0075, 0.0]), eye)


def _square_with_hole(half_x: float, half_y: float, radius: float) -> Surface:
    """A rectangle with a round hole."""
    angle = 2.0 * np.pi * np.arange(17) / 16
    circle = np.stack([np.cos(angle), np.sin(angle), np.zeros(17)], axis=1)
    square = circle / np.abs(circle).max(axis=1, keepdims=True) * [half_x, half_y, 0.0]
    return strip(radius * circle, square)


# ---- solids --------------------------------------------------------------------------------------------------


def torus() -> Surface:
    """A ring of round section."""
    angle = 2.0 * np.pi * np.arange(12) / 12
    return generators.surface_of_revolution(
        np.stack([0.03 + 0.012 * np.cos(angle), 0.012 * np.sin(angle)], axis=1), AROUND
    )


def spool() -> Surface:
    """A core between two flanges."""
    half, core, flange, thick = 0.03, 0.014, 0.03, 0.006
    return generators.surface_of_revolution(
        [(0.0, -half), (flange, -half), (flange, thick - half), (core, thick - half), (core, half - thick),
         (flange, half - thick), (flange, half), (0.0, half)], AROUND,
    )  # fmt: skip


def jack() -> Surface:
    """A toy jack: six arms."""
    return generators.jack(0.036, 0.018, 0.016, 0.004)


def lump() -> Surface:
    """A ball with hollows and bumps: 528 triangles that curve both ways."""
    out, triangles = unit_surfaces.sphere()
    x, y, z = out.T
    bumps = np.sin(5.0 * x + 1.0) * np.sin(5.0 * y) + np.sin(5.0 * z + 0.5) * np.sin(4.0 * x)
    return out * (0.032 * (1.0 + 0.14 * bumps))[:, None], triangles


GREY, RED, BLUE, GOLD = (0.62, 0.64, 0.67), (0.80, 0.28, 0.22), (0.25, 0.45, 0.72), (0.85, 0.65, 0.25)
OBJECTS: Mapping[str, GraspObject] = MappingProxyType({
    "mug": GraspObject(mug, RED, 0.15, 0.003, ACROSS),
    "bowl": GraspObject(bowl, BLUE, 0.12, 0.0025),
    "plate": GraspObject(plate, GOLD, 0.10, 0.003),
    "tube": GraspObject(open_tube, GREY, 0.12, 0.002, ACROSS),
    "bracket": GraspObject(bracket, GREY, 0.15, 0.003, tuple(rotations.about_axis((0, 0, 1), np.pi).tolist())),
    "wrench": GraspObject(wrench, GREY, 0.15, 0.007, tuple(rotations.about_axis((0, 0, 1), 0.5 * np.pi).tolist())),
    "torus": GraspObject(torus, GOLD, 0.15),
    "spool": GraspObject(spool, BLUE, 0.15, rotation=ACROSS),
    "jack": GraspObject(jack, GREY, 0.12),
    "lump": GraspObject(lump, RED, 0.15),
})  # fmt: skip
"""By the name that is asked for."""
