"""Contact of a soft ball on a rigid plane against Hertz, under refinement of the mesh.

Half a ball, held at its equator, on a plane that comes nearer by ``approach``; without friction, in the linear model.
The mesh is finest at the contact: layers around the pole, uniform up to 1.2 contact radii, growing from there.

Hertz's F = 4/3 E* sqrt(R) d^(3/2) is that of a half-space. A ball is stiffer by the order of a / R: Tatara (1991) adds
what the opposite force on the other side of the ball does. The table has both. A third effect, 0.6 % at an approach of
R / 1000, is that the equator is held in all directions: a whole ball between two plates (--whole) has none of it.
"""

from __future__ import annotations

import argparse
import json
import math
import time

import numpy as np

from stickslip import Scene, Simulation, elastic, tet_generators
from stickslip.geometry.tet_mesh import TetMesh, volumes_of, without_unused
from stickslip.model.stepping import Stepping
from stickslip.scenes.closed_forms import hertz_force

RADIUS, YOUNG = 0.05, 1e5
CORE = 0.6
"""Radius of the uniform part of the mesh, relative to the contact radius, before the map doubles it."""


def graded_half_ball(radius: float, divisions: int, core: float) -> TetMesh:
    """The half z <= 0 of a ball of ``radius`` [m], fine at the pole (0, 0, -radius); its equator is on z = 0.

    Layers about the middle of a half ball, ``divisions`` of equal thickness up to ``core`` (relative), then as thick as
    they are wide. An inversion, which keeps shapes, exchanges dome and flat face, and takes the middle to the pole.
    """
    growing = math.ceil(math.log(1.0 / core) / math.log(1.0 + 0.5 * math.pi / divisions))
    layers = divisions + growing
    unit = tet_generators.sphere(1.0, [*range(1, divisions + 1), *[divisions] * growing], "octahedron")
    reach = np.concatenate([
        core * np.arange(divisions + 1) / divisions, core ** (1.0 - np.arange(1, growing + 1) / growing),
    ])  # fmt: skip
    layer = np.rint(np.linalg.norm(unit.nodes, axis=1) * layers).astype(np.int64)
    lower = unit.nodes[unit.tets].mean(axis=1)[:, 2] < 0.0
    size = reach[layer] * layers / np.maximum(layer, 1)
    nodes, tets = without_unused(unit.nodes * size[:, None], unit.tets[lower])
    away = nodes - [0.0, 0.0, 1.0]
    nodes = [0.0, 0.0, 1.0] + 2.0 * away / np.sum(away**2, axis=1)[:, None]
    nodes[np.abs(nodes[:, 2]) < 1e-12, 2] = 0.0
    return TetMesh(radius * nodes, _right_handed(nodes, tets))


def mirrored(half: TetMesh) -> TetMesh:
    """Half a ball and its mirror image at z = 0."""
    count = len(half.nodes)
    image = np.where(half.nodes[:, 2] == 0.0, np.arange(count), np.arange(count) + count)
    nodes, tets = without_unused(
        np.concatenate([half.nodes, half.nodes * [1.0, 1.0, -1.0]]), np.concatenate([half.tets, image[half.tets]])
    )
    return TetMesh(nodes, _right_handed(nodes, tets))


def _right_handed(nodes: np.ndarray, tets: np.ndarray) -> np.ndarray:
    turned = tets.copy()
    left = volumes_of(nodes, turned) < 0.0
    turned[left, 2:] = turned[left, 3:1:-1]
    return turned


def contact_force(
    mesh: TetMesh, radius: float, approach: float, poisson: float, whole: bool = False
) -> tuple[float, int]:
    """Force [N] at an approach [m], and the number of nodes that touch, in one step so long that inertia is nothing."""
    h = 1.0
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    ball = scene.add_soft(mesh, elastic(YOUNG, poisson, density=1000.0, model="linear"), friction=0.0)
    if not whole:
        scene.hold_nodes(ball, mesh.nodes_on_plane("z", 0.0))
    plates = [
        scene.add_box(
            (radius, radius, 0.1 * radius), (0.0, 0.0, 1.05 * side * radius), kind="kinematic", friction=0.0,
            motion=lambda t, side=side: ((0.0, 0.0, side * (1.05 * radius - approach * min(t / h, 1.0))), (1, 0, 0, 0)),
        )
        for side in ((-1.0, 1.0) if whole else (-1.0,))
    ]  # fmt: skip
    # nodes that touch in the end are at most half the approach away at the start
    sim = Simulation(scene, stepping=Stepping(dt=h, slop=0.0, margin=0.75 * approach, lookahead=False))
    sim.step()
    report = sim.contacts(ball, plates[0])
    return float(report.total_force[2]), int((report.force[:, 2] > 0.0).sum())


def tatara_force(young: float, poisson: float, radius: float, approach: float) -> float:
    """Force [N] of a ball between two planes that each come nearer to its middle by ``approach`` [m]."""
    flat = 0.75 * (1.0 - poisson**2) / young

    def approach_of(force: float) -> float:
        a = (flat * force * radius) ** (1.0 / 3.0)
        far = a * a + 4.0 * radius**2
        other = 2.0 * (1.0 + poisson) * radius**2 / far**1.5 + (1.0 - poisson**2) / far**0.5
        return flat * force / a - force * other / (math.pi * young)

    low, high = 0.0, 4.0 * hertz_force(young / (1.0 - poisson**2), radius, approach)
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if approach_of(middle) < approach else (low, middle)
    return low


def row(divisions: int, relative: float, poisson: float, whole: bool) -> dict[str, float]:
    """One mesh at one approach, relative to the radius."""
    mesh = graded_half_ball(RADIUS, divisions, CORE * math.sqrt(relative))
    if whole:
        mesh = mirrored(mesh)
    start = time.perf_counter()
    force, touching = contact_force(mesh, RADIUS, relative * RADIUS, poisson, whole)
    hertz = hertz_force(YOUNG / (1.0 - poisson**2), RADIUS, relative * RADIUS)
    tatara = tatara_force(YOUNG, poisson, RADIUS, relative * RADIUS)
    return {
        "divisions": divisions, "nodes": len(mesh.nodes), "elements": len(mesh.tets), "approach/R": relative,
        "a/R": round(math.sqrt(relative), 4), "touching": touching, "F/Hertz": round(force / hertz, 4),
        "F/Tatara": round(force / tatara, 4), "seconds": round(time.perf_counter() - start, 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--divisions", type=int, nargs="+", default=[6, 8, 10, 12], help="refinement of the mesh")
    parser.add_argument("--approach", type=float, nargs="+", default=[1e-4, 1e-3, 5e-3], help="relative to the radius")
    parser.add_argument("--poisson", type=float, default=0.3)
    parser.add_argument("--whole", action="store_true", help="a whole ball between two plates")
    options = parser.parse_args()
    rows = []
    for approach in options.approach:
        for divisions in options.divisions:
            rows.append(row(divisions, approach, options.poisson, options.whole))
            if not options.json:
                print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    if options.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
