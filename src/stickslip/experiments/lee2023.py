"""[lee2023] sec. V measured again: Tables I to IX, Fig. 6, 11, 13 and 14.

Each experiment is a function that measures, draws its figure and returns rows and claims. The boxes (Table I, Fig. 6
and 14) are in lee2023_slides.py, the four scenes against PGS and APGD (II, III, V, VI) in lee2023_tables.py, what is
varied on them (IV, VII, IX) in lee2023_variants.py, position-based dynamics (VIII) in lee2023_cable.py, Fig. 11 in
lee2023_growth.py, Fig. 13 in lee2023_inverse.py; trials in lee2023_trials.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stickslip.experiments import lee2023_cable as cable
from stickslip.experiments import lee2023_figures as figures
from stickslip.experiments import lee2023_growth as growth
from stickslip.experiments import lee2023_inverse as inverse
from stickslip.experiments import lee2023_slide_figures as slide_figures
from stickslip.experiments import lee2023_slides as slides
from stickslip.experiments import lee2023_tables as tables
from stickslip.experiments import lee2023_variants as variants
from stickslip.experiments.lee2023_trials import CONVERGED, Runs
from stickslip.experiments.processes import Progress
from stickslip.experiments.report import Claim, Figure, Report, Row, ready_folder, write_report
from stickslip.view.drawing import needed_packages

TITLE = "Lee, Lee and Lee (2023), Large-Dimensional Multibody Dynamics Simulation, measured again"

Measured = tuple[list[Row], list[Claim]]


@dataclass
class Boxes:
    """The runs of Table I, which Fig. 6 shows."""

    found: dict[str, slides.Slide] = field(default_factory=dict)

    def runs(self, quick: bool, progress: Progress) -> dict[str, slides.Slide]:
        """Made once."""
        if not self.found:
            self.found.update(slides.measure(quick, progress))
        return self.found


@dataclass(frozen=True)
class Place:
    """How an experiment is measured, and where its picture and its table go."""

    experiment: str
    quick: bool
    picture: Path
    table: Path
    runs: Runs
    boxes: Boxes


def _table1(to: Place) -> Measured:
    found = to.boxes.runs(to.quick, to.runs.progress)
    slide_figures.draw_table(found, to.picture, to.table)
    return slides.rows(to.experiment, found), slides.claims(to.experiment, found)


def _comparison(to: Place) -> Measured:
    found = tables.measure(to.experiment, to.quick, to.runs)
    figures.draw_comparison(to.experiment, found, to.picture, to.table)
    return tables.rows(to.experiment, found), tables.claims(to.experiment, found)


def _table4(to: Place) -> Measured:
    found = variants.measure_stiffness(to.quick, to.runs)
    figures.draw_stiffness(found, to.picture, to.table)
    return variants.stiffness_rows(to.experiment, found), variants.stiffness_claims(to.experiment, found)


def _table7(to: Place) -> Measured:
    found = variants.measure_splitting(to.quick, to.runs)
    figures.draw_splitting(found, to.picture, to.table)
    return variants.splitting_rows(to.experiment, found), variants.splitting_claims(to.experiment, found)


def _table8(to: Place) -> Measured:
    found = cable.table8(to.quick, progress=lambda text: to.runs.progress(0, 1, f"cable-winding, {text}"))
    figures.draw_cable(found, to.picture, to.table)
    return cable_rows(to.experiment, found), cable_claims(to.experiment, found)


def _table9(to: Place) -> Measured:
    found = variants.measure_chebyshev(to.quick, to.runs)
    figures.draw_chebyshev(found, to.picture, to.table)
    return variants.chebyshev_rows(to.experiment, found), variants.chebyshev_claims(to.experiment, found)


def _fig6(to: Place) -> Measured:
    found = to.boxes.runs(to.quick, to.runs.progress)
    slide_figures.draw_slide(found, to.picture, to.table)
    ends = [
        Row(to.experiment, f"{name}: y at the end", None, 1e3 * float(found[name].moved[-1, 1]), "mm")
        for name in slides.SHOWN
    ]
    return ends, []


def _fig11(to: Place) -> Measured:
    found = growth.measure(to.quick, to.runs)
    figures.draw_growth(found, to.picture, to.table)
    return growth.rows(to.experiment, found), growth.claims(to.experiment, found)


def _fig13(to: Place) -> Measured:
    found = inverse.measure(to.quick, to.runs.progress)
    figures.draw_forces(found, to.picture, to.table)
    return inverse.rows(to.experiment, found), inverse.claims(to.experiment, found)


def _fig14(to: Place) -> Measured:
    found = slides.measure_anisotropic(to.quick, to.runs.progress)
    slide_figures.draw_ways(found, to.picture, to.table)
    return slides.anisotropic_rows(to.experiment, found), slides.anisotropic_claims(to.experiment, found)


EXPERIMENTS: Mapping[str, tuple[Callable[[Place], Measured], str]] = {
    "table1": (_table1, "Errors of a pushed box: virtual nodes and springs."),
    "table2": (_comparison, "A mat is folded: COND, PGS and APGD."),
    "table3": (_comparison, "A ball is gripped: COND, PGS and APGD."),
    "table4": (_table4, "Iterations by the stiffness of the ball."),
    "table5": (_comparison, "A cable is wound: COND, PGS and APGD."),
    "table6": (_comparison, "Soft fingers close on an object: COND, PGS and APGD."),
    "table7": (_table7, "COND and contact constraint splitting on the mat, fixed iterations."),
    "table8": (
        _table8,
        "COND and position-based dynamics on the cable: force on the hand (Fig. 12 without the sensor).",
    ),
    "table9": (_table9, "Iterations of COND without and with Chebyshev acceleration."),
    "fig6": (_fig6, "The pushed box: position over time, and its error."),
    "fig11": (_fig11, "Solver time over unknowns of the mat."),
    "fig13": (_fig13, "Contact forces of the regularised model, forward and from velocities; strict beside them."),
    "fig14": (_fig14, "A box slides where friction depends on the direction."),
}


def cable_rows(experiment: str, found: cable.Table8) -> list[Row]:
    """Table VIII, and what cannot be had of Fig. 12."""
    lines = []
    for line in found.lines:
        paper = line.paper
        lines += [
            Row(experiment, f"{line.name}: MP", paper.penetration_mm, line.penetration_mm, "mm"),
            Row(experiment, f"{line.name}: FE against the experiment", paper.force_error_N, tables.NOT_HERE, "N"),
            Row(experiment, f"{line.name}: FE against a converged run", None, line.force_error_N, "N"),
            Row(experiment, f"{line.name}: TT", paper.total_ms, line.total_ms, "ms"),
        ]
    share = 100.0 * found.reference_converged
    lines.append(Row(experiment, "steps of the reference run that converged", None, share, "%"))
    lines.append(Row(experiment, "Fig. 12 (b) to (d): curves of the force sensor", "curves", tables.NOT_HERE, "N"))
    return lines


def cable_claims(experiment: str, found: cable.Table8) -> list[Claim]:
    """Sec. V-E-2."""
    by_name = {line.name: line for line in found.lines}
    cond, more = by_name["COND (100)"], by_name["COND (200)"]
    pbd, fine = by_name["PBD (100)"], by_name["PBD (200)"]
    times = [slow.total_ms / fast.total_ms for slow, fast in ((pbd, cond), (fine, more))]
    change = [abs(a.force_error_N - b.force_error_N) for a, b in ((cond, more), (pbd, fine))]
    return [
        Claim(
            experiment, "COND takes less time than PBD with as many iterations", "24 and 26 times",
            f"{times[0]:.3g} and {times[1]:.3g} times", min(times) > 1.0,
        ),
        Claim(
            experiment, "Forces of COND are nearer to converged ones", "0.553 N for 2.654 and 1.575 N, real robot",
            f"{cond.force_error_N:.3g} and {more.force_error_N:.3g} N for {pbd.force_error_N:.3g} and "
            f"{fine.force_error_N:.3g} N", max(cond.force_error_N, more.force_error_N) < min(
                pbd.force_error_N, fine.force_error_N),
        ),
        Claim(
            experiment, "From 100 to 200 iterations the force of COND changes little, that of PBD much",
            "0.000 and 1.079 N", f"{change[0]:.2g} and {change[1]:.2g} N", change[0] < 0.1 * change[1],
        ),
    ]  # fmt: skip


def reproduce(
    experiments: Sequence[str], quick: bool, out: Path, progress: Progress, workers: int | None = None
) -> Report:
    """Run the experiments in this process, whose times are compared, and write figures, tables and a report."""
    needed_packages()  # before the work, not after it
    folder = ready_folder(out)
    rows: list[Row] = []
    claims: list[Claim] = []
    drawn: list[Figure] = []
    runs, boxes = Runs(progress), Boxes()
    for experiment in experiments:
        measure, caption = EXPERIMENTS[experiment]
        stem = folder / experiment
        to = Place(experiment, quick, stem.with_suffix(".png"), stem.with_suffix(".csv"), runs, boxes)
        measured = measure(to)
        rows += measured[0]
        claims += measured[1]
        drawn.append(Figure(experiment, experiment, caption))
    notes = [*_NOTES, *(text for seen in runs.found.values() for text in seen.lost)]
    report = Report(
        "lee2023", TITLE, tuple(experiments), _settings(quick), tuple(rows), tuple(claims), tuple(drawn), tuple(notes)
    )
    write_report(report, folder)
    return report


_NOTES = (
    f"Curves of force sensors and cameras on real robots (Fig. 9, 10 and 12; FE and DE of Tables V, VI and VIII) are "
    f"{tables.NOT_HERE}. Errors are against converged steps instead.",
    "Errors are those of one step against a converged one from the same state; the paper compares whole trajectories, "
    "which part where contacts stick or slip. IE and FE are differences of norms, as in the paper.",
    "COND (cable: auto) leads through each trial; at some points of it every method takes steps of its own, which are "
    "averaged. So all methods meet the same situations, and penetrations are those that a few steps leave.",
    "Times are CPU times on one thread of this machine; steps that compiled or loaded kernels are left out, as is what "
    "the criterion of PGS and APGD alone costs, a solve with A. The paper's are of four cores of an i5-7500.",
    "PGS projects on discs of friction and APGD on cones, whose law is the convex one; the reference is the exact law.",
    f"Omega of Fig. 13 is {inverse.OMEGA:g} m/(s N) for forces, as in the paper, {inverse.OMEGA / 0.01:g} / kg for our "
    "impulses in steps of 10 ms.",
    "Sizes and courses of mat, ball, gripper and cable are ours where the paper gives none.",
)


def _settings(quick: bool) -> dict[str, str]:
    """What was run, in words and numbers that do not depend on the machine."""
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
        "fig11": "; ".join(f"{name}: divisions {_listed(each)}" for name, each in sizes.items()),
        "fig13": ", ".join(
            f"{name}: {count} steps" for name, count in (inverse.QUICK_STEPS if quick else inverse.STEPS).items()
        ),
    }


def _listed(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))
