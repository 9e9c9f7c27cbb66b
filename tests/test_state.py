"""States continue bit for bit, and the same input gives the same bits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stickslip import DivergenceError, FileError, InputError, Scene, Simulation, State


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
    copy.q[0, 0] = 7.0
    assert state.q[0, 0] != 7.0
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
    assert np.isfinite(sim.state.q).all()
    assert "still holds" in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"contact_impulse": np.zeros((0, 4))},
        {"contact_impulse": np.full((1, 4), np.nan), "contact_key": np.zeros(1, dtype=np.int64)},
        {"time": float("nan")},
        {"q": np.zeros((13, 7))},
    ],
)
def test_a_state_that_cannot_be_stepped_from_is_refused(change: dict[str, object]) -> None:
    sim = Simulation(falling_pile(), dt=0.004)
    sim.run(60)
    with pytest.raises(InputError, match="state"):
        sim.restore(replace(sim.state, **change))
