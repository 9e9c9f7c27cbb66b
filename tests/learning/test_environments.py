"""Environments: gymnasium's own checks, exact seeds, one world as many, resetting, what differs, what is told."""

from __future__ import annotations

import sys
import urllib.request
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import stickslip
from child_process import output
from stickslip import Environment, InputError, Scene, Task, VectorEnvironment
from stickslip.learning.names import ENVIRONMENTS
from stickslip.learning.registration import find_task, task_named
from stickslip.learning.saved_worlds import environment_state, restore_environment

SLOW = ("SoftGrasp",)
"""Of the Python driver."""


def vector(name: str, count: int, **options: object) -> VectorEnvironment:
    return gymnasium.make_vec(f"stickslip/{name}-v0", num_envs=count, **options)  # type: ignore[return-value]


def actions(env: VectorEnvironment, steps: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (steps, *env.action_space.shape))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environments_pass_the_checks_of_gymnasium(name: str) -> None:
    env = gymnasium.make(f"stickslip/{name}-v0").unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*A Box observation space (minimum|maximum) value is -?infinity.*")
        warnings.filterwarnings("ignore", message=".*Not able to test alternative render modes.*")
        check_env(env, skip_render_check=True)
    entry, task = ENVIRONMENTS[name], find_task(name)
    assert (task.name, task.max_episode_steps) == (name, entry.steps)
    assert env.unwrapped.worlds.driver == ("python" if name in SLOW else "compiled")  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", [name for name in ENVIRONMENTS if name not in SLOW])
def test_a_world_of_many_does_what_a_single_environment_does(name: str) -> None:
    """With the seed of its number, bit for bit; what is told of it, too."""
    many, k = vector(name, 3), 2
    single = gymnasium.make(f"stickslip/{name}-v0")
    seen, told = many.reset(seed=7)
    own, own_told = single.reset(seed=7 + k)
    given = actions(many, 12)
    for each in given:
        np.testing.assert_array_equal(seen[k], own)
        assert told["certificate"]["residual"][k] == own_told["certificate"]["residual"]
        seen, rewards, terminated, truncated, told = many.step(each)
        own, reward, ended, cut, own_told = single.step(each[k])
        assert (rewards[k], terminated[k], truncated[k]) == (reward, ended, cut)
        if ended or cut:
            break
    assert told["certificate"]["status"][k] == own_told["certificate"]["status"]


def test_the_same_seed_gives_the_same_bits_and_others_do_not() -> None:
    runs = []
    for seed in (3, 3, 4):
        env = vector("Hopper", 4, threads=2 if runs else 1)
        rows = [env.reset(seed=seed)[0]]
        rows += [env.step(each)[0] for each in actions(env, 30)]
        runs.append(np.stack(rows))
    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0] != runs[2]).any()


# ---- resetting -----------------------------------------------------------------------------------------------


def episodes(mode: str, steps: int = 12) -> list[tuple[np.ndarray, ...]]:
    """Steps of two worlds of which one falls after some steps, cut after ten."""
    env = vector("CartPole", 2, autoreset_mode=mode, max_episode_steps=10)
    env.reset(seed=1)
    env.worlds.set_joint_positions(env.moment.robot, np.array([[0.0, 0.15], [0.0, 0.0]]))
    return [env.step(np.array([[-1.0], [0.0]])) for _ in range(steps)]


def test_worlds_start_anew_in_the_next_step() -> None:
    found = episodes("next_step")
    ends = [(bool(step[2][0]), bool(step[3][0])) for step in found]
    fell = ends.index((True, False))
    assert abs(found[fell][0][0, 1]) > 0.2  # the last observation is that of the fall
    assert found[fell + 1][1][0] == 0.0  # the step that resets gives nothing
    assert not found[fell + 1][2][0]
    assert np.abs(found[fell + 1][0][0]).max() <= 0.05
    assert found[fell + 1][4]["certificate"]["status"][0] == "unstepped"
    assert found[9][3][1]  # the other is cut after ten
    assert not found[9][2][1]


def test_worlds_start_anew_in_the_same_step() -> None:
    found = episodes("same_step")
    fell = [bool(step[2][0]) for step in found].index(True)
    seen, rewards, _, _, told = found[fell]
    assert rewards[0] == 1.0
    assert np.abs(seen[0]).max() <= 0.05
    assert abs(told["final_obs"][0][1]) > 0.2
    assert told["_final_obs"].tolist() == [True, False]
    assert told["final_info"]["certificate"]["status"][0] == "converged"
    assert abs(found[fell + 1][0][0, 1]) < 0.06  # pushed once since it started


