"""benchmarks/bench_robot_imports.py in short: an MJCF and a URDF file are complete, and what is lost is told."""

import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    pytest.importorskip("mujoco", reason="MJCF files need mujoco-core (pip install 'stickslip[robots]')")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import bench_robot_imports

    return bench_robot_imports


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wonik_allegro/right_hand.xml", "yumi.urdf"])
def test_files_are_complete(bench, monkeypatch, capsys, name):
    if not bench.FOLDER.is_dir():
        pytest.skip(f"{bench.FOLDER} is not there: the robots of the shared data are needed")
    monkeypatch.setattr(bench, "IMPORTERS", ["stickslip", "mujoco", "pinocchio"])
    monkeypatch.setattr(sys, "argv", ["bench_robot_imports.py", "--json", "--only", name])
    bench.main()
    (found,) = json.loads(capsys.readouterr().out).values()
    own = found["importers"]["stickslip"]
    assert (own["same_mass"], own["same_dofs"], own["lost"]) == (True, True, {})
    assert own["inertia"] is None or own["inertia"] < bench.SAME


def test_what_is_lost_without_a_word_is_counted(bench):
    truth = {"kept": {"tendons": 5, "sensors": 2}}
    assert bench.lost({"kept": {"tendons": 1, "sensors": 2}, "said": {"tendons": 3}}, truth) == {"tendons": 1}
    was = {
        "dofs": 7,
        "mass": 1.0,
        "warnings": 0,
        "lost": {},
        "same_mass": True,
        "same_dofs": True,
        "ratios": {"cold": 1.0},
    }
    row = {"dofs": 7, "mass": 1.0, "warnings": 0, "lost": {"tendons": 1}, "same_mass": True, "same_dofs": True}
    lines = bench.compared("a.xml", {"importers": {"stickslip": row}, "ratios": {"cold": 2.0}}, was)
    assert lines == [
        "a.xml: lost was {}, now {'tendons': 1}",
        "a.xml: cold import over the other was 1.00, now 2.00",
    ]
