"""States at the end of steps of mean velocities without what turns round in their bodies (bodies/soft/turning.py)."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.soft.turning import without_turning
from stickslip.model.layout import BODY, NODE
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping


def calmed(model: Model, options: Stepping, before: State, after: State, mean: Array) -> State:
    """The state at the end of a step of mean velocities (nv,), without what turns round in soft bodies and rods."""
    soft, layout = model.soft, after.layout
    known = before.v - before.mean_velocity
    if not known.any():  # of the step before nothing is known
        return after
    leads = after.v - mean, known
    parts: dict[str, Array] = {}
    if soft.names:
        lead, lead_before = (each[layout.v_slice[NODE]].reshape(-1, 3) for each in leads)
        mass = np.where(soft.block >= 0, soft.mass, 0.0)
        found = without_turning(after.node_velocity, lead, lead_before, mass, soft.node_body, True)
        parts["node_velocity"] = found
    links, rod = model.rod_links
    if len(links) and options.joints == "potentials":
        twists = after.body_velocity.copy()
        lead, lead_before = (each[layout.v_slice[BODY]].reshape(-1, 6)[links] for each in leads)
        inertia = np.trace(model.inertia[links], axis1=1, axis2=2) / 3.0
        for first, size, free in ((0, model.mass[links], True), (3, inertia, False)):
            some = slice(first, first + 3)
            twists[links, some] = without_turning(
                twists[links, some], lead[:, some], lead_before[:, some], size, rod, free
            )
        parts["body_velocity"] = twists
    return after.with_parts(**parts) if parts else after
