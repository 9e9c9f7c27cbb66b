"""Which directions a vertex, an edge or a face of a mesh can be pushed in: the test for a true closest feature.

At a closest pair of points no direction along either surface leads nearer to the other body. For a vertex it is enough
to look along its edges, for an edge along its two faces. All functions give the largest sine by which a direction
fails, at most 0 where it does not.
"""

import numpy as np

from stickslip.geometry.mesh_distance import EDGE, FACE, NEIGHBOUR, VERTEX
from stickslip.jit import inner_kernel
from stickslip.linalg.vec3 import cross, dot, load3, mat_t_vec, mat_vec, neg, normalize, sub

TURNED = 0.3
"""Largest failing sine of a direction between two bodies that touch in corners or edges."""


@inner_kernel
def corner_of(triangles, t, v):
    """Which corner of triangle t vertex v is."""
    if triangles[t, 0] == v:
        return 0
    return 1 if triangles[t, 1] == v else 2


@inner_kernel
def along_edges(vertices, around, triangles, v, n):
    """Largest n . e over the unit vectors e along the edges out of vertex v."""
    worst = -1.0
    centre = load3(vertices, v)
    t = around[v]
    while True:
        k = corner_of(triangles, t, v)
        # the edge out of v in this triangle; the other one is that of the next triangle around v
        e = normalize(sub(load3(vertices, triangles[t, (k + 1) % 3]), centre))
        worst = max(worst, dot(n, e))
        t = triangles[t, NEIGHBOUR + (k + 2) % 3]
        if t == around[v]:
            return worst


@inner_kernel
def along_faces(vertices, normals, tail, head, left, right, n):
    """Largest n . e over the unit vectors e across an edge into the triangles on its left and right."""
    along = normalize(sub(load3(vertices, head), load3(vertices, tail)))
    return max(dot(n, cross(load3(normals, left), along)), dot(n, cross(along, load3(normals, right))))


@inner_kernel
def along_feature(meshes, t, feature, n):
    """Largest n . e over the unit vectors e along the surface out of a feature of triangle t."""
    if feature == FACE:
        return 0.0
    triangles = meshes.triangles
    if feature >= VERTEX:
        return along_edges(meshes.vertices, meshes.around, triangles, triangles[t, feature - VERTEX], n)
    k = feature - EDGE
    tail, head, beyond = triangles[t, k], triangles[t, (k + 1) % 3], triangles[t, NEIGHBOUR + k]
    along = normalize(sub(load3(meshes.vertices, head), load3(meshes.vertices, tail)))
    across = along_faces(meshes.vertices, meshes.normals, tail, head, t, beyond, n)
    return max(across, abs(dot(n, along)))


@inner_kernel
def next_face(triangles, start, feature, f):
    """The face after f around a feature of triangle ``start``."""
    if feature == FACE:
        return start
    if feature < VERTEX:
        return triangles[start, NEIGHBOUR + feature - EDGE] if f == start else start
    k = corner_of(triangles, f, triangles[start, feature - VERTEX])
    return triangles[f, NEIGHBOUR + (k + 2) % 3]


@inner_kernel
def touching_normal(meshes, t, feature, v, turn):
    """Best direction between a feature of triangle t and a vertex v of another mesh that touches it, and how it fails.

    The candidates are the normals of the faces around both: a corner that stands on the rim of a face is pushed along
    that face's normal, whatever side of the rim rounding puts it on. ``turn`` takes directions of the vertex's mesh
    into the frame of the feature's; the result is in that frame and points towards the vertex's body.
    """
    best, normal = np.inf, (0.0, 0.0, 1.0)
    triangles = meshes.triangles
    start, kind = t, feature
    for side in range(2):
        if side == 1:
            start = meshes.around[v]
            kind = VERTEX + corner_of(triangles, start, v)
        f = start
        while True:
            n = load3(meshes.normals, f)
            if side == 1:
                n = neg(mat_vec(turn, n))
            own = along_edges(meshes.vertices, meshes.around, triangles, v, neg(mat_t_vec(turn, n)))
            fails = max(own, along_feature(meshes, t, feature, n))
            if fails < best - 1e-9:
                best, normal = fails, n
            f = next_face(triangles, start, kind, f)
            if f == start:
                break
    return normal, best
