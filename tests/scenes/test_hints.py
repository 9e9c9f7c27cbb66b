"""Solver options that scenes hint at, and settings: nothing that nobody reads goes unnoticed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stickslip import InputError, make_solver
from stickslip.cli import main
from stickslip.contact.gallery import GALLERY
from stickslip.io.problem_file import save_problem
from stickslip.scenes.registry import BUILDING, SCENES, find_scene
from stickslip.scenes.running import hints_for, prepare, solver_for
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel


@pytest.mark.parametrize("name", SCENES)
def test_every_hint_reaches_the_method_of_its_scene(name: str) -> None:
    entry = find_scene(name)
    solver: Any = solver_for(entry, entry.method, {})
    assert hints_for(entry, entry.method) == dict(entry.solver)
    for key, value in entry.solver.items():
        assert vars(solver)[key] == value


def test_a_hint_that_no_method_knows_is_an_error() -> None:
    entry = replace(find_scene("wall"), solver={"tolerance": 1e-6, "subspace_limits": 3})
    for name in ("auto", "prox-gs"):
        with pytest.raises(InputError, match="scene wall: it hints at 'subspace_limits', which its solver auto"):
            solver_for(entry, name, {})


def test_hints_that_another_solver_does_not_read_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    temple = find_scene("temple")
    assert hints_for(temple, "prox-gs") == dict(BUILDING)
    assert set(hints_for(temple, "nsgs")) == {"tolerance", "max_iterations"}
    assert prepare("box-slide").unread == ()
    assert prepare("box-slide", "auto").unread == ("tolerance",)  # it is meant for cond
    assert prepare("box-slide", "auto", {"solver.tolerance": 1e-6}).unread == ()
    assert main(["run", "box-slide", "--solver", "auto", "--steps", "1"]) == 0
    assert "note: the scene hints at tolerance for its own solver; auto goes without" in capsys.readouterr().out
    assert main(["run", "box-slide", "--solver", "auto", "--steps", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unread_hints"] == ["tolerance"]
    assert main(["run", "box-slope", "--steps", "1"]) == 0
    assert "note:" not in capsys.readouterr().out


def test_the_limit_of_direct_solves_reaches_the_sweeps_of_auto(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, check = [], ProxGaussSeidel.__post_init__

    def watched(self: ProxGaussSeidel) -> None:
        seen.append(self.subspace_limit)
        check(self)

    monkeypatch.setattr(ProxGaussSeidel, "__post_init__", watched)
    for limit in (7, 4000):
        seen.clear()
        make_solver("auto", subspace_limit=limit).solve(GALLERY["stack-of-five"]().problem)
        assert set(seen) == {limit}


UNREAD: dict[str, tuple[list[str], str]] = {
    "run, scene": (["run", "box-slope", "--set", "frictoin=1"], "frictoin"),
    "run, solver": (["run", "box-slope", "--set", "solver.speed=1"], "speed"),
    "run, stepping": (["run", "box-slope", "--set", "stepping.speed=1"], "speed"),
    "run, group": (["run", "box-slope", "--set", "dogs.speed=1"], "dogs.speed"),
    "run, dt": (["run", "box-slope", "--dt", "0.01", "--set", "stepping.dt=0.02"], "dt is given twice"),
    "run, seconds": (["run", "box-slope", "--max-seconds", "1", "--set", "solver.max_seconds=2"], "given twice"),
    "view, scene": (["view", "box-slope", "--no-browser", "--set", "frictoin=1"], "frictoin"),
    "view, solver": (["view", "box-slope", "--no-browser", "--set", "solver.speed=1"], "speed"),
    "view, dt": (["view", "box-slope", "--no-browser", "--dt", "1", "--set", "stepping.dt=1"], "dt is given twice"),
    "compare, scene": (["compare", "box-slope", "--set", "frictoin=1"], "frictoin"),
    "compare, solver": (["compare", "box-slope", "--solvers", "nsgs", "--set", "solver.speed=1"], "speed"),
    "compare, file": (["compare", "FILE", "--solvers", "nsgs", "--set", "friction=1"], "set: 'friction=1' is for"),
    "compare, steps": (["compare", "FILE", "--solvers", "nsgs", "--steps", "3"], "steps: 3 is for scenes"),
    "compare, every": (["compare", "FILE", "--solvers", "nsgs", "--every", "3"], "every: 3 is for scenes"),
    "simulate, scene": (["compare", "box-slope", "--simulate", "--set", "frictoin=1"], "frictoin"),
    "simulate, solver": (
        ["compare", "box-slope", "--simulate", "--solvers", "nsgs", "--set", "solver.facets=4"], "'facets'"
    ),
    "simulate, other scene": (["compare", "box-slope", "--simulate", "--set", "wall.friction=1"], "wall.friction"),
    "simulate, twice": (
        ["compare", "box-slope", "--simulate", "--tolerance", "1e-3", "--set", "solver.tolerance=1"],
        "tolerance is given twice",
    ),
    "solve": (["solve", "FILE", "--set", "speed=1"], "'speed'"),
    "solve, group": (["solve", "FILE", "--set", "stepping.dt=1"], "'stepping.dt'"),
    "solve, twice": (["solve", "FILE", "--tolerance", "1e-3", "--set", "tolerance=1"], "tolerance is given twice"),
    "solve, two names": (["solve", "FILE", "--set", "solver.tolerance=1", "--set", "tolerance=1"], "given twice"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNREAD)
def test_settings_that_nothing_reads_are_errors(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, words = UNREAD[case]
    file = tmp_path / "slip.npz"
    save_problem(GALLERY["one-contact-slip"]().problem, file)
    assert main([str(file) if part == "FILE" else part for part in arguments]) == 2
    assert words in capsys.readouterr().err
