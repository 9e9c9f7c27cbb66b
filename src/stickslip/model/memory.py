"""Impulses of the last step, from which the next one starts: one sorted table for constraints of every kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.constraint_kinds import KIND, KINDS


@dataclass(frozen=True, eq=False)
class Memory:
    """n impulses by key. Contacts have four numbers, rows of joints one each, welds three; the others are zero."""

    key: LongInts
    """(n, 2) kind of constraint (``constraint_kinds.KINDS``) and its number among them, sorted. Numbers: keys of
    contacts; rows of the model's joints, all of them; welded nodes. Stored by columns, so that numbers are neighbours.
    """
    impulse: Array
    """(n, 4) contacts: world frame [N s] and torsion about the normal [N m s]; joints: [N s or N m s] of a row, zero
    where the joint is broken; welds: [N s]; islands: number of a method, penalty, steps (contact/habits.py); lead:
    v_end - v of a step of mean velocities v, four a row."""

    @cached_property
    def start(self) -> tuple[int, ...]:
        """Where each kind starts in the table, and where the last one ends."""
        return tuple(np.searchsorted(self.key[:, 0], np.arange(len(KINDS) + 1)).tolist())

    def of(self, kind: str) -> tuple[LongInts, Array]:
        """Numbers (k,) and impulses (k, 4) of the constraints of a kind: views."""
        number = KIND[kind]
        first, end = self.start[number], self.start[number + 1]
        return self.key[first:end, 1], self.impulse[first:end]


def memory_of(
    contact_key: LongInts,
    contact_impulse: Array,
    joint_impulse: Array,
    soft_key: LongInts | None = None,
    soft_impulse: Array | None = None,
    weld_impulse: Array | None = None,
) -> Memory:
    """The memory of a step: sorted keys (k,) and impulses (k, 4) of contacts, impulses (rows,) of all rows of joints,
    and the same of contacts and welds (3 nw,) of soft bodies; None: there are none.

    Where there are contacts of rigid bodies alone, their impulses are not copied.
    """
    contacts, rows = len(contact_key), len(joint_impulse)
    soft = 0 if soft_key is None else len(soft_key)
    welds = 0 if weld_impulse is None else len(weld_impulse) // 3
    joint, weld = contacts + soft, contacts + soft + rows
    count = weld + welds
    columns = np.zeros((2, count), dtype=np.int64)
    columns[1, :contacts] = contact_key
    impulse = contact_impulse
    if count > contacts:
        impulse = np.zeros((count, 4))
        impulse[:contacts] = contact_impulse
    if soft_key is not None and soft_impulse is not None:
        columns[0, contacts:joint], columns[1, contacts:joint] = KIND["soft contact"], soft_key
        impulse[contacts:joint] = soft_impulse
    if rows:
        columns[0, joint:weld], columns[1, joint:weld] = KIND["joint"], np.arange(rows)
        impulse[joint:weld, 0] = joint_impulse
    if weld_impulse is not None:
        columns[0, weld:], columns[1, weld:] = KIND["weld"], np.arange(welds)
        impulse[weld:, :3] = weld_impulse.reshape(welds, 3)
    memory = Memory(columns.T, impulse)
    memory.__dict__["start"] = (
        0,
        contacts,
        joint,
        weld,
        *((count,) * (len(KINDS) - 3)),
    )  # known, and need not be sought
    return memory


def memory_of_lead(lead: Array) -> tuple[str, LongInts, Array]:
    """What a step of mean velocities remembers beside impulses: v_end - v (nv,) of all bodies, for memory_of_parts."""
    count = (len(lead) + 3) // 4
    rows = np.zeros((count, 4))
    rows.reshape(-1)[: len(lead)] = lead
    return "lead", np.arange(count, dtype=np.int64), rows


def memory_of_parts(parts: Sequence[tuple[str, LongInts, Array]]) -> Memory:
    """The memory of a step from kinds with sorted numbers (k,) and impulses (k, 4); kinds in their order.

    Where there is one only, its impulses are not copied.
    """
    some = [part for part in parts if len(part[1])]
    if len(some) == 1:
        kind, numbers, impulse = some[0]
        columns = np.empty((2, len(numbers)), dtype=np.int64)
        columns[0], columns[1] = KIND[kind], numbers
        memory, number = Memory(columns.T, impulse), KIND[kind]
        known = (0,) * (number + 1) + (len(numbers),) * (len(KINDS) - number)
        memory.__dict__["start"] = known  # and need not be sought
        return memory
    if not some:
        return Memory(np.zeros((0, 2), dtype=np.int64), np.zeros((0, 4)))
    columns = np.empty((2, sum(len(numbers) for _, numbers, _ in some)), dtype=np.int64)
    first = 0
    for kind, numbers, _ in some:
        columns[0, first : first + len(numbers)], columns[1, first : first + len(numbers)] = KIND[kind], numbers
        first += len(numbers)
    return Memory(columns.T, np.concatenate([impulse for _, _, impulse in some]))
