"""Vertices and triangles of a mesh file. Reading is trimesh's (extra ``mesh``), which knows OBJ, STL, PLY, OFF."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stickslip.checks import path as checked_path
from stickslip.errors import FileError, MissingDependencyError


def read_vertices(path: str | os.PathLike[str]) -> NDArray[np.float64]:
    """Vertices (n, 3) of a mesh file, in the file's own units, taken as metres; for convex hulls."""
    return _read(path)[0]


def read_mesh(path: str | os.PathLike[str]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Vertices (n, 3) and triangles (m, 3) of a mesh file, in the file's own units, taken as metres."""
    vertices, triangles = _read(path)
    if len(triangles) == 0:
        raise FileError(f"mesh file {Path(path)} has no triangles; an OBJ, STL, PLY or OFF mesh is needed")
    return vertices, triangles


def _read(path: str | os.PathLike[str]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Vertices and triangles as they are in the file."""
    file = checked_path("mesh file", path)
    if not file.is_file():
        raise FileError(f"mesh file {file} does not exist; give the path of an OBJ, STL, PLY or OFF file")
    try:
        import trimesh
    except ImportError:
        raise MissingDependencyError(
            f"reading the mesh file {file} needs trimesh; install it with: pip install 'stickslip[mesh]'"
        ) from None
    try:
        mesh = trimesh.load(file, force="mesh", process=False)
        vertices = np.array(mesh.vertices, dtype=np.float64)
        triangles = np.array(getattr(mesh, "faces", ()), dtype=np.int32).reshape(-1, 3)
    except Exception as error:  # trimesh raises whatever its readers meet
        raise FileError(f"mesh file {file} cannot be read: {error}") from None
    if len(vertices) == 0:
        raise FileError(f"mesh file {file} has no vertices; an OBJ, STL, PLY or OFF mesh is needed")
    return vertices, triangles
