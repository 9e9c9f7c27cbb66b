"""Light: a sun with a soft shadow, a sky that surfaces see partly, and what surfaces look like.

Visibility of sun and sky is sampled by a few rays per pixel in a pattern that repeats every four pixels, then
averaged over four by four pixels of the same surface, so that every average has seen all directions once. No random
numbers: the same scene gives the same picture.
"""

from __future__ import annotations

import itertools
from math import cos, exp, floor, inf, pi, sin, sqrt

import numpy as np
from numpy.typing import NDArray

from stickslip.geometry.shapes import BOX, CYLINDER, HALF_SPACE, HULL, MESH, SPHERE
from stickslip.jit import kernel, parallel_kernel, prange
from stickslip.linalg.vec3 import add, axpy, dot, load3, normalize, scale, tangents
from stickslip.view.bounding_tree import STACK_SIZE
from stickslip.view.ray_tracer import local_normal, nearest_body, nearest_plane, painted, to_local, to_world_direction

Image = NDArray[np.float64]

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


def compose(
    own: Image, sunny: Image, ambient: Image, seen: Image, shape: NDArray[np.int32], normal: Image
) -> NDArray[np.float64]:
    """Linear RGB (h, w, 3) of what :func:`trace` found: light times visibility, averaged over four by four pixels."""
    height, width = shape.shape
    total, count = np.zeros_like(seen), np.zeros((height, width, 1))
    for dy, dx in itertools.product(range(-1, 3), range(-1, 3)):
        here = (slice(max(0, -dy), height - max(0, dy)), slice(max(0, -dx), width - max(0, dx)))
        there = (slice(max(0, dy), height + min(0, dy)), slice(max(0, dx), width + min(0, dx)))
        alike = np.einsum("yxk,yxk->yx", normal[here], normal[there]) > 0.9
        same = ((shape[here] == shape[there]) & (alike | (shape[here] < 0)))[..., None]
        total[here] += same * seen[there]
        count[here] += same
    visible = total / count
    return own + sunny * visible[..., :1] + ambient * visible[..., 1:]


@kernel
def sky(direction):
    """Colour of the sky in a direction: bright at the horizon, bluer above."""
    up = sqrt(max(0.0, direction[2]))
    return 0.86 - 0.50 * up, 0.90 - 0.36 * up, 0.94 - 0.16 * up


@kernel
def surface_colour(scene, s, p, distance, far, tile):
    """Linear RGB of shape s at the point p of its frame, seen from ``distance``; tile [m] of the ground's pattern."""
    kind = scene.kind[s]
    tint = 1.0
    if kind == HALF_SPACE:
        dark = (floor(p[0] / tile) + floor(p[1] / tile)) % 2 == 0
        tint += (-0.07 if dark else 0.07) * exp(-distance / (2.0 * far))
    elif kind == SPHERE:
        # a band, so that rolling can be seen
        if abs(p[2]) < 0.16 * scene.size[s, 0]:
            tint = 0.62
    elif kind == BOX:
        # worn edges: the two coordinates along the face nearest to the border
        x, y, z = (scene.size[s, 0] - abs(p[0]), scene.size[s, 1] - abs(p[1]), scene.size[s, 2] - abs(p[2]))
        border = x + y + z - min(x, y, z) - max(x, y, z)
        if border < 0.05 * min(scene.size[s, 0], scene.size[s, 1], scene.size[s, 2]):
            tint = 1.28
    elif kind == CYLINDER:
        rim = min(scene.size[s, 0], scene.size[s, 1])
        radial = scene.size[s, 0] - sqrt(p[0] * p[0] + p[1] * p[1])
        if max(radial, scene.size[s, 1] - abs(p[2])) < 0.05 * rim:
            tint = 1.28
    elif kind == HULL:
        h = scene.hull[s]
        first, second = inf, inf
        for f in range(scene.face_start[h], scene.face_start[h + 1]):
            n = (scene.face_plane[f, 0], scene.face_plane[f, 1], scene.face_plane[f, 2])
            depth = scene.face_plane[f, 3] - dot(n, p)
            if depth < first:
                first, second = depth, first
            elif depth < second:
                second = depth
        if second < 0.02 * scene.size[s, 0]:
            tint = 1.28
    elif kind == MESH and scene.mesh_paint.shape[0] > 0:
        return painted(scene, s, p)
    return scale(tint, load3(scene.colour, s))


@kernel
def low_discrepancy(i):
    """Point i of the R2 sequence in the unit square."""
    return (0.5 + 0.7548776662466927 * i) % 1.0, (0.5 + 0.5698402909980532 * i) % 1.0


@kernel
def ambient_light(scene, tree, p, n, i, stack, stack_t):
    """Light along direction i of the hemisphere over n (cosine-weighted), relative to the sky."""
    u, w = low_discrepancy(i)
    t1, t2 = tangents(n)
    r, angle = sqrt(u), 2.0 * pi * w
    d = add(scale(sqrt(max(0.0, 1.0 - u)), n), add(scale(r * cos(angle), t1), scale(r * sin(angle), t2)))
    _, body = nearest_body(scene, tree, p, d, inf, inf, stack, stack_t)
    if body >= 0:
        return NEIGHBOUR
    if d[2] <= 0.0:
        return BOUNCE
    _, plane = nearest_plane(scene, p, d, inf)
    return BOUNCE if plane >= 0 else 1.0


@kernel
def sun_visible(scene, tree, p, sun, i, stack, stack_t):
    """Whether point i of the sun's disc is seen from p; half-spaces throw no shadows."""
    u, w = low_discrepancy(i)
    t1, t2 = tangents(sun)
    r, angle = SUN_RADIUS * sqrt(w), 2.0 * pi * u
    d = normalize(add(sun, add(scale(r * cos(angle), t1), scale(r * sin(angle), t2))))
    _, body = nearest_body(scene, tree, p, d, inf, inf, stack, stack_t)
    return 0.0 if body >= 0 else 1.0


