"""Soft and rigid boxes on top of each other, one of each in turn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.geometry import tet_generators
from stickslip.scene.scene import Scene
from stickslip.scene.soft_body import elastic
from stickslip.scenes.metrics import DRIFT_START, Values, after
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult

WIDER = 1.2
"""Width of rigid boxes over that of soft ones."""
SOFT, RIGID = (0.85, 0.45, 0.30), (0.36, 0.42, 0.50)


def soft_stack(
    levels: int = 6,
    edge: float = 0.1,
    young: float = 5e5,
    poisson: float = 0.4,
    density: float = 1000.0,
    damping: float = 0.005,
    friction: float = 0.5,
    divisions: int = 3,
) -> Scene:
    """A stack of ``levels`` boxes of height ``edge`` [m], the lowest one soft, all of the same density [kg/m^3].

    Soft boxes are cubes, rigid ones a fifth wider: where edges lie on edges, which face a node has passed is a matter
    of chance. young [Pa], poisson and damping [s] by stiffness of the soft ones, cut in ``divisions`` cells a side.
    """
    levels = whole_number("soft-stack", "levels", levels, 1)
    positive("soft-stack", "edge", edge)
    scene = Scene()
    surface = scene.add_material("boxes", friction)
    scene.add_half_space(material=surface, name="floor")
    rubber = elastic(young, poisson, density=density, beta=damping)
    mesh = tet_generators.box((edge, edge, edge), divisions, "mirrored")
    for level in range(levels):
        centre = (0.0, 0.0, (level + 0.5) * edge)
        if level % 2 == 0:
            scene.add_soft(mesh, rubber, centre, material=surface, colour=SOFT, name=f"soft-{level}")
        else:
            scene.add_box(
                (WIDER * edge, WIDER * edge, edge),
                centre,
                density=density,
                material=surface,
                colour=RIGID,
                name=f"rigid-{level}",
            )
    return scene


class SoftStack:
    """Whether the stack stands, and how far it drifts.

    ``stands``: every box's centre is less than half an edge aside of its place, and above the one below it;
    ``max_drift_mm``: largest displacement of any centre from its place at one second, over all later steps;
    ``height_m``: top of the stack at the end, from the centre of the uppermost box;
    ``penetration_mm``: deepest overlap.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.edge = parameters["edge"]
        self.rigid = sim.model.dynamic
        self.start = self.centres(sim, sim.state.body_pose, sim.state.node_position)
        self.end = self.start
        self.settled: Array | None = None
        self.drift, self.penetration = math.nan, 0.0

    def centres(self, sim: Simulation, q: Array, x: Array) -> Array:
        """Centres of mass (levels, 3) [m] from the floor upwards."""
        soft = sim.model.soft
        total = np.array([np.bincount(soft.node_body, soft.mass * x[:, k]) for k in range(3)]).T
        middle = total / np.bincount(soft.node_body, soft.mass)[:, None]
        levels = np.empty((len(middle) + len(self.rigid), 3))
        levels[0::2], levels[1::2] = middle, q[self.rigid, :3]
        return levels

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of the centres."""
        self.end = self.centres(sim, result.state.body_pose, result.state.node_position)
        self.penetration = max(self.penetration, result.certificate.penetration_mm)
        if after(result, sim.stepping.dt, DRIFT_START):
            if self.settled is None:
                self.settled, self.drift = self.end, 0.0
            self.drift = max(self.drift, float(np.linalg.norm(self.end - self.settled, axis=1).max()))

    def values(self) -> Values:
        """The values above."""
        moved = self.end - self.start
        aside = float(np.hypot(moved[:, 0], moved[:, 1]).max())
        rising = bool((np.diff(self.end[:, 2], prepend=0.0) > 0.0).all())
        return {
            "stands": aside < 0.5 * self.edge and rising,
            "max_drift_mm": 1e3 * self.drift,
            "height_m": float(self.end[-1, 2]) + 0.5 * self.edge,
            "penetration_mm": self.penetration,
        }
