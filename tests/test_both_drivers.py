"""Both drivers on every scene of the registry that the compiled one takes: the same states and certificates."""

from __future__ import annotations

import numpy as np
import pytest

from stickslip import Simulation
from stickslip.collision.rigid_contacts import FEW
from stickslip.compiled.driver import reason_against
from stickslip.scenes.registry import SCENES
from stickslip.scenes.running import prepare
from stickslip.solvers.registry import make_solver
from test_compiled import same

pytestmark = pytest.mark.slow

TOO_FAST = {"anisotropic-slide", "beam-insertion", "balls-in-cube"}
"""In their first steps bodies move so far that the Python driver must look at what they may have gone through."""
STEPS, STEPS_OF_LARGE = 24, 2
KNOWN = {
    "demo", "box-slope", "box-slide", "anisotropic-slide", "heavy-stack", "mass-ratio", "wall", "tower", "arch",
    "round-arch", "rolling", "ball-drop", "bouncing-ball", "cradle", "spin-down", "tippe-top", "gripper-lift",
    "humanoid", "yumi-cabinet", "beam-insertion", "chain", "four-bar", "rope-bridge", "scale", "balls-in-cube",
    "table-pile", "cable",
}  # fmt: skip
"""Scenes that must not go back to the Python driver without anybody noticing; new ones need not be named."""


def test_all_scenes_that_qualify_have_the_same_bits() -> None:
    """With ``auto``, whatever solver the scene has: no scene is left out by hand."""
    taken = dict[str, int]()
    for name in SCENES:
        given = prepare(name).sim
        if reason_against(given.model, given.stepping, make_solver("auto")):
            continue
        model, stepping = given.model, given.stepping
        plain, fast = (Simulation(model, stepping=stepping, driver=driver) for driver in ("python", "compiled"))
        for sim in (plain, fast):
            sim.restore(given.state, given.control)
        steps = STEPS if len(model.bounded_shapes) <= FEW else STEPS_OF_LARGE
        try:
            taken[name] = sum(same(plain.step(), fast.step()) for _ in range(steps))
        except AssertionError as error:
            raise AssertionError(f"scene {name!r}: drivers differ: {error}") from error
    assert taken.keys() >= KNOWN
    idle = {name for name in KNOWN if not taken[name]}
    assert idle <= TOO_FAST
    assert np.sum([*taken.values()]) > 0.6 * STEPS * len(KNOWN)
