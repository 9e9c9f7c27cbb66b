"""A gripper with two bubbles closes on a teddy bear, lifts, shakes and places it, [han2023] sec. VII-C and Fig. 6."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.fields_as_arguments import fields_as_arguments
from stickslip.geometry import tet_generators
from stickslip.geometry.rotation import about_axis, matrix
from stickslip.geometry.shapes import Box, Cylinder, Placed, placed
from stickslip.geometry.tet_mesh import TetMesh, without_unused
from stickslip.scene.joint import Drive
from stickslip.scene.scene import Body, Motion, Scene
from stickslip.scene.soft_body import SoftBody, elastic
from stickslip.scenes.courses import smooth_step
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.scenes.teddy import HALF_WIDTH, teddy
from stickslip.simulation import Simulation, StepResult

CLOSE, CLOSED, LIFT, LIFTED = 0.2, 0.8, 1.0, 1.8
"""[s] when the gripper begins to close, and has closed; when it begins to lift, and has lifted."""
SHAKE, SHAKEN, PLACE, PLACED, OPEN, OPENED = 2.0, 4.0, 4.4, 5.2, 5.4, 6.0
"""[s] the same of shaking, placing and opening."""
UP_AND_DOWN, TO_AND_FRO = 3.0, 2.0
"""[1/s] frequencies of shaking along z and along y; whole periods between SHAKE and SHAKEN."""
RADIUS, BULGE = 0.03, 0.022
"""[m] radius of the flat base of a bubble, and its height over it."""
CLEARANCE = 0.015
"""[m] between bubbles and bear at the start."""
PLATE = 0.006
"""[m] thickness of the plates of the fingers."""
RAIL = 0.075
"""[m] from the middle of the bubbles back to the rail on which the fingers slide."""
FINGER_MASS = 0.2
DRIVE = Drive(stiffness=2000.0, damping=100.0, limit=80.0)
"""Of a finger [N/m, N s/m, N]; the gripper, a Schunk WSG 50, has 80 N."""
BEAR, BUBBLE, FINGER, STEEL, TABLE = (
    (0.62, 0.40, 0.22), (0.88, 0.86, 0.80), (0.25, 0.27, 0.30), (0.55, 0.58, 0.62), (0.72, 0.66, 0.56),
)  # fmt: skip
STILL = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class BubbleSettings:
    """The bear, the bubbles, and what the gripper does."""

    height: float = 0.15
    bear_young: float = 1e4
    bear_poisson: float = 0.4
    bear_density: float = 300.0
    young: float = 5e4
    poisson: float = 0.3
    density: float = 300.0
    damping: float = 0.01
    friction: float = 0.8
    squeeze: float = 0.014
    lift: float = 0.12
    shake: float = 0.012
    cells: int = 10
    divisions: int = 4


@fields_as_arguments(BubbleSettings)
def soft_bubble(given: BubbleSettings) -> Scene:
    """A bear of ``height`` [m] sits on a table; two fingers with bubbles take it by its flanks.

    From the paper: young [Pa] and poisson of the bear and of the bubbles, damping [s] by stiffness, bubbles as solid
    domes whose flat base is welded to the fingers. Sizes, densities [kg/m^3] and friction are ours.
    Fingers slide on prismatic joints with PD drives. The aims of these drives close by ``squeeze`` [m] more than it
    takes each bubble to touch; aims and gripper rise by ``lift`` [m], shake with an amplitude of ``shake`` [m] up and
    down and to and fro, go down and open. cells: lattice cubes on the bear's height; divisions: of a bubble's radius.
    """
    for name, value in (("height", given.height), ("squeeze", given.squeeze), ("lift", given.lift)):
        positive("soft-bubble", name, value)
    if not given.shake >= 0.0:
        raise InputError(f"soft-bubble: shake is {given.shake} m; it must be zero or positive")
    whole_number("soft-bubble", "cells", given.cells, 8)
    whole_number("soft-bubble", "divisions", given.divisions, 1)
    scene = Scene()
    surface = scene.add_material("plush and rubber", given.friction)
    scene.add_half_space(material=surface, colour=TABLE, name="table")
    plush = elastic(given.bear_young, given.bear_poisson, density=given.bear_density, beta=given.damping)
    rubber = elastic(given.young, given.poisson, density=given.density, beta=given.damping)
    bear = teddy(given.height, given.cells)
    scene.add_soft(bear, plush, (0.0, 0.0, -bear.nodes[:, 2].min()), material=surface, colour=BEAR, name="teddy")
    grip = np.array([0.0, 0.02 * given.height, 0.27 * given.height])
    if not grip[2] > RADIUS + 0.002:
        least = (RADIUS + 0.002) / 0.27
        raise InputError(f"soft-bubble: height is {given.height} m; it must be above {least:.3f} m")
    apart = HALF_WIDTH * given.height + CLEARANCE + BULGE
    gripper = scene.add_compound(
        _gripper_parts(apart), grip, kind="kinematic", motion=_motion(grip, 0.0, given.lift, given.shake),
        material=surface, colour=STEEL, name="gripper",
    )  # fmt: skip
    mesh = bubble(given.divisions)
    for side, label in ((-1.0, "left"), (1.0, "right")):
        place = grip + [side * apart, 0.0, 0.0]
        inwards = about_axis((0, 1, 0), -side * 0.5 * math.pi)
        finger = scene.add_compound(
            _finger_parts(side), place, mass=FINGER_MASS, material=surface, colour=FINGER, name=f"finger-{label}"
        )
        dome = scene.add_soft(mesh, rubber, place, inwards, material=surface, colour=BUBBLE, name=f"bubble-{label}")
        scene.weld_nodes(dome, mesh.nodes_on_plane("z", 0.0), finger)
        # what the drive aims at is a body of its own, out of the way: the slide from it to the finger is the error
        way = -side * (CLEARANCE + given.squeeze)
        behind = place + [0.0, RAIL, 0.0]
        aim = scene.add_box(
            (0.012, 0.012, 0.03), behind, kind="kinematic", motion=_motion(behind, way, given.lift, given.shake),
            material=surface, colour=STEEL, name=f"aim-{label}",
        )  # fmt: skip
        scene.add_prismatic(aim, finger, (1, 0, 0), drive=DRIVE, name=f"slide-{label}")
        scene.ignore_collision(finger, gripper)
    return scene


def _motion(start: Array, way: float, lift: float, shake: float) -> Motion:
    """The course of the gripper from ``start`` (3,) [m], with a ``way`` [m] along x while it is closed."""

    def motion(time: float) -> tuple[ArrayLike, ArrayLike]:
        closed = _share(time, CLOSE, CLOSED) - _share(time, OPEN, OPENED)
        raised = _share(time, LIFT, LIFTED) - _share(time, PLACE, PLACED)
        grown = _share(time, SHAKE, SHAKE + 0.4) - _share(time, SHAKEN - 0.4, SHAKEN)
        shaken = shake * grown * np.sin(2.0 * math.pi * np.array([0.0, TO_AND_FRO, UP_AND_DOWN]) * (time - SHAKE))
        return start + [way * closed, 0.0, lift * raised] + shaken, STILL

    return motion


def _share(time: float, start: float, end: float) -> float:
    """From 0 at ``start`` to 1 at ``end`` [s], smoothly."""
    return smooth_step((time - start) / (end - start))


def bubble(divisions: int) -> TetMesh:
    """A dome on z = 0: the upper half of a ball, flattened; ``divisions``: of its radius."""
    ball = tet_generators.sphere(1.0, divisions, "octahedron")
    upper = ball.nodes[ball.tets].mean(axis=1)[:, 2] > 0.0
    nodes, tets = without_unused(ball.nodes, ball.tets[upper])
    nodes[np.abs(nodes[:, 2]) < 1e-12, 2] = 0.0
    return TetMesh(nodes * [RADIUS, RADIUS, BULGE], tets, "bubble")


def _finger_parts(side: float) -> list[Placed]:
    """A round plate behind the bubble, whose base is at x = 0, and a bar to the rail; frame of the finger."""
    middle = 0.5 * side * PLATE
    plate = placed(Cylinder(1.05 * RADIUS, PLATE), (middle, 0, 0), about_axis((0, 1, 0), 0.5 * math.pi))
    bar = placed(Box((PLATE, RAIL - 0.4 * RADIUS, 0.018)), (middle, 0.5 * (RAIL + 0.4 * RADIUS), 0))
    return [plate, bar]


def _gripper_parts(apart: float) -> list[Placed]:
    """The housing with its rail, behind the fingers; frame of the gripper, between the bubbles."""
    housing = placed(Box((0.146, 0.07, 0.05)), (0, RAIL + 0.055, 0))
    return [housing, placed(Box((2.0 * apart + 0.03, 0.012, 0.04)), (0, RAIL + 0.014, 0))]


class Grasp:
    """How the bear fared.

    ``lifted_m``: height of its centre above where it sat, mean while it is shaken; ``slipped_mm``: displacement of its
    centre relative to the gripper from before to after shaking; ``sway_mm``: the furthest from there meanwhile;
    ``placed``: at the end it sits on the table again, within a tenth of its height from where it sat, and nothing else
    touches it; ``contacts_mean``, ``contacts_max``; ``weld_error_max_m``: most that a welded node was away from its
    place on the finger; ``converged``: share of steps. With `sap`, most of the slip is the
    creep of regularised friction, which falls with its option friction_share.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        names, soft = sim.model.body_names, sim.model.soft
        self.teddy = SoftBody(soft.names.index("teddy"), "teddy")
        self.gripper, self.table = (Body(names.index(name), name) for name in ("gripper", "table"))
        self.height = float(parameters["height"])
        self.start = sim.soft_centre(self.teddy)
        self.raised: list[float] = []
        self.before: Array | None = None
        self.slip, self.sway, self.placed = math.nan, math.nan, False
        self.contacts: list[int] = []
        self.converged: list[bool] = []
        self.weld_error = 0.0

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of the bear, of contacts and of welds."""
        time, half = result.state.time, 0.5 * sim.stepping.dt
        centre = sim.soft_centre(self.teddy)
        self.contacts.append(result.certificate.contacts)
        self.converged.append(result.certificate.converged)
        self.weld_error = max(self.weld_error, weld_error(sim))
        if time < CLOSE + half:
            self.start = centre
        if SHAKE - half < time < PLACE + half:
            relative = centre - sim.position(self.gripper)
            if self.before is None:
                self.before, self.sway = relative, 0.0
            way = 1e3 * float(np.linalg.norm(relative - self.before))
            self.slip, self.sway = way, max(self.sway, way)
            self.raised.append(float(centre[2] - self.start[2]))
        if time > OPENED - half:
            held = len(sim.contacts(self.teddy)) - len(sim.contacts(self.teddy, self.table))
            near = float(np.linalg.norm(centre - self.start)) < 0.1 * self.height
            self.placed = near and held == 0

    def values(self) -> Values:
        """The values above."""
        return {
            "lifted_m": float(np.mean(self.raised)) if self.raised else math.nan,
            "slipped_mm": self.slip,
            "sway_mm": self.sway,
            "placed": self.placed,
            "contacts_mean": float(np.mean(self.contacts)) if self.contacts else math.nan,
            "contacts_max": float(max(self.contacts, default=0)),
            "weld_error_max_m": self.weld_error,
            "converged": float(np.mean(self.converged)) if self.converged else math.nan,
        }


def weld_error(sim: Simulation) -> float:
    """Largest distance [m] between a welded node and its point of the rigid body."""
    soft, state = sim.model.soft, sim.state
    worst = 0.0
    for body in np.unique(soft.weld_body).tolist():
        chosen = soft.weld_body == body
        place = state.body_pose[body, :3] + soft.weld_point[chosen] @ matrix(state.body_pose[body, 3:]).T
        worst = max(worst, float(np.linalg.norm(state.node_position[soft.weld_node[chosen]] - place, axis=1).max()))
    return worst
