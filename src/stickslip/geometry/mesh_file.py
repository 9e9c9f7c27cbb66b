"""Vertices and triangles of a mesh file. Reading is trimesh's (extra ``mesh``), which knows OBJ, STL, PLY, OFF."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.errors import FileError, MissingDependencyError
from stickslip.reading import reading, regular_file

FORMATS = ("obj", "stl", "ply", "off")
"""What trimesh is asked to read; it knows more, such as archives, which nobody has looked at."""


def read_vertices(path: str | os.PathLike[str]) -> Array:
    """Vertices (n, 3) of a mesh file, in the file's own units, taken as metres; for convex hulls."""
    return _read(path)[0]


def read_mesh(path: str | os.PathLike[str]) -> tuple[Array, Ints]:
    """Vertices (n, 3) and triangles (m, 3) of a mesh file, in the file's own units, taken as metres."""
    vertices, triangles = _read(path)
    if len(triangles) == 0:
        raise FileError(f"mesh file {Path(path)} has no triangles; an OBJ, STL, PLY or OFF mesh is needed")
    return vertices, triangles


def _read(path: str | os.PathLike[str]) -> tuple[Array, Ints]:
    """Vertices and triangles as they are in the file."""
    file = regular_file(path, "mesh file", "the path of an OBJ, STL, PLY or OFF file")
    kind = file.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise FileError(f"mesh file {file} ends in {file.suffix or 'nothing'!r}; known are .obj, .stl, .ply and .off")
    try:
        import trimesh
    except ImportError:
        raise MissingDependencyError(
            f"reading the mesh file {file} needs trimesh; install it with: pip install 'stickslip[mesh]'"
        ) from None
    with reading(file, "mesh file", f"a mesh in the form of {kind.upper()}"), np.errstate(all="ignore"):
        # bytes and not the file: what it refers to (materials, textures) is neither needed nor to be trusted
        mesh = trimesh.load(BytesIO(file.read_bytes()), file_type=kind, force="mesh", process=False)
        vertices = np.array(mesh.vertices, dtype=np.float64).reshape(-1, 3)
        triangles = np.array(getattr(mesh, "faces", ())).reshape(-1, 3)
        if len(triangles) and (triangles.min() < 0 or triangles.max() >= len(vertices)):
            raise ValueError(f"a triangle has a corner that is none of its {len(vertices)} vertices")
    if len(vertices) == 0:
        raise FileError(f"mesh file {file} has no vertices; an OBJ, STL, PLY or OFF mesh is needed")
    return vertices, triangles.astype(np.int32)
