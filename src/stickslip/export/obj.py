"""Recordings as Wavefront OBJ files, one a frame: an object a body, named as it is.

Written here, in a few lines, since libraries merge the objects of a scene or lose their names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from stickslip.export.folder import whole_folder
from stickslip.export.surfaces import Surface, surfaces_of
from stickslip.geometry.rotation import matrix
from stickslip.io.recording import Recording


def write_obj(recording: Recording, out: Path, frames: Sequence[int], told: Callable[[int], None]) -> None:
    """All frames, in a folder with the name of ``out`` without its ending; an older one is replaced."""
    surfaces = surfaces_of(recording, frames)
    with whole_folder(out.with_suffix(""), ".obj") as folder:
        for k, frame in enumerate(frames):
            (folder / f"{frame:06d}.obj").write_text(_text(recording, frame, surfaces), encoding="utf-8")
            told(k)


def _text(recording: Recording, frame: int, surfaces: list[Surface]) -> str:
    """One frame."""
    q, nodes = recording.q[frame], recording.node_position[frame]
    lines, first = [f"# stickslip, t = {recording.time[frame]:.9g} s, metres, z up"], 1
    for surface in surfaces:
        vertices = surface.vertices
        if surface.nodes is not None:
            vertices = nodes[surface.nodes]
        elif surface.body >= 0:
            vertices = q[surface.body, :3] + vertices @ matrix(q[surface.body, 3:]).T
        name = re.sub(r"\s", "_", surface.name)
        lines.append(f"o {name}")
        lines += [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in vertices.tolist()]
        lines += [f"f {a} {b} {c}" for a, b, c in (np.asarray(surface.faces) + first).tolist()]
        first += len(vertices)
    return "\n".join(lines) + "\n"
