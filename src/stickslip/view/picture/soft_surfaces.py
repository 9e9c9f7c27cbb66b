"""Surfaces of soft bodies for the ray tracer: triangles where the nodes are now, with a new tree in every picture."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints, LongInts
from stickslip.geometry.mesh_tree import build_tree
from stickslip.model.soft_tables import SoftTables


class SoftSurfaces(NamedTuple):
    """The surfaces of ns soft bodies as rows of the parts of a TracedScene; nt triangles."""

    lower: Array
    """(ns, 3) [m] box of each."""
    upper: Array
    start: LongInts
    """(ns, 2) first and last node of the tree of each."""
    bounds: Array
    links: Ints
    """Nodes of those trees, as in geometry/mesh_tree.py."""
    nodes: Ints
    """(nt, 3) nodes of the triangles, in the order of the trees."""


def soft_surfaces(soft: SoftTables, x: Array, tree_nodes: int, triangles: int) -> SoftSurfaces:
    """Surfaces with nodes at x (nn, 3) [m]; the first row of their trees, and that of their triangles."""
    surface = soft.surface
    count = soft.count
    lower, upper, start = np.empty((count, 3)), np.empty((count, 3)), np.empty((count, 2), np.int64)
    bounds, links, nodes = [np.zeros((0, 6))], [np.zeros((0, 3), np.int32)], [np.zeros((0, 3), np.int32)]
    for s in range(count):
        own = surface.triangles[surface.triangle_body == s]
        corner = x[own]
        tree = build_tree(corner.min(axis=1), corner.max(axis=1))
        lower[s], upper[s] = tree.bounds[0, :3], tree.bounds[0, 3:]
        start[s] = tree_nodes, tree_nodes + len(tree.bounds)
        bounds.append(tree.bounds)
        links.append(tree.links + np.array([tree_nodes, triangles, 0], np.int32))
        nodes.append(own[tree.order])
        tree_nodes, triangles = tree_nodes + len(tree.bounds), triangles + len(own)
    return SoftSurfaces(lower, upper, start, np.concatenate(bounds), np.concatenate(links), np.concatenate(nodes))
