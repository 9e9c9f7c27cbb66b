"""The layouts of the author's own runs of [erleben2017]: a block of bodies falls into a big fixed glass.

Learned from his simulator (github.com/diku-dk/PROX): a lattice without turns or jitter, above the rim; a glass 10 m
high for 6 x 6 x 10 jacks or small glasses of 0.75 m, 5 m high for 12^3 balls of 0.2 m that touch each other.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.arrays import Array
from stickslip.errors import InputError
from stickslip.geometry.generators import Mesh
from stickslip.scene.scene import Scene
from stickslip.scenes.containers import GREY

TRAY, GLASS = "tray", "glass"
LAYOUTS = (TRAY, GLASS)
ACROSS, LAYERS = 6, 10
"""Of the block of jacks or glasses; of balls it is a cube."""
ROOM = 0.1
"""[m] between the bodies of the block, at their full size."""
TALL, PIECE = 10.0, 0.75
"""[m] height of the big glass, and size of what falls into it."""
BALL_GLASS = 25.0
"""Height of the glass for balls, over their radius."""


def known_layout(where: str, layout: str) -> bool:
    """Whether a layout is that with the glass, or an InputError."""
    if layout not in LAYOUTS:
        raise InputError(f"{where}: layout is {layout!r}; known: {', '.join(LAYOUTS)}")
    return layout == GLASS


def add_glass(scene: Scene, mesh: Mesh, height: float, material: str) -> None:
    """Stand a fixed glass of that height [m] on the floor; mesh: of a glass with its middle height at 0, 1 m high."""
    vertices, triangles = mesh
    low = float(vertices[:, 2].min())
    scene.add_mesh(
        vertices=height * vertices, triangles=triangles, position=(0.0, 0.0, -height * low), kind="static",
        material=material, colour=GREY, name="big-glass",
    )  # fmt: skip


def block(count: int, size: float) -> tuple[Array, float]:
    """Places (count, 3) [m] of bodies of that size above a glass, and its height [m]; 360 as in the author's runs."""
    share = (count / (ACROSS * ACROSS * LAYERS)) ** (1.0 / 3.0)
    across = max(1, round(ACROSS * share))
    layers = math.ceil(count / across**2)
    pitch = size * (1.0 + ROOM / PIECE)
    tall = size * TALL / PIECE * max(share, 0.3)
    k = np.arange(count)
    cell = np.stack([k % across, (k // across) % across, k // across**2], axis=1) - 0.5 * np.array(
        [across - 1, across - 1, layers - 1]
    )
    # the author's blocks stand half the glass's height above its middle; never below its rim
    middle = max(1.5 * tall, tall + 0.5 * layers * pitch)
    return cell * pitch + [0.0, 0.0, middle], tall


def ball_cube(count: int, radius: float) -> tuple[Array, float]:
    """Places (count, 3) [m] of touching balls above a glass, and its height [m]; 12^3 as in the author's run."""
    across = max(1, round(count ** (1.0 / 3.0)))
    tall = BALL_GLASS * radius * across / 12.0
    k = np.arange(count)
    cell = np.stack([k % across, (k // across) % across, k // across**2], axis=1) - [
        0.5 * (across - 1), 0.5 * (across - 1), 0.0,
    ]  # fmt: skip
    return 2.0 * radius * cell + [0.0, 0.0, tall + radius * across + radius], tall
