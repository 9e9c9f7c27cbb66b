"""Contacts with stiffness and dissipation against statics, the implicit recurrence and the damped oscillator."""

from math import atan2, cos, exp, pi, sin, sqrt

import numpy as np
import pytest

from stickslip import Scene, Simulation, Stepping, elastic, tet_generators
from stickslip.errors import InputError

G = 9.81


def ball_on_spring(stiffness: float, dissipation: float = 0.0, height: float = 0.0, speed: float = 0.0, **options):
    """A ball of 3 kg, ``height`` [m] above a ground with springs, and its simulation."""
    scene = Scene(gravity=options.pop("gravity", (0, 0, -G)))
    scene.add_half_space(contact_stiffness=stiffness, contact_dissipation=dissipation)
    ball = scene.add_sphere(0.1, (0, 0, 0.1 + height), mass=3.0, velocity=(0, 0, speed))
    return ball, Simulation(scene, **options)


@pytest.mark.parametrize("dt", [0.001, 0.01])
@pytest.mark.parametrize(
    ("solver", "scheme"),
    [("auto", "euler"), ("newton", "euler"), ("apgd", "euler"), ("sap", "euler"), ("auto", "moreau")],
)
def test_ball_settles_at_weight_over_stiffness(solver: str, scheme: str, dt: float) -> None:
    ball, sim = ball_on_spring(2e4, 0.02, dt=dt, solver=solver, stepping=Stepping(scheme=scheme))
    sim.run(300 if dt < 0.01 else 80)
    depth = 0.1 - sim.position(ball)[2]
    assert depth == pytest.approx(3.0 * G / 2e4, rel=1e-5)
    assert sim.contacts(ball).total_force[2] == pytest.approx(3.0 * G, rel=1e-5)
    assert sim.last is not None
    certificate = sim.last.certificate
    assert certificate.converged
    assert certificate.velocity_violation < 1e-6
    assert certificate.penetration == pytest.approx(depth, rel=1e-5)
    assert certificate.energy.elastic == pytest.approx(0.5 * 2e4 * depth**2, rel=1e-4)


@pytest.mark.parametrize("dissipation", [0.0, 0.004])
def test_impact_is_the_implicit_recurrence(dissipation: float) -> None:
    k, m, h = 5e4, 3.0, 0.002
    ball, sim = ball_on_spring(k, dissipation, 0.02, -1.0, dt=h)
    gap, v, lowest = 0.02, -1.0, 0.0
    for _ in range(40):
        free, C = v - G * h, 1.0 / (h * k * (h + dissipation))
        bias = gap / h if gap > 0.0 else gap / (h + dissipation)
        v = free + max(0.0, -(free + bias) / (m * C + 1.0))  # m v' = m v_free + lam, never pulls
        gap += h * v
        lowest = min(lowest, gap)
        sim.step()
        assert sim.position(ball)[2] - 0.1 == pytest.approx(gap, abs=1e-12)
        assert sim.velocity(ball)[2] == pytest.approx(v, abs=1e-9)
    assert lowest < -0.001
    assert gap > 0.001


def test_impact_is_the_damped_oscillator_at_small_steps() -> None:
    k, m, tau, speed = 5e4, 3.0, 0.002, 1.0
    h = 2e-5
    ball, sim = ball_on_spring(k, tau, 0.0, -speed, dt=h, gravity=(0, 0, 0))
    omega = sqrt(k / m)
    zeta = 0.5 * tau * omega
    s = sqrt(1.0 - zeta * zeta)
    end = atan2(2.0 * zeta * s, 2.0 * zeta * zeta - 1.0) / (omega * s)  # when spring and damper no longer push
    phase = omega * s * end
    leaving = -speed * exp(-zeta * omega * end) * (cos(phase) - zeta / s * sin(phase))
    deepest = speed / omega * exp(-zeta * atan2(s, zeta) / s)
    lowest, pushed, damped, numerical = 0.0, 0, 0.0, 0.0
    for _ in range(round(1.2 * pi / omega / h)):
        certificate = sim.step().certificate
        lowest = min(lowest, sim.position(ball)[2] - 0.1)
        pushed += bool(sim.last.solution.lam.any())
        damped += certificate.energy.damping
        numerical += certificate.energy.numerical
        assert certificate.energy.impact == 0.0
    assert lowest == pytest.approx(-deepest, rel=5e-3)
    assert pushed * h == pytest.approx(end, rel=5e-3)
    assert sim.velocity(ball)[2] == pytest.approx(leaving, rel=5e-3)
    start = 0.5 * m * speed**2
    # the spring is still pressed in when it lets go of the ball; its damper takes that, as far as contacts are seen
    assert damped == pytest.approx(start - 0.5 * m * leaving**2, rel=0.01)
    assert abs(numerical) < 0.01 * start


