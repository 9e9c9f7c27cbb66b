"""Sweeps: every combination once, the same rows wherever runs are made, nothing lost when something is killed."""

from __future__ import annotations

import contextlib
import csv
import json
import multiprocessing
import os
import signal
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import child_process
import stickslip
from stickslip import FileError, InputError
from stickslip.cli import main
from stickslip.sweeps.journal import ENDING, Journal
from stickslip.sweeps.local import run_here
from stickslip.sweeps.one_run import one_run
from stickslip.sweeps.plan import Plan, as_axes, parse_axes

SCENE = """
import stickslip

def build(speed=1.0, friction=0.5, seed=0, shape="ball"):
    scene = stickslip.Scene()
    scene.add_half_space(friction=friction)
    if shape == "ball":
        scene.add_sphere(0.1, (0.01 * seed, 0, 0.1), velocity=(speed, 0, 0))
    else:
        scene.add_box((0.2, 0.2, 0.2), (0.01 * seed, 0, 0.1), velocity=(speed, 0, 0))
    return scene
"""


@pytest.fixture
def scene(tmp_path: Path) -> str:
    file = tmp_path / "own.py"
    file.write_text(SCENE)
    return f"{file}:build"


def test_values_of_settings() -> None:
    axes = parse_axes(["friction=0.1:1.0:10", "seed=1:4", "shape=ball|box", "solver.tolerance=1e-6", "at=1,2,3"])
    assert axes["friction"] == pytest.approx([0.1 * k for k in range(1, 11)], abs=1e-12)
    assert axes["seed"] == (1, 2, 3, 4)
    assert axes["shape"] == ("ball", "box")
    assert axes["solver.tolerance"] == (1e-6,)
    assert axes["at"] == ((1.0, 2.0, 3.0),)
    assert as_axes({"a": [1, 2], "b": "1:2", "c": 0.5}) == {"a": (1, 2), "b": (1, 2), "c": (0.5,)}
    plan = Plan("x", None, {"a": (1, 2), "b": (3, 4)})
    assert [tuple(each.settings.values()) for each in plan.requests()] == [(1, 3), (1, 4), (2, 3), (2, 4)]
    for wrong in ("friction", "seed=5:1", "n=0.5:2", "a=0:1:0.5"):
        with pytest.raises(InputError):
            parse_axes([wrong])


