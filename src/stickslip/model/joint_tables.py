"""Joints as flat arrays that kernels read, and the table of what each kind of joint locks and leaves free."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isinf
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints, LongInts
from stickslip.geometry.rotation import conjugate, matrix, multiply
from stickslip.law_codes import BILATERAL, BOUNDED, ELASTIC, LIMIT
from stickslip.scene.joint import JOINT_KINDS, WORLD, JointDescription, JointKind

POINT, DISTANCE, DOT, TURN, ANGLE, OTHER_ANGLE, NOTHING, MIDDLE = range(8)
"""What a row measures between the joint frames of a and b; d is the vector from the point of a to that of b.

POINT: d along axis i of a [m]. DISTANCE: |d| [m]. DOT: axis i of a . axis j of b. TURN: component i of the rotation
vector from a to b, in a [rad]. ANGLE: that of x of b about z of a [rad]; OTHER_ANGLE: that of b about its own x,
against z of a [rad]. MIDDLE: d along axis i of the frame halfway between those of a and b [m].
"""


class Measure(NamedTuple):
    """One scalar between two joint frames: its code, and axes i of a and j of b."""

    code: int
    i: int = 0
    j: int = 0


X, Y, Z = range(3)
_POINT = (Measure(POINT, X), Measure(POINT, Y), Measure(POINT, Z))
_ACROSS = (Measure(POINT, X), Measure(POINT, Y))
_TURN = (Measure(TURN, X), Measure(TURN, Y), Measure(TURN, Z))
_MIDDLE = (Measure(MIDDLE, X), Measure(MIDDLE, Y), Measure(MIDDLE, Z))
_SWING = (Measure(DOT, X, Z), Measure(DOT, Y, Z))

LOCKED: dict[JointKind, tuple[Measure, ...]] = {
    "fixed": (*_POINT, *_TURN),
    "ball": _POINT,
    "revolute": (*_POINT, *_SWING),
    "prismatic": (*_ACROSS, *_TURN),
    "cylindrical": (*_ACROSS, *_SWING),
    "universal": (*_POINT, Measure(DOT, Z, X)),
    "distance": (Measure(DISTANCE),),
    "rope": (),
    "spring": (Measure(DISTANCE),),
    "rod": (*_MIDDLE, *_TURN),
}
"""What each kind of joint holds at zero (distances: at the length), translations first: one block."""
FREE: dict[JointKind, tuple[Measure, ...]] = {
    "fixed": (),
    "ball": (),
    "revolute": (Measure(ANGLE),),
    "prismatic": (Measure(POINT, Z),),
    "cylindrical": (Measure(POINT, Z), Measure(ANGLE)),
    "universal": (Measure(ANGLE), Measure(OTHER_ANGLE)),
    "distance": (Measure(DISTANCE),),
    "rope": (Measure(DISTANCE),),
    "spring": (Measure(DISTANCE),),
    "rod": (),
}
"""The coordinates of each kind of joint: what limits and drives act on."""


class JointTables(NamedTuple):
    """nj joints with k rows in n blocks; rows and blocks of a joint are neighbours."""

    kind: Ints
    """(nj,) index into JOINT_KINDS."""
    body_a: Ints
    """(nj,) or WORLD."""
    body_b: Ints
    anchor_a: Array
    """(nj, 3) [m] relative to the centre of mass, in the body's frame; of the world in world coordinates."""
    anchor_b: Array
    frame_a: Array
    """(nj, 4) joint frame in the body's frame; local z is the axis."""
    frame_b: Array
    break_force: Array
    """(nj,) [N], inf: never."""
    break_torque: Array
    """(nj,) [N m]"""
    ignored_key: LongInts
    """(nj,) (lower body << 32) + higher body of the pair that does not collide while the joint holds, or -1."""
    coordinate: Ints
    """(nj, 2, 3) Measure of each free coordinate; NOTHING where there is none."""
    target: Array
    """(nj, 2, 2) position and velocity that the drive of each coordinate has at time zero."""
    row_joint: Ints
    """(k,)"""
    row_measure: Ints
    """(k, 3) Measure of each row; its value is sign (measure - offset)."""
    row_sign: Array
    """(k,) -1 for upper limits, else 1."""
    row_offset: Array
    """(k,) [m or rad] length or limit; drives have their target in the state."""
    row_coordinate: Ints
    """(k,) coordinate that a row limits or drives; -1 for locked rows."""
    row_driven: Ints
    """(k,) 1 for the row of a drive, else 0."""
    row_stiffness: Array
    """(k,) [N/m or N m/rad], inf: rigid."""
    row_damping: Array
    """(k,) [N s/m or N m s/rad]"""
    row_bound: Array
    """(k,) [N or N m] largest force where the law is BOUNDED, else 0."""
    block_start: Ints
    """(n + 1,) first row of each block."""
    block_law: Ints
    """(n,) BILATERAL, LIMIT, ELASTIC or BOUNDED."""
    block_joint: Ints
    """(n,)"""

    @property
    def count(self) -> int:  # type: ignore[override]  # tables are never searched as tuples are
        """Number of joints nj."""
        return len(self.kind)

    @property
    def row_count(self) -> int:
        """Number of rows k."""
        return len(self.row_joint)


class _Row(NamedTuple):
    """A row of the tables."""

    joint: int
    measure: Measure
    sign: float = 1.0
    offset: float = 0.0
    coordinate: int = -1
    driven: int = 0
    stiffness: float = inf
    damping: float = 0.0
    bound: float = 0.0


