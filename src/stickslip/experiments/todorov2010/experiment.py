"""[todorov2010] sec. IV measured again: balls in a cube (Table 1), cold and warm, and balls dropped together (Fig. 6).

The paper leaves open, and we chose: sizes and speeds (scenes/cube_of_balls.py); when a residual is "sufficiently
small": our scaled residual at 1e-8; and how steps without contacts count: not at all, since zeros would lower medians.
Runs are in runs.py, numbers and claims of Table 1 in table.py, Fig. 6 in drop.py, the comparison with other solvers,
which the paper announces, in solvers.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from stickslip.experiments import reproduction
from stickslip.experiments.processes import record_runs
from stickslip.experiments.report import Claim, listed
from stickslip.experiments.reproduction import Asked, Drawing, Experiment, Study, Task
from stickslip.experiments.solver_runs import RunRecord
from stickslip.experiments.todorov2010 import drop, solvers, table
from stickslip.experiments.todorov2010 import runs as plan
from stickslip.experiments.todorov2010.figures import draw_cells, draw_drop
from stickslip.experiments.todorov2010.table import Cells
from stickslip.solvers.registry import make_solver

Tables = Mapping[str, Cells]
"""Cells by experiment, empty where a table was not measured."""


@dataclass(frozen=True)
class Shared:
    """The runs of all tables, and their cells: one table is judged beside another."""

    records: Sequence[RunRecord]
    tables: Tables


def _make_runs(asked: Asked) -> Shared:
    """All runs that the tables need."""
    chosen = [experiment for experiment in plan.TABLES if experiment in asked.experiments]
    specs = [spec for experiment in chosen for spec in plan.specs_of(experiment, asked.quick)]
    records = record_runs(specs, asked.progress, asked.workers) if specs else []
    return Shared(records, {experiment: plan.cells_of(experiment, records) for experiment in plan.TABLES})


def _table(name: str, caption: str, claims: Callable[[str, Tables], list[Claim]]) -> Experiment[Shared]:
    """Table 1 under one kind of start."""

    def tables(task: Task[Shared]) -> Tables:
        task.tell_drawing()
        return task.shared.tables

    def draw(found: Tables, picture: Path, file: Path) -> None:
        draw_cells(found[name], picture, file, cold=name != "table1-warm")

    return Experiment(
        tables,
        lambda experiment, found: table.rows(experiment, found[experiment]),
        claims,
        (Drawing(caption, draw),),
    )


def _dropped(task: Task[Shared]) -> drop.Drop:
    task.tell_drawing()
    return drop.record_drop(make_solver(plan.SOLVER, **plan.OPTIONS), plan.DROP_STEPPING, plan.DROP_STEPS)


def _solved(task: Task[Shared]) -> list[solvers.Solve]:
    task.tell_drawing()
    first = [spec for spec in plan.specs_of("table1-recovery", task.quick) if spec.parameters["seed"] == 1]
    return solvers.compare(first, plan.QUICK_STRIDE if task.quick else plan.STRIDE, task.asked.progress)


EXPERIMENTS: Mapping[str, Experiment[Shared]] = {
    "table1": _table(
        "table1", "Table 1 as curves: contacts start from sticking in every step.",
        lambda name, found: table.claims(name, found[name]),
    ),
    "table1-letter": _table(
        "table1-letter", "The method as printed: in the units of the problem, with eq. 29 as it is in the paper.",
        lambda name, found: table.claims(name, found[name]),
    ),
    "table1-warm": _table(
        "table1-warm", "The same with warm starts, beside the paper's cold ones.",
        lambda name, found: table.warm_claims(name, found[name], found["table1"]),
    ),
    "table1-restarts": _table(
        "table1-restarts", "Cold starts with restarts from local minima and corrected Newton points; no sweeps.",
        lambda name, found: table.restart_claims(name, found[name]),
    ),
    "table1-recovery": _table(
        "table1-recovery", "Cold starts with recoveries from local minima, each counted as one iteration.",
        lambda name, found: table.recovery_claims(name, found[name]),
    ),
    "fig6": Experiment(
        _dropped, drop.rows, drop.claims,
        (Drawing("Five balls dropped together: heights and vertical velocities.", draw_drop),),
    ),
    "solvers": Experiment(
        _solved, solvers.rows, solvers.claims,
        (Drawing("Other solvers on the same problems, all from a cold start; 0 iterations are drawn at 0.5.",
                 solvers.draw),),
    ),
}  # fmt: skip


def _settings(asked: Asked, shared: Shared) -> dict[str, str]:
    """What was run, in words and numbers that do not depend on the machine."""
    experiments, quick = asked.experiments, asked.quick
    size = f"{plan.QUICK_RUNS} runs of {plan.QUICK_STEPS} steps" if quick else f"{plan.RUNS} runs of {plan.STEPS} steps"
    others = f"table1-letter: {listed(plan.LETTER)}; table1-restarts: recoveries=0 only; table1-recovery, solvers: "
    others += "its defaults"
    found = {"solver": f"{plan.SOLVER}, {listed(plan.OPTIONS)}; {others}"}
    if set(experiments) & set(plan.TABLES):
        found["size"] = f"{'quick: ' if quick else ''}{size} in each of 12 conditions, seeds 1, 2, ..."
        found["stepping"] = listed(plan.STEPPING) + "; table1-warm: warm_start=True"
    if "solvers" in experiments:
        stride = plan.QUICK_STRIDE if quick else plan.STRIDE
        found["problems of solvers"] = f"every {stride}th step of the first run of each condition, tolerance 1e-8"
    if "fig6" in experiments:
        found["stepping, fig6"] = listed(plan.DROP_STEPPING)
    return found


def _notes(asked: Asked, shared: Shared) -> list[str]:
    """Sentences that a reader of the numbers needs."""
    experiments, records = asked.experiments, shared.records
    notes = []
    if set(experiments) & set(plan.TABLES):
        idle = sum(len(record.contacts) - int(record.busy.sum()) for record in records)
        total = sum(len(record.contacts) for record in records)
        notes += [
            "The text of the paper has mu = {0.1, 0.2, 1.0, 2.0}, its table mu = 0.5 in the second row; this is 0.5.",
            f"{idle} of {total} steps had no contacts. They are left out of medians and percentages; with zeros for "
            "them, medians would be lower. Mean contacts are over all steps.",
            "Iterations are not all the work where the solver recovers from local minima (table1-recovery): a recovery "
            "is a hundred and more Gauss-Seidel sweeps and counts as one iteration. table1 has none.",
            "Contacts are those that collision detection found, whether or not they carry an impulse.",
        ]
    if "table1-warm" in experiments and "table1" not in experiments:
        notes.append("Whether warm starts are better is judged where table1 is measured as well.")
    lost = [record for record in records if record.failure]
    return notes + [f"{' '.join(record.spec.name)}: {record.failure}" for record in lost]


STUDY = Study(
    "todorov2010", "Todorov (2010), Implicit nonlinear complementarity, measured again",
    EXPERIMENTS, _make_runs, _settings, _notes,
)  # fmt: skip
reproduce = partial(reproduction.reproduce, STUDY)
"""Makes the runs of the experiments in as many processes as are asked for, and reports them."""
