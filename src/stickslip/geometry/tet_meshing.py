"""Filling of a watertight surface with tetrahedra, by fTetWild (extra ``tetwild``)."""

from __future__ import annotations

import inspect

import numpy as np
from numpy.typing import ArrayLike

from stickslip.checks import boolean, positive
from stickslip.errors import InputError, MissingDependencyError
from stickslip.geometry.tet_files import right_handed
from stickslip.geometry.tet_mesh import TetMesh
from stickslip.geometry.triangle_mesh import checked_mesh


def fill_surface(
    vertices: ArrayLike,
    triangles: ArrayLike,
    edge_length: float | None = None,
    *,
    deviation: float = 1e-3,
    stop_energy: float = 10.0,
    coarsen: bool = False,
    where: str = "surface",
) -> TetMesh:
    """Tetrahedral mesh of the solid inside a watertight surface: vertices (n, 3) [m], triangles (m, 3).

    edge_length: wanted length of edges [m], a twentieth of the bounding box's diagonal if not given; above a tenth it
    has no effect without ``coarsen``, which makes as few elements as their shape allows. deviation: how far the new
    surface may be from the given one, relative to that diagonal; its triangles are not kept. stop_energy: the elements
    are improved until their conformal energy is below it (3 is a regular element).
    fTetWild makes another mesh each time: keep one with ``write_tet_mesh`` where results must repeat.
    """
    solid = checked_mesh(vertices, triangles, where)
    size = float(np.linalg.norm(np.ptp(solid.vertices, axis=0)))
    share = 0.05 if edge_length is None else positive(where, "edge_length", edge_length) / size
    if share > 1.0:
        raise InputError(f"{where}: edge_length is {edge_length} m; it must be below the body's size, {size:.4g} m")
    if positive(where, "deviation", deviation) > 0.1:
        raise InputError(f"{where}: deviation is {deviation}, relative to the body's size; it must be below 0.1")
    if positive(where, "stop_energy", stop_energy) < 3.0:
        raise InputError(f"{where}: stop_energy is {stop_energy}; it must be above 3, that of a regular element")
    try:
        import pytetwild
    except ImportError as error:
        raise MissingDependencyError(
            f"{where}: filling it needs pytetwild ({error}); install it with: pip install 'stickslip[tetwild]'"
        ) from None
    options = {
        "edge_length_fac": share,
        "epsilon": float(deviation),
        "stop_energy": float(stop_energy),
        "coarsen": boolean(where, "coarsen", coarsen),
        "optimize": True,
        "num_threads": 1,
        "quiet": True,
        "loglevel": 6,
        "vtk_ordering": True,
    }
    known = inspect.signature(pytetwild.tetrahedralize).parameters  # older versions have fewer
    try:
        nodes, tets = pytetwild.tetrahedralize(
            solid.vertices, solid.triangles, **{name: value for name, value in options.items() if name in known}
        )[:2]
    except Exception as error:  # whatever fTetWild meets
        raise InputError(f"{where}: fTetWild could not fill it: {error}") from None
    if len(tets) == 0:
        raise InputError(f"{where}: fTetWild made no elements of it; try a smaller edge_length or deviation")
    return right_handed(np.asarray(nodes, dtype=np.float64), np.asarray(tets).astype(np.int64), where, drop_unused=True)
