"""Velocity fixed-point iteration with contacts solved in one shot: [lee2023] Algorithms 1 to 3 as kernels.

Products with A alone go over threads; every row is summed by one of them, so their number changes nothing.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.laws import DISC, project_cone, project_friction, project_row
from stickslip.jit import kernel, parallel_kernel, prange
from stickslip.solvers.cond.chain import apply_chain
from stickslip.solvers.cond.coarse import apply_bodies, apply_groups
from stickslip.solvers.cond.levels import apply_levels
from stickslip.solvers.cond.mixing import mixed

CHUNK = 64
"""Block rows that a thread takes at a time."""
RUNNING, SETTLED, LOST = range(3)
"""How a run of iterations ended: at their number, within the tolerance, or astray."""
ASTRAY = 1e3
"""Growth of the step over its least one at which iterations are lost."""
LEAST_SCALE, MOST_SCALE = 0.1, 100.0
"""Bounds of Barzilai-Borwein step sizes, over W."""


class Iterate(NamedTuple):
    """Where an iteration stands; all arrays are written."""

    x: Array
    """(nv + 3 virtual,) velocities v^l, those of virtual nodes in the frames of their contacts."""
    before: Array
    """v^(l-1)"""
    found: Array
    """v**: what the last surrogate problem gave; it obeys the contact law together with ``lam``."""
    gradient: Array
    """A v - b and what joints add."""
    lam: Array
    """(m,) impulses."""
    carried: Array
    """(m,) impulses that virtual nodes and rows of joints carry beside those of their gains: multipliers."""
    steps: Array
    """(k,) steps |v^(l+1) - v^l| of all iterations."""
    last_gradient: Array
    """The gradient before, where step sizes need it."""


@kernel
def _soft_rows(indptr, indices, soft, x, b, first, last, y_out):
    """y = A x - b at some nodes."""
    for i in range(first, last):
        s, t, u = -b[3 * i], -b[3 * i + 1], -b[3 * i + 2]
        for k in range(indptr[i], indptr[i + 1]):
            j = 3 * indices[k]
            p, q, r = x[j], x[j + 1], x[j + 2]
            s += soft[k, 0, 0] * p + soft[k, 0, 1] * q + soft[k, 0, 2] * r
            t += soft[k, 1, 0] * p + soft[k, 1, 1] * q + soft[k, 1, 2] * r
            u += soft[k, 2, 0] * p + soft[k, 2, 1] * q + soft[k, 2, 2] * r
        y_out[3 * i], y_out[3 * i + 1], y_out[3 * i + 2] = s, t, u


@parallel_kernel
def _soft_product(indptr, indices, soft, x, b, y_out):
    """y = A x - b over threads."""
    size = indptr.shape[0] - 1
    for chunk in prange((size + CHUNK - 1) // CHUNK):
        _soft_rows(indptr, indices, soft, x, b, chunk * CHUNK, min(size, (chunk + 1) * CHUNK), y_out)


@kernel
def _blocks_product(start, data_start, data, x, y_out):
    """y = blocks x."""
    for b in range(start.shape[0] - 1):
        first, width, at = start[b], start[b + 1] - start[b], data_start[b]
        for i in range(width):
            total = 0.0
            for j in range(width):
                total += data[at + i * width + j] * x[first + j]
            y_out[first + i] = total


@kernel
def _push(J, e, height, f, row, x_out, factor):
    """x += factor J_e^T f[row:row + height] at the unknowns of entry e."""
    b = J.entry_column[e]
    first, width = J.column_start[b], J.column_start[b + 1] - J.column_start[b]
    for i in range(height):
        s = factor * f[row + i]
        at = J.data_start[e] + i * width
        for j in range(width):
            x_out[first + j] += s * J.data[at + j]


@kernel
def _moved(J, e, i, x):
    """Row i of J_e x."""
    b = J.entry_column[e]
    first, width = J.column_start[b], J.column_start[b + 1] - J.column_start[b]
    at, total = J.data_start[e] + i * width, 0.0
    for j in range(width):
        total += J.data[at + j] * x[first + j]
    return total


@kernel
def gradient(N, at, threads):
    """Gradient of the real unknowns, with impulses of rows; of a virtual node its tie, in place of its velocity."""
    J, x, g = N.J, at.x, at.gradient
    nv, bodies = N.b.shape[0], N.rigid.start[-1]
    _blocks_product(N.rigid.start, N.rigid.data_start, N.rigid.data, x, g)
    for i in range(bodies):
        g[i] -= N.b[i]
    indptr, indices = N.pattern.indptr, N.pattern.indices
    if threads:
        _soft_product(indptr, indices, N.soft, x[bodies:], N.b[bodies:], g[bodies:])
    else:
        _soft_rows(indptr, indices, N.soft, x[bodies:], N.b[bodies:], 0, indptr.shape[0] - 1, g[bodies:])
    for q in range(N.row.shape[0]):
        c = N.row[q]
        for r in range(J.row_start[c], J.row_start[c + 1]):
            u = N.bias[r] + N.laws.compliance[r] * at.carried[r]
            for e in range(J.entry_start[c], J.entry_start[c + 1]):
                u += _moved(J, e, r - J.row_start[c], x)
            at.lam[r] = project_row(N.laws.law[c], at.carried[r] - N.stiffness[r] * u, N.laws.bound[r])
        for e in range(J.entry_start[c], J.entry_start[c + 1]):
            _push(J, e, J.row_start[c + 1] - J.row_start[c], at.lam, J.row_start[c], g, -1.0)
    for k in range(N.contact.shape[0]):
        p = N.tied[k]
        if p < 0:
            continue
        for i in range(3):
            moved = 0.0
            for t in range(N.tie_start[p], N.tie_start[p + 1]):
                moved += _moved(J, N.tie[t], i, x)
            y = nv + 3 * p + i
            g[y] = at.carried[J.row_start[N.contact[k]] + i] + N.gain[p] * (x[y] - moved)
        for t in range(N.tie_start[p], N.tie_start[p + 1]):
            _push(J, N.tie[t], 3, g, nv + 3 * p, g, -1.0)


@kernel
def surrogate(N, W, L, C, R, scale, at):
    """v* = v - W (A v - b), eq. (20)."""
    x, g, found = at.x, at.gradient, at.found
    nv, bodies = N.b.shape[0], N.rigid.start[-1]
    _blocks_product(N.rigid.start, N.rigid.data_start, W.rigid, g, found)
    for i in range(bodies):
        found[i] = x[i] - scale * found[i]
    for i in C.rigid:
        found[i] = x[i]
    apply_bodies(C, g, scale, found)
    if R.work.shape[0] > 0:
        apply_chain(R, g[bodies:nv], scale, x[bodies:nv], found[bodies:nv])
    else:
        for i in range(bodies, nv):
            found[i] = x[i] - scale * W.soft[i - bodies] * g[i]
    apply_levels(L, g[bodies:], scale, found[bodies:])
    apply_groups(C, g[bodies:], scale * L.share, found[bodies:])
    for p in range(N.gain.shape[0]):
        for i in range(nv + 3 * p, nv + 3 * p + 3):
            found[i] = x[i] - scale * W.virtual[p] * g[i]


@kernel
def one_contact(laws, c, row, n, s, t, gamma, strict, lam_out):
    """Impulses of contact c whose velocities without them are (n, s, t): Algorithm 2 with the operators of eq. (26)."""
    soft = gamma + laws.compliance[row]
    mu1, mu2 = laws.friction[c, 0], laws.friction[c, 1]
    if strict or laws.friction_set[c] != DISC:
        a = max(0.0, -n / soft)
        b, d, _ = project_friction(laws.friction_set[c], -s / gamma, -t / gamma, 0.0, a, mu1, mu2, 0.0)
    else:
        # impulses times the roots of Gamma: there the closest point of the cone is that of least Gamma-norm
        root_n, root_t = sqrt(soft), sqrt(gamma)
        a, b, d = project_cone(-n / root_n, -s / root_t, -t / root_t, mu1 * root_t / root_n)
        a, b, d = a / root_n, b / root_t, d / root_t
    lam_out[row], lam_out[row + 1], lam_out[row + 2] = a, b, d


@kernel
def _contacts(N, W, scale, regularisation, strict, at):
    """Contacts of the surrogate problem, each for itself (Algorithm 2, eq. 26), and v** of eq. (24)."""
    J, R, laws, found, lam = N.J, N.J.data, N.laws, at.found, at.lam
    nv = N.b.shape[0]
    for k in range(N.contact.shape[0]):
        c = N.contact[k]
        row, p = J.row_start[c], N.tied[k]
        n, s, t = N.bias[row], N.bias[row + 1], N.bias[row + 2]
        for i in range(N.node_start[k], N.node_start[k + 1]):
            e = J.data_start[N.node[i]]
            first = J.column_start[J.entry_column[N.node[i]]]
            x, y, z = found[first], found[first + 1], found[first + 2]
            n += R[e] * x + R[e + 1] * y + R[e + 2] * z
            s += R[e + 3] * x + R[e + 4] * y + R[e + 5] * z
            t += R[e + 6] * x + R[e + 7] * y + R[e + 8] * z
        if p >= 0:
            first = nv + 3 * p
            n, s, t = n + found[first], s + found[first + 1], t + found[first + 2]
        one_contact(laws, c, row, n, s, t, scale * W.gamma[k] + regularisation, strict, lam)
        w = scale * W.contact[k]
        n, s, t = w * lam[row], w * lam[row + 1], w * lam[row + 2]
        for i in range(N.node_start[k], N.node_start[k + 1]):
            e = J.data_start[N.node[i]]
            first = J.column_start[J.entry_column[N.node[i]]]
            for j in range(3):
                found[first + j] += R[e + j] * n + R[e + 3 + j] * s + R[e + 6 + j] * t
        if p >= 0:
            first = nv + 3 * p
            found[first], found[first + 1], found[first + 2] = (
                found[first] + n,
                found[first + 1] + s,
                found[first + 2] + t,
            )


@kernel
def _barzilai_borwein(N, W, at, rule, turn):
    """Step size alpha of W' = alpha W from the last two iterates, with s and z = A s in the norms of W (sec. IV-C).

    rule 1: s . W^-1 s / s . z, 2: s . z / z . W z, 3: both in turn; zero where the last step says nothing.
    """
    nv, start = N.b.shape[0], N.rigid.start
    straight, mixed, bent = 0.0, 0.0, 0.0
    for b in range(start.shape[0] - 1):
        width, block = start[b + 1] - start[b], N.rigid.data_start[b]
        for i in range(width):
            s_i = at.x[start[b] + i] - at.before[start[b] + i]
            z_i = at.gradient[start[b] + i] - at.last_gradient[start[b] + i]
            mixed += s_i * z_i
            for j in range(width):
                k = start[b] + j
                straight += s_i * W.rigid_inverse[block + i * width + j] * (at.x[k] - at.before[k])
                bent += z_i * W.rigid[block + i * width + j] * (at.gradient[k] - at.last_gradient[k])
    for i in range(start[-1], at.x.shape[0]):
        w = W.soft[i - start[-1]] if i < nv else W.virtual[(i - nv) // 3]
        s_i, z_i = at.x[i] - at.before[i], at.gradient[i] - at.last_gradient[i]
        # the gradient of a virtual node is the force of its tie, which counts like that of others
        straight, mixed, bent = straight + s_i * s_i / w, mixed + s_i * z_i, bent + z_i * z_i * w
    if not (straight > 0.0 and mixed > 0.0 and bent > 0.0):
        return 0.0
    first = rule == 1 or (rule == 3 and turn % 2 == 0)
    return straight / mixed if first else mixed / bent


class How(NamedTuple):
    """Options of the iterations."""

    rule: int
    """Of the step size, 0 for that of W."""
    strict: bool
    regularisation: float
    chebyshev: bool
    delay: int
    relaxation: float
    rate: float
    """rho of Chebyshev's acceleration where an interval is known; 0: the estimate of eq. (39)."""
    refresh: int
    """Iterations after which multipliers follow, 0: never."""
    later: int
    """Iterations after each of which they wait as long again: followed too soon, they may go round in circles."""
    threads: bool
    """Whether products go over threads."""
    part: float
    """Of W, less than 1 after iterations were lost."""


