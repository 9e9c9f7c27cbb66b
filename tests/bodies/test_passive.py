"""The scheme "passive": mean velocities as unknowns, [lee2023] eq. 4-9, and how bodies land, rest and stick with it."""

from pathlib import Path

import numpy as np
import pytest

from stickslip import InputError, Scene, Simulation, Stepping, elastic
from stickslip.bodies.soft import momentum as soft_bodies
from stickslip.bodies.soft.turning import without_turning
from stickslip.constraints.contact.mean_velocity import allowed_approach
from stickslip.geometry.rotation import about_axis, matrix
from stickslip.geometry.tet_generators import box
from stickslip.model.state import State
from stickslip.scenes.running import prepare
from stickslip.solvers.registry import SOLVERS

G = 9.81
BOTH = [name for name in ("auto", "cond") if name in SOLVERS]


def passive(dt: float = 0.002, **options) -> Stepping:
    return Stepping(dt=dt, scheme="passive", **options)


def bar(model: str = "linear", alpha: float = 0.0, beta: float = 0.0):
    """A bar clamped at one end and pushed sideways, without gravity."""
    mesh = box((0.4, 0.1, 0.1), (4, 1, 1))
    scene = Scene(gravity=(0, 0, 0))
    body = scene.add_soft(mesh, elastic(1e5, 0.3, model=model, alpha=alpha, beta=beta))
    scene.hold_nodes(body, mesh.nodes[:, 0] < -0.19)
    speed = np.zeros_like(mesh.nodes)
    speed[:, 2] = mesh.nodes[:, 0] + 0.2
    return scene, body, speed


# ------------------------------------------------------------------------------------------- the law of the gap


@pytest.mark.parametrize("gap", [0.0, 0.3, 0.6, 1.0, 1.4])
def test_a_contact_lands_in_two_steps_without_overlap(gap: float) -> None:
    """Units of a step and of the speed before; nearer than half a step it overlaps, and stops."""
    position, speed, h = gap, -1.0, 1.0
    for _ in range(2):
        mean = -allowed_approach(position, speed, h, 0.0, 0.0)
        position, speed = position + h * mean, 2.0 * mean - speed
        if gap < 0.5:
            break
        assert position >= -1e-15
    assert speed == pytest.approx(0.0, abs=1e-15)
    assert position == pytest.approx(min(0.0, gap - 0.5), abs=1e-15)


@pytest.mark.parametrize("speed", [-2.0, -0.1, 0.0, 0.1, 2.0])
@pytest.mark.parametrize("gap", [0.0, 0.1, 3.0])
def test_open_contacts_give_no_energy(gap: float, speed: float) -> None:
    assert allowed_approach(gap, speed, 1.0, 0.2, 0.5) >= 0.0


def test_an_overlap_is_taken_back_without_a_tremor() -> None:
    position, speed = -1e-3, 0.0
    for _ in range(60):
        mean = -allowed_approach(position, speed, 1.0, 0.2, 0.5)
        position, speed = position + mean, 2.0 * mean - speed
        assert speed >= -1e-18
    assert -1e-8 < position <= 0.0
    assert speed < 1e-8


# ------------------------------------------------------------------------------------------- rigid bodies


@pytest.mark.parametrize("solver", BOTH)
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_ball_leaves_with_its_restitution(e: float, solver: str) -> None:
    scene = Scene()
    scene.add_half_space(restitution=e)
    ball = scene.add_sphere(0.1, (0, 0, 0.4), mass=1.0, restitution=e)
    sim = Simulation(scene, stepping=passive(), solver=solver)
    height, speed, total, booked = [], [], [], []

    def note(result) -> None:
        height.append(sim.position(ball)[2])
        speed.append(sim.velocity(ball)[2])
        total.append(result.certificate.energy.total)
        booked.append(result.certificate.energy.numerical)

    sim.run(250, note)
    assert min(height) > 0.1 - 1e-7
    loose = 1e-5 if solver == "cond" else 1e-7  # what iterations leave of momentum is energy, too
    assert np.diff(total).max() < loose
    assert np.abs(booked).max() < loose  # an impact, too, is in the books exactly
    up = np.flatnonzero(np.diff(speed) > 2.0 * G * sim.stepping.dt)
    if e == 0.0:
        assert max(speed) < 1e-6
        assert height[-1] == pytest.approx(0.1, abs=1e-6)
    else:
        assert speed[up[0] + 1] == pytest.approx(-e * speed[up[0]], rel=1e-5)


