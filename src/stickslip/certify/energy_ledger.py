"""The energy of a step: where it went, and whether the numerics made some in any island.

Books are kept for all bodies together (EnergyLedger) and, to find energy that numerics made, for each island apart: a
heavy neighbour has so much energy that what numerics gave a light body is not seen beside it. Kinds of bodies and
constraints tell their own part.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.bodies.protocol import IslandBooks
from stickslip.constraints.contacts import spring_work
from stickslip.constraints.protocol import StepWork
from stickslip.constraints.system import StepSystem
from stickslip.contact.islands import ProblemIslands
from stickslip.contact.problem import ContactProblem
from stickslip.jit import bare_kernel
from stickslip.model.state import State
from stickslip.solvers.protocol import Solution

LEAST_GAIN = 1e-9
"""[J] energy that numerics may add to any island."""


@dataclass(frozen=True)
class EnergyLedger:
    """Energies after a step and where the difference to before went [J]; the books always balance:

    kinetic + potential + elastic (after - before) = work - friction - damping - impact + numerical.
    """

    kinetic: float
    potential: float
    elastic: float
    """Of joints, soft bodies, and the springs of this step's compliant contacts."""
    work: float
    """Done by the user's forces, by drives and by bodies with prescribed motion."""
    friction: float
    """Dissipated by friction."""
    damping: float
    """Dissipated by the damping of materials, joints and compliant contacts."""
    impact: float
    """Dissipated by normal impulses of rigid contacts (inelastic impact) and by breaking; negative where overlaps are
    pushed apart."""
    numerical: float
    """What the time discretisation gained (positive) or lost (negative)."""

    @property
    def total(self) -> float:
        """Mechanical energy after the step [J]."""
        return self.kinetic + self.potential + self.elastic

    @property
    def finite(self) -> bool:
        """Whether every number is finite."""
        return all(map(isfinite, vars(self).values()))


class Pushes(NamedTuple):
    """What the constraints of a step did."""

    friction: float
    """[J] work of friction."""
    normal: float
    """[J] work of the normal impulses of rigid contacts and of limits."""
    work: Array
    """(n,) [J] work of both, by constraint block."""
    u: Array
    """(m,) [m/s] constraint velocities of the solution."""
    u_before: Array
    """(m,) the same before the step, or where solvers give mean velocities those of the solution."""


class StepEnergy(NamedTuple):
    """The ledger of a step, and what the numerics added to the island where they added most."""

    ledger: EnergyLedger
    made: float
    """Largest gain of an island by numerics over the energy that it had or was given; above 1 it is diverging."""


def step_energy(
    system: StepSystem,
    problem: ContactProblem,
    solution: Solution,
    after: State,
    pushes: Pushes,
    islands: ProblemIslands,
) -> StepEnergy:
    """The energy of a step that led to ``after``."""
    h, motions, lam = system.options.dt, system.motions, solution.lam
    # where solvers give mean velocities, and others for the end, impulses act over these; else over means of both ends
    start = motions.place.velocity
    mean = 0.5 * (start[: len(after.body_velocity)] + after.body_velocity)
    if solution.v_end is not None:
        mean = motions.rigid_velocity(solution.v)
    column, block = _islands(system, islands)
    books = IslandBooks(column, *np.zeros((3, islands.island_count + 1)))
    parts = [motion.energy(system.state, after, system.control, mean, books) for motion in motions.motions]
    prescribed = np.zeros(problem.row_count) if problem.prescribed is None else problem.prescribed
    room = np.empty((2, len(books.known)))
    carried = add_rows(block, problem.J.row_start, pushes.work, lam, prescribed, room, *books[1:])
    works = [each.work(system.state, after, mean, lam[system.rows[k]], h) for k, each in system.held]
    springs = None
    if problem.contact_compliance is not None:
        ahead = system.options.horizon
        springs = spring_work(problem, system.gap, system.springs, pushes.u_before, pushes.u, lam, ahead)
    elastic_0, elastic, damping, given, broken = 0.0, 0.0, 0.0, 0.0, 0.0
    for each in works:
        if each is not None:
            elastic_0, elastic = elastic_0 + each.elastic_before, elastic + each.elastic
            damping, given, broken = damping + each.damping, given + each.given, broken + each.lost
            _book(books, block, each)
    kinetic_0, kinetic, potential_0, potential = 0.0, 0.0, 0.0, 0.0
    # forces of the user act over the mean velocity of the step; contact impulses do, too (see docs/notation.md)
    work = parts[0].work + (given - carried)
    for k, own in enumerate(parts):
        kinetic_0, kinetic = kinetic_0 + own.kinetic[0], kinetic + own.kinetic[1]
        potential_0, potential = potential_0 + own.potential[0], potential + own.potential[1]
        elastic_0, elastic = elastic_0 + own.elastic[0], elastic + own.elastic[1]
        work, damping = work + (own.work if k else 0.0), damping + own.damping
    if springs is not None:
        elastic_0, elastic = elastic_0 + springs.elastic_before, elastic + springs.elastic
        damping += springs.damping
        _book(books, block, springs)
    ledger = balanced(
        (kinetic_0, kinetic), (potential_0, potential), (elastic_0, elastic), work, pushes.friction, pushes.normal,
        damping, broken,
    )  # fmt: skip
    return StepEnergy(ledger, float(energy_made(books.known, books.change, books.given)))


