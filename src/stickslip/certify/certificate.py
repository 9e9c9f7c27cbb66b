"""The certificate of a step: how wrong it is, in units that a person understands.

Every number is measured against the exact law (Signorini-Coulomb), whatever law the solver obeys, from the
problem and the solution alone; the energy ledger also looks at the states before and after.
"""

from __future__ import annotations

from math import isfinite

import numpy as np

from stickslip.arrays import Array
from stickslip.certify.energy_ledger import Pushes, step_energy
from stickslip.certify.measurements import Measurements, measured_rigid
from stickslip.certify.record import UNTOLD, certificate_of
from stickslip.certify.record import Certificate as Certificate  # noqa: PLC0414  (its home for callers)
from stickslip.certify.status import MOST_TURN, largest_turn, step_status
from stickslip.constraints.system import StepSystem
from stickslip.contact.islands import judged_together, problem_islands
from stickslip.contact.laws import contact_errors
from stickslip.contact.momentum_error import momentum_error
from stickslip.contact.problem import ContactProblem
from stickslip.contact.residual import extremes, island_residual
from stickslip.model.state import State
from stickslip.solvers.protocol import Solution, Solver
from stickslip.tolerances import POSITION_ROUNDING

SLIP_FRACTION = 1e-6
"""Slip slower than this share of the free constraint velocity |q| is the solver's noise and has no direction."""


def certify(
    system: StepSystem, problem: ContactProblem, solution: Solution, after: State, solver: Solver | None = None
) -> Certificate:
    """Certificate of a step that led to ``after``; its problem as it was solved.

    solver: whose tolerance the worst island is measured by, where its "converged" is to be judged.
    """
    h = system.options.dt
    if _is_rigid(system, problem, solution):
        found = measured_rigid(system, problem, solution, after, *_velocities(system, problem, solution))
    else:
        found = _by_parts(system, problem, solution, after)
    own, words = dict(UNTOLD), set[str]()
    for _, each in system.held:
        told, more = each.errors(after)
        own |= told
        words |= more
    if found.turn > MOST_TURN:
        found = found._replace(turn=largest_turn(system.model, after, problem, solution.lam, h))
    worst = max(found.worst, found.share)
    residual, ledger = solution.exact_residual, found.energy.ledger
    finite = all(map(isfinite, (*found[:-2], residual, *own.values(), *vars(ledger).values())))
    status = step_status(solution.status, finite, found.energy.made, words, found.turn, worst, solver)
    ended = status, residual, solution.iterations, len(system.gap)
    return certificate_of(found, h, system.options.horizon, ended, own)


def _is_rigid(system: StepSystem, problem: ContactProblem, solution: Solution) -> bool:
    """Whether there are rigid bodies in rigid contact and nothing else, with velocities at the end for unknowns."""
    momentum, masses = problem.momentum, problem.masses
    return (
        len(system.motions.motions) == 1 and not system.held and solution.v_end is None and problem.J.over_bodies
        and momentum.A.is_dense and masses.is_dense and momentum.missing is None and problem.prescribed is not None
        and problem.contact_compliance is None
    )  # fmt: skip


def _velocities(system: StepSystem, problem: ContactProblem, solution: Solution) -> tuple[tuple[Array, Array], float]:
    """Velocities (m,) of rows at the end of a step and before it, and the slip [m/s] that has no direction."""
    u = solution.u if solution.u is not None else problem.constraint_velocity(solution.v)
    # where solvers give mean velocities, and others for the end, impulses act over these; else over means of both ends
    u_before = u if solution.v_end is not None else problem.before
    if u_before is None:
        u_before = problem.constraint_velocity(system.start)
    return (u, u_before), SLIP_FRACTION * max(problem.free_speed, 1e-12)


def _by_parts(system: StepSystem, problem: ContactProblem, solution: Solution, after: State) -> Measurements:
    """What ``measured_rigid`` measures, of any kinds of bodies and constraints."""
    (u, u_before), still = _velocities(system, problem, solution)
    lam, options = solution.lam, system.options
    block_work = np.zeros(problem.block_count)
    violation, cone, angle, feeding, friction_work, normal_work, gliding = contact_errors(
        problem.J.row_start, problem.laws, lam, u, u_before, problem.bias, problem.prescribed, problem.weight, still,
        block_work,
    )  # fmt: skip
    group = judged_together(problem)
    islands = problem_islands(problem, group)
    momentum = momentum_error(problem, lam, solution.v, group)
    pushes = Pushes(friction_work, normal_work, block_work, u, u_before)
    energy = step_energy(system, problem, solution, after, pushes, islands)
    deepest, farthest = extremes(system.gap, after.body_pose, after.node_position)
    worst = island_residual(problem, lam, u, islands, POSITION_ROUNDING * farthest / options.horizon)
    return Measurements(deepest, violation, cone, angle, feeding, gliding, *momentum, worst, np.inf, energy)