@pytest.mark.parametrize("solver", BOTH)
def test_a_box_slides_as_far_as_it_must_and_stops(solver: str) -> None:
    """v^2 / (2 mu g); the friction work of each step is exact, so the books leave nothing to the numerics."""
    scene = Scene()
    scene.add_half_space(friction=0.4)
    slider = scene.add_box((0.2, 0.2, 0.1), (0, 0, 0.05), mass=1.0, friction=0.4, velocity=(1.0, 0.5, 0))
    sim = Simulation(scene, stepping=passive(), solver=solver)
    ledgers = []
    sim.run(180, lambda result: ledgers.append(result.certificate.energy))
    way = float(np.linalg.norm(sim.position(slider)[:2]))
    assert way == pytest.approx(1.25 / (2 * 0.4 * G), rel=1e-4)
    assert np.abs(sim.state.body_velocity).max() < 1e-6  # without the projection it trembled at up to mu g h / 2
    assert sum(each.friction for each in ledgers) == pytest.approx(0.5 * 1.25, rel=1e-4)
    assert max(abs(each.numerical) for each in ledgers) < 1e-5
    assert max(np.diff([each.total for each in ledgers])) < 1e-9


@pytest.mark.parametrize("solver", BOTH)
def test_a_stack_falls_together_and_rests(solver: str) -> None:
    scene = Scene()
    scene.add_half_space(friction=0.5)
    for i in range(3):
        scene.add_box((0.2, 0.2, 0.2), (0.01 * i, 0, 0.1 + 0.21 * i), mass=1.0 + i, friction=0.5)
    sim = Simulation(scene, stepping=passive(), solver=solver)
    total, push = [], []

    def note(result) -> None:
        total.append(result.certificate.energy.total)
        push.append(float(result.solution.lam[0::3].sum()) / sim.stepping.dt)

    sim.run(150, note)
    assert np.abs(sim.state.body_velocity).max() < 1e-5
    assert np.diff(total).max() < (1e-9 if solver == "auto" else 1e-3)
    assert np.ptp(push[-20:]) < 0.1  # of 137 N: no alternating impulses
    assert push[-1] == pytest.approx(G * (6 + 5 + 3), rel=1e-3)
    assert sim.last is not None
    assert sim.last.certificate.penetration < 1e-6


def test_friction_holds_bodies_on_a_belt() -> None:
    scene = Scene()
    scene.add_box((9, 9, 0.2), (0, 0, -0.1), kind="kinematic", velocity=(0.5, 0, 0), friction=0.5)
    rider = scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.1), mass=1.0, friction=0.5)
    sim = Simulation(scene, stepping=passive())
    sim.run(100)
    np.testing.assert_allclose(sim.velocity(rider), (0.5, 0, 0), atol=1e-6)


def test_compliant_contacts_make_no_energy() -> None:
    scene = Scene()
    scene.add_half_space()
    scene.add_sphere(0.1, (0, 0, 0.15), mass=1.0, contact_stiffness=1e4)
    sim = Simulation(scene, stepping=passive())
    total = []
    sim.run(150, lambda result: total.append(result.certificate.energy.total))
    assert np.diff(total).max() < 1e-9


def sprung(steps: int, duration: float = 0.5) -> np.ndarray:
    """Position and rotation of a box that swings on a spring at one of its corners."""
    scene = Scene()
    body = scene.add_box((0.1, 0.2, 0.3), (0, 0, -1.0), mass=1.0, velocity=(1, 0.5, 0), angular_velocity=(1, 2, 3))
    scene.add_spring(None, body, (0, 0, 0), (0.05, 0.1, -0.85), 50.0, 0.2, length=0.5)
    sim = Simulation(scene, stepping=passive(duration / steps))
    sim.run(steps)
    return np.concatenate([sim.position(body), sim.rotation(body)])


def test_a_turning_body_on_a_spring_converges_with_order_two() -> None:
    reference = sprung(160)
    error = [np.abs(sprung(steps) - reference).max() for steps in (20, 40)]
    assert np.log2(error[0] / error[1]) > 1.9


def test_a_spinning_body_keeps_its_energy() -> None:
    scene = Scene(gravity=(0, 0, 0))
    scene.add_box((0.1, 0.2, 0.4), mass=1.0, angular_velocity=(3, 0.5, 1.0))
    sim = Simulation(scene, stepping=passive(0.02))
    total = []
    sim.run(100, lambda result: total.append(result.certificate.energy.total))
    assert np.ptp(total) < 1e-12 * total[0]


# ------------------------------------------------------------------------------------------- joints


