"""[erleben2017] sec. 5 measured again: r-factor strategies on five scenes, Gauss-Seidel against Jacobi.

Every strategy drives its own run, as in the paper: steps are not the same problems. Runs are planned in runs.py, which
says what the paper leaves open; numbers are in statistics.py, claims in claims.py, pictures and tables in figures.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from stickslip.experiments import reproduction
from stickslip.experiments.erleben2017 import claims, fixed_points, statistics
from stickslip.experiments.erleben2017 import runs as plan
from stickslip.experiments.erleben2017.figures import FIGURES
from stickslip.experiments.erleben2017.statistics import Runs
from stickslip.experiments.processes import record_runs
from stickslip.experiments.report import listed
from stickslip.experiments.reproduction import Asked, Experiment, Study, Task


def _make_runs(asked: Asked) -> Runs:
    """All runs that the experiments need."""
    specs = [plan.spec_of(key, asked.quick) for key in plan.needed_runs(asked.experiments)]
    return {record.spec.name: record for record in record_runs(specs, asked.progress, asked.workers)}


def _runs(task: Task[Runs]) -> Runs:
    task.tell_drawing()
    return task.shared


EXPERIMENTS: Mapping[str, Experiment[Runs]] = {
    "fig4": Experiment(_runs, statistics.strategy_rows, claims.strategies, FIGURES["fig4"]),
    "fig5": Experiment(_runs, partial(statistics.time_rows, "jacks"), claims.jacks_time, FIGURES["fig5"]),
    "fig6": Experiment(_runs, partial(statistics.time_rows, "spheres"), claims.spheres_time, FIGURES["fig6"]),
    "fig7": Experiment(_runs, statistics.energy_rows, claims.jacks_energy, FIGURES["fig7"]),
    "fig8": Experiment(_runs, statistics.method_rows, claims.method_convergence, FIGURES["fig8"]),
    "fig9": Experiment(_runs, claims.detection_rows, claims.method_detections, FIGURES["fig9"]),
    "fixed-point": Experiment(
        lambda task: fixed_points.measure(), fixed_points.rows, lambda name, found: [claims.same_fixed_point(found)]
    ),
}


def _settings(asked: Asked, runs: Runs) -> dict[str, str]:
    """What was run, in words and numbers that do not depend on the machine."""
    full = f"full: {plan.STEPS} steps, {plan.STEPS_ABSOLUTE} without relative stopping"
    words = {
        "size": f"quick: smaller scenes, {plan.QUICK_STEPS} steps" if asked.quick else full,
        "solvers": listed(plan.OPTIONS) + "; prox-gs: subspace=0",
        "global factors": f"r = {plan.STRATEGY_OPTIONS['global']['r_start']:g} kg at the start",
        "reduction nu": "0.9 for local, 0.5 for global and blocked",
        "stepping": listed(plan.STEPPING) + ", no post-stabilisation",
        "Fig. 8, 9": "local factors for both methods; local-absolute: without relative stopping",
    }
    for scene in plan.SCENES:
        found = [run for key, run in runs.items() if key[0] == scene]
        if found:
            most = max(int(run.contacts.max(initial=0)) for run in found)
            own = listed(found[0].spec.parameters)
            words[f"scene {scene}"] = f"{found[0].bodies} bodies, at most {most} contacts; {own or 'defaults'}"
    return words


STUDY = Study(
    "erleben2017", "Erleben (2017), Rigid Body Contact Problems using Proximal Operators, measured again",
    EXPERIMENTS, _make_runs, _settings, lambda asked, runs: tuple(claims.notes(runs)),
)  # fmt: skip
reproduce = partial(reproduction.reproduce, STUDY)
"""Makes the runs of the experiments in as many processes as are asked for, and reports them."""
