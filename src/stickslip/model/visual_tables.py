"""What bodies look like where their collision shapes are not what a picture should show: meshes with colours.

Nothing but pictures and viewers reads these tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Ints, LongInts


class VisualTables(NamedTuple):
    """k visuals with n vertices and m triangles together."""

    body: Ints
    """(k,) the body that each is fixed to, or -1: the world."""
    vertex_start: LongInts
    """(k + 1,)"""
    vertices: NDArray[np.float32]
    """(n, 3) [m] from the body's centre of mass, in its frame."""
    triangle_start: LongInts
    """(k + 1,)"""
    triangles: Ints
    """(m, 3) rows of ``vertices``."""
    colours: Array
    """(k, 4) red, green, blue, sRGB, and opacity; 0 to 1."""
    replaced: Ints
    """(r,) bodies whose collision shapes are not drawn: visuals are, in their place."""


NO_VISUALS = VisualTables(
    np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros((0, 3), np.float32), np.zeros(1, np.int64),
    np.zeros((0, 3), np.int32), np.zeros((0, 4)), np.zeros(0, np.int32),
)  # fmt: skip


class PlacedVisual(NamedTuple):
    """One visual, its vertices (n, 3) [m] from the centre of mass of its body, or the origin of the world."""

    body: int
    vertices: Array
    triangles: Ints
    colour: tuple[float, float, float, float]


def visual_tables(visuals: Sequence[PlacedVisual], replaced: Sequence[int]) -> VisualTables:
    """All visuals of a model in single precision, in their order."""
    if not visuals and not replaced:
        return NO_VISUALS
    vertex_start = np.cumsum([0, *(len(each.vertices) for each in visuals)], dtype=np.int64)
    triangle_start = np.cumsum([0, *(len(each.triangles) for each in visuals)], dtype=np.int64)
    triangles = [each.triangles + first for each, first in zip(visuals, vertex_start, strict=False)]
    return VisualTables(
        np.array([each.body for each in visuals], np.int32),
        vertex_start,
        np.concatenate([np.zeros((0, 3)), *(each.vertices for each in visuals)]).astype(np.float32),
        triangle_start,
        np.concatenate([np.zeros((0, 3)), *triangles]).astype(np.int32),
        np.array([each.colour for each in visuals], dtype=np.float64).reshape(-1, 4),
        np.unique(np.asarray(replaced, dtype=np.int32)),
    )
