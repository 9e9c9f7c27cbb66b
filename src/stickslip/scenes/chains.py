"""A chain with a heavy end, and a bridge of planks that hang from two chains."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.geometry.rotation import between
from stickslip.scene.scene import Body, Scene
from stickslip.scenes.joint_metrics import JointError
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult

STEEL_DENSITY = 7850.0
LINKS = ((0.55, 0.58, 0.62), (0.80, 0.62, 0.28))
BALL, ROPE, TOWER = (0.30, 0.32, 0.38), (0.74, 0.62, 0.40), (0.45, 0.36, 0.28)
PLANKS = ((0.66, 0.46, 0.28), (0.74, 0.54, 0.34))
LOADS = ((0.78, 0.30, 0.22), (0.25, 0.48, 0.66), (0.36, 0.58, 0.34))


def chain(
    links: int = 50,
    mass_ratio: float = 10000.0,
    link_mass: float = 0.1,
    link_length: float = 0.1,
    radius: float = 0.012,
    angle: float = 45.0,
) -> Scene:
    """A chain of capsules held by ball joints, with a steel ball of ``mass_ratio`` links at its end, that swings.

    It starts straight and at rest, at ``angle`` [deg] from hanging down, from a point that does not move; link_length
    between two joints and radius of the links [m], link_mass [kg].
    """
    links = whole_number("chain", "links", links, 1)
    positive("chain", "mass_ratio", mass_ratio)
    if not 0.0 < 2.0 * positive("chain", "radius", radius) < link_length:
        raise InputError(f"chain: radius is {radius}; it must be below half of link_length, {link_length}")
    heavy = mass_ratio * positive("chain", "link_mass", link_mass)
    ball_radius = (0.75 * heavy / (math.pi * STEEL_DENSITY)) ** (1.0 / 3.0)
    down = np.array([math.sin(math.radians(angle)), 0.0, -math.cos(math.radians(angle))])
    turn = between((0, 0, 1), down)
    hook = np.array([0.0, 0.0, links * link_length + 3.0 * ball_radius])
    scene = Scene()
    scene.add_half_space(name="floor")
    scene.add_box((0.3, 0.3, 0.1), hook + [0.0, 0.0, 0.05 + 2.0 * radius], kind="static", colour=TOWER, name="beam")
    above: Body | None = None
    for i in range(links):
        link = scene.add_capsule(
            radius, link_length - 2.0 * radius, hook + (i + 0.5) * link_length * down, turn,
            mass=link_mass, colour=LINKS[i % 2], name=f"link-{i}",
        )  # fmt: skip
        scene.add_ball(above, link, hook + i * link_length * down, name=f"joint-{i}")
        above = link
    end = hook + links * link_length * down
    ball = scene.add_sphere(ball_radius, end + ball_radius * down, mass=heavy, colour=BALL, name="ball")
    scene.add_ball(above, ball, end, name=f"joint-{links}")
    return scene


class Chain(JointError):
    """``joint_error_max_m``; ``stretch_max_m``: most that the ball was further from the hook than the chain is long."""

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        super().__init__(sim)
        self.ball = int(sim.model.dynamic[-1])
        first, links = sim.state.body_pose[sim.model.dynamic[0]], int(parameters["links"])
        ball = sim.state.body_pose[self.ball, :3]
        self.length = links * parameters["link_length"] + float(sim.model.radius[self.ball])
        # it starts straight: the hook is half a link before the first link's centre
        self.hook = first[:3] - 0.5 * parameters["link_length"] * (ball - first[:3]) / np.linalg.norm(ball - first[:3])
        self.stretch = 0.0

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of errors and of the ball's distance."""
        super().observe(sim, result)
        distance = float(np.linalg.norm(result.state.body_pose[self.ball, :3] - self.hook))
        self.stretch = max(self.stretch, distance - self.length)

    def values(self) -> Values:
        """``joint_error_max_m`` and ``stretch_max_m``."""
        return {**super().values(), "stretch_max_m": self.stretch}


