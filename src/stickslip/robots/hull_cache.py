"""Convex hulls and convex pieces of meshes, kept on disk (disk_cache.py)."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.errors import InputError, MissingDependencyError
from stickslip.robots.disk_cache import Arrays, cached, digest


def hull_points(vertices: Array) -> Array:
    """Vertices (m, 3) of the convex hull of vertices (n, 3), in their order; cached on disk.

    Vertices that span no volume raise an InputError.
    """
    points = np.ascontiguousarray(vertices, dtype=np.float64)
    kept = cached(f"hull-{digest(points)}", lambda: {"corners": _hull(points)})["corners"]
    return points[kept]


def convex_pieces(vertices: Array, triangles: Ints) -> list[Array]:
    """Hull vertices of the pieces of an approximate convex decomposition (CoACD, extra ``decomposition``); cached."""
    points, corners = np.ascontiguousarray(vertices, np.float64), np.ascontiguousarray(triangles, np.int32)
    kept = cached(f"pieces-{digest(points, corners)}", lambda: _decomposed(points, corners))
    return [hull_points(kept[name]) for name in sorted(kept)]


def _hull(points: Array) -> Ints:
    """Numbers of the vertices of the hull, rising."""
    from scipy.spatial import ConvexHull, QhullError

    extent = np.ptp(points, axis=0)
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        raise InputError(f"its {len(points)} vertices span no volume (extent {extent} m)") from None
    if hull.volume < 1e-12 * extent.max() ** 3:
        raise InputError(f"its hull has no volume ({hull.volume:.3g} m^3 at an extent of {extent.max():.3g} m)")
    return np.sort(hull.vertices).astype(np.int32)


def _decomposed(points: Array, corners: Ints) -> Arrays:
    """Vertices of each piece."""
    try:
        import coacd
    except ImportError:
        raise MissingDependencyError(
            "convex pieces of meshes need coacd; install it with: pip install 'stickslip[decomposition]'"
        ) from None
    coacd.set_log_level("error")
    parts = coacd.run_coacd(coacd.Mesh(points, corners), seed=0)
    return {f"piece-{k:05d}": np.asarray(part, np.float64) for k, (part, _) in enumerate(parts)}
