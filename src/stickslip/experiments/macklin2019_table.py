"""[macklin2019] Table 2, rows of rigid bodies: sizes, and time a step at the paper's iteration counts, on one core."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stickslip import jit
from stickslip.contact.laws import CONTACT
from stickslip.experiments.macklin2019_steps import Stage
from stickslip.experiments.processes import Progress
from stickslip.experiments.report import Claim, Row
from stickslip.linalg.islands import find_islands
from stickslip.linalg.threads import one_blas_thread

STEPS, QUICK_STEPS = 40, 10


@dataclass(frozen=True)
class Printed:
    """A row of Table 2."""

    bodies: int
    joints: int
    contacts: int
    island: int
    """Contacts of the largest island."""
    newton: int
    linear: int
    assembly: float
    """[ms] mean; so are the next three, deviations the standard ones."""
    assembly_deviation: float
    solve: float
    solve_deviation: float


PAPER: Mapping[str, Printed] = {
    "arch": Printed(20, 0, 134, 134, 6, 20, 0.15, 0.05, 7.75, 1.4),
    "table-pile": Printed(54, 0, 936, 736, 4, 20, 0.1, 0.05, 3.7, 0.95),
    "beam-insertion": Printed(42, 42, 300, 300, 6, 50, 0.2, 0.1, 18.6, 2.25),
}
"""The beam's bodies and joints are with those of the robot that holds it."""
BEFORE = {"arch": 10, "table-pile": 60, "beam-insertion": 90}
"""Steps before those that are timed: until tables lie on each other, and much of the beam is in its hole."""
QUICK_BEFORE = {"arch": 10, "table-pile": 20, "beam-insertion": 30}


@dataclass(frozen=True, eq=False)
class Timed:
    """What was seen in the timed steps (n,) of a scene."""

    bodies: int
    joints: int
    contacts: NDArray[np.int64]
    largest_island: int
    """Most contacts of one island, at the last step."""
    assembly: NDArray[np.float64]
    """[ms] of assembling, in all Newton iterations of a step."""
    solve: NDArray[np.float64]
    """[ms] of the linear solver, in all Newton iterations of a step."""
    residual: float
    """Median of the scaled residual that these iterations reach."""

    @property
    def total(self) -> NDArray[np.float64]:
        """[ms] of the whole solve."""
        return self.assembly + self.solve


def measure(scene: str, quick: bool, progress: Progress) -> Timed:
    """Time a scene's steps on one thread, each with exactly the paper's iterations, from zero."""
    printed = PAPER[scene]
    counts = {"max_iterations": printed.newton, "linear_iterations": printed.linear}
    sim, watched = Stage(scene, 0).begin()
    steps = QUICK_STEPS if quick else STEPS
    before = (QUICK_BEFORE if quick else BEFORE)[scene]
    total = before + steps
    for k in range(before):
        sim.step()
        progress(k, total, scene)
    found: list[tuple[int, float, float, float]] = []
    with one_thread():
        while len(found) < steps:
            compiled = jit.compiled_count()
            sim.step()
            solution = watched.last.solve(**counts)
            if jit.compiled_count() != compiled:
                continue  # kernels were compiled on the way
            times = 1e3 * solution.timings["assemble"], 1e3 * solution.timings["linear"]
            found.append((watched.last.problem.contact_count, *times, float(solution.history[-1, 1])))
            progress(before + len(found), total, scene)
    contacts, assembly, solve, residual = np.array(found).T
    problem = watched.last.problem
    islands = find_islands(problem.J)
    of_contact = problem.laws.law == CONTACT
    largest = max(int(of_contact[islands.order[a:b]].sum()) for a, b in pairwise(islands.start.tolist()))
    return Timed(
        len(sim.model.dynamic), len(sim.model.joint_names), contacts.astype(np.int64), largest, assembly, solve,
        float(np.median(residual)),
    )  # fmt: skip


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for kernels and for dense algebra, as long as this lasts."""
    threads = jit.numba.get_num_threads()  # type: ignore[attr-defined]
    jit.numba.set_num_threads(1)  # type: ignore[attr-defined]
    try:
        with one_blas_thread():
            yield
    finally:
        jit.numba.set_num_threads(threads)  # type: ignore[attr-defined]


def rows(experiment: str, found: Mapping[str, Timed]) -> list[Row]:
    """Table 2, the paper's numbers beside ours."""
    lines = []
    for scene, timed in found.items():
        printed = PAPER[scene]
        for name, paper, ours, unit in (
            ("bodies", printed.bodies, timed.bodies, ""),
            ("joints", printed.joints, timed.joints, ""),
            ("contacts, mean", printed.contacts, float(timed.contacts.mean()), ""),
            ("contacts of the largest island", printed.island, timed.largest_island, ""),
            ("Newton iterations", printed.newton, printed.newton, ""),
            ("linear iterations", printed.linear, printed.linear, ""),
            ("assembly, mean", printed.assembly, float(timed.assembly.mean()), "ms"),
            ("assembly, standard deviation", printed.assembly_deviation, float(timed.assembly.std()), "ms"),
            ("solve, mean", printed.solve, float(timed.solve.mean()), "ms"),
            ("solve, standard deviation", printed.solve_deviation, float(timed.solve.std()), "ms"),
            ("assembly and solve, mean", printed.assembly + printed.solve, float(timed.total.mean()), "ms"),
            ("assembly and solve, median", None, float(np.median(timed.total)), "ms"),
            ("scaled residual after these iterations, median", None, timed.residual, ""),
        ):
            lines.append(Row(experiment, f"{scene}: {name}", paper, ours, unit))
    return lines


def claims(experiment: str, found: Mapping[str, Timed]) -> list[Claim]:
    """Time against the paper's GPU, and whether the linear solver takes most of it."""
    lines = []
    for scene, timed in found.items():
        printed = PAPER[scene]
        solve, total = float(timed.solve.mean()), float(timed.total.mean())
        size = f"with {timed.contacts.mean():.0f} contacts of {printed.contacts}"
        lines += [
            Claim(
                experiment, f"{scene}: the linear solver takes at most the paper's time, on one core against a GPU",
                f"{printed.solve:g} ms", f"{solve:.3g} ms {size}", solve <= printed.solve,
            ),
            Claim(
                experiment, f"{scene}: so do assembly and linear solver together",
                f"{printed.assembly + printed.solve:g} ms", f"{total:.3g} ms {size}",
                total <= printed.assembly + printed.solve,
            ),
        ]  # fmt: skip
    shares = {scene: float(timed.solve.mean() / timed.total.mean()) for scene, timed in found.items()}
    lines.append(
        Claim(
            experiment,
            "Cost is dominated by the linear solver, assembly is small",
            "typically dominated",
            ", ".join(f"{scene} {100 * share:.0f} %" for scene, share in shares.items()) + " in the linear solver",
            all(share > 0.5 for share in shares.values()),
        )
    )
    return lines
