"""Proximal points of one island: what is left where Newton steps on its own W go round in circles.

Two contacts of a foot that slide alike have almost the same rows of friction: W is nearly singular, and which of
them sticks changes from step to step. With c the impulses so far, the problem of W + d I and q - d c has a regular
matrix and is soon solved by Newton steps; its solution is the next c [rockafellar1976]. Where that is easy, d falls,
and the points come near the solution faster and faster; where it is not, d rises.
"""

from __future__ import annotations

from stickslip.jit import inner_kernel
from stickslip.solvers.dense.island import distance, velocities
from stickslip.solvers.dense.steps import MOST_NEWTON, newton_steps

MOST_ROWS = 64
"""Rows of an island up to which proximal points are tried: a hundred factorisations of more cost too much."""
MOST_STEPS = 160
"""Newton steps of all proximal points."""
FIRST, LESS, MORE = 1e-3, 0.3, 10.0
"""d as a share of the largest number of W: at first, and what it is multiplied by."""
LEAST, MOST = 1e-12, 1e3
WITHIN, LEAST_WITHIN = 0.3, 0.1
"""How well a problem is solved: a share of the natural map before, but no better than this share of the goal."""


@inner_kernel
def approach(island, symmetric, value, goal, budget, ints, M, vectors):
    """Improve vectors[0], impulses (m,), whose natural map is ``value``; returns what that becomes and Newton steps.

    These are at most ``budget``, and at most MOST_STEPS.
    """
    budget = min(budget, MOST_STEPS)
    lam, w, centre, q, diagonal = vectors[0], vectors[1], vectors[6], vectors[7], vectors[8]
    m, largest, share, made = lam.shape[0], 0.0, FIRST, 0
    for i in range(m):
        q[i], diagonal[i] = island.q[i], island.W[i, i]
        largest = max(largest, diagonal[i])
    velocities(island, lam, w)
    while value > goal and made < budget and share <= MOST:
        d = share * largest
        for i in range(m):
            centre[i] = lam[i]
            island.q[i] = q[i] - d * lam[i]
            island.W[i, i] = diagonal[i] + d
            island.columns[i, i] = diagonal[i] + d
        velocities(island, lam, w)
        within = max(WITHIN * value, LEAST_WITHIN * goal)
        reached, steps = newton_steps(
            island, symmetric, distance(island, lam, w), within, min(MOST_NEWTON, budget - made), ints, M, vectors
        )
        made += max(steps, 1)
        for i in range(m):
            island.q[i] = q[i]
            island.W[i, i] = diagonal[i]
            island.columns[i, i] = diagonal[i]
        velocities(island, lam, w)
        now = distance(island, lam, w)
        if reached <= within:
            value, share = now, max(LESS * share, LEAST)
        elif now <= value:
            value, share = now, MORE * share
        else:
            for i in range(m):
                lam[i] = centre[i]
            velocities(island, lam, w)
            share *= MORE
    return value, made