def test_energy_of_undamped_springs_is_kept_but_for_numerics() -> None:
    ball, sim = ball_on_spring(5e4, 0.0, 0.0, -1.0, dt=2e-5, gravity=(0, 0, 0))
    total = []
    sim.run(1300, lambda result: total.append(result.certificate.energy.total))
    assert sim.velocity(ball)[2] > 0.98
    assert total == pytest.approx([1.5] * 1300, rel=0.02)


def test_springs_are_in_series_and_dissipation_adds() -> None:
    scene = Scene()
    scene.add_material("steel")
    scene.add_material("rubber", contact_stiffness=3e3, contact_dissipation=0.02)
    scene.add_material("foam", contact_stiffness=1e3, contact_dissipation=0.05)
    scene.add_material("felt", contact_stiffness=1e3)
    scene.set_pair("foam", "felt", contact_stiffness=7e3, contact_dissipation=0.5)
    scene.set_pair("rubber", "felt", contact_stiffness=np.inf)
    scene.add_half_space(material="foam")
    ball = scene.add_sphere(0.1, (0, 0, 0.1), mass=2.0, material="rubber")
    sim = Simulation(scene, dt=0.005)
    pairs = sim.model.pairs.compliance
    assert np.array_equal(pairs, np.swapaxes(pairs, 0, 1))
    assert pairs[0, 0].tolist() == [0.0, 0.0]
    assert pairs[0, 1] == pytest.approx([1 / 3e3, 0.02], rel=1e-14)
    assert pairs[1, 2] == pytest.approx([1 / 3e3 + 1 / 1e3, 0.07], rel=1e-14)
    assert pairs[2, 3] == pytest.approx([1 / 7e3, 0.5], rel=1e-14)
    assert pairs[1, 3].tolist() == [0.0, 0.02]
    sim.run(600)
    assert 0.1 - sim.position(ball)[2] == pytest.approx(2.0 * G / 750.0, rel=1e-6)


def test_box_rests_on_four_springs() -> None:
    scene = Scene()
    scene.add_half_space()
    box = scene.add_box((0.4, 0.2, 0.1), (0, 0, 0.05), mass=8.0, contact_stiffness=1e4, contact_dissipation=0.03)
    sim = Simulation(scene, dt=0.002)
    sim.run(500)
    found = sim.contacts(box)
    assert len(found) == 4
    assert found.force[:, 2] == pytest.approx(np.full(4, 2.0 * G), rel=1e-6)
    assert found.gap == pytest.approx(np.full(4, -2.0 * G / 1e4), rel=1e-6)


@pytest.mark.parametrize("solver", ["auto", "newton", "sap"])
def test_soft_cube_rests_on_springs(solver: str) -> None:
    scene = Scene()
    scene.add_half_space(contact_stiffness=2e3, contact_dissipation=0.02)
    mesh = tet_generators.box((0.1, 0.1, 0.1), 2)
    cube = scene.add_soft(mesh, elastic(1e5, 0.3, beta=0.01), (0, 0, 0.05))
    sim = Simulation(scene, dt=0.005, solver=solver)
    sim.run(150)
    found = sim.contacts(cube)
    assert len(found) == 9
    weight = 1000.0 * mesh.volumes.sum() * G
    assert found.total_force[2] == pytest.approx(weight, rel=1e-4)
    assert found.gap == pytest.approx(-found.force[:, 2] / 2e3, rel=1e-3)
    assert sim.last is not None
    assert sim.last.certificate.converged


