"""Recordings: what comes back is what happened, and a bad file or a failed run leaves nothing behind."""

from dataclasses import fields, is_dataclass
from operator import attrgetter

import h5py
import numpy as np
import pytest

import stickslip
from old_files import make_version_2
from stickslip.certify.contact_report import STATUS_NAMES
from stickslip.errors import FileError, InputError, RecordingWarning
from stickslip.io import growing_dataset
from stickslip.io.recording import Recorder, read_recording
from stickslip.model.model import Model
from stickslip.simulation import Simulation

TETRAHEDRON = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]


def falling_things() -> Simulation:
    scene = stickslip.Scene()
    scene.add_half_space(name="ground")
    scene.add_sphere(0.1, (0, 0, 0.1), velocity=(1, 0, 0), colour=(0.8, 0.1, 0.1))
    scene.add_sphere(0.1, (0.5, 0, 0.102), force=(0, 0, 1))
    scene.add_hull(TETRAHEDRON, (3, 0, 5))
    scene.add_box((1, 1, 1), (0, 5, 0), kind="kinematic", motion=lambda t: ((0, 5 + t, 0), (1, 0, 0, 0)))
    return Simulation(scene, dt=0.005)


def record(path, steps=10, every=1):
    simulation = falling_things()
    results = []
    with Recorder(path, simulation, scene_name="falling", parameters={"mu": 0.5}, every=every) as recorder:
        for _ in range(steps):
            results.append(simulation.step())
            recorder(results[-1])
    return simulation, results


def test_a_recording_holds_every_frame_bit_for_bit(tmp_path):
    simulation, results = record(tmp_path / "run.h5")
    recording = read_recording(tmp_path / "run.h5")
    assert len(recording) == 10
    for name, where in {"q": "state.body_pose", "v": "state.body_velocity", "force": "control.body_force"}.items():
        assert np.array_equal(getattr(recording, name), [attrgetter(where)(result) for result in results])
    assert recording.time.tolist() == [result.state.time for result in results]
    assert recording.iterations.tolist() == [result.solution.iterations for result in results]
    for frame, result in enumerate(results):
        contacts = recording.contacts(frame)
        assert len(contacts) == len(result.contacts)
        for name in ("body_a", "body_b", "point", "normal", "gap", "friction"):
            assert np.array_equal(getattr(contacts, name), getattr(result.contacts, name))
        assert np.array_equal(contacts.impulse, result.state.contact_impulse[:, :3])
    report, last = simulation.contacts(), recording.contacts(-1)
    assert len(last) >= 1
    assert np.array_equal(last.status, report.status)
    assert np.allclose(last.force, report.force, rtol=1e-15)
    assert set(last.status) <= set(range(len(STATUS_NAMES)))


def test_certificates_and_timings_are_recorded_number_by_number(tmp_path):
    _, results = record(tmp_path / "run.h5")
    recording = read_recording(tmp_path / "run.h5")
    for name, values in recording.certificate.items():
        assert values.tolist() == [getattr(result.certificate, name) for result in results]
    for name, values in recording.energy.items():
        assert values.tolist() == [getattr(result.certificate.energy, name) for result in results]
    for name, values in recording.timings.items():
        assert values.tolist() == [result.timings[name] for result in results]


def test_steps_in_which_kernels_were_compiled_are_noted(tmp_path, monkeypatch):
    """With every second step recorded, it is about that step alone."""
    kernels = iter([7, 9, 9, 9, 12, 13, 13])  # at the start, and after each of six steps
    monkeypatch.setattr("stickslip.jit.compiled_count", lambda: next(kernels))
    simulation = falling_things()
    with Recorder(tmp_path / "run.h5", simulation, every=2) as recorder:
        simulation.run(6, recorder)
    recording = read_recording(tmp_path / "run.h5")
    assert recording.loaded.tolist() == [False, True, False]


def assert_same_tables(ours, theirs):
    """Arrays with their types, texts, and tables of them."""
    if is_dataclass(ours):
        ours, theirs = ([getattr(each, item.name) for item in fields(each)] for each in (ours, theirs))
        for mine, yours in zip(ours, theirs, strict=True):
            assert_same_tables(mine, yours)
    elif hasattr(ours, "_fields"):
        for mine, yours in zip(ours, theirs, strict=True):
            assert_same_tables(mine, yours)
    elif isinstance(ours, tuple):
        assert ours == theirs
    else:
        assert np.array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype


