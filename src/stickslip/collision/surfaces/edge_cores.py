"""Edges and round cores of rigid shapes against the edges of soft surfaces.

Two edges touch in the insides of both, along their common normal. Its sign is that of the outward normals around them,
so that edges which have passed each other are known to overlap. Ends of edges are corners or nodes.

All kernels take pairs (k, 2) of an item, a corner or edge, and a soft edge; limit (k,): gap up to which a pair matters,
negative where it may not touch; item (n, 2): shape and corner or edge; x (nn, 3) nodes; edges (ne, 4): two nodes and
the two triangles on both sides of a soft edge; triangles (nf, 3) and their frames (nf, 4). They write whether a pair
touches, and weights, normal, gap (k, 7).
"""

from math import sqrt

from stickslip.collision.mesh.mesh_round import edge_span, point_on_round
from stickslip.collision.surfaces.face_cores import EDGE_DEEP, RADIUS, TURNED, in_cone
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
    scale,
    sub,
)

HEAD, LEFT, RIGHT, THICK, CAPPED = 3, 6, 9, 12, 13
"""Columns of RigidFeatures.edge; the tail is in the first three."""
INNER = 1e-6
"""Share of an edge at either end that counts as its end."""
PARALLEL = 0.05
"""Edges with a smaller sine between them have no common normal to rely on; their ends have."""
SQUARE = 1e-4
"""Largest cosine between an edge and a direction that is square to it."""
LOCAL = 1e-9
"""A core nearest to an edge is strictly so: by more than this sine it leaves the insides of both triangles."""


@inner_kernel
def leads_along(x, edges, triangles, e, along, n):
    """Largest n . d over the unit vectors d out of soft edge e, square to it, into its two triangles."""
    worst = -1.0
    tail, head = edges[e, 0], edges[e, 1]
    for side in range(2):
        t = edges[e, 2 + side]
        d = sub(load3(x, triangles[t, 0] + triangles[t, 1] + triangles[t, 2] - tail - head), load3(x, tail))
        worst = max(worst, dot(n, normalize(axpy(-dot(d, along), along, d))))
    return worst


@inner_kernel
def store_edge(t, n, gap, k, value_out):
    """Write weights of the place t on an edge, normal and gap to row k."""
    value_out[k, 0], value_out[k, 1], value_out[k, 2] = 1.0 - t, t, 0.0
    value_out[k, 3], value_out[k, 4], value_out[k, 5], value_out[k, 6] = n[0], n[1], n[2], gap


@kernel
def corners_on_edges(pairs, limit, item, point, corners, x, edges, triangles, valid_out, value_out):
    """Corners, at point (n, 3) in the world, that are nearest to the inside of a soft edge, from outside.

    corners: tables of corners (collision/surfaces/face_cores.py).
    """
    rotation, corner, cone_start, cone = corners
    for k in range(pairs.shape[0]):
        i, e = pairs[k, 0], pairs[k, 1]
        a = load3(x, edges[e, 0])
        d = sub(load3(x, edges[e, 1]), a)
        t = dot(sub(load3(point, i), a), d) / dot(d, d)
        apart = sub(load3(point, i), axpy(t, d, a))
        distance = norm(apart)
        gap = distance - corner[item[i, 1], RADIUS]
        valid_out[k] = False
        if limit[k] >= 0.0 and INNER < t < 1.0 - INNER and distance > 0.0 and gap <= limit[k]:
            n = scale(-1.0 / distance, apart)
            store_edge(t, n, gap, k, value_out)
            valid_out[k] = leads_along(x, edges, triangles, e, normalize(d), neg(n)) < -LOCAL and in_cone(
                cone_start, cone, item[i, 1], mat_t_vec(load_matrix(rotation, item[i, 0]), n)
            )


