"""Tetrahedral meshes in files: legacy VTK and TetGen, and by meshio (extra ``meshes``) Gmsh, Medit and newer VTK."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stickslip.checks import boolean, instance, positive
from stickslip.checks import path as checked_path
from stickslip.errors import FileError, InputError, MissingDependencyError
from stickslip.files import whole_file
from stickslip.geometry.tet_mesh import TetMesh, volumes_of, without_unused
from stickslip.geometry.vtk_file import read_vtk
from stickslip.names import visible

READERS = {".vtu": "vtu", ".msh": "gmsh", ".mesh": "medit"}
"""Modules of meshio by the ending of a file's name."""
FORMATS = "VTK (.vtk, .vtu), Gmsh (.msh), Medit (.mesh), TetGen (.node with .ele)"
TETRAHEDRA = ("tetra", "tetra10")
"""Cells that are read; of those with ten nodes the four corners."""
NOT_SOLID = ("vertex", "line", "line3", "triangle", "triangle6", "quad", "quad8", "quad9", "polygon", "polyline")
"""Cells that may be in a file beside the elements, such as its surface, and are passed over."""
VTK_TETRA = 10

Blocks = list[tuple[str, NDArray[np.int64]]]
"""Name and corners (k, j) of each type of cells."""
Arrays = tuple[NDArray[np.float64], NDArray[np.int64]]


def read_tet_mesh(path: str | os.PathLike[str], scale: float = 1.0, drop_unused: bool = False) -> TetMesh:
    """The tetrahedral mesh of a VTK, Gmsh, Medit or TetGen file; ``scale`` [m] is the length of the file's unit.

    Nodes that no element uses are refused, or left out with ``drop_unused`` (Gmsh writes centres of arcs, for example).
    Where all elements are left-handed, which is the custom of some programs, all are turned.
    """
    file = checked_path("mesh file", path)
    where = f"mesh file {visible(file)}"
    scale, drop_unused = positive(where, "scale", scale), boolean(where, "drop_unused", drop_unused)
    if not file.is_file():
        raise FileError(f"{where} does not exist; give the path of a file: {FORMATS}")
    if file.suffix.lower() in (".node", ".ele"):
        nodes, tets = _read_tetgen(file)
    elif file.suffix.lower() == ".vtk":
        try:
            nodes, tets = _tetrahedra(file, *read_vtk(file))
        except (ValueError, IndexError) as error:
            raise FileError(f"{where} cannot be read: {error}; is it a VTK file?") from None
    else:
        nodes, tets = _tetrahedra(file, *_read_meshio(file))
    if len(tets) == 0:
        raise FileError(f"{where} has no tetrahedra; a mesh of the volume is needed, not of its surface")
    try:
        return right_handed(nodes * scale, tets, where, drop_unused)
    except InputError as error:
        hint = "; or read it with drop_unused=True" if "dangling, used by no element" in str(error) else ""
        raise InputError(f"{error}{hint}") from None


def right_handed(nodes: NDArray[np.float64], tets: NDArray[np.int64], where: str, drop_unused: bool = False) -> TetMesh:
    """The mesh of a program that may count the corners of all elements the other way round."""
    known = tets.size > 0 and tets.ndim == 2 and tets.shape[1] == 4 and tets.min() >= 0 and tets.max() < len(nodes)
    if known and (volumes_of(nodes, tets.astype(np.int32)) < 0.0).all():
        tets = tets[:, [0, 1, 3, 2]]
    if known and drop_unused:
        return TetMesh(*without_unused(nodes, tets), where)
    return TetMesh(nodes, tets, where)  # type: ignore[arg-type]  # it checks and converts them


def write_tet_mesh(path: str | os.PathLike[str], mesh: TetMesh) -> None:
    """Write a mesh as legacy VTK (.vtk) or TetGen (.node and .ele): text that reads back to the same numbers."""
    file = checked_path("mesh file", path)
    instance(f"mesh file {visible(file)}", "mesh", mesh, TetMesh, "a stickslip.TetMesh is needed")
    suffix = file.suffix.lower()
    if suffix == ".vtk":
        with whole_file(file) as temporary, temporary.open("w", encoding="ascii", newline="\n") as out:
            out.write("# vtk DataFile Version 3.0\ntetrahedral mesh\nASCII\nDATASET UNSTRUCTURED_GRID\n")
            out.write(f"POINTS {len(mesh.nodes)} double\n{_lines(mesh.nodes)}")
            out.write(f"CELLS {len(mesh.tets)} {5 * len(mesh.tets)}\n{_lines(mesh.tets, '4 ')}")
            out.write(f"CELL_TYPES {len(mesh.tets)}\n" + f"{VTK_TETRA}\n" * len(mesh.tets))
    elif suffix in (".node", ".ele"):
        with whole_file(file.with_suffix(".node")) as temporary, temporary.open("w", encoding="ascii") as out:
            numbered = "".join(f"{i} {line}\n" for i, line in enumerate(_lines(mesh.nodes).splitlines()))
            out.write(f"{len(mesh.nodes)} 3 0 0\n{numbered}")
        with whole_file(file.with_suffix(".ele")) as temporary, temporary.open("w", encoding="ascii") as out:
            numbered = "".join(f"{i} {line}\n" for i, line in enumerate(_lines(mesh.tets).splitlines()))
            out.write(f"{len(mesh.tets)} 4 0\n{numbered}")
    else:
        raise FileError(f"cannot write {file}: a name that ends in .vtk, .node or .ele is needed")


