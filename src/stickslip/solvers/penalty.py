"""Penalty contact: springs and dampers in the place of the law, the baseline of [lee2023] sec. V-B.

Legend: d overlap, u_n, u_t velocities of a contact, k, c stiffness and damping along the normal, c_t damping along the
tangents, h step, w mobility of a contact, n contacts of its busiest body.

    f_n = max(0, k d - c u_n)  where bodies overlap, else 0          f_t = P(-c_t u_t),  P onto the friction set of f_n

All of it at the start of the step (ContactProblem.gap, .v_before), so that nothing is solved: one pass over contacts,
then v = v_free + A^-1 J^T h f. Contacts do not know of each other, forces are late by a step, and so gains that are too
large for the step shake bodies off the floor: k h^2 n w and c h n w must stay below about one.

Friction is that of a damper which the friction set caps, "proportional to the sliding velocity" ([lee2023] sec. I; its
reference for the model, [yamane2006], was not at hand, nor are its gains in the paper). Other models add a spring from
the point where sticking began. That needs a memory of its own for every contact; impulses of the last step do not hold
it, being the sum of spring and damper. Without it bodies that should stick creep, at f_t / c_t.

Joints, limits, drives and elements are spring-dampers as stiff as numbers allow, in implicit form: the rows of ``sap``,
whose regularisation is 1e-8 of their mobility. They see the contact forces of the step.

"converged" means that this law is met. It always is, unless numbers overflow or the joints are not solved; how far
the motion is from that of rigid bodies is for the certificate to say.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.contact.block_laws import Laws
from stickslip.contact.laws import CONTACT, project_scaled
from stickslip.contact.problem import ContactProblem, given_problem
from stickslip.contact.scale import Scale
from stickslip.jit import kernel
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.vectors import length
from stickslip.solvers.budget import Clock, hurried
from stickslip.solvers.iterative import Iterative
from stickslip.solvers.protocol import ALL_FRICTION_SETS, Relinearise, Solution, Takes
from stickslip.solvers.sap.sap import Sap

PENALTY_1: dict[str, float] = {"stiffness": 100.0, "damping": 0.7, "tangential_damping": 10.0}
"""Gains "Penalty 1" of [lee2023] Table I [N/m, N s/m, N s/m]. The paper gives none; stiffness and damping follow from
heights in its table: a box of 0.5 kg on four points sinks in by 12.24 mm and 12.23 mm (steps of 10 and 2 ms) with this
set and by 1.218 mm with the other (2 ms). The damping along tangents is ours: friction of the box is full at 25 mm/s.
"""
PENALTY_2: dict[str, float] = {name: 10.0 * gain for name, gain in PENALTY_1.items()}
"""Gains "Penalty 2": all ten times as large."""
SPRING = 0.25
"""k h^2 n w where no stiffness is given: springs that a step resolves, with a critical damper of c h n w = 1."""


@dataclass(frozen=True)
class Penalty(Iterative):
    """Spring-damper forces at overlapping contacts, explicit; fast, and off by overlaps and delays."""

    name: ClassVar[str] = "penalty"

    tolerance: float = 1e-6
    max_iterations: int = 200
    """Iterations for joints at most."""
    stiffness: float | None = None
    """[N/m] k of a contact; None: as stiff as the step and the mobility of each contact allow."""
    damping: float | None = None
    """[N s/m] c; None: critical for the automatic stiffness."""
    tangential_damping: float | None = None
    """[N s/m] c_t; None: stops a contact within a step."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("stiffness", "damping", "tangential_damping"):
            if getattr(self, name) is not None:
                self._check_range(name, 0.0 if name == "stiffness" else -1e-300, np.inf)

    @property
    def gains_given(self) -> bool:
        """Whether it asks nothing of A but one solve: with given gains, mobilities are not needed."""
        return None not in (self.stiffness, self.damping, self.tangential_damping)

    @cached_property
    def takes(self) -> Takes:
        """See protocol.Takes."""
        return Takes(
            law="penalty",
            criterion=self.criterion,
            unknowns="velocities",
            factors="own" if self.gains_given else "prepared",
            friction_sets=ALL_FRICTION_SETS,
            compliance=True,
        )

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Contact forces of the state at the start of the step, and velocities under them; ``warm`` is for joints."""
        clock = Clock(self.max_seconds)
        lam = self.contact_impulses(problem)
        forced = time.perf_counter()
        joined = (problem.laws.law != CONTACT).any()
        finite = bool(np.isfinite(lam).all())
        if finite and joined:
            rest = _Rest(problem)
            under = rest.under(lam)
            found = hurried(self._joints(), clock.used).solve(under, None if warm is None else warm[rest.rows])
            lam[rest.rows] = found.lam
            v = problem.velocity(lam) if problem.A.is_given else found.v
            return found.changed(lam=lam, v=v, problem=None)
        v = problem.velocity(lam) if finite else problem.v_free
        timings = {"prepare": forced - clock.started, "iterate": time.perf_counter() - forced}
        if finite and np.isfinite(v).all():
            return Solution(v, lam, "converged", 1, np.zeros((0, 2)), timings)
        return Solution(problem.v_free.copy(), np.zeros_like(lam), "diverged", 1, np.zeros((0, 2)), timings)

    def residual(self, problem: ContactProblem, lam: Array, u: Array) -> float:
        """Contact impulses lam (m,) against those of the penalty law, relative; with joints also what ``sap`` says."""
        expected, rest = self.contact_impulses(problem), _Rest(problem)
        own = lam.copy()
        own[rest.rows] = 0.0
        size = max(float(length(expected)), float(length(own)))
        value = float(length(own - expected)) / size if size > 0.0 else 0.0
        if rest.rows.size:
            value = max(value, self._joints().residual(rest.under(own), lam[rest.rows], u[rest.rows]))
        return value

    def contact_impulses(self, problem: ContactProblem) -> Array:
        """h f (m,) [N s] of all contacts, zero in other rows."""
        J, laws, h = problem.J, problem.laws, problem.step
        contact = laws.law == CONTACT
        v = problem.v_free if problem.v_before is None else problem.v_before
        u = block_rows.apply(J, v)
        u += problem.bias if problem.prescribed is None else problem.prescribed
        normal = J.row_start[:-1]
        gap = np.zeros(problem.block_count)
        if problem.gap is None:  # the bias is all that is known: u = J v + gap / h
            moved = 0.0 if problem.prescribed is None else problem.prescribed[normal]
            gap[:] = h * (problem.bias[normal] - moved)
            if problem.prescribed is None:
                u[normal] -= problem.bias[normal]
        else:
            gap[contact] = problem.gap
        lam = np.zeros(problem.row_count)
        k, c, c_t = self._gains(problem)
        _forces(J.row_start, laws, gap, u, h, k, c, c_t, lam)
        return lam

    def _gains(self, problem: ContactProblem) -> list[Array]:
        """k, c and c_t (n,) of each block."""
        count, h = problem.block_count, problem.step
        given = self.stiffness, self.damping, self.tangential_damping
        mass = np.zeros(0) if self.gains_given else _shared_mass(problem)
        shares = SPRING / h**2, 1.0 / h, 1.0 / h
        return [
            share * mass if gain is None else np.full(count, float(gain))
            for gain, share in zip(given, shares, strict=True)
        ]

    def _joints(self) -> Sap:
        """The solver of all rows but contacts."""
        return Sap(
            tolerance=self.tolerance, max_iterations=self.max_iterations, max_seconds=self.max_seconds,
            criterion=self.criterion,
        )  # fmt: skip


class _Rest:
    """The rows of a problem that are no contacts."""

    def __init__(self, problem: ContactProblem) -> None:
        self.problem = problem
        self.order = np.flatnonzero(problem.laws.law != CONTACT).astype(np.int32)
        self.rows = block_rows.rows_of(problem.J, self.order)

    def under(self, lam: Array) -> ContactProblem:
        """The problem of these rows alone, with contact impulses lam (m,) as forces."""
        problem, rows, order = self.problem, self.rows, self.order
        laws = problem.laws
        own = Laws(
            laws.law[order], laws.friction_set[order], laws.friction[order], laws.compliance[rows], laws.bound[rows]
        )
        J = _taken(problem.J, order)
        if problem.A.given is not None:  # u = W lam + q, J = I
            from scipy.sparse import csr_array

            W = problem.A.given.matrix()
            q = problem.constraint_velocity(problem.velocity(lam))[rows]
            part = csr_array(W[rows][:, rows])
            part.sort_indices()
            return given_problem(part, q, own, J.row_start)
        pushed = problem.momentum.pushed(block_rows.apply_transpose(problem.J, lam))
        # joints at rest are not to be measured by rounding
        least = np.full(len(J.column_start) - 1, problem.free_speed)
        scale = Scale(rounding=least, momentum=problem.scale.momentum)
        return ContactProblem(
            pushed, J, problem.bias[rows], own, problem.step, scale=scale, workspace=problem.workspace
        ).trusted()


def _taken(J: BlockRows, order: Ints) -> BlockRows:
    """The blocks ``order`` (k,) of J alone."""
    some = block_rows.reordered(J, order)
    count = int(some.entry_start[-1])
    data_start = some.data_start[: count + 1]
    return some._replace(
        entry_column=some.entry_column[:count], data_start=data_start, data=some.data[: int(data_start[-1])]
    )


def _shared_mass(problem: ContactProblem) -> Array:
    """1 / (n w) (n,) [kg]: the mass that a contact moves, where all contacts of its busiest body share that.

    Nodes of a soft body count together: springs that each node could bear would throw the body up as a whole.
    """
    J = problem.J
    body = problem.A.bodies(len(J.column_start) - 1)
    owner, touched = np.repeat(np.arange(problem.block_count), np.diff(J.entry_start)), body[J.entry_column]
    once = np.unique(np.column_stack([owner, touched])[(problem.laws.law == CONTACT)[owner]], axis=0)
    busy = np.bincount(once[:, 1], minlength=len(body))
    shared = np.ones(problem.block_count)
    np.maximum.at(shared, owner, busy[touched])
    mobility = shared * problem.weight
    return np.divide(1.0, mobility, out=np.zeros_like(mobility), where=mobility > 0.0)


@kernel
def _forces(row_start, laws, gap, u, h, stiffness, damping, tangential_damping, lam_out):
    """lam_out = h f of the contacts that overlap; other rows are left as they are."""
    for c in range(row_start.shape[0] - 1):
        if laws.law[c] != CONTACT or gap[c] >= 0.0:
            continue
        i = row_start[c]
        normal = h * (-stiffness[c] * gap[c] - damping[c] * u[i])
        if normal <= 0.0:
            continue
        mu1, mu2, mu3 = laws.friction[c, 0], laws.friction[c, 1], laws.friction[c, 2]
        turning = row_start[c + 1] - i > 3 and mu3 > 0.0
        # torsion acts at the radius at which friction makes as large a moment
        radius, spin = 1.0, 0.0
        if turning:
            radius = mu3 / max(mu1, mu2) if max(mu1, mu2) > 0.0 else mu3
            spin = u[i + 3]
        s = -h * tangential_damping[c]
        x, y, z = project_scaled(
            laws.friction_set[c], s * u[i + 1], s * u[i + 2], s * radius * radius * spin, radius, normal, mu1, mu2, mu3
        )
        lam_out[i], lam_out[i + 1], lam_out[i + 2] = normal, x, y
        if turning:
            lam_out[i + 3] = z