def test_worlds_wait_for_their_reset_where_it_is_left_to_the_user() -> None:
    env = vector("CartPole", 3, autoreset_mode=AutoresetMode.DISABLED, max_episode_steps=4)
    env.reset(seed=1)
    for _ in range(4):
        _, _, _, truncated, _ = env.step(np.zeros((3, 1)))
    assert truncated.all()
    with pytest.raises(InputError, match="world 0 has ended; reset it"):
        env.step(np.zeros((3, 1)))
    mask = np.array([True, False, True])
    seen, told = env.reset(options={"reset_mask": mask})
    assert told["_certificate"].tolist() == mask.tolist()
    assert np.abs(seen[mask]).max() <= 0.05
    with pytest.raises(InputError, match="world 1 has ended"):
        env.step(np.zeros((3, 1)))
    with pytest.raises(InputError, match="reset_mask is"):
        env.reset(options={"reset_mask": np.zeros(3, dtype=bool)})


def test_worlds_that_diverge_are_cut_counted_and_start_anew() -> None:
    env = vector("CartPole", 3)
    env.reset(seed=0)
    env.worlds.set_joint_velocities(env.moment.robot, np.array([0.0, 1e50]), worlds=[1])
    seen, rewards, terminated, truncated, told = env.step(np.zeros((3, 1)))
    assert told["diverged"].tolist() == [False, True, False]
    assert (terminated | truncated).tolist() == [False, True, False]
    assert told["certificate"]["status"][1] == "diverged"
    assert env.diverged_count == 1
    assert np.isfinite(seen).all()
    assert np.isfinite(rewards).all()
    seen, _, _, _, told = env.step(np.zeros((3, 1)))
    assert np.abs(seen[1]).max() <= 0.05
    assert not told["diverged"].any()


# ---- what differs --------------------------------------------------------------------------------------------


def test_worlds_differ_in_what_is_given_as_ranges() -> None:
    """Mass and friction of each world lie in their ranges, are kept over episodes, and change when all are reset."""
    env = vector("PushBox", 4, randomise={"friction": (0.5, 1.5), "mass": (0.8, 1.2)})
    env.reset(seed=2)
    first = {name: each.copy() for name, each in env.factors.items()}
    box = env.moment.body("box").index
    for name, (low, high) in env.randomisation.ranges.items():
        assert ((first[name] >= low) & (first[name] <= high)).all()
        assert len(set(first[name].tolist())) == 4
    masses = [env.worlds.model_of(k).mass[box] for k in range(4)]
    np.testing.assert_allclose(masses, 0.5 * first["mass"])
    env.reset(options={"reset_mask": np.array([True, False, False, False])})
    np.testing.assert_array_equal(env.factors["mass"], first["mass"])
    env.reset()
    assert (env.factors["mass"] != first["mass"]).all()


def test_actions_come_late_by_the_latency() -> None:
    """Two steps of latency: what a cart does is what it does two steps later without."""
    late = vector("CartPole", 1, randomise={"latency": 0.04})
    prompt = vector("CartPole", 1)
    push = np.array([[1.0]])
    for env in (late, prompt):
        env.reset(seed=0)
        env.worlds.set_joint_positions(env.moment.robot, np.zeros(2))
        env.worlds.set_joint_velocities(env.moment.robot, np.zeros(2))
    delayed = [late.step(push)[0][0] for _ in range(6)]
    at_once = [prompt.step(push)[0][0] for _ in range(4)]
    assert np.abs(delayed[1]).max() == 0.0
    np.testing.assert_allclose(delayed[2:], at_once, atol=1e-12)


def test_noise_has_its_size_and_strength_scales_actions() -> None:
    env = vector("CartPole", 64, randomise={"observation_noise": 0.1, "strength": 0.5})
    seen, _ = env.reset(seed=0)
    true = np.concatenate([env.worlds.joint_positions(env.moment.robot),
                           env.worlds.joint_velocities(env.moment.robot)], axis=1)  # fmt: skip
    assert (seen - true).std() == pytest.approx(0.1, rel=0.2)  # 256 draws: 4 % would be one standard deviation
    env.step(np.ones((64, 1)))
    assert env.worlds.controls.actuators["cart-pole"][:, 0, 0] == pytest.approx(0.5)


