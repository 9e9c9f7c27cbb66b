"""Two soft fingers close on a rigid object that stands on a force sensor, [lee2023] sec. V-C-6, Fig. 10, Table VI."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.geometry import tet_generators
from stickslip.geometry.rotation import about_axis
from stickslip.geometry.tet_mesh import TetMesh
from stickslip.scene.scene import Body, Motion, Scene
from stickslip.scene.soft_body import SoftBody, elastic
from stickslip.scenes.courses import smooth_step
from stickslip.scenes.joint_metrics import joint_named
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult

YOUNG, POISSON, FRICTION = 83e3, 0.42, 2.1
"""[Pa], 1, 1: Ecoflex 0050 on PLA, as the paper has them."""
YOUNGS, POISSONS, FRICTIONS = (50e3, 100e3), (0.4, 0.49), (0.5, 2.1)
"""Ranges of its randomised trials."""
CLOSED, PULL, PULLED = 0.8, 1.0, 1.6
"""[s] when the gripper has closed, when it begins to pull, and has pulled."""
LENGTH, WIDTH, THICK, TIP = 0.14, 0.03, 0.03, 0.75
"""[m] of a finger, along z, y and x at its base; its thickness at the tip, as a share of that."""
RADIUS, WIDE, HEIGHT = 0.025, 0.05, 0.08
"""[m] of the object, a lying cylinder: radius, length, and height of its axis over the floor."""
ABOVE, CLEARANCE = 0.09, 0.005
"""[m] from the axis of the object to the bases of the fingers, and between it and each finger at the start."""
CELLS = (7, 7, 37)
"""Cells of a finger along x, y and z."""
SENSOR = {"stiffness": 1e5, "damping": 50.0, "bending_stiffness": 500.0, "bending_damping": 0.1}
"""[N/m], [N s/m], [N m/rad], [N m s/rad] of the sensor."""
MARKERS = 4
"""Markers on the back of each finger, evenly down to the tip."""
FINGER, OBJECT, STEEL, CARRIAGE, FLOOR = (
    (0.93, 0.75, 0.55), (0.30, 0.45, 0.68), (0.55, 0.58, 0.62), (0.25, 0.27, 0.30), (0.72, 0.66, 0.56),
)  # fmt: skip


def soft_gripper(
    young: float = YOUNG,
    poisson: float = POISSON,
    friction: float = FRICTION,
    density: float = 1070.0,
    damping: float = 0.001,
    squeeze: float = 0.02,
    pull: tuple[float, ...] = (0.0, 0.004, 0.006),
    offset: float = 0.003,
    scale: float = 1.0,
    seed: int = 0,
) -> Scene:
    """Two fingers hang from a linear actuator and close on a cylinder, which a stiff joint holds: the sensor.

    From the paper: young [Pa], poisson and friction. A ``seed`` above zero draws all three from the ranges of its
    trials (:func:`drawn`); the values given then do not count. Shapes, density [kg/m^3] and damping [s] are ours.
    Each base goes ``squeeze`` [m] further than it takes its finger to touch an object in the middle, from which the
    gripper is off by ``offset`` [m] along x; then both move by ``pull`` (3,) [m]. scale: of the cells along each edge.
    With 1 both fingers together have 4,864 nodes and 18,130 elements (paper: 4,889 and 18,122).
    """
    positive("soft-gripper", "squeeze", squeeze)
    positive("soft-gripper", "scale", scale)
    if not squeeze < RADIUS:
        raise InputError(f"soft-gripper: squeeze is {squeeze} m; it must be below {RADIUS} m, or the bases meet")
    if not abs(offset) < CLEARANCE:
        raise InputError(f"soft-gripper: offset is {offset} m; it must be below {CLEARANCE} m, the clearance")
    if len(pull) != 3:
        raise InputError(f"soft-gripper: pull has {len(pull)} numbers; it must have 3")
    if whole_number("soft-gripper", "seed", seed, 0) > 0:
        young, poisson, friction = drawn(seed)
    scene = Scene()
    surface = scene.add_material("silicone and PLA", friction)
    scene.add_half_space(material=surface, colour=FLOOR, name="floor")
    low = HEIGHT - RADIUS
    sensor = scene.add_cylinder(
        0.6 * RADIUS, low, (0.0, 0.0, 0.5 * low), kind="static", material=surface, colour=STEEL, name="sensor"
    )
    held = scene.add_cylinder(
        RADIUS, WIDE, (0.0, 0.0, HEIGHT), about_axis((1, 0, 0), 0.5 * math.pi), material=surface, colour=OBJECT,
        name="object",
    )  # fmt: skip
    scene.add_fixed(sensor, held, (0.0, 0.0, low), name="sensor", **SENSOR)  # type: ignore[arg-type]
    silicone = elastic(young, poisson, density=density, beta=damping)
    mesh = finger_mesh(scale)
    for side, name in ((-1.0, "left"), (1.0, "right")):
        place = np.array([side * (RADIUS + CLEARANCE) + offset, 0.0, HEIGHT + ABOVE])
        turn = about_axis((0, 0, 1), 0.0 if side < 0.0 else math.pi)
        finger = scene.add_soft(mesh, silicone, place, turn, material=surface, colour=FINGER, name=f"finger-{name}")
        way = -side * (CLEARANCE + squeeze)
        scene.hold_nodes(finger, mesh.nodes_on_plane("z", 0.0), _motion(np.zeros(3), way, pull))
        above = place + [0.5 * side * THICK, 0.0, 0.005]
        carriage = scene.add_box(
            (THICK, 1.2 * WIDTH, 0.01), above, kind="kinematic", motion=_motion(above, way, pull),
            material=surface, colour=CARRIAGE, name=f"carriage-{name}",
        )  # fmt: skip
        scene.ignore_collision(carriage, finger)
    return scene


def drawn(seed: int) -> tuple[float, float, float]:
    """Young's modulus [Pa], Poisson's ratio and friction of a randomised trial, uniform in the ranges of the paper."""
    rng = np.random.default_rng(seed)
    young, poisson, friction = (float(rng.uniform(*span)) for span in (YOUNGS, POISSONS, FRICTIONS))
    return young, poisson, friction


def finger_mesh(scale: float = 1.0) -> TetMesh:
    """The left finger: its base in the plane z = 0, hanging down, its inner face in x = 0, its back tapered."""
    cells = [max(1, round(scale * count)) for count in CELLS]
    bar = tet_generators.box((THICK, WIDTH, LENGTH), cells, "five")
    nodes = bar.nodes - [0.5 * THICK, 0.0, 0.5 * LENGTH]
    nodes[:, 0] *= 1.0 + (1.0 - TIP) * nodes[:, 2] / LENGTH
    return TetMesh(nodes, bar.tets, "finger")


def marker_nodes(mesh: TetMesh) -> NDArray[np.intp]:
    """Nodes (MARKERS,) of a finger on the middle of its back, from the base to the tip."""
    down = LENGTH * np.arange(1, MARKERS + 1) / MARKERS
    back = THICK * (1.0 - (1.0 - TIP) * down / LENGTH)
    wanted = np.stack([-back, np.zeros(MARKERS), -down], axis=1)
    return np.linalg.norm(mesh.nodes - wanted[:, None], axis=2).argmin(axis=1)


def _motion(start: Array, way: float, pull: tuple[float, ...]) -> Motion:
    """The course of a base: from ``start`` (3,) by ``way`` [m] along x, then by ``pull`` (3,) [m]."""

    def motion(time: float) -> tuple[ArrayLike, ArrayLike]:
        pulled = np.asarray(pull) * smooth_step((time - PULL) / (PULLED - PULL))
        return start + [way * smooth_step(time / CLOSED), 0.0, 0.0] + pulled, (1.0, 0.0, 0.0, 0.0)

    return motion


class GripForce:
    """What the fingers do to the object, and it to them.

    ``force_x_N``, ``force_y_N``, ``force_z_N``: of both fingers on the object at the end; ``squeeze_N``: mean over the
    fingers of how hard each presses along x; ``sensor_error_N``: by how much the force of the sensor does not balance
    contact and weight at the end; ``marker_displacement_mm``: mean displacement of the markers from the start;
    ``penetration_mm``: deepest overlap; ``contacts_mean``: contacts that push, mean over steps with any, and
    ``contacts_max`` the most of them; ``converged``: share of steps.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        names, soft = sim.model.body_names, sim.model.soft
        self.held = Body(names.index("object"), "object")
        self.joint = joint_named(sim, "sensor")
        self.fingers = [SoftBody(soft.names.index(name), name) for name in ("finger-left", "finger-right")]
        self.nodes = marker_nodes(finger_mesh(float(parameters["scale"])))
        self.start = self.markers(sim)
        self.way = math.nan
        self.force, self.squeeze = np.full(3, math.nan), math.nan
        self.error, self.penetration = math.nan, 0.0
        self.contacts: list[int] = []
        self.converged: list[bool] = []

    def markers(self, sim: Simulation) -> Array:
        """Where the markers of both fingers are, (2 MARKERS, 3) [m]."""
        return np.concatenate([sim.nodes(finger)[self.nodes] for finger in self.fingers])

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of forces, markers and contacts."""
        each = [sim.contacts(self.held, finger).total_force for finger in self.fingers]
        self.force = each[0] + each[1]
        self.squeeze = 0.5 * float(each[0][0] - each[1][0])
        weight = sim.model.mass[self.held.index] * sim.model.gravity
        self.error = float(np.linalg.norm(sim.joint_force(self.joint)[0] + self.force + weight))
        self.way = 1e3 * float(np.linalg.norm(self.markers(sim) - self.start, axis=1).mean())
        self.penetration = max(self.penetration, result.certificate.penetration_mm)
        self.contacts.append(int((np.linalg.norm(result.state.soft_impulse, axis=1) > 0.0).sum()))
        self.converged.append(result.certificate.converged)

    def values(self) -> Values:
        """The values above."""
        pushing = [count for count in self.contacts if count]
        return {
            "force_x_N": float(self.force[0]),
            "force_y_N": float(self.force[1]),
            "force_z_N": float(self.force[2]),
            "squeeze_N": self.squeeze,
            "sensor_error_N": self.error,
            "marker_displacement_mm": self.way,
            "penetration_mm": self.penetration,
            "contacts_mean": float(np.mean(pushing)) if pushing else math.nan,
            "contacts_max": float(max(pushing, default=0)),
            "converged": float(np.mean(self.converged)) if self.converged else math.nan,
        }
