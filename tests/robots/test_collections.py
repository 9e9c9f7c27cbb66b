"""Models that come with packages for reinforcement learning: they agree with the engine of their format, and run."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from stickslip import Scene, Simulation

mujoco = pytest.importorskip("mujoco", reason="MJCF files need mujoco-core (pip install 'stickslip[robots]')")

from mujoco_agreement import require_agreement  # noqa: E402

FOLDERS = {"gymnasium": "envs/mujoco/assets", "dm_control": "suite"}
STEP, SECONDS = 0.004, 2.0


def models(package, folder):
    """MJCF files of a package with bodies of their own; none where it is not installed."""
    found = find_spec(package)
    if found is None or found.origin is None:
        return []
    files = sorted((Path(found.origin).parent / folder).glob("*.xml"))
    return [file for file in files if "<body" in file.read_text() and "<mujoco" in file.read_text()]


MODELS = [file for package, folder in FOLDERS.items() for file in models(package, folder)]
MISSING = "neither gymnasium nor dm_control is installed (pip install gymnasium dm_control)"
of_models = pytest.mark.parametrize("file", MODELS, ids=lambda file: f"{file.parent.name}-{file.stem}")


@pytest.mark.skipif(not MODELS, reason=MISSING)
@of_models
def test_models_agree_with_their_own_engine(file):
    require_agreement(file)


@pytest.mark.slow
@pytest.mark.skipif(not MODELS, reason=MISSING)
@of_models
def test_models_stand_or_fall_for_two_seconds(file):
    scene = Scene()
    robot = scene.add_robot(file)
    sim = Simulation(scene, dt=STEP)
    sim.run(round(SECONDS / STEP))
    assert np.isfinite(sim.joint_positions(robot)).all()
    assert np.isfinite(sim.joint_velocities(robot)).all()
    # more than what falls freely for as long would be energy from nowhere; joints turn some times as fast as they fall
    fastest = 9.81 * SECONDS
    assert max(np.abs(sim.link_velocity(robot, name)[0]).max() for name in robot.link_names) < 2.0 * fastest
