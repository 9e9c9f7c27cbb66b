"""What a user changes of a robot: postures, controls, forces; each function returns a new state or control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array
from stickslip.bodies.tree.compiling import joint_places
from stickslip.bodies.tree.kind import TreeBodies
from stickslip.checks import array, finite, vector
from stickslip.errors import InputError
from stickslip.geometry.rotation import matrix
from stickslip.keywords import unknown
from stickslip.model.control import Control
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.names import shown
from stickslip.reading_robots import by_joint, trees_of
from stickslip.reading_state import body_row
from stickslip.robots.records import Actuator
from stickslip.scene.body import Body
from stickslip.scene.robots import Robot

Numbers = ArrayLike | Mapping[str, ArrayLike]
"""An array, or numbers by name."""


def with_joint_positions(model: Model, state: State, robot: Robot, q: Numbers) -> State:
    """The state with other joint positions (nq,), or those of the joints in a mapping; rotations are made unit."""
    trees = trees_of(model, robot)
    old = state.part_q(trees.name).reshape(-1)
    new = _changed(robot, old, q, "position", True)
    for name, part in by_joint(robot, new, True).items():
        if len(part) > 1:
            turn = part[-4:]
            length = float(np.linalg.norm(turn))
            if not length > 0.0:
                raise InputError(f"robot {robot.name!r}, joint {name!r}: its rotation is zero; a quaternion is needed")
            turn /= length
    parts = {part.name: state.part_q(part.name) for part in state.layout.parts} | {trees.name: new}
    return replace(state, q=state.layout.q_of(parts))


def with_joint_velocities(model: Model, state: State, robot: Robot, v: Numbers) -> State:
    """The state with other joint velocities (nv,), or those of the joints in a mapping."""
    trees = trees_of(model, robot)
    new = _changed(robot, state.part_v(trees.name).reshape(-1), v, "velocity", False)
    parts = {part.name: state.part_v(part.name) for part in state.layout.parts} | {trees.name: new}
    return replace(state, v=state.layout.v_of(parts))


def _changed(robot: Robot, old: Array, given: Numbers, what: str, of_positions: bool) -> Array:
    """Numbers (nq,) or (nv,) with those that are given."""
    where = f"robot {robot.name!r}"
    if not isinstance(given, Mapping):
        return array(where, what, given, (len(old),)).copy()
    new = old.copy()
    views = by_joint(robot, new, of_positions)
    for name, value in given.items():
        if name not in views:
            raise unknown(f"{where}: joint", name, list(views))
        views[name][:] = array(f"{where}, joint {name!r}", what, np.atleast_1d(np.asarray(value)), views[name].shape)
    return new


def with_control(
    model: Model, control: Control, robot: Robot, position: Numbers | None, velocity: Numbers | None,
    effort: Numbers | None, actuators: Numbers | None,
) -> Control:  # fmt: skip
    """The control with other targets of drives, efforts along joints, or controls of actuators."""
    trees, where = trees_of(model, robot), f"robot {robot.name!r}"
    if position is None and velocity is None and effort is None and actuators is None:
        raise InputError(f"{where}: none of position, velocity, effort and actuators is given; give one at least")
    given = control.actuators.get(trees.name, trees.control_start).copy()
    known = robot.record.actuators
    if actuators is not None:
        if isinstance(actuators, Mapping):
            names = robot.actuator_names
            for name, value in actuators.items():
                if name not in names:
                    raise unknown(f"{where}: actuator", name, names)
                given[names.index(name), 0] = finite(f"{where}, actuator {name!r}", "control", value)
        else:
            given[:, 0] = array(where, "actuators", actuators, (len(given),))
    for column, kinds, what, wanted in (
        (0, ("position",), "position", position), (1, ("position", "velocity"), "velocity", velocity)
    ):  # fmt: skip
        if wanted is not None:
            _aim(where, robot, known, given, column, kinds, what, wanted)
    force = control.force
    if effort is not None:
        force = force.copy()
        part = slice(control.layout.v_slice[trees.name].start, control.layout.v_slice[trees.name].stop)
        force[part] = _changed(robot, force[part], effort, "effort", False)
    return replace(control, force=force, actuators={**control.actuators, trees.name: given})


def _aim(
    where: str, robot: Robot, known: Sequence[Actuator], given: Array, column: int, kinds: tuple[str, ...], what: str,
    wanted: Numbers,
) -> None:  # fmt: skip
    """Write what drives aim at into ``given`` (nu, 2); by joint, whose drives must be of one of these kinds."""
    drives: dict[str, list[int]] = {}
    for d, each in enumerate(known):
        if each.kind in kinds:
            for joint, _ in each.terms:
                drives.setdefault(joint, []).append(d)
    places = joint_places(robot.record.links)
    if not isinstance(wanted, Mapping):
        driven = [name for name, place in places.items() if place.velocities == 1 and name in drives]
        numbers = np.asarray(wanted, dtype=np.float64)
        single = [name for name, place in places.items() if place.velocities == 1]
        if numbers.shape == (len(driven),):
            wanted = dict(zip(driven, numbers.tolist(), strict=True))
        elif numbers.shape == (len(single),):
            wanted = {name: value for name, value in zip(single, numbers.tolist(), strict=True) if name in drives}
        else:
            raise InputError(
                f"{where}: {what} is {shown(wanted)}; numbers for its {len(driven)} driven joints are needed, or for "
                f"all {len(single)} joints of one degree of freedom, or a mapping of names to numbers"
            )
    for name, value in wanted.items():
        if name not in places:
            raise unknown(f"{where}: joint", name, list(places))
        if name not in drives:
            raise InputError(f"{where}: joint {name!r} has no drive with a {what}; those that have: {sorted(drives)}")
        number = finite(f"{where}, joint {name!r}", what, value)
        for d in drives[name]:
            gear = dict(known[d].terms)[name]
            if column == 1 and known[d].kind == "velocity":
                given[d, 0] = gear * number
            else:
                given[d, column] = gear * number


def with_pushed_link(
    model: Model, state: State, control: Control, body: Body, force: ArrayLike, torque: ArrayLike,
    point: ArrayLike | None,
) -> Control:  # fmt: skip
    """The control with a force [N], at the centre of mass or a world point (3,) [m], and a torque [N m] on a link."""
    row = body_row(model, body)
    where = f"link {body.name!r}"
    push, turn = vector(where, "force", force, largest=inf), vector(where, "torque", torque, largest=inf)
    first = model.rigid_count
    for kind in model.others:
        if first <= row < first + kind.frame_count:
            break
        first += kind.frame_count
    if not isinstance(kind, TreeBodies):
        raise InputError(f"body {body.name!r}: it is no link of a robot; forces on it have no meaning here")
    if point is not None:
        pose = kind.poses(state.part_q(kind.name))[row - first]
        centre = pose[:3] + matrix(pose[3:]) @ np.array(kind.frames[row - first].centre)
        turn = turn + np.cross(vector(where, "point", point) - centre, push)
    forces = control.frame_forces.get(kind.name, np.zeros((kind.frame_count, 6))).copy()
    forces[row - first] = [*push, *turn]
    return replace(control, frame_forces={**control.frame_forces, kind.name: forces})