def test_joints_hold_and_keep_energy() -> None:
    """A double pendulum: 0.001 % of what can swing in a second at 4 ms, where moreau errs by 0.2 %."""
    scene, turn = Scene(), about_axis((0, 1, 0), 2.0)
    down = matrix(turn) @ [0, 0, -1.0]
    upper = scene.add_box((0.05, 0.05, 0.5), 0.25 * down, turn, mass=1.0)
    lower = scene.add_box((0.05, 0.05, 0.5), 0.75 * down, turn, mass=1.0)
    scene.add_revolute(None, upper, (0, 0, 0), (0, 1, 0))
    scene.add_revolute(upper, lower, 0.5 * down, (0, 1, 0))
    sim = Simulation(scene, stepping=passive(0.004))
    total, booked = [], []

    def note(result) -> None:
        assert result.certificate.converged
        total.append(result.certificate.energy.total)
        booked.append(result.certificate.energy.numerical)

    sim.run(80, note)
    start = 2 * G * 0.5 * -np.cos(2.0)
    assert np.abs(np.array(total) - start).max() < 1e-4 * 2 * G
    np.testing.assert_allclose(np.array(total) - start, np.cumsum(booked), atol=1e-10)
    assert sim.joint_error() < 1e-9


def test_a_limit_stops_without_a_bounce() -> None:
    scene = Scene()
    arm = scene.add_box((0.5, 0.1, 0.1), (0.25, 0, 0), mass=1.0)
    joint = scene.add_revolute(None, arm, (0, 0, 0), (0, 1, 0), limits=(-1.0, 0.2))
    sim = Simulation(scene, stepping=passive())
    speed = []
    sim.run(150, lambda result: speed.append(sim.joint_velocity(joint)[0]))
    assert min(speed) > -1e-4 * max(speed)  # it is found in a straight line, and turns: an overlap of 0.1 urad
    assert speed[-1] == pytest.approx(0.0, abs=1e-6)
    assert sim.joint_position(joint)[0] == pytest.approx(0.2, abs=1e-6)


# ------------------------------------------------------------------------------------------- soft bodies


@pytest.mark.parametrize("model", ["linear", "corotational"])
def test_the_matrix_is_that_of_the_paper(model: str) -> None:
    """Eq. 9 in impulses: twice the midpoint rule's, for half the change of velocity; damping included."""
    scene, body, speed = bar(model, alpha=0.3, beta=2e-3)
    found = {}
    for scheme in ("moreau", "passive"):
        sim = Simulation(scene, stepping=Stepping(dt=0.01, scheme=scheme))
        sim.set_node_velocity(body, speed)
        motion = soft_bodies.soft_motion(sim.model, sim.state, sim.control, sim.stepping)
        mean = motion.v.copy()
        mean[sim.model.soft.free] += 0.1 * np.sin(np.arange(3 * len(sim.model.soft.free))).reshape(-1, 3)
        v = mean if scheme == "passive" else 2.0 * mean - motion.v
        found[scheme] = soft_bodies.momentum(sim.model.soft, motion, v)
        np.testing.assert_allclose(motion.end_velocities(v), 2.0 * mean - motion.v, atol=1e-15)
    np.testing.assert_allclose(found["passive"].residual, found["moreau"].residual, atol=1e-12)
    np.testing.assert_allclose(found["passive"].matrix, 2.0 * found["moreau"].matrix, atol=1e-12)


@pytest.mark.parametrize("solver", BOTH)
def test_a_linear_body_keeps_its_energy_to_rounding(solver: str) -> None:
    scene, body, speed = bar()
    sim = Simulation(scene, stepping=passive(), solver=solver)
    sim.set_node_velocity(body, speed)
    total = []
    sim.run(1000, lambda result: total.append(result.certificate.energy.total))
    drift = 1e-12 if solver == "auto" else 1e-4
    assert np.abs(np.array(total) / total[0] - 1.0).max() < drift


@pytest.mark.parametrize("model", ["linear", "corotational"])
def test_a_soft_bar_converges_with_order_two(model: str) -> None:
    def shape(steps: int) -> np.ndarray:
        scene, body, speed = bar(model)
        sim = Simulation(scene, stepping=passive(0.04 / steps))
        sim.set_node_velocity(body, speed)
        sim.run(steps)
        return np.concatenate([sim.nodes(body), 0.04 * sim.node_velocities(body)])

    reference = shape(160)
    error = [np.abs(shape(steps) - reference).max() for steps in (20, 40)]
    assert np.log2(error[0] / error[1]) > 1.9


@pytest.mark.parametrize("solver", BOTH)
def test_contact_never_gives_energy_to_a_soft_body(solver: str) -> None:
    scene = Scene()
    scene.add_half_space(friction=0.5)
    body = scene.add_soft(box((0.2, 0.2, 0.2), 2), elastic(1e5, 0.3, model="linear"), (0, 0, 0.12), friction=0.5)
    sim = Simulation(scene, stepping=passive(), solver=solver)
    sim.set_node_velocity(body, np.tile([0.5, 0, -1.0], (len(sim.nodes(body)), 1)))
    total, deepest = [], []

    def note(result) -> None:
        total.append(result.certificate.energy.total)
        deepest.append(result.certificate.penetration)

    sim.run(150, note)
    loss = total[0] - total[-1]
    assert loss > 0.1
    assert np.diff(total).max() < (1e-9 if solver == "auto" else 1e-3) * total[0]
    assert max(deepest) < 2e-5


