"""The r-factor strategies of [erleben2017] sec. 4.2: the R of a PROX iteration at its start.

Legend: R factors, W = J A^-1 J^T (the paper's A), W_cc its block of contact c.

global:  one r for every row: a constant, or 1 / (|least| + |largest| eigenvalue of W).
local:   r_i = 1 / W_ii, eq. (39).
blocked: 1 / W_nn for the normal row, the inverse of the friction rows' block of W_cc, eq. (40).

Not in the paper: with the last two, the rows of a joint have the inverse of W_cc with their compliance. Nothing is
projected there, and a joint is then closed by one update, where row by row its arms make its rows fight.

A projection with the plain norm has fixed points that depend on R where the factors of a contact's friction rows
differ: lam = prox(lam - R u) then says that -R u, not -u, is normal to the friction set, and friction does not
dissipate as much as it can. So by default the local strategy gives both tangents the smaller of their factors and
projects in the norm in which the torsional factor equals them (``length``). ``plain`` is the paper's method,
and so are blocked factors always: their fixed points are not the exact law where a contact slides.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import Literal, NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.contact.laws import BILATERAL, CONTACT, ELASTIC
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel
from stickslip.linalg.block_rows import summed
from stickslip.linalg.small_inverse import invert_small
from stickslip.linalg.vectors import length

Strategy = Literal["local", "global", "blocked"]
STRATEGIES: tuple[Strategy, ...] = ("local", "global", "blocked")
NU: dict[Strategy, float] = {"local": 0.9, "global": 0.5, "blocked": 0.5}
"""Reduction of the factors on divergence, sec. 4.2."""
POWER_ITERATIONS = 50


class Factors(NamedTuple):
    """R of n constraint blocks with m rows."""

    row: Array
    """(m,) diagonal of R."""
    friction: Array
    """(n, 3, 3) block of the friction rows of each contact, unused rows and columns zero."""
    length: Array
    """(n,) [m] radius at which projections measure the torsional row."""
    joint_start: Ints
    """(n + 1,) where the block of each joint starts in ``joint``; empty for other blocks and joints of one row."""
    joint: Array
    """R of joints, (W_cc + compliance)^-1, row by row."""


def starting_factors(
    problem: ContactProblem, strategy: Strategy, start: float | None, plain: bool, relaxation: float
) -> Factors:
    """R at the start of an iteration; ``start`` is the r of the global strategy (None: from eigenvalues)."""
    J, laws = problem.J, problem.laws
    row = np.empty(problem.row_count)
    friction = np.zeros((problem.block_count, 3, 3))
    radius = np.ones(problem.block_count)
    if strategy == "global":
        r = reciprocal_of_eigenvalues(problem) if start is None else start
        _global_factors(J.row_start, laws.law, r, row, friction)
        return Factors(row, friction, radius, np.zeros(problem.block_count + 1, dtype=np.int32), np.zeros(0))
    _local_factors(J.row_start, laws, problem.diagonal, plain, relaxation, row, friction)
    if strategy == "blocked":
        _block_factors(J, problem.response, laws.law, relaxation, friction)
    elif not plain:
        radius = problem.torsion_length
        _scale_torsion(J.row_start, laws.law, radius, row, friction)
    return Factors(row, friction, radius, *_joint_factors(problem, relaxation))


def _joint_factors(problem: ContactProblem, relaxation: float) -> tuple[Ints, Array]:
    """joint_start and joint of the factors."""
    J, laws = problem.J, problem.laws
    height = np.diff(J.row_start)
    linear = ((laws.law == BILATERAL) | (laws.law == ELASTIC)) & (height > 1)
    start = summed(np.where(linear, height**2, 0))
    joint = np.zeros(int(start[-1]))
    if len(joint):
        room = np.empty(int(height.max()))
        _invert_joints(J, problem.response, laws.compliance, relaxation, start, joint, room)
    return start, joint


def reciprocal_of_eigenvalues(problem: ContactProblem) -> float:
    """1 / (|least| + |largest| eigenvalue of W), the start of sec. 4.2, by power iteration.

    By hand: ARPACK starts from random numbers, and a few digits are enough here.
    """
    largest = _power_iteration(problem, 0.0)
    least = largest - _power_iteration(problem, largest)
    total = abs(least) + abs(largest)
    return 1.0 / total if 0.0 < total < inf and isfinite(total) else 1.0


def _power_iteration(problem: ContactProblem, shift: float) -> float:
    """Largest eigenvalue of W, or of shift I - W where shift is not zero."""
    count = problem.row_count
    # a start with a share of every eigenvector, the same in every run
    x = 1.0 + 0.5 * np.sin(np.arange(count, dtype=np.float64))
    x /= float(length(x))
    value = 0.0
    for _ in range(POWER_ITERATIONS):
        y = problem.A.delassus_product(problem.J, x)
        if shift > 0.0:
            y = shift * x - y
        value = float(length(y))
        if value == 0.0:
            break
        x = y / value
    return value


@kernel
def _global_factors(row_start, law, r, row_out, friction_out):
    """The same factor everywhere."""
    for c in range(row_start.shape[0] - 1):
        for i in range(row_start[c], row_start[c + 1]):
            row_out[i] = r
        if law[c] == CONTACT:
            for k in range(row_start[c + 1] - row_start[c] - 1):
                friction_out[c, k, k] = r


@kernel
def _local_factors(row_start, laws, diagonal, plain, relaxation, row_out, friction_out):
    """r = 1 / W_ii, eq. (39); equal over the tangents of a contact unless plain; compliance adds to W_ii."""
    for c in range(row_start.shape[0] - 1):
        first, last = row_start[c], row_start[c + 1]
        if laws.law[c] == CONTACT:
            for i in range(first, last):
                row_out[i] = relaxation / diagonal[i] if diagonal[i] > 0.0 else 0.0
            if not plain:
                # the smaller of those that move: a tree that moves in a plane has a tangent that nothing moves
                w = max(diagonal[first + 1], diagonal[first + 2])
                row_out[first + 1] = row_out[first + 2] = relaxation / w if w > 0.0 else 0.0
            for k in range(last - first - 1):
                friction_out[c, k, k] = row_out[first + 1 + k]
        else:
            for i in range(first, last):
                w = diagonal[i] + laws.compliance[i]
                row_out[i] = relaxation / w if w > 0.0 else 0.0


@kernel
def _invert_joints(J, response, compliance, relaxation, start, joint_out, room):
    """R of joints; room (largest block,) is scratch, joint_out is zero before."""
    for c in range(start.shape[0] - 1):
        if start[c + 1] == start[c]:
            continue
        i, to = J.row_start[c], start[c]
        dim = J.row_start[c + 1] - i
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            width = J.column_start[J.entry_column[e] + 1] - J.column_start[J.entry_column[e]]
            for f in range(response.entry_start[c], response.entry_start[c + 1]):
                if response.entry_column[f] != J.entry_column[e]:
                    continue
                left, right = J.data_start[e], response.data_start[f]
                for k in range(dim):
                    for x in range(dim):
                        for j in range(width):
                            joint_out[to + k * dim + x] += (
                                J.data[left + k * width + j] * response.data[right + x * width + j]
                            )
        for k in range(dim):
            joint_out[to + k * dim + k] += compliance[i + k]
        invert_small(dim, to, joint_out, room)
        for k in range(start[c], start[c + 1]):
            joint_out[k] *= relaxation


@kernel
def _scale_torsion(row_start, law, radius, row, friction):
    """Torsional factor = radius^2 times the tangential one, in place: equal where torsion is measured at radius."""
    for c in range(row_start.shape[0] - 1):
        if law[c] == CONTACT and row_start[c + 1] - row_start[c] > 3:
            i = row_start[c] + 3
            row[i] = radius[c] ** 2 * row[i - 1]
            friction[c, 2, 2] = row[i]


@kernel
def _block_factors(J, response, law, relaxation, friction_out):
    """Inverse of the friction rows' block of W_cc, eq. (40)."""
    for c in range(J.row_start.shape[0] - 1):
        if law[c] != CONTACT:
            continue
        dim = J.row_start[c + 1] - J.row_start[c]
        w = friction_out[c]
        for i in range(3):
            for k in range(3):
                w[i, k] = 1.0 if i == k and i >= dim - 1 else 0.0
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            width = J.column_start[J.entry_column[e] + 1] - J.column_start[J.entry_column[e]]
            for f in range(response.entry_start[c], response.entry_start[c + 1]):
                if response.entry_column[f] != J.entry_column[e]:
                    continue
                for i in range(dim - 1):
                    for k in range(dim - 1):
                        for j in range(width):
                            left = J.data[J.data_start[e] + (i + 1) * width + j]
                            w[i, k] += left * response.data[response.data_start[f] + (k + 1) * width + j]
        a, b, d = w[0, 0], w[0, 1], w[0, 2]
        p, q, r = w[1, 0], w[1, 1], w[1, 2]
        s, t, u = w[2, 0], w[2, 1], w[2, 2]
        det = a * (q * u - r * t) - b * (p * u - r * s) + d * (p * t - q * s)
        scale = relaxation / det
        w[0, 0], w[0, 1], w[0, 2] = (q * u - r * t) * scale, (d * t - b * u) * scale, (b * r - d * q) * scale
        w[1, 0], w[1, 1], w[1, 2] = (r * s - p * u) * scale, (a * u - d * s) * scale, (d * p - a * r) * scale
        w[2, 0], w[2, 1], w[2, 2] = (p * t - q * s) * scale, (b * s - a * t) * scale, (a * q - b * p) * scale
        for i in range(dim - 1, 3):
            w[i, i] = 0.0