@kernel
def edges_on_edges(pairs, limit, item, position, rotation, edge, x, edges, triangles, frame, valid_out, value_out):
    """Sharp edges that touch a soft edge in the insides of both."""
    for k in range(pairs.shape[0]):
        e, s, j = pairs[k, 1], item[pairs[k, 0], 0], item[pairs[k, 0], 1]
        valid_out[k] = False
        turn = load_matrix(rotation, s)
        p = add(mat_vec(turn, load3(edge, j)), load3(position, s))
        d = mat_vec(turn, (edge[j, HEAD] - edge[j, 0], edge[j, HEAD + 1] - edge[j, 1], edge[j, HEAD + 2] - edge[j, 2]))
        a = load3(x, edges[e, 0])
        f = sub(load3(x, edges[e, 1]), a)
        c = cross(d, f)
        sine2, length2, soft2 = dot(c, c), dot(d, d), dot(f, f)
        if limit[k] < 0.0 or sine2 < PARALLEL * PARALLEL * length2 * soft2:
            continue
        # closest points of the two lines
        w = sub(p, a)
        df, dw, fw = dot(d, f), dot(d, w), dot(f, w)
        r, t = (df * fw - soft2 * dw) / sine2, (length2 * fw - df * dw) / sine2
        if min(r, t) <= INNER or max(r, t) >= 1.0 - INNER:
            continue
        left = mat_vec(turn, (edge[j, LEFT], edge[j, LEFT + 1], edge[j, LEFT + 2]))
        right = mat_vec(turn, (edge[j, RIGHT], edge[j, RIGHT + 1], edge[j, RIGHT + 2]))
        n = scale(1.0 / sqrt(sine2), c)
        if dot(n, add(left, right)) < 0.0:
            n = neg(n)
        gap = dot(sub(axpy(t, f, a), axpy(r, d, p)), n)
        if gap > limit[k] or -gap > EDGE_DEEP * sqrt(min(length2, soft2)):
            continue
        store_edge(t, n, gap, k, value_out)
        along = scale(1.0 / sqrt(length2), d)
        if max(dot(n, cross(left, along)), dot(n, cross(along, right))) > TURNED:
            continue
        if dot(n, add(load3(frame, edges[e, 2]), load3(frame, edges[e, 3]))) < 0.0:
            valid_out[k] = leads_along(x, edges, triangles, e, scale(1.0 / sqrt(soft2), f), neg(n)) <= TURNED


@inner_kernel
def under_rim(y, along, radius, half, gap, u):
    """Gap and direction out of a cylinder at the place y of an edge that is deepest in it; given: those of y alone.

    Where y is as deep below the cap as below the side, the edge leaves over the rim, square to both.
    """
    rho = sqrt(y[0] * y[0] + y[1] * y[1])
    if abs(dot(u, along)) < SQUARE or rho == 0.0:
        return gap, u
    radial = (y[0] / rho, y[1] / rho, 0.0)
    cap = 1.0 if y[2] > 0.0 else -1.0
    n = normalize(cross((-radial[1], radial[0], 0.0), along))
    if dot(n, radial) < 0.0:
        n = neg(n)
    if cap * n[2] < 0.0:
        return gap, u
    return dot(sub(y, (radius * radial[0], radius * radial[1], cap * half)), n), n


@kernel
def tubes_on_edges(pairs, limit, item, position, rotation, edge, x, edges, triangles, valid_out, value_out):
    """Sides of capsules, and cylinders, that touch a soft edge in its inside: rows 2 k and 2 k + 1 of the outputs."""
    for k in range(pairs.shape[0]):
        e, s, j = pairs[k, 1], item[pairs[k, 0], 0], item[pairs[k, 0], 1]
        valid_out[2 * k], valid_out[2 * k + 1] = False, False
        if limit[k] < 0.0:
            continue
        turn, place = load_matrix(rotation, s), load3(position, s)
        half, radius, capped = edge[j, HEAD + 2], edge[j, THICK], edge[j, CAPPED] > 0.0
        a, b = load3(x, edges[e, 0]), load3(x, edges[e, 1])
        p, q = mat_t_vec(turn, sub(a, place)), mat_t_vec(turn, sub(b, place))
        low, high = edge_span(p, q, capped, radius, half)
        for side in range(2):
            t = low if side == 0 else high
            if t <= INNER or t >= 1.0 - INNER or (side == 1 and high == low):
                continue
            y = axpy(t, sub(q, p), p)
            gap, u, counts = point_on_round(y, capped, radius, half)
            if capped and gap < 0.0:
                gap, u = under_rim(y, normalize(sub(q, p)), radius, half, gap, u)
            n = mat_vec(turn, u)
            store_edge(t, n, gap, 2 * k + side, value_out)
            if counts and -0.5 * radius <= gap <= limit[k]:
                valid_out[2 * k + side] = leads_along(x, edges, triangles, e, normalize(sub(b, a)), neg(n)) <= TURNED
