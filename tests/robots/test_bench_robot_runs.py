"""benchmarks/bench_robot_runs.py in short: a robot runs, and what got worse is told."""

import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
URDF = """<robot name="rod"><link name="base"/><link name="rod"><inertial><mass value="1"/><origin xyz="0.5 0 0"/>
<inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint></robot>"""


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import bench_robot_runs

    return bench_robot_runs


def test_files_run_or_say_why_not(bench, tmp_path):
    (tmp_path / "rod.urdf").write_text(URDF)
    (tmp_path / "broken.urdf").write_text("<robot")
    files = bench.files_of(tmp_path, ".urdf")
    assert list(files) == ["broken.urdf", "rod.urdf"]
    *_, row = bench.course("rod.urdf", files["rod.urdf"], 0.02, 60.0)
    assert (row.ended, row.steps, row.bad) == ("done", 10, 0)
    *_, row = bench.course("broken.urdf", files["broken.urdf"], 0.02, 60.0)
    assert (row.ended.split(":")[0], row.steps) == ("refused", 0)


@pytest.mark.slow
def test_runs_are_printed_as_json(bench, tmp_path, monkeypatch, capsys):
    """In a process of their own, which may be ended."""
    (tmp_path / "rod.urdf").write_text(URDF)
    options = ["--data", str(tmp_path), "--only", "rod.urdf", "--seconds", "0.02", "--json", "--check"]
    monkeypatch.setattr(sys, "argv", ["bench_robot_runs.py", *options])
    bench.main()
    row = json.loads(capsys.readouterr().out)
    assert (row["name"], row["ended"], row["steps"]) == ("rod.urdf", "done", 10)


def test_what_got_worse_is_told(bench):
    good = bench.Row("a", steps=1000, status={"stalled": 4})
    was = bench.kept(good)
    assert bench.compared(good, was) == []
    assert len(bench.compared(good, None)) == 1  # a file that is new
    more = bench.Row("a", steps=1000, status={"stalled": 4, "diverged": bench.SLACK + 1})
    assert len(bench.compared(more, was)) == 1
    assert len(bench.compared(bench.Row("a", "time", 500), was)) == 1
    late = bench.Row("a", "time", 500)
    assert bench.compared(late, bench.kept(late)) == []
