"""Soft bodies that rest on the ground, in stickslip and in Drake: same mesh, material, step; one run, one table.

Times are CPU milliseconds of one thread a step (the machine may have other work): medians after the body has come to
rest.
Drake is the extra ``peers``; without it the table has stickslip's rows alone.

    python benchmarks/bench_soft_resting.py [--steps 100] [--json]
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from stickslip import Scene, Simulation, TetMesh, elastic, tet_generators
from stickslip.geometry.tet_files import write_tet_mesh

RADIUS, YOUNG, POISSON, DENSITY, BETA, FRICTION = 0.05, 1e5, 0.4, 1000.0, 0.01, 0.5
STEP, SETTLING = 0.01, 100
MESHES: dict[str, Callable[[], TetMesh]] = {
    "ball": lambda: tet_generators.sphere(RADIUS, (1, 1, 2, 2)),
    "cube": lambda: tet_generators.box((2.0 * RADIUS,) * 3, 4),
    "large ball": lambda: tet_generators.sphere(RADIUS, (1, 2, 3, 3, 4)),
    "large cube": lambda: tet_generators.box((2.0 * RADIUS,) * 3, (7, 7, 5)),
}
"""Bodies of about 115 and 410 nodes."""


def ours(mesh: TetMesh, steps: int, solver: str) -> dict[str, Any]:
    """A row of stickslip."""
    scene = Scene()
    scene.add_half_space(friction=FRICTION)
    material = elastic(YOUNG, POISSON, density=DENSITY, beta=BETA)
    ball = scene.add_soft(mesh, material, position=(0, 0, RADIUS), friction=FRICTION)
    sim = Simulation(scene, dt=STEP, solver=solver)
    sim.run(SETTLING)
    used, converged = [], 0
    for _ in range(steps):
        start = time.process_time()
        result = sim.step()
        used.append(time.process_time() - start)
        converged += result.certificate.converged
    lowest = float(sim.nodes(ball)[:, 2].min())
    return _row(f"stickslip {solver}", mesh, used, result.certificate.contacts, lowest, converged / steps)


def drake(mesh: TetMesh, steps: int, folder: Path) -> dict[str, Any]:
    """A row of Drake: deformable body, SAP, rigid ground."""
    from pydrake.geometry import (
        AddContactMaterial,
        AddRigidHydroelasticProperties,
        Box,
        GeometryInstance,
        Mesh,
        ProximityProperties,
    )
    from pydrake.math import RigidTransform
    from pydrake.multibody.fem import DeformableBodyConfig
    from pydrake.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlantConfig
    from pydrake.systems.analysis import Simulator
    from pydrake.systems.framework import DiagramBuilder

    file = folder / f"ball{len(mesh.nodes)}.vtk"
    write_tet_mesh(file, mesh)
    builder = DiagramBuilder()
    config = MultibodyPlantConfig(time_step=STEP, discrete_contact_approximation="sap")
    plant, _ = AddMultibodyPlant(config, builder)
    ground = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(FRICTION, FRICTION), properties=ground)
    AddRigidHydroelasticProperties(1.0, ground)
    below = RigidTransform([0.0, 0.0, -0.5])
    plant.RegisterCollisionGeometry(plant.world_body(), below, Box(4.0, 4.0, 1.0), "ground", ground)
    material = DeformableBodyConfig()
    material.set_youngs_modulus(YOUNG)
    material.set_poissons_ratio(POISSON)
    material.set_mass_density(DENSITY)
    material.set_stiffness_damping_coefficient(BETA)
    own = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(FRICTION, FRICTION), properties=own)
    shape = GeometryInstance(RigidTransform([0.0, 0.0, RADIUS]), Mesh(str(file), 1.0), "ball")
    shape.set_proximity_properties(own)
    model = plant.deformable_model()
    body = model.RegisterDeformableBody(shape, material, 1.0)
    plant.Finalize()
    simulator = Simulator(builder.Build())
    simulator.Initialize()
    simulator.AdvanceTo(SETTLING * STEP)
    used = []
    for k in range(steps):
        start = time.process_time()
        simulator.AdvanceTo((SETTLING + k + 1) * STEP)
        used.append(time.process_time() - start)
    context = plant.GetMyContextFromRoot(simulator.get_context())
    state = context.get_discrete_state(model.GetDiscreteStateIndex(body)).value()
    lowest = float(state[: 3 * len(mesh.nodes)].reshape(-1, 3)[:, 2].min())
    return _row("drake sap", mesh, used, -1, lowest, 1.0)


def _row(name: str, mesh: TetMesh, used: list[float], contacts: int, lowest: float, converged: float) -> dict[str, Any]:
    return {
        "engine": name, "nodes": len(mesh.nodes), "elements": len(mesh.tets), "ms": 1e3 * float(np.median(used)),
        "contacts": contacts, "lowest_mm": 1e3 * lowest, "converged": converged,
    }  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, make in MESHES.items():
            mesh = make()
            rows.append({"body": name, **ours(mesh, options.steps, "auto")})
            try:
                rows.append({"body": name, **drake(mesh, options.steps, Path(folder))})
            except ImportError:
                print("drake is not installed: pip install stickslip[peers]")
    if options.json:
        print(json.dumps(rows))
        return
    columns = ("body", "engine", "nodes", "elements", "ms", "contacts", "lowest_mm", "converged")
    print(" ".join(f"{name:>14}" for name in columns))
    for row in rows:
        cells = (f"{row[name]:.4g}" if isinstance(row[name], float) else str(row[name]) for name in columns)
        print(" ".join(f"{cell:>14}" for cell in cells))


if __name__ == "__main__":
    main()
