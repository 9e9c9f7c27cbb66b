"""Reference of the scene cylinder-press: how far plates press a rubber cylinder, by statics and mixed finite elements.

Shares constants with the scene and nothing else: no contact solver, no time, no tetrahedra. A quarter of the disc in
plane strain, symmetric about both axes, under a smooth rigid plate at a given height. Positions x(X) and pressures p
make

    Pi(x, p) = int  C1 (J^(-2/3) I1 - 3) + C2 (J^(-4/3) I2 - 3) + p (J - 1) - p^2 / (2 bulk)  dX

stationary, with F = dx/dX, J = det F and, since F_33 = 1, I1 = |F|^2 + 1, I2 = |F|^2 + J^2. The pressure equation says
p = bulk (J - 1) on the mean, so the rubber is that of the scene, and nearly incompressible elements do not lock: x is
biquadratic on quadrilaterals of nine nodes and p linear within each (1, xi, eta; it jumps between elements), the 9/3
element of [sussman1987], integrated with 3 x 3 points. Newton's method solves for x and p; nodes of the rim that would
be above the plate are put on it, and those that it would have to pull are let go, until neither happens.

The plate comes down by equal steps; the displacement at a load is interpolated between them (monotone cubic). Forces
are in MN/m and stresses in MPa. CPU time: about 10 s with 3 divisions (27 elements), 40 s with 6 (108 elements).
"""

from __future__ import annotations

import argparse
import json
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.interpolate import PchipInterpolator
from scipy.sparse import csc_array
from scipy.sparse.linalg import spsolve

from stickslip.arrays import Array, Bools, LongInts
from stickslip.scenes.cylinder_press import FULL_LOAD, MOONEY, OWN, RADIUS, REFERENCE

C1, C2, BULK = (1e-6 * modulus for modulus in MOONEY)
"""[MPa]"""
STEP = 0.002
"""[m] by which plates come nearer to each other from one solution to the next."""
WORDS = 21
"""Unknowns of an element: nine positions in the plane and three pressures."""
CURL = np.zeros((2, 2, 2, 2))
"""d cof F / dF of a matrix (2, 2), which does not depend on F."""
CURL[[0, 1], [0, 1], [1, 0], [1, 0]] = 1.0
CURL[[0, 1], [1, 0], [1, 0], [0, 1]] = -1.0


class Mesh(NamedTuple):
    """Elements of the quarter x, y >= 0 of the disc, with what their integrals need."""

    nodes: Array
    """(nn, 2) [m] at rest."""
    quads: LongInts
    """(ne, 9) nodes of each element, three by three."""
    gradient: Array
    """(ne, 9 points, 9 nodes, 2) [1/m] of the shape functions."""
    weight: Array
    """(ne, 9) [m^2] area that each point stands for."""
    pressure: Array
    """(9, 3) shapes 1, xi, eta of the pressure at the points."""
    numbers: LongInts
    """(ne, 21) unknowns of each element: positions, then pressures, all positions of the mesh first."""

    @property
    def unknowns(self) -> int:
        """Positions and pressures of the whole mesh."""
        return 2 * len(self.nodes) + 3 * len(self.quads)


def quarter_disc(divisions: int) -> Mesh:
    """Three blocks of ``divisions`` squared elements: one around the centre, two between it and the rim."""
    k = 2 * divisions + 1
    u, v = (each[..., None] for each in np.meshgrid(*[np.linspace(0.0, 1.0, k)] * 2, indexing="ij"))

    def block(low: tuple[Array, Array], high: Array) -> Array:
        """Points (k, k, 2) on straight lines from the edge between two corners to points (k, 1, 2) opposite to it."""
        return (1.0 - v) * ((1.0 - u) * low[0] + u * low[1]) + v * high

    def rim(start: float, end: float) -> Array:
        angle = start + (end - start) * u
        return RADIUS * np.concatenate([np.cos(angle), np.sin(angle)], axis=-1)

    centre, right, top = RADIUS * np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5]])
    inner = RADIUS * np.full(2, 0.6 * np.sqrt(0.5))
    points = np.stack([
        block((centre, right), (1.0 - u) * top + u * inner),
        block((inner, right), rim(0.25 * np.pi, 0.0)),
        block((top, inner), rim(0.5 * np.pi, 0.25 * np.pi)),
    ])  # fmt: skip
    grid = np.arange(3 * k * k).reshape(3, k, k)
    quads = sliding_window_view(grid, (3, 3), axis=(1, 2))[:, ::2, ::2].reshape(-1, 9)
    rounded = np.rint(points.reshape(-1, 2) / (1e-9 * RADIUS)).astype(np.int64)
    _, first, same = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    return _with_integrals(points.reshape(-1, 2)[first], same.ravel()[quads])


