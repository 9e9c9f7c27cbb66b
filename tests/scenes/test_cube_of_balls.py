"""Balls in a cube: what the scene holds, and that b = 0 as in [todorov2010]."""

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.model.model import compile_scene
from stickslip.model.state import initial_state
from stickslip.scenes.cube_of_balls import balls_in_cube
from stickslip.scenes.running import execute, prepare

QUICK = {"solver.tolerance": 1e-4, "solver.max_iterations": 200}


@pytest.mark.parametrize("balls", [1, 5, 15])
def test_balls_differ_and_nothing_touches_at_the_start(balls: int):
    model = compile_scene(balls_in_cube(balls=balls, side=1.2))
    q, radius = initial_state(model).body_pose[model.dynamic, :3], model.radius[model.dynamic]
    assert len(np.unique(radius)) == balls
    apart = np.linalg.norm(q[:, None] - q[None], axis=2) - radius[:, None] - radius[None]
    assert (apart[~np.eye(balls, dtype=bool)] > 0.0).all()
    inside = np.concatenate([0.6 - np.abs(q[:, :2]), 0.6 - np.abs(q[:, 2:] - 0.6)], axis=1)
    assert (inside > radius[:, None]).all()


def test_places_and_velocities_follow_the_seed():
    states = [initial_state(compile_scene(balls_in_cube(seed=seed))) for seed in (1, 1, 2)]
    assert np.array_equal(states[0].body_pose, states[1].body_pose)
    assert np.array_equal(states[0].body_velocity, states[1].body_velocity)
    assert not np.isclose(states[0].body_pose, states[2].body_pose)[2:, :3].any()
    assert not np.isclose(states[0].body_velocity, states[2].body_velocity)[2:].any()


def test_a_ball_of_middle_size_weighs_a_kilogram():
    model = compile_scene(balls_in_cube(balls=11))
    assert model.mass[model.dynamic][5] == pytest.approx(1.0, rel=0.02)


def test_only_what_touches_is_a_contact_and_gaps_do_not_enter():
    prepared = prepare("balls-in-cube", "prox-gs", {"balls": 15, **QUICK})
    names = prepared.sim.model.body_names
    found = 0
    for _ in range(60):
        result = prepared.sim.step()
        found += len(result.contacts)
        assert (result.contacts.gap <= 1e-9).all()
        assert (result.problem.bias == 0.0).all()
        touching = {names[i] for i in (*result.contacts.body_a, *result.contacts.body_b)}
        assert "frame" not in touching
    assert found > 100


def test_balls_stay_in_the_cube():
    prepared = prepare("balls-in-cube", "prox-gs", {"speed": 3.0, "friction": 0.1, **QUICK})
    metrics = execute(prepared, 200).metrics
    assert metrics["escaped"] == 0
    # what falls at 5 m/s is 25 mm deep before it is found
    assert 0.0 < metrics["overlap_max_mm"] < 40.0


@pytest.mark.slow
@pytest.mark.parametrize(("balls", "contacts"), [(5, 7.0), (10, 16.0), (15, 27.0)])
def test_mean_contacts_are_about_those_of_the_paper(balls: int, contacts: float):
    found = []
    for friction in (0.1, 0.5, 1.0, 2.0):
        for seed in (1, 2, 3):
            settings = {"balls": balls, "friction": friction, "seed": seed, **QUICK}
            found.append(execute(prepare("balls-in-cube", "prox-gs", settings), 200).metrics["contacts_mean"])
    # single runs differ by a quarter
    assert np.mean(found) == pytest.approx(contacts, rel=0.1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"balls": 0}, "balls is 0"),
        ({"balls": 200}, "no room for 200 balls"),
        ({"largest": 0.5}, "largest is 0.5"),
        ({"smallest": 0.3}, "smallest, 0.3"),
        ({"smallest": 0.0}, "smallest"),
        ({"speed": -1.0}, "speed is -1.0"),
        ({"side": 0.0}, "side"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, float], message: str):
    with pytest.raises(InputError) as caught:
        prepare("balls-in-cube", "prox-gs", settings)
    assert message in str(caught.value)
