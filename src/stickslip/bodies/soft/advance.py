"""Where nodes go: those that are held follow what the user said."""

from __future__ import annotations

from stickslip.arrays import Array
from stickslip.checks import unit_quaternion, vector
from stickslip.errors import InputError
from stickslip.geometry import rotation
from stickslip.model.soft_tables import SoftTables
from stickslip.model.state import State
from stickslip.names import shown
from stickslip.scene.soft_body import HeldNodes


def held_velocities(soft: SoftTables, state: State, h: float) -> Array:
    """Velocities (nn, 3) at the start of a step, those of held nodes lead to where they must be at its end."""
    v = state.node_velocity.copy()
    for each in soft.held:
        v[each.nodes] = (_held_positions(soft, each, state.time + h) - state.node_position[each.nodes]) / h
    return v


def put_held(soft: SoftTables, x: Array, time: float) -> Array:
    """x (nn, 3) with held nodes exactly where they must be at ``time``, in place."""
    for each in soft.held:
        x[each.nodes] = _held_positions(soft, each, time)
    return x


def _held_positions(soft: SoftTables, held: HeldNodes, time: float) -> Array:
    """Where held nodes are at a time."""
    start = soft.x_start[held.nodes]
    if held.motion is None:
        return start
    where = f"held nodes, motion at t = {time:.6g} s"
    pose = held.motion(time)
    try:
        way, turn = pose
    except Exception:  # what a user's function gave can be anything
        raise InputError(f"{where}: it gave {shown(pose)}; a displacement (3,) and a rotation are needed") from None
    R = rotation.matrix(unit_quaternion(where, turn))
    return held.centre + (start - held.centre) @ R.T + vector(where, "displacement", way)