def _lines(rows: NDArray[np.float64] | NDArray[np.int32], before: str = "") -> str:
    """One line a row; numbers in the shortest form that reads back to the same bits."""
    return "".join(f"{before}{' '.join(map(repr, row))}\n" for row in rows.tolist())


def _read_meshio(file: Path) -> tuple[NDArray[np.float64], Blocks]:
    """Nodes (n, 3) and cells by meshio."""
    name = READERS.get(file.suffix.lower())
    if name is None:
        raise FileError(f"mesh file {file} ends in {file.suffix or 'nothing'!r}; known are {FORMATS}")
    try:
        import meshio
    except ImportError:
        raise MissingDependencyError(
            f"reading the mesh file {file} needs meshio; install it with: pip install 'stickslip[meshes]'"
        ) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of data beside the mesh that meshio does not know
            mesh = getattr(meshio, name).read(str(file))  # meshio.read ends the program where a file is broken
        blocks = [(block.type, np.asarray(block.data)) for block in mesh.cells]
        return np.array(mesh.points, dtype=np.float64), blocks
    except (Exception, SystemExit) as error:  # meshio raises whatever its readers meet
        reason = str(error) or type(error).__name__
        raise FileError(f"mesh file {file} cannot be read: {reason}; is it a {name.upper()} file?") from None


def _tetrahedra(file: Path, points: NDArray[np.float64], blocks: Blocks) -> Arrays:
    """Nodes (n, 3) and elements (k, 4) among cells of all types."""
    other = sorted({kind for kind, _ in blocks} - {*TETRAHEDRA, *NOT_SOLID})
    if other:
        raise FileError(f"mesh file {file} has cells of type {', '.join(other)}; all solid cells must be tetrahedra")
    if points.ndim != 2 or points.shape[1] != 3:
        raise FileError(f"mesh file {file} has points of shape {points.shape}; (n, 3) are needed")
    solid = [(kind, data) for kind, data in blocks if kind in TETRAHEDRA]
    tets = np.concatenate([np.empty((0, 4), dtype=np.int64), *(data[:, :4].astype(np.int64) for _, data in solid)])
    return _without_middles(points, tets, [data for kind, data in solid if kind == "tetra10"])


def _read_tetgen(file: Path) -> Arrays:
    """Nodes (n, 3) and elements (k, 4) of a pair of .node and .ele files, whose nodes count from 0 or 1."""
    rows = []
    for part in (file.with_suffix(".node"), file.with_suffix(".ele")):
        if not part.is_file():
            raise FileError(f"mesh file {part} does not exist; TetGen's nodes (.node) and elements (.ele) go together")
        try:
            text = part.read_text(encoding="utf-8")
            numbers = [line.split("#")[0].split() for line in text.splitlines()]
            head, *body = [line for line in numbers if line]
            count = int(head[0])
            table = np.array(body[:count], dtype=np.float64).reshape(count, -1)
        except (ValueError, UnicodeDecodeError) as error:
            raise FileError(f"mesh file {part} cannot be read: {error}; is it TetGen's?") from None
        needed = 4 if part.suffix == ".node" else 5
        if count < 1 or table.shape[1] < needed or len(body) < count:
            raise FileError(
                f"mesh file {part} has {len(body)} rows of {table.shape[1]} numbers; its first line promises {count}, "
                f"of {needed} or more each"
            )
        rows.append((int(head[1]) if len(head) > 1 else 0, table))
    (_, points), (width, elements) = rows
    first = int(points[0, 0])
    if not np.array_equal(points[:, 0], np.arange(first, first + len(points))):
        raise FileError(f"mesh file {file.with_suffix('.node')}: its nodes are not numbered one after the other")
    if width not in (4, 10) or elements.shape[1] < 1 + width:
        raise FileError(f"mesh file {file.with_suffix('.ele')} has elements of {width} nodes; 4 or 10 are needed")
    corners = elements[:, 1 : 1 + width].astype(np.int64) - first
    return _without_middles(points[:, 1:4].copy(), corners[:, :4], [corners] if width == 10 else [])


def _without_middles(points: NDArray[np.float64], tets: NDArray[np.int64], ten: list[NDArray[np.int64]]) -> Arrays:
    """Leave out the nodes in the middle of the edges of elements of ten nodes (k, 10), and no others."""
    if not ten:
        return points, tets
    kept = np.ones(len(points), dtype=bool)
    for data in ten:
        kept[data[:, 4:]] = False
    kept[tets] = True
    number = np.cumsum(kept) - 1
    return points[kept], number[tets]