@kernel
def ray(axes, half, width, height, x, y):
    """Direction of the ray through the point (x, y) of a picture, in pixels from its upper left corner."""
    right, up = (2.0 * x / width - 1.0) * half[0], (1.0 - 2.0 * y / height) * half[1]
    return normalize(add(load3(axes, 2), add(scale(right, load3(axes, 0)), scale(up, load3(axes, 1)))))


@parallel_kernel
def trace(
    scene, tree, eye, axes, half, samples, far, tile, sun,
    own_out, sunny_out, ambient_out, seen_out, shape_out, normal_out,
):  # fmt: skip
    """Light of every pixel in parts, rows in parallel.

    own (h, w, 3): background and haze; sunny, ambient (h, w, 3): light of the sun and of the sky where nothing is in
    the way; seen (h, w, 2): how much of both arrives; shape (h, w), -1 for the sky, and normal (h, w, 3) of the
    first sample. ``far`` [m]: distance at which the ground begins to fade.
    """
    height, width = shape_out.shape
    for row in prange(height):
        y = np.int64(row)  # a parallel index is unsigned, which would compile everything below a second time
        stack, stack_t = np.empty(STACK_SIZE, np.int32), np.empty(STACK_SIZE)
        for x in range(width):
            pixel(
                scene, tree, eye, axes, half, samples, far, tile, sun, x, y, stack, stack_t,
                own_out, sunny_out, ambient_out, seen_out, shape_out, normal_out,
            )  # fmt: skip


@kernel
def pixel(
    scene, tree, eye, axes, half, samples, far, tile, sun, x, y, stack, stack_t,
    own_out, sunny_out, ambient_out, seen_out, shape_out, normal_out,
):  # fmt: skip
    """Light of one pixel: the mean over samples x samples rays."""
    height, width = shape_out.shape
    share = 1.0 / (samples * samples)
    cell = ((y % 4) * 4 + x % 4) * 5 % 16  # a multiple that is prime to 16 spreads neighbours over the sequence
    for k in range(samples * samples):
        d = ray(axes, half, width, height, x + (k % samples + 0.5) / samples, y + (k // samples + 0.5) / samples)
        t, s = nearest_plane(scene, eye, d, inf)
        t_body, body = nearest_body(scene, tree, eye, d, t, 0.0, stack, stack_t)
        if body >= 0:
            t, s = t_body, body
        if k == 0:
            shape_out[y, x] = s
        if s < 0:
            background = sky(d)
            for j in range(3):
                own_out[y, x, j] += share * background[j]
            seen_out[y, x, 0] += share
            seen_out[y, x, 1] += share
            continue

        p = axpy(t, d, eye)
        local = to_local(scene, s, p)
        n = to_world_direction(scene, s, local_normal(scene, s, local))
        if k == 0:
            for j in range(3):
                normal_out[y, x, j] = n[j]
        colour = surface_colour(scene, s, local, t, far, tile)
        haze = 0.0
        if scene.kind[s] == HALF_SPACE:
            haze = 1.0 - exp(-((max(0.0, t - far) / (4.0 * far)) ** 2))
        i = cell * samples * samples + k
        lifted = axpy(1e-6 * (t + far), n, p)
        facing = max(0.0, dot(n, sun))
        if facing > 0.0:
            seen_out[y, x, 0] += share * sun_visible(scene, tree, lifted, sun, i, stack, stack_t)
        seen_out[y, x, 1] += share * ambient_light(scene, tree, lifted, n, i, stack, stack_t)
        shine = 0.0
        if scene.kind[s] != HALF_SPACE and facing > 0.0:
            middle = normalize((sun[0] - d[0], sun[1] - d[1], sun[2] - d[2]))
            flat = scene.kind[s] == BOX or scene.kind[s] == HULL or scene.kind[s] == MESH
            shine = (FLAT_SHINE if flat else SHINE) * max(0.0, dot(n, middle)) ** SHINE_POWER
        distant = sky((d[0], d[1], 0.0))
        for j in range(3):
            own_out[y, x, j] += share * haze * distant[j]
            sunny_out[y, x, j] += share * (1.0 - haze) * SUN[j] * (colour[j] * facing / 3.0 + shine)
            ambient_out[y, x, j] += share * (1.0 - haze) * SKY[j] * colour[j] * 0.55


@parallel_kernel
def lay_over(scene, tree, eye, axes, half, samples, image_out):
    """Mix the plain colours of a scene into an image (h, w, 3), in place."""
    height, width = image_out.shape[0], image_out.shape[1]
    for row in prange(height):
        y = np.int64(row)  # a parallel index is unsigned, which would compile everything below a second time
        stack, stack_t = np.empty(STACK_SIZE, np.int32), np.empty(STACK_SIZE)
        for x in range(width):
            red, green, blue, hits = 0.0, 0.0, 0.0, 0
            for k in range(samples * samples):
                d = ray(
                    axes, half, width, height, x + (k % samples + 0.5) / samples, y + (k // samples + 0.5) / samples
                )
                _, s = nearest_body(scene, tree, eye, d, inf, 0.0, stack, stack_t)
                if s >= 0:
                    red += scene.colour[s, 0]
                    green += scene.colour[s, 1]
                    blue += scene.colour[s, 2]
                    hits += 1
            if hits > 0:
                share = 1.0 / (samples * samples)
                image_out[y, x, 0] += share * (red - hits * image_out[y, x, 0])
                image_out[y, x, 1] += share * (green - hits * image_out[y, x, 1])
                image_out[y, x, 2] += share * (blue - hits * image_out[y, x, 2])
