"""Every example runs and prints what it promises."""

import runpy
import sys
import warnings
from pathlib import Path

import pytest

from stickslip.solvers.registry import SOLVERS

FOLDER = Path(__file__).resolve().parent.parent / "examples"
EXPECTED = {
    "box_on_a_slope.py": "moved",
    "contact_forces.py": "slip",
    "convex_contact.py": "friction over normal force 0.400",
    "exchange_problems.py": "FCLIB: 12 contacts, converged",
    "friction_sets.py": "it stops at 0.816 s",
    "humanoid_gets_up.py": "4 of 4 robots that lay on their fronts stand",
    "impacts.py": "super-ball: up 1.800 m/s, along 0.4",
    "joints.py": "pushed down with 50 N: the rope is broken",
    "large_soft_body.py": "5887 nodes, 841 contacts",
    "many_worlds.py": "slides where friction is at most 0.363",
    "mesh_bodies.py": "the ball is inside the glass: True",
    "newton_on_a_card.py": "the same to a micrometre: True",
    "overlaps.py": "closed: after one step the upper box is at 300.0 mm of 300, at 0.000 m/s",
    "own_environment.py": "2.75 N is best: the puck stops at 1.010 m",
    "own_solver.py": "solved 15 of 16 problems of contacts",
    "plan_arm_pushes_box.py": "the box is at its place: True",
    "plan_cart_pole.py": "the pole stands: True",
    "prescribed_motion.py": "at 0.500000 m/s",
    "record_and_read.py": "200 frames",
    "report_a_run.py": "friction exceeded its cone by",
    "robot_arm.py": "status: converged",
    "robot_grasp.py": "all steps converged: True; ball lifted by 0.09",
    "rod.py": "the helix advances by 0.0862 m",
    "save_and_continue.py": "the same bits: True",
    "shapes_and_materials.py": "hammer",
    "share_a_run.py": "in one page of less than 0.2 MB: True",
    "solve_a_problem.py": "[ 2.  -0.8  0. ]",
    "soft_body.py": "converged: True",
    "soft_gripper.py": "converged: True",
    "teleoperate.py": "the box is lifted by 0.17 m; converged",
    "tet_meshes.py": "read back the same: True",
    "train_cartpole.py": "CartPole: ",
    "train_push_box.py": "PushBox: ",
}

NEEDED = {"newton_on_a_card.py": "warp"}
"""An optional package of an example, which says on stderr where it finds no card."""


def test_every_example_is_listed() -> None:
    assert sorted(file.name for file in FOLDER.glob("*.py")) == sorted(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_example(name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """As a script, though in this process, which has the kernels at hand; what it would warn of is an error."""
    monkeypatch.setattr(sys, "argv", [str(FOLDER / name)])
    if name in NEEDED:
        pytest.importorskip(NEEDED[name], reason="the extra 'gpu' is not installed").init()
        capfd.readouterr()
    known = dict(SOLVERS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            runpy.run_path(str(FOLDER / name), run_name="__main__")
    finally:
        SOLVERS.clear()
        SOLVERS.update(known)
    printed = capfd.readouterr()
    assert EXPECTED[name] in printed.out
    assert printed.err == ""
