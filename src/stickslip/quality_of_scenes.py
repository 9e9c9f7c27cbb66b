"""Options of the default solver for a quality and a scene: who falls and who stands is seen in the scene itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.bodies.registry import frame_poses
from stickslip.collision.lookahead import contacts_of_step
from stickslip.model.model import Model
from stickslip.model.state import initial_state
from stickslip.model.stepping import Stepping
from stickslip.solvers.quality import MANY, solver_options
from stickslip.workspace import Workspace


def options_for(quality: str, model: Model, stepping: Stepping) -> dict[str, Any]:
    """Options of ``auto``: those of a pile where many bodies are apart at the start, so that they will fall."""
    bodies = int(model.body_dynamic.sum())
    if quality != "normal" or bodies < MANY:
        return solver_options(quality)
    state, still = initial_state(model), np.zeros((model.body_count, 6))
    pose = frame_poses(model, state)
    found = contacts_of_step(model, pose, still, stepping, model.ignored_at_start, Workspace()).contacts
    near = found.gap < 1e-3 * model.radius[model.body_dynamic].mean()
    touching = np.zeros(model.body_count, bool)
    touching[found.body_a[near]] = touching[found.body_b[near]] = True
    return solver_options(quality, bodies, int((touching & model.body_dynamic).sum()))
