"""A soft bar is pulled long: a linear law loses volume, Neo-Hooke's keeps it ([macklin2019] sec. 10.1.6, Fig. 13)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.geometry.tet_generators import box
from stickslip.scene.scene import Scene
from stickslip.scene.soft_body import SoftBody, elastic
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult

BAR = {"neo-hookean": (0.35, 0.60, 0.85), "corotational": (0.88, 0.45, 0.35)}


def extension(
    model: str = "neo-hookean",
    stretch: float = 2.0,
    ramp: float = 1.0,
    size: tuple[float, ...] = (0.4, 0.1, 0.1),
    divisions: tuple[float, ...] = (12.0, 4.0, 4.0),
    young: float = 1e5,
    poisson: float = 0.45,
    density: float = 1000.0,
    alpha: float = 2.0,
    beta: float = 0.005,
) -> Scene:
    """A bar along x of ``size`` [m] in ``divisions`` cells, its ends pulled to ``stretch`` lengths in ``ramp`` [s].

    The paper's E = ``young`` = 1e5 Pa and nu = ``poisson`` = 0.45; its "linear" is the corotational model, the
    other "neo-hookean"; any model may be named. Sizes and the stretch are ours, the paper gives none; without gravity,
    as its picture. The ends hold all of their nodes, and cannot contract.
    """
    if len(size) != 3 or len(divisions) != 3:
        raise InputError(f"extension: size is {size}, divisions are {divisions}; three numbers each are needed")
    length, width, height = (positive("extension", "size", value) for value in size)
    cells = [whole_number("extension", "divisions", value, 1) for value in divisions]
    way = 0.5 * length * (positive("extension", "stretch", stretch) - 1.0)
    positive("extension", "ramp", ramp)
    mesh = box((length, width, height), cells, "mirrored")
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    material = elastic(young, poisson, model=model, density=density, alpha=alpha, beta=beta)  # type: ignore[arg-type]
    bar = scene.add_soft(mesh, material, (0.0, 0.0, height), name="bar", colour=BAR.get(model))
    for side in (-1.0, 1.0):

        def pull(time: float, side: float = side) -> tuple[tuple[float, float, float], tuple[float, ...]]:
            return (side * way * min(time / ramp, 1.0), 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)

        scene.hold_nodes(bar, side * mesh.nodes[:, 0] > 0.5 * length * (1.0 - 1e-9), pull)
    return scene


class VolumeLoss:
    """What stretching does to the volume.

    ``stretch``: distance of the ends over their first one; ``volume_ratio``: volume over its first one;
    ``waist_ratio``: square of the width in the middle over its first one; all at the end of the run. The middle is
    stretched by more than the whole, since ends that cannot contract are stiffer.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.bar = SoftBody(0, "bar")
        x = sim.nodes(self.bar)
        self.length, self.volume = float(x[:, 0].max() - x[:, 0].min()), sim.soft_volume(self.bar)
        middle = abs(x[:, 0]) <= abs(x[:, 0]).min() + 1e-9
        self.middle, self.area = middle, float(x[middle, 1].max() - x[middle, 1].min()) ** 2
        self.stretch = self.ratio = self.waist = math.nan

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of length, volume and waist."""
        x = sim.nodes(self.bar)
        self.stretch = float(x[:, 0].max() - x[:, 0].min()) / self.length
        self.ratio = sim.soft_volume(self.bar) / self.volume
        y = x[self.middle, 1]
        self.waist = float(y.max() - y.min()) ** 2 / self.area

    def values(self) -> Values:
        """The three values above."""
        return {"stretch": self.stretch, "volume_ratio": self.ratio, "waist_ratio": self.waist}
