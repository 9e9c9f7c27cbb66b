"""Vertices of a mesh file, for convex hulls. Reading is trimesh's (extra ``mesh``), which knows OBJ, STL, PLY, OFF."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stickslip.errors import FileError, MissingDependencyError


def read_vertices(path: str | os.PathLike[str]) -> NDArray[np.float64]:
    """Vertices (n, 3) of a mesh file, in the file's own units, taken as metres."""
    file = Path(path)
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
    except Exception as error:  # trimesh raises whatever its readers meet
        raise FileError(f"mesh file {file} cannot be read: {error}") from None
    if len(vertices) == 0:
        raise FileError(f"mesh file {file} has no vertices; an OBJ, STL, PLY or OFF mesh is needed")
    return vertices
