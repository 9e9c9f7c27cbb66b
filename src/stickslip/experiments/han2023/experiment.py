"""[han2023] sec. VII measured again: Table I, shares of time, the press, the cantilever, chains and rings.

Table I is in table.py with the cases that Fig. 2 (shares.py), Fig. 8 and Fig. 9 (scaling.py) share, Fig. 4 in press.py,
Fig. 7 in beam.py; runs in runs.py, with the clock of experiments/stage_clock.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from stickslip.experiments import reproduction
from stickslip.experiments.han2023 import beam, figures, press, scaling, shares, table
from stickslip.experiments.han2023.runs import TOLERANCE, Measured, Runs
from stickslip.experiments.reproduction import Asked, Drawing, Experiment, Study


def _draw_chain(found: Mapping[int, Measured], picture: Path, file: Path) -> None:
    figures.draw_chain(found, scaling.exponent(found, scaling.FITTED), picture, file)


EXPERIMENTS: Mapping[str, Experiment[Runs]] = {
    "table1": Experiment(
        lambda task: (table.measure(task.quick, task.shared), task.quick),
        lambda name, found: table.rows(name, found[0]),
        lambda name, found: table.claims(name, *found),
        (Drawing("Realtime rates and constraints of the scenes of Table I.",
                 lambda found, *files: figures.draw_table(found[0], *files)),),
    ),
    "fig2": Experiment(
        lambda task: shares.measure(task.quick, task.shared), shares.rows, shares.claims,
        (Drawing("Shares of the CPU time of a step.", figures.draw_shares),),
    ),
    "fig4": Experiment(
        lambda task: press.measure(task.quick, task.asked.progress, task.asked.workers), press.rows, press.claims,
        (Drawing("Force and displacement of the press on finer and finer meshes, with points from elsewhere.",
                 figures.draw_press),),
    ),
    "fig7": Experiment(
        lambda task: beam.measure(task.quick, task.asked.progress), beam.rows, beam.claims,
        (Drawing("A cantilever after one second: rotations lagged by a step, and those of its end.",
                 figures.draw_beams),),
    ),
    "fig8": Experiment(
        lambda task: scaling.measure_chain(task.quick, task.shared), scaling.chain_rows, scaling.chain_claims,
        (Drawing("A chain of soft rings: time a step and constraints by links.", _draw_chain),),
    ),
    "fig9": Experiment(
        lambda task: scaling.measure_torus(task.quick, task.shared), scaling.torus_rows, scaling.torus_claims,
        (Drawing("A soft ring with finer and finer elements: time a step by unknowns.", figures.draw_torus),),
    ),
}  # fmt: skip

_NOTES = (
    "Robots are built from published figures; their courses, the ball's size and density and the stand are ours.",
    "Residual, overlap and gliding gap of table1 are those of certificates, by the exact law of contact; sap converges "
    "to its own law, which is convex and regularised.",
    "Times are CPU times of steps on one thread of this machine, certificates included; steps that compiled or loaded "
    "kernels are left out. The paper's are of a Xeon Gold 6226R, one thread.",
    "Constraints are contacts, joints and welded nodes of a problem, whether or not they carry an impulse; contacts "
    "are found between nodes and faces and between edges, the paper's are faces of a surface of contact.",
    "Sizes of arch, gripper, bear, rings and beam are ours: the paper does not give them.",
    "Time a step of the paper is its time step over its realtime rate in Table I, which has two digits.",
    "The press of Table I is measured with steps of 0.01 s after steps of 1 s that load it.",
)


def _notes(asked: Asked, runs: Runs) -> list[str]:
    return [*_NOTES, *(seen.lost for seen in runs.found.values() if seen.lost)]


def _settings(asked: Asked, runs: Runs) -> dict[str, str]:
    """What was run, in words and numbers that do not depend on the machine."""
    quick = asked.quick
    steps = {name: case.steps for name, case in table.cases(quick).items()}
    return {
        "size": "quick" if quick else "full",
        "solver": f"sap, tolerance {TOLERANCE:g}, other options as the scenes have them; auto where it is said",
        "table1, fig2": ", ".join(f"{name}: {count} steps" for name, count in steps.items()),
        "fig4": f"{press.STEPS} steps to full load" + (f", {press.QUICK_SHARE:g} of them taken" if quick else ""),
        "fig7": "scene cantilever, " + ", ".join(f"{name} {value}" for name, value in beam.BEAM.items()),
        "fig8": f"links {', '.join(map(str, scaling.QUICK_LINKS if quick else scaling.LINKS))}; "
        f"{table.chain_case(1, quick).steps} steps",
        "fig9": f"unknowns {', '.join(map(str, scaling.QUICK_UNKNOWNS if quick else scaling.UNKNOWNS))}; "
        f"{table.torus_case(900, quick).steps} steps",
    }


STUDY = Study(
    "han2023", "Han, Masterjohn and Castro (2023), A Convex Formulation of Frictional Contact, measured again",
    EXPERIMENTS, lambda asked: Runs(asked.progress), _settings, _notes,
)  # fmt: skip
reproduce = partial(reproduction.reproduce, STUDY)
"""Measures the experiments, Fig. 4 in as many processes as are asked for."""
