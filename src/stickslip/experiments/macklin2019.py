"""[macklin2019] sec. 4, 7, 8 and 10 measured again: functions, scaling, inner solvers, soft bodies, limits, time.

Each experiment is a function that measures, draws its figure and returns rows and claims. Fig. 6 and 9 are in
macklin2019_functions.py, Fig. 11 in macklin2019_systems.py, Fig. 12 in macklin2019_sheet.py, Fig. 13 in
macklin2019_extension.py, Fig. 16 in macklin2019_quartiles.py, Fig. 17 and 18 in macklin2019_courses.py with the limits
of macklin2019_limits.py, Table 2 in macklin2019_table.py.

The paper leaves open, and we chose: sizes of its scenes, which step of them is looked at, what "converged" is (our
scaled residual at 1e-6), and r of Fig. 6 (1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from stickslip.experiments import macklin2019_course_claims as course_claims
from stickslip.experiments import macklin2019_courses as courses
from stickslip.experiments import macklin2019_extension as extension
from stickslip.experiments import macklin2019_figures as figures
from stickslip.experiments import macklin2019_functions as functions
from stickslip.experiments import macklin2019_quartiles as quartiles
from stickslip.experiments import macklin2019_sheet as sheets
from stickslip.experiments import macklin2019_soft_figures as soft_figures
from stickslip.experiments import macklin2019_systems as systems
from stickslip.experiments import macklin2019_table as times
from stickslip.experiments.macklin2019_steps import STEP
from stickslip.experiments.processes import Progress
from stickslip.experiments.report import Claim, Figure, Report, Row, ready_folder, write_report
from stickslip.view.drawing import needed_packages

TITLE = "Macklin et al. (2019), Non-Smooth Newton Methods for Deformable Multi-Body Dynamics, measured again"

Measured = tuple[list[Row], list[Claim]]
Measure = Callable[[str, bool, Path, Path, Progress], Measured]
"""Measures the experiment of that name, quickly or in full, and writes a picture and a table."""


def _fig6(experiment: str, quick: bool, picture: Path, table: Path, progress: Progress) -> Measured:
    figures.draw_friction(picture, table)
    return functions.friction_rows(experiment), functions.friction_claims(experiment)


def _fig9(experiment: str, quick: bool, picture: Path, table: Path, progress: Progress) -> Measured:
    figures.draw_scaling(picture, table)
    return functions.scaling_rows(experiment), functions.scaling_claims(experiment)


def _fig11(experiment: str, quick: bool, picture: Path, table: Path, progress: Progress) -> Measured:
    found = systems.measure(progress)
    figures.draw_systems(found, picture, table)
    return systems.rows(experiment, found), systems.claims(experiment, found)


def _fig12(experiment: str, quick: bool, picture: Path, table: Path, progress: Progress) -> Measured:
    found = sheets.measure(quick, progress)
    soft_figures.draw_sheet(found, picture, table)
    return sheets.rows(experiment, found), sheets.claims(experiment, found)


def _fig13(experiment: str, quick: bool, picture: Path, table: Path, progress: Progress) -> Measured:
    found = extension.measure(quick, progress)
    soft_figures.draw_extension(found, picture, table)
    return extension.rows(experiment, found), extension.claims(experiment, found)


def _fig16(experiment: str, quick: bool, picture: Path, table: Path, progress: Progress) -> Measured:
    found = quartiles.measure(quick, progress)
    figures.draw_quartiles(found, picture, table)
    return quartiles.rows(experiment, found), quartiles.claims(experiment, found)


def _fig17(experiment: str, quick: bool, picture: Path, table: Path, progress: Progress) -> Measured:
    names = {scaling: scaling for scaling in courses.SCALINGS}
    found = courses.panels(courses.FIG17, "scaling", names, quick, progress)
    figures.draw_courses(found, picture, table)
    return courses.rows(experiment, found), course_claims.scaling_claims(experiment, found)


def _fig18(experiment: str, quick: bool, picture: Path, table: Path, progress: Progress) -> Measured:
    found = courses.panels(courses.FIG18, "linear", courses.INNER, quick, progress)
    figures.draw_courses(found, picture, table)
    return courses.rows(experiment, found), course_claims.solver_claims(experiment, found)


def _table2(experiment: str, quick: bool, picture: Path, table: Path, progress: Progress) -> Measured:
    found = {scene: times.measure(scene, quick, progress) for scene in times.PAPER}
    figures.draw_times(found, picture, table)
    return times.rows(experiment, found), times.claims(experiment, found)


EXPERIMENTS: Mapping[str, tuple[Measure, str]] = {
    "fig6": (_fig6, "W and phi_f over the friction force; dotted: eq. 104 as printed."),
    "fig9": (_fig9, "The constraint c = lam / 4 - 1 / 8 without and with scaling, and Newton steps by start."),
    "fig11": (_fig11, "Residual, in the preconditioned norm, of four inner solvers on one linear system."),
    "fig12": (_fig12, "A stretched sheet: merit where iterates overshoot, its course, and least residuals by stretch."),
    "fig13": (_fig13, "A bar pulled long: volume over stretch, and the bars at the end."),
    "fig16": (_fig16, "Median and quartiles of the residual over the steps of the insertion, all solves from zero."),
    "fig17": (_fig17, "One step under three scalings; errors in the scaling of each, residuals comparable."),
    "fig18": (_fig18, "One step with four inner solvers; dashed: the limits of eq. 91 and 92 for 64-bit numbers."),
    "table2": (_table2, "Time a step at the paper's iteration counts: its GPU, and one core here."),
}


def reproduce(
    experiments: Sequence[str], quick: bool, out: Path, progress: Progress, workers: int | None = None
) -> Report:
    """Run the experiments in this process, whatever ``workers`` says, and write figures, tables and a report."""
    needed_packages()  # before the work, not after it
    folder = ready_folder(out)
    rows: list[Row] = []
    claims: list[Claim] = []
    drawn: list[Figure] = []
    for experiment in experiments:
        measure, caption = EXPERIMENTS[experiment]
        stem = folder / experiment

        def tell(done: int, total: int, text: str, experiment: str = experiment) -> None:
            progress(done, total, f"{experiment}: {text}")

        measured = measure(experiment, quick, stem.with_suffix(".png"), stem.with_suffix(".csv"), tell)
        rows += measured[0]
        claims += measured[1]
        drawn.append(Figure(experiment, experiment, caption))
    report = Report(
        "macklin2019", TITLE, tuple(experiments), _settings(quick), tuple(rows), tuple(claims), tuple(drawn), _NOTES
    )
    write_report(report, folder)
    return report


_NOTES = (
    "Errors of Fig. 17 and 18 are those that each solve sees, in its own scaling; the scaled residual is the same "
    "measure for all, and claims are judged by it.",
    "All solves of a scene take the same step, from zero velocity and zero impulses. The steps before it are made with "
    "the solver's defaults.",
    "Times are of this machine, on one core; the paper's are of a GTX 1070.",
    "Limits of eq. 91 and 92 are for 64-bit numbers, which are used here; the paper has 32-bit ones.",
)


def _settings(quick: bool) -> dict[str, str]:
    """What was run, in words and numbers that do not depend on the machine."""
    iterations = courses.QUICK_ITERATIONS if quick else courses.ITERATIONS
    steps = quartiles.QUICK_STEPS if quick else quartiles.STEPS
    timed = times.QUICK_STEPS if quick else times.STEPS
    return {
        "size": "quick" if quick else "full",
        "time step": f"{STEP} s",
        "solver": "newton: Fischer-Burmeister, effective-mass scaling, PCR, damping 0.75, start from zero",
        "fig11": f"system after {systems.NEWTON_ITERATIONS} Newton iterations",
        "fig12": f"square sheets of {sheets.QUICK_CELLS if quick else sheets.CELLS} cells a side, "
        f"{sheets.QUICK_ITERATIONS if quick else sheets.ITERATIONS} Newton iterations, direct linear solves",
        "fig13": f"scene extension to a stretch of {extension.STRETCH:g}, solver auto",
        "fig16": f"{steps} of {quartiles.STEPS} steps, {courses.LINEAR_ITERATIONS} PCR iterations",
        "fig17, fig18": f"{iterations} Newton iterations of {courses.LINEAR_ITERATIONS} linear ones; "
        + ", ".join(f"{scene}: step {stage.steps + 1}" for scene, stage in {**courses.FIG17, **courses.FIG18}.items()),
        "table2": f"{timed} steps of each scene",
    }
