"""What a truth run hands back: the bodies' motion, whichever engine made it."""

from dataclasses import dataclass

import numpy as np

from stickslip.arrays import Array
from stickslip.experiments.truth.scenes import SceneData


@dataclass(frozen=True)
class Trajectory:
    """Centres of mass [m] and their velocities [m/s], both (steps + 1, bodies, 3); row k is the state after k steps."""

    position: Array
    velocity: Array


def empty_trajectory(scene: SceneData) -> Trajectory:
    """A trajectory of the scene's size whose row 0 is the scene's state at rest and whose other rows are NaN."""
    shape = (scene.steps + 1, len(scene.bodies), 3)
    position, velocity = np.full(shape, np.nan), np.full(shape, np.nan)
    position[0] = [body.position for body in scene.bodies]
    velocity[0] = 0.0
    return Trajectory(position, velocity)
