"""Joints, rods and welds as potentials: their rows leave the problem, their stiffness is in its A ([lee2023] eq. 7-9).

Legend: r rows of the laws BILATERAL and ELASTIC, K = 1 / C their stiffness over a step.

    u_r + C lam_r = 0,  u_r = J_r v + bias_r      is      lam_r = -K (J_r v + bias_r),     so
    A' = A + J_r^T K J_r,      b' = b - J_r^T K bias_r,      A' v = b' + J'^T lam'

Implicit damping is in C already (constraints/joint/joints.py), geometric stiffness in A. What is left are
contacts, limits and drives of limited force. Rigid joints have no finite K; they get one that is 1e6 times as
stiff as what they join is heavy, and open by 1e-6 of what they hold back (tolerances.py).

Angular velocities of joined bodies are measured at the radius at which A' resists them as it does linear ones, so that
all unknowns are [m/s]: methods that step by a diagonal of A', and criteria that sum changes of velocities, would
else add metres to radians (`cond` takes three to four times the iterations on a cable).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.contact.block_laws import Laws
from stickslip.contact.laws import BILATERAL, ELASTIC
from stickslip.contact.momentum import Momentum
from stickslip.contact.potential_blocks import PotentialBlocks, potential_blocks
from stickslip.contact.problem import ContactProblem
from stickslip.contact.scale import Scale
from stickslip.jit import kernel
from stickslip.linalg import block_rows
from stickslip.linalg.block_matrix import BlockPattern
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.column_blocks import cut_columns
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.soft_blocks import SparseBlocks, parts_ending_with
from stickslip.tolerances import POTENTIAL_COMPLIANCE
from stickslip.workspace import Workspace

REMEMBERED = 4
"""Structures kept: the same from step to step while no joint breaks."""
STRUCTURES = "structures of potentials"
"""Name of their memory in a workspace."""


@dataclass(frozen=True, eq=False)
class Recover:
    """What became of a problem, and how its solution follows from that of the one without potentials."""

    rows: NDArray[np.intp]
    """Rows of the problem that are left, by their old numbers."""
    held_rows: NDArray[np.intp]
    """The others."""
    held: BlockRows
    """J_r over the old unknowns."""
    bias: Array
    stiffness: Array
    """(r,) [kg] K."""
    unknown: LongInts
    """(n,) which old unknown each new one is; nv where it is none of them."""
    unit: Array
    """(n,) old unknowns over new ones: 1, or 1 over a radius [1/m]."""

    def impulses(self, v: Array) -> Array:
        """lam_r (r,) at the old unknowns v (nv,)."""
        return -self.stiffness * (block_rows.apply(self.held, v) + self.bias)

    def velocities(self, v: Array) -> Array:
        """The old unknowns (nv,) of the new ones (n,)."""
        old = np.empty(self.held.column_start[-1] + 1)
        old[self.unknown] = self.unit * v
        return old[:-1].copy()

    def new_velocities(self, v: Array) -> Array:
        """The new unknowns (n,) of the old ones (nv,)."""
        return np.append(v, 0.0)[self.unknown] / self.unit

    def new_impulses(self, f: Array) -> Array:
        """Impulses (n,) on the new unknowns, from those on the old ones (nv,)."""
        return np.append(f, 0.0)[self.unknown] * self.unit


def is_held(law: Ints) -> Bools:
    """Which blocks (n,) of these laws can be potentials."""
    return (law == BILATERAL) | (law == ELASTIC)


def with_potentials(
    problem: ContactProblem,
    lam: Array | None = None,
    prepared: bool = True,
) -> tuple[ContactProblem, Recover]:
    """The problem with its BILATERAL and ELASTIC rows in A, and how to recover its solution.

    ``lam`` (m,): about the impulses, by which errors of momentum are measured. ``prepared``: an order of
    elimination of A' with the touched unknowns last is made ready.
    """
    A, J, laws = problem.A, problem.J, problem.laws
    A.require_blocks("nothing can be added to A = W^-1")
    chosen = is_held(laws.law)
    kept, held = (np.flatnonzero(each).astype(np.int32) for each in (~chosen, chosen))
    rows, held_rows = block_rows.rows_of(J, kept), block_rows.rows_of(J, held)
    J_held, J_kept = block_rows.reordered(J, held), block_rows.reordered(J, kept)
    bias = problem.bias[held_rows]
    blocks, nodes, diagonal = A.dense, A.nodes, A.diagonal_blocks()
    C = np.maximum(laws.compliance[held_rows], POTENTIAL_COMPLIANCE * diagonal.mobility(J_held))
    K = np.divide(1.0, C, out=np.zeros_like(C), where=C > 0.0)  # rows that move nothing hold nothing

    to = _structure(J_held, blocks, nodes.pattern, problem.workspace)
    here = cut_columns(J_kept, to.first, to.pieces, to.column_start)
    parts = to.parts
    if prepared:
        touched = np.zeros(to.pattern.size, dtype=np.bool_)
        row = here.entry_column - len(to.free)
        touched[row[row >= 0]] = True
        parts = parts_ending_with(parts, touched, problem.workspace)
    data = np.zeros((len(to.pattern.indices), 3, 3))
    _put_bodies(to.own, blocks.start, blocks.data_start, blocks.data, to.body_place, data)
    data[to.node_place] += nodes.data
    there = cut_columns(J_held, to.first, to.pieces, to.column_start)
    _add_rows(there.row_start, there.entry_start, there.data_start, there.data, K, to.row_place, data)
    unit = _units(to, blocks, data)
    block_row = np.repeat(np.arange(to.pattern.size), np.diff(to.pattern.indptr))
    of_nodes = unit[len(to.free) :]
    data *= (of_nodes[block_row] * of_nodes[to.pattern.indices])[:, None, None]
    here = here._replace(data=here.data * np.repeat(unit[here.entry_column], np.diff(here.data_start)))
    recover = Recover(rows, held_rows, J_held, bias, K, to.unknown, np.repeat(unit, np.diff(to.column_start)))
    stiff = Inertia(blocks.chosen(to.free), SparseBlocks(parts, data, to.pattern, problem.workspace))

    v, missing = problem.momentum.at, problem.momentum.missing
    pulled = (0.0 if missing is None else missing) + block_rows.apply_transpose(J_held, recover.impulses(v))
    # measured as the problem with rows is: speeds by all of them, mobilities without what joints add
    size = problem.momentum_size
    if problem.v_before is not None:
        size = size + np.abs(problem.momentum.gain(problem.v_before))
    if lam is not None and np.isfinite(lam).all():
        size = size + np.abs(block_rows.apply_transpose(J_held, lam[held_rows]))
    found = ContactProblem(
        Momentum(stiff, recover.new_velocities(v), recover.new_impulses(pulled)),
        here,
        problem.bias[rows],
        Laws(laws.law[kept], laws.friction_set[kept], laws.friction[kept], laws.compliance[rows], laws.bound[rows]),
        problem.step,
        None if problem.prescribed is None else problem.prescribed[rows],
        v_before=None if problem.v_before is None else recover.new_velocities(problem.v_before),
        v_likely=None if problem.v_likely is None else recover.new_velocities(problem.v_likely),
        gap=problem.gap,
        keys=None if problem.keys is None else problem.keys[kept],
        scale=Scale(
            speed=problem.free_speed,
            island_speed=problem.island_speed[kept] if problem.has_others else None,
            momentum=recover.new_impulses(size),
            mobility=diagonal.mobility(J_kept),
        ),
        workspace=problem.workspace,
    )
    return found.trusted(), recover


def _structure(held: BlockRows, blocks: DenseBlocks, nodes: BlockPattern, workspace: Workspace) -> PotentialBlocks:
    """The structure for these rows, from memory where it was the same not long ago."""
    made_of = [held.entry_start, held.entry_column, held.column_start, blocks.start, nodes.indptr, nodes.indices]
    key = b"".join(len(each).to_bytes(8) + each.tobytes() for each in made_of)
    return workspace.recall(STRUCTURES, key, lambda: potential_blocks(held, blocks, nodes), REMEMBERED)


def _units(to: PotentialBlocks, blocks: DenseBlocks, data: Array) -> Array:
    """(columns,) 1, and for angular velocities of joined bodies 1 / the radius [m] at which A' resists them alike."""
    unit = np.ones(len(to.column_start) - 1)
    linear = to.first[to.own[np.diff(blocks.start)[to.own] == 6]]
    trace = np.trace(data[to.pattern.diagonal], axis1=1, axis2=2)
    at = linear - len(to.free)
    unit[linear + 1] = np.sqrt(trace[at] / trace[at + 1])
    return unit


