"""Joints against closed forms: of mechanics, or of the scheme itself where that is exact.

Semi-implicit Euler errs by a share of about h times the rate of what happens, the midpoint rule by its square.
"""

from math import atan, cos, exp, pi, sin, sqrt, tan

import numpy as np
import pytest

from stickslip import Body, Drive, Joint, Scene, Simulation, Stepping
from stickslip.geometry.rotation import about_axis, matrix

G = 9.81
SCHEMES = ("euler", "moreau", "passive")
MASS, LENGTH = 2.0, 1.0


def rod(angle: float, **options: object) -> tuple[Scene, Body, Joint]:
    """A thin rod hung at its end, turned by ``angle`` [rad] from hanging down."""
    scene, turn = Scene(), about_axis((0, 1, 0), angle)
    body = scene.add_box((0.02, 0.02, LENGTH), matrix(turn) @ [0, 0, -0.5 * LENGTH], turn, mass=MASS)
    return scene, body, scene.add_revolute(None, body, (0, 0, 0), (0, 1, 0), **options)


def cart(**options: object) -> tuple[Scene, Body, Joint]:
    """A body of 2 kg on an upright rail."""
    scene = Scene()
    body = scene.add_box((0.1, 0.1, 0.1), mass=MASS)
    return scene, body, scene.add_prismatic(None, body, (0, 0, 1), **options)


def test_small_swings_of_a_compound_pendulum_have_its_period() -> None:
    start = 0.05
    scene, _, joint = rod(start)
    sim = Simulation(scene, dt=0.01, stepping=Stepping(scheme="moreau"))
    angle = [start]
    sim.run(180, lambda _: angle.append(start + sim.joint_position(joint)[0]))
    crossings = [
        0.01 * (k + before / (before - after))
        for k, (before, after) in enumerate(zip(angle[:-1], angle[1:], strict=True))
        if before * after < 0.0
    ]
    inertia = MASS * (LENGTH**2 + 0.02**2) / 12 + MASS * (0.5 * LENGTH) ** 2
    rate = sqrt(MASS * G * 0.5 * LENGTH / inertia)
    period = 2 * pi / rate * (1 + start**2 / 16)
    # the midpoint rule is second order, and so is the interpolation
    assert 2 * (crossings[1] - crossings[0]) == pytest.approx(period, rel=0.2 * (rate * 0.01) ** 2)
    assert max(abs(x) for x in angle) == pytest.approx(start, rel=1e-3)
    assert sim.joint_error() < 1e-12


@pytest.mark.parametrize(("scheme", "error"), [("euler", 0.03), ("moreau", 2e-4)])
def test_speed_at_the_bottom_after_a_fall_through_a_right_angle(scheme: str, error: float) -> None:
    scene, _, joint = rod(0.5 * pi)
    sim = Simulation(scene, dt=0.005, stepping=Stepping(scheme=scheme))
    angle, speed = [], []
    while not angle or angle[-1] > 0.0:
        sim.step()
        angle.append(0.5 * pi + sim.joint_position(joint)[0])
        speed.append(-sim.joint_velocity(joint)[0])
    share = angle[-2] / (angle[-2] - angle[-1])
    found = speed[-2] + share * (speed[-1] - speed[-2])
    inertia = MASS * (LENGTH**2 + 0.02**2) / 12 + MASS * (0.5 * LENGTH) ** 2
    assert found == pytest.approx(sqrt(MASS * G * LENGTH / inertia), rel=error)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", ["fixed", "ball", "revolute", "universal", "distance", "rope"])
def test_a_hanging_weight_pulls_with_its_weight(kind: str, scheme: str) -> None:
    scene = Scene()
    body = scene.add_box((0.1, 0.1, 0.2), (0, 0, -0.5), mass=3.0)
    top = (0, 0, -0.4)
    joint = {
        "fixed": lambda: scene.add_fixed(None, body, top),
        "ball": lambda: scene.add_ball(None, body, top),
        "revolute": lambda: scene.add_revolute(None, body, top, (1, 0, 0)),
        "universal": lambda: scene.add_universal(None, body, top, (1, 0, 0), (0, 1, 0)),
        "distance": lambda: scene.add_distance(None, body, (0, 0, 0), top),
        "rope": lambda: scene.add_distance(None, body, (0, 0, 0), top, limits=(0, 0.4)),
    }[kind]()
    sim = Simulation(scene, dt=0.01, stepping=Stepping(scheme=scheme))
    sim.run(5)
    force, torque = sim.joint_force(joint)
    np.testing.assert_allclose(force, [0, 0, 3.0 * G], atol=1e-7)
    np.testing.assert_allclose(torque, 0, atol=1e-7)
    np.testing.assert_allclose(sim.position(body), [0, 0, -0.5], atol=1e-9)


