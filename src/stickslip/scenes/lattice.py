"""Start positions of heaps: jittered lattices that cannot overlap, random rotations, and how scenes grow."""

from __future__ import annotations

import colorsys
from collections.abc import Callable

import numpy as np

from stickslip.arrays import Array
from stickslip.checks import positive

SPACING = 1.04
"""Pitch of a lattice over the diameter of what must have room in a cell."""


def scaled(where: str, scale: float, number: int, dimensions: int = 1, least: int = 1) -> int:
    """``number`` times the ``dimensions``-th root of ``scale``, rounded, at least ``least``."""
    positive(where, "scale", scale)
    return max(least, round(number * float(scale) ** (1.0 / dimensions)))


def cells(count: int, across: int, along: int) -> Array:
    """The first ``count`` cells (count, 3) of a lattice filled layer by layer; centred in x and y, z from 0."""
    k = np.arange(count)
    cell = np.stack([k % across, (k // across) % along, k // (across * along)], axis=1).astype(np.float64)
    return cell - [0.5 * (across - 1), 0.5 * (along - 1), 0.0]


def round_cells(count: int, radius: Callable[[int], float]) -> Array:
    """The first ``count`` cells (count, 3) of a lattice whose layer k fills a circle of ``radius(k)`` cells, z from 0.

    Every layer has at least the four cells about the axis.
    """
    layers: list[Array] = []
    found = 0
    while found < count:
        limit = max(radius(len(layers)), 0.75)
        reach = int(np.ceil(limit))
        x, y = (axis.ravel() for axis in np.meshgrid(*2 * [np.arange(-reach, reach) + 0.5], indexing="xy"))
        inside = np.hypot(x, y) <= limit
        layers.append(np.column_stack([x[inside], y[inside], np.full(int(inside.sum()), float(len(layers)))]))
        found += len(layers[-1])
    return np.concatenate(layers)[:count]


def jitter(rng: np.random.Generator, count: int, room: float) -> Array:
    """Random displacements (count, 3) [m], each below half of ``room``: the free space between two neighbours."""
    direction = rng.normal(size=(count, 3))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    return direction * (0.499 * room * rng.random(count) ** (1.0 / 3.0))[:, None]


def random_rotations(rng: np.random.Generator, count: int) -> Array:
    """Quaternions (count, 4), evenly spread over all rotations."""
    q = rng.normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1)[:, None]


def colour(
    number: int, hue: float, spread: float, saturation: float = 0.45, value: float = 0.85
) -> tuple[float, float, float]:
    """A colour near ``hue`` (0 to 1) so that neighbours can be told apart; red, green, blue."""
    golden = (number * 0.6180339887498949) % 1.0
    return colorsys.hsv_to_rgb((hue + spread * (golden - 0.5)) % 1.0, saturation, value * (0.85 + 0.15 * golden))
