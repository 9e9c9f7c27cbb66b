"""Bodies made by code: watertight triangle meshes of vessels and jacks, corners of stones for convex hulls.

Meshes are pairs of vertices (n, 3) [m] and triangles (m, 3) int32, counter-clockwise seen from outside.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array, Ints, LongInts
from stickslip.checks import array, positive, whole
from stickslip.errors import InputError

Mesh = tuple[Array, Ints]
"""Vertices (n, 3) [m] and triangles (m, 3)."""
SAME = 1e-9
"""Share of a stone's size below which two corners are one."""


def surface_of_revolution(profile: ArrayLike, segments: int) -> Mesh:
    """Mesh of a closed outline ``profile`` (k, 2) [r, z] in m, turned about the z axis in ``segments`` steps.

    The outline may touch the axis (r = 0): such a corner becomes one vertex, and an edge along the axis no surface.
    Its sense does not matter. The mesh is inscribed: its volume is below the true one by sinc(2 pi / segments).
    """
    outline = array("surface of revolution", "profile", profile, (None, 2))
    if len(outline) < 3:
        raise InputError(f"surface of revolution: profile has shape {outline.shape}; (k, 2) finite numbers, k >= 3")
    if outline[:, 0].min() < 0.0:
        raise InputError(f"surface of revolution: a radius is {outline[:, 0].min()}; none may be negative")
    segments = whole("surface of revolution", "segments", segments, 3, 1_000_000)
    r, z = outline.T
    area = 0.5 * float(np.sum(r * np.roll(z, -1) - np.roll(r, -1) * z))
    if area == 0.0:
        raise InputError("surface of revolution: the profile encloses no area")
    if area < 0.0:  # its inside must be on the left, or the triangles would face inwards
        outline = outline[::-1]
    angle = 2.0 * np.pi * np.arange(segments) / segments
    vertices: list[Array] = []
    rings: list[LongInts] = []  # vertex numbers of each corner of the outline, one per segment
    count = 0
    for radius, height in outline.tolist():
        own = 1 if radius == 0.0 else segments
        turned = radius * np.stack([np.cos(angle[:own]), np.sin(angle[:own])], axis=1)
        vertices.append(np.column_stack([turned, np.full(own, height)]))
        rings.append(count + np.arange(segments) % own)
        count += own
    triangles = []
    for lower, upper in zip(rings, rings[1:] + rings[:1], strict=True):
        after_lower, after_upper = np.roll(lower, -1), np.roll(upper, -1)
        if lower[0] != lower[1]:  # else the corner is on the axis, and this half of the strip has no area
            triangles.append(np.stack([lower, after_lower, after_upper], axis=1))
        if upper[0] != upper[1]:
            triangles.append(np.stack([lower, after_upper, upper], axis=1))
    return np.concatenate(vertices), _indices(np.concatenate(triangles))


def jack(reach: float, width: float, tip: float, chamfer: float) -> Mesh:
    """A toy jack: six square arms along the axes, one mesh of 108 triangles without inner faces.

    reach: from the centre to the end of an arm; width: of an arm where it leaves the core, a cube of that size;
    tip: width near the end; chamfer: by how much the last edges are cut off, less than half of tip [m].
    """
    for name, value in (("reach", reach), ("width", width), ("tip", tip), ("chamfer", chamfer)):
        positive("jack", name, value)
    if not (reach - chamfer > 0.5 * width and 2.0 * chamfer < tip and 0.5 * tip < reach - chamfer):
        raise InputError(
            f"jack: reach {reach}, width {width}, tip {tip}, chamfer {chamfer} make no arms; "
            "needed: width / 2 and tip / 2 below reach - chamfer, and 2 chamfer below tip"
        )
    # half widths and distances from the centre of the rings of an arm: core, shoulder of the chamfer, end
    sections = ((0.5 * width, 0.5 * width), (0.5 * tip, reach - chamfer), (0.5 * tip - chamfer, reach))
    corners = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    found: dict[tuple[float, ...], int] = {}
    triangles: list[tuple[int, int, int]] = []
    for axis, sign in itertools.product(range(3), (1.0, -1.0)):
        # a right-handed frame with its third axis outward along the arm
        u, v = ((axis + 1) % 3, (axis + 2) % 3) if sign > 0.0 else ((axis + 2) % 3, (axis + 1) % 3)
        rings = []
        for half, distance in sections:
            ring = []
            for a, b in corners:
                point = np.zeros(3)
                point[axis], point[u], point[v] = sign * distance, a * half, b * half
                ring.append(found.setdefault(tuple(point.tolist()), len(found)))
            rings.append(ring)
        for below, above in itertools.pairwise(rings):
            for i in range(4):
                j = (i + 1) % 4
                triangles += [(below[i], below[j], above[j]), (below[i], above[j], above[i])]
        end = rings[-1]
        triangles += [(end[0], end[1], end[2]), (end[0], end[2], end[3])]
    return np.array(list(found)), _indices(np.array(triangles))


