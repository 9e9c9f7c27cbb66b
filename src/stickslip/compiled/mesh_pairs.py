"""Pairs with meshes in the compiled driver: tables of meshes behind those of shapes, and kernels that find them there.

So compiled steps need not be compiled anew for models with meshes. Pairs of meshes are looked at by one thread; their
contacts are those that the threads of the Python driver find.
"""

from __future__ import annotations

import numpy as np

from stickslip.collision.arrays import GAP, Flat, real, rows_in
from stickslip.collision.mesh.crossing_edges import LEAVES
from stickslip.collision.mesh.manifold import CAPACITY, MOST, close_up
from stickslip.collision.mesh.mesh_mesh import half_space_mesh, mesh_pair
from stickslip.collision.mesh.mesh_round import round_mesh
from stickslip.collision.rigid.manifold import FULL
from stickslip.collision.rigid_space import rigid_flat
from stickslip.geometry.mesh_tables import MeshTables
from stickslip.geometry.mesh_tree import LEAF
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HALF_SPACE, HULL, MESH, SPHERE
from stickslip.jit import allocating_kernel, inner_kernel, plain_kernel
from stickslip.model.model import Model

WIDTHS = MeshTables(7, 14, 6, 1, 7, 3, 4, 6, 3, 1)  # type: ignore[arg-type]
"""Columns of each table of meshes."""
SIZES = len(WIDTHS)
"""Numbers at the end of ``Flat.longs``: rows of each table."""


def flat_with_meshes(model: Model, pairs: int, points: int, contacts: int) -> Flat:
    """rigid_flat, with the tables of meshes behind its parts where a model has meshes."""
    flat = rigid_flat(model, pairs, points, contacts)
    if not (model.shape_type == MESH).any():
        return flat
    meshes = model.meshes
    grid = np.concatenate([meshes.grid, np.zeros(len(meshes.grid) % 2, np.float32)])  # two in the place of one number
    reals = [meshes.frames, meshes.vertices, meshes.normals, meshes.bounds, grid.view(np.float64)]
    ints = [meshes.around, meshes.triangles, meshes.edges, meshes.links]
    longs = [meshes.starts, np.array([len(table) for table in meshes])]
    return flat._replace(
        reals=np.concatenate([flat.reals, *(each.ravel() for each in reals)]),
        ints=np.concatenate([flat.ints, *(each.ravel() for each in ints)]),
        longs=np.concatenate([flat.longs, *(each.ravel() for each in longs)]),
    )


@inner_kernel
def _size(flat, table):
    """Rows of a table of meshes."""
    return flat.longs[flat.longs.shape[0] - SIZES + table]


@plain_kernel
def meshes_in(flat):
    """The tables of meshes behind the parts of flat arrays."""
    starts, frames, vertices, around, triangles = (
        _size(flat, 0), _size(flat, 1), _size(flat, 2), _size(flat, 3), _size(flat, 4)
    )  # fmt: skip
    normals, edges, bounds, links, grid = _size(flat, 5), _size(flat, 6), _size(flat, 7), _size(flat, 8), _size(flat, 9)
    end = flat.longs.shape[0] - SIZES
    longs = flat.longs[end - 7 * starts : end]
    whole = around + 7 * triangles + 4 * edges + 3 * links
    ints = flat.ints[flat.ints.shape[0] - whole :]
    a, b = around + 7 * triangles, around + 7 * triangles + 4 * edges
    numbers = 14 * frames + 6 * vertices + 3 * normals + 6 * bounds + (grid + 1) // 2
    reals = flat.reals[flat.reals.shape[0] - numbers :]
    c = 14 * frames
    d = c + 6 * vertices
    e = d + 3 * normals
    f = e + 6 * bounds
    return MeshTables(
        longs.reshape((starts, 7)), reals[:c].reshape((frames, 14)), reals[c:d].reshape((vertices, 6)), ints[:around],
        ints[around:a].reshape((triangles, 7)), reals[d:e].reshape((normals, 3)), ints[a:b].reshape((edges, 4)),
        reals[e:f].reshape((bounds, 6)), ints[b:].reshape((links, 3)), reals[f:].view(np.float32)[:grid],
    )  # fmt: skip


@allocating_kernel
def sphere_mesh(flat, nothing, begin, end, row):
    """As in the narrow phase, for spheres and meshes."""
    return round_mesh(SPHERE, flat, meshes_in(flat), begin, end, row)


@allocating_kernel
def capsule_mesh(flat, nothing, begin, end, row):
    """For capsules and meshes."""
    return round_mesh(CAPSULE, flat, meshes_in(flat), begin, end, row)


@allocating_kernel
def cylinder_mesh(flat, nothing, begin, end, row):
    """For cylinders and meshes."""
    return round_mesh(CYLINDER, flat, meshes_in(flat), begin, end, row)


@allocating_kernel
def mesh_on_half_space(flat, nothing, begin, end, row):
    """For half-spaces and meshes."""
    return half_space_mesh(flat, meshes_in(flat), begin, end, row)


@allocating_kernel
def faceted_mesh(flat, nothing, begin, end, row):
    """For meshes, boxes and hulls: mesh_mesh.mesh_mesh on one thread."""
    if row + MOST * (end - begin) > real(flat, GAP).shape[0]:
        return FULL
    meshes, found = meshes_in(flat), np.empty((CAPACITY, 8))
    ends, leaves = np.empty((LEAF, 8)), np.empty(LEAVES, np.int64)
    for i in range(begin, end):
        mesh_pair(i, row + MOST * (i - begin), flat, meshes, found, ends, leaves)
    return close_up(begin, end, row, rows_in(flat))


MESH_KERNELS = {
    SPHERE: sphere_mesh, CAPSULE: capsule_mesh, BOX: faceted_mesh, CYLINDER: cylinder_mesh, HULL: faceted_mesh,
    HALF_SPACE: mesh_on_half_space, MESH: faceted_mesh,
}  # fmt: skip
"""By the kind of shape that meets a mesh."""
