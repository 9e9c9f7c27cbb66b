"""Solvers from outside the package: registered, offered by packages, or objects that only solve."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from stickslip import InputError, Scene, Simulation, elastic, make_solver, tet_generators
from stickslip.cli import main
from stickslip.contact.gallery import GALLERY
from stickslip.contact.residual import scaled_residual
from stickslip.errors import SolverWarning
from stickslip.experiments.comparison import compare
from stickslip.experiments.scene_comparison import compare_scenes
from stickslip.solvers import registry
from stickslip.solvers.iterative import Iterative
from stickslip.solvers.protocol import Solution, Solver, Takes
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel
from stickslip.solvers.registry import (
    SOLVERS,
    Adapted,
    as_solver,
    find_solver,
    known_solvers,
    option_defaults,
    register,
)

SLIP = GALLERY["one-contact-slip"]().problem


@dataclass(frozen=True)
class Own(ProxGaussSeidel):
    """Sweeps under another name."""

    name: ClassVar[str] = "own-sweeps"

    subspace: int = 0


@dataclass(frozen=True)
class OnlyContacts(Iterative):
    """Zero impulses, for contacts alone."""

    name: ClassVar[str] = "only-contacts"

    @cached_property
    def takes(self) -> Takes:
        return Takes(laws=("contact",), friction_sets=("ellipse",))

    def run(self, problem: Any, warm: Any, relinearise: Any) -> Solution:
        return Solution(problem.v_free, np.zeros(problem.row_count), "max-iterations", 1, np.zeros((0, 2)))


@pytest.fixture(autouse=True)
def same_solvers_afterwards(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    known = dict(SOLVERS)
    monkeypatch.setattr(registry, "_LOADED", {registry.GROUP})
    yield
    SOLVERS.clear()
    SOLVERS.update(known)


# ---- register --------------------------------------------------------------------------------------------------


def test_a_registered_solver_is_known_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert register(Own) is Own
    assert register(Own) is Own  # again
    assert find_solver("own-sweeps") is Own
    assert option_defaults("own-sweeps")["subspace"] == 0
    assert make_solver("own-sweeps", tolerance=1e-4).tolerance == 1e-4
    with pytest.raises(InputError, match="solver own-sweeps: option 'speed' is unknown"):
        make_solver("own-sweeps", speed=3)
    assert main(["list", "solvers", "--json"]) == 0
    assert '"own-sweeps"' in capsys.readouterr().out
    assert main(["run", "box-slope", "--steps", "2", "--solver", "own-sweeps", "--set", "solver.subspace=1"]) == 0
    assert "own-sweeps (exact law)" in capsys.readouterr().out


def test_a_solver_that_is_loaded_again_takes_its_own_place() -> None:
    register(Own)
    again = type("Own", (Own,), {"__module__": Own.__module__, "__qualname__": Own.__qualname__, "__doc__": "Again."})
    assert register(dataclass(frozen=True)(again)) is find_solver("own-sweeps")


def broken(**parts: Any) -> type:
    """A frozen subclass of OnlyContacts with other parts."""
    return dataclass(frozen=True)(type("Broken", (OnlyContacts,), {"name": "broken", **parts}))


class NoDataclass:
    name = "none"


@dataclass
class Thawed:
    name: ClassVar[str] = "thawed"


@dataclass(frozen=True)
class NoMethods:
    name: ClassVar[str] = "no-methods"


@dataclass(frozen=True)
class NeedsOption(OnlyContacts):
    name: ClassVar[str] = "needs-option"

    max_iterations: int = 0


@dataclass(frozen=True)
class NoRun(Iterative):
    name: ClassVar[str] = "no-run"


WRONG: dict[str, tuple[Any, str]] = {
    "no class": (Own(), r"Own\(.*frozen dataclass"),
    "no dataclass": (NoDataclass, r"NoDataclass: it must be a frozen dataclass"),
    "not frozen": (Thawed, r"Thawed: it must be a frozen dataclass"),
    "no name": (broken(name=None), "name is None; it must be a word"),
    "name of the base": (broken(name="iterative"), "name is 'iterative'"),
    "name with a comma": (broken(name="a,b"), "name is 'a,b'"),
    "taken name": (broken(name="auto"), r"'auto' is that of stickslip\.solvers\.auto\.Automatic"),
    "no methods": (NoMethods, "no method run"),
    "no run": (NoRun, "no method run"),
    "wrong defaults": (NeedsOption, "default options .*max_iterations is 0"),
    "no takes": (broken(takes="all"), "takes is 'all'; a stickslip"),
    "wrong law": (broken(takes=Takes(law="soft")), "takes.law is 'soft'"),  # type: ignore[arg-type]
    "wrong word": (broken(takes=Takes(linearise="twice")), "takes.linearise is 'twice'"),  # type: ignore[arg-type]
    "wrong set": (broken(takes=Takes(friction_sets=("square",))), "takes.friction_sets is 'square'"),
    "wrong block": (broken(takes=Takes(laws=("magnet",))), "takes.laws is 'magnet'"),
    "no advance": (broken(takes=Takes(linearise="own-steps")), "no method advance"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_solver_is_not_registered(case: str) -> None:
    kind, words = WRONG[case]
    before = dict(SOLVERS)
    with pytest.raises(InputError, match=words):
        register(kind)
    assert before == SOLVERS


def test_what_a_solver_does_not_declare_is_refused_for_it() -> None:
    solver = register(OnlyContacts)()
    with pytest.raises(InputError, match="block 0 has the law 'bilateral'; it takes contact"):
        solver.solve(GALLERY["pendulum"]().problem)
    with pytest.raises(InputError, match=r"friction set 'disc'; it takes .*'ellipse'"):
        solver.solve(SLIP)
    assert solver.solve(GALLERY["ellipse-slips"]().problem).residual > 0.1


# ---- what a solver gives ---------------------------------------------------------------------------------------


class Gives:
    """Solves nothing, and gives what it was told to."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def solve(self, problem: Any, warm: Any = None, relinearise: Any = None) -> Any:
        return self.found


