"""[macklin2019] Fig. 13 and sec. 10.1.6: volume of a bar that is pulled long, corotational against Neo-Hookean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.experiments.macklin2019.steps import STEP
from stickslip.experiments.progress import Progress
from stickslip.experiments.report import Claim, Row
from stickslip.geometry.tet_mesh import TetMesh, volumes_of
from stickslip.model.stepping import Stepping
from stickslip.scenes.parameters import Value
from stickslip.scenes.registry import find_scene
from stickslip.simulation import Simulation

Vector = Array
MODELS = ("corotational", "neo-hookean")
"""The paper's linear model, and its hyperelastic one."""
STRETCH = 2.5
RAMP, QUICK_RAMP = 1.0, 0.5
"""[s] in which the bar is pulled; it then rests for a fifth of that."""
QUICK_DIVISIONS = (6.0, 2.0, 2.0)
LOOKED_AT = (1.25, 1.5, 2.0, 2.5)
HIGH_LOSS = 0.25
"""Share of the volume whose loss is called high; one that changes by less than KEPT is called kept."""
KEPT = 0.1


@dataclass(frozen=True, eq=False)
class Pull:
    """What was seen of one model."""

    stretch: Vector
    """(n,) length over that at rest, after every step."""
    volume: Vector
    """(n,) volume over that at rest."""
    uniform: Vector
    """(n,) the same of a bar whose ends are free to contract."""
    element: Vector
    """(nt,) volume of the elements over that at rest, at the end."""
    x: Vector
    """(nn, 3) [m] nodes at the end."""
    tets: Ints
    """(nt, 4)"""
    surface: Ints
    """(m, 3) triangles of the surface."""
    converged: int
    """Steps that were solved."""

    def volume_at(self, stretch: float) -> float:
        """Volume over that at rest, between steps linearly."""
        return float(np.interp(stretch, self.stretch, self.volume))


def uniform_volume(model: str, mu: float, lam: float, stretch: Vector) -> Vector:
    """Volume over that at rest of a long bar, stretched so much (n,) and free to contract: no stress across.

    Corotational: strains across are -nu times that along. Stable Neo-Hookean, psi = mu / 2 (I2 - 3) + (mu + lam) / 2
    (J - 1)^2 - mu (J - 1): dpsi/ds_2 = 0 is linear in J.
    """
    if model == "corotational":
        poisson = 0.5 * lam / (mu + lam)
        return stretch * (1.0 - poisson * (stretch - 1.0)) ** 2
    return 1.0 + mu * (1.0 - 1.0 / stretch) / (mu + lam)


def measure(quick: bool, progress: Progress) -> dict[str, Pull]:
    """Pull the bar of each model."""
    found = {}
    entry = find_scene("extension")
    ramp = QUICK_RAMP if quick else RAMP
    steps = round(1.2 * ramp / STEP)
    for number, model in enumerate(MODELS):
        given: dict[str, Value] = {"model": model, "stretch": STRETCH, "ramp": ramp}
        if quick:
            given["divisions"] = QUICK_DIVISIONS
        scene = entry.build(**entry.parameters(given))
        sim = Simulation(scene, None, stepping=Stepping(**{**entry.stepping, "dt": STEP}))  # type: ignore[arg-type]
        tets = sim.model.soft.elements.nodes
        mesh = TetMesh(sim.state.node_position, tets, "bar")
        rest, length = mesh.volumes, np.ptp(mesh.nodes[:, 0])
        stretch, volume, solved = [1.0], [1.0], 0
        for k in range(steps):
            progress(number * steps + k, len(MODELS) * steps, f"extension, {model}")
            solved += sim.step().solution.converged
            stretch.append(float(np.ptp(sim.state.node_position[:, 0]) / length))
            volume.append(float(volumes_of(sim.state.node_position, tets).sum() / rest.sum()))
        mu, lam = sim.model.soft.elements.parameter[0, :2].tolist()
        x = sim.state.node_position
        found[model] = Pull(
            np.array(stretch), np.array(volume), uniform_volume(model, mu, lam, np.array(stretch)),
            volumes_of(x, tets) / rest, x, tets, mesh.surface, solved,
        )  # fmt: skip
    return found


def rows(experiment: str, found: Mapping[str, Pull]) -> list[Row]:
    """Volumes at some stretches; the paper's are only in its picture."""
    lines = []
    for model, pull in found.items():
        for stretch in LOOKED_AT:
            name = f"{model}: volume at stretch {stretch:g} over that at rest"
            lines.append(Row(experiment, name, None, pull.volume_at(stretch), ""))
            free = float(np.interp(stretch, pull.stretch, pull.uniform))
            lines.append(Row(experiment, f"{name}, long bar with free ends", None, free, ""))
        lines.append(Row(experiment, f"{model}: least volume of an element", None, float(pull.element.min()), ""))
        lines.append(Row(experiment, f"{model}: largest volume of an element", None, float(pull.element.max()), ""))
        share = 100.0 * pull.converged / (len(pull.stretch) - 1)
        lines.append(Row(experiment, f"{model}: steps that are solved", None, share, "%"))
    return lines


def claims(experiment: str, found: Mapping[str, Pull]) -> list[Claim]:
    """Sec. 10.1.6: the linear model loses much volume, the hyperelastic one resists its change."""
    linear, other = ({stretch: found[model].volume_at(stretch) for stretch in (2.0, STRETCH)} for model in MODELS)
    words = [
        f"{100 * (v[2.0] - 1):+.1f} % at stretch 2, {100 * (v[STRETCH] - 1):+.1f} % at {STRETCH:g}"
        for v in (linear, other)
    ]
    return [
        Claim(
            experiment, "The linear corotational model loses much volume at large strains",
            "high volume loss", words[0], linear[2.0] < 1.0 - HIGH_LOSS,
        ),
        Claim(
            experiment, "The hyperelastic model strongly resists volume changes",
            "strongly resists", words[1], all(abs(v - 1.0) < KEPT for v in other.values()),
        ),
    ]  # fmt: skip
