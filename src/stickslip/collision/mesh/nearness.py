"""What is far: nodes of trees, points and segments of a mesh against another one, where both are and on their way.

``m`` is the number of a mesh in ``meshes`` (MeshTables); points are in its frame. ``seen`` says how the other body
moves as seen from there: its velocity at the origin of that frame [m/s], its turning [rad/s], the time ahead [s], zero
where the motion does not count, the gap [m] at which points count that do not close, and the limit of gaps [m].
"""

from stickslip.geometry.mesh_distance import box_distance2, grid_bounds
from stickslip.jit import inner_kernel
from stickslip.linalg.vec3 import add, axpy, cross, dot, norm, scale, sub


@inner_kernel
def node_box(bounds, node):
    """Middle and half extents of a node of a tree."""
    low, high = (bounds[node, 0], bounds[node, 1], bounds[node, 2]), (bounds[node, 3], bounds[node, 4], bounds[node, 5])
    return scale(0.5, add(low, high)), scale(0.5, sub(high, low))


@inner_kernel
def far_from(meshes, m, x, radius):
    """Whether a ball is surely outside mesh m, by its box and its grid."""
    if box_distance2(meshes.frames, m, x) > radius * radius:
        return True
    below, _ = grid_bounds(meshes.starts, meshes.frames, meshes.grid, m, x)
    return below > radius


@inner_kernel
def segment_far_from(meshes, m, p, q, radius):
    """Whether all points within ``radius`` of a segment are surely outside mesh m: as one ball, then as four, whose
    bounds are much tighter for a long segment."""
    d = sub(q, p)
    half = 0.5 * norm(d)
    if far_from(meshes, m, axpy(0.5, d, p), half + radius):
        return True
    near = False
    for k in range(4):
        near = near or not far_from(meshes, m, axpy(0.125 + 0.25 * k, d, p), 0.25 * half + radius)
    return not near


@inner_kernel
def swept(x, radius, seen):
    """A ball that has the nearest points of the other body of all points in a ball that may touch it; centre, radius.

    seen: velocity at the origin of the other body's frame and of turning, as seen from there, the time ahead, the gap
    at which points count that do not close, and the limit of gaps. A point that moves by w in that time closes a gap
    g > 0 along n only if -n . w >= g: its nearest point x - g n is then in the ball with the diameter from x to x + w,
    half as wide as the one around x that w reaches.
    """
    velocity, turning, far, margin, limit = seen
    if far <= 0.0:
        return x, radius + limit
    way = scale(0.5 * far, add(velocity, cross(turning, x)))
    least = norm(way) + margin + radius * (1.0 + far * norm(turning))
    if least < radius + limit:
        return add(x, way), least
    return x, radius + limit


@inner_kernel
def half_way(x, seen):
    """Half of what a point moves by in the time ahead."""
    return scale(0.5 * seen[2], add(seen[0], cross(seen[1], x)))


@inner_kernel
def closes(x, n, gap, seen):
    """Whether a point x with that gap along n out of the other body is near, or its velocity closes it in time."""
    velocity, turning, far, margin, _ = seen
    if far <= 0.0 or gap <= margin:
        return True
    # where contacts are, half a gap away, turning makes a little difference
    closing = -dot(n, add(velocity, cross(turning, x))) + 0.5 * gap * norm(turning)
    return gap <= margin + far * closing


@inner_kernel
def misses(p, q, bounds, node, reach):
    """Whether a segment stays away from the box of a node, made larger by ``reach``, by separating axes."""
    low, high = (bounds[node, 0], bounds[node, 1], bounds[node, 2]), (bounds[node, 3], bounds[node, 4], bounds[node, 5])
    d = scale(0.5, sub(q, p))
    x = sub(axpy(0.5, sub(q, p), p), scale(0.5, add(low, high)))
    h = add(scale(0.5, sub(high, low)), (reach, reach, reach))
    a = (abs(d[0]), abs(d[1]), abs(d[2]))
    if abs(x[0]) > h[0] + a[0] or abs(x[1]) > h[1] + a[1] or abs(x[2]) > h[2] + a[2]:
        return True
    c = cross(x, d)
    return (
        abs(c[0]) > h[1] * a[2] + h[2] * a[1]
        or abs(c[1]) > h[0] * a[2] + h[2] * a[0]
        or abs(c[2]) > h[0] * a[1] + h[1] * a[0]
    )


@inner_kernel
def leaves_near(bounds, links, node, end, low, high, leaves):
    """Leaves of a tree from ``node`` to ``end`` whose boxes meet a box; how many they are, at most as many as fit.

    What does not fit is left to who walks the tree from the node that is returned.
    """
    count = 0
    while node < end:
        apart = False
        for k in range(3):
            apart = apart or low[k] > bounds[node, 3 + k] or high[k] < bounds[node, k]
        if apart:
            node = links[node, 0]
            continue
        if links[node, 2] > 0:
            if count == leaves.shape[0]:
                return count, node
            leaves[count] = node
            count += 1
        node += 1
    return count, node
