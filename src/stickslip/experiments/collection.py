"""The collection of contact problems: steps of built-in scenes, small to hard, each with a reference solution.

A problem is written in two forms: ``.npz``, which comes back bit for bit, and FCLIB (``.hdf5``), which other programs
read. The reference is the best of several solvers by the residual of the exact law, which no solver computes.
``problems.json`` lists them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, Literal

from stickslip import __version__
from stickslip.contact.problem import ContactProblem
from stickslip.errors import FileError, StickslipError
from stickslip.experiments.progress import Progress
from stickslip.files import whole_file
from stickslip.io.problem_file import save_problem
from stickslip.scenes.parameters import Value
from stickslip.scenes.running import prepare
from stickslip.solvers.protocol import Solution
from stickslip.solvers.registry import make_solver
from stickslip.solvers.verdict import judge_solution

Size = Literal["small", "medium", "hard"]
SIZES: tuple[Size, ...] = ("small", "medium", "hard")
INDEX = "problems.json"
FCLIB = "fclib"
"""Folder of the FCLIB files: who compares on the folder above gets each problem once."""
REFERENCES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("auto", {"tolerance": 1e-12, "max_iterations": 20000, "max_work": inf}),
    ("prox-gs", {"tolerance": 1e-12, "max_iterations": 20000}),
    ("newton", {"tolerance": 1e-12, "max_iterations": 500}),
)
"""Solvers that references come from; later ones are tried where those before are not within GOOD."""
GOOD = 1e-9
"""Residual of the exact law, scaled, at which a reference is good enough."""


@dataclass(frozen=True)
class Source:
    """Where a problem comes from: the contact problem of a step of a scene."""

    name: str
    size: Size
    scene: str
    step: int
    settings: dict[str, Value]
    about: str


SOURCES: tuple[Source, ...] = (
    Source("box-on-slope", "small", "box-slope", 5, {}, "a box that sticks: four contacts, more than needed"),
    Source("box-slides", "small", "box-slide", 20, {}, "sliding friction in the direction of the slip"),
    Source("ellipse-slides", "small", "anisotropic-slide", 20, {}, "friction cones that are ellipses"),
    Source("mass-ratio", "small", "mass-ratio", 5, {}, "heavy on light"),
    Source("heavy-stack", "small", "heavy-stack", 5, {}, "cubes of 8 to 32768 kg, heaviest on top"),
    Source("arch-stands", "medium", "arch", 10, {}, "a stone arch without mortar: forces are not unique"),
    Source("arch-falls", "medium", "arch", 60, {"friction": 0.2}, "the same while it slides apart"),
    Source("wall", "medium", "wall", 10, {}, "a wall of bricks at rest"),
    Source("balls", "medium", "spheres", 60, {"count": 216, "across": 6}, "balls that fall, with torsional friction"),
    Source("beam-inserted", "medium", "beam-insertion", 40, {}, "joints and contacts"),
    Source("settled-balls", "hard", "spheres", 150, {"count": 512, "across": 8}, "a pile that comes to rest"),
    Source("jacks", "hard", "jacks", 60, {"count": 120}, "non-convex bodies, many contacts a pair"),
    Source("tower-at-rest", "hard", "tower", 20, {}, "a tower of bricks: long chains of forces"),
)


def make_collection(
    folder: Path, sizes: Sequence[Size] = SIZES, progress: Progress = lambda done, total, text: None
) -> list[dict[str, Any]]:
    """Write the problems of some sizes and their list into a folder; the list."""
    try:
        (folder / FCLIB).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make folder {folder}: {error.strerror or error}") from None
    chosen = [source for source in SOURCES if source.size in sizes]
    listed = []
    for k, source in enumerate(chosen):
        progress(k, len(chosen), f"{source.name}: step {source.step} of {source.scene}")
        listed.append(_make(source, folder))
    text = json.dumps({"stickslip": __version__, "problems": listed}, indent=1, allow_nan=False)
    with whole_file(folder / INDEX) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
    return listed


def _make(source: Source, folder: Path) -> dict[str, Any]:
    """Write one problem; its line of the list."""
    run = prepare(source.scene, settings=source.settings)
    for _ in range(source.step):
        result = run.sim.step()
    problem = result.problem
    name, solution, residual = reference(problem)
    about = f"{source.about}; step {source.step} of {source.scene}, {run.sim.stepping.dt:g} s a step"
    guesses = [result.warm] if result.warm is not None and result.warm.any() else []
    forms, refused = [], ""
    for file in (folder / f"{source.name}.npz", folder / FCLIB / f"{source.name}.hdf5"):
        try:
            save_problem(problem, file, solution.lam, guesses, source.name, about)
            forms.append(file.relative_to(folder).as_posix())
        except FileError as error:  # what FCLIB cannot express
            refused = str(error)
    return {
        "name": source.name, "size": source.size, "about": about, "contacts": problem.contact_count,
        "rows": problem.row_count, "unknowns": problem.unknown_count, "forms": forms, "reference_solver": name,
        "reference_residual": residual, "note": refused,
    }  # fmt: skip


def reference(problem: ContactProblem) -> tuple[str, Solution, float]:
    """Who solves a problem best, the solution, and its residual of the exact law, scaled."""
    best: tuple[str, Solution, float] | None = None
    for name, options in REFERENCES:
        try:
            solver = make_solver(name, **options)
            solution = solver.solve(problem)
            residual = judge_solution(solver, solution.problem or problem, solution).exact.scaled
        except StickslipError:
            continue
        if best is None or residual < best[2]:
            best = name, solution, float(residual)
        if best[2] <= GOOD:
            break
    assert best is not None  # auto takes every problem
    return best
