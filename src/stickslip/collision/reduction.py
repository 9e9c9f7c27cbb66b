"""Fewer contacts of pairs that touch at many points: tables on sixteen legs, meshes on meshes.

Of each pair of bodies some are kept, greedily: the deepest one first, so that the deepest overlap of a step is always
among them, then again and again the one that is farthest from those that are kept, by its place and its normal. Points
that are farther open count as nearer, since they carry less. What is left out is found again in the next step.
"""

from __future__ import annotations

import numpy as np

from stickslip.collision.contacts import Contacts
from stickslip.jit import kernel
from stickslip.linalg.vec3 import dot, load3, norm, sub

ALIKE = 0.5
"""Share of the size of a pair's patch that normals at right angles count for."""


def reduced(contacts: Contacts, most: int) -> Contacts:
    """The contacts without those of pairs that have more than ``most``, as far as they are left out."""
    if len(contacts) <= most:
        return contacts
    a, b = contacts.body_a.astype(np.int64), contacts.body_b.astype(np.int64)
    pair = a * (1 + int(b.max()) - min(0, int(b.min()))) + b
    order = np.argsort(pair, kind="stable")
    start = np.flatnonzero(np.diff(pair[order], prepend=pair[order[0]] - 1))
    if np.diff(np.append(start, len(order))).max() <= most:
        return contacts
    kept = np.ones(len(contacts), dtype=np.bool_)
    bounds = np.append(start, len(order)).astype(np.int64)
    _keep(bounds, order, contacts.point, contacts.normal, contacts.gap, most, np.empty(len(order)), kept)
    return contacts.take(np.flatnonzero(kept))


@kernel
def _keep(start, order, point, normal, gap, most, far, kept_out):
    """Choose of every group; far (nc,) is room for the distance of each from those that are kept."""
    for g in range(start.shape[0] - 1):
        first, end = start[g], start[g + 1]
        if end - first <= most:
            continue
        deepest = order[first]
        for k in range(first, end):
            kept_out[order[k]] = False
            if gap[order[k]] < gap[deepest]:
                deepest = order[k]
        size = 0.0
        for k in range(first, end):
            size = max(size, norm(sub(load3(point, order[k]), load3(point, deepest))))
            far[k] = np.inf
        last = deepest
        for _ in range(most):
            kept_out[last] = True
            best, score = last, -np.inf
            for k in range(first, end):
                c = order[k]
                if kept_out[c]:
                    continue
                apart = norm(sub(load3(point, c), load3(point, last)))
                turned = 1.0 - dot(load3(normal, c), load3(normal, last))
                far[k] = min(far[k], apart + ALIKE * size * turned)
                value = far[k] - (gap[c] - gap[deepest])
                if value > score:
                    best, score = c, value
            if best == last:
                break
            last = best
