"""States continue bit for bit, and the same input gives the same bits."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from old_files import old_state
from stickslip import (
    Control,
    DivergenceError,
    Drive,
    FileError,
    InputError,
    Scene,
    Simulation,
    State,
    elastic,
    tet_generators,
)
from stickslip.constraint_kinds import KIND
from stickslip.model.layout import Part, layout_of
from stickslip.model.memory import Memory, memory_of
from stickslip.model.state import check_state, state_of_parts


def falling_pile() -> Scene:
    scene = Scene()
    scene.add_half_space()
    for k in range(6):
        scene.add_box((0.1, 0.12, 0.1), (0.02 * (k % 2), 0.01 * k, 0.06 + 0.11 * k))
        scene.add_sphere(0.05, (0.25 + 0.01 * k, 0.0, 0.06 + 0.11 * k))
    return scene


def test_saved_in_contact_and_reloaded_continues_bit_for_bit(tmp_path: Path) -> None:
    one = Simulation(falling_pile(), dt=0.004)
    one.run(60)
    assert one.last is not None
    assert len(one.last.contacts) > 0
    one.state.save(tmp_path / "state.npz")
    one.run(40)
    other = Simulation(falling_pile(), dt=0.004)
    other.restore(State.load(tmp_path / "state.npz"))
    other.run(40)
    assert other.state.digest() == one.state.digest()


def test_same_input_same_bits() -> None:
    digests = set()
    for _ in range(2):
        sim = Simulation(falling_pile(), dt=0.004)
        sim.run(50)
        digests.add(sim.state.digest())
    assert len(digests) == 1


def test_copy_is_independent() -> None:
    state = Simulation(falling_pile()).state
    copy = state.copy()
    copy.body_pose[0, 0] = 7.0
    assert state.body_pose[0, 0] != 7.0
    assert copy.digest() != state.digest()


def test_damaged_or_foreign_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="does not exist"):
        State.load(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(FileError, match="not a saved state"):
        State.load(tmp_path / "text.npz")
    sim = Simulation(falling_pile())
    sim.state.save(tmp_path / "good.npz")
    whole = (tmp_path / "good.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError):
        State.load(tmp_path / "cut.npz")
    other = Simulation(scene_of_one())
    with pytest.raises(InputError, match="shape"):
        other.restore(State.load(tmp_path / "good.npz"))


def scene_of_one() -> Scene:
    scene = Scene()
    scene.add_sphere(0.1)
    return scene


def test_unwritable_place_leaves_nothing(tmp_path: Path) -> None:
    state = Simulation(scene_of_one()).state
    with pytest.raises(FileError, match="cannot write"):
        state.save(tmp_path / "no" / "such" / "folder.npz")
    with pytest.raises(FileError, match="folder"):
        state.save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_non_finite_step_raises_and_keeps_the_last_good_state() -> None:
    scene = falling_pile()
    sim = Simulation(scene, dt=0.004)
    sim.run(60)
    sim.set_force(scene.body("box-1"), (1e308, 0, 0))
    good = sim.state
    with pytest.raises(DivergenceError, match=r"t = 0.244 s.*box-1.*contact") as caught:
        sim.step()
    assert sim.state is good
    assert np.isfinite(sim.state.body_pose).all()
    assert "still holds" in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"memory": Memory(np.zeros((2, 2), dtype=np.int64), np.zeros((0, 4)))},
        {"memory": Memory(np.zeros((1, 2), dtype=np.int64), np.full((1, 4), np.nan))},
        {"memory": Memory(np.array([[0, 2], [0, 1]]), np.zeros((2, 4)))},
        {"memory": Memory(np.array([[2, 0]]), np.zeros((1, 4)))},
        {"memory": Memory(np.array([[99, 0]]), np.zeros((1, 4)))},
        {"layout": layout_of(12, 7)},
        {"layout": layout_of(13, 0, (Part("tree", 1, 9, 8),))},
        {"time": float("nan")},
        {"q": np.zeros(13 * 7)},
        {"q": np.zeros((13, 7))},
    ],
)
def test_a_state_that_cannot_be_stepped_from_is_refused(change: dict[str, object]) -> None:
    sim = Simulation(falling_pile(), dt=0.004)
    sim.run(60)
    with pytest.raises(InputError, match="state"):
        sim.restore(replace(sim.state, **change))


def mixed_scene() -> Scene:
    """A soft box with a welded plate, a driven hinge, and a ball on the floor."""
    scene = Scene()
    scene.add_half_space()
    arm = scene.add_box((0.4, 0.05, 0.05), (0.2, 0, 1.0))
    scene.add_revolute(None, arm, (0, 0, 1.0), (0, 1, 0), name="hinge", drive=Drive(stiffness=2.0, damping=0.1))
    scene.add_sphere(0.1, (1, 0, 0.1))
    mesh = tet_generators.box((0.1, 0.1, 0.1), 2)
    soft = scene.add_soft(mesh, elastic(1e5, 0.3), (0, 1, 0.05))
    plate = scene.add_box((0.1, 0.1, 0.02), (0, 1, 0.11), mass=0.2)
    scene.weld_nodes(soft, mesh.nodes[:, 2] > 0.049, plate)
    return scene


def mixed_run() -> Simulation:
    """After some steps, with everything in its control that there is."""
    scene = mixed_scene()
    sim = Simulation(scene, dt=0.002)
    sim.set_force(scene.body("sphere-2"), (0.5, 0, 0), (0, 0, 0.01))
    sim.set_drive(scene.joint("hinge"), position=0.3)
    sim.set_effort(scene.joint("hinge"), 0.2)
    sim.set_node_force(scene.soft_body("soft-0"), (0, 0.1, 0), [1, 2])
    sim.run(5)
    return sim


def test_named_arrays_are_views_of_the_flat_ones() -> None:
    state = mixed_run().state
    for flat, one, other in (
        (state.q, state.body_pose, state.node_position),
        (state.v, state.body_velocity, state.node_velocity),
    ):
        np.testing.assert_array_equal(flat, np.concatenate([one.ravel(), other.ravel()]))
        assert np.shares_memory(flat, one)
        assert np.shares_memory(flat, other)
    assert state.body_pose is state.body_pose
    assert state.part_q("body").shape == state.body_pose.shape == (4, 7)


def test_parts_of_other_kinds_lie_between_bodies_and_nodes() -> None:
    layout = layout_of(2, 3, (Part("tree", 1, 9, 8), Part("empty", 0, 4, 4)))
    assert (layout.q_count, layout.v_count) == (2 * 7 + 9 + 3 * 3, 2 * 6 + 8 + 3 * 3)
    rng = np.random.default_rng(1)
    q, v = ({part.name: rng.normal(size=(part.number, part[column])) for part in layout.parts} for column in (2, 3))
    state = state_of_parts(0.0, 0, layout, q, v, np.zeros((0, 2)), np.zeros(0, dtype=np.bool_), NO_MEMORY)
    for name in q:
        np.testing.assert_array_equal(state.part_q(name), q[name])
        np.testing.assert_array_equal(state.part_v(name), v[name])
    np.testing.assert_array_equal(state.q[14:23], q["tree"][0])
    other = state.with_parts(body_velocity=np.ones((2, 6)), node_position=np.zeros((3, 3)))
    assert not other.node_position.any()
    assert (other.body_velocity == 1.0).all()
    for name in ("tree", "empty"):
        np.testing.assert_array_equal(other.part_q(name), q[name])
        np.testing.assert_array_equal(other.part_v(name), v[name])
    np.testing.assert_array_equal(state.node_position, q["node"])  # the old one is as it was


NO_MEMORY = memory_of(np.zeros(0, dtype=np.int64), np.zeros((0, 4)), np.zeros(0))


def test_layouts_with_other_kinds_are_saved(tmp_path: Path) -> None:
    layout = layout_of(1, 0, (Part("tree", 1, 9, 8),))
    q = {"body": np.array([[0, 0, 0, 1.0, 0, 0, 0]]), "tree": np.arange(9.0)}
    v = {"body": np.zeros((1, 6)), "tree": np.arange(8.0)}
    state = state_of_parts(1.5, 3, layout, q, v, np.zeros((0, 2)), np.zeros(0, dtype=np.bool_), NO_MEMORY)
    state.save(tmp_path / "state.npz")
    again = State.load(tmp_path / "state.npz")
    assert again.layout == layout
    assert again.digest() == state.digest()
    with pytest.raises(InputError, match=r"parts? .*tree"):
        check_state(Simulation(scene_of_one()).model, again)


def test_what_is_alone_is_not_copied() -> None:
    state = Simulation(falling_pile()).state
    pose = state.body_pose.copy()
    assert np.shares_memory(state.with_parts(body_pose=pose).q, pose)
    assert state.with_parts(body_pose=pose).v is state.v


def test_the_memory_is_one_sorted_table() -> None:
    state = mixed_run().state
    key, impulse = state.memory.key, state.memory.impulse
    assert key.dtype == np.int64
    assert np.array_equal(np.lexsort((key[:, 1], key[:, 0])), np.arange(len(key)))
    assert {*key[:, 0].tolist()} == {KIND[kind] for kind in ("contact", "soft contact", "joint", "weld")}
    rows = key[:, 0] == KIND["joint"]
    np.testing.assert_array_equal(impulse[rows, 0], state.joint_impulse)
    assert not impulse[rows, 1:].any()
    np.testing.assert_array_equal(impulse[key[:, 0] == KIND["weld"], :3].ravel(), state.weld_impulse)
    for kind, own, pushes in (
        ("contact", state.contact_key, state.contact_impulse),
        ("soft contact", state.soft_key, state.soft_impulse),
    ):
        assert len(own)
        assert pushes.any()
        numbers, impulses = state.memory.of(kind)
        np.testing.assert_array_equal(numbers, own)
        np.testing.assert_array_equal(impulses, pushes)
        assert np.shares_memory(numbers, key)
        assert np.shares_memory(impulses, impulse)
        assert numbers.flags.c_contiguous  # kernels are compiled for such
    assert Memory(key, impulse).start == state.memory.start
    assert state.memory.of("element")[1].shape == (0, 4)


def test_every_bit_counts_in_the_digest() -> None:
    state = mixed_run().state
    digests = {state.digest()}
    for name in ("q", "v", "joint_angle"):
        array = getattr(state, name).copy()
        array.flat[-1] = np.nextafter(array.flat[-1], np.inf)
        digests.add(replace(state, **{name: array}).digest())
    digests.add(replace(state, joint_broken=~state.joint_broken).digest())
    digests.add(replace(state, time=np.nextafter(state.time, 1.0)).digest())
    digests.add(replace(state, steps=state.steps + 1).digest())
    key, impulse = state.memory.key, state.memory.impulse
    for column in (0, 1):
        other = key.copy()
        other[-1, column] += 1
        digests.add(replace(state, memory=Memory(other, impulse)).digest())
    other = impulse.copy()
    other[-1, 2] = np.nextafter(other[-1, 2], np.inf)
    digests.add(replace(state, memory=Memory(key, other)).digest())
    assert len(digests) == 10


def test_pickles_hold_no_views() -> None:
    sim = mixed_run()
    assert sim.state.body_pose.any()
    state, control = pickle.loads(pickle.dumps((sim.state, sim.control)))
    assert state.digest() == sim.state.digest()
    assert np.shares_memory(state.body_pose, state.q)
    assert np.shares_memory(control.body_force, control.force)


def test_a_saved_simulation_continues_bit_for_bit_under_its_control(tmp_path: Path) -> None:
    one = mixed_run()
    one.save(tmp_path / "run.npz")
    other = Simulation(mixed_scene(), dt=0.002)
    other.load(tmp_path / "run.npz")
    for name in ("force", "target", "effort"):
        np.testing.assert_array_equal(getattr(other.control, name), getattr(one.control, name))
        assert getattr(other.control, name).any()
    assert State.load(tmp_path / "run.npz").digest() == one.state.digest()
    one.run(5)
    assert other.run(5).digest() == one.state.digest()


def test_a_state_alone_leaves_the_control_as_it_is(tmp_path: Path) -> None:
    one = mixed_run()
    one.state.save(tmp_path / "state.npz")
    other = Simulation(mixed_scene(), dt=0.002)
    other.load(tmp_path / "state.npz")
    assert other.state.digest() == one.state.digest()
    assert not other.control.effort.any()
    applied = one.control
    one.restore(one.state)
    assert one.control is applied


def test_files_from_before_the_control_was_apart_are_read_with_theirs(tmp_path: Path) -> None:
    scene = mixed_scene()
    one = mixed_run()
    one.set_effort(scene.joint("hinge"), 0.0)  # there were none
    np.savez(tmp_path / "old.npz", **old_state(one))
    assert State.load(tmp_path / "old.npz").digest() == one.state.digest()
    other = Simulation(scene, dt=0.002)
    other.load(tmp_path / "old.npz")
    np.testing.assert_array_equal(other.control.force, one.control.force)
    np.testing.assert_array_equal(other.control.target, one.control.target)
    assert other.run(5).digest() == one.run(5).digest()


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("force", lambda force: force[1:], r"control: force has shape \(\d+,\); this model needs \(\d+,\)"),
        ("force", lambda force: None, "control: force is None; an array of float64 is needed"),
        ("force", lambda force: force * np.nan, r"control: force of body 'halfspace-0' is \[nan"),
        ("target", lambda target: target[1:], r"control: target has shape \(0, 2, 2\); this model needs \(1, 2, 2\)"),
        (
            "effort",
            lambda effort: effort + np.inf,
            r"control: effort of joint 'hinge' is \[inf inf\]; it must be finite",
        ),
        ("layout", lambda layout: layout_of(1, 1), "control: its layout"),
    ],
)
def test_a_control_that_does_not_fit_is_refused(name: str, change: Callable[[Any], Any], words: str) -> None:
    sim = mixed_run()
    before = sim.control
    with pytest.raises(InputError, match=words):
        sim.restore(sim.state, replace(before, **{name: change(getattr(before, name))}))
    assert sim.control is before
    with pytest.raises(InputError, match=r"control is 7; a .* is needed"):
        sim.restore(sim.state, 7)  # type: ignore[arg-type]


def test_controls_are_copied() -> None:
    sim = mixed_run()
    control = sim.control.copy()
    sim.restore(sim.state, control)
    control.body_force[1] = 9.0
    assert isinstance(sim.control, Control)
    assert not (sim.control.body_force[1] == 9.0).any()
