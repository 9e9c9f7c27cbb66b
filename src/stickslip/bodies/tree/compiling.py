"""A robot's records as a kind of body: tables of its trees, drives and rows, and its links as frames."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.bodies.tree.coordinate_tables import (
    ANGLE,
    COUPLING,
    DRIVE,
    FRICTION,
    LOWER,
    SPRING,
    UPPER,
    CoordinateTables,
    Row,
    coordinate_tables,
)
from stickslip.bodies.tree.kind import TreeBodies
from stickslip.bodies.tree.kinematics import place_links
from stickslip.bodies.tree.layout import (
    AS_ROW,
    COORDINATES,
    DRIVE_REALS,
    FORCE_HIGH,
    FORCE_LOW,
    IN_MOMENTUM,
    LAST_DOF,
    PUSHES,
    ROW_END,
    VELOCITIES,
    DriveTables,
    TreeTables,
)
from stickslip.bodies.tree.momentum import compose_mass, weigh_links
from stickslip.bodies.tree.tables import tree_tables, tree_work
from stickslip.robots.records import TREE_JOINT_KINDS, Actuator, JointEquality, RobotRecord, TreeJoint, TreeLink
from stickslip.scene.materials import Material, two_coefficients
from stickslip.scene.other_bodies import Frame, OtherContext

STIFF = 50.0
"""[rad/s] of a drive whose gains nobody gave, with the inertia that it sees at the start, critically damped."""

Term = tuple[int, int, float]
"""Coordinate, degree of freedom and factor."""


class JointPlace(NamedTuple):
    """Where a joint is in q and v."""

    joint: TreeJoint
    q: int
    v: int

    @property
    def coordinates(self) -> int:
        """How many numbers of q it has."""
        return COORDINATES[TREE_JOINT_KINDS.index(self.joint.kind)]

    @property
    def velocities(self) -> int:
        """How many numbers of v it has."""
        return VELOCITIES[TREE_JOINT_KINDS.index(self.joint.kind)]


def joint_places(links: Sequence[TreeLink]) -> dict[str, JointPlace]:
    """Where the joints of links are in q and v, by name, in their order."""
    places: dict[str, JointPlace] = {}
    q = v = 0
    for link in links:
        for joint in link.joints:
            places[joint.name] = JointPlace(joint, q, v)
            q, v = q + places[joint.name].coordinates, v + places[joint.name].velocities
    return places


def start_coordinates(links: Sequence[TreeLink]) -> Array:
    """(nq,) all at zero; free joints where the poses of their links say."""
    q: list[float] = []
    for link in links:
        for joint in link.joints:
            if joint.kind == "free":
                q += [*link.position, *link.rotation]
            elif joint.kind == "ball":
                q += [1.0, 0.0, 0.0, 0.0]
            else:
                q.append(0.0)
    return np.array(q, dtype=np.float64)


def compile_robot(name: str, record: RobotRecord, context: OtherContext) -> TreeBodies:
    """The kind of body that the records of a robot say."""
    tables = tree_tables(record.links, context.gravity)
    places = joint_places(record.links)
    q_start = start_coordinates(record.links) if record.start is None else np.array(record.start, dtype=np.float64)
    inertia = _seen_inertia(tables, q_start) if any(_chosen(each) for each in record.actuators) else None
    actuators = [_with_gains(each, places, inertia) for each in record.actuators]
    drives = drive_tables(actuators, places)
    moving = [link for i, link in enumerate(record.links) if tables.link_index[i, LAST_DOF] >= 0]
    control = np.zeros((len(actuators), 2))
    if record.report.format != "mjcf":  # there controls start at zero; elsewhere drives hold what they find
        control[:, 0] = [_held(each, places, q_start) for each in actuators]
    return TreeBodies(
        name, record, tables, drives, _rows(record, actuators, drives, places, tables),
        [_frame(link) for link in moving], q_start, np.zeros(len(tables.dofs)), control, context.first_block,
    )  # fmt: skip


def _seen_inertia(tables: TreeTables, q: Array) -> Array:
    """(nv,) diagonal of the mass matrix."""
    work = tree_work(tables)
    place_links(tables, q, work)
    weigh_links(tables, work)
    compose_mass(tables, work)
    return np.array(work.mass[tables.dof_index[:, ROW_END] - 1])


def _chosen(actuator: Actuator) -> bool:
    """Whether the gains of an actuator are ours to choose."""
    return actuator.kind == "position" and actuator.gain == 0.0


def _with_gains(actuator: Actuator, places: dict[str, JointPlace], inertia: Array | None) -> Actuator:
    """With gains where nobody gave some, and limited as its joint says."""
    force_range, (joint, factor) = actuator.force_range, actuator.terms[0]
    if force_range is None and len(actuator.terms) == 1 and places[joint].joint.effort < inf and factor != 0.0:
        most = places[joint].joint.effort / abs(factor)
        force_range = -most, most
    gain, bias = actuator.gain, actuator.bias
    if _chosen(actuator):
        assert inertia is not None
        seen = float(inertia[places[joint].v]) / factor**2
        gain, bias = seen * STIFF**2, (0.0, -seen * STIFF**2, -2.0 * seen * STIFF)
    return Actuator(
        actuator.name, actuator.kind, actuator.terms, gain, bias, actuator.control_range, force_range, actuator.along
    )


def terms_of(terms: Sequence[tuple[str, float]], places: dict[str, JointPlace]) -> list[Term]:
    """Coordinates and degrees of freedom of joints with one of each, with factors."""
    return [(places[joint].q, places[joint].v, float(factor)) for joint, factor in terms]


def _actuator_terms(actuator: Actuator, places: dict[str, JointPlace]) -> list[Term]:
    place = places[actuator.terms[0][0]]
    if place.velocities > 1:  # a force along its degrees of freedom; they have no length
        along = actuator.along or (1.0, *(place.velocities - 1) * (0.0,))
        return [(-1, place.v + k, actuator.terms[0][1] * float(f)) for k, f in enumerate(along) if f != 0.0]
    return terms_of(actuator.terms, places)


def drive_tables(actuators: Sequence[Actuator], places: dict[str, JointPlace]) -> DriveTables:
    """Drives, each with how it enters a step."""
    reals, how = np.zeros((len(actuators), DRIVE_REALS)), np.zeros(len(actuators), dtype=np.int32)
    start, terms = [0], list[Term]()
    for d, each in enumerate(actuators):
        own = _actuator_terms(each, places)
        control, force = each.control_range or (-inf, inf), each.force_range or (-inf, inf)
        reals[d] = each.gain, *each.bias, *control, *force
        terms += own
        start.append(len(terms))
        resists = each.bias[1] < 0.0 or each.bias[2] < 0.0
        gains = each.bias[1] > 0.0 or each.bias[2] > 0.0  # what pushes on can only be explicit
        if not resists or gains or any(coordinate < 0 for coordinate, _, _ in own):
            how[d] = PUSHES
        elif force == (-inf, inf) and len(own) == 1:
            how[d] = IN_MOMENTUM
        else:
            how[d] = AS_ROW
    return DriveTables(
        reals, how, np.array(start, dtype=np.int32), np.array([term[0] for term in terms], dtype=np.int32),
        np.array([term[1] for term in terms], dtype=np.int32), np.array([term[2] for term in terms], dtype=np.float64),
    )  # fmt: skip


def _held(actuator: Actuator, places: dict[str, JointPlace], q: Array) -> float:
    """Control at which a drive holds the posture q; zero for forces and velocities."""
    if actuator.kind != "position":
        return 0.0
    return sum(factor * float(q[at]) for at, _, factor in _actuator_terms(actuator, places) if at >= 0)


def _rows(
    record: RobotRecord, actuators: Sequence[Actuator], drives: DriveTables, places: dict[str, JointPlace],
    tables: TreeTables,
) -> CoordinateTables:  # fmt: skip
    """Limits and friction of joints, drives that are rows, couplings and tendons."""
    rows: list[Row] = []
    for place in places.values():
        joint, own = place.joint, [(place.q, place.v, 1.0)]
        if joint.limits is not None and joint.kind == "ball":
            rows.append(Row(ANGLE, (joint.limits[1],), own))
        elif joint.limits is not None and place.velocities == 1:
            rows += _limits(joint.limits, own)
        if joint.friction > 0.0:
            for k in range(place.velocities):
                rows.append(Row(FRICTION, (joint.friction,), [(place.q, place.v + k, 1.0)]))
    for tendon in record.tendons:
        terms = terms_of(tendon.terms, places)
        rows += [] if tendon.limits is None else _limits(tendon.limits, terms)
        if tendon.friction > 0.0:
            rows.append(Row(FRICTION, (tendon.friction,), terms))
        if tendon.stiffness > 0.0 or tendon.damping > 0.0:
            rows.append(Row(SPRING, (tendon.stiffness, tendon.damping, *tendon.rest), terms))
    for each in record.couplings:
        if isinstance(each, JointEquality):
            numbers = (*each.polynomial, each.y_zero, each.x_zero)
            rows.append(Row(COUPLING, numbers, terms_of(each.y, places), terms_of(each.x, places)))
    for d in np.flatnonzero(drives.how == AS_ROW).tolist():
        open_end = not np.isfinite(drives.drives[d, [FORCE_LOW, FORCE_HIGH]]).all()
        rows.append(Row(DRIVE, (float(d),), terms_of(actuators[d].terms, places), unbounded=open_end))
    block = _dof_blocks(tables)
    return coordinate_tables(rows, block)


def _limits(limits: tuple[float, float], terms: list[Term]) -> list[Row]:
    span = limits[1] - limits[0]
    sides = ((LOWER, limits[0]), (UPPER, limits[1]))
    return [Row(what, (side,), terms, span=span) for what, side in sides if abs(side) < inf]


def _dof_blocks(tables: TreeTables) -> Ints:
    """(nv,) column block, among trees that move, of each degree of freedom."""
    widths = np.diff(tables.start)
    widths = widths[widths > 0]
    return np.repeat(np.arange(len(widths)), widths).astype(np.int32)


def _frame(link: TreeLink) -> Frame:
    """A moving link as others see it."""
    default = Material("frame")
    surfaces = tuple(
        Material(
            "link", default.friction if shape.friction is None else two_coefficients(link.name, shape.friction),
            torsion=shape.torsion,
        )
        for shape in link.shapes
    )  # fmt: skip
    colour = next((shape.colour for shape in link.shapes if shape.colour is not None), None)
    if link.visuals:
        colour = link.visuals[0].colour[:3]
    parts = tuple(shape.placed for shape in link.shapes)
    mass = max(link.mass, 1e-6)
    first = surfaces[0] if surfaces else default
    return Frame(link.name, parts, mass, first, colour, surfaces or None, link.centre)