def balanced(
    kinetic: tuple[float, float],
    potential: tuple[float, float],
    elastic: tuple[float, float],
    work: float,
    friction: float,
    normal: float,
    damping: float,
    broken: float,
) -> EnergyLedger:
    """The ledger of energies before and after a step, and of what forces, friction and normal impulses did [J]."""
    change = kinetic[1] + potential[1] + elastic[1] - kinetic[0] - potential[0] - elastic[0]
    return EnergyLedger(
        kinetic=kinetic[1],
        potential=potential[1],
        elastic=elastic[1],
        work=work,
        friction=-friction,
        damping=damping,
        impact=broken - normal,
        numerical=change - work - friction - normal + damping + broken,
    )


def _islands(system: StepSystem, islands: ProblemIslands) -> tuple[Ints, Ints]:
    """Island of each column block and of each constraint block; all nodes, with what touches them, are one island."""
    nodes = len(system.model.soft.free)
    if not nodes:
        return islands.column, islands.block
    merged = np.arange(islands.island_count, dtype=np.int32)
    merged[islands.column[len(islands.column) - nodes :]] = islands.island_count
    return merged[islands.column], merged[islands.block]


def _book(books: IslandBooks, block: Ints, work: StepWork) -> None:
    """Add what a constraint stored, took and gave to the books of its islands, in place."""
    held = work.column >= 0
    island = (block if work.of_blocks else books.column)[work.column[held]]
    for book, values in ((books.known, work.known), (books.change, work.change), (books.given, work.gave)):
        book += np.bincount(island, values[held], len(book))


@bare_kernel
def add_rows(block_island, row_start, block_work, lam, prescribed, room, known_out, change_out, given_out):
    """Book the work (n,) of contacts and limits, and what bodies with prescribed motion take: lam times their part of
    the bias. Returns the latter of all islands [J]; room: (2, islands + 1)."""
    carried = 0.0
    worked, taken = room[0], room[1]
    worked[:] = 0.0
    taken[:] = 0.0
    for c in range(row_start.shape[0] - 1):
        to = block_island[c]
        worked[to] += block_work[c]
        for r in range(row_start[c], row_start[c + 1]):
            taken[to] += lam[r] * prescribed[r]
            carried += lam[r] * prescribed[r]
    for to in range(known_out.shape[0]):
        given_out[to] += worked[to] - taken[to]
        known_out[to] += abs(taken[to])
    return carried


@bare_kernel
def energy_made(known, change, given):
    """See ``StepEnergy.made``."""
    most = 0.0
    for i in range(known.shape[0]):
        share = min(change[i] - given[i], change[i]) / max(known[i], LEAST_GAIN)
        if not abs(share) < np.inf:  # not a number, or beyond all numbers
            return np.inf
        most = max(most, share)
    return most
