"""The loop over substeps: predict, one Gauss-Seidel pass, velocities ([macklin2019small]).

Passes go through joints, elements and contacts in this order, so that contacts hold at the end of each. Every other
pass over contacts goes backwards: always in the same order, a box at rest on four corners creeps. Joints are always in
the same order: else they leave other errors each time, and what they hold shakes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.dynamics.xpbd_bodies import predict_bodies, velocities_of_bodies
from stickslip.dynamics.xpbd_contacts import bounce, push_contacts
from stickslip.dynamics.xpbd_elements import damp_elements, predict_nodes, push_elements, velocities_of_nodes
from stickslip.dynamics.xpbd_joints import damp_joints, push_joints
from stickslip.dynamics.xpbd_rods import damp_sections, push_sections
from stickslip.dynamics.xpbd_soft_contacts import push_soft_contacts, push_welds
from stickslip.jit import kernel


class Parts(NamedTuple):
    """Small steps of a step: numbers ``first`` to ``last`` of ``total``, each of ``s`` [s]."""

    s: float
    before: float
    """[s] of the step that passed before number 0."""
    first: int
    last: int
    total: int


@kernel
def rigid_steps(
    bodies, tables, blocks, sections, coordinate, angle, target, points, least, parts, room, joint_impulse_out,
    contact_impulse_out,
):  # fmt: skip
    """Small steps without soft bodies; bodies move, impulses are added up."""
    s, response, pushed = parts.s, np.empty((6, 12)), np.zeros_like(joint_impulse_out)
    for k in range(parts.first, parts.last):
        passed, share = parts.before + (k + 1) * s, (k + 1) / parts.total
        predict_bodies(bodies, s)
        push_joints(
            bodies, tables, blocks, coordinate, angle, target, passed, s, room, pushed,
            joint_impulse_out,
        )  # fmt: skip
        push_sections(bodies.mass, bodies.mobility, bodies.q, sections, s, response, room.K, room.p, joint_impulse_out)
        push_contacts(bodies, points, share, s, k % 2 == 1, contact_impulse_out)
        velocities_of_bodies(bodies, s)
        damp_joints(
            bodies, tables, blocks, coordinate, angle, target, passed, s, room, pushed,
            joint_impulse_out,
        )  # fmt: skip
        damp_sections(bodies.mass, bodies.mobility, bodies.v, sections, s, joint_impulse_out)
        bounce(bodies, points, least, contact_impulse_out)


@kernel
def mixed_steps(
    bodies, nodes, tables, blocks, sections, coordinate, angle, target, elements, pressure, weld_node, weld_body,
    weld_point, points, soft_points, least, parts, room, element_room, joint_impulse_out, weld_impulse_out,
    contact_impulse_out, soft_impulse_out,
):  # fmt: skip
    """The same with soft bodies."""
    s, response, pushed = parts.s, np.empty((6, 12)), np.zeros_like(joint_impulse_out)
    for k in range(parts.first, parts.last):
        passed, share = parts.before + (k + 1) * s, (k + 1) / parts.total
        predict_bodies(bodies, s)
        predict_nodes(nodes, s)
        push_joints(
            bodies, tables, blocks, coordinate, angle, target, passed, s, room, pushed,
            joint_impulse_out,
        )  # fmt: skip
        push_sections(bodies.mass, bodies.mobility, bodies.q, sections, s, response, room.K, room.p, joint_impulse_out)
        push_elements(nodes, elements, pressure, s, element_room)
        push_welds(bodies, nodes, weld_node, weld_body, weld_point, s, room.K, room.p, weld_impulse_out)
        push_contacts(bodies, points, share, s, k % 2 == 1, contact_impulse_out)
        push_soft_contacts(bodies, nodes, soft_points, share, s, k % 2 == 1, soft_impulse_out)
        velocities_of_bodies(bodies, s)
        velocities_of_nodes(nodes, s)
        damp_elements(nodes, elements, pressure, s, element_room)
        damp_joints(
            bodies, tables, blocks, coordinate, angle, target, passed, s, room, pushed,
            joint_impulse_out,
        )  # fmt: skip
        damp_sections(bodies.mass, bodies.mobility, bodies.v, sections, s, joint_impulse_out)
        bounce(bodies, points, least, contact_impulse_out)
