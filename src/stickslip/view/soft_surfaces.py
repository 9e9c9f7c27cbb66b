"""Surfaces of soft bodies for the ray tracer: triangles where the nodes are now, with a new tree in every picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from stickslip.errors import InputError
from stickslip.geometry.mesh_tree import build_tree
from stickslip.soft_tables import SoftTables

if TYPE_CHECKING:
    from stickslip.soft_reading import ElementReport

Quantity = Literal["von-mises", "strain", "energy"]
QUANTITIES: tuple[Quantity, ...] = get_args(Quantity)
SCALE = np.array(
    [(0.267, 0.005, 0.329), (0.229, 0.322, 0.546), (0.128, 0.567, 0.551), (0.369, 0.789, 0.383), (0.993, 0.906, 0.144)]
)
"""sRGB colours from the least to the largest value."""


class SoftSurfaces(NamedTuple):
    """The surfaces of ns soft bodies as meshes that follow others in the tables of a TracedScene; nt triangles."""

    lower: NDArray[np.float64]
    """(ns, 3) [m] box of each."""
    upper: NDArray[np.float64]
    start: NDArray[np.int64]
    """(ns, 2) first and last node of the tree of each."""
    bounds: NDArray[np.float64]
    links: NDArray[np.int32]
    """Nodes of those trees, as in geometry/mesh_tree.py."""
    nodes: NDArray[np.int32]
    """(nt, 3) nodes of the triangles, in the order of the trees."""


def soft_surfaces(soft: SoftTables, x: NDArray[np.float64], tree_nodes: int, triangles: int) -> SoftSurfaces:
    """Surfaces with nodes at x (nn, 3) [m], after as many nodes of trees and triangles of other meshes."""
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


def element_values(report: ElementReport, quantity: str, volume: NDArray[np.float64]) -> NDArray[np.float64]:
    """One number (nt,) an element: von Mises' stress [Pa], the largest principal strain, or strain energy [J/m^3]."""
    match quantity:
        case "von-mises":
            return report.von_mises
        case "strain":
            return np.abs(np.linalg.eigvalsh(report.strain)).max(axis=1)
        case "energy":
            return report.energy / volume
    raise InputError(f"picture: colour by {quantity!r} is unknown; it must be one of {', '.join(QUANTITIES)}")


def node_colours(
    soft: SoftTables, values: NDArray[np.float64], limits: tuple[float, float] | None
) -> NDArray[np.float64]:
    """sRGB (nn, 3) of the nodes, for values (nt,) of elements: at a node their mean, weighted by volume.

    limits: values of the first and the last colour; where None, zero (or the least, if negative) and the largest.
    """
    elements = soft.elements
    if values.shape != elements.volume.shape or not np.isfinite(values).all():
        raise InputError(f"picture: values have shape {values.shape}; {elements.volume.shape} finite ones are needed")
    share = np.repeat(elements.volume, 4)
    total = np.bincount(elements.nodes.ravel(), share, soft.node_count)
    mean = np.bincount(elements.nodes.ravel(), share * np.repeat(values, 4), soft.node_count)
    mean = np.divide(mean, total, out=np.zeros(soft.node_count), where=total > 0.0)
    low, high = limits or (min(0.0, float(mean.min())), float(mean.max()))
    place = np.clip((mean - low) / max(high - low, 1e-300), 0.0, 1.0)
    anchors = np.linspace(0.0, 1.0, len(SCALE))
    return np.stack([np.interp(place, anchors, SCALE[:, k]) for k in range(3)], axis=1)
