"""SAP in motion: creep and gliding as large as the law says, joints, drives and welds, warm starts, the same bits."""

import json
from math import atan, cos, sin
from pathlib import Path

import numpy as np
import pytest

from child_process import output, outputs_on_threads
from stickslip import Drive, Scene, Simulation, Stepping, elastic, tet_generators
from stickslip.scene.joints import Joint
from stickslip.solvers.sap.sap import Sap
from stickslip.tolerances import CONVEX_COMPLIANCE

G = 9.81


# ---- what the regularised convex law costs ---------------------------------------------------------------------------


@pytest.mark.parametrize("share", [1e-2, 1e-3])
def test_a_box_at_rest_on_a_slope_creeps_as_regularisation_says(share: float) -> None:
    """At 80 % of the Coulomb limit: u_t = -R_t gamma_t, R_t = sigma w, and four contacts share the friction."""
    mu, h, mass = 0.5, 0.01, 2.0
    angle = atan(0.8 * mu)
    scene = Scene(gravity=(G * sin(angle), 0, -G * cos(angle)))
    scene.add_half_space(friction=mu)
    box = scene.add_box((0.2, 0.2, 0.1), (0, 0, 0.05), mass=mass, friction=mu)
    sim = Simulation(scene, dt=h, solver=Sap(friction_share=share, tolerance=1e-9))
    sim.run(60)
    problem = sim.last.problem
    assert problem.contact_count == 4
    wanted = share * problem.weight[0] * mass * G * sin(angle) * h / 4.0
    assert sim.velocity(box)[0] == pytest.approx(wanted, rel=1e-3)
    assert abs(sim.velocity(box)[2]) < 1e-6  # it does not sink
    assert sim.contacts(box).total_force == pytest.approx([-mass * G * sin(angle), 0, mass * G * cos(angle)], abs=1e-3)


def test_near_rigid_contacts_rest_at_the_depth_of_their_regularisation() -> None:
    """u_n + R_n gamma_n = 0, u_n = recovery gap / h at rest: depth = h R_n m g h / recovery, R_n = beta^2 / (4 pi^2) w.

    With the whole gap recovered it is the depth of a spring with the period beta h: g (beta h / 2 pi)^2 where w = 1/m.
    """
    h = 0.01
    for beta in (1.0, 0.1):
        scene = Scene()
        scene.add_half_space(friction=0.0)
        ball = scene.add_sphere(0.1, (0, 0, 0.1), mass=3.0, friction=0.0)
        sim = Simulation(scene, dt=h, solver=Sap(near_rigid=beta, tolerance=1e-9))
        sim.run(60)
        share = sim.last.problem.weight[0] * 3.0  # the tangents of a ball move more easily than its normal
        spring = G * (beta * h / (2 * np.pi)) ** 2
        assert 0.1 - sim.position(ball)[2] == pytest.approx(
            share * spring / sim.stepping.recovery + sim.stepping.slop, rel=1e-5
        )


def test_a_sliding_box_glides_at_the_gap_of_the_convex_law() -> None:
    h, mu = 0.002, 0.4
    scene = Scene()
    scene.add_half_space(friction=mu)
    box = scene.add_box((0.2, 0.2, 0.05), (0, 0, 0.025 + h * mu * 2.0), friction=mu, velocity=(2.0, 0, 0))
    sim = Simulation(scene, solver="sap", stepping=Stepping(dt=h, margin=0.01))
    sim.run(40)
    speed = float(sim.velocity(box)[0])
    assert 1.0 < speed < 1.8
    certificate = sim.last.certificate
    assert certificate.converged
    assert certificate.gliding_gap == pytest.approx(h * mu * speed, rel=0.02)
    assert sim.last.contacts.gap == pytest.approx(certificate.gliding_gap, rel=0.03)
    assert 2.0 - speed == pytest.approx(mu * G * 40 * h, rel=0.02)  # friction itself is right


# ---- joints ----------------------------------------------------------------------------------------------------------


def pendulum() -> Scene:
    """Two rods, hung on each other."""
    scene = Scene()
    upper = scene.add_box((0.5, 0.02, 0.02), (0.25, 0, 1), mass=1.0, name="upper")
    lower = scene.add_box((0.5, 0.02, 0.02), (0.75, 0, 1), mass=3.0, name="lower")
    scene.add_revolute(None, upper, (0, 0, 1), (0, 1, 0))
    scene.add_ball(upper, lower, (0.5, 0, 1))
    return scene


