"""Corners and round cores of rigid shapes against the triangles of soft surfaces.

A corner counts where it stands above or below the inside of a triangle and may be pushed along that triangle's normal:
no edge out of the corner leads further that way. Whether it is inside the soft body, its nearest place on the surface
says; then only the nearest way out counts.
"""

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.geometry.mesh_distance import VERTEX, closest_on_triangle
from stickslip.jit import inner_kernel, kernel
from stickslip.linalg.vec3 import (
    add,
    axpy,
    cross,
    dot,
    load3,
    load_matrix,
    mat_t_vec,
    mat_vec,
    neg,
    norm,
    normalize,
    store3,
    sub,
)

RADIUS, DISK, AXIS = 3, 4, 5
"""Columns of RigidFeatures.corner; the position is in the first three."""
SIZE = 3
"""Column of a triangle's frame; its normal is in the first three."""
TURNED = 0.3
"""Largest sine by which a normal may lead along an edge or face out of the feature it belongs to."""
DEEP, EDGE_DEEP = 1.0, 0.5
"""Depths up to which a corner and an edge are looked for below a soft surface, in sizes of the triangle and edge."""
LEVEL = 1e-3
"""A cap with a smaller slope against a triangle has no deepest point."""
AROUND, APART = 2.0, 0.7
"""Of two overlaps of a shape that are nearer to each other than so many times the deeper one, and whose normals have a
smaller cosine between them, the deeper one is no way out."""
SAME = 1e-9
"""Relative to a triangle: places nearer to each other are one."""


class Corners(NamedTuple):
    """Corners of rigid shapes, as in RigidFeatures."""

    rotation: Array
    """(ns, 3, 3) of shapes"""
    corner: Array
    cone_start: Ints
    cone: Array


@kernel
def surface_frames(
    x, reach, triangles, triangle_body, edges, edge_body, wanted, frame_out, face_grow_out, edge_grow_out
):  # fmt: skip
    """Outward unit normal and longest side of triangles, (nf, 4), and how far around triangles and edges to look.

    Those of wanted bodies (nb,) alone.
    """
    for t in range(triangles.shape[0]):
        if not wanted[triangle_body[t]]:
            continue
        i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        a, b, c = load3(x, i), load3(x, j), load3(x, k)
        store3(frame_out, t, normalize(cross(sub(b, a), sub(c, a))))
        frame_out[t, SIZE] = max(norm(sub(b, a)), norm(sub(c, b)), norm(sub(a, c)))
        face_grow_out[t] = max(reach[i], reach[j], reach[k]) + DEEP * frame_out[t, SIZE]
    for e in range(edges.shape[0]):
        if not wanted[edge_body[e]]:
            continue
        i, j = edges[e, 0], edges[e, 1]
        edge_grow_out[e] = max(reach[i], reach[j]) + EDGE_DEEP * norm(sub(load3(x, i), load3(x, j)))


@inner_kernel
def in_cone(cone_start, cone, v, own):
    """Whether corner v may be pushed along the outward direction ``own`` in the shape's frame."""
    worst = -1.0
    for k in range(cone_start[v], cone_start[v + 1]):
        worst = max(worst, dot(own, load3(cone, k)))
    return worst <= TURNED


@inner_kernel
def rim_point(centre, radius, out, n):
    """Point of the rim of a disk furthest along n, and whether there is one: not where the disk lies square to n."""
    side = axpy(-dot(n, out), out, n)
    across = norm(side)
    if across <= LEVEL:
        return centre, False
    return axpy(radius / across, side, centre), True


