"""Arrays of a recording are read from its file when they are indexed, and answer as NumPy's do."""

import threading
from pathlib import Path

import h5py
import numpy as np
import pytest

from stickslip import Scene, Simulation
from stickslip.errors import FileError, InputError
from stickslip.geometry.tet_generators import box
from stickslip.io.frame_array import FrameArray
from stickslip.io.recording import Recorder, read_recording
from stickslip.io.recording_file import RecordingFile
from stickslip.scene.soft_body import elastic

KEYS = (
    0, -1, np.int64(3), slice(None), slice(2, 5), slice(-3, None), slice(None, None, 3), slice(None, None, -1),
    slice(4, 4), [5, 1, 1], np.array([True, False] * 5), np.array([[0, 9], [3, 3]]), [], (2, 1), (-1, 1, 2),
    (slice(None), 3),
    (slice(1, 9, 2), 0, 4), (slice(None), slice(1, 3)), (slice(None), [0, 2]), ([1, 2], slice(None), 0), ..., (..., 0),
    (None, 0), (3, ..., 1), (slice(5, 5), 1),
)  # fmt: skip


@pytest.mark.parametrize("gap", [0, 1 << 20])
def test_indices_are_those_of_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gap: int) -> None:
    monkeypatch.setattr("stickslip.io.frame_array.GAP_BYTES", gap)
    values, table, rows = np.random.default_rng(0).normal(size=(12, 4, 5)), np.eye(5)[[0, 2, 1]], np.arange(10) // 4
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("values", data=values, chunks=(3, 4, 5))
        file.create_dataset("table", data=table)
    opened = RecordingFile(tmp_path / "a.h5")
    with opened.opened() as file:
        whole, shared = FrameArray(opened, file["values"], 10), FrameArray(opened, file["table"], 10, rows)
        constant = FrameArray(opened, np.broadcast_to(np.nan, (10, 4, 5)), 10)
    for array, expected in ((whole, values[:10]), (constant, np.full((10, 4, 5), np.nan))):
        assert (array.shape, array.ndim, array.size, len(array)) == ((10, 4, 5), 3, 200, 10)
        for key in KEYS:
            found = array[key]
            np.testing.assert_array_equal(found, expected[key], err_msg=str(key))
            assert np.shape(found) == expected[key].shape
        np.testing.assert_array_equal(np.asarray(array), expected)
        np.testing.assert_array_equal(list(array), expected)
        assert np.asarray(array, dtype=np.float32).dtype == np.float32
    for key in (0, -1, slice(None), slice(3, 9), [9, 0], slice(None, None, -1), (slice(None), 2), (4, 2), slice(2, 2)):
        np.testing.assert_array_equal(shared[key], table[rows][key], err_msg=str(key))
    with pytest.raises(IndexError, match="frame 10 does not exist"):
        whole[10]
    with pytest.raises(IndexError):
        whole[:, 4]
    opened.close()
    with pytest.raises(FileError, match="was closed"):
        whole[0]


def things() -> Simulation:
    """A soft box, which is pushed from the third step on, a hinge that breaks, and balls with torsional friction."""
    scene = Scene()
    scene.add_half_space()
    soft = scene.add_soft(box((0.1, 0.1, 0.1), 2), elastic(1e5, 0.3), (0, 0, 0.05))
    scene.push_nodes(soft, [3], (0.1, 0, 0))
    for x in (1.0, 2.0):
        scene.add_sphere(0.1, (x, 0, 0.1), angular_velocity=(0, 0, 5))
    return Simulation(scene, dt=0.002)


def test_forces_come_back_where_they_change_and_where_they_do_not(tmp_path: Path) -> None:
    sim, forces, node_forces = things(), [], []
    with Recorder(tmp_path / "run.h5", sim) as recorder:
        for step in range(9):
            if step in (3, 6):
                control = sim.control.copy()
                control.body_force[2, 0] = step % 6
                control.node_force[0] = step
                sim.restore(sim.state, control)
            recorder(sim.step())
            forces.append(sim.control.body_force)
            node_forces.append(sim.control.node_force)
    with read_recording(tmp_path / "run.h5") as recording:
        np.testing.assert_array_equal(recording.force, forces)
        np.testing.assert_array_equal(recording.node_force, node_forces)
        np.testing.assert_array_equal(recording.force[4], forces[4])
        assert recording.force[-1, 2, 0] == 0.0
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["force"].shape[0] == file["soft/node_force"].shape[0] == 3


def test_only_the_fields_of_elements_that_are_asked_for_are_read(tmp_path: Path) -> None:
    sim = things()
    with Recorder(tmp_path / "run.h5", sim) as recorder:
        sim.run(3, recorder)
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        del file["soft/elements/strain"]
    with read_recording(tmp_path / "run.h5") as recording:
        found = recording.elements(1, fields=("von_mises",))
        assert len(found.von_mises) == len(sim.model.soft.element_body)
        assert len(found.strain) == len(found.stress) == len(found.energy) == 0
        with pytest.raises(InputError, match="field is 'colour'"):
            recording.elements(1, fields=["colour"])
        with pytest.raises(FileError, match="damaged"):
            recording.elements(1)


def test_threads_read_one_recording(tmp_path: Path) -> None:
    sim = things()
    with Recorder(tmp_path / "run.h5", sim) as recorder:
        sim.run(20, recorder)
    with read_recording(tmp_path / "run.h5") as recording:
        q = np.asarray(recording.q)
        gaps = [recording.contacts(frame).gap for frame in range(20)]
        wrong: list[int] = []

        def read(seed: int) -> None:
            for frame in np.random.default_rng(seed).integers(0, 20, 100):
                same = np.array_equal(recording.q[frame], q[frame])
                if not (same and np.array_equal(recording.contacts(int(frame)).gap, gaps[frame])):
                    wrong.append(int(frame))

        threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
