"""The loop over substeps: predict, one Gauss-Seidel pass, velocities ([macklin2019small]).

Passes go through coordinates of trees, joints, elements and contacts in this order, so that contacts hold at the end of
each. Every other pass over contacts goes backwards: always in the same order, a box at rest on four corners creeps.
Joints are always in the same order: else they leave other errors each time, and what they hold shakes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.jit import kernel
from stickslip.model.soft_tables import ElementTables
from stickslip.xpbd.bodies import predict_bodies, velocities_of_bodies
from stickslip.xpbd.contacts import bounce, push_contacts
from stickslip.xpbd.coordinates import push_coordinates
from stickslip.xpbd.elements import ElementRoom, Nodes, damp_elements, predict_nodes, push_elements, velocities_of_nodes
from stickslip.xpbd.joints import damp_joints, push_joints
from stickslip.xpbd.rods import damp_sections, push_sections
from stickslip.xpbd.soft_contacts import SoftPoints, push_soft_contacts, push_welds
from stickslip.xpbd.trees import predict_trees, velocities_of_trees


class Parts(NamedTuple):
    """Small steps of a step: numbers ``first`` to ``last`` of ``total``, each of ``s`` [s]."""

    s: float
    before: float
    """[s] of the step that passed before number 0."""
    first: int
    last: int
    total: int


class SoftSystem(NamedTuple):
    """What soft bodies bring to small steps."""

    nodes: Nodes
    elements: ElementTables
    pressure: Array
    """(nt,) [Pa] by which elements are activated."""
    weld_node: Ints
    weld_body: Ints
    weld_point: Array
    points: SoftPoints
    room: ElementRoom
    weld_impulse: Array
    """(nw, 3) [N s] summed."""
    contact_impulse: Array
    """(nc, 3) [N s] summed."""


@kernel
def small_steps(
    bodies, rows, tables, blocks, sections, coordinate, angle, target, points, least, parts, room, soft,
    joint_impulse_out, contact_impulse_out,
):  # fmt: skip
    """Small steps, with soft bodies where ``soft`` is not None; bodies and nodes move, impulses are added up."""
    s, response, pushed = parts.s, np.empty((6, 12)), np.zeros_like(joint_impulse_out)
    for k in range(parts.first, parts.last):
        passed, share, backwards = parts.before + (k + 1) * s, (k + 1) / parts.total, k % 2 == 1
        predict_bodies(bodies, s)
        predict_trees(bodies, s)
        if soft is not None:
            predict_nodes(soft.nodes, s)
        push_coordinates(bodies, rows, share, s)
        push_joints(
            bodies, tables, blocks, coordinate, angle, target, passed, s, room, pushed,
            joint_impulse_out,
        )  # fmt: skip
        push_sections(bodies.mass, bodies.mobility, bodies.q, sections, s, response, room.K, room.p, joint_impulse_out)
        if soft is not None:
            push_elements(soft.nodes, soft.elements, soft.pressure, s, soft.room)
            push_welds(
                bodies, soft.nodes, soft.weld_node, soft.weld_body, soft.weld_point, s, room.K, room.p,
                soft.weld_impulse,
            )  # fmt: skip
        push_contacts(bodies, points, share, s, backwards, contact_impulse_out)
        if soft is not None:
            push_soft_contacts(bodies, soft.nodes, soft.points, share, s, backwards, soft.contact_impulse)
        velocities_of_bodies(bodies, s)
        velocities_of_trees(bodies, s)
        if soft is not None:
            velocities_of_nodes(soft.nodes, s)
            damp_elements(soft.nodes, soft.elements, soft.pressure, s, soft.room)
        damp_joints(
            bodies, tables, blocks, coordinate, angle, target, passed, s, room, pushed,
            joint_impulse_out,
        )  # fmt: skip
        damp_sections(bodies.mass, bodies.mobility, bodies.v, sections, s, joint_impulse_out)
        bounce(bodies, points, least, contact_impulse_out)
