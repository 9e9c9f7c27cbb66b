"""A Fetch robot pushes a flexible beam into a hole, [macklin2019] sec. 10.1.2 and Fig. 7."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.geometry import rotation as rotations
from stickslip.names import shown
from stickslip.scene.scene import Body, Scene
from stickslip.scenes.beam import FLARE, GAP, MOUTH, Insertion, add_beam, add_hole
from stickslip.scenes.fetch_arm import FetchArm, Waypoint, fetch_robot, parts_of, with_hand_at
from stickslip.scenes.joint_metrics import joint_named
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.scenes.robots.parts import turned
from stickslip.simulation import Simulation, StepResult

HOLE = np.array([0.98, 0.0, 0.85])
"""[m] where the hole begins, before the robot."""
DEPTH = 0.24
"""[m] of the hole."""
PADS = 0.062
"""[m] length of the pads of the fingers, between which the rear of the beam is."""
HOLDS = ("joint", "friction")
HANDLE, REAR = 0.066, 0.003
"""[m] of the rear segment, and how far before the rear of the pads it begins. It reaches beyond them: if the next one
touched them, or its rear the palm, too, they would be jammed."""
LENGTH, SIDE, CLEARANCE = 0.016, 0.01, 0.0005
"""[m] of a segment and of its square section; of the hole above and below it, twice that at its sides."""
FORWARDS = np.array(turned())
"""Of the gripper: its x axis, along the fingers, points into the hole."""
SEEN = 4
"""Steps from one look at contact forces to the next: the compiled driver leaves steps that are looked into to the
Python driver."""
RESTS, PUSHED, STILL = 0.4, 2.4, 2.7
"""[s] when the hand begins to push, when the beam is in, and from which on its tip should not move."""


def fetch_beam(
    segments: int = 16, mass: float = 0.003, bending_stiffness: float = 250.0, offset: float = 0.004,
    depth: float = 0.16, friction: float = 0.2, hold: str = "joint", grip: float = 0.8, robot: str = "fetch",
) -> Scene:  # fmt: skip
    """A robot holds a beam of ``segments`` boxes in its fingers and pushes it ``depth`` [m] deep into a square hole.

    The paper gives 16 bodies of 0.003 kg (``mass``) and 250 N m/rad of ``bending_stiffness`` a joint, and 42 bodies
    in all: ours are 25 links of the robot, 16 segments and the hole, that of ``beam-insertion``. The hand begins
    ``offset`` [m] above the axis of the hole, whose ceiling slopes at its mouth and bends the beam down; the hand comes
    down to the axis while it pushes. hold: "joint", a fixed one in the gripper, or "friction" of the fingers alone, on
    a rear segment that is as long as their pads. friction, grip: Coulomb coefficients in the hole and of the fingers;
    robot: "fetch", or the manufacturer's file.
    """
    segments = whole_number("fetch-beam", "segments", segments, 6)
    for name, value in (
        ("mass", mass), ("bending_stiffness", bending_stiffness), ("depth", depth), ("grip", grip),
    ):  # fmt: skip
        positive("fetch-beam", name, value)
    if not 0.0 <= offset < FLARE:
        raise InputError(f"fetch-beam: offset is {offset}; the mouth takes from 0 to {FLARE} m")
    if hold not in HOLDS:
        raise InputError(f"fetch-beam: hold is {shown(hold)}; it must be one of {', '.join(HOLDS)}")
    most = free_length(segments, hold) - MOUTH - GAP
    if depth > min(most, DEPTH):
        raise InputError(f"fetch-beam: depth is {depth} m; the free end of the beam reaches {min(most, DEPTH):.3g} m")
    scene = Scene()
    scene.add_material("surface", friction)
    scene.add_material("handle", grip)
    scene.add_half_space(material="surface", name="floor")
    start = hand_start(segments, offset, hold)
    record = fetch_robot("fetch-beam", robot, grip if hold == "friction" else friction)
    record = with_hand_at("fetch-beam", record, start, FORWARDS, 0.5 * SIDE)
    hand = scene.add_tree(record)
    _add_stand(scene)
    add_hole(scene, HOLE, 0.5 * SIDE + CLEARANCE, 0.5 * SIDE + 2.0 * CLEARANCE, DEPTH)
    if hold == "friction":
        rear = start - [0.5 * PADS - REAR, 0.0, 0.0]
        add_beam(scene, rear, segments, LENGTH, SIDE, mass, bending_stiffness, handle=(HANDLE, "handle"))
        return scene
    beam = add_beam(scene, start - [0.5 * PADS, 0.0, 0.0], segments, LENGTH, SIDE, mass, bending_stiffness)
    parts = parts_of("fetch-beam", record)
    held = beam[: math.ceil(PADS / LENGTH)]
    for finger in parts.fingers:
        for segment in held:
            scene.ignore_collision(hand.link(finger), segment)
    scene.add_fixed(hand.link(parts.hand), held[len(held) // 2], start, name="grip")
    return scene


def free_length(segments: int, hold: str) -> float:
    """[m] of the beam before the fingers, or behind its rear segment where they hold that."""
    return (segments - 1) * LENGTH if hold == "friction" else segments * LENGTH - PADS


def reach(segments: int, hold: str) -> float:
    """[m] from the middle of the pads to the tip."""
    before = HANDLE + REAR - 0.5 * PADS if hold == "friction" else 0.5 * PADS
    return free_length(segments, hold) + before


def hand_start(segments: int, offset: float, hold: str) -> Array:
    """(3,) [m] of the middle of the pads at the start: the tip of the beam is GAP before the mouth of the hole."""
    return HOLE + [-MOUTH - GAP - reach(segments, hold), 0.0, offset]


def _add_stand(scene: Scene) -> None:
    """What the hole is fixed on."""
    dark, low = (0.30, 0.33, 0.38), HOLE[2] - 0.022
    for size, x, z in (((0.24, 0.16, 0.02), 0.12, low - 0.01), ((0.08, 0.08, low - 0.05), 0.12, 0.5 * low + 0.005),
                       ((0.30, 0.30, 0.03), 0.12, 0.015)):  # fmt: skip
        scene.add_box(
            size, (HOLE[0] + x, 0.0, z), kind="static", material="surface", colour=dark, name=f"stand-{z:.2f}"
        )


class Pushed(Insertion):
    """Leads the arm, and measures how the beam goes in.

    Those of an insertion: ``inserted_m``, ``bending_max_rad``, ``contacts_max``, ``joint_error_max_m``.
    Forces are those of every fourth step (``seen``). ``bodies``: links, segments and the hole; ``hole_force_max_N``:
    largest sum of the normal and friction forces of the hole on the beam; ``hole_force_end_N``: at the end;
    ``push_max_N``: its largest part against the push; ``wrist_force_max_N``: largest force of the joint or of both
    fingers on the beam, which carries its weight, too; ``slip_mm``: largest displacement of the beam in the hand;
    ``creep_um_per_s``: mean speed of its tip while the hand is held still, from STILL on; ``slip_um_per_s``: that of
    its rear in the hand; ``converged``: share of the steps that did.
    """

    seen = SEEN
    """Steps from one look at contact forces to the next."""

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        super().__init__(sim, {"segment_length": LENGTH})
        self.arm = FetchArm(sim, "fetch-beam")
        segments, hold = int(parameters["segments"]), parameters["hold"]
        start = hand_start(segments, parameters["offset"], hold)
        end = HOLE + [parameters["depth"] - reach(segments, hold), 0.0, 0.0]
        self.arm.plan(
            sim,
            [
                Waypoint(RESTS, tuple(start), FORWARDS, 0.0), Waypoint(PUSHED, tuple(end), FORWARDS, 0.0),
                Waypoint(STILL + 1.0, tuple(end), FORWARDS, 0.0),
            ],
        )  # fmt: skip
        names = sim.model.body_names
        self.walls = [Body(names.index(name), name) for name in ("hole", "ceiling")]
        self.held = Body(self.segments[0], names[self.segments[0]])
        self.grip = joint_named(sim, "grip") if hold == "joint" else None
        self.inside, self.slip = self._inside(sim), 0.0
        self.bodies = len(self.arm.robot.record.links) + len(self.segments) + 1
        self.course: list[tuple[float, float, float, float, float, int]] = []
        """Of steps looked into: time [s], forces of the hole on the beam (x, y, z) and of the hand [N], contacts."""
        self.still: tuple[float, Array, Array] | None = None
        self.creep, self.slipping = math.nan, math.nan
        self.steps, self.converged = 0, 0
        self.arm.lead(sim)

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of the step, and say where the arm shall be at the end of the next one."""
        super().observe(sim, result)
        now = result.state.time
        self.steps += 1
        self.converged += result.certificate.converged
        if (self.steps - 1) % self.seen == 0:
            self._see_forces(sim, now, result.certificate.contacts)
        inside = self._inside(sim)
        self.slip = max(self.slip, 1e3 * float(np.linalg.norm(inside - self.inside)))
        if now > STILL:
            tip = result.state.body_pose[self.segments[-1], :3].copy()
            if self.still is None:
                self.still = now, tip, inside
            else:
                since, there, before = self.still
                self.creep = 1e6 * float(np.linalg.norm(tip - there)) / (now - since)
                self.slipping = 1e6 * float(np.linalg.norm(inside - before)) / (now - since)
        self.arm.lead(sim)

    def _see_forces(self, sim: Simulation, now: float, contacts: int) -> None:
        force = -sum((sim.contacts(wall).total_force for wall in self.walls), np.zeros(3))
        x, y, z = force.tolist()
        if self.grip is not None:
            held = sim.joint_force(self.grip)[0]
        else:
            held = sum((sim.contacts(self.held, each).total_force for each in self.arm.fingers), np.zeros(3))
        self.course.append((now, x, y, z, float(np.linalg.norm(held)), contacts))

    def _inside(self, sim: Simulation) -> Array:
        """(3,) [m] the rear of the beam in the frame of the hand."""
        at, turn = self.arm.hand_pose(sim)
        return np.asarray(rotations.matrix(turn).T @ (sim.state.body_pose[self.segments[0], :3] - at))

    def values(self) -> Values:
        """The values above."""
        table = np.array(self.course).reshape(-1, 6)
        force = np.linalg.norm(table[:, 1:4], axis=1)
        return {
            **super().values(),
            "inserted_m": self.depth - float(HOLE[0]),
            "bodies": float(self.bodies),
            "hole_force_max_N": float(force.max(initial=0.0)),
            "hole_force_end_N": float(force[-1]) if len(force) else math.nan,
            "push_max_N": float(np.max(-table[:, 1], initial=0.0)),
            "wrist_force_max_N": float(np.max(table[:, 4], initial=0.0)),
            "slip_mm": self.slip,
            "creep_um_per_s": self.creep,
            "slip_um_per_s": self.slipping,
            "converged": self.converged / max(self.steps, 1),
        }