@kernel
def iterate(N, W, L, C, R, P, at, progress, done, count, tolerance, how):
    """Up to ``count`` iterations after the first ``done``, until a step is within ``tolerance``.

    ``progress`` (4,) goes from call to call: nu, rho and the last and the least step. With a window in P iterates are
    mixed (mixing.py), and a step is |v** - v^l|. Returns how many there were, how they ended.
    """
    rule = how.rule
    scale = 1.0
    for l in range(done, done + count):
        if rule:
            at.last_gradient[:] = at.gradient
        gradient(N, at, how.threads)
        if rule and l > 0:
            alpha = _barzilai_borwein(N, W, at, rule, l)
            scale = min(max(alpha, LEAST_SCALE), MOST_SCALE) if alpha > 0.0 else 1.0
        surrogate(N, W, L, C, R, scale * how.part, at)
        _contacts(N, W, scale * how.part, how.regularisation, how.strict, at)
        # Algorithm 3; nu = 1 is the plain iteration
        nu, rho, last, least = progress
        if not how.chebyshev or l < how.delay:
            nu = 1.0
        elif l == how.delay:
            nu = 2.0 / (2.0 - rho * rho)
        else:
            nu = 4.0 / (4.0 - rho * rho * nu)
        step = 0.0
        if P.steps.shape[0] > 0:
            step = mixed(P, at.x, at.found, at.before)
            at.steps[l] = step
            progress[2], progress[3] = step, min(step, least)
            if step <= tolerance and tolerance > 0.0:
                return l + 1 - done, SETTLED
            if not step <= ASTRAY * max(least, 1e-12 * at.steps[0]):
                return l + 1 - done, LOST
            if how.refresh and (l + 1) % (how.refresh * (1 + l // how.later)) == 0:
                at.carried[:] = at.lam
                progress[3] = np.inf
                P.known[1] = 0  # the next difference would be that of two problems
            continue
        for i in range(at.x.shape[0]):
            here = at.x[i]
            new = at.before[i] + nu * (how.relaxation * (at.found[i] - here) + here - at.before[i])  # eq. (38)
            at.before[i], at.x[i] = here, new
            step += (new - here) ** 2
        step = sqrt(step)
        at.steps[l] = step
        rho = min(step / last, 1.0) if last > 0.0 else 0.0  # eq. (39)
        if how.rate > 0.0:
            rho = how.rate
        progress[0], progress[1], progress[2], progress[3] = nu, rho, step, min(step, least)
        if step <= tolerance and tolerance > 0.0:
            return l + 1 - done, SETTLED
        if not step <= ASTRAY * max(least, 1e-12 * at.steps[0]):
            return l + 1 - done, LOST
        if how.refresh and (l + 1) % (how.refresh * (1 + l // how.later)) == 0:
            at.carried[:] = at.lam
            progress[3] = np.inf  # another problem from here on: its first step may be as long as it likes
    return count, RUNNING
