"""A semicircular arch of voussoirs, after the self-supported arch of [macklin2019] sec. 10.1.5."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.errors import InputError
from stickslip.scene import Scene
from stickslip.scenes.metrics import Standing
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation

STONES = ((0.80, 0.74, 0.62), (0.72, 0.66, 0.55), (0.86, 0.80, 0.70))


def arch(
    voussoirs: int = 15,
    span: float = 4.0,
    thickness: float = 0.4,
    depth: float = 0.5,
    density: float = 2000.0,
    friction: float = 0.6,
) -> Scene:
    """A semicircular arch of equal wedge-shaped blocks that stand without mortar on two fixed abutments.

    span: diameter of the centre line [m]; thickness (radial) and depth [m]; density [kg/m^3]. Such an arch needs a
    thickness above 0.1075 of the centre line's radius (Heyman), and a friction above 0.31 to 0.40, depending on
    thickness, or its springings slide. The default ratio is 0.2: it stands at friction 0.6 and 1.0 and falls at 0.2.
    """
    scene = Scene()
    add_arch(scene, (0.0, 0.0, 0.3), voussoirs, span, thickness, depth, density, friction)
    scene.add_half_space(friction=friction, name="floor")
    return scene


def add_arch(
    scene: Scene,
    foot: tuple[float, float, float],
    voussoirs: int,
    span: float,
    thickness: float,
    depth: float,
    density: float,
    friction: float,
) -> None:
    """Add an arch in the x-z plane and its abutments; ``foot`` is the centre of its springing line [m]."""
    voussoirs = whole_number("arch", "voussoirs", voussoirs, 3)
    radius = 0.5 * span
    if not 0.0 < thickness < span:
        raise InputError(f"arch: thickness is {thickness}; it must be positive and below the span {span}")
    x, y, z = foot
    edges = np.linspace(math.pi, 0.0, voussoirs + 1)
    for i in range(voussoirs):
        corners = voussoir(radius, thickness, depth, edges[i], edges[i + 1])
        scene.add_hull(
            corners, foot, density=density, friction=friction, colour=STONES[i % len(STONES)], name=f"voussoir-{i}"
        )
    for side, name in ((-1, "left"), (1, "right")):
        scene.add_box(
            (2.0 * thickness, 1.5 * depth, z), (x + side * radius, y, 0.5 * z),
            kind="static", friction=friction, colour=(0.45, 0.45, 0.48), name=f"abutment-{name}",
        )  # fmt: skip


def voussoir(radius: float, thickness: float, depth: float, start: float, end: float) -> NDArray[np.float64]:
    """Corners (8, 3) [m] of the block between two angles [rad] of a circle about the origin in the x-z plane."""
    return np.array(
        [
            (r * math.cos(angle), y, r * math.sin(angle))
            for angle in (start, end)
            for r in (radius - 0.5 * thickness, radius + 0.5 * thickness)
            for y in (-0.5 * depth, 0.5 * depth)
        ]
    )


def arch_metrics(sim: Simulation, parameters: Mapping[str, Any]) -> Standing:
    """The arch stands while no block has moved by half its thickness."""
    return Standing(sim, 0.5 * parameters["thickness"])
