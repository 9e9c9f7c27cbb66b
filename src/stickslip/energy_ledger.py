"""The energy of a step: where it went, and whether the numerics made some in any island.

Books are kept for all bodies together (EnergyLedger) and, to find energy that numerics made, for each island apart: a
heavy neighbour has so much energy that what numerics gave a light body is not seen beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array
from stickslip.contact.islands import ProblemIslands
from stickslip.contact.problem import ContactProblem
from stickslip.dynamics import joints
from stickslip.dynamics.contact_springs import spring_energies
from stickslip.dynamics.energy import body_energy, soft_energies
from stickslip.dynamics.rigid_bodies import scatter
from stickslip.dynamics.soft_bodies import SoftMotion
from stickslip.jit import kernel
from stickslip.model import Model
from stickslip.solvers.protocol import Solution
from stickslip.state import State

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
    model: Model,
    before: State,
    after: State,
    problem: ContactProblem,
    solution: Solution,
    pushes: Pushes,
    islands: ProblemIslands,
    gap: Array,
    h: float,
    ahead: float,
    soft: SoftMotion | None,
    filling: float,
    springs: Array | None,
) -> StepEnergy:
    """The energy of a step of length h; arguments as those of ``certificate.certify``."""
    lam = solution.lam
    # where solvers give mean velocities, and others for the end, impulses act over these; else over means of both ends
    mean = 0.5 * (before.v + after.v) if solution.v_end is None else scatter(model, before.v, solution.v)
    elastic_0, elastic, damping, drive_work, broken = _joint_energies(model, before, after, mean, h)
    # user forces act over the mean velocity of the step; contact impulses do, too (see docs/notation.md)
    books = _Books(model, islands)
    rigid = books.add_rigid(problem, before, after, mean, lam, pushes.work, h)
    kinetic_0, potential_0, kinetic, potential = rigid.kinetic_0, rigid.potential_0, rigid.kinetic, rigid.potential
    work = rigid.user_work + (drive_work - rigid.carried)
    if model.joints.count:
        books.add_joints(before, after, mean, h)
    if soft is not None:
        own = soft_energies(model.soft, model.gravity, soft, before, after)
        kinetic_0, kinetic = kinetic_0 + own.kinetic[0], kinetic + own.kinetic[1]
        potential_0, potential = potential_0 + own.potential[0], potential + own.potential[1]
        elastic_0, elastic = elastic_0 + own.elastic[0], elastic + own.elastic[1]
        work, damping = work + own.work + filling, damping + own.damping
        books.add_soft(own.kinetic, own.potential, own.elastic, own.work + filling, own.damping)
    if springs is not None and problem.contact_compliance is not None:
        normal = problem.J.row_start[: len(gap)]
        held = spring_energies(gap, springs, pushes.u_before[normal], pushes.u[normal], lam[normal], h, ahead)
        books.add_springs(*held)
        elastic_0, elastic, damping = (
            elastic_0 + float(held[0].sum()), elastic + float(held[1].sum()), damping + float(held[2].sum()),
        )  # fmt: skip
    change = kinetic + potential + elastic - kinetic_0 - potential_0 - elastic_0
    ledger = EnergyLedger(
        kinetic=kinetic,
        potential=potential,
        elastic=elastic,
        work=work,
        friction=-pushes.friction,
        damping=damping,
        impact=broken - pushes.normal,
        numerical=change - work - pushes.friction - pushes.normal + damping + broken,
    )
    return StepEnergy(ledger, books.made())


class RigidEnergies(NamedTuple):
    """Energies of all rigid bodies over a step [J]."""

    user_work: float
    """Work of the user's forces."""
    kinetic_0: float
    potential_0: float
    kinetic: float
    potential: float
    carried: float
    """Work of the constraints on bodies with prescribed motion."""


