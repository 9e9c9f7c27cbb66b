"""Which compiled driver takes the steps of a model, and whether its kernels are in the cache."""

from __future__ import annotations

from typing import Any

from stickslip.bound_kernels import CAN_BIND
from stickslip.compiled.driver import Driver
from stickslip.compiled.joint_driver import JointDriver
from stickslip.compiled.joint_step import step_jointed
from stickslip.compiled.loop_driver import LoopDriver
from stickslip.compiled.loop_step import step_loops
from stickslip.compiled.pairs import pairs_are_ready
from stickslip.compiled.rigid_driver import CompiledDriver
from stickslip.compiled.rigid_step import step_rigid
from stickslip.compiled.tree_driver import TreeDriver
from stickslip.compiled.tree_step import step_trees
from stickslip.constraints.registry import moves
from stickslip.jit import is_cold
from stickslip.model.model import Model
from stickslip.model.stepping import Stepping
from stickslip.solvers.protocol import Solver

VERSIONS = ("addressed",) if CAN_BIND else ()
"""Which versions of the kernels of steps are called (jit.is_cold)."""


def driver_for(model: Model, options: Stepping, solver: Solver) -> Driver:
    """Who takes the steps of a model that ``driver.reason_against`` has nothing against."""
    if model.others:
        return (LoopDriver if moves(model) else TreeDriver)(model, options, solver)
    return (JointDriver if model.joints.count else CompiledDriver)(model, options, solver)


def is_ready(model: Model) -> bool:
    """Whether its driver need not be compiled first (``stickslip warmup`` does that, too)."""
    step: Any = step_jointed if model.joints.count else step_rigid
    if model.others:
        step = step_loops if moves(model) else step_trees
    versions = ("addressed",) if step in (step_jointed, step_loops) else VERSIONS
    return not is_cold(step.__module__, *versions) and pairs_are_ready(model)
