"""In which numbers many worlds differ, and what happens while many of their steps are taken in one call."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.jit import inner_kernel

RIGID, FLAT, OPTIONS, THICKNESS, OWN, TABLES = range(6)
"""Flat arrays in which the numbers of a model are: of rigid bodies, of shapes and materials (with the rooms of the
search), of options, of how thick shapes are, of robots or joints."""


class Varied(NamedTuple):
    """Numbers of a model in which worlds differ."""

    start: LongInts
    """(TABLES + 1,) where those of each flat array start."""
    place: LongInts
    """(d,) place of each in its array."""
    numbers: Array
    """(N, d)"""


class Plan(NamedTuple):
    """What happens while many steps are taken in one call."""

    total: int
    """Steps of a world; none: there is no plan."""
    substeps: int
    """Steps for which a control holds."""
    every: int
    """Controls after which a record is made."""
    control: Array
    """(T, N, na) controls of the actuators of all robots; T is zero where they stay as they are."""
    q: Array
    """(R, N, nq) records ..."""
    v: Array
    """(R, N, nv)"""
    told: Array
    """(R, N, k) ... with what the compiled function wrote of the steps before them."""
    counts: LongInts
    """(R, N, TOLD)"""

    def record_of(self, left: int) -> int:
        """Number of the record that a step made which so many follow; -1: none."""
        done = self.total - left
        return -1 if not self.total or done % (self.substeps * self.every) else done // (self.substeps * self.every) - 1


NOTHING_VARIED = Varied(np.zeros(TABLES + 1, np.int64), np.zeros(0, np.int64), np.zeros((0, 0)))
_NO_NUMBERS = np.zeros((0, 0, 0))
NO_PLAN = Plan(0, 1, 1, _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, np.zeros((0, 0, 0), np.int64))


@inner_kernel
def put_varied(varied, k, rigid, flat, options, thickness, own):
    """Write the numbers of world k into flat arrays."""
    start, place, numbers = varied.start, varied.place, varied.numbers
    for j in range(start[RIGID], start[FLAT]):
        rigid[place[j]] = numbers[k, j]
    for j in range(start[FLAT], start[OPTIONS]):
        flat[place[j]] = numbers[k, j]
    for j in range(start[OPTIONS], start[THICKNESS]):
        options[place[j]] = numbers[k, j]
    for j in range(start[THICKNESS], start[OWN]):
        thickness[place[j]] = numbers[k, j]
    for j in range(start[OWN], start[TABLES]):
        own[place[j]] = numbers[k, j]


@inner_kernel
def is_seen(plan, left):
    """Whether anybody sees the certificate of a step which so many follow, itself among them: the last, and records."""
    return left == 1 or (plan.total > 0 and (plan.total - left + 1) % (plan.substeps * plan.every) == 0)


@inner_kernel
def record_step(plan, left, k, q, v, told, counts):
    """Write the record of a step of world k, which so many follow, where the plan has one."""
    if plan.total == 0:
        return
    done, period = plan.total - left, plan.substeps * plan.every
    if done % period != 0:
        return
    row = done // period - 1
    for i in range(q.shape[0]):
        plan.q[row, k, i] = q[i]
    for i in range(v.shape[0]):
        plan.v[row, k, i] = v[i]
    for i in range(told.shape[0]):
        plan.told[row, k, i] = told[i]
    for i in range(counts.shape[0]):
        plan.counts[row, k, i] = counts[i]
