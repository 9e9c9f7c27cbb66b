"""Whether a model that was read from a file is one: kernels trust its tables without looking.

Every array has its type, its shape and, where it holds places in another one, their range. Bytes that have changed
are found here or show as wrong numbers; they never lead a kernel outside its arrays.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Bools
from stickslip.model.model import Model

Length = int | str
"""A length: a number, a letter that is the same wherever it stands, or a letter and one more ("h+1")."""
Rule = tuple[str, tuple[Length, ...], tuple[Length, Length] | None]
"""Type; shape; lowest and first too high value, where it has such."""

MODEL: dict[str, Rule] = {
    "body_kind": ("i4", ("b",), (0, 4)),
    "mass": ("f8", ("b",), None),
    "inertia": ("f8", ("b", 3, 3), None),
    "centre": ("f8", ("b", 3), None),
    "dynamic": ("i4", ("d",), (0, "b")),
    "block": ("i4", ("b",), (-1, "d")),
    "radius": ("f8", ("b",), None),
    "lever": ("f8", ("b",), None),
    "colours": ("*", ("b", 3), None),
    "q_start": ("f8", ("b", 7), None),
    "v_start": ("f8", ("b", 6), None),
    "force_start": ("f8", ("b", 6), None),
    "gravity": ("f8", (3,), None),
    "ignored": ("i8", ("ignored",), None),
    "friction_axis": ("f8", ("m", 3), None),
    "pairs.friction": ("f8", ("m", "m", 3), None),
    "pairs.restitution": ("f8", ("m", "m", 2), None),
    "pairs.axis": ("i4", ("m", "m"), None),
    "pairs.compliance": ("f8", ("m", "m", 2), None),
    "hulls.vertex_start": ("i4", ("h+1",), None),
    "hulls.vertices": ("f8", ("hv", 3), None),
    "hulls.face_start": ("i4", ("h+1",), None),
    "hulls.face_plane": ("f8", ("hf", 4), None),
    "hulls.loop_start": ("i4", ("hf+1",), None),
    "hulls.loop": ("i4", ("hl",), (0, "hv")),
    "hulls.edge_start": ("i4", ("h+1",), None),
    "hulls.edges": ("i4", ("he", 2), (0, "hv")),
    "meshes.starts": ("i8", ("t+1", 7), None),
    "meshes.frames": ("f8", ("t", 14), None),
    "meshes.vertices": ("f8", ("tv", 6), None),
    "meshes.around": ("i4", ("tv",), (0, "tt")),
    "meshes.triangles": ("i4", ("tt", 7), None),
    "meshes.normals": ("f8", ("tt", 3), None),
    "meshes.edges": ("i4", ("te", 4), None),
    "meshes.bounds": ("f8", ("tn", 6), None),
    "meshes.links": ("i4", ("tn", 3), None),
    "meshes.grid": ("f4", ("tg",), None),
    "shape_body": ("i4", ("s",), (0, "b")),
    "shape_type": ("i4", ("s",), (0, 7)),
    "shape_position": ("f8", ("s", 3), None),
    "shape_rotation": ("f8", ("s", 4), None),
    "shape_size": ("f8", ("s", 3), None),
    "shape_hull": ("i4", ("s",), (-1, "h")),
    "shape_material": ("i4", ("s",), (0, "m")),
    "shape_radius": ("f8", ("s",), None),
    "shape_mesh": ("i4", ("s",), (-1, "t")),
    "joints.kind": ("i4", ("j",), (0, 10)),
    "joints.body_a": ("i4", ("j",), (-1, "b")),
    "joints.body_b": ("i4", ("j",), (-1, "b")),
    "joints.anchor_a": ("f8", ("j", 3), None),
    "joints.anchor_b": ("f8", ("j", 3), None),
    "joints.frame_a": ("f8", ("j", 4), None),
    "joints.frame_b": ("f8", ("j", 4), None),
    "joints.break_force": ("f8", ("j",), None),
    "joints.break_torque": ("f8", ("j",), None),
    "joints.ignored_key": ("i8", ("j",), None),
    "joints.coordinate": ("i4", ("j", 2, 3), (0, 8)),
    "joints.target": ("f8", ("j", 2, 2), None),
    "joints.row_joint": ("i4", ("k",), (0, "j")),
    "joints.row_measure": ("i4", ("k", 3), (0, 8)),
    "joints.row_sign": ("f8", ("k",), None),
    "joints.row_offset": ("f8", ("k",), None),
    "joints.row_coordinate": ("i4", ("k",), (-1, 2)),
    "joints.row_driven": ("i4", ("k",), (0, 2)),
    "joints.row_stiffness": ("f8", ("k",), None),
    "joints.row_damping": ("f8", ("k",), None),
    "joints.row_bound": ("f8", ("k",), None),
    "joints.block_start": ("i4", ("n+1",), None),
    "joints.block_law": ("i4", ("n",), (0, 5)),
    "joints.block_joint": ("i4", ("n",), (0, "j")),
}
SOFT: dict[str, Rule] = {
    "soft.node_start": ("i4", ("S+1",), None),
    "soft.mass": ("f8", ("N",), None),
    "soft.element_body": ("i4", ("E",), (0, "S")),
    "soft.element_number": ("i4", ("E",), (0, "E")),
    "soft.node_body": ("i4", ("N",), (0, "S")),
    "soft.x_start": ("f8", ("N", 3), None),
    "soft.v_start": ("f8", ("N", 3), None),
    "soft.force_start": ("f8", ("N", 3), None),
    "soft.alpha": ("f8", ("N",), None),
    "soft.free": ("i4", ("F",), (0, "N")),
    "soft.block": ("i4", ("N",), (-1, "F")),
    "soft.elements.nodes": ("i4", ("E", 4), (0, "N")),
    "soft.elements.gradient": ("f8", ("E", 3, 3), None),
    "soft.elements.volume": ("f8", ("E",), None),
    "soft.elements.model": ("i4", ("E",), (0, 16)),
    "soft.elements.parameter": ("f8", ("E", 5), None),
    "soft.elements.beta": ("f8", ("E",), None),
    "soft.elements.normal": ("f8", ("E", 3), None),
    "soft.elements.chunk_start": ("i4", ("C+1",), None),
    "soft.elements.colour_start": ("i4", ("K+1",), None),
    "soft.pattern.indptr": ("i4", ("F+1",), None),
    "soft.pattern.indices": ("i4", ("P",), (0, "F")),
    "soft.pattern.diagonal": ("i4", ("F",), (0, "P")),
    "soft.elements.place": ("i4", ("E", 16), (-1, "P")),
    "soft.surface.nodes": ("i4", ("Q",), (0, "N")),
    "soft.surface.triangles": ("i4", ("T", 3), (0, "N")),
    "soft.surface.triangle_body": ("i4", ("T",), (0, "S")),
    "soft.surface.edges": ("i4", ("e", 2), (0, "N")),
    "soft.surface.edge_body": ("i4", ("e",), (0, "S")),
    "soft.surface.edge_triangles": ("i4", ("e", 2), (0, "T")),
    "soft.material": ("i4", ("S",), (0, "m")),
    "soft.self_contact": ("?", ("S",), None),
    "soft.weld_node": ("i4", ("w",), (0, "N")),
    "soft.weld_body": ("i4", ("w",), (0, "b")),
    "soft.weld_point": ("f8", ("w", 3), None),
    "soft.colours": ("*", ("S", 3), None),
}
VISUALS: dict[str, Rule] = {
    "visuals.body": ("i4", ("V",), (-1, "b")),
    "visuals.vertex_start": ("i8", ("V+1",), None),
    "visuals.vertices": ("f4", ("Vv", 3), None),
    "visuals.triangle_start": ("i8", ("V+1",), None),
    "visuals.triangles": ("i4", ("Vt", 3), (0, "Vv")),
    "visuals.colours": ("f8", ("V", 4), None),
    "visuals.replaced": ("i4", ("Vr",), (0, "b")),
}
STARTS = {
    "hulls.vertex_start": "hv", "hulls.face_start": "hf", "hulls.loop_start": "hl", "hulls.edge_start": "he",
    "joints.block_start": "k", "soft.node_start": "N", "soft.elements.chunk_start": "E",
    "soft.elements.colour_start": "C", "soft.pattern.indptr": "P",
    "visuals.vertex_start": "Vv", "visuals.triangle_start": "Vt",
}  # fmt: skip
"""Tables that divide something of that length into parts."""
MESH_STARTS = ("tv", "tt", "te", "tn", "tn", "tn", "tg")
"""The same for the columns of ``meshes.starts``."""
INFINITE = ("shape_radius", "joints.break_force", "joints.break_torque", "joints.row_stiffness", "joints.row_offset",
            "joints.row_bound")  # fmt: skip
"""Fields that may be infinite."""
LARGEST = 1e100
"""Numbers beyond it overflow when they are squared."""


def check_model(model: Model, has_motion: NDArray[Any]) -> None:
    """Raise a ValueError that names the first table that cannot be."""
    lengths: dict[str, int] = {"b": model.body_count, "j": len(model.joint_names), "S": model.soft.count}
    rules = {**MODEL, **VISUALS, **(SOFT if model.soft.count else {})}
    arrays = {name: attrgetter(name)(model) for name in rules}
    for name, (dtype, shape, _) in rules.items():
        _check_shape(name, arrays[name], dtype, shape, lengths)
    for name, (_, _, limits) in rules.items():
        array = arrays[name]
        if array.dtype.kind == "f":
            with np.errstate(all="ignore"):
                wrong = np.isnan(array) if name in INFINITE else ~(np.abs(array) <= LARGEST)
            _refuse(name, array, wrong, "finite numbers are needed")
        elif limits is not None:
            low, high = (limit if isinstance(limit, int) else lengths[limit] for limit in limits)
            _refuse(name, array, (array < low) | (array >= high), f"numbers from {low} to {high - 1} are needed")
        if name in STARTS:
            _check_starts(name, array, lengths[STARTS[name]])
    if has_motion.shape != (model.body_count,) or has_motion.dtype != np.bool_:
        raise ValueError(f"model/has_motion has shape {has_motion.shape}; ({model.body_count},) is needed")
    _check_hulls(model)
    _check_meshes(model, lengths)
    for nodes in (*(part.nodes for part in model.soft.held), *(part.triangles for part in model.soft.cavities)):
        if nodes.dtype.kind not in "iu" or (nodes.size and not 0 <= nodes.min() <= nodes.max() < lengths["N"]):
            raise ValueError(f"model/soft: held nodes or cavities have nodes outside 0 to {lengths['N'] - 1}")


def _check_shape(name: str, array: Any, dtype: str, shape: tuple[Length, ...], lengths: dict[str, int]) -> None:
    """Raise a ValueError unless an array has its type and shape; letters that are new get their length from it."""
    if not isinstance(array, np.ndarray) or (array.dtype != dtype if dtype != "*" else array.dtype.kind not in "fi"):
        raise ValueError(f"model/{name} holds {getattr(array, 'dtype', 'no numbers')}; {dtype} is needed")
    needed: list[int] = []
    for axis, length in enumerate(shape):
        if isinstance(length, str):
            letter, more = length.removesuffix("+1"), int(length.endswith("+1"))
            if letter not in lengths and array.ndim > axis:
                lengths[letter] = array.shape[axis] - more
            needed.append(lengths.get(letter, 0) + more)
        else:
            needed.append(length)
    if array.shape != tuple(needed) or -1 in lengths.values():
        raise ValueError(f"model/{name} has shape {array.shape}; {tuple(needed)} is needed")


def _refuse(name: str, array: NDArray[Any], wrong: Bools, needed: str) -> None:
    if wrong.any():
        raise ValueError(f"model/{name} has the entry {array[wrong][0]}; {needed}")


def _check_starts(name: str, start: NDArray[Any], end: int) -> None:
    if start[0] != 0 or start[-1] != end or (np.diff(start) < 0).any():
        raise ValueError(f"model/{name} does not divide {end} items into {len(start) - 1} parts")


def _check_hulls(model: Model) -> None:
    """Vertices of loops and edges are counted within their hull."""
    hulls = model.hulls
    vertices = np.diff(hulls.vertex_start)
    by_loop = np.repeat(np.repeat(vertices, np.diff(hulls.face_start)), np.diff(hulls.loop_start))
    by_edge = np.repeat(vertices, np.diff(hulls.edge_start))[:, None]
    if (hulls.loop >= by_loop).any() or (hulls.edges >= by_edge).any():
        raise ValueError("model/hulls has a face or an edge with a vertex of another hull")


def _check_meshes(model: Model, lengths: dict[str, int]) -> None:
    """Places within tables of triangle meshes; trees lead forwards only, so that walking them ends."""
    meshes = model.meshes
    for column, letter in enumerate(MESH_STARTS):
        start = meshes.starts[:, column]
        first_is_free = column in (4, 5)  # trees over vertices and edges begin behind that over triangles
        if (start[0] != 0 and not first_is_free) or start[-1] != lengths[letter] or (np.diff(start) < 0).any():
            raise ValueError(f"model/meshes/starts does not fit its {lengths[letter]} items")
    for name, array, high in (
        ("triangles", meshes.triangles[:, :3], lengths["tv"]),
        ("triangles", meshes.triangles[:, 3:6], lengths["tt"]),
        ("edges", meshes.edges[:, :2], lengths["tv"]),
        ("edges", meshes.edges[:, 2:], lengths["tt"]),
    ):
        _refuse(f"meshes/{name}", array, (array < 0) | (array >= high), f"numbers from 0 to {high - 1} are needed")
    node = np.arange(lengths["tn"])
    after, first, count = meshes.links.T.astype(np.int64)
    items = max(lengths["tv"], lengths["tt"], lengths["te"])
    if (after <= node).any() or (after > lengths["tn"]).any() or (count < 0).any() or (first < 0).any():
        raise ValueError("model/meshes/links is no tree")
    if (first + count > items).any():
        raise ValueError("model/meshes/links has items that do not exist")
    cells = np.prod(meshes.frames[:, 11:14], axis=1)
    if (cells != np.diff(meshes.starts[:, 6])).any():
        raise ValueError("model/meshes/grid does not fit the grids of its meshes")
