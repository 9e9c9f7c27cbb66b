"""Compile every kernel ahead of use, by stepping tiny scenes that together touch all of them.

Several processes share the work (``python -m stickslip.warmup`` is one of them), and find in the cache what others have
compiled. What two need at the same time both compile: so one begins with the first stage, the next one with the last,
which have little in common.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np

from stickslip import jit
from stickslip.compiled.pairs import pair_table
from stickslip.contact.gallery import mass_ratio, redundant_table
from stickslip.contact.laws import CONTACT
from stickslip.contact.problem import from_delassus
from stickslip.contact.residual import residual
from stickslip.cores import core_count
from stickslip.geometry import tet_generators
from stickslip.geometry.mesh_shapes import BOX_TRIANGLES
from stickslip.geometry.shapes import Sphere, placed
from stickslip.linalg.linear_solution import PARALLEL_ROWS
from stickslip.linalg.linear_solvers import LINEAR_SOLVERS
from stickslip.linalg.preconditioners import PRECONDITIONERS, Parts
from stickslip.linalg.schur_system import schur_system
from stickslip.model.model import compile_scene
from stickslip.model.stepping import Stepping
from stickslip.robots.records import (
    Actuator,
    Connect,
    FixedTendon,
    JointEquality,
    LinkShape,
    RobotRecord,
    TreeJoint,
    TreeLink,
)
from stickslip.scene.joint import Drive, Joint
from stickslip.scene.scene import Body, Scene
from stickslip.scene.soft_body import MODELS, ElasticModel, elastic
from stickslip.simulation import Simulation
from stickslip.solvers.proximal_point import ProximalPoint
from stickslip.solvers.registry import DEFAULT, SOLVERS, make_solver
from stickslip.view.picture.picture import render_frame
from stickslip.worlds.worlds import Worlds

Stage = tuple[str, Callable[[], None]]
"""Its name, and what it does."""
MOST_PROCESSES = 8
"""More would compile the same kernels at the same time."""
LONG = {
    "sphere on half-space": 20.0, "box on half-space": 8.0, "compiled driver": 40.0, "solver newton": 8.0,
    "compiled driver, robots": 30.0, "compiled driver, joints": 40.0, "compiled driver, pairs": 15.0,
    "compiled driver, loops": 60.0,
    "solver implicit": 6.0, "solver sap": 25.0, "solver cond": 20.0, "solver xpbd": 45.0, "joints": 12.0,
    "linear solvers": 15.0, "robots": 20.0, "robots, solver xpbd": 20.0, "soft box on sphere": 18.0, "picture": 5.0,
    "soft bodies on each other": 10.0, "soft box on box, solver xpbd": 14.0, "soft body, picture": 10.0,
}  # fmt: skip
"""Stages that take long from an empty cache, and about how long [s]; others take ``SHORT``. From these comes the time
that is left."""
SHORT = 1.0


@dataclass(frozen=True)
class Progress:
    """How far a warm-up is."""

    done: int
    total: int
    """Stages."""
    under_way: tuple[str, ...]
    """Names of stages."""
    left: float
    """[s] that it will take about."""


Told = Callable[[Progress], None]
"""Sees the progress of a warm-up twice a second."""

DT = 0.002
EDGE = 0.2
CORNERS = [(x, y, z) for z in (-0.1, 0.1) for y in (-0.1, 0.1) for x in (-0.1, 0.1)]
"""In the order that BOX_TRIANGLES numbers."""

SHAPES: dict[str, Callable[[Scene, float], Body]] = {
    "sphere": lambda scene, z: scene.add_sphere(radius=0.5 * EDGE, position=(0.0, 0.0, z)),
    "capsule": lambda scene, z: scene.add_capsule(radius=0.05, length=0.1, position=(0.0, 0.0, z)),
    "box": lambda scene, z: scene.add_box(size=(EDGE, EDGE, EDGE), position=(0.0, 0.0, z)),
    "cylinder": lambda scene, z: scene.add_cylinder(radius=0.1, length=EDGE, position=(0.0, 0.0, z)),
    "hull": lambda scene, z: scene.add_hull(points=CORNERS, position=(0.0, 0.0, z)),
    "mesh": lambda scene, z: scene.add_mesh(CORNERS, BOX_TRIANGLES, position=(0.0, 0.0, z)),
}
"""Adds a body that is EDGE tall, with its centre at height z [m]."""


@dataclass(frozen=True)
class StageReport:
    """One stage of a warm-up: wall time, and where its kernel signatures came from."""

    name: str
    seconds: float
    compiled: int
    loaded: int


@dataclass(frozen=True)
class WarmupReport:
    """What a warm-up did: its stages in order, and the sums over them."""

    stages: tuple[StageReport, ...]
    seconds: float
    """Wall time [s]; processes share the stages, so this is less than the sum of theirs."""

    @property
    def compiled(self) -> int:
        """Kernel signatures that had to be compiled."""
        return sum(stage.compiled for stage in self.stages)

    @property
    def loaded(self) -> int:
        """Kernel signatures that the cache on disk had."""
        return sum(stage.loaded for stage in self.stages)


def warmup(progress: Told | None = None, processes: int | None = None) -> WarmupReport:
    """Step scenes with every pair of shapes, scheme and solver, so that all kernels are compiled and cached.

    processes: that share the work; by default one for each core.
    """
    stages = list(_stages())
    count = min(core_count() if processes is None else processes, MOST_PROCESSES)
    course = _Course([name for name, _ in stages], max(count, 1), progress)
    if count > 1 and sys.executable:
        with _Workers(count, course) as workers:
            workers.work()
    for number in course.left():  # all of them where there is one core; else those at which a process has ended
        course.begins(number)
        course.ends(number, _run(stages[number]))
    return WarmupReport(tuple(course.reports[number] for number in range(len(stages))), course.seconds)


def _run(stage: Stage) -> StageReport:
    """Run a stage in this process."""
    compiled, loaded = _cache_counts()
    start = time.perf_counter()
    stage[1]()
    seconds = time.perf_counter() - start
    compiled_after, loaded_after = _cache_counts()
    return StageReport(stage[0], seconds, compiled_after - compiled, loaded_after - loaded)


class _Course:
    """Which stages are done, and how long the others will take."""

    def __init__(self, names: Sequence[str], processes: int, told: Told | None) -> None:
        self.names, self.processes, self.told = names, processes, told
        self.reports: dict[int, StageReport] = {}
        self.under_way: list[int] = []
        self.start = time.perf_counter()

    @property
    def seconds(self) -> float:
        """[s] since the start."""
        return time.perf_counter() - self.start

    def left(self) -> list[int]:
        """Numbers of the stages that are not done."""
        return [number for number in range(len(self.names)) if number not in self.reports]

    def begins(self, number: int) -> None:
        """A stage begins."""
        self.under_way.append(number)
        self.tell()

    def ends(self, number: int, report: StageReport) -> None:
        """A stage is done."""
        self.under_way.remove(number)
        self.reports[number] = report
        self.tell()

    def tell(self) -> None:
        """Say how far it is."""
        if self.told is not None:
            names = tuple(self.names[number] for number in self.under_way)
            self.told(Progress(len(self.reports), len(self.names), names, self.seconds_left()))

    def seconds_left(self) -> float:
        """[s] for the stages that are not done: what they take as known, at the pace of those that are."""
        cost = [LONG.get(name, SHORT) for name in self.names]
        done = sum(cost[number] for number in self.reports)
        # what was known counts like a fifth of the work, so that the first stages do not decide
        trust = 0.2 * sum(cost)
        pace = (self.seconds + trust / self.processes) / (done + trust)
        return max(sum(cost) - done, 0.0) * pace


class _Workers:
    """Processes that take stages, every other one from the end; they are ended with the block."""

    def __init__(self, count: int, course: _Course) -> None:
        self.course, self.waiting = course, deque(course.left())
        self.lock = threading.Lock()
        self.told: queue.Queue[tuple[int, StageReport | None]] = queue.Queue()
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-m", "stickslip.warmup"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for _ in range(count)
        ]

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def work(self) -> None:
        """Have all stages done, but those at which a process has ended."""
        threads = [threading.Thread(target=self._feed, args=(k,), daemon=True) for k in range(len(self.processes))]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads) or not self.told.empty():
            try:
                number, report = self.told.get(timeout=0.5)
            except queue.Empty:
                self.course.tell()
                continue
            if report is None:
                self.course.begins(number)
            else:
                self.course.ends(number, report)
        self.course.under_way.clear()

    def _feed(self, k: int) -> None:
        """Give process k one stage after the other; a thread of this process."""
        process = self.processes[k]
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            while True:
                with self.lock:
                    if not self.waiting:
                        return
                    number = self.waiting.pop() if k % 2 else self.waiting.popleft()
                self.told.put((number, None))
                print(number, file=process.stdin, flush=True)
                answer = process.stdout.readline()
                if not answer:
                    return
                self.told.put((number, StageReport(**json.loads(answer))))
        except (OSError, ValueError):  # the process has ended; what it was given is done by whoever asked
            return


def _take_stages() -> None:
    """Run stages whose numbers come in, a line each, and answer with their reports."""
    stages = list(_stages())
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    sys.stdout = sys.stderr  # whatever a stage prints is no answer
    for line in sys.stdin:
        report = _run(stages[int(line)])
        print(json.dumps(asdict(report)), file=answers, flush=True)


def _stages() -> Iterator[Stage]:
    """Names and actions of the stages: the first one compiles what every scene needs, the last ones need no scene."""
    for name in SHAPES:
        yield f"{name} on half-space", partial(_step, stacked(name))
    for lower, upper in itertools.combinations_with_replacement(SHAPES, 2):
        yield f"{lower} and {upper}", partial(_step, stacked(lower, upper))
    yield "compiled driver", _compiled_driver
    yield "compiled driver, robots", _compiled_robots
    yield "compiled driver, loops", _compiled_loops
    yield "compiled driver, joints", _compiled_joints
    yield "compiled driver, pairs", _compiled_pairs
    for solver in sorted(SOLVERS, key=lambda name: LONG.get(f"solver {name}", SHORT), reverse=True):
        yield f"solver {solver}", partial(_step, stacked("box", "sphere"), solver=solver)
        if "ellipsoid" in make_solver(solver).takes.friction_sets:
            yield f"solver {solver}, torsion", partial(_step, stacked("box", "sphere", torsion=0.01), solver=solver)
    yield "robots, solver xpbd", partial(_step_robot, "xpbd", Stepping())
    yield "robots, scheme moreau", partial(_step_robot, DEFAULT, Stepping(scheme="moreau"))
    yield "scheme moreau", partial(_step, stacked("box", "sphere"), stepping=Stepping(scheme="moreau"))
    yield "scheme passive", partial(_step, stacked("box", "sphere"), stepping=Stepping(scheme="passive"))
    yield "post-stabilisation", partial(_step, stacked("box", "sphere"), stepping=Stepping(stabilisation=1))
    yield "linear solvers", _linear_solvers
    yield "joints, solver sap", partial(_step_joints, "sap")
    yield "joints, solver newton", partial(_step_joints, "newton")
    yield "joints, scheme moreau", partial(_step_joints, DEFAULT, Stepping(scheme="moreau"))
    for torsion in (0.0, 0.01):
        yield f"many contacts, torsion {torsion:g}", partial(_many_contacts, torsion)
    for model in MODELS[:-1]:
        yield f"{model} elements, solver newton", partial(_step, _soft_stack(model=model), solver="newton")
    yield "soft box on box, solver sap", partial(_step, _soft_stack("box"), solver="sap")
    yield "soft box on box, solver xpbd", partial(_step, _soft_stack("box"), solver="xpbd")
    yield "soft bodies, scheme moreau", partial(_step, _soft_stack("box"), stepping=Stepping(scheme="moreau"))
    for name in SHAPES:
        yield f"soft box on {name}", partial(_step, _soft_stack(name))
    yield "soft bodies on each other", partial(_step, _soft_stack(twice=True), stepping=Stepping(continuous=True))
    yield "soft body, picture", partial(_draw, _soft_stack())
    yield "picture", partial(_draw, _behind_a_wall(stacked("box", "sphere")))
    yield "robots", partial(_step_robot, DEFAULT, Stepping())
    yield "joints", partial(_step_joints, DEFAULT)
    for solver in SOLVERS:
        yield f"solver {solver}, given W and q", partial(_solve_given, solver)
    yield "Newton steps", _newton


def _compiled_driver() -> None:
    """One step of the compiled driver, of one world and of two."""
    scene = stacked("box", "sphere")
    Simulation(scene, DT, driver="compiled").step()
    Worlds(scene, 2, DT, threads=1).step()


def _compiled_pairs() -> None:
    """Its kernels for all pairs of shapes, which it looks up by what shapes a model has."""
    pair_table(compile_scene(stacked(*SHAPES)))


def _compiled_joints() -> None:
    """The same with every kind of joint, of one world and of two."""
    scene = _mechanism()
    Simulation(scene, DT, driver="compiled").step()
    worlds = Worlds(scene, 2, DT, threads=1)
    worlds.step()
    worlds.joint_position(scene.joint(scene.joints[0].name))


def _compiled_robots() -> None:
    """The same with a robot, of one link that slides, between limits."""
    joint = TreeJoint("slide", "prismatic", limits=(-1.0, 0.01))
    link = TreeLink("link", -1, (joint,), 1.0, np.eye(3), shapes=(LinkShape(placed(Sphere(0.5 * EDGE))),))
    scene = stacked("box")
    robot = scene.add_tree(RobotRecord("robot", (link,)), position=(0.0, 0.0, 1.5 * EDGE))
    Simulation(scene, DT, driver="compiled").step()
    worlds = Worlds(scene, 2, DT, threads=1)
    worlds.step()
    worlds.link_pose(robot, "link")


def _compiled_loops() -> None:
    """The same with a robot that has a loop."""
    scene = Scene()
    scene.add_half_space()
    scene.add_tree(_robot())
    Simulation(scene, DT, driver="compiled").step()
    Worlds(scene, 2, DT, threads=1).step()


def _many_contacts(torsion: float) -> None:
    """Step touching balls with more contacts than are swept on one thread."""
    scene = Scene()
    scene.add_half_space(torsion=torsion)
    for k in range(13**3):
        scene.add_sphere(0.5, (k % 13, k // 13 % 13, 0.5 + k // 169), torsion=torsion)
    _step(scene)


def stacked(*names: str, torsion: float = 0.0) -> Scene:
    """Shapes on top of each other on a half-space, each overlapping what is below by 0.1 mm."""
    scene = Scene()
    scene.add_half_space(torsion=torsion)
    for level, name in enumerate(names):
        SHAPES[name](scene, (level + 0.5) * EDGE - 1e-4 * (level + 1))
    return scene


def _behind_a_wall(scene: Scene) -> Scene:
    """The same with a fixed wall before the camera of pictures, which draws it as glass, and a half-space behind."""
    scene.add_half_space((1.0, 0.0, 0.0), (-EDGE, 0.0, 0.0))
    scene.add_box((0.1 * EDGE, 6.0 * EDGE, 6.0 * EDGE), (2.0 * EDGE, -2.0 * EDGE, EDGE), kind="static")
    scene.add_box((6.0 * EDGE, 0.1 * EDGE, 6.0 * EDGE), (2.0 * EDGE, -2.0 * EDGE, EDGE), kind="static")
    return scene


def _soft_stack(name: str | None = None, model: ElasticModel = MODELS[2], twice: bool = False) -> Scene:
    """A soft box on a half-space or on a shape, touching it, and welded to a ball; or two that can touch themselves."""
    scene = stacked(*([] if name is None else [name]))
    top = EDGE - 1e-4 if name else 0.0
    mesh, material = tet_generators.box((EDGE, EDGE, EDGE), (2, 2, 2)), elastic(1e5, 0.3, model=model, beta=0.01)
    soft = scene.add_soft(mesh, material, (0.0, 0.0, top + 0.5 * EDGE), self_contact=twice)
    upper = mesh.nodes_on_plane("z", float(mesh.nodes[:, 2].max()))
    if twice:
        scene.add_soft(mesh, material, (0.0, 0.0, top + 1.5 * EDGE), self_contact=True)
    else:
        scene.weld_nodes(soft, upper, scene.add_sphere(0.1, (0.0, 0.0, top + EDGE + 0.1)))
        scene.activate(soft, [0], 100.0)
    return scene


def _step(scene: Scene, solver: str = DEFAULT, stepping: Stepping | None = None) -> None:
    """Two steps, of which the second one matches the impulses of the first, and a look at the contacts."""
    simulation = Simulation(scene, DT, solver, stepping)
    simulation.run(steps=2)
    simulation.contacts()


def _solve_given(solver: str) -> None:
    """Solve a problem that is given by its Delassus matrix, as those of FCLIB are: a contact that slips."""
    problem = from_delassus(np.eye(3), q=(-1.0, 1.0, 0.0), mu=(0.5,))
    solution = make_solver(solver).solve(problem)
    residual(problem, solution.lam)


def _newton() -> None:
    """Newton steps over impulses and over velocities, on problems that sweeps alone do not solve."""
    root = np.random.default_rng(0).normal(size=(12, 6))
    given = from_delassus(root @ root.T, root @ np.arange(1.0, 7.0), np.full(4, 0.5))
    for problem in (given, mass_ratio().problem, redundant_table().problem):
        ProximalPoint(sweeps=1, max_iterations=50, tolerance=1e-12).solve(problem)


def _mechanism() -> Scene:
    """A beam on a half-space with a ball on each kind of joint, with limits and drives, some of them reached."""
    scene = Scene()
    scene.add_half_space()
    base = scene.add_box((3.0, EDGE, EDGE), (0.0, 0.0, 0.5 * EDGE - 1e-4))
    drive, soft = Drive(stiffness=10.0, damping=1.0, position=0.5, limit=0.1), Drive(damping=1.0, velocity=0.5)
    where = [(0.3 * k - 1.2, 0.0, 0.6) for k in range(9)]
    low = [(x, 0.0, 0.3) for x, _, _ in where]
    body = [scene.add_sphere(0.05, position) for position in where]
    x, y, z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
    scene.add_fixed(base, body[0], low[0], break_force=1e6)
    scene.add_ball(base, body[1], low[1], bending_stiffness=5.0, bending_damping=0.1)
    scene.add_ball(base, body[2], low[2])
    scene.add_revolute(base, body[3], low[3], y, limits=(-1e-4, 2.0), drive=drive)
    scene.add_prismatic(base, body[4], z, limits=(-1e-4, 1.0), drive=soft)
    scene.add_cylindrical(base, body[5], low[5], z, limits=(0.0, 1.0), turn_drive=drive)
    scene.add_universal(base, body[6], low[6], x, y, limits=(-1.0, 1.0), other_drive=soft)
    scene.add_distance(base, body[7], low[7], where[7], limits=(0.25, 0.5), stiffness=100.0)
    scene.add_spring(base, body[8], low[8], where[8], 50.0, 1.0)
    scene.add_distance(None, body[8], (0.0, 0.0, 1.0), where[8])
    return scene


def _step_joints(solver: str, stepping: Stepping | None = None) -> None:
    """Two steps of a scene with every kind of joint, and all that can be read of them."""
    scene = _mechanism()
    simulation = Simulation(scene, DT, solver, stepping)
    effort = np.full_like(simulation.control.effort, 1e-3)
    simulation.control = replace(simulation.control, effort=effort)
    simulation.run(steps=2)
    simulation.joint_error()
    for index, name in enumerate(simulation.model.joint_names):
        joint = Joint(index, name)
        simulation.joint_position(joint)
        simulation.joint_force(joint)


def _robot() -> RobotRecord:
    """A robot that floats, with all kinds of joints, limits, dry friction, drives, a coupling, a tendon and a loop."""
    low, limited = (0.0, 0.0, -0.2), {"limits": (-1e-4, 1.0), "friction": 0.1, "damping": 0.1}
    joints = (
        TreeJoint("root", "free"),
        TreeJoint("hinge", "revolute", (0.0, 1.0, 0.0), **limited),  # type: ignore[arg-type]
        TreeJoint("slide", "prismatic", **limited),  # type: ignore[arg-type]
        TreeJoint("ball", "ball", limits=(0.0, 1.0)),
        TreeJoint("screw", "screw", pitch=0.1),
        TreeJoint("last", "revolute", (0.0, 1.0, 0.0)),
    )
    shape = LinkShape(placed(Sphere(0.05)))
    links = tuple(
        TreeLink(
            joint.name, k - 1, (joint,), 1.0, 0.01 * np.eye(3), position=low if k else (0.0, 0.0, 1.05), shapes=(shape,)
        )
        for k, joint in enumerate(joints)
    )
    return RobotRecord(
        "robot", links,
        couplings=(
            JointEquality("pair", (("slide", 1.0),), (("hinge", 1.0),)),
            Connect("loop", "last", None, (0.0, 0.0, 0.0), (0.0, 0.0, 0.05)),
        ),
        tendons=(FixedTendon("tendon", (("hinge", 1.0), ("last", 1.0)), (-1.0, 1.0), 1.0),),
        actuators=(
            Actuator("free", "position", (("hinge", 1.0),), 10.0, (0.0, -10.0, -1.0)),
            Actuator("bounded", "position", (("last", 1.0),), 10.0, (0.0, -10.0, -1.0), force_range=(-0.1, 0.1)),
        ),
    )  # fmt: skip


def _step_robot(solver: str, stepping: Stepping) -> None:
    """Two steps of a robot that touches the ground, and what can be read of it."""
    scene = Scene()
    scene.add_half_space()
    robot = scene.add_tree(_robot())
    simulation = Simulation(scene, DT, solver, stepping)
    simulation.run(steps=2)
    simulation.set_control(robot, position={"hinge": 0.1})
    for read in (
        "joint_efforts",
        "mass_matrix",
        "bias_forces",
        "robot_centre",
        "robot_momentum",
        "robot_contact_force",
    ):
        getattr(simulation, read)(robot)
    simulation.inverse_dynamics(robot, np.zeros(robot.dof_count))
    simulation.inverse_kinematics(robot, "hinge", simulation.link_pose(robot, "hinge")[0])


def _linear_solvers() -> None:
    """Every linear solver on the systems of a step: contacts, joints, and islands enough for several threads."""
    scattered = Scene()
    scattered.add_half_space()
    for k in range(PARALLEL_ROWS // 3 + 1):
        scattered.add_sphere(0.1, (k, 0.0, 0.1))
    for scene in (stacked("box", "sphere"), _mechanism(), scattered):
        problem = Simulation(scene, DT).step().problem
        system = schur_system(problem.J, problem.A, np.full(problem.row_count, 1e-3))
        for solve in LINEAR_SOLVERS.values():
            solve(system, problem.free_constraint_velocity, None, 5, 1e-6)
        joints = problem.laws.law != CONTACT
        PRECONDITIONERS["joints-eliminated"](system, Parts(joints, np.zeros_like(joints)), problem.workspace)


def _draw(scene: Scene) -> None:
    """A small picture with contact forces."""
    simulation = Simulation(scene, DT)
    simulation.step()
    nodes = simulation.state.node_position
    render_frame(
        simulation.model, simulation.state.body_pose, width=16, height=16, contacts=simulation.contacts(), nodes=nodes
    )


def _cache_counts() -> tuple[int, int]:
    """Signatures compiled, and signatures loaded from the cache on disk, by this process so far."""
    statistics = [item.stats for item in jit.KERNELS if hasattr(item, "stats")]  # plain functions without the compiler
    compiled = sum(sum(item.cache_misses.values()) for item in statistics)
    return compiled, sum(sum(item.cache_hits.values()) for item in statistics)


if __name__ == "__main__":
    _take_stages()
