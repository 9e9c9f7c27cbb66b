"""Planning by sampled sequences of controls, tried in many worlds at once: predictive sampling, MPPI, cross-entropy.

Predictive sampling takes the best of the sequences that were tried (Howell et al., "Predictive sampling", 2022), MPPI
their mean with weights exp(-cost / temperature) (Williams et al., "Information theoretic MPC", 2017), the cross-entropy
method draws again around the best ones (Rubinstein, 1999). A sequence lies on straight lines between a few knots, so
that there is little to search. World 0 always tries the plan as it is: what is found is never worse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from stickslip import checks
from stickslip.arrays import Array
from stickslip.errors import InputError
from stickslip.model.state import State
from stickslip.worlds.rollouts import Rollout, rollout
from stickslip.worlds.worlds import Worlds

Cost = Callable[[Rollout, Array], Array]
"""Costs (N,) of a rollout, which has a record after each control, and of its controls (T, N, nu)."""


def sequence(knots: ArrayLike, count: int) -> Array:
    """Controls (T, ...) on straight lines between knots (K, ...), which are evenly spread over the time."""
    given = np.asarray(knots, dtype=np.float64)
    return _between(given, np.linspace(0.0, len(given) - 1.0, count))


def later(knots: ArrayLike, count: int) -> Array:
    """Knots (K, ...) of the sequence of ``count`` controls without its first one; the last knot is held."""
    given = np.asarray(knots, dtype=np.float64)
    step = (len(given) - 1.0) / max(1, count - 1)
    return _between(given, np.minimum(np.arange(len(given)) + step, len(given) - 1.0))


def _between(knots: Array, places: Array) -> Array:
    first = np.minimum(places.astype(np.int64), max(0, len(knots) - 2))
    second, share = np.minimum(first + 1, len(knots) - 1), places - first
    share = share.reshape(-1, *[1] * (knots.ndim - 1))
    return np.asarray((1.0 - share) * knots[first] + share * knots[second])


@dataclass(frozen=True, eq=False)
class Search:
    """Among which sequences is searched, of the actuators of the only robot, and by what they are judged."""

    worlds: Worlds
    cost: Cost
    controls: int
    """T in a sequence."""
    low: Array
    """(nu,) least and ..."""
    high: Array
    """... largest controls."""
    substeps: int = 1
    """Steps for which each control holds."""
    shape: Callable[[Array, int], Array] = sequence
    """Controls (T, ..., nu) of knots (K, ..., nu)."""

    def __post_init__(self) -> None:
        checks.whole("planning", "controls", self.controls, 1)
        checks.whole("planning", "substeps", self.substeps, 1)
        if not np.all(np.asarray(self.low) <= np.asarray(self.high)):
            raise InputError(f"planning: low is {self.low}, high is {self.high}; low must not be above high")


@dataclass(frozen=True, eq=False)
class Tried:
    """Sequences that were tried."""

    knots: Array
    """(K, N, nu)"""
    costs: Array
    """(N,); infinite where a world diverged."""
    rollout: Rollout

    @property
    def best(self) -> int:
        """The world of least cost."""
        return int(np.argmin(self.costs))


def tried(search: Search, state: State, knots: Array) -> Tried:
    """Try sequences of knots (K, N, nu) from one state."""
    worlds = search.worlds
    worlds.set_state(state)
    controls = search.shape(knots, search.controls)
    found = rollout(worlds, controls, substeps=search.substeps)
    costs = np.asarray(search.cost(found, controls), dtype=np.float64)
    if costs.shape != (len(worlds),):
        raise InputError(f"planning: costs have shape {costs.shape}; ({len(worlds)},) is needed, one for each world")
    return Tried(knots, np.where(found.diverged[-1] | ~np.isfinite(costs), np.inf, costs), found)


def around(search: Search, plan: Array, spread: ArrayLike, random: Generator) -> Array:
    """Knots (K, N, nu) about those of a plan (K, nu), which comes first; spread: deviation, (nu,) or (K, nu)."""
    plan = np.asarray(plan, dtype=np.float64)
    noise = random.standard_normal((len(plan), len(search.worlds), plan.shape[1]))
    noise[:, 0] = 0.0
    spread = np.broadcast_to(np.asarray(spread, dtype=np.float64), plan.shape)
    return np.clip(plan[:, None] + spread[:, None] * noise, search.low, search.high)


def improved(
    search: Search, state: State, plan: Array, spread: ArrayLike, random: Generator, temperature: float = 0.0
) -> tuple[Array, Tried]:
    """Knots (K, nu) of a better plan, and what was tried for it.

    temperature: of MPPI, in units of cost; 0: the best sequence, which is predictive sampling.
    """
    found = tried(search, state, around(search, plan, spread, random))
    least = found.costs[found.best]
    if not np.isfinite(least):
        return np.array(plan), found
    if temperature <= 0.0:
        return found.knots[:, found.best].copy(), found
    weights = np.exp((least - found.costs) / temperature)
    return np.einsum("n,knu->ku", weights / weights.sum(), found.knots), found


def cross_entropy(
    search: Search, state: State, plan: Array, spread: ArrayLike, random: Generator, rounds: int = 10,
    elite: float = 0.2, least_spread: float = 0.0,
) -> tuple[Array, float]:  # fmt: skip
    """Knots (K, nu) of the best sequence of some rounds, and its cost.

    After each round sequences are drawn about the mean of the best share ``elite``, with their deviation, at least
    ``least_spread`` times the first one.
    """
    plan = np.asarray(plan, dtype=np.float64)
    first = np.broadcast_to(np.asarray(spread, dtype=np.float64), plan.shape)
    kept = max(2, round(elite * len(search.worlds)))
    mean, width, best, least = plan, first, plan, np.inf
    for _ in range(rounds):
        found = tried(search, state, around(search, mean, width, random))
        if found.costs[found.best] < least:
            best, least = found.knots[:, found.best].copy(), float(found.costs[found.best])
        chosen = found.knots[:, np.argsort(found.costs, kind="stable")[:kept]]
        mean, width = chosen.mean(axis=1), np.maximum(chosen.std(axis=1), least_spread * first)
    return best, least
