"""Tables of a model and all rooms for the search for contacts of its rigid bodies, in flat arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints, LongInts
from stickslip.collision import arrays
from stickslip.collision.arrays import KINDS, MOTION, Flat, flat_of
from stickslip.collision.reach import FEW as FEW_BODIES
from stickslip.model.model import Model
from stickslip.model.stepping import Stepping
from stickslip.workspace import Workspace

FIRST_PAIRS, FIRST_POINTS = 64, 256
"""Room at first, beside some for each shape."""


class SweepRoom(NamedTuple):
    """Room of the sweep through columns, ns shapes."""

    place: Ints
    """(ns, 4) first and last row and column of each shape."""
    start: LongInts
    """(2 ns + 4,) first entry of each column; there are at most 2 ns columns, and at least one."""
    entry: Array
    """(8 ns + 1, 6) bounds [m] of the shape of each entry."""
    owner: LongInts
    """(8 ns + 1,) number of that shape in the order of the sweep."""
    near: LongInts
    """(ns,) entries that one meets."""


class RigidSpace:
    """Tables of a model and all rooms, for one simulation; they grow where they are too small."""

    def __init__(self, model: Model) -> None:
        """Small rooms for the shapes of a model."""
        count = len(model.shape_type)
        self.sweep: SweepRoom | None = None
        self.still = np.zeros(len(model.mass))
        self.options: Stepping | None = None
        """Of the last step, and the margin [m] that they give."""
        self.margin = 0.0
        self.speed = np.zeros(len(model.mass))
        self.grow(model, 8 * count + FIRST_PAIRS, 16 * count + FIRST_POINTS, FIRST_POINTS)

    def grow(self, model: Model, pairs: int, points: int, contacts: int) -> None:
        """Make room for so many pairs, contact points and contacts; but for the speeds, what was found is lost."""
        speed = self.speed
        self.capacity = pairs, points, contacts
        self.flat = rigid_flat(model, pairs, points, contacts)
        self.shapes, self.placed = arrays.shapes_in(self.flat), arrays.placed_in(self.flat)
        self.pairs, self.look = arrays.pairs_in(self.flat), arrays.look_in(self.flat)
        self.groups = self.pairs.groups
        self.speed = arrays.real(self.flat, arrays.SPEED)
        self.speed[:] = speed  # later searches of a step need those of its first


def rigid_space(model: Model, workspace: Workspace | None) -> RigidSpace:
    """That of a model in a workspace; a fresh one without a workspace."""
    if workspace is None:
        return RigidSpace(model)
    return workspace.slot((RigidSpace, model), lambda: RigidSpace(model))


def rigid_flat(model: Model, pairs: int, points: int, contacts: int) -> Flat:
    """Flat arrays of the tables of a model, with room for so many pairs, contact points and contacts."""
    ns, nb, hulls, materials = len(model.shape_type), len(model.mass), model.hulls, model.pairs
    return flat_of(
        [
            model.shape_position, model.shape_rotation, model.shape_size, model.shape_radius, model.lever, model.mass,
            model.radius, hulls.vertices, hulls.face_plane, 3 * ns, 9 * ns, ns, 3 * ns, 3 * ns,
            max(FEW_BODIES, len(model.dynamic)), 3, nb, nb, nb, pairs, pairs, 3 * points, 3 * points, points,
            contacts, materials.friction, materials.restitution, materials.compliance, model.friction_axis,
            MOTION * pairs,
        ],
        [
            model.shape_type, model.shape_body, model.shape_hull, model.shape_mesh, model.dynamic, hulls.vertex_start,
            hulls.face_start, hulls.loop_start, hulls.loop, hulls.edge_start, hulls.edges, 2 * pairs, pairs, points,
            model.shape_material, model.soft.material, materials.axis,
        ],
        [model.bounded_shapes, model.half_spaces, pairs, pairs, pairs, pairs, 3 * KINDS, KINDS + 1],
        [model.body_dynamic, nb, contacts],
    )  # fmt: skip


def sweep_room(count: int) -> SweepRoom:
    """Room for the sweep of so many shapes (ENTRIES_PER_SHAPE of them on average)."""
    entries = 8 * count + 1
    return SweepRoom(
        np.empty((count, 4), np.int32), np.empty(2 * count + 4, np.int64), np.empty((entries, 6)),
        np.empty(entries, np.int64), np.empty(count, np.int64),
    )  # fmt: skip
