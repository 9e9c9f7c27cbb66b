"""How contacts move within a step: gaps and rows at the end of it, for methods that are nonlinear in positions.

[macklin2019] eq. (9): a contact is a pair of points, fixed in their bodies, whose distance along a fixed normal counts.
Round surfaces roll on: there the point of the core (centre of a ball, segment of a capsule, axis of a cylinder) is the
one that is fixed in the body, and the surface is its radius away.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.collision.contacts import Contacts
from stickslip.geometry.shapes import CAPSULE, CYLINDER, SPHERE
from stickslip.jit import kernel
from stickslip.linalg.vec3 import add, dot, load3, mat_t_vec, mat_vec, quat_matrix, quat_multiply, scale, store3, sub
from stickslip.model.model import Model

FLANK = 0.1
"""Cosine between a cylinder's axis and a normal below which it touches with its round side."""


def core_radii(model: Model, contacts: Contacts, q: Array) -> Array:
    """(nc, 2) [m] distance from the surface to the core of the shapes a and b of each contact; zero for corners."""
    radii = np.zeros((len(contacts), 2))
    _core_radii(
        contacts.shape_a, contacts.shape_b, contacts.normal, model.shape_type, model.shape_size, model.shape_rotation,
        model.shape_body, q, radii,
    )  # fmt: skip
    return radii


def moved_contacts(contacts: Contacts, radii: Array, q: Array, q_end: Array) -> tuple[Array, Array]:
    """Points (nc, 3) [m] of the contacts found at q (nb, 7) after moving to q_end, and by how much gaps grew (nc,)."""
    point, growth = np.empty_like(contacts.point), np.empty(len(contacts))
    _moved_contacts(
        contacts.body_a, contacts.body_b, contacts.point, contacts.normal, radii, q, q_end, point, growth
    )  # fmt: skip
    return point, growth


@kernel
def _core_radii(shape_a, shape_b, normal, shape_type, shape_size, shape_rotation, shape_body, q, radii_out):
    """Radius of balls, capsules, and cylinders that touch with their round side."""
    for c in range(normal.shape[0]):
        for side in range(2):
            s = shape_a[c] if side == 0 else shape_b[c]
            kind = shape_type[s]
            if kind == CYLINDER:
                i = shape_body[s]
                own = (shape_rotation[s, 0], shape_rotation[s, 1], shape_rotation[s, 2], shape_rotation[s, 3])
                R = quat_matrix(quat_multiply((q[i, 3], q[i, 4], q[i, 5], q[i, 6]), own))
                if abs(dot((R[2], R[5], R[8]), load3(normal, c))) < FLANK:
                    radii_out[c, side] = shape_size[s, 0]
            elif kind in (SPHERE, CAPSULE):
                radii_out[c, side] = shape_size[s, 0]


@kernel
def _carried(x, i, q, q_end):
    """Where the world point x is after body i has moved from q to q_end."""
    arm = mat_t_vec(quat_matrix((q[i, 3], q[i, 4], q[i, 5], q[i, 6])), sub(x, load3(q, i)))
    turn = quat_matrix((q_end[i, 3], q_end[i, 4], q_end[i, 5], q_end[i, 6]))
    return add(load3(q_end, i), mat_vec(turn, arm))


@kernel
def _moved_contacts(body_a, body_b, point, normal, radii, q, q_end, point_out, growth_out):
    """The point midway between the two that moved with their bodies, and n . (displacement of b - that of a)."""
    for c in range(point.shape[0]):
        n, x = load3(normal, c), load3(point, c)
        at_a, at_b = sub(x, scale(radii[c, 0], n)), add(x, scale(radii[c, 1], n))
        way_a = sub(_carried(at_a, body_a[c], q, q_end), at_a)
        way_b = sub(_carried(at_b, body_b[c], q, q_end), at_b)
        growth_out[c] = dot(n, sub(way_b, way_a))
        store3(point_out, c, add(x, scale(0.5, add(way_a, way_b))))
