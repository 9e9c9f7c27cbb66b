"""Exact signed distance to a triangle mesh, and a coarse grid of it that says quickly what is far.

The sign is that of the angle-weighted pseudonormal of the closest face, edge or vertex: J. A. Baerentzen, H. Aanaes,
Signed distance computation using the angle weighted pseudonormal (2005) [baerentzen2005]. By hand, because the
libraries at hand give no signed depth (coal) or are slow per query and optional (trimesh).

``meshes`` is a MeshTables, ``m`` the number of a mesh in it; points are in the mesh's own frame, in m.
"""

import numpy as np

from stickslip.jit import inner_kernel, kernel
from stickslip.linalg.vec3 import add, axpy, cross, dot, load3, norm, normalize, scale, sub

FACE, EDGE, VERTEX = 0, 1, 4
"""Features of a triangle: its face, edge k (from corner k to k + 1) as EDGE + k, corner k as VERTEX + k."""
VERTICES, TRIANGLES, EDGES, TRIANGLE_TREE, VERTEX_TREE, EDGE_TREE, GRID = range(7)
"""Columns of MeshTables.starts."""
SIZE, ORIGIN, CELL, SHAPE = 6, 7, 10, 11
"""Columns of MeshTables.frames; the box is in the first six."""
NORMAL, NEIGHBOUR, FLAT = 3, 3, 6
"""Columns of MeshTables.vertices and of MeshTables.triangles."""
SLACK = 1e-5
"""Relative to a mesh's size: covers the rounding of the single-precision grid."""


@inner_kernel
def closest_on_triangle(x, a, b, c):
    """Closest point of a triangle to x, and its feature (C. Ericson, Real-Time Collision Detection, sec. 5.1.5)."""
    ab, ac, ax = sub(b, a), sub(c, a), sub(x, a)
    d1, d2 = dot(ab, ax), dot(ac, ax)
    if d1 <= 0.0 and d2 <= 0.0:
        return a, VERTEX
    bx = sub(x, b)
    d3, d4 = dot(ab, bx), dot(ac, bx)
    if d3 >= 0.0 and d4 <= d3:
        return b, VERTEX + 1
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        return axpy(d1 / (d1 - d3), ab, a), EDGE
    cx = sub(x, c)
    d5, d6 = dot(ab, cx), dot(ac, cx)
    if d6 >= 0.0 and d5 <= d6:
        return c, VERTEX + 2
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        return axpy(d2 / (d2 - d6), ac, a), EDGE + 2
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 >= d3 and d5 >= d6:
        return axpy((d4 - d3) / ((d4 - d3) + (d5 - d6)), sub(c, b), b), EDGE + 1
    total = va + vb + vc
    return axpy(vc / total, ac, axpy(vb / total, ab, a)), FACE


@inner_kernel
def corners(vertices, triangles, t):
    """The three corners of triangle t."""
    return load3(vertices, triangles[t, 0]), load3(vertices, triangles[t, 1]), load3(vertices, triangles[t, 2])


@inner_kernel
def box_distance2(bounds, node, x):
    """Squared distance of a point to the box of a node."""
    total = 0.0
    for k in range(3):
        apart = max(bounds[node, k] - x[k], x[k] - bounds[node, 3 + k], 0.0)
        total += apart * apart
    return total


@inner_kernel
def closest_triangle(meshes, m, x, within2, facing, most):
    """Closest triangle to x: squared distance, its number (-1 where none is within), its feature, the closest point.

    within2: square of the distance to look in. Triangles whose normal n has n . facing > most are passed over
    (facing = 0 for none).
    """
    best, triangle, feature, point = within2, np.int64(-1), FACE, x
    vertices, triangles, normals, bounds, links = (
        meshes.vertices, meshes.triangles, meshes.normals, meshes.bounds, meshes.links,
    )  # fmt: skip
    node, end = meshes.starts[m, TRIANGLE_TREE], meshes.starts[m, VERTEX_TREE]
    while node < end:
        if box_distance2(bounds, node, x) > best:
            node = links[node, 0]
            continue
        first = links[node, 1]
        for t in range(first, first + links[node, 2]):
            if dot(load3(normals, t), facing) > most:
                continue
            a, b, c = corners(vertices, triangles, t)
            p, f = closest_on_triangle(x, a, b, c)
            apart = sub(x, p)
            d2 = dot(apart, apart)
            if d2 < best or (triangle < 0 and d2 <= best):
                best, triangle, feature, point = d2, t, f, p
        node += 1
    return best, triangle, feature, point


