"""One time step; open this file first.

Everything that a step does is here from top to bottom: find contacts, linearise, recall, solve, advance, settle,
certify. What bodies and constraints there are, it does not know (bodies/protocol.py, constraints/protocol.py). It is a
function of its arguments: what the workspace remembers makes it faster and changes no bit.
"""

from __future__ import annotations

import time

from stickslip.bodies.motions import Motions
from stickslip.bodies.registry import kinds_of
from stickslip.certify.certificate import certify
from stickslip.certify.divergence import check_finite
from stickslip.certify.step_result import StepResult
from stickslip.constraints.closing import closed, overlapping
from stickslip.constraints.registry import Tried, applied, constraints_of, search_contacts
from stickslip.constraints.stabilisation import stabilised
from stickslip.constraints.system import StepSystem
from stickslip.model.control import Control
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.solvers.step_method import StepMethod
from stickslip.workspace import Workspace
from stickslip.xpbd.substeps import take_substeps

STAGES = ("collide", "assemble", "solve", "integrate", "stabilise", "certify")
"""Of a step, as ``StepResult.timings`` names them."""


def step(
    model: Model, state: State, control: Control, method: StepMethod, options: Stepping, workspace: Workspace,
    tried: Tried | None = None,
) -> StepResult:  # fmt: skip
    """The step of length ``options.dt`` from ``state`` under ``control``, taken by ``method``; again, if ``tried``."""
    clock = [time.perf_counter()]
    acting = applied(model, state, control) if control.has_effort else control
    kinds = kinds_of(model, method.as_rows, method.unsolved, workspace)
    motions = Motions(model, kinds, state, acting, options)
    search = search_contacts(model, state, motions, options, workspace, tried)
    clock.append(time.perf_counter())

    constraints = constraints_of(model, state, acting, motions, search, options, workspace)
    system = StepSystem(model, state, acting, options, motions, constraints, take_substeps, workspace)
    warm = system.recall() if options.warm_start else None
    problem = system.ahead(warm) if method.ahead else system.at_start(warm)
    clock.append(time.perf_counter())

    solution = method.take(method.solver, system, problem, warm)
    problem = solution.problem or problem
    clock.append(time.perf_counter())

    solution, after = system.advance(problem, solution)
    if options.overlaps == "closed" and overlapping(search, options):
        after = closed(
            model, state, acting, motions, search, method, options, solution, after, take_substeps, workspace
        )  # fmt: skip
    check_finite(model, after, search.found.contacts, solution.lam)
    clock.append(time.perf_counter())

    after = stabilised(model, after, options) if options.stabilisation else after
    clock.append(time.perf_counter())

    certificate = certify(system, solution.judged or problem, solution, after, method.judge)
    clock.append(time.perf_counter())
    timings = {stage: clock[k + 1] - clock[k] for k, stage in enumerate(STAGES)}
    return StepResult(after, search, problem, solution, certificate, control, warm, timings)
