"""[macklin2019] sec. 4, 7, 8 and 10 measured again: functions, scaling, inner solvers, soft bodies, limits, time.

Fig. 6 and 9 are in functions.py, Fig. 7 in insertion.py, Fig. 11 in systems.py, Fig. 12 in sheet.py, Fig. 13 in
extension.py, Fig. 14 in standing.py, Fig. 16 in quartiles.py, Fig. 17 and 18 in courses.py with the limits of
limits.py, Table 2 in table.py; sec. 8.1 and 8.2 in robustness.py, sec. 10.3 in distribution.py.

The paper leaves open, and we chose: sizes of its scenes, which step of them is looked at, what "converged" is (our
scaled residual at 1e-6), and r of Fig. 6 (1).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from stickslip.experiments import reproduction
from stickslip.experiments.macklin2019 import (
    course_claims,
    courses,
    distribution,
    extension,
    figures,
    functions,
    insertion,
    quartiles,
    robustness,
    sheet,
    soft_figures,
    standing,
    systems,
    table,
)
from stickslip.experiments.macklin2019.courses import Panel
from stickslip.experiments.macklin2019.steps import STEP
from stickslip.experiments.reproduction import Asked, Drawing, Experiment, Study, Task


def _scalings(precision: int, task: Task[None]) -> dict[str, Panel]:
    names = {scaling: scaling for scaling in courses.SCALINGS}
    return courses.panels(courses.FIG17, "scaling", names, task.quick, task.tell, precision)


def _inner_solvers(precision: int, task: Task[None]) -> dict[str, Panel]:
    return courses.panels(courses.FIG18, "linear", courses.INNER, task.quick, task.tell, precision)


def _courses(precision: int) -> dict[str, Experiment[None]]:
    """Fig. 17 and 18 in numbers of so many bits; the paper's have 32."""
    suffix, bits = ("", "") if precision == 64 else ("-32bit", ", in 32-bit numbers")
    return {
        f"fig17{suffix}": Experiment(
            partial(_scalings, precision), courses.rows, course_claims.scaling_claims,
            (Drawing(f"One step under three scalings{bits}; errors in the scaling of each, residuals comparable.",
                     figures.draw_courses),),
        ),
        f"fig18{suffix}": Experiment(
            partial(_inner_solvers, precision), courses.rows, course_claims.solver_claims,
            (Drawing(f"One step with four inner solvers{bits}; dashed: the limits of eq. 91 and 92.",
                     figures.draw_courses),),
        ),
    }  # fmt: skip


