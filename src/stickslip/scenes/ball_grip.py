"""A gripper of rigid bodies with two prismatic fingers takes a soft ball and lifts it, [lee2023] sec. V-C4."""

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
from stickslip.scene.joint import Drive
from stickslip.scene.scene import Body, Motion, Scene
from stickslip.scene.soft_body import SoftBody, elastic
from stickslip.scenes.courses import smooth_step
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult

LIFT, LIFTED = 0.5, 1.0
"""[s] when the gripper has closed and begins to lift, and when it has lifted."""
CLEARANCE = 0.004
"""[m] between each finger and the ball at the start."""
FINGER, PALM, WRIST = (0.012, 0.05, 0.125), (0.2, 0.06, 0.03), (0.04, 0.04, 0.02)
"""[m] full edges of the boxes."""
FINGER_MASS, PALM_MASS = 0.2, 1.0
CLOSING_DAMPING = 1000.0
"""[N s/m] of the drives of the fingers: it lets them close within some tenths of a second."""
ARM_STIFFNESS, ARM_DAMPING = 5e4, 1e3
"""[N/m, N s/m] by which the wrist holds the palm, as the controller of a robot arm does,"""
BENDING_STIFFNESS, BENDING_DAMPING = 500.0, 10.0
"""and [N m/rad, N m s/rad]."""
BALL, STEEL, DARK, TABLE = (0.86, 0.30, 0.22), (0.55, 0.58, 0.62), (0.25, 0.27, 0.30), (0.72, 0.66, 0.56)
STILL = (1.0, 0.0, 0.0, 0.0)


def ball_grip(
    radius: float = 0.05,
    young: float = 1e6,
    poisson: float = 0.35,
    density: float = 1100.0,
    damping: float = 0.002,
    friction: float = 0.5,
    squeeze: float = 0.02,
    drive_stiffness: float = 5e3,
    lift: float = 0.1,
    divisions: int = 7,
    seed: int = 0,
) -> Scene:
    """A ball of ``radius`` [m] lies on a table; two fingers close on it, squeeze and lift it by ``lift`` [m].

    From the paper: young [Pa], poisson and friction, here the middles of its ranges; ``seed`` above 0 draws them,
    young between half of and twice what is given, poisson within 0.05, friction within 0.1 of it. Sizes, density
    [kg/m^3] and damping [s] by stiffness are ours. The palm is a free body that a wrist with prescribed motion holds
    by springs and dampers; fingers slide on it, driven with ``drive_stiffness`` [N/m] to a place ``squeeze`` [m]
    inside of the ball as it lies. So the gripper has the 8 degrees of freedom of the paper.
    divisions: layers of elements; 7 make 1,415 nodes and 6,860 elements (the paper: 1,463 and 6,928).
    """
    for name, value in (("radius", radius), ("squeeze", squeeze), ("drive_stiffness", drive_stiffness), ("lift", lift)):
        positive("ball-grip", name, value)
    whole_number("ball-grip", "divisions", divisions, 1)
    young, poisson, friction = drawn(whole_number("ball-grip", "seed", seed, 0), young, poisson, friction)
    scene = Scene()
    surface = scene.add_material("silicone and steel", friction)
    scene.add_half_space(material=surface, colour=TABLE, name="table")
    silicone = elastic(young, poisson, density=density, beta=damping)
    mesh = tet_generators.sphere(radius, divisions)
    height = -float(mesh.nodes[:, 2].min())
    scene.add_soft(mesh, silicone, (0.0, 0.0, height), material=surface, colour=BALL, name="ball")
    reach = float(mesh.nodes[:, 0].max()) + CLEARANCE
    if not 2.0 * (reach + FINGER[0]) < PALM[0] or not radius < FINGER[2] / 2.0:
        raise InputError(f"ball-grip: radius is {radius} m; the gripper takes balls of less than {FINGER[2] / 2.0} m")
    _add_gripper(scene, surface, reach, height, lift, Drive(drive_stiffness, CLOSING_DAMPING, CLEARANCE + squeeze))
    return scene


def drawn(seed: int, young: float, poisson: float, friction: float) -> tuple[float, float, float]:
    """Young's modulus [Pa], Poisson's ratio and friction of a trial; those given for seed 0."""
    if seed == 0:
        return young, poisson, friction
    random = np.random.default_rng(seed)
    return (
        young * float(random.uniform(0.5, 2.0)),
        poisson + float(random.uniform(-0.05, 0.05)),
        friction + float(random.uniform(-0.1, 0.1)),
    )


