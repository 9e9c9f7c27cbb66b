"""A beam clamped at one end bends under its weight, after [han2023] Fig. 7 (sec. VII-E), and beam theory's answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.checks import finite, positive
from stickslip.errors import InputError
from stickslip.geometry.tet_generators import box
from stickslip.scene.scene import Scene
from stickslip.scene.soft_body import SoftBody, elastic
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult

BEAM = (0.90, 0.55, 0.25)


def cantilever(
    size: tuple[float, ...] = (1.0, 0.125, 0.125),
    divisions: tuple[float, ...] = (32.0, 4.0, 4.0),
    young: float = 1e6,
    poisson: float = 0.0,
    density: float = 1000.0,
    gravity: float = 1.0,
    model: str = "lagged-corotational",
    alpha: float = 4.0,
    beta: float = 0.02,
) -> Scene:
    """A beam along x of ``size`` [m], clamped at x = 0, under ``gravity`` [m/s^2]; ``divisions``: cells a side.

    model, young [Pa], poisson, density [kg/m^3] and Rayleigh's alpha [1/s] and beta [s]: its material. The paper
    measures time, and says of its beam only that it is clamped; sizes are ours. Damping brings it to rest within a few
    seconds and does not change where. Poisson's ratio is zero so that the clamp, which holds all of the end, keeps
    nothing from contracting: then beam theory is the limit of finer meshes.
    """
    if len(size) != 3 or len(divisions) != 3:
        raise InputError(f"cantilever: size is {size}, divisions are {divisions}; three numbers each are needed")
    length, width, height = (positive("cantilever", "size", value) for value in size)
    cells = [whole_number("cantilever", "divisions", value, 1) for value in divisions]
    mesh = box((length, width, height), cells, "mirrored")
    scene = Scene(gravity=(0.0, 0.0, -finite("cantilever", "gravity", gravity)))
    material = elastic(young, poisson, model=model, density=density, alpha=alpha, beta=beta)  # type: ignore[arg-type]
    beam = scene.add_soft(mesh, material, (0.5 * length, 0.0, length), name="beam", colour=BEAM)
    scene.hold_nodes(beam, mesh.nodes[:, 0] < -0.5 * length * (1.0 - 1e-9))
    return scene


def beam_deflection(size: tuple[float, ...], young: float, poisson: float, density: float, gravity: float) -> float:
    """Deflection [m] of the tip under the beam's own weight, by Timoshenko's theory: q L^4 / 8 E I + q L^2 / 2 k G A.

    The first term is Euler and Bernoulli's, the second shear with Cowper's coefficient of a rectangle,
    k = 10 (1 + nu) / (12 + 11 nu). For deflections that are small against the length. What three dimensions add is
    left out: with nu > 0 the clamp keeps the section from contracting, which makes the beam stiffer over about its
    height, by about 2 % of the deflection where the length is four heights and nu = 0.3 (measured).
    """
    length, width, height = size
    load = density * gravity * width * height
    bending = load * length**4 / (8.0 * young * width * height**3 / 12.0)
    shear = 10.0 * (1.0 + poisson) / (12.0 + 11.0 * poisson) * young / (2.0 * (1.0 + poisson)) * width * height
    return bending + load * length**2 / (2.0 * shear)


class Deflection:
    """How far the tip is below its place without load.

    ``tip_deflection_m``: mean over the face of the tip, at the end; ``beam_theory_m``: Timoshenko's;
    ``deflection_error``: their difference over the latter; ``tip_speed_m_per_s``: whether it has come to rest.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.beam = SoftBody(0, "beam")
        self.start = sim.nodes(self.beam)
        self.tip = self.start[:, 0] > self.start[:, 0].max() - 1e-9 * float(parameters["size"][0])
        names = ("size", "young", "poisson", "density", "gravity")
        self.exact = beam_deflection(*(parameters[name] for name in names))
        self.found = self.speed = math.nan

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of the tip."""
        self.found = float(np.mean((self.start - sim.nodes(self.beam))[self.tip, 2]))
        self.speed = float(np.abs(sim.node_velocities(self.beam)[self.tip]).max())

    def values(self) -> Values:
        """The four values above."""
        return {
            "tip_deflection_m": self.found,
            "beam_theory_m": self.exact,
            "deflection_error": self.found / self.exact - 1.0 if self.exact else math.nan,
            "tip_speed_m_per_s": self.speed,
        }
