"""Bodies whose motion is given: static ones rest, kinematic ones follow a function of time or their velocity."""

from __future__ import annotations

from stickslip.arrays import Array
from stickslip.geometry.rotation import conjugate, multiply, rotation_vector
from stickslip.model import Model, motion_pose
from stickslip.state import State


def velocities(model: Model, state: State, h: float) -> Array:
    """v (nb, 6) at the start of a step, with the mean velocity over the step for bodies with a motion.

    The array of the state itself where nothing is prescribed but rest.
    """
    if not model.motions and not state.v[model.static].any():
        return state.v
    v = state.v.copy()
    v[model.static] = 0.0
    for i, motion in model.motions.items():
        target = motion_pose(model.body_names[i], motion, state.time + h)
        v[i, :3] = (target[:3] - state.q[i, :3]) / h
        v[i, 3:] = rotation_vector(multiply(target[3:], conjugate(state.q[i, 3:]))) / h
    return v


def positions(model: Model, q: Array, time: float) -> Array:
    """q (nb, 7) with bodies that follow a motion put exactly where it says, in place."""
    for i, motion in model.motions.items():
        q[i] = motion_pose(model.body_names[i], motion, time)
    return q
