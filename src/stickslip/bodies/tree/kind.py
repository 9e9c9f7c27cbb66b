"""Trees of links as a kind of body: unknowns are joint velocities, one dense block of A a tree."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.bodies.protocol import FramedBodies, IslandBooks, KindEnergy, KindMomentum, Motion, Place
from stickslip.bodies.tree import free_motion
from stickslip.bodies.tree.advance import advance_tree
from stickslip.bodies.tree.coordinate_tables import CoordinateTables
from stickslip.bodies.tree.energy import book_trees
from stickslip.bodies.tree.kinematics import place_links
from stickslip.bodies.tree.layout import LAST_DOF, ROW, ROW_END, TREE, DriveTables, TreeTables, TreeWork
from stickslip.bodies.tree.momentum import compose_mass, factorise, fill_matrix, invert_factors, weigh_links
from stickslip.bodies.tree.tables import tree_work
from stickslip.errors import DivergenceError
from stickslip.linalg.block_rows import summed
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.model.control import Control
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.robots.records import RobotRecord
from stickslip.scene.other_bodies import Frame
from stickslip.tolerances import POSITION_ROUNDING


class TreeBodies(FramedBodies):
    """The trees of one robot in a model: tables that nobody changes."""

    def __init__(
        self, name: str, record: RobotRecord, tables: TreeTables, drives: DriveTables, rows: CoordinateTables,
        frames: Sequence[Frame], q_start: Array, v_start: Array, control_start: Array, first_block: int,
    ) -> None:  # fmt: skip
        self.name, self.record, self.tables, self.drives, self.rows = name, record, tables, drives, rows
        self.frames, self.q_start, self.v_start = tuple(frames), q_start, v_start
        self.control_start = control_start
        """(nu, 2) control of each drive and the velocity that it aims at, at time zero."""
        self.first_block = first_block
        """Number of its first column block among those of the model."""
        self.frame_link: Ints = np.flatnonzero(tables.link_index[:, LAST_DOF] >= 0).astype(np.int32)
        self.frame_count = len(self.frame_link)
        some = np.diff(tables.start) > 0
        self.widths: Ints = np.diff(tables.start)[some].astype(np.int32)
        block = np.cumsum(some) - 1
        self.frame_block: Ints = block[tables.link_index[self.frame_link, TREE]].astype(np.int32)
        self.blocks: Ints = summed(self.widths.astype(np.int64))
        self.squares: Ints = summed(self.widths.astype(np.int64) ** 2)
        self.twist_size = int(6 * self.widths[self.frame_block].sum())
        self.room = Room(self)

    def with_room(self) -> TreeBodies:
        """The same for one simulation, with scratch of its own."""
        own = copy(self)
        own.room = Room(self)
        return own

    def with_gravity(self, gravity: Array) -> TreeBodies:
        """The same under another gravity (3,) [m/s^2]."""
        own = self.with_room()
        own.tables = self.tables._replace(gravity=np.array(gravity, dtype=np.float64))
        return own

    def frames_at(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """Poses (k, 7), velocities (k, 6) and S of the frames, one S (6, w) after the other."""
        pose, velocity, twist = np.empty((self.frame_count, 7)), np.empty((self.frame_count, 6)), self._twists()
        work = self.room.works[1]
        free_motion.frames_at(
            self.tables, self.frame_link, q.reshape(-1), v.reshape(-1), work, pose, velocity, twist
        )  # fmt: skip
        return pose, velocity, twist

    def poses(self, q: Array) -> Array:
        """(k, 7)"""
        return self.placed(q).pose[self.frame_link]

    def frame_rows(self, q: Array) -> list[Array]:
        """S (6, w) of each frame."""
        _, _, twist = self.frames_at(q, np.zeros(len(self.v_start)))
        width = self.widths[self.frame_block].astype(np.int64)
        return [part.reshape(6, -1) for part in np.split(twist, 6 * np.cumsum(width)[:-1])]

    def placed(self, q: Array) -> TreeWork:
        """Where all links are at coordinates q."""
        work = tree_work(self.tables)
        place_links(self.tables, np.ascontiguousarray(q).reshape(-1), work)
        return work

    def begin(self, state: State, control: Control, options: Stepping) -> TreeMotion:
        """The trees at the start of a step."""
        return TreeMotion(self, state, control, options)

    def unknowns(self, state: State) -> Array:
        """(nv,)"""
        return state.part_v(self.name).reshape(-1)

    def scattered(self, velocities: Array, own: Array) -> Array:
        """(1, nv)"""
        return own.reshape(1, -1)

    def mass_blocks(self, q: Array) -> DenseBlocks:
        """Mass matrices at coordinates q, armature included."""
        tables, work = self.tables, self.placed(q)
        data, inverse = np.empty(int(self.squares[-1])), np.empty(int(self.squares[-1]))
        weigh_links(tables, work)
        compose_mass(tables, work)
        factorise(tables, work.mass, work.factor)
        fill_matrix(tables, work.mass, data)
        invert_factors(tables, work.factor, inverse)
        return DenseBlocks(self.blocks, self.squares, data, inverse)

    def _twists(self) -> Array:
        return np.empty(self.twist_size)


class Room:
    """Scratch of the steps of one simulation: nothing that is read before it is written."""

    def __init__(self, kind: TreeBodies) -> None:
        nq, nv, nl, nt = len(kind.q_start), len(kind.v_start), len(kind.tables.links), len(kind.tables.start) - 1
        self.works = tree_work(kind.tables), tree_work(kind.tables)
        self.step = (
            np.empty(nq), np.empty((nl, 6)), np.empty(nv), np.empty(nv), np.empty(nv), np.empty(nv), np.empty(1),
        )  # fmt: skip
        self.energies = np.empty((nt, 3)), np.empty((nt, 3)), np.empty((nt, 3)), np.empty(nv)
        self.still = np.zeros((nl, 6))
        """(nl, 6) no forces on links; nobody writes into it."""
        self.rows: object = None
        """What constraints/coordinates.py knows of the rows of the last step."""


class TreeMotion(Motion):
    """The trees within one step."""

    def __init__(self, kind: TreeBodies, state: State, control: Control, options: Stepping) -> None:
        self.kind, self.options, rule = kind, options, options.rule
        self.q, self.v = state.part_q(kind.name).reshape(-1), state.part_v(kind.name).reshape(-1)
        self.start, self.h, self.time = self.v, options.dt, state.time
        nq = len(self.q)
        self.works, self.room = kind.room.works, kind.room.step
        self.scheme = options.dt, rule.forces_at == "end", rule.contacts_at, rule.gain
        self.control = control.actuators.get(kind.name, kind.control_start)
        link_force = kind.room.still
        if kind.name in control.frame_forces:
            link_force = np.zeros_like(link_force)
            link_force[kind.frame_link] = control.frame_forces[kind.name]
        self.given = control.part_force(kind.name).reshape(-1), link_force, self.control
        q_found, twist = np.empty(nq), kind._twists()
        pose, velocity = np.empty((kind.frame_count, 7)), np.empty((kind.frame_count, 6))
        self.frames = pose, velocity, twist
        out = self._out()
        good = free_motion.begin_step(
            kind.tables, kind.drives, kind.frame_link, (self.q, self.v), self.given, self.scheme, self.works, self.room,
            True, (q_found, pose, velocity, twist), out,
        )  # fmt: skip
        self._check(good)
        self.placed, self.found, self.at_start = (q_found, self.v), q_found, self._blocks(out)

    def _out(self) -> tuple[Array, Array, Array]:
        squares = int(self.kind.squares[-1])
        return np.empty(len(self.v)), np.empty(squares), np.empty(squares)

    def _blocks(self, out: tuple[Array, Array, Array]) -> KindMomentum:
        v_free, data, inverse = out
        return KindMomentum(DenseBlocks(self.kind.blocks, self.kind.squares, data, inverse), None, v_free)

    def _check(self, good: bool) -> None:
        if not good:
            raise DivergenceError(
                f"robot {self.kind.name!r}, t = {self.time:.6g} s: its mass matrix is not positive definite; a link "
                "that moves has no inertia, joints of a link move it the same way, or positions and velocities are no "
                "longer finite"
            )

    def momentum(self, place: Place, own: Array | None) -> KindMomentum:
        """Where forces act: at the start of a solve, where the motion without constraints leads."""
        if own is None:
            return self.at_start
        out = self._out()
        own = np.ascontiguousarray(own)
        state = self.q, self.v
        self._check(
            free_motion.momentum_led(self.kind.tables, state, self.scheme, own, self.works, self.room, out)
        )  # fmt: skip
        return self._blocks(out)

    def end(self, own: Array) -> tuple[Array, Array]:
        """Coordinates (nq,) at the end of the step, and velocities that lead there."""
        q = np.empty(len(self.q))
        advance_tree(self.kind.tables, self.found, np.ascontiguousarray(own), self.options.horizon, q)
        return q, own

    def closing(self, own: Array, v_end: Array) -> Array:
        """As they are."""
        return v_end

    def velocities(self, own: Array) -> Array:
        """All are unknown."""
        return own

    def masses(self, after: State) -> DenseBlocks:
        """Of the posture after the step."""
        return self.kind.mass_blocks(after.part_q(self.kind.name))

    def rounding(self, place: Place) -> Array:
        """(k,) by the farthest link of each tree."""
        far = np.zeros(len(self.kind.widths))
        np.maximum.at(far, self.kind.frame_block, np.abs(self.frames[0][:, :3]).max(axis=1, initial=0.0))
        return np.asarray(POSITION_ROUNDING * far / self.options.horizon)

    def energy(self, before: State, after: State, control: Control, mean: Array, books: IslandBooks) -> KindEnergy:
        """Work is that of the user's forces and of drives that are no rows."""
        kind, name = self.kind, self.kind.name
        states = self.q, self.v, after.part_q(name).reshape(-1), after.part_v(name).reshape(-1)
        found = book_trees(
            kind.tables, kind.drives, states, self.given, self.h, self.works, False, kind.room.energies,
            kind.first_block, books,
        )  # fmt: skip
        return KindEnergy(found[0:2], found[2:4], found[4:6], found[6], found[7])


def jacobian_at(trees: TreeBodies, work: TreeWork, i: int, at: Array) -> Array:
    """(6, nv) of link i at a world point (3,)."""
    tables, J = trees.tables, np.zeros((6, len(trees.v_start)))
    last = tables.link_index[i, LAST_DOF]
    if last >= 0:
        above = tables.path[tables.dof_index[last, ROW] : tables.dof_index[last, ROW_END]]
        omega, at_centre = work.motion[above, :3], work.motion[above, 3:]
        arm = at - work.centre[tables.link_index[i, TREE]]
        J[:3, above], J[3:, above] = (at_centre + np.cross(omega, arm)).T, omega.T
    return J
