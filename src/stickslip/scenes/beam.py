"""A flexible beam is pushed into a hole, after the insertion task of [macklin2019] sec. 10.1.2, Fig. 7 and Fig. 16."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.geometry.rotation import conjugate, multiply, rotation_vector
from stickslip.geometry.shapes import Box, Hull, Placed, placed
from stickslip.scene.joint import Drive
from stickslip.scene.scene import Body, Scene
from stickslip.scenes.joint_metrics import JointError
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult

HEIGHT = 0.3
"""[m] of the axis of the hole above the floor."""
WALL = 0.015
"""[m] thickness of the walls of the hole."""
MOUTH = 0.02
"""[m] length of the part before the hole where its ceiling comes down."""
FLARE = 0.012
"""[m] how far the ceiling comes down there."""
GAP = 0.002
"""[m] between the tip of the beam and the mouth at the start."""
HOLE, CEILING, HAND = (0.55, 0.58, 0.62), (0.42, 0.46, 0.52), (0.30, 0.36, 0.48)
BEAM = ((0.86, 0.52, 0.20), (0.94, 0.72, 0.36))


def beam_insertion(
    segments: int = 16,
    mass: float = 0.003,
    bending_stiffness: float = 250.0,
    segment_length: float = 0.016,
    side: float = 0.01,
    clearance: float = 0.0005,
    offset: float = 0.004,
    depth: float = 0.24,
    speed: float = 0.2,
    friction: float = 0.2,
) -> Scene:
    """A hand pushes a beam of ``segments`` boxes into a square hole, whose axis is ``offset`` [m] below it.

    The paper gives 16 bodies of 0.003 kg and 250 N m of ``bending_stiffness`` a joint (per rad); its hand is a robot.
    Ours is a carriage that is driven along x at ``speed`` [m/s], a slide up and down and a wrist, both held by springs
    that yield; the first segment is welded to it. Sizes and friction are ours: segment_length and side of the square
    section [m]; the hole, ``depth`` [m] deep, is wider by ``clearance`` above and below and by twice that at the sides;
    at its mouth the ceiling slopes, and bends the beam down into it. Floor and ceiling are two rails each. The beam
    must not move by more than about four clearances in a step: contacts are linearised, and where a step is much longer
    than the room at an edge, the edge seems to stand in the way.
    """
    segments = whole_number("beam-insertion", "segments", segments, 2)
    for name, value in (
        ("segment_length", segment_length), ("side", side), ("clearance", clearance), ("depth", depth),
    ):  # fmt: skip
        positive("beam-insertion", name, value)
    if not 0.0 <= offset < FLARE:
        raise InputError(f"beam-insertion: offset is {offset}; the mouth takes from 0 to {FLARE} m")
    scene = Scene()
    scene.add_material("surface", friction)
    scene.add_half_space(material="surface", name="floor")
    add_hole(scene, (0.0, 0.0, HEIGHT), 0.5 * side + clearance, 0.5 * side + 2.0 * clearance, depth)
    start = -MOUTH - GAP - segments * segment_length  # the hole begins at x = 0
    z = HEIGHT + offset
    bodies = add_beam(scene, (start, 0.0, z), segments, segment_length, side, mass, bending_stiffness)
    _add_hand(scene, bodies[0], start, z, speed)
    return scene


def _add_hand(scene: Scene, held: Body, x: float, z: float, speed: float) -> None:
    """Carriage, lift and wrist behind x; the wrist holds a segment."""
    options: dict[str, Any] = {"material": "surface", "colour": HAND}
    carriage = scene.add_box((0.05, 0.05, 0.03), (x - 0.06, 0.0, z + 0.085), mass=0.5, name="carriage", **options)
    lift = scene.add_box((0.025, 0.025, 0.1), (x - 0.06, 0.0, z + 0.03), mass=0.2, name="lift", **options)
    wrist = scene.add_box((0.04, 0.02, 0.02), (x - 0.022, 0.0, z), mass=0.1, name="wrist", **options)
    push = Drive(damping=2000.0, velocity=speed, limit=100.0)
    # the lift carries hand and beam: its spring is set higher by what their weight presses it down
    scene.add_prismatic(None, carriage, (1, 0, 0), drive=push, name="push")
    hold = Drive(stiffness=2000.0, damping=40.0, position=0.35 * 9.81 / 2000.0)
    scene.add_prismatic(carriage, lift, (0, 0, 1), drive=hold, name="lift")
    turn = Drive(stiffness=20.0, damping=0.5)
    scene.add_revolute(lift, wrist, (x - 0.045, 0.0, z), (0, 1, 0), drive=turn, name="wrist")
    scene.add_fixed(wrist, held, (x, 0.0, z), name="grip")


def add_beam(
    scene: Scene, start: ArrayLike, segments: int, length: float, side: float, mass: float, stiffness: float,
    handle: tuple[float, str] | None = None,
) -> list[Body]:  # fmt: skip
    """Add a beam of boxes along x from ``start`` (3,) [m] on; ball joints with a bending stiffness [N m/rad] between.

    length, side [m] and mass [kg]: of a segment. handle: length [m] and material of the first one, where they differ.
    """
    rear, gripped = handle or (length, "surface")
    ends = np.asarray(start, dtype=np.float64) + np.outer(
        [0.0, *(rear + i * length for i in range(segments))], (1, 0, 0)
    )
    bodies = [
        scene.add_box(
            (length if i else rear, side, side), 0.5 * (ends[i] + ends[i + 1]),
            mass=mass, material="surface" if i else gripped, colour=BEAM[i % 2], name=f"segment-{i}",
        )
        for i in range(segments)
    ]  # fmt: skip
    for i in range(segments - 1):
        place = ends[i + 1]
        scene.add_ball(bodies[i], bodies[i + 1], place, bending_stiffness=stiffness, name=f"joint-{i}")
    return bodies


def add_hole(scene: Scene, at: ArrayLike, height: float, width: float, depth: float) -> None:
    """Static rails and walls about an axis along x, from the mouth before ``at`` (3,) [m] to ``depth`` behind it.

    height, width: half of the clear sides [m].
    """
    origin = np.asarray(at, dtype=np.float64)
    length = MOUTH + depth
    middle = 0.5 * (depth - MOUTH)
    inner, outer = 0.001, width + WALL
    parts: list[Placed] = []
    for s in (-1, 1):
        rail = Box((length, outer - inner, WALL))
        parts.append(placed(rail, origin + [middle, 0.5 * s * (inner + outer), -height - 0.5 * WALL]))
        wall = Box((length, WALL, 2.0 * height))
        parts.append(placed(wall, origin + [middle, s * (width + 0.5 * WALL), 0.0]))
    scene.add_compound(parts, kind="static", material="surface", colour=HOLE, name="hole")
    # one convex piece from the slope to the end: a seam would catch the beam
    top = height + WALL
    section = [(-MOUTH, height + FLARE), (0.0, height), (depth, height), (depth, top), (-MOUTH, top)]
    rails = [
        placed(Hull(origin + np.array([(x, s * y, z) for x, z in section for y in (inner, outer)]))) for s in (-1, 1)
    ]
    scene.add_compound(rails, kind="static", material="surface", colour=CEILING, name="ceiling")


class Insertion(JointError):
    """How the beam went in.

    ``inserted_m``: depth of the middle of the tip's face in the hole, at the end; ``bending_max_rad``: largest angle
    between neighbours in the run; ``contacts_max``; ``joint_error_max_m``.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        super().__init__(sim)
        names = sim.model.body_names
        self.segments = [i for i, name in enumerate(names) if name.startswith("segment-")]
        self.half = 0.5 * float(parameters["segment_length"])
        self.depth = math.nan
        self.bending = 0.0
        self.contacts = 0

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of depth, angles and contacts."""
        super().observe(sim, result)
        q = result.state.body_pose[self.segments]
        # the tip's face is half a segment before its centre, along its own x
        y, z = q[-1, 5:]
        self.depth = float(q[-1, 0] + self.half * (1.0 - 2.0 * (y * y + z * z)))
        for before, behind in zip(q[:-1, 3:], q[1:, 3:], strict=True):
            angle = np.linalg.norm(rotation_vector(multiply(conjugate(before), behind)))
            self.bending = max(self.bending, float(angle))
        self.contacts = max(self.contacts, result.certificate.contacts)

    def values(self) -> Values:
        """The four values above."""
        return {
            "inserted_m": self.depth,
            "bending_max_rad": self.bending,
            "contacts_max": float(self.contacts),
            **super().values(),
        }
