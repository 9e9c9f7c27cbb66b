"""[lee2023] sec. V measured again: Tables I to IX, Fig. 6, 11, 13 and 14.

The boxes (Table I, Fig. 6 and 14) are in slides.py, the four scenes against PGS and APGD (II, III, V, VI) in tables.py,
what is varied on them (IV, VII, IX) in variants.py, whole runs of them (Fig. 7 and 8) in runs.py and with a robot (II,
V, VI) in robots.py, position-based dynamics (VIII) in cable.py, Fig. 11 in growth.py, Fig. 13 in inverse.py; trials in
trials.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from stickslip.experiments import reproduction
from stickslip.experiments.lee2023 import (
    cable,
    figures,
    growth,
    inverse,
    robots,
    runs,
    slide_figures,
    slides,
    tables,
    variants,
)
from stickslip.experiments.lee2023.trials import CONVERGED, Runs
from stickslip.experiments.reproduction import Asked, Drawing, Experiment, Study, Task


@dataclass(frozen=True)
class Shared:
    """Trials that tables share, and the runs of Table I, which Fig. 6 shows; each made once."""

    asked: Asked
    runs: Runs

    @cached_property
    def boxes(self) -> dict[str, slides.Slide]:
        """The runs of Table I."""
        return slides.measure(self.asked.quick, self.asked.progress)


def _comparison(name: str, caption: str) -> Experiment[Shared]:
    """Tables II, III, V and VI."""
    return Experiment(
        lambda task: tables.measure(name, task.quick, task.shared.runs), tables.rows, tables.claims,
        (Drawing(caption, partial(figures.draw_comparison, name)),),
    )  # fmt: skip


def _measure_cable(task: Task[Shared]) -> cable.Table8:
    return cable.table8(task.quick, progress=lambda text: task.asked.progress(0, 1, f"cable-winding, {text}"))


EXPERIMENTS: Mapping[str, Experiment[Shared]] = {
    "table1": Experiment(
        lambda task: task.shared.boxes, slides.rows, slides.claims,
        (Drawing("Errors of a pushed box: virtual nodes and springs.", slide_figures.draw_table),),
    ),
    "table2": _comparison("table2", "A mat is folded: COND, PGS and APGD."),
    "table3": _comparison("table3", "A ball is gripped: COND, PGS and APGD."),
    "table4": Experiment(
        lambda task: variants.measure_stiffness(task.quick, task.shared.runs),
        variants.stiffness_rows, variants.stiffness_claims,
        (Drawing("Iterations by the stiffness of the ball.", figures.draw_stiffness),),
    ),
    "table5": _comparison("table5", "A cable is wound: COND, PGS and APGD."),
    "table6": _comparison("table6", "Soft fingers close on an object: COND, PGS and APGD."),
    "table7": Experiment(
        lambda task: variants.measure_splitting(task.quick, task.shared.runs),
        variants.splitting_rows, variants.splitting_claims,
        (Drawing("COND and contact constraint splitting on the mat, fixed iterations.", figures.draw_splitting),),
    ),
    "table8": Experiment(
        _measure_cable, cable.rows, cable.claims,
        (Drawing("COND and position-based dynamics on the cable: force on the hand (Fig. 12 without the sensor).",
                 figures.draw_cable),),
    ),
    "table9": Experiment(
        lambda task: variants.measure_chebyshev(task.quick, task.shared.runs),
        variants.chebyshev_rows, variants.chebyshev_claims,
        (Drawing("Iterations of COND without and with Chebyshev acceleration.", figures.draw_chebyshev),),
    ),
    "runs": Experiment(
        lambda task: runs.measure(task.quick, task.asked.progress), runs.rows, runs.claims,
        (Drawing("Whole runs of COND: iterations, penetration and internal force by step (Fig. 7 and 8).", runs.draw),),
    ),
    "robots": Experiment(
        lambda task: robots.measure(task.quick, task.asked.progress), robots.rows, robots.claims,
        (Drawing("COND with an arm's joints among the unknowns (Tables II, V, VI): iterations and contacts by step.",
                 robots.draw),),
    ),
    "fig6": Experiment(
        lambda task: task.shared.boxes, slides.end_rows, lambda name, found: [],
        (Drawing("The pushed box: position over time, and its error.", slide_figures.draw_slide),),
    ),
    "fig11": Experiment(
        lambda task: growth.measure(task.quick, task.shared.runs), growth.rows, growth.claims,
        (Drawing("Solver time over unknowns of the mat.", figures.draw_growth),),
    ),
    "fig13": Experiment(
        lambda task: inverse.measure(task.quick, task.asked.progress), inverse.rows, inverse.claims,
        (Drawing("Contact forces of the regularised model, forward and from velocities; strict beside them.",
                 figures.draw_forces),),
    ),
    "fig14": Experiment(
        lambda task: slides.measure_anisotropic(task.quick, task.asked.progress),
        slides.anisotropic_rows, slides.anisotropic_claims,
        (Drawing("A box slides where friction depends on the direction.", slide_figures.draw_ways),),
    ),
}  # fmt: skip

_NOTES = (
    f"Curves of force sensors and cameras on real robots (Fig. 9, 10 and 12; FE and DE of Tables V, VI and VIII) are "
    f"{tables.NOT_HERE}. Errors are against converged steps instead.",
    "Errors are those of one step against a converged one from the same state; the paper compares whole trajectories, "
    "which part where contacts stick or slip. IE and FE are differences of norms, as in the paper.",
    "COND leads through each trial; at some points of it every method takes steps of its own, which are "
    "averaged. So all methods meet the same situations, and penetrations are those that a few steps leave.",
    "Times are CPU times on one thread of this machine; steps that compiled or loaded kernels are left out, as is what "
    "the criterion of PGS and APGD alone costs, a solve with A. The paper's are of four cores of an i5-7500.",
    "PGS projects on discs of friction and APGD on cones, whose law is the convex one; the reference is the exact law.",
    f"Omega of Fig. 13 is {inverse.OMEGA:g} m/(s N) for forces, as in the paper, {inverse.OMEGA / 0.01:g} / kg for our "
    "impulses in steps of 10 ms.",
    "Sizes and courses of mat, ball, gripper and cable are ours where the paper gives none.",
)


def _notes(asked: Asked, shared: Shared) -> list[str]:
    return [*_NOTES, *(text for seen in shared.runs.found.values() for text in seen.lost)]


def _settings(asked: Asked, shared: Shared) -> dict[str, str]:
    """What was run, in words and numbers that do not depend on the machine."""
    quick = asked.quick
    courses = {name: table.course(quick) for name, table in tables.COMPARISONS.items()}
    sizes = growth.QUICK_DIVISIONS if quick else growth.DIVISIONS
    return {
        "size": "quick" if quick else "full",
        "reference": f"cond (cable: auto), one linearisation, until the residual is {CONVERGED:g} or no longer falls",
        **{
            name: f"{course.scene}: {len(course.seeds)} trials of {course.burst} steps after {_listed(course.points)}"
            for name, course in courses.items()
        },
        "table4": "ball-grip, one trial of each stiffness, steps as in table3",
        "runs": ", ".join(
            f"{name}: {each.quick_steps if quick else each.steps} steps" for name, each in runs.SCENES.items()
        ),
        "robots": ", ".join(
            f"{name}: {each.quick_steps if quick else each.steps} steps" for name, each in robots.SCENES.items()
        ),
        "fig11": "; ".join(f"{name}: divisions {_listed(each)}" for name, each in sizes.items()),
        "fig13": ", ".join(
            f"{name}: {count} steps" for name, count in (inverse.QUICK_STEPS if quick else inverse.STEPS).items()
        ),
    }


def _listed(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


STUDY = Study(
    "lee2023", "Lee, Lee and Lee (2023), Large-Dimensional Multibody Dynamics Simulation, measured again",
    EXPERIMENTS, lambda asked: Shared(asked, Runs(asked.progress)), _settings, _notes,
)  # fmt: skip
reproduce = partial(reproduction.reproduce, STUDY)
"""Measures the experiments in this process, whose times are compared."""