def gate() -> Scene:
    """A rod that falls on its limit, and a redundant second hinge."""
    scene = Scene()
    rod = scene.add_box((0.5, 0.05, 0.05), (0.25, 0, 0), mass=2.0, name="rod")
    scene.add_revolute(None, rod, (0, 0, 0), (0, 1, 0), limits=(-1.0, 0.15))
    scene.add_revolute(None, rod, (0, 0.02, 0), (0, 1, 0))
    return scene


def driven() -> Scene:
    """A drive that holds a body up, one that is too weak to, and one that keeps a speed."""
    scene = Scene()
    for k, limit in enumerate((1e4, 12.0)):
        body = scene.add_box((0.1, 0.1, 0.1), (k, 0, 0), mass=2.0, name=f"held {k}")
        drive = Drive(stiffness=500.0, damping=40.0, position=0.1, limit=limit)
        scene.add_prismatic(None, body, (0, 0, 1), drive=drive)
    wheel = scene.add_box((0.3, 0.3, 0.05), (3, 0, 0), mass=1.0, name="wheel")
    scene.add_revolute(None, wheel, (3, 0, 0), (0, 0, 1), drive=Drive(damping=5.0, velocity=4.0))
    return scene


def welded() -> Scene:
    """A soft beam welded to a rigid box on a hinge."""
    scene = Scene()
    box = scene.add_box((0.1, 0.1, 0.1), (0, 0, 0), mass=1.0, name="box")
    scene.add_revolute(None, box, (0, 0, 0), (0, 1, 0), limits=(-0.1, 0.1))
    mesh = tet_generators.box((0.3, 0.1, 0.1), (3, 1, 1))
    beam = scene.add_soft(mesh, elastic(1e6, 0.3, beta=0.01), (0.2, 0, 0), name="beam")
    scene.weld_nodes(beam, mesh.nodes_on_plane("x", float(mesh.nodes[:, 0].min())), box)
    return scene


@pytest.mark.parametrize("make", [pendulum, gate, driven, welded])
def test_joints_move_as_with_the_exact_solver(make) -> None:
    """Without contacts both laws are the same, but for R of joints."""
    ours, theirs = (Simulation(make(), dt=0.005, solver=solver) for solver in ("sap", "auto"))
    for _ in range(60):
        certificate = ours.step().certificate
        assert certificate.converged
        theirs.step()
        assert ours.joint_error() < 1e-7
    assert ours.state.body_pose == pytest.approx(theirs.state.body_pose, abs=1e-5)
    assert ours.state.body_velocity == pytest.approx(theirs.state.body_velocity, abs=1e-3)
    assert ours.state.node_position == pytest.approx(theirs.state.node_position, abs=1e-5)


def test_drives_hold_and_saturate() -> None:
    sim = Simulation(driven(), dt=0.005, solver="sap")
    sim.run(200)
    held, weak, wheel = (Joint(k, name) for k, name in enumerate(sim.model.joint_names))
    assert sim.joint_position(held)[0] == pytest.approx(0.1 - 2.0 * G / 500.0, abs=1e-5)
    assert sim.joint_force(held)[0][2] == pytest.approx(2.0 * G, rel=1e-4)
    assert sim.joint_force(weak)[0][2] == pytest.approx(12.0, rel=1e-5)  # all that it has
    assert sim.joint_velocity(weak)[0] == pytest.approx(-(G - 12.0 / 2.0) * 1.0, rel=1e-3)
    assert sim.joint_velocity(wheel)[0] == pytest.approx(4.0, rel=1e-4)


def test_a_heavy_load_stretches_a_chain_by_what_holding_says() -> None:
    """R of joint rows: u = R gamma is gone again at the end of the next step, so the stretch is h R gamma a joint."""
    h = 0.01
    scene = Scene()
    load = scene.add_sphere(0.1, (0, 0, -1), mass=1e4)
    link = scene.add_sphere(0.05, (0, 0, 0), mass=0.1)
    scene.add_ball(None, link, (0, 0, 0.1))
    scene.add_ball(link, load, (0, 0, -0.1))
    sim = Simulation(scene, dt=h, solver="sap")
    sim.run(50)
    R = CONVEX_COMPLIANCE * sim.last.problem.diagonal.max()
    assert sim.joint_error() <= 1.1 * h * R * 1e4 * G * h
    assert sim.joint_error() < 1e-5


