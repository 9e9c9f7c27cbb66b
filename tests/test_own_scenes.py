"""Scenes of one's own in every command that takes scenes, and on the live page."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest

import stickslip
from stickslip.cli import main
from stickslip.scene_files import entry_of
from stickslip.solvers.quality import solver_options
from stickslip.solvers.registry import SOLVERS

CODE = """
import stickslip

DT, TIME = 0.004, 0.04


def build(friction=0.4, height=0.1):
    scene = stickslip.Scene()
    scene.add_half_space(friction=friction)
    scene.add_box((0.2, 0.2, 0.2), position=(0, 0, height), name="box")
    return scene


def high():
    return build(height=1.0)
"""


@pytest.fixture
def own(tmp_path: Path) -> dict[str, str]:
    """The same scene as code and as a file."""
    code, file = tmp_path / "my.py", tmp_path / "mine.toml"
    code.write_text(CODE)
    entry_of(str(code)).build().save(file)
    file.write_text(file.read_text() + "\n[run]\ndt = 0.004\ntime = 0.04\n")
    return {"code": str(code), "file": str(file)}


def test_run_takes_both_and_gives_the_same_state(own: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for what in (own["code"], own["file"], own["code"] + ":build"):
        assert main(["run", what, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert {each["state_hash"] for each in found} == {found[0]["state_hash"]}
    assert found[0]["steps"] == 10
    assert found[0]["dt"] == 0.004
    assert main(["run", own["code"] + ":high", "--steps", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["contacts_max"] == 0
    assert main(["run", own["code"], "--set", "height=1", "--steps", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["contacts_max"] == 0


@pytest.mark.slow
def test_compare_takes_both(own: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["compare", own["code"], own["file"], "--solvers", "auto", "--steps", "4", "--every", "2", "--json"]) == 0
    )
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 4
    given = ["--set", "my.friction=0.1", "--solvers", "auto", "--steps", "3"]
    assert main(["compare", own["code"], own["file"], "--simulate", "--json", *given]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["status"] for row in told["rows"]] == ["finished", "finished"]
    assert told["settings"]["scenes"][own["code"]] == {"friction": 0.1}


SOLVER = """
from dataclasses import dataclass
from typing import ClassVar

from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel
from stickslip.solvers.registry import register


@register
@dataclass(frozen=True)
class Mine(ProxGaussSeidel):
    name: ClassVar[str] = "file-mine"
"""


@pytest.mark.slow
def test_compare_knows_the_solvers_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process and in those that solve; residuals of every iteration where that is asked for."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / "with_a_solver.py"
    file.write_text(CODE + SOLVER + 'SOLVER = "file-mine"\n')
    try:
        asked = ["compare", str(file), "--solvers", "prox-gs,file-mine", "--record-every", "1", "--steps", "2"]
        assert main([*asked, "--every", "2", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert [(row["solver"], row["solved"]) for row in told["rows"]] == [("prox-gs", True), ("file-mine", True)]
        assert "record_every=1" in told["settings"]["options"]["file-mine"]
        assert main(["compare", str(file), "--simulate", "--solvers", "file-mine", "--steps", "2", "--json"]) == 0
        assert [row["status"] for row in json.loads(capsys.readouterr().out)["rows"]] == ["finished"]
    finally:
        SOLVERS.pop("file-mine", None)
        sys.modules.pop("with_a_solver", None)


def test_quality_of_a_file_is_that_of_a_script(own: dict[str, str], tmp_path: Path) -> None:
    found = [entry_of(own["code"]), entry_of(own["file"])]
    assert [entry.quality for entry in found] == ["normal", "normal"]
    assert dict(found[0].solver) == solver_options("normal")
    both = tmp_path / "both.py"
    both.write_text(CODE + 'SOLVER, QUALITY = "nsgs", "fast"\n')
    with pytest.raises(stickslip.InputError, match="both solver and quality are given"):
        entry_of(str(both))


@pytest.mark.slow
def test_sweep_takes_files(own: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert main(["sweep", own["file"], "--set", "solver.tolerance=1e-6|1e-8", "--out", str(out), "--json"]) == 0
    assert [row["status"] for row in csv.DictReader(out.open())] == ["converged", "converged"]


def test_wrong_files_are_answered(own: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for what, answer in (
        (own["code"] + ":biuld", "it has no function 'biuld'; those that it has: build, high"),
        (str(tmp_path / "no.toml"), "No such file"),
        (str(tmp_path / "no.py"), "does not exist"),
    ):
        for command in ("run", "view", "compare"):
            assert main([command, what]) == 2
            assert answer in capsys.readouterr().err


def test_show_runs_a_simulation_on_the_live_page(own: dict[str, str]) -> None:
    pytest.importorskip("viser")
    sim = stickslip.Simulation(entry_of(own["code"]).build(), dt=0.004)
    sim.run(3)
    seen: list[float] = []
    page = stickslip.show(sim, each_step=lambda now: seen.append(now.time), browser=False, wait=False)
    try:
        assert page.url.startswith("http://")
        page.run.watch(True)
        page.run.pause()
        page.run.settled()
        before = len(seen)
        page.run.step_once()
        snapshot = page.run.settled()
        assert len(seen) == before + 1
        assert snapshot.frame.time == sim.time == pytest.approx(0.004 * len(seen) + 0.012)
    finally:
        page.close()
    with pytest.raises(stickslip.InputError, match="cannot be shown"):
        stickslip.show("scene")  # type: ignore[arg-type]