def test_the_model_and_the_settings_come_back(tmp_path):
    simulation, _ = record(tmp_path / "run.h5")
    recording = read_recording(tmp_path / "run.h5")
    for item in fields(Model):
        ours, theirs = getattr(simulation.model, item.name), getattr(recording.model, item.name)
        if item.name == "motions":
            assert list(ours) == [4]
            assert theirs == {}
        else:
            assert_same_tables(ours, theirs)
    assert recording.has_motion.tolist() == [False, False, False, False, True]
    assert (recording.scene, recording.parameters, recording.solver) == ("falling", {"mu": 0.5}, "auto")
    assert recording.solver_options == {
        item.name: getattr(simulation.solver, item.name) for item in fields(simulation.solver)
    }
    assert recording.stepping["dt"] == 0.005
    assert recording.stepping["scheme"] == "euler"
    assert recording.stickslip_version == stickslip.__version__


def test_the_final_state_continues_bit_for_bit(tmp_path):
    simulation, _ = record(tmp_path / "run.h5")
    recording = read_recording(tmp_path / "run.h5")
    assert recording.state_digest == simulation.state.digest() == recording.final_state.digest()
    again = falling_things()
    again.restore(recording.final_state)
    assert again.run(5).digest() == simulation.run(5).digest()


def test_recordings_of_version_2_open_and_continue_bit_for_bit(tmp_path):
    simulation, results = record(tmp_path / "run.h5")
    simulation.set_force(stickslip.Body(1, simulation.model.body_names[1]), (1.0, 2.0, 3.0))
    make_version_2(tmp_path / "run.h5", simulation)
    recording = read_recording(tmp_path / "run.h5")
    assert recording.complete
    assert np.array_equal(recording.q, [result.state.body_pose for result in results])
    assert recording.final_state.digest() == simulation.state.digest()
    again = falling_things()
    again.restore(recording.final_state, recording.final_control)
    assert again.control.body_force[1].tolist() == [1.0, 2.0, 3.0, 0.0, 0.0, 0.0]
    assert again.run(5).digest() == simulation.run(5).digest()


def test_the_control_of_the_last_step_is_recorded(tmp_path):
    simulation = falling_things()
    with Recorder(tmp_path / "run.h5", simulation) as recorder:
        simulation.run(2, recorder)
        simulation.set_force(stickslip.Body(1, simulation.model.body_names[1]), (1.0, 2.0, 3.0))
        simulation.run(2, recorder)
    recording = read_recording(tmp_path / "run.h5")
    again = falling_things()
    again.restore(recording.final_state, recording.final_control)
    assert np.array_equal(again.control.force, simulation.control.force)
    assert again.run(5).digest() == simulation.run(5).digest()


def test_every_third_step_and_the_last_are_recorded(tmp_path):
    simulation, results = record(tmp_path / "run.h5", steps=10, every=3)
    recording = read_recording(tmp_path / "run.h5")
    assert recording.time.tolist() == [results[k].state.time for k in (2, 5, 8, 9)]
    assert recording.state_digest == simulation.state.digest()


def test_a_run_without_steps_is_a_recording_without_frames(tmp_path):
    simulation, _ = record(tmp_path / "run.h5", steps=0)
    recording = read_recording(tmp_path / "run.h5")
    assert len(recording) == 0
    assert recording.q.shape == (0, 5, 7)
    assert recording.state_digest == simulation.state.digest()
    with pytest.raises(InputError, match="0 frames"):
        recording.contacts(0)


def test_blocks_do_not_change_what_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(growing_dataset, "CHUNK_BYTES", 1000)
    monkeypatch.setattr("stickslip.io.recorder.COMMIT_SECONDS", 0.0)
    _, results = record(tmp_path / "run.h5", steps=20)
    recording = read_recording(tmp_path / "run.h5")
    assert np.array_equal(recording.q, [result.state.body_pose for result in results])
    assert recording.certificate["status"].tolist() == [result.certificate.status for result in results]
    assert np.array_equal(recording.contacts(13).point, results[13].contacts.point)


