"""Every robot that is built by code, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from stickslip.keywords import unknown
from stickslip.robots.mounting import mounted
from stickslip.robots.records import RobotRecord
from stickslip.scenes.robots.allegro import WRIST, allegro
from stickslip.scenes.robots.ant import ant
from stickslip.scenes.robots.cart_pole import cart_pole, pendulum
from stickslip.scenes.robots.fetch import fetch
from stickslip.scenes.robots.humanoid import humanoid
from stickslip.scenes.robots.iiwa import iiwa14
from stickslip.scenes.robots.panda import franka_hand, panda
from stickslip.scenes.robots.parallel_gripper import parallel_gripper
from stickslip.scenes.robots.planar_walkers import hopper, walker
from stickslip.scenes.robots.yumi import yumi


@dataclass(frozen=True)
class RobotEntry:
    """A robot that can be asked for by name."""

    name: str
    summary: str
    build: Callable[[], RobotRecord]


def allegro_iiwa() -> RobotRecord:
    """The Allegro hand on the flange of the iiwa 14 (han2023 Fig. 1): 23 joints, fingers along the flange's axis."""
    x, y, z = WRIST
    return mounted(iiwa14(), allegro(), "flange", position=(-x, -y, -z), name="allegro-iiwa")


_ENTRIES = (
    RobotEntry("panda", "Franka Emika Panda: an arm of 7 joints, its hand with 2 fingers", panda),
    RobotEntry("franka-hand", "the hand of the Panda alone", franka_hand),
    RobotEntry("iiwa14", "KUKA LBR iiwa 14 R820: an arm of 7 joints", iiwa14),
    RobotEntry("allegro", "Wonik Allegro hand, right: 4 fingers of 4 joints", allegro),
    RobotEntry("allegro-iiwa", "the Allegro hand on the iiwa 14 (han2023 Fig. 1)", allegro_iiwa),
    RobotEntry("fetch", "Fetch: torso, head, an arm of 7 joints, gripper, on a fixed base (macklin2019)", fetch),
    RobotEntry("yumi", "ABB YuMi: two arms of 7 joints, each with a gripper (macklin2019)", yumi),
    RobotEntry("humanoid", "a humanoid of capsules: 21 hinges and a floating base (macklin2019)", humanoid),
    RobotEntry("ant", "a ball on four legs, with 8 motors", ant),
    RobotEntry("hopper", "one leg in a plane, with 3 motors", hopper),
    RobotEntry("walker", "two legs in a plane, with 6 motors", walker),
    RobotEntry("cart-pole", "a pole on a cart that a motor pushes", cart_pole),
    RobotEntry("pendulum", "a rod on a motor that is too weak to lift it", pendulum),
    RobotEntry("parallel-gripper", "a palm with two fingers that a spindle closes", parallel_gripper),
)
ROBOTS: Mapping[str, RobotEntry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
"""Robots by their name on the command line."""


def find_robot(name: str) -> RobotEntry:
    """The robot of that name, or an InputError that lists them all."""
    if not isinstance(name, str) or name not in ROBOTS:
        raise unknown("robot", name, ROBOTS)
    return ROBOTS[name]
