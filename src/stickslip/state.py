"""The state: what changes in time. Stepping replaces it, so the last good one is never half overwritten."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, LongInts
from stickslip.checks import LARGEST, finite, instance, whole
from stickslip.errors import InputError
from stickslip.files import whole_file
from stickslip.model import Model
from stickslip.names import shown
from stickslip.reading import read_arrays, reading, regular_file

LATER_FIELDS = (
    "joint_impulse", "joint_angle", "joint_target", "joint_broken",
    "node_position", "node_velocity", "node_force", "soft_key", "soft_impulse", "weld_impulse",
)  # fmt: skip
"""Fields that files from before there were joints or soft bodies do not have."""
DTYPES = {"contact_key": np.int64, "soft_key": np.int64, "joint_broken": np.bool_}
"""Types of fields that are not float64."""
SCALARS: dict[str, type[float] | type[int]] = {"time": float, "steps": int}
"""Fields that are single numbers."""


@dataclass(frozen=True, eq=False)
class State:
    """Configuration, velocity, and what warm starts need; enough to continue bit for bit."""

    time: float
    """[s]"""
    steps: int
    """Steps taken since time zero."""
    q: Array
    """(nb, 7) position of the centre of mass [m] and rotation (w, x, y, z) of each body."""
    v: Array
    """(nb, 6) linear [m/s] and angular velocity [rad/s], world frame."""
    force: Array
    """(nb, 6) force [N] at the centre of mass and torque [N m] that the user applies until told otherwise."""
    contact_key: LongInts
    """(nc,) sorted keys of the contacts of the last step."""
    contact_impulse: Array
    """(nc, 4) their impulse in the world frame [N s], and the torsional one about the normal [N m s]."""
    joint_impulse: Array = field(default_factory=lambda: np.zeros(0))
    """(k,) [N s or N m s] of every row of joints in the last step; zero where the joint is broken."""
    joint_angle: Array = field(default_factory=lambda: np.zeros((0, 2)))
    """(nj, 2) [rad] angles of joints, full turns counted; zero where a coordinate is no angle."""
    joint_target: Array = field(default_factory=lambda: np.zeros((0, 2, 2)))
    """(nj, 2, 2) position and velocity that the drive of each coordinate aims at."""
    joint_broken: Bools = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """(nj,)"""
    node_position: Array = field(default_factory=lambda: np.zeros((0, 3)))
    """(nn, 3) [m] of the nodes of soft bodies."""
    node_velocity: Array = field(default_factory=lambda: np.zeros((0, 3)))
    """(nn, 3) [m/s]"""
    node_force: Array = field(default_factory=lambda: np.zeros((0, 3)))
    """(nn, 3) [N] that the user applies until told otherwise."""
    soft_key: LongInts = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """(k,) sorted keys of the contacts of soft bodies in the last step."""
    soft_impulse: Array = field(default_factory=lambda: np.zeros((0, 4)))
    """(k, 4) their impulse in the world frame [N s]; the last column is zero."""
    weld_impulse: Array = field(default_factory=lambda: np.zeros(0))
    """(3 nw,) [N s] of nodes that are welded to rigid bodies."""

    def copy(self) -> State:
        """An independent copy."""
        return State(
            self.time,
            self.steps,
            *(np.array(getattr(self, f.name), order="C") for f in fields(self) if f.name not in ("time", "steps")),
        )

    def digest(self) -> str:
        """SHA-256 over every bit of the state, as 64 hex digits."""
        digest = hashlib.sha256()
        for item in fields(self):
            digest.update(np.ascontiguousarray(getattr(self, item.name)).tobytes())
        return digest.hexdigest()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to an ``.npz`` file, whole or not at all."""
        with whole_file(path) as temporary, open(temporary, "wb") as stream:
            np.savez(stream, **{item.name: getattr(self, item.name) for item in fields(self)})

    @staticmethod
    def load(path: str | os.PathLike[str]) -> State:
        """Read a state that :meth:`save` wrote."""
        file = regular_file(path, "state file", "a file that State.save wrote")
        data = read_arrays(file, "state file", "a saved state")
        with reading(file, "state file", "a saved state"):
            return state_of(data)


