"""Tetrahedral meshes in files: VTK, Gmsh, Medit and TetGen."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from stickslip.arrays import Array, Ints, LongInts
from stickslip.checks import boolean, instance, positive
from stickslip.checks import path as checked_path
from stickslip.errors import FileError, InputError
from stickslip.files import whole_file
from stickslip.geometry.gmsh_file import read_gmsh
from stickslip.geometry.medit_file import read_medit
from stickslip.geometry.number_stream import as_whole
from stickslip.geometry.tet_mesh import TetMesh, volumes_of, without_unused
from stickslip.geometry.vtk_file import read_vtk
from stickslip.geometry.vtu_file import read_vtu
from stickslip.names import visible
from stickslip.reading import most_bytes, reading, regular_file

FORMATS = "VTK (.vtk, .vtu), Gmsh (.msh), Medit (.mesh), TetGen (.node with .ele)"
TETRAHEDRA = ("tetra", "tetra10")
"""Cells that are read; of those with ten nodes the four corners."""
NOT_SOLID = ("vertex", "line", "line3", "triangle", "triangle6", "quad", "quad8", "quad9", "polygon", "polyline")
"""Cells that may be in a file beside the elements, such as its surface, and are passed over."""
VTK_TETRA = 10

Blocks = list[tuple[str, LongInts]]
"""Name and corners (k, j) of each type of cells."""
Arrays = tuple[Array, LongInts]
READERS: dict[str, tuple[str, Callable[[Path], tuple[Array, Blocks]]]] = {
    ".vtk": ("VTK", lambda file: read_vtk(file.read_bytes())),
    ".vtu": ("VTK's XML", lambda file: read_vtu(file.read_bytes(), most_bytes(file))),
    ".msh": ("Gmsh", lambda file: read_gmsh(file.read_bytes())),
    ".mesh": ("Medit", lambda file: read_medit(file.read_bytes())),
}
"""By the ending of a file's name: whose format it is, and what reads its points and cells."""


def read_tet_mesh(path: str | os.PathLike[str], scale: float = 1.0, drop_unused: bool = False) -> TetMesh:
    """The tetrahedral mesh of a VTK, Gmsh, Medit or TetGen file; ``scale`` [m] is the length of the file's unit.

    Nodes that no element uses are refused, or left out with ``drop_unused`` (Gmsh writes centres of arcs, for example).
    Where all elements are left-handed, which is the custom of some programs, all are turned.
    """
    file = checked_path("mesh file", path)
    where = f"mesh file {visible(file)}"
    scale, drop_unused = positive(where, "scale", scale), boolean(where, "drop_unused", drop_unused)
    ending = file.suffix.lower()
    if ending not in (*READERS, ".node", ".ele") and file.is_file():
        raise FileError(f"{where} ends in {file.suffix or 'nothing'!r}; known are {FORMATS}")
    regular_file(file, "mesh file", f"the path of a file: {FORMATS}")
    if ending in READERS:
        format_name, reader = READERS[ending]
        with reading(file, "mesh file", f"a {format_name} file"):
            nodes, tets = _tetrahedra(file, *reader(file))
    else:
        nodes, tets = _read_tetgen(file)
    if len(tets) == 0:
        raise FileError(f"{where} has no tetrahedra; a mesh of the volume is needed, not of its surface")
    try:
        return right_handed(nodes * scale, tets, where, drop_unused)
    except InputError as error:
        hint = "; or read it with drop_unused=True" if "dangling, used by no element" in str(error) else ""
        raise InputError(f"{error}{hint}") from None


def right_handed(nodes: Array, tets: LongInts, where: str, drop_unused: bool = False) -> TetMesh:
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


def _lines(rows: Array | Ints, before: str = "") -> str:
    """One line a row; numbers in the shortest form that reads back to the same bits."""
    return "".join(f"{before}{' '.join(map(repr, row))}\n" for row in rows.tolist())


def _tetrahedra(file: Path, points: Array, blocks: Blocks) -> Arrays:
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
        together = "TetGen's nodes (.node) and elements (.ele), which go together"
        regular_file(part, "mesh file", together)
        with reading(part, "mesh file", "TetGen's"):
            lines = part.read_text(encoding="utf-8").splitlines()
            numbers = (line.split("#")[0].split() for line in lines)
            head, *body = [line for line in numbers if line]
            count = int(head[0])
            table = np.array(body[: max(count, 0)], dtype=np.float64)
            table = table.reshape(len(table), -1) if len(table) else np.empty((0, 0))
            width = int(head[1]) if len(head) > 1 else 0
        needed = 4 if part.suffix == ".node" else 5
        if count < 1 or table.shape[1] < needed or len(body) < count:
            raise FileError(
                f"mesh file {part} has {len(body)} rows of {table.shape[1]} numbers; its first line promises {count}, "
                f"of {needed} or more each"
            )
        rows.append((width, table))
    (_, points), (width, elements) = rows
    first = int(points[0, 0]) if np.isfinite(points[0, 0]) else 0
    if not np.array_equal(points[:, 0], np.arange(first, first + len(points))):
        raise FileError(f"mesh file {file.with_suffix('.node')}: its nodes are not numbered one after the other")
    if width not in (4, 10) or elements.shape[1] < 1 + width:
        raise FileError(f"mesh file {file.with_suffix('.ele')} has elements of {width} nodes; 4 or 10 are needed")
    with reading(file.with_suffix(".ele"), "mesh file", "TetGen's"):
        corners = as_whole(elements[:, 1 : 1 + width]) - first
    return _without_middles(points[:, 1:4].copy(), corners[:, :4], [corners] if width == 10 else [])


def _without_middles(points: Array, tets: LongInts, ten: list[LongInts]) -> Arrays:
    """Leave out the nodes in the middle of the edges of elements of ten nodes (k, 10), and no others."""
    if not ten:
        return points, tets
    if any(data.size and (data.min() < 0 or data.max() >= len(points)) for data in (tets, *ten)):
        return points, tets  # whoever checks the mesh names them
    kept = np.ones(len(points), dtype=bool)
    for data in ten:
        kept[data[:, 4:]] = False
    kept[tets] = True
    number = np.cumsum(kept) - 1
    return points[kept], number[tets]
