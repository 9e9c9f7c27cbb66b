"""Which compiled driver takes the steps of a model, and whether its kernels are in the cache."""

from __future__ import annotations

from functools import partial
from typing import Any

from stickslip.collision.narrow_phase import PAIR_KERNELS
from stickslip.compiled.driver import CompiledDriver, Driver
from stickslip.compiled.joint_driver import JointDriver
from stickslip.compiled.joint_step import step_jointed
from stickslip.compiled.loop_driver import LoopDriver
from stickslip.compiled.loop_step import step_loops
from stickslip.compiled.rigid_step import step_rigid
from stickslip.compiled.tree_driver import TreeDriver
from stickslip.compiled.tree_step import step_trees
from stickslip.constraints.registry import moves
from stickslip.jit import is_cold
from stickslip.model.model import Model
from stickslip.model.stepping import Stepping
from stickslip.solvers.protocol import Solver


def driver_for(model: Model, options: Stepping, solver: Solver) -> Driver:
    """Who takes the steps of a model that ``driver.reason_against`` has nothing against."""
    if model.others:
        return (LoopDriver if moves(model) else TreeDriver)(model, options, solver)
    return (JointDriver if model.joints.count else CompiledDriver)(model, options, solver)


def is_ready(model: Model) -> bool:
    """Whether its driver need not be compiled first (``stickslip warmup`` does that, too)."""
    kinds = {int(kind) for kind in model.shape_type}
    pairs = [kernel for (a, b), (kernel, _) in PAIR_KERNELS.items() if a in kinds and b in kinds]
    used = {(each.func if isinstance(each, partial) else each).__module__ for each in pairs}
    step: Any = step_jointed if model.joints.count else step_rigid
    if model.others:
        step = step_loops if moves(model) else step_trees
    return not is_cold(step.__module__) and not any(is_cold(module, "inside", "bare", "called") for module in used)
