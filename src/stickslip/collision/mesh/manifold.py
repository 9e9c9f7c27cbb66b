"""Candidate contacts of one pair with a mesh, and the deterministic choice of few of them.

A candidate is a row of ``found`` (CAPACITY, 8): point (3) [m] midway between the surfaces, normal (3) from a to b,
gap [m], id. Points, normals and gaps are exact for each; only their number is cut down.
"""

import numpy as np

from stickslip.jit import inner_kernel
from stickslip.linalg.vec3 import axpy, dot, sub

CAPACITY = 256
"""Candidates of a pair that are held at a time; when they are full, those kept so far are chosen among them."""
MOST = 16
"""Most contacts of a pair."""
SAME_PLACE = 1e-4
"""Relative to the smaller shape: candidates this close to each other and of one direction are one contact."""
SAME_COSINE = 0.999
NORMAL_WEIGHT = 0.5
"""Two opposite normals count as far as this share of the smaller shape's size."""
EQUAL_GAP = 1e-3
"""Share of the reach by which gaps must differ for the deepest to be chosen by depth and not by order."""


@inner_kernel
def push(found, count, point, normal, gap, name, length, limit):
    """Add a candidate and return the new count; ``length`` is the size of the smaller shape [m]."""
    if count == CAPACITY:
        count = choose(found, count, length, limit)
    for k in range(3):
        found[count, k] = point[k]
        found[count, 3 + k] = normal[k]
    found[count, 6] = gap
    found[count, 7] = name
    return count + 1


@inner_kernel
def point_of(found, i):
    """Point of candidate i."""
    return found[i, 0], found[i, 1], found[i, 2]


@inner_kernel
def normal_of(found, i):
    """Normal of candidate i."""
    return found[i, 3], found[i, 4], found[i, 5]


@inner_kernel
def move(found, source, target):
    """Copy a candidate to another row, in place."""
    if source != target:
        for k in range(8):
            found[target, k] = found[source, k]


@inner_kernel
def merge(found, first, count, distance, cosine, deepest):
    """Drop candidates from ``first`` on that repeat another one's place and direction; returns the new count.

    The earlier one stays, or, with ``deepest`` = 1, the deeper one.
    """
    kept = first
    for i in range(first, count):
        twin = -1
        for j in range(first, kept):
            apart = sub(point_of(found, i), point_of(found, j))
            if dot(apart, apart) < distance * distance and dot(normal_of(found, i), normal_of(found, j)) > cosine:
                twin = j
                break
        if twin < 0:
            move(found, i, kept)
            kept += 1
        elif deepest == 1 and found[i, 6] < found[twin, 6]:
            move(found, i, twin)
    return kept


@inner_kernel
def choose(found, count, length, limit):
    """Merge candidates that are one contact, then keep at most MOST that are far apart in place and direction.

    The deepest is first, then always the one furthest from all chosen before (farthest-point sampling, which takes
    the corners of a patch before its inside); among equals the first in order. Of very many candidates none are
    merged first, since those that repeat a chosen one are never the furthest. Returns the new count.
    """
    if count <= 2 * MOST:
        count = merge(found, np.int64(0), count, SAME_PLACE * length, SAME_COSINE, np.int64(0))
    if count <= MOST:
        return count
    lowest = np.inf
    for i in range(count):
        lowest = min(lowest, found[i, 6])
    best = 0
    while found[best, 6] > lowest + EQUAL_GAP * limit:
        best += 1
    far = np.full(count, np.inf)
    weight = 0.5 * NORMAL_WEIGHT * NORMAL_WEIGHT * length * length
    for kept in range(MOST):
        # the chosen one changes places with the first not chosen
        for k in range(8):
            found[kept, k], found[best, k] = found[best, k], found[kept, k]
        far[best] = far[kept]
        point, normal = point_of(found, kept), normal_of(found, kept)
        best = kept + 1
        for i in range(kept + 1, count):
            apart = sub(point_of(found, i), point)
            d2 = dot(apart, apart) + weight * (1.0 - dot(normal_of(found, i), normal))
            far[i] = min(far[i], d2)
            if far[i] > far[best]:
                best = i
        if far[best] < SAME_PLACE * SAME_PLACE * length * length:
            return kept + 1  # the rest repeats what was chosen
    return MOST


@inner_kernel
def write(row, found, count, length, limit, rows_out):
    """Choose among the candidates and write them as the contacts of a pair, from ``row`` on, with ids made unique.

    Returns how many they are.
    """
    count = choose(found, count, length, limit)
    for k in range(count):
        name = int(found[k, 7])
        taken = True
        while taken:
            taken = False
            for other in range(k):
                taken = taken or rows_out.feature[row + other] == name
            if taken:
                name = (name + 1) & 0xFFFF
        rows_out.feature[row + k] = name
        rows_out.gap[row + k] = found[k, 6]
        for x in range(3):
            rows_out.point[row + k, x] = found[k, x]
            rows_out.normal[row + k, x] = found[k, 3 + x]
    return count


@inner_kernel
def close_up(begin, end, row, rows_out):
    """Move the contacts of pairs, of which each has room for MOST from ``row`` on, together; returns the next row."""
    for i in range(begin, end):
        old = rows_out.start[i]
        rows_out.start[i] = row
        for k in range(old, old + rows_out.length[i]):
            for x in range(3):
                rows_out.point[row, x], rows_out.normal[row, x] = rows_out.point[k, x], rows_out.normal[k, x]
            rows_out.gap[row], rows_out.feature[row] = rows_out.gap[k], rows_out.feature[k]
            row += 1
    return row


@inner_kernel
def midway(on_a, gap, normal):
    """Point midway between the surfaces, from the point on a."""
    return axpy(0.5 * gap, normal, on_a)
