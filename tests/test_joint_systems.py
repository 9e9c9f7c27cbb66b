"""Mechanisms of several bodies: what is conserved, what holds under tension, and that all solvers see the same."""

from pathlib import Path

import numpy as np
import pytest

import child_process
from stickslip import Drive, Scene, Simulation, Stepping
from stickslip.geometry.rotation import about_axis, matrix
from stickslip.scenes.chains import chain
from stickslip.solvers.registry import SOLVERS, make_solver

G = 9.81
SCHEMES = ("euler", "moreau", "passive")


def double_pendulum(angle: float = 2.0) -> Scene:
    """Two rods of 0.5 m and 1 kg, straight, turned by ``angle`` [rad] from hanging down."""
    scene, turn = Scene(), about_axis((0, 1, 0), angle)
    down = matrix(turn) @ [0, 0, -1.0]
    upper = scene.add_box((0.05, 0.05, 0.5), 0.25 * down, turn, mass=1.0)
    lower = scene.add_box((0.05, 0.05, 0.5), 0.75 * down, turn, mass=1.0)
    scene.add_revolute(None, upper, (0, 0, 0), (0, 1, 0))
    scene.add_revolute(upper, lower, 0.5 * down, (0, 1, 0))
    return scene


@pytest.mark.parametrize(("scheme", "kept"), [("euler", 0.5), ("moreau", 0.01)])
def test_energy_of_a_double_pendulum_and_its_books(scheme: str, kept: float) -> None:
    """Joints that hold do no work: all that changes is numerical. Of the energy that can swing, 2 m g 0.5 m x 2, the
    midpoint rule keeps all but 0.2 % at 4 ms (0.014 % over 10 s at 1 ms); semi-implicit Euler loses by the second."""
    sim = Simulation(double_pendulum(), dt=0.004, stepping=Stepping(scheme=scheme))
    total, booked = [], []

    def note(result) -> None:
        ledger = result.certificate.energy
        total.append(ledger.total)
        booked.append(ledger.numerical)
        assert ledger.work == ledger.friction == ledger.damping == ledger.impact == ledger.elastic == 0.0

    sim.run(150, note)
    start = 2 * G * 0.5 * -np.cos(2.0)
    np.testing.assert_allclose(np.array(total) - start, np.cumsum(booked), atol=1e-10)
    worst = np.abs(np.array(total) - start).max() / (2 * G)
    assert worst < kept
    if scheme == "euler":
        assert total[-1] < start  # it damps


def test_the_books_explain_a_driven_damped_mechanism() -> None:
    """Work of the drive, less what the damper took, is what the bodies have, but for the discretisation."""
    scene = Scene()
    cart = scene.add_box((0.2, 0.2, 0.2), mass=2.0)
    bob = scene.add_sphere(0.1, (0, 0, -0.5), mass=0.5)
    scene.add_prismatic(None, cart, (1, 0, 0), drive=Drive(damping=50.0, velocity=1.0))
    scene.add_spring(cart, bob, (0, 0, 0), (0, 0, -0.5), 2000.0, 5.0)
    sim = Simulation(scene, dt=0.002, stepping=Stepping(scheme="moreau"))
    ledgers = []
    sim.run(150, lambda result: ledgers.append(result.certificate.energy))
    change = ledgers[-1].total - (-0.5 * 0.5 * G)
    work, damping, numerical = (sum(getattr(x, name) for x in ledgers) for name in ("work", "damping", "numerical"))
    assert change == pytest.approx(work - damping + numerical, abs=1e-9)
    assert work > 1.0
    assert damping > 0.0
    assert abs(numerical) < 0.1 * work


def momenta(sim: Simulation) -> tuple[np.ndarray, np.ndarray]:
    """Linear momentum and angular momentum about the origin."""
    model, q, v = sim.model, sim.state.body_pose, sim.state.body_velocity
    linear, angular = model.mass @ v[:, :3], np.zeros(3)
    for i in range(model.body_count):
        R = matrix(q[i, 3:])
        angular += model.mass[i] * np.cross(q[i, :3], v[i, :3]) + R @ model.inertia[i] @ R.T @ v[i, 3:]
    return linear, angular


