"""A temple of drums, beams and slabs without mortar, [erleben2017] Table 1 and Fig. 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.geometry.generators import trapezoid_prism
from stickslip.scene.scene import Scene
from stickslip.scenes.arch import STONES
from stickslip.scenes.lattice import scaled
from stickslip.scenes.metrics import Standing
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation

PITCH = 2.5
"""[m] between the axes of neighbouring columns."""
DRUM_RADIUS, DRUM_HEIGHT = 0.7, 1.04
SLAB_HEIGHT = 0.256
CAPITAL = (1.6, 1.6, 0.625)
BEAM_WIDTH, BEAM_HEIGHT = 0.8, 0.76
OVERHANG = 0.6
"""[m] by which beams and roof reach beyond the axes of the first and last columns."""
ROOF_HEIGHT = 0.224
JOINT = 0.002
"""[m] open joint between stones side by side; stones on top of each other touch."""


def temple(
    scale: float = 1.0,
    rows: int = 5,
    lines: int = 9,
    drums: int = 8,
    density: float = 2500.0,
    friction: float = 0.75,
    torsion: float = 0.01,
) -> Scene:
    """A hall of ``rows`` x ``lines`` columns on two steps of slabs, with beams and a gabled roof of slabs.

    By default 638 stones of about 1.6 m^3, 4000 kg, and the floor: the paper's 639 bodies. 60 + 45 slabs; 45 columns
    of ``drums`` drums and a capital; 8 beams over each row, 4 between the rows at either end; a roof of 4 courses,
    each one slab narrower than the one below, 8 slabs deep. Every stone rests on at least two others or on its
    middle. density [kg/m^3]; torsion: coefficient of torsional friction [m]. scale: number of stones over the default,
    roughly: rows, lines and drums each follow its cube root. The paper does not give the layout.
    """
    rows = scaled("temple", scale, whole_number("temple", "rows", rows, 2), 3, 2)
    lines = scaled("temple", scale, whole_number("temple", "lines", lines, 2), 3, 2)
    drums = scaled("temple", scale, whole_number("temple", "drums", drums, 1), 3)
    scene = Scene()
    stone = scene.add_material("stone", friction, torsion=torsion)
    scene.add_half_space(material=stone, name="floor")
    builder = _Builder(scene, stone, density)
    z = 0.0
    for extra, step in ((1, "step"), (0, "stylobate")):
        builder.pavement(step, rows + extra, lines + extra, z)
        z += SLAB_HEIGHT
    for row, x in enumerate(_axes(rows)):
        for line, y in enumerate(_axes(lines)):
            builder.column(f"{row}-{line}", x, y, z, drums)
    z += drums * DRUM_HEIGHT + CAPITAL[2]
    builder.beams(rows, lines, z)
    builder.roof(rows, lines, z + BEAM_HEIGHT)
    return scene


def _axes(count: int) -> list[float]:
    """Coordinates of ``count`` axes PITCH apart about zero."""
    return [(i - 0.5 * (count - 1)) * PITCH for i in range(count)]


@dataclass(frozen=True)
class _Builder:
    """Adds stones of one material to a scene; heights z [m] are of the bottom of what is added."""

    scene: Scene
    material: str
    density: float

    def box(self, name: str, size: tuple[float, float, float], x: float, y: float, z: float) -> None:
        """A block whose bottom is at z."""
        self.scene.add_box(
            size, (x, y, z + 0.5 * size[2]), density=self.density, material=self.material, name=name,
            colour=STONES[len(self.scene.bodies) % len(STONES)],
        )  # fmt: skip

    def pavement(self, name: str, across: int, along: int, z: float) -> None:
        """A layer of square slabs."""
        for i, x in enumerate(_axes(across)):
            for j, y in enumerate(_axes(along)):
                self.box(f"{name}-{i}-{j}", (PITCH - JOINT, PITCH - JOINT, SLAB_HEIGHT), x, y, z)

    def column(self, name: str, x: float, y: float, z: float, drums: int) -> None:
        """Drums and a capital."""
        for k in range(drums):
            self.scene.add_cylinder(
                DRUM_RADIUS, DRUM_HEIGHT, (x, y, z + (k + 0.5) * DRUM_HEIGHT), density=self.density,
                material=self.material, name=f"drum-{name}-{k}", colour=STONES[len(self.scene.bodies) % len(STONES)],
            )  # fmt: skip
        self.box(f"capital-{name}", CAPITAL, x, y, z + drums * DRUM_HEIGHT)

    def beams(self, rows: int, lines: int, z: float) -> None:
        """One straight beam over every row, cut into lines - 1 equal stones, and beams between rows at either end."""
        # the cuts fall on capitals: at most OVERHANG beside the axes of the columns
        length = ((lines - 1) * PITCH + 2.0 * OVERHANG) / (lines - 1)
        for row, x in enumerate(_axes(rows)):
            for k in range(lines - 1):
                y = (k - 0.5 * (lines - 2)) * length
                self.box(f"architrave-{row}-{k}", (BEAM_WIDTH, length - JOINT, BEAM_HEIGHT), x, y, z)
        gap = PITCH - BEAM_WIDTH - 2.0 * JOINT
        for end, y in enumerate((_axes(lines)[0], _axes(lines)[-1])):
            for k, x in enumerate(_axes(rows - 1)):
                self.box(f"lintel-{end}-{k}", (gap, 2.0 * OVERHANG, BEAM_HEIGHT), x, y, z)

    def roof(self, rows: int, lines: int, z: float) -> None:
        """Courses of slabs, each one slab narrower; the outer slabs are cut to the slope of the roof."""
        width = ((rows - 1) * PITCH + BEAM_WIDTH) / (rows - 1)
        length = ((lines - 1) * PITCH + 2.0 * OVERHANG) / (lines - 1) - JOINT
        for course in range(rows - 1):
            count = rows - 1 - course
            for k in range(lines - 1):
                y = (k - 0.5 * (lines - 2)) * (length + JOINT)
                for i in range(count):
                    name = f"roof-{course}-{k}-{i}"
                    x, bottom = (i - 0.5 * (count - 1)) * width, z + course * ROOF_HEIGHT
                    if 0 < i < count - 1:
                        self.box(name, (width - JOINT, length, ROOF_HEIGHT), x, y, bottom)
                        continue
                    corners = trapezoid_prism(width - JOINT, 0.0, length, ROOF_HEIGHT)
                    if count > 1:  # one sloping side, the other upright
                        upright = 0.5 * (width - JOINT) * (1.0 if i == 0 else -1.0)
                        above = np.array([(upright, s * 0.5 * length, ROOF_HEIGHT) for s in (-1, 1)])
                        corners = np.concatenate([corners, above])
                    self.scene.add_hull(
                        corners, (x, y, bottom), density=self.density, material=self.material, name=name,
                        colour=STONES[len(self.scene.bodies) % len(STONES)],
                    )  # fmt: skip


def temple_metrics(sim: Simulation, parameters: Mapping[str, Any]) -> Standing:
    """The temple stands while no stone has moved by half the height of a slab."""
    return Standing(sim, 0.5 * SLAB_HEIGHT)
