"""[macklin2019] Fig. 12: Newton solves of a stretched elastic sheet with and without geometric stiffness (sec. 8.3).

The sheet is one layer of cells thick, held at two edges that are pulled apart. ``auto`` makes its steps; some of them
the non-smooth Newton method solves too, with elements as compliant rows, from zero, with and without geometric
stiffness. Its linear systems are solved directly, so that nothing but the linearisation matters, and since all rows are
smooth it takes whole steps.

The merit function is the error of momentum where forces are those of the strain, as a velocity:

    merit(v) = |v - v_free + A^-1 J^T (J v + bias) / E|       all linearised at v, [m/s]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.experiments.macklin2019.courses import CONVERGED
from stickslip.experiments.macklin2019.steps import STEP, Beside, Moment
from stickslip.experiments.progress import Progress
from stickslip.experiments.report import Claim, Row
from stickslip.geometry import tet_generators
from stickslip.linalg import block_rows
from stickslip.model.stepping import Stepping
from stickslip.scene.scene import Scene
from stickslip.scene.soft_body import elastic
from stickslip.solvers.protocol import Relinearise

Vector = Array
YOUNG, POISSON, DENSITY, ALPHA = 1e5, 0.45, 1000.0, 2.0
"""Those of sec. 10.1.6, which says that the same is seen there; density [kg/m^3] and damping by mass [1/s] are ours."""
STRETCH = 2.4
"""Of the sheet at the end; the corotational one has lost nearly all of its volume at 2.8, and then turns inside out."""
STEPS, QUICK_STEPS = 140, 35
"""Steps in which it is stretched."""
EVERY, QUICK_EVERY = 10, 7
"""Steps from one that is looked at to the next."""
ITERATIONS, QUICK_ITERATIONS = 100, 40
CELLS, QUICK_CELLS = 8, 6
LARGE = 2.0
"""Stretch from which on strains are called large."""
OFTEN = 0.5
SETTINGS = {True: "with", False: "without"}


@dataclass(frozen=True)
class Sheet:
    """A square sheet of an elastic model; width and thickness [m]."""

    model: str
    width: float
    thickness: float

    def scene(self, cells: int, duration: float) -> Scene:
        """The sheet in cells x cells x 1 cells of six tetrahedra, stretched along x over ``duration`` [s]."""
        scene = Scene(gravity=(0.0, 0.0, 0.0))
        mesh = tet_generators.box((self.width, self.width, self.thickness), (cells, cells, 1), "mirrored")
        material = elastic(YOUNG, POISSON, model=self.model, density=DENSITY, alpha=ALPHA)  # type: ignore[arg-type]
        body = scene.add_soft(mesh, material, name="sheet")
        way = 0.5 * self.width * (STRETCH - 1.0)
        for side in (-1.0, 1.0):

            def pull(time: float, side: float = side) -> tuple[ArrayLike, ArrayLike]:
                return (side * way * min(time / duration, 1.0), 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)

            scene.hold_nodes(body, side * mesh.nodes[:, 0] > 0.5 * self.width * (1.0 - 1e-9), pull)
        return scene


CASES: Mapping[str, Sheet] = {
    "corotational": Sheet("corotational", 1.0, 0.05),
    "neo-hookean": Sheet("neo-hookean", 1.0, 0.05),
    "neo-hookean, 0.2 m": Sheet("neo-hookean", 0.2, 0.01),
}
"""The paper gives neither model nor size. In a step of the same length a sheet of a fifth of the size is 25 times as
stiff for its mass."""
QUICK_CASES = ("corotational", "neo-hookean")


@dataclass(frozen=True, eq=False)
class Trace:
    """The iterates of one Newton solve, the start first; it ends early where numbers overflow."""

    residual: Vector
    """(k + 1,) scaled residual."""
    merit: Vector
    """(k + 1,) [m/s] of the merit function."""
    v: Vector
    """(k + 1, nv) [m/s] velocities."""

    @property
    def converged(self) -> int | None:
        """Newton iterations until the scaled residual counts as converged, or None."""
        below = np.flatnonzero(self.residual <= CONVERGED)
        return int(below[0]) if len(below) else None

    @property
    def turned(self) -> float:
        """Share of the iterations that go back against the one before: they overshoot. Until convergence."""
        change = np.diff(self.v[: None if self.converged is None else self.converged + 1], axis=0)
        if len(change) < 2:
            return 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            return float((np.einsum("kn,kn->k", change[1:], change[:-1]) < 0.0).mean())


@dataclass(frozen=True, eq=False)
class Look:
    """One step: the stretch at its end, the two solves, and the solution of ``auto``."""

    stretch: float
    traces: Mapping[bool, Trace]
    """With geometric stiffness, and without."""
    solution: Vector
    """(nv,) [m/s]"""
    moment: Moment

    @property
    def line(self) -> Vector:
        """(nv,) unit vector along which the iterates without geometric stiffness depart most from the solution."""
        apart = self.traces[False].v[1:] - self.solution
        size = np.linalg.norm(apart, axis=1)
        kept = apart[np.isfinite(size) & (size < 10.0 * np.median(size[:8]))]
        return np.linalg.svd(kept, full_matrices=False)[2][0]

    def along(self, setting: bool) -> Vector:
        """(k + 1,) [m/s] where the iterates are on the line, from the solution on."""
        return (self.traces[setting].v - self.solution) @ self.line

    def merit_at(self, where: Vector) -> Vector:
        """[m/s] merit function at places (n,) on the line."""
        assert self.moment.relinearise is not None
        places = [self.solution + s * self.line for s in where]
        return np.array([merit(self.moment.relinearise(v, None), v) for v in places])


def merit(problem: ContactProblem, v: Vector) -> float:
    """[m/s] the merit function of a problem of elastic rows alone, linearised at v (nv,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        lam = -(block_rows.apply(problem.J, v) + problem.bias) / problem.laws.compliance
        error = v - problem.v_free - problem.A.solve(block_rows.apply_transpose(problem.J, lam))
        return float(np.linalg.norm(error))


@dataclass(eq=False)
class _Recorder:
    """A linearisation that keeps the velocities it is asked for, and their merit."""

    inner: Relinearise
    v: list[Vector] = field(default_factory=list)
    merit: list[float] = field(default_factory=list)

    def __call__(self, v: Vector, lam: Vector | None = None) -> ContactProblem:
        problem = self.inner(v, lam)
        self.v.append(v.copy())
        self.merit.append(merit(problem, v))
        return problem


def trace_of(moment: Moment, iterations: int, stiffness: bool) -> Trace:
    """The iterates of one solve with or without geometric stiffness."""
    assert moment.relinearise is not None
    recorder = _Recorder(moment.relinearise)
    with np.errstate(over="ignore", invalid="ignore"):
        solution = replace(moment, relinearise=recorder).solve(
            max_iterations=iterations, linear="direct", geometric_stiffness=stiffness
        )
    residual = solution.history[:, 1]
    finite = np.isfinite(residual) & np.isfinite(recorder.merit[: len(residual)])
    count = int(np.argmin(finite)) if not finite.all() else len(residual)
    return Trace(residual[:count], np.array(recorder.merit[:count]), np.array(recorder.v[:count]))


def measure(quick: bool, progress: Progress) -> dict[str, list[Look]]:
    """By case, the steps that are looked at."""
    steps, every, iterations, cells = (
        (QUICK_STEPS, QUICK_EVERY, QUICK_ITERATIONS, QUICK_CELLS) if quick else (STEPS, EVERY, ITERATIONS, CELLS)
    )
    found: dict[str, list[Look]] = {}
    cases = {name: sheet for name, sheet in CASES.items() if not quick or name in QUICK_CASES}
    for number, (name, sheet) in enumerate(cases.items()):
        beside = Beside(sheet.scene(cells, steps * STEP), Stepping(dt=STEP))
        found[name] = []
        for k in range(1, steps + 1):
            progress(number * steps + k - 1, len(cases) * steps, f"sheet, {name}")
            if k % every:
                beside.sim.step()
                continue
            result, moment = beside.step()
            traces = {setting: trace_of(moment, iterations, setting) for setting in SETTINGS}
            stretch = 1.0 + (STRETCH - 1.0) * k / steps
            found[name].append(Look(stretch, traces, result.solution.v, moment))
    return found


def hard_look(looks: list[Look]) -> Look:
    """The first step with a large strain."""
    return next(look for look in looks if look.stretch > LARGE - 1e-9)


def rows(experiment: str, found: Mapping[str, list[Look]]) -> list[Row]:
    """Numbers of Fig. 12; the paper's are only in its picture."""
    lines = []
    for name, looks in found.items():
        hard = hard_look(looks)
        for setting, word in SETTINGS.items():
            case = f"{name}, {word} geometric stiffness"
            solved = [look.traces[setting].converged is not None for look in looks]
            count = f"{case}: steps that reach {CONVERGED:g}, of {len(looks)}"
            lines.append(Row(experiment, count, None, sum(solved), ""))
            trace = hard.traces[setting]
            where = f"{case}, stretch {hard.stretch:.2f}"
            lines.append(Row(experiment, f"{where}: Newton iterations to {CONVERGED:g}", None, trace.converged, ""))
            lines.append(Row(experiment, f"{where}: last merit", None, float(trace.merit[-1]), "m/s"))
            lines.append(Row(experiment, f"{where}: iterations that turn back", None, 100.0 * trace.turned, "%"))
    return lines


def claims(experiment: str, found: Mapping[str, list[Look]]) -> list[Claim]:
    """Fig. 12 and sec. 10.1.6: without geometric stiffness iterates overshoot at large strains; with it all is well."""
    lines = []
    for name, looks in found.items():
        large = [look for look in looks if look.stretch > LARGE - 1e-9]
        turned = {s: float(np.median([look.traces[s].turned for look in large])) for s in SETTINGS}
        solved = {s: sum(look.traces[s].converged is not None for look in large) for s in SETTINGS}
        lines += [
            Claim(
                experiment, f"{name}: without geometric stiffness iterates overshoot and oscillate at large strains",
                "overshooting and oscillating",
                f"at stretches from {LARGE:g} on {100 * turned[False]:.0f} % of the iterations turn back, with it "
                f"{100 * turned[True]:.0f} %; {solved[False]} of {len(large)} steps reach {CONVERGED:g}",
                turned[False] > OFTEN and solved[False] == 0,
            ),
            Claim(
                experiment, f"{name}: geometric stiffness is essential where strains are large", "essential",
                f"with it {solved[True]} of {len(large)} steps reach {CONVERGED:g}, without it {solved[False]}",
                solved[True] == len(large) and solved[False] == 0,
            ),
        ]  # fmt: skip
    return lines
