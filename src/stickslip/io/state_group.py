"""The state at the end of a recording."""

from __future__ import annotations

from dataclasses import fields

import h5py
import numpy as np

from stickslip.state import SCALARS, State, state_of

GROUP, DIGEST = "final_state", "state_digest"


def create_state(file: h5py.File, state: State) -> None:
    """Room for a state, of which only the numbers of contacts may differ from the given one."""
    group = file.create_group(GROUP)
    for item in fields(State):
        value = np.asarray(getattr(state, item.name))
        if item.name in SCALARS:
            group.create_dataset(item.name, (), value.dtype)
        else:
            rows, *columns = value.shape
            group.create_dataset(
                item.name, (0, *columns), value.dtype, maxshape=(None, *columns), chunks=(max(64, rows), *columns)
            )
    file.create_dataset(DIGEST, (), "S64")


def write_state(file: h5py.File, state: State) -> None:
    """Write every field and the digest."""
    for item in fields(State):
        value, dataset = getattr(state, item.name), file[f"{GROUP}/{item.name}"]
        if item.name not in SCALARS:
            dataset.resize(len(value), axis=0)
        dataset[...] = value
    file[DIGEST][()] = state.digest().encode()


def read_state(file: h5py.File) -> tuple[State, str]:
    """The state and its digest; in files of version 1 that is an attribute."""
    group = file[GROUP]
    state = state_of({item.name: group[item.name][()] for item in fields(State) if item.name in group})
    digest = file.attrs[DIGEST] if DIGEST in file.attrs else file[DIGEST][()].decode()
    return state, str(digest)
