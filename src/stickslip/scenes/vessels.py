"""Drinking glasses and chalices: thin-walled surfaces of revolution in heaps, [erleben2017] Table 1, Fig. 1 and 3."""

from __future__ import annotations

import math

import numpy as np

from stickslip.geometry.generators import Mesh, surface_of_revolution
from stickslip.geometry.refinement import refined
from stickslip.geometry.shapes import Cylinder, placed
from stickslip.geometry.triangle_mesh import mass_of
from stickslip.scene.scene import Scene
from stickslip.scenes import in_glass
from stickslip.scenes.containers import GREY, add_tray, bounding_radius, staves
from stickslip.scenes.lattice import SPACING, cells, colour, jitter, random_rotations, round_cells, scaled
from stickslip.scenes.parameters import whole_number

GLASS = ((0.0, 0.0), (0.68, 0.0), (0.72, 0.06), (0.9, 2.0), (0.87, 2.04), (0.8, 2.0), (0.62, 0.24), (0.0, 0.2))
"""Outline of a tumbler: radius and height over half its height."""
CHALICE = (
    (0.0, 0.0), (0.5, 0.0), (0.52, 0.06), (0.14, 0.24), (0.12, 0.8), (0.42, 1.06), (0.56, 1.5), (0.58, 2.0),
    (0.5, 2.0), (0.47, 1.52), (0.34, 1.16), (0.0, 1.0),
)  # fmt: skip
"""Outline of a chalice: foot, stem and bowl; radius and height over half its height."""
SEGMENTS = 14
TRAY_ROOM = 1.25
"""Sides of the tray over those of the start lattice."""
STAVES = 20
"""Pieces of the chalices' container."""


def vessel_mesh(
    outline: tuple[tuple[float, float], ...], height: float, segments: int = SEGMENTS, count: int = 0
) -> Mesh:
    """A vessel of the given height [m] with its centre of mass at the origin and its mouth along +z.

    count: of vertices, where there are to be more than ``segments`` give.
    """
    mesh = surface_of_revolution(0.5 * height * np.array(outline), segments)
    vertices, triangles = refined(mesh, count) if count else mesh
    _, centre, _ = mass_of(vertices, triangles)
    return vertices - [0.0, 0.0, centre[2]], triangles


def glass_mesh(height: float, vertices: int = 0) -> Mesh:
    """A tumbler of the given height [m]; vertices: as of :func:`glasses`."""
    return vessel_mesh(GLASS, height, _segments(GLASS, vertices), vertices)


def _segments(outline: tuple[tuple[float, float], ...], vertices: int) -> int:
    """Round about in as many steps as make triangles of a mesh of so many vertices about as long as they are wide."""
    if not vertices:
        return SEGMENTS
    area = math.pi * sum(
        (a[0] + b[0]) * math.hypot(a[0] - b[0], a[1] - b[1]) for a, b in zip(outline, outline[1:], strict=False)
    )
    pitch = math.sqrt(area / vertices)
    most = (vertices - 2) // (len(outline) - 2)
    return max(3, min(most, round(2.0 * math.pi * max(r for r, _ in outline) / pitch)))


def glasses(
    scale: float = 1.0,
    count: int = 360,
    height: float = 0.614,
    density: float = 2500.0,
    friction: float = 0.75,
    torsion: float = 0.01,
    seed: int = 1,
    vertices: int = 0,
    layout: str = "tray",
) -> Scene:
    """Tumblers, turned at random, dropped on a floor within a low tray.

    360 glasses of 91 kg, the floor and the tray: 362 bodies, the paper's number, which includes what is fixed. height:
    of a glass [m]; density [kg/m^3]; torsion: coefficient of torsional friction [m]. scale: number of glasses over
    ``count``; the sides of the start lattice and of the tray follow its cube root. vertices: of a glass's mesh; 0: 86;
    the paper's have some 1,630. layout: "tray", or "glass", that of the author's runs, in_glass.py: a block that is not
    turned falls into a big glass.
    """
    count = scaled("glasses", scale, whole_number("glasses", "count", count, 1))
    across, along = scaled("glasses", scale, 8, 3), scaled("glasses", scale, 9, 3)
    rng = np.random.default_rng(whole_number("glasses", "seed", seed, 0))
    mesh = glass_mesh(height, whole_number("glasses", "vertices", vertices, 0))
    size = 2.0 * bounding_radius(mesh[0])
    pitch = SPACING * size
    scene = Scene()
    glass = scene.add_material("glass", friction, torsion=torsion)
    scene.add_half_space(material=glass, name="floor")
    if in_glass.known_layout("glasses", layout):
        places, tall = in_glass.block(count, height)
        in_glass.add_glass(scene, glass_mesh(1.0), tall, glass)
        _drop(scene, "glass", mesh, places, None, density, glass, (0.52, 0.2, 0.4))
        return scene
    add_tray(scene, (TRAY_ROOM * across * pitch, TRAY_ROOM * along * pitch), size, 0.5 * size, glass)
    places = (cells(count, across, along) + [0.0, 0.0, 0.5]) * pitch + jitter(rng, count, pitch - size)
    _drop(scene, "glass", mesh, places, rng, density, glass, (0.52, 0.2, 0.4))
    return scene


