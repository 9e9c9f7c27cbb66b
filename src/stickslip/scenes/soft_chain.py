"""A chain of soft rings, and one soft ring with finer and finer elements, hung from a ring that does not move."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.geometry import tet_generators
from stickslip.geometry.tet_mesh import TetMesh
from stickslip.scene.scene import Scene
from stickslip.scene.soft_body import elastic
from stickslip.scenes.metrics import Values, after
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult

MAJOR, MINOR = 0.1, 0.025
"""[m] radii of a ring; [han2023] does not say its size."""
YOUNG, POISSON, DENSITY, DAMPING = 1e7, 0.4, 500.0, 0.05
"""[Pa], 1, [kg/m^3] and [s] of [han2023] sec. VII-F."""
CORNERS, SECTORS = 4, 60
FLAT = math.pi / CORNERS
"""[rad] turns a flat side of the cross-section inwards: rings of four corners then lie on two edges each."""
MARGIN = 1e-3
"""[m] gap up to which resting contacts are seen. What gravity could close in steps of 20 ms is 8 mm, a third of a
link's thickness: 2.6 times the contacts, and the same end to ten digits."""
STEPPING = MappingProxyType({"margin": MARGIN})
MOST_LINKS = 100
SETTLED = 1.0
"""[s] when the first swing is over."""
DIVISIONS = {900: (1, 60), 3003: (2, 77), 12000: (3, 160), 28800: (3, 384)}
"""Rings and sectors of the mesh of a single ring, by its unknowns."""
COMPACT = {12054: (4, 98), 28914: (5, 158)}
"""The same with elements as long as they are wide: fewer and larger sections, and so more fill in the factorisation."""
TURNS = (0.5**0.5, 0.5**0.5, 0.0, 0.0), (0.5**0.5, 0.0, 0.5**0.5, 0.0)
"""Rotations that turn the axis of a ring from z to -y, of the fixed one and every other one, and to x."""
FIXED, LINKS = (0.93, 0.93, 0.91), ((0.20, 0.45, 0.70), (0.88, 0.52, 0.18))


def ring_mesh(major: float = MAJOR, minor: float = MINOR, rings: int = 1, sectors: int = SECTORS) -> TetMesh:
    """A ring about the z axis with radii [m]: by default of 300 nodes and 720 elements, square in cross-section."""
    return tet_generators.torus(major, minor, rings, sectors, CORNERS, FLAT)


def pitch(upper: TetMesh, lower: TetMesh) -> float:
    """[m] how far below the centre of a ring that of the next one can be without overlap, up to a chord's sagitta.

    Both are meshes of ``ring_mesh``, the lower one turned by 90 degrees.
    """
    (distance, height), (other_distance, other_height) = _ridges(upper), _ridges(lower)
    # a ridge of one at its height along the axis meets a ridge of the other there, and the other way round
    reach = _below(distance[:, None], other_height) + _below(other_distance, height[:, None])
    return float(reach.min())


def _ridges(mesh: TetMesh) -> tuple[Array, Array]:
    """Distances of the middles of the edges along a ring from its axis, and their heights; [m], of nodes inside too."""
    distance, height = np.hypot(mesh.nodes[:, 0], mesh.nodes[:, 1]), mesh.nodes[:, 2]
    section = np.unique(np.round(np.column_stack([distance, height]), 12), axis=0)
    sectors = len(mesh.nodes) // len(section)
    return section[:, 0] * math.cos(math.pi / sectors), section[:, 1]


def _below(distance: Array, aside: Array) -> Array:
    """[m] depth of a circle of that radius below its centre, ``aside`` [m] of the middle."""
    return np.sqrt(np.maximum(distance**2 - aside**2, 0.0))


def soft_chain(
    links: int = 10,
    major: float = MAJOR,
    minor: float = MINOR,
    young: float = YOUNG,
    poisson: float = POISSON,
    density: float = DENSITY,
    damping: float = DAMPING,
    friction: float = 0.5,
    gap: float = 5e-4,
) -> Scene:
    """A chain of ``links`` soft rings of 300 nodes and 720 elements each, hung from a rigid ring ([han2023] Fig. 8).

    Radii ``major`` of the ring and ``minor`` of its cross-section [m], young [Pa], poisson, density [kg/m^3] and
    damping [s] by stiffness. Neighbours are turned by 90 degrees, and ``gap`` [m] apart at the start.
    """
    if whole_number("soft-chain", "links", links, 1) > MOST_LINKS:
        raise InputError(f"soft-chain: links is {links}; it must be at most {MOST_LINKS}")
    _check_radii("soft-chain", major, minor)
    mesh = ring_mesh(major, minor)
    scene = Scene()
    surface = scene.add_material("rings", friction)
    _add_fixed(scene, mesh, surface)
    rubber = elastic(young, poisson, density=density, beta=damping)
    step = pitch(mesh, mesh) - gap
    for k in range(1, links + 1):
        place = (0.0, 0.0, -k * step)
        scene.add_soft(mesh, rubber, place, TURNS[k % 2], material=surface, colour=LINKS[k % 2], name=f"link-{k}")
    return scene


