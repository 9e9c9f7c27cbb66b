"""A model inside an HDF5 file: one dataset per array, named as the field of ``Model`` that it is."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from stickslip.geometry.hull import HullTables
from stickslip.geometry.mesh_tables import MeshTables
from stickslip.joint_tables import JointTables, no_joints
from stickslip.materials import PairTables
from stickslip.model import Model

TABLES: dict[str, Any] = {"hulls": HullTables, "meshes": MeshTables, "pairs": PairTables, "joints": JointTables}
"""Fields that are groups of arrays, and their types."""
NAMES = ("body_names", "joint_names")
"""Fields that are texts."""
HAS_MOTION = "has_motion"
"""Dataset (nb,) in the place of the field ``motions``: functions cannot be stored, only which bodies have one."""


def write_model(group: h5py.Group, model: Model) -> None:
    """Write every field of a model into an empty group."""
    for item in fields(Model):
        value = getattr(model, item.name)
        if item.name in NAMES:
            group.create_dataset(item.name, data=list(value), dtype=h5py.string_dtype())
        elif item.name == "motions":
            bodies = range(model.body_count)
            group.create_dataset(HAS_MOTION, data=np.array([body in value for body in bodies], dtype=bool))
        elif item.name in TABLES:
            tables = group.create_group(item.name)
            for name, array in value._asdict().items():
                tables.create_dataset(name, data=array)
        else:
            group.create_dataset(item.name, data=value)


def read_model(group: h5py.Group) -> tuple[Model, NDArray[np.bool_]]:
    """A model without prescribed motions, and which bodies (nb,) had one; a missing field raises a KeyError."""
    values: dict[str, Any] = {}
    for item in fields(Model):
        if item.name.startswith("joint") and "joints" not in group:  # a file from before there were joints
            values[item.name] = no_joints() if item.name == "joints" else ()
        elif item.name in NAMES:
            values[item.name] = tuple(group[item.name].asstr()[()].tolist())
        elif item.name == "motions":
            has_motion = group[HAS_MOTION][()]
            values[item.name] = {}
        elif item.name in TABLES:
            tables = TABLES[item.name]
            values[item.name] = tables(*(group[item.name][name][()] for name in tables._fields))
        else:
            values[item.name] = group[item.name][()]
    return Model(**values), has_motion
