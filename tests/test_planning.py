"""Plans by sampled sequences: knots, shifts, predictive sampling, MPPI and cross-entropy on a task with a known end."""

import numpy as np
import pytest

import stickslip
from stickslip import InputError
from stickslip.experiments.friction_transfer.challenges import FRICTION, GRAVITY, MASS, on_a_plane, where
from stickslip.worlds.planning import Search, around, cross_entropy, improved, later, sequence, tried

FORCE, STEPS, DT = 6.0, 20, 0.01
GOAL = 0.1
"""[m]"""


def search(count: int = 16, **options: object) -> Search:
    """A puck on a plane, which shall be at the goal after the last control."""
    worlds = stickslip.Worlds(on_a_plane(FORCE), count, DT, threads=1)

    def cost(found: stickslip.worlds.rollouts.Rollout, controls: np.ndarray) -> np.ndarray:
        return np.abs(where(found)[-1, :, 0] - GOAL) + 1e-3 * (controls**2).mean(axis=(0, 2))

    return Search(worlds, cost, STEPS, -np.ones(2), np.ones(2), **options)  # type: ignore[arg-type]


def test_sequences_are_straight_between_knots_and_move_on_by_a_control() -> None:
    knots = np.array([[0.0], [1.0], [0.0]])
    np.testing.assert_allclose(sequence(knots, 5)[:, 0], [0.0, 0.5, 1.0, 0.5, 0.0])
    np.testing.assert_allclose(sequence(knots[:1], 3)[:, 0], 0.0)
    line = np.array([[0.0], [1.0], [2.0]])  # shifted knots of a line give the shifted line, held at its end
    np.testing.assert_allclose(sequence(later(line, 9), 9)[:5, 0], sequence(line, 9)[1:6, 0])
    assert later(line, 9)[-1, 0] == 2.0


def test_costs_are_those_of_the_motion() -> None:
    """A force above friction for 0.2 s: the cost is how far the puck is from where the closed form says."""
    own = search(3)
    knots = np.array([[[0.0, 0.0], [0.5, 0.0], [1.0, 0.0]]])
    found = tried(own, own.worlds.start, knots)
    speeds = np.maximum(np.array([0.0, 0.5, 1.0]) * FORCE / MASS - FRICTION * GRAVITY, 0.0) * DT
    ends = speeds * DT * STEPS * (STEPS + 1) / 2  # semi-implicit Euler
    np.testing.assert_allclose(found.costs, np.abs(ends - GOAL) + 1e-3 * np.array([0.0, 0.125, 0.5]), atol=1e-9)
    assert found.best == int(np.argmin(found.costs))


@pytest.mark.parametrize("temperature", [0.0, 0.001])
def test_plans_get_better_and_are_the_same_for_the_same_seed(temperature: float) -> None:
    ends = []
    for _ in range(2):
        own, random, plan = search(), np.random.default_rng(3), np.zeros((3, 2))
        costs = []
        for _ in range(8):
            plan, found = improved(own, own.worlds.start, plan, 0.3, random, temperature)
            costs.append(found.costs[found.best])
        ends.append(plan)
        assert costs[-1] < 0.1 * costs[0] or costs[-1] < 2e-3
        if not temperature:
            assert all(np.diff(costs) <= 0.0)  # world 0 tries the plan as it is
    np.testing.assert_array_equal(*ends)


def test_cross_entropy_finds_the_goal_within_the_limits() -> None:
    own = search()
    plan, cost = cross_entropy(own, own.worlds.start, np.zeros((2, 2)), 0.6, np.random.default_rng(0), rounds=8)
    assert cost < 3e-3
    assert (np.abs(plan) <= 1.0).all()
    drawn = around(own, plan, 5.0, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn[:, 0], plan)
    assert (np.abs(drawn) <= 1.0).all()


def test_worlds_that_diverge_are_not_chosen_and_bad_input_is_named() -> None:
    own = search(4)
    good = Search(own.worlds, lambda found, controls: np.array([np.nan, 2.0, 1.0, 3.0]), STEPS, own.low, own.high)
    assert tried(good, own.worlds.start, np.zeros((1, 4, 2))).best == 2
    nothing = Search(own.worlds, lambda found, controls: np.full(4, np.nan), STEPS, own.low, own.high)
    plan = np.full((1, 2), 0.25)
    np.testing.assert_array_equal(improved(nothing, own.worlds.start, plan, 0.1, np.random.default_rng(0))[0], plan)
    with pytest.raises(InputError, match="low must not be above high"):
        Search(own.worlds, own.cost, STEPS, own.high, own.low)
    wrong = Search(own.worlds, lambda found, controls: np.zeros(3), STEPS, own.low, own.high)
    with pytest.raises(InputError, match=r"costs have shape \(3,\); \(4,\) is needed"):
        tried(wrong, own.worlds.start, np.zeros((1, 4, 2)))


def test_rollouts_tell_where_bodies_are() -> None:
    scene = stickslip.Scene()
    scene.add_half_space()
    ball = scene.add_sphere(0.1, (0.0, 0.2, 1.0), name="ball")
    worlds = stickslip.Worlds(scene, 2, DT)
    found = stickslip.rollout(worlds, steps=5)
    assert found.centre(ball).shape == (5, 2, 3)
    np.testing.assert_array_equal(found.centre(ball)[-1], worlds.position(ball))
    with pytest.raises(InputError, match="'arm' is a link"):
        found.centre(type(ball)(9, "arm"))