@inner_kernel
def feature_normal(meshes, t, feature):
    """Unit pseudonormal of a feature of triangle t."""
    if feature == FACE:
        return load3(meshes.normals, t)
    if feature < VERTEX:
        beyond = meshes.triangles[t, NEIGHBOUR + feature - EDGE]
        return normalize(add(load3(meshes.normals, t), load3(meshes.normals, beyond)))
    return vertex_normal(meshes, meshes.triangles[t, feature - VERTEX])


@inner_kernel
def vertex_normal(meshes, v):
    """Unit pseudonormal of vertex v."""
    return meshes.vertices[v, NORMAL], meshes.vertices[v, NORMAL + 1], meshes.vertices[v, NORMAL + 2]


@inner_kernel
def is_flat(meshes, t, feature):
    """Whether the surface is a plane around a feature of triangle t."""
    return feature == FACE or (meshes.triangles[t, FLAT] >> (feature - 1)) & 1 == 1


@inner_kernel
def grid_bounds(starts, frames, grid, m, x):
    """A lower bound of the signed distance of x, and an upper bound of its absolute value, from the nearest node."""
    cell = frames[m, CELL]
    at = starts[m, GRID]
    away = 0.0
    for k in range(3):
        along = (x[k] - frames[m, ORIGIN + k]) / cell
        last = int(frames[m, SHAPE + k]) - 1
        node = int(min(max(along + 0.5, 0.0), float(last)))
        away += (along - node) * (along - node)
        stride = 1
        for other in range(k + 1, 3):
            stride *= int(frames[m, SHAPE + other])
        at += node * stride
    value = float(grid[at])
    reach = cell * np.sqrt(away) + SLACK * frames[m, SIZE]
    return value - reach, abs(value) + reach


@inner_kernel
def nearest_surface(meshes, m, x):
    """Signed distance of x, the closest triangle, its feature and the closest point."""
    _, above = grid_bounds(meshes.starts, meshes.frames, meshes.grid, m, x)
    return surface_within(meshes, m, x, above * above)


@inner_kernel
def surface_within(meshes, m, x, within2):
    """As nearest_surface, given the square of an upper bound of the distance."""
    d2, t, feature, point = closest_triangle(meshes, m, x, within2, (0.0, 0.0, 0.0), 1.0)
    if t < 0:
        return np.inf, t, feature, point
    apart = sub(x, point)
    if is_flat(meshes, t, feature):
        # the height above the plane is exact where a length of differences is not
        height = dot(load3(meshes.normals, t), apart)
        return height, t, feature, point
    sign = 1.0 if dot(apart, feature_normal(meshes, t, feature)) >= 0.0 else -1.0
    return sign * np.sqrt(d2), t, feature, point


@kernel
def signed_distances(meshes, m, points, distance_out, normal_out):
    """Signed distance and outward direction of each point (n, 3); the direction is that of fastest increase."""
    for i in range(points.shape[0]):
        x = load3(points, i)
        d, t, feature, c = nearest_surface(meshes, m, x)
        n = feature_normal(meshes, t, feature)
        if not is_flat(meshes, t, feature) and abs(d) > 1e-9 * meshes.frames[m, SIZE]:
            n = scale(1.0 / d, sub(x, c))
        distance_out[i] = d
        for k in range(3):
            normal_out[i, k] = n[k]


@kernel
def fill_grid(meshes, m, grid_out):
    """Signed distance at every node of the grid of mesh m, exact before rounding to single precision."""
    nx, ny, nz = int(meshes.frames[m, SHAPE]), int(meshes.frames[m, SHAPE + 1]), int(meshes.frames[m, SHAPE + 2])
    origin = (meshes.frames[m, ORIGIN], meshes.frames[m, ORIGIN + 1], meshes.frames[m, ORIGIN + 2])
    cell = meshes.frames[m, CELL]
    at = 0
    for i in range(nx):
        for j in range(ny):
            near = np.inf
            for k in range(nz):
                x = axpy(cell, (float(i), float(j), float(k)), origin)
                bound = near + 1.001 * cell  # the distance changes by at most one cell from node to node
                d, _, _, _ = surface_within(meshes, m, x, bound * bound)
                near = abs(d)
                grid_out[at] = d
                at += 1


@kernel
def vertex_normals(vertices, triangles, normals, normal_out):
    """Sum of the face normals around each vertex, weighted by the angle of the face there, made unit length."""
    for t in range(triangles.shape[0]):
        for k in range(3):
            v = load3(vertices, triangles[t, k])
            e = sub(load3(vertices, triangles[t, (k + 1) % 3]), v)
            f = sub(load3(vertices, triangles[t, (k + 2) % 3]), v)
            angle = np.arctan2(norm(cross(e, f)), dot(e, f))
            for c in range(3):
                normal_out[triangles[t, k], c] += angle * normals[t, c]
    for i in range(vertices.shape[0]):
        n = normalize(load3(normal_out, i))
        for c in range(3):
            normal_out[i, c] = n[c]
