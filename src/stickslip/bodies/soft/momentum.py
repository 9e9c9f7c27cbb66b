"""Soft bodies in a step: momentum, its matrix A and the velocity without constraints, by the theta-method.

    x_end = x_0 + h v^{theta_vq},   x^theta = theta x_end + (1 - theta) x_0                       [han2023] eq. (1), (4)
    m(v)  = M (v - v_0) - h (f_e(x^theta) - (alpha M + beta K) v^theta + f_ext)                               eq. (8)
    A     = (1 + alpha theta h) M + theta h (theta_vq h + beta) K                                            eq. (11)
    A (v - v_free) = J^T lam,   v_free = v_k - A^-1 m(v_k)                                                eq. (9)-(10)

v_k is where the problem is linearised; with linear and lagged corotational elements any v_k gives the same. Held nodes
have a velocity that is given, and no row.

Where the unknown is the mean velocity of the step, v = (v_0 + v_end) / 2 ([lee2023] eq. 4), positions advance with it,
theta_vq = 1, and velocities gain twice of what it does: v_end - v_0 = g (v - v_0), v^theta = v_0 + g theta (v - v_0)
with g = 2. Then A = g (1 + alpha theta h) M + theta h (theta_vq h + g beta) K, which is 2 M + h^2 K / 2 without damping
(eq. 9). In all other schemes g = 1.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.soft import cavities, plane_strain
from stickslip.bodies.soft.advance import held_velocities
from stickslip.bodies.soft.column_sums import bounded_stiffness
from stickslip.bodies.soft.element_assembly import assemble
from stickslip.bodies.soft.rotations import RotationMemory
from stickslip.checks import finite
from stickslip.jit import kernel
from stickslip.linalg.dense_blocks import DenseBlocks, equal_blocks
from stickslip.model.control import Control
from stickslip.model.layout import NODE
from stickslip.model.model import Model
from stickslip.model.soft_tables import SoftTables
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.tolerances import POSITION_ROUNDING


class SoftMotion(NamedTuple):
    """The nodes at the start of a step: what stays the same however often the step is linearised."""

    x: Array
    """(nn, 3) [m] positions at the start."""
    v: Array
    """(nn, 3) [m/s] velocities at the start; of held nodes the mean one of the step."""
    going: Array
    """(nn, 3) [m/s] by which where nodes will be is foretold: v, or where velocities are means those of the step before
    (State.mean_velocity): what turns round in every step would turn elements, and feed them with energy."""
    external: Array
    """(nn, 3) [N] the user's forces and gravity."""
    pressure: Array
    """(nt,) [Pa] internal volumetric stress of each element."""
    time: float
    """[s] at the end of the step."""
    step: float
    """[s]"""
    theta: float
    theta_vq: float
    gain: float
    """g = (v_end - v_0) / (v - v_0) of the unknown velocities v."""
    column_sums: bool
    """Whether geometric stiffness enters A by its absolute column sums (bodies/soft/column_sums.py)."""
    rotations: RotationMemory
    """Rotations of elements that are asked for more than once."""

    def end_velocities(self, v: Array) -> Array:
        """Velocities (nn, 3) at the end of the step for the unknown ones v (nn, 3)."""
        return v if self.gain == 1.0 else self.v + self.gain * (v - self.v)

    @property
    def force_time(self) -> float:
        """[s] when forces act, t_0 + theta h."""
        return self.time - (1.0 - self.theta) * self.step

    @property
    def turned(self) -> Array:
        """(nn, 3) [m] nodes whose rotation lagged elements take: those at the start, as in [han2023].

        With the midpoint rule where velocities lead to by then: a rotation that lags half a step feeds spinning bodies
        with energy.
        """
        return self.x + 0.5 * self.step * self.going if self.theta == 0.5 else self.x

    def positions(self, v: Array) -> Array:
        """x_end (nn, 3) for the unknown velocities v (nn, 3), eq. (4)."""
        return self.x + self.step * (self.theta_vq * v + (1.0 - self.theta_vq) * self.v)


class Momentum(NamedTuple):
    """Momentum linearised at some velocities."""

    residual: Array
    """(3 nf,) m(v_k) [N s] of the free nodes."""
    matrix: Array
    """(nnzb, 3, 3) blocks of A."""
    size: Array
    """(3 nf,) [N s] what errors of momentum are measured by: the impulses of all forces on the soft body that a node is
    of, those on held nodes included, in equal parts at its free nodes."""


def element_pressure(soft: SoftTables, time: float, options: Stepping) -> Array:
    """Stress (nt,) [Pa] of the activation of each element in a step that starts at ``time`` [s]."""
    pressure = np.zeros(len(soft.elements.volume))
    at = time + options.rule.theta * options.dt
    for each in soft.activations:
        pressure[each.elements] += _number("activation", each.stress(at), at)
    return pressure


def soft_motion(
    model: Model, state: State, control: Control, options: Stepping, rotations: RotationMemory | None = None
) -> SoftMotion:
    """The nodes at the start of a step; ``rotations``: memory of the caller's."""
    soft, h = model.soft, options.dt
    external = control.node_force + soft.mass[:, None] * model.gravity
    end = state.time + h
    pressure = element_pressure(soft, state.time, options)
    rule, theta = options.rule, options.rule.theta
    v = held_velocities(soft, state, h) if soft.held else state.node_velocity.copy()
    going = v
    if rule.mean_velocities:
        going = state.mean_velocity[state.layout.v_slice[NODE]].reshape(v.shape).copy()
        for each in soft.held:
            going[each.nodes] = v[each.nodes]
    summed = options.geometric == "column-sums"
    return SoftMotion(
        state.node_position, v, going, external, pressure, end, h, theta, rule.theta_vq, rule.gain, summed,
        rotations or RotationMemory(),
    )  # fmt: skip


