"""Under which contact laws is planned and judged: the exact one, and three that people use since they are easier.

Every number of a certificate is measured against the exact law (Signorini-Coulomb), whatever law the solver obeys.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stickslip.errors import WorldsWarning
from stickslip.model.stepping import Stepping
from stickslip.scene.scene import Scene
from stickslip.solvers.registry import make_solver
from stickslip.worlds.worlds import Worlds

DT = 0.01
"""[s] of a step."""


@dataclass(frozen=True)
class Setting:
    """A solver with its options, and in words what is wrong with it."""

    solver: str
    words: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def worlds(self, scene: Scene, count: int) -> Worlds:
        """Worlds of a scene under this law, on one thread."""
        solver = make_solver(self.solver, **self.options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WorldsWarning)  # the Python driver is slow; there are few steps
            return Worlds(scene, count, stepping=Stepping(dt=DT), solver=solver, threads=1)


EXACT = "exact"
SETTINGS: Mapping[str, Setting] = {
    EXACT: Setting("auto", "Coulomb friction, nothing overlaps"),
    "soft": Setting(
        "sap",
        "convex and regularised: what rests creeps, what slides glides",
        {"near_rigid": 1.0, "friction_share": 0.1},
    ),
    "penalty": Setting("penalty", "springs: what is pressed overlaps, what rests creeps"),
    "box": Setting("pgs", "friction along x knows nothing of that along y"),
}
"""Settings by name; "soft" has a hundred times the default regularisation of friction of ``sap``."""
