"""A small valid file of every format that stickslip reads, for attacks on its readers."""

from __future__ import annotations

import base64
import functools
import os
import struct
import tempfile
import zlib
from pathlib import Path

import numpy as np

from stickslip import Scene, Simulation, State, elastic, tet_generators
from stickslip.contact.gallery import GALLERY
from stickslip.io.problem_file import save_delassus, save_problem
from stickslip.io.recording import Recorder
from stickslip.model.state import state_file_arrays

CORNERS = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)], dtype=np.float64)
TETS = np.array([(0, 1, 2, 3), (1, 2, 3, 4)])
FACES = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 4), (1, 4, 3), (2, 3, 4)])
KEPT = "STICKSLIP_ATTACK_FILES"
"""A folder in which the files stay from one process to the next; else each process makes them anew."""
_TEMPORARY: list[tempfile.TemporaryDirectory[str]] = []


@functools.cache
def bases() -> dict[str, bytes]:
    """Contents by file name; the first part of a name is the format, a second ending the companion of TetGen."""
    kept = os.environ.get(KEPT)
    if kept is None:
        _TEMPORARY.append(tempfile.TemporaryDirectory(prefix="stickslip-attack-"))
    folder = Path(kept or _TEMPORARY[-1].name)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "whole").exists():
        _recordings(folder)
        _problems(folder)
        for name, content in {**_surfaces(), **_volumes()}.items():
            (folder / name).write_bytes(content)
        (folder / "whole").touch()
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if "-" in file.name}


def rigid() -> Simulation:
    """A ball, a box and a hull on the ground, with a hinge."""
    scene = Scene()
    scene.add_half_space()
    ball = scene.add_sphere(0.1, (0.0, 0.0, 0.1), name="ball")
    box = scene.add_box((0.2, 0.2, 0.2), (0.5, 0.0, 0.1), name="box")
    scene.add_hull(0.2 * CORNERS, position=(0.0, 1.0, 0.1), name="hull")
    scene.add_revolute(ball, box, (0.25, 0.0, 0.1), (0.0, 1.0, 0.0))
    return Simulation(scene, dt=0.002)


def soft() -> Simulation:
    """A soft cube on the ground, and a triangle mesh."""
    scene = Scene()
    scene.add_half_space()
    scene.add_soft(tet_generators.box((0.1, 0.1, 0.1), (1, 1, 1)), elastic(1e5, 0.3), (0, 0, 0.05))
    scene.add_mesh(CORNERS, FACES, position=(0.0, 2.0, 0.1), name="mesh")
    return Simulation(scene, dt=0.002)


def _recordings(folder: Path) -> None:
    for name, sim in (("recording-rigid", rigid()), ("recording-soft", soft())):
        with Recorder(folder / f"{name}.h5", sim, name) as record:
            sim.run(3, record)
            record._commit()
            (folder / f"{name}.h5.partial.copy").write_bytes((folder / f"{name}.h5.partial").read_bytes())
        (folder / f"{name}.h5.partial.copy").rename(folder / f"{name}.h5.partial")
        sim.state.save(folder / f"state-{name.partition('-')[2]}.npz")
    state = State.load(folder / "state-rigid.npz")
    with open(folder / "state-packed.npz", "wb") as stream:
        np.savez_compressed(stream, **state_file_arrays(state))


def _problems(folder: Path) -> None:
    contacts = GALLERY["redundant-table"]().problem
    save_problem(contacts, folder / "problem-own.npz", np.zeros(contacts.row_count), [np.ones(contacts.row_count)], "t")
    save_problem(contacts, folder / "problem-global.hdf5", np.zeros(contacts.row_count), [np.ones(contacts.row_count)])
    save_delassus(contacts, folder / "problem-local.npz")
    bodies = soft().step().problem
    save_problem(bodies, folder / "problem-soft.npz", np.zeros(bodies.row_count))
    save_problem(bodies, folder / "problem-soft.hdf5")
    from stickslip.io.problem_file import load_problem

    local = load_problem(folder / "problem-local.npz")
    save_problem(local, folder / "problem-local.hdf5")