V, LAM, EMPTY = SLIP.v_free, np.zeros(3), np.zeros((0, 2))
UNREADABLE: dict[str, tuple[Any, str]] = {
    "nothing": (None, "returned NoneType; a Solution"),
    "a pair": ((V, LAM), "returned tuple"),
    "short impulses": (Solution(V, LAM[:2], "converged", 1, EMPTY), r"lam of its solution .*\(2,\).*\(3,\)"),
    "a list": (Solution(V, [0.0] * 3, "converged", 1, EMPTY), "lam of its solution is list"),  # type: ignore[arg-type]
    "long velocities": (Solution(np.zeros(7), LAM, "converged", 1, EMPTY), r"v of its solution .*\(7,\).*\(6,\)"),
    "single precision": (Solution(V, LAM.astype(np.float32), "converged", 1, EMPTY), "float32"),
    "a word": (Solution(V, LAM, "done", 1, EMPTY), "status of its solution is 'done'"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_nobody_could_read_is_refused(case: str) -> None:
    found, words = UNREADABLE[case]
    with pytest.raises(InputError, match=f"solver Gives: .*{words}"):
        as_solver(Gives(found)).solve(SLIP)


# ---- objects that only solve -----------------------------------------------------------------------------------


class Named(Gives):
    name = "named"
    law = "convex"
    tolerance = 1e-3


def test_an_object_that_only_solves_is_a_solver() -> None:
    solver = as_solver(Gives(Solution(V, LAM, "converged", 1, EMPTY)))
    assert isinstance(solver, Solver)
    assert (solver.name, solver.takes, solver.tolerance) == ("Gives", Takes(), np.inf)
    found = solver.solve(SLIP)
    assert found.residual == solver.residual(SLIP, LAM, SLIP.free_constraint_velocity) == found.exact_residual
    named = as_solver(Named(None))
    assert (named.name, named.takes, named.tolerance) == ("named", Takes(law="convex"), 1e-3)
    u = SLIP.free_constraint_velocity
    assert named.residual(SLIP, LAM, u) == scaled_residual(SLIP, LAM, u, "convex")
    own = make_solver("auto")
    assert as_solver(own) is own
    assert isinstance(as_solver(Named(None)), Adapted)
    for wrong in (None, 3, "auto", Own, Gives, object(), {}):
        with pytest.raises(InputError, match=r"solver is .*an object with solve"):
            as_solver(wrong)  # type: ignore[arg-type]
    for part, value in (("law", "soft"), ("tolerance", "small"), ("takes", "all")):
        with pytest.raises(InputError, match=part):
            as_solver(type("Wrong", (Gives,), {part: value})(None))


def test_steps_with_joints_and_soft_bodies_by_an_object_that_only_solves() -> None:
    class Delegates:
        def solve(self, problem: Any, warm: Any = None, relinearise: Any = None) -> Solution:
            return make_solver("nsgs").solve(problem, warm)

    scene = Scene()
    arm = scene.add_box((0.4, 0.05, 0.05), (0.2, 0, 1), velocity=(0, 0, 1))
    scene.add_ball(None, arm, (0, 0, 1))
    scene.add_half_space(position=(0, 0, 0.4))
    scene.add_soft(tet_generators.box((0.1, 0.1, 0.1), 1), elastic(5e4, 0.35), (0.3, 0, 0.45))
    sims = [Simulation(scene, dt=0.01, solver=each) for each in (Delegates(), "nsgs")]
    for sim in sims:
        sim.run(3)
    assert np.isfinite(sims[0].state.body_pose).all()
    np.testing.assert_allclose(sims[0].state.body_pose, sims[1].state.body_pose, atol=1e-3)


# ---- other processes -------------------------------------------------------------------------------------------


def test_a_registered_solver_works_in_comparisons() -> None:
    register(Own)
    found = compare({"slip": SLIP}, [make_solver("own-sweeps"), make_solver("prox-gs")])
    assert [row.solved for row in found.rows] == [True, True]
    runs = compare_scenes(["box-slope"], ["own-sweeps"], {"solver.subspace": 1}, steps=3)
    assert (runs.rows[0].status, runs.rows[0].note, runs.rows[0].steps) == ("finished", "", 3)
    assert runs.rows[0].summary.unread_hints == ()


def test_a_class_that_no_other_process_can_find_is_named() -> None:
    @dataclass(frozen=True)
    class Hidden(Own):
        name: ClassVar[str] = "hidden"

    register(Hidden)
    with pytest.raises(InputError, match=r"compare: solver hidden cannot be sent .* top of a module"):
        compare({"slip": SLIP}, [make_solver("hidden")])
    with pytest.raises(InputError, match=r"compare: solver hidden cannot be sent"):
        compare_scenes(["box-slope"], ["hidden"], steps=3)


SCRIPT = """
from dataclasses import dataclass
from typing import ClassVar
from stickslip.contact.gallery import GALLERY
from stickslip.experiments.comparison import compare
from stickslip.experiments.scene_comparison import compare_scenes
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel
from stickslip.solvers.registry import make_solver, register

@register
@dataclass(frozen=True)
class Mine(ProxGaussSeidel):
    name: ClassVar[str] = "mine"

def main():
    row = compare({"slip": GALLERY["one-contact-slip"]().problem}, [make_solver("mine")]).rows[0]
    print(row.status, row.note)
"""
GUARDED = (
    SCRIPT
    + """
if __name__ == "__main__":
    main()
    print(compare_scenes(["box-slope"], ["mine"], steps=2).rows[0].status)
"""
)


@pytest.mark.slow
def test_solvers_of_scripts_work_or_say_why_not(tmp_path: Path) -> None:
    def printed(*arguments: str) -> str:
        return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout

    file = tmp_path / "script.py"
    file.write_text(GUARDED)
    assert printed(str(file)).split() == ["converged", "finished"]
    file.write_text(SCRIPT + "\nmain()\n")
    assert "crashed" in (said := printed(str(file)))
    assert 'below `if __name__ == "__main__":`' in said
    said = printed("-c", GUARDED.replace("    print(compare_scenes", "    0 and print(compare_scenes"))
    assert said.startswith("refused the solver cannot be loaded in the process")
    assert "interactive session" in said


# ---- packages --------------------------------------------------------------------------------------------------

PACKAGE = """
from dataclasses import dataclass
from typing import ClassVar
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel

@dataclass(frozen=True)
class Sweeps(ProxGaussSeidel):
    '''Sweeps from elsewhere.'''
    name: ClassVar[str] = "elsewhere"

class Nothing:
    pass
"""
ENTRIES = """[stickslip.solvers]
missing = no_such_module_at_all:Solver
nothing = solvers_elsewhere:Nothing
elsewhere = solvers_elsewhere:Sweeps
auto = solvers_elsewhere:no_such_name
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package whose entry points are half wrong."""
    (tmp_path / "solvers_elsewhere.py").write_text(PACKAGE)
    info = tmp_path / "solvers_elsewhere-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: solvers-elsewhere\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_LOADED", set())


@pytest.mark.usefixtures("package")
def test_solvers_of_packages_are_loaded_when_they_are_asked_for() -> None:
    assert make_solver("auto").name == "auto"
    assert "elsewhere" not in SOLVERS
    with pytest.warns(SolverWarning) as caught:
        solver = make_solver("elsewhere")
    assert solver.solve(SLIP).converged
    told = sorted(str(item.message) for item in caught if item.category is SolverWarning)
    assert len(told) == 3
    assert all("of the package solvers-elsewhere cannot be loaded" in text for text in told)
    for text, words in zip(told, ("solver 'auto'", "solver 'missing'", "solver 'nothing'"), strict=True):
        assert text.startswith(words)
    assert "frozen dataclass" in told[2]
    assert find_solver("auto").__module__ == "stickslip.solvers.auto"
    assert "elsewhere" in known_solvers()  # and no further warning


@pytest.mark.usefixtures("package")
def test_commands_say_in_a_line_what_cannot_be_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "solvers"]) == 0
    printed = capsys.readouterr()
    assert "Sweeps from elsewhere." in printed.out
    assert [line.split(":")[0] for line in printed.err.splitlines()] == ["warning"] * 3
    assert main(["run", "box-slope", "--steps", "1", "--solver", "elsewhere"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("package")
@pytest.mark.filterwarnings("ignore::stickslip.errors.SolverWarning")
def test_solvers_of_packages_work_in_other_processes() -> None:
    assert compare_scenes(["box-slope"], ["elsewhere"], steps=2).rows[0].status == "finished"
    with pytest.raises(InputError, match=r"solver 'other' is unknown; known: auto, .*elsewhere"):
        make_solver("other")
