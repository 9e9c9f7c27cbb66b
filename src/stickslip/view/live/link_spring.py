"""A spring between a link of a robot and the mouse, through forces on the link; its stiffness is what is stable there.

A link feels at a point the mobility J A^-1 J^T of its whole tree as it stands. Springs of drives, damping and contacts
only make that smaller: a spring that is stable without them is stable with them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.tree.kind import TreeBodies, jacobian_at
from stickslip.bodies.tree.layout import TREE
from stickslip.errors import InputError
from stickslip.geometry.rotation import matrix
from stickslip.model.control import Control
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.view.live.spring_scales import FREQUENCY, STABLE, WEIGHT, WEIGHTS


@dataclass(frozen=True, eq=False)
class LinkSpring:
    """A spring from a point of a link to a point in the world."""

    body: int
    """Number of the link among the bodies of the model."""
    kind: TreeBodies
    frame: int
    """Number of the link among the frames of its robot."""
    point: Array
    """(3,) [m] in the frame of the link."""
    mass: float
    """[kg] of the tree that the link is of: what the spring is to move, against its drives."""
    target: Array
    """(3,) [m] world."""

    def pulled_to(self, target: Array) -> LinkSpring:
        """The spring with its other end elsewhere."""
        return replace(self, target=target)

    def held_point(self, state: State) -> Array:
        """Where the point of the link is (3,) [m] world."""
        pose = self.kind.poses(state.part_q(self.kind.name))[self.frame]
        return np.asarray(pose[:3] + matrix(pose[3:]) @ self.point)


def grab_link(model: Model, state: State, body: int, point: Array) -> LinkSpring:
    """A spring of no length at a point (3,) [m] of a link; a frame of a kind that is no robot raises an InputError."""
    first = model.rigid_count
    for kind in model.others:
        if first <= body < first + kind.frame_count:
            break
        first += kind.frame_count
    if not isinstance(kind, TreeBodies):
        raise InputError(f"body {model.body_names[body]!r} is moved by the kind {kind.name!r}: it cannot be pulled")
    frame = body - first
    pose = kind.poses(state.part_q(kind.name))[frame]
    tree = kind.tables.link_index[:, TREE]
    own = tree == tree[kind.frame_link[frame]]
    mass = float(sum(link.mass for link, of in zip(kind.record.links, own, strict=True) if of))
    local = matrix(pose[3:]).T @ (point - pose[:3])
    return LinkSpring(body, kind, frame, local, max(mass, 1e-9), np.array(point, dtype=np.float64))


def link_loaded(spring: LinkSpring, state: State, control: Control, dt: float) -> Control:
    """The control with the force of the spring, for a step of dt [s], added to the user's forces."""
    kind, name = spring.kind, spring.kind.name
    q, v = state.part_q(name), state.part_v(name).reshape(-1)
    work, link = kind.placed(q), int(kind.frame_link[spring.frame])
    pose = work.pose[link]
    turn = matrix(pose[3:])
    p = pose[:3] + turn @ spring.point
    J = jacobian_at(kind, work, link, p)[:3]
    blocks = kind.mass_blocks(q)
    mobility = float(np.linalg.eigvalsh(J @ np.stack([blocks.solve(row) for row in J], axis=1))[-1])
    if not mobility > 0.0:
        return control
    stiffness = min(spring.mass * FREQUENCY**2, (STABLE / dt) ** 2 / mobility)
    wanted = 2.0 * sqrt(stiffness * spring.mass)  # critical
    local = min(wanted, 1.0 / (mobility * dt))
    pull = stiffness * (spring.target - p)
    pull *= min(1.0, WEIGHTS * spring.mass * WEIGHT / max(float(np.linalg.norm(pull)), 1e-300))
    pull -= local * (J @ v)
    centre = pose[:3] + turn @ np.array(kind.frames[spring.frame].centre)
    forces = control.frame_forces.get(name, np.zeros((kind.frame_count, 6))).copy()
    forces[spring.frame] += np.concatenate([pull, np.cross(p - centre, pull)])
    # the rest of the damping acts on all of the tree: on its momentum along joints
    rate = min((wanted - local) / spring.mass, STABLE / dt)
    force = control.force.copy()
    force[control.layout.v_slice[name]] -= rate * (blocks.matrix() @ v)
    return replace(control, force=force, frame_forces={**control.frame_forces, name: forces})
