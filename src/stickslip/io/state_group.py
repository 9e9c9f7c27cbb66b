"""The state at the end of a recording, and the control under which it was reached."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from stickslip.model.control import Control, control_arrays, control_of
from stickslip.model.layout import Layout
from stickslip.model.state import (
    LAYOUT_NAMES,
    LAYOUT_SIZES,
    SCALARS,
    State,
    layout_arrays,
    layout_in,
    state_arrays,
    state_of,
)

GROUP, DIGEST = "final_state", "state_digest"


def create_state(file: h5py.File, state: State, control: Control) -> None:
    """Room for a state and a control, of which only the numbers of contacts may differ from the given ones."""
    group = file.create_group(GROUP)
    if len(state.layout.parts) > 2:  # with kinds that are not stored, the model does not say which parts there are
        known = layout_arrays(state.layout)
        group.attrs[LAYOUT_NAMES] = known[LAYOUT_NAMES].tolist()
        group.attrs[LAYOUT_SIZES] = known[LAYOUT_SIZES]
    for name, given in _arrays(state, control).items():
        value = np.asarray(given)
        if name in SCALARS:
            group.create_dataset(name, (), value.dtype)
        else:
            rows, *columns = value.shape
            group.create_dataset(
                name, (0, *columns), value.dtype, maxshape=(None, *columns), chunks=(max(64, rows), *columns)
            )
    file.create_dataset(DIGEST, (), "S64")


def write_state(file: h5py.File, state: State, control: Control) -> None:
    """Write every array and the digest of the state."""
    for name, value in _arrays(state, control).items():
        dataset = file[f"{GROUP}/{name}"]
        if name not in SCALARS:
            dataset.resize(len(value), axis=0)
        dataset[...] = value
    file[DIGEST][()] = state.digest().encode()


def read_state(file: h5py.File, layout: Layout) -> tuple[State, Control | None, str]:
    """The state, the control and the digest of the state; in files of version 1 that is an attribute.

    Until version 2 arrays of states had other names, and the control was among them.
    """
    data: dict[str, NDArray[Any]] = {name: each[()] for name, each in file[GROUP].items()}
    attributes = file[GROUP].attrs
    if LAYOUT_NAMES in attributes:
        names = np.array([str(name) for name in attributes[LAYOUT_NAMES]])
        layout = layout_in({LAYOUT_NAMES: names, LAYOUT_SIZES: np.asarray(attributes[LAYOUT_SIZES])})
    state = state_of(data, layout)
    digest = file.attrs[DIGEST] if DIGEST in file.attrs else file[DIGEST][()].decode()
    return state, control_of(data, state.layout), str(digest)


def _arrays(state: State, control: Control) -> dict[str, Any]:
    """All that is stored, by name."""
    return {**state_arrays(state), **control_arrays(control)}
