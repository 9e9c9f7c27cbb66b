"""Post-stabilisation removes overlaps from positions, in few passes, and leaves every velocity alone."""

import numpy as np
import pytest

from stickslip import Model, Scene, Simulation, Stepping, compile_scene
from stickslip.collision.rigid_contacts import find_contacts
from stickslip.constraints.stabilisation import stabilise
from stickslip.geometry.rotation import about_axis

MICROMETRE = 1e-6


def deepest(model: Model, q: np.ndarray) -> float:
    """Deepest overlap [m] of any two bodies."""
    return -float(find_contacts(model, q, np.full(model.body_count, 1e-6)).gap.min(initial=0.0))


def stack(count: int = 6, overlap: float = 0.005, tilt: float = 0.0, **options) -> Scene:
    """Cubes of 20 cm sunk into each other and into the ground, turned to and fro by ``tilt`` [rad]."""
    scene = Scene()
    scene.add_half_space()
    for k in range(count):
        turn = about_axis((0.3, 1.0, 0.2), tilt * (-1) ** k)
        scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.2 * (k + 0.5) - overlap * (k + 1)), turn, **options)
    return scene


@pytest.mark.parametrize("tilt", [0.0, 0.02])
def test_sunken_stack_is_pulled_apart(tilt: float) -> None:
    model = compile_scene(stack(tilt=tilt))
    assert deepest(model, model.q_start) > 0.0049
    assert deepest(model, stabilise(model, model.q_start, Stepping(stabilisation=5))) < MICROMETRE


def test_passes_converge_quadratically_where_bodies_turn() -> None:
    """The error of a pass is that of the linear gaps: the square of what the pass before left."""
    model = compile_scene(stack(tilt=0.02))
    left = [deepest(model, stabilise(model, model.q_start, Stepping(stabilisation=k))) for k in range(4)]
    assert left[1] < 2.0 * left[0] ** 2 / 0.2
    assert left[2] < 2e-8  # the resolution of a pass and the slop


def test_straight_stack_is_lifted_as_a_whole() -> None:
    """All overlaps end at the slop, nothing moves aside, nothing turns."""
    model = compile_scene(stack())
    q = stabilise(model, model.q_start, Stepping(stabilisation=1))
    np.testing.assert_allclose(q[1:, 2], 0.2 * (np.arange(6) + 0.5), atol=1e-7)
    np.testing.assert_allclose(q[1:, :2], 0.0, atol=1e-9)
    np.testing.assert_allclose(q[1:, 3:], [[1, 0, 0, 0]] * 6, atol=1e-6)


def test_wedged_bodies_come_free() -> None:
    """Boxes pressed 2 mm into a groove and into each other."""
    scene = Scene()
    scene.add_half_space((1, 0, 1))
    scene.add_half_space((-1, 0, 1))
    half = 0.1 * np.sqrt(2.0)
    for k in range(3):
        scene.add_box((0.2, 0.2, 0.2), (0, 0.198 * k, half - 0.003), about_axis((0, 1, 0), np.pi / 4 + 0.01))
    scene.add_sphere(0.1, (0, 0.2, 2.0 * half + 0.095))
    model = compile_scene(scene)
    assert deepest(model, model.q_start) > 0.002
    assert deepest(model, stabilise(model, model.q_start, Stepping(stabilisation=5))) < MICROMETRE


def test_tilted_box_moves_least_in_the_norm_of_its_mass() -> None:
    """One corner is in the ground: of all ways out, eq. (44) takes the one with the smallest dq . M dq."""
    scene = Scene()
    scene.add_half_space()
    scene.add_box((0.2, 0.3, 0.4), (0, 0, 0.25), about_axis((1, 2, 0.5), 0.7))
    model = compile_scene(scene)
    sunk = deepest(model, model.q_start)
    assert 0.0 < sunk < 0.01
    q = stabilise(model, model.q_start, Stepping(stabilisation=5))
    assert deepest(model, q) < MICROMETRE
    assert 0.0 < q[1, 2] - 0.25 < sunk  # turning helps, so it rises by less than it was sunk
    assert np.linalg.norm(q[1, :2]) < 1e-12  # the push is vertical


@pytest.mark.parametrize("scheme", ["euler", "moreau"])
def test_velocities_are_bit_identical_with_and_without(scheme: str) -> None:
    def after_a_step(stabilisation: int) -> Simulation:
        scene = stack(tilt=0.02, velocity=(0.1, 0.2, -0.5), angular_velocity=(0.3, 0, 0.1))
        options = Stepping(dt=0.002, scheme=scheme, recovery=0.0, stabilisation=stabilisation)
        sim = Simulation(scene, stepping=options)
        sim.step()
        return sim

    plain, stabilised = after_a_step(0), after_a_step(5)
    assert np.array_equal(plain.state.body_velocity, stabilised.state.body_velocity)
    assert np.array_equal(plain.state.contact_impulse, stabilised.state.contact_impulse)
    assert deepest(stabilised.model, stabilised.state.body_pose) < MICROMETRE
    assert deepest(plain.model, plain.state.body_pose) > 0.005
    # the lift is energy that no force did work for: the ledger shows it as numerical
    ledgers = [sim.last.certificate.energy for sim in (plain, stabilised)]
    lift = ledgers[1].potential - ledgers[0].potential
    assert lift > 1.0
    assert ledgers[1].numerical - ledgers[0].numerical == pytest.approx(lift, rel=1e-12)
    assert stabilised.last.timings["stabilise"] > plain.last.timings["stabilise"]


def test_bodies_with_a_given_motion_stay_where_they_are() -> None:
    scene = Scene()
    belt = scene.add_box((1, 1, 0.1), (0, 0, -0.05), kind="kinematic", velocity=(0.5, 0, 0))
    lift = scene.add_box((1, 1, 0.1), (2, 0, 0), kind="kinematic", motion=lambda t: ((2, 0, 0.1 * t), (1, 0, 0, 0)))
    wall = scene.add_box((0.1, 1, 1), (0.5, 0, 0.5), kind="static")
    for x in (0.36, 2.0):
        scene.add_box((0.2, 0.2, 0.2), (x, 0, 0.145 if x == 2.0 else 0.095))
    model = compile_scene(scene)
    q = stabilise(model, model.q_start, Stepping(stabilisation=5))
    for body in (belt, lift, wall):
        assert np.array_equal(q[body.index], model.q_start[body.index])
    assert deepest(model, q) < MICROMETRE


def test_nothing_moves_where_nothing_overlaps() -> None:
    model = compile_scene(stack(overlap=0.0))
    assert stabilise(model, model.q_start, Stepping(stabilisation=3)) is model.q_start


def test_midpoint_scheme_leaves_overlaps_that_stabilisation_removes() -> None:
    """Moreau's scheme sees a fall of 2.5 m/s at the midpoint, half a step after the bodies have met."""

    def overlap(stabilisation: int) -> float:
        scene = Scene()
        scene.add_half_space()
        for k in range(3):
            scene.add_box((0.2, 0.2, 0.2), (0.03 * k, 0, 0.4 + 0.25 * k), about_axis((1, 1, 0), 0.3 * k))
        sim = Simulation(scene, dt=0.01, stepping=Stepping(scheme="moreau", stabilisation=stabilisation))
        found: list[float] = []
        sim.run(80, lambda result: found.append(deepest(sim.model, result.state.body_pose)))
        return max(found)

    assert overlap(5) < 0.1 * overlap(0)