EXPERIMENTS: Mapping[str, Experiment[None]] = {
    "fig6": Experiment(
        lambda task: None,
        lambda name, _: functions.friction_rows(name),
        lambda name, _: functions.friction_claims(name),
        (Drawing("W and phi_f over the friction force; dotted: eq. 104 as printed.",
                 lambda _, *files: figures.draw_friction(*files)),),
    ),
    "fig7": Experiment(
        lambda task: insertion.measure(task.quick, task.tell), insertion.rows, insertion.claims,
        (Drawing("Forces on the beam that a robot pushes into a hole, and contacts, over time.", insertion.draw),),
    ),
    "fig9": Experiment(
        lambda task: None,
        lambda name, _: functions.scaling_rows(name),
        lambda name, _: functions.scaling_claims(name),
        (Drawing("The constraint c = lam / 4 - 1 / 8 without and with scaling, and Newton steps by start.",
                 lambda _, *files: figures.draw_scaling(*files)),),
    ),
    "fig11": Experiment(
        lambda task: systems.measure(task.tell), systems.rows, systems.claims,
        (Drawing("Residual, in the preconditioned norm, of four inner solvers on one linear system.",
                 figures.draw_systems),),
    ),
    "fig12": Experiment(
        lambda task: sheet.measure(task.quick, task.tell), sheet.rows, sheet.claims,
        (Drawing("A stretched sheet: merit where iterates overshoot, its course, and least residuals by stretch.",
                 soft_figures.draw_sheet),),
    ),
    "fig13": Experiment(
        lambda task: extension.measure(task.quick, task.tell), extension.rows, extension.claims,
        (Drawing("A bar pulled long: volume over stretch, and the bars at the end.", soft_figures.draw_extension),),
    ),
    "fig14": Experiment(
        lambda task: standing.measure(task.quick, task.tell), standing.rows, standing.claims,
        (Drawing("An arch and a stack of heavy boxes under four inner solvers.", standing.draw),),
    ),
    "fig16": Experiment(
        lambda task: quartiles.measure(task.quick, task.tell), quartiles.rows, quartiles.claims,
        (Drawing("Median and quartiles of the residual over the steps of the insertion, all solves from zero.",
                 figures.draw_quartiles),),
    ),
    **_courses(64),
    **_courses(32),
    "sec8": Experiment(
        lambda task: robustness.measure(task.quick, task.tell), robustness.rows, robustness.claims,
        (Drawing("Newton iterations by damping, start and line search.", robustness.draw),),
    ),
    "sec10.3": Experiment(
        lambda task: distribution.measure(task.quick, task.tell), distribution.rows, distribution.claims,
        (Drawing("Normal impulses around the foot of a cylinder under both functions.", distribution.draw),),
    ),
    "table2": Experiment(
        lambda task: {scene: table.measure(scene, task.quick, task.tell) for scene in table.PAPER},
        table.rows, table.claims,
        (Drawing("Time a step at the paper's iteration counts: its GPU, and one core here.", figures.draw_times),),
    ),
}  # fmt: skip

_NOTES = (
    "Errors of Fig. 17 and 18 are those that each solve sees, in its own scaling; the scaled residual is the same "
    "measure for all, and claims are judged by it.",
    "All solves of a scene take the same step, from zero velocity and zero impulses. The steps before it are made with "
    "the solver's defaults.",
    "Times are of this machine, on one core; the paper's are of a GTX 1070.",
    "fig17-32bit and fig18-32bit have functions, linear solver and iterates in 32-bit numbers, as the paper; a solve "
    "counts as converged at 1e-3 there. All else has 64 bit.",
)


def _settings(asked: Asked, shared: None) -> dict[str, str]:
    """What was run, in words and numbers that do not depend on the machine."""
    quick = asked.quick
    iterations = courses.QUICK_ITERATIONS if quick else courses.ITERATIONS
    steps = quartiles.QUICK_STEPS if quick else quartiles.STEPS
    timed = table.QUICK_STEPS if quick else table.STEPS
    return {
        "size": "quick" if quick else "full",
        "time step": f"{STEP} s",
        "solver": "newton: Fischer-Burmeister, effective-mass scaling, PCR, damping 0.75, start from zero",
        "fig11": f"system after {systems.NEWTON_ITERATIONS} Newton iterations",
        "fig12": f"square sheets of {sheet.QUICK_CELLS if quick else sheet.CELLS} cells a side, "
        f"{sheet.QUICK_ITERATIONS if quick else sheet.ITERATIONS} Newton iterations, direct linear solves",
        "fig13": f"scene extension to a stretch of {extension.STRETCH:g}, solver auto",
        "fig16": f"{steps} of {quartiles.STEPS} steps, {courses.LINEAR_ITERATIONS} PCR iterations",
        "fig17, fig18": f"{iterations} Newton iterations of {courses.LINEAR_ITERATIONS} linear ones; "
        + ", ".join(f"{scene}: step {stage.steps + 1}" for scene, stage in {**courses.FIG17, **courses.FIG18}.items()),
        "table2": f"{timed} steps of each scene",
    }


STUDY = Study(
    "macklin2019",
    "Macklin et al. (2019), Non-Smooth Newton Methods for Deformable Multi-Body Dynamics, measured again",
    EXPERIMENTS, lambda asked: None, _settings, lambda asked, shared: _NOTES,
)  # fmt: skip
reproduce = partial(reproduction.reproduce, STUDY)
"""Measures the experiments in this process, however many are asked for: times are compared."""
