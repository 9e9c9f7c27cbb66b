"""A masonry arch of stiff deformable blocks that stands on two sharp edges ([han2023] sec. VII-B)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import brentq

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.geometry.tet_generators import KUHN
from stickslip.geometry.tet_mesh import TetMesh, volumes_of
from stickslip.scene.scene import Scene
from stickslip.scene.soft_body import elastic
from stickslip.scenes.arch import STONES
from stickslip.scenes.metrics import DRIFT_START, Values, after
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult

STEEPEST = 1000.0
"""Rise over span at most: beyond, a catenary is two walls."""


def soft_arch(
    count: int = 9,
    span: float = 10.0,
    rise: float = 4.0,
    thickness: float = 1.2,
    depth: float = 1.5,
    young: float = 2e10,
    poisson: float = 0.3,
    density: float = 2300.0,
    damping: float = 0.01,
    friction: float = 1.0,
) -> Scene:
    """An arch of ``count`` equally long blocks of six elements each along a catenary, loose on the ground.

    The paper gives Young's modulus [Pa], Poisson's ratio, density [kg/m^3], damping [s] by stiffness, friction 1.0 or
    0.2, and 225 unknowns, near to those of nine blocks; it takes its setup from Li et al. (Incremental Potential
    Contact, 2020), whose end faces are square to the centre line as well: the arch stands on their inner edges. Its
    measures are ours: span and rise of the centre line, thickness and depth [m]. The line of thrust through the edges
    lies within the blocks and may lean by a third there, so that the default arch needs a friction above that.
    """
    scene = Scene()
    surface = scene.add_material("stone", friction)
    scene.add_half_space(material=surface, name="floor")
    stone = elastic(young, poisson, density=density, beta=damping)
    for i, outline in enumerate(catenary_stones(count, span, rise, thickness)):
        scene.add_soft(stone_mesh(outline, depth), stone, material=surface, colour=STONES[i % 3], name=f"stone-{i}")
    return scene


def catenary_stones(count: int, span: float, rise: float, thickness: float) -> list[Array]:
    """Outlines (4, 2) [m] in x and z of the stones from left to right; the lowest corners have z = 0.

    Corners: inner and outer of the left joint, inner and outer of the right one. Joints are square to the catenary
    z = a (1 - cosh(x / a)), and equally far from each other along it.
    """
    count = whole_number("soft-arch", "count", count, 2)
    for name, value in (("span", span), ("rise", rise), ("thickness", thickness)):
        positive("soft-arch", name, value)
    if rise > STEEPEST * span:
        raise InputError(f"soft-arch: rise is {rise}, span {span} m; the rise must be at most {STEEPEST:g} spans")
    # cosh(u) - 1 = 2 (rise / span) u at u = span / (2 a); the root is below asinh(4 rise / span) + 2
    steep = 2.0 * rise / span
    u = brentq(lambda u: math.cosh(u) - 1.0 - steep * u, 1e-9, math.asinh(2.0 * steep) + 2.0, xtol=1e-15)
    a = 0.5 * span / u
    if 0.5 * thickness >= a:  # the least radius of curvature, at the crown
        raise InputError(f"soft-arch: thickness is {thickness}; joints would cross, make it less than {2.0 * a:.6g}")
    slope = np.linspace(-math.sinh(u), math.sinh(u), count + 1)  # arc length over a
    slope = 0.5 * (slope - slope[::-1])  # the same on both sides, to the last bit
    middle = a * np.column_stack([np.arcsinh(slope), 1.0 - np.hypot(slope, 1.0)])
    side = 0.5 * thickness * np.column_stack([slope, np.ones(count + 1)]) / np.hypot(slope, 1.0)[:, None]
    inner, outer = middle - side, middle + side
    ground = inner[0, 1]
    inner[:, 1] -= ground
    outer[:, 1] -= ground
    return [np.array([inner[k], outer[k], inner[k + 1], outer[k + 1]]) for k in range(count)]


def stone_mesh(outline: Array, depth: float) -> TetMesh:
    """Six elements in a block of an outline (4, 2) [m] as in :func:`catenary_stones`, ``depth`` [m] along y."""
    y = 0.5 * positive("soft-arch", "depth", depth)
    # corners of a cube numbered x + 2 y + 4 z: along the arch, along y, outwards
    corners = [(outline[2 * (c & 1) + (c >> 2)], y if c & 2 else -y) for c in range(8)]
    nodes = np.array([(x, side, z) for (x, z), side in corners])
    tets = KUHN.astype(np.int32)
    left = volumes_of(nodes, tets) < 0.0
    tets[left, 2:] = tets[left, 3:1:-1]
    return TetMesh(nodes, tets, "stone of the arch")


class SoftArch:
    """Whether the arch stands, and how far it drifts.

    ``stands``: no block's centre is further from where it started than half the thickness; ``max_drift_mm``: largest
    displacement of any centre from its place at one second, over all later steps; ``overlap_max_mm``: deepest overlap.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.tolerance = 0.5 * parameters["thickness"]
        self.start = self.end = centres(sim, sim.state.node_position)
        self.settled: Array | None = None
        self.drift, self.overlap = math.nan, 0.0

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of the centres."""
        self.end = centres(sim, result.state.node_position)
        self.overlap = max(self.overlap, result.certificate.penetration_mm)
        if after(result, sim.stepping.dt, DRIFT_START):
            if self.settled is None:
                self.settled, self.drift = self.end, 0.0
            self.drift = max(self.drift, float(np.linalg.norm(self.end - self.settled, axis=1).max()))

    def values(self) -> Values:
        """The values above."""
        moved = float(np.linalg.norm(self.end - self.start, axis=1).max())
        return {
            "stands": moved < self.tolerance,
            "max_drift_mm": 1e3 * self.drift,
            "overlap_max_mm": self.overlap,
        }


def centres(sim: Simulation, x: Array) -> Array:
    """Centres of mass (n, 3) [m] of all soft bodies with their nodes at x (nn, 3)."""
    soft = sim.model.soft
    moments = np.array([np.bincount(soft.node_body, soft.mass * x[:, k]) for k in range(3)]).T
    return moments / np.bincount(soft.node_body, soft.mass)[:, None]
