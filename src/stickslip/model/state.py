"""The state: what changes in time. Stepping replaces it, so the last good one is never half overwritten.

Forces and targets that the user applies are not part of it: model/control.py.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, LongInts
from stickslip.checks import LARGEST, finite, instance, whole
from stickslip.constraint_kinds import KIND, KINDS
from stickslip.errors import InputError
from stickslip.files import whole_file
from stickslip.model.layout import BODY, NODE, Layout, Part, layout_of
from stickslip.model.memory import Memory, memory_of
from stickslip.model.model import Model
from stickslip.names import shown
from stickslip.reading import read_arrays, reading, regular_file

OLD_FIELDS: dict[str, tuple[int, ...]] = {
    "contact_key": (), "contact_impulse": (4,), "joint_impulse": (), "joint_angle": (2,), "joint_broken": (),
    "node_position": (3,), "node_velocity": (3,), "soft_key": (), "soft_impulse": (4,), "weld_impulse": (),
}  # fmt: skip
"""Arrays of states in files from before q and v were flat, and the shapes of their rows."""
LATER_FIELDS = (
    "joint_impulse", "joint_angle", "joint_target", "joint_broken",
    "node_position", "node_velocity", "node_force", "soft_key", "soft_impulse", "weld_impulse",
)  # fmt: skip
"""Those of them that files from before there were joints or soft bodies do not have."""
DTYPES: dict[str, type[np.generic]] = {
    "contact_key": np.int64, "soft_key": np.int64, "memory_key": np.int64, "joint_broken": np.bool_,
}  # fmt: skip
"""Types of arrays that are not float64."""
SCALARS: dict[str, type[float] | type[int]] = {"time": float, "steps": int}
"""Fields that are single numbers."""
LAYOUT_NAMES, LAYOUT_SIZES = "layout_names", "layout_sizes"
"""Arrays of a file in which the layout is: names (k,), and (k, 3) numbers of things and widths of theirs in q and v."""
MOST_PARTS = 100
IMPULSES = {
    "contact": "contact_impulse", "soft contact": "soft_impulse", "joint": "joint_impulse", "weld": "weld_impulse",
}  # fmt: skip
"""How a state calls its impulses of each kind."""


@dataclass(frozen=True, eq=False)
class State:
    """Configuration, velocity, and what warm starts need; enough to continue bit for bit under the same control."""

    time: float
    """[s]"""
    steps: int
    """Steps taken since time zero."""
    layout: Layout
    """Which parts q and v have."""
    q: Array
    """(nq,) configuration: ``body_pose`` of all rigid bodies, parts of other kinds, ``node_position`` of all nodes."""
    v: Array
    """(nv,) velocity: ``body_velocity``, parts of other kinds, ``node_velocity``."""
    joint_angle: Array
    """(nj, 2) [rad] angles of joints, full turns counted; zero where a coordinate is no angle."""
    joint_broken: Bools
    """(nj,)"""
    memory: Memory
    """Impulses of the last step."""

    @cached_property
    def body_pose(self) -> Array:
        """(nb, 7) position of the centre of mass [m] and rotation (w, x, y, z) of each rigid body; a view of q."""
        return self.part_q(BODY)

    @cached_property
    def body_velocity(self) -> Array:
        """(nb, 6) linear [m/s] and angular velocity [rad/s] of each rigid body, world frame; a view of v."""
        return self.part_v(BODY)

    @cached_property
    def node_position(self) -> Array:
        """(nn, 3) [m] of the nodes of soft bodies; a view of q."""
        return self.part_q(NODE)

    @cached_property
    def node_velocity(self) -> Array:
        """(nn, 3) [m/s] of the nodes of soft bodies; a view of v."""
        return self.part_v(NODE)

    @cached_property
    def contact_key(self) -> LongInts:
        """(nc,) sorted keys of the contacts of the last step between rigid bodies."""
        return self._remembered("contact")[0]

    @cached_property
    def contact_impulse(self) -> Array:
        """(nc, 4) their impulse in the world frame [N s], and the torsional one about the normal [N m s]."""
        return self._remembered("contact")[1]

    @cached_property
    def soft_key(self) -> LongInts:
        """(k,) sorted keys of the contacts of soft bodies in the last step."""
        return self._remembered("soft contact")[0]

    @cached_property
    def soft_impulse(self) -> Array:
        """(k, 4) their impulse in the world frame [N s]; the last column is zero."""
        return self._remembered("soft contact")[1]

    @cached_property
    def joint_impulse(self) -> Array:
        """(k,) [N s or N m s] of every row of joints in the last step; zero where the joint is broken."""
        return np.ascontiguousarray(self._remembered("joint")[1][:, 0])

    @cached_property
    def weld_impulse(self) -> Array:
        """(3 nw,) [N s] of nodes that are welded to rigid bodies."""
        return self._remembered("weld")[1][:, :3].reshape(-1)

    @cached_property
    def mean_velocity(self) -> Array:
        """(nv,) that of the last step on average, if its unknowns were mean velocities; else v.

        With the scheme "passive" v has, besides motion, what stiff parts turn round in every step: whoever wants to
        know where things are going looks here. Told by how much v leads it, so velocities that a user sets change it.
        """
        lead = self._remembered("lead")[1]
        return self.v - lead.reshape(-1)[: len(self.v)] if lead.size >= len(self.v) > 0 else self.v

    def _remembered(self, kind: str) -> tuple[LongInts, Array]:
        """``memory.of`` from plain fields, since every step reads it."""
        memory, number = self.memory, KIND[kind]
        first, end = memory.start[number], memory.start[number + 1]
        return memory.key[first:end, 1], memory.impulse[first:end]

    def part_q(self, name: str) -> Array:
        """(number, q_width) configuration of a part of the layout; a view."""
        shape = self.layout.q_shape[name]
        # NumPy takes long to see that nothing is a view of nothing
        return self.q[self.layout.q_slice[name]].reshape(shape) if shape[0] else np.empty(shape)

    def part_v(self, name: str) -> Array:
        """(number, v_width) velocity of a part of the layout; a view."""
        shape = self.layout.v_shape[name]
        # NumPy takes long to see that nothing is a view of nothing
        return self.v[self.layout.v_slice[name]].reshape(shape) if shape[0] else np.empty(shape)

    def with_parts(
        self,
        body_pose: Array | None = None,
        body_velocity: Array | None = None,
        node_position: Array | None = None,
        node_velocity: Array | None = None,
    ) -> State:
        """The state with other configurations (nb, 7), (nn, 3) or velocities (nb, 6), (nn, 3); None: as they are."""
        layout = self.layout
        q = layout.q_with(self.q, body_pose, node_position)
        v = layout.v_with(self.v, body_velocity, node_velocity)
        made = State(self.time, self.steps, layout, q, v, self.joint_angle, self.joint_broken, self.memory)
        return made.with_views()

    def with_joints(self, angle: Array, broken: Bools) -> State:
        """The state with other angles (nj, 2) of joints, and others of them broken (nj,)."""
        made = State(self.time, self.steps, self.layout, self.q, self.v, angle, broken, self.memory)
        return made.with_views()

    def following(self, h: float, q: Array, v: Array, memory: Memory) -> State:
        """The state a step of h [s] later, with flat q and v, and the impulses of that step."""
        made = object.__new__(State)  # to set the fields of a frozen class takes longer than to step a box
        made.__dict__.update(
            time=self.time + h, steps=self.steps + 1, layout=self.layout, q=q, v=v, joint_angle=self.joint_angle,
            joint_broken=self.joint_broken, memory=memory,
        )  # fmt: skip
        return made

    def with_views(self) -> State:
        """The state itself with its views made, all of which a step reads: at first use each takes as long as four."""
        views = self.__dict__
        views["body_pose"], views["node_position"] = self.part_q(BODY), self.part_q(NODE)
        views["body_velocity"], views["node_velocity"] = self.part_v(BODY), self.part_v(NODE)
        return self

    def __repr__(self) -> str:
        return f"State(t = {self.time:.6g} s, {self.steps} steps, digest {self.digest()[:8]})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return str(import_module("stickslip.view.notebook").state_html(self))

    def copy(self) -> State:
        """An independent copy."""
        memory = Memory(np.array(self.memory.key, order="F"), np.array(self.memory.impulse, order="C"))
        q, v, angle = (np.array(each, order="C") for each in (self.q, self.v, self.joint_angle))
        return State(self.time, self.steps, self.layout, q, v, angle, self.joint_broken.copy(), memory)

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles hold: the fields, not views of them."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def digest(self) -> str:
        """SHA-256 over every bit of the state, as 64 hex digits."""
        digest = hashlib.sha256()
        for array in state_arrays(self).values():
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to an ``.npz`` file, whole or not at all; ``Simulation.save`` writes the control, too."""
        save_arrays(path, state_file_arrays(self))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> State:
        """Read a state that :meth:`save` or ``Simulation.save`` wrote."""
        return load_arrays(path)[0]