def test_a_cantilever_is_held_by_force_and_moment() -> None:
    scene = Scene()
    body = scene.add_box((1.0, 0.1, 0.1), (0.5, 0, 0), mass=3.0)
    joint = scene.add_fixed(None, body, (0, 0, 0))
    sim = Simulation(scene, dt=0.01)
    sim.run(5)
    force, torque = sim.joint_force(joint)
    np.testing.assert_allclose(force, [0, 0, 3.0 * G], atol=1e-7)
    np.testing.assert_allclose(torque, [0, -0.5 * 3.0 * G, 0], atol=1e-7)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_limits_stop_a_hinge_and_push_back(side: float, scheme: str) -> None:
    scene = Scene(gravity=(0, 0, 0))
    body = scene.add_box((0.1, 0.1, 0.1), angular_velocity=(0, 0, 5.0 * side), mass=MASS)
    joint = scene.add_revolute(None, body, (0, 0, 0), (0, 0, 1), limits=(-0.3, 0.3))
    sim = Simulation(scene, dt=0.01, stepping=Stepping(scheme=scheme))
    reached, moments, impact = [], [], []

    def note(result) -> None:
        reached.append(side * sim.joint_position(joint)[0])
        moments.append(side * sim.joint_force(joint)[1][2])
        impact.append(result.certificate.energy.impact)

    sim.run(20, note)
    inertia = MASS * 0.1**2 / 6
    assert max(moments) < 1e-9  # on b, against the way it came
    if scheme == "euler":
        assert max(reached) < 0.3 + 1e-9
        assert reached[-1] == pytest.approx(0.3, abs=1e-9)
        assert sum(moments) * 0.01 == pytest.approx(-inertia * 5.0, rel=1e-6)
        assert sum(impact) == pytest.approx(0.5 * inertia * 5.0**2, rel=1e-6)
    else:  # the midpoint rule sees a limit after half a step, and takes the overlap back by a fifth per step
        assert max(reached) < 0.3 + 0.5 * 0.01 * 5.0
        assert abs(sim.joint_velocity(joint)[0]) < (0.1 + 1e-9) * 5.0  # a fifth of half a step's way, in one step
        assert sum(impact) == pytest.approx(0.5 * inertia * 5.0**2, rel=0.02)


def test_a_rod_rests_on_its_limit_with_the_midpoint_rule() -> None:
    scene, _, joint = rod(0.5 * pi, limits=(-0.4, 1.0))
    sim = Simulation(scene, dt=0.01, stepping=Stepping(scheme="moreau"))
    sim.run(100)
    assert sim.joint_position(joint)[0] == pytest.approx(-0.4, abs=1e-3)
    assert abs(sim.joint_velocity(joint)[0]) < 1e-2
    held = MASS * G * 0.5 * LENGTH * cos(0.4)
    assert sim.joint_force(joint)[1][1] == pytest.approx(held, rel=0.02)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_damped_oscillator_follows_the_scheme_step_by_step(scheme: str) -> None:
    """Spring and damper are implicit: v' = v + h / m (-k x' - d v' - m g), with x' of the scheme.

    Where the unknowns are mean velocities, x' and v' on the right are the means of the step.
    """
    k, d, h = 400.0, 3.0, 0.01
    scene, _, joint = cart(drive=Drive(stiffness=k, damping=d))
    sim = Simulation(scene, dt=h, stepping=Stepping(scheme=scheme))
    tau = h if scheme == "euler" else 0.5 * h
    x, v = 0.0, 0.0
    for _ in range(60):
        if scheme == "passive":
            mean = (v - 0.5 * h * (G + k * x / MASS)) / (1 + 0.5 * h * (k * tau + d) / MASS)
            x, v = x + h * mean, 2 * mean - v
        else:
            middle = x + (h - tau) * v
            v = (v - h * G - h * k * middle / MASS) / (1 + h * (k * tau + d) / MASS)
            x = middle + tau * v
        sim.step()
        assert sim.joint_position(joint)[0] == pytest.approx(x, abs=1e-9)
        assert sim.joint_velocity(joint)[0] == pytest.approx(v, abs=1e-8)


