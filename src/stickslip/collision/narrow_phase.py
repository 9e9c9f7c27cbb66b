"""One kernel per pair of shape types, which finds the contact points of candidate pairs, in one table.

Every kernel has the signature

    row = kernel(flat, meshes, begin, end, row)

In the flat arrays (collision/arrays.py) are pairs (np, 2) of shape indices, type[a] <= type[b], of which it takes those
from ``begin`` up to ``end``, and PlacedShapes, with the poses of all shapes and their reach: a point is reported where
its gap is at most the sum of both. It appends the points of each pair to the PointRows there, from ``row`` on, with an
id below 65536, unique in its pair, that stays with the same corner, edge or face from step to step; and it writes where
those of a pair start and how many they are. It returns the first free row, or FULL where there is no room for the most
points of another pair. Kernels of pairs with a mesh take MeshTables, others none, and limits (np,) of the gaps for the
reach of shapes; boxes and hulls have a mesh of their own for them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from stickslip.collision.mesh.manifold import MOST
from stickslip.collision.mesh.mesh_mesh import half_space_mesh, mesh_mesh
from stickslip.collision.mesh.mesh_round import round_mesh
from stickslip.collision.rigid.box_box import box_box
from stickslip.collision.rigid.convex import convex_kernel
from stickslip.collision.rigid.half_space import (
    box_half_space,
    capsule_half_space,
    cylinder_half_space,
    hull_half_space,
    sphere_half_space,
)
from stickslip.collision.rigid.primitives import (
    capsule_box,
    capsule_capsule,
    sphere_box,
    sphere_capsule,
    sphere_cylinder,
    sphere_sphere,
)
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HALF_SPACE, HULL, MESH, SPHERE

PAIR_KERNELS: dict[tuple[int, int], tuple[Callable[..., int], int]] = {
    (SPHERE, SPHERE): (sphere_sphere, 1),
    (SPHERE, CAPSULE): (sphere_capsule, 1),
    (SPHERE, BOX): (sphere_box, 1),
    (SPHERE, CYLINDER): (sphere_cylinder, 1),
    (SPHERE, HULL): (convex_kernel(SPHERE, HULL), 8),
    (SPHERE, HALF_SPACE): (sphere_half_space, 1),
    (CAPSULE, CAPSULE): (capsule_capsule, 3),
    (CAPSULE, BOX): (capsule_box, 3),
    (CAPSULE, CYLINDER): (convex_kernel(CAPSULE, CYLINDER), 8),
    (CAPSULE, HULL): (convex_kernel(CAPSULE, HULL), 8),
    (CAPSULE, HALF_SPACE): (capsule_half_space, 2),
    (BOX, BOX): (box_box, 9),
    (BOX, CYLINDER): (convex_kernel(BOX, CYLINDER), 8),
    (BOX, HULL): (convex_kernel(BOX, HULL), 8),
    (BOX, HALF_SPACE): (box_half_space, 8),
    (CYLINDER, CYLINDER): (convex_kernel(CYLINDER, CYLINDER), 8),
    (CYLINDER, HULL): (convex_kernel(CYLINDER, HULL), 8),
    (CYLINDER, HALF_SPACE): (cylinder_half_space, 6),
    (HULL, HULL): (convex_kernel(HULL, HULL), 8),
    (HULL, HALF_SPACE): (hull_half_space, 16),
    (SPHERE, MESH): (partial(round_mesh, SPHERE), MOST),
    (CAPSULE, MESH): (partial(round_mesh, CAPSULE), MOST),
    (BOX, MESH): (mesh_mesh, MOST),
    (CYLINDER, MESH): (partial(round_mesh, CYLINDER), MOST),
    (HULL, MESH): (mesh_mesh, MOST),
    (HALF_SPACE, MESH): (half_space_mesh, MOST),
    (MESH, MESH): (mesh_mesh, MOST),
}
"""Kernel and K, the most points of a pair, per pair of types; a kernel compiles when its first pair occurs."""