def convex_corners(planes: ArrayLike) -> Array:
    """Corners (n, 3) [m] of the bounded solid n.x <= d on the inner side of all ``planes`` (k, 4) [n, d].

    Every three planes are met, so it is meant for stones with a dozen faces.
    """
    given = np.array(planes, dtype=np.float64)
    given /= np.linalg.norm(given[:, :3], axis=1)[:, None]
    corners: list[Array] = []
    size = float(np.abs(given[:, 3]).max())
    for triple in itertools.combinations(range(len(given)), 3):
        normals, offsets = given[list(triple), :3], given[list(triple), 3]
        if abs(np.linalg.det(normals)) < SAME:
            continue
        point = np.linalg.solve(normals, offsets).astype(np.float64)
        inside = np.all(given[:, :3] @ point <= given[:, 3] + SAME * size)
        if inside and all(np.linalg.norm(point - other) > SAME * size for other in corners):
            corners.append(point)
    if len(corners) < 4:
        raise InputError(f"stone: its {len(given)} planes enclose no solid")
    return np.array(corners)


def voussoir(
    radius: float,
    start: float,
    end: float,
    depth: float,
    bay: float,
    top: float,
    taper: float = 0.0,
    thickness: float | None = None,
) -> Array:
    """Corners (n, 3) [m] of a stone of a flat-topped arch in the x-z plane about the origin.

    It lies between two angles [rad] from the x axis, start < end, outside a circle of ``radius`` [m], and inside the
    bay |x| <= bay / 2 + y tan(taper), 0 <= z <= top, |y| <= depth / 2: bays of a ring widen outwards, along y.
    With ``thickness`` [m] its outer face is at that distance from the circle: a bare arch without spandrels.
    """
    positive("voussoir", "radius", radius)
    if not 0.0 <= start < end <= math.pi:
        raise InputError(f"voussoir: it reaches from {start} to {end} rad; 0 <= start < end <= pi is needed")
    middle = 0.5 * (start + end)
    side = math.tan(taper)
    planes = [
        (math.sin(start), 0.0, -math.cos(start), 0.0),
        (-math.sin(end), 0.0, math.cos(end), 0.0),
        # the chord of the circle: both ends of the stone's inner face lie on it
        (-math.cos(middle), 0.0, -math.sin(middle), -radius * math.cos(0.5 * (end - start))),
        (1.0, -side, 0.0, 0.5 * bay),
        (-1.0, -side, 0.0, 0.5 * bay),
        (0.0, 0.0, 1.0, top),
        (0.0, 0.0, -1.0, 0.0),
        (0.0, 1.0, 0.0, 0.5 * depth),
        (0.0, -1.0, 0.0, 0.5 * depth),
    ]
    if thickness is not None:
        planes.append((math.cos(middle), 0.0, math.sin(middle), radius + positive("voussoir", "thickness", thickness)))
    return convex_corners(planes)


def trapezoid_prism(bottom: float, top: float, depth: float, height: float) -> Array:
    """Corners (8, 3) or, with top = 0, (6, 3) [m] of a prism along y, |y| <= depth / 2, 0 <= z <= height.

    Its cross-section in the x-z plane is symmetric, ``bottom`` wide below and ``top`` wide above.
    """
    levels = ((bottom, 0.0), (top, height))
    xz = [(s * 0.5 * w, z) for w, z in levels for s in ((-1, 1) if w > 0.0 else (0,))]
    return np.array([(x, y, z) for y in (-0.5 * depth, 0.5 * depth) for x, z in xz])


def ring_stone(inner: float, outer: float, start: float, end: float, height: float) -> Array:
    """Corners (8, 3) [m] of a straight-sided stone of a ring about the z axis, 0 <= z <= height.

    inner, outer: distances of its faces from the axis; start, end: angles of its joints [rad], less than pi apart.
    """
    if not (0.0 < inner < outer and 0.0 < end - start < math.pi):
        raise InputError(f"ring stone: {inner} to {outer} m and {start} to {end} rad make no stone")
    middle, half = 0.5 * (start + end), 0.5 * (end - start)
    return np.array(
        [
            (d / math.cos(half) * math.cos(a), d / math.cos(half) * math.sin(a), z)
            for d in (inner, outer)
            for a in (middle - half, middle + half)
            for z in (0.0, height)
        ]
    )


def drum(lower: float, upper: float, height: float, sides: int) -> Array:
    """Corners (2 sides, 3) [m] of a column drum about z, |z| <= height / 2: a prism, or tapered.

    lower, upper: radii of the circles through the corners of its faces [m].
    """
    if sides < 3:
        raise InputError(f"drum: sides is {sides}; it must be at least 3")
    angle = 2.0 * np.pi * np.arange(sides) / sides
    rings = [
        np.column_stack([r * np.cos(angle), r * np.sin(angle), np.full(sides, z)])
        for r, z in ((lower, -0.5 * height), (upper, 0.5 * height))
    ]
    return np.concatenate(rings)


def _indices(triangles: LongInts) -> Ints:
    return np.ascontiguousarray(triangles, dtype=np.int32)
