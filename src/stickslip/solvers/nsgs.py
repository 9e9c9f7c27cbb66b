"""Non-smooth Gauss-Seidel: one contact after the other, each solved exactly [jourdan1998], [acary2018].

Legend: W Delassus matrix, u = W lam + q, W_cc the 3 x 3 block of contact c, alpha how viscous its sliding is.

A contact with the others frozen sees u = W_cc lam + q_c. It opens (q_n >= 0), sticks (lam = -W_cc^-1 q_c in the cone),
or slides: u_n = 0 and u_t = -alpha lam_t for one alpha > 0, which makes |lam_t| = mu lam_n. That is a scalar equation
[bonnefon2011], solved by a safeguarded Newton search. Joints are solved as blocks, rows of limits
and drives one by one.

It works on W itself rather than on bodies: on small and middle-sized problems a sweep costs a few nanoseconds a block.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.contact.laws import BILATERAL, CONTACT, ELASTIC, project_row
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel
from stickslip.linalg.block_rows import summed
from stickslip.linalg.small_inverse import invert_small
from stickslip.solvers.budget import Clock, in_chunks
from stickslip.solvers.cones import row_mobility
from stickslip.solvers.iterative import ConvergenceMonitor, Iterative
from stickslip.solvers.protocol import Relinearise, Solution

CHECK_SWEEPS = 25
"""Sweeps between residuals, which cost about as much as a sweep."""
STALL_SWEEPS = 2000
"""Sweeps without a tenth of progress after which more of them are no use."""
LEAST_PIVOT = 1e-14
"""Share of its size below which a block counts as singular: its inverse would be rounding."""
MOST_STEPS = 60
"""Steps of the search for alpha; Newton needs about five, bisection fifty."""


@dataclass(frozen=True)
class NonsmoothGaussSeidel(Iterative):
    """Gauss-Seidel with an exact solve of each contact."""

    name: ClassVar[str] = "nsgs"

    max_iterations: int = 10000
    """Sweeps at most."""

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Solve for the impulses, starting from ``warm`` (m,) or zero."""
        clock = Clock(self.max_seconds)
        lam, _, value = self.start(problem, warm)
        return self.from_start(problem, lam, value, clock)

    def from_start(self, problem: ContactProblem, lam: Array, value: float, clock: Clock) -> Solution:
        """Solve from impulses lam (m,), changed in place, whose residual is known, while the clock runs."""
        started = time.perf_counter()
        sweeps, watch = Sweeps(problem), ConvergenceMonitor(self, problem, lam, value, STALL_SWEEPS, clock)
        prepared = time.perf_counter()
        iterations = 0
        watch.note(lam, value, iterations)
        while watch.goes_on(iterations):
            count = min(CHECK_SWEEPS, self.max_iterations - iterations)
            iterations += in_chunks(lambda some: (sweeps.run(some, lam), False), count, clock)
            watch.look(lam, iterations)
        v, u, found = watch.looked if watch.is_good else (None, None, np.nan)
        lam = watch.settled(lam)
        timings = {"prepare": prepared - started, "iterate": time.perf_counter() - prepared}
        return Solution(
            problem.velocity(lam) if v is None else v, lam, watch.status, iterations, np.array(watch.history), timings,
            u=u, residual=found, exact_residual=found if self.criterion == "scaled" else np.nan,
        )  # fmt: skip


class Sweeps:
    """Gauss-Seidel sweeps over one problem; with ``proximal`` > 0 over W + proximal diag(weight), pulled to a point."""

    def __init__(self, problem: ContactProblem) -> None:
        self.problem = problem
        self.W = problem.delassus
        self.diagonal_block = diagonal_blocks(problem)
        height = np.diff(problem.J.row_start)
        self.room = np.zeros(9), np.zeros(max(3, int(height.max(initial=0))))
        law, self.mobility = problem.laws.law, row_mobility(problem)
        linear = ((law == BILATERAL) | (law == ELASTIC)) & (self.diagonal_block >= 0)
        self.joint_start = summed(np.where(linear, height**2, 0)) if linear.any() else np.zeros(len(law) + 1, np.int32)
        self.joint, self.proximal = np.zeros(int(self.joint_start[-1])), -1.0

    def run(
        self,
        count: int,
        lam: Array,
        proximal: float = 0.0,
        centre: Array | None = None,
    ) -> int:
        """``count`` sweeps, lam (m,) in place; returns their number."""
        p = self.problem
        if len(self.joint) and proximal != self.proximal:
            own, room, self.proximal = self.diagonal_block, self.room[1], proximal
            _invert_joints(self.W, own, p.laws, self.mobility, proximal, self.joint_start, self.joint, room)
        joints = self.joint_start, self.joint
        _sweeps(
            self.W, self.diagonal_block, p.free_constraint_velocity, p.laws, self.mobility, joints, count, proximal,
            lam if centre is None else centre, lam, *self.room,
        )  # fmt: skip
        return count


