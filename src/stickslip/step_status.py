"""How a step ended, in one word: what its solver says, unless the step itself is worse than that.

docs/certificates.md says what each word promises.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.laws import CONTACT
from stickslip.contact.problem import ContactProblem
from stickslip.geometry import rotation
from stickslip.geometry.shapes import CAPSULE, CYLINDER
from stickslip.model import Model
from stickslip.solvers.protocol import Solution, Solver
from stickslip.state import State

WORST_FIRST = ("diverged", "passed-through", "joints-apart", "turned-too-far")
"""Words that a step gets whatever its solver says of it; the first that is true of it. What passed through is found
after the certificate (pieces.py)."""
JOINTS_APART = 1e-2
"""Distance by which a rigid joint may be apart after a step, over the size of the smaller body that it joins."""
MOST_TURN = 1.0
"""[rad] that a touching body may turn by in a step: contacts are linearised, and lose their meaning at more."""
MOST_MADE = 1.0
"""Energy that numerics may make in an island over the energy that it had or was given."""
FAR_ABOVE = 100.0
"""Residual of the worst island, and error of momentum of the worst body, over the solver's tolerance, ..."""
COARSE = 1e-4
"""... and at least this share of what the island or body has itself: at more, a step is not converged."""


def step_status(
    solution: Solution, finite: bool, made: float, apart: float, turn: float, worst: float,
    solver: Solver | None,
) -> str:  # fmt: skip
    """The status of a step.

    finite: whether all numbers of its certificate are; made: StepEnergy.made;
    apart: largest distance by which a rigid joint is apart over the size of what it joins; turn [rad] of touching
    bodies; worst: residual of the worst island or error of the worst body, in its own unit.
    """
    true_of_it = {
        "diverged": not finite or made > MOST_MADE,
        "joints-apart": apart > JOINTS_APART,
        "turned-too-far": turn > MOST_TURN,
    }
    for word in WORST_FIRST:
        if true_of_it.get(word):
            return word
    if solution.status == "converged" and solver is not None and _measured_alike(solver):
        # the solver looked at all islands together, and one of them is hidden by the others
        if worst > max(FAR_ABOVE * solver.tolerance, COARSE):
            return "stalled"
    return solution.status


def _measured_alike(solver: Solver) -> bool:
    """Whether the solver's tolerance is for the residual that certificates report."""
    return solver.takes.law == "exact" and solver.takes.criterion == "scaled"


def touching_turns(model: Model, after: State, problem: ContactProblem, lam: Array, h: float) -> Array:
    """Angles (nb,) [rad] by which rigid bodies that a contact pushes turn in a step of h [s], 0 for all others.

    Balls turn without moving their surface, cylinders and capsules about their axes; these turns do not count.
    """
    J, bodies = problem.J, len(model.dynamic)
    pushing = (problem.laws.law == CONTACT) & (lam[J.row_start[:-1]] > 0.0)
    column = J.entry_column[np.repeat(pushing, np.diff(J.entry_start))]
    touched = np.zeros(bodies, dtype=np.bool_)
    touched[column[column < bodies]] = True
    body = model.dynamic[touched]
    body = body[model.lever[body] > 0.0]
    omega = after.v[body, 3:].copy()
    fast = np.flatnonzero(h * np.linalg.norm(omega, axis=1) > MOST_TURN)
    for k in fast:  # few, if any
        axis = _axis(model, int(body[k]), after.q[body[k]])
        if axis is not None:
            omega[k] -= (omega[k] @ axis) * axis
    turn = np.zeros(model.body_count)
    turn[body] = h * np.sqrt((omega * omega).sum(axis=1))
    return turn


def relative_joint_error(model: Model, errors: Array) -> float:
    """Largest of the errors (nj,) [m] of joints over the size of the smaller body that each joins."""
    tables = model.joints
    size = np.full(tables.count, np.inf)
    reach = np.zeros(model.body_count)
    moved = model.dynamic
    gyration = np.sqrt(np.trace(model.inertia[moved], axis1=1, axis2=2) / model.mass[moved])
    reach[moved] = np.maximum(model.radius[moved], gyration)
    for body in (tables.body_a, tables.body_b):
        dynamic = (body >= 0) & (model.block[body] >= 0)
        size[dynamic] = np.minimum(size[dynamic], reach[body[dynamic]])
    return float((errors / size).max(initial=0.0))


def _axis(model: Model, body: int, q: Array) -> Array | None:
    """Axis (3,) about which a body of one cylinder or capsule is round, at its pose q (7,); None for others."""
    shapes = np.flatnonzero(model.shape_body == body)
    if len(shapes) != 1 or model.shape_type[shapes[0]] not in (CAPSULE, CYLINDER):
        return None
    own = rotation.matrix(model.shape_rotation[shapes[0]])[:, 2]
    return np.asarray(rotation.matrix(q[3:]) @ own)
