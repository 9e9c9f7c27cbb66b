"""What is remembered between steps, so that it need not be found out again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Workspace:
    """Named memories of one simulation, or of whoever else solves many problems.

    Owned by who calls, and never shared between simulations, nor used by two threads at once. Everything in it can be
    thrown away at any time without changing a single bit of any result: it holds what follows from other arguments and
    takes time to find, and storage to use again. Copies and pickles of it are empty.
    """

    __slots__ = ("_slots",)

    def __init__(self) -> None:
        self._slots: dict[Hashable, Any] = {}

    def __reduce__(self) -> tuple[type[Workspace], tuple[()]]:
        """What copies and pickles are made of."""
        return Workspace, ()

    def slot(self, name: Hashable, make: Callable[[], T]) -> T:
        """The object of that name, made at its first use."""
        found: T | None = self._slots.get(name)
        if found is None:
            found = self._slots[name] = make()
        return found

    def recall(self, name: str, key: Hashable, make: Callable[[], T], most: int) -> T:
        """What ``make`` gives for ``key``, from memory where it was asked for not long ago.

        The memory of that name keeps the ``most`` latest ones. ``make`` must depend on nothing that the key does not
        tell.
        """
        memory: dict[Hashable, T] = self._slots.setdefault(name, {})
        found = memory.pop(key, None)
        if found is None:
            found = make()
        memory[key] = found  # the latest one is the last
        while len(memory) > most:
            del memory[next(iter(memory))]
        return found


class Same:
    """An object as a key: equal to itself alone, whatever it holds, and kept alive by whoever keeps the key."""

    __slots__ = ("object",)

    def __init__(self, of: object) -> None:
        self.object = of

    def __hash__(self) -> int:
        return id(self.object)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.object is other.object
