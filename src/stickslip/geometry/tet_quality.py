"""How well shaped the elements of a tetrahedral mesh are."""

from __future__ import annotations

from dataclasses import dataclass
from math import degrees

import numpy as np

from stickslip.arrays import Array, Ints, LongInts
from stickslip.geometry.tet_checks import pair_keys, squared_edges

WORST = 10
"""Elements that a report lists."""
BINS = 10
"""Classes of the histogram of mean ratios, from 0 to 1."""
OPPOSITE = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
"""Pairs of faces (face k lies opposite corner k); the edge between two has the other two corners."""


@dataclass(frozen=True, eq=False)
class MeshQuality:
    """Shape of every element; str() gives a table. Order of elements as in the mesh."""

    mean_ratio: Array
    """(k,) 12 (3 V)^(2/3) / sum of squared edges: 1 for a regular element, 0 for a flat one."""
    smallest_angle: Array
    """(k,) [rad] smallest angle between two faces (regular: 70.5 degrees)."""
    largest_angle: Array
    """(k,) [rad]"""
    volumes: Array
    """(k,) [m^3]"""
    edge_lengths: Array
    """(ne,) [m] of all edges, each once."""
    worst: LongInts
    """(up to 10,) elements with the smallest mean ratios, worst first."""
    node_count: int
    surface_count: int
    """Triangles of the surface."""
    piece_count: int
    euler: int
    """Nodes - edges + triangles of the surface: 2 for each ball, 0 for a torus, 4 for a ball with a cavity."""
    pinched: Ints
    """(p, 2) edges where more than two triangles of the surface meet: there the mesh touches itself."""

    @property
    def histogram(self) -> LongInts:
        """(10,) number of elements with a mean ratio in 0..0.1, 0.1..0.2, ..., 0.9..1."""
        return np.histogram(self.mean_ratio, bins=BINS, range=(0.0, 1.0))[0]

    def __str__(self) -> str:
        ratio, edge, volume = self.mean_ratio, self.edge_lengths, self.volumes
        angle = f"{degrees(self.smallest_angle.min()):.1f} to {degrees(self.largest_angle.max()):.1f} degrees"
        lines = [
            f"{len(ratio)} elements, {self.node_count} nodes, {self.surface_count} surface triangles, "
            f"{self.piece_count} piece{'s' if self.piece_count > 1 else ''}",
            f"volume        {volume.sum():.6g} m^3; of an element {volume.min():.3g} to {volume.max():.3g}",
            f"edges         {edge.min():.4g} to {edge.max():.4g} m, mean {edge.mean():.4g}",
            f"face angles   {angle}",
            f"mean ratio    {ratio.min():.3f} to {ratio.max():.3f}, mean {ratio.mean():.3f} (1 is a regular element)",
        ]
        counts = self.histogram
        for k, count in enumerate(counts.tolist()):
            if count:
                bar = "#" * max(1, round(40 * count / int(counts.max())))
                lines.append(f"  {k / BINS:.1f} - {(k + 1) / BINS:.1f}  {count:>9}  {bar}")
        worst = ", ".join(f"{e} ({ratio[e]:.3f})" for e in self.worst.tolist())
        lines.append(f"worst         {worst}")
        if len(self.pinched):
            lines.append(
                f"it touches itself at {len(self.pinched)} edges, the first with nodes {self.pinched[0].tolist()}"
            )
        return "\n".join(lines)


def mesh_quality(
    nodes: Array,
    tets: Ints,
    volumes: Array,
    edges: Ints,
    surface: Ints,
    piece_count: int,
) -> MeshQuality:
    """Report on nodes (n, 3), elements (k, 4), their volumes (k,), edges (ne, 2) and surface (m, 3)."""
    ratio = 12.0 * np.cbrt(3.0 * volumes) ** 2 / squared_edges(nodes, tets).sum(axis=1)
    smallest, largest = _face_angles(nodes, tets)
    ends = np.sort(surface[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    key, count = np.unique(pair_keys(ends[:, 0], ends[:, 1], len(nodes)), return_counts=True)
    return MeshQuality(
        mean_ratio=ratio,
        smallest_angle=smallest,
        largest_angle=largest,
        volumes=volumes,
        edge_lengths=np.linalg.norm(nodes[edges[:, 1]] - nodes[edges[:, 0]], axis=1),
        worst=np.argsort(ratio, kind="stable")[:WORST],
        node_count=len(nodes),
        surface_count=len(surface),
        piece_count=piece_count,
        euler=len(np.unique(surface)) - len(key) + len(surface),
        pinched=np.stack(np.divmod(key[count > 2], len(nodes)), axis=1).astype(np.int32),
    )


def _face_angles(nodes: Array, tets: Ints) -> tuple[Array, Array]:
    """Smallest and largest angle (k,) [rad] between the faces of each element."""
    x = [nodes[tets[:, k]] for k in range(4)]
    normals = []
    # gradients of the barycentric coordinates, up to scale: each is the inward normal of the face opposite its corner
    for a, b, c in ((1, 3, 2), (0, 2, 3), (0, 3, 1), (0, 1, 2)):
        normal = np.cross(x[b] - x[a], x[c] - x[a])
        normals.append(normal / np.linalg.norm(normal, axis=1)[:, None])
    cosines = np.stack([-np.einsum("ki,ki->k", normals[a], normals[b]) for a, b in OPPOSITE], axis=1)
    return np.arccos(np.clip(cosines.max(axis=1), -1, 1)), np.arccos(np.clip(cosines.min(axis=1), -1, 1))