def _rows(table: np.ndarray, before: str = "") -> str:
    return "".join(f"{before}{' '.join(map(repr, row))}\n" for row in table.tolist())


def _surfaces() -> dict[str, bytes]:
    obj = "o solid\n" + _rows(CORNERS, "v ") + _rows(FACES + 1, "f ")
    triangles = CORNERS[FACES]
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n" + _rows(triangle, "vertex ") + "endloop\nendfacet\n"
        for triangle in triangles
    )
    records = b"".join(struct.pack("<12fH", 0, 0, 0, *triangle.ravel(), 0) for triangle in triangles)
    head = (
        f"ply\nformat {{}} 1.0\ncomment by hand\nelement vertex {len(CORNERS)}\nproperty float x\nproperty float y\n"
        f"property float z\nelement face {len(FACES)}\nproperty list uchar int vertex_indices\nend_header\n"
    )
    faces = b"".join(struct.pack("<B3i", 3, *face) for face in FACES.tolist())
    return {
        "surface-a.obj": obj.encode(),
        "surface-ascii.stl": f"solid s\n{facets}endsolid s\n".encode(),
        "surface-binary.stl": bytes(80) + struct.pack("<I", len(FACES)) + records,
        "surface-ascii.ply": (head.format("ascii") + _rows(CORNERS) + _rows(FACES, "3 ")).encode(),
        "surface-binary.ply": head.format("binary_little_endian").encode() + CORNERS.astype("<f4").tobytes() + faces,
        "surface-a.off": (f"OFF\n{len(CORNERS)} {len(FACES)} 0\n" + _rows(CORNERS) + _rows(FACES, "3 ")).encode(),
    }


def _volumes() -> dict[str, bytes]:
    n, k = len(CORNERS), len(TETS)
    numbered = np.column_stack([np.arange(1, n + 1), CORNERS])
    points = "".join(f"{int(row[0])} {' '.join(map(repr, row[1:]))}\n" for row in numbered.tolist())
    head = "# vtk DataFile Version {}\nby hand\n{}\nDATASET UNSTRUCTURED_GRID\n"
    cells = f"CELLS {k} {5 * k}\n{_rows(TETS, '4 ')}CELL_TYPES {k}\n" + "10\n" * k
    big = head.format("3.0", "BINARY").encode() + f"POINTS {n} double\n".encode() + CORNERS.astype(">f8").tobytes()
    big += f"\nCELLS {k} {5 * k}\n".encode() + np.insert(TETS, 0, 4, axis=1).astype(">i4").tobytes()
    big += f"\nCELL_TYPES {k}\n".encode() + np.full(k, 10, ">i4").tobytes() + b"\n"
    newer = f"CELLS {k + 1} {4 * k}\nOFFSETS vtktypeint64\n0 4 8\nCONNECTIVITY vtktypeint64\n{_rows(TETS)}"
    newer += f"CELL_TYPES {k}\n" + "10\n" * k
    field = "FIELD FieldData 1\nTIME 1 1 double\n0.5\n"
    text = f"POINTS {n} double\n{_rows(CORNERS)}"
    elements = "".join(f"{i + 1} 4 2 0 1 {' '.join(map(str, tet + 1))}\n" for i, tet in enumerate(TETS))
    records = b"".join(struct.pack("<i3d", i + 1, *point) for i, point in enumerate(CORNERS.tolist()))
    tets = b"".join(struct.pack("<7i", i + 1, 0, 1, *tet) for i, tet in enumerate((TETS + 1).tolist()))
    msh2 = b"$MeshFormat\n2.2 1 8\n\1\0\0\0\n$EndMeshFormat\n$Nodes\n%d\n%s\n$EndNodes\n" % (n, records)
    msh2 += b"$Elements\n%d\n%s%s\n$EndElements\n" % (k, struct.pack("<3i", 4, k, 2), tets)
    tags = "".join(f"{i + 1}\n" for i in range(n))
    rows = "".join(f"{i + 1} {' '.join(map(str, tet + 1))}\n" for i, tet in enumerate(TETS))
    msh4 = f"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 {n} 1 {n}\n3 1 0 {n}\n{tags}{_rows(CORNERS)}$EndNodes\n"
    msh4 += f"$Elements\n1 {k} 1 {k}\n3 1 4 {k}\n{rows}$EndElements\n"
    counts = struct.pack("<4Q3iQ", 1, n, 1, n, 3, 1, 0, n) + np.arange(1, n + 1, dtype="<u8").tobytes()
    blocks = struct.pack("<4Q3iQ", 1, k, 1, k, 3, 1, 4, k)
    blocks += np.insert(TETS + 1, 0, np.arange(1, k + 1), axis=1).astype("<u8").tobytes()
    msh4b = b"$MeshFormat\n4.1 1 8\n\1\0\0\0\n$EndMeshFormat\n$Nodes\n%s%s\n$EndNodes\n" % (counts, CORNERS.tobytes())
    msh4b += b"$Elements\n%s\n$EndElements\n" % blocks
    return {
        "volume-old.vtk": (head.format("3.0", "ASCII") + text + cells).encode(),
        "volume-new.vtk": (head.format("5.1", "ASCII") + field + text + newer).encode(),
        "volume-binary.vtk": big,
        "volume-text.vtu": _vtu("ascii"),
        "volume-base64.vtu": _vtu("binary"),
        "volume-zlib.vtu": _vtu("binary", packed=True),
        "volume-raw.vtu": _vtu("appended"),
        "volume-2.msh": (
            f"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{n}\n{points}$EndNodes\n"
            f"$Elements\n{k}\n{elements}$EndElements\n"
        ).encode(),
        "volume-2b.msh": msh2,
        "volume-4.msh": msh4.encode(),
        "volume-4b.msh": msh4b,
        "volume-a.mesh": (
            f"MeshVersionFormatted 2\nDimension 3\nVertices\n{n}\n{_rows(np.insert(CORNERS, 3, 0, axis=1))}"
            f"Tetrahedra\n{k}\n{_rows(np.insert(TETS + 1, 4, 0, axis=1))}End\n"
        ).encode(),
        "volume-a.node": f"{n} 3 0 0\n{points}".encode(),
        "volume-a.ele": f"{k} 4 0\n{rows}".encode(),
    }  # fmt: skip


