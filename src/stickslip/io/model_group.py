"""A model inside an HDF5 file: one dataset per array, named as the field of ``Model`` that it is."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import h5py
import numpy as np

from stickslip.arrays import Bools
from stickslip.bodies.registry import frame_poses, frame_velocities
from stickslip.geometry.hull import HullTables
from stickslip.geometry.mesh_tables import MeshTables
from stickslip.io.model_checks import check_model
from stickslip.linalg.block_matrix import BlockPattern
from stickslip.model.joint_tables import JointTables, no_joints
from stickslip.model.model import FRAME, Model
from stickslip.model.soft_tables import ElementTables, SoftTables, SurfaceTables, soft_tables
from stickslip.model.state import initial_state
from stickslip.model.visual_tables import NO_VISUALS, VisualTables
from stickslip.scene.materials import PairTables
from stickslip.scene.soft_body import Cavity, HeldNodes

TABLES: dict[str, Any] = {
    "hulls": HullTables, "meshes": MeshTables, "pairs": PairTables, "joints": JointTables,
    "soft": SoftTables, "elements": ElementTables, "pattern": BlockPattern, "surface": SurfaceTables,
    "visuals": VisualTables,
}  # fmt: skip
"""Fields of the model and of its tables that are groups of arrays, and their types."""
NAMES = ("body_names", "joint_names", "names")
"""Fields that are texts."""
DRIVEN = ("held", "activations", "cavities")
"""Fields that are tuples of arrays and of functions of time; the functions are not stored, so a group for each item."""
HAS_MOTION = "has_motion"
"""Dataset (nb,) in the place of the field ``motions``: functions cannot be stored, only which bodies have one."""


def write_model(group: h5py.Group, model: Model) -> None:
    """Write every field of a model into an empty group; ``soft`` and ``visuals`` are absent where it has none.

    Kinds from outside the package cannot be stored: their frames are, as bodies that stand still unless a frame of the
    recording says otherwise.
    """
    model = with_all_frames(model)
    for item in fields(Model):
        value = getattr(model, item.name)
        if item.name == "others":
            continue
        if item.name == "motions":
            bodies = range(model.body_count)
            group.create_dataset(HAS_MOTION, data=np.array([body in value for body in bodies], dtype=bool))
        elif item.name == "visuals":
            if model.visuals is not NO_VISUALS:
                _write_visuals(group.create_group(item.name), model.visuals)
        elif item.name != "soft" or model.soft.count:
            _write(group, item.name, value)


def with_all_frames(model: Model) -> Model:
    """The model with poses, velocities and forces at time zero of all frames, not of rigid bodies alone."""
    if not model.others:
        return model
    state = initial_state(model)
    frames = np.zeros((model.body_count - model.rigid_count, 6))
    return replace(
        model,
        block=np.where(model.body_kind == FRAME, -1, model.block).astype(np.int32),
        q_start=frame_poses(model, state),
        v_start=frame_velocities(model, state),
        force_start=np.concatenate([model.force_start, frames]),
    )


def read_model(group: h5py.Group) -> tuple[Model, Bools]:
    """A model without prescribed motions, and which bodies (nb,) had one; a missing field raises a KeyError,
    one that cannot be a ValueError.

    Its soft bodies have no activations, nor motions of held nodes, nor pressures and volumes of cavities.
    """
    values: dict[str, Any] = {}
    for item in fields(Model):
        if item.name.startswith("joint") and "joints" not in group:  # a file from before there were joints
            values[item.name] = no_joints() if item.name == "joints" else ()
        elif item.name == "motions":
            has_motion = group[HAS_MOTION][()]
            values[item.name] = {}
        elif item.name == "others" or (item.name == "visuals" and "visuals" not in group):
            continue
        elif item.name == "soft" and "soft" not in group:
            values[item.name] = soft_tables((), np.zeros((0, 7)))
        else:
            values[item.name] = _read(group, item.name)
    model = Model(**values)
    check_model(model, has_motion)
    return model, has_motion


def _field_names(table: type) -> tuple[str, ...]:
    """Names of the fields of a NamedTuple or a dataclass."""
    return tuple(item.name for item in fields(table)) if is_dataclass(table) else table._fields  # type: ignore[attr-defined]


def _write(group: h5py.Group, name: str, value: Any) -> None:
    """Write one field: texts, an array, or a group of fields."""
    if name in NAMES:
        group.create_dataset(name, data=list(value), dtype=h5py.string_dtype())
    elif name in TABLES:
        tables = group.create_group(name)
        for field in _field_names(TABLES[name]):
            _write(tables, field, getattr(value, field))
    elif name in DRIVEN:
        items = group.create_group(name)
        for number, item in enumerate(value):
            part = items.create_group(str(number))
            for field, content in vars(item).items():
                if not (content is None or callable(content)):
                    part.create_dataset(field, data=content)
    else:
        group.create_dataset(name, data=value)


def _write_visuals(group: h5py.Group, visuals: VisualTables) -> None:
    """Write what bodies look like, which may be the larger part of a short recording, with few bytes."""
    for name, value in visuals._asdict().items():
        packed = {"compression": "gzip", "compression_opts": 1, "shuffle": True} if value.size else {}
        group.create_dataset(name, data=value, **packed)


def _read(group: h5py.Group, name: str) -> Any:
    """Read one field."""
    stored = group[name]
    if name in NAMES:
        return tuple(stored.asstr()[()].tolist())
    if name == "pairs" and "compliance" not in stored:  # a file from before contacts had one
        older = {field: _read(stored, field) for field in PairTables._fields if field != "compliance"}
        return PairTables(**older, compliance=np.zeros_like(older["restitution"]))
    if name == "elements" and "normal" not in stored:  # a file from before there was plane strain
        older = {field: _read(stored, field) for field in ElementTables._fields if field != "normal"}
        return ElementTables(**older, normal=np.zeros((len(older["volume"]), 3)))
    if name in TABLES:
        return TABLES[name](*(_read(stored, field) for field in _field_names(TABLES[name])))
    if name in DRIVEN:
        parts = [stored[str(number)] for number in range(len(stored))]
        if name == "held":
            return tuple(HeldNodes(part["nodes"][()], None, part["centre"][()]) for part in parts)
        if name == "cavities":
            return tuple(Cavity(part["triangles"][()], None, None, float(part["bulk"][()])) for part in parts)
        return ()
    return stored[()]
