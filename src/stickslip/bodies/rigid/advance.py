"""Where rigid bodies go: the update of poses, and bodies whose motion is given.

Static bodies rest, kinematic ones follow a function of time or their velocity.
"""

from __future__ import annotations

from stickslip.arrays import Array
from stickslip.geometry.rigid_motion import advance as advance  # noqa: PLC0414  (belongs here for callers)
from stickslip.geometry.rigid_motion import moved as moved  # noqa: PLC0414
from stickslip.geometry.rotation import conjugate, multiply, rotation_vector
from stickslip.model.model import Model, motion_pose
from stickslip.model.state import State


def prescribed_velocities(model: Model, state: State, h: float) -> Array:
    """v (nb, 6) at the start of a step, with the mean velocity over the step for bodies with a motion.

    The array of the state itself where nothing is prescribed but rest.
    """
    if not model.motions and not state.body_velocity[model.static].any():
        return state.body_velocity
    v = state.body_velocity.copy()
    v[model.static] = 0.0
    for i, motion in model.motions.items():
        target = motion_pose(model.body_names[i], motion, state.time + h)
        v[i, :3] = (target[:3] - state.body_pose[i, :3]) / h
        v[i, 3:] = rotation_vector(multiply(target[3:], conjugate(state.body_pose[i, 3:]))) / h
    return v


def prescribed_positions(model: Model, q: Array, time: float) -> Array:
    """q (nb, 7) with bodies that follow a motion put exactly where it says, in place."""
    for i, motion in model.motions.items():
        q[i] = motion_pose(model.body_names[i], motion, time)
    return q
