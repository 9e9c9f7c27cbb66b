"""Calls with values of the wrong kind: each is refused in our words, and what is accepted can be stepped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stickslip import Body, InputError, Scene, Simulation, State, Stepping, TetMesh, elastic, tet_generators
from stickslip.contact.problem import from_delassus
from stickslip.io.problem_file import load_problem
from stickslip.io.recording import Recorder, read_recording
from stickslip.model.memory import Memory
from stickslip.scenes.parameters import fitted
from stickslip.solvers.registry import make_solver


@pytest.fixture
def sim() -> Simulation:
    scene = Scene()
    scene.add_half_space()
    scene.add_sphere(0.1, (0, 0, 0.0999), name="ball")
    return Simulation(scene, dt=0.01)


BALL = Body(1, "ball")
CALLS: dict[str, Callable[[Simulation, Path], Any]] = {
    "restore nothing": lambda sim, tmp: sim.restore(None),
    "restore a text": lambda sim, tmp: sim.restore("state"),
    "stepping as a text": lambda sim, tmp: Simulation(sim.model, stepping="euler"),
    "a model as a text": lambda sim, tmp: Simulation("scene"),
    "force on nobody": lambda sim, tmp: sim.set_force(None, (0, 0, 1)),
    "velocity of a name": lambda sim, tmp: sim.set_velocity("ball", (0, 0, 1)),
    "pose of a handle with a float": lambda sim, tmp: sim.set_pose(Body(1.0, "ball"), (0, 0, 1)),
    "contacts with an array": lambda sim, tmp: (sim.step(), sim.contacts(BALL, np.zeros(3))),
    "slop of nothing": lambda sim, tmp: Stepping(slop=None),
    "scheme as a list": lambda sim, tmp: Stepping(scheme=["euler"]),
    "a step of 1e308": lambda sim, tmp: Stepping(dt=1e308),
    "a step of 1e308 in the simulation": lambda sim, tmp: Simulation(sim.model, dt=1e308),
    "a motion as a text": lambda sim, tmp: Scene().add_sphere(0.1, kind="kinematic", motion="x"),
    "a radius as a text": lambda sim, tmp: Scene().add_sphere("1"),
    "a radius of 400 digits": lambda sim, tmp: Scene().add_sphere(10**400),
    "a position with 400 digits": lambda sim, tmp: Scene().add_sphere(1.0, (10**400, 0, 0)),
    "a mass of 1e300": lambda sim, tmp: Scene().add_sphere(0.1, mass=1e300),
    "a ragged velocity": lambda sim, tmp: Scene().add_sphere(0.1, velocity=[1, [2], 3], kind="static"),
    "parts as a number": lambda sim, tmp: Scene().add_body(3),
    "a hull in file 1": lambda sim, tmp: Scene().add_hull(file=1),
    "a mesh in file b''": lambda sim, tmp: Scene().add_mesh(file=b""),
    "a name with an escape sequence": lambda sim, tmp: Scene().add_sphere(0.1, name="\x1b[2J"),
    "a material that is a list": lambda sim, tmp: Scene().add_sphere(0.1, material=["ice"]),
    "W of texts": lambda sim, tmp: from_delassus([["a"]], [1.0], [0.5]),
    "W of nothing": lambda sim, tmp: from_delassus(None, [1.0] * 3, [0.5]),
    "W of objects": lambda sim, tmp: from_delassus(np.eye(3, dtype=object), [1.0] * 3, [0.5]),
    "mu of texts": lambda sim, tmp: from_delassus(np.eye(3), [1.0] * 3, ["0.5"]),
    "q with a gap": lambda sim, tmp: from_delassus(np.eye(3), [1.0, [2.0], 3.0], [0.5]),
    "a recorder of no file": lambda sim, tmp: Recorder(None, sim),
    "a recorder of no simulation": lambda sim, tmp: Recorder(tmp / "a.h5", None),
    "every as a text": lambda sim, tmp: Recorder(tmp / "a.h5", sim, every="2"),
    "every as a fraction": lambda sim, tmp: Recorder(tmp / "a.h5", sim, every=1.5),
    "a state of no file": lambda sim, tmp: State.load(None),
    "a state saved to 1": lambda sim, tmp: sim.state.save(1),
    "a recording of no file": lambda sim, tmp: read_recording(None),
    "a problem of no file": lambda sim, tmp: load_problem(b"file"),
    "steps as a text": lambda sim, tmp: sim.run("3"),
    "a callback that is no function": lambda sim, tmp: sim.run(1, "callback"),
    "a solver that is a list": lambda sim, tmp: make_solver(["auto"]),
    "iterations of 400 digits": lambda sim, tmp: make_solver("nsgs", max_iterations=10**400),
    "a tolerance as a text": lambda sim, tmp: make_solver("nsgs", tolerance="1e-8"),
    "a setting of 400 digits": lambda sim, tmp: fitted("scene", {"height": 1.0}, {"height": 10**400}),
    "nodes of objects": lambda sim, tmp: TetMesh(np.array([[None] * 3] * 4), [[0, 1, 2, 3]]),
    "a mesh of 10^18 elements": lambda sim, tmp: tet_generators.box((1, 1, 1), 10**6),
    "young as a text": lambda sim, tmp: elastic("1e5", 0.3),
    "a model of elasticity that is an array": lambda sim, tmp: elastic(1e5, 0.3, model=np.zeros(2)),
}


@pytest.mark.parametrize("call", CALLS)
def test_calls_are_refused_in_our_words(call: str, sim: Simulation, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        CALLS[call](sim, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("memory", None, "memory is None; that of a state is needed"),
        ("memory", Memory(np.zeros((0, 2)), np.zeros((0, 4))), "memory_key is an array of float64; one of int64 is"),
        ("layout", None, "layout is None; that of the model is needed"),
        ("joint_broken", np.zeros(0), "joint_broken is an array of float64; one of bool is needed"),
        ("q", [0.0] * 14, "q is .*; an array of float64 is needed"),
        ("v", np.zeros(12, dtype=np.float32), "v is an array of float32"),
        ("time", None, "time is None; it must be a number"),
        ("steps", 1.5, "steps is 1.5; it must be a whole number"),
        ("v", np.full(12, 1e200), "v has an entry of the size 1e\\+200; it must be at most"),
    ],
)
def test_states_are_restored_in_their_types(sim: Simulation, name: str, value: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        sim.restore(replace(sim.state, **{name: value}))
    sim.step()


def test_states_of_another_order_in_memory_are_restored(sim: Simulation) -> None:
    sim.run(3)
    before = sim.state
    sim.run(2)
    after = sim.state.digest()
    sim.restore(before.with_parts(body_pose=np.asfortranarray(before.body_pose)))
    assert sim.state.body_pose.flags.c_contiguous
    assert sim.run(2).digest() == after
