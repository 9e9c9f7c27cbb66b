"""Worlds of a training in workers of Ray, each of which steps some of them; the policy is trained here.

World k has the bits that it has elsewhere: a training on Ray gives the policy of one that is not, and its checkpoints
go on anywhere. A worker that is lost is begun again: its worlds are put where they were at the last copy, and take the
actions since then once more, so that nothing is lost and no bit differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.errors import StickslipError
from stickslip.learning.stepped_worlds import Saved, Taken, WorldsHere, make_env
from stickslip.ray_cluster import TRIES
from stickslip.worlds.states import WorldStates

COPY_EVERY = 256
"""Steps after which the worlds of workers are copied."""


class WorkerError(StickslipError):
    """A worker of Ray was lost, again and again."""


class Part:
    """Some of the worlds, in a process of Ray."""

    def __init__(self, config: Mapping[str, Any], count: int) -> None:
        self.own = WorldsHere(make_env(config, count, autoreset_mode="same_step", threads=1))

    def call(self, name: str, *arguments: Any) -> Any:
        """A method of its worlds, with how many diverged so far."""
        return getattr(self.own, name)(*arguments), self.own.diverged_count

    def spaces(self) -> tuple[Any, Any]:
        """Of observations and actions of one world."""
        return self.own.single_observation_space, self.own.single_action_space


class WorldsOnRay:
    """Worlds that workers of Ray step."""

    def __init__(self, ray: Any, config: Mapping[str, Any], count: int, workers: int) -> None:
        self.ray, self.config, self.num_envs = ray, config, count
        self.cuts = np.linspace(0, count, min(workers, count) + 1).astype(int)
        self.workers = [self._worker(i) for i in range(len(self.cuts) - 1)]
        self.single_observation_space, self.single_action_space = ray.get(self.workers[0].spaces.remote())
        self.lost = 0
        """Workers that were begun again."""
        self._diverged = [0] * len(self.workers)
        self._copies: list[Saved | None] = [None] * len(self.workers)
        self._since: list[Array] = []
        """Actions (N, k) since the copies were made."""

    def _worker(self, i: int) -> Any:
        return self.ray.remote(num_cpus=1)(Part).remote(self.config, int(self.cuts[i + 1] - self.cuts[i]))

    def _of(self, i: int) -> slice:
        return slice(int(self.cuts[i]), int(self.cuts[i + 1]))

    def _call(self, name: str, arguments: Callable[[int], Sequence[Any]]) -> list[Any]:
        """A method of all workers at once; those that are lost are begun again."""
        running = [worker.call.remote(name, *arguments(i)) for i, worker in enumerate(self.workers)]
        found = []
        for i, reference in enumerate(running):
            for attempt in range(TRIES):
                try:
                    if attempt:
                        self._begin_again(i)
                        reference = self.workers[i].call.remote(name, *arguments(i))
                    result, self._diverged[i] = self.ray.get(reference)
                    found.append(result)
                    break
                except self.ray.exceptions.RayActorError:
                    self.lost += 1
            else:
                raise WorkerError(f"worker {i} of Ray ended {TRIES} times; is there too little memory?")
        return found

    def _begin_again(self, i: int) -> None:
        self.workers[i] = self._worker(i)
        copy = self._copies[i]
        if copy is not None:
            self.ray.get(self.workers[i].call.remote("put", copy))
            for actions in self._since:
                self.workers[i].call.remote("take", actions[self._of(i)])  # in this order

    def _copy(self) -> None:
        self._copies = self._call("saved", lambda i: ())
        self._since = []

    @property
    def diverged_count(self) -> int:
        """Worlds that diverged so far."""
        return sum(self._diverged)

    def reset(self, seed: int | None) -> Array:
        """Start all anew; world k has seed + k."""
        seen = self._call("reset", lambda i: (None if seed is None else seed + int(self.cuts[i]),))
        self._copy()
        return np.concatenate(seen)

    def take(self, actions: Array) -> Taken:
        """A step of all."""
        parts = self._call("take", lambda i: (actions[self._of(i)],))
        self._since.append(np.array(actions))
        if len(self._since) >= COPY_EVERY:
            self._copy()
        return Taken(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def saved(self) -> Saved:
        """Where all are, as one value."""
        self._copy()
        return joined([copy for copy in self._copies if copy is not None])

    def put(self, saved: Saved) -> None:
        """Go on from there."""
        parts = [part(saved, self._of(i), i == 0) for i in range(len(self.workers))]
        self._copies, self._since = list(parts), []
        self._call("put", lambda i: (parts[i],))

    def close(self) -> None:
        """End the workers."""
        for worker in self.workers:
            self.ray.kill(worker)


def joined(parts: Sequence[Saved]) -> Saved:
    """States of all worlds, of those of some."""
    first = parts[0][0]
    own: dict[str, Any] = {
        item.name: np.concatenate([getattr(states, item.name) for states, _ in parts])
        for item in fields(WorldStates)
        if item.name != "layout"
    }
    return replace(first, **own), _joined([rest for _, rest in parts])


def _joined(values: Sequence[Any]) -> Any:
    """Arrays and lists of all worlds one after the other; counts are summed, what is named or in time stays so."""
    first = values[0]
    if isinstance(first, dict):
        return {name: _past([each[name] for each in values]) if name == "past" else _joined([v[name] for v in values])
                for name in first}  # fmt: skip
    if isinstance(first, np.ndarray):
        return np.concatenate(values)
    if isinstance(first, list):
        return [each for value in values for each in value]
    return sum(values)


def _past(values: Sequence[list[Any]]) -> list[Any]:
    """Controls of the past: a list over time."""
    return [_joined(each) for each in zip(*values, strict=True)]


def part(saved: Saved, rows: slice, first: bool) -> Saved:
    """States of some worlds, of those of all; the first part has the counts."""
    states, rest = saved
    return states.take(np.arange(len(states))[rows]), _part(rest, rows, first)


def _part(value: Any, rows: slice, first: bool) -> Any:
    if isinstance(value, dict):
        return {
            name: [_part(old, rows, first) for old in each] if name == "past" else _part(each, rows, first)
            for name, each in value.items()
        }
    if isinstance(value, np.ndarray | list):
        return value[rows]
    return value if first else 0
