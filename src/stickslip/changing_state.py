"""What a user changes in a state or a control, by handles: each function returns a new one, which Simulation keeps.

A handle of another scene, and a change that would have no effect, raises an InputError.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array
from stickslip.checks import LARGEST, finite, for_each, unit_quaternion, vector, whole, whole_array
from stickslip.errors import InputError
from stickslip.geometry import rotation
from stickslip.model.control import Control
from stickslip.model.model import DYNAMIC, FRAME, KINEMATIC, STATIC, Model
from stickslip.model.state import State
from stickslip.names import shown
from stickslip.reading_state import body_row, centre_of_mass, coordinate_count, joint_row, node_rows
from stickslip.scene.body import KINDS, Body
from stickslip.scene.joint import Joint
from stickslip.scene.soft_body import SoftBody


def with_drive(
    model: Model, control: Control, joint: Joint, position: float | None, velocity: float | None, coordinate: int
) -> Control:
    """The control with a new position [m or rad] or velocity [m/s or rad/s] that the drive of a coordinate aims at."""
    j = joint_row(model, joint)
    where = f"joint {joint.name!r}"
    tables = model.joints
    driven = tables.row_coordinate[(tables.row_joint == j) & (tables.row_driven == 1)].tolist()
    k = whole(where, "coordinate", coordinate)
    if k not in driven:
        raise InputError(f"{where}: coordinate {k} has no drive; those that have: {driven or 'none'}")
    if position is None and velocity is None:
        raise InputError(f"{where}: neither position nor velocity of its drive is given; give one or both")
    target = control.target.copy()
    for column, name, value in ((0, "position", position), (1, "velocity", velocity)):
        if value is not None:
            target[j, k, column] = finite(where, name, value)
    return replace(control, target=target)


def with_effort(model: Model, control: Control, joint: Joint, value: float, coordinate: int) -> Control:
    """The control with a force [N] or torque [N m] along a coordinate of a joint."""
    j = joint_row(model, joint)
    where = f"joint {joint.name!r}"
    count = coordinate_count(model, j)
    k = whole(where, "coordinate", coordinate)
    if k >= count:
        raise InputError(f"{where}: coordinate is {k}, but it has {count}; those that it has: {list(range(count))}")
    effort = control.effort.copy()
    effort[j, k] = finite(where, "effort", value)
    return replace(control, effort=effort)


def with_force(
    model: Model, state: State, control: Control, body: Body, force: ArrayLike, torque: ArrayLike,
    point: ArrayLike | None,
) -> Control:  # fmt: skip
    """The control with a force [N], at the centre of mass or a world point (3,) [m], and a torque [N m] on a body."""
    where = f"body {model.body_names[body_row(model, body)]!r}"
    push, turn = vector(where, "force", force, largest=inf), vector(where, "torque", torque, largest=inf)
    if point is not None:
        turn += np.cross(vector(where, "point", point) - centre_of_mass(model, state, body), push)
    row = np.concatenate([push, turn])
    return control.with_parts(body_force=_with_row(model, control.body_force, "force", body, row, (DYNAMIC,)))


def with_velocity(model: Model, state: State, body: Body, velocity: ArrayLike, angular_velocity: ArrayLike) -> State:
    """The state with another velocity [m/s] of the centre of mass, and angular velocity [rad/s], of a body."""
    where = f"body {model.body_names[body_row(model, body)]!r}"
    parts = [vector(where, "velocity", velocity), vector(where, "angular_velocity", angular_velocity)]
    v = _with_row(model, state.body_velocity, "velocity", body, np.concatenate(parts), (DYNAMIC, KINEMATIC))
    return state.with_parts(body_velocity=v)


def with_pose(model: Model, state: State, body: Body, position: ArrayLike, orientation: ArrayLike) -> State:
    """The state with a body's frame at a position (3,) [m] and a rotation (w, x, y, z)."""
    i = body_row(model, body)
    where = f"body {model.body_names[i]!r}"
    quaternion = unit_quaternion(where, orientation, "orientation")
    centre = rotation.matrix(quaternion) @ model.centre[i]
    pose = np.concatenate([vector(where, "position", position) + centre, quaternion])
    q = _with_row(model, state.body_pose, "pose", body, pose, (DYNAMIC, KINEMATIC, STATIC))
    return state.with_parts(body_pose=q)


def with_nodes(
    model: Model, array: Array, name: str, body: SoftBody, value: ArrayLike, nodes: ArrayLike | None
) -> Array:
    """``array`` (nn, 3), called ``name``, with other vectors (3,) or (k, 3) for the given nodes, all where None."""
    own = node_rows(model, body)
    where = f"soft body {body.name!r}"
    count = own.stop - own.start
    chosen = np.arange(count) if nodes is None else whole_array(where, "nodes", nodes, (None,), count)
    if not len(chosen):
        raise InputError(f"{where}: nodes are {shown(nodes)}; at least one is needed")
    numbers = for_each(where, name, value, len(chosen), inf if name == "node_force" else LARGEST)
    out = array.copy()
    out[own.start + chosen] = numbers
    return out


def _with_row(model: Model, rows: Array, name: str, body: Body, row: Array, kinds: tuple[int, ...]) -> Array:
    """``rows`` (nb, k) with another one for a body; bodies of other kinds raise an InputError."""
    i = body_row(model, body)
    kind = int(model.body_kind[i])
    if kind not in kinds or i in model.motions:
        what = "a body with a motion" if i in model.motions else f"a {KINDS[kind]} body" if kind < FRAME else "a link"
        raise InputError(f"body {body.name!r}: setting its {name} has no effect, since it is {what}")
    out = rows.copy()
    out[i] = row
    return out
