"""Contacts as flat arrays sorted by persistent key: of rigid bodies, and of soft ones, whose sides are nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Ints, LongInts
from stickslip.collision.arrays import (
    AXIS,
    AXIS_OF,
    BODY,
    COMPLIANCE,
    FRICTION,
    RESTITUTION,
    SHAPE_MATERIAL,
    SOFT_MATERIAL,
    Flat,
    gap_in,
    pairs_in,
    real,
    rows3,
    rows_in,
    three_in,
    two_in,
    whole,
)
from stickslip.jit import kernel, view_at
from stickslip.linalg.vec3 import dot, load3, mat_vec, norm, normalize, quat_matrix, scale, store3, sub, tangents
from stickslip.model.model import Model
from stickslip.scene.materials import AXIS_OF_A, NO_AXIS, PairTables


class SideNodes(NamedTuple):
    """Nodes at the soft sides of nc contacts."""

    node_a: Ints
    """(nc, 3) nodes of a, -1 beyond, all -1 where a is rigid."""
    node_b: Ints
    weight_a: Array
    """(nc, 3) barycentric weights of the nodes, zero beyond."""
    weight_b: Array


@dataclass(frozen=True, eq=False)
class Contacts:
    """nc contact points. The normal points from body a to body b; the gap is negative where they overlap."""

    key: LongInts
    """(nc,) sorted; the same physical contact has the same key in the next step."""
    shape_a: Ints
    """(nc,) of rigid bodies; -1: the side is soft."""
    shape_b: Ints
    body_a: Ints
    """(nc,) rigid body, or Model.body_count + soft body; a soft body that touches itself is both. Of a rigid and a soft
    body the rigid one is a."""
    body_b: Ints
    point: Array
    """(nc, 3) [m] world, midway between the surfaces."""
    normal: Array
    """(nc, 3) unit, world."""
    gap: Array
    """(nc,) [m]; of an impact of soft bodies within the step, along its normal at the start."""
    tangent: Array
    """(nc, 3) unit, world: the first tangent t1; t2 = n x t1."""
    friction: Array
    """(nc, 3) coefficients along t1 and t2, and about the normal [m], where soft bodies have none."""
    restitution: Array
    """(nc, 2) coefficients, normal and tangential."""
    compliance: Array
    """(nc, 2) 1 / stiffness [m/N], zero where the contact is rigid, and dissipation time [s]."""
    nodes: SideNodes | None = None
    """None: all sides are rigid."""

    def __len__(self) -> int:
        return len(self.key)

    @cached_property
    def flat(self) -> tuple[Ints, Array]:
        """(4, nc) shapes and bodies of a and b; (17 nc,) numbers, which ``three_in``, ``two_in``, ``gap_in`` cut."""
        index = np.stack([self.shape_a, self.shape_b, self.body_a, self.body_b])
        parts = self.point, self.normal, self.tangent, self.friction, self.restitution, self.compliance, self.gap
        return index, np.concatenate([part.ravel() for part in parts])

    @property
    def node_a(self) -> Ints:
        """(nc, 3) nodes of a, -1 where there is none."""
        return np.full((len(self.key), 3), -1, np.int32) if self.nodes is None else self.nodes.node_a

    @property
    def node_b(self) -> Ints:
        """(nc, 3) nodes of b, -1 where there is none."""
        return np.full((len(self.key), 3), -1, np.int32) if self.nodes is None else self.nodes.node_b

    @property
    def weight_a(self) -> Array:
        """(nc, 3) weights of the nodes of a, zero where there is none."""
        return np.zeros((len(self.key), 3)) if self.nodes is None else self.nodes.weight_a

    @property
    def weight_b(self) -> Array:
        """(nc, 3) weights of the nodes of b, zero where there is none."""
        return np.zeros((len(self.key), 3)) if self.nodes is None else self.nodes.weight_b

    def take(self, index: NDArray[np.intp]) -> Contacts:
        """The contacts of the given indices."""
        nodes = None if self.nodes is None else SideNodes._make(column[index] for column in self.nodes)
        return Contacts(
            self.key[index], self.shape_a[index], self.shape_b[index], self.body_a[index], self.body_b[index],
            self.point[index], self.normal[index], self.gap[index], self.tangent[index], self.friction[index],
            self.restitution[index], self.compliance[index], nodes,
        )  # fmt: skip


def no_contacts() -> Contacts:
    """An empty set of contacts of rigid bodies."""
    index, number, rows = np.zeros(0, dtype=np.int32), np.zeros(0), np.zeros((0, 3))
    pairs = np.zeros((0, 2))
    return Contacts(
        np.zeros(0, dtype=np.int64), index, index, index, index, rows, rows, number, rows, rows, pairs, pairs
    )


NONE = no_contacts()
"""The one that all share who have none: nothing in it can change."""


def joined(parts: Sequence[Contacts]) -> Contacts:
    """All contacts, part after part, in the order of the parts; all of them or none have soft sides."""
    names = [name for name in Contacts.__dataclass_fields__ if name != "nodes"]
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    sides = [part.nodes for part in parts if part.nodes is not None]
    nodes = SideNodes._make(np.concatenate(each) for each in zip(*sides, strict=True)) if sides else None
    return Contacts(**columns, nodes=nodes)


class Sides(NamedTuple):
    """Shapes and bodies (nc,) of both sides of contacts, as in Contacts."""

    shape_a: Ints
    shape_b: Ints
    body_a: Ints
    body_b: Ints


class MaterialTables(NamedTuple):
    """Materials of shapes and soft bodies, and what each pair of materials has, as in Model."""

    shape_material: Ints
    soft_material: Ints
    axis: Array
    pairs: PairTables


class Surfaces(NamedTuple):
    """What contacts have from their surfaces, as in Contacts."""

    tangent: Array
    friction: Array
    restitution: Array
    compliance: Array


def material_tables(model: Model) -> MaterialTables:
    """Those of a model."""
    return MaterialTables(model.shape_material, model.soft.material, model.friction_axis, model.pairs)


def with_surfaces(
    model: Model,
    q: Array,
    key: LongInts,
    shapes: tuple[Ints, Ints],
    bodies: tuple[Ints, Ints],
    point: Array,
    normal: Array,
    gap: Array,
    nodes: SideNodes | None = None,
) -> Contacts:
    """Contacts of which it is known where they are, bodies at q (nb, 7), with tangents and coefficients of materials.

    Shapes and bodies of a and b, and the other arrays, as in Contacts.
    """
    count = len(key)
    tangent, friction = np.empty((count, 3)), np.empty((count, 3))
    restitution, compliance = np.empty((count, 2)), np.empty((count, 2))
    surfaces = Surfaces(tangent, friction, restitution, compliance)
    _surfaces(Sides(*shapes, *bodies), normal, material_tables(model), q, surfaces)
    return Contacts(key, *shapes, *bodies, point, normal, gap, tangent, friction, restitution, compliance, nodes)


def rigid_contacts(flat: Flat, kept: int, total: int, q: Array) -> Contacts:
    """All ``total`` points in the rows of the narrow phase, of ``kept`` pairs, as contacts sorted by key.

    Arrays are new: they outlive the rooms.
    """
    key, index, numbers = np.empty(total, np.int64), np.empty((4, total), np.int32), np.empty(17 * total)
    collect(flat, kept, q, key, index, numbers)
    three, two = three_in(numbers, total), two_in(numbers, total)
    found = Contacts(
        key, index[0], index[1], index[2], index[3], three[0], three[1], gap_in(numbers, total), three[2], three[3],
        two[0], two[1],
    )  # fmt: skip
    found.__dict__["flat"] = index, numbers
    return found


@kernel
def materials_in(flat):
    """Materials in the flat arrays."""
    axis = rows3(flat, AXIS)
    n = axis.shape[0]
    return MaterialTables(
        whole(flat, SHAPE_MATERIAL), whole(flat, SOFT_MATERIAL), axis,
        PairTables(
            view_at(real(flat, FRICTION), 0, (n, n, 3)), view_at(real(flat, RESTITUTION), 0, (n, n, 2)),
            view_at(whole(flat, AXIS_OF), 0, (n, n)), view_at(real(flat, COMPLIANCE), 0, (n, n, 2)),
        ),
    )  # fmt: skip


@kernel
def collect(flat, kept, q, key_out, index_out, numbers_out):
    """Starts of pairs among all, points in their order, surfaces.

    index_out (4, nc): shapes and bodies of a and b; numbers_out: point, normal, tangent, friction (nc, 3), restitution,
    compliance (nc, 2), gap (nc,), one after the other.
    """
    n = key_out.shape[0]
    three, two = three_in(numbers_out, n), two_in(numbers_out, n)
    pairs, rows, sides = pairs_in(flat), rows_in(flat), Sides(index_out[0], index_out[1], index_out[2], index_out[3])
    _starts(pairs.rank, rows.length, kept, pairs.first)
    _gather(pairs, kept, rows, whole(flat, BODY), sides, key_out, three[0], three[1], gap_in(numbers_out, n))
    _surfaces(sides, three[1], materials_in(flat), q, Surfaces(three[2], three[3], two[0], two[1]))


@kernel
def _starts(rank, count, kept, first_out):
    """Where the contacts of each pair start if pairs are in the order of their ranks; by rank."""
    for m in range(kept):
        first_out[rank[m]] = count[m]
    total = 0
    for r in range(kept):
        own = first_out[r]
        first_out[r] = total
        total += own


@kernel
def _gather(pairs, kept, rows, shape_body, sides_out, key_out, point_out, normal_out, gap_out):
    """Copy the contacts of pairs to their places, those of one pair in the order of their features."""
    feature = rows.feature
    for m in range(kept):
        a, b = pairs.pairs[m, 0], pairs.pairs[m, 1]
        begin, end = rows.start[m], rows.start[m] + rows.length[m]
        for k in range(begin, end):
            c = pairs.first[pairs.rank[m]]
            for other in range(begin, end):
                # equal features cannot be, but must not leave a place unwritten
                c += feature[other] < feature[k] or (feature[other] == feature[k] and other < k)
            sides_out.shape_a[c], sides_out.shape_b[c] = a, b
            sides_out.body_a[c], sides_out.body_b[c] = shape_body[a], shape_body[b]
            for x in range(3):
                point_out[c, x] = rows.point[k, x]
                normal_out[c, x] = rows.normal[k, x]
            gap_out[c] = rows.gap[k]
            key_out[c] = (np.int64(a) << 40) | (np.int64(b) << 16) | feature[k]


@kernel
def _surfaces(sides, normal, tables, q, surfaces_out):
    """Coefficients of the pair of materials, and t1: the friction axis of a body, laid into the tangent plane."""
    rigid, pairs = q.shape[0], tables.pairs
    shape_a, shape_b, body_a, body_b = sides
    for c in range(normal.shape[0]):
        soft = shape_a[c] < 0 or shape_b[c] < 0
        a = tables.shape_material[shape_a[c]] if shape_a[c] >= 0 else tables.soft_material[body_a[c] - rigid]
        b = tables.shape_material[shape_b[c]] if shape_b[c] >= 0 else tables.soft_material[body_b[c] - rigid]
        for k in range(3):
            surfaces_out.friction[c, k] = pairs.friction[a, b, k]
        if soft:
            surfaces_out.friction[c, 2] = 0.0
        for k in range(2):
            surfaces_out.restitution[c, k] = pairs.restitution[a, b, k]
            surfaces_out.compliance[c, k] = pairs.compliance[a, b, k]
        n = load3(normal, c)
        t1, _ = tangents(n)
        which = pairs.axis[a, b]
        if which != NO_AXIS:
            i = body_a[c] if which == AXIS_OF_A else body_b[c]
            d = load3(tables.axis, a if which == AXIS_OF_A else b)
            if i < rigid:  # soft bodies have no frame: their friction axes stay as they are in the world
                d = mat_vec(quat_matrix((q[i, 3], q[i, 4], q[i, 5], q[i, 6])), d)
            along = sub(d, scale(dot(d, n), n))
            # an axis that points along the normal has no direction in the plane
            if norm(along) > 1e-9:
                t1 = normalize(along)
        store3(surfaces_out.tangent, c, t1)
