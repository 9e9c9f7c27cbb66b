"""Environments by name, as they can be listed without gymnasium."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class EnvironmentEntry:
    """An environment that is registered as ``stickslip/NAME-v0``."""

    name: str
    module: str
    """In ``learning.tasks``; it has a ``TASK``."""
    steps: int
    """Of an episode at most."""
    summary: str


_ENTRIES = (
    EnvironmentEntry("CartPole", "cart_pole", 500, "keep a pole upright by pushing its cart"),
    EnvironmentEntry("Pendulum", "pendulum", 200, "swing a rod up with a weak motor"),
    EnvironmentEntry("Hopper", "hopper", 1000, "one leg hops forwards"),
    EnvironmentEntry("Walker2D", "walker2d", 1000, "two legs walk forwards in a plane"),
    EnvironmentEntry("Ant", "ant", 1000, "four legs run forwards"),
    EnvironmentEntry(
        "HumanoidRun", "humanoid_run", 1000, "stand up, run towards a target that moves away (macklin2019 10.1.7)"
    ),
    EnvironmentEntry(
        "YumiCabinet", "yumi_cabinet", 200, "take the handle of a drawer and open it (macklin2019 10.1.7)"
    ),
    EnvironmentEntry("ReachPanda", "reach_panda", 150, "bring the hand of an arm to a point"),
    EnvironmentEntry("PushBox", "push_box", 200, "push a box over a table to its place"),
    EnvironmentEntry("GraspBox", "grasp_box", 150, "lift a box by friction, gently"),
    EnvironmentEntry("SoftGrasp", "soft_grasp", 100, "lift a soft ball gently (Python driver)"),
    EnvironmentEntry("CubeInHand", "cube_in_hand", 300, "turn a cube in the palm of a hand of 16 joints"),
)
ENVIRONMENTS: Mapping[str, EnvironmentEntry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
"""Environments by name."""
