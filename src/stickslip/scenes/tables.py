"""Tables dropped on a heap, the piling test of [macklin2019] sec. 10.1.5, Fig. 14 and Table 2."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.geometry.rotation import about_axis, multiply
from stickslip.geometry.shapes import Box, Placed, placed
from stickslip.scene.scene import Scene
from stickslip.scenes.lattice import SPACING, cells, colour
from stickslip.scenes.metrics import DRIFT_START, Values, after
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult

REST_TIME = 0.25
"""[s] for which all tables must be slow before the heap counts as at rest."""
STILL = 0.01
"""[m/s] speed below which a table counts as slow."""


def table_pile(
    base: int = 5,
    layers: int = 4,
    mass: float = 4.7,
    top: float = 0.55,
    height: float = 0.45,
    board: float = 0.05,
    leg: float = 0.05,
    turn: float = 25.0,
    tilt: float = 6.0,
    friction: float = 0.7,
    seed: int = 1,
) -> Scene:
    """Tables fall on a heap: layers of 5 x 5, 4 x 4, 3 x 3 and 2 x 2, which makes the paper's 54.

    The paper gives number, mass [kg] and friction. Size and arrangement are ours: a square board of side ``top`` and
    thickness ``board`` on four square legs of side ``leg``, ``height`` in all [m], as of a common small table. turn and
    tilt: largest angles [deg] about the vertical and from it at the start, drawn with ``seed``. With the default, legs
    find the boards below, and the heap has about as many contacts as the paper's, 850 against 936; with turn=180
    many miss them and tables tumble (644); with turn=180 and tilt=180 the heap is as random as can be (310). Every
    table has room in its cell of the start lattice, so nothing touches at the start.
    """
    base = whole_number("table-pile", "base", base, 1)
    layers = whole_number("table-pile", "layers", layers, 1)
    if layers > base:
        raise InputError(f"table-pile: layers is {layers}; it must be at most base, {base}: each is narrower by one")
    for name, angle in (("turn", turn), ("tilt", tilt)):
        if not 0.0 <= angle <= 180.0:
            raise InputError(f"table-pile: {name} is {angle}; it must be between 0 and 180 degrees")
    rng = np.random.default_rng(whole_number("table-pile", "seed", seed, 0))
    parts, radius = table_parts(top, height, board, leg)
    # what a table turned and tilted that far reaches at most
    diagonal = math.radians(min(turn, 45.0))
    across = top * (math.cos(diagonal) + math.sin(diagonal))
    aside = min(2.0 * radius, across + height * math.sin(math.radians(min(tilt, 90.0))))
    lean = min(math.radians(tilt), math.atan2(math.sqrt(2.0) * top, height))  # it is highest on a corner
    upward = height * math.cos(lean) + math.sqrt(2.0) * top * math.sin(lean)
    pitch = SPACING * np.array([aside, aside, upward])
    scene = Scene()
    wood = scene.add_material("wood", friction)
    scene.add_half_space(material=wood, name="floor")
    number = 0
    for layer in range(layers):
        row = base - layer
        for cell in cells(row * row, row, row):
            heading = rng.uniform(0.0, 2.0 * math.pi)
            leaning = about_axis((math.cos(heading), math.sin(heading), 0.0), math.radians(tilt) * rng.random())
            turned = multiply(leaning, about_axis((0, 0, 1), math.radians(turn) * rng.uniform(-1.0, 1.0)))
            scene.add_compound(
                parts, (cell + [0.0, 0.0, layer + 0.5]) * pitch, turned, mass=mass, material=wood,
                colour=colour(number, 0.09, 0.9, 0.5), name=f"table-{number}",
            )  # fmt: skip
            number += 1
    return scene


def table_parts(top: float, height: float, board: float, leg: float) -> tuple[list[Placed], float]:
    """Board and legs of a table about the middle of its bounding box, and the radius [m] about it that holds all."""
    for name, value in (("top", top), ("height", height), ("board", board), ("leg", leg)):
        positive("table-pile", name, value)
    if not (board < height and 2.0 * leg < top):
        raise InputError(
            f"table-pile: board is {board} and leg {leg}; a table {height} high and {top} wide leaves no room for legs"
        )
    parts = [placed(Box((top, top, board)), (0.0, 0.0, 0.5 * (height - board)))]
    aside = 0.5 * (top - leg)
    for x in (-aside, aside):
        parts += [placed(Box((leg, leg, height - board)), (x, y, -0.5 * board)) for y in (-aside, aside)]
    return parts, 0.5 * math.hypot(top, top, height)


class TablePile:
    """Whether the heap came to rest, and whether it stays there.

    ``stands``: at the end no table is faster than 10 mm/s. ``rest_time_s``: when none had been for a quarter of a
    second.
    ``max_drift_mm``: the largest displacement of any table's centre from its place at that time, or at one second if
    that is later, over all later steps. ``contacts``: at the end. ``penetration_max_mm``: of the whole run.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.bodies = sim.model.dynamic
        self.place: Array | None = None
        self.slow = 0.0
        self.rest = self.drift = self.speed = math.nan
        self.contacts = 0
        self.overlap = 0.0

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of places, speeds and contacts."""
        place = result.state.body_pose[self.bodies, :3]
        self.speed = float(np.linalg.norm(result.state.body_velocity[self.bodies, :3], axis=1).max())
        self.contacts = len(result.contacts)
        self.overlap = max(self.overlap, result.certificate.penetration_mm)
        # before they have fallen on something, tables are slow as well
        self.slow = self.slow + sim.stepping.dt if self.speed < STILL and self.contacts else 0.0
        if math.isnan(self.rest) and self.slow >= REST_TIME:
            self.rest = result.state.time
        if not math.isnan(self.rest) and after(result, sim.stepping.dt, DRIFT_START):
            if self.place is None:
                self.place, self.drift = place, 0.0
            self.drift = max(self.drift, float(np.linalg.norm(place - self.place, axis=1).max()))

    def values(self) -> Values:
        """The five values above."""
        return {
            "stands": self.speed < STILL,
            "rest_time_s": self.rest,
            "max_drift_mm": 1e3 * self.drift,
            "contacts": float(self.contacts),
            "penetration_max_mm": self.overlap,
        }