def chalices(
    scale: float = 1.0,
    count: int = 4000,
    height: float = 0.4,
    density: float = 2500.0,
    friction: float = 0.75,
    torsion: float = 0.01,
    seed: int = 1,
    vertices: int = 0,
) -> Scene:
    """Chalices, turned at random, dropped into a round container: packing.

    4000 chalices, and four fixed bodies: floor, bottom, wall and flared rim of the container; 4004 bodies, the paper's
    number, which includes what is fixed. height: of a chalice [m]; density [kg/m^3], 9.6 kg each by default; torsion:
    coefficient of torsional friction [m]. scale: number of chalices over ``count``; the radius of the container
    follows its cube root. vertices: of a chalice's mesh; 0: 142; the paper's have some 275.
    """
    count = scaled("chalices", scale, whole_number("chalices", "count", count, 1))
    rng = np.random.default_rng(whole_number("chalices", "seed", seed, 0))
    vertices = whole_number("chalices", "vertices", vertices, 0)
    mesh = vessel_mesh(CHALICE, height, _segments(CHALICE, vertices), vertices)
    size = 2.0 * bounding_radius(mesh[0])
    pitch = SPACING * size
    # as tall as wide when all are at their start, in a lattice of one per cell
    across = max(0.75, (count / (2.0 * math.pi)) ** (1.0 / 3.0))
    radius = (across + 0.75) * pitch
    scene = Scene()
    gold = scene.add_material("gold", friction, torsion=torsion)
    scene.add_half_space(material=gold, name="floor")
    plate, wall = 0.5 * size, 0.55 * radius  # packed, they need a quarter of the height they start at
    bottom = placed(Cylinder(radius + size, plate), (0.0, 0.0, 0.5 * plate))
    top = plate + wall
    for name, parts in (
        ("bottom", [bottom]),
        ("wall", staves(radius, radius, plate, top, 0.5 * size, STAVES)),
        ("rim", staves(radius, radius + 2.0 * size, top, top + 2.0 * size, 0.5 * size, STAVES)),
    ):
        scene.add_compound(parts, kind="static", material=gold, colour=GREY, name=f"container-{name}")
    places = (round_cells(count, lambda layer: across) + [0.0, 0.0, 0.5]) * pitch + jitter(rng, count, pitch - size)
    _drop(scene, "chalice", mesh, places + [0.0, 0.0, plate], rng, density, gold, (0.11, 0.05, 0.65))
    return scene


def _drop(
    scene: Scene,
    name: str,
    mesh: Mesh,
    places: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    rng: np.random.Generator | None,
    density: float,
    material: str,
    tint: tuple[float, float, float],
) -> None:
    """Add a vessel at each of ``places`` (n, 3) [m], turned by ``rng``, upright for None; tint: of lattice.colour."""
    vertices, triangles = mesh
    upright = np.tile([1.0, 0.0, 0.0, 0.0], (len(places), 1))
    turns = upright if rng is None else random_rotations(rng, len(places))
    for i, (position, rotation) in enumerate(zip(places, turns, strict=True)):
        scene.add_mesh(
            vertices=vertices, triangles=triangles, position=position, rotation=rotation, density=density,
            material=material, colour=colour(i, *tint), name=f"{name}-{i}",
        )  # fmt: skip