def rope_bridge(
    planks: int = 15,
    pitch: float = 0.25,
    width: float = 1.0,
    sag: float = 0.8,
    plank_mass: float = 5.0,
    rope_mass: float = 0.2,
    loads: int = 3,
    load_mass: float = 20.0,
    friction: float = 0.6,
) -> Scene:
    """Planks that hang from two ropes between two towers; boxes and a ball fall on them.

    A rope is a chain of capsules with ball joints, each ``rope_mass`` [kg] from cord to cord; it starts in the shape in
    which equal weights at equal distances hang, a parabola ``sag`` [m] deep, and so the empty bridge is at rest. Each
    plank [kg] hangs from them by its four corners, and is tied to its neighbours, ``pitch`` [m] from middle to middle;
    cords and ties can pull, not push. width: between the ropes [m]; the loads, ``load_mass`` [kg] each, stand a third
    of the span from one end.
    """
    planks = whole_number("rope-bridge", "planks", planks, 2)
    loads = whole_number("rope-bridge", "loads", loads, 0)
    for name, value in (("pitch", pitch), ("width", width), ("sag", sag)):
        positive("rope-bridge", name, value)
    span = (planks + 1) * pitch
    deck, thickness, radius = 1.0, 0.04, 0.015
    node = rope_nodes(planks, pitch, sag) + [0.0, 0.0, deck + 0.25]
    scene = Scene()
    wood = scene.add_material("wood", friction)
    scene.add_half_space(material=wood, name="ground")
    for side, name in ((-1, "left"), (1, "right")):
        for y in (-0.5 * width, 0.5 * width):
            scene.add_box(
                (0.12, 0.12, node[0, 2] + 0.1), (side * (0.5 * span + 0.06 + radius), y, 0.5 * (node[0, 2] + 0.1)),
                kind="static", material=wood, colour=TOWER, name=f"post-{name}-{'front' if y < 0 else 'back'}",
            )  # fmt: skip
        scene.add_box(
            (0.8, width, deck), (side * (0.5 * span + 0.4), 0.0, 0.5 * deck),
            kind="static", material=wood, colour=TOWER, name=f"landing-{name}",
        )  # fmt: skip
    boards = [
        scene.add_box(
            (0.8 * pitch, width, thickness), (node[k + 1, 0], 0.0, deck - 0.5 * thickness),
            mass=plank_mass, material=wood, colour=PLANKS[k % 2], name=f"plank-{k}",
        )
        for k in range(planks)
    ]  # fmt: skip
    for y, name in ((-0.5 * width, "front"), (0.5 * width, "back")):
        ends = node + [0.0, y, 0.0]
        before: Body | None = None
        for k in range(planks + 1):
            along = ends[k + 1] - ends[k]
            link = scene.add_capsule(
                radius, float(np.linalg.norm(along)) - 2.0 * radius, 0.5 * (ends[k] + ends[k + 1]),
                between((0, 0, 1), along), mass=rope_mass, material=wood, colour=ROPE, name=f"rope-{name}-{k}",
            )  # fmt: skip
            scene.add_ball(before, link, ends[k], name=f"knot-{name}-{k}")
            if k < planks:
                for s in (-1, 1):
                    edge = np.array([ends[k + 1, 0] + 0.4 * s * pitch, y, deck - 0.5 * thickness])
                    length = float(np.linalg.norm(edge - ends[k + 1]))
                    scene.add_distance(
                        link, boards[k], ends[k + 1], edge, limits=(0.0, length), name=f"cord-{name}-{2 * k + (s > 0)}"
                    )
            before = link
        scene.add_ball(before, None, ends[-1], name=f"knot-{name}-{planks + 1}")
        _tie(scene, boards, y, pitch, span, deck - 0.5 * thickness, name)
    for k in range(loads):
        x, size = -span / 6.0 + 1.2 * (k - 0.5 * (loads - 1)) * pitch, 0.25
        place = (x, 0.0, deck + 0.5 * size + 0.01)
        options: dict[str, Any] = {"mass": load_mass, "material": wood, "colour": LOADS[k % 3], "name": f"load-{k}"}
        if k % 3 == 1:
            scene.add_sphere(0.5 * size, place, **options)
        else:
            scene.add_box((size, size, size), place, **options)
    return scene


def rope_nodes(planks: int, pitch: float, sag: float) -> Array:
    """Points (planks + 2, 3) [m] of a rope with equal weights at equal distances, its lowest one at z = 0."""
    x = (np.arange(planks + 2) - 0.5 * (planks + 1)) * pitch
    z = sag * (2.0 * x / ((planks + 1) * pitch)) ** 2
    return np.column_stack([x, np.zeros_like(x), z - z.min()])


def _tie(scene: Scene, boards: list[Body], y: float, pitch: float, span: float, z: float, name: str) -> None:
    """Tie planks to their neighbours and to the landings, at one side of the bridge."""
    row: list[Body | None] = [None, *boards, None]
    for k in range(len(row) - 1):
        start = k * pitch - 0.5 * span
        # a little slack: the deck must not carry in place of the ropes
        scene.add_distance(
            row[k], row[k + 1], (start, y, z), (start + pitch, y, z),
            limits=(0.0, 1.02 * pitch), collide=True, name=f"tie-{name}-{k}",
        )  # fmt: skip


class RopeBridge(JointError):
    """How the bridge took its loads.

    ``joint_error_max_m``; ``sag_m``: most that a plank is below where it started, at the end; ``loads_on_bridge``:
    loads that did not fall off.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        super().__init__(sim)
        names = sim.model.body_names
        self.planks = np.array([i for i, name in enumerate(names) if name.startswith("plank-")])
        self.loads = np.array([i for i, name in enumerate(names) if name.startswith("load-")], dtype=int)
        self.start = sim.state.body_pose[self.planks, 2].copy()
        self.q = sim.state.body_pose

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of errors and places."""
        super().observe(sim, result)
        self.q = result.state.body_pose

    def values(self) -> Values:
        """``joint_error_max_m``, ``sag_m``, ``loads_on_bridge``."""
        height = self.q[self.planks, 2]
        return {
            **super().values(),
            "sag_m": float((self.start - height).max()),
            "loads_on_bridge": float((self.q[self.loads, 2] > height.min()).sum()),
        }
