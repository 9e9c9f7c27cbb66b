"""Pairs of shapes with random poses, collided by a kernel of ours and by coal."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from stickslip.arrays import Array, Ints, LongInts
from stickslip.collision.rigid_contacts import RawContacts, collide
from stickslip.geometry.hull import HullTables, tables
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HALF_SPACE, SPHERE

FAR = 10.0
"""Reach (m) that reports every pair here whatever its gap."""


@dataclass(frozen=True, eq=False)
class Shapes:
    """Shapes 2 i and 2 i + 1 are the pair i."""

    types: Ints
    position: Array
    rotation: Array
    size: Array
    hulls: HullTables = tables([])  # noqa: RUF009  (immutable)

    def collide(self, reach: float = FAR) -> RawContacts:
        count = len(self.types)
        hull_of = np.where(self.types == 4, 0, -1).astype(np.int32)
        pairs = np.arange(count, dtype=np.int32).reshape(-1, 2)
        # the table wants the smaller type first; the sign of the normal follows the order
        swap = self.types[pairs[:, 0]] > self.types[pairs[:, 1]]
        pairs[swap] = pairs[swap][:, ::-1]
        pose = np.ascontiguousarray(self.position), np.ascontiguousarray(self.rotation)
        return collide(pairs, self.types, *pose, self.size, hull_of, self.hulls, np.full(count, 0.5 * reach))

    def moved(self, rotation: Array, shift: Array) -> Shapes:
        return replace(self, position=self.position @ rotation.T + shift, rotation=rotation @ self.rotation)

    def swapped(self) -> Shapes:
        order = np.arange(len(self.types)).reshape(-1, 2)[:, ::-1].ravel()
        fields = ("types", "position", "rotation", "size")
        return replace(self, **{name: np.ascontiguousarray(getattr(self, name)[order]) for name in fields})


def pair(type_a, size_a, position_a, type_b, size_b, position_b, rotation_a=None, rotation_b=None) -> Shapes:
    """One pair; rotations as (3, 3) matrices, identity by default."""
    turns = [np.eye(3) if turn is None else turn for turn in (rotation_a, rotation_b)]
    position = np.array([position_a, position_b], float)
    return Shapes(np.array([type_a, type_b], np.int32), position, np.array(turns), np.array([size_a, size_b], float))


def random_pairs(type_a: int, type_b: int, count: int, seed: int, spread: float = 0.8) -> Shapes:
    """Pairs of sizes between 0.1 and 0.5 m, about a third of them overlapping."""
    rng = np.random.default_rng(seed)
    size = rng.uniform(0.1, 0.5, (2 * count, 3))
    rotation = Rotation.random(2 * count, rng=rng).as_matrix()
    types = np.tile(np.array([type_a, type_b], np.int32), count)
    return Shapes(types, rng.uniform(-spread, spread, (2 * count, 3)), np.ascontiguousarray(rotation), size)


def deepest(contacts: RawContacts) -> LongInts:
    """Index of the contact with the smallest gap of each pair, in the order of the pairs."""
    order = np.lexsort((contacts.gap, contacts.shape_a // 2))
    first = np.unique(contacts.shape_a[order] // 2, return_index=True)[1]
    return order[first]


def coal_distance(shapes: Shapes) -> tuple[Array, Array]:
    """Signed distance and normal (first to second) of every pair by coal."""
    import coal

    def geometry(s):
        size, kind = shapes.size[s], shapes.types[s]
        if kind == SPHERE:
            return coal.Sphere(size[0])
        if kind == CAPSULE:
            return coal.Capsule(size[0], 2.0 * size[1])
        if kind == BOX:
            return coal.Box(*(2.0 * size))
        if kind == CYLINDER:
            return coal.Cylinder(size[0], 2.0 * size[1])
        assert kind == HALF_SPACE
        return coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)

    request = coal.DistanceRequest()
    request.gjk_tolerance = request.epa_tolerance = 1e-9
    request.gjk_max_iterations = request.epa_max_iterations = 512
    distance, normal = [], []
    for a in range(0, len(shapes.types), 2):
        poses = [coal.Transform3s(shapes.rotation[s], shapes.position[s]) for s in (a, a + 1)]
        result = coal.DistanceResult()
        distance.append(coal.distance(geometry(a), poses[0], geometry(a + 1), poses[1], request, result))
        normal.append(result.normal)
    return np.array(distance), np.array(normal)
