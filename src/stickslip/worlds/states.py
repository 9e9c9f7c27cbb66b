"""States of several worlds as one value: arrays with a leading world axis, which can be saved."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, LongInts
from stickslip.errors import InputError
from stickslip.model.layout import Layout
from stickslip.model.memory import Memory
from stickslip.model.state import State, layout_arrays, layout_in, save_arrays
from stickslip.reading import read_arrays, reading, regular_file

TYPES: dict[str, type[np.generic]] = {
    "steps": np.int64, "joint_broken": np.bool_, "memory_count": np.int64, "memory_key": np.int64,
}  # fmt: skip
"""Types of arrays that are not float64."""


@dataclass(frozen=True, eq=False)
class WorldStates:
    """States of n worlds of one layout. Whoever continues from them gets the same bits."""

    layout: Layout
    time: Array
    """(n,) [s]"""
    steps: LongInts
    """(n,) since time zero."""
    q: Array
    """(n, nq)"""
    v: Array
    """(n, nv)"""
    joint_angle: Array
    """(n, nj, 2)"""
    joint_broken: Bools
    """(n, nj)"""
    memory_count: LongInts
    """(n,) impulses that each world remembers; those of all follow one another in ..."""
    memory_key: LongInts
    """... (m, 2) and ..."""
    memory_impulse: Array
    """... (m, 4), as in Memory."""

    @staticmethod
    def of(states: Sequence[State]) -> WorldStates:
        """Of states of one model, at least one; arrays are copies."""
        return WorldStates(
            states[0].layout,
            np.array([state.time for state in states], dtype=np.float64),
            np.array([state.steps for state in states], dtype=np.int64),
            np.stack([state.q for state in states]),
            np.stack([state.v for state in states]),
            np.stack([state.joint_angle for state in states]),
            np.stack([state.joint_broken for state in states]),
            np.array([len(state.memory.key) for state in states], dtype=np.int64),
            np.concatenate([state.memory.key for state in states]),
            np.concatenate([state.memory.impulse for state in states]),
        )

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, k: int) -> State:
        """The state of the k-th of them, in arrays of its own."""
        if not -len(self) <= k < len(self):
            raise IndexError(f"state {k} is asked for; there are {len(self)}")
        k = int(k) % len(self)
        own = slice(int(self.memory_count[:k].sum()), int(self.memory_count[: k + 1].sum()))
        memory = Memory(np.array(self.memory_key[own], order="F"), self.memory_impulse[own].copy())
        return State(
            float(self.time[k]), int(self.steps[k]), self.layout, self.q[k].copy(), self.v[k].copy(),
            self.joint_angle[k].copy(), self.joint_broken[k].copy(), memory,
        )  # fmt: skip

    def take(self, worlds: NDArray[Any] | Sequence[int]) -> WorldStates:
        """Those of some of the worlds, by numbers or a mask."""
        chosen = np.arange(len(self))[np.asarray(worlds)]
        end = np.cumsum(self.memory_count)
        rows = [np.arange(end[k] - self.memory_count[k], end[k]) for k in chosen]
        memory = np.concatenate([*rows, np.zeros(0, np.int64)]).astype(np.int64)
        own = {
            item.name: getattr(self, item.name)[chosen]
            for item in fields(self)
            if item.name not in ("layout", "memory_key", "memory_impulse")
        }
        return replace(self, **own, memory_key=self.memory_key[memory], memory_impulse=self.memory_impulse[memory])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Its arrays by their names."""
        return {item.name: getattr(self, item.name) for item in fields(self) if item.name != "layout"}

    def digest(self) -> str:
        """SHA-256 over every bit, as 64 hex digits."""
        digest = hashlib.sha256()
        for array in self.arrays().values():
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write them to an ``.npz`` file, whole or not at all."""
        save_arrays(path, {**self.arrays(), **layout_arrays(self.layout)})

    @staticmethod
    def load(path: str | os.PathLike[str]) -> WorldStates:
        """Read what :meth:`save` wrote."""
        what = "states of worlds"
        file = regular_file(path, "state file", "a file that WorldStates.save wrote")
        data = read_arrays(file, "state file", what)
        with reading(file, "state file", what):
            own: dict[str, Any] = {}
            for item in fields(WorldStates):
                if item.name != "layout":
                    if item.name not in data:
                        raise KeyError(f"there is no {item.name!r}")
                    needed = TYPES.get(item.name, np.float64)
                    if not np.can_cast(data[item.name].dtype, needed, "same_kind"):
                        raise ValueError(f"{item.name} holds {data[item.name].dtype}; {needed.__name__} is needed")
                    own[item.name] = np.ascontiguousarray(data[item.name], dtype=needed)
            found = WorldStates(layout=layout_in(data), **own)
            _check_shapes(found)
        return found

    def __repr__(self) -> str:
        return f"WorldStates({len(self)} worlds, digest {self.digest()[:8]})"


def _check_shapes(states: WorldStates) -> None:
    """Raise a ValueError unless arrays fit one another; what is in them, ``check_state`` looks at."""
    n, layout, m = states.time.shape[:1], states.layout, states.memory_count
    joints = states.joint_broken.shape[1:]
    needed = {
        "time": n, "steps": n, "q": (*n, layout.q_count), "v": (*n, layout.v_count), "joint_angle": (*n, *joints, 2),
        "joint_broken": (*n, *joints), "memory_count": n,
    }  # fmt: skip
    for name, shape in needed.items():
        if getattr(states, name).shape != shape:
            raise ValueError(f"{name} has shape {getattr(states, name).shape}; {shape} is needed")
    if (m < 0).any() or states.memory_key.shape != (m.sum(), 2) or states.memory_impulse.shape != (m.sum(), 4):
        raise ValueError("memory_count, memory_key and memory_impulse do not fit one another")


def states_for(where: str, given: object, count: int) -> WorldStates | State:
    """One state for all, or one for each of ``count`` worlds."""
    if isinstance(given, State):
        return given
    if isinstance(given, WorldStates):
        found = given
    elif isinstance(given, Sequence) and given and all(isinstance(each, State) for each in given):
        found = WorldStates.of(given)
    else:
        raise InputError(f"{where}: state is {type(given).__name__}; a State, or what get_state gave, is needed")
    if len(found) != count:
        raise InputError(f"{where}: {len(found)} states are given for {count} worlds; one for each is needed, or one")
    return found
