"""Joints between rigid bodies by the compiled driver: the steps of the Python driver, bit for bit, or handed back."""

from __future__ import annotations

import numpy as np
import pytest

from stickslip import Scene, Simulation, Stepping
from stickslip.compiled.driver import reason_against
from stickslip.scene.joint import Drive
from stickslip.solvers.registry import make_solver
from test_compiled import both

pytestmark = pytest.mark.slow


def pendulum(links: int = 3, joint: str = "revolute", **options: object) -> Scene:
    """A chain of boxes that hangs from the world and begins aslant."""
    scene = Scene()
    above = None
    for k in range(links):
        link = scene.add_box((0.3, 0.06, 0.05), (0.15 + 0.3 * k, 0.0, 1.0), mass=1.0 + k, name=f"link-{k}")
        at = (0.3 * k, 0.0, 1.0)
        if joint == "universal":
            scene.add_universal(above, link, at, (0, 1, 0), (0, 0, 1), **options)  # type: ignore[arg-type]
        elif joint in ("ball", "fixed"):
            (scene.add_ball if joint == "ball" else scene.add_fixed)(above, link, at, **options)  # type: ignore[arg-type]
        elif joint == "prismatic":
            scene.add_prismatic(above, link, (0, 0.1, 1), at, **options)  # type: ignore[arg-type]
        else:
            kind = scene.add_revolute if joint == "revolute" else scene.add_cylindrical
            kind(above, link, at, (0, 1, 0.2), **options)  # type: ignore[operator]
        above = link
    return scene


DRIVE = Drive(stiffness=5.0, damping=0.3, position=0.4, velocity=0.1)
WEAK = Drive(stiffness=50.0, damping=2.0, position=1.0, limit=3.0)
KINDS: dict[str, dict[str, object]] = {
    "revolute": {"limits": (-0.3, 0.4), "drive": WEAK},
    "ball": {},
    "fixed": {"bending_stiffness": 8.0, "bending_damping": 0.1},
    "prismatic": {"limits": (-0.1, 0.1), "drive": DRIVE, "stiffness": 1e5, "damping": 10.0},
    "cylindrical": {"limits": (-0.05, 0.1), "turn_limits": (-0.5, 0.5), "turn_drive": DRIVE},
    "universal": {"limits": (-0.2, 0.6), "other_drive": WEAK},
}


@pytest.mark.parametrize("joint", KINDS)
def test_chains_of_all_joints_have_the_same_bits(joint: str) -> None:
    assert both(pendulum(3, joint, **KINDS[joint]), 60) > 50
    assert both(pendulum(3, joint, **KINDS[joint]), 40, scheme="moreau") > 35


@pytest.mark.parametrize(
    "options",
    [
        {"scheme": "symplectic"}, {"warm_start": False}, {"geometric": "column-sums"}, {"dt": 0.02},
        {"scheme": "moreau", "warm_start": False},
    ],
    ids=str,
)  # fmt: skip
def test_options_have_the_same_bits(options: dict[str, object]) -> None:
    assert both(pendulum(4, limits=(-0.6, 0.6)), 40, **options) > 20


def test_solver_dense_has_the_same_bits() -> None:
    assert both(pendulum(4, limits=(-0.6, 0.6)), 40, "dense") > 20


def loose() -> Scene:
    """Ropes, rods and springs between balls, one of them carried by a body that moves as it is told."""
    scene = Scene()
    carrier = scene.add_box((0.1, 0.1, 0.1), (0, 0, 1.5), kind="kinematic", velocity=(0.3, 0, 0.1))
    led = scene.add_box(
        (0.1, 0.1, 0.1), (0, 1, 1.5), kind="kinematic", motion=lambda t: ((0.2 * t, 1, 1.5), (1, 0, 0, 0))
    )
    balls = [scene.add_sphere(0.05, (0.2 * k, 0.05 * k, 1.2), mass=0.5 + k) for k in range(4)]
    scene.add_distance(carrier, balls[0], (0, 0, 1.5), (0, 0, 1.2), limits=(0.1, 0.32))
    scene.add_distance(balls[0], balls[1], (0, 0, 1.2), (0.2, 0.05, 1.2))
    scene.add_spring(balls[1], balls[2], (0.2, 0.05, 1.2), (0.4, 0.1, 1.2), 200.0, 1.0)
    scene.add_distance(balls[2], balls[3], (0.4, 0.1, 1.2), (0.6, 0.15, 1.2), limits=(0.05, 0.25), stiffness=1e4)
    scene.add_distance(led, balls[3], (0, 1, 1.5), (0.6, 0.15, 1.2), limits=(0.0, 1.2))
    return scene


def test_ropes_rods_and_springs_have_the_same_bits() -> None:
    assert both(loose(), 80) > 60
    assert both(loose(), 40, scheme="moreau") > 30


def test_efforts_and_targets_act_on_both_alike() -> None:
    scene = pendulum(3, drive=DRIVE)
    joint, other = scene.joint("revolute-0"), scene.joint("revolute-2")

    def change(sim: Simulation) -> None:
        sim.set_effort(joint, 2.0)
        sim.set_drive(other, 1.0, 0.2)
        sim.set_force(scene.body("link-1"), (0, 3.0, 1.0))

    assert both(scene, 40, change=change) == 40


def landing(torsion: float = 0.0) -> Scene:
    """Two linkages that fall to the floor, beside boxes that stack there and one that flies."""
    scene = Scene()
    scene.add_half_space(torsion=torsion)
    for side in range(2):
        above = None
        for k in range(2):
            at = (0.15 + 0.3 * k, 1.0 * side, 0.06 + 0.02 * side)
            link = scene.add_box((0.28, 0.06, 0.1), at, mass=1.0 + k, name=f"link-{side}-{k}", torsion=torsion)
            if above is not None:
                scene.add_revolute(above, link, (0.3, 1.0 * side, at[2]), (0, 1, 0), limits=(-0.2, 0.2))
            above = link
    for k in range(2):
        scene.add_box((0.2, 0.2, 0.2), (0, 2, 0.1 + 0.2 * k), torsion=torsion)
    scene.add_sphere(0.1, (0, 3, 5), velocity=(1, 0, 0))
    return scene


@pytest.mark.parametrize("torsion", [0.0, 0.01])
@pytest.mark.parametrize("solver", ["auto", "dense"])
def test_islands_with_contacts_and_joints_have_the_same_bits(solver: str, torsion: float) -> None:
    assert both(landing(torsion), 60, solver) > 30
    assert both(landing(torsion), 40, solver, scheme="moreau") > 20


def test_joints_break_in_the_step_of_the_python_driver() -> None:
    scene = pendulum(3, break_force=40.0)
    assert both(scene, 60) == 59


def test_a_scene_whose_last_joint_has_broken_goes_on() -> None:
    assert 5 < both(pendulum(1, break_force=12.0), 100) < 95


def test_what_is_asked_for_later_is_that_of_the_python_driver() -> None:
    scene = pendulum(3)
    plain, fast = (Simulation(scene, dt=0.004, driver=driver) for driver in ("python", "compiled"))
    for _ in range(5):
        a, b = plain.step(), fast.step()
    np.testing.assert_array_equal(a.solution.lam, b.solution.lam)
    assert plain.joint_error() == fast.joint_error()
    assert a.solution.method == b.solution.method


def test_what_is_not_taken_is_said() -> None:
    for options, word in (({"scheme": "passive"}, "passive"), ({"joints": "potentials"}, "potentials")):
        against = reason_against(Simulation(pendulum()).model, Stepping(**options), make_solver("auto"))  # type: ignore[arg-type]
        assert word in against
