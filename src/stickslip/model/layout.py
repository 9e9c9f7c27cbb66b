"""Where the numbers of each kind of thing are in the flat vectors of a state: rigid bodies, others, nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array

BODY, NODE = "body", "node"
"""Names of the first and of the last part: rigid bodies (7 and 6 numbers), nodes of soft bodies (3 and 3)."""


class Part(NamedTuple):
    """Things of one kind: each has ``q_width`` numbers in q and ``v_width`` in v."""

    name: str
    number: int
    """How many there are."""
    q_width: int
    v_width: int


@dataclass(frozen=True)
class Layout:
    """Parts of q (nq,) and v (nv,) in their order: rigid bodies, parts of other kinds, nodes of soft bodies."""

    parts: tuple[Part, ...]

    @cached_property
    def part(self) -> dict[str, Part]:
        """The parts by name."""
        return {part.name: part for part in self.parts}

    @cached_property
    def q_slice(self) -> dict[str, slice]:
        """Where each part is in q, by name."""
        return _slices({part.name: part.number * part.q_width for part in self.parts})

    @cached_property
    def v_slice(self) -> dict[str, slice]:
        """Where each part is in v, by name."""
        return _slices({part.name: part.number * part.v_width for part in self.parts})

    @cached_property
    def q_shape(self) -> dict[str, tuple[int, int]]:
        """(number, q_width) of each part, by name."""
        return {part.name: (part.number, part.q_width) for part in self.parts}

    @cached_property
    def v_shape(self) -> dict[str, tuple[int, int]]:
        """(number, v_width) of each part, by name."""
        return {part.name: (part.number, part.v_width) for part in self.parts}

    @cached_property
    def q_count(self) -> int:
        """Length nq of q."""
        return sum(part.number * part.q_width for part in self.parts)

    @cached_property
    def v_count(self) -> int:
        """Length nv of v; held and prescribed velocities count."""
        return sum(part.number * part.v_width for part in self.parts)

    @cached_property
    def present(self) -> tuple[str, ...]:
        """Names of the parts that are not empty."""
        return tuple(part.name for part in self.parts if part.number)

    @cached_property
    def bodies_only(self) -> bool:
        """Whether rigid bodies are all that there is."""
        return self.present == (BODY,)

    def q_of(self, parts: Mapping[str, Array]) -> Array:
        """q (nq,) from its parts (number, q_width) by name; where there is one only, it is not copied."""
        return _flat(self.present, parts)

    def v_of(self, parts: Mapping[str, Array]) -> Array:
        """v (nv,) from its parts (number, v_width) by name; where there is one only, it is not copied."""
        return _flat(self.present, parts)

    def q_with(self, q: Array, body: Array | None, node: Array | None) -> Array:
        """q (nq,) with other poses (nb, 7) or positions of nodes (nn, 3); None: as they are."""
        return q if body is None and node is None else self._with(q, self.q_slice, body, node)

    def v_with(self, v: Array, body: Array | None, node: Array | None) -> Array:
        """v (nv,) with other velocities of bodies (nb, 6) or nodes (nn, 3), or so of forces; None: as they are."""
        return v if body is None and node is None else self._with(v, self.v_slice, body, node)

    def _with(self, flat: Array, where: dict[str, slice], body: Array | None, node: Array | None) -> Array:
        if self.bodies_only:
            return flat if body is None else body.reshape(-1)
        given = {BODY: body, NODE: node}
        parts = {}
        for name in self.present:
            other = given.get(name)
            parts[name] = flat[where[name]] if other is None else other
        return _flat(self.present, parts)


def layout_of(bodies: int, nodes: int, others: tuple[Part, ...] = ()) -> Layout:
    """The layout of so many rigid bodies and nodes of soft bodies, with parts of other kinds between them."""
    return Layout((Part(BODY, bodies, 7, 6), *others, Part(NODE, nodes, 3, 3)))


def _slices(sizes: dict[str, int]) -> dict[str, slice]:
    found, first = {}, 0
    for name, size in sizes.items():
        found[name] = slice(first, first + size)
        first += size
    return found


def _flat(names: tuple[str, ...], parts: Mapping[str, Array]) -> Array:
    if len(names) == 1:
        return parts[names[0]].reshape(-1)
    return np.concatenate([parts[name].reshape(-1) for name in names]) if names else np.zeros(0)
