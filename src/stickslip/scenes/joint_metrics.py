"""What scenes with joints measure: how far joints come apart, and where their coordinates are."""

from __future__ import annotations

from stickslip.errors import InputError
from stickslip.scene.joint import Joint
from stickslip.scenes.metrics import Values
from stickslip.simulation import Simulation, StepResult


def joint_named(sim: Simulation, name: str) -> Joint:
    """Handle of a joint of a simulation by its name."""
    names = sim.model.joint_names
    if name not in names:
        raise InputError(f"joint {name!r} is unknown; the simulation has {len(names)} joints")
    return Joint(names.index(name), name)


class JointError:
    """``joint_error_max_m``: most that any joint came apart, over all steps; scenes add what else they are about."""

    def __init__(self, sim: Simulation) -> None:
        self.error = 0.0

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of the largest error."""
        self.error = max(self.error, float(sim.joint_error()))

    def values(self) -> Values:
        """``joint_error_max_m``."""
        return {"joint_error_max_m": self.error}
