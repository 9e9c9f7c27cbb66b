"""A rubber cylinder is pressed flat between two rigid plates without friction, [han2023] sec. VII-A (Fig. 3 and 4)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.errors import InputError
from stickslip.geometry.plane_meshes import crossed_disc
from stickslip.geometry.shapes import positive
from stickslip.scene import Body, Scene
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult
from stickslip.soft_description import SoftBody, elastic

DIVISIONS = (5, 9, 13, 17)
"""Of the four meshes (geometry/plane_meshes.py). Odd ones: a polygon that stands on a corner would roll over."""
RADIUS, THICKNESS = 0.2, 0.02
"""[m] of the slice of the cylinder."""
PLATE = (1.0, 0.03, 0.04)
"""[m] full edges of the upper plate: wider than the cylinder gets."""
MOONEY = (0.293e6, 0.177e6, 1410e6)
"""[Pa] C1, C2 and bulk modulus."""
UPRIGHT = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)
"""Rotation that lays the axis of the cylinder along y."""
RUBBER, STEEL = (0.20, 0.45, 0.62), (0.62, 0.64, 0.66)


def cylinder_press(
    mesh: int = 1, force: float = 1.4e6, ramp: float = 500.0, beta: float = 0.5, layers: int = 1
) -> Scene:
    """A cylinder 0.4 m in diameter, its axis along y, on the ground and under a plate that slides up and down.

    mesh: 0 to 3, coarse to fine. beta [s]: damping by stiffness. layers: of elements along the axis. ``force`` [N/m]
    and ``ramp`` [s] are those of :class:`Press`, which pushes the plate.
    """
    number = whole_number("cylinder-press", "mesh", mesh, 0)
    if number >= len(DIVISIONS):
        raise InputError(f"cylinder-press: mesh is {mesh}; it must be from 0 to {len(DIVISIONS) - 1}")
    positive("cylinder-press", "force", force)
    positive("cylinder-press", "ramp", ramp)
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    smooth = scene.add_material("smooth", 0.0)
    scene.add_half_space(material=smooth, name="ground")
    disc = crossed_disc(RADIUS, THICKNESS, DIVISIONS[number], whole_number("cylinder-press", "layers", layers, 1))
    rubber = elastic(mooney=MOONEY, density=1000.0, beta=beta)
    low = RADIUS * math.cos(0.25 * math.pi / DIVISIONS[number])  # the middle of an edge of the rim
    scene.add_soft(
        disc, rubber, (0.0, 0.0, low), UPRIGHT, plane_strain=True, material=smooth, colour=RUBBER, name="cylinder"
    )
    plate = scene.add_box(
        PLATE, (0.0, 0.0, 2.0 * low + 0.5 * PLATE[2]), mass=1.0, material=smooth, colour=STEEL, name="plate"
    )
    scene.add_prismatic(None, plate, (0.0, 0.0, -1.0), name="guide")
    return scene
