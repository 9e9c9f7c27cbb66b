"""What one case of an attack found.

Every kind of attack is a module of this folder with a function ``attack(seed, index) -> Outcome``: case ``index`` of a
seed is the same on every machine, ``numpy.random.default_rng([seed, index])`` is all the chance there is in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field


@dataclass
class Outcome:
    """Counts of what happened, and a sentence for each thing that must not."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def fail(self, kind: str, sentence: str) -> None:
        """Note a failure: its kind, which is counted, and what a person needs to see it again."""
        self.counts[f"failed: {kind}"] += 1
        self.failures.append(f"{kind}: {sentence}")


Attack = Callable[[int, int], Outcome]


def gather(attack: Attack, seed: int, cases: Iterable[int]) -> Outcome:
    """Outcome of several cases; each failure says which case it was."""
    total = Outcome()
    for index in cases:
        found = attack(seed, index)
        total.counts.update(found.counts)
        total.failures += [f"seed {seed} case {index}: {sentence}" for sentence in found.failures]
    return total