@pytest.mark.parametrize("mode", ["same_step", "next_step", "disabled"])
def test_noise_of_a_world_does_not_depend_on_when_others_end(mode: str) -> None:
    """One of two worlds ends after three steps; the other sees what it sees beside one that does not."""
    noisy = {"observation_noise": 0.1, "action_noise": 0.1, "latency": (0.0, 0.04)}
    runs = []
    for fallen in (True, False):
        env = vector("CartPole", 2, autoreset_mode=mode, randomise=noisy)
        seen, _ = env.reset(seed=5)
        if fallen:
            env.worlds.set_joint_positions(env.moment.robot, np.array([0.0, 0.205]), worlds=[0])
            env.worlds.set_joint_velocities(env.moment.robot, np.array([0.0, 0.2]), worlds=[0])
        rows, ends = [seen[1]], 0
        for _ in range(8):
            seen, _, terminated, _, _ = env.step(np.array([[0.0], [0.1]]))
            rows.append(seen[1])
            if terminated[0]:
                ends += 1
                if mode == "disabled":
                    again, _ = env.reset(options={"reset_mask": np.array([True, False])})
                    np.testing.assert_array_equal(again[1], seen[1])  # what it saw last
        assert ends == (1 if fallen else 0)
        runs.append(np.stack(rows))
    np.testing.assert_array_equal(*runs)


def test_repeated_actions_sum_rewards() -> None:
    env, plain = vector("Pendulum", 2, action_repeat=3), vector("Pendulum", 2)
    for each in (env, plain):
        each.reset(seed=5)
    push = np.array([[1.0], [-0.5]])
    seen, rewards, *_ = env.step(push)
    parts = [plain.step(push) for _ in range(3)]
    np.testing.assert_allclose(rewards, sum(part[1] for part in parts))
    np.testing.assert_array_equal(seen, parts[-1][0])


# ---- what is told --------------------------------------------------------------------------------------------


def test_infos_have_certificates_and_contact_forces() -> None:
    env = vector("CubeInHand", 2, forces={"palm": ("allegro/palm", "cube")})
    env.reset(seed=0)
    for _ in range(5):
        _, _, _, _, told = env.step(np.zeros((2, 16)))
    weight = 0.08 * 9.81
    np.testing.assert_allclose(told["contact_force"]["cube"], [[0, 0, weight]] * 2, atol=0.05 * weight)
    assert (told["contact_force"]["palm"][:, 2] < 0.0).all()
    assert (told["certificate"]["residual"] < 1e-6).all()
    assert told["certificate"]["status"].tolist() == ["converged"] * 2
    assert told["_certificate"].all()


def test_random_torques_on_humanoids_stay_finite_and_solved() -> None:
    """1,920 steps, as ``bench_learning.py --only long`` takes a million."""
    env = vector("HumanoidRun", 32)
    env.reset(seed=0)
    good = 0
    for given in actions(env, 60):
        seen, rewards, _, _, told = env.step(given)
        assert np.isfinite(seen).all()
        assert np.isfinite(rewards).all()
        good += int((told["certificate"]["residual"] <= 1e-6).sum())
        assert told["certificate"]["penetration"].max() < 0.01
    assert env.diverged_count == 0
    assert good >= 0.999 * 60 * 32


def test_environments_take_other_contact_laws() -> None:
    """A standing hopper sinks in by what the regularised law allows, and its certificate says so."""
    residuals = []
    for solver in (None, stickslip.make_solver("sap", near_rigid=1.0)):
        env = vector("Hopper", 1, solver=solver)
        env.reset(seed=0)
        residuals.append(max(env.step(np.zeros((1, 3)))[4]["certificate"]["residual"][0] for _ in range(30)))
    assert residuals[0] < 1e-6 < 1e-5 < residuals[1]


def test_an_environment_goes_on_from_a_saved_state_bit_for_bit() -> None:
    options = {"randomise": {"friction": (0.5, 1.5), "latency": (0.0, 0.06), "observation_noise": 0.01}}
    env, other = (vector("PushBox", 3, autoreset_mode="same_step", **options) for _ in range(2))
    env.reset(seed=1)
    given = actions(env, 20)
    for each in given[:10]:
        env.step(each)
    states, rest = environment_state(env)
    restore_environment(other, states, rest)
    for each in given[10:]:
        a, b = env.step(each), other.step(each)
        np.testing.assert_array_equal(a[0], b[0])
        np.testing.assert_array_equal(a[1], b[1])


