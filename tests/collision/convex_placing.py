"""Pairs of convex shapes for tests, the kernel run on them, and an independent support function."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.collision.arrays import rows_in
from stickslip.collision.rigid.convex import convex_kernel
from stickslip.collision.rigid_contacts import flat_of_pairs
from stickslip.geometry.hull import HullTables, Polyhedron, polyhedron, tables
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HULL, SPHERE

TYPES = {SPHERE: "sphere", CAPSULE: "capsule", BOX: "box", CYLINDER: "cylinder", HULL: "hull"}
PAIRS = list(itertools.combinations_with_replacement(TYPES, 2))
NAMES = [f"{TYPES[a]}-{TYPES[b]}" for a, b in PAIRS]
FAR = 10.0
NONE = (0.0, 0.0, 0.0)
COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1" and os.environ.get("NUMBA_BOUNDSCHECK") != "1"


@dataclass(frozen=True, eq=False)
class Placing:
    """Shapes in a row, pair i being shapes 2i and 2i + 1, all of one pair of types."""

    types: tuple[int, int]
    position: Array
    rotation: Array
    size: Array
    hull_of: Ints
    hulls: list[Polyhedron]

    @property
    def tables(self) -> HullTables:
        return tables(self.hulls)


@dataclass(frozen=True, eq=False)
class Found:
    """Contacts of one pair."""

    point: Array
    normal: Array
    gap: Array
    feature: Ints


def contacts(placing: Placing, reach: float = FAR) -> list[Found]:
    """Run the kernel on all pairs; reach is the total of both shapes."""
    count = len(placing.position) // 2
    pairs = np.arange(2 * count, dtype=np.int32).reshape(count, 2)
    limits, rank = np.full(count, reach), np.arange(count, dtype=np.int64)
    half, types = np.full(2 * count, 0.5 * reach), np.tile(np.array(placing.types, dtype=np.int32), count)
    shapes = types, placing.position, placing.rotation, placing.size, placing.hull_of, placing.tables, half
    flat = flat_of_pairs(pairs, limits, rank, shapes)
    end = convex_kernel(*placing.types)(flat, (), 0, count, 0)
    rows = rows_in(flat)
    assert end == rows.length[:count].sum()
    assert ((rows.length[:count] >= 0) & (rows.length[:count] <= 8)).all()
    parts = [slice(first, first + k) for first, k in zip(rows.start[:count], rows.length[:count], strict=True)]
    columns = rows.point, rows.normal, rows.gap, rows.feature
    return [Found(*(column[part].copy() for column in columns)) for part in parts]


def finite(found: Found) -> bool:
    return all(np.isfinite(values).all() for values in (found.gap, found.point, found.normal))


def random_rotations(rng: np.random.Generator, count: int) -> Array:
    q, r = np.linalg.qr(rng.normal(size=(count, 3, 3)))
    q = q * np.sign(np.einsum("nii->ni", r))[:, None, :]
    q[:, :, 0] *= np.sign(np.linalg.det(q))[:, None]
    return np.ascontiguousarray(q)


def random_hulls(rng: np.random.Generator) -> list[Polyhedron]:
    return [polyhedron(0.35 * rng.normal(size=(k, 3))) for k in (4, 6, 8, 12, 20, 30)]


def random_placing(rng: np.random.Generator, types: tuple[int, int], count: int, spread: float = 1.6) -> Placing:
    """Pairs of random shapes about 1 m large whose centres are up to ``spread`` apart."""
    kind = np.tile(types, count)
    hulls = random_hulls(rng)
    position = rng.normal(size=(2 * count, 3))
    direction = rng.normal(size=(count, 3))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    position[1::2] = position[0::2] + direction * rng.uniform(0.01, spread, size=(count, 1))
    size = rng.uniform(0.1, 0.6, size=(2 * count, 3))
    size[kind == SPHERE, 1:] = 0.0
    size[(kind == CAPSULE) | (kind == CYLINDER), 2] = 0.0
    size[kind == HULL] = 0.0
    hull_of = np.where(kind == HULL, rng.integers(0, len(hulls), 2 * count), -1).astype(np.int32)
    return Placing(types, position, random_rotations(rng, 2 * count), size, hull_of, hulls)


def highest(placing: Placing, s: int, d: Array) -> Array:
    """max of d.x over shape s for directions d (n, 3): an independent support function."""
    local = d @ placing.rotation[s]
    r, half, _ = placing.size[s]
    kind = placing.types[s % 2]
    if kind == SPHERE:
        top = np.full(len(d), r)
    elif kind == CAPSULE:
        top = r + half * np.abs(local[:, 2])
    elif kind == BOX:
        top = np.abs(local) @ placing.size[s]
    elif kind == CYLINDER:
        top = r * np.hypot(local[:, 0], local[:, 1]) + half * np.abs(local[:, 2])
    else:
        top = (local @ placing.hulls[placing.hull_of[s]].vertices.T).max(axis=1)
    return top + d @ placing.position[s]


def gap_along(placing: Placing, i: int, d: Array) -> Array:
    """Signed gap of pair i along unit vectors d (n, 3); its maximum over all d is the signed distance."""
    return -highest(placing, 2 * i + 1, -d) - highest(placing, 2 * i, d)


def block(half: Array) -> Polyhedron:
    return polyhedron(np.array(list(itertools.product([-1.0, 1.0], repeat=3))) * half)


def pair(kinds, sizes, hulls, offset, turn_a=None, turn_b=None) -> Placing:
    """One pair with shape a at a position of no special digits and b at ``offset`` from it."""
    origin = np.array([0.37, -1.21, 0.83])
    rotation = np.stack([np.eye(3) if turn is None else turn for turn in (turn_a, turn_b)])
    hull_of = np.array([-1, -1], dtype=np.int32)
    for k in range(2):
        if kinds[k] == HULL:
            hull_of[k] = k if len(hulls) > 1 else 0
    return Placing(
        kinds, np.stack([origin, origin + offset]), np.ascontiguousarray(rotation), np.array(sizes), hull_of, hulls
    )
