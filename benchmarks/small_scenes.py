"""Scenes of bench_small.py: those of the package, mechanisms and robots that both engines read, an arm with a hand."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from small_robots import DT as ROBOT_DT
from small_robots import ROBOTS
from small_twins import mjcf
from stickslip import Scene, Simulation
from stickslip.errors import InputError
from stickslip.scene.joint import Drive
from stickslip.scene.scene import Body
from stickslip.scenes.running import prepare
from stickslip.solvers.registry import make_solver

GALLERY: dict[str, tuple[str, dict[str, Any]]] = {
    "box": ("box-slope", {}),
    "heavy-stack": ("heavy-stack", {}),
    "arch": ("arch", {"voussoirs": 23}),
    "wall": ("wall", {"courses": 9, "bricks": 9, "torsion": 0.0, "solver.tolerance": 1e-8}),
    "four-bar-bodies": ("four-bar", {}),
    "chain-bodies": ("chain", {}),
}
"""Scenes of the package, by their names here, and their settings."""
AS_ROBOTS = {"four-bar": "four-bar", "chain": "chain"}
"""Scenes of the package that both engines read as a robot; small_twins.py says which joints of MuJoCo's are damped."""
TOLERANCE = {"humanoid": 1e-6, "humanoid-worlds": 1e-6}
"""Of the solver, where it is not the default."""
HINGES_DT = 0.002
ARM_LENGTHS = (0.16, 0.17, 0.16, 0.16, 0.19, 0.19, 0.10)
ARM_MASSES = (3.0, 3.0, 2.5, 2.5, 2.0, 1.5, 0.5)
FINGER_LENGTHS = (0.020, 0.054, 0.038, 0.027)
FINGER_MASSES = (0.02, 0.065, 0.036, 0.026)


class Subject(NamedTuple):
    """A scene of this benchmark, ready to step."""

    sim: Simulation
    text: str
    """MJCF of MuJoCo's."""
    rigid_joints: bool


def subject(name: str, solver: str, driver: str = "auto") -> Subject:
    """A scene by its name; ``driver``: "python", "compiled", or "auto": the compiled one where it can."""
    if name in GALLERY:
        entry, settings = GALLERY[name]
        run = prepare(entry, solver, settings)
        scene, given = run.entry.build(**run.parameters), run.sim
        text = mjcf(scene, given.stepping.dt)
    elif name in AS_ROBOTS:
        run = prepare(AS_ROBOTS[name], solver)
        bodies, dt = run.entry.build(**run.parameters), run.sim.stepping.dt
        scene, text = from_text(mjcf(bodies, dt, ball_damping=0.0)), mjcf(bodies, dt)
        given = Simulation(scene, dt, make_solver(solver), driver="python")
    elif name in ROBOTS:
        text = ROBOTS[name]()
        scene, options = from_text(text), {"tolerance": TOLERANCE[name]} if name in TOLERANCE else {}
        given = Simulation(scene, ROBOT_DT, make_solver(solver, **options), driver="python")
    else:
        scene = arm_and_hand()
        given, text = Simulation(scene, HINGES_DT, make_solver(solver), driver="python"), mjcf(scene, HINGES_DT)
    jointed = bool(given.model.joints.count)
    if driver != "python":
        try:
            return Subject(
                Simulation(given.model, None, given.solver, given.stepping, driver="compiled"), text, jointed
            )
        except InputError as error:  # it says what the compiled driver does not take
            if driver == "compiled":
                raise
            print(f"{name}: {error}", file=sys.stderr)
    return Subject(Simulation(given.model, None, given.solver, given.stepping, driver="python"), text, jointed)


def from_text(text: str) -> Scene:
    """A scene of a robot."""
    scene = Scene()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "robot.xml"
        file.write_text(text)
        robot = scene.add_robot(file)
    if robot.report.warnings:
        sys.exit(f"{robot.name}: not all of it was understood: {robot.report.warnings}")
    return scene


def arm_and_hand() -> Scene:
    """An arm of seven links, the last of which is a palm with four fingers of four links; all 23 hinges are driven.

    It starts upright and at rest, and its drives aim at another pose; nothing touches.
    """
    scene = Scene()
    scene.add_half_space(name="floor")
    height, above, hinges = 0.2, None, 0
    for length, mass in zip(ARM_LENGTHS, ARM_MASSES, strict=True):
        palm = hinges == len(ARM_LENGTHS) - 1
        middle, name = (0.0, 0.0, height + 0.5 * length), f"arm-{hinges}"
        if palm:
            link = scene.add_box((0.04, 0.12, length), middle, mass=mass, name=name)
        else:
            link = scene.add_capsule(0.05, length - 0.1, middle, mass=mass, name=name)
        # twist and bend in turn
        axis = (0.0, 0.0, 1.0) if hinges % 2 == 0 else (0.0, 1.0, 0.0)
        drive = Drive(stiffness=400.0, damping=40.0, position=0.4 * (-1.0) ** (hinges // 2))
        scene.add_revolute(above, link, (0.0, 0.0, height), axis, drive=drive, name=f"hinge-{name}")
        height, above, hinges = height + length, link, hinges + 1
    assert above is not None
    for finger, y in enumerate((-0.045, -0.015, 0.015, 0.045)):
        _finger(scene, above, finger, np.array([0.0, y, height]))
    return scene


def _finger(scene: Scene, palm: Body, finger: int, root: np.ndarray) -> None:
    """A finger that stands on the palm at ``root`` (3,) [m]: its first hinge spreads it, the others bend it."""
    above = palm
    for k, (length, mass) in enumerate(zip(FINGER_LENGTHS, FINGER_MASSES, strict=True)):
        up = np.array([0.0, 0.0, length])
        link = scene.add_capsule(0.009, length - 0.018, root + 0.5 * up, mass=mass, name=f"finger-{finger}-{k}")
        axis, aim = ((1.0, 0.0, 0.0), 0.05 * (1.5 - finger)) if k == 0 else ((0.0, 1.0, 0.0), 0.5)
        drive = Drive(stiffness=1.0, damping=0.05, position=aim)
        scene.add_revolute(above, link, root, axis, drive=drive, name=f"hinge-finger-{finger}-{k}")
        root, above = root + up, link
