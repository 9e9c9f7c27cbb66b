"""States with joints: saved, reloaded, recorded; files from before there were joints."""

from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from old_files import make_version_2, old_state
from stickslip import Drive, InputError, Scene, Simulation, State
from stickslip.io.recording import Recorder, read_recording
from stickslip.model.memory import memory_of
from stickslip.model.state import LATER_FIELDS, check_state

JOINT_FIELDS = ("joint_angle", "joint_broken", "joint_impulse")


def machine() -> Scene:
    """A driven wheel with a chain on it that breaks, above a floor."""
    scene = Scene()
    scene.add_half_space(position=(0, 0, -0.4))
    wheel = scene.add_cylinder(0.2, 0.05, (0, 0, 0))
    scene.add_revolute(None, wheel, (0, 0, 0), (0, 0, 1), name="hub", drive=Drive(stiffness=0, damping=9, velocity=25))
    last, end = wheel, (0.2, 0, 0)
    for k in range(3):
        link = scene.add_box((0.2, 0.02, 0.02), (0.3 + 0.2 * k, 0, 0))
        scene.add_ball(last, link, end, break_force=15.0 if k == 2 else None)
        last, end = link, (0.4 + 0.2 * k, 0, 0)
    return scene


def test_saved_and_reloaded_continues_bit_for_bit(tmp_path: Path) -> None:
    one = Simulation(machine(), dt=0.002)
    hub = machine().joint("hub")
    one.set_drive(hub, velocity=20.0)
    one.run(120)
    assert one.state.joint_broken.any()
    assert one.state.joint_impulse.any()
    assert abs(one.joint_position(hub)[0]) > np.pi
    one.save(tmp_path / "state.npz")
    one.run(15)
    other = Simulation(machine(), dt=0.002)
    other.load(tmp_path / "state.npz")
    other.run(15)
    assert other.state.digest() == one.state.digest()


def with_joints(state: State, name: str, value: np.ndarray) -> State:
    """The state with another array of joints."""
    if name == "joint_impulse":
        return replace(state, memory=memory_of(state.contact_key, state.contact_impulse, value))
    return replace(state, **{name: value})


def test_every_field_of_joints_counts_in_the_digest() -> None:
    state = Simulation(machine()).state
    for name in JOINT_FIELDS:
        array = getattr(state, name)
        changed = with_joints(state, name, ~array if array.dtype == bool else array + 1.0)
        assert changed.digest() != state.digest()


@pytest.mark.parametrize("name", JOINT_FIELDS)
def test_states_of_other_models_are_refused(name: str) -> None:
    sim = Simulation(machine())
    with pytest.raises(InputError, match=f"state: {name} has shape"):
        check_state(sim.model, with_joints(sim.state, name, getattr(sim.state, name)[1:]))
    if name != "joint_broken":
        with pytest.raises(InputError, match=f"state: {name} has the entry nan"):
            check_state(sim.model, with_joints(sim.state, name, getattr(sim.state, name) * np.nan))


def falling() -> Scene:
    scene = Scene()
    scene.add_sphere(0.1)
    return scene


def test_states_from_before_there_were_joints_are_read(tmp_path: Path) -> None:
    sim = Simulation(falling())
    sim.step()
    data = old_state(sim)
    np.savez(tmp_path / "old.npz", **{name: data[name] for name in data if name not in LATER_FIELDS})
    old = State.load(tmp_path / "old.npz")
    check_state(sim.model, old)
    assert old.digest() == sim.state.digest()


def test_recordings_keep_joints(tmp_path: Path) -> None:
    sim = Simulation(machine(), dt=0.002)
    with Recorder(tmp_path / "run.h5", sim) as recorder:
        sim.run(5, recorder)
    recording = read_recording(tmp_path / "run.h5")
    assert recording.model.joint_names == sim.model.joint_names
    for found, kept in zip(recording.model.joints, sim.model.joints, strict=True):
        assert found.dtype == kept.dtype
        np.testing.assert_array_equal(found, kept)
    assert recording.final_state.digest() == sim.state.digest()
    again = Simulation(recording.model, dt=0.002)
    again.restore(recording.final_state)
    again.step()
    sim.step()
    assert again.state.digest() == sim.state.digest()


def test_recordings_from_before_there_were_joints_are_read(tmp_path: Path) -> None:
    sim = Simulation(falling())
    with Recorder(tmp_path / "run.h5", sim) as recorder:
        sim.run(2, recorder)
    make_version_2(tmp_path / "run.h5", sim)
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        del file["model/joints"], file["model/joint_names"]
        for name in LATER_FIELDS:
            del file[f"final_state/{name}"]
    recording = read_recording(tmp_path / "run.h5")
    assert recording.model.joint_names == ()
    assert recording.final_state.digest() == sim.state.digest()
