"""What the call attack calls: a target is a call with arguments that are right, in a tiny world of its own.

A call that was accepted is followed by steps in that world.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from stickslip import Drive, Scene, Simulation, TetMesh, elastic
from stickslip.geometry import tet_generators
from stickslip.geometry.tet_files import write_tet_mesh
from stickslip.io.problem_file import save_problem
from stickslip.io.recording import Recorder

Follow = Callable[[Any], object]
"""What is done with what an accepted call returned."""
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) * 0.1
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


@dataclass
class Target:
    """A call with right arguments, and what follows when it is accepted with others."""

    name: str
    call: Callable[..., Any]
    good: dict[str, Any]
    follow: Follow
    fixed: tuple[str, ...] = ()
    """Arguments that stay as they are."""
    refuses: bool = field(default=False)
    """Whether the right arguments are refused, too, as where a file is missing."""


class World:
    """A scene of few bodies and handles of them; rigid with a hinge, or with a soft body."""

    def __init__(self, soft: bool = False) -> None:
        self.scene = scene = Scene()
        scene.add_material("ice", friction=0.1)
        scene.add_material("oak", friction=0.4)
        self.ground = scene.add_half_space()
        self.ball = scene.add_sphere(0.1, (0, 0, 0.0999))
        if soft:
            self.soft = scene.add_soft(cube_mesh(), elastic(1e5, 0.3), (0.3, 0, 0.05))
        else:
            self.box = scene.add_box((0.2, 0.2, 0.2), (0.5, 0, 0.0999))
            self.arm = scene.add_box((0.2, 0.1, 0.1), (1.0, 0, 1))
            self.plate = scene.add_box((0.5, 0.5, 0.1), (3, 0, 0), kind="kinematic", motion=still)
            self.hinge = scene.add_revolute(None, self.arm, axis=(0, 1, 0), drive=Drive(damping=1.0))

    @property
    def sim(self) -> Simulation:
        """The scene after a step."""
        found = Simulation(self.scene, dt=0.01)
        found.step()
        return found


def still(time: float) -> tuple[Any, Any]:
    """A motion that rests."""
    return (3.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)


@cache
def cube_mesh() -> TetMesh:
    """A soft cube of six elements."""
    return tet_generators.box((0.1, 0.1, 0.1), 1)


@cache
def folder() -> Path:
    """A folder that lives as long as the process."""
    kept = TemporaryDirectory(prefix="stickslip-attack-")
    FOLDERS.append(kept)
    return Path(kept.name)


FOLDERS: list[TemporaryDirectory[str]] = []


@cache
def files() -> dict[str, Path]:
    """A recording, a problem, a state and a mesh that are sound."""
    sim = World().sim
    found = {name: folder() / name for name in ("good.h5", "good.npz", "good.state.npz", "good.vtk")}
    with Recorder(found["good.h5"], sim) as record:
        sim.run(2, record)
    assert sim.last is not None
    save_problem(World(soft=True).sim.last.problem, found["good.npz"])  # type: ignore[union-attr]
    sim.state.save(found["good.state.npz"])
    write_tet_mesh(found["good.vtk"], cube_mesh())
    return found


def read_all(sim: Simulation) -> None:
    """Read whatever a simulation tells of its bodies."""
    model = sim.model
    from stickslip import Body, Joint, SoftBody

    for index, name in enumerate(model.body_names):
        body = Body(index, name)
        for read in (sim.position, sim.rotation, sim.centre_of_mass, sim.velocity, sim.angular_velocity, sim.contacts):
            read(body)
    for index, name in enumerate(model.joint_names):
        joint = Joint(index, name)
        for read in (sim.joint_position, sim.joint_velocity, sim.joint_force, sim.joint_broken):
            read(joint)  # type: ignore[operator]
    for index, name in enumerate(model.soft.names):
        soft = SoftBody(index, name)
        for read in (sim.nodes, sim.node_velocities, sim.node_contact_forces, sim.elements, sim.internal_forces):
            read(soft)  # type: ignore[operator]
        for read in (sim.soft_centre, sim.soft_volume, sim.weld_force, sim.contacts):
            read(soft)  # type: ignore[operator]
    sim.joint_error()
    sim.contacts()
    sim.state.digest()


def step_on(sim: Simulation) -> None:
    """Two steps, then read everything, and go back."""
    before = sim.state
    for _ in range(2):
        sim.step()
    read_all(sim)
    sim.restore(before)


def run_scene(scene: Scene) -> None:
    """Compile a scene and step it."""
    step_on(Simulation(scene, dt=0.01))


def keep(_: object) -> None:
    """Nothing follows."""


def add_ball(scene: Any) -> None:
    """Step a scene that still was empty."""
    scene.add_half_space()
    scene.add_sphere(0.1, (0, 0, 0.0999))
    run_scene(scene)
