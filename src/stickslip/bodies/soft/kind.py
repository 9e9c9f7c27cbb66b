"""Soft bodies as a kind of body: blocks of three unknowns a free node, with a sparse matrix of their stiffness.

Where their elements are rows of the problem (constraints/elements.py), only their masses are in A.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from stickslip.arrays import Array, Bools, Ints
from stickslip.bodies.protocol import Bodies, IslandBooks, KindEnergy, KindMomentum, Motion, Place
from stickslip.bodies.soft import advance, layout, momentum
from stickslip.bodies.soft.energy import soft_energies
from stickslip.bodies.soft.rotations import RotationMemory
from stickslip.errors import DivergenceError
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.soft_blocks import SoftPart, SparseBlocks, parts_ending_with
from stickslip.model.control import Control
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.solvers.protocol import ElementRows
from stickslip.tolerances import POSITION_ROUNDING
from stickslip.workspace import Workspace

CONVEX = (0.0, 0.1, 0.3, 1.0)
"""Shares of projected Hessians to try for nearly incompressible bodies, in this order: exact ones converge fastest
where pressure is high, if they are definite. For other bodies the projected ones take fewer rounds."""


class SoftBodies(Bodies):
    """The soft bodies of a model."""

    name = "node"

    def __init__(self, model: Model, as_rows: ElementRows | None, unsolved: bool, workspace: Workspace) -> None:
        """``as_rows``: elements are rows, with so much of them in A; ``unsolved``: nobody solves with A as it is, so
        nothing is factorised."""
        self.model, self.as_rows, self.unsolved, self.workspace = model, as_rows, unsolved, workspace
        self.widths: Ints = np.full(len(model.soft.free), 3, dtype=np.int32)
        self.rotations = RotationMemory()
        self.touched: tuple[Bools, tuple[SoftPart, ...]] | None = None
        """Nodes that rows touched in the last step, and the parts in which they are eliminated last."""

    def begin(self, state: State, control: Control, options: Stepping) -> SoftMotionOfStep:
        """The nodes at the start of a step."""
        return SoftMotionOfStep(self, state, control, options)

    def unknowns(self, state: State) -> Array:
        """(3 nf,)"""
        return state.node_velocity[self.model.soft.free].ravel()

    def scattered(self, velocities: Array, own: Array) -> Array:
        """(nn, 3)"""
        return layout.scatter(self.model.soft, velocities, own)


class SoftMotionOfStep(Motion):
    """The soft bodies within one step."""

    def __init__(self, kind: SoftBodies, state: State, control: Control, options: Stepping) -> None:
        self.model, self.soft, self.as_rows, self.unsolved = kind.model, kind.model.soft, kind.as_rows, kind.unsolved
        self.kind, self.workspace = kind, kind.workspace
        self.motion = momentum.soft_motion(kind.model, state, control, options, kind.rotations)
        self.x = state.node_position + (options.dt - options.horizon) * self.motion.v
        """(nn, 3) [m] where contacts are found."""
        self.start = self.motion.v[self.soft.free].ravel()
        self.placed = self.x, self.motion.v
        self.size = np.zeros(3 * len(self.soft.free))
        """(3 nf,) [N s] what errors of momentum are measured by, of the last linearisation."""
        self.volume_noise = 0.0
        self.convex = 0 if self.soft.nearly_incompressible else len(CONVEX) - 1
        self.parts = self.model.soft_parts
        self.sparse: SparseBlocks | None = None
        self.free = np.zeros(0)
        self.first: tuple[SparseBlocks, Array, Array] | None = None
        """A where momentum was linearised first, the velocities, and what is missing there."""

    def prepare(self, touched: Bools) -> None:
        """Let the unknowns of free nodes (nf,) that rows touch be eliminated last."""
        if self.unsolved:
            return
        known = self.kind.touched
        if known is None or not np.array_equal(known[0], touched):
            known = self.kind.touched = touched, parts_ending_with(self.model.soft_parts, touched, self.workspace)
        self.parts = known[1]

    def momentum(self, place: Place, own: Array | None) -> KindMomentum:
        """Linearised at the velocities of nodes that led to the place."""
        nodes = place.node_velocity
        if self.as_rows is not None:
            mass, free = momentum.lumped_momentum(self.soft, self.motion, nodes)
            return KindMomentum(momentum.particles(mass), None, free, size=self.size)
        if self.unsolved:
            own = nodes[self.soft.free].ravel()
            if self.first is None or not self.soft.linear:
                at = momentum.momentum(self.soft, self.motion, nodes)
                self.size = at.size
                places = self.x[self.soft.free]
                sparse = SparseBlocks(self.parts, at.matrix, self.soft.pattern, self.workspace, places)
                self.first = sparse, own, -at.residual
            sparse, first, missing = self.first
            if own is not first:  # elements that are linear in v need not be asked again
                missing = missing - sparse.apply(own - first)
            return KindMomentum(None, sparse, own, missing, self.size)
        if self.sparse is None or not self.soft.linear:
            self.sparse, self.free = self._linearised(nodes)
        return KindMomentum(None, self.sparse, self.free, size=self.size)

    def _linearised(self, nodes: Array) -> tuple[SparseBlocks, Array]:
        """A and free velocities (3 nf,) at velocities (nn, 3), with as little projection as A needs to be definite."""
        while True:
            at = momentum.momentum(self.soft, self.motion, nodes, CONVEX[self.convex])
            self.size = at.size
            sparse = SparseBlocks(self.parts, at.matrix, self.soft.pattern, self.workspace)
            change = np.empty(len(at.residual))
            try:
                sparse.solve(at.residual, change)
                return sparse, nodes[self.soft.free].ravel() - change
            except DivergenceError:
                if self.soft.linear or self.motion.column_sums or self.convex + 1 == len(CONVEX):
                    raise
                self.convex += 1

    def stiffened(self, dense: DenseBlocks, nodes: Array) -> Inertia:
        """A with the stiffness of elements in it and ``dense`` blocks of all other bodies, linearised at (nn, 3)."""
        at = momentum.momentum(self.soft, self.motion, nodes)
        self.size = at.size
        return Inertia(dense, SparseBlocks(self.model.soft_parts, at.matrix, self.soft.pattern, self.workspace))

    def end(self, own: Array) -> tuple[Array, Array]:
        """Positions (nn, 3) of all nodes at the end of the step, and the velocities (nn, 3) that lead there."""
        nodes = self.velocities(own)
        x = self.motion.positions(nodes)
        return advance.put_held(self.soft, x, self.motion.time) if self.soft.held else x, nodes

    def closing(self, own: Array, v_end: Array) -> Array:
        """As it is: nodes do not turn."""
        return v_end

    def velocities(self, own: Array) -> Array:
        """(nn, 3)"""
        return layout.scatter(self.soft, self.motion.v, own)

    def masses(self, after: State) -> DenseBlocks:
        """Three by three."""
        return momentum.particles(self.soft.mass[self.soft.free])

    def energy(self, before: State, after: State, control: Control, mean: Array, books: IslandBooks) -> KindEnergy:
        """All soft bodies are booked as one island, the last."""
        soft, gravity = self.soft, self.model.gravity
        own = soft_energies(soft, gravity, self.motion, before, after, control.node_force)
        risen = own.potential[1] - own.potential[0]
        books.change[-1] += own.kinetic[1] - own.kinetic[0] + risen + own.elastic[1] - own.elastic[0]
        books.given[-1] += own.work - own.damping
        books.known[-1] += own.kinetic[0] + own.elastic[0] + abs(risen) + abs(own.work)
        return own

    def rounding(self, place: Place) -> Array:
        """(nf,) the same for all nodes: what rounding makes of the rows of cavities or elements."""
        return np.full(len(self.soft.free), POSITION_ROUNDING * self.noise())

    def noise(self) -> float:
        """Speed [m/s, or 1/s of strains] that rounding of positions makes over POSITION_ROUNDING, in all rows."""
        if self.as_rows is None:
            return self.volume_noise
        gradient = float(np.abs(self.soft.elements.gradient).max(initial=0.0))
        rows = 6.0 * len(self.soft.elements.volume)
        return 0.1 * sqrt(rows) * gradient * float(np.abs(self.motion.x).max(initial=0.0)) / self.motion.step
