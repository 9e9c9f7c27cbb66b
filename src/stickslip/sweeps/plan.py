"""What a sweep runs: every combination of the values of its settings."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.checks import whole
from stickslip.errors import InputError
from stickslip.names import shown
from stickslip.scenes.parameters import Value, parse_value

MOST_RUNS = 1_000_000
"""Runs that no sweep will see the end of."""


@dataclass(frozen=True)
class RunRequest:
    """One run, as a worker gets it."""

    number: int
    """From 0, in the order of the plan."""
    scene: str
    """Name of a scene, a robot's file, or ``my.py:build``."""
    solver: str | None
    settings: Mapping[str, Value]
    steps: int | None
    time: float | None


@dataclass(frozen=True)
class Plan:
    """All runs of a sweep; ``axes``: the settings and the values of each, of which the last changes fastest."""

    scene: str
    solver: str | None
    axes: Mapping[str, tuple[Value, ...]]
    steps: int | None = None
    time: float | None = None

    def __post_init__(self) -> None:
        if len(self) > MOST_RUNS:
            raise InputError(f"sweep: {len(self)} runs; {MOST_RUNS} are the most, give fewer values")

    def __len__(self) -> int:
        return int(np.prod([len(values) for values in self.axes.values()], dtype=object)) if self.axes else 1

    @property
    def varied(self) -> list[str]:
        """Settings that have several values."""
        return [name for name, values in self.axes.items() if len(values) > 1]

    @property
    def digest(self) -> str:
        """What tells this plan from others."""
        said = [self.scene, self.solver, {name: list(map(repr, values)) for name, values in self.axes.items()},
                self.steps, self.time]  # fmt: skip
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]

    def requests(self) -> list[RunRequest]:
        """The runs in their order."""
        asked = self.steps, self.time
        return [
            RunRequest(k, self.scene, self.solver, dict(zip(self.axes, chosen, strict=True)), *asked)
            for k, chosen in enumerate(itertools.product(*self.axes.values()))
        ]  # fmt: skip


def parse_axes(texts: Iterable[str]) -> dict[str, tuple[Value, ...]]:
    """``KEY=VALUE``, ``KEY=A:B:N`` (N values evenly from A to B), ``KEY=A:B`` (whole numbers), ``KEY=X|Y|Z``."""
    axes: dict[str, tuple[Value, ...]] = {}
    for text in texts:
        key, separator, value = (part.strip() for part in text.partition("="))
        if not separator or not key or not value:
            raise InputError(f"setting {shown(text)} is not understood; write KEY=VALUE, KEY=A:B:N, KEY=A:B or KEY=X|Y")
        if key in axes:
            raise InputError(f"setting {shown(key)} is given twice; give it once")
        axes[key] = _values(key, value)
    return axes


def as_axes(settings: Mapping[str, Any]) -> dict[str, tuple[Value, ...]]:
    """Values of settings from Python: a list, range or array of them, a text as on the command line, or one value."""
    if not isinstance(settings, Mapping):
        raise InputError(f"sweep: settings are {shown(settings)}; a mapping of names to values is needed")
    axes: dict[str, tuple[Value, ...]] = {}
    for key, value in settings.items():
        if isinstance(value, str):
            axes[key] = _values(key, value)
        elif isinstance(value, list | range | np.ndarray):
            axes[key] = tuple(item.item() if isinstance(item, np.generic) else item for item in value)
            if not axes[key]:
                raise InputError(f"sweep: setting {shown(key)} has no values")
        else:
            axes[key] = (value,)
    return axes


def _values(key: str, text: str) -> tuple[Value, ...]:
    parts: Sequence[Value] = [parse_value(part) for part in text.split(":")]
    if len(parts) in (2, 3) and all(isinstance(part, int | float) and not isinstance(part, bool) for part in parts):
        first, last = float(parts[0]), float(parts[1])  # type: ignore[arg-type]
        if len(parts) == 3:
            count = whole(f"sweep: setting {key}", "number of values", parts[2], 1, MOST_RUNS)
            return tuple(float(f"{value:.12g}") for value in np.linspace(first, last, count))
        low, high = (whole(f"sweep: setting {key}", "end of a range", part, -MOST_RUNS) for part in parts)
        if high < low:
            raise InputError(f"sweep: setting {shown(key)} goes from {low} to {high}; the second must not be smaller")
        return tuple(range(low, high + 1))
    return tuple(parse_value(part.strip()) for part in text.split("|"))