def state_arrays(state: State) -> dict[str, Any]:
    """Numbers and arrays of a state by the names that they have in files, without the layout."""
    return {
        "time": state.time, "steps": state.steps, "q": state.q, "v": state.v, "joint_angle": state.joint_angle,
        "joint_broken": state.joint_broken, "memory_key": state.memory.key, "memory_impulse": state.memory.impulse,
    }  # fmt: skip


def state_file_arrays(state: State) -> dict[str, Any]:
    """The same with the layout."""
    return {**state_arrays(state), **layout_arrays(state.layout)}


def layout_arrays(layout: Layout) -> dict[str, NDArray[Any]]:
    """The layout as arrays, by the names that they have in files; ``layout_in`` reads them."""
    sizes = np.array([part[1:] for part in layout.parts], dtype=np.int64).reshape(-1, 3)
    return {LAYOUT_NAMES: np.array([part.name for part in layout.parts]), LAYOUT_SIZES: sizes}


def save_arrays(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Write a state file, whole or not at all."""
    with whole_file(path) as temporary, open(temporary, "wb") as stream:
        np.savez(stream, **arrays)


def load_arrays(path: str | os.PathLike[str]) -> tuple[State, dict[str, NDArray[Any]]]:
    """The state in a file, and all its arrays."""
    file = regular_file(path, "state file", "a file that State.save wrote")
    data = read_arrays(file, "state file", "a saved state")
    with reading(file, "state file", "a saved state"):
        return state_of(data), data


def state_of(data: Mapping[str, NDArray[Any]], layout: Layout | None = None) -> State:
    """The state in arrays from a file, by their names; a ValueError or KeyError says what is wrong.

    layout: where it is known, and not in the arrays.
    """
    time, steps = (_scalar(data, name) for name in SCALARS)
    if "memory_key" not in data:
        return _old_state(data, float(time), int(steps))
    found = layout_in(data) if layout is None else layout
    q, v = (_array(data, name, (None,)) for name in ("q", "v"))
    for name, array, count in (("q", q, found.q_count), ("v", v, found.v_count)):
        if len(array) != count:
            raise ValueError(f"{name} has {len(array)} numbers; its parts have {count}")
    key = np.asfortranarray(_array(data, "memory_key", (None, 2)))
    memory = Memory(key, _array(data, "memory_impulse", (len(key), 4)))
    angle, broken = _array(data, "joint_angle", (None, 2)), _array(data, "joint_broken", (None,))
    return State(float(time), int(steps), found, q, v, angle, broken, memory)


def state_of_parts(
    time: float,
    steps: int,
    layout: Layout,
    q: Mapping[str, Array],
    v: Mapping[str, Array],
    joint_angle: Array,
    joint_broken: Bools,
    memory: Memory,
) -> State:
    """A state from the parts of q and v by name; what alone is there is not copied."""
    made = State(time, steps, layout, layout.q_of(q), layout.v_of(v), joint_angle, joint_broken, memory)
    return made.with_views()


def initial_state(model: Model) -> State:
    """The state at time zero: poses and velocities of the scene, no remembered impulses."""
    layout, joints, soft = model.layout, model.joints, model.soft
    q = {part.name: np.zeros((part.number, part.q_width)) for part in layout.parts}
    v = {part.name: np.zeros((part.number, part.v_width)) for part in layout.parts}
    q |= {kind.name: np.array(kind.q_start, dtype=np.float64)[None] for kind in model.others}
    v |= {kind.name: np.array(kind.v_start, dtype=np.float64)[None] for kind in model.others}
    q |= {BODY: model.q_start.copy(), NODE: soft.x_start.copy()}
    v |= {BODY: model.v_start.copy(), NODE: soft.v_start.copy()}
    none = np.zeros(0, dtype=np.int64), np.zeros((0, 4))
    memory = memory_of(*none, np.zeros(joints.row_count), *none, np.zeros(3 * len(soft.weld_node)))
    angle, broken = np.zeros((joints.count, 2)), np.zeros(joints.count, dtype=np.bool_)
    return state_of_parts(0.0, 0, layout, q, v, angle, broken, memory)


def check_state(model: Model, state: State) -> None:
    """Raise an InputError unless a state fits a model and can be stepped on from."""
    instance("state", "state", state, State, "a stickslip.State is needed, such as sim.state or State.load(path)")
    finite("state", "time", state.time)
    whole("state", "steps", state.steps)
    instance("state", "layout", state.layout, Layout, "that of the model is needed, model.layout")
    instance("state", "memory", state.memory, Memory, "that of a state is needed, such as sim.state.memory")
    for name, array in state_arrays(state).items():
        if name not in SCALARS:
            _check_type(name, array)
    _check_layout(model, state)
    for name, array in (("body_pose", state.body_pose), ("body_velocity", state.body_velocity)):
        if not np.isfinite(array).all():
            body = int(np.argmin(np.isfinite(array).all(axis=1)))
            raise InputError(f"state: {name} of body {model.body_names[body]!r} is {array[body]}; it must be finite")
    turn = np.linalg.norm(state.body_pose[:, 3:], axis=1)
    if (np.abs(turn - 1.0) > 1e-6).any():
        body = int(np.argmax(np.abs(turn - 1.0)))
        raise InputError(
            f"state: rotation of body {model.body_names[body]!r} is {state.body_pose[body, 3:]}; its length must be 1"
        )
    _check_memory(model, state.memory)
    joints = len(model.joint_names)
    for name, shape in (("joint_angle", (joints, 2)), ("joint_broken", (joints,))):
        array = getattr(state, name)
        if array.shape != shape:
            raise InputError(f"state: {name} has shape {array.shape}; this model needs {shape}")
    for name in ("joint_angle", "node_position", "node_velocity", "q", "v"):
        array = getattr(state, name)
        if not np.isfinite(array).all():
            raise InputError(f"state: {name} has the entry {array[~np.isfinite(array)][0]}; all must be finite")
    for name in ("q", "v"):
        far = np.abs(getattr(state, name)).max(initial=0.0)
        if far > LARGEST:
            raise InputError(f"state: {name} has an entry of the size {far}; it must be at most {LARGEST:g}")


def _check_layout(model: Model, state: State) -> None:
    """Raise an InputError unless q and v have the parts of the model."""
    layout, needed = state.layout, model.layout
    if layout != needed:
        for own, other in zip(layout.parts, needed.parts, strict=False):
            if own != other:
                raise InputError(
                    f"state: part {own.name!r} has shape {layout.q_shape[own.name]} in q and "
                    f"{layout.v_shape[own.name]} in v; this model needs part {other.name!r} of "
                    f"{needed.q_shape[other.name]} and {needed.v_shape[other.name]}"
                )
        have, need = ([part.name for part in each.parts] for each in (layout, needed))
        raise InputError(f"state: its parts are {have}; this model needs {need}")
    for name, count in (("q", needed.q_count), ("v", needed.v_count)):
        array = getattr(state, name)
        if array.shape != (count,):
            raise InputError(f"state: {name} has shape {array.shape}; this model needs {(count,)}")


def _check_memory(model: Model, memory: Memory) -> None:
    """Raise an InputError unless remembered impulses are sorted, finite, and fit the joints and welds of a model."""
    key, impulse = memory.key, memory.impulse
    if key.ndim != 2 or key.shape[1:] != (2,) or impulse.shape != (len(key), 4):
        raise InputError(
            f"state: memory_key has shape {key.shape}, memory_impulse {impulse.shape}; (n, 2), (n, 4) needed"
        )
    kind, number = key[:, 0], key[:, 1]
    if ((kind < 0) | (kind >= len(KINDS))).any():
        other = kind[(kind < 0) | (kind >= len(KINDS))][0]
        raise InputError(f"state: memory_key has the kind {other}; it must be 0 to {len(KINDS) - 1}")
    step = kind[1:] - kind[:-1]
    if (step < 0).any() or ((step == 0) & (number[1:] < number[:-1])).any():
        raise InputError("state: memory_key is not sorted by kind and number; it must be")
    wrong = ~np.isfinite(impulse).all(axis=1)
    if wrong.any():
        name = IMPULSES.get(KINDS[kind[wrong][0]], "memory_impulse")
        row = impulse[wrong][0]
        raise InputError(f"state: {name} has the entry {row[~np.isfinite(row)][0]}; all must be finite")
    for name, count in (("joint", model.joints.row_count), ("weld", len(model.soft.weld_node))):
        numbers = memory.of(name)[0]
        if not np.array_equal(numbers, np.arange(count)):
            raise InputError(
                f"state: {name}_impulse has shape ({len(numbers)},), the numbers {numbers[:3]} ... in memory_key; "
                f"this model needs 0 to {count} without the last"
            )


def _check_type(name: str, array: object) -> None:
    """Raise an InputError unless a field of a state is an array of its type: kernels read it without looking."""
    needed = np.dtype(DTYPES.get(name, np.float64))
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise InputError(f"state: {name} is {shown(array)}; an array of {needed} is needed")
    if array.dtype != needed:
        raise InputError(f"state: {name} is an array of {array.dtype}; one of {needed} is needed")


def _scalar(data: Mapping[str, NDArray[Any]], name: str) -> float | int:
    """A number of a file."""
    array = _typed(data, name, np.dtype(SCALARS[name]))
    if array.shape != ():
        raise ValueError(f"{name} has shape {array.shape}; one number is needed")
    return SCALARS[name](array)


def _array(data: Mapping[str, NDArray[Any]], name: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """An array of a file in the type of its name and of a shape, of which None may be anything."""
    needed = np.dtype(DTYPES.get(name, np.float64))
    array = np.ascontiguousarray(_typed(data, name, needed), dtype=needed)
    if array.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
        words = ", ".join("any" if n is None else str(n) for n in shape)
        raise ValueError(f"{name} has shape {array.shape}; ({words}) is needed")
    return array


def _typed(data: Mapping[str, NDArray[Any]], name: str, needed: np.dtype[Any]) -> NDArray[Any]:
    """An array of a file that can be read as the type that is needed."""
    if name not in data:
        raise KeyError(f"there is no {name!r}")
    array = np.asarray(data[name])
    if array.dtype.kind not in "biuf" or not np.can_cast(array.dtype, needed, "same_kind"):
        raise ValueError(f"{name} holds {array.dtype}; {needed} is needed")
    return array


def layout_in(data: Mapping[str, NDArray[Any]]) -> Layout:
    """The layout in a file."""
    for name in (LAYOUT_NAMES, LAYOUT_SIZES):
        if name not in data:
            raise KeyError(f"there is no {name!r}")
    names, sizes = np.asarray(data[LAYOUT_NAMES]), np.asarray(data[LAYOUT_SIZES])
    if names.dtype.kind != "U" or names.ndim != 1 or not 2 <= len(names) <= MOST_PARTS:
        raise ValueError(f"{LAYOUT_NAMES} holds {names.dtype} of shape {names.shape}; names of parts are needed")
    if sizes.dtype.kind not in "iu" or sizes.shape != (len(names), 3) or (sizes < 0).any():
        raise ValueError(f"{LAYOUT_SIZES} holds {sizes.dtype} of shape {sizes.shape}; (k, 3) numbers are needed")
    layout = Layout(tuple(Part(str(name), *map(int, row)) for name, row in zip(names, sizes.tolist(), strict=True)))
    if len(layout.part) != len(names) or BODY not in layout.part or NODE not in layout.part:
        raise ValueError(f"{LAYOUT_NAMES} are {names.tolist()}; different ones, {BODY!r} and {NODE!r} are needed")
    if layout.q_shape[BODY][1] != 7 or layout.v_shape[BODY][1] != 6 or {*layout.part[NODE][2:]} != {3}:
        raise ValueError(f"{LAYOUT_SIZES} has other widths of bodies or nodes than 7, 6 and 3, 3")
    return layout


def _old_state(data: Mapping[str, NDArray[Any]], time: float, steps: int) -> State:
    """The state in arrays of which each had a name, q (nb, 7) and v (nb, 6) among them."""
    found: dict[str, Any] = {}
    for name, row in OLD_FIELDS.items():
        if name not in data and name in LATER_FIELDS:
            found[name] = np.zeros((0, *row), dtype=DTYPES.get(name, np.float64))
        else:
            found[name] = _array(data, name, (None, *row))
    q, v = _array(data, "q", (None, 7)), _array(data, "v", (None, 6))
    x, x_v = found["node_position"], found["node_velocity"]
    contacts, soft = (found["contact_key"], found["contact_impulse"]), (found["soft_key"], found["soft_impulse"])
    welds = found["weld_impulse"]
    if len(v) != len(q) or len(x_v) != len(x):
        raise ValueError(f"q and v have {len(q)} and {len(v)} rows, nodes {len(x)} and {len(x_v)}; they must agree")
    if any(len(key) != len(impulse) for key, impulse in (contacts, soft)) or len(welds) % 3:
        raise ValueError("keys and impulses do not fit one another")
    return state_of_parts(
        time, steps, layout_of(len(q), len(x)), {BODY: q, NODE: x}, {BODY: v, NODE: x_v}, found["joint_angle"],
        found["joint_broken"], memory_of(*contacts, found["joint_impulse"], *soft, welds),
    )  # fmt: skip
