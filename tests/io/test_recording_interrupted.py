"""A recording that was cut off opens up to its last complete frame, whatever cut it off."""

import os
import signal
import sys
import time
from operator import attrgetter
from pathlib import Path

import h5py
import numpy as np
import pytest

import child_process
from old_files import old_state
from stickslip import Scene, Simulation
from stickslip.cli import main
from stickslip.errors import FileError, RecordingWarning
from stickslip.files import PARTIAL
from stickslip.io import recorder as recorder_module
from stickslip.io.model_group import write_model
from stickslip.io.number_table import CERTIFICATE, ENERGY, LATER, TIMINGS
from stickslip.io.recording import Recorder, Recording, read_recording
from stickslip.simulation import StepResult

RECORD = """
import sys
from stickslip.io import recorder
from tests_scene import balls
recorder.COMMIT_SECONDS = float(sys.argv[2])
sim = balls()
with recorder.Recorder(sys.argv[1], sim) as record:
    print("go", flush=True)
    sim.run(10**6, record)
"""
SCENE = """
from stickslip import Scene, Simulation
def balls():
    scene = Scene()
    scene.add_half_space()
    for i in range(5):
        scene.add_sphere(0.1, (0.19 * i, 0.01 * i, 0.1 + 0.02 * i), velocity=(0.3, 0, 0))
    return Simulation(scene, dt=0.002)
"""


def balls() -> Simulation:
    """Balls that fall, touch and roll."""
    names: dict[str, object] = {}
    exec(SCENE, names)
    return names["balls"]()  # type: ignore[operator,no-any-return]


ROWS = {"q": "state.body_pose", "v": "state.body_velocity", "force": "control.body_force"}
"""Where the arrays of a recording are in results of steps."""


def assert_frames_are_those_of(recording: Recording, results: list[StepResult]) -> None:
    """Bit for bit, as far as the recording goes."""
    count = len(recording)
    for name, where in ROWS.items():
        np.testing.assert_array_equal(getattr(recording, name), [attrgetter(where)(r) for r in results[:count]])
    assert recording.time.tolist() == [result.state.time for result in results[:count]]
    assert recording.certificate["contacts"].tolist() == [result.certificate.contacts for result in results[:count]]
    for frame in range(count):
        contacts = recording.contacts(frame)
        for name in ("body_a", "body_b", "point", "normal", "gap", "friction"):
            np.testing.assert_array_equal(getattr(contacts, name), getattr(results[frame].contacts, name))
        np.testing.assert_array_equal(contacts.impulse, results[frame].state.contact_impulse[:, :3])


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "commit"), [(0.02, 0.0), (0.13, 0.0), (0.4, 0.0), (0.7, 0.1)])
def test_a_killed_run_leaves_its_frames(tmp_path: Path, seconds: float, commit: float) -> None:
    """With commit 0 nearly all time goes into writing, so that the kill falls into it."""
    (tmp_path / "tests_scene.py").write_text(SCENE)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    with child_process.start("-c", RECORD, tmp_path / "run.h5", commit, stderr=None, env=environment) as process:
        assert process.stdout is not None
        process.stdout.readline()
        partial = tmp_path / "run.h5.partial"
        while partial.is_file() and _frames(partial) == 0 and process.poll() is None:  # the first step may compile
            time.sleep(0.05)
        with read_recording(partial) as live:  # while it is written
            assert not live.complete
            seen = len(live)
            assert seen > 0
        with pytest.raises(FileError, match="another run is writing it"):
            Recorder(tmp_path / "run.h5", balls()).__enter__()
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "run.h5").exists()
    with read_recording(partial) as recording:
        assert len(recording) >= seen
        assert recording.final_state is None
        results: list[StepResult] = []
        balls().run(len(recording), results.append)
        assert_frames_are_those_of(recording, results)


def _frames(path: Path) -> int:
    try:
        with read_recording(path) as recording:
            return len(recording)
    except FileError:  # not yet
        return 0


def recorded(path: Path, steps: int = 12) -> list[StepResult]:
    sim, results = balls(), []
    with Recorder(path, sim) as recorder:
        sim.run(steps, lambda result: (results.append(result), recorder(result)))
    return results


class CutError(Exception):
    """Stands for what ends a run."""


def cut_off(path: Path, steps: int) -> Path:
    """A run that an error ends; returns what it leaves."""
    sim = balls()

    def run() -> None:
        with Recorder(path, sim) as recorder:
            sim.run(steps, recorder)
            raise CutError

    with pytest.raises(CutError):
        run()
    return path.with_name(f"{path.name}.partial")


def test_a_run_can_be_read_while_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sim, results = balls(), []
    monkeypatch.setattr(recorder_module, "COMMIT_SECONDS", 0.0)
    with Recorder(tmp_path / "run.h5", sim) as recorder:
        for count in range(1, 6):
            results.append(sim.step())
            recorder(results[-1])
            with read_recording(tmp_path / "run.h5.partial") as recording:
                assert len(recording) == count
                assert_frames_are_those_of(recording, results)
    with read_recording(tmp_path / "run.h5") as recording:
        assert recording.complete