def _add_gripper(scene: Scene, surface: str, reach: float, height: float, lift: float, drive: Drive) -> None:
    """The wrist, the palm below it and the fingers, whose inner faces are ``reach`` [m] from the middle."""
    # tips end half a radius above the table, the ball's middle is then well within the fingers
    middle = 0.5 * height + 0.5 * FINGER[2]
    top = middle + 0.5 * FINGER[2]
    palm_place = np.array([0.0, 0.0, top + 0.5 * PALM[2]])
    wrist_place = palm_place + [0.0, 0.0, 0.5 * (PALM[2] + WRIST[2])]
    wrist = scene.add_box(
        WRIST, wrist_place, kind="kinematic", motion=_raised(wrist_place, lift),
        material=surface, colour=DARK, name="wrist",
    )  # fmt: skip
    palm = scene.add_box(PALM, palm_place, mass=PALM_MASS, material=surface, colour=STEEL, name="palm")
    scene.add_fixed(
        wrist, palm, palm_place, stiffness=ARM_STIFFNESS, damping=ARM_DAMPING,
        bending_stiffness=BENDING_STIFFNESS, bending_damping=BENDING_DAMPING, name="arm",
    )  # fmt: skip
    for side, label in ((-1.0, "left"), (1.0, "right")):
        place = (side * (reach + 0.5 * FINGER[0]), 0.0, middle)
        finger = scene.add_box(
            FINGER, place, mass=FINGER_MASS, material=surface, colour=DARK, name=f"finger-{label}"
        )  # fmt: skip
        scene.add_prismatic(palm, finger, (-side, 0.0, 0.0), drive=drive, name=f"slide-{label}")


def _raised(start: Array, lift: float) -> Motion:
    """From ``start`` (3,) [m] up by ``lift`` [m] between LIFT and LIFTED."""

    def motion(time: float) -> tuple[ArrayLike, ArrayLike]:
        return start + [0.0, 0.0, lift * smooth_step((time - LIFT) / (LIFTED - LIFT))], STILL

    return motion


class Held:
    """How the ball is held.

    ``penetration_max_mm`` and ``penetration_mean_mm``: deepest overlap, over all steps; ``lifted_m``: height of the
    ball's centre above where it lay; ``slip_um``: furthest that a node that touches a finger moved along it from
    LIFTED to the end; ``held``: at the end both fingers touch it and the table does not; ``grip_force_N``: normal
    force of a finger, mean of the two, and ``grip_difference_N`` between them; ``load_share``: friction over its
    limit, fingers together; ``carried_N``: vertical force of the fingers; ``internal_force_N``: norm of the internal
    forces of all nodes; ``contacts``: their number. All but the first two are those at the end; ``slip_um`` is NaN
    where the run ends before LIFTED.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        names = sim.model.body_names
        self.ball = SoftBody(0, "ball")
        self.fingers = [Body(names.index(name), name) for name in ("finger-left", "finger-right")]
        self.table = Body(names.index("table"), "table")
        self.friction = drawn(parameters["seed"], 1.0, 0.0, parameters["friction"])[2]
        self.start = sim.soft_centre(self.ball)
        self.penetration: list[float] = []
        self.touched: list[NDArray[np.intp]] = []
        self.places: list[Array] = []
        self.end: Values = {}

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of overlaps and, from LIFTED on, of what moves along the fingers."""
        self.penetration.append(result.certificate.penetration_mm)
        if result.state.time > LIFTED - 0.5 * sim.stepping.dt and not self.places:
            self.touched = [self._touching(sim, finger) for finger in self.fingers]
            self.places = self._along(sim)
        forces = np.array([sim.contacts(self.ball, finger).total_force for finger in self.fingers])
        normal, along = np.abs(forces[:, 0]), np.linalg.norm(forces[:, 1:], axis=1)
        limit = self.friction * normal.sum()
        self.end = {
            "lifted_m": float(sim.soft_centre(self.ball)[2] - self.start[2]),
            "held": bool((normal > 0.0).all() and not len(sim.contacts(self.ball, self.table))),
            "slip_um": self._slip(sim),
            "grip_force_N": float(normal.mean()),
            "grip_difference_N": float(abs(normal[1] - normal[0])),
            "load_share": float(along.sum() / limit) if limit > 0.0 else math.nan,
            "carried_N": float(forces[:, 2].sum()),
            "internal_force_N": float(np.linalg.norm(sim.internal_forces(self.ball))),
            "contacts": float(result.certificate.contacts),
        }

    def values(self) -> Values:
        """The values above."""
        some = self.penetration or [math.nan]
        return {"penetration_max_mm": max(some), "penetration_mean_mm": float(np.mean(some)), **self.end}

    def _touching(self, sim: Simulation, finger: Body) -> NDArray[np.intp]:
        """Nodes of the ball on the inner face of a finger, within a hundredth of a millimetre."""
        away = np.abs(sim.nodes(self.ball)[:, 0] - sim.position(finger)[0]) - 0.5 * FINGER[0]
        return np.flatnonzero(away < 1e-5)

    def _along(self, sim: Simulation) -> list[Array]:
        """Places (k, 2) [m] of touching nodes along each finger."""
        x = sim.nodes(self.ball)
        pairs = zip(self.fingers, self.touched, strict=True)
        return [(x[nodes] - sim.position(finger))[:, 1:] for finger, nodes in pairs]

    def _slip(self, sim: Simulation) -> float:
        """Largest displacement [um] of a touching node along its finger."""
        if not self.places or not all(map(len, self.touched)):
            return math.nan
        pairs = zip(self._along(sim), self.places, strict=True)
        return 1e6 * max(float(np.linalg.norm(now - then, axis=1).max()) for now, then in pairs)
