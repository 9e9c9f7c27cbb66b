"""benchmarks/bench_small.py gives what scripts read of it; its times are nobody's business here."""

import json
import sys
from pathlib import Path

import pytest

from stickslip import Simulation

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
KEYS = ["scene", "ours_us", "mujoco_us", "ratio", "residual", "penetration_mm", "driver"]
"""Those that scripts rely on; more may follow."""


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import bench_small

    return bench_small


def run(bench, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    few = ("--scenes", "box", "--driver", "python", "--warmup", 2, "--steps", 2, "--rounds", 1)
    monkeypatch.setattr(sys, "argv", [str(each) for each in ("bench_small.py", *few, *arguments)])
    bench.main()


def test_json_has_one_object_a_scene(bench, monkeypatch, capsys, tmp_path) -> None:
    kept = tmp_path / "kept.json"
    run(bench, monkeypatch, "--json", "--record", kept)
    (row,) = json.loads(capsys.readouterr().out)
    assert list(row)[: len(KEYS)] == KEYS
    assert row["scene"] == "box"
    assert row["driver"] == "python"
    assert row["ours_us"] > 0.0
    assert 0.0 <= row["residual"] < 1e-6
    assert 0.0 <= row["penetration_mm"] < 1e-3
    # MuJoCo is an extra: both are there or neither is
    assert (row["mujoco_us"] is None) == (row["ratio"] is None)
    ratios = json.loads(kept.read_text())["auto"]["box"]
    assert ratios["yardstick"] > 0.0


def test_a_ratio_that_got_worse_fails_the_check(bench, monkeypatch, capsys, tmp_path) -> None:
    kept = tmp_path / "kept.json"
    for was, worse in ((1e-6, True), (1e9, False)):
        kept.write_text(json.dumps({"auto": {"box": {"yardstick": was}}}))
        if worse:
            with pytest.raises(SystemExit, match="1"):
                run(bench, monkeypatch, "--against", kept, "--check")
        else:
            run(bench, monkeypatch, "--against", kept, "--check")
        printed = capsys.readouterr().out
        assert "| box (python) |" in printed
        assert ("WORSE" in printed) == worse


def test_the_arm_holds_together(bench) -> None:
    import small_scenes

    scene = small_scenes.arm_and_hand()
    sim = Simulation(scene, small_scenes.HINGES_DT)
    sim.run(3)
    assert len(scene.joints) == 23
    assert sim.joint_error() < 1e-6  # solver tolerances hold positions of joints to far less
    assert sim.last.certificate.contacts == 0


def test_robots_stand_and_hold_in_both_engines(bench) -> None:
    mujoco = pytest.importorskip("mujoco")
    import small_robots
    import small_scenes

    for name, dofs, fewest in (("humanoid", 27, 8), ("arm-box", 15, 8), ("ant", 14, 4)):
        text = small_robots.ROBOTS[name]()
        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        mujoco.mj_step(model, data, 300)
        sim = small_scenes.subject(name, "auto", "python").sim
        sim.run(300)
        (robot,) = sim.model.others
        assert model.nv == sim.state.part_v(robot.name).size == dofs
        assert sim.last.certificate.converged
        assert fewest <= sim.last.certificate.contacts <= 12
        assert fewest <= data.ncon <= 12
        # nobody has fallen: no coordinate is further off than drives and soft contacts let it sag
        assert abs(data.qpos - model.qpos0).max() < 0.05
        assert abs(sim.state.part_q(robot.name).ravel() - model.qpos0).max() < 0.05
