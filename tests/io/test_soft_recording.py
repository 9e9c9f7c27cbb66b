"""A recording of soft bodies: nodes bit for bit, elements in single precision, contacts with their nodes."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from old_files import make_version_2
from stickslip import FileError, InputError, Scene, Simulation
from stickslip.geometry.tet_generators import box
from stickslip.io.recording import Recorder, Recording, read_recording
from stickslip.scene.soft_body import SoftBody, elastic
from stickslip.simulation import StepResult

CUBE = box((0.1, 0.1, 0.1), 2)


def stack() -> tuple[Scene, SoftBody, SoftBody]:
    """Two soft boxes on the ground, the upper one held at a corner, with a rigid one on top."""
    scene = Scene()
    scene.add_half_space()
    scene.add_box((0.05, 0.05, 0.05), (0, 0, 0.22505))
    lower = scene.add_soft(CUBE, elastic(1e5, 0.3), (0, 0, 0.05002), name="lower", colour=(0.1, 0.2, 0.3))
    upper = scene.add_soft(box((0.1, 0.1, 0.1), (2, 1, 1)), elastic(2e4, 0.4, model="neo-hookean"), (0, 0, 0.15004))
    scene.hold_nodes(upper, [0], motion=lambda t: ((0, 0, 0), (1, 0, 0, 0)))
    scene.activate(lower, [3, 4], 100.0)
    scene.push_nodes(lower, [26], (0.1, 0, 0))
    return scene, lower, upper


def record(path: Path, elements: bool = True) -> tuple[Simulation, list[StepResult], Recording]:
    sim = Simulation(stack()[0], dt=0.002)
    results: list[StepResult] = []
    with Recorder(path, sim, elements=elements) as recorder:
        sim.run(6, lambda result: (results.append(result), recorder(result)))
    return sim, results, read_recording(path)


def test_nodes_and_contacts_come_back_bit_for_bit(tmp_path: Path) -> None:
    sim, results, recording = record(tmp_path / "run.h5")
    for name in ("node_position", "node_velocity", "node_force"):
        expected = [getattr(r.control if name == "node_force" else r.state, name) for r in results]
        np.testing.assert_array_equal(getattr(recording, name), expected)
    for frame, result in enumerate(results):
        contacts, soft = recording.contacts(frame), result.soft_contacts
        assert len(contacts) == len(result.contacts) + len(soft) == result.certificate.contacts
        first = len(result.contacts)
        for name in ("body_a", "body_b", "point", "normal", "gap", "friction", "node_a", "node_b", "weight_a"):
            np.testing.assert_array_equal(getattr(contacts, name)[first:], getattr(soft, name))
        np.testing.assert_array_equal(contacts.impulse[first:], result.state.soft_impulse[:, :3])
        np.testing.assert_array_equal(contacts.node_b[:first], -1)
    last = recording.contacts(-1)
    assert len(last) > 9
    np.testing.assert_allclose(last.force, sim.contacts().force, rtol=1e-14)
    np.testing.assert_array_equal(last.status, sim.contacts().status)
    assert last.body_b.max() == sim.model.body_count + 1

    force = np.zeros((sim.model.soft.node_count, 3))  # of every node, from the file alone
    for sign, nodes, weights in ((-1, last.node_a, last.weight_a), (1, last.node_b, last.weight_b)):
        for c, k in zip(*np.nonzero(nodes >= 0), strict=True):
            force[nodes[c, k]] += sign * weights[c, k] * last.force[c]
    _, lower, upper = stack()
    both = [sim.node_contact_forces(body) for body in (lower, upper)]
    np.testing.assert_allclose(force, np.concatenate(both), atol=1e-12)


def test_elements_come_back_in_single_precision(tmp_path: Path) -> None:
    sim, _, recording = record(tmp_path / "run.h5")
    for body in stack()[1:]:
        found, now = recording.elements(-1, body), sim.elements(body)
        for name in ("strain", "stress", "von_mises", "energy"):
            ours, theirs = getattr(found, name), getattr(now, name)
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6 * np.abs(theirs).max())
    assert recording.elements(0).strain.shape == (len(sim.model.soft.element_body), 3, 3)
    with pytest.raises(InputError, match="frame 6 does not exist"):
        recording.elements(6)
    with pytest.raises(InputError, match=r"soft body .*'x'.* is none of lower"):
        recording.elements(0, SoftBody(0, "x"))


def test_elements_can_be_left_out(tmp_path: Path) -> None:
    sim, _, recording = record(tmp_path / "run.h5", elements=False)
    np.testing.assert_array_equal(recording.node_position[-1], sim.state.node_position)
    with pytest.raises(InputError, match="no elements"):
        recording.elements(-1)
    with h5py.File(tmp_path / "run.h5") as file:
        assert "elements" not in file["soft"]


def test_the_final_state_continues_bit_for_bit(tmp_path: Path) -> None:
    sim, _, recording = record(tmp_path / "run.h5")
    assert recording.final_state.digest() == sim.state.digest() == recording.state_digest
    again = Simulation(stack()[0], dt=0.002)
    again.restore(recording.final_state)
    assert again.run(3).digest() == sim.run(3).digest()


def test_the_meshes_come_back(tmp_path: Path) -> None:
    sim, _, recording = record(tmp_path / "run.h5")
    ours, theirs = sim.model.soft, recording.model.soft
    assert theirs.names == ours.names
    assert theirs.names[0] == "lower"
    for name in ("node_start", "element_body", "element_number", "x_start", "mass", "block", "colours", "self_contact"):
        np.testing.assert_array_equal(getattr(theirs, name), getattr(ours, name))
    for name in ("elements", "surface", "pattern"):
        for mine, yours in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            np.testing.assert_array_equal(mine, yours)
            assert mine.dtype == yours.dtype
    np.testing.assert_array_equal(theirs.held[0].nodes, ours.held[0].nodes)
    assert theirs.held[0].motion is None  # functions are not stored
    assert theirs.activations == ()


def test_damaged_nodes_are_refused(tmp_path: Path) -> None:
    record(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        del file["soft/node_velocity"]
        file["soft/node_velocity"] = np.zeros((6, 2, 3))
    with pytest.raises(FileError, match="node_velocity has shape"):
        read_recording(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        del file["soft/node_velocity"]
    with pytest.raises(FileError, match="damaged"):
        read_recording(tmp_path / "run.h5")


def test_recordings_from_before_there_were_soft_bodies_open(tmp_path: Path) -> None:
    scene = Scene()
    scene.add_half_space()
    scene.add_sphere(0.1, (0, 0, 0.1))
    sim = Simulation(scene, dt=0.002)
    with Recorder(tmp_path / "run.h5", sim) as recorder:
        sim.run(2, recorder)
    make_version_2(tmp_path / "run.h5", sim)
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        assert "soft" not in file
        assert "soft" not in file["model"]
        assert "node_a" not in file["contacts"]
        for name in ("node_position", "node_velocity", "node_force", "soft_key", "soft_impulse", "weld_impulse"):
            del file[f"final_state/{name}"]
    recording = read_recording(tmp_path / "run.h5")
    assert recording.node_position.shape == (2, 0, 3)
    assert recording.model.soft.count == 0
    np.testing.assert_array_equal(recording.contacts(0).node_a, [[-1, -1, -1]])
    assert recording.final_state.digest() == sim.state.digest()


def test_recordings_from_before_there_was_plane_strain_open(tmp_path: Path) -> None:
    sim, _, before = record(tmp_path / "run.h5")
    before.close()
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        del file["model/soft/elements/normal"]
    recording = read_recording(tmp_path / "run.h5")
    np.testing.assert_array_equal(recording.model.soft.elements.normal, np.zeros((len(sim.model.soft.element_body), 3)))
    np.testing.assert_array_equal(recording.node_position[-1], sim.state.node_position)
    assert not len(recording.model.soft.plane_nodes)
