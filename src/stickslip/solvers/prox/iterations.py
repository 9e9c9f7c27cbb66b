"""The loops of PROX Gauss-Seidel, [erleben2017] Alg. 2: sweeps until one is good enough, rolled back on divergence.

One for each kind of problem, so that each compiles only what it needs: contacts between rigid bodies without and with
torsion (``discs``, ``torsion``), either of them followed by joints (``mixed``), and anything (``blocks``).
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.block_laws import Laws
from stickslip.jit import kernel, parallel_kernel, prange
from stickslip.linalg.block_rows import BlockRows
from stickslip.solvers.prox.factors import Factors
from stickslip.solvers.prox.scheme import FACTOR, ROLL_BACK, STOP, Rule, judge
from stickslip.solvers.prox.slabs import Slabs
from stickslip.solvers.prox.sweeps import sweep_blocks, sweep_discs, sweep_torsion


class Mixed(NamedTuple):
    """What loops over contacts that other blocks follow need of the masses."""

    inverses: Array
    """A^-1 (nb, 7), linalg/inertia.py."""
    response: BlockRows
    """J A^-1."""
    contacts: int
    """Contacts that stand before all other blocks."""
    height: int
    """Rows of each of them, 3 or 4."""


class Swept(NamedTuple):
    """What sweeps go over."""

    J: BlockRows
    bias: Array
    laws: Laws
    weight: Array
    factors: Factors


class Room(NamedTuple):
    """Where an iteration keeps its books, and the iterate to roll back to."""

    progress: Array
    """scheme.new_progress"""
    lam: Array
    v: Array
    merit: Array
    """Of each sweep, as many as there is room for."""


def iterate_mixed_slabs(
    swept: Swept, mixed: Mixed, slabs: Slabs, rule: Rule, budget: int, target: float, lam: Array, v: Array, room: Room
) -> int:
    """As iterate_mixed, the contacts of the parts of a phase on several threads, joints on one."""
    rest = swept.bias, swept.weight
    # parallel regions know only tuples that are arguments
    args = mixed, slabs, rule, budget, target, lam, v, room
    return int(_mixed_slabs(swept.J, swept.laws, swept.factors, rest, *args))


def iterate_discs_slabs(
    swept: Swept,
    inverses: Array,
    slabs: Slabs,
    rule: Rule,
    budget: int,
    target: float,
    lam: Array,
    v: Array,
    room: Room,
) -> int:
    """As iterate_discs, the parts of a phase on several threads."""
    rest = swept.bias, swept.weight
    # parallel regions know only tuples that are arguments
    args = inverses, slabs, rule, budget, target, lam, v, room
    return int(_discs_slabs(swept.J, swept.laws, swept.factors, rest, *args))


def iterate_torsion_slabs(
    swept: Swept,
    inverses: Array,
    slabs: Slabs,
    rule: Rule,
    budget: int,
    target: float,
    lam: Array,
    v: Array,
    room: Room,
) -> int:
    """As iterate_torsion, the parts of a phase on several threads."""
    rest = swept.bias, swept.weight
    # parallel regions know only tuples that are arguments
    args = inverses, slabs, rule, budget, target, lam, v, room
    return int(_torsion_slabs(swept.J, swept.laws, swept.factors, rest, *args))


@kernel
def iterate_discs(swept, inverses, slabs, rule, budget, target, lam, v, room):
    """Sweeps over isotropic contacts between rigid bodies. Returns the number of sweeps."""
    J, bias, laws, weight, factors = swept
    progress, lam0, v0 = room.progress, room.lam, room.v
    entries = J.data.reshape(-1, 3, 6)
    bias3, lam3, v6 = bias.reshape(-1, 3), lam.reshape(-1, 3), v.reshape(-1, 6)
    for sweep in range(budget):
        _copy(lam, lam0)
        _copy(v, v0)
        total, largest = sweep_discs(
            0, bias3.shape[0], J, entries, inverses, bias3, laws, weight, factors, progress[FACTOR],
            lam3, v6,
        )  # fmt: skip
        if _settle(sweep, total, largest, rule, target, lam, v, room):
            return sweep + 1
    return budget


@kernel
def iterate_torsion(swept, inverses, slabs, rule, budget, target, lam, v, room):
    """Sweeps over contacts with torsion between rigid bodies. Returns the number of sweeps."""
    J, bias, laws, weight, factors = swept
    progress, lam0, v0 = room.progress, room.lam, room.v
    entries = J.data.reshape(-1, 4, 6)
    bias4, lam4, v6 = bias.reshape(-1, 4), lam.reshape(-1, 4), v.reshape(-1, 6)
    for sweep in range(budget):
        _copy(lam, lam0)
        _copy(v, v0)
        total, largest = sweep_torsion(
            0, bias4.shape[0], J, entries, inverses, bias4, laws, weight, factors, progress[FACTOR],
            lam4, v6,
        )  # fmt: skip
        if _settle(sweep, total, largest, rule, target, lam, v, room):
            return sweep + 1
    return budget


@kernel
def iterate_blocks(swept, response, slabs, rule, budget, target, lam, v, room):
    """Sweeps over blocks of every law. Returns the number of sweeps."""
    J, bias, laws, weight, factors = swept
    progress, lam0, v0 = room.progress, room.lam, room.v
    scratch = np.empty(lam.shape[0])
    for sweep in range(budget):
        _copy(lam, lam0)
        _copy(v, v0)
        total, largest = sweep_blocks(
            0, J.row_start.shape[0] - 1, J, response, bias, laws, weight, factors, progress[FACTOR], lam, v, scratch
        )
        if _settle(sweep, total, largest, rule, target, lam, v, room):
            return sweep + 1
    return budget


@kernel
def iterate_mixed(swept, mixed, slabs, rule, budget, target, lam, v, room):
    """Sweeps over contacts between rigid bodies, then over joints and all else. Returns the number of sweeps."""
    J, bias, laws, weight, factors = swept
    progress, lam0, v0 = room.progress, room.lam, room.v
    n, height = mixed.contacts, mixed.height
    entries = J.data[: 6 * height * J.entry_start[n]].reshape(-1, height, 6)
    bias_of, lam_of = bias[: height * n].reshape(-1, height), lam[: height * n].reshape(-1, height)
    v6, scratch = v.reshape(-1, 6), np.empty(lam.shape[0])
    for sweep in range(budget):
        _copy(lam, lam0)
        _copy(v, v0)
        factor = progress[FACTOR]
        if height == 3:
            total, largest = sweep_discs(
                0, n, J, entries, mixed.inverses, bias_of, laws, weight, factors, factor, lam_of, v6
            )
        else:
            total, largest = sweep_torsion(
                0, n, J, entries, mixed.inverses, bias_of, laws, weight, factors, factor, lam_of, v6
            )
        more, most = sweep_blocks(
            n, J.row_start.shape[0] - 1, J, mixed.response, bias, laws, weight, factors, factor, lam, v, scratch
        )
        if _settle(sweep, total + more, max(largest, most), rule, target, lam, v, room):
            return sweep + 1
    return budget


@parallel_kernel
def _mixed_slabs(J, laws, factors, rest, mixed, slabs, rule, budget, target, lam, v, room):
    """As iterate_mixed, the contacts of the parts of a phase on several threads, joints on one."""
    bias, weight = rest
    progress, lam0, v0 = room.progress, room.lam, room.v
    n, height, inverses = mixed.contacts, mixed.height, mixed.inverses  # parallel regions take no nested tuples
    entries = J.data[: 6 * height * J.entry_start[n]].reshape(-1, height, 6)
    bias_of, lam_of = bias[: height * n].reshape(-1, height), lam[: height * n].reshape(-1, height)
    v6, scratch = v.reshape(-1, 6), np.empty(lam.shape[0])
    part = np.zeros((slabs.part_start.shape[0], 2))
    for sweep in range(budget):
        _copy(lam, lam0)
        _copy(v, v0)
        factor = progress[FACTOR]
        for phase in range(slabs.phase_start.shape[0] - 1):
            for p in prange(slabs.phase_start[phase], slabs.phase_start[phase + 1]):
                first, last = slabs.part_start[p], slabs.part_start[p + 1]
                if height == 3:
                    part[p, 0], part[p, 1] = sweep_discs(
                        first, last, J, entries, inverses, bias_of, laws, weight, factors, factor, lam_of, v6
                    )
                else:
                    part[p, 0], part[p, 1] = sweep_torsion(
                        first, last, J, entries, inverses, bias_of, laws, weight, factors, factor, lam_of, v6
                    )
        total, largest = _joined(part)
        more, most = sweep_blocks(
            n, J.row_start.shape[0] - 1, J, mixed.response, bias, laws, weight, factors, factor, lam, v, scratch
        )
        if _settle(sweep, total + more, max(largest, most), rule, target, lam, v, room):
            return sweep + 1
    return budget


@parallel_kernel
def _discs_slabs(J, laws, factors, rest, inverses, slabs, rule, budget, target, lam, v, room):
    """As iterate_discs, the parts of a phase on several threads."""
    bias, weight = rest
    progress, lam0, v0 = room.progress, room.lam, room.v
    entries = J.data.reshape(-1, 3, 6)
    bias3, lam3, v6 = bias.reshape(-1, 3), lam.reshape(-1, 3), v.reshape(-1, 6)
    part = np.zeros((slabs.part_start.shape[0], 2))
    for sweep in range(budget):
        _copy(lam, lam0)
        _copy(v, v0)
        for phase in range(slabs.phase_start.shape[0] - 1):
            for p in prange(slabs.phase_start[phase], slabs.phase_start[phase + 1]):
                part[p, 0], part[p, 1] = sweep_discs(
                    slabs.part_start[p], slabs.part_start[p + 1], J, entries, inverses, bias3, laws,
                    weight, factors, progress[FACTOR], lam3, v6,
                )  # fmt: skip
        total, largest = _joined(part)
        if _settle(sweep, total, largest, rule, target, lam, v, room):
            return sweep + 1
    return budget


@parallel_kernel
def _torsion_slabs(J, laws, factors, rest, inverses, slabs, rule, budget, target, lam, v, room):
    """As iterate_torsion, the parts of a phase on several threads."""
    bias, weight = rest
    progress, lam0, v0 = room.progress, room.lam, room.v
    entries = J.data.reshape(-1, 4, 6)
    bias4, lam4, v6 = bias.reshape(-1, 4), lam.reshape(-1, 4), v.reshape(-1, 6)
    part = np.zeros((slabs.part_start.shape[0], 2))
    for sweep in range(budget):
        _copy(lam, lam0)
        _copy(v, v0)
        for phase in range(slabs.phase_start.shape[0] - 1):
            for p in prange(slabs.phase_start[phase], slabs.phase_start[phase + 1]):
                part[p, 0], part[p, 1] = sweep_torsion(
                    slabs.part_start[p], slabs.part_start[p + 1], J, entries, inverses, bias4, laws,
                    weight, factors, progress[FACTOR], lam4, v6,
                )  # fmt: skip
        total, largest = _joined(part)
        if _settle(sweep, total, largest, rule, target, lam, v, room):
            return sweep + 1
    return budget


@kernel
def _joined(part):
    """Sum and maximum over the parts, in their order."""
    total, largest = 0.0, 0.0
    for p in range(part.shape[0]):
        total += part[p, 0]
        largest = max(largest, part[p, 1])
    return total, largest


@kernel
def _settle(sweep, total, largest, rule, target, lam, v, room):
    """Alg. 2 lines 11-15: roll back on divergence, note the merit; True where the iteration ends."""
    if sweep < room.merit.shape[0]:
        room.merit[sweep] = largest
    verdict = judge(sqrt(total), largest, rule, target, room.progress)
    if verdict == ROLL_BACK:
        _copy(room.lam, lam)
        _copy(room.v, v)
    return verdict == STOP


@kernel
def _copy(x, y_out):
    """y_out = x; a loop, because slices would compile the text of the error that they might raise."""
    for i in range(x.shape[0]):
        y_out[i] = x[i]
