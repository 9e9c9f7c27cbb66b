"""A spring between a body and the mouse: forces for the coming step, on top of those of the scene."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array
from stickslip.errors import InputError
from stickslip.geometry.rotation import matrix
from stickslip.model.control import Control
from stickslip.model.model import DYNAMIC, Model
from stickslip.model.state import State
from stickslip.scene.scene import KINDS
from stickslip.view.live.spring_scales import FREQUENCY, STABLE, WEIGHT, WEIGHTS
from stickslip.view.picture.outlines import body_balls

SAG = 0.1
"""Most that the weight lengthens the spring, in radii of the body: small bodies get stiffer springs."""
SPIN_DAMPING = 3.0
"""[1/s] rate at which a body that hangs on the spring stops turning."""
NEAR = 1.6
"""Radius of a soft body's region that is pulled, in edges of its surface."""


@dataclass(frozen=True, eq=False)
class DragSpring:
    """A spring from a point of a body to a point in the world; force = stiffness (target - p) - damping v, with v of
    the point as far as that is stable in an explicit step, and the rest of the damping on all that hangs on it."""

    body: int
    """Rigid body, or body count + soft body."""
    point: Array
    """(3,) [m] from a rigid body's centre of mass, in its frame; of a soft body, from the mean of its nodes."""
    nodes: NDArray[np.intp]
    """(k,) nodes of a soft body that are pulled; none of a rigid one."""
    share: Array
    """(k,) of the force on each, sums to 1."""
    mobility: float
    """[1/kg] largest one of the point, alone."""
    mass: float
    """[kg] of what hangs on the spring: the body, and all that joints and welds join to it."""
    bodies: NDArray[np.intp]
    """Rigid bodies that hang on it."""
    soft_nodes: NDArray[np.intp]
    """Free nodes of soft bodies that hang on it."""
    frequency: float
    """[rad/s] of all that, on the spring."""
    target: Array
    """(3,) [m] world."""

    def pulled_to(self, target: Array) -> DragSpring:
        """The spring with its other end elsewhere."""
        return replace(self, target=target)

    def stiffness(self, dt: float) -> float:
        """[N/m] for steps of dt [s]: of its frequency, or less where explicit forces would not be stable."""
        return min(self.mass * self.frequency**2, (STABLE / dt) ** 2 / self.mobility)

    def held_point(self, state: State) -> Array:
        """Where the point of the body is (3,) [m] world."""
        if len(self.nodes):
            return self.share @ state.node_position[self.nodes] + self.point
        return state.body_pose[self.body, :3] + matrix(state.body_pose[self.body, 3:]) @ self.point


def grab(model: Model, state: State, body: int, point: Array) -> DragSpring:
    """A spring of no length at a point (3,) [m] of a body; a body that nothing can pull raises an InputError."""
    if body < model.body_count:
        if model.body_kind[body] != DYNAMIC:
            raise InputError(f"body {model.body_names[body]!r} is {KINDS[model.body_kind[body]]}: it cannot be pulled")
        nodes, share = np.zeros(0, dtype=np.intp), np.zeros(0)
        arm = point - state.body_pose[body, :3]
        turn = matrix(state.body_pose[body, 3:])
        local, mobility, radius = turn.T @ arm, _mobility(model, body, turn, arm), float(body_balls(model)[body, 3])
    else:
        nodes, share = _nodes_near(model, state, body - model.body_count, point)
        local = point - share @ state.node_position[nodes]
        mobility = float(np.sum(share**2 / model.soft.mass[nodes]))
        own = state.node_position[model.soft.node_body == body - model.body_count]
        radius = 0.5 * float(np.linalg.norm(np.ptp(own, axis=0)))
    bodies, soft_nodes = _joined_to(model, state, body)
    mass = float(model.mass[bodies].sum() + model.soft.mass[soft_nodes].sum())
    frequency = max(FREQUENCY, sqrt(WEIGHT / (SAG * radius)))
    target = np.array(point, dtype=np.float64)
    return DragSpring(body, local, nodes, share, mobility, mass, bodies, soft_nodes, frequency, target)


