"""Plane strain: bodies of which nothing depends on one direction, the normal, and no node moves along it.

Shape gradients have no part along the normal and F takes the normal for its last column (model/soft_tables.py,
element_assembly.py), which is all there is to strain and stress. Here nodes are kept in the plane: with P = I - n n^T
forces become P f, stiffness P K P and rows J P, and mass alone is left along n, so that velocities there stay exactly
zero. [han2023] sec. VII-A imposes zero displacements out of the plane to the same end.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.linalg.block_rows import BlockRows
from stickslip.model.model import Model
from stickslip.model.soft_tables import ElementTables, SoftTables


def project_forces(soft: SoftTables, force: Array) -> None:
    """Take from forces (nn, 3) what points out of the plane of their node, in place."""
    nodes = soft.plane_nodes
    if len(nodes):
        force[nodes] = _in_plane(force[nodes], soft.node_normal[nodes])


def project_stiffness(soft: SoftTables, matrix: Array) -> None:
    """P K P of the blocks (nnzb, 3, 3) of a matrix over free nodes, in place."""
    if not len(soft.plane_nodes):
        return
    indptr, indices = soft.pattern.indptr, soft.pattern.indices
    normal = soft.node_normal[soft.free]
    row, column = np.repeat(normal, np.diff(indptr), axis=0), normal[indices]  # of one body, or both zero
    matrix -= row[:, :, None] * np.einsum("bi,bij->bj", row, matrix)[:, None, :]
    matrix -= np.einsum("bij,bj->bi", matrix, column)[:, :, None] * column[:, None, :]


def project_rows(model: Model, J: BlockRows) -> BlockRows:
    """J P of blocks of three rows each, as contacts and welds have."""
    soft = model.soft
    if not len(soft.plane_nodes) or not len(J.entry_column):
        return J
    node = J.entry_column - len(model.dynamic)
    entry = np.flatnonzero(node >= 0)
    normal = soft.node_normal[soft.free[node[entry]]]
    place = J.data_start[entry][:, None] + np.arange(9)
    data = J.data.copy()
    data[place] = _in_plane(data[place].reshape(-1, 3, 3), normal[:, None]).reshape(-1, 9)
    return J._replace(data=data)


def project_gradients(elements: ElementTables, row_start: Ints, gradient: Array) -> None:
    """J P of rows of elements, with gradients (m, 4, 3) by their nodes, in place."""
    if elements.normal.any():
        normal = np.repeat(elements.normal, np.diff(row_start), axis=0)
        gradient[:] = _in_plane(gradient, normal[:, None])


def _in_plane(vectors: Array, normal: Array) -> Array:
    """Vectors (..., 3) without their part along unit or zero normals (..., 3)."""
    return vectors - np.sum(vectors * normal, axis=-1, keepdims=True) * normal
