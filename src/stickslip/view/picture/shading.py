"""Light: a sun with a soft shadow, a sky that surfaces see partly, and what surfaces look like.

Visibility of sun and sky is sampled by a few rays per pixel in a pattern that repeats every four pixels, then
averaged over four by four pixels of the same surface, so that every average has seen all directions once. No random
numbers: the same scene gives the same picture.
"""

from __future__ import annotations

from math import exp, inf, sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.geometry.shapes import BOX, CYLINDER, HALF_SPACE, HULL, MESH, SPHERE
from stickslip.jit import kernel
from stickslip.linalg.vec3 import add, axpy, dot, normalize, scale, tangents
from stickslip.view.picture.ray_tracer import (
    COLOUR,
    END,
    FIRST,
    KIND,
    NORMALS,
    PAINT,
    SIZE,
    from_behind,
    local_normal,
    nearest_body,
    nearest_plane,
    painted,
    to_local,
    to_world_direction,
    triple,
)

SUN = (2.15, 2.02, 1.80)
SKY = (0.80, 0.90, 1.06)
SUN_RADIUS = 0.035
"""[rad] half angle of the sun's disc, seven times the real one: softer shadows."""
BOUNCE = 0.45
"""Light from the ground, relative to the sky."""
NEIGHBOUR = 0.18
"""Light from other bodies, relative to the sky."""
SHINE, FLAT_SHINE, SHINE_POWER = 0.22, 0.03, 48.0
"""Gloss; a flat face shines as a whole, so it gets little."""
PATTERN = 16
"""Pixels of a pattern of directions: four by four."""


class Light(NamedTuple):
    """What lights a picture, and the lengths by which surfaces fade and blur."""

    far: float
    """[m] where the ground begins to fade."""
    tile: float
    """[m] side of the squares of the ground."""
    pixel: float
    """Width of a pixel at distance 1."""
    sun: Array
    """(3,) direction to its middle."""
    sky_table: Array
    """(k, 3) as sky_directions gives."""
    sun_table: Array
    """(k, 3) as sun_directions gives."""


def sky_directions(count: int) -> Array:
    """(count, 3) directions about z, dense where a surface with that normal is lit most (cosine-weighted)."""
    u, w = _low_discrepancy(count)
    r, angle = np.sqrt(u), 2.0 * np.pi * w
    return np.column_stack([r * np.cos(angle), r * np.sin(angle), np.sqrt(np.maximum(0.0, 1.0 - u))])


def sun_directions(sun: tuple[float, float, float], count: int) -> Array:
    """(count, 3) directions to points of the sun's disc around its middle."""
    u, w = _low_discrepancy(count)
    t1, t2 = (np.array(t) for t in tangents(sun))
    r, angle = SUN_RADIUS * np.sqrt(w), 2.0 * np.pi * u
    found = np.array(sun) + (r * np.cos(angle))[:, None] * t1 + (r * np.sin(angle))[:, None] * t2
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def _low_discrepancy(count: int) -> tuple[Array, Array]:
    """Coordinates (count,) of the first points of the R2 sequence in the unit square."""
    i = np.arange(count, dtype=np.float64)
    return (0.5 + 0.7548776662466927 * i) % 1.0, (0.5 + 0.5698402909980532 * i) % 1.0


@kernel
def sky(direction):
    """Colour of the sky in a direction: bright at the horizon, bluer above."""
    up = sqrt(max(0.0, direction[2]))
    return 0.86 - 0.50 * up, 0.90 - 0.36 * up, 0.94 - 0.16 * up


@kernel
def _stripe(u, blur):
    """1 and -1 in turn, from whole number to whole number, averaged over about ``blur``."""
    f = u % 2.0
    inside = min(f, 1.0 - f) if f < 1.0 else max(1.0 - f, f - 2.0)
    return min(1.0, max(-1.0, 2.0 * inside / blur))


@kernel
def surface_colour(shapes, parts, s, triangle, p, distance, far, tile, blur):
    """Linear RGB of shape s at the point p of its frame, seen from ``distance``; and which part of a pattern it is.

    tile [m]: side of the ground's tiles, whose edges are as wide as ``blur`` [m], so that they need no more rays.
    """
    kind = int(shapes[s, KIND])
    x, y, z = triple(shapes, s, SIZE)
    colour = triple(shapes, s, COLOUR)
    tint, mark = 1.0, 0
    if kind == HALF_SPACE:
        tint -= (
            0.07 * _stripe(p[0] / tile, blur / tile) * _stripe(p[1] / tile, blur / tile) * exp(-distance / (2.0 * far))
        )
    elif kind == SPHERE:
        # a band, so that rolling can be seen
        if abs(p[2]) < 0.16 * x:
            tint, mark = 0.62, 1
    elif kind == BOX:
        # worn edges: the two coordinates along the face nearest to the border
        edge = 0.05 * min(x, y, z)
        x, y, z = x - abs(p[0]), y - abs(p[1]), z - abs(p[2])
        if x + y + z - min(x, y, z) - max(x, y, z) < edge:
            tint, mark = 1.28, 1
    elif kind == CYLINDER:
        radial = x - sqrt(p[0] * p[0] + p[1] * p[1])
        if max(radial, y - abs(p[2])) < 0.05 * min(x, y):
            tint, mark = 1.28, 1
    elif kind == HULL:
        first, second = inf, inf
        for f in range(int(shapes[s, FIRST]), int(shapes[s, END])):
            depth = parts[f, 3] - dot(triple(parts, f, 0), p)
            if depth < first:
                first, second = depth, first
            elif depth < second:
                second = depth
        if second < 0.02 * x:
            tint, mark = 1.28, 1
    elif kind == MESH and shapes[s, PAINT] > 0.0:
        colour = painted(parts, triangle, triangle + int(shapes[s, PAINT]), p)
    return scale(tint, colour), mark


