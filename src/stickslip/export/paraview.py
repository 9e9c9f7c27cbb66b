"""Recordings for ParaView: a VTU file a frame, and a PVD file that says at which time each is.

A frame holds the surfaces of rigid bodies as triangles, soft bodies as tetrahedra and contacts as points. Data of
points: ``velocity`` [m/s], ``contact_force`` [N] (of contacts alone). Data of cells: ``body`` (number in the file's
``bodies`` order: rigid, then soft bodies), ``kind`` (0 rigid, 1 soft, 2 contact), ``von_mises`` [Pa], ``gap`` [m],
``status`` (0 open, 1 sticks, 2 slides); not a number where a cell has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from stickslip.errors import InputError, MissingDependencyError
from stickslip.export.folder import whole_folder
from stickslip.export.surfaces import Surface, surfaces_of
from stickslip.files import whole_file
from stickslip.geometry.rotation import matrix
from stickslip.io.recording import Recording

RIGID, SOFT, CONTACT = range(3)
BEGIN = '<?xml version="1.0"?>', '<VTKFile type="Collection" version="0.1" byte_order="LittleEndian">', "  <Collection>"
END = "  </Collection>", "</VTKFile>"
Cells = list[tuple[str, NDArray[Any]]]


def write_vtu(recording: Recording, out: Path, frames: Sequence[int], told: Callable[[int], None]) -> None:
    """The last of the frames as one file."""
    meshio = _meshio()
    surfaces = [each for each in surfaces_of(recording, frames) if each.nodes is None]
    with whole_file(out) as temporary:
        meshio.write(temporary, _mesh(meshio, recording, frames[-1], surfaces), file_format="vtu")
    told(len(frames) - 1)


def write_pvd(recording: Recording, out: Path, frames: Sequence[int], told: Callable[[int], None]) -> None:
    """All frames, in a folder beside ``out`` with its name without the ending; an older one is replaced."""
    meshio, folder = _meshio(), out.with_suffix("")
    with whole_folder(folder, ".vtu") as temporary:
        surfaces = [each for each in surfaces_of(recording, frames) if each.nodes is None]
        lines = []
        for k, frame in enumerate(frames):
            name = f"{frame:06d}.vtu"
            meshio.write(temporary / name, _mesh(meshio, recording, frame, surfaces), file_format="vtu")
            file = quoteattr(f"{folder.name}/{name}")
            lines.append(f'    <DataSet timestep="{float(recording.time[frame])!r}" part="0" file={file}/>')
            told(k)
    with whole_file(out) as written:
        written.write_text("\n".join([*BEGIN, *lines, *END, ""]), encoding="utf-8")


def _meshio() -> Any:
    try:
        import meshio
    except ImportError as error:
        raise MissingDependencyError("files for ParaView need meshio; pip install 'stickslip[export]'") from error
    return meshio


def _mesh(meshio: Any, recording: Recording, frame: int, surfaces: list[Surface]) -> Any:
    """One frame as a mesh of meshio."""
    model, soft, found = recording.model, recording.model.soft, recording.contacts(frame)
    q, v = recording.q[frame], recording.v[frame]
    points, speeds = [np.zeros((0, 3))], [np.zeros((0, 3))]
    triangles: list[NDArray[Any]] = [np.zeros((0, 3), np.int64)]
    owner, first = [np.zeros(0)], 0
    for surface in surfaces:
        turn, at, moving = np.eye(3), np.zeros(3), np.zeros(6)
        if surface.body >= 0:
            turn, at, moving = matrix(q[surface.body, 3:]), q[surface.body, :3], v[surface.body]
        arm = surface.vertices @ turn.T
        points.append(at + arm)
        speeds.append(moving[:3] + np.cross(moving[3:], arm))
        triangles.append(surface.faces + first)
        owner.append(np.full(len(surface.faces), float(surface.body)))
        first += len(arm)
    points += [recording.node_position[frame], found.point]
    speeds += [recording.node_velocity[frame], np.zeros((len(found), 3))]
    tets = soft.elements.nodes.astype(np.int64) + first
    at_contacts = np.arange(len(found))[:, None] + first + soft.node_count
    force = np.full((first + soft.node_count + len(found), 3), np.nan)
    force[first + soft.node_count :] = found.force
    cells: Cells = [("triangle", np.concatenate(triangles)), ("tetra", tets), ("vertex", at_contacts)]
    counts = [len(own) for _, own in cells]
    stress = np.full(counts[SOFT], np.nan)
    if counts[SOFT]:
        try:
            stress = recording.elements(frame, fields=("von_mises",)).von_mises
        except InputError:  # recorded without elements
            stress = np.full(counts[SOFT], np.nan)
    data = {
        "kind": [np.full(count, float(kind)) for kind, count in enumerate(counts)],
        "body": [np.concatenate(owner), model.body_count + soft.element_body.astype(np.float64),
                 found.body_b.astype(np.float64)],
        "von_mises": [np.full(counts[RIGID], np.nan), stress, np.full(counts[CONTACT], np.nan)],
        "gap": [np.full(counts[RIGID], np.nan), np.full(counts[SOFT], np.nan), found.gap],
        "status": [np.full(counts[RIGID], np.nan), np.full(counts[SOFT], np.nan), found.status.astype(np.float64)],
    }  # fmt: skip
    filled = [k for k, count in enumerate(counts) if count]
    return meshio.Mesh(
        np.concatenate(points),
        [cells[k] for k in filled],
        point_data={"velocity": np.concatenate(speeds), "contact_force": force},
        cell_data={name: [values[k] for k in filled] for name, values in data.items()},
    )
