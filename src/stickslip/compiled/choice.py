"""Which compiled driver takes the steps of a model, and whether its kernels are in the cache."""

from __future__ import annotations

from functools import partial

from stickslip.collision.narrow_phase import PAIR_KERNELS
from stickslip.compiled.driver import CompiledDriver, Driver
from stickslip.compiled.rigid_step import step_rigid
from stickslip.compiled.tree_driver import TreeDriver
from stickslip.compiled.tree_step import step_trees
from stickslip.jit import is_cold
from stickslip.model.model import Model
from stickslip.model.stepping import Stepping
from stickslip.solvers.protocol import Solver


def driver_for(model: Model, options: Stepping, solver: Solver) -> Driver:
    """Who takes the steps of a model that ``driver.reason_against`` has nothing against."""
    return (TreeDriver if model.others else CompiledDriver)(model, options, solver)


def is_ready(model: Model) -> bool:
    """Whether its driver need not be compiled first (``stickslip warmup`` does that, too)."""
    kinds = {int(kind) for kind in model.shape_type}
    pairs = [kernel for (a, b), (kernel, _) in PAIR_KERNELS.items() if a in kinds and b in kinds]
    used = {(each.func if isinstance(each, partial) else each).__module__ for each in pairs}
    step = step_trees if model.others else step_rigid
    return not any(map(is_cold, {step.__module__, *used}))
