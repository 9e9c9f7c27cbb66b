"""Steps with non-finite results: an error that says where."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.collision.contacts import Contacts
from stickslip.errors import DivergenceError
from stickslip.jit import kernel
from stickslip.model.model import Model
from stickslip.model.state import State


def check_finite(model: Model, state: State, contacts: Contacts, lam: Array) -> None:
    """Raise a DivergenceError that names time, body and contact where a step gave a non-finite number."""
    if _all_finite(state.body_pose, state.body_velocity, state.node_position, state.node_velocity):
        return
    with np.errstate(over="ignore", invalid="ignore"):
        # squares, so that a speed whose energy overflows counts as well
        v = state.body_velocity
        good = np.isfinite(state.body_pose).all(axis=1) & np.isfinite(v * v).all(axis=1)
        good_node = np.isfinite(state.node_position * state.node_velocity**2).all(axis=1)
    if not good_node.all():
        _raise_for_node(model, state, int(np.argmin(good_node)))
    body = int(np.argmin(good))
    touching = np.flatnonzero((contacts.body_a == body) | (contacts.body_b == body))
    rows = model.contact_rows
    impulse = lam[: rows * len(contacts)].reshape(-1, rows)
    bad = touching[~np.isfinite(impulse[touching]).all(axis=1)]
    where = "no contact of it is involved"
    if len(touching):
        c = int(bad[0]) if len(bad) else int(touching[0])
        a, b = model.body_names[contacts.body_a[c]], model.body_names[contacts.body_b[c]]
        where = f"contact {a!r} / {b!r}, gap {contacts.gap[c]:.3g} m, impulse {impulse[c]} N s"
    pose = state.body_pose[body]
    what, row = ("velocity", state.body_velocity[body]) if np.isfinite(pose).all() else ("pose", pose)
    numbers = ", ".join(f"{x:.3g}" for x in row)
    raise DivergenceError(
        f"step to t = {state.time:.6g} s: body {model.body_names[body]!r} got the {what} ({numbers}); {where}; "
        "the simulation still holds the state before this step"
    )


def _raise_for_node(model: Model, state: State, node: int) -> None:
    """Raise a DivergenceError that names a node of a soft body."""
    soft = model.soft
    body = int(soft.node_body[node])
    x, v = state.node_position[node], state.node_velocity[node]
    raise DivergenceError(
        f"step to t = {state.time:.6g} s: node {node - soft.node_start[body]} of soft body {soft.names[body]!r} got "
        f"the position {x} and the velocity {v}; the simulation still holds the state before this step"
    )


@kernel
def _all_finite(q, v, x, node_v):
    """Whether poses and positions are finite, and velocities so small that their squares are."""
    for i in range(q.shape[0]):
        for k in range(7):
            if not np.isfinite(q[i, k]):
                return False
        for k in range(6):
            if not np.isfinite(v[i, k] * v[i, k]):
                return False
    for i in range(x.shape[0]):
        for k in range(3):
            if not np.isfinite(x[i, k] * (node_v[i, k] * node_v[i, k])):
                return False
    return True