def test_an_exception_leaves_the_frames_until_then(tmp_path):
    simulation = falling_things()
    results = []

    def record_and_fail():
        with Recorder(tmp_path / "run.h5", simulation) as recorder:
            simulation.run(3, lambda result: (results.append(result), recorder(result)))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        record_and_fail()
    assert caught.value.__notes__ == [f"{tmp_path / 'run.h5.partial'} holds the first 3 frames"]
    assert [file.name for file in tmp_path.iterdir()] == ["run.h5.partial"]
    with read_recording(tmp_path / "run.h5.partial") as recording:
        assert not recording.complete
        assert recording.final_state is recording.state_digest is None
        assert np.array_equal(recording.q, [result.state.body_pose for result in results])
        assert len(recording.contacts(2)) == len(results[2].contacts)
    with pytest.raises(FileError, match=r"run.h5.partial holds the frames of a run that was interrupted"):
        read_recording(tmp_path / "run.h5")
    with pytest.warns(RecordingWarning, match="3 frames"):
        record(tmp_path / "run.h5")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.h5", "run.h5.partial-1"]


def test_an_exception_keeps_the_old_file(tmp_path):
    record(tmp_path / "run.h5", steps=2)
    before = (tmp_path / "run.h5").read_bytes()
    with pytest.raises(ZeroDivisionError), Recorder(tmp_path / "run.h5", falling_things()):
        raise ZeroDivisionError
    assert (tmp_path / "run.h5").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_an_unwritable_place_is_refused_before_the_first_step(tmp_path):
    for path in (tmp_path / "missing" / "run.h5", tmp_path):
        with pytest.raises(FileError, match="cannot write"), Recorder(path, falling_things()):
            pytest.fail("the block must not run")


def test_bad_options_are_refused(tmp_path):
    with pytest.raises(InputError, match="every is 0"):
        Recorder(tmp_path / "run.h5", falling_things(), every=0)
    with pytest.raises(InputError, match="JSON"):
        Recorder(tmp_path / "run.h5", falling_things(), parameters={"f": print})


def test_files_that_are_no_recordings_are_refused_in_one_line(tmp_path):
    record(tmp_path / "good.h5")
    whole = (tmp_path / "good.h5").read_bytes()
    (tmp_path / "text.h5").write_text("hello")
    (tmp_path / "empty.h5").write_bytes(b"")
    (tmp_path / "cut.h5").write_bytes(whole[: len(whole) // 2])
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = 1.0
    (tmp_path / "later.h5").write_bytes(whole)
    with h5py.File(tmp_path / "later.h5", "a") as file:
        file.attrs["version"] = 99
    (tmp_path / "folder.h5").mkdir()
    (tmp_path / "hole.h5").write_bytes(whole)
    with h5py.File(tmp_path / "hole.h5", "a") as file:
        del file["v"]
    (tmp_path / "short.h5").write_bytes(whole)
    with h5py.File(tmp_path / "short.h5", "a") as file:
        del file["q"]
        file["q"] = np.zeros((3, 5, 7))
    for name, message in (
        ("missing.h5", "does not exist"),
        ("folder.h5", "is a folder"),
        ("text.h5", "cannot be read as HDF5"),
        ("empty.h5", "cannot be read: it is empty"),
        ("cut.h5", "is truncated"),
        ("other.h5", "not a recording"),
        ("later.h5", "version 99; this stickslip reads versions 1 to 3"),
        ("hole.h5", "damaged.*'v'"),
        ("short.h5", r"damaged: q has shape \(3, 5, 7\)"),
    ):
        with pytest.raises(FileError, match=message) as caught:
            read_recording(tmp_path / name)
        assert "\n" not in str(caught.value)
        assert name in str(caught.value)


def test_bytes_that_have_changed_are_noticed_where_they_are_read(tmp_path):
    path = tmp_path / "fall.h5"
    record(path, steps=20)
    for damage, message in ((np.nan, "not a finite number"), (7.0, "length is not 1")):
        with h5py.File(path, "r+") as file:
            file["q"][11, 1, 4] = damage
        with read_recording(path) as recording:
            assert np.isfinite(recording.q[10]).all()
            with pytest.raises(FileError, match=message):
                recording.q[11]
            with pytest.raises(FileError, match=message):
                np.asarray(recording.q)