def soft_torus(
    unknowns: int = 900,
    major: float = MAJOR,
    minor: float = MINOR,
    young: float = YOUNG,
    poisson: float = POISSON,
    density: float = DENSITY,
    damping: float = DAMPING,
    friction: float = 0.5,
    gap: float = 5e-4,
) -> Scene:
    """One soft ring of 900, 3003, 12000 or 28800 ``unknowns``, hung from a rigid ring ([han2023] Fig. 9).

    With 12054 or 28914 its elements are as long as wide.

    The fixed ring has the mesh of 900 unknowns; parameters otherwise as for ``soft_chain``.
    """
    known = DIVISIONS | COMPACT
    if unknowns not in known:
        raise InputError(f"soft-torus: unknowns is {unknowns}; it must be one of {', '.join(map(str, known))}")
    _check_radii("soft-torus", major, minor)
    above, mesh = ring_mesh(major, minor), ring_mesh(major, minor, *known[unknowns])
    scene = Scene()
    surface = scene.add_material("rings", friction)
    _add_fixed(scene, above, surface)
    rubber = elastic(young, poisson, density=density, beta=damping)
    place = (0.0, 0.0, gap - pitch(above, mesh))
    scene.add_soft(mesh, rubber, place, TURNS[1], material=surface, colour=LINKS[1], name="link-1")
    return scene


def _check_radii(scene: str, major: float, minor: float) -> None:
    """A ring must leave room for the two others that pass through it."""
    if not 0.0 < 3.0 * positive(scene, "minor", minor) < positive(scene, "major", major):
        raise InputError(f"{scene}: minor is {minor} m, major {major} m; three times the minor one must be below it")


def _add_fixed(scene: Scene, mesh: TetMesh, surface: str) -> None:
    """The ring that does not move."""
    triangles, used = np.unique(mesh.surface, return_inverse=True)
    scene.add_mesh(
        mesh.nodes[triangles], used.reshape(-1, 3), rotation=TURNS[0], kind="static", material=surface, colour=FIXED,
        name="ring",
    )  # fmt: skip


class Hanging:
    """Whether the chain holds, and how its rings touch.

    ``hangs``: the centre of every ring is less than a ring's diameter below that of the one above it, at the end;
    ``overlap_max_mm``: deepest overlap of any contact since SETTLED, of the whole run where it is shorter;
    ``sag_m``: how far the lowest ring's centre is below where it started; ``bottom_m``: its lowest node;
    ``contacts``: at the end; ``iterations_max``; ``speed_m_per_s``: of the fastest node at the end.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.start = self.heights(sim, sim.state.node_position)
        self.end, self.room = self.start, 2.0 * parameters["major"]
        self.overlap, self.settled = 0.0, False
        self.bottom = self.speed = math.nan
        self.contacts = self.iterations = 0

    @staticmethod
    def heights(sim: Simulation, x: Array) -> Array:
        """Heights (links,) [m] of the centres of mass, from the uppermost ring down."""
        soft = sim.model.soft
        return np.bincount(soft.node_body, soft.mass * x[:, 2]) / np.bincount(soft.node_body, soft.mass)

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of places and overlaps."""
        x, v = result.state.node_position, result.state.node_velocity
        if not self.settled and after(result, sim.stepping.dt, SETTLED):
            self.overlap, self.settled = 0.0, True
        self.overlap = max(self.overlap, result.certificate.penetration_mm)
        self.end, self.bottom = self.heights(sim, x), float(x[:, 2].min())
        self.speed = float(np.linalg.norm(v, axis=1).max())
        self.contacts = result.certificate.contacts
        self.iterations = max(self.iterations, result.certificate.iterations)

    def values(self) -> Values:
        """The values above."""
        return {
            "hangs": bool((np.diff(self.end, prepend=0.0) > -self.room).all()),
            "overlap_max_mm": self.overlap,
            "sag_m": float(self.start[-1] - self.end[-1]),
            "bottom_m": self.bottom,
            "contacts": float(self.contacts),
            "iterations_max": float(self.iterations),
            "speed_m_per_s": self.speed,
        }
