"""The certificate of a step: how wrong it is, in units that a person understands.

Every number is measured against the exact law (Signorini-Coulomb), whatever law the solver obeys, from the
problem and the solution alone; the energy ledger also looks at the states before and after.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite, sqrt

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.islands import problem_islands
from stickslip.contact.laws import BOUNDED, BOX_SET, CONTACT, LIMIT, project_scaled
from stickslip.contact.momentum_error import momentum_error
from stickslip.contact.problem import ContactProblem
from stickslip.contact.residual import island_residual
from stickslip.dynamics import joints
from stickslip.dynamics.soft_bodies import SoftMotion
from stickslip.energy_ledger import EnergyLedger, Pushes, step_energy
from stickslip.jit import kernel
from stickslip.model import Model
from stickslip.solvers.protocol import Solution, Solver
from stickslip.state import State
from stickslip.step_status import relative_joint_error, step_status, touching_turns
from stickslip.tolerances import POSITION_ROUNDING

SLIP_FRACTION = 1e-6
"""Slip slower than this share of the free constraint velocity |q| is the solver's noise and has no direction."""
PUSHING = 1e-9
"""Share of the largest normal impulse above which a contact pushes."""
NO_JOINTS = np.zeros(0)


@dataclass(frozen=True)
class Certificate:
    """How wrong one step is."""

    momentum_error: float
    """Largest error of the linear momentum of a body, |A (v - v_free) - J^T lam| [N s]."""
    angular_momentum_error: float
    """The same of the angular momentum of a rigid body [N m s]."""
    momentum_relative: float
    """Largest share of the impulses on a body that it created or lost (contact/momentum_error.py), dimensionless."""
    penetration: float
    """Deepest overlap at the configuration where contacts were found [m]."""
    velocity_violation: float
    """Largest approach that the law forbids, max(0, -u_n), with u_n + compliance lam_n for u_n [m/s]."""
    cone_violation: float
    """Largest friction force outside its cone [N]."""
    direction_error: float
    """Largest angle between sliding friction and the direction of most dissipation, opposite to slip [rad]."""
    wrong_dissipation: float
    """Power with which friction feeds the motion, summed over contacts [W]; zero in the exact law."""
    natural_residual: float
    """Scaled natural-map residual (contact/residual.py) of all constraints together, dimensionless."""
    worst_residual: float
    """The same of the island in which it is largest, by its own free velocities, dimensionless."""
    gliding_gap: float
    """Widest gap at the end of the step across which a contact pushes [m]: what the convex law costs, in which sliding
    bodies glide at the distance h mu |u_t|; zero in the exact law. Compliance counts: zero is where a spring is."""
    joint_error: float
    """Largest distance by which rigid joints are apart at the end of the step [m]."""
    turn: float
    """Largest angle by which a touching rigid body turns in the step [rad], where that moves its surface."""
    contacts: int
    iterations: int
    converged: bool
    """Whether the status is "converged"."""
    status: str
    """How the step ended, in one word; docs/certificates.md says what each promises."""
    energy: EnergyLedger

    @property
    def penetration_mm(self) -> float:
        """Deepest overlap in millimetres."""
        return 1e3 * self.penetration

    @property
    def gliding_gap_mm(self) -> float:
        """Widest gap across which a contact pushes, in millimetres."""
        return 1e3 * self.gliding_gap

    @property
    def finite(self) -> bool:
        """Whether every number is finite."""
        return self.energy.finite and all(isfinite(x) for x in vars(self).values() if isinstance(x, float))

    def as_dict(self) -> dict[str, object]:
        """Plain nested dict, for JSON and recordings."""
        return asdict(self)


def certify(
    model: Model,
    before: State,
    after: State,
    problem: ContactProblem,
    solution: Solution,
    gap: Array,
    h: float,
    soft: SoftMotion | None = None,
    filling: float = 0.0,
    springs: Array | None = None,
    horizon: float | None = None,
    solver: Solver | None = None,
) -> Certificate:
    """Certificate of a step of length h from ``before`` to ``after``; gap (nc,) [m] of the contacts.

    soft: soft bodies at the start of the step; filling [J]: what cavities of given volume did.
    springs (nc, 2): 1 / stiffness [m/N] and dissipation time [s] of the contacts, None where all are rigid; horizon
    [s]: time from where contacts were found to the end of the step, h unless given. solver: whose tolerance the worst
    island is measured by, where its "converged" is to be judged.
    """
    ahead = h if horizon is None else horizon
    lam, v = solution.lam, solution.v
    u = solution.u if solution.u is not None else problem.constraint_velocity(v)
    # where solvers give mean velocities, and others for the end, impulses act over these; else over means of both ends
    u_before = u if solution.v_end is not None else _velocity_before(model, before, problem, soft)
    still = SLIP_FRACTION * max(problem.free_speed, 1e-12)
    block_work = np.zeros(problem.block_count)
    violation, cone, angle, feeding, friction_work, normal_work, gliding = _contact_errors(
        problem.J.row_start, problem.laws, lam, u, u_before, problem.bias, problem.prescribed, problem.weight, still,
        block_work,
    )  # fmt: skip
    deepest, farthest = _extremes(gap, after.q, after.node_position)

    islands = problem_islands(problem)
    momentum = momentum_error(problem, lam, v)
    pushes = Pushes(friction_work, normal_work, block_work, u, u_before)
    energy = step_energy(
        model, before, after, problem, solution, pushes, islands, gap, h, ahead, soft, filling, springs
    )
    apart = joints.joint_errors(model, after.q, after.joint_broken) if model.joints.count else NO_JOINTS
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
        "joint_error": float(apart.max(initial=0.0)) if len(apart) else 0.0,
        "turn": float(touching_turns(model, after, problem, lam, h).max(initial=0.0)),
    }
    status = step_status(
        solution, all(map(isfinite, errors.values())) and energy.ledger.finite, energy.made,
        relative_joint_error(model, apart), errors["turn"], max(errors["worst_residual"], momentum.share), solver,
    )  # fmt: skip
    return Certificate(
        **errors,
        contacts=len(gap),
        iterations=solution.iterations,
        converged=status == "converged",
        status=status,
        energy=energy.ledger,
    )


