"""Three soft fingers close around a ball and lift it, [macklin2019] sec. 10.1.4 and Fig. 2."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array, LongInts
from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.geometry import tet_generators
from stickslip.geometry.generators import surface_of_revolution
from stickslip.geometry.rotation import about_axis, multiply
from stickslip.geometry.shapes import Box, Cylinder, Placed, placed
from stickslip.geometry.tet_mesh import TetMesh, without_unused
from stickslip.scene.scene import Body, Scene
from stickslip.scene.soft_body import elastic
from stickslip.scenes.courses import smooth_step
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult

INFLATED, LIFT, LIFTED = 1.0, 1.2, 2.2
"""[s] when the fingers have their full stress, when lifting begins, and when it ends."""
LEVELS = (0.0, 0.002, 0.006, 0.011, 0.016)
"""[m] heights of the layers of a finger: the inextensible one, the beam, and two layers of arches."""
STIFF_LAYERS, BEAM_LAYERS = 1, 2
ARCH, GROOVE, ACROSS = 2, 1, 2
"""Cells of an arch and of the groove between two along the finger, and cells across it."""
LENGTH, WIDTH = 0.1, 0.02
"""[m] of a finger."""
TILT = math.radians(45.0)
"""Of a finger without stress below the horizontal."""
ROOT = 0.026
"""[m] from the middle of the palm to where the fingers begin."""
SILICONE, BALL, PALM, GROUND = (0.92, 0.88, 0.78), (0.20, 0.45, 0.75), (0.32, 0.34, 0.38), (0.72, 0.66, 0.56)


def pneunet(
    stress: float = 4.0e7,
    young: float = 1e7,
    poisson: float = 0.47,
    density: float = 1200.0,
    damping: float = 0.002,
    paper: float = 10.0,
    mass: float = 0.32,
    radius: float = 0.04,
    friction: float = 0.7,
    lift: float = 0.1,
    arches: int = 6,
    segments: int = 0,
) -> Scene:
    """Three fingers of silicone rubber whose arches swell curl around a ball; the palm that holds them then rises.

    From the paper: young [Pa], poisson, density [kg/m^3] of the rubber, mass [kg] of the ball, friction, a layer on the
    palm side that does not stretch, about 2,241 elements, and inflation as an internal volumetric ``stress`` [Pa] of
    the arches. Sizes are ours, and so is ``paper``: Young's modulus of that layer over that of rubber. damping [s] by
    stiffness; radius [m] of the ball; lift [m]; arches of a finger. With ``segments`` above 0 the ball is a mesh of so
    many meridians, whose vertices and edges touch the fingers, too.
    """
    for name, value in (("mass", mass), ("radius", radius), ("paper", paper), ("lift", lift)):
        positive("pneunet", name, value)
    arches = whole_number("pneunet", "arches", arches, 1)
    if not stress >= 0.0:
        raise InputError(f"pneunet: stress is {stress} Pa; it must be zero or positive")
    scene = Scene()
    surface = scene.add_material("silicone, ball and ground", friction)
    scene.add_half_space(material=surface, colour=GROUND, name="ground")
    _add_ball(scene, radius, mass, whole_number("pneunet", "segments", segments, 0), surface)
    mesh, layer = finger(arches)
    materials = [elastic(young * factor, poisson, density=density, beta=damping) for factor in (1.0, paper)]
    height = radius + 0.065

    def rise(time: float) -> tuple[ArrayLike, ArrayLike]:
        return (0.0, 0.0, lift * smooth_step((time - LIFT) / (LIFTED - LIFT))), (1.0, 0.0, 0.0, 0.0)

    def palm_motion(time: float) -> tuple[ArrayLike, ArrayLike]:
        way, turn = rise(time)
        return np.add(way, (0.0, 0.0, height)), turn

    palm = scene.add_compound(
        _palm_parts(), (0.0, 0.0, height), kind="kinematic", motion=palm_motion,
        material=surface, colour=PALM, name="palm",
    )  # fmt: skip
    for k in range(3):
        angle = 2.0 * math.pi * k / 3.0
        turn = multiply(about_axis((0, 0, 1), angle), about_axis((0, 1, 0), TILT))
        root = (ROOT * math.cos(angle), ROOT * math.sin(angle), height)
        body = scene.add_soft(
            mesh, materials, root, turn,
            region=(layer < STIFF_LAYERS).astype(np.int32), material=surface, colour=SILICONE, name=f"finger-{k}",
        )  # fmt: skip
        scene.activate(body, layer >= BEAM_LAYERS, _inflation(stress))
        scene.hold_nodes(body, mesh.nodes_on_plane("x", 0.0), rise)
        scene.ignore_collision(body, palm)
    return scene


def _add_ball(scene: Scene, radius: float, mass: float, segments: int, surface: Any) -> None:
    """The ball, a sphere or a mesh."""
    if not segments:
        scene.add_sphere(radius, (0.0, 0.0, radius), mass=mass, material=surface, colour=BALL, name="ball")
        return
    angle = np.linspace(-0.5 * math.pi, 0.5 * math.pi, max(segments // 2, 3) + 1)
    outline = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    outline[[0, -1], 0] = 0.0
    mesh = surface_of_revolution(outline, max(segments, 3))
    scene.add_mesh(*mesh, (0.0, 0.0, radius), mass=mass, material=surface, colour=BALL, name="ball")


def _inflation(stress: float) -> Any:
    """Stress [Pa] of the arches as a function of time."""
    return lambda time: stress * smooth_step(time / INFLATED)


def finger(arches: int) -> tuple[TetMesh, LongInts]:
    """A finger along x from 0 to LENGTH, its palm side at z = 0, and the layer (elements,) of each element."""
    period = ARCH + GROOVE
    columns = arches * period + GROOVE
    layers = len(LEVELS) - 1
    full = tet_generators.box((LENGTH, WIDTH, float(layers)), (columns, ACROSS, layers), "mirrored")
    middle = full.nodes[full.tets].mean(axis=1)
    column = np.floor((middle[:, 0] / LENGTH + 0.5) * columns).astype(np.int64)
    layer = np.floor(middle[:, 2] + 0.5 * layers).astype(np.int64)
    kept = (layer < BEAM_LAYERS) | (column % period >= GROOVE)
    nodes = full.nodes + [0.5 * LENGTH, 0.0, 0.5 * layers]
    nodes[:, 2] = np.array(LEVELS)[np.rint(nodes[:, 2]).astype(np.int64)]
    return TetMesh(*without_unused(nodes, full.tets[kept]), "finger"), layer[kept]


def _palm_parts() -> list[Placed]:
    """A disc above the fingers, with a stem, and a block at the root of each finger; all in the palm's frame."""
    top = LEVELS[-1] + 0.004
    parts = [placed(Cylinder(ROOT + 0.008, 0.008), (0, 0, top)), placed(Cylinder(0.008, 0.05), (0, 0, top + 0.029))]
    for k in range(3):
        angle = 2.0 * math.pi * k / 3.0
        turn = multiply(about_axis((0, 0, 1), angle), about_axis((0, 1, 0), TILT))
        aside = ROOT - 0.5 * 0.02 * math.cos(TILT) + 0.5 * LEVELS[-1] * math.sin(TILT)
        up = 0.5 * 0.02 * math.sin(TILT) + 0.5 * LEVELS[-1] * math.cos(TILT)
        block = Box((0.02, 1.1 * WIDTH, 1.1 * LEVELS[-1]))
        parts.append(placed(block, (aside * math.cos(angle), aside * math.sin(angle), up), turn))
    return parts


