"""Compile every kernel ahead of use, by stepping tiny scenes that together touch all of them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from stickslip import jit
from stickslip.contact.gallery import mass_ratio, redundant_table
from stickslip.contact.problem import from_delassus
from stickslip.contact.residual import residual
from stickslip.geometry.mesh_shapes import BOX_TRIANGLES
from stickslip.scene import Body, Scene
from stickslip.simulation import Simulation
from stickslip.solvers.proximal_point import ProximalPoint
from stickslip.solvers.registry import DEFAULT, SOLVERS, make_solver
from stickslip.stepping import Stepping
from stickslip.view.picture import render_frame

Progress = Callable[[str, int, int], None]
"""Told the name of the stage that begins, its number from 0, and the number of stages."""

DT = 0.002
EDGE = 0.2
CORNERS = [(x, y, z) for z in (-0.1, 0.1) for y in (-0.1, 0.1) for x in (-0.1, 0.1)]
"""In the order that BOX_TRIANGLES numbers."""

SHAPES: dict[str, Callable[[Scene, float], Body]] = {
    "sphere": lambda scene, z: scene.add_sphere(radius=0.5 * EDGE, position=(0.0, 0.0, z)),
    "capsule": lambda scene, z: scene.add_capsule(radius=0.05, length=0.1, position=(0.0, 0.0, z)),
    "box": lambda scene, z: scene.add_box(size=(EDGE, EDGE, EDGE), position=(0.0, 0.0, z)),
    "cylinder": lambda scene, z: scene.add_cylinder(radius=0.1, length=EDGE, position=(0.0, 0.0, z)),
    "hull": lambda scene, z: scene.add_hull(points=CORNERS, position=(0.0, 0.0, z)),
    "mesh": lambda scene, z: scene.add_mesh(CORNERS, BOX_TRIANGLES, position=(0.0, 0.0, z)),
}
"""Adds a body that is EDGE tall, with its centre at height z [m]."""


@dataclass(frozen=True)
class StageReport:
    """One stage of a warm-up: wall time, and where its kernel signatures came from."""

    name: str
    seconds: float
    compiled: int
    loaded: int


@dataclass(frozen=True)
class WarmupReport:
    """What a warm-up did: its stages in order, and the sums over them."""

    stages: tuple[StageReport, ...]

    @property
    def seconds(self) -> float:
        """Wall time of all stages [s]."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def compiled(self) -> int:
        """Kernel signatures that had to be compiled."""
        return sum(stage.compiled for stage in self.stages)

    @property
    def loaded(self) -> int:
        """Kernel signatures that the cache on disk had."""
        return sum(stage.loaded for stage in self.stages)


def warmup(progress: Progress | None = None) -> WarmupReport:
    """Step scenes with every pair of shapes, scheme and solver, so that all kernels are compiled and cached."""
    stages = list(_stages())
    reports = []
    for number, (name, run) in enumerate(stages):
        if progress:
            progress(name, number, len(stages))
        compiled, loaded = _cache_counts()
        start = time.perf_counter()
        run()
        seconds = time.perf_counter() - start
        compiled_after, loaded_after = _cache_counts()
        reports.append(StageReport(name, seconds, compiled_after - compiled, loaded_after - loaded))
    return WarmupReport(tuple(reports))


def _stages() -> Iterator[tuple[str, Callable[[], None]]]:
    """Names and actions of the stages; the first one compiles what every scene needs."""
    for name in SHAPES:
        yield f"{name} on half-space", partial(_step, _stack(name))
    for lower, upper in itertools.combinations_with_replacement(SHAPES, 2):
        yield f"{lower} and {upper}", partial(_step, _stack(lower, upper))
    yield "scheme moreau", partial(_step, _stack("box", "sphere"), stepping=Stepping(scheme="moreau"))
    yield "post-stabilisation", partial(_step, _stack("box", "sphere"), stepping=Stepping(stabilisation=1))
    for solver, kind in SOLVERS.items():
        yield f"solver {solver}", partial(_step, _stack("box", "sphere"), solver=solver)
        if kind.all_friction_sets:
            yield f"solver {solver}, torsion", partial(_step, _stack("box", "sphere", torsion=0.01), solver=solver)
        yield f"solver {solver}, given W and q", partial(_solve_given, solver)
    yield "Newton steps", _newton
    for torsion in (0.0, 0.01):
        yield f"many contacts, torsion {torsion:g}", partial(_step, _lattice(torsion))
    yield "picture", partial(_draw, _stack("box", "sphere"))


def _lattice(torsion: float) -> Scene:
    """Touching balls with more contacts than are swept on one thread."""
    scene = Scene()
    scene.add_half_space(torsion=torsion)
    for k in range(13**3):
        scene.add_sphere(0.5, (k % 13, k // 13 % 13, 0.5 + k // 169), torsion=torsion)
    return scene


def _stack(*names: str, torsion: float = 0.0) -> Scene:
    """Shapes on top of each other on a half-space, each overlapping what is below by 0.1 mm."""
    scene = Scene()
    scene.add_half_space(torsion=torsion)
    for level, name in enumerate(names):
        SHAPES[name](scene, (level + 0.5) * EDGE - 1e-4 * (level + 1))
    return scene


def _step(scene: Scene, solver: str = DEFAULT, stepping: Stepping | None = None) -> None:
    """Two steps, of which the second one matches the impulses of the first, and a look at the contacts."""
    simulation = Simulation(scene, DT, solver, stepping)
    simulation.run(steps=2)
    simulation.contacts()


def _solve_given(solver: str) -> None:
    """Solve a problem that is given by its Delassus matrix, as those of FCLIB are: a contact that slips."""
    problem = from_delassus(np.eye(3), q=(-1.0, 1.0, 0.0), mu=(0.5,))
    solution = make_solver(solver).solve(problem)
    residual(problem, solution.lam)


def _newton() -> None:
    """Newton steps over impulses and over velocities, on problems that sweeps alone do not solve."""
    root = np.random.default_rng(0).normal(size=(12, 6))
    given = from_delassus(root @ root.T, root @ np.arange(1.0, 7.0), np.full(4, 0.5))
    for problem in (given, mass_ratio().problem, redundant_table().problem):
        ProximalPoint(sweeps=1, max_iterations=50, tolerance=1e-12).solve(problem)


def _draw(scene: Scene) -> None:
    """A small picture with contact forces."""
    simulation = Simulation(scene, DT)
    simulation.step()
    render_frame(simulation.model, simulation.state.q, width=16, height=16, contacts=simulation.contacts())


def _cache_counts() -> tuple[int, int]:
    """Signatures compiled, and signatures loaded from the cache on disk, by this process so far."""
    statistics = [item.stats for item in jit.KERNELS if hasattr(item, "stats")]  # plain functions without the compiler
    compiled = sum(sum(item.cache_misses.values()) for item in statistics)
    return compiled, sum(sum(item.cache_hits.values()) for item in statistics)
