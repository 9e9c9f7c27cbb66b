"""A flexible cable, after [lee2023] sec. V: it hangs between two supports, or is wound on a drum that turns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.constraints.joint.joints import reactions
from stickslip.errors import InputError
from stickslip.geometry.rotation import about_axis, matrix
from stickslip.scene.rods import Rod
from stickslip.scene.scene import Scene
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult

MODES = ("hanging", "winding")
DENSITY = 1000.0
"""[kg/m^3] of the cable, of rubber."""
DAMPING = 0.01
"""[s] of its strains."""
SPAN = 0.75
"""Distance of the supports of the hanging cable, over its length."""
START = 0.5
"""[s] in which the drum comes up to speed."""
TURN_PITCH = 2.5
"""Radii of the cable that the drum moves along its axis in a turn, so that turns lie beside each other."""
CABLE, DRUM, POST = ((0.80, 0.28, 0.18), (0.93, 0.78, 0.55)), (0.45, 0.50, 0.56), (0.35, 0.36, 0.40)


def cable(
    mode: str = "hanging",
    links: int = 120,
    length: float = 1.2,
    radius: float = 0.004,
    young: float = 2.954e6,
    poisson: float = 0.49,
    friction: float = 1.3,
    drum_radius: float = 0.06,
    speed: float = 3.0,
) -> Scene:
    """A cable that hangs between two supports, or is wound on a drum (``mode`` "hanging" or "winding").

    The paper gives 320 links, young [Pa], poisson and friction; length and radius [m] of the cable, drum_radius [m] and
    speed [rad/s] of the drum are ours. The hanging cable starts on the catenary of a cable that does not stretch, with
    ends free to turn. The other one hangs down from the drum, to which its upper end is clamped.
    """
    if mode not in MODES:
        raise InputError(f"cable: mode is {mode!r}; it must be one of {', '.join(MODES)}")
    links = whole_number("cable", "links", links, 4)
    for name, value in (("length", length), ("radius", radius), ("drum_radius", drum_radius), ("speed", speed)):
        positive("cable", name, value)
    scene = Scene()
    scene.add_material("rubber", friction)
    options: dict[str, Any] = {
        "young": young, "poisson": poisson, "density": DENSITY, "damping": DAMPING, "material": "rubber",
        "name": "cable",
    }  # fmt: skip
    s = np.linspace(0.0, length, links + 1)
    if mode == "hanging":
        points = hanging_points(s, length, SPAN * length)
        rod = scene.add_rod(points, radius, **options)
        for side, end, link in ((-1, points[0], rod.links[0]), (1, points[-1], rod.links[-1])):
            scene.add_ball(None, link, end, name=f"support-{'left' if side < 0 else 'right'}")
            post = scene.add_box(
                (0.03, 0.06, 0.03), end + [side * 0.025, 0.0, 0.0], kind="static", material="rubber", colour=POST,
                name=f"post-{'left' if side < 0 else 'right'}",
            )  # fmt: skip
            scene.ignore_collision(post, link)
    else:
        drum = scene.add_cylinder(
            drum_radius, max(0.1, 20.0 * radius), kind="kinematic", material="rubber", colour=DRUM, name="drum",
            motion=lambda t: _drum_pose(t, speed, TURN_PITCH * radius),
        )  # fmt: skip
        points = np.column_stack([np.full_like(s, drum_radius + radius), np.zeros_like(s), -s])
        rod = scene.add_rod(points, radius, fixed_start=drum, **options)
    _paint(scene, rod)
    return scene


def _drum_pose(t: float, speed: float, pitch: float) -> tuple[ArrayLike, ArrayLike]:
    """Pose of the drum, whose axis is y; its right side moves up, and it moves along its axis by ``pitch`` a turn."""
    angle = speed * (0.5 * t * t / START if t < START else t - 0.5 * START)
    lying = np.array([math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0])  # a cylinder's own axis is z
    w, x, y, z = about_axis((0, 1, 0), -angle)
    a, b = lying[0], lying[1]
    return (0.0, -pitch * angle / (2.0 * math.pi), 0.0), (w * a - x * b, w * b + x * a, y * a + z * b, z * a - y * b)


def _paint(scene: Scene, rod: Rod) -> None:
    """Bands along the cable, forty of them."""
    for k, link in enumerate(rod.links):
        scene.bodies[link.index].colour = CABLE[(40 * k // len(rod.links)) % 2]


def hanging_points(s: Array, length: float, span: float) -> Array:
    """Points (n, 3) [m] at arc lengths s (n,) of a catenary between supports at z = 0, ``span`` apart."""
    a = _solved(lambda a: 2.0 * a * math.asinh(0.5 * length / a) - span, span)
    t = (s - 0.5 * length) / a
    return np.column_stack([a * np.arcsinh(t), np.zeros_like(s), a * (np.hypot(1.0, t) - math.hypot(1.0, t[0]))])


def elastic_sag(length: float, span: float, weight: float, stretch: float) -> float:
    """Sag [m] of a cable without bending stiffness that weighs ``weight`` [N/m] and stretches by force / ``stretch``.

    The elastic catenary: with the horizontal tension H and s from the lowest point, dx/ds = H / E A + H / T,
    dz/ds = w s / E A + w s / T, T = sqrt(H^2 + (w s)^2).
    """
    half, w = 0.5 * length, weight
    H = _solved(lambda H: 2.0 * (H * half / stretch + H / w * math.asinh(w * half / H)) - span, w * span)
    return 0.5 * w * half**2 / stretch + (math.hypot(H, w * half) - H) / w


def _solved(mismatch: Any, scale: float) -> float:
    """Root of a function between 1e-3 and 1e3 of a scale."""
    return float(brentq(mismatch, 1e-3 * scale, 1e3 * scale, xtol=1e-15 * scale))


class Cable:
    """What a cable is measured by.

    hanging: ``sag_m``, and ``sag_error_mm`` against the elastic catenary, at the end of the run.
    winding: ``turns`` of the drum that the cable lies on it, ``wound_m``, ``penetration_mm`` the deepest overlap of all
    steps, ``hanging_tension_N`` a drum's radius below where it is left, and ``clamp_tension_N`` at the clamped end.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.given = parameters
        names = sim.model.body_names
        self.links = np.array([i for i, name in enumerate(names) if name.startswith("cable/")])
        self.sections = np.array([j for j, name in enumerate(sim.model.joint_names) if name.startswith("cable/")])
        self.drum = names.index("drum") if "drum" in names else -1
        self.deepest = 0.0
        self.last: StepResult | None = None

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of the state."""
        self.deepest = max(self.deepest, result.certificate.penetration_mm)
        self.last = result
        self.model, self.dt = sim.model, sim.stepping.dt

    def values(self) -> Values:
        """By mode; see the class."""
        if self.last is None:
            return {}
        q = self.last.state.body_pose
        if self.given["mode"] == "hanging":
            half = 0.5 * self.given["length"] / self.given["links"]
            down = np.array([matrix(pose[3:])[2, 2] for pose in q[self.links]])
            ends = np.concatenate([q[self.links, 2] - half * down, q[self.links, 2] + half * down])
            top = q[self.links[0], 2] - half * down[0]
            sag = float(top - ends.min())
            area = math.pi * self.given["radius"] ** 2
            weight = DENSITY * area * float(np.linalg.norm(self.model.gravity))
            length = self.given["length"]
            exact = elastic_sag(length, SPAN * length, weight, self.given["young"] * area)
            return {"sag_m": sag, "sag_error_mm": 1e3 * (sag - exact)}
        centre = q[self.drum, :3]
        away = np.hypot(q[self.links, 0] - centre[0], q[self.links, 2] - centre[2])
        on = away < self.given["drum_radius"] + 1.5 * self.given["radius"]
        # clamped first, then on the drum up to where the cable leaves it
        wound = len(on) if on.all() else int(np.argmin(on))
        piece = self.given["length"] / self.given["links"]
        force, _ = reactions(self.model, q, self.last.state.joint_impulse, self.dt)
        tension = np.linalg.norm(force[self.sections], axis=1)
        around = 2.0 * math.pi * (self.given["drum_radius"] + self.given["radius"])
        return {
            "wound_m": wound * piece,
            "turns": wound * piece / around,
            "penetration_mm": self.deepest,
            # a drum's radius below, beyond the bend that leads to it
            "hanging_tension_N": float(tension[min(wound + math.ceil(self.given["drum_radius"] / piece), len(on) - 2)]),
            "clamp_tension_N": float(tension[-1]),
        }