def test_soft_body_brings_its_own_springs() -> None:
    scene = Scene()
    scene.add_half_space()
    mesh = tet_generators.box((0.1, 0.1, 0.1), 1)
    options = {"contact_stiffness": 5e2, "contact_dissipation": 0.05}
    cube = scene.add_soft(mesh, elastic(1e5, 0.3, beta=0.01), (0, 0, 0.05), **options)
    sim = Simulation(scene, dt=0.005)
    sim.run(300)
    force = sim.contacts(cube).force[:, 2]
    assert force.sum() == pytest.approx(1000.0 * 0.001 * G, rel=1e-4)
    assert sim.contacts(cube).gap == pytest.approx(-force / 5e2, rel=1e-3)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), "stiff", True])
def test_wrong_stiffness_is_named(value: object) -> None:
    scene = Scene()
    mesh = tet_generators.box((1, 1, 1), 1)
    wrong = r"contact_stiffness is .*; it must be positive \[N/m\], or left out \(None\) for rigid contacts"
    with pytest.raises(InputError, match="material 'rubber': " + wrong):
        scene.add_material("rubber", contact_stiffness=value)
    with pytest.raises(InputError, match="body 'ball': " + wrong):
        scene.add_sphere(0.1, name="ball", contact_stiffness=value)
    with pytest.raises(InputError, match="body 'cube': " + wrong):
        scene.add_soft(mesh, elastic(1e5, 0.3), name="cube", contact_stiffness=value)
    scene.add_material("steel")
    with pytest.raises(InputError, match="material pair 'steel', 'steel': " + wrong):
        scene.set_pair("steel", "steel", contact_stiffness=value)
    assert len(scene.materials) == 1


@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf")])
def test_wrong_dissipation_is_named(value: float) -> None:
    scene = Scene()
    with pytest.raises(InputError, match="body 'ball': contact_dissipation is"):
        scene.add_sphere(0.1, name="ball", contact_stiffness=1e3, contact_dissipation=value)
    scene.add_material("steel")
    with pytest.raises(InputError, match="material pair 'steel', 'steel': contact_dissipation is"):
        scene.set_pair("steel", "steel", contact_dissipation=value)


def test_springs_and_stabilisation_do_not_go_together() -> None:
    with pytest.raises(InputError, match="stabilisation is 2, but materials of the scene have a contact_stiffness"):
        ball_on_spring(1e3, stepping=Stepping(stabilisation=2))


# ---- what the convex law costs ---------------------------------------------------------------------------------------


def sliding_box(solver: str, gap: float = 0.0) -> Simulation:
    """A box that slides at 2 m/s, ``gap`` [m] above the ground, and slows down."""
    scene = Scene()
    scene.add_half_space(friction=0.4)
    scene.add_box((0.2, 0.2, 0.05), (0, 0, 0.025 + gap), friction=0.4, velocity=(2.0, 0, 0))
    # contacts that glide are seen
    sim = Simulation(scene, solver=solver, stepping=Stepping(dt=0.002, margin=0.01))
    sim.run(40)
    return sim


def test_gliding_gap_is_that_of_the_convex_law() -> None:
    sim = sliding_box("apgd", gap=0.002 * 0.4 * 2.0)  # from the ground it would be thrown up at mu |u_t|
    assert sim.last is not None
    speed = np.linalg.norm(sim.state.body_velocity[1, :2])
    assert speed > 1.0
    certificate = sim.last.certificate
    assert certificate.gliding_gap == pytest.approx(0.002 * 0.4 * speed, rel=0.01)
    assert certificate.gliding_gap_mm == 1e3 * certificate.gliding_gap
    assert sim.last.contacts.gap == pytest.approx(certificate.gliding_gap, rel=0.02)
    assert certificate.as_dict()["gliding_gap"] == certificate.gliding_gap


def test_exact_solutions_do_not_glide() -> None:
    sim = sliding_box("auto")
    assert sim.last is not None
    assert sim.last.certificate.gliding_gap < 1e-10