def test_pictures_show_the_robot() -> None:
    env = gymnasium.make("stickslip/CartPole-v0", render_mode="rgb_array", picture_size=(80, 60))
    env.reset(seed=0)
    picture = np.asarray(env.render())
    assert picture.shape == (60, 80, 3)
    red = (picture[..., 0] > 150) & (picture[..., 1] < 90)
    assert red.any()  # the cart


def test_human_mode_serves_a_page_until_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("viser")
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    env = gymnasium.make("stickslip/CartPole-v0", render_mode="human")
    env.reset(seed=0)
    for _ in range(3):
        env.step(np.zeros(1))
    assert env.render() is None
    with urllib.request.urlopen(opened[0], timeout=30) as page:
        assert page.status == 200
    env.close()
    with pytest.raises(OSError):
        urllib.request.urlopen(opened[0], timeout=2)
    assert len(opened) == 1


# ---- own environments, bad input -----------------------------------------------------------------------------


def sliding() -> Scene:
    scene = Scene()
    scene.add_half_space(friction=0.3)
    scene.add_box((0.2, 0.2, 0.1), (0.0, 0.0, 0.05), mass=1.0, friction=0.3, name="box")
    return scene


def push(moment: object, given: np.ndarray) -> dict[str, np.ndarray]:
    worlds = moment.worlds  # type: ignore[attr-defined]
    worlds.set_force(moment.body("box"), np.concatenate([10.0 * given, np.zeros((len(worlds), 2))], axis=1))  # type: ignore[attr-defined]
    return {}


def test_an_environment_of_ones_own_takes_three_functions() -> None:
    """A box that is pushed slides where the push exceeds its friction, 2.9 N."""
    env = Environment(
        sliding, lambda moment: moment.worlds.position(moment.body("box")),
        lambda moment: moment.worlds.position(moment.body("box"))[:, 0], act=push, actions=1,
    )  # fmt: skip
    env.reset(seed=0)
    for _ in range(20):
        seen, *_ = env.step([0.25])
    assert abs(seen[0]) < 1e-6
    for _ in range(20):
        seen, reward, _, _, told = env.step([0.35])
    time = 20 * 4 * 0.005
    assert seen[0] == pytest.approx(0.5 * (3.5 - 0.3 * 9.81) * time**2, rel=0.03)  # backward Euler adds a step or so
    assert reward == seen[0]
    assert told["certificate"]["residual"] < 1e-6


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match="environment 'Hoper' is unknown; known: CartPole"):
        find_task("Hoper")
    with pytest.raises(InputError, match=r"the file no\.py does not exist"):
        task_named("no.py:TASK")
    with pytest.raises(InputError, match="randomise: 'colour' is unknown"):
        vector("CartPole", 1, randomise={"colour": 1.0})
    with pytest.raises(InputError, match=r"mass is \(2.0, 1.0\); it must be"):
        vector("CartPole", 1, randomise={"mass": (2.0, 1.0)})
    with pytest.raises(InputError, match="autoreset_mode is 'never'"):
        vector("CartPole", 1, autoreset_mode="never")
    env = vector("CartPole", 2)
    env.reset(seed=0)
    with pytest.raises(InputError, match=r"actions have shape \(3, 1\); \(2, 1\) is needed"):
        env.step(np.zeros((3, 1)))
    with pytest.raises(InputError, match=r"action of world 1 is \[nan\]"):
        env.step(np.array([[0.0], [np.nan]]))
    with pytest.raises(InputError, match="observation 0 of world 0 is nan"):
        Environment(Task("bad", sliding, lambda moment: np.full((1, 2), np.nan), lambda moment: np.zeros(1), act=push,
                         actions=1))  # fmt: skip


def test_importing_the_package_does_not_load_gymnasium() -> None:
    code = "import stickslip, sys; stickslip.Scene; print('gymnasium' in sys.modules)"
    assert output("-c", code).strip() == "False"
    assert "gymnasium" in sys.modules
    assert stickslip.Environment is Environment