def test_frames_of_the_last_second_wait_and_the_first_does_not(tmp_path: Path) -> None:
    sim = balls()
    with Recorder(tmp_path / "run.h5", sim) as recorder:
        partial = tmp_path / "run.h5.partial"
        assert {partial: 0} == PARTIAL
        sim.run(1, recorder)
        assert {partial: 1} == PARTIAL
        recorder._last_commit += 1000.0
        sim.run(5, recorder)
        assert {partial: 1} == PARTIAL
        recorder._last_commit -= 1002.0
        sim.run(1, recorder)
        assert {partial: 7} == PARTIAL
    assert PARTIAL == {}


def test_two_runs_do_not_write_one_file(tmp_path: Path) -> None:
    sim = balls()
    with Recorder(tmp_path / "run.h5", sim) as recorder:
        sim.run(2, recorder)
        with pytest.raises(FileError, match=r"run.h5.partial: another run is writing it"):
            Recorder(tmp_path / "run.h5", balls()).__enter__()
        sim.run(2, recorder)
    with read_recording(tmp_path / "run.h5") as recording:
        assert len(recording) == 4


def test_what_was_there_stays_until_the_new_recording_is_whole(tmp_path: Path) -> None:
    before = recorded(tmp_path / "run.h5", 3)
    partial = cut_off(tmp_path / "run.h5", 2)
    with read_recording(tmp_path / "run.h5") as recording, read_recording(partial) as rest:
        assert (len(recording), len(rest)) == (3, 2)
        assert_frames_are_those_of(recording, before)
        with pytest.warns(RecordingWarning, match=r"run.h5.partial held 2 frames .* kept as .*run.h5.partial-1"):
            recorded(tmp_path / "run.h5", 5)  # both are replaced under the eyes of who reads them
        assert_frames_are_those_of(recording, before)
        assert_frames_are_those_of(rest, before)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.h5", "run.h5.partial-1"]
    with read_recording(tmp_path / "run.h5") as recording, read_recording(tmp_path / "run.h5.partial-1") as rest:
        assert (len(recording), len(rest)) == (5, 2)


def test_an_unfinished_recording_is_never_deleted(tmp_path: Path) -> None:
    """Each run that is cut off finds that of the one before it, and moves it to the next free name."""
    cut_off(tmp_path / "run.h5", 2)
    with pytest.warns(RecordingWarning, match="partial-1"):
        cut_off(tmp_path / "run.h5", 3)
    with pytest.warns(RecordingWarning, match="partial-2"):
        recorded(tmp_path / "run.h5", 1)
    names = ("run.h5", "run.h5.partial-1", "run.h5.partial-2")
    assert sorted(file.name for file in tmp_path.iterdir()) == list(names)
    for name, frames in zip(names, (1, 2, 3), strict=True):
        with read_recording(tmp_path / name) as recording:
            assert len(recording) == frames
            assert recording.complete is (name == "run.h5")
    code = main(["report", str(tmp_path / "run.h5.partial-2"), "--json"])
    assert code == 0


