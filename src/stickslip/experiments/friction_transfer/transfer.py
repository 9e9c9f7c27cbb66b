"""Plans under one law of contact, done under all of them: scores, and what certificates say of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from stickslip.arrays import Array
from stickslip.experiments.friction_transfer.challenges import CHALLENGES, Challenge
from stickslip.experiments.friction_transfer.settings import SETTINGS, Setting
from stickslip.worlds.planning import Search, cross_entropy
from stickslip.worlds.rollouts import rollout

FULL, QUICK = (12, 8, 3), (10, 6, 1)
"""Sequences in a round, rounds, seeds."""


def size(quick: bool) -> tuple[int, int, int]:
    """Sequences in a round, rounds, seeds."""
    return QUICK if quick else FULL


@dataclass(frozen=True)
class Outcome:
    """What came of a plan under a law; errors are the largest of all steps, against the exact law."""

    score: float
    """[mm]"""
    residual: float
    penetration: float
    """[mm]"""
    gliding_gap: float
    """[mm]"""
    direction: float
    """[degrees] between friction and the direction against slip."""


@dataclass(frozen=True)
class Transfer:
    """A challenge planned under each law and done under each."""

    challenge: str
    outcomes: Mapping[tuple[str, str], tuple[Outcome, ...]]
    """By the law of planning and the law of doing: one for each seed."""

    def score(self, planned: str, done: str) -> float:
        """[mm] median over seeds."""
        return float(np.median([each.score for each in self.outcomes[planned, done]]))

    def most(self, planned: str, done: str, error: str) -> float:
        """The largest of an error over seeds."""
        return max(getattr(each, error) for each in self.outcomes[planned, done])


def plan(challenge: Challenge, setting: Setting, seed: int, samples: int, rounds: int) -> Array:
    """Controls (T, 2) that the cross-entropy method finds under a law."""
    worlds = setting.worlds(challenge.scene(), samples)
    search = Search(worlds, challenge.cost, challenge.steps, -np.ones(2), np.ones(2), shape=challenge.shape)
    start = np.tile(challenge.start, (challenge.knots, 1))
    random = np.random.default_rng(seed)
    knots, _ = cross_entropy(search, worlds.start, start, challenge.spread, random, rounds, 0.4, 0.05)
    return challenge.shape(knots, challenge.steps)


def do(challenge: Challenge, setting: Setting, controls: Array) -> Outcome:
    """Apply controls (T, 2) under a law."""
    found = rollout(setting.worlds(challenge.scene(), 1), controls)
    errors = found.certificate.worst()
    return Outcome(
        float(challenge.score(found)[0]), errors["natural_residual"], 1e3 * errors["penetration"],
        1e3 * errors["gliding_gap"], float(np.degrees(errors["direction_error"])),
    )  # fmt: skip


def transfer(name: str, quick: bool, tell: Callable[[int, int, str], None]) -> Transfer:
    """Plan and do a challenge under all laws."""
    challenge, outcomes = CHALLENGES[name], dict[tuple[str, str], tuple[Outcome, ...]]()
    samples, rounds, seeds = size(quick)
    for k, (law, setting) in enumerate(SETTINGS.items()):
        plans = []
        for seed in range(seeds):
            tell(k * seeds + seed, len(SETTINGS) * seeds, f"plans under {law}, seed {seed}")
            plans.append(plan(challenge, setting, seed, samples, rounds))
        for other, judge in SETTINGS.items():
            outcomes[law, other] = tuple(do(challenge, judge, controls) for controls in plans)
    return Transfer(name, outcomes)
