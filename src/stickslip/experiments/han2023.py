"""[han2023] sec. VII measured again: Table I, shares of time, the press, the cantilever, chains and rings.

Each experiment is a function that measures, draws its figure and returns rows and claims. Table I is in
han2023_table.py with the cases that Fig. 2 (han2023_shares.py), Fig. 8 and Fig. 9 (han2023_scaling.py) share, Fig. 4 in
han2023_press.py, Fig. 7 in han2023_beam.py; runs in han2023_runs.py, with the clock of stage_clock.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stickslip.experiments import han2023_beam as beam
from stickslip.experiments import han2023_figures as figures
from stickslip.experiments import han2023_press as press
from stickslip.experiments import han2023_scaling as scaling
from stickslip.experiments import han2023_shares as shares
from stickslip.experiments import han2023_table as lines
from stickslip.experiments.han2023_runs import TOLERANCE, Runs
from stickslip.experiments.processes import Progress
from stickslip.experiments.report import Claim, Figure, Report, Row, ready_folder, write_report
from stickslip.view.drawing import needed_packages

TITLE = "Han, Masterjohn and Castro (2023), A Convex Formulation of Frictional Contact, measured again"

Measured = tuple[list[Row], list[Claim]]


@dataclass(frozen=True)
class Place:
    """How an experiment is measured, and where its picture and its table go."""

    experiment: str
    quick: bool
    picture: Path
    table: Path
    runs: Runs
    workers: int | None


def _table1(to: Place) -> Measured:
    found = lines.measure(to.quick, to.runs)
    figures.draw_table(found, to.picture, to.table)
    return lines.rows(to.experiment, found), lines.claims(to.experiment, found, to.quick)


def _fig2(to: Place) -> Measured:
    found = shares.measure(to.quick, to.runs)
    figures.draw_shares(found, to.picture, to.table)
    return shares.rows(to.experiment, found), shares.claims(to.experiment, found)


def _fig4(to: Place) -> Measured:
    found = press.measure(to.quick, to.runs.progress, to.workers)
    figures.draw_press(found, to.picture, to.table)
    return press.rows(to.experiment, found), press.claims(to.experiment, found)


def _fig7(to: Place) -> Measured:
    found = beam.measure(to.quick, to.runs.progress)
    figures.draw_beams(found, to.picture, to.table)
    return beam.rows(to.experiment, found), beam.claims(to.experiment, found)


def _fig8(to: Place) -> Measured:
    found = scaling.measure_chain(to.quick, to.runs)
    figures.draw_chain(found, scaling.exponent(found, scaling.FITTED), to.picture, to.table)
    return scaling.chain_rows(to.experiment, found), scaling.chain_claims(to.experiment, found)


def _fig9(to: Place) -> Measured:
    found = scaling.measure_torus(to.quick, to.runs)
    figures.draw_torus(found, to.picture, to.table)
    return scaling.torus_rows(to.experiment, found), scaling.torus_claims(to.experiment, found)


EXPERIMENTS: Mapping[str, tuple[Callable[[Place], Measured], str]] = {
    "table1": (_table1, "Realtime rates and constraints of the scenes of Table I."),
    "fig2": (_fig2, "Shares of the CPU time of a step."),
    "fig4": (_fig4, "Force and displacement of the press on finer and finer meshes, with points from elsewhere."),
    "fig7": (_fig7, "A cantilever after one second: rotations lagged by a step, and those of its end."),
    "fig8": (_fig8, "A chain of soft rings: time a step and constraints by links."),
    "fig9": (_fig9, "A soft ring with finer and finer elements: time a step by unknowns."),
}


def reproduce(
    experiments: Sequence[str], quick: bool, out: Path, progress: Progress, workers: int | None = None
) -> Report:
    """Run the experiments, Fig. 4 in ``workers`` processes, and write figures, tables and a report."""
    needed_packages()  # before the work, not after it
    folder = ready_folder(out)
    rows: list[Row] = []
    claims: list[Claim] = []
    drawn: list[Figure] = []
    runs = Runs(progress)
    for experiment in experiments:
        measure, caption = EXPERIMENTS[experiment]
        stem = folder / experiment
        to = Place(experiment, quick, stem.with_suffix(".png"), stem.with_suffix(".csv"), runs, workers)
        measured = measure(to)
        rows += measured[0]
        claims += measured[1]
        drawn.append(Figure(experiment, experiment, caption))
    notes = [*_NOTES, *(seen.lost for seen in runs.found.values() if seen.lost)]
    report = Report(
        "han2023", TITLE, tuple(experiments), _settings(quick), tuple(rows), tuple(claims), tuple(drawn), tuple(notes)
    )
    write_report(report, folder)
    return report


_NOTES = (
    f"Allegro hand: {lines.NOT_RUN}.",
    "Times are CPU times of steps on one thread of this machine, certificates included; steps that compiled or loaded "
    "kernels are left out. The paper's are of a Xeon Gold 6226R, one thread.",
    "Constraints are contacts, joints and welded nodes of a problem, whether or not they carry an impulse; contacts "
    "are found between nodes and faces and between edges, the paper's are faces of a surface of contact.",
    "Sizes of arch, gripper, bear, rings and beam are ours: the paper does not give them.",
    "Time a step of the paper is its time step over its realtime rate in Table I, which has two digits.",
    "The press of Table I is measured with steps of 0.01 s after steps of 1 s that load it.",
)


def _settings(quick: bool) -> dict[str, str]:
    """What was run, in words and numbers that do not depend on the machine."""
    runs = {name: case.steps for name, case in lines.cases(quick).items()}
    return {
        "size": "quick" if quick else "full",
        "solver": f"sap, tolerance {TOLERANCE:g}, other options as the scenes have them",
        "table1, fig2": ", ".join(f"{name}: {steps} steps" for name, steps in runs.items()),
        "fig4": f"{press.STEPS} steps to full load" + (f", {press.QUICK_SHARE:g} of them taken" if quick else ""),
        "fig7": "scene cantilever, " + ", ".join(f"{name} {value}" for name, value in beam.BEAM.items()),
        "fig8": f"links {', '.join(map(str, scaling.QUICK_LINKS if quick else scaling.LINKS))}; "
        f"{lines.chain_case(1, quick).steps} steps",
        "fig9": f"unknowns {', '.join(map(str, scaling.QUICK_UNKNOWNS if quick else scaling.UNKNOWNS))}; "
        f"{lines.torus_case(900, quick).steps} steps",
    }