class Grip:
    """Whether the ball is lifted and held.

    ``lifted_m``: height of the ball above its start at the end; ``holds``: after lifting, the ball has come up with the
    palm, less than a fifth of the height short; ``slip_mm``: its slip along the palm since lifting ended;
    ``elements``, ``contacts_max``: of the fingers; ``penetration_mm``: deepest overlap.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        names = sim.model.body_names
        self.ball, self.palm = (Body(names.index(name), name) for name in ("ball", "palm"))
        self.lift = parameters["lift"]
        self.start = sim.position(self.ball)
        self.elements = len(sim.model.soft.element_body)
        self.raised, self.contacts, self.penetration, self.slip = 0.0, 0, 0.0, math.nan
        self.held: Array | None = None

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of ball and contacts."""
        place = sim.position(self.ball)
        self.raised = float(place[2] - self.start[2])
        self.penetration = max(self.penetration, result.certificate.penetration_mm)
        if result.soft_contacts is not None:
            self.contacts = max(self.contacts, len(result.soft_contacts))
        if result.state.time >= LIFTED:
            relative = place - sim.position(self.palm)
            if self.held is None:
                self.held = relative
            self.slip = float(np.linalg.norm(relative - self.held))

    def values(self) -> Values:
        """The values above."""
        return {
            "lifted_m": self.raised,
            "holds": self.held is not None and self.raised > 0.8 * self.lift,
            "slip_mm": 1e3 * self.slip,
            "elements": float(self.elements),
            "contacts_max": float(self.contacts),
            "penetration_mm": self.penetration,
        }