class _Books:
    """Energy by island; all that is soft, with what touches it, is one island here."""

    def __init__(self, model: Model, islands: ProblemIslands) -> None:
        self.model, self.count = model, islands.island_count + 1
        self.body, self.block = islands.column, islands.block
        bodies = len(model.dynamic)
        if len(islands.column) > bodies:
            merged = np.arange(islands.island_count, dtype=np.int32)
            merged[islands.column[bodies:]] = islands.island_count
            self.body, self.block = merged[islands.column[:bodies]], merged[islands.block]
        # [J] energy had at the start or given by the user; gained in all; given by what the ledger knows
        self.known, self.change, self.given = np.zeros((3, self.count))

    def _sum(self, island: NDArray[np.integer], values: Array) -> Array:
        return np.asarray(np.bincount(island, values, self.count), dtype=np.float64)

    def add_rigid(
        self, problem: ContactProblem, before: State, after: State, mean: Array, lam: Array, block_work: Array, h: float
    ) -> RigidEnergies:
        """Energies of rigid bodies, the user's forces, and the work (n,) of contacts and limits.

        What bodies with prescribed motion take is lam (m,) times their part of the bias.
        """
        model = self.model
        prescribed = np.zeros(problem.row_count) if problem.prescribed is None else problem.prescribed
        pushed = np.empty((len(model.dynamic), 6))
        found = _add_rigid(
            model.dynamic, model.mass, model.inertia, model.gravity, before.q, before.v, after.q, after.v, mean,
            before.force, h, self.body, self.block, problem.J.row_start, block_work, lam, prescribed, self.known,
            self.change, self.given, pushed,
        )  # fmt: skip
        return RigidEnergies(h * float(pushed.sum()), *found)

    def add_joints(self, before: State, after: State, mean: Array, h: float) -> None:
        """Springs, dampers and drives of joints, and what it takes to close those that were apart."""
        found = joints.joint_energies(self.model, before, after, mean, h)
        tables = self.model.joints
        of_body = np.append(self.model.block, -1)  # the world is body -1
        block = np.maximum(of_body[tables.body_a], of_body[tables.body_b])
        held = block >= 0
        island = self.body[block[held]]
        elastic_0, elastic, damping, drive, broken, closing = (self._sum(island, each[held]) for each in found)
        self.change += elastic - elastic_0
        self.given += drive - damping - broken
        self.known += elastic_0 + np.abs(drive) + closing

    def add_soft(
        self, kinetic: tuple[float, float], potential: tuple[float, float], elastic: tuple[float, float], work: float,
        damping: float,
    ) -> None:  # fmt: skip
        """Energies before and after, and works of all soft bodies."""
        risen = potential[1] - potential[0]
        self.change[-1] += kinetic[1] - kinetic[0] + risen + elastic[1] - elastic[0]
        self.given[-1] += work - damping
        self.known[-1] += kinetic[0] + elastic[0] + abs(risen) + abs(work)

    def add_springs(self, before: Array, after: Array, damping: Array) -> None:
        """Energies (nc,) in the springs of contacts, and what their dampers took."""
        island = self.block[: len(before)]
        self.change += self._sum(island, after - before)
        self.given -= self._sum(island, damping)
        self.known += self._sum(island, before)

    def made(self) -> float:
        """Largest numerical gain of an island, over what it had; impacts may be given back by weights.

        Impulses act over mean velocities, weights over those at the end: what counts is energy that numerics made and
        that is still there.
        """
        return float(_made(self.known, self.change, self.given))


def _joint_energies(
    model: Model, before: State, after: State, mean: Array, h: float
) -> tuple[float, float, float, float, float]:
    """Elastic energy of joints before and after a step of h, what dampers took, drives gave and breaking lost [J].

    mean (nb, 6): velocities over which forces act.
    """
    if not model.joints.count:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    broken = before.joint_broken
    stored = joints.elastic_energy(model, after.q, broken)
    elastic = joints.elastic_energy(model, after.q, after.joint_broken)
    return (
        joints.elastic_energy(model, before.q, broken),
        elastic,
        joints.damping_loss(model, after.q, mean, h, broken),
        joints.drive_work(model, after.q, mean, after.joint_impulse),
        stored - elastic,
    )


@kernel
def _add_rigid(
    dynamic, mass, inertia, gravity, q_0, v_0, q, v, mean, force, h, body_island, block_island, row_start, block_work,
    lam, prescribed, known_out, change_out, given_out, pushed_out,
):  # fmt: skip
    """Book bodies and constraint blocks by island, into books that come in zeroed; see ``_Books.add_rigid``.

    pushed_out (nd, 6): powers of the user's forces. Returns all but the first field of RigidEnergies.
    """
    kinetic_0, potential_0, kinetic, potential, carried = 0.0, 0.0, 0.0, 0.0, 0.0
    for b in range(dynamic.shape[0]):
        i, to = dynamic[b], body_island[b]
        moving_0, turning_0, height_0 = body_energy(i, mass, inertia, gravity, q_0, v_0)
        moving, turning, height = body_energy(i, mass, inertia, gravity, q, v)
        kinetic_0, kinetic = kinetic_0 + moving_0 + turning_0, kinetic + moving + turning
        potential_0, potential = potential_0 - height_0, potential - height
        power = 0.0
        for k in range(6):
            pushed_out[b, k] = force[i, k] * mean[i, k]
            power += pushed_out[b, k]
        risen, work = height_0 - height, h * power
        change_out[to] += (moving + turning) - (moving_0 + turning_0) + risen
        given_out[to] += work
        known_out[to] += (moving_0 + turning_0) + abs(risen) + abs(work)
    worked, taken = np.zeros(known_out.shape[0]), np.zeros(known_out.shape[0])
    for c in range(row_start.shape[0] - 1):
        to = block_island[c]
        worked[to] += block_work[c]
        for r in range(row_start[c], row_start[c + 1]):
            taken[to] += lam[r] * prescribed[r]
            carried += lam[r] * prescribed[r]
    for to in range(known_out.shape[0]):
        given_out[to] += worked[to] - taken[to]
        known_out[to] += abs(taken[to])
    return kinetic_0, potential_0, kinetic, potential, carried


@kernel
def _made(known, change, given):
    """See ``_Books.made``."""
    most = 0.0
    for i in range(known.shape[0]):
        share = min(change[i] - given[i], change[i]) / max(known[i], LEAST_GAIN)
        if not abs(share) < np.inf:  # not a number, or beyond all numbers
            return np.inf
        most = max(most, share)
    return most
