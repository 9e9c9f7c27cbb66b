"""What soft bodies store and lose."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.protocol import KindEnergy
from stickslip.bodies.soft import cavities
from stickslip.bodies.soft.element_assembly import assemble
from stickslip.bodies.soft.element_energies import damping_work
from stickslip.bodies.soft.momentum import SoftMotion
from stickslip.jit import kernel
from stickslip.model.soft_tables import SoftTables
from stickslip.model.state import State


def soft_energies(
    soft: SoftTables, gravity: Array, motion: SoftMotion, before: State, after: State, force: Array
) -> KindEnergy:
    """Energies of the soft bodies of a step under the user's ``force`` (nn, 3) [N].

    Forces act over the displacements of the step. Work is that of the user's forces, of pressures and of held nodes.
    """
    free = soft.free
    way = after.node_position - before.node_position

    x = motion.theta * after.node_position + (1.0 - motion.theta) * before.node_position
    v = motion.theta * after.node_velocity + (1.0 - motion.theta) * motion.v

    def forces(velocity: Array, pressure: Array) -> Array:
        force, no_matrix = np.zeros_like(x), np.zeros((len(soft.pattern.indices), 3, 3))
        no_factor = np.zeros_like(pressure)
        assemble(
            soft.elements, x, motion.turned, velocity, pressure, no_factor, False, force, no_matrix,
            motion.rotations.at(soft, motion.turned),
        )  # fmt: skip
        return force

    # as the step had them; what is not there is not computed, since a certificate must stay cheap
    still, pressure = np.zeros_like(v), motion.pressure
    damped, active, held = bool(soft.elements.beta.any()), bool(pressure.any()), len(free) < len(soft.mass)
    simple = soft.linear  # the work of dampers then needs no forces
    plain = forces(still, pressure) if active or (damped and not simple) or (held and not damped) else still
    all_forces = forces(v, pressure) if damped and (held or not simple) else plain
    damping = 0.0
    if damped:
        damping = (
            damping_work(soft.elements, motion.rotations.at(soft, motion.turned), v, way)
            if simple
            else float(np.vdot(plain - all_forces, way))
        )
    if soft.alpha.any():
        damping += float(np.vdot((soft.alpha * soft.mass)[:, None] * v, way))
    if soft.cavities:
        filling = np.zeros_like(x)
        cavities.add_forces(soft, x, motion.force_time, filling)
        force = force + filling
    work = float(np.vdot(force, way))
    if active:
        work += float(np.sum((plain - forces(still, np.zeros_like(pressure))) * way))
    if held:  # what it takes to move held nodes against their elements
        away = np.ones(len(soft.mass), dtype=bool)
        away[free] = False
        work -= float(np.sum((all_forces * way)[away]))
    masses, stored = (free, soft.mass, gravity), motion.rotations.stored
    first = _node_energies(*masses, before.node_position, before.node_velocity)
    last = _node_energies(*masses, after.node_position, after.node_velocity)
    elastic = stored(soft, before.node_position), stored(soft, after.node_position)
    return KindEnergy((first[0], last[0]), (first[1], last[1]), elastic, work, damping)


@kernel
def _node_energies(free, mass, gravity, x, v):
    """Kinetic and potential energy of the free nodes."""
    kinetic = 0.0
    potential = 0.0
    for b in range(free.shape[0]):
        i = free[b]
        kinetic += 0.5 * mass[i] * (v[i, 0] * v[i, 0] + v[i, 1] * v[i, 1] + v[i, 2] * v[i, 2])
        potential -= mass[i] * (gravity[0] * x[i, 0] + gravity[1] * x[i, 1] + gravity[2] * x[i, 2])
    return kinetic, potential
