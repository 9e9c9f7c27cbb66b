"""The scene ball-grip in stickslip and in Drake: drake.py --only ball.

Same mesh, material, masses, boxes, drives and step of 10 ms. In Drake the palm slides along z, driven with stiffness
and damping of the scene's arm, whose other five directions are held; fingers slide on it with implicit PD drives.
Drake's relaxation time of contacts is 0.5 s a side instead of 0.1 s: with the latter the ball leaves the fingers and
returns, every fourth step, grip forces go from 0 to 140 N, and the ball is lost in 1.2 s.

Overlap is the deepest that a node is within a finger or the table, measured alike for both. Errors are those of
[lee2023]: the norm of the internal forces of all nodes, and the grip force, against stickslip's exact law to 1e-8 at
the same step, mean over steps; internal forces come from the nodes, by stickslip, for both.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from drake_bodies import deformable, properties
from stickslip import Simulation
from stickslip.arrays import Array
from stickslip.scene.scene import Body
from stickslip.scene.soft_body import SoftBody
from stickslip.scenes.ball_grip import (
    ARM_DAMPING,
    ARM_STIFFNESS,
    CLEARANCE,
    CLOSING_DAMPING,
    FINGER,
    FINGER_MASS,
    LIFT,
    LIFTED,
    PALM,
    PALM_MASS,
    ball_grip,
)
from stickslip.scenes.courses import smooth_step
from stickslip.scenes.running import prepare

RELAXATION = 0.5
"""[s] of each side of a contact in Drake."""
BALL = SoftBody(0, "ball")
FINGERS = ("finger-left", "finger-right")
SOLVERS: dict[str, tuple[str, dict[str, Any]]] = {
    "stickslip auto": ("auto", {"solver.tolerance": 1e-8}),
    "stickslip sap": ("sap", {}),
    "cond, 1e-5": ("cond", {"solver.criterion": "step", "solver.tolerance": 1e-5}),
    "cond, 1e-4": ("cond", {"solver.criterion": "step", "solver.tolerance": 1e-4}),
}
"""The reference, which is first, and what is compared; `cond` with the threshold of [lee2023] [m/s], and with one at
which overlap and errors of forces are below Drake's."""
COLUMNS = (
    "engine", "unknowns", "ms", "ms_held", "contacts", "iterations", "overlap_mm", "overlap_max_mm",
    "grip_N", "grip_error_N", "internal_N", "internal_error_N", "converged",
)  # fmt: skip


@dataclass
class Course:
    """What an engine did, step by step."""

    seconds: list[float] = field(default_factory=list)
    contacts: list[int] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)
    overlap: list[float] = field(default_factory=list)
    grip: list[float] = field(default_factory=list)
    internal: list[float] = field(default_factory=list)
    converged: list[bool] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)
    """[ms] of wall time a step, by stage."""


def rows(quick: bool, with_drake: bool, folder: Path) -> Iterator[dict[str, Any]]:
    """Rows of the table, as they are measured."""
    settings, steps = {"divisions": 4 if quick else 7}, 60 if quick else 130
    reference: Course | None = None
    for label, (solver, options) in SOLVERS.items():
        course = ours(settings, solver, options, steps)
        reference = reference or course
        yield _row(label, course, reference, settings)
    if with_drake and reference is not None:
        yield _row("drake sap", drakes(settings, steps, folder), reference, settings)


def ours(settings: dict[str, Any], solver: str, options: dict[str, Any], steps: int) -> Course:
    """The scene in stickslip."""
    prepare("ball-grip", solver, {**settings, **options}).sim.run(3)  # loads kernels
    sim = prepare("ball-grip", solver, {**settings, **options}).sim
    fingers = [Body(sim.model.body_names.index(name), name) for name in FINGERS]
    course, stages = Course(), []
    for _ in range(steps):
        start = time.process_time()
        result = sim.step()
        course.seconds.append(time.process_time() - start)
        stages.append(result.timings)
        forces = [sim.contacts(BALL, finger).total_force for finger in fingers]
        _note(course, sim, [sim.position(finger) for finger in fingers], forces, result.certificate.contacts)
        course.iterations.append(result.solution.iterations)
        course.converged.append(result.solution.status == "converged")
    course.timings = {name: 1e3 * float(np.mean([each[name] for each in stages])) for name in stages[0]}
    return course


