"""Robots by the compiled driver: the steps of the Python driver, bit for bit, or handed back."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robot_records import ABOUT_Y, ant, arm, ball_link, crawler, floating_box, four_bar, humanoid, rod_link
from stickslip import Scene, Simulation, Stepping
from stickslip.compiled.driver import reason_against
from stickslip.geometry.shapes import Box, Sphere, placed
from stickslip.robots.records import (
    Actuator,
    FixedTendon,
    JointEquality,
    LinkShape,
    RobotRecord,
    TreeJoint,
    TreeLink,
)
from stickslip.solvers.registry import make_solver
from test_compiled import both, same

pytestmark = pytest.mark.slow

FILES = Path(os.environ.get("STICKSLIP_DATA", Path(__file__).parents[2] / "shared" / "data")) / "robots" / "mjcf"


def ground() -> Scene:
    scene = Scene()
    scene.add_half_space()
    return scene


def swinging(**joint: object) -> Scene:
    """A double pendulum against its limits, with friction and springs."""
    scene = Scene()
    options = {"limits": (-0.4, 0.3), "friction": 0.2, "damping": 0.01, "stiffness": 2.0, "rest": 0.1} | joint
    links = tuple(rod_link(f"rod{k}", k - 1, 0.5, (0.5 * min(k, 1), 0.0, 0.0), **options) for k in range(3))
    scene.add_tree(RobotRecord("pendulum", links))
    return scene


OPTIONS = ({}, {"scheme": "moreau"}, {"warm_start": False}, {"scheme": "symplectic"})


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_pendulum_meets_its_limits_with_the_same_bits(options: dict[str, object]) -> None:
    assert both(swinging(), 100, **options) > 90


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_floating_bases_fall_with_the_same_bits(options: dict[str, object]) -> None:
    scene = ground()
    scene.add_tree(floating_box(position=(0.0, 0.0, 0.06)))
    scene.add_tree(floating_box(position=(0.05, 0.0, 0.17), rotation=(0.998, 0.05, 0.0, 0.0)), "other")
    scene.add_box((0.2, 0.2, 0.1), (0.0, 0.02, 0.3))
    assert both(scene, 100, **options) > 60


@pytest.mark.parametrize("height", [5.0, 3.149], ids=["free", "on the ground"])
def test_deep_chains_have_the_same_bits(height: float) -> None:
    """Without rows the compiled driver makes no A; with contacts it makes what the Python driver does."""
    links = [ball_link(f"link{k}", k - 1, 0.1, 0.1) for k in range(30)]
    ball = LinkShape(placed(Sphere(0.1), (0.0, 0.0, -0.15)))
    links[0] = replace(links[0], position=(0.0, 0.0, height))
    links[-1] = replace(links[-1], mass=20.0, inertia=0.1 * np.eye(3), centre=(0.0, 0.0, -0.15), shapes=(ball,))
    scene = ground()
    robot = scene.add_tree(RobotRecord("chain", tuple(links)))

    def swing(sim: Simulation) -> None:
        sim.set_joint_velocities(robot, np.tile([0.05, -0.02, 0.0], 30))

    assert both(scene, 20, change=swing) > 15


@pytest.mark.parametrize("limit", [87.0, 2.0, np.inf])
def test_driven_arms_have_the_same_bits(limit: float) -> None:
    scene = ground()
    record = arm(friction=0.3)
    drives = tuple(
        Actuator(d.name, d.kind, d.terms, d.gain, d.bias, None, None if limit == np.inf else (-limit, limit))
        for d in record.actuators
    )
    robot = scene.add_tree(RobotRecord("arm", record.links, actuators=drives))

    def aimed(sim: Simulation) -> None:
        sim.set_control(robot, position=np.full(7, 0.7), velocity=np.full(7, 0.1), effort=np.full(7, 0.2))

    assert both(scene, 80, change=aimed) > 70


def coupled() -> RobotRecord:
    """A cart with two fingers that mimic each other, a tendon along both, and a hinge that is held by a constant."""
    bar = LinkShape(placed(Box((0.02, 0.1, 0.1))), friction=0.7)
    inertia = 1e-4 * np.eye(3)
    along = {"axis": (1.0, 0.0, 0.0), "limits": (0.0, 0.1), "friction": 0.02, "armature": 1e-3}
    links = (
        TreeLink("cart", -1, (TreeJoint("rail", "prismatic", (0.0, 0.0, 1.0)),), 1.0, inertia),
        TreeLink(
            "left", 0, (TreeJoint("l", "prismatic", **along),), 0.1, inertia, position=(-0.08, 0, 0), shapes=(bar,)
        ),
        TreeLink(
            "right", 0, (TreeJoint("r", "prismatic", **(along | {"axis": (-1.0, 0.0, 0.0)})),), 0.1, inertia,
            position=(0.08, 0, 0), shapes=(bar,),
        ),
        TreeLink("flap", 0, (TreeJoint("f", "revolute", ABOUT_Y),), 0.1, inertia, (0.05, 0.0, 0.0), (0.0, 0.3, 0.0)),
    )  # fmt: skip
    tendon = FixedTendon("both", (("l", 1.0), ("r", 1.0)), (0.0, 0.2), 5.0, (0.05, 0.1), 0.1, 0.05)
    mimic = JointEquality("mimic", (("r", 1.0),), (("l", 1.0),))
    held = JointEquality("held", (("f", 1.0),), polynomial=(0.2, 0.0, 0.0, 0.0, 0.0))
    drives = (
        Actuator("close", "position", (("l", 1.0),), 400.0, (0.0, -400.0, -10.0), None, (-15.0, 15.0)),
        Actuator("lift", "position", (("rail", 1.0),), 2000.0, (0.0, -2000.0, -100.0), None, (-200.0, 200.0)),
        Actuator("shake", "motor", (("f", 1.0),), 1.0),
    )
    return RobotRecord("gripper", links, (mimic, held), (tendon,), drives)


@pytest.mark.parametrize("options", [{}, {"warm_start": False}, {"scheme": "moreau"}], ids=str)
def test_a_gripper_with_couplings_lifts_a_box_with_the_same_bits(options: dict[str, object]) -> None:
    scene = ground()
    robot = scene.add_tree(coupled(), position=(0.0, 0.0, 0.05))
    scene.add_box((0.08, 0.08, 0.08), (0.0, 0.0, 0.04), mass=0.3, friction=0.7)
    plain, fast = (
        Simulation(scene, stepping=Stepping(**{"dt": 0.004, **options}), driver=driver)  # type: ignore[arg-type]
        for driver in ("python", "compiled")
    )
    taken = 0
    for k in range(100):
        for sim in (plain, fast):
            sim.set_control(robot, actuators=[0.06, 0.1 if k > 40 else 0.0, 0.0])
        taken += same(plain.step(), fast.step())
    assert taken > 60


def test_forces_on_links_and_kinematic_bodies_have_the_same_bits() -> None:
    scene = ground()
    robot = scene.add_tree(floating_box(position=(0.0, 0.0, 0.05)))
    other = scene.add_tree(arm(2, friction=0.1), "arm", position=(0.6, 0.0, 0.0))
    scene.add_box((0.2, 0.2, 0.2), (-0.25, 0, 0.1), kind="kinematic", velocity=(0.3, 0, 0))
    scene.add_box(
        (0.2, 0.2, 0.02), (0.0, 0, -0.01), kind="kinematic", motion=lambda t: ((0.0, 0.1 * t, -0.01), (1, 0, 0, 0))
    )

    def pushed(sim: Simulation) -> None:
        sim.set_force(robot.link("box"), (0.3, 2.0, 0.5), torque=(0.0, 0.1, 0.0))
        sim.set_control(other, position=[0.5, -0.5])

    assert both(scene, 80, change=pushed) > 40


def test_robots_with_torsion_and_restitution_have_the_same_bits() -> None:
    for material in ({"torsion": 0.02}, {"restitution": 0.6, "tangential_restitution": 0.2}):
        scene = ground()
        scene.add_tree(floating_box(position=(0.0, 0.0, 0.06)))
        scene.add_box((0.2, 0.2, 0.1), (0.03, 0.0, 0.2), **material)  # type: ignore[arg-type]
        assert both(scene, 60) > 20


@pytest.mark.parametrize("solver", ["auto", "dense"])
@pytest.mark.parametrize("make", [ant, humanoid], ids=["ant", "humanoid"])
def test_legged_robots_fall_with_the_same_bits(make: Callable[[], RobotRecord], solver: str) -> None:
    scene = ground()
    scene.add_tree(make())
    assert both(scene, 120, solver, dt=0.003) > 90


@pytest.mark.parametrize(
    "path", ["franka_emika_panda/panda.xml", "wonik_allegro/right_hand.xml", "agility_cassie/cassie.xml"]
)
def test_robots_from_files_have_the_same_bits(path: str) -> None:
    if not (FILES / path).exists():
        pytest.skip(f"there is no {path} below {FILES}")
    scene = ground()
    robot = scene.add_robot(FILES / path, position=(0.0, 0.0, 0.3))

    def moved(sim: Simulation) -> None:
        sim.set_joint_velocities(robot, 0.5 * np.random.default_rng(1).standard_normal(robot.dof_count))

    assert both(scene, 60, change=moved, dt=0.002) > 20


LOOPED = ({}, {"warm_start": False}, {"scheme": "symplectic"}, {"geometric": "column-sums"}, {"scheme": "moreau"})


@pytest.mark.parametrize("options", LOOPED, ids=str)
def test_linkages_have_the_same_bits(options: dict[str, object]) -> None:
    scene = Scene()
    scene.add_tree(four_bar())
    assert both(scene, 60, **options) > 50


@pytest.mark.parametrize("solver", ["auto", "dense"])
def test_a_robot_with_a_loop_crawls_under_a_box_with_the_same_bits(solver: str) -> None:
    scene = ground()
    scene.add_tree(crawler())
    scene.add_box((0.2, 0.2, 0.1), (0.0, 0.0, 0.3))
    assert both(scene, 120, solver) > 100


def ball_chain() -> RobotRecord:
    """Rods on ball joints that bend by 0.3 rad at most."""
    links = [
        TreeLink(
            f"rod{k}", k - 1, (TreeJoint(f"ball{k}", "ball", limits=(0.0, 0.3), damping=0.01),), 1.0,
            np.diag([0.02, 0.02, 0.002]), position=(0.0, 0.0, -0.5) if k else (0.0, 0.0, 0.0),
            centre=(0.0, 0.0, -0.25), shapes=(LinkShape(placed(Box((0.02, 0.02, 0.2)), (0.0, 0.0, -0.25))),),
        )
        for k in range(3)
    ]  # fmt: skip
    return RobotRecord("chain", tuple(links))


@pytest.mark.parametrize(("speed", "scheme"), [(2.0, "euler"), (0.5, "moreau")])
def test_limits_of_ball_joints_have_the_same_bits(speed: float, scheme: str) -> None:
    """They are far in some of the steps, which then have contacts alone, or no rows at all."""
    scene = Scene()
    scene.add_half_space((0.0, 0.0, -1.45))
    robot = scene.add_tree(ball_chain())

    def swung(sim: Simulation) -> None:
        sim.set_joint_velocities(robot, speed * np.random.default_rng(3).standard_normal(robot.dof_count))

    assert both(scene, 120, change=swung, scheme=scheme) > 60
    scene.add_box((0.2, 0.2, 0.2), (1.0, 0.0, -1.35))
    assert both(scene, 10, scheme=scheme) == 10


@pytest.mark.parametrize("scheme", ["euler", "moreau"])
def test_curved_couplings_have_the_same_bits(scheme: str) -> None:
    """Beside an island of contacts alone, until the box is gripped."""
    scene = ground()
    record = coupled()
    mimic = JointEquality("mimic", (("r", 1.0),), (("l", 1.0),))
    curved = JointEquality("bent", (("f", 1.0),), (("rail", 1.0),), polynomial=(0.1, 0.5, -0.8, 0.3, 0.0))
    robot = scene.add_tree(
        RobotRecord("gripper", record.links, (mimic, curved), record.tendons, record.actuators),
        position=(0.0, 0.0, 0.05),
    )
    scene.add_box((0.08, 0.08, 0.08), (0.0, 0.0, 0.04), mass=0.3, friction=0.7)

    def lifted(sim: Simulation) -> None:
        sim.set_control(robot, actuators=[0.06, 0.1, 0.0])

    assert both(scene, 100, change=lifted, scheme=scheme) > 80


@pytest.mark.parametrize("options", LOOPED, ids=str)
def test_robots_joined_to_bodies_have_the_same_bits(options: dict[str, object]) -> None:
    """An arm swings a pendulum of rigid bodies over a box; another arm of its own has nothing to do with it."""
    scene = ground()
    robot = scene.add_tree(arm(3, friction=0.1), position=(0.0, 0.0, 0.2))
    scene.add_tree(four_bar(), "apart", position=(3.0, 0.0, 2.0))
    bar = scene.add_box((0.05, 0.05, 0.3), (0.0, 0.3, 0.6))
    other = scene.add_box((0.05, 0.05, 0.3), (0.0, 0.3, 0.3))
    scene.add_ball(robot.link("link2"), bar, (0.0, 0.3, 0.75))
    scene.add_revolute(bar, other, (0.0, 0.3, 0.45), (1.0, 0.0, 0.0), limits=(-0.4, 0.4))

    def moved(sim: Simulation) -> None:
        sim.set_control(robot, position=[0.5, -0.5, 0.3])

    assert both(scene, 80, change=moved, **options) > 60


def test_a_joint_of_a_robot_breaks_with_the_same_bits() -> None:
    scene = ground()
    robot = scene.add_tree(floating_box(position=(0.0, 0.0, 1.0)))
    ball = scene.add_sphere(0.1, (0.3, 0.0, 1.0))
    scene.add_fixed(robot.link("box"), ball, (0.15, 0.0, 1.0), break_force=60.0)
    scene.add_ball(None, ball, (0.3, 0.0, 1.4))
    assert both(scene, 120) > 60


def test_models_that_only_python_takes_say_why() -> None:
    scene = ground()
    scene.add_tree(crawler())
    model = Simulation(scene).model
    assert not reason_against(model, Stepping(), make_solver("auto"))
    assert not reason_against(model, Stepping(scheme="moreau"), make_solver("auto"))
    assert "passive" in reason_against(model, Stepping(scheme="passive"), make_solver("auto"))


@pytest.mark.parametrize(("make", "dt", "torque"), [(ant, 0.01, 40.0), (humanoid, 0.003, 30.0)])
def test_limbs_that_are_thrown_about_are_looked_at_where_they_led(
    make: Callable[[], RobotRecord], dt: float, torque: float
) -> None:
    """Limbs that move by more than their thickness in a step need not be handed back: nothing went through."""
    record = make()
    motors = tuple(Actuator(each.name, "motor", ((each.terms[0][0], torque),)) for each in record.actuators)
    scene = ground()
    robot = scene.add_tree(replace(record, actuators=motors), "thrown")
    plain, quick = (Simulation(scene, dt=dt, driver=driver) for driver in ("python", "compiled"))
    random, taken, fast = np.random.default_rng(5), 0, 0
    for k in range(60):
        if k % 5 == 0:
            torques = random.uniform(-1.0, 1.0, len(motors))
            for sim in (plain, quick):
                sim.set_control(robot, actuators=torques)
        taken += same(plain.step(), quick.step())
        fast += bool(np.abs(quick.state.v).max() * dt > 0.05)
    assert fast > 10
    assert taken > 54