def test_the_terminal_says_what_was_moved_aside(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    partial = cut_off(tmp_path / "run.h5", 2)
    assert main(["run", "demo", "--steps", "1", "--out", str(tmp_path / "run.h5"), "--json"]) == 0
    assert capfd.readouterr().err == (
        f"warning: {partial} held 2 frames of a run that did not end; it is kept as {partial}-1\n"
    )


def killed_copy(tmp_path: Path) -> Path:
    """What a run that is killed after 12 frames leaves: the bytes of the file before it is closed."""
    sim = balls()
    with Recorder(tmp_path / "run.h5", sim) as recorder:
        sim.run(12, recorder)
        recorder._commit()
        (tmp_path / "killed.h5.partial").write_bytes((tmp_path / "run.h5.partial").read_bytes())
    return tmp_path / "killed.h5.partial"


def test_damage_to_a_killed_recording_is_found_at_once(tmp_path: Path) -> None:
    """HDF5 would read damaged metadata again and again, in the hope that a writer mends them."""
    killed = killed_copy(tmp_path)
    whole = killed.read_bytes()
    refused = 0
    for at in np.random.default_rng(0).integers(512, len(whole), size=60).tolist():
        damaged = bytearray(whole)
        damaged[at] ^= 0xFF
        killed.write_bytes(damaged)
        start = time.monotonic()
        try:
            with read_recording(killed) as recording:
                np.asarray(recording.v)
        except FileError:
            refused += 1
        assert time.monotonic() - start < 20.0
    assert refused > 5


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    killed = killed_copy(tmp_path)
    with read_recording(killed) as recording:
        assert len(recording) == 12
    whole = killed.read_bytes()
    for share in (0.999, 0.9, 0.6, 0.3, 0.01, 0.0):
        killed.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(FileError) as caught:
            read_recording(killed)
        assert "killed.h5.partial" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_half_written_frames_do_not_count(tmp_path: Path) -> None:
    partial = cut_off(tmp_path / "run.h5", 12)
    with h5py.File(partial, "r+") as file:
        file["v"].resize(11, axis=0)
    mark = partial.read_bytes().split(b"\n")[0]
    assert mark.startswith(b"stickslip recording: 12 frames in ")
    partial.write_bytes(partial.read_bytes().replace(b": 12 frames", b": 11 frames", 1))
    with read_recording(partial) as recording:
        assert len(recording) == len(recording.q[:]) == len(recording.v[:]) == 11
    for name in ("q", "force_row", "contacts/offset", "contacts/gap", "certificate", "iterations"):
        cut = tmp_path / "cut.h5"
        cut.write_bytes(partial.read_bytes())
        with h5py.File(cut, "r+") as file:
            file[name].resize(5, axis=0)
        with pytest.raises(FileError, match="damaged"):
            read_recording(cut)


def test_a_run_that_was_killed_before_its_first_frame_has_none(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run.h5", balls()):
        (tmp_path / "a.h5.partial").write_bytes((tmp_path / "run.h5.partial").read_bytes())
    with read_recording(tmp_path / "a.h5.partial") as recording:
        assert (len(recording), recording.complete) == (0, False)


def write_version_1(path: Path, sim: Simulation, results: list[StepResult]) -> None:
    """The layout before recordings could be cut off."""
    with h5py.File(path, "w") as file:
        attributes = {"format": "stickslip-recording", "version": 1, "stickslip_version": "0.1.0", "scene": "balls"}
        plain = {"parameters": "{}", "solver": "auto", "solver_options": "{}", "stepping": '{"dt": 0.002}', "every": 1}
        file.attrs.update({**attributes, **plain, "state_digest": sim.state.digest(), "gravity": sim.model.gravity})
        write_model(file.create_group("model"), sim.model)
        for name, where in {"time": "state.time", **ROWS}.items():
            file[name] = np.array([attrgetter(where)(result) for result in results])
        file["iterations"] = np.array([result.solution.iterations for result in results], dtype="i4")
        contacts = file.create_group("contacts")
        contacts["offset"] = np.cumsum([0, *(len(result.contacts) for result in results)])
        for name in ("body_a", "body_b", "point", "normal", "gap", "friction"):
            contacts[name] = np.concatenate([getattr(result.contacts, name) for result in results])
        impulse = np.concatenate([result.state.contact_impulse for result in results])
        contacts["impulse"], contacts["torsion"] = impulse[:, :3], impulse[:, 3]
        contacts["status"] = np.ones(len(impulse), dtype="i4")
        for name in CERTIFICATE:
            values = [getattr(result.certificate, name) for result in results]
            if name not in LATER:
                file[f"certificate/{name}"] = np.array(values, dtype="S16" if name == "status" else None)
        for name in ENERGY:
            file[f"certificate/energy/{name}"] = [getattr(result.certificate.energy, name) for result in results]
        for name in TIMINGS[:4]:
            file[f"timings/{name}"] = [result.timings[name] for result in results]
        for name, value in old_state(sim).items():
            file[f"final_state/{name}"] = value


def test_recordings_of_version_1_open(tmp_path: Path) -> None:
    sim, results = balls(), []
    sim.run(6, results.append)
    write_version_1(tmp_path / "old.h5", sim, results)
    with read_recording(tmp_path / "old.h5") as recording:
        assert recording.complete
        assert_frames_are_those_of(recording, results)
        assert recording.final_state is not None
        assert recording.final_state.digest() == sim.state.digest() == recording.state_digest
        assert recording.certificate["status"].tolist() == [result.certificate.status for result in results]
        assert all(np.isnan(recording.certificate[name]).all() for name in LATER)
        assert recording.energy["kinetic"].tolist() == [result.certificate.energy.kinetic for result in results]
        assert set(recording.timings) == set(TIMINGS[:4])
        assert recording.joint_broken.shape == recording.joint_impulse.shape == (6, 0)
    with h5py.File(tmp_path / "old.h5", "r+") as file:
        del file["q"]
        file["q"] = np.zeros((3, 6, 7))
    with pytest.raises(FileError, match=r"q has shape \(3, 6, 7\); it should have \(6, 6, 7\)"):
        read_recording(tmp_path / "old.h5")


def test_joints_are_recorded_frame_by_frame(tmp_path: Path) -> None:
    scene = Scene()
    arm, weight = scene.add_box((0.4, 0.05, 0.05), (0.2, 0, 1.0)), scene.add_sphere(0.1, (0.4, 0, 0.9))
    scene.add_ball(None, arm, (0, 0, 1.0))
    scene.add_ball(arm, weight, (0.4, 0, 1.0), break_force=1.0)
    sim, results = Simulation(scene, dt=0.002), []
    with Recorder(tmp_path / "run.h5", sim) as recorder:
        sim.run(5, lambda result: (results.append(result), recorder(result)))
    with read_recording(tmp_path / "run.h5") as recording:
        np.testing.assert_array_equal(recording.joint_broken, [result.state.joint_broken for result in results])
        np.testing.assert_array_equal(recording.joint_impulse, [result.state.joint_impulse for result in results])
        assert recording.joint_broken.dtype == bool
        assert recording.joint_broken[-1].tolist() == [False, True]
        assert np.asarray(recording.joint_impulse).any()