def test_rows_are_those_of_runs_alone(scene: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    settings = {"friction": [0.2, 0.4], "shape": "ball|box"}
    rows = stickslip.sweep(scene, settings, tmp_path / "a.csv", steps=5, processes=2)
    again = stickslip.sweep(scene, settings, tmp_path / "a.parquet", steps=5, processes=1)
    assert [row["run"] for row in rows] == [0, 1, 2, 3]
    asked = [(0.2, "ball"), (0.2, "box"), (0.4, "ball"), (0.4, "box")]
    assert [(row["friction"], row["shape"]) for row in rows] == asked
    plan = Plan(scene, None, as_axes(settings), 5)
    alone = [one_run(request) for request in plan.requests()]
    assert [row["state_hash"] for row in rows] == [row["state_hash"] for row in alone]
    assert [row["state_hash"] for row in rows] == [row["state_hash"] for row in again]
    assert {row["status"] for row in rows} == {"converged"}
    with (tmp_path / "a.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [float(row["natural_residual_max"]) for row in read] == [row["natural_residual_max"] for row in rows]
    assert sorted(item.name for item in tmp_path.iterdir() if item.is_file()) == ["a.csv", "a.parquet", "own.py"]


def test_a_sweep_that_was_killed_goes_on(scene: str, tmp_path: Path) -> None:
    out = str(tmp_path / "a.csv")
    command = ["sweep", scene, "--set", "seed=1:12", "--steps", "3", "--out", out, "--processes", "1"]
    journal = tmp_path / f"a.csv{ENDING}"
    process = child_process.start("-m", "stickslip", *command)
    while process.poll() is None and not (journal.exists() and len(journal.read_text().splitlines()) > 3):
        time.sleep(0.02)
    process.kill()
    process.wait()
    lines = journal.read_text().splitlines(keepends=True)[1:]
    kept = [json.loads(line)["run"] for line in lines if line.endswith("\n")]
    assert 2 < len(kept) < 12
    with journal.open("a") as file:
        file.write('{"run": 11, "sett')  # cut off in the middle
    assert main(command) == 0
    with (tmp_path / "a.csv").open(newline="") as table:
        rows = list(csv.DictReader(table))
    assert [int(row["run"]) for row in rows] == list(range(12))
    assert len({row["state_hash"] for row in rows}) == 12
    assert not journal.exists()


@pytest.mark.slow
def test_two_hundred_runs_killed_at_a_random_moment(tmp_path: Path) -> None:
    """All processes are killed; then 200 rows, none twice, and only runs that were under way were made again."""
    log, out, processes = tmp_path / "made.txt", tmp_path / "a.csv", 2
    file = tmp_path / "own.py"
    noted = f"    with open({str(log)!r}, 'a') as file:\n        file.write(f'{{seed}}\\n')\n"
    file.write_text(SCENE.replace("    scene = stickslip.Scene()\n", f"{noted}    scene = stickslip.Scene()\n"))
    command = ["sweep", f"{file}:build", "--set", "seed=1:200", "--steps", "1", "--out", str(out)]
    command += ["--processes", str(processes)]
    moment = int(np.random.default_rng().integers(1, 190))
    journal = tmp_path / f"a.csv{ENDING}"
    process = child_process.start("-m", "stickslip", *command, start_new_session=True)
    while process.poll() is None and not (journal.exists() and len(journal.read_text().splitlines()) > moment):
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    finished = len([line for line in journal.read_text().splitlines(keepends=True)[1:] if line.endswith("\n")])
    assert finished >= moment
    assert main(command) == 0
    with out.open(newline="") as table:
        rows = list(csv.DictReader(table))
    assert [int(row["seed"]) for row in rows] == list(range(1, 201)), moment
    made = Counter(log.read_text().split())
    again = [seed for seed, count in made.items() if count > 1 and seed != "1"]  # the first is built to be checked
    assert len(again) <= processes, (moment, again)


def test_settings_may_be_infinite(scene: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are kept in the journal, told in JSON as words, and read again where a sweep goes on."""
    plan = Plan(scene, None, as_axes({"speed": [float("inf"), 1.0], "friction": [0.5]}), 1)
    with Journal(tmp_path / "b.csv", plan) as journal:
        journal.add(one_run(plan.requests()[0]))
    with Journal(tmp_path / "b.csv", plan) as journal:
        assert journal.rows[0]["settings"] == {"speed": float("inf"), "friction": 0.5}
    asked = ["--set", "speed=1.0|inf", "--steps", "1", "--processes", "1", "--json"]
    assert main(["sweep", scene, *asked, "--out", str(tmp_path / "a.csv")]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["speed"], row["status"]) for row in rows] == [(1.0, "converged"), ("inf", "rejected")]


def test_a_run_whose_process_is_killed_is_made_again(scene: str) -> None:
    plan = Plan(scene, None, as_axes({"seed": [1, 2, 3]}), 3)
    rows = run_here(plan.requests(), 1, 600.0)
    first = next(rows)
    for child in multiprocessing.active_children():
        os.kill(child.pid or 0, signal.SIGKILL)
    found = [first, *rows]
    assert sorted(row["run"] for row in found) == [0, 1, 2]
    assert {row["status"] for row in found} == {"converged"}


def test_runs_that_fail_are_rows(scene: str, tmp_path: Path) -> None:
    settings = {"speed": [1.0, float("1e200"), -1.0], "friction": [0.5]}
    rows = stickslip.sweep(scene, settings, tmp_path / "a.csv", steps=2, processes=1)
    assert rows[0]["status"] == rows[2]["status"] == "converged"
    assert rows[1]["status"] in ("rejected", "diverged")
    assert rows[1]["note"]
    slow = stickslip.sweep(scene, {"seed": [1]}, tmp_path / "b.csv", steps=10**6, processes=1, time_limit=0.01)
    assert slow[0]["status"] == "time-limit"


def test_bad_requests(scene: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"parameter 'frictoin' is unknown.*did you mean friction"):
        stickslip.sweep(scene, {"frictoin": [0.1]}, tmp_path / "a.csv")
    with pytest.raises(InputError, match=r"tables end with \.csv"):
        stickslip.sweep(scene, {}, tmp_path / "a.txt")
    with pytest.raises(InputError, match="on is 'moon'"):
        stickslip.sweep(scene, {}, tmp_path / "a.csv", on="moon")
    with pytest.raises(InputError, match="metric 'creeep' is unknown"):
        stickslip.sweep(scene, {}, tmp_path / "a.csv", steps=1, processes=1, metrics=["creeep"])
    plan = Plan(scene, None, as_axes({"seed": [1]}))
    other = Plan(scene, None, as_axes({"seed": [2]}))
    with Journal(tmp_path / "b.csv", plan), pytest.raises(FileError, match="another sweep that still runs"):
        Journal(tmp_path / "b.csv", plan)
    with pytest.raises(FileError, match="other settings"):
        Journal(tmp_path / "b.csv", other)


def test_on_ray_with_a_worker_that_is_killed(scene: str, tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    psutil = pytest.importorskip("psutil")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    killed = []

    def kill_one(done: int, total: int, row: object) -> None:
        until = time.monotonic() + 5.0
        while row is not None and not killed and done < total - 1 and time.monotonic() < until:
            for child in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error):  # it may have ended meanwhile
                    if "one_run" in " ".join(child.cmdline()) and not killed:
                        child.kill()
                        killed.append(child.pid)
            time.sleep(0.01)

    try:
        rows = stickslip.sweep(scene, {"seed": "1:6"}, tmp_path / "a.csv", steps=3, on="ray", told=kill_one)
    finally:
        ray.shutdown()
    here = stickslip.sweep(scene, {"seed": "1:6"}, tmp_path / "b.csv", steps=3, processes=1)
    assert killed
    assert [row["state_hash"] for row in rows] == [row["state_hash"] for row in here]
