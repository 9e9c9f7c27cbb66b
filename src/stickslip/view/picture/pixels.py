"""Passes over the pixels of a picture: light along one ray each, more rays at edges, and what lies over it all.

Rows are spread over threads; each pixel is written by one of them, so the picture does not depend on their number.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, Ints
from stickslip.jit import kernel, parallel_kernel, prange
from stickslip.linalg.vec3 import add, axpy, dot, normalize, scale
from stickslip.view.picture.ray_tracer import (
    COLOUR,
    STACK_SIZE,
    local_normal,
    nearest_body,
    nearest_plane,
    to_local,
    to_world_direction,
    triple,
)
from stickslip.view.picture.shading import PATTERN, SKY, SUN, sample

if TYPE_CHECKING:
    from stickslip.view.picture.camera import Camera

OWN, SUNNY, AMBIENT, SUN_SEEN, SKY_SEEN, LIGHT = 0, 3, 6, 9, 10, 11
"""Columns of light: see shading.sample."""
ALIKE = 0.9
"""Cosine between normals from which pixels of one shape belong to the same smooth surface."""
OUTLINE = 0.35
"""Light of marks where they turn away from the eye, relative to where they face it."""
CLEAR, RIM = 0.16, 0.55
"""How opaque glass is, looked through straight and along its surface."""
PANE, PANE_RIM, PANE_EDGE = 0.09, 0.30, 0.55
"""The same of walls, which are many layers, and of their edges."""


class Canvas(NamedTuple):
    """What is known of each pixel of a picture; films use one for all frames."""

    light: NDArray[np.float32]
    """(h, w, 11)"""
    code: Ints
    """(h, w) shape and part of its pattern, -1 for the sky."""
    normal: NDArray[np.float32]
    """(h, w, 3) world."""
    chosen: Bools
    """(h, w) pixels that a pass is about."""
    image: NDArray[np.float32]
    """(h, w, 3) linear RGB."""


class Lens(NamedTuple):
    """Where rays start and where they go."""

    eye: Array
    """(3,) [m] world."""
    axes: Array
    """(3, 3) right, up and forward."""
    half: Array
    """(2,) half width and half height of the picture at unit distance."""


def lens_of(view: Camera, width: int, height: int) -> Lens:
    """The lens of a camera for pictures of that size."""
    return Lens(
        np.ascontiguousarray(view.eye), np.ascontiguousarray(view.axes), np.array(view.half_size(width, height))
    )


def canvas(width: int, height: int) -> Canvas:
    """An empty canvas."""
    return Canvas(
        np.empty((height, width, LIGHT), np.float32),
        np.empty((height, width), np.int32),
        np.empty((height, width, 3), np.float32),
        np.empty((height, width), np.bool_),
        np.empty((height, width, 3), np.float32),
    )


@kernel
def spread_row(row, height):
    """A row for each row, such that those that one thread gets lie all over the picture and cost alike."""
    step = int(0.618 * height) | 1
    while _common(step, height) > 1:
        step += 2
    return np.int64(row) * step % height


@kernel
def _common(a, b):
    """Greatest common divisor."""
    while b > 0:
        a, b = b, a % b
    return a


@kernel
def origin(lens):
    """The eye as a vector."""
    return lens.eye[0], lens.eye[1], lens.eye[2]


@kernel
def ray(lens, width, height, x, y):
    """Direction of the ray through the point (x, y) of a picture, in pixels from its upper left corner."""
    axes, half = lens.axes, lens.half
    right, up = (2.0 * x / width - 1.0) * half[0], (1.0 - 2.0 * y / height) * half[1]
    return normalize(add(triple(axes, 2, 0), add(scale(right, triple(axes, 0, 0)), scale(up, triple(axes, 1, 0)))))


@parallel_kernel
def expose(scene, lens, light, samples, rays, chosen, light_out, code_out, normal_out):
    """Light of the chosen pixels: the mean over samples x samples rays, with ``rays`` to sun and sky each.

    With one sample also code and normal, of the middle of the pixel.
    """
    height, width = code_out.shape
    for row in prange(height):
        y = spread_row(row, height)
        stack = np.empty((STACK_SIZE, 2))
        for x in range(width):
            if not chosen[y, x]:
                continue
            share = 1.0 / (samples * samples)
            cell = ((y % 4) * 4 + x % 4) * 5 % PATTERN  # a multiple that is prime to 16 spreads neighbours
            own, sunny, ambient, sun_seen, sky_seen = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0, 0.0
            for k in range(samples * samples):
                d = ray(lens, width, height, x + (k % samples + 0.5) / samples, y + (k // samples + 0.5) / samples)
                first = (cell * samples * samples + k) * rays
                a, b, c, u, w, code, n = sample(scene, light, origin(lens), d, first, rays, stack)
                own, sunny, ambient = axpy(share, a, own), axpy(share, b, sunny), axpy(share, c, ambient)
                sun_seen, sky_seen = sun_seen + share * u, sky_seen + share * w
                if samples == 1:
                    code_out[y, x] = code
                    for j in range(3):
                        normal_out[y, x, j] = n[j]
            for j in range(3):
                light_out[y, x, OWN + j] = own[j]
                light_out[y, x, SUNNY + j] = sunny[j]
                light_out[y, x, AMBIENT + j] = ambient[j]
            light_out[y, x, SUN_SEEN] = sun_seen
            light_out[y, x, SKY_SEEN] = sky_seen


@kernel
def _alike(normal, y, x, v, u):
    """Whether two pixels have nearly the same normal."""
    cosine = normal[y, x, 0] * normal[v, u, 0] + normal[y, x, 1] * normal[v, u, 1] + normal[y, x, 2] * normal[v, u, 2]
    return cosine > ALIKE


@parallel_kernel
def find_edges(code, normal, chosen_out):
    """Choose the pixels beside which another shape, face or part of a pattern begins, and leave those chosen before."""
    height, width = code.shape
    for row in prange(height):
        y = np.int64(row)  # a parallel index is unsigned, which would compile everything below a second time
        for x in range(width):
            here = code[y, x]
            edge = False
            for k in range(4):
                v = min(height - 1, max(0, y + (k - 1) * (1 - k % 2)))  # k = 0, 2: above, below
                u = min(width - 1, max(0, x + (k - 2) * (k % 2)))  # k = 1, 3: left, right
                if code[v, u] != here or (here >= 0 and not _alike(normal, y, x, v, u)):
                    edge = True
            if edge:
                chosen_out[y, x] = True


@parallel_kernel
def compose(light, code, normal, image_out):
    """Linear RGB (h, w, 3): light times visibility, that averaged over four by four pixels of a surface."""
    height, width = code.shape
    for row in prange(height):
        y = np.int64(row)
        for x in range(width):
            shape = code[y, x] >> 1  # without the part of the pattern; -1 stays -1
            sun_seen, sky_seen, count = 0.0, 0.0, 0.0
            for v in range(max(0, y - 1), min(height, y + 3)):
                for u in range(max(0, x - 1), min(width, x + 3)):
                    if code[v, u] >> 1 == shape and (shape < 0 or _alike(normal, y, x, v, u)):
                        sun_seen += light[v, u, SUN_SEEN]
                        sky_seen += light[v, u, SKY_SEEN]
                        count += 1.0
            sun_seen, sky_seen = sun_seen / count, sky_seen / count
            for j in range(3):
                sunny, ambient = light[y, x, SUNNY + j], light[y, x, AMBIENT + j]
                image_out[y, x, j] = light[y, x, OWN + j] + sun_seen * sunny + sky_seen * ambient


@kernel
def _marked_pixel(shapes, parts, tree, lens, samples, x, y, width, height, stack):
    """Sum of the colours that samples x samples rays of a pixel meet, darker at outlines, and how many meet any."""
    eye, total, hits = origin(lens), (0.0, 0.0, 0.0), 0
    for k in range(samples * samples):
        d = ray(lens, width, height, x + (k % samples + 0.5) / samples, y + (k // samples + 0.5) / samples)
        t, s, triangle = nearest_body(shapes, parts, tree, eye, d, inf, 0.0, stack)
        if s >= 0:
            n = local_normal(shapes, parts, s, triangle, to_local(shapes, s, axpy(t, d, eye)))
            facing = min(1.0, abs(dot(to_world_direction(shapes, s, n), d)))
            total = axpy(OUTLINE + (1.0 - OUTLINE) * facing, triple(shapes, s, COLOUR), total)
            hits += 1
    return total, hits


@parallel_kernel
def lay_over(shapes, parts, tree, lens, samples, image_out):
    """Mix marks in their own colours into an image (h, w, 3), in place; they are darker where they turn away, which
    tells those that overlap apart."""
    height, width = image_out.shape[0], image_out.shape[1]
    for row in prange(height):
        y = spread_row(row, height)
        stack = np.empty((STACK_SIZE, 2))
        for x in range(width):
            found = _marked_pixel(shapes, parts, tree, lens, samples, x, y, width, height, stack)
            if found[1] > 0:
                share = 1.0 / (samples * samples)
                for j in range(3):
                    image_out[y, x, j] += share * (found[0][j] - found[1] * image_out[y, x, j])


@kernel
def _glass_pixel(scene, lens, sun, samples, x, y, width, height, stack):
    """Light of the glass before the bodies of a pixel and how much it covers, in sums over samples x samples rays."""
    shapes, parts, eye, to_sun = scene.shapes, scene.parts, origin(lens), (sun[0], sun[1], sun[2])
    total, cover = (0.0, 0.0, 0.0), 0.0
    for k in range(samples * samples):
        d = ray(lens, width, height, x + (k % samples + 0.5) / samples, y + (k // samples + 0.5) / samples)
        limit, _ = nearest_plane(shapes, scene.planes, eye, d, inf)
        t, s, triangle = nearest_body(shapes, parts, scene.glass, eye, d, limit, 0.0, stack)
        if s < 0:
            continue
        _, before, _ = nearest_body(shapes, parts, scene.tree, eye, d, t, inf, stack)
        if before < 0:
            n = local_normal(shapes, parts, s, triangle, to_local(shapes, s, axpy(t, d, eye)))
            n = to_world_direction(shapes, s, n)
            opaque = CLEAR + RIM * (1.0 - min(1.0, abs(dot(n, d)))) ** 3
            own, bright = triple(shapes, s, COLOUR), max(0.0, dot(n, to_sun)) / 3.0
            light = (
                own[0] * (bright * SUN[0] + 0.55 * SKY[0]),
                own[1] * (bright * SUN[1] + 0.55 * SKY[1]),
                own[2] * (bright * SUN[2] + 0.55 * SKY[2]),
            )
            total = axpy(opaque, light, total)
            cover += opaque
    return total, cover


@parallel_kernel
def lay_glass(scene, lens, sun, samples, image_out):
    """Mix what is drawn as glass into an image (h, w, 3), in place: clear, denser where it is seen from the side.

    sun (3,): direction to it.
    """
    height, width = image_out.shape[0], image_out.shape[1]
    for row in prange(height):
        y = spread_row(row, height)
        stack = np.empty((STACK_SIZE, 2))
        for x in range(width):
            found = _glass_pixel(scene, lens, sun, samples, x, y, width, height, stack)
            if found[1] > 0.0:
                share = 1.0 / (samples * samples)
                for j in range(3):
                    image_out[y, x, j] += share * (found[0][j] - found[1] * image_out[y, x, j])


@kernel
def _paned_ray(panes, eye, d, limit, rim, pixel):
    """Light that panes before ``limit`` add to a ray, the share of what is behind them that is left, and whether an
    edge of one is nearer to the ray than a pixel, which is ``pixel`` wide at distance 1."""
    total, left, edge, row = (0.0, 0.0, 0.0), 1.0, False, 0
    while row < panes.shape[0]:
        n, here, end = triple(panes, row, 0), row, row + 1 + int(panes[row, 7])
        row = end
        fall = dot(n, d)
        t = (panes[here, 3] - dot(n, eye)) / fall if fall != 0.0 else inf
        if not 0.0 < t < limit:
            continue
        p, inside = axpy(t, d, eye), inf
        for e in range(here + 1, end):
            inside = min(inside, dot(triple(panes, e, 0), p) - panes[e, 3])
        near = pixel * t / max(abs(fall), 0.02)
        edge |= -near < inside < rim + near
        if inside >= 0.0:
            opaque = PANE_EDGE if inside < rim else PANE + PANE_RIM * (1.0 - min(1.0, abs(fall))) ** 3
            total = axpy(left * opaque, triple(panes, here, 4), total)
            left *= 1.0 - opaque
    return total, left, edge


@kernel
def _paned_pixel(scene, panes, lens, rim, samples, chosen, x, y, width, height, stack):
    """Light of the panes before the bodies of a pixel, and the share that they leave; means over its rays.

    One ray where neither a body (``chosen``) nor a pane has an edge, else samples x samples.
    """
    shapes, eye, pixel = scene.shapes, origin(lens), 2.0 * lens.half[0] / width
    d = ray(lens, width, height, x + 0.5, y + 0.5)
    total, left, edge = _paned_ray(panes, eye, d, inf, rim, pixel)
    if left == 1.0 and not edge:
        return total, left
    n, limit = (samples if chosen or edge else 1), 0.0
    total, left = (0.0, 0.0, 0.0), 0.0
    for k in range(n * n):
        d = ray(lens, width, height, x + (k % n + 0.5) / n, y + (k // n + 0.5) / n)
        if k == 0 or chosen:
            limit, _ = nearest_plane(shapes, scene.planes, eye, d, inf)
            limit, _, _ = nearest_body(shapes, scene.parts, scene.tree, eye, d, limit, 0.0, stack)
        light, clear, _ = _paned_ray(panes, eye, d, limit, rim, pixel)
        total, left = axpy(1.0 / (n * n), light, total), left + clear / (n * n)
    return total, left


@parallel_kernel
def lay_panes(scene, panes, lens, rim, samples, chosen, image_out):
    """Mix panes (wall_panes.pane_rows) into an image (h, w, 3), in place, where no body is before them.

    rim [m]: width of their edges. chosen (h, w): pixels in which bodies have edges.
    """
    height, width = image_out.shape[0], image_out.shape[1]
    for row in prange(height):
        y = spread_row(row, height)
        stack = np.empty((STACK_SIZE, 2))
        for x in range(width):
            found = _paned_pixel(scene, panes, lens, rim, samples, chosen[y, x], x, y, width, height, stack)
            if found[1] < 1.0:
                for j in range(3):
                    image_out[y, x, j] = found[0][j] + found[1] * image_out[y, x, j]