def free_pair(kind: str) -> Scene:
    """Two joined bodies without gravity, that turn against each other."""
    scene = Scene(gravity=(0, 0, 0))
    spin = (0, 5, 0) if kind == "planar" else (2, 5, 1)
    shape = (lambda x, **o: scene.add_sphere(0.2, (x, 0, 0), **o)) if kind == "round" else (
        lambda x, **o: scene.add_box((0.5, 0.1, 0.2), (x, 0, 0), **o)
    )  # fmt: skip
    a = shape(0.0, mass=1.0, velocity=(0, 0, 1), angular_velocity=spin)
    b = shape(0.5, mass=2.0, velocity=(1, 0, 0))
    if kind == "planar":
        scene.add_revolute(a, b, (0.25, 0, 0), (0, 1, 0))
    else:
        scene.add_ball(a, b, (0.25, 0, 0))
    return scene


@pytest.mark.parametrize("kind", ["planar", "round", "spatial"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_momentum_of_a_free_pair(scheme: str, kind: str) -> None:
    """Linear momentum is exact. Angular momentum is, too, with the midpoint rule, where the inertia does not turn
    with the bodies (in the plane, or that of balls); else it errs in the first order of h, with semi-implicit Euler
    always."""
    drift = []
    for h in (0.01, 0.005):
        sim = Simulation(free_pair(kind), dt=h, stepping=Stepping(scheme=scheme))
        linear, angular = momenta(sim)
        worst = 0.0
        for _ in range(round(0.2 / h)):
            sim.step()
            now = momenta(sim)
            np.testing.assert_allclose(now[0], linear, atol=1e-13)
            worst = max(worst, float(np.abs(now[1] - angular).max()))
        drift.append(worst)
    if scheme == "moreau" and kind != "spatial":
        assert max(drift) < 1e-13
    else:
        assert drift[1] < 0.65 * drift[0]
        assert drift[0] < 0.02


def crane() -> Scene:
    """A box that stands on the floor, an arm hinged to it and held by a drive, and a weight on a rope at its end."""
    scene = Scene()
    scene.add_half_space(friction=0.8)
    foot = scene.add_box((0.4, 0.4, 0.2), (0, 0, 0.1), mass=20.0, friction=0.8)
    arm = scene.add_box((0.5, 0.05, 0.05), (0.25, 0, 0.25), mass=1.0)
    weight = scene.add_sphere(0.05, (0.5, 0, 0.15), mass=0.5)
    drive = Drive(stiffness=2000.0, damping=200.0, limit=100.0)
    scene.add_revolute(foot, arm, (0, 0, 0.25), (0, 1, 0), limits=(-1, 1), drive=drive, name="hinge")
    scene.add_distance(arm, weight, (0.5, 0, 0.25), (0.5, 0, 0.15), limits=(0, 0.1), name="rope")
    return scene


@pytest.fixture(scope="module")
def crane_at_rest() -> Simulation:
    sim = Simulation(crane(), dt=0.01)
    sim.run(50)
    return sim


OTHER_STEPS = ("auto", "penalty", "xpbd")
"""The one that others are compared with, and those whose time steps are others: see their own tests."""


@pytest.mark.parametrize("name", [name for name in SOLVERS if name not in OTHER_STEPS])
def test_every_solver_simulates_the_same_mechanism(name: str, crane_at_rest: Simulation) -> None:
    """Contacts that stick: there all laws say the same."""
    options = {"max_iterations": 20000} if name not in ("newton", "lcp") else {}
    sim = Simulation(crane(), dt=0.01, solver=make_solver(name, **options))
    sim.run(50)
    np.testing.assert_allclose(sim.state.body_pose, crane_at_rest.state.body_pose, atol=1e-5)
    np.testing.assert_allclose(sim.state.body_velocity, crane_at_rest.state.body_velocity, atol=1e-3)
    force, _ = sim.joint_force(crane().joint("rope"))
    expected, _ = crane_at_rest.joint_force(crane().joint("rope"))
    np.testing.assert_allclose(force, expected, atol=0.05)
    assert sim.joint_error() < 1e-6


def spinning_chain(speed: float, snap: float | None = None) -> Scene:
    """A driven wheel with three links on its rim."""
    scene = Scene()
    wheel = scene.add_cylinder(0.2, 0.05)
    scene.add_revolute(None, wheel, (0, 0, 0), (0, 0, 1), name="hub", drive=Drive(damping=9.0, velocity=speed))
    last = wheel
    for k in range(3):
        link = scene.add_box((0.2, 0.02, 0.02), (0.3 + 0.2 * k, 0, 0))
        scene.add_ball(last, link, (0.2 + 0.2 * k, 0, 0), break_force=snap if k == 2 else None)
        last = link
    return scene


@pytest.mark.parametrize("solver", ["auto", "newton"])
def test_links_on_a_fast_wheel_stay_together(solver: str) -> None:
    """0.1 rad a step, links turn by up to 0.5: without geometric stiffness it comes apart."""
    sim = Simulation(spinning_chain(30.0), dt=0.003, solver=solver)
    worst = 0.0
    for _ in range(100):
        sim.step()
        worst = max(worst, sim.joint_error())
    assert worst < 1e-8
    assert sim.joint_velocity(spinning_chain(30.0).joint("hub"))[0] == pytest.approx(30.0, rel=0.1)
    assert np.linalg.norm(sim.state.body_velocity[:, :3], axis=1).max() < 1.2 * 30.0 * 0.8


@pytest.mark.parametrize("solver", ["auto", "newton"])
def test_a_chain_holds_a_weight_of_ten_thousand_links(solver: str) -> None:
    sim = Simulation(chain(links=8), dt=0.01, solver=solver)
    worst = 0.0
    for _ in range(100):
        result = sim.step()
        worst = max(worst, sim.joint_error())
        assert result.certificate.converged
    assert worst < 1e-9


@pytest.mark.parametrize(("solver", "scheme"), [("auto", "euler"), ("newton", "euler"), ("auto", "moreau")])
def test_a_saved_state_continues_bit_for_bit(solver: str, scheme: str, tmp_path: Path) -> None:
    """With a drive whose target was changed, and a joint that broke."""
    one = Simulation(spinning_chain(15.0, snap=2.0), 0.005, solver, Stepping(scheme=scheme))
    one.set_drive(spinning_chain(15.0).joint("hub"), velocity=12.0)
    one.run(50)
    assert one.state.joint_broken.any()
    one.save(tmp_path / "state.npz")
    one.run(5)
    other = Simulation(spinning_chain(15.0, snap=2.0), 0.005, solver, Stepping(scheme=scheme))
    other.load(tmp_path / "state.npz")
    other.run(5)
    assert other.state.digest() == one.state.digest()


@pytest.mark.parametrize("solver", ["auto", "newton"])
def test_joints_give_the_same_bits_on_any_number_of_threads(solver: str) -> None:
    program = (
        "from stickslip import Simulation; from stickslip.scenes.chains import chain; "
        f"sim = Simulation(chain(links=40), 0.01, {solver!r}); sim.run(5); print(sim.state.digest())"
    )
    one, two, three = child_process.outputs_on_threads(program)
    assert one == two == three


def test_thin_links_are_not_spun_about_their_axes() -> None:
    """Forces of ball joints on the axis have no moment about it, at whatever speed the chain whirls."""
    scene = spinning_chain(30.0)
    bodies = [scene.body(body.name) for body in scene.bodies]
    for a in bodies:
        for b in bodies:
            if a.index < b.index:
                scene.ignore_collision(a, b)
    sim = Simulation(scene, dt=0.003, solver="newton")
    sim.run(100)
    for link in bodies[1:]:
        axis = matrix(sim.rotation(link))[:, 0]
        assert abs(axis @ sim.angular_velocity(link)) < 1e-3
        assert np.linalg.norm(sim.angular_velocity(link)) > 10.0
