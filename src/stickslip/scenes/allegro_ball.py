"""An Allegro hand squeezes a soft ball and rolls it between fingers and palm, [macklin2019] Fig. 3."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.geometry import rotation as rotations
from stickslip.geometry import tet_generators
from stickslip.reading_robots import robots_of
from stickslip.scene.scene import Body, Scene
from stickslip.scene.soft_body import SoftBody, elastic
from stickslip.scenes.courses import smooth_step
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.scenes.robots.allegro import allegro
from stickslip.scenes.robots.given import given_robot
from stickslip.simulation import Simulation, StepResult

UPWARDS = tuple(float(x) for x in rotations.about_axis((0.0, 1.0, 0.0), -0.5 * math.pi))
"""Rotation of the hand that lies: its palm faces up, its fingers point along -x."""
ABOVE = 0.06
"""[m] of the hand's origin above the ground."""
ON_PALM = (0.022, 0.0)
"""[m] x and y of the ball's middle."""
RESTS, CLOSED, SQUEEZED = 0.3, 1.0, 1.6
"""[s] when fingers begin to close, when they have closed, and when the ball begins to roll."""
PERIOD = 1.2
"""[s] of the motion to and fro."""
FINGERS = ("index", "middle", "ring")
FLAT = (0.0, -0.1, 0.1, 0.1)
"""[rad] of a finger that lies open;"""
BENT = (0.0, 1.42, 0.9, 0.75)
"""of one that is closed about the ball."""
THUMB_FLAT, THUMB_BENT = (0.3, 0.0, 0.0, 0.0), (0.3, 0.0, 0.3, 0.3)


def allegro_ball(
    radius: float = 0.035, young: float = 5e4, poisson: float = 0.4, density: float = 500.0, friction: float = 0.8,
    swing: float = 0.35, divisions: int = 3, robot: str = "allegro",
) -> Scene:  # fmt: skip
    """A soft ball lies in the palm of a hand that lies, too; three fingers close, squeeze it, and go to and fro.

    young [Pa], poisson, density [kg/m^3]: of the ball; friction: Coulomb coefficient of ball and hand; swing [rad]: of
    the fingers to both sides; divisions: layers of elements; robot: "allegro", or a file of this hand (URDF, MJCF).
    """
    for name, value in (("radius", radius), ("young", young), ("density", density), ("swing", swing)):
        positive("allegro-ball", name, value)
    whole_number("allegro-ball", "divisions", divisions, 1)
    scene = Scene()
    surface = scene.add_material("rubber", friction)
    scene.add_half_space(name="ground", material=surface)
    hand = given_robot("allegro-ball", allegro(friction), robot, friction, apart=2)
    scene.add_tree(hand, position=(0.0, 0.0, ABOVE), rotation=UPWARDS)
    foam = elastic(young, poisson, density=density, beta=0.01)
    mesh = tet_generators.sphere(radius, divisions)
    height = ABOVE + 0.0115 - float(mesh.nodes[:, 2].min())
    scene.add_soft(mesh, foam, (*ON_PALM, height), material=surface, colour=(0.85, 0.3, 0.25), name="ball")
    return scene


class Rolled:
    """Drives the hand, and measures how the ball is squeezed and rolled.

    ``squeeze_mm``: by how much the ball is less high than when it lay free, at SQUEEZED; ``grip_force_N``: sum of the
    forces of the fingers and the thumb then; ``rolled_rad``: between the furthest turns of the ball about the fingers'
    direction, from SQUEEZED on; ``held``: whether it is in the hand at the end; ``contacts_max``: of a step;
    ``converged``: share of the steps that did.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.hand = robots_of(sim.model)["allegro"]
        self.ball = SoftBody(0, "ball")
        self.swing = parameters["swing"]
        self.rest = sim.nodes(self.ball).copy()
        self.start = sim.soft_centre(self.ball)
        names = sim.model.body_names
        roots = {"allegro/palm", *(f"allegro/{name}{k}" for name in (*FINGERS, "thumb") for k in (0, 1))}
        # files may have tips as links of their own
        tips = [name for name in names if name.startswith("allegro/") and name not in roots]
        self.tips = [Body(names.index(name), name) for name in tips]
        self.squeeze, self.grip, self.held = math.nan, math.nan, False
        self.turns: list[float] = []
        self.contacts, self.steps, self.converged = 0, 0, 0
        self._drive(sim)

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of the step, and say where the fingers shall be at the end of the next one."""
        now, x = result.state.time, sim.nodes(self.ball)
        self.steps += 1
        self.converged += result.certificate.converged
        self.contacts = max(self.contacts, result.certificate.contacts)
        if now > SQUEEZED and math.isnan(self.grip):
            self.squeeze = 1e3 * float(np.ptp(self.rest[:, 2]) - np.ptp(x[:, 2]))
            self.grip = sum(float(np.linalg.norm(sim.contacts(tip).total_force)) for tip in self.tips)
        if now > SQUEEZED:
            self.turns.append(turn_about_x(self.rest, x))
        self.held = bool(np.linalg.norm(sim.soft_centre(self.ball) - self.start) < 0.03)
        self._drive(sim)

    def values(self) -> Values:
        """The values above."""
        return {
            "squeeze_mm": self.squeeze,
            "grip_force_N": self.grip,
            "rolled_rad": float(np.ptp(self.turns)) if self.turns else math.nan,
            "held": self.held,
            "contacts_max": float(self.contacts),
            "converged": self.converged / max(self.steps, 1),
        }

    def _drive(self, sim: Simulation) -> None:
        """Targets of the drives at the end of the coming step."""
        time = sim.state.time + sim.stepping.dt
        closed = smooth_step(min(1.0, max(0.0, (time - RESTS) / (CLOSED - RESTS))))
        aside = self.swing * math.sin(2.0 * math.pi * max(0.0, time - SQUEEZED) / PERIOD)
        target: dict[str, float] = {}
        for name in FINGERS:
            angles = np.array(FLAT) + closed * (np.array(BENT) - np.array(FLAT))
            target |= {f"{name}{k}": float(angle) for k, angle in enumerate(angles)}
            target[f"{name}0"] += aside
        angles = np.array(THUMB_FLAT) + closed * (np.array(THUMB_BENT) - np.array(THUMB_FLAT))
        target |= {f"thumb{k}": float(angle) for k, angle in enumerate(angles)}
        sim.set_control(self.hand, position=target)


def turn_about_x(rest: Array, now: Array) -> float:
    """[rad] by which nodes (n, 3) have turned about x, of the rotation that fits best."""
    a, b = rest - rest.mean(axis=0), now - now.mean(axis=0)
    U, _, V = np.linalg.svd(b.T @ a)
    R = U @ np.diag([1.0, 1.0, np.linalg.det(U @ V)]) @ V
    return float(rotations.rotation_vector(rotations.from_matrix(R))[0])
