"""Problems with every kind of contact that is made nodal, and the dense matrices of what cond iterates on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from stickslip import Scene, Simulation, elastic, tet_generators
from stickslip.arrays import Array
from stickslip.contact.block_laws import Laws, contact_laws
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem
from stickslip.linalg.block_matrix import to_csr
from stickslip.linalg.block_rows import BlockRows, to_dense
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.inertia import Inertia
from stickslip.solvers.cond.nodes import Nodal
from stickslip.solvers.cond.steps import Steps

CUBE = tet_generators.box((0.1, 0.1, 0.1), 2)
SOFT = elastic(5e4, 0.35, beta=1e-3, model="lagged-corotational")


def soft_cubes(
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0), box: bool = False, wall: bool = False, **material: float
) -> Scene:
    """A soft cube on the ground, on request with a rigid box on it or a wall at its side."""
    scene = Scene()
    scene.add_half_space(friction=0.5)
    scene.add_soft(CUBE, SOFT, (0, 0, 0.05), friction=0.5, velocity=velocity, **material)
    if box:
        scene.add_box((0.08, 0.06, 0.04), (0.013, 0.007, 0.12), mass=0.3, friction=0.5)
    if wall:
        scene.add_half_space((1, 0, 0), (-0.05, 0, 0), friction=0.5)
    return scene


def soft_on_soft(turn: float) -> Scene:
    """A cube on another: nodes on faces, and where it is turned, edges across edges."""
    scene = Scene()
    scene.add_half_space(friction=0.5)
    scene.add_soft(CUBE, SOFT, (0, 0, 0.05), friction=0.5)
    half = (np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2))
    scene.add_soft(CUBE, SOFT, (0.013, 0.007, 0.15), half, friction=0.5)
    return scene


def boxes(count: int) -> Scene:
    """Rigid boxes on each other."""
    scene = Scene()
    scene.add_half_space(friction=0.5)
    for k in range(count):
        scene.add_box((0.1, 0.1, 0.1), (0.01 * k, 0, 0.05 + 0.1 * k), mass=1.0 + k, friction=0.5)
    return scene


def particles(
    count: int, pairs: Sequence[tuple[int, int]], v: ArrayLike, laws: Laws | None = None, seed: int = 0
) -> ContactProblem:
    """Particles of 1 kg, 2 kg, ... and contacts of pairs of them, -1 for the ground; the first one upright."""
    rng = np.random.default_rng(seed)
    mass = 1.0 + np.arange(count)
    each = 3 * np.arange(count + 1, dtype=np.int32)
    blocks = np.concatenate([m * np.eye(3).ravel() for m in mass])
    A = Inertia(DenseBlocks(each, 3 * each, blocks, np.concatenate([np.eye(3).ravel() / m for m in mass])))
    data, columns, start = [], [], [0]
    for k, pair in enumerate(pairs):
        R = np.eye(3)[[2, 0, 1]] if k == 0 else np.linalg.qr(rng.normal(size=(3, 3)))[0]
        for sign, body in zip((-1.0, 1.0), pair, strict=True):
            if body >= 0:
                data.append(sign * R.ravel())
                columns.append(body)
        start.append(len(columns))
    entry = np.arange(len(columns) + 1, dtype=np.int32)
    J = BlockRows(
        3 * np.arange(len(pairs) + 1, dtype=np.int32), np.array(start, dtype=np.int32),
        np.array(columns, dtype=np.int32), 9 * entry, np.concatenate(data), each,
    )  # fmt: skip
    given = contact_laws(np.full(len(pairs), 0.5)) if laws is None else laws
    return ContactProblem(Momentum(A, np.asarray(v, dtype=np.float64).ravel()), J, np.zeros(3 * len(pairs)), given)


def first_problem(scene: Scene) -> ContactProblem:
    """The problem of the first step of 5 ms."""
    return Simulation(scene, dt=0.005, solver="cond").step().problem


SCENES: dict[str, Callable[[], ContactProblem]] = {
    "node-static": lambda: first_problem(soft_cubes()),
    "node-node": lambda: particles(2, [(0, 1)], v=[[0, 0, 1], [0.3, 0, -1]]),
    "node-rigid": lambda: first_problem(soft_cubes(box=True)),
    "rigid-static": lambda: first_problem(boxes(1)),
    "rigid-rigid": lambda: first_problem(boxes(3)),
    "node-face": lambda: first_problem(soft_on_soft(0.0)),
    "edge-edge": lambda: first_problem(soft_on_soft(0.4)),
    "two-at-once": lambda: first_problem(soft_cubes(wall=True)),
    "particles in many contacts": lambda: particles(
        4, [(-1, 0), (0, 1), (0, 2), (1, 2), (-1, 3), (-1, 3), (2, 3)], v=np.ones((4, 3))
    ),
}
"""The problem of each kind of contact."""


def dense_system(nodal: Nodal) -> tuple[Array, Array]:
    """A over real unknowns and virtual nodes, with ties and rows; J_c of contacts on nodes (3 nc, size)."""
    nv, J = nodal.unknowns, nodal.J
    size = nv + 3 * nodal.virtual
    A, Jc = np.zeros((size, size)), np.zeros((3 * len(nodal.contact), size))
    _put_blocks(nodal.rigid, nodal.rigid.data, A)
    first = int(nodal.rigid.start[-1])
    A[first:nv, first:nv] = to_csr(nodal.pattern, nodal.soft).toarray() if nv > first else 0.0

    def entry(e: int, rows: int) -> Array:
        """Entry e of J, as rows over all unknowns."""
        out = np.zeros((rows, size))
        x0, x1 = J.column_start[J.entry_column[e]], J.column_start[J.entry_column[e] + 1]
        out[:, x0:x1] = J.data[J.data_start[e] : J.data_start[e + 1]].reshape(rows, x1 - x0)
        return out

    for k, p in enumerate(nodal.tied):
        here = Jc[3 * k : 3 * k + 3]
        for e in nodal.node[nodal.node_start[k] : nodal.node_start[k + 1]]:
            here += entry(e, 3)
        if p >= 0:
            here[:, nv + 3 * p : nv + 3 * p + 3] = np.eye(3)
            tie = -np.eye(size)[nv + 3 * p : nv + 3 * p + 3]
            for e in nodal.tie[nodal.tie_start[p] : nodal.tie_start[p + 1]]:
                tie = tie + entry(e, 3)
            A += nodal.gain[p] * tie.T @ tie
    dense = to_dense(J)
    for c in nodal.row:
        rows = slice(J.row_start[c], J.row_start[c + 1])
        A[:nv, :nv] += dense[rows].T @ (nodal.stiffness[rows, None] * dense[rows])
    return A, Jc


def dense_weights(nodal: Nodal, W: Steps) -> Array:
    """W as a dense matrix."""
    first, nv = int(nodal.rigid.start[-1]), nodal.unknowns
    out = np.zeros((nv + 3 * nodal.virtual, nv + 3 * nodal.virtual))
    _put_blocks(nodal.rigid, W.rigid, out)
    at = np.arange(first, len(out))
    out[at, at] = np.concatenate([W.soft, np.repeat(W.virtual, 3)])
    return out


def _put_blocks(blocks: DenseBlocks, data: Array, out: Array) -> None:
    for b in range(len(blocks.start) - 1):
        here = slice(blocks.start[b], blocks.start[b + 1])
        width = here.stop - here.start
        out[here, here] = data[blocks.data_start[b] : blocks.data_start[b + 1]].reshape(width, width)
