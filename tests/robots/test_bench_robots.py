"""benchmarks/bench_robots.py in short: loops of a robot stay closed, and a gripper does not let a box creep."""

import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    pytest.importorskip("mujoco", reason="MJCF files need mujoco-core (pip install 'stickslip[robots]')")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import bench_robots

    if not (bench_robots.DATA / "mjcf" / "robotiq_2f85").is_dir():
        pytest.skip(f"{bench_robots.DATA} is not there: the robots of the shared data are needed")
    return bench_robots


def run(bench, monkeypatch, capsys, *arguments):
    """The rows that it prints as JSON."""
    monkeypatch.setattr(sys, "argv", ["bench_robots.py", "--json", *arguments])
    bench.main()
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_loops_of_a_falling_robot_stay_closed(bench, monkeypatch, capsys):
    """The first impacts, in which errors are largest, are within 0.4 s."""
    (row,) = run(bench, monkeypatch, capsys, "--only", "loops", "--seconds", "0.5", "--check")
    assert row["loop_m"] < 1e-8
    assert row["converged"] == 1.0
    assert row["mujoco_loop_m"] > 1e-6  # its loops are springs: the same measure sees an error where there is one


@pytest.mark.slow
def test_a_gripper_holds_a_box_at_four_fifths_of_its_friction(bench, monkeypatch, capsys):
    (row,) = run(bench, monkeypatch, capsys, "--only", "grip", "--seconds", "1", "--check")
    assert row["slip_m"] < 1e-6 / 60.0  # as much as leaves a minute below 1e-6 m
    assert row["share"] == pytest.approx(0.8, abs=1e-3)
    assert row["mujoco_slip_m"] > 1e-6


def test_a_missed_bar_is_told(bench):
    good = bench.Row("grip", 1.0, 1e-12, 0.0, 1e-9, 0.8, 1.0, 1e-9, None, None)
    assert good.missed() == []
    assert bench.grown(good, {"grip": {"slip_m": 1e-9}}) == []
    bad = bench.Row("grip", 1.0, 1e-7, 0.0, 1e-5, 0.8, 0.99, 1e-9, None, None)
    assert bad.missed() == ["loop_m", "slip_m", "converged"]
    assert bench.grown(bad, {"grip": {"slip_m": 1e-9, "loop_m": 1e-12}}) == ["loop_m", "slip_m"]
