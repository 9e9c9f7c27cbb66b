"""Filled cavities of soft bodies: a pressure on a closed surface of nodes, which follows the surface.

The volume enclosed is V = sum over triangles of x_a . (x_b x x_c) / 6, and the force of a pressure p is p dV/dx. A
pressure that is given is a force; a volume that is given is a constraint with the compliance of the filling, one row:

    u = dV/dx . v + (V - V_wanted) / h,     u + V_wanted / (bulk h^2) lam = 0,     lam = h p
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.checks import finite
from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.linalg.vec3 import cross, dot, load3
from stickslip.model.soft_tables import SoftTables


def volume(triangles: Ints, x: Array) -> float:
    """Volume [m^3] enclosed by triangles (k, 3) whose normals point out of the cavity, at x (nn, 3)."""
    return float(_volume(triangles, x))


def add_forces(soft: SoftTables, x: Array, time: float, force_out: Array) -> None:
    """Add the forces of all cavities at x (nn, 3) to force_out (nn, 3) [N]."""
    for cavity in soft.cavities:
        if cavity.pressure is not None:
            _add_pressure(cavity.triangles, x, _finite("pressure", cavity.pressure(time), time), force_out)


class VolumeRow(NamedTuple):
    """The constraint of a cavity whose volume is given."""

    nodes: Ints
    """(k,)"""
    gradient: Array
    """(k, 3) [m^2] dV/dx"""
    excess: float
    """[m^3] V - V_wanted"""
    compliance: float
    """[m^3/Pa] V_wanted / bulk"""


def volume_rows(soft: SoftTables, x: Array, time: float) -> list[VolumeRow]:
    """Rows of the cavities with volume control at x (nn, 3) and a time [s]."""
    rows = []
    for cavity in soft.cavities:
        if cavity.volume is None:
            continue
        wanted = _finite("volume", cavity.volume(time), time)
        if not wanted > 0.0:
            raise InputError(f"cavity, volume at t = {time:.6g} s: it gave {wanted}; it must be positive")
        gradient = np.zeros_like(x)
        _add_pressure(cavity.triangles, x, 1.0, gradient)
        nodes = np.unique(cavity.triangles).astype(np.int32)
        excess = volume(cavity.triangles, x) - wanted
        rows.append(VolumeRow(nodes, gradient[nodes], excess, wanted / cavity.bulk))
    return rows


def _finite(what: str, value: float, time: float) -> float:
    return finite(f"cavity at t = {time:.6g} s", what, value)


@kernel
def _volume(triangles, x):
    """Sum of signed tetrahedra to the first node, which keeps rounding small far from the origin."""
    total = 0.0
    first = load3(x, triangles[0, 0])
    for t in range(triangles.shape[0]):
        a, b, c = load3(x, triangles[t, 0]), load3(x, triangles[t, 1]), load3(x, triangles[t, 2])
        a = (a[0] - first[0], a[1] - first[1], a[2] - first[2])
        b = (b[0] - first[0], b[1] - first[1], b[2] - first[2])
        c = (c[0] - first[0], c[1] - first[1], c[2] - first[2])
        total += dot(a, cross(b, c))
    return total / 6.0


@kernel
def _add_pressure(triangles, x, pressure, force_out):
    """A third of p times the area vector to each corner: what p dV/dx is over a closed surface."""
    for t in range(triangles.shape[0]):
        a, b, c = load3(x, triangles[t, 0]), load3(x, triangles[t, 1]), load3(x, triangles[t, 2])
        n = cross((b[0] - a[0], b[1] - a[1], b[2] - a[2]), (c[0] - a[0], c[1] - a[1], c[2] - a[2]))
        for k in range(3):
            f = pressure * n[k] / 6.0
            for corner in range(3):
                force_out[triangles[t, corner], k] += f