def drakes(settings: dict[str, Any], steps: int, folder: Path) -> Course:
    """The scene in Drake."""
    from pydrake.geometry import Box
    from pydrake.math import RigidTransform
    from pydrake.multibody.plant import AddMultibodyPlant, MultibodyPlantConfig
    from pydrake.multibody.tree import (
        FixedOffsetFrame,
        PdControllerGains,
        PrismaticJoint,
        SpatialInertia,
        default_model_instance,
    )
    from pydrake.systems.analysis import Simulator
    from pydrake.systems.framework import DiagramBuilder

    parameters = prepare("ball-grip", "auto", settings).parameters
    scene, dt = ball_grip(**settings), 0.01
    place = {body.name: np.asarray(body.position) for body in scene.bodies}
    surface = properties(True, float(parameters["friction"]), RELAXATION)
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlant(MultibodyPlantConfig(time_step=dt, discrete_contact_approximation="sap"), builder)
    below = RigidTransform([0.0, 0.0, -0.5])
    plant.RegisterCollisionGeometry(plant.world_body(), below, Box(4.0, 4.0, 1.0), "table", surface)

    def driven(name: str, base: Any, body: Any, axis: list[float], stiffness: float, damping: float) -> Any:
        joint = plant.AddJoint(PrismaticJoint(name, base, body.body_frame(), axis))
        plant.AddJointActuator(name, joint).set_controller_gains(PdControllerGains(p=stiffness, d=damping))
        return joint

    palm = plant.AddRigidBody("palm", SpatialInertia.SolidBoxWithMass(PALM_MASS, *PALM))
    arm = driven("arm", plant.world_body().body_frame(), palm, [0.0, 0.0, 1.0], ARM_STIFFNESS, ARM_DAMPING)
    fingers = []
    for name, inwards in zip(FINGERS, (1.0, -1.0), strict=True):
        finger = plant.AddRigidBody(name, SpatialInertia.SolidBoxWithMass(FINGER_MASS, *FINGER))
        plant.RegisterCollisionGeometry(finger, RigidTransform(), Box(*FINGER), name, surface)
        offset = FixedOffsetFrame(f"{name}-rail", palm.body_frame(), RigidTransform(place[name] - place["palm"]))
        stiffness = float(parameters["drive_stiffness"])
        driven(f"{name}-slide", plant.AddFrame(offset), finger, [inwards, 0.0, 0.0], stiffness, CLOSING_DAMPING)
        fingers.append(finger)
    model = plant.deformable_model()
    soft = properties(False, float(parameters["friction"]), RELAXATION)
    ball = deformable(model, scene, 0, folder, soft)
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    arm.set_translation(context, place["palm"][2])
    aims = plant.get_desired_state_input_port(default_model_instance())
    squeeze = CLEARANCE + float(parameters["squeeze"])

    def raised(at: float) -> float:
        return float(parameters["lift"]) * smooth_step((at - LIFT) / (LIFTED - LIFT))

    course, reader = Course(), Simulation(scene)
    for k in range(steps):
        end = (k + 1) * dt
        speed = (raised(end) - raised(end - dt)) / dt
        aims.FixValue(context, [place["palm"][2] + raised(end), squeeze, squeeze, speed, 0.0, 0.0])
        start = time.process_time()
        simulator.AdvanceTo(end)
        course.seconds.append(time.process_time() - start)
        found = plant.get_contact_results_output_port().Eval(context)
        infos = [found.deformable_contact_info(i) for i in range(found.num_deformable_contacts())]
        reader.set_node_position(BALL, np.array(model.GetPositions(context, ball).T))
        forces = [info.F_Ac_W().translational() for info in infos]
        sides = [sum((f for f in forces if way * f[0] > 1.0), np.zeros(3)) for way in (1.0, -1.0)]
        poses = [plant.EvalBodyPoseInWorld(context, finger).translation() for finger in fingers]
        _note(course, reader, poses, sides, sum(info.contact_mesh().num_faces() for info in infos))
        course.converged.append(True)  # it stops where it does not
    return course


def _note(course: Course, sim: Simulation, fingers: list[Array], forces: list[Array], count: int) -> None:
    """Overlap [m], grip force [N] and norm of the internal forces [N] after a step."""
    x = sim.nodes(BALL)
    inside = [np.min(0.5 * np.asarray(FINGER) - np.abs(x - finger), axis=1).max() for finger in fingers]
    course.overlap.append(max(0.0, *map(float, inside), -float(x[:, 2].min())))
    course.grip.append(float(np.mean([abs(force[0]) for force in forces])))
    course.internal.append(float(np.linalg.norm(sim.internal_forces(BALL))))
    course.contacts.append(count)


def _row(label: str, course: Course, reference: Course, settings: dict[str, Any]) -> dict[str, Any]:
    """Numbers of a course."""
    nodes = len(ball_grip(**settings).soft_bodies[0].mesh.nodes)
    ms = 1e3 * np.array(course.seconds)

    def error(name: str) -> float:
        return float(np.mean(np.abs(np.subtract(getattr(course, name), getattr(reference, name)))))

    return {
        "case": "ball", "engine": label, "unknowns": 3 * nodes + 18, "ms": float(ms.mean()),
        "ms_held": float(np.median(ms[-25:])), "contacts": course.contacts[-1],
        "iterations": float(np.mean(course.iterations or [np.nan])),
        "overlap_mm": 1e3 * float(np.mean(course.overlap)), "overlap_max_mm": 1e3 * max(course.overlap),
        "grip_N": course.grip[-1], "grip_error_N": error("grip"),
        "internal_N": course.internal[-1], "internal_error_N": error("internal"),
        "converged": float(np.mean(course.converged)), "timings": course.timings,
    }  # fmt: skip
