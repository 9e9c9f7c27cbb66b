"""The system of a step that was taken, for tests that look at its parts or certify other solutions of it."""

from stickslip import Simulation, State
from stickslip.bodies.motions import Motions
from stickslip.bodies.registry import kinds_of
from stickslip.constraints.registry import constraints_of, search_contacts
from stickslip.constraints.system import StepSystem
from stickslip.workspace import Workspace
from stickslip.xpbd.substeps import take_substeps


def system_of(sim: Simulation, before: State) -> StepSystem:
    """The system of the step of ``sim`` from ``before``, made as in step.py, with its rows at the start."""
    model, control, options, workspace = sim.model, sim.control, sim.stepping, Workspace()
    kinds = kinds_of(model, sim.method.as_rows, sim.method.unsolved, workspace)
    motions = Motions(model, kinds, before, control, options)
    search = search_contacts(model, before, motions, options, workspace)
    constraints = constraints_of(model, before, control, motions, search, options, workspace)
    system = StepSystem(model, before, control, options, motions, constraints, take_substeps, workspace)
    system.at_start()
    return system