def _with_integrals(nodes: Array, quads: LongInts) -> Mesh:
    """A mesh from nodes (nn, 2) [m] and elements (ne, 9)."""
    s, w = np.polynomial.legendre.leggauss(3)
    shape = np.stack([0.5 * s * (s - 1.0), 1.0 - s * s, 0.5 * s * (s + 1.0)], axis=-1)  # (points, nodes) of a line
    slope = np.stack([s - 0.5, -2.0 * s, s + 0.5], axis=-1)
    local = np.stack([np.kron(slope, shape), np.kron(shape, slope)], axis=-1)  # (9 points, 9 nodes, 2)
    to_world = np.einsum("qkx,ekc->eqcx", local, nodes[quads])
    gradient = np.einsum("qkx,eqxc->eqkc", local, np.linalg.inv(to_world))
    weight = np.kron(w, w) * np.abs(np.linalg.det(to_world))
    xi, eta = (each.ravel() for each in np.meshgrid(s, s, indexing="ij"))
    count = len(quads)
    positions = (2 * quads[:, :, None] + np.arange(2)).reshape(count, 18)
    pressures = 2 * len(nodes) + np.arange(3 * count).reshape(count, 3)
    numbers = np.concatenate([positions, pressures], axis=1)
    return Mesh(nodes, quads, gradient, weight, np.stack([np.ones(9), xi, eta], axis=-1), numbers)


def rubber(F: Array, p: Array) -> tuple[Array, Array, Array, Array]:
    """Derivatives of the energy density at F (..., 2, 2) and pressures p (...): by F, by F twice, J, and cof F.

    Shapes (..., 2, 2) and (..., 2, 2, 2, 2) [MPa], (...) and (..., 2, 2).
    """
    two, four = np.s_[..., None, None], np.s_[..., None, None, None, None]
    J = np.linalg.det(F)
    cof = np.stack([F[..., 1, 1], -F[..., 1, 0], -F[..., 0, 1], F[..., 0, 0]], axis=-1).reshape(F.shape)

    def outer(a: Array, b: Array) -> Array:
        return np.einsum("...ij,...kl->...ijkl", a, b)

    square = np.sum(F * F, axis=(-1, -2))
    cof_cof = outer(cof, cof)
    d_square = 2.0 * np.einsum("ik,jl->ijkl", np.eye(2), np.eye(2))
    P, H = p[two] * cof, p[four] * CURL
    for modulus, power, invariant, by_F, by_FF in (
        (C1, -2.0 / 3.0, square + 1.0, 2.0 * F, d_square),
        (C2, -4.0 / 3.0, square + J * J, 2.0 * (F + J[two] * cof), d_square + 2.0 * (cof_cof + J[four] * CURL)),
    ):
        g = modulus * J**power  # modulus g(J) invariant
        dg, ddg = power * g / J, power * (power - 1.0) * g / J**2
        P = P + g[two] * by_F + (dg * invariant)[two] * cof
        H = H + g[four] * by_FF + dg[four] * (outer(by_F, cof) + outer(cof, by_F))
        H = H + (ddg * invariant)[four] * cof_cof + (dg * invariant)[four] * CURL
    return P, H, J, cof


def gradient_and_hessian(mesh: Mesh, x: Array, p: Array) -> tuple[Array, csc_array]:
    """Of Pi at positions x (nn, 2) and pressures p (ne, 3): (unknowns,) and a sparse matrix."""
    G, w, shape = mesh.gradient, mesh.weight, mesh.pressure
    F = np.einsum("ekc,eqkd->eqcd", x[mesh.quads], G)
    at_points = p @ shape.T
    P, H, J, cof = rubber(F, at_points)
    count = len(w)
    force = np.einsum("eqcd,eqkd,eq->ekc", P, G, w).reshape(count, 18)
    volume = (w * (J - 1.0 - at_points / BULK)) @ shape
    K = np.zeros((count, WORDS, WORDS))
    elastic = np.einsum("eqcdab,eqkd,eqlb,eq->ekcla", H, G, G, w, optimize=True)
    mixed = np.einsum("eqcd,eqkd,qm,eq->ekcm", cof, G, shape, w, optimize=True).reshape(count, 18, 3)
    K[:, :18, :18] = elastic.reshape(count, 18, 18)
    K[:, :18, 18:], K[:, 18:, :18] = mixed, mixed.transpose(0, 2, 1)
    K[:, 18:, 18:] = -np.einsum("qm,qn,eq->emn", shape, shape, w) / BULK
    total = np.zeros(mesh.unknowns)
    np.add.at(total, mesh.numbers, np.concatenate([force, volume], axis=1))
    rows, columns = np.repeat(mesh.numbers, WORDS, axis=1).ravel(), np.tile(mesh.numbers, (1, WORDS)).ravel()
    return total, csc_array((K.ravel(), (rows, columns)), shape=(mesh.unknowns, mesh.unknowns))


