"""The kinds of bodies of a model, in the order of their unknowns: rigid bodies, kinds from outside, soft bodies."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.protocol import Bodies, FramedBodies
from stickslip.bodies.rigid.kind import RigidBodies
from stickslip.bodies.soft.kind import SoftBodies
from stickslip.bodies.tree.kind import TreeBodies
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.solvers.protocol import ElementRows
from stickslip.workspace import Workspace


def kinds_of(model: Model, as_rows: ElementRows | None, unsolved: bool, workspace: Workspace) -> tuple[Bodies, ...]:
    """The kinds of a model; what they remember between steps is the workspace's.

    as_rows: elements of soft bodies are rows; unsolved: nobody solves with A as it is.
    """

    def make() -> tuple[Bodies, ...]:
        soft = (SoftBodies(model, as_rows, unsolved, workspace),) if model.soft.count else ()
        others = (kind.with_room() if isinstance(kind, TreeBodies) else kind for kind in model.others)
        return (RigidBodies(model), *others, *soft)

    return workspace.slot(f"kinds {as_rows} {unsolved}", make)


def frame_poses(model: Model, state: State) -> Array:
    """Poses (nb, 7) of all frames of a model: rigid bodies, and frames of other kinds."""
    if not model.others:
        return state.body_pose
    others: list[FramedBodies] = list(model.others)
    return np.concatenate([state.body_pose, *(kind.poses(state.part_q(kind.name)) for kind in others)])


def frame_velocities(model: Model, state: State) -> Array:
    """Velocities (nb, 6) of all frames of a model."""
    if not model.others:
        return state.body_velocity
    others: list[FramedBodies] = list(model.others)
    parts = (kind.frames_at(state.part_q(kind.name), state.part_v(kind.name))[1] for kind in others)
    return np.concatenate([state.body_velocity, *parts])
