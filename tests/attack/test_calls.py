"""Some hundred bad and odd calls; ``make attack`` makes many more."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pytest
from call_attack import ODD, POISON, attack
from call_targets import GROUPS
from call_world import Target
from outcome import gather

CASES = 40
"""Ten calls each."""


def test_calls_are_refused_in_our_words_or_work() -> None:
    found = gather(attack, 20261117, range(CASES))
    assert found.failures == []
    assert found.counts["calls"] == 10 * CASES
    assert found.counts["refused"] > 3 * CASES
    assert found.counts["accepted"] > CASES


@pytest.mark.parametrize("group", GROUPS)
def test_every_target_takes_its_good_arguments(group: str) -> None:
    """Else the attack would only find that everything is refused; and no argument of a call is left out."""
    for target in GROUPS[group][0]():
        _all_arguments(target)
    for number in range(len(GROUPS[group][0]())):
        target = GROUPS[group][0]()[number]
        if not target.refuses:
            target.follow(target.call(**target.good))


def _all_arguments(target: Target) -> None:
    parameters = inspect.signature(target.call).parameters
    # one of several ways to say a thing
    ways = {"young", "poisson", "mu", "lam", "mooney", "length", "progress", "time", "quality"}
    named = {name for name, each in parameters.items() if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)}
    assert named - set(target.good) <= ways | {"guesses"}, target.name


def test_poison_is_made_anew() -> None:
    for make in POISON.values():
        make()
    assert len(POISON) > 80
    assert len(ODD) > 10