def _velocity_before(model: Model, before: State, problem: ContactProblem, soft: SoftMotion | None) -> Array:
    """Constraint velocities (m,) [m/s] at the start of the step."""
    if problem.before is not None:
        return problem.before
    v = before.v[model.dynamic].ravel()
    return problem.constraint_velocity(v if soft is None else np.concatenate([v, soft.v[model.soft.free].ravel()]))


@kernel
def _share(impulse, mu):
    """impulse / mu; nothing where there is no friction."""
    return impulse / mu if mu > 0.0 else 0.0


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


@kernel
def _contact_errors(row_start, laws, lam, u, u_before, bias, prescribed, weight, still, work_out):
    """Violations and works over all blocks.

    Work is done over velocities of bodies, without what gaps make of the bias: ``prescribed`` is (m,) the rest of it,
    or None: nothing. ``still`` [m/s]: slip below it has no direction. work_out (n,): what friction, normals and limits
    do. Returns the largest forbidden approach, the largest cone violation [N s], the largest direction error [rad], the
    power-like impulse work with the wrong sign, the work of friction, that of normal impulses of rigid contacts and of
    limits, and the fastest opening of contacts that push.
    """
    gap_bias = bias if prescribed is None else bias - prescribed
    largest = 0.0
    for c in range(row_start.shape[0] - 1):
        if laws.law[c] == CONTACT:
            largest = max(largest, lam[row_start[c]])
    gliding = 0.0
    violation = 0.0
    cone = 0.0
    angle = 0.0
    feeding = 0.0
    friction_work = 0.0
    normal_work = 0.0
    for c in range(row_start.shape[0] - 1):
        i = row_start[c]
        if laws.law[c] == CONTACT:
            n, x, y = lam[i], lam[i + 1], lam[i + 2]
            torsion = row_start[c + 1] - i > 3
            z = lam[i + 3] if torsion else 0.0
            mu1, mu2, mu3 = laws.friction[c, 0], laws.friction[c, 1], laws.friction[c, 2]
            opening = u[i] + laws.compliance[i] * n
            violation = max(violation, -opening)
            if n > PUSHING * largest:
                gliding = max(gliding, opening)
            # torsion counts as a force at the radius mu3 / mu1, where its bound is that of the first tangent
            radius = mu3 / mu1 if mu1 > 0.0 and mu3 > 0.0 else 1.0
            px, py, pz = project_scaled(laws.friction_set[c], x, y, z, radius, max(n, 0.0), mu1, mu2, mu3)
            cone = max(cone, sqrt((x - px) ** 2 + (y - py) ** 2 + ((z - pz) / radius) ** 2), -n)
            rate = x * u[i + 1] + y * u[i + 2] + (z * u[i + 3] if torsion else 0.0)
            feeding += max(0.0, rate)
            # slip and friction in the coordinates in which the set is a ball: there they are opposite
            s1, s2, s3 = u[i + 1] * mu1, u[i + 2] * mu2, (u[i + 3] * mu3 if torsion else 0.0)
            f1, f2, f3 = _share(x, mu1), _share(y, mu2), _share(z, mu3)
            slip, size = sqrt(s1 * s1 + s2 * s2 + s3 * s3), sqrt(f1 * f1 + f2 * f2 + f3 * f3)
            top = max(mu1, mu2)
            if laws.friction_set[c] != BOX_SET and slip > top * still and size * top * weight[c] > still:
                cosine = -(f1 * s1 + f2 * s2 + f3 * s3) / (slip * size)
                angle = max(angle, np.arccos(min(1.0, max(-1.0, cosine))))
            for k in range(i + 1, row_start[c + 1]):
                work = lam[k] * (0.5 * (u[k] + u_before[k]) - gap_bias[k])
                friction_work += work
                work_out[c] += work
            if laws.compliance[i] == 0.0:  # springs and dampers of contacts are counted elsewhere
                work = n * (0.5 * (u[i] + u_before[i]) - gap_bias[i])
                normal_work += work
                work_out[c] += work
        else:
            for k in range(i, row_start[c + 1]):
                bound = u[k] + laws.compliance[k] * lam[k]
                if laws.law[c] == LIMIT:
                    violation = max(violation, -bound)
                elif laws.law[c] != BOUNDED:  # a bounded row gives way where its impulse is used up
                    violation = max(violation, abs(bound))
                # joints that hold do no work, but for the discretisation; springs and drives are counted elsewhere
                if laws.law[c] == LIMIT:
                    work = lam[k] * (0.5 * (u[k] + u_before[k]) - gap_bias[k])
                    normal_work += work
                    work_out[c] += work
    return violation, cone, angle, feeding, friction_work, normal_work, gliding