@kernel
def _put_bodies(own, start, data_start, data, place, data_out):
    """The blocks of bodies, cut into 3x3 blocks; what fills up the last one has the last entry of the diagonal."""
    p = 0
    for k in range(own.shape[0]):
        at, width = data_start[own[k]], start[own[k] + 1] - start[own[k]]
        for i in range(0, width, 3):
            for j in range(0, width, 3):
                to = data_out[place[p]]
                p += 1
                for r in range(3):
                    for c in range(3):
                        if i + r < width and j + c < width:
                            to[r, c] += data[at + width * (i + r) + j + c]
                        elif i + r == j + c:
                            to[r, c] = data[at + width * width - 1]


@kernel
def _add_rows(row_start, entry_start, data_start, data, stiffness, place, data_out):
    """J^T K J of each constraint block, whose entries are three columns wide."""
    p = 0
    for c in range(row_start.shape[0] - 1):
        for e in range(entry_start[c], entry_start[c + 1]):
            for f in range(entry_start[c], entry_start[c + 1]):
                to = data_out[place[p]]
                p += 1
                left, right = data_start[e], data_start[f]
                for r in range(row_start[c], row_start[c + 1]):
                    for i in range(3):
                        for j in range(3):
                            to[i, j] += data[left + i] * data[right + j] * stiffness[r]
                    left += 3
                    right += 3
