"""Toy jacks falling on a heap, [erleben2017] Table 1 and Fig. 3."""

from __future__ import annotations

import numpy as np

from stickslip.geometry.generators import Mesh, jack
from stickslip.geometry.refinement import refined
from stickslip.scene.scene import Scene
from stickslip.scenes import in_glass
from stickslip.scenes.containers import add_tray, bounding_radius
from stickslip.scenes.lattice import SPACING, cells, colour, jitter, random_rotations, scaled
from stickslip.scenes.parameters import whole_number
from stickslip.scenes.vessels import glass_mesh

ACROSS, ALONG = 6, 6
"""Jacks along the sides of a layer of the start lattice."""
ROOM = 1.6
"""Sides of the tray over those of the start lattice: room for a heap with slopes."""


def jack_mesh(reach: float, vertices: int = 0) -> Mesh:
    """A jack of the given reach [m]: arms 0.29 of it wide, a little narrower at the end; see ``jacks``."""
    mesh = jack(reach, 0.29 * reach, 0.25 * reach, 0.05 * reach)
    return refined(mesh, vertices) if vertices else mesh


def jacks(
    scale: float = 1.0,
    count: int = 360,
    reach: float = 0.2254,
    density: float = 7850.0,
    friction: float = 0.75,
    torsion: float = 0.01,
    seed: int = 1,
    vertices: int = 0,
    layout: str = "tray",
) -> Scene:
    """Steel jacks, turned at random, dropped on a floor within a low tray.

    360 jacks of 35 kg, the floor and the tray: 362 bodies, the paper's number, which includes what is fixed. reach:
    from a jack's centre to the end of an arm [m]; density [kg/m^3]; torsion: coefficient of torsional friction [m].
    scale: number of jacks over ``count``; the sides of the start lattice and of the tray follow its cube root.
    vertices: of a jack's mesh; 0: the 56 that its shape needs; the paper's have some 1,660. layout: "tray", or
    "glass", that of the author's runs, in_glass.py: a block that is not turned falls into a big glass.
    """
    count = scaled("jacks", scale, whole_number("jacks", "count", count, 1))
    across, along = scaled("jacks", scale, ACROSS, 3), scaled("jacks", scale, ALONG, 3)
    rng = np.random.default_rng(whole_number("jacks", "seed", seed, 0))
    points, triangles = jack_mesh(reach, whole_number("jacks", "vertices", vertices, 0))
    size = 2.0 * bounding_radius(points)
    pitch = SPACING * size
    scene = Scene()
    steel = scene.add_material("steel", friction, torsion=torsion)
    scene.add_half_space(material=steel, name="floor")
    if in_glass.known_layout("jacks", layout):
        places, tall = in_glass.block(count, 2.0 * reach)
        in_glass.add_glass(scene, glass_mesh(1.0), tall, steel)
        turns = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
    else:
        add_tray(scene, (ROOM * across * pitch, ROOM * along * pitch), size, 0.5 * size, steel)
        places = (cells(count, across, along) + [0.0, 0.0, 0.5]) * pitch + jitter(rng, count, pitch - size)
        turns = random_rotations(rng, count)
    for i, (position, rotation) in enumerate(zip(places, turns, strict=True)):
        scene.add_mesh(
            vertices=points, triangles=triangles, position=position, rotation=rotation, density=density,
            material=steel, colour=colour(i, 0.58, 0.9), name=f"jack-{i}",
        )  # fmt: skip
    return scene
