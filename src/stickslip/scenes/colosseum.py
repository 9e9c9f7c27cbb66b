"""A ring of piers and arches in several storeys, [erleben2017] Table 1 and Fig. 1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.errors import InputError
from stickslip.geometry import generators
from stickslip.geometry.rotation import about_axis, matrix
from stickslip.scene.scene import Scene
from stickslip.scenes.arch import STONES
from stickslip.scenes.lattice import scaled
from stickslip.scenes.metrics import Standing
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation

BAY = 4.0
"""[m] width of a bay, from pier to pier, half way between the ring's faces."""
SPAN = 2.4
"""[m] clear width between piers."""
PIER_HEIGHT = 0.714
"""[m] of one of the blocks of a pier."""
ARCH_HEIGHT = 1.994
"""[m] from the springing of an arch to its flat top."""
CORNICE_HEIGHT = 0.286
LEAST_BAYS = 6
JOINT = 0.002
"""[m] open joint between neighbouring bays; all other stones touch."""


def colosseum(
    scale: float = 1.0,
    bays: int = 24,
    storeys: int = 3,
    blocks: int = 3,
    voussoirs: int = 5,
    depth: float = 1.4,
    thickness: float = 0.0,
    density: float = 2500.0,
    friction: float = 0.75,
    torsion: float = 0.01,
) -> Scene:
    """A ring of ``bays`` bays: in every storey a pier of ``blocks``, an arch of ``voussoirs`` and a cornice slab each.

    By default 24 x 3 x (3 + 5 + 1) = 648 stones of 4000 kg on average, and the floor: the paper's 649 bodies. depth:
    of the ring, from its inner to its outer face [m]; density [kg/m^3]; torsion: coefficient of torsional friction
    [m]. The voussoirs reach up to the flat top of their storey, so that weight passes from pier to pier. With a
    ``thickness`` [m] above zero they are plain wedges, without spandrels between them, and all weight rests on the
    crowns: a poor design. Of two storeys of 8 bays the arches still stand with 0.25 m; with 0.1 m they fall out
    within half a second and the cornices drop on the piers, which stay: less than the collapse in the paper's Fig. 1.
    scale: number of stones over the default; bays and storeys follow its square root. The paper does not give the
    layout.
    """
    bays = scaled("colosseum", scale, whole_number("colosseum", "bays", bays, LEAST_BAYS), 2, LEAST_BAYS)
    storeys = scaled("colosseum", scale, whole_number("colosseum", "storeys", storeys, 1), 2)
    blocks = whole_number("colosseum", "blocks", blocks, 1)
    voussoirs = whole_number("colosseum", "voussoirs", voussoirs, 3)
    step = 2.0 * math.pi / bays
    radius = 0.5 * BAY / math.tan(0.5 * step)
    if not 0.0 < depth < radius:
        raise InputError(f"colosseum: depth is {depth}; it must be positive and below the radius {radius:.3g}")
    most = ARCH_HEIGHT - 0.5 * SPAN
    if not 0.0 <= thickness <= most:
        raise InputError(f"colosseum: thickness is {thickness}; it must be between 0 and {most:.3g}")
    scene = Scene()
    stone = scene.add_material("stone", friction, torsion=torsion)
    scene.add_half_space(material=stone, name="floor")
    pier, arch, cornice = _stones(radius, step, depth, voussoirs, thickness or None)

    def lay(name: str, corners: Array, z: float, angle: float) -> None:
        turn = matrix(about_axis((0, 0, 1), angle))
        centre = corners.mean(axis=0)
        scene.add_hull(
            corners - centre, turn @ centre + (0, 0, z), about_axis((0, 0, 1), angle), density=density, material=stone,
            name=name, colour=STONES[len(scene.bodies) % len(STONES)],
        )  # fmt: skip

    height = blocks * PIER_HEIGHT + _arch_height(thickness or None) + CORNICE_HEIGHT
    for storey in range(storeys):
        for bay in range(bays):
            angle, z = bay * step, storey * height
            for k in range(blocks):
                lay(f"pier-{storey}-{bay}-{k}", pier, z + k * PIER_HEIGHT, angle + 0.5 * step)
            for k, corners in enumerate(arch):
                lay(f"voussoir-{storey}-{bay}-{k}", corners, z + blocks * PIER_HEIGHT, angle)
            lay(f"cornice-{storey}-{bay}", cornice, z + height - CORNICE_HEIGHT, angle)
    return scene


def _arch_height(thickness: float | None) -> float:
    """[m] from the springing of an arch to its top."""
    return ARCH_HEIGHT if thickness is None else 0.5 * SPAN + thickness


def _stones(
    radius: float, step: float, depth: float, voussoirs: int, thickness: float | None
) -> tuple[Array, list[Array], Array]:
    """Corners of a pier's block, of an arch's voussoirs and of a cornice slab, each with its middle on the y axis."""
    inner, outer = radius - 0.5 * depth, radius + 0.5 * depth
    # pier: what the openings of two bays leave; cut flush with both bays' faces at the inner and outer corner
    half = 0.5 * step
    pier = _pier(inner, outer, half)
    edges = np.linspace(0.0, math.pi, voussoirs + 1)
    top = _arch_height(thickness)
    arch = []
    for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        corners = generators.voussoir(0.5 * SPAN, start, end, depth, BAY - JOINT, top, half, thickness)
        arch.append(corners + (0.0, radius, 0.0))
    joint = 0.5 * JOINT / radius
    quarter = 0.5 * math.pi
    cornice = generators.ring_stone(inner, outer, quarter - half + joint, quarter + half - joint, CORNICE_HEIGHT)
    return pier, arch, cornice


def _pier(inner: float, outer: float, half: float) -> Array:
    """Corners of a block between two openings, symmetric about the y axis; it has a kink where the bays meet."""
    corners = []
    for d in (inner, outer):
        # a bay's face, seen from the pier's middle plane: it starts at the ring's corner and leans back by half a step
        reach = d * math.tan(half) - 0.5 * SPAN
        corner = d / math.cos(half)
        side = (reach * math.cos(half), corner - reach * math.sin(half))
        corners += [(side[0], side[1]), (-side[0], side[1])] + ([(0.0, corner)] if d == outer else [])
    return np.array([(x, y, z) for x, y in corners for z in (0.0, PIER_HEIGHT)])


def colosseum_metrics(sim: Simulation, parameters: Mapping[str, Any]) -> Standing:
    """The ring stands while no stone has moved by half the height of a pier's block."""
    return Standing(sim, 0.5 * PIER_HEIGHT)