def _vtu(form: str, packed: bool = False) -> bytes:
    """A VTK file in XML."""
    arrays = [
        ("Points", "Float64", 3, CORNERS.astype("<f8")),
        ("connectivity", "Int64", 1, TETS.astype("<i8")),
        ("offsets", "Int64", 1, 4 * np.arange(1, len(TETS) + 1, dtype="<i8")),
        ("types", "UInt8", 1, np.full(len(TETS), 10, "u1")),
    ]
    appended, written = b"", []
    for name, kind, width, values in arrays:
        data, place = values.tobytes(), ""
        if form == "ascii":
            content = " ".join(map(str, values.ravel().tolist()))
        elif packed:
            block = zlib.compress(data)
            content = base64.b64encode(struct.pack("<4I", 1, len(data), 0, len(block))).decode()
            content += base64.b64encode(block).decode()
        elif form == "binary":
            content = base64.b64encode(struct.pack("<I", len(data)) + data).decode()
        else:
            content, place = "", f' offset="{len(appended)}"'
            appended += struct.pack("<I", len(data)) + data
        written.append(
            f'<DataArray type="{kind}" Name="{name}" NumberOfComponents="{width}" format="{form}"{place}>'
            f"{content}</DataArray>"
        )
    compressor = ' compressor="vtkZLibDataCompressor"' if packed else ""
    head = (
        '<?xml version="1.0"?>\n'
        f'<VTKFile type="UnstructuredGrid" version="0.1" byte_order="LittleEndian"{compressor}>\n'
        f'<UnstructuredGrid>\n<Piece NumberOfPoints="{len(CORNERS)}" NumberOfCells="{len(TETS)}">\n<Points>{written[0]}'
        f"</Points>\n<Cells>\n{chr(10).join(written[1:])}\n</Cells>\n</Piece>\n</UnstructuredGrid>\n"
    )
    tail = b'<AppendedData encoding="raw">_' + appended + b"\n</AppendedData>\n" if appended else b""
    return head.encode() + tail + b"</VTKFile>\n"
