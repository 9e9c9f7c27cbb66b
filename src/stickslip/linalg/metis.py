"""Nested dissection by METIS, the extra ``metis``: an order of elimination beside our own."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Ints
from stickslip.errors import MissingDependencyError


def metis_order(indptr: Ints, indices: Ints, last: Ints) -> Ints:
    """Order (n,) of elimination of the nodes of a symmetric pattern, those of ``last`` (k,) at the end, as given."""
    try:
        import pymetis
    except ImportError as error:
        raise MissingDependencyError(
            "ordering 'metis' needs pymetis; the extra 'metis' brings it: pip install 'stickslip[metis]'"
        ) from error
    n = len(indptr) - 1
    number = np.zeros(n, dtype=np.int64)
    number[last] = -1
    nodes = np.flatnonzero(number == 0)
    if not len(nodes):
        return last.copy()
    number[nodes] = np.arange(len(nodes))
    row = np.repeat(np.arange(n), np.diff(indptr))
    inside = (number[row] >= 0) & (number[indices] >= 0) & (row != indices)
    start = np.concatenate([[0], np.cumsum(np.bincount(number[row[inside]], minlength=len(nodes)))])
    found, _ = pymetis.nested_dissection(adjacency=pymetis.CSRAdjacency(start, number[indices[inside]]))
    return np.concatenate([nodes[np.asarray(found)], last]).astype(np.int32)
