"""`stickslip truth`: the truth tests on our solvers and on other engines, in one table."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

from rich.table import Table

from stickslip.errors import InputError, MissingDependencyError, StickslipError
from stickslip.experiments.truth.mechanisms import RobotScene
from stickslip.experiments.truth.tests import FAMILIES, truth_tests
from stickslip.experiments.truth.truth_test import TruthTest

# engine name -> module with SETTINGS (name -> value) and simulate(scene, setting) -> Trajectory
ENGINES = {
    "stickslip": "stickslip.experiments.truth.own",
    "mujoco": "stickslip.experiments.truth.peer_mujoco",
    "drake": "stickslip.experiments.truth.peer_drake",
    "pybullet": "stickslip.experiments.truth.peer_pybullet",
}
# the same for robots: simulate(scene, setting) -> RobotRun; other engines have no rows of them
ROBOT_ENGINES = {
    "stickslip": "stickslip.experiments.truth.mechanism_own",
    "mujoco": "stickslip.experiments.truth.mechanism_mujoco",
}


@dataclass(frozen=True)
class TruthRow:
    """One line of the table: `value`, `truth` and `bar` are in `unit`; value and ok are None where nothing was run."""

    test: str
    engine: str
    setting: str
    value: float | None
    unit: str
    truth: float
    bar: float
    ok: bool | None
    seconds: float
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """The row as plain JSON values (a value that is not finite becomes null)."""
        row = asdict(self)
        if self.value is not None and not math.isfinite(self.value):
            row["value"] = None
        return row


def select_tests(names: Sequence[str] | None, quick: bool = False) -> tuple[TruthTest, ...]:
    """The tests whose name or family is among `names`; all of them for None."""
    tests = truth_tests(quick)
    if names is None:
        return tests
    known = {test.name for test in tests} | set(FAMILIES)
    for name in names:
        if name not in known:
            raise InputError(f"truth test {name!r} is unknown; use one of {', '.join(sorted(known))}")
    return tuple(test for test in tests if test.name in names or test.family in names)


def run_truth(
    engines: Iterable[str] = tuple(ENGINES),
    solvers: Sequence[str] = ("prox-gs",),
    tests: Sequence[str] | None = None,
    quick: bool = False,
    progress: Callable[[str], None] | None = None,
) -> list[TruthRow]:
    """Run the chosen tests on every engine with each of its settings; `progress` hears of each run before it starts."""
    chosen = list(engines)
    for engine in chosen:
        if engine not in ENGINES:
            raise InputError(f"engine {engine!r} is unknown; use one of {', '.join(ENGINES)}")
    rows = []
    for test in select_tests(tests, quick):
        modules = ROBOT_ENGINES if isinstance(test.scene, RobotScene) else ENGINES
        for engine in chosen:
            if engine not in modules:
                continue
            module = import_module(modules[engine])
            for setting in solvers if engine == "stickslip" else module.SETTINGS:
                if progress is not None:
                    progress(f"{test.name}: {engine}, {setting}")
                row = _run(test, engine, setting, module.simulate)
                rows.append(row)
                if row.note == "not installed":
                    break
    return rows


def _run(test: TruthTest, engine: str, setting: str, simulate: Callable[..., Any]) -> TruthRow:
    """One test on one engine; an engine that is missing or that fails gives a row that says so."""
    blank = TruthRow(test.name, engine, setting, None, test.unit, test.truth, test.bar, None, 0.0)
    start = time.perf_counter()
    try:
        trajectory = simulate(test.scene, setting)
    except MissingDependencyError:
        return TruthRow(**(asdict(blank) | {"setting": "", "note": "not installed"}))
    except InputError:
        raise  # a solver name that does not exist is the caller's mistake, not a result
    except (StickslipError, RuntimeError) as error:
        note = f"failed: {str(error).splitlines()[0][:80] if str(error) else type(error).__name__}"
        return TruthRow(**(asdict(blank) | {"ok": False, "seconds": time.perf_counter() - start, "note": note}))
    seconds = time.perf_counter() - start
    found = test.measure(trajectory)
    return TruthRow(**(asdict(blank) | {"value": found.value, "ok": found.ok, "seconds": seconds, "note": found.note}))


def truth_table(rows: Sequence[TruthRow]) -> Table:
    """The rows as a rich table, one section a test."""
    table = Table("test", "engine", "setting", "value", "truth", "unit", "ok", "s", "note", title="Truth tests")
    for i, row in enumerate(rows):
        table.add_row(
            row.test,
            row.engine,
            row.setting,
            "-" if row.value is None else f"{row.value:.3g}",
            f"{row.truth:.4g}",
            row.unit,
            {True: "[green]yes[/]", False: "[red]no[/]", None: "-"}[row.ok],
            f"{row.seconds:.1f}",
            row.note,
            end_section=i + 1 < len(rows) and rows[i + 1].test != row.test,
        )
    return table
