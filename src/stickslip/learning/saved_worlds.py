"""All that a vector environment is: states of its worlds, and what it remembers beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.learning.randomisation import set_factors
from stickslip.learning.vector import VectorEnvironment
from stickslip.worlds.states import WorldStates


def environment_state(env: VectorEnvironment) -> tuple[WorldStates, dict[str, Any]]:
    """States of worlds, and plain arrays by name, from which an environment goes on bit for bit."""
    moment = env.moment
    return env.worlds.get_state(), {
        "action": moment.action.copy(), "steps": moment.steps.copy(),
        "memory": {name: each.copy() for name, each in moment.memory.items()},
        "random": [each.bit_generator.state for each in moment.random],
        "ended": env._ended.copy(), "episode": {name: each.copy() for name, each in env._episode.items()},
        "factors": {name: each.copy() for name, each in env.factors.items()},
        "past": [{name: each.copy() for name, each in old.items()} for old in env.actions.past],
        "seen": env._seen.copy(), "diverged": env.diverged_count,
    }  # fmt: skip


def restore_environment(env: VectorEnvironment, states: WorldStates, rest: dict[str, Any]) -> None:
    """Put an environment where another one was."""
    moment = env.moment
    env.factors = rest["factors"]
    set_factors(env.worlds, env.factors)
    env.worlds.reset()
    env.worlds.set_state(states)
    moment.action, moment.steps = rest["action"].copy(), rest["steps"].copy()
    moment.memory = {name: each.copy() for name, each in rest["memory"].items()}
    moment.random = [np.random.default_rng() for _ in rest["random"]]
    for own, state in zip(moment.random, rest["random"], strict=True):
        own.bit_generator.state = state
    env._seen = rest["seen"].copy()
    env._ended, env._seeded = rest["ended"].copy(), True
    env._episode = {name: each.copy() for name, each in rest["episode"].items()}
    env.actions.past = [{name: each.copy() for name, each in old.items()} for old in rest["past"]]
    env.diverged_count = rest["diverged"]
