"""What a kind of body is: whoever has unknown velocities. One folder a kind; the step knows this page alone.

A kind owns a part of the state, of any width, and a part of the unknowns. What others see of it are *frames* (poses
that shapes, joints and welds are attached to: rigid bodies, links of trees, a mass on a spring) or *nodes* (points that
surfaces are made of). The velocity of a frame is linear in the unknowns of its kind, twist = S(q) v, and that is all
that constraints need to know: they write rows over twists and nodes, and the kinds make rows over unknowns of them.

A step asks a kind for its motion (``begin``), which then answers for this step alone: where unknown velocities lead,
what momentum they have, what energy went where.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.soft_blocks import SparseBlocks
from stickslip.model.control import Control
from stickslip.model.state import State
from stickslip.model.stepping import Stepping


class Place(NamedTuple):
    """Where everything is and how it moves, at one linearisation of a step."""

    pose: Array
    """(nb, 7) of all frames: position [m] and rotation (w, x, y, z)."""
    velocity: Array
    """(nb, 6) of all frames: linear [m/s] and angular [rad/s], those of prescribed motion included."""
    node: Array
    """(nn, 3) [m] positions of all nodes."""
    node_velocity: Array
    """(nn, 3) [m/s]"""
    unknown: Array | None = None
    """(nv,) unknown velocities that lead here; None: the start of the step."""
    twists: Array | None = None
    """S (6, w) of each frame that is no rigid body, one after the other: twist = S v over its block of unknowns; None:
    there are none."""


class KindMomentum(NamedTuple):
    """The momentum of one kind, linearised: A (v - at) - missing = J^T lam, over its own unknowns."""

    dense: DenseBlocks | None
    """Its blocks of A, where they are dense; or ..."""
    sparse: SparseBlocks | None
    """... its sparse matrices; at most one kind of a model has them, the last one."""
    at: Array
    """(n,) velocities without constraints; or where nobody solves for these, those of the linearisation."""
    missing: Array | None = None
    """(n,) [N s] that is missing at ``at``; None: nothing."""
    size: Array | None = None
    """(n,) [N s] impulses within bodies by which errors of momentum are measured; None: none."""


class KindEnergy(NamedTuple):
    """Energies of one kind over a step [J]."""

    kinetic: tuple[float, float]
    """Before and after."""
    potential: tuple[float, float]
    elastic: tuple[float, float]
    work: float
    """Of the user's forces and of what is prescribed."""
    damping: float
    """Lost to damping."""


class IslandBooks(NamedTuple):
    """Energies by island, to find out whether numerics made any [J]; kinds and constraints add theirs in place."""

    column: Ints
    """(k,) island of each column block of the unknowns."""
    known: Array
    """(islands,) had at the start of the step, or given from outside."""
    change: Array
    """(islands,) gained in all."""
    given: Array
    """(islands,) gained by what is known to give."""


class Motion(Protocol):
    """A kind within one step."""

    start: Array
    """(n,) its unknown velocities at the start of the step."""
    placed: tuple[Array, Array]
    """Its coordinates where contacts are found, and its velocities before the step, with those that are prescribed."""

    def momentum(self, place: Place, own: Array | None) -> KindMomentum:
        """Its momentum linearised at a place, to which its unknown velocities ``own`` (n,) led; None: the start."""
        ...

    def end(self, own: Array) -> tuple[Array, Array]:
        """Coordinates and velocities of the kind at the end of a step with unknown velocities ``own`` (n,)."""
        ...

    def closing(self, own: Array, v_end: Array) -> Array:
        """``v_end`` (n,) at the end of a step whose mean velocities are ``own`` (n,), as the kind has it."""
        ...

    def velocities(self, own: Array) -> Array:
        """All velocities of the kind, prescribed ones included, for unknown ones ``own`` (n,)."""
        ...

    def masses(self, after: State) -> DenseBlocks:
        """Blocks of the kinetic energy at the state after a step."""
        ...

    def energy(self, before: State, after: State, control: Control, mean: Array, books: IslandBooks) -> KindEnergy:
        """Its energies over the step, also booked by island; mean (nb, 6): velocities over which forces act."""
        ...

    def rounding(self, place: Place) -> Array:
        """(k,) [m/s] what rounding of positions makes of velocities, by column block."""
        ...


class Bodies(Protocol):
    """A kind of body in a model."""

    name: str
    """Of its part of the state (model/layout.py)."""
    widths: Ints
    """(k,) unknowns of each of its column blocks."""

    def begin(self, state: State, control: Control, options: Stepping) -> Motion:
        """The kind at the start of a step."""
        ...

    def unknowns(self, state: State) -> Array:
        """(n,) its unknown velocities in a state."""
        ...

    def scattered(self, velocities: Array, own: Array) -> Array:
        """All its velocities, with ``own`` (n,) for the unknown ones."""
        ...


@runtime_checkable
class FramedBodies(Bodies, Protocol):
    """A kind from outside the package: its frames are bodies of the model like others, its blocks of A are dense."""

    frame_count: int
    """Frames of the model that are its own, in one piece."""
    frame_block: Ints
    """(frame_count,) which of its column blocks moves each frame."""

    def poses(self, q: Array) -> Array:
        """(frame_count, 7) of its frames at its coordinates q."""
        ...

    def frame_rows(self, q: Array) -> list[Array]:
        """S (6, w) of each frame: its twist over the w unknowns of the block that moves it, twist = S v."""
        ...

    def frames_at(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """Poses (k, 7), velocities (k, 6) and S (6, w) of all frames, one S after the other, at its q and v."""
        rows = self.frame_rows(q)
        blocks = np.split(v.reshape(-1), np.cumsum(self.widths)[:-1])
        twists = [rows[k] @ blocks[self.frame_block[k]] for k in range(self.frame_count)]
        return self.poses(q), np.array(twists), np.concatenate([S.ravel() for S in rows])
