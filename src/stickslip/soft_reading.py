"""What a user reads of soft bodies, and sets: Simulation inherits it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stickslip.arrays import Array
from stickslip.body_description import handle_fits
from stickslip.checks import LARGEST, for_each, whole, whole_array
from stickslip.contact_report import contacts_of
from stickslip.dynamics import cavities, plane_strain
from stickslip.dynamics.element_assembly import assemble
from stickslip.dynamics.element_energies import strain_energies, strains_and_stresses
from stickslip.dynamics.soft_bodies import soft_motion
from stickslip.errors import InputError
from stickslip.model import Model
from stickslip.names import shown
from stickslip.soft_description import SoftBody
from stickslip.soft_tables import SoftTables
from stickslip.state import State
from stickslip.step_result import StepResult
from stickslip.stepping import Stepping


@dataclass(frozen=True, eq=False)
class ElementReport:
    """k elements; those of one soft body are in the order of its mesh."""

    strain: Array
    """(k, 3, 3) Green's strain."""
    stress: Array
    """(k, 3, 3) [Pa] Cauchy's stress."""
    von_mises: Array
    """(k,) [Pa]"""
    energy: Array
    """(k,) [J] strain energy."""

    def take(self, index: NDArray[np.intp]) -> ElementReport:
        """The elements of the given indices."""
        return ElementReport(self.strain[index], self.stress[index], self.von_mises[index], self.energy[index])


def element_report(model: Model, state: State, stepping: Stepping) -> ElementReport:
    """Strain, stress and energy of the elements of all soft bodies, in the order in which the model stores them."""
    elements, x = model.soft.elements, state.node_position
    pressure = soft_motion(model, state, stepping).pressure
    return ElementReport(
        *strains_and_stresses(elements, x, pressure), strain_energies(elements, x, x, np.zeros_like(pressure))
    )


def internal_forces(model: Model, state: State, stepping: Stepping) -> Array:
    """Elastic forces (nn, 3) [N] of the elements on all nodes, activation included, damping not."""
    soft, x = model.soft, state.node_position
    pressure = soft_motion(model, state, stepping).pressure
    force = np.zeros_like(x)
    none = np.zeros(len(pressure))  # no stiffness is asked for, so there is no matrix
    assemble(soft.elements, x, x, np.zeros_like(x), pressure, none, False, force, np.zeros((0, 3, 3)))
    plane_strain.project_forces(soft, force)
    return force


def body_elements(soft: SoftTables, body: int) -> NDArray[np.intp]:
    """Where the elements of a soft body are in the tables, in the order of its mesh."""
    own = np.flatnonzero(soft.element_body == body)
    return own[np.argsort(soft.element_number[own])]


