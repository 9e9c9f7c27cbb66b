"""Digests: hashes of the states of many scenes and solvers, to see whether a change of the code changed a result.

``python benchmarks/digests.py --out before.json`` runs every case and writes one hash each;
``python benchmarks/digests.py --against before.json`` runs them again, and says which differ and by how much. Bits
depend on the machine and on the versions of its libraries, so hashes are compared between two runs on one machine and
are not part of the project. A case is a scene of the gallery, at a size that takes seconds, with one solver, for a few
steps; it also keeps iterations and statuses, so that a difference says of which kind it is.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path

import numpy as np

from stickslip.errors import StickslipError
from stickslip.files import whole_file
from stickslip.scenes.running import prepare
from stickslip.simulation import Simulation

RIGID = ("auto", "prox-gs", "newton", "sap", "cond", "nsgs")
SOFT = ("auto", "prox-gs", "newton", "sap", "cond", "apgd")
CASES: dict[str, tuple[tuple[str, ...], int, dict[str, object]]] = {
    "demo": (("auto", "prox-gs", "newton", "sap", "xpbd", "nsgs"), 12, {}),
    "box-slope": (RIGID, 30, {}),
    "heavy-stack": (RIGID, 20, {}),
    "anisotropic-slide": (("auto", "prox-gs", "prox-jacobi", "pgs", "cond", "implicit"), 20, {}),
    "wall": (("auto", "prox-gs", "prox-jacobi", "admm", "sap", "xpbd"), 6, {"torsion": 0.0}),
    "tower": (("auto", "proximal-point", "implicit", "lcp", "penalty", "pgs"), 4, {"torsion": 0.0}),
    "spheres": (("auto", "prox-gs", "apgd", "sap", "cond", "nsgs"), 6, {"torsion": 0.0, "count": 100}),
    "jacks": (("auto", "prox-gs", "prox-jacobi", "sap", "admm", "apgd"), 4, {"torsion": 0.0, "count": 20}),
    "arch": (("auto", "prox-gs", "newton", "proximal-point", "sap", "admm"), 6, {}),
    "four-bar": (RIGID, 20, {}),
    "chain": (("auto", "prox-gs", "newton", "sap", "xpbd", "proximal-point"), 5, {}),
    "scale": (("auto", "newton", "sap", "prox-gs", "xpbd", "nsgs"), 8, {}),
    "spin-down": (("auto", "prox-gs", "prox-jacobi", "pgs", "apgd", "xpbd"), 15, {}),
    "cable": (("auto", "newton", "sap", "cond", "xpbd", "proximal-point"), 3, {}),
    "soft-ball": (SOFT, 4, {}),
    "soft-chain": (("auto", "newton", "sap", "cond", "prox-gs", "xpbd"), 3, {}),
    "soft-stack": (SOFT, 3, {}),
    "cantilever": (SOFT, 3, {}),
    "soft-bubble": (("auto", "sap", "cond", "prox-gs", "apgd", "proximal-point"), 3, {}),
    "pneunet": (("auto", "sap", "cond", "prox-gs", "newton", "nsgs"), 3, {}),
    "soft-gripper": (("auto", "sap", "cond", "prox-gs", "newton", "proximal-point"), 2, {}),
}
"""Scene: solvers, steps, settings."""
VARIANTS: dict[str, tuple[str, str, int, dict[str, object]]] = {
    "wall/torsion": ("wall", "auto", 6, {}),
    "jacks/torsion": ("jacks", "prox-gs", 6, {"count": 40}),
    "wall/moreau": ("wall", "auto", 6, {"stepping.scheme": "moreau"}),
    "wall/passive": ("wall", "auto", 6, {"stepping.scheme": "passive"}),
    "four-bar/moreau": ("four-bar", "auto", 15, {"stepping.scheme": "moreau"}),
    "four-bar/passive": ("four-bar", "auto", 15, {"stepping.scheme": "passive"}),
    "four-bar/potentials": ("four-bar", "sap", 15, {"stepping.joints": "potentials"}),
    "soft-chain/passive": ("soft-chain", "sap", 3, {"stepping.scheme": "passive"}),
    "soft-chain/moreau": ("soft-chain", "sap", 3, {"stepping.scheme": "moreau"}),
    "soft-ball/symplectic": ("soft-ball", "sap", 3, {"stepping.scheme": "symplectic"}),
    "wall/stabilised": ("wall", "prox-gs", 6, {"stepping.stabilisation": 2}),
    "heavy-stack/discrete": ("heavy-stack", "prox-gs", 10, {"stepping.lookahead": False}),
    "soft-ball/rows": ("soft-ball", "sap", 3, {"stepping.elasticity": "rows"}),
}
"""Other ways to step: scene, solver, steps, settings."""


def digest(scene: str, solver: str, steps: int, settings: dict[str, object]) -> dict[str, object]:
    """The state of a run after some steps as a hash, with what says of which kind a difference is."""
    try:
        run = prepare(scene, solver, settings)
    except StickslipError as error:
        return {"hash": f"{type(error).__name__}: {error}", "steps": 0}
    iterations, statuses, certificates = [], [], hashlib.sha256()
    started, error_text, taken = time.perf_counter(), "", 0
    for _ in range(steps):
        try:
            result = run.sim.step()
        except StickslipError as error:
            error_text = type(error).__name__
            break
        taken += 1
        iterations.append(result.certificate.iterations)
        statuses.append(result.certificate.status)
        certificates.update(repr(result.certificate).encode())
    state = run.sim.state
    return {
        "hash": state_hash(run.sim)[:16],
        "certificates": certificates.hexdigest()[:16],
        "steps": taken,
        "iterations": iterations,
        "statuses": statuses,
        "error": error_text,
        "position": float(np.abs(state.body_pose).sum() + np.abs(state.node_position).sum()),
        "speed": float(np.abs(state.body_velocity).sum() + np.abs(state.node_velocity).sum()),
        "residual": float(result.certificate.natural_residual) if taken else None,
        "seconds": round(time.perf_counter() - started, 2),
    }


def state_hash(sim: Simulation) -> str:
    """SHA-256 over state and control array by array, in an order that does not depend on how they are stored."""
    state, control, found = sim.state, sim.control, hashlib.sha256()
    for array in (
        state.time, state.steps, state.body_pose, state.body_velocity, control.body_force, state.contact_key,
        state.contact_impulse, state.joint_impulse, state.joint_angle, control.target, state.joint_broken,
        state.node_position, state.node_velocity, control.node_force, state.soft_key, state.soft_impulse,
        state.weld_impulse,
    ):  # fmt: skip
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def cases() -> dict[str, tuple[str, str, int, dict[str, object]]]:
    """Every case by its name."""
    found = {
        f"{scene}/{solver}": (scene, solver, steps, settings)
        for scene, (solvers, steps, settings) in CASES.items()
        for solver in solvers
    }
    return found | VARIANTS


def difference(old: dict[str, object], new: dict[str, object]) -> str | None:
    """In which respect two digests differ, in words; None where they agree."""
    if old["hash"] == new["hash"] and old.get("certificates") == new.get("certificates"):
        return None
    words = [] if old["hash"] != new["hash"] else ["certificates only"]
    for key in ("steps", "iterations", "statuses", "error", "position", "speed", "residual"):
        if old.get(key) != new.get(key):
            words.append(f"{key} {old.get(key)} -> {new.get(key)}")
    return "; ".join(words) or f"bits only ({old['hash']} -> {new['hash']})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the digests to this JSON file")
    parser.add_argument("--against", type=Path, help="compare with this JSON file; exit 1 on differences")
    parser.add_argument("--only", default="", help="run cases whose name contains this text")
    options = parser.parse_args()
    old = json.loads(options.against.read_text()) if options.against else {}
    found, differing = {}, 0
    for name, case in cases().items():
        if options.only not in name or (old and name not in old):
            continue
        found[name] = digest(*case)
        words = difference(old[name], found[name]) if old else f"{found[name]['hash']} {found[name].get('seconds')} s"
        if words:
            differing += bool(old)
            print(f"{name:28s} {words}", flush=True)
    if options.out:
        with whole_file(options.out) as temporary:
            Path(temporary).write_text(json.dumps(found, indent=1) + "\n")
    if old:
        print(f"{len(found)} cases, {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