def diagonal_blocks(problem: ContactProblem) -> Ints:
    """Number (n,) of the entry of each block on the diagonal of W, or -1 where a block of W is empty."""
    W = problem.delassus
    count = len(W.row_start) - 1
    block = np.repeat(np.arange(count, dtype=np.int32), np.diff(W.entry_start))
    found = np.full(count, -1, dtype=np.int32)
    own = np.flatnonzero(W.entry_column == block)
    found[block[own]] = own
    return found


@kernel
def _invert_joints(W, diagonal_block, laws, mobility, proximal, start, joint_out, room):
    """(W_cc + compliance + proximal term)^-1 of joints, row by row; room (largest block,) is scratch."""
    for c in range(start.shape[0] - 1):
        if start[c + 1] == start[c]:
            continue
        i = W.row_start[c]
        dim = W.row_start[c + 1] - i
        at = W.data_start[diagonal_block[c]]
        for k in range(dim * dim):
            joint_out[start[c] + k] = W.data[at + k]
        for k in range(dim):
            joint_out[start[c] + k * dim + k] += laws.compliance[i + k] + proximal * mobility[i + k]
        invert_small(dim, start[c], joint_out, room)


@kernel
def _sweeps(W, diagonal_block, q, laws, mobility, joints, count, proximal, centre, lam, w, u):
    """``count`` sweeps over all blocks; w (9,) and u (largest block,) are scratch.

    joints: where the inverses of joints start, and these.
    """
    joint_start, joint = joints
    for _ in range(count):
        for c in range(W.row_start.shape[0] - 1):
            own = diagonal_block[c]
            if own < 0:
                continue
            i = W.row_start[c]
            dim = W.row_start[c + 1] - i
            if laws.law[c] == CONTACT:
                n, x, y = _contact_velocity(W, c, q, lam)
                at = W.data_start[own]
                for k in range(9):
                    w[k] = W.data[at + k]
                # without this contact's own impulse, with the pull of the proximal term
                r = proximal * mobility[i]
                a, b, s = lam[i], lam[i + 1], lam[i + 2]
                n -= w[0] * a + w[1] * b + w[2] * s + r * centre[i]
                x -= w[3] * a + w[4] * b + w[5] * s + r * centre[i + 1]
                y -= w[6] * a + w[7] * b + w[8] * s + r * centre[i + 2]
                w[0] += r
                w[4] += r
                w[8] += r
                lam[i], lam[i + 1], lam[i + 2] = solve_contact(w, n, x, y, laws.friction[c, 0])
            else:
                _other_rows(W, c, i, dim, q, laws, mobility, proximal, centre, lam, u)
                if joint_start[c + 1] == joint_start[c]:
                    _solve_rows(W.data, W.data_start[own], laws.law[c], i, dim, laws, mobility, proximal, lam, u)
                    continue
                for k in range(dim):
                    for x in range(dim):
                        lam[i + k] -= joint[joint_start[c] + k * dim + x] * u[x]


@kernel
def _contact_velocity(W, c, q, lam):
    """u_c = W_c lam + q_c of a contact of three rows."""
    i = W.row_start[c]
    n, x, y = q[i], q[i + 1], q[i + 2]
    for e in range(W.entry_start[c], W.entry_start[c + 1]):
        d = W.entry_column[e]
        j = W.row_start[d]
        at = W.data_start[e]
        if W.row_start[d + 1] - j == 3:
            a, b, s = lam[j], lam[j + 1], lam[j + 2]
            n += W.data[at] * a + W.data[at + 1] * b + W.data[at + 2] * s
            x += W.data[at + 3] * a + W.data[at + 4] * b + W.data[at + 5] * s
            y += W.data[at + 6] * a + W.data[at + 7] * b + W.data[at + 8] * s
        else:
            width = W.row_start[d + 1] - j
            for k in range(width):
                n += W.data[at + k] * lam[j + k]
                x += W.data[at + width + k] * lam[j + k]
                y += W.data[at + 2 * width + k] * lam[j + k]
    return n, x, y


