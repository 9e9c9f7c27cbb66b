"""Fig. 3, 10 and 15 of [macklin2019]: verdicts that can be false, and what runs of robots are read for."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stickslip.experiments.macklin2019 import robot_runs
from stickslip.experiments.macklin2019.robot_runs import Seen
from stickslip.scenes.running import prepare

COURSE = np.column_stack([np.linspace(0.0, 1.0, 5), -0.2 * np.ones(5), 0.1 * np.ones(5), 50.0 * np.ones(5)])
BALL = Seen(
    {"squeeze_mm": 5.0, "grip_force_N": 3.0, "rolled_rad": 0.6, "held": True, "contacts_max": 40.0, "converged": 1.0},
    COURSE, ("time_s", "least", "largest", "height_mm"), True,
)  # fmt: skip
GRASP = Seen(
    {"held": True, "slip_mm": 0.5, "creep_mm_per_s": 1e-5, "epsilon": 0.3, "contacts": 8.0, "contacts_max": 20.0}
    | {"converged": 1.0},
    COURSE[:, :1], ("time_s",), True,
)  # fmt: skip
DRAWER = Seen(
    {"opened_m": 0.12, "grip_force_N": 20.0, "load_share": 0.2, "slip_mm": 0.4, "converged": 1.0},
    COURSE[:, :2], ("time_s", "opened_m"), True,
)  # fmt: skip
RISEN = Seen({"standing": 1.0, "height_m": 0.85, "converged": 1.0}, COURSE[:, :2], ("time_s", "height_m"), True)


def but(seen: Seen, **values: float | bool) -> Seen:
    """The same with other metrics."""
    return replace(seen, values={**seen.values, **values})


def test_verdicts_can_be_false() -> None:
    assert all(claim.agrees for claim in robot_runs.ball_claims("fig3", BALL))
    assert not robot_runs.ball_claims("fig3", but(BALL, held=False))[0].agrees
    assert not robot_runs.ball_claims("fig3", replace(BALL, course=COURSE * 0.1))[0].agrees
    assert all(claim.agrees for claim in robot_runs.grasp_claims("fig10", {"mug": GRASP, "torus": GRASP}))
    for change in ({"slip_mm": 4.0}, {"creep_mm_per_s": 0.02}, {"held": False}, {"slip_mm": np.nan}):
        assert not robot_runs.grasp_claims("fig10", {"mug": GRASP, "torus": but(GRASP, **change)})[0].agrees
    verdicts = robot_runs.grasp_claims("fig10", {"mug": but(GRASP, converged=0.9), "torus": GRASP})
    assert [claim.agrees for claim in verdicts] == [True, False]
    found = {"drawer": DRAWER, "humanoid": RISEN}
    assert all(claim.agrees for claim in robot_runs.learned_claims("fig15", found))
    fallen = {"drawer": but(DRAWER, opened_m=0.0), "humanoid": but(RISEN, standing=0.0, converged=0.5)}
    assert not any(claim.agrees for claim in robot_runs.learned_claims("fig15", fallen))


@pytest.mark.parametrize(
    ("rows", "draw", "found"),
    [
        (robot_runs.ball_rows, robot_runs.draw_ball, BALL),
        (robot_runs.grasp_rows, robot_runs.draw_grasps, {"mug": GRASP, "torus": GRASP}),
        (robot_runs.learned_rows, robot_runs.draw_courses, {"drawer": DRAWER, "humanoid": RISEN}),
    ],
)
def test_rows_and_pictures(rows, draw, found, tmp_path: Path) -> None:
    assert all(np.isfinite(row.ours) for row in rows("fig", found))
    draw(found, tmp_path / "a.png", tmp_path / "a.csv")
    assert (tmp_path / "a.png").stat().st_size > 1000
    assert (tmp_path / "a.csv").read_text().count("\n") > 2


def test_courses_of_the_scenes_are_read_after_every_step(monkeypatch) -> None:
    monkeypatch.setattr(robot_runs, "QUICK", 0.01)
    monkeypatch.setattr(robot_runs, "RISE", 1.0)
    found = robot_runs.measure_learned(True, lambda *_: None)
    assert found["drawer"].course.shape == (6, 2)
    assert found["humanoid"].course[0, 1] < 0.2  # it lies
    assert not found["drawer"].whole


def test_strains_of_the_ball_are_those_of_its_elements() -> None:
    run = prepare("allegro-ball", settings={"divisions": 1})
    rest = robot_runs._volumes(run.sim)
    run.sim.set_node_position(run.metrics.ball, 1.1 * run.sim.nodes(run.metrics.ball))
    np.testing.assert_allclose(robot_runs._volumes(run.sim) / rest, 1.331, rtol=1e-12)