def under_plate(mesh: Mesh, x: Array, p: Array, touching: Bools, top: float) -> tuple[Array, Array, Bools, float]:
    """Equilibrium under a plate at the height ``top`` [m]: x (nn, 2), p (ne, 3), who touches (nn,), force [MN/m].

    Starts from the given x, p and touching nodes. The force is that of the whole cylinder.
    """
    nodes = mesh.nodes
    rim = np.abs(np.hypot(*nodes.T) - RADIUS) < 1e-9 * RADIUS
    symmetric = np.abs(nodes) < 1e-9 * RADIUS
    for _ in range(60):
        x, p, reaction = _equilibrium(mesh, x, p, symmetric, touching, top)
        pulled = touching & (reaction > 1e-12)
        above = rim & ~touching & (x[:, 1] > top + 1e-12)
        if not (pulled | above).any():
            return x, p, touching, -2.0 * float(reaction[touching].sum())
        touching = touching & ~pulled | above
    raise RuntimeError(f"plate at {top} m: nodes that touch it keep changing")


def _equilibrium(
    mesh: Mesh, x: Array, p: Array, symmetric: Bools, touching: Bools, top: float
) -> tuple[Array, Array, Array]:
    """Newton's method for x and p with given nodes on the plate; vertical reactions (nn,) [MN/m] of a quarter."""
    x = x.copy()
    given = symmetric | np.stack([np.zeros_like(touching), touching], axis=-1)
    free = np.flatnonzero(np.concatenate([~given.ravel(), np.ones(p.size, dtype=np.bool_)]))
    for _ in range(30):
        residual, K = gradient_and_hessian(mesh, x, p)
        change = np.zeros(mesh.unknowns)
        change[1 : x.size : 2][touching] = top - x[touching, 1]
        change[free] = -spsolve(K[free][:, free], (residual + K @ change)[free])
        x += change[: x.size].reshape(x.shape)
        p = p + change[x.size :].reshape(p.shape)
        largest = float(np.abs(change[: x.size]).max())
        if largest < 1e-11:
            return x, p, gradient_and_hessian(mesh, x, p)[0][1 : x.size : 2]
    raise RuntimeError(f"plate at {top} m: Newton's method has not converged, last change {largest:.3g} m")


def force_curve(divisions: int, end: float = 0.2) -> tuple[Array, Array]:
    """Displacements (n,) [m] of the plates towards each other, from 0 to ``end``, and forces (n,) [MN/m]."""
    mesh = quarter_disc(divisions)
    x, p = mesh.nodes, np.zeros((len(mesh.quads), 3))
    touching = mesh.nodes[:, 1] > (1.0 - 1e-9) * RADIUS
    way, force = np.linspace(0.0, end, round(end / STEP) + 1), [0.0]
    for displacement in way[1:]:
        x, p, touching, load = under_plate(mesh, x, p, touching, RADIUS - 0.5 * displacement)
        force.append(load)
    return way, np.array(force)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--divisions", type=int, default=3, help="of a block's side; 3 divisions squared elements")
    options = parser.parse_args()
    elements = 3 * options.divisions**2
    way, force = force_curve(options.divisions)
    full = float(PchipInterpolator(force, way)(1e-6 * FULL_LOAD.force))
    own = [(point.displacement, 1e-6 * point.force) for point in REFERENCE if point.source == OWN]
    here = np.interp([displacement for displacement, _ in own], way, force)
    if options.json:
        curve = {"displacement_m": way.tolist(), "force_MN_per_m": force.tolist()}
        print(json.dumps({"elements": elements, "full_load_m": full, **curve}))
        return
    for (displacement, load), found in zip(own, here, strict=True):
        print(f"{displacement:.3f} m  {found:.5f} MN/m  in the scene {load:.5f} MN/m")
    at = 1e-6 * FULL_LOAD.force
    print(f"{elements} elements: {full:.5f} m at {at:.5f} MN/m, in the scene {FULL_LOAD.displacement} m")


if __name__ == "__main__":
    main()
