"""Calls of simulations, shapes, problems, files, views and solvers with arguments that are right, and all targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from call_scenes import body_targets, joint_targets, soft_targets
from call_world import CORNERS, FACES, Target, World, cube_mesh, files, folder, keep, run_scene, step_on

from stickslip import Control, Simulation, State, Stepping, compile_scene, make_solver, placed
from stickslip.contact.block_laws import contact_laws
from stickslip.contact.problem import from_delassus
from stickslip.geometry import shapes
from stickslip.geometry.tet_files import read_tet_mesh, write_tet_mesh
from stickslip.io.problem_file import load_file, load_problem, save_delassus, save_problem
from stickslip.io.recording import Recorder, read_recording
from stickslip.scenes.registry import SCENES, find_scene
from stickslip.scenes.running import prepare
from stickslip.solvers.registry import SOLVERS


def simulation_targets() -> list[Target]:
    """Stepping, simulations of rigid bodies and states."""
    world = World()
    sim, scene = world.sim, world.scene
    stepping = {each.name: each.default for each in fields(Stepping)}
    state = {each.name: getattr(sim.state, each.name) for each in fields(State)}

    def go(_: object) -> None:
        step_on(sim)

    def restored(made: Any) -> None:
        sim.restore(made)
        step_on(sim)

    control = {each.name: getattr(sim.control, each.name) for each in fields(Control)}

    def controlled(made: Any) -> None:
        applied = sim.control
        try:
            sim.restore(sim.state, made)
            step_on(sim)
        finally:
            sim.control = applied

    return [
        Target("Stepping", Stepping, stepping, lambda made: step_on(Simulation(scene, stepping=made))),
        Target(
            "Simulation", Simulation,
            {"scene": scene, "dt": 0.01, "solver": "auto", "stepping": Stepping(slop=1e-8), "driver": "python"},
            step_on,
        ),
        Target("compile_scene", compile_scene, {"scene": scene}, lambda model: step_on(Simulation(model))),
        Target("run", sim.run, {"steps": 1, "callback": keep}, go),
        Target("position", sim.position, {"body": world.ball}, go),
        Target("contacts", sim.contacts, {"body": world.ball, "other": world.ground}, go),
        Target("joint_position", sim.joint_position, {"joint": world.hinge}, go),
        Target("joint_force", sim.joint_force, {"joint": world.hinge}, go),
        Target(
            "set_drive", sim.set_drive, {"joint": world.hinge, "position": 0.1, "velocity": 1.0, "coordinate": 0}, go
        ),
        Target(
            "set_force", sim.set_force,
            {"body": world.ball, "force": (1, 0, 0), "torque": (0, 0, 0), "point": (0, 0, 0)}, go,
        ),
        Target(
            "set_velocity", sim.set_velocity,
            {"body": world.ball, "velocity": (1, 0, 0), "angular_velocity": (0, 0, 1)}, go,
        ),
        Target("set_pose", sim.set_pose, {"body": world.ball, "position": (0, 0, 2), "orientation": (1, 0, 0, 0)}, go),
        Target("set_effort", sim.set_effort, {"joint": world.hinge, "value": 0.1, "coordinate": 0}, go),
        Target("restore", sim.restore, {"state": sim.state, "control": sim.control}, go),
        Target("Control", Control, control, controlled),
        Target("save", sim.save, {"path": folder() / "run.npz"}, go),
        Target("load", sim.load, {"path": files()["good.state.npz"]}, go),
        Target("State", State, state, restored),
        Target("State.save", sim.state.save, {"path": folder() / "state.npz"}, go),
        Target("State.load", State.load, {"path": files()["good.state.npz"]}, keep),
    ]  # fmt: skip


def soft_simulation_targets() -> list[Target]:
    """Simulations with soft bodies."""
    world = World(soft=True)
    sim = world.sim

    def go(_: object) -> None:
        step_on(sim)

    moved = {"body": world.soft, "nodes": [0, 1]}
    return [
        Target("nodes", sim.nodes, {"body": world.soft}, go),
        Target("elements", sim.elements, {"body": world.soft}, go),
        Target("cavity_volume", sim.cavity_volume, {"number": 0}, go, refuses=True),
        Target("set_node_force", sim.set_node_force, {**moved, "force": (0, 0, 1)}, go),
        Target("set_node_velocity", sim.set_node_velocity, {**moved, "velocity": [(0, 0, 1), (0, 0, 0)]}, go),
        Target("set_node_position", sim.set_node_position, {**moved, "position": (0.3, 0, 0.06)}, go),
    ]


def shape_targets() -> list[Target]:
    """Shapes that are made before their body."""

    def go(shape: Any) -> None:
        scene = World().scene
        scene.add_body([shape], (0, 0, 3), kind="static" if isinstance(shape, shapes.HalfSpace) else "dynamic")
        run_scene(scene)

    return [
        Target("Sphere", shapes.Sphere, {"radius": 0.1}, go),
        Target("Capsule", shapes.Capsule, {"radius": 0.1, "length": 0.2}, go),
        Target("Box", shapes.Box, {"size": (0.1, 0.1, 0.1)}, go),
        Target("Cylinder", shapes.Cylinder, {"radius": 0.1, "length": 0.2}, go),
        Target("Hull", shapes.Hull, {"points": CORNERS}, go),
        Target("Mesh", shapes.Mesh, {"vertices": CORNERS, "triangles": FACES, "where": "mesh"}, go),
        Target("placed", placed, {"shape": shapes.Sphere(0.1), "position": (0, 0, 0), "rotation": (1, 0, 0, 0)}, go),
    ]


def problem_targets() -> list[Target]:
    """Problems, solvers by name, and files."""
    problem = from_delassus(np.eye(6), -np.ones(6), [0.5, 0.5])
    known = files()
    rigid = World().sim

    def solved(made: Any) -> None:
        make_solver("nsgs").solve(made)

    def written(record: Any) -> None:
        with record:
            rigid.run(2, record)
        read_recording(record.path).close()

    return [
        Target("from_delassus", from_delassus, {"W": np.eye(6), "q": -np.ones(6), "mu": [0.5, 0.5]}, solved),
        Target("contact_laws", contact_laws, {"mu": [[0.5, 0.5, 0.0]], "rows": 3}, keep, fixed=("rows",)),
        Target(
            "save_problem", save_problem,
            {
                "problem": problem, "path": folder() / "p.npz", "solution": np.zeros(6), "guesses": [np.zeros(6)],
                "title": "t", "description": "d",
            }, keep,
        ),
        Target("save_delassus", save_delassus, {"problem": problem, "path": folder() / "w.npz"}, keep),
        Target("load_problem", load_problem, {"path": known["good.npz"]}, keep),
        Target("load_file", load_file, {"path": known["good.npz"]}, keep),
        Target("read_tet_mesh", read_tet_mesh, {"path": known["good.vtk"], "scale": 1.0, "drop_unused": False}, keep),
        Target("write_tet_mesh", write_tet_mesh, {"path": folder() / "m.vtk", "mesh": cube_mesh()}, keep),
        Target("read_recording", read_recording, {"path": known["good.h5"]}, lambda made: made.close()),
        Target(
            "Recorder", Recorder,
            {
                "path": folder() / "r.h5", "simulation": rigid, "scene_name": "scene", "parameters": {"a": 1},
                "every": 1, "elements": True,
            }, written,
        ),
    ]  # fmt: skip


def view_targets() -> list[Target]:
    """Pictures, pages and scenes by name."""
    from stickslip.view.picture.camera import frame_camera, look_at
    from stickslip.view.picture.picture import render_frame, save_picture
    from stickslip.view.picture.shots import find_body
    from stickslip.view.picture.video import film_frames
    from stickslip.view.player.html_player import write_player

    sim = World().sim
    model, q = sim.model, sim.state.body_pose
    recording = read_recording(files()["good.h5"])
    look = {"azimuth": -60.0, "elevation": 18.0, "zoom": 1.0}
    sized = {"model": model, "q": q, "width": 16, "height": 16}
    return [
        Target("look_at", look_at, {"eye": (1, 1, 1), "target": (0, 0, 0)}, keep),
        Target("frame_camera", frame_camera, {**sized, **look, "nodes": None}, keep, fixed=("model", "q", "nodes")),
        Target(
            "render_frame", render_frame,
            {**sized, **look, "camera": None, "samples": 1, "contacts": None, "nodes": None, "values": None,
             "limits": None, "joints_broken": np.zeros(1, bool), "collision": True},
            keep, fixed=("contacts",),
        ),
        Target(
            "save_picture", save_picture,
            {"picture": np.zeros((9, 9, 3), np.uint8), "path": folder() / "p.png"}, keep,
        ),
        Target("find_body", find_body, {"model": model, "name": "sphere-1"}, keep, fixed=("model",)),
        Target(
            "film_frames", film_frames,
            {"time": np.arange(5) * 0.1, "fps": 30.0, "speed": 1.0, "start": 0.0, "end": 0.3}, keep, fixed=("time",),
        ),
        Target(
            "write_player", write_player,
            {"recording": recording, "path": folder() / "p.html", "fps": 30.0, "start": None, "end": None, "title": "t",
             "colour_by": None, "contacts": True, "collision": False, "autoplay": False}, keep, fixed=("recording",),
        ),
        Target("Recording.contacts", recording.contacts, {"frame": 0}, keep),
        Target("find_scene", find_scene, {"name": "ball-drop"}, keep),
        Target(
            "prepare", prepare, {"name": "ball-drop", "solver": "auto", "settings": {"height": 1.0}, "dt": 0.01},
            lambda made: made.sim.run(2),
        ),
        Target(
            "prepare with settings", lambda **settings: prepare("ball-drop", None, settings),
            SCENES["ball-drop"].defaults(), lambda made: made.sim.run(2),
        ),
    ]  # fmt: skip


def solver_targets() -> list[Target]:
    """Every solver with its options."""
    problem = from_delassus(np.eye(6) + 0.1, -np.ones(6), [0.5, 0.5])
    found = []
    for name, kind in SOLVERS.items():
        options = {each.name: each.default for each in fields(kind) if each.init}
        call = {"name": name, **options}
        found.append(Target(f"make_solver {name}", make_solver, call, lambda made: made.solve(problem)))
    return found


GROUPS: dict[str, tuple[Callable[[], list[Target]], int]] = {
    "bodies": (body_targets, 4), "joints": (joint_targets, 4), "soft": (soft_targets, 4),
    "simulation": (simulation_targets, 4), "soft simulation": (soft_simulation_targets, 2),
    "shapes": (shape_targets, 1),
    "problems": (problem_targets, 2), "views": (view_targets, 1), "solvers": (solver_targets, 1),
}  # fmt: skip
"""What makes the targets of each part of the interface, and how often it is attacked."""
