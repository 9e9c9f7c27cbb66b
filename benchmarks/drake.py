"""Soft bodies in stickslip and in Drake: same meshes, material, step and tolerance; one run, one table.

``chain`` is the scene soft-chain, ``torus`` soft-torus ([han2023] sec. VII-F), ``resting`` balls and cubes that lie on
the ground; ``ball`` is ball-grip, with columns of its own (drake_ball.py). Both engines run on one thread, SAP to a
relative tolerance of 1e-6. Times are CPU milliseconds a step (the machine may have other work): medians of the first
steps, and of those after the bodies have settled.

Overlap is measured in the same way for both, from the nodes where they end: the deepest contact that stickslip's
collision code finds there, or the deepest that a place on one surface is inside another body, whichever is more; the
first sees edges that cross, the second also what is too deep for contacts. "apart": links passed through each other.
Rings start 0.5 mm apart in stickslip, and with 1 mm of overlap in Drake, which sees contacts only where bodies overlap:
from a gap its chain falls one link further in every step and comes apart, from 0.3 mm it does not converge at 25 links.
stickslip would stay clamped at the sides of the fixed ring from 1 mm: the nearest way out is there.
``converged`` is the share of steps; Drake stops at the first that does not converge.

Drake makes a contact of every polygon in which two bodies overlap, and needs the overlap; its stiffness is 1e8 Pa/m
times the area of the polygon, softened to what a step resolves (sap_near_rigid_threshold 1, near_rigid=1 here).
stickslip's contacts are places of surfaces about to touch. Drake is the extra ``peers``; without it the table has
stickslip's rows alone.

    python benchmarks/drake.py [--only chain|torus|resting|ball] [--quick] [--json]
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import argparse
import importlib.util
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import drake_ball
from drake_bodies import deformable, properties
from stickslip import Scene, Simulation, TetMesh, elastic, tet_generators
from stickslip.arrays import Array
from stickslip.collision.surfaces.contacts import find_soft_contacts
from stickslip.geometry.rotation import matrix
from stickslip.geometry.tet_files import write_tet_mesh
from stickslip.model.model import compile_scene
from stickslip.model.stepping import Stepping
from stickslip.scenes.soft_chain import MARGIN, ring_mesh, soft_chain, soft_torus
from stickslip.solvers.protocol import Solver
from stickslip.solvers.registry import make_solver
from stickslip.solvers.sap.sap import Sap

# Drake imports a package named drake, which must not be this file
sys.path[:] = [folder for folder in sys.path if Path(folder).resolve() != Path(__file__).resolve().parent]
TOLERANCE = 1e-6
FIRST = 5
"""Steps that the times at the start are of."""
DRAKE_GAP = -1e-3
"""[m] gap of rings at the start in Drake."""
RADIUS = 0.05
Placed = tuple[Array, TetMesh]
"""Nodes (n, 3) [m] in the world, and the mesh they belong to."""


@dataclass(frozen=True)
class Case:
    """A scene, how it is stepped, and the solid that does not move in it: the mesh of a ring, or the ground."""

    name: str
    scene: Scene
    dt: float
    settling: int
    """Steps before the times at rest."""
    steps: int
    ring: TetMesh | None = None
    in_drake: Scene | None = None
    """The same scene where Drake must start otherwise."""


def chain(links: int, quick: bool) -> Case:
    """The chain of [han2023] Fig. 8."""
    scenes = soft_chain(links), soft_chain(links, gap=DRAKE_GAP)
    return Case(f"chain of {links}", scenes[0], 0.02, 20 if quick else 50, 5 if quick else 10, ring_mesh(), scenes[1])


def torus(unknowns: int, quick: bool) -> Case:
    """The single ring of [han2023] Fig. 9."""
    scenes = soft_torus(unknowns), soft_torus(unknowns, gap=DRAKE_GAP)
    return Case(f"torus {unknowns}", scenes[0], 0.02, 8 if quick else 15, 3 if quick else 6, ring_mesh(), scenes[1])


def resting(name: str, mesh: TetMesh, quick: bool) -> Case:
    """A body that lies on the ground."""
    scene = Scene()
    scene.add_half_space(friction=0.5)
    rubber = elastic(1e5, 0.4, density=1000.0, beta=0.01)
    scene.add_soft(mesh, rubber, position=(0.0, 0.0, RADIUS), friction=0.5, name=name)
    return Case(f"resting {name}", scene, 0.01, 40 if quick else 100, 20 if quick else 100)


BODIES: dict[str, Callable[[], TetMesh]] = {
    "ball": lambda: tet_generators.sphere(RADIUS, (1, 1, 2, 2)),
    "cube": lambda: tet_generators.box((2.0 * RADIUS,) * 3, 4),
    "large ball": lambda: tet_generators.sphere(RADIUS, (1, 2, 3, 3, 4)),
    "large cube": lambda: tet_generators.box((2.0 * RADIUS,) * 3, (7, 7, 5)),
}
"""Bodies of about 115 and 410 nodes."""
KINDS: dict[str, Callable[[bool], list[Case]]] = {
    "chain": lambda quick: [chain(links, quick) for links in (10, 25)],
    "torus": lambda quick: [torus(unknowns, quick) for unknowns in (12000, 12054, 28800, 28914)],
    "resting": lambda quick: [resting(name, make(), quick) for name, make in BODIES.items()],
}


SOLVERS: dict[str, Solver] = {
    "stickslip sap": Sap(tolerance=TOLERANCE),
    "near_rigid=1": Sap(tolerance=TOLERANCE, near_rigid=1.0),
    "stickslip auto": make_solver("auto"),
}
"""The default, Drake's regularisation, and the exact law (for bodies at rest alone)."""


