"""The energy of a step: where it went, and whether the numerics made some in any island.

Books are kept for all bodies together (EnergyLedger) and, to find energy that numerics made, for each island apart: a
heavy neighbour has so much energy that what numerics gave a light body is not seen beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array
from stickslip.contact.islands import ProblemIslands
from stickslip.contact.problem import ContactProblem
from stickslip.dynamics import joints
from stickslip.dynamics.contact_springs import spring_energies
from stickslip.dynamics.energy import body_energies, energies, soft_energies
from stickslip.dynamics.rigid_bodies import scatter
from stickslip.dynamics.soft_bodies import SoftMotion
from stickslip.linalg.vectors import inner
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
    prescribed = np.zeros(problem.row_count) if problem.prescribed is None else problem.prescribed
    kinetic_0, potential_0 = energies(model, before.q, before.v)
    kinetic, potential = energies(model, after.q, after.v)
    # where solvers give mean velocities, and others for the end, impulses act over these; else over means of both ends
    mean = 0.5 * (before.v + after.v) if solution.v_end is None else scatter(model, before.v, solution.v)
    elastic_0, elastic, damping, drive_work, broken = _joint_energies(model, before, after, mean, h)
    # user forces act over the mean velocity of the step; contact impulses do, too (see docs/notation.md)
    work = h * float(np.sum(before.force[model.dynamic] * mean[model.dynamic]))
    work += drive_work - float(inner(lam, prescribed))
    books = _Books(model, islands, problem)
    books.add_bodies(before, after, mean, h)
    books.add_blocks(pushes.work, lam * prescribed)
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


class _Books:
    """Energy by island; all that is soft, with what touches it, is one island here."""

    def __init__(self, model: Model, islands: ProblemIslands, problem: ContactProblem) -> None:
        self.model, self.count = model, islands.island_count + 1
        bodies = len(model.dynamic)
        merged = np.arange(islands.island_count)
        merged[islands.column[bodies:]] = islands.island_count
        self.body, self.block = merged[islands.column[:bodies]], merged[islands.block]
        self.block_rows = np.diff(problem.J.row_start)
        # [J] energy had at the start or given by the user; gained in all; given by what the ledger knows
        self.known, self.change, self.given = (np.zeros(self.count) for _ in range(3))

    def _sum(self, island: NDArray[np.integer], values: Array) -> Array:
        return np.asarray(np.bincount(island, values, self.count), dtype=np.float64)

    def add_bodies(self, before: State, after: State, mean: Array, h: float) -> None:
        """Kinetic and potential energy, and the user's forces."""
        kinetic_0, potential_0 = body_energies(self.model, before.q, before.v)
        kinetic, potential = body_energies(self.model, after.q, after.v)
        rows = self.model.dynamic
        work = h * np.sum(before.force[rows] * mean[rows], axis=1)
        risen = potential - potential_0
        self.change += self._sum(self.body, kinetic - kinetic_0 + risen)
        self.given += self._sum(self.body, work)
        self.known += self._sum(self.body, kinetic_0 + np.abs(risen) + np.abs(work))

    def add_blocks(self, work: Array, carried: Array) -> None:
        """Work (n,) of contacts and limits, and that (m,) which bodies with prescribed motion take."""
        block = np.repeat(self.block, self.block_rows)
        self.given += self._sum(self.block, work) - self._sum(block, carried)
        self.known += np.abs(self._sum(block, carried))

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
        gained = np.minimum(self.change - self.given, self.change)
        share = gained / np.maximum(self.known, LEAST_GAIN)
        return float(share.max(initial=0.0)) if np.isfinite(share).all() else np.inf


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