def test_period_and_decrement_of_a_damped_oscillator() -> None:
    k, d, h, start = 400.0, 3.0, 0.002, 0.1
    scene = Scene(gravity=(0, 0, 0))
    body = scene.add_sphere(0.05, (0, 0, -1.0), mass=MASS)
    joint = scene.add_spring(None, body, (0, 0, 0), (0, 0, -1.0), k, d, length=1.0 - start)
    sim = Simulation(scene, dt=h)
    x = [start]
    rate, decay = sqrt(k / MASS - (0.5 * d / MASS) ** 2), 0.5 * d / MASS
    steps = round(2 * pi / rate / h)
    sim.run(steps, lambda _: x.append(sim.joint_position(joint)[0] - 1.0 + start))
    # the implicit spring acts as if it had a damper of h k / 2 more
    assert x[steps] / start == pytest.approx(exp(-(decay + 0.5 * h * k / MASS) * 2 * pi / rate), rel=0.03)
    minimum = int(np.argmin(x))
    assert minimum == pytest.approx(0.5 * steps, abs=0.02 * steps)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_position_drive_gives_way_by_load_over_stiffness(scheme: str) -> None:
    scene, _, joint = cart(drive=Drive(stiffness=500.0, damping=60.0, position=0.2))
    sim = Simulation(scene, dt=0.02, stepping=Stepping(scheme=scheme))
    sim.run(120)
    assert sim.joint_position(joint)[0] == pytest.approx(0.2 - MASS * G / 500.0, abs=1e-6)
    np.testing.assert_allclose(sim.joint_force(joint)[0], [0, 0, MASS * G], atol=1e-4)


def test_a_velocity_drive_reaches_its_speed_and_saturates_on_the_way() -> None:
    scene, _, joint = cart(drive=Drive(damping=1e5, velocity=1.5, limit=50.0))
    sim = Simulation(scene, dt=0.01)
    acceleration = 50.0 / MASS - G
    speeds, work = [], 0.0
    for _ in range(20):
        work += sim.step().certificate.energy.work
        speeds.append(sim.joint_velocity(joint)[0])
    saturated = int(1.5 / acceleration / 0.01)
    np.testing.assert_allclose(np.diff([0.0, *speeds[:saturated]]), 0.01 * acceleration, rtol=1e-9)
    assert speeds[-1] == pytest.approx(1.5 - MASS * G / 1e5, rel=1e-6)
    gained = 0.5 * MASS * speeds[-1] ** 2 + MASS * G * sim.joint_position(joint)[0]
    assert work == pytest.approx(gained, rel=0.03)  # semi-implicit Euler lifts by h v / 2 too far in each step


def test_a_joint_breaks_at_its_load_and_not_before() -> None:
    scene = Scene()
    body = scene.add_sphere(0.1, mass=1.0)
    joint = scene.add_ball(None, body, (0, 0, 0), break_force=20.0)
    sim = Simulation(scene, dt=0.01)
    loads = G + np.arange(0.0, 15.0, 0.5)
    for load in loads:
        sim.set_force(body, (0, 0, G - load))
        sim.step()
        if sim.joint_broken(joint):
            break
    assert load == loads[np.searchsorted(loads, 20.0)]
    assert sim.velocity(body)[2] == pytest.approx(0.0, abs=1e-9)  # it held in the step that broke it
    sim.step()
    assert sim.velocity(body)[2] == pytest.approx(-0.01 * load, rel=1e-9)


def test_a_torque_breaks_a_weld() -> None:
    scene = Scene(gravity=(0, 0, 0))
    body = scene.add_box((0.1, 0.1, 0.1), mass=1.0)
    joint = scene.add_fixed(None, body, (0, 0, 0), break_torque=2.0)
    sim = Simulation(scene, dt=0.01)
    for torque, broken in ((1.99, False), (2.01, True)):
        sim.set_force(body, torque=(0, torque, 0))
        sim.step()
        assert sim.joint_broken(joint) == broken