# ---- the two engines ----------------------------------------------------------------------------------------


def ours(case: Case, solver: Solver, label: str) -> dict[str, Any]:
    """A row of stickslip."""
    stepping = Stepping(dt=case.dt, margin=MARGIN if case.ring else None)
    sim = Simulation(case.scene, solver=solver, stepping=stepping)
    sim.step()  # loads kernels
    sim = Simulation(sim.model, solver=solver, stepping=stepping)
    used, converged = [], 0
    for _ in range(case.settling + case.steps):
        start = time.process_time()
        result = sim.step()
        used.append(time.process_time() - start)
        converged += result.certificate.converged
    soft = sim.model.soft
    nodes = [result.state.node_position[a:b] for a, b in zip(soft.node_start, soft.node_start[1:], strict=False)]
    return _row(case, label, used, result.certificate.contacts, nodes, converged / len(used))


def drakes(case: Case, folder: Path) -> dict[str, Any]:
    """A row of Drake: deformable bodies, SAP; up to the first step in which it does not converge."""
    from pydrake.geometry import Box, Mesh
    from pydrake.math import RigidTransform, RotationMatrix
    from pydrake.multibody.plant import AddMultibodyPlant, MultibodyPlantConfig
    from pydrake.systems.analysis import Simulator
    from pydrake.systems.framework import DiagramBuilder

    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlant(MultibodyPlantConfig(time_step=case.dt, discrete_contact_approximation="sap"), builder)
    below, shape = RigidTransform([0.0, 0.0, -0.5]), Box(4.0, 4.0, 1.0)
    if case.ring is not None:
        write_tet_mesh(folder / "ring.vtk", case.ring)
        below = RigidTransform(RotationMatrix(matrix(case.scene.bodies[0].rotation)), case.scene.bodies[0].position)
        shape = Mesh(str(folder / "ring.vtk"), 1.0)
    plant.RegisterCollisionGeometry(plant.world_body(), below, shape, "fixed", properties(rigid=True))
    model = plant.deformable_model()
    scene = case.in_drake or case.scene
    soft = properties(rigid=False)
    bodies = [deformable(model, scene, index, folder, soft) for index in range(len(scene.soft_bodies))]
    plant.Finalize()
    simulator = Simulator(builder.Build())
    simulator.Initialize()
    used = []
    for k in range(case.settling + case.steps):
        start = time.process_time()
        try:
            simulator.AdvanceTo((k + 1) * case.dt)
        except RuntimeError as error:  # its solver says so in this way
            if "failed to converge" not in str(error):
                raise
            break
        used.append(time.process_time() - start)
    context = plant.GetMyContextFromRoot(simulator.get_context())
    found = plant.get_contact_results_output_port().Eval(context)
    contacts = sum(
        found.deformable_contact_info(i).contact_mesh().num_faces() for i in range(found.num_deformable_contacts())
    )
    nodes = [np.array(model.GetPositions(context, body).T) for body in bodies]
    return _row(case, "drake sap", used, contacts, nodes, len(used) / (case.settling + case.steps))


# ---- overlap ------------------------------------------------------------------------------------------------


def overlap(a: Placed, b: Placed) -> float:
    """[m] deepest that a node, a place on an edge or the middle of a triangle of one body is inside the other."""
    return max(_depth(a, b), _depth(b, a))


