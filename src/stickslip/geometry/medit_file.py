"""Vertices and cells of Medit's text files (.mesh); what is not geometry is passed over."""

from __future__ import annotations

from stickslip.arrays import Array, LongInts
from stickslip.geometry.number_stream import NumberStream

CELLS = {"Edges": ("line", 2), "Triangles": ("triangle", 3), "Quadrilaterals": ("quad", 4), "Tetrahedra": ("tetra", 4),
         "Prisms": ("wedge", 6), "Pyramids": ("pyramid", 5), "Hexahedra": ("hexahedron", 8),
         "Hexaedra": ("hexahedron", 8)}  # fmt: skip
"""Names of cells and how many vertices they have; a reference follows them."""


def read_medit(content: bytes) -> tuple[Array, list[tuple[str, LongInts]]]:
    """Points (n, 3) and for each type of cells its name and corners (k, j); a ValueError says what is wrong."""
    stream = NumberStream(content)
    if stream.line()[:1] != ["MeshVersionFormatted"]:
        raise ValueError("its first word is not MeshVersionFormatted")
    points: Array | None = None
    cells = []
    dimension = 0
    while words := stream.line():
        if words[0].startswith("#") or not words[0].isalpha():
            continue  # a comment, or numbers of a keyword that is passed over
        if words[0] in ("Dimension", "Vertices", *CELLS):
            count = int(words[1]) if len(words) > 1 else stream.number("i8")
            if words[0] == "Dimension":
                dimension = count
            elif words[0] == "Vertices":
                if dimension != 3:
                    raise ValueError(f"it has dimension {dimension}; 3 is needed")
                points = stream.array(4 * count, "f8").reshape(-1, 4)[:, :3]
            else:
                name, width = CELLS[words[0]]
                cells.append((name, stream.array((1 + width) * count, "i8").reshape(-1, 1 + width)[:, :width] - 1))
    if points is None:
        raise ValueError("it has no Vertices")
    return points, cells