def state_of(data: dict[str, NDArray[Any]]) -> State:
    """The state in arrays from a file, by the names of its fields; a ValueError or KeyError says what is wrong."""
    values: dict[str, Any] = {}
    for item in fields(State):
        if item.name not in data:
            if item.name in LATER_FIELDS:
                continue
            raise KeyError(f"there is no {item.name!r}")
        array = np.asarray(data[item.name])
        needed = np.dtype(SCALARS.get(item.name) or DTYPES.get(item.name, np.float64))
        if array.dtype.kind not in "biuf" or not np.can_cast(array.dtype, needed, "same_kind"):
            raise ValueError(f"{item.name} holds {array.dtype}; {needed} is needed")
        if item.name in SCALARS:
            if array.shape != ():
                raise ValueError(f"{item.name} has shape {array.shape}; one number is needed")
            values[item.name] = SCALARS[item.name](array)
        else:
            values[item.name] = np.ascontiguousarray(array, dtype=needed)
    return State(**values)


def initial_state(model: Model) -> State:
    """The state at time zero: poses, velocities and forces of the scene, no remembered impulses."""
    return State(
        time=0.0,
        steps=0,
        q=model.q_start.copy(),
        v=model.v_start.copy(),
        force=model.force_start.copy(),
        contact_key=np.zeros(0, dtype=np.int64),
        contact_impulse=np.zeros((0, 4)),
        joint_impulse=np.zeros(model.joints.row_count),
        joint_angle=np.zeros((model.joints.count, 2)),
        joint_target=model.joints.target.copy(),
        joint_broken=np.zeros(model.joints.count, dtype=np.bool_),
        node_position=model.soft.x_start.copy(),
        node_velocity=model.soft.v_start.copy(),
        node_force=model.soft.force_start.copy(),
        weld_impulse=np.zeros(3 * len(model.soft.weld_node)),
    )


def check_state(model: Model, state: State) -> None:
    """Raise an InputError unless a state fits a model and can be stepped on from."""
    instance("state", "state", state, State, "a stickslip.State is needed, such as sim.state or State.load(path)")
    finite("state", "time", state.time)
    whole("state", "steps", state.steps)
    for item in fields(State):
        if item.name not in ("time", "steps"):
            _check_type(item.name, getattr(state, item.name))
    for name, width in (("q", 7), ("v", 6), ("force", 6)):
        array = getattr(state, name)
        if array.shape != (model.body_count, width):
            expected = (model.body_count, width)
            raise InputError(f"state: {name} has shape {array.shape}; this model needs {expected}")
        if not np.isfinite(array).all():
            body = int(np.argmin(np.isfinite(array).all(axis=1)))
            raise InputError(f"state: {name} of body {model.body_names[body]!r} is {array[body]}; it must be finite")
    turn = np.linalg.norm(state.q[:, 3:], axis=1)
    if (np.abs(turn - 1.0) > 1e-6).any():
        body = int(np.argmax(np.abs(turn - 1.0)))
        raise InputError(
            f"state: rotation of body {model.body_names[body]!r} is {state.q[body, 3:]}; its length must be 1"
        )
    for kind in ("contact", "soft"):
        key, impulse = getattr(state, f"{kind}_key"), getattr(state, f"{kind}_impulse")
        if key.ndim != 1 or impulse.shape != (len(key), 4):
            raise InputError(
                f"state: {kind}_key has shape {key.shape}, {kind}_impulse {impulse.shape}; (k,), (k, 4) needed"
            )
        if not np.isfinite(impulse).all() or (np.diff(key) < 0).any():
            raise InputError(f"state: {kind}_impulse must be finite and {kind}_key sorted")
    joints, nodes = len(model.joint_names), model.soft.node_count
    for name, shape in (
        ("joint_impulse", (model.joints.row_count,)),
        ("joint_angle", (joints, 2)),
        ("joint_target", (joints, 2, 2)),
        ("joint_broken", (joints,)),
        ("node_position", (nodes, 3)),
        ("node_velocity", (nodes, 3)),
        ("node_force", (nodes, 3)),
        ("weld_impulse", (3 * len(model.soft.weld_node),)),
    ):
        array = getattr(state, name)
        if array.shape != shape:
            raise InputError(f"state: {name} has shape {array.shape}; this model needs {shape}")
        if not np.isfinite(array).all():
            raise InputError(f"state: {name} has the entry {array[~np.isfinite(array)][0]}; all must be finite")
    for name in ("q", "v", "node_position", "node_velocity"):
        far = np.abs(getattr(state, name)).max(initial=0.0)
        if far > LARGEST:
            raise InputError(f"state: {name} has an entry of the size {far}; it must be at most {LARGEST:g}")


def _check_type(name: str, array: object) -> None:
    """Raise an InputError unless a field of a state is an array of its type: kernels read it without looking."""
    needed = np.dtype(DTYPES.get(name, np.float64))
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise InputError(f"state: {name} is {shown(array)}; an array of {needed} is needed")
    if array.dtype != needed:
        raise InputError(f"state: {name} is an array of {array.dtype}; one of {needed} is needed")