def _depth(of: Placed, within: Placed) -> float:
    """[m] deepest that a place on the surface of the first is inside the second."""
    (x, mesh), (y, other) = of, within
    faces = mesh.surface
    edges = np.unique(np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
    on_edges = [(1.0 - t) * x[edges[:, 0]] + t * x[edges[:, 1]] for t in (0.25, 0.5, 0.75)]
    places = np.concatenate([x[np.unique(faces)], *on_edges, x[faces].mean(axis=1)])
    places = places[((places >= y.min(axis=0)) & (places <= y.max(axis=0))).all(axis=1)]
    origin = y[other.tets[:, 0]]
    inverse = np.linalg.inv(np.stack([y[other.tets[:, k]] - origin for k in (1, 2, 3)], axis=2))
    lower, upper = y[other.tets].min(axis=1), y[other.tets].max(axis=1)
    deepest = 0.0
    for place in places:
        near = np.flatnonzero(((place >= lower) & (place <= upper)).all(axis=1))
        weight = np.einsum("tij,tj->ti", inverse[near], place - origin[near])
        if ((weight >= 0.0).all(axis=1) & (weight.sum(axis=1) <= 1.0)).any():
            deepest = max(deepest, _distance(place, y[other.surface]))
    return deepest


def _distance(place: Array, triangles: Array) -> float:
    """[m] from a place (3,) to the nearest of triangles (n, 3, 3)."""
    corner, nearest = [triangles[:, k] for k in range(3)], math.inf
    normal = np.cross(corner[1] - corner[0], corner[2] - corner[0])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    away = ((place - corner[0]) * normal).sum(axis=1)
    inside = np.ones(len(triangles), bool)
    for k in range(3):
        start, along = corner[k], corner[(k + 1) % 3] - corner[k]
        inside &= (np.cross(along, place - start) * normal).sum(axis=1) >= 0.0
        share = np.clip(((place - start) * along).sum(axis=1) / (along * along).sum(axis=1), 0.0, 1.0)
        nearest = min(nearest, float(np.linalg.norm(place - start - share[:, None] * along, axis=1).min()))
    return min(nearest, float(np.abs(away[inside]).min(initial=math.inf)))


def _overlap_of(case: Case, nodes: list[Array]) -> float:
    """[m] largest overlap of neighbours; NaN where links have come apart."""
    if case.ring is None:
        return max(0.0, -min(float(x[:, 2].min()) for x in nodes))
    above = case.scene.bodies[0]
    first = above.position + case.ring.nodes @ matrix(above.rotation).T
    bodies = [(first, case.ring), *zip(nodes, (body.mesh for body in case.scene.soft_bodies), strict=True)]
    height = [x[:, 2].mean() for x, _ in bodies]
    size = np.ptp(case.ring.nodes[:, 0])
    if -np.diff(height).min() > size:
        return math.nan
    model, still = compile_scene(case.scene), np.zeros((len(case.scene.bodies), 6))
    x = np.concatenate(nodes)
    found = find_soft_contacts(model, model.q_start, x, still, np.zeros_like(x), 0.0, 0.0)
    deepest = max(overlap(a, b) for a, b in zip(bodies, bodies[1:], strict=False))
    return max(deepest, -float(found.gap.min(initial=0.0)))


# ---- the table ----------------------------------------------------------------------------------------------

COLUMNS = ("case", "engine", "unknowns", "ms_first", "ms", "contacts", "overlap_mm", "converged")


def _row(
    case: Case, engine: str, used: list[float], contacts: int, nodes: list[Array], converged: float
) -> dict[str, Any]:
    first, rest = used[:FIRST] or [math.nan], used[case.settling :] or [math.nan]
    return {
        "case": case.name, "engine": engine, "unknowns": 3 * sum(map(len, nodes)),
        "ms_first": 1e3 * float(np.median(first)), "ms": 1e3 * float(np.median(rest)),
        "contacts": contacts, "overlap_mm": 1e3 * _overlap_of(case, nodes), "converged": converged,
    }  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[*KINDS, "ball"], help="one kind of scene")
    parser.add_argument("--quick", action="store_true", help="fewer steps, the smaller of the scenes")
    parser.add_argument("--no-drake", action="store_true", help="stickslip's rows alone")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with_drake = not options.no_drake and importlib.util.find_spec("pydrake") is not None
    if not (with_drake or options.no_drake):
        print("Drake is not installed: pip install stickslip[peers]", file=sys.stderr)
    kept: list[dict[str, Any]] = []
    for kind in [options.only] if options.only else [*KINDS, "ball"]:
        columns = drake_ball.COLUMNS if kind == "ball" else COLUMNS
        if not options.json:
            print(" ".join(f"{name:>18}" for name in columns))
        with tempfile.TemporaryDirectory() as folder:
            for row in rows(kind, options.quick, with_drake, Path(folder)):
                kept.append({name: None if value != value else value for name, value in row.items()})
                if not options.json:
                    _show(kept[-1], columns)
    if options.json:
        print(json.dumps(kept))


def rows(kind: str, quick: bool, with_drake: bool, folder: Path) -> Iterator[dict[str, Any]]:
    """Rows of a kind of scene, as they are measured."""
    if kind == "ball":
        yield from drake_ball.rows(quick, with_drake, folder)
        return
    cases = KINDS[kind](quick)
    for case in cases[:1] if quick else cases:
        for label, solver in SOLVERS.items():
            if label != "stickslip auto" or kind == "resting":
                yield ours(case, solver, label)
        if with_drake:
            yield drakes(case, folder)


def _show(row: dict[str, Any], columns: tuple[str, ...]) -> None:
    """Print a row."""
    missing = {"overlap_mm": "apart"}
    shown = {name: missing.get(name, "-") if value is None else value for name, value in row.items()}
    cells = (f"{shown[name]:.4g}" if isinstance(shown[name], float) else str(shown[name]) for name in columns)
    print(" ".join(f"{cell:>18}" for cell in cells), flush=True)
    if row.get("timings"):
        print(f"{'':>18} ms of wall time a step:", ", ".join(f"{k} {v:.1f}" for k, v in row["timings"].items()))


if __name__ == "__main__":
    main()
