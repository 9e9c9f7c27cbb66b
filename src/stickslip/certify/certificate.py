"""The certificate of a step: how wrong it is, in units that a person understands.

Every number is measured against the exact law (Signorini-Coulomb), whatever law the solver obeys, from the
problem and the solution alone; the energy ledger also looks at the states before and after.
"""

from __future__ import annotations

from math import isfinite

import numpy as np

from stickslip.certify.energy_ledger import Pushes, step_energy
from stickslip.certify.record import UNTOLD
from stickslip.certify.record import Certificate as Certificate  # noqa: PLC0414  (its home for callers)
from stickslip.certify.status import largest_turn, step_status
from stickslip.constraints.system import StepSystem
from stickslip.contact.islands import judged_together, problem_islands
from stickslip.contact.laws import contact_errors
from stickslip.contact.momentum_error import momentum_error
from stickslip.contact.problem import ContactProblem
from stickslip.contact.residual import island_residual
from stickslip.jit import kernel
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
    h, ahead, gap = system.options.dt, system.options.horizon, system.gap
    lam, v = solution.lam, solution.v
    deepest, farthest = _extremes(gap, after.body_pose, after.node_position)
    u = solution.u if solution.u is not None else problem.constraint_velocity(v)
    # where solvers give mean velocities, and others for the end, impulses act over these; else over means of both ends
    u_before = u if solution.v_end is not None else problem.before
    if u_before is None:
        u_before = problem.constraint_velocity(system.start)
    still = SLIP_FRACTION * max(problem.free_speed, 1e-12)
    block_work = np.zeros(problem.block_count)
    violation, cone, angle, feeding, friction_work, normal_work, gliding = contact_errors(
        problem.J.row_start, problem.laws, lam, u, u_before, problem.bias, problem.prescribed, problem.weight, still,
        block_work,
    )  # fmt: skip

    group = judged_together(problem)
    islands = problem_islands(problem, group)
    momentum = momentum_error(problem, lam, v, group)
    pushes = Pushes(friction_work, normal_work, block_work, u, u_before)
    energy = step_energy(system, problem, solution, after, pushes, islands)
    own, words = dict(UNTOLD), set[str]()
    for _, each in system.held:
        told, more = each.errors(after)
        own |= told
        words |= more
    errors = {
        "momentum_error": momentum.linear,
        "angular_momentum_error": momentum.angular,
        "momentum_relative": momentum.share,
        "penetration": deepest,
        "velocity_violation": violation,
        "cone_violation": cone / h,
        "direction_error": angle,
        "wrong_dissipation": feeding / h,
        "natural_residual": solution.exact_residual,
        "worst_residual": island_residual(problem, lam, u, islands, POSITION_ROUNDING * farthest / ahead),
        "gliding_gap": ahead * gliding,
    } | own
    finite = all(map(isfinite, [*errors.values(), *vars(energy.ledger).values()]))
    errors["turn"] = largest_turn(system.model, after, problem, lam, h)
    worst = max(errors["worst_residual"], momentum.share)
    status = step_status(solution, finite, energy.made, words, errors["turn"], worst, solver)
    return Certificate(
        **errors,
        contacts=len(gap),
        iterations=solution.iterations,
        converged=status == "converged",
        status=status,
        energy=energy.ledger,
    )


@kernel
def _extremes(gap, q, x):
    """Deepest overlap (nc,) and farthest coordinate of a body (nb, 7) or a node (nn, 3), both at least zero [m]."""
    deepest, farthest = 0.0, 0.0
    for c in range(gap.shape[0]):
        if -gap[c] > deepest:
            deepest = -gap[c]
    for k in range(3):
        for i in range(q.shape[0]):
            farthest = max(farthest, abs(q[i, k]))
        for i in range(x.shape[0]):
            farthest = max(farthest, abs(x[i, k]))
    return deepest, farthest
