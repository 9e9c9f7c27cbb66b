"""Kernels of the narrow phase in the compiled driver, which calls them by their addresses."""

from __future__ import annotations

from functools import partial
from typing import Any

from stickslip.collision.arrays import KINDS
from stickslip.collision.narrow_phase import PAIR_KERNELS
from stickslip.collision.rigid.convex import convex_convex
from stickslip.compiled.mesh_pairs import MESH_KERNELS, flat_with_meshes
from stickslip.geometry.shapes import MESH
from stickslip.jit import is_cold, kernel_address, kernel_table
from stickslip.model.model import Model


def pair_table(model: Model) -> Any:
    """Addresses of the kernels of the narrow phase for pairs of shapes that a model has, by 8 type[a] + type[b].

    That of all pairs of convex shapes without a kernel of their own is the last.
    """
    flat, kinds = flat_with_meshes(model, 1, 1, 1), sorted({int(kind) for kind in model.shape_type})
    found: dict[int, Any] = {}
    for a in kinds:
        for b in kinds:
            kernel_of_pair = PAIR_KERNELS[a, b][0] if a <= b and (a, b) in PAIR_KERNELS else None
            if kernel_of_pair is not None and b == MESH:
                found[8 * a + b] = kernel_address(MESH_KERNELS[a], flat, (), 0, 0, 0)
            elif isinstance(kernel_of_pair, partial):
                found[KINDS] = kernel_address(convex_convex, 0, 0, flat, (), 0, 0, 0)
            elif kernel_of_pair is not None:
                found[8 * a + b] = kernel_address(kernel_of_pair, flat, (), 0, 0, 0)
    return kernel_table(found, KINDS + 1)


def pairs_are_ready(model: Model) -> bool:
    """Whether the kernels of pairs of shapes that a model has are in the cache."""
    kinds = {int(kind) for kind in model.shape_type}
    pairs = [kernel for (a, b), (kernel, _) in PAIR_KERNELS.items() if a in kinds and b in kinds and b != MESH]
    used = {(each.func if isinstance(each, partial) else each).__module__ for each in pairs}
    if MESH in kinds:
        used.add(MESH_KERNELS[MESH].__module__)
    return not any(is_cold(module, "addressed") for module in used)