@kernel
def _other_rows(W, c, i, dim, q, laws, mobility, proximal, centre, lam, u_out):
    """Velocities (dim,) of the rows of a joint, limit or drive, with compliance and the pull of the proximal term."""
    for k in range(dim):
        r = proximal * mobility[i + k]
        u_out[k] = q[i + k] + laws.compliance[i + k] * lam[i + k] + r * (lam[i + k] - centre[i + k])
    for e in range(W.entry_start[c], W.entry_start[c + 1]):
        d = W.entry_column[e]
        j = W.row_start[d]
        width = W.row_start[d + 1] - j
        for k in range(dim):
            at = W.data_start[e] + k * width
            for x in range(width):
                u_out[k] += W.data[at + x] * lam[j + x]


@kernel
def _solve_rows(w, at, law, i, dim, laws, mobility, proximal, lam, u):
    """Rows one after the other, lam and their velocities u (dim,) in place; their block of W starts at w[at]."""
    for k in range(dim):
        pivot = w[at + k * dim + k] + laws.compliance[i + k] + proximal * mobility[i + k]
        if pivot > 0.0:
            new = project_row(law, lam[i + k] - u[k] / pivot, laws.bound[i + k])
            step = new - lam[i + k]
            lam[i + k] = new
            for x in range(dim):
                u[x] += w[at + x * dim + k] * step


@kernel
def solve_contact(w, qn, qx, qy, mu):
    """Impulse of one contact that sees u = w lam + q; w (9,) is its block, row by row."""
    if qn >= 0.0 or w[0] <= 0.0:
        return 0.0, 0.0, 0.0
    inverse = 1.0 / w[0]
    # the normal row eliminated: (A + alpha) lam_t = -b
    axx, axy = w[4] - w[3] * w[1] * inverse, w[5] - w[3] * w[2] * inverse
    ayx, ayy = w[7] - w[6] * w[1] * inverse, w[8] - w[6] * w[2] * inverse
    bx, by = qx - w[3] * qn * inverse, qy - w[6] * qn * inverse
    size = axx + ayy
    if mu == 0.0 or size <= LEAST_PIVOT * (w[4] + w[8]):
        return -qn * inverse, 0.0, 0.0
    alpha = 0.0 if axx * ayy - axy * ayx > LEAST_PIVOT * size * size else LEAST_PIVOT * size
    low, high = alpha, -1.0
    n, x, y, t = 0.0, 0.0, 0.0, 0.0
    for step in range(MOST_STEPS):
        p, r = axx + alpha, ayy + alpha
        determinant = p * r - axy * ayx
        x, y = (axy * by - r * bx) / determinant, (ayx * bx - p * by) / determinant
        n = -(qn + w[1] * x + w[2] * y) * inverse
        t = sqrt(x * x + y * y)
        outside = t - mu * n
        if step == 0 and outside <= 0.0:
            return n, x, y  # sticks
        if abs(outside) <= 1e-15 * t:
            break
        if outside > 0.0:
            low = alpha
        else:
            high = alpha
        dx, dy = (axy * y - r * x) / determinant, (ayx * x - p * y) / determinant
        new = -1.0
        if n > 0.0 and t > 0.0:
            # Newton on 1/|lam_t| - 1/(mu lam_n), which is nearly linear in alpha
            dt, dn = (x * dx + y * dy) / t, -(w[1] * dx + w[2] * dy) * inverse
            slope = dn / (mu * n * n) - dt / (t * t)
            if slope != 0.0:
                new = alpha - (1.0 / t - 1.0 / (mu * n)) / slope
        if not (new > low and (high < 0.0 or new < high)):
            new = 0.5 * (low + high) if high >= 0.0 else 10.0 * alpha + 0.1 * size
        if abs(new - alpha) <= 1e-16 * new:
            break
        alpha = new
    n = max(n, 0.0)
    scale = mu * n / t if t > 0.0 else 0.0
    return n, scale * x, scale * y
