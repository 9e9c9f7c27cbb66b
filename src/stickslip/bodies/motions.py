"""All kinds of bodies within one step: where unknown velocities lead, and rows over twists as rows over unknowns.

Columns of rows that constraints write: six for each frame that moves, rigid bodies first, then frames of other kinds,
then three for each free node. Unknowns come in the same order, but a frame of another kind is moved by a block of its
kind's unknowns, of any width: twist = S v, so an entry E over the twist is E S over the block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import cast

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.bodies.protocol import Bodies, FramedBodies, KindMomentum, Motion, Place
from stickslip.contact.momentum import Momentum
from stickslip.contact.scale import Scale
from stickslip.jit import kernel
from stickslip.linalg.block_rows import BlockRows, summed
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.inertia import Inertia
from stickslip.model.control import Control
from stickslip.model.layout import NODE
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping

CANCELLED = 1e-14
"""Share of the largest numbers that meet in it below which an entry of a row is rounding."""
NO_NODES = np.zeros((0, 3))
"""Positions and velocities where there are no nodes."""


class Motions:
    """The kinds of bodies of a model within one step: rigid ones first, those with nodes last."""

    def __init__(
        self, model: Model, kinds: Sequence[Bodies], state: State, control: Control, options: Stepping
    ) -> None:
        """At the start of a step from ``state``."""
        self.model, self.kinds, self.state, self.rule = model, kinds, state, options.rule
        first = kinds[0].begin(state, control, options)
        self.motions: list[Motion] = [first]
        self.start = first.start
        """(nv,) unknown velocities at the start of the step."""
        self.place = Place(*first.placed, NO_NODES, NO_NODES)
        """Where contacts are found."""
        if len(kinds) > 1:
            for kind in kinds[1:]:
                self.motions.append(kind.begin(state, control, options))
            self.start = np.concatenate([motion.start for motion in self.motions])
            self.place = self._placed([motion.placed for motion in self.motions], None)

    @cached_property
    def likely(self) -> Array | None:
        """(nv,) unknown velocities of the last step, where they were mean ones; None: those at its end are as good."""
        if not self.rule.mean_velocities:
            return None
        earlier = replace(self.state, v=self.state.mean_velocity)
        parts = [kind.unknowns(earlier) for kind in self.kinds]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def of(self, name: str) -> Motion:
        """The motion of the kind of this name."""
        return next(motion for kind, motion in zip(self.kinds, self.motions, strict=True) if kind.name == name)

    @cached_property
    def parts(self) -> list[slice]:
        """Where the unknowns of each kind are."""
        last = np.cumsum([len(motion.start) for motion in self.motions]).tolist()
        return [slice(first, end) for first, end in zip([0, *last], last)]

    def end(self, v: Array) -> Place:
        """Where unknown velocities v (nv,) lead by the end of the step."""
        if len(self.motions) == 1:
            pose, velocity = self.motions[0].end(v)
            return self.place._replace(pose=pose, velocity=velocity, unknown=v)
        return self._placed([motion.end(v[part]) for motion, part in self._each()], v)

    def _each(self) -> list[tuple[Motion, slice]]:
        return list(zip(self.motions, self.parts, strict=True))

    def _placed(self, where: Sequence[tuple[Array, Array]], v: Array | None) -> Place:
        """All frames and nodes of kinds at coordinates and velocities (q, v) each."""
        pose, velocity = where[0]
        node, node_velocity = NO_NODES, NO_NODES
        twists: list[Array] = []
        poses, velocities = [pose], [velocity]
        for kind, (q, own) in zip(self.kinds[1:], where[1:], strict=True):
            if kind.name == NODE:
                node, node_velocity = q, own
                continue
            found = cast(FramedBodies, kind).frames_at(q, own)
            for parts, part in zip((poses, velocities, twists), found, strict=True):
                parts.append(part)
        if not twists:
            return Place(pose, velocity, node, node_velocity, v)
        rows = twists[0] if len(twists) == 1 else np.concatenate(twists)
        return Place(np.concatenate(poses), np.concatenate(velocities), node, node_velocity, v, rows)

    # ---- rows ------------------------------------------------------------------------------------------------

    def over_unknowns(self, J: BlockRows, place: Place) -> BlockRows:
        """Rows over the twists of frames and over nodes as rows over unknowns."""
        if place.twists is None:
            return J if J.column_start is self.model.columns else J._replace(column_start=self.model.columns)
        return mapped_rows(
            J,
            len(self.model.dynamic),
            self.model.frame_block,
            self.model.twist_start,
            place.twists,
            self.model.unknown_columns,
        )

    # ---- momentum and coordinates ----------------------------------------------------------------------------

    def momentum(self, place: Place, rounded: bool) -> tuple[Momentum, Scale]:
        """The momentum of all unknowns, linearised at a place, and what errors are measured by there.

        ``rounded``: that has the rounding of positions, too, which is all that is left of what needs no force.
        """
        v, only = place.unknown, self.motions[0]
        if len(self.motions) == 1:
            rounding = only.rounding(place) if rounded else None
            part = only.momentum(place, v)
            assert part.dense is not None
            return Momentum(Inertia(part.dense), part.at, part.missing), Scale(rounding=rounding, momentum=part.size)
        parts = [motion.momentum(place, None if v is None else v[part]) for motion, part in self._each()]
        momentum, size = _joined_momentum(parts)
        rounding = np.concatenate([motion.rounding(place) for motion in self.motions]) if rounded else None
        return momentum, Scale(rounding=rounding, momentum=size)

    def closing(self, v: Array, v_end: Array) -> Array:
        """v_end (nv,) at the end of a step whose mean velocities are v (nv,)."""
        return np.concatenate([motion.closing(v[part], v_end[part]) for motion, part in self._each()])

    def coordinates(self, v: Array, v_end: Array | None) -> tuple[Array, Array]:
        """q and v of the state at the end of a step with unknown velocities v (nv,), or v_end there."""
        layout = self.state.layout
        if len(self.motions) == 1:
            q, velocity_end = self.motions[0].end(v)
            own = velocity_end if v_end is None else self.motions[0].velocities(v_end)
            return q.reshape(-1), own.reshape(-1)
        where: dict[str, Array] = {}
        velocity: dict[str, Array] = {}
        for kind, (motion, part) in zip(self.kinds, self._each(), strict=True):
            where[kind.name], velocity[kind.name] = motion.end(v[part])
            if v_end is not None:
                velocity[kind.name] = motion.velocities(v_end[part])
        return layout.q_of(where), layout.v_of(velocity)

    def rigid_velocity(self, v: Array) -> Array:
        """(nb, 6) velocities of rigid bodies that unknown ones v (nv,) give."""
        return self.motions[0].velocities(v[self.parts[0]])

    def unknowns(self, after: State) -> Array:
        """Unknown velocities (nv,) among those of a state."""
        parts = [kind.unknowns(after) for kind in self.kinds]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def with_unknowns(self, after: State, v: Array) -> State:
        """The state with other unknown velocities (nv,)."""
        parts = {
            kind.name: kind.scattered(after.part_v(kind.name), v[part])
            for kind, part in zip(self.kinds, self.parts, strict=True)
        }
        return replace(after, v=after.layout.v_of(parts))

    def masses(self, after: State) -> DenseBlocks:
        """Blocks of the kinetic energy at the state after a step."""
        blocks = [motion.masses(after) for motion in self.motions]
        found = blocks[0]
        for more in blocks[1:]:
            found = found.followed_by(more)
        return found


def _joined_momentum(parts: Sequence[KindMomentum]) -> tuple[Momentum, Array | None]:
    """Momentum of all kinds; their unknowns one after the other. Rigid bodies, the first, may be none but are there.

    Also what its errors are measured by beside J^T lam.
    """
    dense = [part.dense for part in parts if part.dense is not None]
    blocks = dense[0]
    for more in dense[1:]:
        blocks = blocks.followed_by(more)
    sparse = next((part.sparse for part in parts if part.sparse is not None), None)
    missing, size = _filled([part.missing for part in parts], parts), _filled([part.size for part in parts], parts)
    at = np.concatenate([part.at for part in parts])
    return Momentum(Inertia(blocks, sparse), at, missing), size


def _filled(some: Sequence[Array | None], parts: Sequence[KindMomentum]) -> Array | None:
    """All of them, zero where a kind has none; None where no kind has any."""
    if all(each is None for each in some):
        return None
    return np.concatenate(
        [np.zeros(len(part.at)) if each is None else each for each, part in zip(some, parts, strict=True)]
    )


def mapped_rows(
    J: BlockRows, rigid: int, frame_column: Ints, twist_start: Ints, twists: Array, columns: Ints
) -> BlockRows:
    """Rows over twists as rows over unknowns.

    rigid: columns of rigid bodies, which stay; frame_column (k,): the block that moves each frame of another kind, with
    S (6, w) in ``twists`` from ``twist_start`` (k + 1,) on; nodes follow the frames. columns: starts of the unknowns.
    """
    entry_start = np.zeros_like(J.entry_start)
    column, size = np.empty_like(J.entry_column), np.empty(len(J.entry_column), dtype=np.int64)
    nodes = len(columns) - 1 - (int(frame_column.max(initial=rigid - 1)) + 1)
    first_node = len(columns) - 1 - nodes
    entries = _mapped_columns(
        J.row_start, J.entry_start, J.entry_column, rigid, frame_column, first_node, columns, entry_start, column, size
    )
    data_start = summed(size[:entries])
    data = np.zeros(int(data_start[-1]))
    _map_data(
        J,
        rigid,
        frame_column,
        first_node,
        twist_start,
        twists,
        entry_start,
        column,
        data_start,
        np.zeros(len(data)),
        data,
    )
    return BlockRows(J.row_start, entry_start, column[:entries], data_start, data, columns)


@kernel
def _real_column(c, rigid, frame_column, first_node):
    """Column block of the unknowns for a column block of twists and nodes."""
    if c < rigid:
        return c
    if c < rigid + frame_column.shape[0]:
        return frame_column[c - rigid]
    return first_node + c - rigid - frame_column.shape[0]


@kernel
def _mapped_columns(
    row_start, entry_start, entry_column, rigid, frame_column, first_node, columns, start_out, column_out, size_out
):
    """Entries of each block, each column once; returns how many there are."""
    e = 0
    for c in range(row_start.shape[0] - 1):
        first = e
        for k in range(entry_start[c], entry_start[c + 1]):
            real = _real_column(entry_column[k], rigid, frame_column, first_node)
            known = False
            for other in range(first, e):
                known = known or column_out[other] == real
            if not known:
                column_out[e] = real
                size_out[e] = (row_start[c + 1] - row_start[c]) * (columns[real + 1] - columns[real])
                e += 1
        start_out[c + 1] = e
    return e


@kernel
def _map_data(J, rigid, frame_column, first_node, twist_start, twists, start, column, data_start, size, data_out):
    """Add each entry to that of its column; data_out, and size as room for as many, come in zeroed.

    What two frames of one tree share cancels, and what turns in a plane does not leave it: what rounding leaves
    of either is zero, or a row of a loop that holds by itself would ask for forces beyond all bounds.
    """
    for c in range(J.row_start.shape[0] - 1):
        rows = J.row_start[c + 1] - J.row_start[c]
        for k in range(J.entry_start[c], J.entry_start[c + 1]):
            old = J.entry_column[k]
            real = _real_column(old, rigid, frame_column, first_node)
            e = start[c]
            while column[e] != real:
                e += 1
            width = (data_start[e + 1] - data_start[e]) // rows
            from_width = (J.data_start[k + 1] - J.data_start[k]) // rows
            if not rigid <= old < rigid + frame_column.shape[0]:
                for r in range(rows):
                    for j in range(width):
                        data_out[data_start[e] + r * width + j] += J.data[J.data_start[k] + r * from_width + j]
                continue
            s = twists[twist_start[old - rigid] : twist_start[old - rigid] + 6 * width]
            s0, s1, s2, s3, s4, s5 = (
                s[:width], s[width:], s[2 * width :], s[3 * width :], s[4 * width :], s[5 * width :]
            )  # fmt: skip
            for r in range(rows):
                to, x = data_start[e] + r * width, J.data[J.data_start[k] + r * 6 : J.data_start[k] + r * 6 + 6]
                x0, x1, x2, x3, x4, x5 = x[0], x[1], x[2], x[3], x[4], x[5]
                most = max(abs(x0), abs(x1), abs(x2), abs(x3), abs(x4), abs(x5))
                out, sizes = data_out[to : to + width], size[to : to + width]
                for j in range(width):  # four at a time
                    out[j] = out[j] + x0 * s0[j] + x1 * s1[j] + x2 * s2[j] + x3 * s3[j] + x4 * s4[j] + x5 * s5[j]
                for j in range(width):
                    far = max(abs(s0[j]), abs(s1[j]), abs(s2[j]), abs(s3[j]), abs(s4[j]), abs(s5[j]))
                    sizes[j] += most * far
    for e in range(data_out.shape[0]):
        if abs(data_out[e]) <= CANCELLED * size[e]:
            data_out[e] = 0.0