@inner_kernel
def store_face(x, triangles, t, foot, n, gap, k, value_out):
    """Write weights of a point in the plane of triangle t, normal and gap to row k."""
    a, b, c = load3(x, triangles[t, 0]), load3(x, triangles[t, 1]), load3(x, triangles[t, 2])
    u, v, w = sub(b, a), sub(c, a), sub(foot, a)
    uu, uv, vv, wu, wv = dot(u, u), dot(u, v), dot(v, v), dot(w, u), dot(w, v)
    det = uu * vv - uv * uv
    value_out[k, 1], value_out[k, 2] = (vv * wu - uv * wv) / det, (uu * wv - uv * wu) / det
    value_out[k, 0] = 1.0 - value_out[k, 1] - value_out[k, 2]
    value_out[k, 3], value_out[k, 4], value_out[k, 5], value_out[k, 6] = n[0], n[1], n[2], gap


@kernel
def corners_on_faces(pairs, limit, item, point, corners, x, triangles, triangle_body, frame, valid_out, value_out):
    """Whether pairs (k, 2) of an item, a corner, and a triangle touch, and weights, normal, gap (k, 7).

    Pairs of one item and one soft body follow each other. limit (k,): gap up to which a pair matters, negative where it
    may not touch. item (n, 2): shape and corner; point (n, 3): corners in the world; corners: tables of corners; frame:
    of :func:`surface_frames`.
    """
    rotation, corner, cone_start, cone = corners
    k = 0
    while k < pairs.shape[0]:
        first, i, body = k, pairs[k, 0], triangle_body[pairs[k, 1]]
        s, v = item[i, 0], item[i, 1]
        turn = load_matrix(rotation, s)
        radius, disk = corner[v, RADIUS], corner[v, DISK]
        out = mat_vec(turn, (corner[v, AXIS], corner[v, AXIS + 1], corner[v, AXIS + 2]))
        nearest, way, between = np.inf, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        depth, below = -np.inf, -1
        last = (np.inf, np.inf, np.inf)
        while k < pairs.shape[0] and pairs[k, 0] == i and triangle_body[pairs[k, 1]] == body:
            t = pairs[k, 1]
            up = load3(frame, t)
            p, there = load3(point, i), True
            if disk > 0.0:
                p, there = rim_point(p, disk, out, neg(up))
            on, place = closest_on_triangle(
                p, load3(x, triangles[t, 0]), load3(x, triangles[t, 1]), load3(x, triangles[t, 2])
            )
            apart = sub(p, on)
            d2 = dot(apart, apart)
            if d2 < nearest * (1.0 - SAME):
                nearest, way, between = d2, up, apart
            elif d2 <= nearest * (1.0 + SAME):
                way = add(way, up)  # an edge or corner of several triangles
            height = dot(up, apart)
            small = SAME * frame[t, SIZE]
            fits = there and limit[k] >= 0.0 and place < VERTEX and norm(axpy(-height, up, apart)) <= small
            fits = fits and in_cone(cone_start, cone, v, mat_t_vec(turn, neg(up)))
            store_face(x, triangles, t, axpy(-height, up, p), neg(up), height - radius, k, value_out)
            # above an edge of two triangles in a plane both are right, and one is enough
            valid_out[k] = fits and height >= 0.0 and height - radius <= limit[k] and norm(sub(on, last)) > small
            if valid_out[k]:
                last = on
            if fits and depth < height < 0.0 and -height <= DEEP * frame[t, SIZE] + radius:
                depth, below = height, k
            k += 1
        if dot(way, between) < 0.0:  # inside
            for other in range(first, k):
                valid_out[other] = other == below


@kernel
def ways_out(shape, body, kind, point, normal, gap, kept_out):
    """Which contacts of shapes (n,) and soft bodies (n,) to keep: not corners and edges that have a better way out."""
    for i in range(shape.shape[0]):
        kept_out[i] = True
        if kind[i] == 0 or gap[i] >= 0.0:
            continue
        for j in range(shape.shape[0]):
            if shape[j] == shape[i] and body[j] == body[i] and gap[j] > gap[i]:
                near = norm(sub(load3(point, i), load3(point, j))) <= -AROUND * gap[i]
                if near and dot(load3(normal, i), load3(normal, j)) < APART:
                    kept_out[i] = False
                    break
