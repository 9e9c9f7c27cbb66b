"""The algebra of second-order cones L = {x : |x_t| <= x_0}, many at once, each a row of an array (n, 4).

Legend: o Jordan product, det x = x_0^2 - |x_t|^2, e = (1, 0, 0, 0). Cones of fewer rows have zeros in the columns that
they lack. W is the scaling of Nesterov and Todd (1997), the symmetric one with W z = W^-1 x =: s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array

SMALLEST = 1e-300
"""Below it a number is zero: nothing is divided by less."""


class Scaling(NamedTuple):
    """What turns x and z into the same point s."""

    W: Array
    """(n, 4, 4)"""
    inverse: Array
    """(n, 4, 4)"""
    square: Array
    """(n, 4, 4) W W, by which W W z = x."""
    s: Array
    """(n, 4)"""


def size(x: Array) -> Array:
    """|x_t| (n,)."""
    return np.sqrt((x[:, 1:] ** 2).sum(axis=1))


def determinant(x: Array) -> Array:
    """det x (n,), without cancelling where it is small."""
    t = size(x)
    return (x[:, 0] - t) * (x[:, 0] + t)


def product(x: Array, y: Array) -> Array:
    """x o y."""
    found = x[:, :1] * y + y[:, :1] * x
    found[:, 0] = (x * y).sum(axis=1)
    return found


def quotient(x: Array, b: Array) -> Array:
    """y with x o y = b, for x inside."""
    y = np.empty_like(b)
    y[:, 0] = (x[:, 0] * b[:, 0] - (x[:, 1:] * b[:, 1:]).sum(axis=1)) / np.maximum(determinant(x), SMALLEST)
    y[:, 1:] = (b[:, 1:] - y[:, :1] * x[:, 1:]) / x[:, :1]
    return y


def times(M: Array, x: Array) -> Array:
    """M x, cone by cone."""
    return np.asarray((M @ x[:, :, None])[:, :, 0])


def longest_step(x: Array, d: Array) -> float:
    """The largest a with x + a d in all cones, infinite where there is none; x is inside."""
    if not len(x):
        return np.inf
    a, c = determinant(d), np.maximum(determinant(x), 0.0)
    b = x[:, 0] * d[:, 0] - (x[:, 1:] * d[:, 1:]).sum(axis=1)
    root = b * b - a * c
    q = -(b + np.where(b >= 0.0, 1.0, -1.0) * np.sqrt(np.maximum(root, 0.0)))
    shortest = np.full(len(x), np.inf)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for at in (q / a, c / q):  # the two roots of det (x + a d) = 0
            shortest = np.where((at > 0.0) & (root >= 0.0), np.minimum(shortest, at), shortest)
        shortest = np.where(d[:, 0] < 0.0, np.minimum(shortest, -x[:, 0] / d[:, 0]), shortest)
    return float(shortest.min())


def scaling(x: Array, z: Array) -> Scaling:
    """The scaling of x and z, both inside."""
    dx, dz = np.sqrt(np.maximum(determinant(x), SMALLEST)), np.sqrt(np.maximum(determinant(z), SMALLEST))
    unit_x, unit_z = x / dx[:, None], z / dz[:, None]
    mirrored = unit_z.copy()
    mirrored[:, 1:] *= -1.0
    half = np.sqrt(0.5 * np.maximum(1.0 + (unit_x * unit_z).sum(axis=1), SMALLEST))
    point = (unit_x + mirrored) / (2.0 * half[:, None])
    ratio = dx / dz
    square = 2.0 * point[:, :, None] * point[:, None, :]
    square[:, 0, 0] -= 1.0
    square[:, (1, 2, 3), (1, 2, 3)] += 1.0
    square *= ratio[:, None, None]
    W = np.zeros((len(x), 4, 4))
    W[:, 0, :] = W[:, :, 0] = point
    W[:, 1:, 1:] = point[:, 1:, None] * point[:, None, 1:] / (1.0 + point[:, :1])[:, :, None]
    W[:, (1, 2, 3), (1, 2, 3)] += 1.0
    inverse = W.copy()
    inverse[:, 0, 1:] *= -1.0
    inverse[:, 1:, 0] *= -1.0
    W *= np.sqrt(ratio)[:, None, None]
    inverse /= np.sqrt(ratio)[:, None, None]
    return Scaling(W, inverse, square, times(W, z))
