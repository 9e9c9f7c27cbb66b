"""The scenes of the truth tests as plain data, so that every engine is given the same numbers.

SI units, z up. A scene is one half-space through the origin ("ground") and a few boxes or spheres. Friction belongs
to pairs of surfaces; `surface_friction` turns the pairs into per-body coefficients for an engine's combination rule.
"""

import math
from dataclasses import dataclass
from typing import Literal

from stickslip.errors import InputError

GRAVITY = 9.81
GROUND = "ground"

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
Rule = Literal["max", "min", "product", "geometric", "harmonic", "mean"]


@dataclass(frozen=True)
class BodyData:
    """A free body: `size` is a box's full edge lengths or a sphere's (radius,) [m]; `force` acts at the centre [N]."""

    name: str
    shape: Literal["box", "sphere"]
    size: tuple[float, ...]
    mass: float
    position: Vector
    rotation: Quaternion = (1.0, 0.0, 0.0, 0.0)
    force: Vector = (0.0, 0.0, 0.0)
    surface: str = "box"


@dataclass(frozen=True)
class SceneData:
    """Bodies at rest on a plane with unit `normal`; surface `hub` touches each surface of `friction` (name, mu)."""

    name: str
    dt: float
    steps: int
    bodies: tuple[BodyData, ...]
    hub: str
    friction: tuple[tuple[str, float], ...]
    normal: Vector = (0.0, 0.0, 1.0)

    def index(self, name: str) -> int:
        """Index of the body called `name`."""
        return [body.name for body in self.bodies].index(name)


def surface_friction(scene: SceneData, rule: Rule) -> dict[str, float]:
    """Per-surface coefficients [-] whose combination by `rule` gives each pair (hub, other) its coefficient."""
    pairs = dict(scene.friction)
    # the hub must lie below every pair for "max" and above every pair otherwise, or no partner value exists
    hub = min(pairs.values()) if rule == "max" else max(pairs.values())
    other = {
        "max": lambda mu: mu,
        "min": lambda mu: mu,
        "product": lambda mu: mu / hub,
        "geometric": lambda mu: mu * mu / hub,
        "harmonic": lambda mu: mu * hub / (2.0 * hub - mu),
        "mean": lambda mu: 2.0 * mu - hub,
    }
    if rule not in other:
        raise InputError(f"friction rule {rule!r} is unknown; use one of {', '.join(other)}")
    return {scene.hub: hub} | {surface: other[rule](mu) for surface, mu in pairs.items()}


def box_on_slope(
    name: str, mu: float, load: float, dt: float, steps: int, edge: float = 0.1, mass: float = 1.0
) -> SceneData:
    """A box at rest on a plane tilted about y with tan(angle) = load * mu; downhill is (cos a, 0, -sin a)."""
    angle = math.atan(load * mu)
    normal = (math.sin(angle), 0.0, math.cos(angle))
    centre = (0.5 * edge * normal[0], 0.0, 0.5 * edge * normal[2])
    turn = (math.cos(0.5 * angle), 0.0, math.sin(0.5 * angle), 0.0)
    box = BodyData("box", "box", (edge, edge, edge), mass, centre, turn)
    return SceneData(name, dt, steps, (box,), "box", ((GROUND, mu),), normal)


def pushed_box(
    name: str, mu: float, force: float, dt: float, steps: int, edge: float = 0.2, mass: float = 0.5
) -> SceneData:
    """A box on the floor, pushed along y at its centre (lee2023 sec. V-B)."""
    box = BodyData("box", "box", (edge, edge, edge), mass, (0.0, 0.0, 0.5 * edge), force=(0.0, force, 0.0))
    return SceneData(name, dt, steps, (box,), "box", ((GROUND, mu),))


def heavy_on_light(name: str, ratio: float, dt: float, steps: int, mu: float = 0.5, edge: float = 0.2) -> SceneData:
    """A cube of `ratio` kg on an equal cube of 1 kg on the floor."""
    cube = (edge, edge, edge)
    light = BodyData("light", "box", cube, 1.0, (0.0, 0.0, 0.5 * edge), surface="light")
    heavy = BodyData("heavy", "box", cube, ratio, (0.0, 0.0, 1.5 * edge), surface="heavy")
    return SceneData(name, dt, steps, (light, heavy), "light", ((GROUND, mu), ("heavy", mu)))


SLAB_SIZE: Vector = (20.0, 20.0, 1.0)
SLAB_MASS = 10.0
BALL_RADIUS = 0.5
BALL_MASS = 1.0
BALL_COUNT = 25
OBLIQUE: Vector = (0.5, math.sqrt(0.75), 0.0)


def _slab_and_balls(slab_height: float, ball_height: float, force: float) -> tuple[BodyData, ...]:
    """The slab, pushed obliquely at its centre, and a 5 x 5 grid of balls 2 m apart."""
    push = (force * OBLIQUE[0], force * OBLIQUE[1], 0.0)
    slab = BodyData("slab", "box", SLAB_SIZE, SLAB_MASS, (0.0, 0.0, slab_height), force=push, surface="slab")
    balls = tuple(
        BodyData(
            f"ball-{5 * i + j}",
            "sphere",
            (BALL_RADIUS,),
            BALL_MASS,
            (2.0 * i - 4.0, 2.0 * j - 4.0, ball_height),
            surface="ball",
        )
        for i in range(5)
        for j in range(5)
    )
    return (slab, *balls)


def balls_on_slab(name: str, dt: float, steps: int, force: float = 150.0) -> SceneData:
    """SimBenchmark's rolling test: the slab slides on the floor (mu 0.4) and 25 balls roll on top of it (mu 0.8)."""
    bodies = _slab_and_balls(0.5 * SLAB_SIZE[2], SLAB_SIZE[2] + BALL_RADIUS, force)
    return SceneData(name, dt, steps, bodies, "slab", ((GROUND, 0.4), ("ball", 0.8)))


def slab_on_balls(name: str, dt: float, steps: int, force: float = 50.0) -> SceneData:
    """The slab carried by 25 balls that roll on the floor (mu 0.8).

    50 N, not 150: a ball's top contact needs 0.35 m a <= mu N, and the push's moment unloads the rear balls.
    """
    bodies = _slab_and_balls(2.0 * BALL_RADIUS + 0.5 * SLAB_SIZE[2], BALL_RADIUS, force)
    return SceneData(name, dt, steps, bodies, "ball", ((GROUND, 0.8), ("slab", 0.8)))