@pytest.mark.parametrize("holds", ["nothing", "another joint", "the user"])
def test_bodies_whose_joint_broke_collide_unless_something_else_keeps_them_from_it(holds: str) -> None:
    """Two welded boxes are pulled apart and let go; then the upper rests on the lower, or falls through it."""
    scene = Scene()
    floor = scene.add_half_space()
    low = scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.1), mass=1.0)
    high = scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.3), mass=1.0)
    weld = scene.add_fixed(low, high, break_force=30.0)
    if holds == "another joint":
        scene.add_distance(high, low, (0, 0, 0.3), (0, 0, -1), limits=(0, 5.0))
    if holds == "the user":
        scene.ignore_collision(low, high)
    sim = Simulation(scene, dt=0.01)
    sim.run(5)
    assert not len(sim.contacts(low, high).gap)
    sim.set_force(low, (0, 0, -100.0))
    sim.set_force(high, (0, 0, 50.0))
    sim.step()
    assert sim.joint_broken(weld)
    for body in (low, high):
        sim.set_force(body)
    sim.run(80)
    rests = 0.3 if holds == "nothing" else 0.1
    assert sim.position(high)[2] == pytest.approx(rests, abs=1e-5)
    assert sim.position(low)[2] == pytest.approx(0.1, abs=1e-5)
    if holds == "nothing":
        assert sim.contacts(high, low).force.sum(axis=0)[2] == pytest.approx(G, rel=1e-6)
        assert sim.contacts(low, floor).force.sum(axis=0)[2] == pytest.approx(2 * G, rel=1e-6)


def test_a_universal_joint_turns_the_other_shaft_as_cardan_says() -> None:
    """tan(out) = tan(in) cos(bend); the point is held three times, and redundancy does no harm."""
    bend, speed, h = 0.6, 3.0, 0.01
    along = (cos(bend), sin(bend), 0.0)
    scene = Scene(gravity=(0, 0, 0))
    drive = scene.add_cylinder(0.02, 0.4, kind="kinematic", angular_velocity=(speed, 0, 0))
    out = scene.add_cylinder(0.05, 0.02, mass=1.0)
    scene.add_universal(drive, out, (0, 0, 0), (0, 0, 1), (-sin(bend), cos(bend), 0))
    shaft = scene.add_revolute(None, out, (0, 0, 0), along)
    sim = Simulation(scene, dt=h)
    for k in range(1, 120):
        sim.step()
        turned = speed * h * k
        expected = atan(tan(turned) * cos(bend)) + pi * np.floor(turned / pi + 0.5)
        assert sim.joint_position(shaft)[0] == pytest.approx(expected, abs=1e-7)
    # a step's velocity is the mean over it: the ratio at its middle
    middle = turned - 0.5 * h * speed
    ratio = cos(bend) / (1 - (sin(bend) * sin(middle)) ** 2)
    assert sim.joint_velocity(shaft)[0] / speed == pytest.approx(ratio, rel=1e-3)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_cylindrical_joint_slides_and_turns_freely_and_else_holds(scheme: str) -> None:
    scene = Scene()
    body = scene.add_cylinder(0.1, 0.2, velocity=(0, 0, 1.0), angular_velocity=(0, 0, 4.0), mass=MASS)
    joint = scene.add_cylindrical(None, body, (0, 0, 0), (0, 0, 1))
    sim = Simulation(scene, dt=0.01, stepping=Stepping(scheme=scheme))
    sim.set_force(body, (7.0, 3.0, 0), (2.0, 1.0, 0))  # across the axis: all of it is held
    sim.run(50)
    slide, turn = sim.joint_position(joint)
    early = 0.5 * G * 0.01 * 0.5 if scheme == "euler" else 0.0
    assert slide == pytest.approx(0.5 - 0.5 * G * 0.25 - early, abs=1e-9)
    assert turn == pytest.approx(2.0, abs=1e-7)
    np.testing.assert_allclose(sim.joint_velocity(joint), [1.0 - G * 0.5, 4.0], atol=1e-7)
    force, torque = sim.joint_force(joint)
    np.testing.assert_allclose(force, [-7.0, -3.0, 0], atol=1e-6)
    # the gyroscopic term of a step is that of the body without the joint: errs by h omega torque
    np.testing.assert_allclose(torque, [-2.0, -1.0, 0], atol=0.01 * 4.0 * 2.0)


def test_a_rod_keeps_its_length_through_half_a_turn() -> None:
    scene = Scene()
    ball = scene.add_sphere(0.05, (1.0, 0, 0), mass=1.0)
    joint = scene.add_distance(None, ball, (0, 0, 0), (1.0, 0, 0))
    sim = Simulation(scene, dt=0.005, stepping=Stepping(scheme="moreau"))
    fastest, pull, apart = 0.0, 0.0, 0.0
    for _ in range(120):
        sim.step()
        fastest = max(fastest, float(np.linalg.norm(sim.velocity(ball))))
        pull = max(pull, float(np.linalg.norm(sim.joint_force(joint)[0])))
        apart = max(apart, abs(sim.joint_position(joint)[0] - 1.0))
    assert apart < 1e-9
    assert fastest == pytest.approx(sqrt(2 * G), rel=1e-3)
    assert pull == pytest.approx(3 * G, rel=1e-3)  # weight and twice it for the circle


