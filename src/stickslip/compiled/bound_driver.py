"""Drivers that hand nothing over: their compiled function reads each state from arrays that stay where they are."""

from __future__ import annotations

import functools
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.bound_kernels import CAN_BIND, BoundKernel, arrays_in
from stickslip.compiled.driver import NO_POSES, Driver
from stickslip.constraint_kinds import KIND, KINDS
from stickslip.model.control import Control
from stickslip.model.memory import Memory
from stickslip.model.state import State

STARTS = [(kind > KIND["contact"], kind > KIND["coordinate"]) for kind in range(len(KINDS) + 1)]
"""Which of contacts and rows over coordinates come before each kind in the memory."""
CONTACT_END, COORDINATE = KIND["contact"] + 1, KIND["coordinate"]
"""Places of ``Memory.start``."""
GIVEN, KNOWN, TOLD = 2, 3, 8
"""Which of the arguments are what acts on the model, impulses of the last step, and the numbers of the certificate."""
NOTHING = np.zeros(0)


def memory_with(key: LongInts, impulse: Array, contacts: int, rows: int) -> Memory:
    """The memory with keys (n, 2) and impulses (n, 4) of contacts, then rows over coordinates."""
    memory = Memory(key, impulse)
    memory.__dict__["start"] = _starts(contacts, rows)  # and need not be sought
    return memory


@functools.cache
def _starts(contacts: int, rows: int) -> tuple[int, ...]:
    """Memory.start"""
    return tuple(contacts * first + rows * last for first, last in STARTS)


def copied(arrays: Any) -> Any:
    """An array, or each of a tuple of arrays, by itself."""
    return np.array(arrays) if isinstance(arrays, np.ndarray) else type(arrays)(*map(np.array, arrays))


@dataclass(eq=False)
class Handed:
    """Arguments of the compiled function that stay, and what was put into them last."""

    kernel: BoundKernel
    q: Array
    v: Array
    held: Array
    """(nb, 6) velocities of rigid bodies in the step."""
    led_to: Array
    key: LongInts
    """(contacts + rows,) that are remembered, with ``impulse`` (contacts + rows, 4)."""
    impulse: Array
    contacts: int
    rows: int
    out: Array
    told: Array
    had: tuple[int, int, bool] = (-1, -1, False)
    """Contacts and rows over coordinates that are remembered, and whether the step is measured."""
    control: Control | None = None


class BoundDriver(Driver):
    """Steps by a kernel that is bound to one set of arguments, into which each state is copied."""

    kernel: Any
    """The compiled function."""
    binds = True
    """Whether steps are taken so."""
    handed: Handed | None = None
    rows = 0
    """Rows over coordinates that may be remembered."""

    def __getstate__(self) -> dict[str, Any]:
        """What copies are made of: arguments are views of each other, and addresses."""
        return {**self.__dict__, "handed": None}

    @abstractmethod
    def given(self, control: Control) -> Any:
        """What acts on the model: the argument GIVEN, an array or a tuple of arrays."""

    def shows(self, control: Control) -> bool:
        """Whether that is views of the control, in which changes are seen."""
        return True

    def step(self, *arguments: Any) -> int:
        """See Driver."""
        return int(self.kernel(*arguments))

    def grow(self, code: int) -> bool:
        """See Driver."""
        self.handed = None
        return super().grow(code)

    def called(
        self, state: State, control: Control, v: Array, led_to: Array, measured: bool
    ) -> tuple[int, Array, Array]:
        """See Driver."""
        if not (CAN_BIND and self.binds):
            return super().called(state, control, v, led_to, measured)
        memory = state.memory
        start, n = memory.start[COORDINATE], memory.start[CONTACT_END]
        rows = memory.start[COORDINATE + 1] - start
        to = self.handed
        if to is None or n > to.contacts or rows > to.rows:
            self.handed = to = self._handed(state, control, n, rows)
        to.q[:], to.v[:] = state.q, state.v
        if self.carried:
            to.held[:], to.led_to[:] = v, led_to
        if (n, rows, measured) != to.had:
            to.had = n, rows, measured
            for place, count in zip(to.kernel.numbers(KNOWN), (n, n, rows, rows)):
                to.kernel.cut(place, count)
            to.kernel.cut(to.kernel.numbers(TOLD)[0], self.told if measured else 0)
        if n:
            to.key[:n], to.impulse[:n] = memory.key[:n, 1], memory.impulse[:n]
        if rows:
            own = slice(to.contacts, to.contacts + rows)
            to.key[own], to.impulse[own] = memory.key[start : start + rows, 1], memory.impulse[start : start + rows]
        if control is not to.control or not self.shows(control):
            to.control = control
            for place, array in zip(to.kernel.numbers(GIVEN), arrays_in((self.given(control),)), strict=True):
                to.kernel.put(place, np.ascontiguousarray(array))
        return to.kernel(), to.out.copy(), to.told.copy() if measured else NOTHING

    def _handed(self, state: State, control: Control, contacts: int, rows: int) -> Handed:
        """Arguments with room for so many contacts and rows that are remembered."""
        contacts, rows = max(2 * contacts, self.contacts), max(rows, self.rows)
        table, impulse = np.zeros((2, contacts + rows), np.int64), np.zeros((contacts + rows, 4))
        q, v = np.array(state.q), np.array(state.v)
        own = state.following(0.0, q, v, memory_with(table.T, impulse, contacts, rows))
        held = np.array(own.body_velocity) if self.carried else own.body_velocity
        led_to = np.empty((len(self.led), 7)) if self.carried else NO_POSES
        out, told = np.empty(len(q) + len(v)), np.empty(self.told)
        arguments = list(self.arguments(own, control, held, led_to, out, told))
        arguments[GIVEN] = copied(arguments[GIVEN])  # contiguous, and not read-only
        return Handed(
            BoundKernel(self.kernel, *arguments), q, v, held, led_to, table[1], impulse, contacts, rows, out, told
        )
