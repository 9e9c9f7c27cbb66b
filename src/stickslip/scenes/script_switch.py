"""A scene's script, and a switch that hands the scene over to somebody else.

A script is what the metrics of a scene tell `Simulation.control` while they observe steps. It needs nothing more: the
switch lets them observe all steps, and decides whether what they say counts.
"""

from __future__ import annotations

from stickslip.model.control import Control
from stickslip.scenes.metrics import Metrics
from stickslip.scenes.running import Run
from stickslip.simulation import Simulation, StepResult


class ScriptSwitch:
    """Whether the script of a scene drives it. While it does not, it goes on without effect, so that it can return."""

    def __init__(self, run: Run) -> None:
        self.exists = run.scripted
        """Whether the scene has been driven by a script so far."""
        self.on = True
        self._unheard: Control | None = None
        """What the script would have the control be, while it is off."""

    def observe(self, metrics: Metrics, sim: Simulation, result: StepResult) -> None:
        """Show a step to the metrics; what they tell drives counts if the switch is on."""
        before = sim.control
        if self._unheard is None:
            metrics.observe(sim, result)
            self.exists |= sim.control is not before
            return
        sim.control = self._unheard
        try:
            metrics.observe(sim, result)
        finally:
            self._unheard, sim.control = sim.control, before

    def hand_over(self, sim: Simulation) -> None:
        """From now on the control is somebody else's, who begins with that of now."""
        if self.on:
            self.on, self._unheard = False, sim.control

    def take_back(self, sim: Simulation) -> None:
        """From now on the script drives again, as if it had all the time."""
        if self._unheard is not None:
            sim.control = self._unheard
        self.on, self._unheard = True, None
