"""[han2023] Fig. 7: a cantilever after one second, rotations lagged by a step against those of its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.experiments.progress import Progress
from stickslip.experiments.report import Claim, Row
from stickslip.geometry.tet_mesh import TetMesh
from stickslip.scene.soft_body import SoftBody
from stickslip.scenes.parameters import Value
from stickslip.scenes.running import prepare

LAGGED, POLAR = "lagged-corotational", "corotational"
STEPS, QUICK_STEPS = (1.0, 0.1, 0.01, 0.0025), (1.0, 0.1, 0.02)
"""[s]; the paper has the first three."""
SHOWN = 3
"""Steps that are drawn."""
DAMPED = 0.01
"""[s] damping by stiffness in a second comparison; sec. VII has it as its default."""
END = 1.0
"""[s]"""
LATER = 9
"""Steps of 1 s more, to see whether a model stays stable."""
BEAM: Mapping[str, Value] = {
    "young": 5e5, "poisson": 0.4, "gravity": 9.81, "alpha": 0.0, "beta": 0.0, "divisions": (16.0, 2.0, 2.0),
}  # fmt: skip
"""The paper says nothing of its beam; this one, 1 m long, hangs by more than half of its length. Without damping,
since damping by K differs: that of the corotational model resists the turning of stresses, lagged rotations do not."""
BOUND = 1.5
"""Distance of a node from the clamp, over the length, up to which a beam counts as stable after LATER steps."""


@dataclass(frozen=True, eq=False)
class Bent:
    """A beam at END."""

    x: Array
    """(nn, 3) [m]"""
    volume: float
    """Over that at rest."""
    solved: bool
    """Whether every step was solved; energies that a lagged rotation adds are not looked at."""
    reach: float
    """[m] largest distance of a node from the clamp, LATER steps after END; NaN where that was not tried."""


@dataclass(frozen=True, eq=False)
class Beams:
    """All beams by model and step."""

    bent: Mapping[tuple[str, float], Bent]
    damped: Mapping[tuple[str, float], Bent]
    """Those with damping by stiffness, of the two smallest steps."""
    length: float
    surface: Ints

    def distance(self, dt: float, damped: bool = False) -> float:
        """Root mean square over nodes of the distance between the models, over the length."""
        beams = self.damped if damped else self.bent
        apart = beams[LAGGED, dt].x - beams[POLAR, dt].x
        return float(np.sqrt((apart**2).sum(axis=1).mean())) / self.length

    @property
    def steps(self) -> list[float]:
        """[s] in descending order."""
        return sorted({dt for _, dt in self.bent}, reverse=True)


def measure(quick: bool, progress: Progress) -> Beams:
    """Bend the beam with both models at all steps."""
    sizes = QUICK_STEPS if quick else STEPS
    bent, damped = {}, {}
    for k, dt in enumerate(sizes):
        for model in (LAGGED, POLAR):
            progress(k, len(sizes), f"cantilever, {model}, steps of {1e3 * dt:g} ms")
            bent[model, dt] = bend(model, dt, 0.0, LATER if dt == END else 0)
            if dt in sizes[-2:]:
                damped[model, dt] = bend(model, dt, DAMPED)
    run = prepare("cantilever", "sap", dict(BEAM))
    mesh = TetMesh(run.sim.state.node_position, run.sim.model.soft.elements.nodes, "beam")
    return Beams(bent, damped, float(np.ptp(mesh.nodes[:, 0])), mesh.surface)


def bend(model: str, dt: float, beta: float, later: int = 0) -> Bent:
    """The beam at END with steps dt [s] and damping by stiffness beta [s]."""
    sim = prepare("cantilever", "sap", {**BEAM, "model": model, "beta": beta}, dt=dt).sim
    beam = SoftBody(0, "beam")
    rest, solved = sim.soft_volume(beam), True
    for _ in range(round(END / dt)):
        solved = sim.step().solution.converged and solved
    x, volume = sim.nodes(beam), sim.soft_volume(beam) / rest
    for _ in range(later):
        sim.step()
    reach = float(np.linalg.norm(sim.nodes(beam) - [0.0, 0.0, 1.0], axis=1).max()) if later else float("nan")
    return Bent(x, volume, solved, reach)


def rows(experiment: str, found: Beams) -> list[Row]:
    """Volumes, tips and distances."""
    lines = []
    for (model, dt), beam in sorted(found.bent.items(), key=lambda item: (-item[0][1], item[0][0])):
        label = f"{model}, {1e3 * dt:g} ms"
        lines.append(Row(experiment, f"{label}: volume over that at rest", None, beam.volume, ""))
        drop = 1.0 - float(beam.x[:, 2].min()) / found.length
        lines.append(Row(experiment, f"{label}: lowest node below the clamp, over the length", None, drop, ""))
    for damped, beams in ((False, found.bent), (True, found.damped)):
        words = f", damped by stiffness times {DAMPED} s" if damped else ""
        lines += [
            Row(
                experiment, f"distance of the models at {1e3 * dt:g} ms over the length{words}",
                None, found.distance(dt, damped), "",
            )
            for dt in sorted({dt for _, dt in beams}, reverse=True)
        ]  # fmt: skip
    return lines


def claims(experiment: str, found: Beams) -> list[Claim]:
    """Sec. VII-E."""
    large = {model: found.bent[model, END] for model in (LAGGED, POLAR)}
    stable = {model: beam.reach < BOUND * found.length for model, beam in large.items()}
    apart = [found.distance(dt) for dt in found.steps]
    words = ", ".join(f"{100 * d:.2g} % at {1e3 * dt:g} ms" for d, dt in zip(apart, found.steps, strict=True))
    seen = {
        model: f"{'stable' if ok else 'unstable'}, reaches {large[model].reach:.3g} m" for model, ok in stable.items()
    }
    return [
        Claim(
            experiment, "With steps of 1 s, lagged rotations gain volume", "spurious volume gains",
            f"volume times {large[LAGGED].volume:.3g}", large[LAGGED].volume > 1.01,
        ),
        Claim(
            experiment, "With steps of 1 s, lagged rotations remain stable", "remains stable",
            f"{seen[LAGGED]} after {LATER} more steps", stable[LAGGED],
        ),
        Claim(
            experiment, "With steps of 1 s, the corotational model is unstable", "become unstable",
            f"{seen[POLAR]} after {LATER} more steps; its matrices are definite here, and steps that go uphill are cut",
            not stable[POLAR],
        ),
        Claim(
            experiment, "With smaller steps, the two models converge to each other", "converge",
            f"distance over the length: {words}",
            all(fine < coarse for coarse, fine in zip(apart[:-1], apart[1:], strict=True)),
        ),
    ]  # fmt: skip