class SoftReading:
    """Reading and setting of soft bodies."""

    model: Model
    state: State
    stepping: Stepping
    last: StepResult | None

    def nodes(self, body: SoftBody) -> Array:
        """Positions (n, 3) [m] of the nodes of a soft body."""
        return self.state.node_position[self._nodes_of(body)].copy()

    def node_velocities(self, body: SoftBody) -> Array:
        """Velocities (n, 3) [m/s] of the nodes of a soft body."""
        return self.state.node_velocity[self._nodes_of(body)].copy()

    def node_contact_forces(self, body: SoftBody) -> Array:
        """Contact force (n, 3) [N] on each node of a soft body in the last step, world frame."""
        own = self._nodes_of(body)
        force = np.zeros((self.model.soft.node_count, 3))
        if self.last is None:
            raise InputError("contact forces: no step was completed since the start or the last restore; call step()")
        contacts = contacts_of(self.last)
        impulse = contacts.impulse[:, :3] / self.stepping.dt
        for sign, nodes, weights in (
            (-1.0, contacts.node_a, contacts.weight_a),
            (1.0, contacts.node_b, contacts.weight_b),
        ):
            for k in range(3):
                used = nodes[:, k] >= 0
                np.add.at(force, nodes[used, k], sign * weights[used, k, None] * impulse[used])
        return force[own]

    def elements(self, body: SoftBody) -> ElementReport:
        """Strain, stress and energy of the elements of a soft body now."""
        return element_report(self.model, self.state, self.stepping).take(self._elements_of(body))

    def internal_forces(self, body: SoftBody) -> Array:
        """Elastic force (n, 3) [N] on each node of a soft body now, damping not included; their sum is zero."""
        own = self._nodes_of(body)
        return internal_forces(self.model, self.state, self.stepping)[own]

    def soft_centre(self, body: SoftBody) -> Array:
        """Centre of mass (3,) [m] of a soft body."""
        own = self._nodes_of(body)
        mass = self.model.soft.mass[own]
        return np.asarray(mass @ self.state.node_position[own] / mass.sum())

    def soft_volume(self, body: SoftBody) -> float:
        """Volume [m^3] of a soft body now."""
        x = self.state.node_position[self.model.soft.elements.nodes[self._elements_of(body)]]
        return float(np.linalg.det(x[:, 1:] - x[:, :1]).sum() / 6.0)

    def cavity_volume(self, number: int = 0) -> float:
        """Volume [m^3] of a cavity, by its number in the scene."""
        found = self.model.soft.cavities
        if whole("cavity", "number", number) >= len(found):
            raise InputError(f"cavity {number} does not exist; the scene has {len(found)}")
        return cavities.volume(found[int(number)].triangles, self.state.node_position)

    def weld_force(self, body: SoftBody) -> Array:
        """Sum (3,) [N] of the forces by which welds hold the nodes of a soft body, mean of the last step."""
        own = self._nodes_of(body)
        node = self.model.soft.weld_node
        chosen = (node >= own.start) & (node < own.stop)
        return np.asarray(self.state.weld_impulse.reshape(-1, 3)[chosen].sum(axis=0) / self.stepping.dt)

    def set_node_force(self, body: SoftBody, force: ArrayLike, nodes: ArrayLike | None = None) -> None:
        """Apply forces (3,) or (k, 3) [N] to the given nodes (all where None), from now until changed."""
        self._set_nodes("node_force", body, force, nodes)

    def set_node_velocity(self, body: SoftBody, velocity: ArrayLike, nodes: ArrayLike | None = None) -> None:
        """Set velocities (3,) or (k, 3) [m/s] of the given nodes (all where None)."""
        self._set_nodes("node_velocity", body, velocity, nodes)

    def set_node_position(self, body: SoftBody, position: ArrayLike, nodes: ArrayLike | None = None) -> None:
        """Move the given nodes (all where None) to positions (k, 3) [m]."""
        self._set_nodes("node_position", body, position, nodes)

    def _set_nodes(self, name: str, body: SoftBody, value: ArrayLike, nodes: ArrayLike | None) -> None:
        own = self._nodes_of(body)
        where = f"soft body {body.name!r}"
        count = own.stop - own.start
        chosen = np.arange(count) if nodes is None else whole_array(where, "nodes", nodes, (None,), count)
        if not len(chosen):
            raise InputError(f"{where}: nodes are {shown(nodes)}; at least one is needed")
        numbers = for_each(where, name, value, len(chosen), inf if name == "node_force" else LARGEST)
        array = getattr(self.state, name).copy()
        array[own.start + chosen] = numbers
        self.state = replace(self.state, **{name: array})

    def _nodes_of(self, body: SoftBody) -> slice:
        """The nodes of a soft body among all; a handle of another scene raises an InputError."""
        soft = self.model.soft
        if not isinstance(body, SoftBody):
            raise InputError(f"soft body: {shown(body)} is no handle; give what scene.add_soft returned")
        if not handle_fits(body, soft.names):
            raise InputError(f"soft body {shown(body.name)} is not of this simulation, which has {soft.count} of them")
        return slice(int(soft.node_start[body.index]), int(soft.node_start[body.index + 1]))

    def _elements_of(self, body: SoftBody) -> NDArray[np.intp]:
        """The elements of a soft body in the order of its mesh, as places in the model's tables."""
        self._nodes_of(body)
        return body_elements(self.model.soft, body.index)
