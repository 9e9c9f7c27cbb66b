"""How a step ended, in one word: what its solver says, unless the step itself is worse than that.

docs/certificates.md says what each word promises.
"""

from __future__ import annotations

from collections.abc import Set
from math import sqrt

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.laws import CONTACT
from stickslip.contact.problem import ContactProblem
from stickslip.geometry import rotation
from stickslip.geometry.shapes import CAPSULE, CYLINDER
from stickslip.jit import bare_kernel
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.solvers.protocol import Solver

OVERLAPPING = "overlapping"
WORST_FIRST = ("diverged", "passed-through", "joints-apart", "turned-too-far", OVERLAPPING)
"""Words that a step gets whatever its solver says of it; the first that is true of it. What passed through, and what
overlaps that its contacts did not know of, is found after the certificate (pieces/pieces.py, pieces/deeper.py)."""
DEEPER_SHARE = 0.05
"""Of the thinner of two shapes, half of its thickness: a step in which they get deeper into each other by more is not
converged, whatever its contacts say."""
MOST_TURN = 1.0
"""[rad] that a touching body may turn by in a step: contacts are linearised, and lose their meaning at more."""
MOST_MADE = 1.1
"""Energy that numerics may make in an island over the energy that it had or was given. A body at rest that what its
solver leaves lifts by a tenth of a nanometre gains just what it is lifted by, 1, and its motion."""
FAR_ABOVE = 100.0
"""Residual of the worst island, and error of momentum of the worst body, over the solver's tolerance, ..."""
COARSE = 1e-4
"""... and at least this share of what the island or body has itself: at more, a step is not converged."""


def step_status(
    told: str, finite: bool, made: float, words: Set[str], turn: float, worst: float, solver: Solver | None
) -> str:
    """The status of a step of which its solver ``told`` one.

    finite: whether all numbers of its certificate are; made: StepEnergy.made; words: what constraints say of
    themselves; turn [rad] of touching bodies; worst: residual of the worst island or error of the worst body, in its
    own unit.
    """
    true_of_it = {
        "diverged": not finite or made > MOST_MADE,
        "turned-too-far": turn > MOST_TURN,
    }
    for word in WORST_FIRST:
        if true_of_it.get(word) or word in words:
            return word
    if told == "converged" and solver is not None and _measured_alike(solver):
        # the solver looked at all islands together, and one of them is hidden by the others
        if worst > max(FAR_ABOVE * solver.tolerance, COARSE):
            return "stalled"
    return told


def worse(told: str, word: str) -> str:
    """The worse of two statuses."""
    return next((each for each in WORST_FIRST if each in (told, word)), told)


def _measured_alike(solver: Solver) -> bool:
    """Whether the solver's tolerance is for the residual that certificates report."""
    return solver.takes.law == "exact" and solver.takes.criterion == "scaled"


def largest_turn(model: Model, after: State, problem: ContactProblem, lam: Array, h: float) -> float:
    """The largest of ``touching_turns`` [rad]."""
    turn, most = _turns(model, after, problem, lam, h)
    return most if most <= MOST_TURN else float(_without_axes(model, after, turn, h).max(initial=0.0))


def touching_turns(model: Model, after: State, problem: ContactProblem, lam: Array, h: float) -> Array:
    """Angles (nb,) [rad] by which rigid bodies that a contact pushes turn in a step of h [s], 0 for all others.

    Balls turn without moving their surface, cylinders and capsules about their axes; these turns do not count.
    """
    turn, most = _turns(model, after, problem, lam, h)
    return turn if most <= MOST_TURN else _without_axes(model, after, turn, h)


def _turns(model: Model, after: State, problem: ContactProblem, lam: Array, h: float) -> tuple[Array, float]:
    """The same with turns about axes, and the largest one."""
    turn = np.zeros(len(model.body_names))
    most = push_turns(problem.J, problem.laws.law, lam, model.dynamic, model.lever, after.body_velocity, h, turn)
    return turn, float(most)


def _without_axes(model: Model, after: State, turn: Array, h: float) -> Array:
    """The turns (nb,), in place, without those of cylinders and capsules about their axes, where they are too far."""
    for body in np.flatnonzero(turn > MOST_TURN):  # few, if any
        axis = _axis(model, int(body), after.body_pose[body])
        if axis is not None:
            omega = after.body_velocity[body, 3:] - (after.body_velocity[body, 3:] @ axis) * axis
            turn[body] = h * np.sqrt((omega * omega).sum())
    return turn


def _axis(model: Model, body: int, q: Array) -> Array | None:
    """Axis (3,) about which a body of one cylinder or capsule is round, at its pose q (7,); None for others."""
    shapes = np.flatnonzero(model.shape_body == body)
    if len(shapes) != 1 or model.shape_type[shapes[0]] not in (CAPSULE, CYLINDER):
        return None
    own = rotation.matrix(model.shape_rotation[shapes[0]])[:, 2]
    return np.asarray(rotation.matrix(q[3:]) @ own)


@bare_kernel
def push_turns(J, law, lam, dynamic, lever, v, h, turn_out):
    """Turns (nb,) of bodies that contacts push, by all of their angular velocities; turn_out comes in zeroed.

    Returns the largest one. Columns beyond the dynamic bodies are those of nodes.
    """
    most = 0.0
    for c in range(law.shape[0]):
        if law[c] != CONTACT or not lam[J.row_start[c]] > 0.0:
            continue
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            if J.entry_column[e] >= dynamic.shape[0]:
                continue
            i = dynamic[J.entry_column[e]]
            if lever[i] > 0.0:
                turn_out[i] = h * sqrt(v[i, 3] * v[i, 3] + v[i, 4] * v[i, 4] + v[i, 5] * v[i, 5])
                most = max(most, turn_out[i])
    return most
