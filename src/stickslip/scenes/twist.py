"""A bar is twisted by its ends until it touches itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.fields_as_arguments import fields_as_arguments
from stickslip.geometry import tet_generators
from stickslip.geometry.rotation import about_axis
from stickslip.geometry.tet_mesh import volumes_of
from stickslip.scene.scene import Scene
from stickslip.scene.soft_body import NodeMotion, elastic
from stickslip.scenes.courses import smooth_step
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult

BAR = (0.30, 0.52, 0.70)


@dataclass(frozen=True)
class TwistSettings:
    """The bar, and what is done to it."""

    turns: float = 2.0
    time: float = 2.0
    length: float = 0.4
    side: float = 0.03
    shorter: float = 0.4
    young: float = 1e5
    poisson: float = 0.4
    density: float = 1000.0
    damping: float = 0.005
    friction: float = 0.3
    cells: int = 27
    across: int = 2
    model: str = "neo-hookean"


@fields_as_arguments(TwistSettings)
def twist(given: TwistSettings) -> Scene:
    """A square bar whose ends are held; one of them turns by ``turns`` within ``time`` [s], while they come closer.

    length and side [m]; shorter: share of the length by which the ends come closer, so that the bar can writhe into a
    loop, as a twisted rope does, and touch itself. cells along the bar and across it. No gravity.
    """
    positive("twist", "time", given.time)
    if not 0.0 <= given.shorter < 1.0:
        raise InputError(f"twist: shorter is {given.shorter}; it must be at least 0 and below 1")
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    rubber = elastic(
        given.young, given.poisson, model=given.model, density=given.density, beta=given.damping,  # type: ignore[arg-type]
    )  # fmt: skip
    mesh = tet_generators.box(
        (given.length, given.side, given.side),
        (whole_number("twist", "cells", given.cells, 1), *(whole_number("twist", "across", given.across, 1),) * 2),
        "mirrored",
    )
    bar = scene.add_soft(mesh, rubber, friction=given.friction, self_contact=True, colour=BAR, name="bar")
    for end in (-1.0, 1.0):
        at, way = 0.5 * end * given.length, -0.5 * end * given.shorter * given.length
        motion = _end_motion(end, math.pi * given.turns, way, given.time)
        scene.hold_nodes(bar, mesh.nodes_on_plane("x", at), motion, (at, 0.0, 0.0))
    return scene


def _end_motion(end: float, angle: float, way: float, time: float) -> NodeMotion:
    """Half of the turn and of the displacement, opposite at the two ends."""

    def motion(now: float) -> tuple[ArrayLike, ArrayLike]:
        share = smooth_step(now / time)
        return (way * share, 0.0, 0.0), about_axis((1, 0, 0), end * angle * share)

    return motion


class Twisted:
    """What happens to the bar.

    ``turns``: by which its ends are turned at the end; ``self_contacts``: largest number of contacts with itself that
    push; ``min_volume_ratio``: smallest volume of an element over that at rest, and ``inverted``: elements that were
    turned inside out, at the step where they were most; ``penetration_mm``: deepest overlap.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.goal, self.time = parameters["turns"], parameters["time"]
        self.tets = sim.model.soft.elements.nodes
        self.rest = volumes_of(sim.state.node_position, self.tets)
        self.turned, self.contacts, self.ratio, self.inverted, self.penetration = 0.0, 0, math.inf, 0, 0.0

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of volumes and contacts."""
        self.turned = self.goal * smooth_step(result.state.time / self.time)
        ratio = volumes_of(result.state.node_position, self.tets) / self.rest
        self.ratio = min(self.ratio, float(ratio.min()))
        self.inverted = max(self.inverted, int((ratio <= 0.0).sum()))
        pushing = np.linalg.norm(result.state.soft_impulse, axis=1) > 0.0
        self.contacts = max(self.contacts, int(pushing.sum()))
        self.penetration = max(self.penetration, result.certificate.penetration_mm)

    def values(self) -> Values:
        """The values above."""
        return {
            "turns": self.turned,
            "self_contacts": float(self.contacts),
            "min_volume_ratio": self.ratio,
            "inverted": float(self.inverted),
            "penetration_mm": self.penetration,
        }
