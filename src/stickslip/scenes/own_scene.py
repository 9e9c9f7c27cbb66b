"""A scene that is in no registry as a run, for pages that show scenes as they run."""

from __future__ import annotations

from stickslip.scene.scene import Scene
from stickslip.scenes.metrics import Metrics, Values
from stickslip.scenes.registry import SceneEntry
from stickslip.scenes.running import Run
from stickslip.simulation import Simulation, StepResult
from stickslip.solvers.registry import DEFAULT, make_solver


class Unmeasured:
    """Measures nothing."""

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """A step, of which nothing is kept."""

    def values(self) -> Values:
        """Nothing."""
        return {}


def run_of_scene(scene: Scene, name: str, dt: float = 0.002, solver: str = DEFAULT) -> Run:
    """A scene of one's own, ready to step by dt [s] with a solver by its name."""
    made = make_solver(solver)
    entry = SceneEntry(name, "", lambda: scene, dt, 1.0, lambda sim, parameters: Unmeasured(), made.name)
    return Run(entry, {}, Simulation(scene, dt=dt, solver=made), Unmeasured())


def run_of_simulation(sim: Simulation, metrics: Metrics, name: str = "simulation") -> Run:
    """A simulation as it is, with metrics that see its steps from now on."""
    entry = SceneEntry(name, "", Scene, sim.stepping.dt, 1.0, lambda again, parameters: metrics, sim.solver.name)
    return Run(entry, {}, sim, metrics)