def test_welds_and_rigid_bodies_swing_with_soft_ones() -> None:
    mesh = box((0.4, 0.1, 0.1), (4, 1, 1))
    scene = Scene()
    body = scene.add_soft(mesh, elastic(2e5, 0.3, model="corotational"))
    scene.hold_nodes(body, mesh.nodes[:, 0] < -0.19)
    weight = scene.add_box((0.1, 0.1, 0.1), (0.25, 0, 0), mass=1.0)
    scene.weld_nodes(body, mesh.nodes[:, 0] > 0.19, to=weight)
    sim = Simulation(scene, stepping=passive(0.004))
    total = []
    sim.run(60, lambda result: total.append(result.certificate.energy.total))
    assert np.ptp(total) < 1e-3  # [J] of 0.6 J that swing
    assert sim.last is not None
    assert sim.last.certificate.converged


def test_elements_as_rows_are_refused() -> None:
    scene, _, _ = bar()
    with pytest.raises(InputError, match=r"passive.*rows need"):
        Simulation(scene, stepping=passive(elasticity="rows"))
    Simulation(scene, stepping=passive(), solver="newton").step()


def test_mean_velocities_of_the_last_step_are_remembered(tmp_path: Path) -> None:
    """By how much velocities lead them, so that what a user sets moves both; files have them, too."""
    scene, body, speed = bar()
    sim = Simulation(scene, stepping=passive(), solver="auto")
    sim.set_node_velocity(body, speed)
    assert (sim.state.mean_velocity == sim.state.v).all()  # nothing is known
    before = sim.state.node_position
    sim.step()
    mean = (sim.state.node_position - before) / sim.stepping.dt
    found = sim.state.mean_velocity[sim.state.layout.v_slice["node"]].reshape(-1, 3)
    assert found == pytest.approx(mean, abs=1e-9)
    assert np.abs(sim.state.node_velocity - mean).max() > 1e-6
    sim.state.save(tmp_path / "state.npz")
    assert (State.load(tmp_path / "state.npz").mean_velocity == sim.state.mean_velocity).all()
    sim.set_node_velocity(body, sim.state.node_velocity + [1.0, 0.0, 0.0])
    moved = sim.state.mean_velocity[sim.state.layout.v_slice["node"]].reshape(-1, 3)
    assert moved == pytest.approx(mean + [1.0, 0.0, 0.0], abs=1e-9)


def test_what_turns_round_is_taken_out_and_steady_acceleration_stays() -> None:
    rng = np.random.default_rng(0)
    mass, body = rng.uniform(0.5, 2.0, 12), np.repeat([0, 1], 6).astype(np.int32)
    mass[3] = 0.0  # held
    steady = np.tile([0.0, 0.0, -0.1], (12, 1))
    v = rng.normal(size=(12, 3))
    assert without_turning(v, steady, steady, mass, body, True) == pytest.approx(v, abs=1e-15)
    ringing = rng.normal(size=(12, 3))
    found = without_turning(v + ringing, ringing, -ringing, mass, body, True)
    energy, left = ((mass[:, None] * each**2).sum() for each in (v + ringing, found))
    assert left < energy
    for own in (0, 1):
        its = body == own
        assert mass[its] @ found[its] == pytest.approx(mass[its] @ (v + ringing)[its], abs=1e-12)
    assert (found[3] == (v + ringing)[3]).all()
    alone = without_turning(ringing, ringing, -ringing, mass, body, False)  # nothing but what turns round
    assert np.abs(alone[mass > 0.0]).max() < 1e-12


def test_a_mat_that_is_folded_does_not_ring() -> None:
    """Velocities stay near the mean ones, though iterations end at 1e-4 m/s; without, they leave them in a second."""
    course = {"slow": 4.0, "divisions": 16, "solver.criterion": "step", "solver.tolerance": 1e-4, "solver.net": 1.0}
    sim = prepare("soft-mat", "cond", {**course, "stepping.scheme": "passive", "stepping.calmed": True}).sim
    for _ in range(150):
        result = sim.step()
        assert result.solution.converged
    apart = sim.state.v - sim.state.mean_velocity
    assert np.linalg.norm(apart) < 0.2 * np.linalg.norm(sim.state.mean_velocity)
