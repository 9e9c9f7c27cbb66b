"""Defects of a tetrahedral mesh, found when it is made and named by index; faces and pieces of a mesh."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.checks import MOST, array, numbers
from stickslip.errors import InputError

FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
"""Corners of the four faces of an element, counter-clockwise from outside; face k misses corner 3, 2, 1, 0."""
FLAT = 1e-9
"""Smallest volume of an element relative to the cube of its longest edge (a regular one has 0.118)."""
SHOWN = 10
"""Indices that a message lists at most."""


class Faces(NamedTuple):
    """Faces of a mesh: face 4 e + k is face k of element e."""

    corners: Ints
    """(4 k, 3) nodes, counter-clockwise from outside of the element."""
    order: LongInts
    """(4 k,) faces, those with the same nodes one after the other."""
    start: LongInts
    """(f,) places in ``order`` where faces with the same nodes begin."""
    sharing: LongInts
    """(f,) how many elements have this face: one on the surface, two inside."""


def mesh_arrays(nodes: ArrayLike, tets: ArrayLike, where: str) -> tuple[Array, Ints]:
    """Nodes (n, 3) [m] and elements (k, 4) as arrays of their types, with finite numbers and valid indices."""
    points = numbers(where, "nodes", nodes, (None, 3))
    given = array(where, "tets", tets, (None, 4), largest=MOST)
    corners = given.astype(np.int64)
    if len(corners) == 0:
        raise InputError(f"{where}: it has no elements; at least one is needed")
    if not np.array_equal(given, corners):
        raise InputError(f"{where}: tets must be whole numbers, the indices of nodes")
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if len(bad):
        raise InputError(
            f"{where}: {listed('node', bad)} not finite, the first is {points[bad[0]]}; every coordinate must be "
            "a finite number"
        )
    array(where, "nodes", points, (None, 3))  # none is too large
    bad = np.flatnonzero(((corners < 0) | (corners >= len(points))).any(axis=1))
    if len(bad):
        raise InputError(
            f"{where}: {listed('element', bad)} naming nodes that do not exist, the first is "
            f"{corners[bad[0]].tolist()}; nodes are numbered 0 to {len(points) - 1}"
        )
    return points, np.ascontiguousarray(corners, dtype=np.int32)


def check_elements(nodes: Array, tets: Ints, volumes: Array, where: str) -> None:
    """Refuse elements with a repeated node, duplicates, nodes of no element and inverted or flat elements."""
    ordered = np.sort(tets, axis=1)
    bad = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if len(bad):
        raise InputError(
            f"{where}: {listed('element', bad)} naming a node twice, the first is {tets[bad[0]].tolist()}; "
            "an element has four different nodes"
        )
    lower, upper = (
        pair_keys(ordered[:, 0], ordered[:, 1], len(nodes)),
        pair_keys(ordered[:, 2], ordered[:, 3], len(nodes)),
    )
    order = np.lexsort((upper, lower))
    same = (lower[order][1:] == lower[order][:-1]) & (upper[order][1:] == upper[order][:-1])
    if same.any():
        # the sort is stable: of equal elements the one with the lowest index comes first and is the original
        bad = np.sort(order[1:][same])
        raise InputError(
            f"{where}: {listed('element', bad)} duplicates, with the same four nodes as another one, the first has "
            f"{tets[bad[0]].tolist()}; remove them"
        )
    bad = np.flatnonzero(np.bincount(tets.ravel(), minlength=len(nodes)) == 0)
    if len(bad):
        raise InputError(
            f"{where}: {listed('node', bad)} dangling, used by no element, the first at {text(nodes[bad[0]])}; remove "
            "them and number the others anew (without_unused does both)"
        )
    longest = np.sqrt(squared_edges(nodes, tets).max(axis=1))
    bad = np.flatnonzero(~(volumes > FLAT * longest**3))
    if len(bad) == 0:
        return
    if (volumes < -FLAT * longest**3).all():
        raise InputError(
            f"{where}: all {len(tets)} elements are inverted; the corners 1, 2, 3 of an element must be "
            "counter-clockwise seen from outside, across from corner 0 (exchange two columns of tets)"
        )
    e = int(bad[0])
    raise InputError(
        f"{where}: {listed('element', bad)} inverted or flat, the first has nodes {tets[e].tolist()} and a volume of "
        f"{volumes[e]:.3g} m^3; each volume must be positive, above {FLAT:g} times the longest edge cubed"
    )


def matched_faces(tets: Ints, node_count: int) -> Faces:
    """Faces of the elements, those with the same nodes side by side."""
    corners = np.ascontiguousarray(tets[:, FACES].reshape(-1, 3))
    low, high = corners.min(axis=1), corners.max(axis=1)
    middle = corners.sum(axis=1, dtype=np.int64) - low - high
    if node_count < 2_000_000:  # the cube of which still is a 64-bit integer
        key = pair_keys(low, middle, node_count) * node_count + high
    else:
        _, rank = np.unique(pair_keys(low, middle, node_count), return_inverse=True)
        key = rank.reshape(-1) * np.int64(node_count) + high
    order = np.argsort(key)
    ordered = key[order]
    start = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return Faces(corners, order, start, np.diff(np.append(start, len(order))))


def check_faces(faces: Faces, nodes: Array, tets: Ints, where: str) -> None:
    """Refuse faces of three or more elements, and elements on the same side of a face they share."""
    many = np.flatnonzero(faces.sharing > 2)
    if len(many):
        groups = [faces.order[s : s + c] // 4 for s, c in zip(faces.start[many], faces.sharing[many], strict=True)]
        owners = np.unique(np.concatenate(groups))
        raise InputError(
            f"{where}: {listed('element', owners)} meeting at faces of three or more elements, the first such face has "
            f"nodes {np.sort(faces.corners[faces.order[faces.start[many[0]]]]).tolist()}; two elements may share a face"
        )
    shared = faces.start[faces.sharing == 2]
    one, two = faces.order[shared], faces.order[shared + 1]
    bad = shared[odd(faces.corners[one]) == odd(faces.corners[two])]
    if len(bad):
        owners = np.unique(np.concatenate([faces.order[bad], faces.order[bad + 1]]) // 4)
        raise InputError(
            f"{where}: {listed('element', owners)} on the same side of a face they share, so that they overlap; "
            "two elements at a face must lie on its two sides"
        )


def check_joins(face_piece: Ints, node_piece: Ints, where: str) -> None:
    """Refuse parts that hang on others by nodes or edges alone. Pieces (k,) joined by faces, and by nodes."""
    if face_piece.max() == node_piece.max():
        return
    size = np.bincount(face_piece)
    whole = np.empty(len(size), dtype=np.int64)
    whole[face_piece] = node_piece
    # of the parts that hang together the largest (of equals the first) is the body, the others dangle
    ranked = np.lexsort((np.arange(len(size)), -size, whole))
    body = np.concatenate([[True], whole[ranked][1:] != whole[ranked][:-1]])
    hanging = np.ones(len(size), dtype=bool)
    hanging[ranked[body]] = False
    bad = np.flatnonzero(hanging[face_piece])
    raise InputError(
        f"{where}: {listed('element', bad)} dangling, joined to the rest by a node or an edge but no face; "
        "join them by faces, or give them nodes of their own"
    )


def pieces(tets: Ints, faces: Faces, node_count: int, by: str) -> Ints:
    """Number (k,) of the connected piece of each element, joined by shared "faces" or "nodes"."""
    from scipy.sparse import coo_array  # costs 0.1 s to import
    from scipy.sparse.csgraph import connected_components

    if by == "nodes":
        tail, head, size = tets[:, [0, 0, 0]].ravel(), tets[:, 1:].ravel(), node_count
    else:
        shared = faces.start[faces.sharing == 2]
        tail, head, size = faces.order[shared] // 4, faces.order[shared + 1] // 4, len(tets)
    graph = coo_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(size, size))
    _, label = connected_components(graph, directed=False)
    label = label[tets[:, 0]] if by == "nodes" else label
    _, first, number = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)  # pieces in the order of their first elements
    return rank[number.reshape(-1)]


def squared_edges(nodes: Array, tets: Ints) -> Array:
    """Squared lengths (k, 6) [m^2] of the edges 01, 02, 03, 12, 13, 23 of each element."""
    out = np.empty((len(tets), 6))
    for j, (a, b) in enumerate(((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))):
        d = nodes[tets[:, b]] - nodes[tets[:, a]]
        out[:, j] = np.einsum("ki,ki->k", d, d)
    return out


def pair_keys(low: Ints, high: Ints, node_count: int) -> LongInts:
    """One integer for each pair of nodes, ordered as the pairs are."""
    return low.astype(np.int64) * node_count + high


def odd(corners: Ints) -> Bools:
    """Whether the order (m, 3) of three nodes is an odd permutation of the ascending one."""
    a, b, c = corners.T
    return (a > b) ^ (b > c) ^ (a > c)


def listed(what: str, indices: LongInts) -> str:
    """Such as "elements 3, 5, 7 and 12 more are"."""
    shown = ", ".join(str(i) for i in indices[:SHOWN].tolist())
    if len(indices) == 1:
        return f"{what} {shown} is"
    more = f" and {len(indices) - SHOWN} more" if len(indices) > SHOWN else ""
    return f"{what}s {shown}{more} are"


def text(point: Array) -> str:
    """A point as (x, y, z)."""
    return "(" + ", ".join(f"{x:.6g}" for x in point) + ")"
