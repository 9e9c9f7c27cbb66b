"""Rooms of the search for contacts: too small ones grow and nothing is lost; what a step returns outlives them."""

import numpy as np
import pytest

from stickslip import Model, Scene, Simulation, Stepping, compile_scene
from stickslip.collision import rigid_contacts as module
from stickslip.collision.contacts import Contacts
from stickslip.collision.lookahead import contacts_of_step
from stickslip.collision.rigid_contacts import find_contacts
from stickslip.collision.rigid_space import RigidSpace
from stickslip.workspace import Workspace


def heap(count: int = 30, seed: int = 0) -> Model:
    """Spheres, boxes and capsules that overlap here and there, on a half-space."""
    rng = np.random.default_rng(seed)
    scene = Scene()
    scene.add_half_space()
    for k in range(count):
        place, turn = rng.uniform(-0.5, 0.5, 3) + [0, 0, 0.5], rng.normal(size=4)
        options = {"rotation": turn / np.linalg.norm(turn), "velocity": rng.normal(size=3)}
        if k % 3 == 0:
            scene.add_sphere(0.15, place, velocity=options["velocity"])
        elif k % 3 == 1:
            scene.add_box((0.3, 0.2, 0.25), place, **options)
        else:
            scene.add_capsule(0.1, 0.2, place, **options)
    return compile_scene(scene)


def tiny(model: Model) -> Workspace:
    """A workspace with room for one pair, one point and one contact."""
    workspace = Workspace()
    workspace.slot((RigidSpace, model), lambda: RigidSpace(model)).grow(model, 1, 1, 1)
    return workspace


def assert_same(one: Contacts, other: Contacts) -> None:
    for name in Contacts.__dataclass_fields__:
        if name != "nodes":
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize("few", [96, 0])
def test_rooms_that_are_too_small_grow_and_nothing_is_lost(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEW", few)
    model, options = heap(), Stepping(dt=0.01)
    reach = np.full(model.body_count, 0.02)
    expected = find_contacts(model, model.q_start, reach)
    assert len(expected) > 20
    assert_same(find_contacts(model, model.q_start, reach, workspace=tiny(model)), expected)

    whole = contacts_of_step(model, model.q_start, model.v_start, options, model.ignored_at_start)
    grown = contacts_of_step(model, model.q_start, model.v_start, options, model.ignored_at_start, tiny(model))
    assert len(whole.near) > len(whole.contacts) > 0  # some are left out, so that all stages have work
    assert_same(grown.near, whole.near)
    assert_same(grown.contacts, whole.contacts)
    np.testing.assert_array_equal(grown.reach, whole.reach)


def test_contacts_outlive_the_step_and_workspaces_are_not_needed() -> None:
    model, options = heap(), Stepping(dt=0.01)
    workspace = Workspace()
    first = contacts_of_step(model, model.q_start, model.v_start, options, model.ignored_at_start, workspace)
    again = contacts_of_step(model, model.q_start, model.v_start, options, model.ignored_at_start)
    moved = model.q_start + np.array([0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 0.0])
    contacts_of_step(model, moved, model.v_start, options, model.ignored_at_start, workspace)
    assert_same(first.near, again.near)
    assert first.reach is not None
    np.testing.assert_array_equal(first.reach, again.reach)


def test_two_models_in_one_workspace_do_not_meet() -> None:
    workspace, options = Workspace(), Stepping(dt=0.01)
    for model in (heap(12, 1), heap(30, 2), heap(12, 1)):
        shared = contacts_of_step(model, model.q_start, model.v_start, options, model.ignored_at_start, workspace)
        alone = contacts_of_step(model, model.q_start, model.v_start, options, model.ignored_at_start)
        assert_same(shared.near, alone.near)


def test_a_simulation_that_forgets_its_workspace_gives_the_same_bits() -> None:
    one, other = (Simulation(heap(9, 3), dt=0.005) for _ in range(2))
    for _ in range(4):
        other.workspace = Workspace()
        one.step(), other.step()
        np.testing.assert_array_equal(one.state.q, other.state.q)
