"""Recordings as Universal Scene Description: meshes with poses or points that are sampled over time, z up, metres."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from stickslip.errors import MissingDependencyError
from stickslip.export.surfaces import surfaces_of
from stickslip.files import whole_file
from stickslip.io.recording import Recording
from stickslip.view.picture.traced_scene import linear

CODES_PER_SECOND = 1000.0
"""Time codes of a second: times of frames need not be even."""


def write_usd(recording: Recording, out: Path, frames: Sequence[int], told: Callable[[int], None]) -> None:
    """All frames as one stage, in the format that the ending names."""
    try:
        from pxr import Gf, Sdf, Usd, UsdGeom, Vt
    except ImportError as error:
        raise MissingDependencyError("USD needs usd-core; pip install 'stickslip[export]'") from error
    surfaces = surfaces_of(recording, frames)
    with whole_file(out) as temporary:
        temporary.unlink()  # USD makes files, it does not fill empty ones
        stage = Usd.Stage.CreateNew(str(temporary))
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        stage.SetTimeCodesPerSecond(CODES_PER_SECOND)
        codes = [round(CODES_PER_SECOND * float(recording.time[frame]), 6) for frame in frames]
        stage.SetStartTimeCode(codes[0])
        stage.SetEndTimeCode(codes[-1])
        stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/run").GetPrim())
        taken: set[str] = set()
        moved = []
        for surface in surfaces:
            mesh = UsdGeom.Mesh.Define(stage, Sdf.Path(f"/run/{_identifier(surface.name, taken)}"))
            mesh.CreateFaceVertexCountsAttr(Vt.IntArray([3] * len(surface.faces)))
            mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(surface.faces.reshape(-1).astype(np.int32)))
            mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
            mesh.CreateDisplayColorAttr([Gf.Vec3f(*(float(c) for c in linear(surface.colour)))])
            mesh.GetPrim().SetCustomDataByKey("body", surface.name)
            points = mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(surface.vertices.astype(np.float32)))
            transform = mesh.AddTransformOp() if surface.nodes is None and surface.body >= 0 else None
            moved.append((surface, points, transform))
        for k, (frame, code) in enumerate(zip(frames, codes, strict=True)):
            q, nodes = recording.q[frame], recording.node_position[frame]
            for surface, points, transform in moved:
                if surface.nodes is not None:
                    points.Set(Vt.Vec3fArray.FromNumpy(nodes[surface.nodes].astype(np.float32)), code)
                elif transform is not None:
                    pose = [float(x) for x in q[surface.body]]
                    turn = Gf.Rotation(Gf.Quatd(pose[3], Gf.Vec3d(*pose[4:])))
                    transform.Set(Gf.Matrix4d(turn, Gf.Vec3d(*pose[:3])), code)
            told(k)
        stage.GetRootLayer().Save()


def _identifier(name: str, taken: set[str]) -> str:
    """A name of a primitive for the name of a body: letters, digits and underscores, and unique."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    stem = plain if plain and not plain[0].isdigit() else f"_{plain}"
    found, count = stem, 1
    while found in taken:
        count += 1
        found = f"{stem}_{count}"
    taken.add(found)
    return found