def test_a_slack_rope_lets_fall_and_a_taut_one_stops() -> None:
    scene = Scene()
    ball = scene.add_sphere(0.05, (0, 0, -0.5), mass=1.0)
    rope = scene.add_distance(None, ball, (0, 0, 0), (0, 0, -0.5), limits=(0, 1.0))
    sim = Simulation(scene, dt=0.01)
    for k in range(1, 30):
        sim.step()
        assert sim.velocity(ball)[2] == pytest.approx(-G * 0.01 * k, rel=1e-12)
        assert not sim.joint_force(rope)[0].any()
    sim.run(20)
    assert sim.joint_position(rope)[0] == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(sim.joint_force(rope)[0], [0, 0, G], atol=1e-7)


@pytest.mark.parametrize("count", [2, 4, 8])
def test_a_bending_cantilever_sinks_as_its_springs_say(count: int) -> None:
    """Joint i bends by F (L - x_i) / k: the tip sinks by F / k sum (L - x_i)^2."""
    k, load, each = 200.0, 0.05, 1.0 / count
    scene = Scene(gravity=(0, 0, 0))
    last = None
    for i in range(count):
        body = scene.add_box((each, 0.05, 0.05), ((i + 0.5) * each, 0, 0), mass=0.2 / count)
        scene.add_fixed(last, body, (i * each, 0, 0), bending_stiffness=k, bending_damping=2.0)
        last = body
    sim = Simulation(scene, dt=0.1)
    sim.set_force(last, (0, 0, -load), point=(1.0, 0, 0))
    sim.run(60)
    tip = sim.position(last) + matrix(sim.rotation(last)) @ [0.5 * each, 0, 0]
    sag = load / k * sum((1.0 - i * each) ** 2 for i in range(count))
    assert tip[2] == pytest.approx(-sag, rel=1e-4)
    assert sim.last.certificate.energy.elastic == pytest.approx(0.5 * load * sag, rel=1e-3)


@pytest.mark.parametrize("spin", [-40.0, 40.0])
def test_angles_count_full_turns(spin: float) -> None:
    scene = Scene(gravity=(0, 0, 0))
    wheel = scene.add_cylinder(0.2, 0.1, angular_velocity=(0, 0, spin))
    joint = scene.add_revolute(None, wheel, (0, 0, 0), (0, 0, 1))
    sim = Simulation(scene, dt=0.02)
    sim.run(50)
    assert sim.joint_position(joint)[0] == pytest.approx(spin, rel=1e-9)  # 6.4 turns, 0.8 rad in a step
    assert sim.joint_velocity(joint)[0] == pytest.approx(spin, rel=1e-9)


@pytest.mark.parametrize("world_is_a", [True, False])
def test_the_world_may_be_either_side(world_is_a: bool) -> None:
    """With the world as b, the coordinate and the force are those of the world relative to the body."""
    scene = Scene()
    body = scene.add_box((0.1, 0.1, 0.1), (0, 0, 0), velocity=(0, 0, 2.0), mass=MASS)
    sides = (None, body) if world_is_a else (body, None)
    joint = scene.add_prismatic(*sides, (0, 0, 1), drive=Drive(damping=10.0))
    sim = Simulation(scene, dt=0.01)
    sim.run(10)
    sign = 1.0 if world_is_a else -1.0
    assert sim.joint_position(joint)[0] == pytest.approx(sign * sim.position(body)[2], abs=1e-12)
    assert sim.joint_force(joint)[0][2] == pytest.approx(-sign * 10.0 * sim.velocity(body)[2], rel=1e-9)


def test_a_moving_body_drags_what_is_joined_to_it() -> None:
    scene = Scene(gravity=(0, 0, 0))
    hand = scene.add_box((0.1, 0.1, 0.1), kind="kinematic", velocity=(1.0, 0, 0), angular_velocity=(0, 0, 2.0))
    held = scene.add_box((0.1, 0.1, 0.1), (0.5, 0, 0), mass=1.0)
    joint = scene.add_fixed(hand, held, (0.2, 0, 0))
    sim = Simulation(scene, dt=0.01)
    sim.run(50)
    expected = [0.5 + 0.5 * cos(1.0), 0.5 * sin(1.0), 0]
    np.testing.assert_allclose(sim.position(held), expected, atol=1e-9)
    inward = -np.array([cos(1.0), sin(1.0), 0.0]) * 0.5 * 2.0**2
    np.testing.assert_allclose(sim.joint_force(joint)[0], inward, atol=0.05)  # turns by h omega in a step
