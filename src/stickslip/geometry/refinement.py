"""Meshes of the same solid with more vertices: longest edges are halved until there are as many as asked for."""

from __future__ import annotations

import heapq

import numpy as np

from stickslip.arrays import Array
from stickslip.checks import whole
from stickslip.errors import InputError
from stickslip.geometry.generators import Mesh


def refined(mesh: Mesh, count: int) -> Mesh:
    """The mesh with ``count`` vertices: its longest edge is halved, and both its triangles, again and again.

    mesh: watertight, as of geometry/generators.py. The surface stays where it is, to rounding. Of edges of the same
    length the one with the smaller vertex numbers comes first, so that the result is the same everywhere.
    """
    vertices, triangles = mesh
    count = whole("refined mesh", "count", count, 0, 1_000_000)
    if count < len(vertices):
        raise InputError(f"refined mesh: count is {count}; the mesh has {len(vertices)} vertices already")
    points = [np.asarray(point, dtype=np.float64) for point in vertices]
    faces = [tuple(int(i) for i in triangle) for triangle in triangles]
    beside: dict[tuple[int, int], set[int]] = {}
    queue: list[tuple[float, int, int]] = []

    def link(i: int, j: int, face: int) -> None:
        edge = (min(i, j), max(i, j))
        if edge not in beside:
            beside[edge] = set()
            heapq.heappush(queue, (-_length(points, edge), *edge))
        beside[edge].add(face)

    for number, face in enumerate(faces):
        for k in range(3):
            link(face[k], face[(k + 1) % 3], number)
    while len(points) < count:
        _, i, j = heapq.heappop(queue)
        middle = len(points)
        points.append(0.5 * (points[i] + points[j]))
        for number in sorted(beside.pop((i, j))):
            face = faces[number]
            k = next(k for k in range(3) if {face[k], face[(k + 1) % 3]} == {i, j})
            first, second, third = face[k], face[(k + 1) % 3], face[(k + 2) % 3]
            # first - second - third becomes first - middle - third, which keeps its number, and middle - second - third
            faces[number] = (first, middle, third)
            other = (min(second, third), max(second, third))
            beside[other].remove(number)
            new = len(faces)
            faces.append((middle, second, third))
            beside[other].add(new)
            link(first, middle, number)
            link(middle, second, new)
            link(middle, third, number)
            link(middle, third, new)
    return np.array(points), np.array(faces, dtype=np.int32)


def _length(points: list[Array], edge: tuple[int, int]) -> float:
    """[m], in twelve digits: equal edges that were reached on different ways must be equal."""
    return float(f"{np.linalg.norm(points[edge[0]] - points[edge[1]]):.12e}")
