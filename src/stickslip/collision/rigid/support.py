"""Convex cores: one world-oriented description of sphere, capsule, box, cylinder and hull for the convex narrow phase.

A shape is its core plus a radius: a sphere is a point, a capsule a segment, the others are their own core with radius
zero. Everything is held relative to the first shape's position, so that rounding does not grow with the distance of a
pair from the world's origin. The cylinder keeps its exact support function; its 16 rim vertices per cap serve only as
polygons for clipping, its one edge only as the direction of its axis.

Support functions: G. van den Bergen, Collision Detection in Interactive 3D Environments (2003), sec. 3.2.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, SPHERE
from stickslip.jit import inner_kernel
from stickslip.linalg.vec3 import add, axpy, column, load3, mat_vec, norm, scale, store3, sub

KIND, VERTICES, FACES, EDGES = 0, 1, 2, 3
START, LOOP, TAIL, HEAD = 0, 1, 2, 3
RADIUS, HALF, MARGIN, BOUND = 6, 7, 8, 9
RIM = 16

ANGLES = 2.0 * np.pi * np.arange(RIM) / RIM
RIM_CIRCLE = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)
BOX_CORNERS = np.array([[1.0 if i >> k & 1 else -1.0 for k in range(3)] for i in range(8)])
BOX_LOOP = np.array([1, 3, 7, 5, 0, 4, 6, 2, 2, 6, 7, 3, 0, 1, 5, 4, 4, 5, 7, 6, 0, 2, 3, 1], dtype=np.int32)
BOX_EDGES = np.array(
    [[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7]], dtype=np.int32
)


class Core(NamedTuple):
    """Work arrays for one shape of a pair; lengths in m, relative to the first shape's position.

    vertices (V, 3); planes (F, 4) outward unit normal and offset; table (T, 4), four lists of numbers side by side:
    where each face's polygon starts, the polygons' vertices counter-clockwise, tails of edges, heads of edges;
    counts (4) kind, vertices, faces, edges; frame (10) centre, axis, cylinder radius, cylinder half length, radius
    to add, radius of the core's bounding sphere. Few arrays, because each one costs compile time in each function.
    """

    vertices: Array
    planes: Array
    table: LongInts
    counts: LongInts
    frame: Array


@inner_kernel
def new_core(hulls):
    """Work arrays large enough for any primitive and for each hull of the tables.

    Integers are 64 bit here, so that every function on cores compiles for one type of index only.
    """
    vertices, faces, rows = 2 * RIM, 6, 2 * RIM
    for h in range(hulls.vertex_start.shape[0] - 1):
        first, last = hulls.face_start[h], hulls.face_start[h + 1]
        vertices = max(vertices, hulls.vertex_start[h + 1] - hulls.vertex_start[h])
        faces = max(faces, last - first)
        rows = max(rows, hulls.loop_start[last] - hulls.loop_start[first])  # twice the edges, more than the faces
    return Core(
        np.zeros((vertices, 3)),
        np.zeros((faces, 4)),
        np.zeros((rows, 4), np.int64),
        np.zeros(4, np.int64),
        np.zeros(10),
    )


@inner_kernel
def centre(core):
    """Origin of the shape."""
    return core.frame[0], core.frame[1], core.frame[2]


@inner_kernel
def axis_of(core):
    """Local z axis of the shape."""
    return core.frame[3], core.frame[4], core.frame[5]


@inner_kernel
def edge_vector(core, e):
    """Vector along edge e."""
    return sub(load3(core.vertices, core.table[e, HEAD]), load3(core.vertices, core.table[e, TAIL]))


@inner_kernel
def support(core, d):
    """Point of the core furthest along d; the first one where several are."""
    frame, vertices = core.frame, core.vertices
    if core.counts[KIND] == CYLINDER:
        u0, u1, u2 = frame[3], frame[4], frame[5]
        along = u0 * d[0] + u1 * d[1] + u2 * d[2]
        r0, r1, r2 = d[0] - along * u0, d[1] - along * u1, d[2] - along * u2
        # twice, because for d near the axis rounding leaves a part along it, which the radius would magnify
        rest = u0 * r0 + u1 * r1 + u2 * r2
        r0, r1, r2 = r0 - rest * u0, r1 - rest * u1, r2 - rest * u2
        across = sqrt(r0 * r0 + r1 * r1 + r2 * r2)
        s = frame[RADIUS] / across if across > 1e-14 * abs(along) else 0.0
        t = frame[HALF] if along >= 0.0 else -frame[HALF]
        return frame[0] + s * r0 + t * u0, frame[1] + s * r1 + t * u1, frame[2] + s * r2 + t * u2
    best, height = 0, -np.inf
    for i in range(core.counts[VERTICES]):
        h = vertices[i, 0] * d[0] + vertices[i, 1] * d[1] + vertices[i, 2] * d[2]
        if h > height:
            best, height = i, h
    return vertices[best, 0], vertices[best, 1], vertices[best, 2]


@inner_kernel
def separation(a, b, n):
    """Signed gap of two cores along the unit vector n from a to b: min n.x over b minus max n.x over a."""
    p = support(a, n)
    q = support(b, (-n[0], -n[1], -n[2]))
    return (q[0] - p[0]) * n[0] + (q[1] - p[1]) * n[1] + (q[2] - p[2]) * n[2]


@inner_kernel
def store_plane(core, f, normal, point):
    """Write face f: outward unit normal and a point on it, in place."""
    for k in range(3):
        core.planes[f, k] = normal[k]
    core.planes[f, 3] = normal[0] * point[0] + normal[1] * point[1] + normal[2] * point[2]


@inner_kernel
def load_core(core, kind, position, rotation, size, hull, hulls):
    """Fill the core of a shape at a position (3) and rotation (9-tuple), in place."""
    axis = (rotation[2], rotation[5], rotation[8])
    for k in range(3):
        core.frame[k] = position[k]
        core.frame[3 + k] = axis[k]
    core.frame[RADIUS] = size[0] if kind == CYLINDER else 0.0
    core.frame[HALF] = size[1] if kind == CYLINDER else 0.0
    core.frame[MARGIN] = size[0] if kind <= CAPSULE else 0.0
    core.counts[KIND] = kind
    core.table[0, START] = 0
    if kind == SPHERE:
        for k in range(3):
            core.vertices[0, k] = position[k]
        vertices, faces, edges = 1, 0, 0
    elif kind == CAPSULE:
        for k in range(3):
            core.vertices[0, k], core.vertices[1, k] = position[k] - size[1] * axis[k], position[k] + size[1] * axis[k]
        core.table[0, TAIL], core.table[0, HEAD] = 0, 1
        vertices, faces, edges = 2, 0, 1
    elif kind == BOX:
        vertices, faces, edges = load_box(core, position, rotation, size)
    elif kind == CYLINDER:
        vertices, faces, edges = load_cylinder(core, position, rotation, size)
    else:
        vertices, faces, edges = load_hull(core, position, rotation, hull, hulls)
    core.counts[VERTICES] = vertices
    core.counts[FACES] = faces
    core.counts[EDGES] = edges
    radius = 0.0
    for i in range(vertices):
        radius = max(radius, norm(sub(load3(core.vertices, i), position)))
    core.frame[BOUND] = radius


@inner_kernel
def load_box(core, position, rotation, size):
    """Eight corners (bit k of the index: positive side of axis k), faces +x, -x, +y, -y, +z, -z, in place."""
    for i in range(8):
        corner = (BOX_CORNERS[i, 0] * size[0], BOX_CORNERS[i, 1] * size[1], BOX_CORNERS[i, 2] * size[2])
        store3(core.vertices, i, add(mat_vec(rotation, corner), position))
    for f in range(6):
        side = 1.0 if f % 2 == 0 else -1.0
        outward = scale(side, column(rotation, f // 2))
        store_plane(core, f, outward, axpy(size[f // 2], outward, position))
        core.table[f + 1, START] = 4 * f + 4
    for i in range(24):
        core.table[i, LOOP] = BOX_LOOP[i]
    for e in range(12):
        core.table[e, TAIL], core.table[e, HEAD] = BOX_EDGES[e, 0], BOX_EDGES[e, 1]
    return 8, 6, 12


@inner_kernel
def load_cylinder(core, position, rotation, size):
    """Caps +z and -z as polygons inscribed in the rims, fixed to the body so that ids persist, in place."""
    for i in range(RIM):
        x, y = size[0] * RIM_CIRCLE[i, 0], size[0] * RIM_CIRCLE[i, 1]
        store3(core.vertices, i, add(mat_vec(rotation, (x, y, size[1])), position))
        store3(core.vertices, RIM + i, add(mat_vec(rotation, (x, y, -size[1])), position))
        core.table[i, LOOP] = i
        core.table[RIM + i, LOOP] = RIM + (RIM - i) % RIM
    for f in range(2):
        outward = scale(1.0 if f == 0 else -1.0, (rotation[2], rotation[5], rotation[8]))
        store_plane(core, f, outward, axpy(size[1], outward, position))
        core.table[f + 1, START] = RIM * (f + 1)
    core.table[0, TAIL], core.table[0, HEAD] = RIM, 0
    return 2 * RIM, 2, 1


@inner_kernel
def load_hull(core, position, rotation, hull, hulls):
    """Vertices, faces and edges of one hull of the tables, in place."""
    first = hulls.vertex_start[hull]
    vertices = hulls.vertex_start[hull + 1] - first
    for i in range(vertices):
        store3(core.vertices, i, add(mat_vec(rotation, load3(hulls.vertices, first + i)), position))
    first = hulls.face_start[hull]
    faces = hulls.face_start[hull + 1] - first
    corner = hulls.loop_start[first]
    for f in range(faces):
        outward = mat_vec(rotation, load3(hulls.face_plane, first + f))
        store_plane(core, f, outward, axpy(hulls.face_plane[first + f, 3], outward, position))
        core.table[f + 1, START] = hulls.loop_start[first + f + 1] - corner
    for i in range(core.table[faces, START]):
        core.table[i, LOOP] = hulls.loop[corner + i]
    first = hulls.edge_start[hull]
    edges = hulls.edge_start[hull + 1] - first
    for e in range(edges):
        core.table[e, TAIL], core.table[e, HEAD] = hulls.edges[first + e, 0], hulls.edges[first + e, 1]
    return vertices, faces, edges
