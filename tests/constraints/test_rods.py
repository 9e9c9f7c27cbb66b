"""Rods: strains and their Jacobians, closed forms of bending, twisting and hanging, momentum, energy, input."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc

from stickslip import InputError, Scene, Simulation, compile_scene
from stickslip.bodies.rigid.advance import advance
from stickslip.constraints.joint.rows import measure_rows, row_speed
from stickslip.model.joint_tables import MIDDLE
from stickslip.scene.rod import round_section

LENGTH, RADIUS, YOUNG = 1.0, 0.01, 1e6


def straight(links: int, direction=(0.0, 0.0, 1.0)) -> np.ndarray:
    return np.linspace(0.0, LENGTH, links + 1)[:, None] * np.array(direction)


def clamped(links: int, direction=(0.0, 0.0, 1.0), **options):
    """A weightless straight rod whose start is clamped."""
    scene = Scene(gravity=(0, 0, 0))
    return scene, scene.add_rod(
        straight(links, direction), RADIUS, **{"young": YOUNG, "poisson": 0.3, "fixed_start": True, **options}
    )


def wound_rod():
    """A model with a rod on a helix, straight at rest, and a random configuration of it with large strains."""
    scene = Scene()
    t = np.linspace(0.0, 4.0, 6)
    scene.add_rod(np.column_stack([np.cos(t), np.sin(t), 0.3 * t]), RADIUS, young=YOUNG, fixed_end=True)
    model, rng = compile_scene(scene), np.random.default_rng(1)
    return model, advance(model.q_start, rng.normal(size=(model.body_count, 6)), 0.3), rng


def measured(model, q):
    tables = model.joints
    return measure_rows(tables, q, np.zeros((len(q), 6)), np.zeros((tables.count, 2)), 0.0)


def test_jacobians_of_strains_are_derivatives() -> None:
    """Central differences, step 1e-5: errors of 1e-10 from truncation and rounding each, times third derivatives."""
    model, q, rng = wound_rod()
    v, step = rng.normal(size=(model.body_count, 6)), 1e-5
    _, J = measured(model, q)
    difference = (measured(model, advance(q, v, step))[0] - measured(model, advance(q, v, -step))[0]) / (2.0 * step)
    np.testing.assert_allclose(difference, row_speed(model.joints, model.joints.row_joint, J, v), atol=1e-8)
    assert (model.joints.row_measure[:, 0] == MIDDLE).any()


def test_rigid_motion_leaves_strains_and_forces_balance() -> None:
    """J of a rigid motion is zero: by the transpose, forces of a section have no sum and no moment."""
    model, q, rng = wound_rod()
    tables = model.joints
    inner = tables.body_b[tables.row_joint] >= 0
    _, J = measured(model, q)
    omega, speed = rng.normal(size=3), rng.normal(size=3)
    v = np.concatenate([speed + np.cross(omega, q[:, :3]), np.broadcast_to(omega, (len(q), 3))], axis=1)
    assert np.abs(row_speed(tables, tables.row_joint, J, v)[inner]).max() < 1e-12


def test_strains_do_not_depend_on_which_link_comes_first() -> None:
    model, q, _ = wound_rod()
    t = model.joints
    swapped = t._replace(
        body_a=t.body_b, body_b=t.body_a, anchor_a=t.anchor_b, anchor_b=t.anchor_a, frame_a=t.frame_b, frame_b=t.frame_a
    )
    none = np.zeros((model.body_count, 6)), np.zeros((t.count, 2))
    np.testing.assert_allclose(measure_rows(swapped, q, *none, 0.0)[0], -measure_rows(t, q, *none, 0.0)[0], atol=1e-12)


def test_links_have_the_mass_of_their_segments() -> None:
    scene, rod = clamped(7, density=800.0)
    model = compile_scene(scene)
    m = 800.0 * np.pi * RADIUS**2 * LENGTH / 7
    across = m * (3.0 * RADIUS**2 + (LENGTH / 7) ** 2) / 12.0
    np.testing.assert_allclose(model.mass, m)
    np.testing.assert_allclose(model.inertia[3], np.diag([across, across, 0.5 * m * RADIUS**2]), atol=1e-18)
    assert [link.name for link in rod.links] == [f"rod-0/{k}" for k in range(7)]
    assert rod.length == pytest.approx(LENGTH)


def elastica(load: float) -> tuple[float, float]:
    """Tip (x, deflection) over the length of a cantilever with F L^2 / E I = load (Bisshopp and Drucker 1945)."""

    def mismatch(p: float) -> float:
        return float(ellipk(p * p) - ellipkinc(np.arcsin(1.0 / (np.sqrt(2.0) * p)), p * p) - np.sqrt(load))

    p = brentq(mismatch, 1.0 / np.sqrt(2.0) + 1e-12, 1.0 - 1e-12, xtol=1e-15)
    arc = ellipe(p * p) - ellipeinc(np.arcsin(1.0 / (np.sqrt(2.0) * p)), p * p)
    return float(np.sqrt(2.0 * (2.0 * p * p - 1.0) / load)), float(1.0 - 2.0 * arc / np.sqrt(load))


def cosserat_tip(force: float) -> np.ndarray:
    """Tip (x, z) of a cantilever along x that stretches and shears as well, loaded by -force along z, by shooting."""
    section = round_section("rod", RADIUS, YOUNG, 0.3)

    def slope(s: float, y: np.ndarray) -> list[float]:
        angle = y[2]
        n, q = -force * np.sin(angle), -force * np.cos(angle)  # along and across the section
        along, across = 1.0 + n / section.stretch, q / section.shear
        dx = along * np.cos(angle) - across * np.sin(angle)
        dz = along * np.sin(angle) + across * np.cos(angle)
        return [dx, dz, y[3] / section.bend, force * dx]

    def shot(moment: float) -> np.ndarray:
        return solve_ivp(slope, (0.0, LENGTH), [0.0, 0.0, 0.0, moment], rtol=1e-11, atol=1e-13).y[:, -1]

    guess = -force * LENGTH
    moment = brentq(lambda m: shot(m)[3], 1.2 * guess, 0.3 * guess, xtol=1e-14)
    return shot(moment)[:2]


def bent_tip(links: int, force: float) -> np.ndarray:
    """Tip (x, z) at rest: steps so long that backward Euler leaves the static problem."""
    scene, rod = clamped(links, (1.0, 0.0, 0.0))
    sim = Simulation(scene, dt=10.0, solver="newton")
    for k in range(14):
        tip = rod.points(sim.state.body_pose)[-1]
        sim.set_force(rod.links[-1], (0, 0, -force * min(1.0, (k + 1) / 6)), point=tip)
        assert sim.step().certificate.converged
    return rod.points(sim.state.body_pose)[-1][[0, 2]]


def test_a_cantilever_bends_to_the_elastica_at_second_order() -> None:
    """Deflection of two thirds of the length. The elastica neither stretches nor shears: 0.02 % of difference."""
    load = 4.0
    force = load * round_section("rod", RADIUS, YOUNG, 0.3).bend / LENGTH**2
    x, deflection = elastica(load)
    exact = cosserat_tip(force)
    np.testing.assert_allclose(exact, [x, -deflection], atol=5e-4)
    tips = [bent_tip(links, force) for links in (10, 20, 40)]
    errors = [float(np.linalg.norm(tip - exact)) for tip in tips]
    assert np.linalg.norm(tips[-1] - [x, -deflection]) < 0.01 * deflection
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (np.abs(orders - 2.0) < 0.1).all(), (errors, orders)


def test_stretch_and_twist_of_a_clamped_rod() -> None:
    """F L / E A and T L / G J, less the half link beyond the last section; what is left of the motion is 1.3^-80."""
    scene, rod = clamped(10, damping=0.5, density=10.0)
    section = round_section("rod", RADIUS, YOUNG, 0.3)
    sim = Simulation(scene, dt=0.15, solver="newton")
    sim.set_force(rod.links[-1], (0, 0, 1e-3 * section.stretch), (0, 0, 0.3 * section.twist))
    sim.run(80)
    stretched = rod.points(sim.state.body_pose)[-1][2] - LENGTH
    assert stretched == pytest.approx(1e-3 * (LENGTH - 0.05), rel=1e-6)
    _, _, _, turn = sim.rotation(rod.links[-1])
    assert 2.0 * np.arcsin(turn) == pytest.approx(0.3 * (LENGTH - 0.05), rel=1e-6)
    energy = 0.5 * (1e-6 * section.stretch + 0.09 * section.twist) * (LENGTH - 0.05)
    assert sim.last.certificate.energy.elastic == pytest.approx(energy, rel=1e-5)


def helix_of(points: np.ndarray, axis: np.ndarray) -> tuple[float, float]:
    """Radius and pitch [m] of points (n, 3) on a helix about a unit axis."""
    side = np.linalg.svd(axis[None])[2][1:]
    x, y = side @ points.T
    centre = np.linalg.lstsq(np.column_stack([2 * x, 2 * y, np.ones_like(x)]), x * x + y * y, rcond=None)[0]
    angle = np.unwrap(np.arctan2(y - centre[1], x - centre[0]))
    pitch = 2.0 * np.pi * abs(float(np.polyfit(angle, points @ axis, 1)[0]))
    return float(np.sqrt(centre[2] + centre[0] ** 2 + centre[1] ** 2)), pitch


def test_rest_curvature_and_twist_wind_a_straight_rod_to_a_helix() -> None:
    """Radius kappa / w^2 and pitch 2 pi tau / w^2, w^2 = kappa^2 + tau^2: a full turn. Damped, so that strains fall by
    1.2^-60 = 2e-5; the error in the radius is of second order in the links. Steps are so long that the first ones make
    energy, and are called diverged for it, though each is solved."""
    kappa, tau = 2.0 * np.pi * np.sin(1.0), 2.0 * np.pi * np.cos(1.0)
    w = np.hypot(kappa, tau)
    errors = []
    for links in (12, 24):
        scene, rod = clamped(links, rest=(kappa, 0.0, tau), damping=0.5, density=10.0)
        sim = Simulation(scene, dt=0.1, solver="newton")
        for _ in range(60):
            assert sim.step().solution.converged
        assert sim.step().certificate.converged
        radius, pitch = helix_of(rod.points(sim.state.body_pose), np.array([kappa, 0.0, tau]) / w)
        assert pitch == pytest.approx(2.0 * np.pi * tau / w**2, rel=2e-4)
        errors.append(radius / (kappa / w**2) - 1.0)
    assert errors[1] < 0.005
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.15)


def helix_moments(links: int, couple: float = 0.02, tilt: float = 0.9) -> np.ndarray:
    """Moments [N m] that sections of a rod exert which lies on the helix of an end couple along z, straight at rest.

    Where the couple M is the moment everywhere, the tangent turns about it at the rate M / EI and keeps its ``tilt``.
    """
    section = round_section("rod", RADIUS, YOUNG, 0.3)
    bending, twisting = section.bend, section.twist
    s = np.linspace(0.0, LENGTH, links + 1)
    turn = couple / bending
    radius = np.sin(tilt) / turn
    points = np.column_stack([radius * np.cos(turn * s), radius * np.sin(turn * s), np.cos(tilt) * s])
    scene = Scene(gravity=(0, 0, 0))
    # frames that points are given do not twist along the rod; the twist of the couple comes in through the rest shape
    rest = (0.0, 0.0, -couple * np.cos(tilt) / twisting)
    rod = scene.add_rod(points, RADIUS, young=YOUNG, poisson=0.3, rest=rest)
    sim = Simulation(scene, dt=1e-6, solver="newton")
    sim.step()
    return np.array([sim.joint_force(section)[1] for section in rod.sections])


def test_a_helix_is_the_equilibrium_of_an_end_couple() -> None:
    """The moment in all sections is the couple, to second order in the length of links."""
    errors = [np.abs(helix_moments(links) - (0.0, 0.0, -0.02)).max() / 0.02 for links in (20, 40, 80)]
    assert errors[2] < 0.005
    np.testing.assert_allclose(np.log2(np.array(errors[:2]) / errors[1:]), 2.0, atol=0.1)


def test_a_cable_hangs_in_a_catenary() -> None:
    """Thin enough for bending to matter only within a centimetre of its ends, stiff enough not to stretch."""
    links, span, radius, young = 30, 0.8, 0.001, 2e7
    a = brentq(lambda a: 2.0 * a * np.sinh(0.5 * span / a) - LENGTH, 0.1, 10.0)
    s = np.linspace(-0.5 * LENGTH, 0.5 * LENGTH, links + 1)
    depth = np.sqrt(0.25 * (LENGTH**2 - span**2))
    points = np.column_stack([s * span / LENGTH, 0.0 * s, depth * (np.abs(2.0 * s / LENGTH) - 1.0)])
    scene = Scene()
    rod = scene.add_rod(points, radius, young=young, poisson=0.3)
    scene.add_ball(None, rod.links[0], points[0])
    scene.add_ball(None, rod.links[-1], points[-1])
    sim = Simulation(scene, dt=0.05, solver="newton")
    sim.run(80)
    sag = -rod.points(sim.state.body_pose)[links // 2, 2]
    assert sag == pytest.approx(a * (np.cosh(0.5 * span / a) - 1.0), rel=3e-3)


def test_momentum_is_conserved_and_the_ledger_closes() -> None:
    """A free bent rod springs back: the sum of forces is zero to rounding, energy goes from elastic to kinetic."""
    t = np.linspace(0.0, 2.0, 9)
    scene = Scene(gravity=(0, 0, 0))
    scene.add_rod(np.column_stack([np.cos(t), np.sin(t), 0.2 * t]), RADIUS, young=YOUNG, damping=1e-3)
    model = compile_scene(scene)
    sim = Simulation(model, dt=0.002)
    start = 0.0
    for k in range(20):
        ledger = sim.step().certificate.energy
        start = ledger.elastic if k == 0 else start
    momentum = (model.mass[:, None] * sim.state.body_velocity[:, :3]).sum(axis=0)
    size = (model.mass[:, None] * np.abs(sim.state.body_velocity[:, :3])).sum()
    assert size > 0.0
    assert np.abs(momentum).max() < 1e-12 * size
    assert ledger.kinetic > 0.0
    assert ledger.elastic < start


@pytest.mark.parametrize("solver", ["newton", "prox-gs", "nsgs", "admm", "proximal-point", "auto"])
def test_all_kinds_of_solvers_take_rods(solver: str) -> None:
    scene, rod = clamped(4, (1.0, 0.0, 0.0))
    scene.gravity = np.array([0.0, 0.0, -9.81])
    sim = Simulation(scene, dt=0.005, solver=solver)
    sim.run(3)
    assert sim.last.certificate.converged
    # free fall is -0.0014715
    assert rod.points(sim.state.body_pose)[-1, 2] == pytest.approx(-0.001467989648, rel=1e-6)


def test_shapes_at_rest_as_given_closed_and_touching() -> None:
    t = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    ring = np.column_stack([np.cos(t), np.sin(t), 0.3 * np.sin(2.0 * t)])
    scene = Scene(gravity=(0, 0, 0))
    rod = scene.add_rod(ring, 0.02, young=YOUNG, rest="as given", closed=True, name="ring")
    assert len(rod.links) == len(rod.sections) == 24
    assert scene.rod("ring") is rod
    sim = Simulation(scene, dt=0.01)
    sim.run(3)
    assert np.abs(sim.state.body_velocity).max() < 1e-12
    assert len(sim.last.contacts) == 0
    np.testing.assert_allclose(rod.points(sim.state.body_pose)[:-1], ring, atol=1e-12)
    # short links overlap their next but one; a rod that is folded touches itself all the same
    scene = Scene(gravity=(0, 0, 0))
    way = np.concatenate([np.linspace([0, 0, 0], [0.2, 0, 0], 21), np.linspace([0.2, 0.019, 0], [0, 0.019, 0], 21)])
    scene.add_rod(way, 0.01, young=YOUNG, rest="as given")
    sim = Simulation(scene, dt=0.01)
    assert len(sim.step().contacts) > 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": [[0, 0, 0]]}, "rod 'rod-0': it has 1 points; at least 2 are needed"),
        ({"points": [[0, 0], [1, 1]]}, "points have shape (2, 2), as [[0, 0], [1, 1]]; (n, 3) numbers are needed"),
        ({"points": [[0, 0, 0], [0, 0, 0], [1, 0, 0]]}, "points 0 and 1 are both"),
        ({"points": [[0, 0, 0], [np.nan, 0, 0]]}, "points[1] is"),
        ({"radius": 0.0}, "radius is 0.0; it must be positive"),
        ({"young": -1.0}, "young is -1.0; it must be positive"),
        ({"poisson": 0.6}, "poisson is 0.6; it must be between 0 and 0.5"),
        ({"damping": -1.0}, "damping is -1.0; it must be zero or positive"),
        ({"density": 0.0}, "density is 0.0; it must be positive"),
        ({"rest": "curly"}, "rest is 'curly'; it must be 'straight', 'as given' or numbers (3,) [1/m]"),
        ({"rest": (1.0, 2.0)}, "rest has shape (2,), as (1.0, 2.0); 3 numbers or"),
        (
            {"fixed_start": "wall"},
            "the body that holds an end is 'wall'; give what scene.add_* returned, or True for the world",
        ),
        ({"closed": True, "fixed_end": True}, "it is closed, so it has no ends that could be fixed"),
        ({"name": 3}, "rod: name is 3; it must be a text"),
    ],
)
def test_wrong_input_is_named(change: dict, message: str) -> None:
    given = {"points": straight(3), "radius": RADIUS, "young": YOUNG, **change}
    scene = Scene()
    with pytest.raises(InputError) as error:
        scene.add_rod(given.pop("points"), given.pop("radius"), **given)
    assert message in str(error.value)
    assert not scene.bodies


def test_names_are_unique() -> None:
    scene = Scene()
    scene.add_rod(straight(3), RADIUS, young=YOUNG, name="cable")
    with pytest.raises(InputError, match="rod 'cable' exists already"):
        scene.add_rod(straight(3), RADIUS, young=YOUNG, name="cable")
    with pytest.raises(InputError, match="rod 'rope' is unknown; the scene has 1 rods"):
        scene.rod("rope")
