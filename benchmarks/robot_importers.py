"""One robot file through one importer: mass, degrees of freedom, moments of inertia, and how much of the file was kept.

``bench_robot_imports.py`` runs this in a process of its own for each importer, since some end the process on some
files: it reads names of files from its input, one a line, and prints one JSON object for each.

Run: python benchmarks/robot_importers.py stickslip|mujoco|pinocchio|newton < files
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

MOVING = {
    "revolute": 1,
    "continuous": 1,
    "prismatic": 1,
    "screw": 1,
    "planar": 3,
    "ball": 3,
    "universal": 2,
    "floating": 6,
}
"""Degrees of freedom of the joints of URDF."""


def is_urdf(file: str) -> bool:
    """Whether a file is URDF; MJCF otherwise."""
    return file.endswith(".urdf")


def stickslip(file: str) -> dict[str, Any]:
    """Ours, with no meshes and records kept and then again; kernels are compiled before."""
    from stickslip.bodies.tree.compiling import compile_robot
    from stickslip.jit import cache_root
    from stickslip.robots.reading import read_robot
    from stickslip.scene.other_bodies import OtherContext

    read_robot(file)  # kernels are compiled
    for folder in ("robots", "meshes"):
        shutil.rmtree(cache_root() / folder, ignore_errors=True)
    start = time.process_time()
    record = read_robot(file)
    cold = time.process_time() - start
    start = time.process_time()
    read_robot(file)
    warm = time.process_time() - start
    kind = compile_robot("robot", record, OtherContext(np.zeros(3), 0, 0))
    blocks = kind.mass_blocks(kind.q_start)
    sizes = zip(kind.squares, kind.squares[1:], kind.widths, strict=False)
    moments = [value for a, b, w in sizes for value in np.linalg.eigvalsh(blocks.data[a:b].reshape(w, w))]
    said = " ".join((*record.report.warnings, *record.report.notes))
    return {
        "mass": sum(link.mass for link in record.links), "dofs": len(kind.v_start), "moments": sorted(moments),
        "bodies": _principal([link.inertia for link in record.links]), "seconds": cold, "seconds_warm": warm,
        "kept": {
            "joints": sum(len(link.joints) for link in record.links), "actuators": len(record.actuators),
            "couplings": len(record.couplings), "tendons": len(record.tendons), "sensors": len(record.sensors),
            "keyframes": len(record.keyframes), "shapes": _shape_count(record),
        },
        "said": {
            "actuators": said.count("actuator '"), "couplings": said.count("equality '"),
            "tendons": said.count("tendon '"), "sensors": said.count("sensor '"),
        },
        "warnings": len(record.report.warnings), "repaired": len(record.report.repaired),
    }  # fmt: skip


def _shape_count(record: Any) -> int:
    return sum(len(link.shapes) for link in record.links) + len(record.surroundings)


def mujoco(file: str) -> dict[str, Any]:
    """The engine of MJCF, whose compiler also takes URDF; without what it remembers of meshes."""
    import mujoco

    mujoco.mj_clearCache(mujoco.mj_getCache())
    start = time.process_time()
    m = mujoco.MjModel.from_xml_path(file)
    seconds = time.process_time() - start
    data, M = mujoco.MjData(m), np.zeros((m.nv, m.nv))
    if m.nv:
        m.tendon_armature[:] = 0.0  # of spatial tendons and others nobody else has it
        mujoco.mj_forward(m, data)
        mujoco.mj_fullM(m, data, M)
    turn, inertias = np.zeros(9), []
    for body in range(1, m.nbody):
        mujoco.mju_quat2Mat(turn, m.body_iquat[body])
        R = turn.reshape(3, 3)
        inertias.append(R @ np.diag(m.body_inertia[body]) @ R.T)
    active = int(np.sum(m.eq_active0)) if m.neq else 0
    solid = (m.geom_contype != 0) | (m.geom_conaffinity != 0)
    solid[np.concatenate([m.pair_geom1, m.pair_geom2]).astype(int)] = True
    return {
        "mass": float(m.body_mass[1:].sum()), "dofs": int(m.nv), "moments": sorted(np.linalg.eigvalsh(M)),
        "bodies": _principal(inertias), "seconds": seconds,
        "kept": {
            "joints": int(m.njnt), "actuators": int(m.nactuator), "couplings": active, "tendons": int(m.ntendon),
            "sensors": int(m.nsensor), "keyframes": int(m.nkey), "shapes": int(np.sum(solid)),
        },
    }  # fmt: skip


def pinocchio(file: str) -> dict[str, Any]:
    """Pinocchio, with the meshes of collision shapes and visuals where it finds them."""
    import pinocchio as pin

    start = time.process_time()
    shapes = None
    if is_urdf(file):
        model = pin.buildModelFromUrdf(file)
        with contextlib.suppress(Exception):  # meshes are not found, or their format is not known
            folders = [str(folder) for folder in Path(file).parents][:4]
            shapes = pin.buildGeomFromUrdf(model, file, pin.COLLISION, package_dirs=folders).ngeoms
    else:
        made = pin.buildModelFromMJCF(file)
        model = made[0] if isinstance(made, tuple) else made
        with contextlib.suppress(Exception):
            shapes = pin.buildGeomFromMJCF(model, file, pin.COLLISION).ngeoms
    seconds = time.process_time() - start
    M = pin.crba(model, model.createData(), pin.neutral(model))
    M = np.triu(M) + np.triu(M, 1).T
    kept: dict[str, int] = {}
    if not is_urdf(file):  # its models have no place for these
        kept |= {"actuators": 0, "tendons": 0, "sensors": 0, "keyframes": len(model.referenceConfigurations)}
    if shapes is not None:
        kept["shapes"] = int(shapes)
    mass = sum(float(inertia.mass) for inertia in list(model.inertias))
    return {"mass": mass, "dofs": int(model.nv), "moments": sorted(np.linalg.eigvalsh(M)) if model.nv else [],
            "seconds": seconds, "kept": kept}  # fmt: skip


def newton(file: str) -> dict[str, Any]:
    """Newton's builder on the processor."""
    import newton
    import warp

    warp.config.quiet = True
    builder = newton.ModelBuilder()
    start = time.process_time()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        (builder.add_urdf if is_urdf(file) else builder.add_mjcf)(file)
    seconds = time.process_time() - start
    # each body hangs on one joint, the others close loops
    couplings = len(getattr(builder, "constraint_mimic_joint0", ())) + max(0, builder.joint_count - builder.body_count)
    return {
        "mass": float(sum(builder.body_mass)), "dofs": int(builder.joint_dof_count),
        "bodies": _principal([np.array(each, dtype=np.float64).reshape(3, 3) for each in builder.body_inertia]),
        "seconds": seconds, "warnings": len(told),
        "kept": {"couplings": couplings, "shapes": int(builder.shape_count)},
    }  # fmt: skip