def joint_tables(joints: Sequence[JointDescription], q_start: Array) -> JointTables:
    """Flatten joints; q_start (nb, 7) is where the bodies are at time zero."""
    rows: list[_Row] = []
    start, laws, owners = [0], [], []
    coordinate = np.full((len(joints), 2, 3), NOTHING, dtype=np.int32)
    target = np.zeros((len(joints), 2, 2))
    for index, joint in enumerate(joints):
        for law, block in _blocks(index, joint):
            rows.extend(block)
            start.append(len(rows))
            laws.append(law)
            owners.append(index)
        for k, measure in enumerate(FREE[joint.kind]):
            coordinate[index, k] = measure
        for k, drive in enumerate(joint.drives):
            if drive is not None:
                target[index, k] = drive.position, drive.velocity
    placed = [
        (
            *_local(joint.point_a, joint.frame, joint.a, q_start),
            *_local(joint.point_b, joint.frame if joint.frame_b is None else joint.frame_b, joint.b, q_start),
        )
        for joint in joints
    ]
    return JointTables(
        kind=_integers([JOINT_KINDS.index(joint.kind) for joint in joints]),
        body_a=_integers([joint.a for joint in joints]),
        body_b=_integers([joint.b for joint in joints]),
        anchor_a=_numbers([item[0] for item in placed], 3),
        anchor_b=_numbers([item[2] for item in placed], 3),
        frame_a=_numbers([item[1] for item in placed], 4),
        frame_b=_numbers([item[3] for item in placed], 4),
        break_force=np.array([joint.break_force for joint in joints], dtype=np.float64),
        break_torque=np.array([joint.break_torque for joint in joints], dtype=np.float64),
        ignored_key=np.array([_ignored_key(joint) for joint in joints], dtype=np.int64),
        coordinate=coordinate,
        target=target,
        row_joint=_integers([row.joint for row in rows]),
        row_measure=np.array([row.measure for row in rows], dtype=np.int32).reshape(-1, 3),
        row_sign=np.array([row.sign for row in rows], dtype=np.float64),
        row_offset=np.array([row.offset for row in rows], dtype=np.float64),
        row_coordinate=_integers([row.coordinate for row in rows]),
        row_driven=_integers([row.driven for row in rows]),
        row_stiffness=np.array([row.stiffness for row in rows], dtype=np.float64),
        row_damping=np.array([row.damping for row in rows], dtype=np.float64),
        row_bound=np.array([row.bound for row in rows], dtype=np.float64),
        block_start=_integers(start),
        block_law=_integers(laws),
        block_joint=_integers(owners),
    )


def no_joints() -> JointTables:
    """Tables of a model without joints."""
    return joint_tables((), np.zeros((0, 7)))


def _blocks(index: int, joint: JointDescription) -> list[tuple[int, list[_Row]]]:
    """Law and rows of the blocks of a joint: what is locked, then limits and drive of each coordinate."""
    if joint.springs is not None:
        own = joint.springs
        springs = zip(LOCKED[joint.kind], own.rest.tolist(), own.stiffness.tolist(), own.damping.tolist(), strict=True)
        return [(ELASTIC, [_Row(index, m, offset=at, stiffness=s, damping=d) for m, at, s, d in springs])]
    locked = []
    for measure in LOCKED[joint.kind]:
        turning = measure.code in (DOT, TURN)
        stiffness = joint.bending_stiffness if turning else joint.stiffness
        damping = joint.bending_damping if turning else joint.damping
        offset = joint.length if measure.code == DISTANCE else 0.0
        locked.append(_Row(index, measure, offset=offset, stiffness=stiffness, damping=damping))
    blocks = [(BILATERAL, locked)] if locked else []
    for k, limits in enumerate(joint.limits):
        measure = FREE[joint.kind][k]
        sides = [(1.0, limits[0]), (-1.0, limits[1])] if limits is not None else []
        if joint.kind == "rope":  # the only limits that may give way; a distance is never below zero
            sides = [(sign, side) for sign, side in sides if side > 0.0]
        stiffness, damping = (joint.stiffness, joint.damping) if joint.kind == "rope" else (inf, 0.0)
        block = [
            _Row(index, measure, sign, side, k, stiffness=stiffness, damping=damping)
            for sign, side in sides
            if not isinf(side)
        ]
        if block:
            blocks.append((LIMIT, block))
    for k, drive in enumerate(joint.drives):
        if drive is not None:
            free = isinf(drive.limit)
            row = _Row(
                index, FREE[joint.kind][k], coordinate=k, driven=1, stiffness=drive.stiffness, damping=drive.damping,
                bound=0.0 if free else drive.limit,
            )  # fmt: skip
            blocks.append((BILATERAL if free else BOUNDED, [row]))
    return blocks


def _ignored_key(joint: JointDescription) -> int:
    """Key of the two bodies, or -1 where they collide or one is the world."""
    if joint.collide or WORLD in (joint.a, joint.b):
        return -1
    return (min(joint.a, joint.b) << 32) + max(joint.a, joint.b)


def _local(point: Array, frame: Array, body: int, q_start: Array) -> tuple[Array, Array]:
    """A world point and frame as seen from a body; the world sees them as they are."""
    if body == WORLD:
        return point, frame
    pose = q_start[body]
    return matrix(pose[3:]).T @ (point - pose[:3]), multiply(conjugate(pose[3:]), frame)


def _integers(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int32)


def _numbers(values: Sequence[Array], width: int) -> Array:
    return np.array(values, dtype=np.float64).reshape(-1, width)