# ---- starts ----------------------------------------------------------------------------------------------------------


def stack(count: int = 5) -> Scene:
    """Boxes on each other."""
    scene = Scene()
    scene.add_half_space(friction=0.5)
    for k in range(count):
        scene.add_box((0.2, 0.2, 0.1), (0.01 * k, 0, 0.05 + 0.1 * k), friction=0.5, name=f"box {k}")
    return scene


def soft_cube() -> Scene:
    """A soft cube on the ground."""
    scene = Scene()
    scene.add_half_space(friction=0.5)
    mesh = tet_generators.box((0.1, 0.1, 0.1), 3)
    scene.add_soft(mesh, elastic(1e5, 0.3, beta=0.02), (0, 0, 0.05), friction=0.5)
    return scene


@pytest.mark.parametrize("make", [stack, soft_cube])
def test_bodies_at_rest_take_an_iteration_at_most(make) -> None:
    work = {}
    for warm in (True, False):
        sim = Simulation(make(), solver="sap", stepping=Stepping(dt=0.01, warm_start=warm))
        sim.run(80)
        used = []
        sim.run(15, lambda result, used=used: used.append(result.certificate.iterations))
        assert sim.last.certificate.converged
        work[warm] = used
    assert max(work[True]) <= 1
    # from nothing, what only sticks takes one, too
    assert sum(work[True]) <= sum(work[False])
    assert make is soft_cube or sum(work[True]) < 0.5 * sum(work[False])


SLIDING = """
import sys
from stickslip import Scene, Simulation, State, elastic, tet_generators
scene = Scene(gravity=(3.0, 0, -9.81))
scene.add_half_space(friction=0.3)
step = scene.add_box((0.3, 0.3, 0.02), (0.2, 0, 0.01), kind="static", friction=0.3)
mesh = tet_generators.box((0.1, 0.1, 0.05), (4, 4, 2))
scene.add_soft(mesh, elastic(5e4, 0.3, beta=0.01), (-0.1, 0, 0.0249), friction=0.3, velocity=(1.5, 0.1, 0))
scene.add_sphere(0.02, (-0.1, 0.0, 0.068), friction=0.3)
sim = Simulation(scene, dt=0.005, solver="sap")
middle = sys.argv[1]
if sys.argv[2] == "rest":
    sim.restore(State.load(middle))
else:
    sim.run(15)
    sim.state.save(middle)
keys = set()
sim.run(15, lambda result: keys.add(result.soft_contacts.key.tobytes()))
print(sim.state.digest(), len(keys), sim.last.certificate.converged)
"""


def run_sliding(*arguments: object, threads: int = 1) -> list[str]:
    """The script in a process of its own: nothing is remembered from before."""
    return output("-c", SLIDING, *arguments, threads=threads).split()


def test_a_restart_continues_bit_for_bit_while_contacts_change(tmp_path: Path) -> None:
    """Orders of elimination are remembered from step to step; a process that remembers none gets the same bits."""
    middle = tmp_path / "middle.npz"
    whole, rest = run_sliding(middle, "whole"), run_sliding(middle, "rest", threads=2)
    assert int(rest[1]) > 3  # sets of contacts
    assert whole[0] == rest[0]
    assert whole[2] == rest[2] == "True"


@pytest.mark.parametrize("scene", [("soft-stack", "divisions=2"), ("wall", "torsion=0")])
def test_the_same_bits_on_any_number_of_threads(scene: tuple[str, str]) -> None:
    command = ["run", scene[0], "--set", scene[1], "--solver", "sap", "--steps", "12", "--json"]
    printed = outputs_on_threads(f"from stickslip.cli import main; assert main({command}) == 0")
    one, two, three = map(json.loads, printed)
    assert one["converged_fraction"] == 1.0
    assert one["state_hash"] == two["state_hash"] == three["state_hash"]