def _principal(inertias: list[Any]) -> list[float]:
    """Principal moments of inertia [kg m^2] of all bodies, sorted; those that have none are left out."""
    moments = [value for inertia in inertias for value in np.linalg.eigvalsh(np.asarray(inertia, dtype=np.float64))]
    return sorted(float(value) for value in moments if value > 0.0)


def as_written(file: str) -> dict[str, Any]:
    """What a URDF file says, read by the standard library: the truth that importers of URDF are compared with."""
    root = ElementTree.parse(file).getroot()
    masses = [float(mass.get("value", "0")) for mass in root.findall("link/inertial/mass")]
    joints = [joint.get("type", "") for joint in root.findall("joint")]
    return {
        "mass": sum(masses), "dofs": sum(MOVING.get(kind, 0) for kind in joints),
        "kept": {"joints": sum(kind in MOVING for kind in joints), "couplings": len(root.findall("joint/mimic")),
                 "shapes": len(root.findall("link/collision"))},
    }  # fmt: skip


IMPORTERS: dict[str, Callable[[str], dict[str, Any]]] = {
    "stickslip": stickslip, "mujoco": mujoco, "pinocchio": pinocchio, "newton": newton,
}  # fmt: skip


def main() -> None:
    """Import each file that the input names, and print what came of it."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what importers print themselves is not for who reads the results
    importer = IMPORTERS[sys.argv[1]]
    os.chdir(tempfile.gettempdir())  # some write files where they are
    cache = tempfile.TemporaryDirectory()
    os.environ["STICKSLIP_CACHE_DIR"] = cache.name
    for line in sys.stdin:
        file = line.strip()
        try:
            found = importer(file)
        except ModuleNotFoundError as error:
            found = {"missing": str(error)}
        except Exception as error:  # of whichever type an importer raises
            found = {"refused": " ".join(str(error).split())[:300]}
        print(json.dumps({"file": file, **found}), file=out, flush=True)


if __name__ == "__main__":
    main()
