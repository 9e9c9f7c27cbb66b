"""Contacts as flat arrays sorted by persistent key: of rigid bodies, and of soft ones, whose sides are nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Ints, LongInts
from stickslip.jit import kernel
from stickslip.linalg.vec3 import dot, load3, mat_vec, norm, normalize, quat_matrix, scale, store3, sub, tangents
from stickslip.materials import AXIS_OF_A, NO_AXIS
from stickslip.model import Model


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

    @property
    def node_a(self) -> Ints:
        """(nc, 3) nodes of a, -1 where there is none."""
        return np.full((len(self), 3), -1, np.int32) if self.nodes is None else self.nodes.node_a

    @property
    def node_b(self) -> Ints:
        """(nc, 3) nodes of b, -1 where there is none."""
        return np.full((len(self), 3), -1, np.int32) if self.nodes is None else self.nodes.node_b

    @property
    def weight_a(self) -> Array:
        """(nc, 3) weights of the nodes of a, zero where there is none."""
        return np.zeros((len(self), 3)) if self.nodes is None else self.nodes.weight_a

    @property
    def weight_b(self) -> Array:
        """(nc, 3) weights of the nodes of b, zero where there is none."""
        return np.zeros((len(self), 3)) if self.nodes is None else self.nodes.weight_b

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


def joined(parts: Sequence[Contacts]) -> Contacts:
    """All contacts, part after part, in the order of the parts; all of them or none have soft sides."""
    names = [name for name in Contacts.__dataclass_fields__ if name != "nodes"]
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    sides = [part.nodes for part in parts if part.nodes is not None]
    nodes = SideNodes._make(np.concatenate(each) for each in zip(*sides, strict=True)) if sides else None
    return Contacts(**columns, nodes=nodes)


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
    count, pairs = len(key), model.pairs
    tangent, friction = np.empty((count, 3)), np.empty((count, 3))
    restitution, compliance = np.empty((count, 2)), np.empty((count, 2))
    _surfaces(
        *shapes, *bodies, normal, model.shape_material, model.soft.material, pairs.axis, model.friction_axis,
        pairs.friction, pairs.restitution, pairs.compliance, q, tangent, friction, restitution, compliance,
    )  # fmt: skip
    return Contacts(key, *shapes, *bodies, point, normal, gap, tangent, friction, restitution, compliance, nodes)


@kernel
def _surfaces(
    shape_a, shape_b, body_a, body_b, normal, shape_material, soft_material, axis_of, axis, friction, restitution,
    compliance, q, tangent_out, friction_out, restitution_out, compliance_out,
):  # fmt: skip
    """Coefficients of the pair of materials, and t1: the friction axis of a body, laid into the tangent plane."""
    rigid = q.shape[0]
    for c in range(normal.shape[0]):
        soft = shape_a[c] < 0 or shape_b[c] < 0
        a = shape_material[shape_a[c]] if shape_a[c] >= 0 else soft_material[body_a[c] - rigid]
        b = shape_material[shape_b[c]] if shape_b[c] >= 0 else soft_material[body_b[c] - rigid]
        for k in range(3):
            friction_out[c, k] = friction[a, b, k]
        if soft:
            friction_out[c, 2] = 0.0
        for k in range(2):
            restitution_out[c, k] = restitution[a, b, k]
            compliance_out[c, k] = compliance[a, b, k]
        n = load3(normal, c)
        t1, _ = tangents(n)
        which = axis_of[a, b]
        if which != NO_AXIS:
            i = body_a[c] if which == AXIS_OF_A else body_b[c]
            d = load3(axis, a if which == AXIS_OF_A else b)
            if i < rigid:  # soft bodies have no frame: their friction axes stay as they are in the world
                d = mat_vec(quat_matrix((q[i, 3], q[i, 4], q[i, 5], q[i, 6])), d)
            along = sub(d, scale(dot(d, n), n))
            # an axis that points along the normal has no direction in the plane
            if norm(along) > 1e-9:
                t1 = normalize(along)
        store3(tangent_out, c, t1)