def momentum(soft: SoftTables, motion: SoftMotion, v: Array, convex: float = 1.0) -> Momentum:
    """m(v) and A at velocities v (nn, 3) of all nodes.

    ``convex``: share, 0 to 1, of the projected Hessians of nonlinear elements in A, the rest being the exact ones. With
    1, A is positive definite; with column sums it always is. Under pressure the projection adds stiffness that nothing
    has: the pressures of neighbours cancel each other in the exact sum, and each element alone is indefinite.
    """
    h, theta, theta_vq, gain = motion.step, motion.theta, motion.theta_vq, motion.gain
    share = gain * theta
    v_theta = share * v + (1.0 - share) * motion.v
    x_theta = theta * motion.positions(v) + (1.0 - theta) * motion.x
    force, matrix = motion.external.copy(), np.zeros((len(soft.pattern.indices), 3, 3))
    factor = theta * h * (theta_vq * h + gain * soft.elements.beta)
    where = soft.elements, x_theta, motion.turned, v_theta, motion.pressure, factor
    turn = motion.rotations.at(soft, motion.turned)
    summed = motion.column_sums and not soft.linear
    # of projected Hessians the dampers of elements, which must not feed them
    exact = soft.linear or convex == 0.0 or (summed and not soft.elements.beta.any())
    assemble(*where, not exact, force, matrix, turn)
    if summed:
        matrix = bounded_stiffness(soft, *where[1:], turn, matrix if exact else None)
    elif not exact and convex < 1.0:
        sharp = np.zeros_like(matrix)
        assemble(*where, False, np.zeros_like(force), sharp, turn)
        matrix += (1.0 - convex) * (sharp - matrix)
    if soft.cavities:
        cavities.add_forces(soft, x_theta, motion.force_time, force)
    if len(soft.plane_nodes):
        plane_strain.project_forces(soft, force)
        plane_strain.project_stiffness(soft, matrix)
    mass = soft.mass[:, None]
    residual = gain * mass * (v - motion.v) - h * (force - soft.alpha[:, None] * mass * v_theta)
    inner = force - motion.external
    inertia = (gain * (1.0 + theta * h * soft.alpha) * soft.mass)[soft.free]
    of_body = soft.node_body[soft.free]
    size = np.zeros(len(soft.free))
    _add_masses(soft.pattern.diagonal, inertia, matrix)
    _body_sizes(soft.node_body, of_body, motion.external, inner, x_theta, soft.pattern.diagonal, matrix, h, size)
    return Momentum(residual[soft.free].ravel(), matrix, np.repeat(size, 3))


def lumped_momentum(soft: SoftTables, motion: SoftMotion, v: Array) -> tuple[Array, Array]:
    """Mass (nf,) and free velocity (3 nf,) where elements are rows: A = (1 + alpha h) M holds no stiffness.

    v (nn, 3) are the velocities at which the problem is linearised, on which only the filling of cavities depends.
    """
    h, theta = motion.step, motion.theta
    force = motion.external.copy()
    cavities.add_forces(soft, theta * motion.positions(v) + (1.0 - theta) * motion.x, motion.force_time, force)
    plane_strain.project_forces(soft, force)
    mass = ((1.0 + theta * h * soft.alpha) * soft.mass)[:, None]
    damped = (1.0 - (1.0 - theta) * h * soft.alpha)[:, None] * soft.mass[:, None]
    v_free = (damped * motion.v + h * force) / mass
    return mass[soft.free, 0], v_free[soft.free].ravel()


def particles(mass: Array) -> DenseBlocks:
    """The masses (nf,) of nodes as blocks of three."""
    eye = np.eye(3)
    return equal_blocks(mass[:, None, None] * eye, (1.0 / mass)[:, None, None] * eye)


@kernel
def _add_masses(diagonal, mass, matrix_out):
    """Add masses to the diagonal of the matrix."""
    for i in range(diagonal.shape[0]):
        for k in range(3):
            matrix_out[diagonal[i], k, k] += mass[i]


@kernel
def _body_sizes(node_body, free_body, external, inner, x, diagonal, matrix, h, size_out):
    """What errors of momentum of each free node's soft body are measured by [N s], over the root of its unknowns.

    The impulses of forces from outside and within; at rest without load, forces are what the rounding of positions
    makes of stiffness.
    """
    bodies = node_body[-1] + 1 if node_body.shape[0] else 0
    outside, inside, stiffness = np.zeros(bodies), np.zeros(bodies), np.zeros(bodies)
    reach, unknowns = np.zeros(bodies), np.zeros(bodies)
    for i in range(node_body.shape[0]):
        b = node_body[i]
        for k in range(3):
            outside[b] += external[i, k] * external[i, k]
            inside[b] += inner[i, k] * inner[i, k]
            reach[b] = max(reach[b], abs(x[i, k]))
    for i in range(diagonal.shape[0]):
        block, largest = matrix[diagonal[i]], 0.0
        for k in range(3):
            for j in range(3):
                largest = max(largest, abs(block[k, j]))
        stiffness[free_body[i]] += largest * largest
        unknowns[free_body[i]] += 3.0
    for i in range(free_body.shape[0]):
        b = free_body[i]
        size = h * (sqrt(outside[b]) + sqrt(inside[b])) + POSITION_ROUNDING * sqrt(stiffness[b]) * reach[b] / h
        size_out[i] = size / sqrt(unknowns[b])


def _number(what: str, value: float, time: float) -> float:
    """A finite number from a user's function."""
    return finite(f"{what} at t = {time:.6g} s", "value", value)
