"""One island of constraint blocks as a dense problem of its own, and sweeps over it.

Legend: W = J A^-1 J^T with compliance on its diagonal, q = J v_free + bias, w = W lam + q: the velocity that the laws
are about. Rows and blocks are numbered within the island.

A sweep solves each block by itself, with the other impulses held: joints by the inverse of their block of W; a contact
that would stick by that, too; one that would slide by a few projections of its own three or four rows. w is kept up to
date by whole rows of W, which are short and lie one after the other.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.contact.block_laws import Laws
from stickslip.contact.laws import (
    BILATERAL,
    CONTACT,
    DISC,
    ELASTIC,
    contact_square,
    project_cone,
    project_friction,
    project_row,
    project_scaled,
    row_square,
)
from stickslip.jit import inner_kernel, kernel, plain_kernel
from stickslip.linalg.small_inverse import invert_small

SLIDES = 8
"""Projections of a sliding contact in a sweep."""
WITHIN = 1e-12
"""Share of an impulse by which it may leave its friction set and still stick."""
MOST_DIM = 8
"""Rows of a block that is solved as one; those of larger ones are solved row by row."""


class Island(NamedTuple):
    """A dense problem: k blocks, m rows."""

    start: Ints
    """(k + 1,) rows of the blocks."""
    laws: Laws
    """Their laws; compliance is in W."""
    weight: Array
    """(k,) [1/kg] turns impulses into velocities (ContactProblem.law_weight)."""
    radius: Array
    """(k,) [m] ContactProblem.torsion_length"""
    W: Array
    """(m, m) [1/kg]"""
    columns: Array
    """(m, m) its columns one after the other: W itself where that is symmetric, as all but that of some files is."""
    q: Array
    """(m,) [m/s]"""
    inverse_start: Ints
    """(k + 1,) where the inverse of the diagonal block of W of each block starts in ``inverse``."""
    inverse: Array


@plain_kernel
def island_room(blocks, rows, largest, given):
    """Integers and reals that ``gathered`` needs for so many blocks and rows; ``largest``: rows of a block."""
    wide = 2 * rows if given else rows
    return 4 * blocks + 2, 5 * blocks + rows * (wide + 3 + min(largest, MOST_DIM)) + MOST_DIM


@kernel
def gathered(J, response, given, laws, measures, q, blocks, ints, reals):
    """The island of some ``blocks`` of a problem, in rising order, in room of ``island_room``.

    response: J A^-1, or with ``given`` W over the blocks; measures: law_weight and torsion_length (n,) of all blocks;
    q (rows of all,).
    """
    k = blocks.shape[0]
    start, inverse_start = ints[: k + 1], ints[k + 1 : 2 * k + 2]
    law, friction_set = ints[2 * k + 2 : 3 * k + 2], ints[3 * k + 2 : 4 * k + 2]
    start[0] = inverse_start[0] = 0
    for i in range(k):
        c = blocks[i]
        dim = J.row_start[c + 1] - J.row_start[c]
        start[i + 1] = start[i] + dim
        inverse_start[i + 1] = inverse_start[i] + (dim * dim if dim <= MOST_DIM else 0)
        law[i], friction_set[i] = laws.law[c], laws.friction_set[c]
    m = start[k]
    W, reals = reals[: m * m].reshape((m, m)), reals[m * m :]
    inverse, reals = reals[: inverse_start[k]], reals[inverse_start[k] :]
    weight, radius, reals = reals[:k], reals[k : 2 * k], reals[2 * k :]
    friction, reals = reals[: 3 * k].reshape((k, 3)), reals[3 * k :]
    bound, none, own, scratch = reals[:m], reals[m : 2 * m], reals[2 * m : 3 * m], reals[3 * m :]
    for i in range(k):
        c = blocks[i]
        weight[i], radius[i] = measures[0][c], measures[1][c]
        for j in range(3):
            friction[i, j] = laws.friction[c, j]
        for r in range(start[i + 1] - start[i]):
            row, at = start[i] + r, J.row_start[c] + r
            bound[row], none[row], own[row] = laws.bound[at], 0.0, q[at]
    columns = W
    if given:
        columns = scratch[MOST_DIM : MOST_DIM + m * m].reshape((m, m))
        _take(response, blocks, start, W)
    else:
        _fill(J, response, blocks, start, W)
    for i in range(k):
        for r in range(start[i + 1] - start[i]):
            W[start[i] + r, start[i] + r] += laws.compliance[J.row_start[blocks[i]] + r]
    for i in range(k):
        first, dim, at = start[i], start[i + 1] - start[i], inverse_start[i]
        if inverse_start[i + 1] > at:
            for r in range(dim):
                for s in range(dim):
                    inverse[at + r * dim + s] = W[first + r, first + s]
            invert_small(dim, at, inverse, scratch)
    if given:
        for i in range(m):
            for j in range(m):
                columns[j, i] = W[i, j]
    of_blocks = Laws(law, friction_set, friction, none, bound)
    return Island(start, of_blocks, weight, radius, W, columns, own, inverse_start, inverse)


@inner_kernel
def _take(delassus, blocks, start, W_out):
    """W of the island out of that of all blocks."""
    W_out[:] = 0.0
    for i in range(blocks.shape[0]):
        c = blocks[i]
        height = start[i + 1] - start[i]
        for e in range(delassus.entry_start[c], delassus.entry_start[c + 1]):
            j = np.searchsorted(blocks, delassus.entry_column[e])
            if j < blocks.shape[0] and blocks[j] == delassus.entry_column[e]:
                width = start[j + 1] - start[j]
                for r in range(height):
                    for s in range(width):
                        W_out[start[i] + r, start[j] + s] = delassus.data[delassus.data_start[e] + r * width + s]


@inner_kernel
def _fill(J, response, blocks, start, W_out):
    """W of the island from J A^-1 and J."""
    k = blocks.shape[0]
    for i in range(k):
        c = blocks[i]
        height = start[i + 1] - start[i]
        for j in range(i + 1):
            d = blocks[j]
            other = start[j + 1] - start[j]
            for r in range(height):
                for s in range(other):
                    W_out[start[i] + r, start[j] + s] = 0.0
            for e in range(J.entry_start[c], J.entry_start[c + 1]):
                b = J.entry_column[e]
                width = J.column_start[b + 1] - J.column_start[b]
                for f in range(J.entry_start[d], J.entry_start[d + 1]):
                    if J.entry_column[f] != b:
                        continue
                    at, to = response.data_start[e], J.data_start[f]
                    if height == 3 and other == 3:
                        _add_contact(width, response.data[at:], J.data[to:], W_out, start[i], start[j])
                        continue
                    for s in range(other):
                        for r in range(height):
                            total = 0.0
                            for t in range(width):
                                y = J.data[to + s * width + t]
                                if y != 0.0:
                                    total += response.data[at + r * width + t] * y
                            W_out[start[i] + r, start[j] + s] += total
            for r in range(height):
                for s in range(other):
                    W_out[start[j] + s, start[i] + r] = W_out[start[i] + r, start[j] + s]


@inner_kernel
def _add_contact(width, x, y, W_out, row, column):
    """Add the products of three rows (3, width) of x and of y; nine sums side by side take little longer than one."""
    a0, a1, a2, b0, b1, b2, c0, c1, c2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for t in range(width):
        p, q, r = y[t], y[width + t], y[2 * width + t]
        if p != 0.0 or q != 0.0 or r != 0.0:  # of a tree only the joints above move a link
            a, b, c = x[t], x[width + t], x[2 * width + t]
            a0, a1, a2 = a0 + a * p, a1 + a * q, a2 + a * r
            b0, b1, b2 = b0 + b * p, b1 + b * q, b2 + b * r
            c0, c1, c2 = c0 + c * p, c1 + c * q, c2 + c * r
    W_out[row, column] += a0
    W_out[row, column + 1] += a1
    W_out[row, column + 2] += a2
    W_out[row + 1, column] += b0
    W_out[row + 1, column + 1] += b1
    W_out[row + 1, column + 2] += b2
    W_out[row + 2, column] += c0
    W_out[row + 2, column + 1] += c1
    W_out[row + 2, column + 2] += c2


@inner_kernel
def velocities(island, lam, w_out):
    """w = W lam + q."""
    m = lam.shape[0]
    for i in range(m):
        w_out[i] = island.q[i]
    for j in range(m):
        if lam[j] != 0.0:
            for i in range(m):
                w_out[i] += lam[j] * island.columns[j, i]


@inner_kernel
def distance(island, lam, w):
    """Norm [m/s] of the natural map of the exact law (contact/residual.py)."""
    total, laws, start = 0.0, island.laws, island.start
    for c in range(island.weight.shape[0]):
        i, dim, weight = start[c], start[c + 1] - start[c], island.weight[c]
        if laws.law[c] == CONTACT and laws.friction_set[c] == DISC and dim == 3:  # the common case, without its tables
            total += _disc_square(
                weight, (lam[i], lam[i + 1], lam[i + 2]), (w[i], w[i + 1], w[i + 2]), laws.friction[c, 0]
            )
        elif laws.law[c] == CONTACT:
            total += contact_square(start, laws, lam, w, island.weight, island.radius, 1.0, c)
        else:
            for k in range(i, i + dim):
                total += row_square(laws, lam, w, weight, c, k)
    return sqrt(total)


@inner_kernel
def _disc_square(weight, lam, u, mu):
    """contact_square of a contact of three rows with a disc."""
    slip = sqrt(u[1] * u[1] + u[2] * u[2])
    sn, sx, sy = weight * lam[0], weight * lam[1], weight * lam[2]
    pn, px, py = project_cone(sn - u[0] - 1.0 * mu * slip, sx - u[1], sy - u[2], mu)
    return (sn - pn) ** 2 + (sx - px) ** 2 + (sy - py) ** 2


@inner_kernel
def _change(columns, k, step, lam, w):
    """lam_k += step, and what follows of it."""
    if step != 0.0:
        lam[k] += step
        column = columns[k]
        for i in range(w.shape[0]):
            w[i] += step * column[i]


@inner_kernel
def sweep(island, lam, w):
    """Solve each block once, one after the other, lam and w (m,) in place."""
    laws = island.laws
    for c in range(laws.law.shape[0]):
        i, dim = island.start[c], island.start[c + 1] - island.start[c]
        if laws.law[c] == CONTACT:
            _sweep_contact(island, c, i, dim, lam, w)
        elif (laws.law[c] == BILATERAL or laws.law[c] == ELASTIC) and 1 < dim <= MOST_DIM:
            at = island.inverse_start[c]
            s0, s1, s2, s3 = _times(island.inverse, at, dim, 0, w, i), 0.0, 0.0, 0.0
            s1 = _times(island.inverse, at, dim, 1, w, i)
            s2 = _times(island.inverse, at, dim, 2, w, i) if dim > 2 else 0.0
            s3 = _times(island.inverse, at, dim, 3, w, i) if dim > 3 else 0.0
            s4 = _times(island.inverse, at, dim, 4, w, i) if dim > 4 else 0.0
            s5 = _times(island.inverse, at, dim, 5, w, i) if dim > 5 else 0.0
            s6 = _times(island.inverse, at, dim, 6, w, i) if dim > 6 else 0.0
            s7 = _times(island.inverse, at, dim, 7, w, i) if dim > 7 else 0.0
            steps = (s0, s1, s2, s3, s4, s5, s6, s7)
            for k in range(dim):
                _change(island.columns, i + k, -steps[k], lam, w)
        else:
            for k in range(i, i + dim):
                if island.W[k, k] > 0.0:
                    z = project_row(laws.law[c], lam[k] - w[k] / island.W[k, k], laws.bound[k])
                    _change(island.columns, k, z - lam[k], lam, w)


@inner_kernel
def _times(inverse, at, dim, k, w, first):
    """Row k of an inverse block times w of its rows."""
    total = 0.0
    for j in range(dim):
        total += inverse[at + k * dim + j] * w[first + j]
    return total


@inner_kernel
def _sweep_contact(island, c, i, dim, lam, w):
    """Impulses of one contact that obey its law while the others are held."""
    laws = island.laws
    mu1, mu2, mu3 = laws.friction[c, 0], laws.friction[c, 1], laws.friction[c, 2]
    if dim == 3:
        rows = island.W[i], island.W[i + 1], island.W[i + 2]
        own = (
            rows[0][i], rows[0][i + 1], rows[0][i + 2], rows[1][i], rows[1][i + 1], rows[1][i + 2],
            rows[2][i], rows[2][i + 1], rows[2][i + 2],
        )  # fmt: skip
        at = island.inverse_start[c]
        n, x, y = _solve_contact(
            own, island.inverse[at : at + 9], laws.friction_set[c], (mu1, mu2),
            (lam[i], lam[i + 1], lam[i + 2]), (w[i], w[i + 1], w[i + 2]),
        )  # fmt: skip
        _change(island.columns, i, n - lam[i], lam, w)
        _change(island.columns, i + 1, x - lam[i + 1], lam, w)
        _change(island.columns, i + 2, y - lam[i + 2], lam, w)
        return
    W = island.W
    torsion = mu3 > 0.0
    n, x, y, z = lam[i], lam[i + 1], lam[i + 2], lam[i + 3] if torsion else 0.0
    spin = lam[i + 3]
    # b = w without the own impulses
    b0 = w[i] - (W[i, i] * n + W[i, i + 1] * x + W[i, i + 2] * y)
    b1 = w[i + 1] - (W[i + 1, i] * n + W[i + 1, i + 1] * x + W[i + 1, i + 2] * y)
    b2 = w[i + 2] - (W[i + 2, i] * n + W[i + 2, i + 1] * x + W[i + 2, i + 2] * y)
    b0, b1, b2 = b0 - W[i, i + 3] * spin, b1 - W[i + 1, i + 3] * spin, b2 - W[i + 2, i + 3] * spin
    b3 = w[i + 3] - (W[i + 3, i] * n + W[i + 3, i + 1] * x + W[i + 3, i + 2] * y + W[i + 3, i + 3] * spin)
    if b0 >= 0.0 or not W[i, i] > 0.0:
        n, x, y, z = 0.0, 0.0, 0.0, 0.0
    else:
        r = 1.0 / max(W[i + 1, i + 1], W[i + 2, i + 2])
        turn = island.radius[c] * island.radius[c] * r
        n = max(n, 0.0)
        for _ in range(SLIDES):
            u0 = b0 + W[i, i] * n + W[i, i + 1] * x + W[i, i + 2] * y + (W[i, i + 3] * z if torsion else 0.0)
            n = max(0.0, n - u0 / W[i, i])
            u1 = b1 + W[i + 1, i] * n + W[i + 1, i + 1] * x + W[i + 1, i + 2] * y
            u2 = b2 + W[i + 2, i] * n + W[i + 2, i + 1] * x + W[i + 2, i + 2] * y
            if torsion:
                u1, u2 = u1 + W[i + 1, i + 3] * z, u2 + W[i + 2, i + 3] * z
                u3 = b3 + W[i + 3, i] * n + W[i + 3, i + 1] * x + W[i + 3, i + 2] * y + W[i + 3, i + 3] * z
                x, y, z = project_scaled(
                    laws.friction_set[c], x - r * u1, y - r * u2, z - turn * u3, island.radius[c], n, mu1, mu2, mu3
                )
            else:
                x, y, _z = project_friction(laws.friction_set[c], x - r * u1, y - r * u2, 0.0, n, mu1, mu2, 0.0)
    _change(island.columns, i, n - lam[i], lam, w)
    _change(island.columns, i + 1, x - lam[i + 1], lam, w)
    _change(island.columns, i + 2, y - lam[i + 2], lam, w)
    _change(island.columns, i + 3, z - lam[i + 3], lam, w)


@inner_kernel
def _solve_contact(W, inverse, friction_set, mu, lam, w):
    """Impulses of a contact of three rows; W: its own block (9 numbers), w with the impulses lam."""
    n, x, y = lam
    # b = w without the own impulses
    b0 = w[0] - (W[0] * n + W[1] * x + W[2] * y)
    b1 = w[1] - (W[3] * n + W[4] * x + W[5] * y)
    b2 = w[2] - (W[6] * n + W[7] * x + W[8] * y)
    if b0 >= 0.0 or not W[0] > 0.0:
        return 0.0, 0.0, 0.0
    p, q, s = _held(inverse, b0, b1, b2)
    if p > 0.0:
        px, py, _ = project_friction(friction_set, q, s, 0.0, p, mu[0], mu[1], 0.0)
        if abs(px - q) + abs(py - s) <= WITHIN * (abs(q) + abs(s)):
            return p, q, s
    r = 1.0 / max(W[4], W[8])
    n = max(n, 0.0)
    for _ in range(SLIDES):
        u0 = b0 + W[0] * n + W[1] * x + W[2] * y
        n = max(0.0, n - u0 / W[0])
        u1 = b1 + W[3] * n + W[4] * x + W[5] * y
        u2 = b2 + W[6] * n + W[7] * x + W[8] * y
        x, y, _z = project_friction(friction_set, x - r * u1, y - r * u2, 0.0, n, mu[0], mu[1], 0.0)
    return n, x, y


@inner_kernel
def _held(inverse, b0, b1, b2):
    """Impulses of a contact of three rows that hold it, by the inverse of its block of W."""
    return (
        -(inverse[0] * b0 + inverse[1] * b1 + inverse[2] * b2),
        -(inverse[3] * b0 + inverse[4] * b1 + inverse[5] * b2),
        -(inverse[6] * b0 + inverse[7] * b1 + inverse[8] * b2),
    )