def loaded(spring: DragSpring, model: Model, state: State, control: Control, dt: float) -> Control:
    """The control with the force of the spring, for a step of dt [s], added to the user's forces."""
    near, whole = spring.stiffness(dt), 0.0
    own = spring.soft_nodes[model.soft.node_body[spring.soft_nodes] == spring.body - model.body_count]
    mass = model.soft.mass[own]
    if len(own):  # a few light nodes can only be pulled gently: what is missing to lift the body acts on all of it
        whole = max(0.0, float(mass.sum()) * min(spring.frequency, STABLE / dt) ** 2 - near)
    wanted = 2.0 * sqrt((near + whole) * spring.mass)  # critical
    local = min(wanted, 1.0 / (spring.mobility * dt))
    rate = min((wanted - local) / spring.mass, STABLE / dt)
    p = spring.held_point(state)
    pull = (near + whole) * (spring.target - p)
    most = WEIGHTS * spring.mass * WEIGHT
    pull *= min(1.0, most / max(float(np.linalg.norm(pull)), 1e-300))

    force, node_force = control.body_force.copy(), np.zeros_like(control.node_force)
    if rate > 0.0:
        force[spring.bodies, :3] -= rate * model.mass[spring.bodies, None] * state.body_velocity[spring.bodies, :3]
        moving = model.soft.mass[spring.soft_nodes, None] * state.node_velocity[spring.soft_nodes]
        node_force[spring.soft_nodes] -= rate * moving
    if len(spring.nodes):
        share = near / (near + whole)
        node_force[own] += (1.0 - share) * pull * (mass / mass.sum())[:, None]
        at_point = share * pull - local * (spring.share @ state.node_velocity[spring.nodes])
        node_force[spring.nodes] += spring.share[:, None] * at_point
        across = model.soft.node_normal  # bodies in plane strain stay in their plane
        node_force -= np.sum(node_force * across, axis=1, keepdims=True) * across
    else:
        i = spring.body
        arm, spin = p - state.body_pose[i, :3], state.body_velocity[i, 3:]
        pull -= local * (state.body_velocity[i, :3] + np.cross(spin, arm))
        turn = matrix(state.body_pose[i, 3:])
        brake = turn @ (model.inertia[i] @ (turn.T @ spin))
        force[i] += np.concatenate([pull, np.cross(arm, pull) - min(SPIN_DAMPING, STABLE / dt) * brake])
    return control.with_parts(force, control.node_force + node_force)


def _mobility(model: Model, body: int, turn: Array, arm: Array) -> float:
    """Largest velocity [m/s] that a unit impulse gives a point of a free body at ``arm`` (3,) [m] of its centre."""
    x, y, z = arm
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    inverse = turn @ np.linalg.inv(model.inertia[body]) @ turn.T
    return float(np.linalg.eigvalsh(np.eye(3) / model.mass[body] - cross @ inverse @ cross)[-1])


def _nodes_near(model: Model, state: State, body: int, point: Array) -> tuple[NDArray[np.intp], Array]:
    """Free nodes of a soft body's surface around a point, and how much each takes of a force there."""
    soft = model.soft
    on_surface = soft.surface.nodes[soft.node_body[soft.surface.nodes] == body]
    free = on_surface[soft.block[on_surface] >= 0].astype(np.intp)
    if len(free) == 0:
        raise InputError(f"soft body {soft.names[body]!r}: all nodes of its surface are held; it cannot be pulled")
    own = soft.surface.edges[soft.surface.edge_body == body]
    edge = float(np.linalg.norm(np.diff(state.node_position[own], axis=1)[:, 0], axis=1).mean())
    distance = np.linalg.norm(state.node_position[free] - point, axis=1)
    # around the nearest node, so that there always is one
    reach = NEAR * edge + float(distance.min())
    weight = soft.mass[free] * np.maximum(0.0, 1.0 - (distance / reach) ** 2)
    used = weight > 0.0
    return free[used], weight[used] / weight[used].sum()


def _joined_to(model: Model, state: State, body: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Dynamic rigid bodies, and free nodes of soft ones, that joints and welds join to a body, itself included.

    Links of robots, which others hang on, do not hang on the spring: drives hold them.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    soft, tables, count = model.soft, model.joints, model.body_count
    moves = np.append(model.body_kind == DYNAMIC, np.ones(soft.count, dtype=bool))
    moves = np.append(moves, False)  # the world, whose index is -1
    a = np.concatenate([tables.body_a[~state.joint_broken], soft.weld_body])
    b = np.concatenate([tables.body_b[~state.joint_broken], count + soft.node_body[soft.weld_node]])
    used = moves[a] & moves[b]  # what is joined to the ground does not hang together by it
    shape = (count + soft.count, count + soft.count)
    links = coo_array((np.ones(int(used.sum())), (a[used], b[used])), shape=shape)
    label = connected_components(links, directed=False)[1]
    together = (label == label[body]) & moves[:-1]
    nodes = np.flatnonzero(together[count + soft.node_body] & (soft.block >= 0))
    return np.flatnonzero(together[:count]), nodes
