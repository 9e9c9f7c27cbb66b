"""Problems given by a Delassus matrix: u = W r + V l + q, and 0 = V^T r + R l + s for bilateral rows.

They become the problem with J = I and A^-1 = (W, V; V^T, R) (linalg/inertia.py), contacts first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.contact.block_laws import Laws, contact_laws, joined_laws
from stickslip.contact.laws import BILATERAL
from stickslip.contact.problem import ContactProblem, from_delassus, given_problem

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LARGEST_JOINT = 6
"""Rows of a bilateral block at most: a joint between two rigid bodies has no more."""


def from_local(W: csr_array, q: Array, mu: Array, joint_start: Ints | None = None) -> ContactProblem:
    """Problem u = W lam + q; W (m, m), q (m,), friction mu (n,) of the first 3n rows.

    ``joint_start`` (k + 1,) are the first rows of bilateral blocks behind the contacts, from 0, and their number.
    """
    if joint_start is None or len(joint_start) < 2:
        return from_delassus(W, q, mu)
    matrix = W.tocsr()
    matrix.sort_indices()
    return given_problem(matrix, np.array(q), mixed_laws(mu, joint_start), row_starts(len(mu), joint_start))


def row_starts(contacts: int, joint_start: Ints) -> Ints:
    """First rows of the blocks: contacts of three rows, then the joints."""
    joints = joint_start if len(joint_start) else np.zeros(1, dtype=np.int32)
    return np.concatenate([3 * np.arange(contacts), 3 * contacts + joints]).astype(np.int32)


def mixed_laws(mu: Array, joint_start: Ints) -> Laws:
    """Laws of contacts with friction mu (n,), followed by bilateral blocks without compliance."""
    contacts = contact_laws(mu)
    joints = max(len(joint_start) - 1, 0)
    rows = int(joint_start[-1]) if joints else 0
    bilateral = Laws(
        law=np.full(joints, BILATERAL, dtype=np.int32),
        friction_set=np.zeros(joints, dtype=np.int32),
        friction=np.zeros((joints, 3)),
        compliance=np.zeros(rows),
        bound=np.zeros(rows),
    )
    return joined_laws(contacts, bilateral)


def joints_of(pattern: csr_array) -> Ints:
    """First rows (k + 1,) of bilateral blocks: neighbours that touch the same things, six at most, are one joint.

    ``pattern`` (p, things) has an entry where a row touches a body, or another row.
    """
    pattern = pattern.tocsr()
    pattern.sort_indices()
    touched = [tuple(part) for part in np.split(pattern.indices, pattern.indptr[1:-1])] if pattern.shape[0] else []
    start = [0]
    for row in range(1, len(touched)):
        if touched[row] != touched[row - 1] or row - start[-1] >= LARGEST_JOINT:
            start.append(row)
    return np.array([*start, len(touched)] if touched else [0], dtype=np.int32)
