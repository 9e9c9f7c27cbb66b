"""Overlaps closed within the step at position level, [macklin2019] sec. 5: 0 <= C_n(q+), at no gain of velocity.

A step is solved twice where contacts overlap at its start. The first solve knows nothing of overlaps: its velocities
and impulses are those of the step. In the second one gaps hold at the end, whatever they were before:

    0 <= C_n(q) / h + J_n w,    w beside all other constraints and momentum as in the first,     q+ = q + h w

It gives positions alone. As velocities do not keep what pushed bodies apart, the kinetic energy is that of the first;
bodies are only lifted out of each other, which the ledger sees. Joints, limits and elements hold at q+, too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.motions import Motions
from stickslip.constraints.registry import Search, constraints_of
from stickslip.constraints.system import StepSystem, TakeSubsteps
from stickslip.model.control import Control
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.solvers.protocol import Solution
from stickslip.solvers.step_method import StepMethod
from stickslip.workspace import Workspace

AT_ONCE = 1e9
"""[m/s] in the place of a cap."""


def overlapping(search: Search, options: Stepping) -> bool:
    """Whether any contact overlaps at the start by more than counts as touching."""
    gaps = [search.found.contacts.gap] if search.nodes is None else [search.found.contacts.gap, search.nodes.gap]
    return any(float(gap.min(initial=0.0)) < -options.slop for gap in gaps)


def closed(
    model: Model, state: State, control: Control, motions: Motions, search: Search, method: StepMethod,
    options: Stepping, solution: Solution, after: State, substeps: TakeSubsteps, workspace: Workspace,
) -> State:  # fmt: skip
    """The state after a step with the positions of its second solve; ``solution`` and ``after`` are of the first."""
    pushing = replace(options, overlaps="pushed", recovery=1.0, recovery_speed=AT_ONCE)
    constraints = constraints_of(model, state, control, motions, search, pushing, workspace)
    system = StepSystem(model, state, control, pushing, motions, constraints, substeps, workspace)
    warm: Array = solution.lam
    problem = system.ahead(warm) if method.ahead else system.at_start(warm)
    found = method.take(method.solver, system, problem, warm)
    if not np.isfinite(found.v).all():  # where it diverged, overlaps stay
        return after
    _, moved = system.advance(found.problem or problem, found)
    return replace(moved, v=after.v, memory=after.memory).with_views()
