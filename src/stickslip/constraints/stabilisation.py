"""Post-stabilisation, [erleben2017] sec. 4.4: overlaps are removed by moving bodies, and no velocity changes.

Legend: g gaps, J normal rows of the contacts, M masses at q, lam contact displacements [kg m], dq body displacements.

    M dq = J^T lam,      0 <= J dq + g,   0 <= lam,   lam^T (J dq + g) = 0                           eq. (44)-(49)

That is a contact problem without friction in which gaps take the place of velocities, so the solver of a step solves
it. J is the slope of the gaps at q only: several passes are needed where bodies turn.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.rigid.advance import advance
from stickslip.bodies.rigid.layout import scatter
from stickslip.bodies.rigid.momentum import mass_blocks
from stickslip.collision.contacts import Contacts
from stickslip.collision.rigid_contacts import find_contacts
from stickslip.constraints.contact import rows as contact_rows
from stickslip.contact.block_laws import Laws
from stickslip.contact.laws import LIMIT
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem
from stickslip.linalg.block_rows import BlockRows
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel

RESOLUTION = 1e-8
"""[m] to which a pass solves for the gaps, and overlap at which no more passes are made."""
SWEEPS = 200
"""Sweeps of a pass at most; what they leave, the next pass or the next step removes."""


def stabilised(model: Model, after: State, options: Stepping) -> State:
    """The state after a step, with the overlaps that it left removed from the positions alone."""
    return after.with_parts(body_pose=stabilise(model, after.body_pose, options))


def stabilise(model: Model, q: Array, options: Stepping) -> Array:
    """q (nb, 7) with overlaps removed, in up to ``options.stabilisation`` passes; only dynamic bodies move."""
    reach = np.full(model.body_count, 0.5 * options.margin_under(model.gravity_norm))
    for _ in range(options.stabilisation):
        contacts = find_contacts(model, q, reach)
        if contacts.gap.min(initial=np.inf) >= -options.slop - RESOLUTION:
            break
        problem = _displacement_problem(model, q, contacts, options.slop)
        tolerance = max(1e-6, RESOLUTION / problem.free_speed)
        moved = ProxGaussSeidel(tolerance=tolerance, max_iterations=SWEEPS).solve(problem).v
        dq = scatter(model, np.zeros((model.body_count, 6)), moved)
        q = advance(q, dq, 1.0)  # eq. (51)
    return q


def _displacement_problem(model: Model, q: Array, contacts: Contacts, slop: float) -> ContactProblem:
    """The linear complementarity problem of eq. (49): one row per contact; overlaps within ``slop`` [m] stay."""
    J, count = contact_rows.contact_jacobian(model, contacts, q, rows=3), len(contacts)
    normal_rows = BlockRows(
        row_start=np.arange(count + 1, dtype=np.int32),
        entry_start=J.entry_start,
        entry_column=J.entry_column,
        data_start=6 * np.arange(len(J.entry_column) + 1, dtype=np.int32),
        data=np.ascontiguousarray(J.data.reshape(-1, 3, 6)[:, 0]).ravel(),
        column_start=J.column_start,
    )
    none = np.zeros(count)
    laws = Laws(np.full(count, LIMIT, np.int32), np.zeros(count, np.int32), np.zeros((count, 3)), none, none)
    gap = np.maximum(contacts.gap - slop, 0.0) + np.minimum(contacts.gap + slop, 0.0)  # as in a step
    momentum = Momentum(mass_blocks(model, q), np.zeros(model.dof_count))
    return ContactProblem(momentum, normal_rows, gap, laws).trusted()