@kernel
def sample(scene, light, eye, d, first, rays, stack):
    """Light that comes along a ray, in parts: (own, sunny, ambient, sun seen, sky seen, code, normal).

    own: background and haze; sunny, ambient: light of the sun and of the sky where nothing is in the way, and how much
    of both arrives along ``rays`` directions of the tables from ``first`` on. code: twice the row of the shape and
    its part of a pattern; -1 for the sky.
    """
    shapes, parts, planes, tree, far = scene.shapes, scene.parts, scene.planes, scene.tree, light.far
    sun = (light.sun[0], light.sun[1], light.sun[2])
    t, s = nearest_plane(shapes, planes, eye, d, inf)
    t_body, body, triangle = nearest_body(shapes, parts, tree, eye, d, t, 0.0, stack)
    if body >= 0:
        t, s = t_body, body
    own, sunny, ambient = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    sun_seen, sky_seen, code, n = 1.0, 1.0, -1, (0.0, 0.0, 0.0)
    if s < 0:
        own = sky(d)
    else:
        p = axpy(t, d, eye)
        local = to_local(shapes, s, p)
        n = to_world_direction(shapes, s, local_normal(shapes, parts, s, triangle, local))
        if from_behind(shapes, parts, s, triangle, d):
            n = scale(-1.0, n)
        blur = t * light.pixel / max(0.05, -dot(n, d))
        colour, mark = surface_colour(shapes, parts, s, triangle, local, t, far, light.tile, blur)
        code = 2 * s + mark
        kind = int(shapes[s, KIND])
        haze = 0.0
        if kind == HALF_SPACE:
            haze = 1.0 - exp(-((max(0.0, t - far) / (4.0 * far)) ** 2))
        facing = max(0.0, dot(n, sun))
        shine = 0.0
        if kind != HALF_SPACE and facing > 0.0:
            middle = normalize((sun[0] - d[0], sun[1] - d[1], sun[2] - d[2]))
            flat = kind in (BOX, HULL, MESH) and shapes[s, NORMALS] == 0.0
            shine = (FLAT_SHINE if flat else SHINE) * max(0.0, dot(n, middle)) ** SHINE_POWER
        own = scale(haze, sky((d[0], d[1], 0.0)))
        bright = (1.0 - haze) * facing / 3.0
        sunny = (
            SUN[0] * (bright * colour[0] + (1.0 - haze) * shine),
            SUN[1] * (bright * colour[1] + (1.0 - haze) * shine),
            SUN[2] * (bright * colour[2] + (1.0 - haze) * shine),
        )
        dim = 0.55 * (1.0 - haze)
        ambient = (dim * SKY[0] * colour[0], dim * SKY[1] * colour[1], dim * SKY[2] * colour[2])
        t1, t2 = tangents(n)
        lifted = axpy(1e-6 * (t + far), n, p)
        sun_seen, sky_seen = 0.0, 0.0
        # even numbers are rays to the sun, odd ones to the sky: one search in the code, so that it is inlined
        for k in range(2 * rays):
            i = first + k // 2
            to_sun = k % 2 == 0
            if to_sun:
                if facing <= 0.0:
                    continue
                towards = triple(light.sun_table, i, 0)
            else:
                a, b, c = triple(light.sky_table, i, 0)
                towards = add(scale(c, n), add(scale(a, t1), scale(b, t2)))
            _, hit, _ = nearest_body(shapes, parts, tree, lifted, towards, inf, inf, stack)
            if to_sun:
                sun_seen += 0.0 if hit >= 0 else 1.0  # half-spaces throw no shadows
            elif hit >= 0:
                sky_seen += NEIGHBOUR
            elif towards[2] <= 0.0:
                sky_seen += BOUNCE
            else:
                _, plane = nearest_plane(shapes, planes, lifted, towards, inf)
                sky_seen += BOUNCE if plane >= 0 else 1.0
        sun_seen, sky_seen = sun_seen / rays, sky_seen / rays
    return own, sunny, ambient, sun_seen, sky_seen, code, n
