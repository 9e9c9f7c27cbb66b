"""Where the iterations of COND begin ([lee2023] sec. V-A5, and what soft bodies as a whole do)."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.linalg import block_rows
from stickslip.linalg.vectors import length

BALANCED = 0.05
"""Share of the impulses on a body up to which those of the last step are thought to balance."""


def first_velocities(problem: ContactProblem, warm: Array | None) -> Array:
    """Where iterations begin: at the velocities before the step, else where the impulses of the last one lead.

    Where soft bodies were linearised again it is there, and rigid ones move as the impulses push them.
    """
    at, missing = problem.momentum.at, problem.momentum.missing
    rigid = problem.A.dense.size
    before = problem.v_before if problem.v_likely is None else problem.v_likely
    if before is not None:
        again = problem.A.nodes.places is not None and at[rigid:].any()  # at the start of a step they are zero
        if missing is not None and warm is not None and again:
            v, pushed = at.copy(), missing + block_rows.apply_transpose(problem.J, warm)
            v[:rigid] += problem.A.dense.solve(pushed[:rigid])
            return v
        return _as_a_whole(problem, before, warm)
    if missing is not None:
        return at.copy()
    return problem.v_free.copy() if warm is None else problem.velocity(warm)


def _as_a_whole(problem: ContactProblem, v: Array, warm: Array | None) -> Array:
    """Velocities v (nv,) where soft bodies have the acceleration that each has as a whole, under the impulses ``warm``.

    Information travels one node per iteration, and a small step says little of what all nodes have in common. Where no
    impulses are known, only bodies that nothing touches are accelerated.
    """
    out, A, J = np.array(v, dtype=np.float64), problem.A, problem.J
    touched = np.zeros(problem.unknown_count, dtype=np.bool_)
    touched[J.column_start[J.entry_column]] = True  # the first unknown of each column block
    parts = zip(A.nodes.parts, A.soft_unknowns(), strict=True)
    # links of a rod, of which no places are known, turn as well, and are held
    known = warm is not None and bool(warm.any()) and A.nodes.places is not None
    free = [(part, here) for part, here in parts if known or not touched[here].any()]
    if not free:
        return out
    gained = problem.momentum.gain(v)
    pushed = np.zeros_like(gained) if warm is None else block_rows.apply_transpose(J, warm)
    for part, here in free:
        push, gain = (each[here].reshape(-1, 3).sum(axis=0) for each in (pushed, gained))
        if length(push - gain) > BALANCED * (length(push) + length(gain)):
            whole = A.nodes.blocks(part).sum(axis=0)
            out[here].reshape(-1, 3)[:] += np.linalg.solve(whole, push - gain)
    return out
